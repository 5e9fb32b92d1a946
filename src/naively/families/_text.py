"""Prose: the words of a text, drawn from a distribution per class, with an open vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from naively._table.table import Kind
from naively._text.tokenise import View
from naively.errors import GapError, ParameterError
from naively.families._linear import logs_and_zeros
from naively.families._text_options import (
    Lengths,
    analyzer_of,
    at_least,
    entities_of,
    flag,
    function_of,
    lengths,
    one_of,
    stop_words_of,
    whole,
)
from naively.families._text_views import DrawnView, TokenView, WeighedView
from naively.families._text_without import left_out_views
from naively.families.base import Estimate, EvidenceReader, Family, LeftOut, TokenWeights
from naively.smoothing import Lidstone, Smoothing, smoothed_frequencies
from naively.statistics._tokens import Tokens, TokenTable, Vocabulary
from naively.statistics.base import Summary
from naively.typing import FloatArray

EVENTS = ("multinomial", "bernoulli", "complement")
OF_THE_RULE = ("words", "characters", "lowercase", "stop_words", "entities", "tokenizer")
"""The options that say what a token is."""

TALLIES = ("count", "presence", "log")
Texts = Sequence[Sequence[str | None]]
"""A block of texts: for each column, those of its rows."""


@dataclass(frozen=True, repr=False)
class Text(Family):
    """A column of prose: messages, reviews, articles, titles.

    A text is cut into tokens by the rule of `naively._text.tokenise`: words in any script, emoji and currency signs;
    scripts without spaces give pairs of letters.

    Parameters
    ----------
    words : int or pair of ints or None, default=(1, 2)
        The lengths of the runs of words that are counted; each length has a distribution of its own. ``1`` for single
        words, None for none.
    characters : int or pair of ints or None, default=None
        The lengths of the runs of characters that are counted, within words, a space at both ends of each.
    lowercase : bool, default=True
    stop_words : "english" or sequence of str, optional
        Words that are left out before anything is counted.
    min_count : float, default=1
        Tokens that occur in fewer texts are left out of the estimates; the statistics keep them.
    event : "multinomial", "bernoulli" or "complement", default="multinomial"
        Every occurrence is a draw; every known token is there or not; or every occurrence is a draw that speaks against
        the other classes (Rennie and others, 2003).
    tally : "log", "count" or "presence", default="log"
        What a token that occurs k times in a text adds: ``log(1 + k)``, k, or 1.
    idf : bool, default=False
        Whether tallies are multiplied by ``log(texts / texts that have the token)``. The statistics keep how many texts
        have it, so that this follows every update.
    unit_length : bool, default=False
        Whether the tallies of each text are scaled to a Euclidean norm of 1 (before `idf`).
    normalise : bool, default=False
        With ``event="complement"``: whether each class's weights are divided by the sum of their sizes.
    entities : sequence of "urls", "emails", "money" and "numbers", or "all", optional
        What is a token of its own, and not the pieces that the rule makes of it: ``_url_`` and its host
        (``spam_ru``), ``_email_`` and its domain, ``_money_``, ``_number_``.
    tokenizer : callable, optional
        From a text to its words, in place of the rule. A model with one can be pickled, but not saved.
    analyzer : callable or vectorizer, optional
        From a text to all of its tokens, in place of the rule, of `words` and of `characters`. Of a `CountVectorizer`,
        `TfidfVectorizer` or `HashingVectorizer` of scikit-learn, fitted or not, it is the analyser, and nothing else:
        how tokens are counted and weighed is said here. A model with a vectorizer that has no functions in it can be
        saved; one with another callable can be pickled.
    buckets : int, optional
        Bounded memory: tokens are known by their hash modulo this number, for example ``2**20``, and have no names.
    most_tokens : int, optional
        Bounded memory: while learning, only so many tokens are kept, those with the largest mass; what was let go is
        reported by ``model.parameters()[column]["dropped"]``. A model that has let tokens go depends on the order of
        its rows.

    Notes
    -----
    A token that was never learnt gives no evidence; nor does a missing text, whereas an empty one is a text without
    tokens. Smoothing adds to every known token. Rennie's TWCNB is
    ``Text(words=1, event="complement", tally="log", idf=True, unit_length=True, normalise=True)``.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> messages = ["win a free prize now", "free cash, call now", "are you home for lunch", "call me after lunch"]
    >>> model = NaiveBayes("textbook", families={"message": Text(words=1, tally="count")})
    >>> model = model.fit({"message": messages}, ["spam", "spam", "ham", "ham"])
    >>> model.predict({"message": ["lunch at home", "free prize"]}).tolist()
    ['ham', 'spam']
    """

    accepts: ClassVar[tuple[Kind, ...]] = ("label", "text", "mixed", "empty")  # mixed: the cell at fault is named
    is_distribution: ClassVar[bool] = False  # of tokens, given how many there are; not of a cell's values
    compares_rows: ClassVar[bool] = False

    words: Lengths | None = (1, 2)
    characters: Lengths | None = None
    lowercase: bool = True
    stop_words: tuple[str, ...] = ()
    min_count: float = 1
    event: Literal["multinomial", "bernoulli", "complement"] = "multinomial"
    tally: Literal["count", "presence", "log"] = "log"
    idf: bool = False
    unit_length: bool = False
    normalise: bool = False
    entities: tuple[str, ...] = ()
    tokenizer: Callable[[str], Sequence[str]] | None = None
    analyzer: Callable[[str], Sequence[str]] | None = None
    buckets: int | None = None
    most_tokens: int | None = None

    def __init__(
        self,
        words: Any = (1, 2),
        *,
        characters: Any = None,
        lowercase: bool = True,
        stop_words: Any = None,
        min_count: float = 1,
        event: str = "multinomial",
        tally: str = "log",
        idf: bool = False,
        unit_length: bool = False,
        normalise: bool = False,
        entities: Any = None,
        tokenizer: Any = None,
        analyzer: Any = None,
        buckets: int | None = None,
        most_tokens: int | None = None,
    ):
        given = {
            "words": lengths("words", words),
            "characters": lengths("characters", characters),
            "lowercase": flag("lowercase", lowercase),
            "stop_words": stop_words_of(stop_words),
            "min_count": at_least("min_count", min_count, 0),
            "event": one_of("event", event, EVENTS),
            "tally": one_of("tally", tally, TALLIES),
            "idf": flag("idf", idf),
            "unit_length": flag("unit_length", unit_length),
            "normalise": flag("normalise", normalise),
            "entities": entities_of(entities),
            "tokenizer": function_of("tokenizer", tokenizer),
            "analyzer": analyzer_of(analyzer),
            "buckets": whole("buckets", buckets, 2),
            "most_tokens": whole("most_tokens", most_tokens, 1),
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)
        self._refuse_together()

    def _refuse_together(self) -> None:
        """Refuse options that contradict each other."""
        if self.words is None and self.characters is None:
            raise ParameterError("Text(words, characters) must not both be None: nothing would be counted.")
        if self.normalise and self.event != "complement":
            raise ParameterError("Text(normalise=True) belongs to event='complement'.")
        if self.tokenizer is not None and self.entities:
            raise ParameterError("Text(entities) belongs to the rule of what a token is: the tokenizer decides it.")
        if self.analyzer is None:
            return
        for name in OF_THE_RULE:
            if getattr(self, name) != type(self).__dataclass_fields__[name].default:
                raise ParameterError(
                    f"Text(analyzer) says what a token is, and so does {name}={getattr(self, name)!r}. Give only one."
                )

    def __repr__(self) -> str:
        plain = type(self)().options()
        changed = [f"{name}={value!r}" for name, value in self.options().items() if value != plain[name]]
        return f"Text({', '.join(changed)})"

    # -- Statistics -----------------------------------------------------------------------------------------------

    @property
    def views(self) -> tuple[View, ...]:
        """What is counted of a text: one view per length of runs of words, and one for characters."""
        common: dict[str, Any] = {
            "lowercase": self.lowercase,
            "stop_words": self.stop_words,
            "tally": self.tally,
            "unit_length": self.unit_length,
            "buckets": self.buckets,
            "most_tokens": self.most_tokens,
            "tokenizer": self.tokenizer,
            "entities": self.entities,
        }
        if self.analyzer is not None:
            return (View(**{**common, "tokenizer": self.analyzer}),)
        low, high = self.words or (1, 0)
        found = [View("words", length, length, **common) for length in range(low, high + 1)]
        if self.characters is not None:
            found.append(View("characters", *self.characters, **common))
        return tuple(found)

    @property
    def summaries(self) -> tuple[Summary, ...]:
        return tuple(Summary("tokens", view=view) for view in self.views)

    # -- Estimate -------------------------------------------------------------------------------------------------

    def estimate(self, *statistics: Tokens, smoothing: Smoothing) -> TextEstimate:
        """What each token says about each class; smoothing adds pseudo-counts to every known token."""
        by_view = [
            [self._weigh(table, view, smoothing) for table in tokens.tables]
            for tokens, view in zip(statistics, self.views, strict=True)
        ]
        dropped = [tuple(tokens.tables[place].dropped.high for tokens in statistics) for place in _places(statistics)]
        return TextEstimate(tuple(zip(*by_view, strict=True)), statistics[0].n_classes, tuple(dropped))

    def _weigh(self, table: TokenTable, view: View, smoothing: Smoothing) -> TokenView:
        known = table.frequent(self.min_count)
        if self.event == "bernoulli":
            return _presence(known, view, smoothing)
        if isinstance(smoothing, Lidstone) and smoothing.tau > 0 and not self.idf and not self.normalise:
            return DrawnView(view, known, float(smoothing.tau), self.event == "complement")
        mass = known.dense(known.mass.high)
        importance = self._importance(known)
        frequencies = _frequencies(mass * importance[:, None], smoothing, known.vocabulary, self.event == "complement")
        logs, zeros = logs_and_zeros(frequencies)
        weights = -logs if self.event == "complement" else logs
        if self.normalise:
            weights = weights / np.maximum(np.abs(weights).sum(axis=0), np.finfo(np.float64).tiny)
        weights = weights * importance[:, None]
        return WeighedView(view, known.vocabulary, weights, zeros, np.zeros(known.n_classes), frequencies)

    def _importance(self, table: TokenTable) -> FloatArray:
        """What a token's tallies are multiplied by."""
        if not self.idf:
            return np.ones(len(table.vocabulary))
        return np.asarray(np.log(np.maximum(table.observed.high.sum() / table.document_frequency, 1.0)))

    def takes_smoothing(self, weighed: bool) -> bool:
        """Whether tokens have pseudo-counts: where evidence is weighed, scores of several kinds are pooled instead."""
        return not weighed

    def unweighable(self) -> str | None:
        """The options that only say something where evidence is not weighed."""
        if self.event == "multinomial" and not self.idf:
            return None
        return (
            f"a recipe that weighs evidence pools scores of its own, so Text(event={self.event!r}, idf={self.idf}) "
            "means nothing to it. Leave these out, or use recipe='textbook'"
        )

    def weighed_by(self, reader: EvidenceReader, *statistics: Any, smoothing: Any) -> None:
        """The tokens of each view, whose scores are pooled where they are weighed."""
        reader.of_tokens(self.views, statistics, self.min_count)

    # -- Leave-one-out --------------------------------------------------------------------------------------------

    def leave_one_out(self, *statistics: Tokens, smoothing: Smoothing) -> LeftOut:
        """The evidence of texts without themselves: exact for multinomial, Bernoulli and complement events."""
        bounded = self.buckets is not None or self.most_tokens is not None
        if not isinstance(smoothing, Lidstone) or self.idf or self.normalise or bounded:
            raise ParameterError(
                "Leave-one-out of Text has a closed form for smoothings with one pseudo-count (a number, Laplace, "
                "Lidstone, Jeffreys) and without idf, normalise, buckets and most_tokens. Use cross-validation "
                "(naively.tune) for the others."
            )
        evidence = left_out_views(statistics, self.views, self.event, float(smoothing.tau), self.min_count)
        return LeftOut("texts", evidence)

    # -- Questions ------------------------------------------------------------------------------------------------

    def as_words(self) -> None:
        """Refuse where what a word says depends on other words than its neighbours, or cannot be spelt."""
        reasons = {
            "counts runs of characters, which words share": self.characters is not None,
            "counts runs of more than two words": self.words is not None and self.words not in ((1, 1), (1, 2)),
            "scales every text to the same length": self.unit_length,
            "has a tokenizer of its own": self.tokenizer is not None or self.analyzer is not None,
            "knows words by their hashes alone": self.buckets is not None,
        }
        for reason, holds in reasons.items():
            if holds:
                raise GapError(f"Text.as_words: it {reason}", reason)

    def cells(self, *statistics: Tokens) -> list[FloatArray]:
        """The mass of each token of the first view: one token drawn from the text."""
        return [table.dense(table.mass.high).T for table in statistics[0].tables]


