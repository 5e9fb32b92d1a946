"""Rows without classes: what they say of the class frequencies, and of the model itself.

Two ways for data to differ from what was learnt need no labels to repair. If only the class frequencies have changed,
`estimate_prior` finds the new ones, and ``predict_proba(X, prior=...)`` uses them. If there were too few labels to
begin with, `learn_unlabelled` lets the model label the other rows, in shares, and learn them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from naively._common.checks import require_whole
from naively._scoring.decision import log_prior
from naively._table.read import read_table
from naively._table.results import Columns, Result
from naively._table.table import Table
from naively.engines._registry import engine_of
from naively.engines._threads import thread_count
from naively.engines.base import Target
from naively.errors import ParameterError, told_once, warn
from naively.statistics._statistics import Statistics
from naively.typing import FloatArray, Label, TableLike

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes

# -- the prior ------------------------------------------------------------------------------------------------------


class EstimatedPrior(Result, dict[Label, float]):
    """The share of each class, a dict that prints as a table, with what chance may have added.

    Attributes
    ----------
    standard_error : dict
        How far off each share may be by chance, as a standard deviation, because there are so few rows; by the
        curvature of their likelihood. That the model may be wrong is not in it. 0 for a share at its bounds.
    """

    standard_error: dict[Label, float]

    def _columns(self) -> Columns:
        return {
            "class": ("O", [str(label) for label in self]),
            "share": ("f", list(self.values())),
            "standard_error": ("f", list(self.standard_error.values())),
        }


def estimate_prior(
    model: NaiveBayes, X: TableLike, n_iterations: int = 2000, tolerance: float = 1e-7
) -> EstimatedPrior:
    """The class frequencies of rows without classes, by EM on the model's probabilities.

    It holds where the classes still look as they did and only their shares have changed. Use a model with calibrated
    probabilities: the recipe "auto", "fast" or "strong".

    Parameters
    ----------
    model : NaiveBayes
        Fitted.
    X : table
        As in `NaiveBayes.predict`.
    n_iterations : int, default=2000
        Stop after so many steps, with a warning.
    tolerance : float, default=1e-7
        Stop when no share moves by more than this.

    Returns
    -------
    EstimatedPrior
        A dict with the share of each class, for ``predict(X, prior=...)``, and ``standard_error``, a dict as well. A
        class that the model's prior excludes keeps 0.

    References
    ----------
    Saerens, Latinne and Decaestecker (2002), Adjusting the outputs of a classifier to new a priori probabilities,
    Neural Computation 14.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(2000) < 0.5
    >>> from naively import NaiveBayes
    >>> model = NaiveBayes("textbook").fit(rng.normal(2.0 * y)[:, None], y)
    >>> new = rng.random(2000) < 0.1
    >>> prior = estimate_prior(model, rng.normal(2.0 * new)[:, None])
    >>> bool(abs(prior[True] - new.mean()) < 0.02)
    True
    """
    require_whole("n_iterations", n_iterations)
    model = model._taken()
    before = log_prior(model.class_prior_)
    # Likelihoods up to a factor per row, which does not matter: probabilities without their prior.
    possible = np.isfinite(before)
    logs = model.predict_log_proba(X) - np.where(possible, before, 0.0)
    logs[:, ~possible] = -np.inf
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares, converged = mixture_of(likelihood, np.exp(before), n_iterations, tolerance)
    if not converged:
        warn(
            f"The class frequencies still moved by more than {tolerance:g} after {n_iterations} steps of EM. Give it "
            "more with n_iterations, or ask for less with tolerance.",
        )
    labels = model.classes_.tolist()
    estimated = EstimatedPrior(zip(labels, shares.tolist(), strict=True))
    estimated.standard_error = dict(zip(labels, standard_errors(likelihood, shares).tolist(), strict=True))
    return estimated._of(X)


def standard_errors(likelihood: FloatArray, shares: FloatArray) -> FloatArray:
    """The standard errors of the shares of a mixture, from the curvature of the log-likelihood at its maximum.

    Parameters
    ----------
    likelihood : ndarray of shape (rows, classes)
        Of each row in each class, up to a factor per row.
    shares : ndarray of shape (classes,)

    Examples
    --------
    Where every row tells its class, they are those of a binomial share:

    >>> standard_errors(np.array([[1.0, 0.0]] * 10 + [[0.0, 1.0]] * 30), np.array([0.25, 0.75])).round(4)
    array([0.0685, 0.0685])
    """
    result = np.zeros(len(shares))
    inside = np.flatnonzero((shares > 1e-9) & (shares < 1 - 1e-9))
    if len(inside) < 2:
        return result
    ratio = likelihood[:, inside] / (likelihood @ shares)[:, None]
    score = ratio[:, :-1] - ratio[:, -1:]  # the derivative by each share, the last one making up for it
    covariance = np.linalg.pinv(score.T @ score)
    result[inside[:-1]] = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    result[inside[-1]] = np.sqrt(max(float(covariance.sum()), 0.0))
    return result


def mixture_of(
    likelihood: FloatArray, start: FloatArray, n_iterations: int, tolerance: float
) -> tuple[FloatArray, bool]:
    """The shares of a mixture that make its rows most likely, by EM, and whether they came to rest.

    Parameters
    ----------
    likelihood : ndarray of shape (rows, classes)
        Of each row in each class, up to a factor per row.
    start : ndarray of shape (classes,)
        The shares to begin with; 0 stays 0.
    n_iterations : int
    tolerance : float

    Examples
    --------
    >>> mixture_of(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]), np.array([0.5, 0.5]), 10, 1e-8)
    (array([0.25, 0.75]), True)
    """
    shares = start
    for _ in range(n_iterations):
        joint = likelihood * shares
        total = joint.sum(axis=1, keepdims=True)
        posterior = np.where(total > 0, joint / np.where(total > 0, total, 1.0), shares)
        new = posterior.mean(axis=0)
        new /= new.sum()
        moved = np.abs(new - shares).max()
        shares = new
        if moved <= tolerance:
            return shares, True
    return shares, False


# -- the model ------------------------------------------------------------------------------------------------------


@told_once()
def learn_unlabelled(
    model: NaiveBayes, X: TableLike, weight: float = 1.0, n_iterations: int = 20, tolerance: float = 1e-3
) -> NaiveBayes:
    """A model that has learnt rows without classes, too: by EM, each row shared out among the classes.

    Each step gives every row to the classes in the shares that the present model thinks right, and makes the next model
    from the labelled rows' statistics plus these. It helps where labels are few and the columns are near enough to
    independent within the classes that the rows' own clusters are the classes; where they are not, it can harm: then
    lower the weight.

    Parameters
    ----------
    model : NaiveBayes
        Fitted on the labelled rows; it is left as it is.
    X : table
        The rows without classes, as in `NaiveBayes.predict`.
    weight : float, default=1.0
        What such a row counts, beside 1 for a labelled one; 0 leaves the rows out.
    n_iterations : int, default=20
        At most so many steps.
    tolerance : float, default=1e-3
        Stop when a step moves less than this share of the rows to other classes.

    Returns
    -------
    NaiveBayes
        A new model. In the recipes that weigh evidence on kept rows these stay the labelled ones, whose classes are
        known.

    Notes
    -----
    The steps stop when the shares do, which is when the likelihood does; the evidence of the recipes "auto", "fast" and
    "strong" is no density, so that there the likelihood of a row is not defined.

    References
    ----------
    Nigam, McCallum, Thrun and Mitchell (2000), Text classification from labeled and unlabeled documents using EM,
    Machine Learning 39. `weight` is the lambda of EM-lambda.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(400) % 2
    >>> X = rng.normal(2.0 * y[:, None], size=(400, 3))
    >>> from naively import NaiveBayes
    >>> model = NaiveBayes("textbook").fit(X[:6], y[:6])
    >>> learnt = learn_unlabelled(model, X[6:])
    >>> round(model.score(X[6:], y[6:]), 2), round(learnt.score(X[6:], y[6:]), 2)
    (0.55, 0.95)
    >>> float(round(learnt.class_count_.sum(), 6))
    400.0
    """
    require_whole("n_iterations", n_iterations)
    if isinstance(weight, bool) or not isinstance(weight, (int, float, np.number)) or not 0 <= weight < np.inf:
        raise ParameterError(f"learn_unlabelled(weight) must be a finite number of zero or more, got {weight!r}.")
    model = model._taken()
    shares = model.predict_proba(X)
    table = read_table(X)
    learnt = model.with_statistics(model.statistics_)
    for _ in range(n_iterations if weight > 0 else 0):
        learnt = model.with_statistics(_with_shared_out(model, table, weight * shares))
        previous, shares = shares, learnt.predict_proba(X)
        if 0.5 * float(np.abs(shares - previous).sum(axis=1).mean()) <= tolerance:
            break
    return learnt


def _with_shared_out(model: NaiveBayes, table: Table, weights: FloatArray) -> Statistics:
    """The model's statistics plus those of rows that belong to each class by a weight (rows, classes)."""
    schema = model.schema_
    table, positions = schema.matched(table)
    codes = np.zeros(table.n_rows, dtype=np.int64)
    n_threads = thread_count(model.n_threads)
    total = model.statistics_
    for code in np.flatnonzero(weights.any(axis=0)).tolist():
        label = model.classes_[code : code + 1]
        own = np.ascontiguousarray(weights[:, code])
        total = total + engine_of(table).count(table, schema, positions, Target(label, codes, own), n_threads)
    return replace(total, kept=model.statistics_.kept)
