"""The example of a service: what it answers, what it refuses, and another model while requests run."""

import asyncio
import json
import runpy
from pathlib import Path

import httpx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively import NaiveBayes, drift
from naively.errors import NaivelyWarning

SERVING = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "serving.py"))
HOSTILE = '"; drop table x; --'
LABELS = ["dog", "cat"] * 60
ROWS = [
    {
        "coat": ["plain", "striped"][(i + (i % 7 == 0)) % 2],
        "weight": float(i % 7 + 5 * (i % 2)),
        "tail": i % 3 > 0,
        HOSTILE: i % 5 / 2,
    }
    for i in range(120)
]
NOTHING = dict.fromkeys(ROWS[0])


def learnt(recipe="textbook", labels=LABELS, **options):
    return NaiveBayes(recipe, **options).fit(ROWS, labels)


@pytest.fixture
def serve(tmp_path):
    """A service with a model, out of its file."""

    def served(model, **options):
        path = tmp_path / "model.json"
        model.save(path, notes={"author": "Ada"})
        return SERVING["create_app"](path, **options)

    return served


async def asked(app, method, path, **request):
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://model") as client:
        return await client.request(method, path, **request)


def ask(app, method, path, rows=None, **request):
    """What is answered; the rows are sent as Python's JSON, which knows NaN and any text."""
    if rows is not None:
        request |= {"content": json.dumps(rows), "headers": {"content-type": "application/json"}}
    return asyncio.run(asked(app, method, path, **request))


def refuse_constant(name):
    raise AssertionError(f"{name} is no JSON")


def strict_json(response):
    return json.loads(response.content, parse_constant=refuse_constant)


@pytest.mark.parametrize("recipe", ["textbook", "auto"])
def test_answers_are_those_of_the_model(serve, recipe):
    model = learnt(recipe)
    answer = ask(serve(model), "POST", "/predict", ROWS[:9])
    assert answer.status_code == 200
    assert answer.json()["classes"] == ["cat", "dog"]
    assert answer.json()["labels"] == model.predict(ROWS[:9]).tolist()
    assert answer.json()["probabilities"] == model.predict_proba(ROWS[:9]).tolist()


def test_cells_may_be_absent_null_or_new_labels(serve):
    model = learnt()
    answer = ask(serve(model), "POST", "/predict", [{}, NOTHING, {"coat": "zebra"}])
    expected = model.predict_proba([NOTHING, NOTHING, NOTHING | {"coat": "zebra"}])
    assert answer.json()["probabilities"] == expected.tolist()


def test_a_model_without_names_takes_arrays(serve):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = NaiveBayes("textbook").fit(X, np.arange(60) % 3)
    app = serve(model)
    answer = ask(app, "POST", "/predict", [[0.5, -1], [None, 2.0]])
    assert answer.json()["classes"] == [0, 1, 2]
    assert answer.json()["probabilities"] == model.predict_proba([[0.5, -1], [np.nan, 2.0]]).tolist()
    said = ask(app, "POST", "/predict", [[0.5, "heavy"]])
    assert said.status_code == 422
    assert said.json() == {"detail": ["row 0: cell 1 takes number or null, got 'heavy'."]}
    assert ask(app, "POST", "/predict", [[0.5]]).status_code == 422
    assert ask(app, "POST", "/predict", [[0.5, 1, 2]]).status_code == 422


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"weight": "heavy"}, "row 1: column 'weight' takes number or null, got 'heavy'."),
        ({"weight": True}, "row 1: column 'weight' takes number or null, got True."),
        ({"weight": float("nan")}, "row 1: column 'weight' takes number or null, got nan."),
        ({"weight": float("-inf")}, "row 1: column 'weight' takes number or null, got a number beyond 1e+150."),
        ({"weight": 1e151}, "row 1: column 'weight' takes number or null, got a number beyond 1e+150."),
        ({"weight": 10**400}, "row 1: column 'weight' takes number or null, got a number beyond 1e+150."),
        ({"weight": [1]}, "row 1: column 'weight' takes number or null, got [1]."),
        ({"coat": 3}, "row 1: column 'coat' takes string or null, got 3."),
        ({"tail": "yes"}, "row 1: column 'tail' takes boolean or null, got 'yes'."),
        ({HOSTILE: "\ud800"}, "takes number or null, got '\\ud800'."),
        ({"wieght": 3}, "row 1: the model has no column 'wieght'."),
        (3, "row 1: Input should be"),
    ],
)
@pytest.mark.parametrize("path", ["/predict", "/explain"])
def test_a_bad_row_is_answered_422_with_our_message(serve, path, row, said):
    answer = ask(serve(learnt()), "POST", path, [{}, row])
    assert answer.status_code == 422
    assert len(strict_json(answer)["detail"]) == 1
    assert said in strict_json(answer)["detail"][0]


