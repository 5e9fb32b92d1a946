"""The table of what cannot be exported stands in the documentation as it is, and is true."""

from pathlib import Path

import numpy as np
import pytest

from naively import NaiveBayes
from naively._export.gaps import as_markdown
from naively.errors import GapError
from naively.families import FAMILIES, Gaussian, Text, gaps

DOCUMENT = Path(__file__).parents[2] / "docs" / "exports.md"


def test_the_documentation_has_the_table():
    assert as_markdown() in DOCUMENT.read_text(encoding="utf-8")


def test_families_without_a_table_are_those_listed():
    listed = {name for name in FAMILIES if f"`{name}`" in as_markdown()}
    assert listed == {name for name, missing in gaps().items() if "as_table" in missing}


@pytest.mark.parametrize(("family", "cells"), [(Gaussian(interval=1.0), [1.0, 2.0, 5.0, 6.0]), (Text(), list("abcd"))])
@pytest.mark.parametrize("export", ["to_python", "to_onnx", "to_sql"])
def test_what_is_listed_is_refused_with_the_reason(export, family, cells):
    model = NaiveBayes("textbook", families=family).fit({"x": cells}, np.array([0, 0, 1, 1]))
    with pytest.raises(GapError, match="has no table or formula"):
        getattr(model, export)(*(["t"] if export == "to_sql" else []))
