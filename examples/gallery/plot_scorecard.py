"""
Credit: a scorecard
===================

**How many points is a savings account worth?** Lenders want a model that fits on a sheet: points for every answer of an
applicant, and their sum decides. Naive Bayes is such a sum. The data are 1,000 German loans, 300 of which went bad.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot

import naively
from naively import NaiveBayes

path = Path(naively.__file__).parents[2] / "tests" / "reference" / "data" / "german-credit.csv"
columns = ["checking_status", "duration", "credit_history", "savings_status", "purpose", "property_magnitude"]
loans = pd.read_csv(path)[[*columns, "target"]]
learnt, new = loans[:700], loans[700:]
model = NaiveBayes().fit(learnt, "target")
card = model.scorecard("good", pdo=20, base=600, odds=30, n_bins=4)

# %%
# Twenty points double the odds that a loan is paid back. IV, the information value, is what a column tells; a question
# without an answer counts as no evidence:

print(card)

# %%
# How far each column can move the sum, the one that tells most on top:

table = pd.DataFrame(card.frame())
order = table.groupby("column")["information_value"].first().sort_values().index
figure, ax = pyplot.subplots(figsize=(7, 3), layout="constrained")
for place, name in enumerate(order):
    points = table[table["column"] == name]
    middle = np.average(points["points"], weights=points["rows"])
    ax.plot(points["points"] - middle, [place] * len(points), color="#a9afb7", zorder=1)
    ax.scatter(points["points"] - middle, [place] * len(points), s=4 + points["rows"] / 3, color="#0072b2")
ax.axvline(0, color="#a9afb7", linewidth=1)
ax.set_yticks(range(len(order)), order)
ax.set(xlabel="points above or below the column's mean; larger dots have more rows")
ax.spines[["top", "right"]].set_visible(False)

# %%
# Does the sheet hold for loans that it has not seen? In each fifth of their scores, how many went bad:

scores = pd.Series(card.score(new.drop(columns="target")), index=new.index)
fifth = pd.qcut(scores, 5, duplicates="drop")
bad = (new["target"] == "bad").groupby(fifth, observed=True).mean()
figure, ax = pyplot.subplots(figsize=(7, 2.8), layout="constrained")
bars = ax.bar([f"{span.left:.0f} to {span.right:.0f}" for span in bad.index], 100 * bad, color="#0072b2")
ax.bar_label(bars, fmt="%.0f %%", padding=3)
ax.set(xlabel="points", ylabel="went bad, in percent", ylim=(0, 115 * bad.max()))
ax.spines[["top", "right"]].set_visible(False)
