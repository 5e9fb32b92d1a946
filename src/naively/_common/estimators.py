"""The bases of scikit-learn's models. What type checkers see of them stands in `estimators.pyi`.

scikit-learn's own have no types, so that a type checker would take every attribute of a class over them to exist, and
find no slip in a method's name.
"""

from sklearn.base import BaseEstimator, ClassifierMixin

__all__ = ["BaseEstimator", "ClassifierMixin"]