def _frequencies(mass: FloatArray, smoothing: Smoothing, vocabulary: Vocabulary, complement: bool) -> FloatArray:
    """The frequencies (tokens, classes) of the tokens of each class, or of all other classes."""
    of_class = mass.T
    if complement:
        of_class = np.maximum(of_class.sum(axis=0) - of_class, 0.0)
    return smoothed_frequencies(of_class, smoothing, LazyTexts(vocabulary)).T


def _presence(table: TokenTable, view: View, smoothing: Smoothing) -> WeighedView:
    """Every known token is there, or not: what its presence adds to what its absence would say."""
    documents = table.dense(table.documents.high).T
    two = np.stack([np.maximum(table.observed.high[:, None] - documents, 0.0), documents], axis=-1)
    frequencies = smoothed_frequencies(two, smoothing, [0, 1])
    logs, zeros = logs_and_zeros(frequencies)
    if zeros is not None:
        tiny = np.log(np.finfo(np.float64).tiny)
        logs = np.where(zeros, tiny, logs)  # absent tokens are too many to forbid a class one by one
    absent, present = logs[..., 0], logs[..., 1]
    return WeighedView(
        view, table.vocabulary, (present - absent).T, None, absent.sum(axis=1), frequencies[..., 1].T, presence=True
    )


