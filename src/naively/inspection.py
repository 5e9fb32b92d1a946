"""What a model is made of, laid open: the additive form, discriminants, the ranking of columns."""

from __future__ import annotations

from naively.answers import Answers


class Inspection(Answers):
    """The part of `NaiveBayes` for this."""
