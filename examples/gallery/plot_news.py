"""
News: text and numbers together
===============================

**Does the length of a message add to what its words say?** In one table the columns speak one language, bits of
evidence, whether they are words or numbers. The data are 1,200 posts of four newsgroups: their first six words, and how
many words they have in all.
"""

from pathlib import Path

import numpy as np
import pandas as pd

import naively
from naively import NaiveBayes
from naively.plots import plot_effect, plot_evidence

path = Path(naively.__file__).parents[2] / "examples" / "data" / "news-1200.csv"
posts = pd.read_csv(path)
learnt, new = posts[:800], posts[800:]


def model_of(columns):
    """A model of some of the columns; openings are few words, so it is said that they are text."""
    families = {"opening": "text"} if "opening" in columns else None
    return NaiveBayes(families=families).fit(learnt[[*columns, "target"]], "target")


models = {" and ".join(columns): model_of(columns) for columns in (["words"], ["opening"], ["opening", "words"])}
judged = {
    name: naively.evaluate(model, new[[*model.schema_.names, "target"]], "target") for name, model in models.items()
}
for name, one in judged.items():
    print(f"{name:18} accuracy {one['accuracy']:.3f}, log-loss {one['log_loss']:.3f}")

# %%
# A little. Six words tell nearly all; the length alone tells hardly more than a guess, but it is no harm, and where the
# words are in doubt it helps. What it says: who offers something is brief, who argues is not.

both = models["opening and words"]
ax = plot_effect(both, "words")
ax.set_xlim(0, 800)

# %%
# One post that its words alone would have put into the wrong group, and its length into the right one, in one sum:

told = {name: model.predict(new[list(model.schema_.names)]) for name, model in models.items()}
truth = new["target"].to_numpy()
row = int(np.flatnonzero((told["opening"] != truth) & (told["opening and words"] == truth))[0])
ax = plot_evidence(both.explain(new.drop(columns="target")[row : row + 1]))
