"""Random Unicode texts, the options of `Text`, and rows of them."""

from dataclasses import dataclass

from hypothesis import strategies as st

from naively.families import Text
from naively.smoothing import Dirichlet, Jeffreys, Laplace, Lidstone, MEstimate, NoSmoothing
from tests.models import textbook

PIECES = (
    *("free", "Free", "cash", "don't", "dont", "l\u2019été", "naïve", "a_1", "$", "£5", "ΟΔΟΣ", "οδος", "ß", "İ"),
    *("東京都", "京都", "東", "ラーメン", "ไทยแลนด์", "ລາວ", "မြန်မာ", "ខ្មែរ", "हिन्दी", "👍", "👍🏽", "👨\u200d👩", "☕️"),
    *("ǅ", "Ⅷ", "e\u0301", "\0", "\ud800", "\udfff", "𠀀", "\U0003fffd", "\U00100000", "'", "''", "\u02bc", "-", "."),
    *("\n", "\u00a0", "the", "of", "www.a-b.ru/x", "http://x.de", "me@x.org", "12", "3.5", "$1,000", "5 euros"),
)

pieces = st.sampled_from(PIECES) | st.characters() | st.text("ab' Z9", max_size=4)
prose = st.lists(st.tuples(pieces, st.sampled_from(["", " ", " "])).map("".join), max_size=7).map("".join)
"""Words of many scripts, symbols and rare code points, with or without spaces between them."""

cells = st.none() | st.just("") | prose


def halves(text):
    """A tokenizer of one's own."""
    return [text[: len(text) // 2], text[len(text) // 2 :]]


LENGTHS = (1, 2, 3, (1, 2), (1, 3), (2, 3))
counted = st.tuples(st.sampled_from(LENGTHS), st.none()) | st.tuples(
    st.sampled_from([None, 1]), st.sampled_from([1, 3, (2, 4)])
)


@st.composite
def options(draw, bounded=True, own_tokenizer=True, left_out=False):
    """A `Text` with any options; `left_out`: those for which leave-one-out has a closed form."""
    words, characters = draw(counted)
    event = draw(st.sampled_from(["multinomial", "bernoulli", "complement"]))
    return Text(
        words,
        characters=characters,
        lowercase=draw(st.booleans()),
        stop_words=draw(st.sampled_from([None, ["the", "of", "東京"]])),
        min_count=draw(st.sampled_from([0, 1, 1, 2])),
        event=event,
        tally=draw(st.sampled_from(["count", "presence", "log"])),
        idf=False if left_out else draw(st.booleans()),
        unit_length=draw(st.booleans()),
        normalise=event == "complement" and not left_out and draw(st.booleans()),
        buckets=draw(st.sampled_from([None, 5, 64])) if bounded and not left_out else None,
        **draw(st.sampled_from([{}, {}, {"entities": "all"}, {"tokenizer": halves}][: 4 if own_tokenizer else 3])),
    )


smoothings = st.sampled_from(
    [NoSmoothing(), Laplace(), Lidstone(0.125), Jeffreys(), MEstimate(2.0), MEstimate(1.0, "marginal"), Dirichlet(1.5)]
)


@dataclass(frozen=True)
class TextCase:
    """Texts to learn with their classes, texts to ask about, and a model for them."""

    family: Text
    smoothing: object
    texts: list
    y: list
    query: list

    def model(self, **parameters):
        return textbook(**{"families": {"text": self.family}, "smoothing": self.smoothing, **parameters})

    def fitted(self, rows=slice(None), weights=None, **parameters):
        return self.learn(self.model(**parameters), rows, weights)

    def learn(self, model, rows, weights=None):
        return model.partial_fit(self.columns(rows), self.y[rows], sample_weight=weights)

    def columns(self, rows=slice(None)):
        return {"text": self.texts[rows]}


@st.composite
def text_cases(draw, families=None, smoothing=smoothings, min_rows=1):
    n_rows = draw(st.integers(min_rows, 6))
    return TextCase(
        draw(options() if families is None else families),
        draw(smoothing),
        draw(st.lists(cells, min_size=n_rows, max_size=n_rows)),
        draw(st.lists(st.sampled_from("abc"), min_size=n_rows, max_size=n_rows)),
        draw(st.lists(cells, min_size=1, max_size=3)),
    )
