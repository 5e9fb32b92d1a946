"""A small made-up mailbox: two columns of prose beside a number and a label."""

import numpy as np
import pandas as pd

WORDS = {
    "spam": ("win", "free", "cash", "prize", "now", "call", "claim", "urgent", "txt"),
    "ham": ("home", "lunch", "love", "you", "later", "meeting", "ok", "see", "tomorrow"),
}


def mailbox(n_rows=120, seed=0):
    """A frame with some missing cells, and the classes."""
    random = np.random.default_rng(seed)
    y = random.choice(["ham", "spam"], n_rows)

    def text(label, low, high):
        sources = [label if random.random() < 0.7 else "ham" for _ in range(random.integers(low, high))]
        return " ".join(random.choice(WORDS[source]) for source in sources)

    X = pd.DataFrame(
        {
            "body": [text(label, 9, 15) for label in y],
            "subject": [text(label, 8, 12) for label in y],
            "size": np.rint(4 * random.normal(size=n_rows)) / 4 + (y == "spam"),
            "domain": random.choice(["a.org", "b.com", "c.net"], n_rows),
        }
    )
    X.loc[3, "body"] = None
    X.loc[4, "size"] = np.nan
    return X, y
