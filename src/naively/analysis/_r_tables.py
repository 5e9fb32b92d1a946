"""Tables as R prints them, and a model as `print` shows an `e1071::naiveBayes`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes

DIGITS = 7
"""R shows so many significant digits."""


def as_printed_by_e1071(model: NaiveBayes) -> str:
    """The class prior, and for each column a table by class: means and standard deviations, or probabilities.

    Parameters
    ----------
    model : NaiveBayes
        Fitted, whose columns are Gaussian or categorical.
    """
    classes = [str(label) for label in model.classes_.tolist()]
    shown = ["", "Naive Bayes Classifier for Discrete Predictors", "", "Call:", _call(model), ""]
    shown += ["A-priori probabilities:", "Y", *vector(classes, model.class_prior_.tolist())]
    shown += ["", "Conditional probabilities:"]
    for name, found in model.parameters().items():
        head, cells = _table(found)
        shown += [*matrix(name, classes, head, cells), ""]
    return "\n".join(shown)


def _call(model: NaiveBayes) -> str:
    return f"naiveBayes.default(x = X, y = Y, laplace = {_number(float(getattr(model, 'laplace', 0)))})"


def _table(found: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """The heads of the columns of a table, and their cells: those of each class below each other.

    R shows all cells of a table with as many decimals, but those of a matrix column by column.
    """
    if "probability" in found:
        shares = np.array(list(found["probability"].values()))
        cells = np.array(formatted(shares.ravel().tolist()), dtype=object).reshape(shares.shape)
        return [_label(value) for value in found["probability"]], cells.tolist()
    columns = found["mean"], np.sqrt(found["variance"])
    return ["[,1]", "[,2]"], [formatted(numbers.tolist()) for numbers in columns]


def _label(value: Any) -> str:
    return str(value).upper() if isinstance(value, bool) else str(value)


def vector(names: Sequence[str], numbers: Sequence[float]) -> list[str]:
    """A named vector: names and numbers in fields of one width."""
    cells = formatted(numbers)
    width = max(map(len, [*names, *cells]))
    return ["".join(f"{cell:>{width}} " for cell in line) for line in (names, cells)]


def matrix(name: str, rows: Sequence[str], head: Sequence[str], columns: Sequence[Sequence[str]]) -> list[str]:
    """A table with a name for its columns and the rows called Y."""
    labels = ["Y", *(f"  {row}" for row in rows)]
    left = max(map(len, labels))
    fields = []
    for title, column in zip(head, columns, strict=True):
        cells = [title, *column]
        width = max(map(len, cells))
        fields.append([f" {cell:>{width}}" for cell in cells])
    lines = ["".join([label.ljust(left), *cells]) for label, *cells in zip(labels, *fields, strict=True)]
    return [" " * left + name, *lines]


def formatted(numbers: Sequence[float]) -> list[str]:
    """Numbers as R's `print` shows a column of them: as many digits as the one that needs most, at most seven each.

    Examples
    --------
    >>> formatted([5.006, 5.936, 6.588]), formatted([0.3524896872, 0.5161711471, 0.6358795933])
    (['5.006', '5.936', '6.588'], ['0.3524897', '0.5161711', '0.6358796'])
    >>> formatted([1.0, 0.00001234]), formatted([0.5, float("nan")])
    (['1.000e+00', '1.234e-05'], ['0.5', 'NaN'])
    """
    finite = [number for number in numbers if math.isfinite(number)]
    parts = [_significant(number) for number in finite]
    right = max((max(0, digits - 1 - power) for digits, power in parts), default=0)
    left = max((max(1, power + 1) for _, power in parts), default=1)
    mantissa = max((digits for digits, _ in parts), default=1)
    fixed = left + (right + 1 if right else 0)
    scientific = mantissa + (1 if mantissa > 1 else 0) + 4
    shape = f".{right}f" if fixed <= scientific else f".{mantissa - 1}e"
    return [format(number, shape) if math.isfinite(number) else _not_finite(number) for number in numbers]


def _significant(number: float) -> tuple[int, int]:
    """How many of seven significant digits a number needs, and its power of ten."""
    mantissa, power = f"{abs(number):.{DIGITS - 1}e}".split("e")
    return max(len(mantissa.replace(".", "").rstrip("0")), 1), int(power)


def _not_finite(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    return "Inf" if number > 0 else "-Inf"


def _number(number: float) -> str:
    return formatted([number])[0]
