"""
Digits as images
================

**Can a model that looks at every pixel on its own read handwriting?** The 1,797 digits of scikit-learn are 8 by 8
pixels. Naive Bayes keeps a mean and a variance for every pixel of every digit: a picture of what it believes.
"""

from sklearn.datasets import load_digits

from naively import NaiveBayes
from naively.plots import plot_images

X, y = load_digits(return_X_y=True)
train, test = slice(0, 1200), slice(1200, None)
textbook = NaiveBayes("textbook", families="gaussian").fit(X[train], y[train])
axes = plot_images(textbook, (8, 8))

# %%
# It can, three times out of four. Neighbouring pixels repeat each other, so the textbook counts the same ink several
# times; the default recipe weighs every pixel by what it adds, on digits that did not contribute to it.

fast = NaiveBayes("fast").fit(X[train], y[train])
auto = NaiveBayes().fit(X[train], y[train])
accuracy = {
    name: model.score(X[test], y[test]) for name, model in {"textbook": textbook, "fast": fast, "auto": auto}.items()
}
for name, share in accuracy.items():
    print(f"{name:10}{share:.3f}")

# %%
# Which digits are taken for which? The confusion matrix of "auto", on digits that it has not seen:

from naively.plots import plot_confusion

ax = plot_confusion(auto, X[test], y[test])
