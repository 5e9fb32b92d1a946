"""The formulas of `Estimate.as_table` as trees, which each export and the GPU write down in their own language.

A node is a tuple: ``("x",)``, ``("number", value)``, or an operator and its operands: "add", "subtract", "multiply",
"divide", "negative", "square", "log", "log1p", "lgamma", "greater", "equal", "where". What does not depend on x is
computed here, for all classes at once.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.special import gammaln

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

COMPUTED: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "negative": np.negative,
    "square": np.square,
    "log": np.log,
    "log1p": np.log1p,
    "lgamma": gammaln,
    "greater": np.greater,
    "equal": np.equal,
    "where": np.where,
}


def formula_tree(formula: str, parameters: Mapping[str, FloatArray]) -> Node:
    """The tree of a formula, whose numbers have the shape of its parameters.

    Examples
    --------
    >>> formula_tree("slope * x + log(rate * 2)", {"slope": np.array([3.0]), "rate": np.array([0.5])})
    ('add', ('multiply', ('number', array([3.])), ('x',)), ('number', array([0.])))
    """
    with np.errstate(all="ignore"):
        return _tree(ast.parse(formula, mode="eval").body, parameters)


def _tree(node: ast.AST, names: Mapping[str, FloatArray]) -> Node:
    if isinstance(node, ast.Constant):
        return "number", float(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        return ("x",) if node.id == "x" else ("number", names[node.id])
    operator, parts = _parts_of(node)
    operands = [_tree(part, names) for part in parts]
    if any(operand[0] != "number" for operand in operands):
        return operator, *operands
    return "number", COMPUTED[operator](*(operand[1] for operand in operands))


def _parts_of(node: ast.AST) -> tuple[str, list[ast.AST]]:
    """The operator of a node, and its operands."""
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)], [node.left, node.right]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return "negative", [node.operand]
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
        return OPERATORS[type(node.ops[0])], [node.left, node.comparators[0]]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in COMPUTED:
        return node.func.id, list(node.args)
    raise ValueError(f"A formula cannot have {ast.unparse(node)!r} in it.")


def formula_trees(formula: str, parameters: Mapping[str, FloatArray]) -> list[Node]:
    """The tree of a formula for each class, whose parameters are (classes,) each, in plain numbers.

    Examples
    --------
    >>> formula_trees("slope * x + log(rate)", {"slope": np.array([2.0]), "rate": np.array([1.0])})
    [('multiply', ('number', 2.0), ('x',))]
    """
    tree = formula_tree(formula, parameters)
    return [_of_class(tree, code) for code in range(len(next(iter(parameters.values()))))]


def _of_class(node: Node, code: int) -> Node:
    """A tree with the numbers of one class, without operands that change nothing."""
    if node[0] == "x":
        return node
    if node[0] == "number":
        return "number", float(node[1] if np.ndim(node[1]) == 0 else node[1][code])
    operator, *operands = node[0], *(_of_class(operand, code) for operand in node[1:])
    if operator in ("add", "subtract") and operands[1] == ("number", 0.0):
        return operands[0]
    if operator == "multiply" and ("number", 0.0) in operands:
        return "number", 0.0
    return operator, *operands