def test_no_rows_too_many_rows_and_no_json_are_refused(serve):
    app = serve(learnt())
    for rows in ([], {}, "plain", [{}] * (SERVING["MOST_ROWS"] + 1)):
        assert ask(app, "POST", "/predict", rows).status_code == 422
    assert ask(app, "POST", "/predict", content=b"[{").status_code == 422


def test_what_the_model_itself_refuses_is_answered_422_with_its_words(serve):
    model = NaiveBayes("textbook", families={"visits": "poisson"}).fit({"visits": [1, 2, 7, 8]}, ["a", "a", "b", "b"])
    answer = ask(serve(model), "POST", "/predict", [{"visits": -1}])
    assert answer.status_code == 422
    assert "visits" in answer.json()["detail"][0]


cells = {
    "coat": st.none() | st.text(max_size=5) | st.just("\ud800"),
    "weight": st.none() | st.floats(-1e150, 1e150) | st.integers(-(10**20), 10**20),
    "tail": st.none() | st.booleans(),
    HOSTILE: st.none() | st.floats(-1e150, 1e150),
}
MODELS = {"textbook": learnt(), "auto": learnt("auto"), "not smoothed": learnt(smoothing=0)}


@pytest.mark.filterwarnings("ignore::naively.errors.NaivelyWarning")
@given(st.sampled_from(sorted(MODELS)), st.lists(st.fixed_dictionaries({}, optional=cells), min_size=1, max_size=4))
def test_rows_of_the_schema_are_answered_and_explained_without_nan(kind, rows):
    app = SERVING["app_of"](MODELS[kind])
    answer = ask(app, "POST", "/predict", rows)
    reasons = ask(app, "POST", "/explain", rows)
    assert (answer.status_code, reasons.status_code) == (200, 200)
    assert [one["label"] for one in strict_json(reasons)] == strict_json(answer)["labels"]
    for one in strict_json(reasons):
        assert all(isinstance(line["bits"], float) for line in one["evidence"])
    watched = strict_json(ask(app, "GET", "/drift"))
    assert watched["rows"] == 1 or len(watched["columns"]) == 5


def test_evidence_is_that_of_explain(serve):
    model = learnt()
    (found,) = ask(serve(model), "POST", "/explain", [{"coat": "plain", "weight": 3.0}]).json()
    expected = model.explain([NOTHING | {"coat": "plain", "weight": 3.0}])
    assert found["label"] == "dog"
    assert [line["column"] for line in found["evidence"]] == list(expected["column"])
    assert [line["bits"] for line in found["evidence"]] == list(expected["bits"])
    values = {line["column"]: line["value"] for line in found["evidence"]}
    assert values["coat"] == "plain"
    assert values["tail"] is None


def surprising(watched, level):
    """The columns that were tested, and have moved."""
    return {one["column"] for one in watched["columns"] if one["p_adjusted"] is not None and one["p_adjusted"] < level}


def test_drift_of_unlabelled_requests_is_watched(serve):
    model = learnt()
    app = serve(model)
    assert ask(app, "GET", "/drift").json() == {"rows": 0, "columns": []}
    ask(app, "POST", "/predict", ROWS)
    calm = strict_json(ask(app, "GET", "/drift"))
    assert calm["rows"] == len(ROWS)
    assert not surprising(calm, 0.05)
    moved = [row | {"weight": row["weight"] + 100, "coat": "spotted"} for row in ROWS]
    with pytest.warns(NaivelyWarning, match="'spotted' and the like in 120 of 120"):  # for the log of the service
        ask(app, "POST", "/predict", moved)
    drifted = strict_json(ask(app, "GET", "/drift"))
    found = drifted["columns"]
    assert surprising(drifted, 0.001) == {"coat", "weight"}
    assert {one["column"]: one["unseen"] for one in found}["coat"] == 0.5
    expected = drift.check(model, ROWS + moved)
    assert [one["bits"] for one in found] == [one["bits"] for one in expected]


