"""
A spam filter that says why
===========================

**Which words make a message spam?** A column of messages is a column like any other: no vectoriser, no vocabulary to
choose. The 600 messages come with the package's examples (an excerpt of the SMS Spam Collection).
"""

import csv
from pathlib import Path

import naively
from naively import NaiveBayes
from naively.plots import plot_words

checkout = Path(naively.__file__).parents[2]
path = checkout / "examples" / "data" / "sms-spam-600.csv"
with path.open(encoding="utf-8", newline="") as file:
    messages = list(csv.DictReader(file))
texts, labels = [message["text"] for message in messages], [message["target"] for message in messages]
learnt, new = {"text": texts[:400]}, {"text": texts[400:]}
model = NaiveBayes(families={"text": "text"}).fit(learnt, labels[:400])
accuracy = model.score(new, labels[400:])
print(f"accuracy on 200 new messages: {accuracy:.3f}")

# %%
# The words that tell most, for each class:

axes = plot_words(model, "text", most=8)

# %%
# Why one message was taken for spam, in bits of evidence:

from naively.plots import plot_evidence

first = next(row for row, label in enumerate(labels[400:]) if label == "spam")
why = model.explain({"text": [new["text"][first]]})
ax = plot_evidence(why, most=8)
