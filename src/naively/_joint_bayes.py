"""The Bayes classifier without independence: one joint factor of all columns."""

from __future__ import annotations

from typing import Any

from naively.classifier import NaiveBayes
from naively.families import Joint
from naively.recipes import Recipe


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
    factors = None
    kept_rows = None

    _takes_new_columns = False

    def __init__(
        self,
        *,
        families: Any = None,
        smoothing: Any = None,
        prior: Any = "estimated",
        prior_smoothing: Any = None,
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

    def _joints(self, names: Any, recipe: Recipe) -> tuple[Joint, ...]:
        return (Joint(*range(len(names)), ties=self.ties, ddof=self.ddof, floor=self.floor),)

    def _basis(self) -> tuple[Any, ...]:
        return (*super()._basis(), self.ties, self.ddof, self.floor)
