"""Tree-augmented naive Bayes: every column may depend on the class and on one other column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from naively._checks import require_whole
from naively._schema import Schema, assign_families, ignored_places, position_of
from naively._state import of_one_state
from naively._table.table import Table
from naively.analysis._pairs import equal_frequency_cuts
from naively.classifier import NaiveBayes
from naively.errors import GapError, InputError, InputTypeError, ParameterError, SchemaError, brief, listed
from naively.families import Family
from naively.families._tree import TreeEstimate, TreeFamily
from naively.families.base import Member
from naively.recipes import Recipe
from naively.smoothing import Smoothing
from naively.typing import FloatArray

Cuts = dict[str, tuple[float, ...]]

MOST_BINS = 1 << 16
"""The number of bins that numbers may be cut into."""


class TAN(NaiveBayes):
    """Tree-augmented naive Bayes (Friedman, Geiger and Goldszmidt 1997).

    Each column depends on the class and on one other column, its parent: ``P(y) prod_i P(x_i | x_parent(i), y)``. Of
    all such trees it takes the one in which columns tell most of their parents: the maximum spanning tree of the
    conditional mutual information ``I(X_i; X_k | Y)``. What is learnt are the counts of all pairs of columns, which
    add, subtract and merge like all statistics, so the tree is always that of all rows.

    Parameters
    ----------
    root : str or int, default=0
        The column that has no parent but the class.
    bins : int, default=5
        Numbers are cut into so many bins of about equal weight when the model is first fitted. From then on the cuts
        stay as they are: counts under different cuts cannot be added.
    cuts : dict, optional
        The cut points of columns of numbers, by name or position, in place of those. Models that are to be merged need
        the same: fit the second with ``cuts=first.cuts_``.
    families : family, str or dict, optional
        ``Categorical([...])`` declares values, or reads numbers as labels.
    smoothing : smoothing, float or str, optional
        Pseudo-counts of each value, given the class and the parent's value; Laplace's rule by default.
        `ImaginarySample` is the rule of Bayesian networks.
    prior, prior_smoothing, n_threads
        As in `NaiveBayes`.

    Attributes
    ----------
    tree_ : list of (parent, child)
        The arcs between columns, from the root outwards.
    mutual_information_ : ndarray of shape (n_columns, n_columns)
        ``I(X_i; X_k | Y)`` in nats, of the rows in which both are known.
    cuts_ : dict
        The cut points of the columns of numbers.

    Notes
    -----
    The evidence of a column is ``log P(x_i | x_parent, y)``. Missing cells are summed over, exactly, along the tree;
    what a column then adds is given all known columns before it in the tree. Values that were never learnt are taken
    for missing. A pair is counted in the rows where both columns are known; columns that are never known together are
    not joined. A column without a known cell at first is read as labels.

    Examples
    --------
    >>> rows = {
    ...     "rain": ["yes", "yes", "yes", "no", "no", "no", "yes", "no"],
    ...     "wet": ["yes", "yes", "yes", "no", "no", "yes", "yes", "no"],
    ...     "wind": ["yes", "no", "no", "yes", "yes", "no", "yes", "no"],
    ... }
    >>> model = TAN().fit(rows, ["stay", "stay", "stay", "go", "go", "go", "stay", "stay"])
    >>> model.tree_
    [('rain', 'wet'), ('wet', 'wind')]
    """

    recipe = "textbook"
    factors = None
    kept_rows = None

    _takes_new_columns = False

    def __init__(
        self,
        *,
        root: str | int = 0,
        bins: int = 5,
        cuts: Any = None,
        families: Any = None,
        smoothing: Any = None,
        prior: Any = "estimated",
        prior_smoothing: Any = None,
        n_threads: int | None = None,
    ):
        self.root = root
        self.bins = bins
        self.cuts = cuts
        self.families = families
        self.smoothing = smoothing
        self.prior = prior
        self.prior_smoothing = prior_smoothing
        self.n_threads = n_threads

    @property
    @of_one_state
    def tree_(self) -> list[tuple[str, str]]:
        """The arcs between columns, (parent, child)."""
        arcs, names = self._tree().arcs, self.schema_.names
        return [(names[parent], names[child]) for parent, child in arcs if parent is not None]

    @property
    @of_one_state
    def mutual_information_(self) -> FloatArray:
        """The conditional mutual information of all pairs of columns given the class, in nats."""
        return self._tree().information.copy()

    @property
    @of_one_state
    def cuts_(self) -> Cuts:
        """The cut points of the columns of numbers."""
        self._require_fitted()
        return _cuts_of(self.schema_)

    def _tree(self) -> TreeEstimate:
        self._require_fitted()
        return cast(TreeEstimate, self._estimated()[0].factors[0].estimate)

    def _basis(self) -> tuple[Any, ...]:
        return (*super()._basis(), self.root, self.cuts)

    def _given_smoothings(self, names: Any, recipe: Recipe) -> list[Smoothing]:
        if isinstance(self.smoothing, Mapping):
            raise ParameterError(f"TAN has one smoothing for all columns, but it was given {brief(self.smoothing)}.")
        rules = super()._given_smoothings(names, recipe)
        if rules and rules[0].by_value:
            raise ParameterError(
                f"TAN has one smoothing for all columns, but {brief(rules[0])} is for columns with certain values. Use "
                "a rule that treats values alike: Laplace(), Lidstone(tau), MEstimate(m), MEstimate(m, 'marginal'), "
                "MEstimate(m, 'classes'), ImaginarySample(size), Dirichlet(2.0)."
            )
        return rules

    def _first_families(self, table: Table, recipe: Recipe, weights: FloatArray | None) -> list[Family | None]:
        return self._grown(table.names, table.kinds, recipe, self._chosen_cuts(table, recipe, weights))

    def _assigned(self, recipe: Recipe, names: Any, kinds: Any, counting: bool = True) -> list[Family | None]:
        self._check_bins()
        known = self.cuts_
        self._require_same_bins(names, self._inferred(names, kinds, recipe), known)
        return self._grown(names, kinds, recipe, known)

    def _refuse_pieces(self, schema: Schema) -> None:
        chosen = [name for name in _cuts_of(schema) if name not in _given_cuts(self.cuts, schema.names)]
        if chosen:
            raise InputError(
                "TAN cuts numbers into bins of equal weight, for which it must see all rows at once, but X comes in "
                f"pieces. Name the cut points of {listed(chosen)} in cuts=, for example those of a model of some rows: "
                "cuts=TAN().fit(some_rows, y).cuts_."
            )

    def _require_same_bins(self, names: Any, families: list[Family | None], known: Cuts) -> None:
        """Refuse parameters that would have cut numbers in another way than they were counted."""
        given = _given_cuts(self.cuts, names)
        for name, family in zip(names, families, strict=True):
            if name in known and family is not None and _member(name, family).reads == "labels":
                raise SchemaError(
                    f"Column {name!r} was counted in bins of numbers, which {family!r} does not read. "
                    "Fit again with the new families."
                )
            if name in known and given.get(name, known[name]) != known[name]:
                raise SchemaError(
                    f"Column {name!r} was counted in bins with the cuts {list(known[name])}, not {list(given[name])}. "
                    "Fit again with the new cuts, or set cuts back."
                )

    def _inferred(self, names: Any, kinds: Any, recipe: Recipe) -> list[Family | None]:
        """What each column would be read with alone: numbers are cut into bins, whatever `ByKind` makes of them."""
        if ignored := ignored_places(names, self.families, self.ignore):
            named = listed([names[place] for place in ignored])
            raise ParameterError(f"TAN joins all columns into a tree, so it cannot ignore {named}: leave it out of X.")
        return assign_families(names, kinds, self.families, recipe, lambda by_kind, _: by_kind.numbers)

    def _chosen_cuts(self, table: Table, recipe: Recipe, weights: FloatArray | None) -> Cuts:
        """The cut points of the columns of numbers: those given, or bins of equal weight."""
        self._check_bins()
        given = _given_cuts(self.cuts, table.names)
        families = self._inferred(table.names, table.kinds, recipe)
        chosen: Cuts = {}
        for place, (name, family) in enumerate(zip(table.names, families, strict=True)):
            if family is not None and _member(name, family).reads == "numbers":
                numbers = np.asarray(table.column(place), dtype=np.float64)
                found = equal_frequency_cuts(np.where(np.isinf(numbers), np.nan, numbers), weights, int(self.bins))
                chosen[name] = given[name] if name in given else tuple(found.tolist())
        return chosen

    def _check_bins(self) -> None:
        require_whole("bins", self.bins, at_least=2, at_most=MOST_BINS)

    def _grown(self, names: Any, kinds: Any, recipe: Recipe, cuts: Cuts) -> list[Family | None]:
        """The tree, as the family of every column."""
        families = self._inferred(names, kinds, recipe)
        declared: list[Any] = []
        for name, family in zip(names, families, strict=True):
            member = None if family is None else _member(name, family)
            if member is not None and member.reads == "numbers" and name not in cuts:
                raise InputTypeError(
                    f"Column {name!r} was empty when the model was first fitted, so its numbers have no bins. Fit "
                    "again, or name its cut points in cuts=."
                )
            declared.append(None if member is None else member.declared)
        index = {name: place for place, name in enumerate(names)}
        root = position_of(self.root, index, "root")
        tree = TreeFamily(tuple(names), tuple(cuts.get(name) for name in names), tuple(declared), root)
        return [tree] * len(names)


def _member(name: str, family: Family) -> Member:
    try:
        member: Member = family.as_member()
    except GapError as gap:
        raise ParameterError(
            f"TAN reads labels and bins of numbers, but the family of column {name!r} is {family!r}, which "
            f"{gap.reason}. Use Categorical() or none."
        ) from None
    return member


def _given_cuts(cuts: Any, names: Any) -> Cuts:
    if cuts is None:
        return {}
    if not isinstance(cuts, Mapping):
        raise ParameterError(f"cuts must be a dict from columns to their cut points, got {brief(cuts)}.")
    index = {name: place for place, name in enumerate(names)}
    result = {}
    for key, points in cuts.items():
        values = np.asarray(points, dtype=np.float64)
        if values.ndim != 1 or not np.isfinite(values).all() or (np.diff(values) <= 0).any():
            raise ParameterError(f"cuts[{brief(key)}] must be finite numbers in ascending order, got {brief(points)}.")
        result[names[position_of(key, index, "cuts")]] = tuple(values.tolist())
    return result


def _cuts_of(schema: Schema) -> Cuts:
    """The cut points that a schema has fixed."""
    result: Cuts = {}
    for name, summaries in zip(schema.names, schema.summaries, strict=True):
        single = next((summary for summary in summaries if summary.labels == (name,)), None)
        if single is not None and single.cuts and single.cuts[0] is not None:
            result[name] = single.cuts[0]
    return result
