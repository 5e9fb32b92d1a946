"""A classifier for river, which learns one record at a time: `NaiveBayes` under river's names.

river is needed only by this module: ``pip install river``.
"""

from __future__ import annotations

from typing import Any

from naively.classifier import NaiveBayes as _Model
from naively.typing import Label

try:
    from river import base
except ModuleNotFoundError as error:
    raise ImportError("naively.river is a classifier for river, which is not installed: pip install river.") from error


class NaiveBayes(base.Classifier):  # type: ignore[misc]
    """Naive Bayes for any record, as a classifier of river.

    Parameters
    ----------
    recipe : str, default="textbook"
        As in `naively.NaiveBayes`. "textbook" answers fastest while records are learnt one by one.

    Attributes
    ----------
    model : naively.NaiveBayes
        What has been learnt, with all that it can be asked.

    Examples
    --------
    >>> from naively.river import NaiveBayes
    >>> model = NaiveBayes()
    >>> for coat, label in [("plain", "dog"), ("plain", "dog"), ("striped", "cat")]:
    ...     model.learn_one({"coat": coat}, label)
    >>> model.predict_one({"coat": "plain"})
    'dog'
    """

    def __init__(self, recipe: str = "textbook"):
        self.recipe = recipe
        self.model = _Model(recipe)

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: dict[Any, Any], y: Label) -> None:
        """Learn one record."""
        self.model.learn_one(_named(x), y)

    def predict_proba_one(self, x: dict[Any, Any]) -> dict[Label, float]:
        """The probability of each class; an empty dict before anything was learnt."""
        return self.model.predict_proba_one(_named(x))

    def predict_one(self, x: dict[Any, Any]) -> Label | None:
        """The most probable class; None before anything was learnt."""
        return self.model.predict_one(_named(x))


def _named(record: dict[Any, Any]) -> dict[str, Any]:
    """A record whose keys are names: river's may be numbers."""
    return record if all(type(key) is str for key in record) else {str(key): cell for key, cell in record.items()}
