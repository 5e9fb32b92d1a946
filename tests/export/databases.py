"""A frame as a table of a database, and a model's answers as the database computes them."""

import datetime
import sqlite3

import duckdb
import numpy as np
import pandas as pd

from tests.export.exported import DATED, NAMES

TABLE = 'rows "x"; --'
TYPES = dict.fromkeys(NAMES, "DOUBLE") | {NAMES[3]: "TEXT", NAMES[4]: "BOOLEAN"}
TYPES |= dict(zip(DATED, ["TIMESTAMP", "DATE", "TIME", "TEXT"], strict=True))


def plain_rows(frame):
    """The cells as plain Python values, None where missing, behind the number of the row."""
    found = []
    for number, row in enumerate(frame.itertuples(index=False)):
        cells = [None if pd.isna(cell) else cell for cell in row]
        found.append((number, *map(_plain, cells)))
    return found


def _plain(cell):
    if isinstance(cell, pd.Timestamp):
        return cell.to_pydatetime()
    return cell.item() if hasattr(cell, "item") else cell


def as_text(cell):
    """A cell with dates and times as texts, for databases that have no type for them."""
    return str(cell) if isinstance(cell, datetime.date | datetime.time) else cell


def quoted(name, quote='"'):
    return quote + name.replace(quote, quote * 2) + quote


def created(frame, execute, table=TABLE, double="DOUBLE", quote='"', types=TYPES):
    columns = [f"{quoted(name, quote)} {types[name].replace('DOUBLE', double)}" for name in frame.columns]
    execute(f"CREATE TABLE {quoted(table, quote)} (id INTEGER, {', '.join(columns)})")


def inserted(frame, table):
    return f"INSERT INTO {quoted(table)} VALUES ({', '.join('?' * (1 + frame.shape[1]))})"


def duckdb_answers(model, frame, table=TABLE, types=TYPES, **options):
    with duckdb.connect() as db:
        created(frame, db.execute, table, types=types)
        db.executemany(
            f"INSERT INTO {quoted(table)} VALUES ({', '.join('?' * (1 + frame.shape[1]))})", plain_rows(frame)
        )
        sql = model.to_sql(table, "duckdb", keep=["id"], **options)
        for statement in sql.statements:
            db.execute(statement)
        return answers(db.execute(sql.query).fetchall())


def sqlite_answers(model, frame, table=TABLE, types=TYPES, **options):
    db = sqlite3.connect(":memory:")
    created(frame, db.execute, table, types=types)
    db.executemany(inserted(frame, table), [tuple(map(as_text, row)) for row in plain_rows(frame)])
    sql = model.to_sql(table, "sqlite", keep=["id"], **options)
    for statement in sql.statements:
        db.execute(statement)
    found = answers(db.execute(sql.query).fetchall())
    db.close()
    return found


def answers(rows):
    """The predictions and the probabilities, in the order of the rows."""
    rows = sorted(rows)
    return [row[1] for row in rows], np.array([row[2:] for row in rows], dtype=float)
