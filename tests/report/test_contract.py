"""What a report holds: the model's own answers, as tables; counts, and no rows."""

import json
import re
import sys
import warnings

import numpy as np
import pytest

from naively import TAN, NaiveBayes
from naively._report.contract import MOST_COLUMNS
from naively._report.page import rendered
from naively.errors import InputError, ParameterError
from naively.families import Text
from tests.report.pages import ROWS, SPECIES, answer, as_row, pages, random_cells, told

PAGES = pages()
LARGEST = 1_500_000


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.filterwarnings("ignore:No class could have produced")
@pytest.mark.filterwarnings("ignore:X lacks the columns")
@pytest.mark.filterwarnings("ignore:The data deserve a look")
def test_the_tables_give_the_probabilities_of_the_model(name):
    model, rng = PAGES[name], np.random.default_rng(1)
    page = told(model)
    cells = [random_cells(page, rng) for _ in range(60)]
    rows = [as_row(page, one) for one in cells]
    keys = list(rows[0])
    expected = model.predict_proba({key: [row[key] for row in rows] for key in keys})
    np.testing.assert_allclose([answer(page, one) for one in cells], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["auto", "textbook", "joined", "weighed text", "text"])
def test_a_given_row_is_answered_as_the_model_answers_it(name):
    model = PAGES[name]
    row = dict(ROWS[200], body_mass_g=3456.789)
    if name.endswith("text"):
        row = {"text": "free lunch after a call now", "length": 25.4321}
    page = told(model, row=row)
    opened = [column["example"] for column in page["columns"]]
    np.testing.assert_allclose(answer(page, opened), model.predict_proba([row])[0], rtol=0, atol=1e-9)


def test_cells_that_the_row_does_not_know_are_unknown():
    page = told(PAGES["auto"], row={"island": "Dream", "body_mass_g": None, "sex": "neither"})
    opened = {column["name"]: column["example"] for column in page["columns"]}
    assert opened.pop("island") == 1
    assert opened.pop("sex") == "other"
    assert set(opened.values()) == {None}


def test_columns_that_are_read_together_stay_as_they_are_and_say_so():
    page = told(PAGES["joined"])
    assert "bill_length_mm" not in [column["name"] for column in page["columns"]]
    (term,) = page["fixed"]
    assert "read together" in term["reason"]
    tree = told(TAN().fit(ROWS, SPECIES))
    assert tree["columns"] == []
    assert "read together" in tree["fixed"][0]["reason"]
    assert "A title" in rendered(tree)


def test_strong_is_not_live_and_says_why_and_explains_a_row():
    model = NaiveBayes("strong", kept_rows=200).fit(ROWS, SPECIES)
    page = told(model, row=ROWS[200])
    assert "several columns together" in page["not_live"]
    assert page["fixed"] == []
    assert not any("evidence" in column for column in page["columns"])
    assert page["columns"][0]["histogram"]
    p = max(page["row"]["proba"])
    assert sum(bits for *_, bits in page["row"]["steps"]) == pytest.approx(np.log2(p / (1 - p)))
    assert told(model)["row"] is None


def test_text_that_cannot_be_read_word_by_word_stays_as_it_is_and_says_why():
    texts = {"text": ["ab cd", "cd ef", "ef gh", "gh ab"] * 5}
    model = NaiveBayes("textbook", families={"text": Text(characters=(2, 3))}).fit(texts, [0, 1, 0, 1] * 5)
    page = told(model, row={"text": "ab"})
    assert page["columns"] == []
    assert "runs of characters" in page["fixed"][0]["reason"]
    np.testing.assert_allclose(answer(page, []), model.predict_proba({"text": ["ab"]})[0], atol=1e-9)


# -- quality, ranking, dependence ------------------------------------------------------------------------------------


def test_quality_is_that_of_leave_one_out_or_of_the_given_rows():
    auto = told(PAGES["auto"])["quality"]
    measured = PAGES["auto"].calibration_
    assert (auto["how"], auto["accuracy"], auto["log_loss"]) == ("leave-one-out", measured.accuracy, measured.log_loss)
    assert np.trace(auto["confusion"]) / np.sum(auto["confusion"]) == pytest.approx(measured.accuracy)
    plain = told(PAGES["textbook"])["quality"]
    assert "keeps no rows" in plain["reason"]
    given = told(PAGES["textbook"], data=(ROWS, SPECIES))["quality"]
    assert given["how"] == "given rows"
    assert given["accuracy"] == pytest.approx(PAGES["textbook"].score(ROWS, SPECIES))
    assert given["guess"]["accuracy"] == pytest.approx(152 / 344)


def test_weights_and_a_target_by_name():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(ROWS).assign(species=SPECIES)
    model = NaiveBayes("textbook").fit(frame, "species")
    page = told(model, data=(frame, "species", np.full(len(frame), 2.0)))
    assert page["quality"]["rows"] == 688
    assert page["columns"][0]["histogram"]


def test_ranking_and_dependence():
    page = told(PAGES["auto"])
    ranked = PAGES["auto"].rank_features()
    assert [line["name"] for line in page["ranking"]] == list(ranked["column"])
    assert page["dependence"]["tested"] == 15
    rng, y = np.random.default_rng(0), np.arange(500) % 2
    x = rng.normal(size=(500, 3)) + [1, 0, 0] * y[:, None]
    x[:, 2] = x[:, 0] + rng.normal(size=500) / 9
    copied = told(NaiveBayes("textbook").fit(x, y), data=(x, y))
    assert copied["dependence"]["pairs"][0][:2] == ["x0", "x2"]
    assert "none" in told(PAGES["textbook"])["dependence"]["reason"]


