"""The model that these tests are about: the plain one, whose numbers can be worked out by hand."""

from naively import NaiveBayes


def textbook(**parameters):
    """A model of the recipe "textbook", with other parameters as given."""
    return NaiveBayes(**{"recipe": "textbook", **parameters})
