"""The commands from end to end, on files, as a user types them."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from naively import NaiveBayes, evaluate, load
from naively.cli._commands import app
from naively.demo import penguins

RUNNER = CliRunner()
ROWS, SPECIES = penguins()
FRAME = pd.DataFrame(ROWS).assign(species=SPECIES)
TRAIN, TEST = FRAME[::2], FRAME[1::2]


def naively(*arguments, code=0, **options):
    done = RUNNER.invoke(app, list(map(str, arguments)), **options)
    assert done.exit_code == code, done.output
    assert "Traceback" not in done.output
    return done


def read(text):
    return pd.read_csv(io.StringIO(text))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    TRAIN.to_csv(tmp_path / "train.csv", index=False)
    TEST.to_csv(tmp_path / "test.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def fitted(folder):
    naively("fit", "train.csv", "--target", "species", "-o", "m.json", "--recipe", "textbook", "-q")
    return folder


def test_fit_learns_what_python_learns():
    done = naively("fit", "train.csv", "--target", "species")
    assert "172 rows" in done.stderr
    assert "train.model.json" in done.stderr
    model = load("train.model.json")
    assert model.statistics_ == NaiveBayes().fit(TRAIN.reset_index(drop=True), "species").statistics_


def test_the_options_of_fit():
    options = ["--families", "body_mass_g=gaussian", "--ignore", "island", "--ignore", "sex", "--recipe", "textbook"]
    done = naively("fit", "train.csv", "-t", "species", "-o", "m.json", *options, "--json")
    assert "island" not in json.loads(done.stdout)["columns"]
    model = load("m.json")
    assert model.recipe == "textbook"
    assert model.families == {"body_mass_g": "gaussian"}
    assert model.ignore == ["island", "sex"]


def test_weights_are_a_column():
    FRAME.assign(w=2).to_csv("w.csv", index=False)
    naively("fit", "w.csv", "-t", "species", "--weights", "w", "-o", "m.json", "-q", "--recipe", "textbook")
    model = load("m.json")
    assert model.class_count_.sum() == 2 * len(FRAME)
    naively("update", "m.json", "w.csv", "--weights", "w", "-q")
    assert load("m.json").class_count_.sum() == 4 * len(FRAME)


@pytest.mark.usefixtures("fitted")
def test_predict_writes_rows_and_answers():
    answers = read(naively("predict", "m.json", "test.csv", "--proba", "--explain").stdout)
    model = load("m.json")
    expected = model.predict_proba(TEST.drop(columns="species"))
    assert answers["prediction"].tolist() == model.predict(TEST.drop(columns="species")).tolist()
    np.testing.assert_allclose(answers["P(Adelie)"], expected[:, 0], atol=1e-6)
    assert answers["island"].tolist() == TEST["island"].tolist()
    assert answers["because"].str.contains(r"[+-]\d").all()
    assert not answers["because"].str.contains("prior").any()


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.parquet"])
@pytest.mark.usefixtures("fitted")
def test_answers_go_where_the_name_says(name):
    naively("predict", "m.json", "test.csv", "-o", name, "--bare")
    found = {"csv": pd.read_csv, "jsonl": lambda path: pd.read_json(path, lines=True), "parquet": pd.read_parquet}
    answers = found[name.split(".")[1]](name)
    assert list(answers.columns) == ["prediction", "probability"]
    assert len(answers) == len(TEST)


def test_pipes(fitted):
    text = (fitted / "test.csv").read_text()
    done = naively("predict", "m.json", "-", "--bare", input=text)
    assert len(list(csv.reader(io.StringIO(done.stdout)))) == len(TEST) + 1
    record = json.dumps({"island": "Biscoe", "body_mass_g": 5000})
    done = naively("predict", "m.json", "-", "--json", "--bare", input=record)
    assert json.loads(done.stdout.splitlines()[-1])["prediction"] == "Gentoo"


@pytest.mark.usefixtures("fitted")
def test_evaluate_measures_what_python_measures():
    shown = json.loads(naively("evaluate", "m.json", "test.csv", "--json").stdout)
    expected = evaluate(load("m.json"), TEST, "species")
    assert shown["rows"] == len(TEST)
    for name, one in shown["measures"].items():
        assert one["value"] == pytest.approx(expected[name])
    assert shown["confusion"] == expected.confusion.tolist()
    assert "log-loss" in naively("evaluate", "m.json", "test.csv").stdout


def test_evaluate_without_held_out_rows():
    naively("fit", "train.csv", "-t", "species", "-o", "m.json", "-q", "--recipe", "fast")
    shown = json.loads(naively("evaluate", "m.json", "--loo", "--json").stdout)
    assert shown["measures"]["accuracy"]["value"] > 0.9
    assert "needs DATA" in naively("evaluate", "m.json", code=1).stderr
    assert "Leave out test.csv" in naively("evaluate", "m.json", "test.csv", "--loo", code=1).stderr


def test_compare_shows_the_recipes():
    done = naively("compare", "train.csv", "-t", "species", "--folds", "2", "--ignore", "island", "--json", "-q")
    models = json.loads(done.stdout)["models"]
    assert {one["model"] for one in models} == {"textbook", "fast", "auto", "strong", "logistic regression"}


@pytest.mark.usefixtures("fitted")
def test_explain_says_why():
    shown = naively("explain", "m.json", "test.csv", "--row", "3", "--rows", "2").stdout
    assert shown.startswith("row 3: ")
    assert "row 4: " in shown
    lines = json.loads(naively("explain", "m.json", "test.csv", "--target", "Gentoo", "--json").stdout)
    assert {line["class"] for line in lines} == {"Gentoo"}
    assert lines[0]["value"] is None
    assert "Did you mean 'Gentoo'?" in naively("explain", "m.json", "test.csv", "--target", "gento", code=1).stderr
    assert "numbered from 0" in naively("explain", "m.json", "test.csv", "--row", "9999", code=1).stderr


@pytest.mark.parametrize("recipe", ["textbook", "auto", "strong"])
def test_show_tells_what_was_learnt(recipe):
    naively("fit", "train.csv", "-t", "species", "-o", "m.json", "-q", "--recipe", recipe)
    shown = naively("show", "m.json").stdout
    for words in ("172 rows", "Chinstrap", "body_mass_g", "speaks most for Gentoo", "█"):
        assert words in shown
    told = json.loads(naively("show", "m.json", "--json").stdout)
    assert told["recipe"] == recipe
    assert sum(told["classes"].values()) == pytest.approx(1)
    assert any(one["value"] == "Biscoe" for one in told["telling"]["Gentoo"])


def test_check_finds_and_ends_as_it_is_told():
    FRAME.assign(land="at", bird=range(len(FRAME))).to_csv("odd.csv", index=False)
    shown = naively("check", "odd.csv", "-t", "species").stdout
    assert "'bird' looks like an identifier" in shown
    found = json.loads(naively("check", "odd.csv", "-t", "species", "--json", "--strict", code=3).stdout)
    assert {(one["column"], one["finding"]) for one in found["findings"]} == {("bird", "id"), ("land", "constant")}
    assert "Nothing to remark." in naively("check", "train.csv", "-t", "species", "--strict").stdout


@pytest.mark.usefixtures("fitted")
def test_check_compares_with_a_model():
    TEST.assign(island=TEST["island"].str.upper()).to_csv("upper.csv", index=False)
    assert "unseen labels" in naively("check", "upper.csv", "--model", "m.json").stdout
    done = naively("predict", "m.json", "upper.csv", "--bare")
    assert "Did the coding change?" in done.stderr


def test_update_forget_and_merge_are_exact():
    options = ["-t", "species", "-q", "--recipe", "textbook"]
    FRAME.to_csv("all.csv", index=False)
    for name in ("all", "train", "test"):
        naively("fit", f"{name}.csv", "-o", f"{name}.json", *options)
    everything = load("all.json").statistics_
    naively("merge", "train.json", "test.json", "-o", "merged.json", "-q")
    assert load("merged.json").class_count_.tolist() == everything.class_weight.high.tolist()
    naively("update", "train.json", "test.csv", "-o", "updated.json", "-q")
    np.testing.assert_allclose(
        load("updated.json").predict_proba(TEST.drop(columns="species")),
        load("all.json").predict_proba(TEST.drop(columns="species")),
    )
    naively("forget", "updated.json", "test.csv", "-q")
    np.testing.assert_allclose(
        load("updated.json").predict_proba(TEST.drop(columns="species")),
        load("train.json").predict_proba(TEST.drop(columns="species")),
    )
    assert "Forget only rows that this model has learnt" in naively("forget", "train.json", "test.csv", code=1).stderr


def test_a_model_is_handed_on(fitted):
    naively("report", "m.json", "test.csv", "-o", "page.html", "--title", "Penguins & co")
    assert "Penguins &amp; co" in (fitted / "page.html").read_text()
    naively("report", "m.json", "-o", "page.html", "-q")
    assert "there is no folder" in naively("report", "m.json", "-o", "no/such/page.html", code=1).stderr
    scope = {}
    exec(naively("python", "m.json").stdout, scope)
    assert scope["predict"]({"island": "Biscoe", "body_mass_g": 5000}) == "Gentoo"
    naively("python", "m.json", "-o", "model.py")
    assert "def predict" in (fitted / "model.py").read_text()


@pytest.mark.usefixtures("fitted")
def test_a_database_and_a_runtime_answer_alike():
    import duckdb
    import onnxruntime

    naively("sql", "m.json", "--table", "birds", "--keep", "species", "-o", "birds.sql")
    *statements, query = [part for part in Path("birds.sql").read_text().split(";\n\n") if part.strip()]
    birds = TEST.reset_index(drop=True)  # what the query reads, by its name
    with duckdb.connect() as database:
        database.register("birds", birds)
        for statement in statements:
            database.execute(statement)
        answers = database.execute(query).df()
    expected = load("m.json").predict(TEST.drop(columns="species"))
    assert sorted(zip(answers["species"], answers["prediction"], strict=True)) == sorted(
        zip(TEST["species"], expected, strict=True)
    )
    naively("onnx", "m.json", "-o", "birds.onnx")
    session = onnxruntime.InferenceSession("birds.onnx")
    row = {one.name: np.array([["" if one.type == "tensor(string)" else np.nan]]) for one in session.get_inputs()}
    row["body_mass_g"] = np.array([[6000.0]])
    assert session.run(["label"], row)[0].tolist() == ["Gentoo"]


@pytest.mark.usefixtures("fitted")
@pytest.mark.parametrize(
    ("lacking", "arguments", "extra"),
    [
        ("sqlglot", ["sql", "m.json", "--table", "birds"], "sql"),
        ("onnx", ["onnx", "m.json", "-o", "birds.onnx"], "onnx"),
        ("jinja2", ["report", "m.json"], "report"),
        ("pyarrow", ["predict", "m.json", "test.csv", "-o", "out.parquet"], "files"),
    ],
)
def test_a_small_install_says_what_it_lacks(lacking, arguments, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, lacking, None)
    assert f"pip install 'naively[{extra}]'" in naively(*arguments, code=1).stderr


def test_a_frozen_model_is_shown_and_answers():
    NaiveBayes("fast").fit(TRAIN, "species").save("frozen.json", rows=False)
    assert "it only answers" in naively("show", "frozen.json").stdout
    assert len(read(naively("predict", "frozen.json", "test.csv").stdout)) == len(TEST)
    assert "only answers" in naively("update", "frozen.json", "test.csv", code=1).stderr


def test_the_file_answers_at_once(monkeypatch):
    naively("fit", "train.csv", "-t", "species", "-o", "m.json", "-q", "--recipe", "fast")
    monkeypatch.setattr(NaiveBayes, "_scorer", lambda *_: pytest.fail("it was estimated again"))
    naively("predict", "m.json", "test.csv", "--bare")


def test_numbered_classes_stay_numbers():
    FRAME.assign(species=FRAME["species"].map({"Adelie": 0, "Chinstrap": 1, "Gentoo": 2})).to_csv("n.csv", index=False)
    naively("fit", "n.csv", "-t", "species", "-o", "m.json", "-q", "--recipe", "textbook")
    assert load("m.json").classes_.tolist() == [0, 1, 2]
    assert json.loads(naively("evaluate", "m.json", "n.csv", "--json").stdout)["measures"]["accuracy"]["value"] > 0.9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "trian.csv", "-t", "species"], "There is no file trian.csv. Did you mean 'train.csv'?"),
        (["fit", "train.csv", "-t", "speceis"], "no such column. Did you mean 'species'?"),
        (["fit", "train.csv", "-t", "species", "--ignore", "iland"], "Did you mean 'island'?"),
        (["fit", "train.csv", "-t", "species", "--recipe", "secret"], "recipe must be one of"),
        (["fit", "train.csv", "-t", "species", "--families", "gaussian"], "write COLUMN=FAMILY"),
        (["fit", "train.csv", "-t", "species", "--monotone", "flipper"], "write COLUMN=+1 or COLUMN=-1"),
        (["fit", "train.csv", "-t", "species", "--monotone", "sex=up"], "write sex=+1 (rising) or sex=-1"),
        (["fit", "train.csv", "-t", "species", "--monotone", "sexx=+1"], "--monotone sexx"),
        (["fit", "train.csv", "-t", "species", "-o", "no/such/m.json"], "there is no folder"),
        (["predict", "m.json", "train.csv"], "There is no file m.json"),
        (["predict", "train.csv", "train.csv"], "train.csv"),
        (["merge", "a.json", "-o", "b.json"], "two models or more"),
    ],
)
def test_mistakes_are_told_without_a_traceback(arguments, message):
    assert message in " ".join(naively(*arguments, code=1).stderr.split())


def test_wrong_usage_is_another_exit_code():
    naively("fit", "train.csv", code=2)
    naively("fly", code=2)


def test_bad_cells_are_named_by_file_and_line(fitted):
    text = (fitted / "test.csv").read_text().splitlines()
    text[3] = text[3].replace(text[3].split(",")[2], "heavy", 1)
    (fitted / "bad.csv").write_text("\n".join(text))
    assert "bad.csv, line 4: 'heavy' in column" in naively("predict", "m.json", "bad.csv", code=1).stderr


def test_help_reads_like_a_page():
    page = naively("--help").output
    for words in (
        "fit",
        "predict",
        "evaluate",
        "compare",
        "explain",
        "show",
        "check",
        "merge",
        "forget",
        "update",
        "demo",
    ):
        assert words in page
    for words in ("A first look", "Exit codes", "--install-completion"):
        assert words in page


def test_as_a_module_and_through_a_pipe(folder):
    run = [sys.executable, "-m", "naively"]
    text = (folder / "train.csv").read_text()
    fit = [*run, "fit", "-", "--target", "species", "-o", "m.json", "--recipe", "textbook"]
    done = subprocess.run(fit, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([*run, "show", "m.json"], capture_output=True, text=True, check=False)
    assert "172 rows" in done.stdout
    done = subprocess.run([*run, "fit", "nothing.csv", "-t", "x"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("naively: There is no file nothing.csv.")
    asked = {"_NAIVELY_COMPLETE": "complete_bash", "COMP_WORDS": "naively eva", "COMP_CWORD": "1"}
    done = subprocess.run(run, env={**os.environ, **asked}, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["evaluate"]


def test_csv_files_need_no_data_frame_library():
    code = """
        import sys
        for name in ("pandas", "polars", "pyarrow"):
            sys.modules[name] = None
        from naively.cli._commands import app
        app(["fit", "train.csv", "--target", "species", "-o", "m.json", "--recipe", "textbook"], standalone_mode=False)
        app(["predict", "m.json", "test.csv", "--explain", "-o", "out.csv"], standalone_mode=False)
        app(["explain", "m.json", "test.csv"], standalone_mode=False)
        app(["evaluate", "m.json", "test.csv"], standalone_mode=False)
        app(["show", "m.json"], standalone_mode=False)
        app(["check", "test.csv"], standalone_mode=False)
    """
    done = subprocess.run(
        [sys.executable, "-c", __import__("textwrap").dedent(code)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(pd.read_csv("out.csv")) == len(TEST)


def test_dates_in_text_are_declared(folder):
    lines = [
        f"2024-{1 + row % 12:02}-{1 + row % 28:02}T{row % 24:02}:30,{'day' if 6 <= row % 24 < 18 else 'night'}"
        for row in range(240)
    ]
    (folder / "calls.csv").write_text("\n".join(["when,kind", *lines]), encoding="utf-8")
    naively("fit", "calls.csv", "-t", "kind", "--families", "when=date", "-o", "calls.json")
    assert load("calls.json").schema_.kinds == ("date",)
    asked = "when\n2024-05-01 09:10\n2024-05-01 23:10\n"
    answers = read(naively("predict", "calls.json", "-", "--bare", input=asked).stdout)
    assert answers["prediction"].tolist() == ["day", "night"]
    assert "hour 9" in naively("explain", "calls.json", "-", input=asked).stdout


def test_advice_is_given_in_options(folder):
    rows = "".join(f"c{row},{row % 7},{'ab'[row % 2]}\n" for row in range(120))
    (folder / "ids.csv").write_text("client key,n,target\n" + rows)
    done = naively("fit", "ids.csv", "-t", "target", "--recipe", "textbook", "-o", "ids.json")
    assert "--ignore 'client key'" in done.stderr
    assert "naively check lists it all" in done.stderr
    assert "--ignore 'client key'" in naively("check", "ids.csv", "-t", "target").stdout


def test_ignored_columns_are_shown_as_such():
    naively("fit", "train.csv", "-t", "species", "--ignore", "island", "--recipe", "textbook", "-o", "m.json", "-q")
    shown = json.loads(naively("show", "m.json", "--json").stdout)
    assert {one["column"]: one["holds"] for one in shown["columns"]}["island"] == "ignored"


def test_models_of_other_tables_are_not_merged(fitted):
    (fitted / "other.csv").write_text("x,y\n1,a\n2,b\n")
    naively("fit", "other.csv", "-t", "y", "--recipe", "textbook", "-o", "other.json", "-q")
    assert "no column in common" in naively("merge", "m.json", "other.json", "-o", "sum.json", code=1).stderr


def test_a_model_that_cannot_be_merged_is_named(folder):
    for name, cells in (("one", "1 2"), ("two", "3 4"), ("odd", "a b")):
        rows = "".join(f"{cell},{kind}\n" for cell, kind in zip(cells.split(), "uv", strict=True))
        (folder / f"{name}.csv").write_text(f"x,y\n{rows}")
        naively("fit", f"{name}.csv", "-t", "y", "--recipe", "textbook", "-o", f"{name}.json", "-q")
    refused = naively("merge", "one.json", "two.json", "odd.json", "-o", "sum.json", code=1).stderr
    assert "odd.json cannot be added to what is before it: Column 'x' does not fit" in " ".join(refused.split())
    assert not (folder / "sum.json").exists()


@pytest.fixture
def two_species(folder):
    FRAME[FRAME["species"] != "Gentoo"].to_csv(folder / "two.csv", index=False)
    return folder


@pytest.mark.parametrize("recipe", ["auto", "strong"])
@pytest.mark.usefixtures("two_species")
def test_columns_can_be_monotone(recipe):
    options = ["--monotone", "bill_length_mm=+1", "--monotone", "body_mass_g=-1", "--recipe", recipe]
    done = naively("fit", "two.csv", "-t", "species", "-o", "two.json", *options)
    assert "The odds of Chinstrap never fall as bill_length_mm rises." in done.stderr
    assert "The odds of Chinstrap never rise as body_mass_g rises." in done.stderr
    model = load("two.json")
    grid = {**{name: [cell] * 200 for name, cell in ROWS[0].items()}, "bill_length_mm": np.linspace(30, 60, 200)}
    assert (np.diff(model.predict_proba(grid)[:, 1]) >= -1e-12).all()


@pytest.mark.usefixtures("two_species")
def test_a_scorecard_is_shown_and_written():
    naively("fit", "two.csv", "-t", "species", "-o", "two.json", "-q")
    card = load("two.json").scorecard("Chinstrap", pdo=10, n_bins=3, rounded=False)
    options = ["--good", "Chinstrap", "--pdo", "10", "--bins", "3", "--exact"]
    assert naively("scorecard", "two.json", *options).stdout == f"{card}\n"
    naively("scorecard", "two.json", "-o", "card.csv", *options)
    written, frame = pd.read_csv("card.csv", keep_default_na=False, na_values=[""]), card.frame()
    pd.testing.assert_frame_equal(written, frame, check_dtype=False)
    assert "card.html" in naively("scorecard", "two.json", "-o", "card.html", *options).stderr
    assert card._repr_html_() in Path("card.html").read_text(encoding="utf-8")
    bins = json.loads(naively("scorecard", "two.json", "--json", *options).stdout)["bins"]
    assert [one["points"] for one in bins] == frame["points"].tolist()


@pytest.mark.usefixtures("two_species", "fitted")
def test_a_scorecard_that_cannot_be_is_refused():
    naively("fit", "two.csv", "-t", "species", "-o", "two.json", "-q")
    for arguments, message in (
        (["m.json"], "tells two classes apart, but the model has 3"),
        (["two.json", "--good", "Chinstap"], "Did you mean 'Chinstrap'?"),
        (["two.json", "-o", "card.docx"], "card.docx is neither"),
        (["two.json", "-o", "no/card.csv"], "there is no folder no"),
        (["two.json", "--pdo", "0"], "pdo must be above 0"),
    ):
        assert message in naively("scorecard", *arguments, code=1).stderr


@pytest.mark.usefixtures("fitted")
def test_leaving_one_out_takes_the_rows_that_were_learnt():
    from naively.analysis._measures import confusion

    model = load("m.json")
    found = json.loads(naively("evaluate", "m.json", "train.csv", "--loo", "--json").stdout)
    codes = np.searchsorted(model.classes_, TRAIN["species"])
    left_out = model.loo(TRAIN.reset_index(drop=True), "species")
    assert found["confusion"] == confusion(left_out, codes, np.ones(len(codes))).tolist()
    assert "keeps no rows. Name the file" in naively("evaluate", "m.json", "--loo", code=1).stderr
    assert "needs DATA" in naively("evaluate", "m.json", code=1).stderr
    naively("fit", "train.csv", "-t", "species", "-o", "kept.json", "-q", "--recipe", "fast")
    assert "Leave out train.csv" in naively("evaluate", "kept.json", "train.csv", "--loo", code=1).stderr


def test_rows_that_are_alike_are_counted(folder):
    TRAIN[["island", "sex", "species"]].to_csv(folder / "alike.csv", index=False)
    naively("fit", "alike.csv", "-t", "species", "-o", "alike.json", "-q", "--recipe", "fast")
    assert "rows, which count as 172" in naively("evaluate", "alike.json", "--loo").stdout


def test_what_is_said_after_fit(folder):
    (folder / "one.csv").write_text("a,b\n1,x\n2,x\n")
    said = naively("fit", "one.csv", "-t", "b", "-o", "one.json").stderr
    assert "2 rows, 1 column," in said
    assert "one class only" in said


def test_a_file_that_is_no_text_is_told_apart(folder):
    (folder / "b.csv").write_bytes(b"PAR1\x00\x01\x02")
    assert "b.csv is no text" in naively("fit", "b.csv", "-t", "y", code=1).stderr


@pytest.mark.usefixtures("two_species")
def test_errors_advise_in_options():
    naively("fit", "two.csv", "-t", "species", "-o", "two.json", "-q", "--recipe", "strong")
    assert "Use --recipe auto" in naively("scorecard", "two.json", code=1).stderr


@pytest.mark.usefixtures("fitted")
def test_forget_checks_the_columns_that_options_name():
    done = naively("forget", "m.json", "train.csv", "--weights", "wieght", code=1)
    assert "--weights wieght" in done.stderr
    assert "--families iland" in naively("fit", "train.csv", "-t", "species", "--families", "iland=text", code=1).stderr
