"""What every family must do, over all that are registered; and that a family which does not is found out."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np
import pytest
from scipy import special

from naively import NaiveBayes
from naively.errors import GapError, ModelFileError, ParameterError
from naively.families import FAMILIES, Binned, Exponential, Gaussian, Kernel, Poisson, StudentT, gaps
from naively.families._linear import LinearEstimate, left_out
from naively.families.base import Estimate, Family, LeftOut
from naively.statistics.base import Summary
from naively.testing import check_family

rng = np.random.default_rng(5)
NUMBERS = rng.gamma(2.0, 3.0, 40).tolist()
COUNTS = rng.poisson(3.0, 40).tolist()
LABELS = rng.choice(["red", "green", "blue"], 40).tolist()
TEXTS = [" ".join(rng.choice(["free", "prize", "lunch", "at", "noon", "now"], 5)) for _ in range(40)]

DATES = [datetime(2023, 1, 1) + timedelta(hours=int(hours)) for hours in rng.integers(0, 24 * 600, 40)]

VALUES = {
    "categorical": LABELS,
    "date": DATES,
    "codes": COUNTS,
    "text": TEXTS,
    **dict.fromkeys(("bernoulli", "complement", "multinomial", "poisson"), COUNTS),
}
"""The values by which families are checked; all others read numbers."""

OTHERS = [
    *(Gaussian(ties=ties) for ties in ("feature", "class", "all")),
    *(Gaussian(ddof=1), Gaussian(interval=0.5), StudentT(pooled=True), Binned("mdl"), Kernel(scores=True)),
    Kernel(background=False, bandwidth="nrd0"),
]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_does_what_families_do(name):
    check_family(FAMILIES[name](), VALUES.get(name, NUMBERS))


@pytest.mark.parametrize("family", OTHERS, ids=repr)
def test_families_with_other_options_do(family):
    check_family(family, NUMBERS)


def test_it_needs_values_that_differ():
    with pytest.raises(ValueError, match="at least 8"):
        check_family(Gaussian(), [1.0] * 20)


# -- families that are wrong ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rates(Family):
    """An exponential family as a user would write it: statistics, estimate, leave-one-out, and nothing else."""

    factor: float = 1.0

    @property
    def summaries(self):
        return (Summary("moments", observed=True, nonnegative=True),)

    def estimate(self, statistics, *, smoothing):
        rows = statistics.observed.high
        overall = statistics.total.high.sum(axis=0) / rows.sum(axis=0)
        rate = np.where(rows > 0, rows / np.where(rows > 0, statistics.total.high, 1.0), 1 / overall)
        return RatesEstimate(-rate, np.log(self.factor * rate), nonnegative=True, parameters={"rate": rate})

    def leave_one_out(self, statistics, *, smoothing):
        return left_out(statistics, lambda moments: self.estimate(moments, smoothing=smoothing))


class RatesEstimate(LinearEstimate):
    def quantile(self, levels):
        return -np.log1p(-levels)[:, None, None] / self.parameters["rate"]


class Unnormalised(Rates):
    def estimate(self, statistics, *, smoothing):
        return Rates(factor=2.0).estimate(statistics, smoothing=smoothing)


class WithItself(Rates):
    def leave_one_out(self, statistics, *, smoothing):
        whole = self.estimate(statistics, smoothing=smoothing)
        return LeftOut("numbers", lambda block, codes, weights: whole.evidence(block))


class Speaks(LinearEstimate):
    def evidence(self, block):
        return super().evidence(np.nan_to_num(block, nan=1.0))


class Forgets(LinearEstimate):
    def add_to(self, scores, block):
        scores += self.evidence(block)[:, :1].sum(axis=1)


class Doubles(LinearEstimate):
    def log_likelihood(self, moments):
        return 2 * super().log_likelihood(moments)


class Misnames(LinearEstimate):
    def describe(self):
        return {"rate": self.parameters["rate"][0]}


@dataclass(frozen=True)
class Wrong(Rates):
    kind: type = LinearEstimate

    def estimate(self, statistics, *, smoothing):
        right = super().estimate(statistics, smoothing=smoothing)
        return self.kind(right.slope, right.offset, nonnegative=True, parameters=right.parameters)


class DeniesSmoothing(Exponential):
    def takes_smoothing(self, weighed):
        return False


class DrawsOthers(Exponential):
    def distribution(self, estimate, tables, class_weight, length):
        right = super().distribution(estimate, tables, class_weight, length)
        return replace(right, mean=right.mean * 1.5)


def test_a_family_of_a_user_is_right_everywhere_without_more():
    check_family(Rates(), NUMBERS)
    y = np.arange(40) % 2
    X = np.array(NUMBERS)[:, None] * np.where(y, 4.0, 1.0)[:, None]
    own, ours = (
        NaiveBayes("textbook", families=family, smoothing="none").fit(X, y) for family in (Rates(), Exponential())
    )
    for by in ("information", "effect"):
        assert own.rank_features(by)["score"][0] == pytest.approx(ours.rank_features(by)["score"][0], rel=1e-9)
    assert own.log_likelihood_ == pytest.approx(ours.log_likelihood_, rel=1e-12)
    with pytest.raises(ParameterError, match="no distribution of a column's values"):
        own.sample(3)
    with pytest.raises(AttributeError, match="has no fixed number of parameters"):
        own.n_parameters_  # noqa: B018


def test_a_family_of_a_user_is_saved_once_it_is_registered(tmp_path, monkeypatch):
    model = NaiveBayes("textbook", families=Rates()).fit({"x": NUMBERS}, np.arange(40) % 2)
    with pytest.raises(ModelFileError, match=r"FAMILIES\['rates'\] = Rates"):
        model.save(tmp_path / "model.json")
    monkeypatch.setitem(FAMILIES, "rates", Rates)
    check_family(Rates(), NUMBERS)


@pytest.mark.parametrize(
    ("family", "complaint"),
    [
        (Unnormalised(), "must integrate to one"),
        (WithItself(), "leave_one_out must be a model without the row"),
        (Wrong(kind=Speaks), "missing cell must be 0"),
        (Wrong(kind=Forgets), "add_to must add the evidence"),
        (Wrong(kind=Doubles), "log_likelihood must be the sum"),
        (Wrong(kind=Misnames), "describe"),
        (DeniesSmoothing(), "a smoothing must change nothing"),
        (DrawsOthers(), "what is drawn has the mean"),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, Family) else "",
)
def test_a_wrong_family_is_found_out(family, complaint):
    with pytest.raises(AssertionError, match=complaint):
        check_family(family, NUMBERS)


# -- gaps and tables --------------------------------------------------------------------------------------------------


def test_gaps_are_listed_with_their_reasons():
    listed = gaps()
    assert set(listed) == set(FAMILIES)
    assert all(reason for questions in listed.values() for reason in questions.values())
    assert "distribution" in listed["stacked"]
    assert "line" not in listed["poisson"]


def test_a_gap_says_why():
    with pytest.raises(GapError, match=r"Kernel\.uncertain: it has no posterior distribution in closed form"):
        Kernel().uncertain(None, (), None, None)
    assert issubclass(GapError, ParameterError)


def evidence_of_table(table, cell):
    """What a program that knows nothing but the table says of a cell, (classes,)."""
    if table["kind"] == "nothing":
        return 0.0
    if table["kind"] == "date":
        read = {
            "trend": lambda date: (date - datetime(1970, 1, 1)).total_seconds(),
            "month": lambda date: date.month,
            "weekday": lambda date: date.isoweekday(),
            "hour": lambda date: date.hour,
        }
        return sum(evidence_of_table(said, read[part](cell)) for part, said in table["parts"].items())
    if table["kind"] == "labels":
        return table["evidence"][:, table["values"].index(cell)]
    if table["kind"] == "steps":
        return table["evidence"][:, np.searchsorted(table["cuts"], cell, side="right")]
    if table["kind"] == "curve":
        return np.array([np.interp(cell, table["knots"], row) for row in table["evidence"]])
    names = {"log": np.log, "log1p": np.log1p, "lgamma": special.gammaln, "square": np.square, "where": np.where}
    return eval(table["formula"], {"x": cell, **names, **table["parameters"]})


@pytest.mark.parametrize("name", [name for name, missing in gaps().items() if "as_table" not in missing])
def test_tables_say_what_the_estimate_says(name):
    values = VALUES.get(name, NUMBERS)
    model = NaiveBayes("textbook", families=name).fit({"x": values}, np.arange(40) % 3)
    (factor,) = model._estimated()[0].factors
    (table,) = factor.estimate.as_table()
    evidence = model.evidence({"x": values})[:, 0]
    if isinstance(FAMILIES[name](), Poisson):
        evidence = evidence + special.gammaln(np.array(values) + 1.0)[:, None]  # all classes share it
    found = np.array([np.broadcast_to(evidence_of_table(table, value), 3) for value in values])
    np.testing.assert_allclose(found, evidence, rtol=1e-9, atol=1e-9)


def test_an_estimate_needs_evidence_and_a_description():
    with pytest.raises(TypeError, match="abstract"):
        Estimate()
