"""
Income: can a probability be believed?
======================================

**Of those to whom a model gives 90 percent, do nine in ten earn more than $50,000?** A probability that can be believed
is *calibrated*: one can plan with it. The data are 2,400 people of the US census of 1994 (the first of UCI's "Adult").
"""

from pathlib import Path

import pandas as pd

import naively
from naively import NaiveBayes
from naively.plots import plot_importance, plot_reliability

path = Path(naively.__file__).parents[2] / "examples" / "data" / "income-2400.csv"
people = pd.read_csv(path)
learnt, new = people[:1600], people[1600:]
models = {recipe: NaiveBayes(recipe).fit(learnt, "target") for recipe in ("textbook", "auto")}
ax = plot_reliability(models, new, "target")

# %%
# On the diagonal a probability means what it says. Education, occupation and marriage go together; the textbook counts
# what they say as if they did not, and is too sure of itself. The default recipe weighs them on people that did not
# contribute to the evidence. In numbers, on the 800 people that neither has seen:

judged = {name: naively.evaluate(model, new, "target") for name, model in models.items()}
for name, one in judged.items():
    print(
        f"{name:9} accuracy {one['accuracy']:.3f}, log-loss {one['log_loss']:.3f}, calibration error {one['ece']:.3f}"
    )

# %%
# What can be planned with it? The number of people with a high income among them, without knowing who they are:

expected = {name: float(model.predict_proba(new)[:, 1].sum()) for name, model in models.items()}
counted = int((new["target"] == ">50K").sum())
print(f"counted {counted}, " + ", ".join(f"{name} expects {number:.0f}" for name, number in expected.items()))

# %%
# And what tells most?

ax = plot_importance(models["auto"])
