"""Which scikit-learn is installed, for the tests that compare with it where its own answers have changed."""

import sklearn

SCIKIT_LEARN = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
