"""Formulas of estimates (`Estimate.as_table`) as polynomials or as CUDA functions.

A formula is an expression of x and of numbers that the classes have. What is a polynomial of at most the second degree
in x, as the normal density is, costs two operations for each class; any other formula becomes a function of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from naively.families._formulas import Node
from naively.typing import FloatArray

CUDA = {
    "add": "({} + {})",
    "subtract": "({} - {})",
    "multiply": "({} * {})",
    "divide": "({} / {})",
    "negative": "(-{})",
    "greater": "({} > {})",
    "equal": "({} == {})",
    "where": "({} ? {} : {})",
}
"""How operators are written; all others are functions of the same name."""

Polynomial = list[Any]
"""The coefficients of 1, t and t**2, each a number or an array (classes,)."""


def polynomial(node: Node, anchor: float) -> Polynomial | None:
    """The coefficients in ``t = x - anchor``; None for what is no polynomial of at most the second degree.

    Examples
    --------
    >>> from naively.families._formulas import formula_tree
    >>> bell = formula_tree("-square(x - mean) / (2 * v)", {"mean": 3.0, "v": 0.5})
    >>> constant, slope, curve = polynomial(bell, anchor=1.0)
    >>> float(constant), float(slope), float(curve)
    (-4.0, 4.0, -1.0)
    """
    operator, *operands = node
    if operator == "number":
        return [operands[0], 0.0, 0.0]
    if operator == "x":
        return [anchor, 1.0, 0.0]
    if operator == "where":
        return _same_in_both(operands, anchor)
    if operator not in ("negative", "square", "add", "subtract", "multiply", "divide"):
        return None
    terms = [polynomial(operand, anchor) for operand in operands]
    return None if None in terms else _combined(operator, operands, terms)


def _combined(operator: str, operands: list[Node], terms: list[Any]) -> Polynomial | None:
    left, right = terms[0], terms[-1]
    if operator == "negative":
        return _scaled(left, -1.0)
    if operator in ("square", "multiply"):
        return _product(left, right)
    if operator == "divide":
        return _scaled(left, 1.0 / np.asarray(right[0])) if operands[1][0] == "number" else None
    sign = 1.0 if operator == "add" else -1.0
    return [one + sign * other for one, other in zip(left, right, strict=True)]


def _same_in_both(operands: list[Node], anchor: float) -> Polynomial | None:
    """``where(x == 0, a, b)`` is b where b is a at 0."""
    test, at_zero, elsewhere = operands
    if test != ("equal", ("x",), ("number", 0.0)) or at_zero[0] != "number":
        return None
    found = polynomial(elsewhere, 0.0)
    if found is None or not np.array_equal(np.broadcast_to(found[0], np.shape(at_zero[1])), at_zero[1]):
        return None
    return polynomial(elsewhere, anchor)


def _scaled(terms: Polynomial, factor: Any) -> Polynomial:
    return [term * factor for term in terms]


def _product(left: Polynomial, right: Polynomial) -> Polynomial | None:
    found: list[Any] = [0.0] * 5
    for i, one in enumerate(left):
        for j, other in enumerate(right):
            found[i + j] = found[i + j] + one * other
    return None if any(np.any(np.asarray(term) != 0) for term in found[3:]) else found[:3]


def function(node: Node) -> tuple[str, list[FloatArray]]:
    """The body of a CUDA function of x and of parameters ``p[i * n_classes]``, and these parameters (classes,).

    Examples
    --------
    >>> from naively.families._formulas import formula_tree
    >>> bell = formula_tree("log1p(square(x - m)) * (1 / k)", {"m": np.array([1.0]), "k": np.array([4.0])})
    >>> body, found = function(bell)
    >>> body, [one.tolist() for one in found]
    ('(log1p(square((x - p[0 * n_classes]))) * p[1 * n_classes])', [[1.0], [0.25]])
    """
    found: list[FloatArray] = []

    def text(part: Node) -> str:
        operator, *operands = part
        if operator == "number":
            found.append(np.asarray(operands[0], dtype=np.float64))
            return f"p[{len(found) - 1} * n_classes]"
        if operator == "x":
            return "x"
        inner = [text(operand) for operand in operands]
        return CUDA[operator].format(*inner) if operator in CUDA else f"{operator}({', '.join(inner)})"

    return text(node), found
