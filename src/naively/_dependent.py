"""Models whose columns depend on one another: `NaiveBayes` with one factor of all columns."""

from __future__ import annotations

from typing import Any, cast

from naively._model.state import of_one_state
from naively.classifier import NaiveBayes
from naively.families import Joint, Tree
from naively.families._tree import TreeEstimate
from naively.typing import FamiliesLike, FloatArray, PriorLike, SmoothingLike


class JointBayes(NaiveBayes):
    """The full joint Bayes classifier: P(all columns | class), nothing taken to be independent.

    Labels have one table over all combinations of their values, numbers a multivariate normal density, both together a
    normal density for each combination. It needs far more rows than naive Bayes: n truth values have ``2 ** n - 1``
    free probabilities per class, not n. To join some columns only, use
    ``NaiveBayes("textbook", factors=[Joint(...)])``.

    Parameters
    ----------
    families : family, str or dict, optional
        ``Categorical`` or ``Gaussian`` by column, as in `NaiveBayes`, where the inferred ones will not do.
    smoothing : smoothing, float or str, optional
        Pseudo-counts of every combination of labels; Laplace's rule by default.
    prior, prior_smoothing, n_threads
        As in `NaiveBayes`.
    ties, ddof, floor
        How covariances are estimated, as in `Joint`.

    Examples
    --------
    Wealth by gender and hours worked, from a table of joint probabilities:

    >>> rows = {
    ...     "gender": ["F", "F", "F", "F", "M", "M", "M", "M"],
    ...     "hours": ["40-", "40-", "40+", "40+", "40-", "40-", "40+", "40+"],
    ... }
    >>> wealth = ["poor", "rich"] * 4
    >>> share = [0.253122, 0.0245895, 0.0421768, 0.0116293, 0.331313, 0.0971295, 0.134106, 0.105933]
    >>> model = JointBayes(smoothing=0).fit(rows, wealth, sample_weight=share)
    >>> model.predict_proba({"gender": ["F", "M"], "hours": ["40+", "40+"]})[:, 1].round(3)
    array([0.216, 0.441])
    """

    recipe = "textbook"
    kept_rows = None

    def __init__(
        self,
        *,
        families: FamiliesLike | None = None,
        smoothing: SmoothingLike | None = None,
        prior: PriorLike = "estimated",
        prior_smoothing: SmoothingLike | None = None,
        ties: Any = "none",
        ddof: Any = 0,
        floor: float = 1e-9,
        n_threads: int | None = None,
    ):
        self.families = families
        self.smoothing = smoothing
        self.prior = prior
        self.prior_smoothing = prior_smoothing
        self.ties = ties
        self.ddof = ddof
        self.floor = floor
        self.n_threads = n_threads

    @property
    def factors(self) -> Joint:  # type: ignore[override]
        """The one factor."""
        return Joint.all(ties=self.ties, ddof=self.ddof, floor=self.floor)


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
    kept_rows = None

    def __init__(
        self,
        *,
        root: str | int = 0,
        bins: int = 5,
        cuts: Any = None,
        families: FamiliesLike | None = None,
        smoothing: SmoothingLike | None = None,
        prior: PriorLike = "estimated",
        prior_smoothing: SmoothingLike | None = None,
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
    def factors(self) -> Tree:  # type: ignore[override]
        """The one factor."""
        return Tree(root=self.root, bins=self.bins, cuts=self.cuts)

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
    def cuts_(self) -> dict[str, tuple[float, ...]]:
        """The cut points of the columns of numbers."""
        self._require_fitted()
        return self.schema_.cuts

    def _tree(self) -> TreeEstimate:
        self._require_fitted()
        return cast(TreeEstimate, self._estimated()[0].factors[0].estimate)
