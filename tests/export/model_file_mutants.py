"""Model files with one thing in them changed, and a checksum that fits."""

import copy
import json
from datetime import datetime

import numpy as np

from naively import TAN, JointBayes, NaiveBayes
from naively._export.json import VERSION, _checksum
from naively.families import Bernoulli, Binned, Codes, Date, Gaussian, Joint, Kernel, Multinomial, Poisson, Text
from naively.smoothing import MEstimate

TABLE = {
    "x": [-3.0, 3.0, 1.5, None, 2.5, -7.0, 0.25, 1e6],
    "z": [1.0, 1.0, 2.0, 2.0, 0.0, 5.0, 1.0, 3.0],
    "c": ["red", "blue", "red", None, "blue", "red", "green", "blue"],
    "t": ["free prize now", "lunch at home", "free", "", "home", None, "now now now", "lunch"],
    "d": [datetime(2024, 1 + place, 3, place) if place != 4 else None for place in range(8)],
}
Y = ["a", "b", "a", "b", "b", "a", "b", "a"]
WEIGHTS = [0.1, 1.0, 2.5, 0.3, 1 / 3, 7.0, 1.0, 0.2]
PROSE = {"t": Text(1)}


def some(*names):
    return {name: TABLE[name] for name in names}


def many():
    """Rows enough for all experts."""
    random = np.random.default_rng(0)
    rows = {name: [cells[place] for place in random.integers(0, len(cells), 80)] for name, cells in TABLE.items()}
    return rows, np.where(random.random(80) < [0.9 if cell == "red" else 0.2 for cell in rows["c"]], "a", "b")


MODELS = {
    "textbook": lambda: NaiveBayes("textbook", families=PROSE).fit(TABLE, Y, WEIGHTS),
    "fast": lambda: NaiveBayes("fast", families=PROSE, kept_rows=6).fit(TABLE, Y, WEIGHTS),
    "auto": lambda: NaiveBayes(families=PROSE).fit(TABLE, Y, WEIGHTS),
    "strong": lambda: NaiveBayes("strong", families={"z": "categorical"}).fit(some("x", "z", "c"), Y, WEIGHTS),
    "numbers": lambda: NaiveBayes(
        "textbook", families={"x": Kernel(background=False, points=16), "z": Binned(3)}, n_threads=1
    ).fit(some("x", "z"), Y),
    "counts": lambda: NaiveBayes(
        "textbook", families={"z": Codes(7), "w": Multinomial(), "v": Poisson(), "u": Bernoulli(0.5)}, smoothing=0.5
    ).fit({**some("z"), "w": TABLE["z"], "v": TABLE["z"], "u": TABLE["z"]}, Y, WEIGHTS),
    "texts": lambda: NaiveBayes(
        "textbook", families={"t": Text((1, 2), characters=3, buckets=64, most_tokens=9)}, smoothing=MEstimate(2.0)
    ).fit(some("t"), Y, WEIGHTS),
    "joint": lambda: NaiveBayes(
        "textbook", factors=[Joint("x", "z")], families={"x": Gaussian()}, prior={"a": 0.5, "b": 0.5}
    ).fit(some("x", "z", "c"), Y, WEIGHTS),
    "dates": lambda: NaiveBayes(
        "textbook", families={"d": Date(["month", "trend"], trend=Binned(3))}, ignore=["c"]
    ).fit(some("d", "c"), Y, WEIGHTS),
    "monotone": lambda: NaiveBayes(monotone={"x": 1, "z": -1}).fit(some("x", "z", "c"), Y, WEIGHTS),
    "strong, all experts": lambda: NaiveBayes("strong", families=PROSE).fit(*many()),
    "frozen": lambda: NaiveBayes(families=PROSE).fit(TABLE, Y, WEIGHTS).frozen(),
    "frozen fast": lambda: NaiveBayes("fast", families={"z": Gaussian()}).fit(some("x", "z", "c"), Y).frozen(),
    "frozen strong": lambda: NaiveBayes("strong", families=PROSE).fit(*many()).frozen(),
    "frozen monotone": lambda: NaiveBayes("fast", monotone={"x": 1}).fit(some("x", "z", "c"), Y, WEIGHTS).frozen(),
    "frozen dates": lambda: NaiveBayes("textbook").fit(some("d", "c"), Y, WEIGHTS).frozen(),
    "joint bayes": lambda: JointBayes().fit(some("z", "c"), Y, WEIGHTS),
    "tree": lambda: TAN(bins=3).fit(some("x", "z", "c"), Y, WEIGHTS),
}
"""Small models with every kind of statistics, of every recipe."""

VALUES = (10**9, 10**18, 10**30, -1, 0, 1, 2, 0.5, -0.5, 1e300, 1e-300, True, False, None, "x", "", [], {}, [[]], "a")


def document_of(model, file):
    model.save(file)
    return json.loads(file.read_text(encoding="utf-8"))


def places(value, path=()):
    """The paths to all that a document holds."""
    if path:
        yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, element in inside:
        yield from places(element, (*path, key))


def parent_of(content, path):
    for key in path[:-1]:
        content = content[key]
    return content


def mutant(content, random):
    """A copy with one thing changed, and what that was."""
    changed = copy.deepcopy(content)
    every = list(places(changed))
    path = every[random.integers(len(every))]
    parent, key = parent_of(changed, path), path[-1]
    way = random.integers(8)
    if way < 5:
        parent[key] = VALUES[random.integers(len(VALUES))]
        what = parent[key]
    elif way == 5:
        del parent[key]
        what = "deleted"
    elif way == 6 and isinstance(parent, list):
        parent.insert(key, copy.deepcopy(parent[key]))
        what = "twice"
    else:
        other = every[random.integers(len(every))]
        what = copy.deepcopy(parent_of(content, other)[other[-1]])
        parent[key] = what
    return changed, (path, what)


def forge(file, content):
    """Write a content with a checksum that fits."""
    document = {"format": "naively model", "version": VERSION, "content": content, "checksum": _checksum(content)}
    file.write_text(json.dumps(document), encoding="utf-8")


def assert_valid(probabilities, n_classes):
    assert probabilities.shape[1] == n_classes
    assert np.isfinite(probabilities).all()
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert np.allclose(probabilities.sum(axis=1), 1.0)


# -- by hand ---------------------------------------------------------------------------------------------------------


def forged(path, change):
    """Change the content of a model file and make its checksum fit again."""
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document["content"])
    document["checksum"] = _checksum(document["content"])
    path.write_text(json.dumps(document), encoding="utf-8")


def put(value, *keys):
    """A change that puts a value at the place that the keys lead to."""

    def change(content):
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return change


def drop(*keys):
    def change(content):
        for key in keys[:-1]:
            content = content[key]
        del content[keys[-1]]

    return change
