"""How well the model fits what it has learnt: log-likelihood, parameter counts, AIC and BIC."""

from __future__ import annotations

from naively.answers import Answers


class Likelihood(Answers):
    """The part of `NaiveBayes` for this."""
