"""Every error and warning that the package raises on purpose.

::

    NaivelyError
    ├── InputError (ValueError)          the values of X, y or sample_weight cannot be learnt from
    │   ├── InputTypeError (TypeError)   a value or column of a type that no family reads
    │   └── SchemaError                  columns that do not fit the model, or two models that do not fit each other
    ├── ParameterError (ValueError)      a parameter of the model that makes no sense
    ├── ForgetError (ValueError)         rows to forget that were never learnt
    ├── RecipeError (AttributeError)     an attribute that only models of another recipe or other families have
    └── ModelFileError (ValueError)      a model file that is damaged, edited, too large or of another version

    NaivelyWarning (UserWarning)         the answer stands, but look at this

A message says what was expected, what came, in which column or row, and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable


class NaivelyError(Exception):
    """Base of all errors of this package."""


class InputError(NaivelyError, ValueError):
    """The values of X, y or sample_weight cannot be learnt from."""


class InputTypeError(InputError, TypeError):
    """A value or a column is of a type that no family reads."""


class SchemaError(InputError):
    """Columns do not fit the model, or two models do not fit each other."""


class ParameterError(NaivelyError, ValueError):
    """A parameter of the model makes no sense."""


class ForgetError(NaivelyError, ValueError):
    """Rows were to be forgotten that had never been learnt."""


class RecipeError(NaivelyError, AttributeError):
    """Only models of another recipe, or with other families, have this attribute."""


class ModelFileError(NaivelyError, ValueError):
    """A model file is damaged, edited, too large or of another version, or cannot be written."""


class NaivelyWarning(UserWarning):
    """The answer stands, but something about the input deserves a look."""


def listed(names: Iterable[object], most: int = 5) -> str:
    """Write out the first few of many names: ``'a', 'b' and 3 more``."""
    everything = list(names)
    shown = ", ".join(repr(name) for name in everything[:most])
    return shown if len(everything) <= most else f"{shown} and {len(everything) - most} more"
