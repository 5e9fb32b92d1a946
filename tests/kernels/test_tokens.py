"""The kernels that read texts, on the cases that random texts seldom hold."""

import numpy as np
import pytest

from naively._text.tally import TokenIndex
from naively._text.tokenise import View, token_hash
from naively._weighing.text import TokenScores
from naively.engines._tokens import token_table
from naively.statistics._tokens import TokenTable

TEXTS = [
    "Don't stop: rock'n'roll isn't $5",
    "l\u2019été à Ünal 東京都 ก 漢 ☕👍🏽 x\0y \U00020000\U00020001 \U0010ffff",
    "naïve café — ŒUVRE Ⱥb \U0001d4b3 ΟΔΟΣ",
    "a''b 'x' 漢'字 é'è",
    None,
    "",
    "漢",
    "日",
]


def tables(texts, view):
    found = []
    for kernels in ("reference", "compiled"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("NAIVELY_KERNELS", kernels)
            found.append(token_table(texts, np.arange(len(texts)) % 3, None, 3, view))
    return found


@pytest.mark.parametrize("view", [View(), View(shortest=2, longest=3), View("characters", 2, 3), View(lowercase=False)])
def test_kernels_read_every_script_like_the_reference(view):
    reference, compiled = tables(TEXTS, view)
    assert len(reference.vocabulary) > 5
    assert reference == compiled


def test_kernels_count_more_tokens_than_a_table_starts_with():
    texts = [" ".join(f"w{number}" for number in range(start, start + 5000)) for start in (0, 4000)]
    reference, compiled = tables(texts, View())
    assert len(compiled.vocabulary) == 9000
    assert reference == compiled


def test_a_stream_with_more_tokens_than_its_length_promises_grows_in_the_kernels():
    reference, compiled = tables(["a b " * 3000, "c d " * 10, "é " * 4000], View())
    assert reference == compiled


def test_kernels_look_tokens_up_that_collide():
    index = TokenIndex(np.sort(np.array([token_hash(f"w{number}") for number in range(200)], dtype=np.uint64)))
    texts = ["w1 w1 w199 unknown w7", "unknown"]
    found = []
    for kernels in ("reference", "compiled"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("NAIVELY_KERNELS", kernels)
            found.append(index.tally(texts, View()).matrix(200).toarray())
    np.testing.assert_array_equal(*found)
    assert found[0].sum() == 4


def test_kernels_score_texts_like_the_reference():
    texts = ["one two two", "two three", "one", "four two", "five", "three three one"]
    table: TokenTable = tables(texts, View())[0]
    scores = TokenScores(View(), table, with_complement=True)
    weights, every = scores.folded(np.array([0.7, 0.3]))
    found = []
    for kernels in ("reference", "compiled"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("NAIVELY_KERNELS", kernels)
            rows = scores.read(texts)
            found.append((scores.linear(rows, weights, every), *scores.scores(rows, np.arange(6) % 3, np.ones(6))))
    for reference, compiled in zip(*found, strict=True):
        np.testing.assert_allclose(compiled, reference, rtol=1e-12, atol=1e-12)
