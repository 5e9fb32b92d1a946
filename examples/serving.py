"""A model as a web service: answers, their reasons, drift, and another model while requests run.

    pip install fastapi uvicorn
    python examples/serving.py model.json                     # what `model.save` has written
    NAIVELY_TOKEN=secret python examples/serving.py model.json   # PUT /model, with this token, replaces the model

Each model gets an application of its own, whose rows are checked by a pydantic model made from `model.json_schema()`.
Replacing the model is one assignment: a request ends in the application in which it began, and never sees half of each.
"""

import argparse
import json
import logging
import math
import os
import secrets
import sys
import tempfile
import threading
from collections import deque
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Header, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, RootModel, WithJsonSchema, create_model

from naively import NaiveBayes, drift, load
from naively.errors import InputError, ModelFileError, NaivelyError

MOST_ROWS = 10_000
"""Rows that one request may hold."""

WATCHED = 10_000
"""So many of the last rows are compared with what the model has learnt."""

LARGEST = 1e150
"""Larger numbers could be answered, but neither learnt nor watched, since their squares are no doubles."""

# -- the row, as pydantic checks it ------------------------------------------------------------------------------------

CHECKS = {
    "null": lambda cell: cell is None,
    "string": lambda cell: isinstance(cell, str),
    "boolean": lambda cell: isinstance(cell, bool),
    "number": lambda cell: isinstance(cell, (int, float)) and not isinstance(cell, bool) and abs(cell) <= LARGEST,
}


def row_model(schema: dict[str, Any]) -> type[BaseModel]:
    """A pydantic model of one row: an object by the names of the columns, or an array where they have none."""
    if schema["type"] == "array":
        cells = tuple(cell_type(f"cell {place}", cell) for place, cell in enumerate(schema["prefixItems"]))
        return create_model("Row", __base__=RootModel[tuple[cells]])
    fields = {
        f"column_{place}": (cell_type(f"column {name!r}", cell), Field(default=None, alias=name))
        for place, (name, cell) in enumerate(schema["properties"].items())
    }
    return create_model("Row", __config__=ConfigDict(extra="forbid"), **fields)


def cell_type(name: str, cell: dict[str, Any]) -> Any:
    """The type of a cell: checked by what JSON calls its types, described by its own JSON Schema."""
    types = next(part["type"] for part in [cell, *cell.get("anyOf", [])] if "type" in part)

    def check(value: Any) -> Any:
        if any(CHECKS[known](value) for known in types):
            return value
        raise ValueError(f"{name} takes {' or '.join(types)}, got {shown(value)}")

    return Annotated[Any, AfterValidator(check), WithJsonSchema(cell)]


def shown(value: Any, most: int = 100) -> str:
    if isinstance(value, (int, float)) and abs(value) > LARGEST:
        return f"a number beyond {LARGEST:g}"
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."


def refusals(error: RequestValidationError) -> list[str]:
    """What is wrong with the rows of a request, one sentence each."""
    said = []
    for problem in error.errors():
        where = [part for part in problem["loc"] if part != "body"]
        row = f"row {where[0]}: " if where and isinstance(where[0], int) else ""
        if problem["type"] == "value_error":
            said.append(f"{row}{problem['ctx']['error']}.")
        elif problem["type"] == "extra_forbidden":
            said.append(f"{row}the model has no column {where[-1]!r}.")
        else:
            said.append(f"{row}{problem['msg']}.")
    return said


# -- answers as JSON ---------------------------------------------------------------------------------------------------


class Answer(JSONResponse):
    """JSON in ASCII, so that any text can be sent, and without NaN."""

    def render(self, content: Any) -> bytes:
        return json.dumps(plain(content), allow_nan=False).encode("ascii")