def test_the_data_check():
    X = {"client": [f"c{row}" for row in range(40)], "age": [30, 41, 52, 63] * 10, "land": ["at"] * 40}
    model = NaiveBayes().fit(X, ["yes", "no", "no", "yes"] * 10)
    for given in ({}, {"data": (X, ["yes", "no", "no", "yes"] * 10)}):
        checks = told(model, **given)["checks"]
        assert [(column, said) for column, said, *_ in checks["findings"]] == [
            ("client", "looks like an identifier"),
            ("land", "holds one value only"),
        ]
    assert told(PAGES["auto"])["checks"] == {"rows": 344, "findings": []}
    assert "none" in told(PAGES["textbook"])["checks"]["reason"]


# -- size and privacy ------------------------------------------------------------------------------------------------


def test_a_wide_model_stays_small_and_folds_what_tells_little():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = rng.normal(size=(300, 1000)) + (np.arange(1000) < 5) * y[:, None]
    model = NaiveBayes("textbook").fit(X, y)
    page = told(model, row=X[:1])
    assert len(page["columns"]) == MOST_COLUMNS
    assert page["fixed"][0]["name"] == "970 more columns"
    np.testing.assert_allclose(
        answer(page, [column["example"] for column in page["columns"]]), model.predict_proba(X[:1])[0], atol=1e-9
    )
    assert len(rendered(page).encode()) < LARGEST


@pytest.mark.parametrize("n_classes", [26, 200])
def test_many_classes_stay_small(n_classes):
    rng = np.random.default_rng(0)
    y = np.arange(2000) % n_classes
    X = {f"n{place}": rng.normal(size=2000) + y % (place + 2) for place in range(12)}
    X |= {f"label{place}": [f"v{value}" for value in (rng.integers(0, 30, 2000) + y) % 60] for place in range(8)}
    page = told(NaiveBayes("fast").fit(X, y))
    assert (page["quality"]["confusion"] is None) == (n_classes > 30)
    assert len(rendered(page).encode()) < LARGEST


@pytest.mark.filterwarnings("ignore:The data deserve a look")
def test_no_training_row_and_no_identifier_is_in_the_page():
    rng = np.random.default_rng(0)
    names = [f"person-{place:04d}" for place in range(400)]
    X = {"name": names, "income": rng.normal(3e4, 1e3, 400).round(3), "city": rng.choice(["a", "b"], 400)}
    page = rendered(told(NaiveBayes().fit(X, rng.integers(0, 2, 400))))
    assert "person-" not in page
    assert not [value for value in X["income"].tolist() if re.search(rf"[^0-9.]{re.escape(str(value))}[^0-9.]", page)]


NASTY = [
    "<script>alert(1)</script>",
    "</script><b>",
    "\u2028line",
    "\"quoted'",
    "<!--",
    "{{ title }}",
    "&amp;",
    "\ud800",
]


def test_what_looks_like_markup_is_text(tmp_path):
    X = {"</script><img src=x>": NASTY * 4, "b": [1.0, 2.0] * 16}
    model = NaiveBayes("textbook", families="categorical").fit(X, (NASTY[:2] * 2)[:4] * 8)
    page = model.report(tmp_path / "page.html", title="</title><script>").read_text(encoding="utf-8")
    assert page.count("<script") == 2
    assert page.count("</script") == 2
    assert "\u2028" not in page
    assert "<title>&lt;/title&gt;&lt;script&gt;" in page
    held = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1]
    (column,) = [column for column in json.loads(held)["columns"] if column["name"].startswith("</script>")]
    assert set(NASTY[:-1]) < set(column["values"])


def test_no_address_is_loaded(tmp_path):
    page = PAGES["auto"].report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^\"' ]*", page)) == {"http://www.w3.org/2000/svg"}
    assert "src=" not in page
    assert "default-src 'none'" in page


# -- arguments -------------------------------------------------------------------------------------------------------


def test_the_file_is_written_and_its_path_returned(tmp_path):
    path = PAGES["auto"].report(str(tmp_path / "page.html"), title="Penguins & co")
    assert path == tmp_path / "page.html"
    assert "<title>Penguins &amp; co" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"data": ROWS}, ParameterError, r"\(X, y\)"),
        ({"row": ROWS[:2]}, InputError, "one row, got 2"),
        ({"title": 3}, ParameterError, "title"),
        ({"data": (ROWS, ["Dodo"] * len(ROWS))}, ParameterError, "Dodo"),
    ],
)
def test_bad_arguments(given, error, message, tmp_path):
    with pytest.raises(error, match=message):
        PAGES["auto"].report(tmp_path / "page.html", **given)
    assert not (tmp_path / "page.html").exists()


def test_a_model_that_is_not_fitted(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        NaiveBayes().report(tmp_path / "page.html")


def test_without_jinja(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"naively\[report\]"):
        PAGES["auto"].report(tmp_path / "page.html")


def test_odd_models_have_pages(tmp_path):
    odd = {
        "one class": NaiveBayes("textbook").fit([[1.0], [2.0]], ["a", "a"]),
        "constant": NaiveBayes().fit({"x": [1.0] * 30, "y": list(range(30))}, [0, 1] * 15),
        "nothing known": NaiveBayes("textbook").fit({"x": [1.0, 2.0], "void": [None, None]}, [0, 1]),
        "huge": NaiveBayes().fit({"x": [1e140, -1e140, 3.0, 4.0] * 9}, [0, 1, 0, 1] * 9),
        "tiny": NaiveBayes().fit({"x": [1e-140, 2e-140, 3e-140, 5e-140] * 9}, [0, 1, 0, 1] * 9),
        "close": NaiveBayes().fit({"x": 1e9 + np.arange(40.0) / 1e6}, [0, 1] * 20),
    }
    for name, model in odd.items():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert model.report(tmp_path / f"{name}.html").stat().st_size < LARGEST
