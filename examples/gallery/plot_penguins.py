"""
Which penguin is this?
======================

**How can a model be read on paper?** A nomogram gives every value its points, and their sum the probability. The data
are the 344 penguins of the Palmer archipelago, with numbers, labels and missing cells.
"""

from naively import NaiveBayes
from naively.demo import penguins
from naively.plots import plot_evidence, plot_nomogram

rows, species = penguins()
model = NaiveBayes().fit(rows[::2] + rows[1::4], species[::2] + species[1::4])
unknown = rows[207]
ax = plot_nomogram(model, target="Chinstrap", row=unknown)

# %%
# The marks are those of one bird. What each of its measurements says, in bits:

ax = plot_evidence(model.explain([unknown]))

# %%
# A cell that is missing says nothing, and the answer stays honest:

for known in (["bill_depth_mm"], ["bill_depth_mm", "bill_length_mm"], ["bill_depth_mm", "bill_length_mm", "island"]):
    bird = {name: unknown[name] if name in known else None for name in unknown}
    probability = dict(zip(model.classes_.tolist(), model.predict_proba([bird])[0], strict=True))
    print(", ".join(known), {name: round(float(share), 2) for name, share in probability.items()})