def plain(value: Any) -> Any:
    """What JSON can hold: nothing for NaN, and the largest double for infinite evidence."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, float) and math.isinf(value):
        return math.copysign(sys.float_info.max, value)
    return value


def refuse_in_our_words(app: FastAPI) -> None:
    """Rows that are wrong are answered 422, and what this model cannot do 409, with what is the matter."""

    @app.exception_handler(RequestValidationError)
    async def wrong_rows(_: Request, error: RequestValidationError) -> Answer:
        return Answer({"detail": refusals(error)}, status_code=422)

    @app.exception_handler(NaivelyError)
    async def refused(_: Request, error: NaivelyError) -> Answer:
        wrong = isinstance(error, (InputError, ModelFileError))
        return Answer({"detail": [str(error)]}, status_code=422 if wrong else 409)


# -- the application of one model --------------------------------------------------------------------------------------


class Watched:
    """The last rows that were asked about, without labels."""

    def __init__(self, most: int) -> None:
        self._rows: deque[Any] = deque(maxlen=most)
        self._lock = threading.Lock()

    def add(self, rows: list[Any]) -> None:
        with self._lock:
            self._rows.extend(rows)

    def rows(self) -> list[Any]:
        with self._lock:
            return list(self._rows)


def app_of(model: NaiveBayes, watched: int = WATCHED) -> FastAPI:
    """An application that answers with one model, for good."""
    schema = model.json_schema()  # which makes the estimates, so that no request waits for them
    Row = row_model(schema)
    Rows = Annotated[list[Row], Field(min_length=1, max_length=MOST_ROWS)]
    app, recent = FastAPI(title="A naive Bayes model", default_response_class=Answer), Watched(watched)
    refuse_in_our_words(app)

    @app.get("/model")
    def about() -> Any:
        """The classes, the notes that were saved with the model, and the JSON Schema of a row."""
        return Answer({"classes": model.classes_, "notes": model.notes_, "row": schema})

    @app.post("/predict")
    def predict(rows: Rows) -> Any:
        """The label of each row, and the probabilities of the classes in their order."""
        table = [row.model_dump(by_alias=True) for row in rows]
        probabilities = model.predict_proba(table)
        recent.add(table)
        labels = model.classes_[probabilities.argmax(axis=1)]
        return Answer({"classes": model.classes_, "labels": labels, "probabilities": probabilities})

    @app.post("/explain")
    def explain(rows: Rows) -> Any:
        """Why each row got its label: the evidence in bits, which double the odds."""
        frame = model.explain([row.model_dump(by_alias=True) for row in rows])
        answers: list[dict[str, Any]] = [{"label": None, "evidence": []} for _ in rows]
        for row, *evidence, label in zip(*(list(frame[name]) for name in LINES), strict=True):
            answers[row]["label"] = label
            answers[row]["evidence"].append(dict(zip(LINES[1:-1], evidence, strict=True)))
        return Answer(answers)

    @app.get("/drift")
    def drifted() -> Any:
        """How the last rows that were asked about differ from those that were learnt, the surest first."""
        rows = recent.rows()
        return Answer({"rows": len(rows), "columns": list(drift.check(model, rows)) if len(rows) > 1 else []})

    return app


LINES = ("row", "column", "value", "bits", "class")
"""The columns of what `model.explain` gives."""

# -- the model that answers now ----------------------------------------------------------------------------------------


class Current:
    """The application of the model that answers now. Another takes its place by one assignment."""

    def __init__(self, model: NaiveBayes, watched: int) -> None:
        self.watched = watched
        self.replace(model)

    def replace(self, model: NaiveBayes) -> None:
        """Let another model answer all requests that begin from now on; the drift is that from what it has learnt."""
        self.app = app_of(model, self.watched)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.app(scope, receive, send)


def create_app(path: str | Path, token: str | None = None, watched: int = WATCHED) -> FastAPI:
    """A service with the model of a file.

    Parameters
    ----------
    path : path
        What `model.save` has written.
    token : str, optional
        Who sends it may replace the model: ``PUT /model`` with ``Authorization: Bearer <token>`` and a model file as
        the body. Without one there is no such request; ``app.state.current.replace(model)`` is always there.
    watched : int
        So many of the last rows are compared with what was learnt.
    """
    app = FastAPI(openapi_url=None)  # the documentation is that of the model which answers now
    refuse_in_our_words(app)
    app.state.current = current = Current(load(path), watched)
    if token is not None:

        @app.put("/model")
        async def replace(request: Request, authorization: Annotated[str, Header()] = "") -> Any:
            if not secrets.compare_digest(authorization.encode(), f"Bearer {token}".encode()):
                return Answer({"detail": ["The token is wrong: send 'Authorization: Bearer <token>'."]}, 401)
            content = await request.body()
            await run_in_threadpool(lambda: current.replace(load_bytes(content)))
            return Answer({"detail": "replaced"})

    app.mount("/", current)
    return app


def load_bytes(content: bytes) -> NaiveBayes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_bytes(content)
        return load(path)


def main(arguments: list[str] | None = None) -> None:
    import uvicorn

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="what model.save has written")
    parser.add_argument("--port", type=int, default=8000)
    given = parser.parse_args(arguments)
    logging.captureWarnings(True)  # what the model finds odd about rows is for the log
    uvicorn.run(create_app(given.model, os.environ.get("NAIVELY_TOKEN")), port=given.port)


if __name__ == "__main__":
    main()
