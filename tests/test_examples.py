"""The examples run, and what they say is true."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(scope="module")
def spam_filter():
    return runpy.run_path(str(EXAMPLES / "spam_filter.py"))


def test_the_spam_filter_does_what_it_says(spam_filter, capsys):
    claims = spam_filter["main"]([])
    printed = capsys.readouterr().out
    same = ["stream equals batch", "merged equals both", "unlearnt equals never seen", "file equals filter"]
    assert all(claims[name] is True for name in same), claims
    assert claims["accuracy"] > 0.955
    assert claims["log_loss"] < 0.105
    assert claims["calibrated accuracy"] > 0.98
    assert claims["calibrated log_loss"] < 0.06
    assert 0.02 < claims["share unsure"] < 0.2
    assert claims["accuracy if sure"] > 0.99
    assert f"   600 messages   accuracy {claims['accuracy']:.4f}" in printed
    assert "prize" in printed


def test_a_filter_that_was_given_other_messages_to_unlearn_is_another(spam_filter):
    messages = spam_filter["read_messages"](spam_filter["EXCERPT"])[:60]
    table, labels, new = spam_filter["table"], spam_filter["labels"], spam_filter["new_filter"]
    model = new(60).fit(table(messages), labels(messages))
    spam_filter["unlearn"](model, messages[:1])
    rest, others = messages[1:], messages[:-1]
    assert spam_filter["same"](model, new(60).fit(table(rest), labels(rest)))
    assert not spam_filter["same"](model, new(60).fit(table(others), labels(others)))


def test_the_spam_filter_reads_a_file_of_ones_own(spam_filter, tmp_path, capsys):
    lines = spam_filter["EXCERPT"].read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "mine.csv"
    path.write_text("".join(lines[:61]), encoding="utf-8")
    claims = spam_filter["main"](["--data", str(path), "--unlearn", "7"])
    assert claims["unlearnt equals never seen"] is True
    assert "Unlearn 7 messages" in capsys.readouterr().out
