"""The examples run, and what they say is true."""

import runpy
from pathlib import Path

import matplotlib
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
    assert claims["calibrated log_loss"] < 0.07  # of folds that were taken out of all that was learnt
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


def page(name):
    """What a script of the gallery leaves behind; its pictures are drawn to nowhere."""
    from matplotlib import pyplot

    matplotlib.use("agg")
    try:
        return runpy.run_path(str(EXAMPLES / "gallery" / f"plot_{name}.py"))
    finally:
        pyplot.close("all")


def test_digits_are_read_best_by_weighed_pixels():
    accuracy = page("digits")["accuracy"]
    assert 0.7 < accuracy["textbook"] < 0.8 < accuracy["fast"] < accuracy["auto"]


def test_losses_keep_poisonous_mushrooms_off_the_plate():
    found = page("mushrooms")
    (likely, least), (textbook, _) = found["found"]["auto"], found["found"]["textbook"]
    assert least[0] == 0 < likely[0] < textbook[0]
    assert found["eaten"] == 0
    assert found["wasted"] < least[1]
    assert 0 < found["asked"] < 80


def test_incomes_can_be_planned_with():
    found = page("income")
    textbook, auto = found["judged"]["textbook"], found["judged"]["auto"]
    assert auto["ece"] < 0.04 < textbook["ece"]
    assert auto["log_loss"] < 0.6 * textbook["log_loss"]
    off = {name: abs(number - found["counted"]) for name, number in found["expected"].items()}
    chances = found["models"]["auto"].predict_proba(found["new"])[:, 1]
    deviation = float((chances * (1 - chances)).sum() ** 0.5)  # of the number, where every probability is right
    assert off["auto"] < 2 * deviation < off["textbook"]


def test_a_market_that_changes_is_followed_by_forgetting():
    found = page("electricity")
    assert found["changes"][0]["column"] in ("transfer", "vicprice", "vicdemand")
    assert found["accuracy"]["forgets after a week"] > found["accuracy"]["keeps all"] + 0.01


def test_loans_with_more_points_are_paid_back():
    bad = page("scorecard")["bad"].tolist()
    assert bad == sorted(bad, reverse=True)
    assert bad[0] > 0.5 > 0.1 > bad[-1]


def test_the_length_of_a_post_adds_to_its_words():
    judged = page("news")["judged"]
    assert judged["opening and words"]["log_loss"] < judged["opening"]["log_loss"] < judged["words"]["log_loss"]


def test_hospitals_are_better_together():
    found = page("hospitals")
    assert found["difference"] < 1e-9
    assert found["wrong"]["together"] == min(found["wrong"].values())


def test_messages_are_told_from_spam():
    assert page("spam")["accuracy"] > 0.97


def test_the_bird_is_told_by_its_bill():
    found = page("penguins")
    assert found["probability"]["Chinstrap"] > 0.95