def test_refused_rows_are_not_watched_and_old_rows_are_forgotten(serve):
    app = serve(learnt(), watched=50)
    ask(app, "POST", "/predict", [{}, {"weight": "heavy"}])
    assert ask(app, "GET", "/drift").json()["rows"] == 0
    ask(app, "POST", "/predict", ROWS)
    assert ask(app, "GET", "/drift").json()["rows"] == 50


def test_a_frozen_model_answers_and_says_that_it_cannot_tell_drift(serve):
    app = serve(learnt("auto").frozen())
    assert ask(app, "POST", "/predict", ROWS).status_code == 200
    answer = ask(app, "GET", "/drift")
    assert answer.status_code == 409
    assert "only answers" in answer.json()["detail"][0]


def test_the_row_is_described_by_its_json_schema(serve):
    model = learnt()
    app = serve(model)
    assert ask(app, "GET", "/model").json() == {
        "classes": ["cat", "dog"],
        "notes": {"author": "Ada"},
        "row": model.json_schema(),
    }
    row = ask(app, "GET", "/openapi.json").json()["components"]["schemas"]["Row"]
    for name, cell in model.json_schema()["properties"].items():
        assert cell.items() <= row["properties"][name].items()
    assert ask(app, "GET", "/docs").status_code == 200


# -- another model -----------------------------------------------------------------------------------------------------


def bytes_of(model, tmp_path):
    model.save(tmp_path / "other.json")
    return (tmp_path / "other.json").read_bytes()


def test_a_model_is_replaced_by_who_has_the_token(serve, tmp_path):
    app = serve(learnt(), token="secret")
    other = NaiveBayes("textbook").fit({"visits": [1.0, 2.0, 7.0, 8.0]}, ["a", "a", "b", "b"])
    content = bytes_of(other, tmp_path)
    for token in ("", "Bearer wrong", "secret"):
        answer = ask(app, "PUT", "/model", content=content, headers={"authorization": token})
        assert answer.status_code == 401
    assert ask(app, "GET", "/model").json()["classes"] == ["cat", "dog"]
    ask(app, "POST", "/predict", ROWS)
    allowed = {"authorization": "Bearer secret"}
    broken = ask(app, "PUT", "/model", content=content[:-30], headers=allowed)
    assert broken.status_code == 422
    assert ask(app, "GET", "/model").json()["classes"] == ["cat", "dog"]
    assert ask(app, "PUT", "/model", content=content, headers=allowed).status_code == 200
    assert ask(app, "GET", "/model").json()["classes"] == ["a", "b"]
    assert ask(app, "POST", "/predict", [{"visits": 7}]).json()["labels"] == ["b"]
    assert ask(app, "POST", "/predict", ROWS).status_code == 422
    assert ask(app, "GET", "/drift").json()["rows"] == 1
    assert "visits" in ask(app, "GET", "/openapi.json").text


def test_without_a_token_nobody_replaces_the_model_from_outside(serve, tmp_path):
    app = serve(learnt())
    assert ask(app, "PUT", "/model", content=bytes_of(learnt(), tmp_path)).status_code == 405


N_CLIENTS = 6


def test_every_answer_is_that_of_one_model_while_models_are_replaced(serve):
    models = [learnt(), learnt(labels=["fox", "cow"] * 60), learnt(labels=["dog", "cat", "emu"] * 40)]
    app = serve(models[0])
    expected = [as_asked(SERVING["app_of"](model)) for model in models]
    answers = {"/predict": [], "/explain": []}

    async def client(path, replaced):
        while not replaced.is_set():
            answers[path].append(await asked(app, "POST", path, **REQUEST))

    async def replace(replaced):
        for turn in range(1, 13):
            await asyncio.to_thread(app.state.current.replace, models[turn % 3])
            for found in answers.values():
                enough = len(found) + N_CLIENTS + 1  # one at least has begun after the model was replaced
                while len(found) < enough:
                    await asyncio.sleep(0.001)
        replaced.set()

    async def all_at_once():
        replaced = asyncio.Event()
        await asyncio.gather(replace(replaced), *(client(path, replaced) for path in list(answers) * N_CLIENTS))

    asyncio.run(all_at_once())
    for path, found in answers.items():
        assert {answer.status_code for answer in found} == {200}
        known = [each[path] for each in expected]
        assert {known.index(answer.json()) for answer in found} == {0, 1, 2}


REQUEST = {"content": json.dumps(ROWS[:20]), "headers": {"content-type": "application/json"}}


def as_asked(app):
    """What is answered by a model that is never replaced."""
    return {path: ask(app, "POST", path, ROWS[:20]).json() for path in ("/predict", "/explain")}
