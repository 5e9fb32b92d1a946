"""
Mushrooms: what a mistake costs, and when to ask
================================================

**A poisonous mushroom on the plate is worse than a good one thrown away. How should a model answer?** With the answer
of the least expected loss, which takes probabilities that can be believed. The data are 1,016 mushrooms, every eighth
of UCI's.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot

import naively
from naively import NaiveBayes

path = Path(naively.__file__).parents[2] / "examples" / "data" / "mushrooms-1016.csv"
mushrooms = pd.read_csv(path)
y = mushrooms.pop("target").map({"e": "edible", "p": "poisonous"}).to_numpy()
train = np.arange(len(y)) % 2 == 0
models = {
    recipe: NaiveBayes(recipe, ignore=["veil-type"]).fit(mushrooms[train], y[train])  # all veils are alike
    for recipe in ("textbook", "auto")
}
new, truth = mushrooms[~train], y[~train]

# %%
# Let a poisonous one on the plate cost as much as 200 good ones thrown away. The most probable class is not the
# cheapest answer:


def loss(price):
    return {("poisonous", "edible"): price, ("edible", "poisonous"): 1}


def mistakes(answers):
    """How many poisonous ones are eaten, and how many good ones thrown away."""
    eaten = (truth == "poisonous") & (answers == "edible")
    wasted = (truth == "edible") & (answers == "poisonous")
    return int(eaten.sum()), int(wasted.sum())


found = {}
for name, model in models.items():
    found[name] = mistakes(model.predict(new)), mistakes(model.predict(new, loss=loss(200)))
    for how, (eaten, wasted) in zip(("most probable class", "least expected loss"), found[name], strict=True):
        print(f"{name:9} {how}: {eaten:2} poisonous ones eaten, {wasted:2} good ones thrown away")

# %%
# Many columns describe the same thing, and the textbook counts it each time: it is certain where it is wrong, and no
# price moves it. The default recipe knows when it is in doubt, and doubt is what a price can act on:

prices = np.geomspace(1, 1000, 13)
figure, ax = pyplot.subplots(figsize=(7, 3.4), layout="constrained")
for name, color in {"textbook": "#d55e00", "auto": "#0072b2"}.items():
    likely = [found[name][0]] * len(prices)
    least = [mistakes(models[name].predict(new, loss=loss(price))) for price in prices]
    for told, how, style in ((likely, "most probable class", "--"), (least, "least expected loss", "-")):
        cost = [price * eaten + wasted for price, (eaten, wasted) in zip(prices, told, strict=True)]
        ax.plot(prices, cost, color=color, linestyle=style, label=f"{name}, {how}")
ax.set(xscale="log", yscale="log", xlabel="a poisonous one costs (good ones)", ylabel="all answers cost")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, fontsize="small")

# %%
# And if somebody who knows them can be asked, for the price of half a mushroom, the model asks where it is in doubt:

answers = models["auto"].predict(new, loss=loss(200), reject=0.5, reject_label="ask")
asked = int((answers == "ask").sum())
eaten, wasted = mistakes(answers)
print(f"{asked} of {len(answers)} are shown to somebody; {eaten} poisonous ones eaten, {wasted} good ones thrown away")
