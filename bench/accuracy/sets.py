"""The tabular data sets and their folds."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold, train_test_split

MOST_ROWS = 20_000
N_FOLDS = 5


class DataSet(NamedTuple):
    name: str
    frame: pd.DataFrame
    numeric: list[str]
    categorical: list[str]
    codes: np.ndarray


def names(data: Path) -> list[str]:
    """The sets that have no text column; the synthetic counts are for other tests."""
    schema = json.loads((data / "schema.json").read_text())
    return sorted(name for name, about in schema.items() if not about["text"] and not name.startswith("counts-"))


def read(data: Path, name: str, most_rows: int | None = MOST_ROWS) -> DataSet:
    """One set; one with too many rows is subsampled, stratified."""
    about = json.loads((data / "schema.json").read_text())[name]
    types: dict[str, Any] = dict.fromkeys(about["categorical"], str) | {about["target"]: str}
    frame = pd.read_csv(data / about["file"], dtype=types, keep_default_na=False, na_values=[""])
    codes = np.unique(frame[about["target"]].to_numpy(dtype=str), return_inverse=True)[1]
    if most_rows is not None and len(frame) > most_rows:
        kept, _ = train_test_split(np.arange(len(frame)), train_size=most_rows, stratify=codes, random_state=0)
        kept = np.sort(kept)
        frame, codes = frame.iloc[kept].reset_index(drop=True), codes[kept]
    columns = frame[about["numeric"] + about["categorical"]].copy()
    columns[about["numeric"]] = columns[about["numeric"]].astype(np.float64)
    columns[about["categorical"]] = columns[about["categorical"]].astype("category")
    return DataSet(name, columns, about["numeric"], about["categorical"], codes)


def folds(codes: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Stratified folds; a class with fewer rows than folds is in some of them only."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(np.zeros(len(codes)), codes))
