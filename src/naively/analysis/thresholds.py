"""Precision against recall as the prior of a class moves.

A class is answered where its log-odds ``log P(class | x) - log P(rest | x)`` exceed 0. The log-odds are those of the
evidence plus those of the prior, ``log prior - log (1 - prior)``, so that three things are one: to move the prior of
the class, to move the bias of the discriminant function, and to leave the prior and answer where the log-odds exceed
some other threshold::

    log-odds of the prior moved to = log-odds of the prior in force - threshold

`trade_off` measures what every such choice gives, on rows that the model has not learnt or, with ``left_out=True``, on
those that it has, each as seen by the model without it: no rows need to be held out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, logsumexp

from naively._common.by_label import code_of
from naively._common.checks import require_number
from naively._table.results import SHOWN_ROWS, Columns, Result, Shown
from naively._table.target import read_rows
from naively.classifier import NaiveBayes
from naively.errors import InputError, ParameterError, RecipeError, brief, listed
from naively.families._numbers import spread_places
from naively.typing import AnyArray, FloatArray, IntArray, Label, TableLike, TargetLike, WeightsLike

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes

SAME_SCORE = 1e-10
"""Log-odds that differ by no more than this share of their size differ by rounding: no prior can part them."""


@dataclass(frozen=True, eq=False, repr=False)
class TradeOff(Result):
    """What precision and recall a class has at each threshold on its log-odds, and so at each prior.

    Parameters
    ----------
    positive : label
        The class; all others together are the rest.
    base_prior : dict
        The prior of every class under which the log-odds were computed.
    threshold : ndarray
        Ascending, from minus infinity (every row gets the class) to infinity (none does), and half-way between any two
        neighbouring log-odds in between: a row gets the class if its log-odds exceed the threshold.
    prior : ndarray
        The prior of the class that does the same: moving to it and answering the more probable of class and rest.
    precision : ndarray
        The share of the rows that get the class which are of it; 1 if no row gets it.
    recall : ndarray
        The share of the rows of the class that get it.

    Notes
    -----
    A float64 holds priors down to about 1e-308, log-odds of -700. Where evidence is so strong that the threshold is
    beyond that, only the threshold is of use.
    """

    positive: Label
    base_prior: Mapping[Label, float]
    threshold: FloatArray
    prior: FloatArray
    precision: FloatArray
    recall: FloatArray

    def _columns(self) -> Columns:
        arrays = {name: getattr(self, name) for name in ("threshold", "prior", "precision", "recall")}
        return {name: ("f", values.tolist()) for name, values in {**arrays, "f1": self.f_beta()}.items()}

    def _shown(self) -> Shown:
        return super()._shown()._replace(title=f"{self.positive!r} against the rest")

    def _shown_places(self, n_rows: int) -> Sequence[int]:
        places: Sequence[int] = spread_places(n_rows, SHOWN_ROWS)
        return places

    def prior_at(self, threshold: float) -> dict[Label, float]:
        """The prior of every class that does what the threshold does: for ``predict_proba(X, prior=...)``.

        The other classes keep their shares among each other. With two classes ``predict(X, prior=...)`` answers the
        class exactly where the log-odds exceed the threshold; with more, that is where its probability exceeds 1/2.

        Parameters
        ----------
        threshold : float

        Returns
        -------
        dict
        """
        if isinstance(threshold, bool) or not isinstance(threshold, (int, float, np.number)) or np.isnan(threshold):
            raise ParameterError(f"prior_at(threshold) must be a number, got {brief(threshold)}.")
        odds = _log_odds_of_prior(self.base_prior, self.positive) - float(threshold)
        rest = {label: share for label, share in self.base_prior.items() if label != self.positive}
        # Not 1 - prior: a rest of 1e-30 keeps its digits.
        moved = {label: float(expit(-odds)) * share / sum(rest.values()) for label, share in rest.items()}
        moved[self.positive] = float(expit(odds))
        return {label: moved[label] for label in self.base_prior}

    def f_beta(self, beta: float = 1.0) -> FloatArray:
        """The F-measure at each threshold, in which recall weighs `beta` times as much as precision.

        ``(1 + beta**2) * precision * recall / (beta**2 * precision + recall)``

        Parameters
        ----------
        beta : float, default=1.0

        Returns
        -------
        ndarray
        """
        _require_beta(beta)
        weighted = beta**2 * self.precision + self.recall
        f = (1 + beta**2) * self.precision * self.recall / np.where(weighted > 0, weighted, 1.0)
        return np.asarray(f)

    def threshold_for_f_beta(self, beta: float = 1.0) -> float:
        """The threshold with the highest F-measure; the highest of several.

        Parameters
        ----------
        beta : float, default=1.0
            Above 1 if a row that is missed is worse than a false alarm, below 1 if it is the other way round.

        Returns
        -------
        float
        """
        f = self.f_beta(beta)
        return float(self.threshold[np.flatnonzero(f == f.max())[-1]])

    def threshold_for_precision(self, least: float) -> float:
        """The threshold with the highest recall among those of at least this precision; the highest of several.

        Parameters
        ----------
        least : float
            Between 0 and 1. A precision of 1 can always be had: by never answering the class.

        Returns
        -------
        float
        """
        require_number("threshold_for_precision(least)", least, at_least=0)
        if least > 1:
            raise ParameterError(f"threshold_for_precision(least) must be between 0 and 1, got {brief(least)}.")
        recall = np.where(self.precision >= least, self.recall, -1.0)
        return float(self.threshold[np.flatnonzero(recall == recall.max())[-1]])


def trade_off(
    model: NaiveBayes,
    X: TableLike | None = None,
    y: TargetLike | None = None,
    sample_weight: WeightsLike | None = None,
    *,
    positive: Any = None,
    left_out: bool = False,
) -> TradeOff:
    """Precision and recall of a class against the rest, at every prior.

    Parameters
    ----------
    model : NaiveBayes
        Fitted.
    X, y, sample_weight
        Rows and their classes, as in `NaiveBayes.fit`.
    positive : label, optional
        The class; by default the second of two.
    left_out : bool, default=False
        Whether these are rows that the model has learnt: then each is seen by the model without it, as in
        `NaiveBayes.loo`. Without X, the rows that a recipe other than "textbook" has kept.

    Returns
    -------
    TradeOff

    Examples
    --------
    >>> X, y = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], ["ham", "ham", "spam", "ham", "spam", "spam"]
    >>> from naively import NaiveBayes
    >>> model = NaiveBayes("textbook", families="poisson").fit(X, y)
    >>> curve = trade_off(model, X, y)
    >>> for numbers in (curve.prior, curve.precision, curve.recall):
    ...     print(numbers.round(2))
    [1.   0.73 0.62 0.49 0.37 0.26 0.  ]
    [0.5  0.6  0.75 0.67 1.   1.   1.  ]
    [1.   1.   1.   0.67 0.67 0.33 0.  ]
    >>> strict = curve.threshold_for_precision(1.0)
    >>> model.predict(X, prior=curve.prior_at(strict)).tolist()
    ['ham', 'ham', 'ham', 'ham', 'spam', 'spam']
    >>> trade_off(model, X, y, left_out=True).precision.round(2)
    array([0.5 , 0.6 , 0.75, 0.67, 1.  , 1.  , 1.  ])
    """
    model = model._taken()
    model._require_fitted()
    positive = _positive(positive, model.classes_.tolist())
    prior = np.asarray(model.class_prior_)
    if prior.ndim == 2:
        raise ParameterError("trade_off moves one prior for all rows, but the model's prior has one per row.")
    if left_out and X is None:
        logs, is_positive, weights, prior = _kept_rows(model, positive)
    else:
        logs, is_positive, weights = _scored_rows(model, X, y, sample_weight, positive, prior if left_out else None)
    base_prior = dict(zip(model.classes_.tolist(), prior.tolist(), strict=True))
    place = model.classes_.tolist().index(positive)
    curve = trade_off_of(_log_odds(logs, place), is_positive, weights, positive=positive, base_prior=base_prior)
    return curve._of(X)


def trade_off_of(
    log_odds: Any,
    is_positive: Any,
    sample_weight: WeightsLike | None = None,
    *,
    positive: Label = True,
    base_prior: Mapping[Label, float] | None = None,
) -> TradeOff:
    """Precision and recall from log-odds that are already known, whatever they come from.

    Parameters
    ----------
    log_odds : array-like of shape (n_rows,)
        The higher, the more likely is the class. Infinities are allowed.
    is_positive : array-like of bool, of shape (n_rows,)
        Whether the row is of the class.
    sample_weight : array-like, optional
    positive : label, default=True
        What the class is called.
    base_prior : dict, optional
        The prior that is part of the log-odds, by class; one half for True and for False by default.

    Returns
    -------
    TradeOff

    Examples
    --------
    >>> curve = trade_off_of([-2.0, -1.0, 0.0, 3.0], [False, True, False, True])
    >>> curve.threshold, curve.recall
    (array([-inf, -1.5, -0.5,  1.5,  inf]), array([1. , 1. , 0.5, 0.5, 0. ]))
    >>> curve.threshold_for_f_beta(0.5), curve.threshold_for_f_beta(2.0)
    (1.5, -1.5)
    """
    scores = _numbers("log_odds", log_odds)
    is_positive = np.asarray(is_positive)
    weights = np.ones(len(scores)) if sample_weight is None else _numbers("sample_weight", sample_weight)
    base_prior = {False: 0.5, True: 0.5} if base_prior is None else base_prior
    _check_rows(scores, is_positive, weights)
    if positive not in base_prior:
        raise ParameterError(f"base_prior has no entry for the class {brief(positive)}; it has {list(base_prior)}.")
    order = np.argsort(scores, kind="stable")
    scores, hits, weights = scores[order], weights[order] * is_positive[order], weights[order]
    first = _first_of_each(scores)  # rows with the same log-odds get the same answer
    found = _from_the_end(hits, first)
    answered = _from_the_end(weights, first)
    precision = np.where(answered > 0, found / np.where(answered > 0, answered, 1.0), 1.0)
    threshold = _between(scores, first)
    return TradeOff(
        positive,
        dict(base_prior),
        threshold,
        expit(_log_odds_of_prior(base_prior, positive) - threshold),
        precision,
        found / found[0],
    )


# -- the rows -------------------------------------------------------------------------------------------------------


def _scored_rows(
    model: NaiveBayes,
    X: Any,
    y: Any,
    sample_weight: Any,
    positive: Label,
    fixed: FloatArray | None,
) -> tuple[FloatArray, AnyArray, FloatArray | None]:
    """The log-probabilities of rows, whether they are of the class, and their weights.

    With a prior to hold fixed they are left out one by one, under that prior and not one without the row.
    """
    if X is None:
        raise InputError("trade_off needs rows and their classes, X and y; without them, left_out=True may do.")
    table, classes, codes, weights = read_rows(X, y, sample_weight)
    is_positive = np.array([label == positive for label in classes.tolist()], dtype=bool)[codes]
    if fixed is None:
        return model.predict_log_proba(table), is_positive, weights
    model = model.with_statistics(model.statistics_).set_params(prior=fixed)
    return model.loo(X, y, sample_weight), is_positive, weights


def _kept_rows(model: NaiveBayes, positive: Label) -> tuple[FloatArray, AnyArray, FloatArray | None, FloatArray]:
    """Log-probabilities of the rows that a recipe has kept, and the prior that they hold."""
    left_out = model._left_out_rows()
    if left_out is None:
        raise RecipeError(
            f"trade_off without X answers for kept rows, and recipe {model.recipe!r} keeps none. Give it X and y."
        )
    is_positive = left_out.codes == model.classes_.tolist().index(positive)
    return model.loo(), is_positive, left_out.weights, np.exp(left_out.log_prior)


def _positive(positive: Any, classes: list[Label]) -> Label:
    if len(classes) < 2:
        raise ParameterError(f"One class against the rest takes two classes; the model knows {listed(classes)}.")
    if positive is None and len(classes) == 2:
        return classes[1]
    return classes[code_of(positive, classes, "positive")]


# -- the numbers ----------------------------------------------------------------------------------------------------


def _log_odds(logs: FloatArray, place: int) -> FloatArray:
    """The log-odds of one class against the rest, from the log-probabilities of all."""
    return np.asarray(logs[:, place] - logsumexp(np.delete(logs, place, axis=1), axis=1))


def _log_odds_of_prior(prior: Mapping[Label, float], positive: Label) -> float:
    """The log-odds of the class by the prior, which must give it a chance, and the rest, too."""
    rest = sum(share for label, share in prior.items() if label != positive)
    if not (prior[positive] > 0 and rest > 0):
        raise ParameterError(
            f"The prior gives the class {positive!r} the probability {prior[positive]:g} and the rest {rest:g}: there "
            "is nothing to move. Use a prior above 0 and below 1."
        )
    return float(np.log(prior[positive]) - np.log(rest))


def _first_of_each(scores: FloatArray) -> IntArray:
    """Where, among ascending scores, the first of those that are the same but for rounding stands."""
    finite = np.clip(scores, -1e300, 1e300)
    before, after = finite[:-1], finite[1:]
    apart = after - before > SAME_SCORE * np.maximum(np.minimum(np.abs(after), np.abs(before)), 1.0)
    return np.flatnonzero(np.concatenate([[True], apart]))


def _between(scores: FloatArray, first: IntArray) -> FloatArray:
    """A threshold below all groups of scores, between any two of them, and above all."""
    low, high = scores[first[1:] - 1], scores[first[1:]]
    low, high = np.where(np.isinf(low), high - 1.0, low), np.where(np.isinf(high), low + 1.0, high)
    with np.errstate(invalid="ignore"):  # if there is nothing but infinities, 0 lies between them
        middle = np.where(np.isinf(low) | np.isinf(high), 0.0, low / 2 + high / 2)
    return np.concatenate([[-np.inf], middle, [np.inf]])


def _from_the_end(weights: FloatArray, first: IntArray) -> FloatArray:
    """What all rows from each group on weigh, and at last nothing."""
    return np.append(np.cumsum(np.add.reduceat(weights, first)[::-1])[::-1], 0.0)


# -- checks ---------------------------------------------------------------------------------------------------------


def _numbers(name: str, values: Any) -> FloatArray:
    try:
        result = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold one number per row, got {brief(values)}.") from error
    if result.ndim != 1 or np.isnan(result).any():
        raise InputError(f"{name} must hold one number per row and no NaN; its shape is {result.shape}.")
    return result


def _check_rows(scores: FloatArray, is_positive: AnyArray, weights: FloatArray) -> None:
    if is_positive.dtype.kind != "b":
        raise InputError(f"is_positive must hold True and False, got the type {is_positive.dtype}.")
    if not len(scores) == len(is_positive) == len(weights):
        raise InputError(
            f"log_odds, is_positive and sample_weight must have as many rows; they have {len(scores)}, "
            f"{len(is_positive)} and {len(weights)}."
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise InputError("sample_weight must hold finite numbers of zero or more.")
    if not weights[is_positive].any():
        raise InputError("No row is of the class, so that it has no recall. Give rows of the class and of others.")


def _require_beta(beta: Any) -> None:
    require_number("beta", beta, at_least=0)
    if beta == 0:
        raise ParameterError("beta must be above 0. To have nothing but precision use threshold_for_precision.")
