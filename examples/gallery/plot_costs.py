"""
Tumours: what a mistake costs, and when to ask a person
=======================================================

**A missed cancer is worse than a false alarm. How should a model answer?** With a decision for the least expected
loss, which takes probabilities that can be believed. The data are Wisconsin's 569 breast tumours.
"""

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import load_breast_cancer

from naively import NaiveBayes

data = load_breast_cancer()
X, y = data.data, np.array(["malignant", "benign"])[data.target]
train = np.arange(len(y)) % 2 == 0
models = {recipe: NaiveBayes(recipe).fit(X[train], y[train]) for recipe in ("textbook", "auto")}

# %%
# Let a missed cancer cost as much as 20 false alarms. The most probable class is not the cheapest answer:


def cost(answers, miss):
    """What the answers cost, all in all, in false alarms."""
    truth = y[~train]
    missed = (truth == "malignant") & (answers == "benign")
    alarm = (truth == "benign") & (answers == "malignant")
    return int(miss * missed.sum() + alarm.sum())


def loss(miss):
    return {("malignant", "benign"): miss, ("benign", "malignant"): 1}


costs = {}
for name, model in models.items():
    likely, least = model.predict(X[~train]), model.predict(X[~train], loss=loss(20))
    costs[name] = cost(likely, 20), cost(least, 20)
    print(f"{name:9} most probable class: {costs[name][0]:3}, least loss: {costs[name][1]:3}")

# %%
# The thirty columns measure the same cells. The textbook counts what they say thirty times and is nearly always
# certain, so that costs hardly move it; the default recipe knows when it is in doubt:

prices = np.arange(1, 51)
figure, ax = pyplot.subplots(figsize=(7, 3.6), layout="constrained")
for name, color in {"textbook": "#9aa5b1", "auto": "#0b66c3"}.items():
    least = [cost(models[name].predict(X[~train], loss=loss(price)), price) for price in prices]
    likely = [cost(models[name].predict(X[~train]), price) for price in prices]
    ax.plot(prices, likely, color=color, linestyle="--", label=f"{name}, most probable class")
    ax.plot(prices, least, color=color, label=f"{name}, least expected loss")
ax.set(xlabel="a missed cancer costs (false alarms)", ylabel="all answers cost", xlim=(1, 50), ylim=(0, None))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)

# %%
# And where a second look by a person costs half a false alarm, the model asks for one where it is in doubt:

answers = models["auto"].predict(X[~train], loss=loss(20), reject=0.5, reject_label="ask")
asked = int((answers == "ask").sum())
with_help = cost(answers, 20) + asked / 2
print(f"{asked} of {len(answers)} go to a person; all in all it costs {with_help}")
