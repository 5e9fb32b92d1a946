"""Rules that add imaginary rows, which follow a prior opinion."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal

import numpy as np

from naively._common.by_label import by_label, is_frame, labels_of_columns, labels_of_index, refuse_unknown
from naively._common.checks import require_number
from naively.errors import ParameterError, brief, listed
from naively.smoothing._base import Smoothing, finite_numbers, numbers_by_value, per_value, share, shares
from naively.typing import FloatArray

OPINIONS = ("uniform", "marginal", "classes", "features")
"""The prior opinions that `MEstimate` knows by name."""


@dataclass(frozen=True)
class MEstimate(Smoothing):
    """`m` pseudo-rows that follow the distribution `p`.

    Parameters
    ----------
    m : float, default=1.0
        How many rows the prior opinion is worth.
    p : "uniform", "marginal", "classes", "features", mapping or sequence, default="uniform"
        The prior opinion: every value alike; the frequencies over all rows; the mean over the classes of their
        frequencies, each class counting the same; the mean, within a class, of the frequencies of all columns that have
        the same values; or probabilities that sum to one, by value (a dict or a Series) or in the sorted order of the
        values. An opinion for each class is a dict of these by class, or a data frame with a row for each class and a
        column for each value.

    Notes
    -----
    ``MEstimate(1, "classes")`` and ``MEstimate(1, "features")`` are the two readings of CLOP's rule
    ``f' = (n f + mean f) / (n + 1)``.

    Examples
    --------
    >>> import numpy as np
    >>> MEstimate(2, {"no": 0.75, "yes": 0.25}).pseudo_counts(np.array([[3.0, 0.0]]), ["no", "yes"])
    array([1.5, 0.5])

    Most cats are thought to be striped, and no dogs:

    >>> from naively import NaiveBayes
    >>> coats = {"cat": {"plain": 0.2, "striped": 0.8}, "dog": {"plain": 1.0, "striped": 0.0}}
    >>> model = NaiveBayes("textbook", smoothing=MEstimate(2, coats))
    >>> model = model.fit([["plain"], ["plain"], ["striped"]], ["cat", "dog", "dog"])
    >>> model.parameters()["x0"]["probability"]
    {'plain': array([0.46666667, 0.75      ]), 'striped': array([0.53333333, 0.25      ])}
    """

    m: float = 1.0
    p: (
        Literal["uniform", "marginal", "classes", "features"]
        | Mapping[Any, float]
        | Sequence[float]
        | Mapping[Any, Mapping[Any, float] | Sequence[float]]
    ) = "uniform"

    def __post_init__(self) -> None:
        require_number("MEstimate(m)", self.m, at_least=0)
        if isinstance(self.p, str):
            if self.p not in OPINIONS:
                raise ParameterError(
                    f"MEstimate(p) must be one of {', '.join(map(repr, OPINIONS))} or probabilities by value, got "
                    f"{self.p!r}."
                )
            return
        if isinstance(self.p, Real):
            raise ParameterError(
                f"MEstimate(p) must hold a probability for each value, got the single number {self.p!r}. Name the "
                f"values: MEstimate({self.m!r}, {{'yes': 0.3, 'no': 0.7}}), or False and True for 'bernoulli' columns."
            )
        if is_frame(self.p):
            object.__setattr__(self, "p", _rows_by_class(self.p))
        numbers_by_value(self, "p")
        if self.by_class:
            assert isinstance(self.p, Mapping)
            opinions = {label: _opinion(given, f"MEstimate(p)[{label!r}]") for label, given in self.p.items()}
            object.__setattr__(self, "p", opinions)
        else:
            _opinion(self.p, "MEstimate(p)")

    @property
    def by_class(self) -> bool:
        """Whether each class has a prior opinion of its own."""
        given = self.p
        return isinstance(given, Mapping) and any(not isinstance(value, Real) for value in given.values())

    @property
    def by_value(self) -> bool:
        return not isinstance(self.p, str) or self.p == "features"

    @property
    def knows_no_counts(self) -> bool:
        return not isinstance(self.p, str) or self.p == "uniform"

    def for_classes(self, classes: Sequence[Any]) -> Smoothing:
        if not self.by_class:
            return self
        assert isinstance(self.p, Mapping)
        refuse_unknown("MEstimate(p)", self.p, classes)
        absent = [label for label in classes if label not in self.p]
        if absent:
            raise ParameterError(
                f"MEstimate(p) has no opinion for the class {absent[0]!r}; it has one for {listed(list(self.p), 10)}."
            )
        return OpinionOfEachClass(self.m, tuple(self.p[label] for label in classes), tuple(classes))

    def pseudo_counts(self, counts: FloatArray, labels: Sequence[Any]) -> FloatArray:
        if self.by_class:
            raise ParameterError(
                "MEstimate(p) has an opinion for each class, which is for the values of a column. The prior of the "
                "classes takes probabilities by class: MEstimate(m, {'a': 0.2, 'b': 0.8})."
            )
        if not isinstance(self.p, str):
            return self.m * per_value("MEstimate(p)", self.p, labels)  # type: ignore[arg-type]
        uniform = np.full(counts.shape[-1], 1.0 / max(counts.shape[-1], 1))
        if self.p == "uniform":
            return self.m * uniform
        if self.p == "marginal":
            return self.m * shares(counts.sum(axis=0), uniform)
        total = counts.sum(axis=-1, keepdims=True)
        axis = 0 if self.p == "classes" else -2
        if counts.ndim + axis == 0:  # one column: its own frequencies are the mean over the features
            return self.m * shares(counts, uniform)
        return self.m * _mean_share(counts, total, axis, uniform)

    def pseudo_counts_without(
        self, pseudo_counts: FloatArray, count: FloatArray, total: FloatArray, n_values: int
    ) -> FloatArray:
        if not isinstance(self.p, str) or self.p == "uniform":
            return pseudo_counts
        if self.p == "marginal":
            return self.m * share(count.sum(axis=0), total.sum(axis=0), 1.0 / n_values)
        if self.p == "classes":
            return self.m * _mean_share(count, total, 0, np.asarray(1.0 / n_values))
        raise ParameterError(
            "MEstimate(p='features') has no leave-one-out for labels: a row changes the mean over all its columns. Use "
            "MEstimate(p='classes'), or read the columns as 0 and 1 with Bernoulli()."
        )

    def pseudo_counts_together(
        self, part: FloatArray, whole: FloatArray, n_part: FloatArray, n_values: FloatArray, n_classes: int
    ) -> FloatArray:
        if not isinstance(self.p, str) or self.p in ("classes", "features"):
            return super().pseudo_counts_together(part, whole, n_part, n_values, n_classes)
        uniform = n_part / n_values
        return self.m * (uniform if self.p == "uniform" else share(part, whole, uniform))


@dataclass(frozen=True)
class OpinionOfEachClass(Smoothing):
    """`m` pseudo-rows in each class that follow its own distribution: an `MEstimate` by class that knows the classes.

    Parameters
    ----------
    m : float
    p : tuple of mappings or sequences
        By value, or in the values' order, for each class.
    classes : tuple of labels
    """

    m: float
    p: tuple[Any, ...]
    classes: tuple[Any, ...]

    def __repr__(self) -> str:
        return repr(MEstimate(self.m, dict(zip(self.classes, self.p, strict=True))))  # what the user has written

    def pseudo_counts(self, counts: FloatArray, labels: Sequence[Any]) -> FloatArray:
        if len(counts) != len(self.p):
            raise ParameterError(
                f"{self!r} gives each class its own pseudo-counts, but here classes are taken together. Use one "
                "opinion for all: MEstimate(m, p) with p by value."
            )
        opinions = [
            per_value(f"MEstimate(p)[{label!r}]", given, labels)
            for label, given in zip(self.classes, self.p, strict=True)
        ]
        between = (1,) * (counts.ndim - 2)  # columns with the same values
        return np.asarray(self.m * np.stack(opinions).reshape(len(opinions), *between, len(labels)))


@dataclass(frozen=True)
class StackedMEstimate(MEstimate):
    """Pseudo-rows with the frequencies of all classes together: one, as many as values, or any number of them.

    It is the default of the recipes "fast", "auto" and "strong". For labels they mix the three estimates by how well
    each tells the classes of rows that were left out; where these cannot tell, as with values that were seen once, the
    last has four fifths, and that one says nothing. Elsewhere (counts, bins, yes and no, the recipe "textbook") it is
    ``MEstimate(1, "marginal")``.

    Examples
    --------
    >>> import numpy as np
    >>> StackedMEstimate().pseudo_counts(np.array([[3.0, 0.0], [0.0, 1.0]]), ["no", "yes"])
    array([0.75, 0.25])
    """

    m: float = field(default=1.0, init=False, repr=False)
    p: Literal["marginal"] = field(default="marginal", init=False, repr=False)


@dataclass(frozen=True)
class ImaginarySample(Smoothing):
    """One imaginary sample of rows, spread evenly over the cells of the whole table, classes included.

    Every cell of a table with J classes and K values gets ``size / (J K)``: the uniform Dirichlet prior of Bayesian
    networks (BDeu), which bnlearn calls `iss`. The larger a table, the less each of its cells gets. With the same rule
    as `prior_smoothing` every class gets ``size / J``.

    Parameters
    ----------
    size : float, default=1.0
        How many rows the sample is worth.

    Examples
    --------
    >>> import numpy as np
    >>> ImaginarySample(1).pseudo_counts(np.array([[3.0, 0.0], [1.0, 1.0]]), ["no", "yes"])
    array([0.25, 0.25])
    """

    size: float = 1.0

    def __post_init__(self) -> None:
        require_number("ImaginarySample(size)", self.size, at_least=0)

    def pseudo_counts(self, counts: FloatArray, labels: Sequence[Any]) -> FloatArray:
        n_values = counts.shape[-1]
        return np.full(n_values, float(self.size) / max(counts.shape[0] * n_values, 1))

    def pseudo_counts_together(
        self, part: FloatArray, whole: FloatArray, n_part: FloatArray, n_values: FloatArray, n_classes: int
    ) -> FloatArray:
        return float(self.size) / n_classes * (n_part / n_values)


def _opinion(given: Any, where: str) -> Any:
    """Probabilities by value that sum to one, checked; a Series as a dict."""
    given = by_label(given, where)
    values = finite_numbers(where, given)
    if min(values) < 0 or not math.isclose(sum(values), 1.0, abs_tol=1e-9):
        raise ParameterError(f"{where} must hold probabilities that sum to 1, got {values} (sum {sum(values):g}).")
    return given


def _rows_by_class(frame: Any) -> dict[Any, dict[Any, float]]:
    """A data frame with a row for each class and a column for each value as a dict of dicts."""
    classes = labels_of_index(frame.index) if hasattr(frame, "index") else None
    if classes is None:
        raise ParameterError(
            f"MEstimate(p) is {brief(frame)} whose rows have no labels. Name the rows by class, as in "
            "frame.set_index('class'), or give a dict by class of dicts by value."
        )
    values = labels_of_columns(frame) or list(range(frame.shape[1]))
    rows = np.asarray(frame).tolist()
    return {label: dict(zip(values, row, strict=True)) for label, row in zip(classes, rows, strict=True)}


def _mean_share(part: FloatArray, whole: FloatArray, axis: int, otherwise: FloatArray) -> FloatArray:
    """The plain mean of ``part / whole`` along an axis, over the places that have a whole; `otherwise` without any."""
    known = (whole > 0).sum(axis=axis, keepdims=True)
    return share(share(part, whole, 0.0).sum(axis=axis, keepdims=True), known, otherwise)
