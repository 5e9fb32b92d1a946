"""What `factors` are made of: columns that depend on one another, all together or along a tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from naively._common.checks import position_of, require_number, require_one_of, require_whole
from naively._table.table import Table
from naively.errors import InputError, InputTypeError, ParameterError, SchemaError, brief, listed
from naively.families._bins import equal_frequency_cuts
from naively.families._joined import Cuts, JoinedColumns, plain_columns
from naively.families._joint import JointFamily
from naively.families._tree import TreeFamily
from naively.families.base import Member
from naively.smoothing import Smoothing
from naively.typing import FloatArray

MOST_BINS = 1 << 16
"""The number of bins that numbers may be cut into."""


@dataclass(frozen=True)
class Joint(JoinedColumns):
    """Columns that are one factor, without any independence between them.

    Labels have one table over all combinations of their values, per class, and one smoothing over the whole product.
    Numbers have a multivariate normal density: a mean vector and a covariance per class. Where both are members, the
    numbers have a mean and a covariance for each combination of labels: ``P(d | y) N(x | mean_dy, covariance_dy)``.

    Parameters
    ----------
    *columns : str or int
        The members, by name or position.
    ties : "none", "class" or "all", default="none"
        Which covariances are distinct: one per class and combination of labels, one per class, or a single one.
    ddof : 0 or 1, default=0
        Divide the scatter by n - ddof: 0 is maximum likelihood, 1 the unbiased estimate.
    floor : float, default=1e-9
        The least variance in any direction, where each number is measured in its own standard deviation over all
        classes. It keeps the density of columns that determine one another finite.

    Notes
    -----
    A member is read as labels or as numbers, as the column would be alone; ``families={"code": "categorical"}`` makes
    labels of numbers, and ``Categorical([...])`` declares values. No other families can be joined.

    A row with a missing member is not counted in the factor. In prediction, missing members and labels that were never
    learnt are marginalised exactly: summed over, or integrated out.

    The covariance of p numbers takes rows that weigh p + 2. A combination with less takes the covariance of its class
    within combinations; a class with less, that of all classes; if all are too few, the variances alone. A combination
    that a class never had takes the class's mean and covariance, whatever the combination.

    Examples
    --------
    Exclusive or: neither column says anything alone.

    >>> from naively import NaiveBayes
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["same", "other", "other", "same"]
    >>> NaiveBayes("textbook", families="categorical").fit(X, y).predict_proba([[0, 1]])
    array([[0.5, 0.5]])
    >>> model = NaiveBayes("textbook", families="categorical", factors=[Joint(0, 1)], smoothing=0.5).fit(X, y)
    >>> model.predict_proba([[0, 1]])
    array([[0.75, 0.25]])
    """

    reads: ClassVar[str] = "joins labels and numbers"
    advice: ClassVar[str] = (
        "Use Categorical() or Gaussian() for its members; options of the normal density belong to "
        "Joint(ties=, ddof=, floor=)."
    )

    columns: tuple[str | int, ...]
    ties: Literal["none", "class", "all"] = "none"
    ddof: Literal[0, 1] = 0
    floor: float = 1e-9

    def __init__(self, *columns: str | int, ties: Any = "none", ddof: Any = 0, floor: float = 1e-9):
        if not columns:
            raise ParameterError(
                "Joint(...) takes the names or positions of its columns, as in Joint('a', 'b'). To join all columns "
                "that there are, use Joint.all()."
            )
        self._set(columns, ties, ddof, floor)

    @classmethod
    def all(cls, *, ties: Any = "none", ddof: Any = 0, floor: float = 1e-9) -> Joint:
        """All columns that there are, joined: what `naively.JointBayes` is made of.

        Parameters
        ----------
        ties, ddof, floor
            How covariances are estimated, as in `Joint`.

        Returns
        -------
        Joint

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> model = NaiveBayes("textbook", families="categorical", factors=Joint.all(), smoothing=0.5)
        >>> model.fit([[0, 0], [0, 1], [1, 0], [1, 1]], ["same", "other", "other", "same"]).predict([[0, 1]])
        array(['other'], dtype='<U5')
        """
        joint = cls.__new__(cls)
        joint._set((), ties, ddof, floor)
        return joint

    def _set(self, columns: tuple[str | int, ...], ties: Any, ddof: Any, floor: float) -> None:
        plain = plain_columns("Joint", columns)
        require_one_of("Joint(ties)", ties, ("none", "class", "all"))
        require_one_of("Joint(ddof)", ddof, (0, 1))
        require_number("Joint(floor)", floor, at_least=1e-12)
        for name, value in (("columns", plain), ("ties", ties), ("ddof", ddof), ("floor", floor)):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        shown = [repr(column) for column in self.columns]
        shown += [
            f"{name}={getattr(self, name)!r}"
            for name, usual in (("ties", "none"), ("ddof", 0), ("floor", 1e-9))
            if getattr(self, name) != usual
        ]
        return f"Joint{'' if self.columns else '.all'}({', '.join(shown)})"

    @classmethod
    def name(cls) -> str:
        return "joint"

    def options(self) -> dict[str, Any]:
        return {"columns": list(self.columns), "ties": self.ties, "ddof": self.ddof, "floor": self.floor}

    @classmethod
    def from_options(cls, columns: Sequence[str | int], **options: Any) -> Joint:
        return cls(*columns, **options) if columns else cls.all(**options)

    def family(self, members: Mapping[str, Member | None], columns: Sequence[str], cuts: Cuts) -> JointFamily | None:
        """A table, a density, or both, once all members are known."""
        known = {name: member for name, member in members.items() if member is not None}
        if len(known) < len(members):
            return None
        labels = {name: member.declared for name, member in known.items() if member.reads == "labels"}
        return JointFamily(
            self,
            given=tuple(members),
            columns=tuple(columns),
            labels=tuple(sorted(labels)),
            numbers=tuple(sorted(set(members) - set(labels))),
            declared=tuple(labels[name] for name in sorted(labels)),
        )


@dataclass(frozen=True)
class Tree(JoinedColumns):
    """Columns that are one factor, a tree: each depends on the class and on one other column, its parent.

    The factor is ``prod_i P(x_i | x_parent(i), y)``. Of all such trees it is the one in which columns tell most of
    their parents: the maximum spanning tree of the conditional mutual information ``I(X_i; X_k | Y)``. `naively.TAN` is
    the model with all columns in one tree.

    Parameters
    ----------
    *columns : str or int
        The members, by name or position; all columns if there are none.
    root : str or int, default=0
        The column that has no parent but the class, by name or by its place among the members.
    bins : int, default=5
        The number of bins of about equal weight that numbers are cut into when the model is first fitted. From then on
        the cuts stay as they are: counts under different cuts cannot be added.
    cuts : dict, optional
        The cut points of members of numbers, by name or place, instead of those.

    Examples
    --------
    Wet follows rain; wind stands alone.

    >>> from naively import NaiveBayes
    >>> rows = {
    ...     "rain": ["yes", "yes", "yes", "no", "no", "no", "yes", "no"],
    ...     "wet": ["yes", "yes", "yes", "no", "no", "yes", "yes", "no"],
    ...     "wind": ["yes", "no", "no", "yes", "yes", "no", "yes", "no"],
    ... }
    >>> model = NaiveBayes("textbook", factors=[Tree("rain", "wet")])
    >>> model = model.fit(rows, ["stay", "stay", "stay", "go", "go", "go", "stay", "stay"])
    >>> model.parameters()["wet"]["parent"]
    'rain'
    """

    reads: ClassVar[str] = "reads labels and bins of numbers"
    advice: ClassVar[str] = "Use Categorical() or none."
    one_rule_for_all: ClassVar[bool] = True

    columns: tuple[str | int, ...]
    root: str | int = 0
    bins: int = 5
    cuts: tuple[tuple[str | int, tuple[float, ...]], ...] | None = None

    def __init__(self, *columns: str | int, root: str | int = 0, bins: int = 5, cuts: Any = None):
        whole = require_whole("bins", bins, at_least=2, at_most=MOST_BINS)
        given = None if cuts is None else _checked_cuts(cuts)
        plain = plain_columns("Tree", columns)
        if isinstance(root, bool) or not isinstance(root, (str, int, np.integer)):
            raise ParameterError(f"Tree(root) must be the name or the position of a column, got {brief(root)}.")
        for name, value in (("columns", plain), ("root", root), ("bins", whole), ("cuts", given)):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        shown = [repr(column) for column in self.columns]
        shown += [
            f"{name}={value!r}" for name, value in self.options().items() if name != "columns" and value != _USUAL[name]
        ]
        return f"Tree({', '.join(shown)})"

    @classmethod
    def name(cls) -> str:
        return "tree"

    def options(self) -> dict[str, Any]:
        cuts = None if self.cuts is None else {key: list(points) for key, points in self.cuts}
        return {"columns": list(self.columns), "root": self.root, "bins": self.bins, "cuts": cuts}

    def cuts_in(self, table: Table, members: Mapping[str, Member | None], weights: FloatArray | None) -> Cuts:
        """The cut points that were given, or those of bins of about equal weight."""
        given, place_of = self._given_cuts(list(members)), {name: place for place, name in enumerate(table.names)}
        chosen: Cuts = {}
        for name, member in members.items():
            if member is None or member.reads != "numbers":
                continue
            numbers = np.asarray(table.column(place_of[name]), dtype=np.float64)
            finite = np.where(np.isinf(numbers), np.nan, numbers)
            found = given.get(name)
            chosen[name] = tuple(equal_frequency_cuts(finite, weights, self.bins).tolist()) if found is None else found
        return chosen

    def family(self, members: Mapping[str, Member | None], columns: Sequence[str], cuts: Cuts) -> TreeFamily:
        """The tree of the members; one of which nothing is known yet is read as labels."""
        self._require_counted_so(members, cuts)
        for name, member in members.items():
            if member is not None and member.reads == "numbers" and name not in cuts:
                raise InputTypeError(
                    f"Column {name!r} was empty when the model was first fitted, so its numbers have no bins. Fit "
                    "again, or name its cut points in cuts=."
                )
        given = tuple(members)
        root = given[position_of(self.root, {name: place for place, name in enumerate(given)}, "root")]
        known = [members[name] for name in columns]
        declared = tuple(None if member is None else member.declared for member in known)
        points = tuple(cuts.get(name) for name in columns)
        return TreeFamily(tuple(columns), points, declared, tuple(columns).index(root))

    def refuse_smoothing(self, rule: Smoothing) -> None:
        """Refuse a rule for certain values: columns have values of their own."""
        if rule.by_value:
            raise ParameterError(
                f"{self!r} has one smoothing for all of its columns, but {brief(rule)} is for columns with certain "
                "values. Use a rule that treats values alike: Laplace(), Lidstone(tau), MEstimate(m), MEstimate(m, "
                "'marginal'), MEstimate(m, 'classes'), ImaginarySample(size), Dirichlet(2.0)."
            )

    def refuse_pieces(self, names: Sequence[str], cuts: Cuts) -> None:
        """Refuse to cut numbers by the first of several pieces of rows."""
        given = self._given_cuts(names)
        chosen = [name for name in names if name in cuts and name not in given]
        if chosen:
            raise InputError(
                f"{self!r} cuts numbers into bins of equal weight, for which it must see all rows at once, but X comes "
                f"in pieces. Name the cut points of {listed(chosen)} in cuts=, for example those of a model of some "
                "rows: cuts=TAN().fit(some_rows, y).cuts_."
            )

    def _require_counted_so(self, members: Mapping[str, Member | None], known: Cuts) -> None:
        """Refuse parameters that would have cut numbers in another way than they were counted."""
        given = self._given_cuts(list(members))
        for name, member in members.items():
            if name not in known:
                continue
            if member is not None and member.reads == "labels":
                raise SchemaError(
                    f"Column {name!r} was counted in bins of numbers, which its family does not read. Fit again with "
                    "the new families."
                )
            if given.get(name, known[name]) != known[name]:
                raise SchemaError(
                    f"Column {name!r} was counted in bins with the cuts {list(known[name])}, not {list(given[name])}. "
                    "Fit again with the new cuts, or set cuts back."
                )

    def _given_cuts(self, names: Sequence[str]) -> Cuts:
        index = {name: place for place, name in enumerate(names)}
        return {names[position_of(key, index, "cuts")]: points for key, points in self.cuts or ()}


_USUAL = {"root": 0, "bins": 5, "cuts": None}


def _checked_cuts(cuts: Any) -> tuple[tuple[Any, tuple[float, ...]], ...]:
    if not isinstance(cuts, Mapping):
        raise ParameterError(f"cuts must be a dict from columns to their cut points, got {brief(cuts)}.")
    result = []
    for key, points in cuts.items():
        values = _as_numbers(points)
        if values.ndim != 1 or not np.isfinite(values).all() or (np.diff(values) <= 0).any():
            raise ParameterError(f"cuts[{brief(key)}] must be finite numbers in ascending order, got {brief(points)}.")
        result.append((key, tuple(values.tolist())))
    return tuple(result)


def _as_numbers(points: Any) -> FloatArray:
    try:
        return np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError):
        return np.full(1, np.nan)
