"""What a model is made of, laid open: the additive form, discriminants, the ranking of columns."""

from __future__ import annotations

from typing import Any

from naively.additive_form import LogOdds, additive_form
from naively.answers import Answers
from naively.checks import require_whole
from naively.contrast import Contrast
from naively.decision import log_prior
from naively.discriminant import Discriminant, linear_factors
from naively.engines.threads import thread_count
from naively.errors import ParameterError, RecipeError, listed
from naively.evidence import Scorer
from naively.pooled import PooledScorer
from naively.ranking import SCORES, ranked, scores_by_weight, scores_of_columns
from naively.recipes import as_recipe
from naively.typing import Label, PriorLike


class Inspection(Answers):
    """The part of `NaiveBayes` that lays it open; nothing here changes the model."""

    def log_odds(self, base: Label | None = None, prior: PriorLike | None = None, n_points: int = 33) -> LogOdds:
        """The additive form: the log-odds against a base class as a constant plus a function of each column.

        ``log P(j | x) / P(base | x) = alpha_j + sum over columns i of g_ji(x_i)``: alpha is ``intercept``, g_i is
        ``columns[name]``, a function and a table.

        Parameters
        ----------
        base : label, optional
            The class to compare with; by default the last.
        prior : as the parameter `prior`, optional
            Another class prior.
        n_points : int, default=33
            At how many points, at most, the tables of numbers are taken.

        Returns
        -------
        LogOdds
            Of the model as it is now. The recipe "strong" is not additive and has none.

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> X, y = [[1.0], [2.0], [5.0], [6.0]], ["a", "a", "b", "b"]
        >>> log_odds = NaiveBayes("textbook").fit(X, y).log_odds()
        >>> log_odds.base, log_odds.intercept.tolist()
        ('b', [0.0, 0.0])
        >>> log_odds.columns["x0"](3.5).tolist()
        [0.0, 0.0]
        """
        n_points = require_whole("n_points", n_points, at_least=2)
        contrast = self._contrast(base, prior, "log_odds()")
        together = next((factor for factor in contrast.scorer.factors if factor.family.together), None)
        if together is not None:
            name = self.schema_.names[int(together.members[0])]
            raise ParameterError(
                f"Column {name!r} is read together with others, so it has no function of its own: log_odds() is for "
                "models whose columns stand alone. explain() gives the evidence of each row."
            )
        return additive_form(contrast, self.parameters(), n_points)

    def discriminant(self, base: Label | None = None, prior: PriorLike | None = None) -> Discriminant:
        """The linear discriminant ``F(x) = w . x + b`` of each class against a base class.

        Parameters
        ----------
        base : label, optional
            The class to compare with; by default the last.
        prior : as the parameter `prior`, optional
            Another class prior. It moves the bias and nothing else: the trade of precision for recall.

        Returns
        -------
        Discriminant
            F is the posterior log-odds, to rounding. A model that is not linear raises `ParameterError`, which says
            which column bends, and why.

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> X, y = [[0, 1], [0, 0], [1, 1], [1, 0]], ["no", "no", "yes", "yes"]
        >>> F = NaiveBayes("textbook", families="bernoulli").fit(X, y).discriminant(base="no")
        >>> F.terms, F.weights[1].round(3).tolist(), F.bias.round(3).tolist()
        (['x0 > 0', 'x1 > 0'], [2.197, 0.0], [0.0, -1.099])
        """
        contrast = self._contrast(base, prior, "discriminant()")
        names = self.schema_.names
        factors = linear_factors(contrast.scorer.factors, names, contrast.base)
        scorer = Scorer(factors, names, len(self.classes_))
        return Discriminant(
            Contrast(scorer, self.schema_, contrast.log_prior, self.classes_, contrast.base, contrast.n_threads)
        )

    def rank_features(self, by: str = "information", like: Any = None) -> Any:
        """The columns, the most telling first, by what was learnt of each alone; it needs no rows.

        Parameters
        ----------
        by : "information", "likelihood_ratio", "effect" or "weight", default="information"
            What the score is:

            - "information": the mutual information of the column and the class, in bits, at most the entropy of the
              class. It is that of the counts, for labels and bins (numbers with a histogram that are not binned are
              cut into 10 bins of equal weight), and that of the estimated densities, by numeric integration, for
              `Gaussian`, `StudentT` and `Poisson`. Of a `Multinomial` column it is that of one event: is it of this
              column or not?
            - "likelihood_ratio": twice the gain in log-likelihood over the same family with the classes taken
              together: G, with its degrees of ``freedom`` and the ``p_value``, the chance of at least this gain where
              the classes do not differ.
            - "effect": how far the means of the two classes that differ most are apart, in standard deviations within
              the classes. A label counts as a number that is 1 for one of its values, the one with the largest effect.
            - "weight": the largest absolute weight in the linear `discriminant` of any two classes; of labels the
              largest gap between the weights of two values. It changes with the unit of the column: rank by "effect"
              unless all have the same.
        like : data frame, optional
            Another one, for its library; by default pandas. Where pandas is not installed, a dict of lists.

        Returns
        -------
        data frame
            ``column`` and ``score``, the largest first; for "likelihood_ratio" also ``freedom`` and ``p_value``.

        Notes
        -----
        Only known cells count. Scores are of each column alone: two columns that say the same both rank high. The
        information in a sample is above that in the population, by about ``freedom / (2 n log 2)`` bits for n rows, so
        a column with very many values seems to tell more than it does; the p-value allows for that.

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> X, y = [[1.0, 3.0], [2.0, 1.0], [7.0, 2.0], [8.0, 3.0]], ["a", "a", "b", "b"]
        >>> NaiveBayes("textbook").fit(X, y).rank_features()["column"].tolist()
        ['x0', 'x1']
        """
        self._require_classes()
        if not isinstance(by, str) or by not in (*SCORES, "weight"):
            raise ParameterError(f"by must be one of {listed((*SCORES, 'weight'))}, got {by!r}.")
        names = self.schema_.names
        if by == "weight":
            factors = self._contrast(None, None, "rank_features(by='weight')").scorer.factors
            return ranked(names, scores_by_weight(factors, names), like)
        recipe = as_recipe(self.recipe)
        families, smoothings = self._checked_families(recipe), self._smoothings(names, recipe)
        return ranked(names, scores_of_columns(by, self.schema_, families, smoothings, self.statistics_), like)

    def _contrast(self, base: Any, prior: Any, asked: str) -> Contrast:
        """The scores of the model, to be read against a class."""
        self._require_classes()
        code = len(self.classes_) - 1 if base is None else self._class_code(base, "base")
        scorer, logs = self._estimated()
        if isinstance(scorer, PooledScorer):
            raise RecipeError(
                f"{asked} needs an additive model, and recipe {self.recipe!r} pools it with experts that read several "
                "columns at once. Use set_params(recipe='auto'), which needs no new fit, or explain()."
            )
        if prior is not None:
            logs = log_prior(self._prior(prior))
        if logs.ndim != 1:
            raise ParameterError(f"{asked} takes one prior for all rows, one probability per class.")
        return Contrast(scorer, self.schema_, logs, self.classes_, code, thread_count(self.n_threads))
