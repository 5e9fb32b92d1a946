"""What a fitted model answers: predictions, evidence, explanations, leave-one-out, parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from naively.additive.calibration import Calibration, calibration
from naively.decision import Decider, check_reject, labelled, log_prior, loss_matrix
from naively.door import read_table
from naively.engines.threads import thread_count
from naively.errors import InputError, ParameterError, RecipeError, listed
from naively.estimation import Estimation
from naively.evidence import Scorer
from naively.explained_cells import WIDE, explained_cells
from naively.explanation import as_frame, attribute, explanation
from naively.families import JointFamily
from naively.leave_one_out import LearntRows, codes_among, left_out_log_prior, left_out_scores
from naively.pooled import PooledScorer
from naively.recipes import as_recipe
from naively.spoken import spoken_tokens
from naively.table import SparseTable, Table, require_rows
from naively.target import read_rows
from naively.typing import (
    AnyArray,
    FloatArray,
    IntArray,
    Label,
    LossLike,
    PriorLike,
    TableLike,
    TargetLike,
    WeightsLike,
)


class Answers(Estimation):
    """The part of `NaiveBayes` that answers; nothing here changes the model."""

    def predict(
        self,
        X: TableLike,
        prior: PriorLike | None = None,
        loss: LossLike | None = None,
        reject: float | None = None,
        reject_label: Any = None,
    ) -> AnyArray:
        """The class of least expected loss of each row; without `loss`, the most probable one.

        Parameters
        ----------
        X : as in `fit`
        prior : as the parameter `prior`, or an array of shape (n_rows, n_classes), optional
            Another class prior, for this call only.
        loss : array of shape (n_classes, n_classes) or dict, optional
            What answers cost: ``loss[true, predicted]`` in the order of `classes_`; or by label, as
            ``{true: {predicted: cost}}`` or ``{(true, predicted): cost}``, where a right answer costs 0 unless given.
        reject : float, optional
            What it costs to leave a row undecided. A row whose every answer is expected to cost more is rejected;
            without `loss`, that is one whose highest probability is below ``1 - reject`` (Chow's rule).
        reject_label : optional
            What rejected rows get, instead of None; no class.

        Returns
        -------
        ndarray of shape (n_rows,)
            With `reject`, an array of objects in which None stands for "undecided", whether or not any row is; or an
            array of the classes' type if `reject_label` is of that type.

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> X, y = [[0], [0], [1], [1], [1], [2], [2]], ["ham"] * 4 + ["spam"] * 3
        >>> model = NaiveBayes("textbook", families="categorical").fit(X, y)
        >>> model.predict_proba([[0], [1], [2]])[:, 1].round(2)
        array([0.23, 0.37, 0.72])
        >>> model.predict([[0], [1], [2]], loss={("ham", "spam"): 10, ("spam", "ham"): 1}).tolist()
        ['ham', 'ham', 'ham']
        >>> model.predict([[0], [1], [2]], reject=0.3, reject_label="unsure").tolist()
        ['ham', 'unsure', 'spam']
        """
        table, positions, scorer, decider = self._ready(X, prior)
        cost = check_reject(reject, reject_label, self.classes_)
        decider = Decider(decider.log_prior, loss_matrix(loss, self.classes_), cost)
        best = np.empty(table.n_rows, dtype=np.int64)

        def finish(scores: FloatArray, rows: slice) -> None:
            best[rows] = decider.choose(scores, rows)

        scorer.run(table, positions, finish, thread_count(self.n_threads))
        decider.warn()
        return labelled(best, self.classes_, cost is not None, reject_label)

    def predict_proba(self, X: TableLike, prior: PriorLike | None = None) -> FloatArray:
        """The probability of each class.

        Parameters
        ----------
        X, prior
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self._scores(X, prior, "probabilities")

    def predict_log_proba(self, X: TableLike, prior: PriorLike | None = None) -> FloatArray:
        """The logarithm of the probability of each class.

        Parameters
        ----------
        X, prior
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self._scores(X, prior, "normalise")

    def predict_joint_log_proba(self, X: TableLike, prior: PriorLike | None = None) -> FloatArray:
        """The joint log-probability ``log P(class) + log P(row | class)``.

        Parameters
        ----------
        X, prior
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self._scores(X, prior, "add_prior")

    def evidence(self, X: TableLike) -> FloatArray:
        """The log-likelihood that each cell contributes to each class; 0 where the cell is missing.

        ``log prior + evidence.sum(axis=1)`` is `predict_joint_log_proba`.

        Returns
        -------
        ndarray of shape (n_rows, n_columns, n_classes)
            More terms follow the columns where columns speak together: joint factors, whose members are 0 themselves;
            in the recipe "strong" pairs, experts and their pool. `evidence_names_` names them all.
        """
        table, positions, scorer, _ = self._ready(X, None)
        return scorer.evidence(table, positions)

    def explain(
        self, X: TableLike, target: Label | None = None, prior: PriorLike | None = None, tokens: int = 10
    ) -> Any:
        """Why each row is, or is not, of a class: the evidence of the prior and of every column, in bits.

        A bit doubles the odds. The bits of a row add up to ``log2(P / (1 - P))``, P being the probability of the class;
        `naively.explanation` says how "the rest" is weighed where there are more than two classes.

        Parameters
        ----------
        X, prior
            As in `predict`.
        target : label, optional
            The class to speak for; by default each row's predicted one.
        tokens : int, default=10
            Of a column of prose, so many tokens are named, those that say most; 0 to keep it in one line. So it is
            with the columns that are stored in a row of a sparse matrix with more than 100 of them: all others are
            one line.

        Returns
        -------
        data frame
            Of the same library as X; of pandas if X is no data frame; where pandas is not installed, a dict of lists.
            For each row of X one row for the prior and one for each of `evidence_names_` (but for the members of joint
            factors, which have no evidence of their own): ``row`` (its position in X), ``column``, ``value`` (as text;
            null where missing), ``class`` and ``bits``.

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> from naively.explanation import as_text
        >>> rows = [{"coat": "striped"}, {"coat": "plain"}, {"coat": "plain"}]
        >>> model = NaiveBayes("textbook").fit(rows, ["cat", "dog", "dog"])
        >>> print(as_text(model.explain([{"coat": "plain"}])))
        row 0: dog against the rest, probability 0.818
        +1.17  coat      plain
        +1.00  prior
        +2.17  log-odds
        """
        table, positions, scorer, decider = self._ready(X, prior)
        wanted = None if target is None else self._class_code(target)
        if isinstance(table, SparseTable) and table.n_columns > WIDE:
            lines = explained_cells(scorer, table, positions, decider, self.classes_, wanted, tokens)
            decider.warn()
            return as_frame(lines, self.classes_, X)
        evidence = scorer.evidence(table, positions)
        chosen = decider.choose(evidence.sum(axis=1), slice(0, table.n_rows))
        if wanted is not None:
            chosen = np.full(table.n_rows, wanted)
        decider.warn()
        bits = attribute(decider.log_prior, evidence, chosen)
        spoken = spoken_tokens(scorer, table, positions, decider.log_prior, evidence, chosen, tokens)
        terms = [place for place, name in enumerate(scorer.names) if name not in scorer.silent]
        names = [scorer.names[place] for place in terms]
        bits = bits[:, [0, *(place + 1 for place in terms)]]
        return explanation(X, table, positions, self.schema_.names, names, self.classes_, chosen, bits, spoken)

    def _class_code(self, label: Any, where: str = "target") -> int:
        known = self.classes_.tolist()
        if isinstance(label, np.generic):
            label = label.item()
        if label not in known:
            raise ParameterError(f"{where} must be one of the classes {listed(known, 20)}, got {label!r}.")
        return int(known.index(label))

    def loo(
        self, X: TableLike | None = None, y: TargetLike | None = None, sample_weight: WeightsLike | None = None
    ) -> FloatArray:
        """Leave-one-out: the log-probability of each class for rows that were learnt, by the model without that row.

        Nothing is fitted again; it takes about the time of a prediction.

        Parameters
        ----------
        X, y, sample_weight
            Rows that the model has learnt, as they were given to `fit`; a row loses its whole weight. Without X, the
            rows that the recipe has kept, as in `calibration_`: there, evidence is weighed by what the rows of other
            folds say.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)

        Notes
        -----
        The answer is that of `forget` and `predict_log_proba`, row by row. `Kernel`, `Binned` and `Stacked` do not
        choose their bandwidths, cuts and shares again. A class of which nothing is left stays, without any rows.

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> X, y = [[1.0], [3.0], [6.0], [2.0], [5.0], [9.0]], ["a", "a", "a", "b", "b", "b"]
        >>> model = NaiveBayes("textbook").fit(X, y)
        >>> model.loo(X, y)[0].round(3)
        array([-1.571, -0.233])
        >>> model.forget(X[:1], y[:1]).predict_log_proba(X[:1])[0].round(3)
        array([-1.571, -0.233])
        """
        self._require_fitted()
        if X is None:
            return self._left_out_of_kept_rows()
        recipe = as_recipe(self.recipe)
        if recipe.tempering is not None:
            raise ParameterError(
                f"Recipe {self.recipe!r} weighs evidence on the rows it has kept: loo() without arguments gives their "
                "leave-one-out answers. Use recipe='textbook' for other rows."
            )
        rows, decider = self._learnt_rows(X, y, sample_weight)
        families, smoothings = self._checked_families(recipe), self._smoothings(self.schema_.names, recipe)
        n_threads = thread_count(self.n_threads)
        scores = left_out_scores(self.schema_, families, smoothings, self.statistics_, rows, n_threads)
        decider.normalise(scores, slice(0, len(scores)))
        decider.warn()
        return scores

    def _learnt_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[LearntRows, Decider]:
        """Rows that were learnt, and the prior of each without it."""
        table, classes, codes, weights = read_rows(X, y, sample_weight)
        positions = self.schema_.locate(table)
        rows = LearntRows(table, positions, codes_among(self.classes_, classes, codes), weights)
        return rows, Decider(left_out_log_prior(self.statistics_, rows, self.prior, self._prior_rule()))

    def _left_out_of_kept_rows(self) -> FloatArray:
        scorer = self._estimated()[0]
        if scorer.weighed is None:
            raise ParameterError(
                f"loo() without X answers for kept rows, and recipe {self.recipe!r} keeps none. Give it X and y: rows "
                "that the model has learnt."
            )
        return scorer.model.left_out if isinstance(scorer, PooledScorer) else scorer.weighed.model.loo.log_posterior

    def parameters(self) -> dict[str, dict[str, Any]]:
        """The estimated parameters of every column, by name; arrays follow `classes_`.

        Returns
        -------
        dict
            For each column a dict with its ``family`` and, for example, ``mean`` and ``variance``; for each joint
            factor one under its name, such as ``"a & b"``.
        """
        self._require_fitted()
        result: dict[str, dict[str, Any]] = {}
        for factor in self._estimated()[0].factors:
            described = factor.estimate.describe()
            if isinstance(factor.family, JointFamily):
                result[factor.family.term] = {"family": factor.family.joint, **described}
                continue
            for place, member in enumerate(factor.members.tolist()):
                column = {name: _of_column(values, place) for name, values in described.items()}
                result[self.schema_.names[member]] = {"family": factor.family, **column}
        return {name: result[name] for name in self._estimated()[0].names if name in result}

    @property
    def evidence_names_(self) -> list[str]:
        """What the terms of `evidence` are called: the columns, and what the recipe adds to them."""
        self._require_fitted()
        return list(self._estimated()[0].names)

    @property
    def class_count_(self) -> FloatArray:
        """The weight of the rows of each class."""
        self._require_fitted()
        return self.statistics_.class_weight.high

    @property
    def calibration_(self) -> Calibration:
        """How good the probabilities are: accuracy, log-loss, Brier score, calibration error and reliability.

        Measured on the kept rows, each as seen by estimates and weights that did not learn from it, under the class
        frequencies as prior. Only the recipes that keep rows have it.

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> import numpy as np
        >>> X, y = np.repeat([[1.0], [2.0], [7.0], [8.0]], 5, axis=0), [0] * 10 + [1] * 10
        >>> NaiveBayes("fast").fit(X, y).calibration_.accuracy
        1.0
        """
        self._require_fitted()
        scorer = self._estimated()[0]
        if scorer.weighed is None:
            raise RecipeError(
                f"calibration_ is measured on kept rows, and recipe {self.recipe!r} keeps none. Fit with "
                "recipe='auto', 'fast' or 'strong', or score other rows."
            )
        loo = scorer.weighed.model.loo
        return calibration(self._left_out_of_kept_rows(), loo.codes, loo.weights)

    def _scores(self, X: Any, prior: Any, step: str) -> FloatArray:
        table, positions, scorer, decider = self._ready(X, prior)
        result = np.empty((table.n_rows, len(self.classes_)))
        change = getattr(decider, step)

        def finish(scores: FloatArray, rows: slice) -> None:
            change(scores, rows)
            result[rows] = scores

        scorer.run(table, positions, finish, thread_count(self.n_threads))
        decider.warn()
        return result

    def _ready(self, X: Any, prior: Any) -> tuple[Table, IntArray | None, Scorer | PooledScorer, Decider]:
        """All that an answer needs: the table, where its columns are, the estimates and the prior."""
        self._require_classes()
        table = read_table(X)
        require_rows(table)
        positions = self.schema_.locate(table)
        scorer, logs = self._estimated()
        if prior is not None:
            logs = log_prior(self._prior(prior))
            if logs.ndim == 2 and len(logs) != table.n_rows:
                raise ParameterError(f"prior has {len(logs)} rows but X has {table.n_rows}.")
        return table, positions, scorer, Decider(logs)

    def _require_classes(self) -> None:
        self._require_fitted()
        if len(self.classes_) == 0:
            raise InputError("The model has forgotten all its rows, so it knows no class. Let it learn some first.")


def _of_column(values: Any, place: int) -> Any:
    """One column's part of a described parameter: a column of an array, or an entry of a list."""
    return values[place] if isinstance(values, list) else values[:, place]
