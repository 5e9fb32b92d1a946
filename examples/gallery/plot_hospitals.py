"""
Two hospitals that share statistics and no rows
===============================================

**Can two hospitals learn one model if no patient may leave either?** A naive Bayes model is a sum over rows, and sums
add up. Each hospital counts its own rows and sends a file of sums; whoever adds the files has the model of all rows.
"""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import load_breast_cancer

import naively
from naively import NaiveBayes

X, y = load_breast_cancer(return_X_y=True)
malignant, benign = np.flatnonzero(y == 0), np.flatnonzero(y == 1)
screening = np.concatenate([benign[:100], malignant[:5]])  # sees many healthy people,
clinic = np.concatenate([benign[100:105], malignant[5:105]])  # and the other those who were sent to it
both = np.concatenate([screening, clinic])
new = np.setdiff1d(np.arange(len(y)), both)
folder = Path(tempfile.mkdtemp())
for name, own in {"screening": screening, "clinic": clinic}.items():
    NaiveBayes("textbook").fit(X[own], y[own]).save(folder / f"{name}.json")

# %%
# What was sent is small, and holds counts, sums and squares, but no row:

for path in sorted(folder.glob("*.json")):
    print(path.name, path.stat().st_size, "bytes")

# %%
# Added up, it is the model of all rows, to rounding:

sites = [naively.load(folder / f"{name}.json") for name in ("screening", "clinic")]
together = sites[0] + sites[1]
pooled = NaiveBayes("textbook").fit(X[both], y[both])
difference = float(np.abs(together.predict_proba(X[new]) - pooled.predict_proba(X[new])).max())
print(f"largest difference of a probability: {difference:.1e}")

# %%
# Five rows of a class are too few to know it. How many of the patients that neither has seen are told wrongly?

models = {"screening alone": sites[0], "clinic alone": sites[1], "together": together}
wrong = {name: 1 - model.score(X[new], y[new]) for name, model in models.items()}
figure, ax = pyplot.subplots(figsize=(6, 2.4), layout="constrained")
bars = ax.barh(list(wrong), [100 * share for share in wrong.values()], color=["#9aa5b1", "#9aa5b1", "#0b66c3"])
ax.bar_label(bars, fmt="%.1f %%", padding=4)
ax.set(xlabel="wrong answers on new patients, in percent", xlim=(0, 115 * max(wrong.values())))
ax.invert_yaxis()
ax.spines[["top", "right"]].set_visible(False)
