"""The formulas of `Estimate.as_table` as trees, which each export writes down in its own language.

A node is a tuple: ``("x",)``, ``("number", value)``, or an operator and its operands: "add", "subtract", "multiply",
"divide", "negative", "square", "log", "log1p", "greater", "equal", "where". What does not depend on x is computed here.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any

from naively.typing import FloatArray

Node = tuple[Any, ...]

OPERATORS: dict[type, str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Gt: "greater",
    ast.Eq: "equal",
}


def _logarithm(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _quotient(left: float, right: float) -> float:
    return left / right if right else math.copysign(math.inf, left) * math.copysign(1.0, right)


COMPUTED: dict[str, Callable[..., Any]] = {
    "add": lambda left, right: left + right,
    "subtract": lambda left, right: left - right,
    "multiply": lambda left, right: left * right,
    "divide": _quotient,
    "negative": lambda value: -value,
    "square": lambda value: value * value,
    "log": _logarithm,
    "log1p": math.log1p,
    "lgamma": math.lgamma,
    "greater": lambda left, right: left > right,
    "equal": lambda left, right: left == right,
    "where": lambda condition, yes, no: yes if condition else no,
}


def formula_trees(formula: str, parameters: Mapping[str, FloatArray]) -> list[Node]:
    """The tree of a formula for each class, whose parameters are (classes,) each.

    Examples
    --------
    >>> import numpy as np
    >>> formula_trees("slope * x + log(rate)", {"slope": np.array([2.0]), "rate": np.array([1.0])})
    [('multiply', ('number', 2.0), ('x',))]
    """
    parsed = ast.parse(formula, mode="eval").body
    n_classes = len(next(iter(parameters.values())))
    return [
        _tree(parsed, {name: float(values[code]) for name, values in parameters.items()}) for code in range(n_classes)
    ]


def _tree(node: ast.AST, names: Mapping[str, float]) -> Node:
    if isinstance(node, ast.Constant):
        return "number", float(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        return ("x",) if node.id == "x" else ("number", names[node.id])
    operator, operands = parts_of(node)
    return _simplified(operator, [_tree(operand, names) for operand in operands])


def parts_of(node: ast.AST) -> tuple[str, list[ast.AST]]:
    """The operator of a node, and its operands."""
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)], [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return "negative", [node.operand]
    if isinstance(node, ast.Compare):
        return OPERATORS[type(node.ops[0])], [node.left, node.comparators[0]]
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    return node.func.id, list(node.args)


def _simplified(operator: str, operands: list[Node]) -> Node:
    """A node, computed where it does not depend on x, and without operands that change nothing."""
    if all(operand[0] == "number" for operand in operands):
        return "number", COMPUTED[operator](*(operand[1] for operand in operands))
    if operator in ("add", "subtract") and operands[1] == ("number", 0.0):
        return operands[0]
    if operator == "multiply" and ("number", 0.0) in operands:
        return "number", 0.0
    return operator, *operands
