"""Rows: raw texts, from the string to the answer, against scikit-learn's vectoriser and its MultinomialNB."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from bench import data
from bench.measure import Scale, Times, run_python, times_side_by_side
from bench.result import Result, Target, at_least, at_most, duration, size
from naively import NaiveBayes
from naively.families import Text

FASTER = 3.0


class Route(NamedTuple):
    """What is compared: ours, the peer's, and how both are called.

    Parameters
    ----------
    model : callable
    longest : int
        The longest runs of words.
    of : str
    """

    model: Callable[[], Any]
    longest: int
    of: str

    def fitted(self, texts: list[str], classes: list[str]) -> Any:
        """Tokenised, counted and estimated: estimates are made for the first answer."""
        model = self.model().fit({"text": texts}, classes)
        model.predict_proba({"text": texts[:1]})
        return model

    def peer(self, texts: list[str], classes: list[str]) -> Any:
        return make_pipeline(CountVectorizer(ngram_range=(1, self.longest)), MultinomialNB()).fit(texts, classes)

    @property
    def peer_name(self) -> str:
        return "scikit-learn" if self.longest == 1 else f"scikit-learn, ngram_range=(1, {self.longest})"


ROUTES = {
    "words": Route(
        lambda: NaiveBayes("textbook", families={"text": Text(1, tally="count")}), 1, 'textbook, Text(1, tally="count")'
    ),
    "auto": Route(lambda: NaiveBayes("auto"), 2, "auto: words, pairs, weights by leave-one-out"),
}


class Corpus(NamedTuple):
    name: str
    texts: list[str]
    classes: list[str]
    asked: list[str]


def corpus(scale: Scale) -> Corpus | None:
    """20newsgroups; a small one that is made up for quick runs."""
    if not scale.judged:
        texts, classes = data.prose(max(200, scale.rows(20_000)))
        return Corpus("made-up texts", texts, classes, texts[:100])
    found = data.newsgroups()
    if found is None:
        return None
    texts, groups, first = found
    return Corpus("20newsgroups", texts[:first], groups[:first], texts[first:])


def prose_fit_words(scale: Scale) -> Result | None:
    return _fit(scale, "words")


def prose_fit_auto(scale: Scale) -> Result | None:
    return _fit(scale, "auto")


def prose_predict_words(scale: Scale) -> Result | None:
    return _predict(scale, "words")


def prose_predict_auto(scale: Scale) -> Result | None:
    return _predict(scale, "auto")


def prose_memory_words(scale: Scale) -> Result | None:
    return _memory(scale, "words")


def prose_memory_auto(scale: Scale) -> Result | None:
    return _memory(scale, "auto")


def _fit(scale: Scale, name: str) -> Result | None:
    given, route = corpus(scale), ROUTES[name]
    if given is None:
        return None
    if name == "words":
        _check_agreement(route, given)
    times = times_side_by_side(
        scale,
        ours=lambda: route.fitted(given.texts, given.classes),
        peer=lambda: route.peer(given.texts, given.classes),
    )
    return _compared(f"learning raw texts, {_about(given, given.texts)}, {route.of}", route, times, given.texts)


def _predict(scale: Scale, name: str) -> Result | None:
    given, route = corpus(scale), ROUTES[name]
    if given is None:
        return None
    model, peer = route.fitted(given.texts, given.classes), route.peer(given.texts, given.classes)
    times = times_side_by_side(
        scale,
        ours=lambda: model.predict_proba({"text": given.asked}),
        peer=lambda: peer.predict_proba(given.asked),
    )
    return _compared(f"scoring raw texts, {_about(given, given.asked)}, {route.of}", route, times, given.asked)


def _compared(work: str, route: Route, times: dict[str, Times], texts: list[str]) -> Result:
    ours, peer = times["ours"], times["peer"]
    targets: list[Target] = [at_least(FASTER, "x scikit-learn", peer.wall / ours.wall)]
    spent = f"processor time: ours {duration(ours.processor)}, peer {duration(peer.processor)}"
    return Result(
        work=work,
        ours=ours.wall,
        peer=peer.wall,
        peer_name=route.peer_name,
        must_move=sum(map(len, texts)),
        targets=targets,
        notes=f"{spent}, {peer.processor / ours.processor:.3g} x; peer: CountVectorizer + MultinomialNB",
    )


def _check_agreement(route: Route, given: Corpus) -> None:
    """With the same words (single letters, too) the two are the same model."""
    texts, classes = given.texts[:2000], given.classes[:2000]
    same = make_pipeline(CountVectorizer(token_pattern=r"(?u)\b\w+\b"), MultinomialNB()).fit(texts, classes)
    found = route.fitted(texts, classes).predict_proba({"text": given.asked[:99]})
    np.testing.assert_allclose(found, same.predict_proba(given.asked[:99]), atol=1e-9)


def _about(given: Corpus, texts: list[str]) -> str:
    return f"{given.name}, {size(len(texts))} documents"


# -- memory -------------------------------------------------------------------------------------------------------

PROBE = """
import ctypes, gc, json, warnings
from pathlib import Path
from bench import measure, prose

def read(field):  # bytes
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if field in line) << 10

given, route = prose.corpus(measure.{scale}), prose.ROUTES["{name}"]
work = route.{side}
work(given.texts[::50], given.classes[::50])
gc.collect()
ctypes.CDLL(None).malloc_trim(0)  # what was freed while reading must not hide what the work takes
Path("/proc/self/clear_refs").write_text("5")  # the peak is now
before = read("VmRSS")
model = work(given.texts, given.classes)
peak = read("VmHWM")
gc.collect()
ctypes.CDLL(None).malloc_trim(0)
print(json.dumps(dict(peak=peak - before, kept=read("VmRSS") - before)))
"""


def _memory(scale: Scale, name: str) -> Result | None:
    given, route = corpus(scale), ROUTES[name]
    if given is None:
        return None
    found = {}
    for side in ("fitted", "peer"):
        code = PROBE.format(scale="FULL" if scale.judged else "QUICK", name=name, side=side)
        found[side] = {part: n_bytes / 1e6 for part, n_bytes in json.loads(run_python(code, scale.kernels)).items()}
    ours, peer = found["fitted"], found["peer"]
    return Result(
        work=f"extra memory of learning raw texts, {_about(given, given.texts)}, {route.of}",
        ours=ours["peak"],
        unit="MB",
        targets=[at_most(1.0, f"x {route.peer_name}", ours["peak"] / max(peer["peak"], 1e-6))],
        notes=f"peak of resident memory above the texts, estimates included; peer: {peer['peak']:.0f} MB; after the "
        f"fit ours keeps {ours['kept']:.0f} MB, the peer {peer['kept']:.0f} MB; Linux only",
    )
