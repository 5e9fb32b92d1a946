"""The tables: made anew for each row of the bench from a fixed seed, and forgotten after it."""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np

SEED = 20
SHARED = Path(os.environ.get("NAIVELY_DATA", Path(__file__).parents[2] / "shared" / "data"))
"""The folder of the data sets that are not made here; the variable NAIVELY_DATA names another."""
CHUNK = 50_000


def classes(n_rows: int, n_classes: int) -> Any:
    return np.random.default_rng(SEED).integers(0, n_classes, n_rows)


def numbers(n_rows: int, n_columns: int, n_classes: int, dtype: Any = np.float64, order: Any = "C") -> tuple[Any, Any]:
    """Normal numbers around a mean of each class and column; made by parts, so that nothing larger is ever held."""
    random = np.random.default_rng(SEED + 1)
    y = classes(n_rows, n_classes)
    means = random.normal(size=(n_classes, n_columns))
    X = np.empty((n_rows, n_columns), dtype=dtype, order=order)
    for start in range(0, n_rows, CHUNK):
        part = slice(start, min(start + CHUNK, n_rows))
        X[part] = means[y[part]] + random.normal(size=(part.stop - start, n_columns))
    return X, y


def by_name(X: Any) -> dict[str, Any]:
    """The columns of an array under the names n0, n1, ..."""
    return {f"n{place}": column for place, column in enumerate(X.T)}


def codes(n_rows: int, n_columns: int, n_values: int, n_classes: int, dtype: Any = np.int64) -> tuple[Any, Any]:
    """Whole numbers below `n_values`, whose distribution leans with the class."""
    random = np.random.default_rng(SEED + 2)
    y = classes(n_rows, n_classes)
    X = np.empty((n_rows, n_columns), dtype=dtype)
    for start in range(0, n_rows, CHUNK):
        part = slice(start, min(start + CHUNK, n_rows))
        leaning = random.random((part.stop - start, n_columns)) ** (1 + y[part, None] / n_classes)
        X[part] = (n_values * leaning).astype(dtype)
    return X, y


def many_labels(n_rows: int, n_values: int) -> tuple[Any, Any]:
    """A table of one column of labels: each occurs, and then any of them; they tell nothing."""
    import pandas

    random = np.random.default_rng(SEED + 4)
    drawn = np.concatenate([random.permutation(n_values), random.integers(0, n_values, n_rows - n_values)])
    return pandas.DataFrame({"label": np.char.add("label ", drawn.astype(str))}), classes(n_rows, 2)


def names(n_values: int) -> Any:
    return np.array([f"value {place:02d}" for place in range(n_values)])


def text_columns(n_rows: int, n_columns: int, n_values: int, n_classes: int) -> tuple[dict[str, Any], Any]:
    """Columns of text, by name."""
    X, y = codes(n_rows, n_columns, n_values, n_classes)
    return {f"c{place}": names(n_values)[X[:, place]] for place in range(n_columns)}, y


def documents(n_rows: int, n_words: int, n_tokens: int, n_classes: int) -> tuple[Any, Any]:
    """Word counts of documents whose words follow Zipf's law, as a CSR matrix."""
    from scipy import sparse

    random = np.random.default_rng(SEED + 3)
    y = classes(n_rows, n_classes)
    share = np.cumsum(1.0 / np.arange(1, n_words + 1))
    drawn = np.searchsorted(share, random.random(n_rows * n_tokens) * share[-1])
    shifted = (drawn + 37 * np.repeat(y, n_tokens)) % n_words  # each class has its own common words
    rows = np.repeat(np.arange(n_rows), n_tokens)
    counts = sparse.coo_matrix((np.ones(len(rows)), (rows, shifted)), shape=(n_rows, n_words)).tocsr()
    counts.sum_duplicates()
    return counts, y


def newsgroups() -> tuple[list[str], list[str], int] | None:
    """The texts and groups of 20newsgroups, and how many of the first are for training; None if they are not here."""
    path = SHARED / "20newsgroups.csv.gz"
    if not path.exists():
        return None
    csv.field_size_limit(1 << 24)
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines)
        next(rows)
        texts, groups = zip(*rows, strict=True)
    return list(texts), list(groups), 11_293


def prose(n_rows: int, n_words: int = 5_000, n_tokens: int = 100, n_classes: int = 20) -> tuple[list[str], list[str]]:
    """Made-up texts, for runs that only ask whether everything works."""
    counts, y = documents(n_rows, n_words, n_tokens, n_classes)
    spelled = [np.base_repr(26**3 + place, 26).translate(LETTERS).lower() for place in range(n_words)]
    texts = [" ".join(np.repeat([spelled[word] for word in row.indices], row.data.astype(int))) for row in counts]
    return texts, [f"class {code}" for code in y]


LETTERS = str.maketrans("0123456789", "qrstuvwxyz")
