"""The model as a generator of rows: samples, densities, imputation, Bayes error."""

from __future__ import annotations

from naively.answers import Answers


class Generation(Answers):
    """The part of `NaiveBayes` for this."""
