"""
Electricity: a market that changes
==================================

**When has the world changed, and what should a model forget?** The price of electricity in New South Wales, every half
hour of 50 days in 1997, and whether it is above its mean of the last day. On day 27 the market was joined to that of
Victoria.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot

import naively
from naively import NaiveBayes, drift
from naively.plots import plot_drift

path = Path(naively.__file__).parents[2] / "examples" / "data" / "electricity-50-days.csv"
market = pd.read_csv(path)
days = {day: rows.drop(columns="day") for day, rows in market.groupby("day")}

# %%
# Which columns have moved? A model is a sum, so two weeks before and two weeks after the change are two sums, which
# can be compared column by column, within each class:

before, after = (
    NaiveBayes("fast").fit(pd.concat([days[day] for day in fortnight]), "target")
    for fortnight in (range(13, 27), range(27, 41))
)
changes = drift.compare(before, after)
ax = plot_drift(changes)

# %%
# What Victoria pays and uses was not known before, and stood still; New South Wales itself has moved much less.
#
# Now every day is asked before it is learnt. One model keeps all days; the other forgets the day of a week ago, which
# is a subtraction, and exact:

keeps, forgets = NaiveBayes("textbook"), NaiveBayes("textbook")
right = {"keeps all": [], "forgets after a week": []}
for day, rows in days.items():
    for name, model in {"keeps all": keeps, "forgets after a week": forgets}.items():
        if day > 1:
            right[name].append(model.score(rows, "target"))
        model.partial_fit(rows, "target", classes=["down", "up"])
    if day > 7:
        forgets.forget(days[day - 7], "target")
accuracy = {name: float(np.mean(days_right)) for name, days_right in right.items()}
print({name: round(share, 3) for name, share in accuracy.items()})

# %%
# Around day 20 prices did what they had not done before, and both are wrong more often. The one that forgets is back
# after a week; the other carries the old days along, and it takes until after the change to outweigh them:

figure, ax = pyplot.subplots(figsize=(7, 3), layout="constrained")
for (name, shares), color in zip(right.items(), ("#7f7f7f", "#0072b2"), strict=True):
    smooth = pd.Series(shares).rolling(7, min_periods=3, center=True).mean()
    ax.plot(range(2, len(days) + 1), 100 * smooth, color=color, label=name)
ax.axvline(26.5, color="#a9afb7", linestyle="--")
ax.annotate("joined", (26.5, 0.98), (6, 0), xycoords=("data", "axes fraction"), textcoords="offset points", va="top")
ax.set(xlabel="day", ylabel="right, in percent (mean of a week)")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="lower right")
