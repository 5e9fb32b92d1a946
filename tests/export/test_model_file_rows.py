"""Kept rows and sizes in a model file: what does not fit the rest of the model is refused when it is read."""

import numpy as np
import pytest

from naively import TAN, NaiveBayes, load
from naively.errors import InputError, ModelFileError, ParameterError
from naively.families import Codes, Kernel
from tests.export.model_file_mutants import drop, forged, put
from tests.models import textbook

Y = ["a", "b", "b", "a"]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "model.json"


# -- the sample of rows ---------------------------------------------------------------------------------------------


@pytest.fixture
def with_rows(file):
    rows = {"x": [1.5, None, 4.0, 4.0], "c": ["red", "blue", None, "red"], "t": ["free prize", "lunch now", None, ""]}
    NaiveBayes("fast", families={"t": "text"}).fit(rows, Y, [0.5, 1.0, 2.0, 1.0]).save(file)
    return file


def swap(key):
    def change(content):
        values = content["kept"][key]
        values[0], values[1] = values[1], values[0]

    return change


def repeat_a_row(content):
    kept = content["kept"]
    for values in (kept["hashes"], kept["codes"], kept["weights"], *(one["cells"] for one in kept["columns"].values())):
        values.insert(0, values[0])


ROW_LIES = {
    "no class": put(2, "kept", "codes", 0),
    "a negative class": put(-1, "kept", "codes", 0),
    "a class that is no number": put(True, "kept", "codes", 0),
    "too few classes": drop("kept", "codes", 0),
    "a negative weight": put(-1.0, "kept", "weights", 0),
    "more weight than all rows": put(1e6, "kept", "weights", 0),
    "hashes out of order": swap("hashes"),
    "a hash too large": put(2**64, "kept", "hashes", -1),
    "a negative hash": put(-1, "kept", "hashes", 0),
    "a hash that is a fraction": put(0.5, "kept", "hashes", 0),
    "a row twice": repeat_a_row,
    "more rows than places": put(1, "kept", "capacity"),
    "no place at all": put(0, "kept", "capacity"),
    "places without end": put(10**18, "kept", "capacity"),
    "a column that is not there": put({"numeric": True, "cells": [None] * 4}, "kept", "columns", "y"),
    "too few cells": drop("kept", "columns", "x", "cells", 0),
    "numbers as labels": put(False, "kept", "columns", "x", "numeric"),
    "labels as numbers": put({"numeric": True, "cells": [1.0] * 4}, "kept", "columns", "c"),
    "a number among texts": put(1, "kept", "columns", "t", "cells", 0),
    "text among numbers": put("red", "kept", "columns", "x", "cells", 0),
    "a label that was never counted": put("green", "kept", "columns", "c", "cells", 0),
    "a number that was never counted": put(3.75, "kept", "columns", "x", "cells", 0),
    "a list for a label": put(["red"], "kept", "columns", "c", "cells", 0),
    "cells of text": put("four", "kept", "columns", "c", "cells"),
    "a histogram of more rows than there are": put([1e9] * 4, "tables", 1, "histograms", 0, "counts"),
    "a key that stands for no number": put([0, 2**63 - 1], "tables", 1, "histograms", 0, "keys"),
    "a histogram without end": put(10**9, "tables", 1, "histograms", 0, "cap"),
    "a bad prior": put({"type": "Lidstone", "options": {"tau": -1}}, "parameters", "prior_smoothing"),
    "another family": put({"type": "gaussian", "options": {}}, "parameters", "families"),
    "a bad number of kept rows": put(10**18, "parameters", "kept_rows"),
}


@pytest.mark.parametrize("name", ROW_LIES)
def test_rows_that_do_not_fit_the_model_are_refused(with_rows, name):
    forged(with_rows, ROW_LIES[name])
    with pytest.raises(ModelFileError, match=r"model\.json"):
        load(with_rows)


def test_rows_that_fit_are_read(with_rows):
    before = load(with_rows).statistics_
    forged(with_rows, lambda content: None)
    assert load(with_rows).statistics_ == before


@pytest.mark.parametrize("recipe", ["textbook", "fast", "auto"])
def test_rows_whose_weight_has_decayed_to_nothing_come_back(recipe, file):
    model = NaiveBayes(recipe).fit([[-3.0], [3.0], [4.0], [9.0]], [0, 1, 0, 1], [1.0, 1.0, 1e-200, 1e-200])
    model.decay(1e-200).save(file)
    assert load(file).statistics_ == model.statistics_


# -- sizes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [10**8, 10**9, 10**18])
@pytest.mark.parametrize("family", ["codes", "kernel"])
def test_a_size_without_end_is_refused_before_anything_is_made_of_it(file, family, number):
    textbook(families={"codes": Codes(3), "kernel": Kernel(background=False, points=8)}[family]).fit(
        [[0], [1], [2]], ["a", "b", "a"]
    ).save(file)
    forged(file, put(number, "parameters", "families", "options", {"codes": "at_least", "kernel": "points"}[family]))
    with pytest.raises(ModelFileError, match=r"ParameterError.*at most"):
        load(file)


def test_many_columns_of_many_codes_are_refused_together():
    model = textbook(families=Codes(1 << 20)).fit(np.zeros((2, 65)), ["a", "b"])
    with pytest.raises(InputError, match="65 columns and 2 classes would have 136,314,880 probabilities"):
        model.predict(np.zeros((1, 65)))


@pytest.mark.parametrize("number", [1025, 10**9, 10**18])
def test_a_number_of_threads_has_limits(number):
    with pytest.raises(ParameterError, match=r"n_threads.*at most 1024, got"):
        textbook(n_threads=number).fit([[1.0], [2.0]], [0, 1])


def test_the_number_of_kept_rows_and_of_bins_has_a_limit():
    with pytest.raises(ParameterError, match="kept_rows must be a whole number of at most"):
        NaiveBayes(kept_rows=10**10).fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ParameterError, match="bins must be a whole number of at most"):
        TAN(bins=10**9).fit([[1.0], [2.0]], [0, 1])
