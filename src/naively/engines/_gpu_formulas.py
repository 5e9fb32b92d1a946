"""Formulas of estimates (`Estimate.as_table`) as polynomials or as CUDA functions.

A formula is an expression of x and of parameters that the classes have. Whatever does not depend on x is computed once,
on the host. What then is a polynomial of at most the second degree in x, as the normal density is, costs two operations
for each class; any other formula becomes a function of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import gammaln

from naively.typing import FloatArray

FUNCTIONS: dict[str, Any] = {
    "log": np.log,
    "log1p": np.log1p,
    "lgamma": gammaln,
    "square": np.square,
    "where": np.where,
}
OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
COMPARISONS = {ast.Eq: "==", ast.Gt: ">", ast.Lt: "<", ast.GtE: ">=", ast.LtE: "<="}

Polynomial = list[Any]
"""The coefficients of 1, t and t**2, each a number or an array (classes,)."""


def parsed(formula: str) -> ast.expr:
    """The expression of a formula."""
    return ast.parse(formula, mode="eval").body


def depends_on_x(node: ast.AST) -> bool:
    """Whether an expression is one of x."""
    return any(isinstance(part, ast.Name) and part.id == "x" for part in ast.walk(node))


def value_of(node: ast.expr, parameters: Mapping[str, FloatArray]) -> Any:
    """The value (classes,) of an expression that does not depend on x."""
    code = compile(ast.Expression(body=ast.fix_missing_locations(node)), "<formula>", "eval")
    with np.errstate(all="ignore"):
        return eval(code, {"__builtins__": {}}, {**FUNCTIONS, **parameters})


def polynomial(node: ast.expr, parameters: Mapping[str, FloatArray], anchor: float) -> Polynomial | None:
    """The coefficients in ``t = x - anchor``; None for what is no polynomial of at most the second degree.

    Examples
    --------
    >>> constant, slope, curve = polynomial(parsed("-square(x - mean) / (2 * v)"), {"mean": 3.0, "v": 0.5}, anchor=1.0)
    >>> float(constant), float(slope), float(curve)
    (-4.0, 4.0, -1.0)
    """
    if not depends_on_x(node):
        return [value_of(node, parameters), 0.0, 0.0]
    if isinstance(node, ast.Name):
        return [anchor, 1.0, 0.0]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _scaled(polynomial(node.operand, parameters, anchor), -1.0)
    if isinstance(node, ast.BinOp):
        return _combined(node, parameters, anchor)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id == "square":
            inner = polynomial(node.args[0], parameters, anchor)
            return None if inner is None else _product(inner, inner)
        if node.func.id == "where":
            return _same_in_both(node, parameters, anchor)
    return None


def _combined(node: ast.BinOp, parameters: Mapping[str, FloatArray], anchor: float) -> Polynomial | None:
    left, right = (polynomial(side, parameters, anchor) for side in (node.left, node.right))
    if left is None or right is None:
        return None
    if isinstance(node.op, (ast.Add, ast.Sub)):
        sign = 1.0 if isinstance(node.op, ast.Add) else -1.0
        return [one + sign * other for one, other in zip(left, right, strict=True)]
    if isinstance(node.op, ast.Mult):
        return _product(left, right)
    if isinstance(node.op, ast.Div) and not depends_on_x(node.right):
        return _scaled(left, 1.0 / np.asarray(right[0]))
    return None


def _same_in_both(node: ast.Call, parameters: Mapping[str, FloatArray], anchor: float) -> Polynomial | None:
    """``where(x == 0, a, b)`` is b where b is a at 0."""
    test, at_zero, elsewhere = node.args
    is_zero = isinstance(test, ast.Compare) and ast.unparse(test) == "x == 0"
    if not is_zero or depends_on_x(at_zero):
        return None
    found = polynomial(elsewhere, parameters, 0.0)
    if found is None or not np.array_equal(np.broadcast_to(found[0], np.shape(value_of(at_zero, parameters))),
                                           value_of(at_zero, parameters)):  # fmt: skip
        return None
    return polynomial(elsewhere, parameters, anchor)


def _scaled(terms: Polynomial | None, factor: Any) -> Polynomial | None:
    return None if terms is None else [term * factor for term in terms]


def _product(left: Polynomial, right: Polynomial) -> Polynomial | None:
    found: list[Any] = [0.0] * 5
    for i, one in enumerate(left):
        for j, other in enumerate(right):
            found[i + j] = found[i + j] + one * other
    return None if any(np.any(np.asarray(term) != 0) for term in found[3:]) else found[:3]


def function(node: ast.expr, parameters: Mapping[str, FloatArray]) -> tuple[str, list[FloatArray]]:
    """The body of a CUDA function of x and of parameters ``p[i * n_classes]``, and these parameters (classes,).

    Examples
    --------
    >>> body, found = function(parsed("log1p(square(x - m)) * (1 / k)"), {"m": np.array([1.0]), "k": np.array([4.0])})
    >>> body, [one.tolist() for one in found]
    ('(log1p(square((x - p[0 * n_classes]))) * p[1 * n_classes])', [[1.0], [0.25]])
    """
    found: list[FloatArray] = []

    def text(part: ast.expr) -> str:
        if not depends_on_x(part):
            found.append(np.asarray(value_of(part, parameters), dtype=np.float64))
            return f"p[{len(found) - 1} * n_classes]"
        if isinstance(part, ast.Name):
            return "x"
        if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub):
            return f"(-{text(part.operand)})"
        if isinstance(part, ast.BinOp) and type(part.op) in OPERATORS:
            return f"({text(part.left)} {OPERATORS[type(part.op)]} {text(part.right)})"
        if isinstance(part, ast.Compare) and type(part.ops[0]) in COMPARISONS:
            return f"({text(part.left)} {COMPARISONS[type(part.ops[0])]} {text(part.comparators[0])})"
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in FUNCTIONS:
            inner = [text(argument) for argument in part.args]
            return "({} ? {} : {})".format(*inner) if part.func.id == "where" else f"{part.func.id}({', '.join(inner)})"
        raise ValueError(f"A formula cannot have {ast.unparse(part)!r} in it.")

    return text(node), found
