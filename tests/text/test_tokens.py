"""The token rule: what is a token, and that the compiled reader agrees with the reference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively._text.tally import TokenIndex, tally_texts
from naively._text.tokenise import View, token_hash, words
from naively.engines._tokens import token_table
from tests.text.cases import cells, prose


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't PANIC, it's £5 (or $6)!", ["dont", "panic", "its", "£", "5", "or", "$", "6"]),
        ("rock 'n' roll's ''", ["rock", "n", "rolls"]),
        ("l\u2019été, O\u02bcNeil a''b", ["lété", "oneil", "a", "b"]),
        ("東京都 東 a東b", ["東京", "京都", "東", "a", "東", "b"]),
        ("ไทย", ["ไท", "ทย"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("☕️👍🏽 ok", ["☕", "👍", "ok"]),  # a modifier of the colour is no token
        ("ΟΔΟΣ οδος", ["οδοσ", "οδοσ"]),
        ("İstanbul ǅ Ⅷ", ["istanbul", "ǆ", "ⅷ"]),
        ("e\u0301te\u0301", ["e\u0301te\u0301"]),
        ("a\0b\ud800c snake_case 3rd", ["a", "b", "c", "snake_case", "3rd"]),
        ("", []),
        (" .,-!", []),
    ],
)
def test_the_rule(text, expected):
    assert words(text) == expected


def test_capitals_can_be_kept():
    assert words("Don't PANIC", lowercase=False) == ["Dont", "PANIC"]
    assert words("ΟΔΟΣ", lowercase=False) == ["ΟΔΟΣ"]


views = st.builds(
    lambda unit, shortest, more, **others: View(unit, shortest, shortest + more, **others),
    st.sampled_from(["words", "characters"]),
    st.integers(1, 3),
    st.integers(0, 2),
    lowercase=st.booleans(),
    stop_words=st.sampled_from([(), ("free", "the", "東京")]),
    tally=st.sampled_from(["count", "presence", "log"]),
    unit_length=st.booleans(),
    buckets=st.sampled_from([None, 3, 64]),
    entities=st.sampled_from([(), ("urls", "emails", "money", "numbers"), ("numbers",)]),
)
columns = st.lists(cells, min_size=1, max_size=6)


def counted(texts, view, kernels, weights=None):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NAIVELY_KERNELS", kernels)
        return token_table(texts, np.arange(len(texts)) % 3, weights, 3, view)


@given(columns, views, st.booleans())
def test_the_compiled_reader_agrees_with_the_reference(texts, view, weighted):
    weights = np.arange(1, len(texts) + 1) / 8 if weighted else None
    reference, compiled = (counted(texts, view, kernels, weights) for kernels in ("reference", "compiled"))
    assert reference == compiled
    assert reference.vocabulary.texts() == compiled.vocabulary.texts()


@given(columns, columns, views)
def test_known_tokens_are_looked_up_alike(learnt, texts, view):
    index = TokenIndex(counted(learnt, view, "reference").vocabulary.hashes)
    found = []
    for kernels in ("reference", "compiled"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("NAIVELY_KERNELS", kernels)
            rows = index.tally(texts, view)
        assert len(rows.bounds) == len(texts) + 1
        found.append((rows.matrix(len(index.hashes)).toarray().tolist(), rows.lengths.tolist()))
    assert found[0] == found[1]


@given(columns)
def test_single_words_are_the_rule_counted(texts):
    table = counted(texts, View(), "compiled")
    expected = {}
    for text in texts:
        for word in words(text or ""):
            expected[word] = expected.get(word, 0) + 1
    total = np.bincount(table.tokens, table.mass.high, len(table.vocabulary))
    assert dict(zip(table.vocabulary.texts(), total.tolist(), strict=True)) == expected
    assert all(token_hash(word) in set(table.vocabulary.hashes.tolist()) for word in expected)


@given(prose, views)
def test_a_text_is_tallied_the_same_in_any_company(text, view):
    """Beside others or alone: a norm must not depend on the texts before it."""
    alone = tally_texts([text], view)
    company = tally_texts([*["some other text, " * 5] * 3, text], view)
    start, stop = company.bounds[-2:]
    beside = dict(zip(company.hashes[company.tokens[start:stop]].tolist(), company.tallies[start:stop], strict=True))
    assert beside == dict(zip(alone.hashes[alone.tokens].tolist(), alone.tallies, strict=True))