class LazyTexts(Sequence[str]):
    """The tokens as text, spelt only if a smoothing rule wants to know them."""

    def __init__(self, vocabulary: Vocabulary):
        self._vocabulary = vocabulary

    def __len__(self) -> int:
        return len(self._vocabulary)

    def __getitem__(self, place: Any) -> Any:
        return self._vocabulary.texts()[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self._vocabulary.texts())


# -- Evidence -----------------------------------------------------------------------------------------------------


class TextsEstimate(Estimate):
    """What the estimates of texts have in common: there is no end of values, so that none are tabulated."""

    @property
    def kind(self) -> str:
        return "text"

    def length_factor(self, text: str) -> float:
        """What the evidence of all tokens of a text is multiplied by, for its length."""
        return 1.0

    def points(self, place: int, n_points: int) -> list[Any]:
        """None: call the table with texts."""
        return []

    def tabulated(self, place: int, points: Sequence[Any], n_columns: int) -> FloatArray:
        """What an unknown value and a missing text say."""
        nothing: list[list[str | None]] = [[None, None]] * n_columns
        return self.evidence(nothing)[:, place]


@dataclass(frozen=True)
class TextEstimate(TextsEstimate):
    """The views of a group of text columns.

    Parameters
    ----------
    columns : tuple of tuples of TokenView
        The views of each column.
    n_classes : int
    dropped : tuple
        For each column and view, the mass of each class that was let go.
    """

    reads: ClassVar[str] = "texts"
    least_rows: ClassVar[int] = 1024
    cells_per_row: ClassVar[int] = 512
    """About how many cells reading a text is worth, for cutting the work."""

    columns: tuple[tuple[TokenView, ...], ...]
    n_classes: int
    dropped: tuple[tuple[FloatArray, ...], ...] = ()

    def evidence(self, block: Texts) -> FloatArray:
        """The log-likelihood of every text, (rows, columns, classes)."""
        return np.stack(
            [sum(view.scores(texts) for view in views) for texts, views in zip(block, self.columns, strict=True)],
            axis=1,
        )

    def add_to(self, scores: FloatArray, block: Texts) -> None:
        """Add the log-likelihood of every row."""
        for texts, views in zip(block, self.columns, strict=True):
            for view in views:
                scores += view.scores(texts)

    def token_evidence(self, place: int, text: str) -> tuple[list[str], FloatArray]:
        """The tokens of one text of one column that speak, and what each says, (tokens, classes)."""
        named_tokens: list[str] = []
        evidence = []
        for view in self.columns[place]:
            names, by_token = view.of_tokens(text)
            named_tokens.extend(names)
            evidence.append(by_token)
        return named_tokens, np.concatenate(evidence)

    def token_weights(self, place: int) -> list[TokenWeights]:
        """What one of each known token says, view by view; minus infinity where it is impossible."""
        return [TokenWeights(view.vocabulary, view.of_one) for view in self.columns[place]]

    # -- Description ----------------------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """The probability of each token, by view, and the mass that was let go."""
        return {
            "probability": [
                {view.view.name: dict(zip(view.vocabulary.texts(), view.frequencies, strict=True)) for view in views}
                for views in self.columns
            ],
            "dropped": [
                {view.view.name: lost for view, lost in zip(views, dropped, strict=True)}
                for views, dropped in zip(self.columns, self.dropped, strict=True)
            ],
        }


def _places(statistics: Sequence[Tokens]) -> range:
    return range(len(statistics[0].columns))
