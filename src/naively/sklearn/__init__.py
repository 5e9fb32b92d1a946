"""Drop-ins for scikit-learn's naive Bayes classifiers: change the import, and the rest of the program stays.

``from naively.sklearn import GaussianNB`` in place of ``from sklearn.naive_bayes import GaussianNB``, and the same for
`BernoulliNB`, `MultinomialNB`, `ComplementNB` and `CategoricalNB`: the same parameters, methods, fitted attributes and
answers, faster, over the sum of statistics of `naively.NaiveBayes`, which each holds as ``model_``.
Parameters take effect with the next `fit` or `partial_fit`, as there.

What is different, on purpose:

- `partial_fit` in any number of batches gives what `fit` gives on all rows at once: `GaussianNB` takes its ``epsilon_``
  from all rows, not from the last batch, and `CategoricalNB` its categories.
- No answer is NaN. Without smoothing (``alpha=0``) a class may be impossible; if all are, the answer is the class
  prior, and a warning says so. A column or batch without any variance says nothing.
- `BernoulliNB` takes one `alpha` per feature for any number of classes.
- A category that `CategoricalNB` has never seen says nothing; it is no error.
- Missing cells (NaN, None) are marginalised: they are left out of the sums and of the evidence.
- Data frames are matched by column name, sparse matrices are welcome everywhere, answers are float64.
- A class that was declared and has no row yet borrows what all classes have in common.
- `class_prior` need not sum to one; it is divided by its sum.
- A failed `fit` leaves the model as it was.
- Arrays of other libraries (the Array API) are not dispatched on.
"""

from naively.sklearn._categorical import CategoricalNB
from naively.sklearn._counts import BernoulliNB, ComplementNB, MultinomialNB
from naively.sklearn._gaussian import GaussianNB

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]
