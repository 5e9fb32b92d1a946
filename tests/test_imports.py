"""What importing costs: nothing optional, and no compiler for a small table."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import naively

FAMILIES = ["gaussian", "categorical", "bernoulli", "poisson", "multinomial", "complement"]
HEAVY = ["numba", "pandas", "polars", "pyarrow", "sklearn", "narwhals"]


def modules_after(code):
    """The names of the heavy packages that a fresh process has imported after running some code."""
    report = f"\nimport sys, json; print(json.dumps([name for name in {HEAVY} if name in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code + report], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_modules_that_are_not_promised_carry_an_underscore():
    source = Path(naively.__file__).parent
    modules = [path.relative_to(source).with_suffix("").parts for path in source.rglob("*.py")]
    public = {".".join(name for name in parts if name != "__init__") for parts in modules if not is_private(parts)}
    listed = (source.parents[1] / "docs" / "public.md").read_text()
    words = set(re.findall(r"[a-z_]+", listed))
    assert not {name for name in public if not set(name.split(".")) <= words | {""}}


def is_private(parts):
    return any(part.startswith("_") and part != "__init__" for part in parts)


def test_importing_the_package_imports_nothing_heavy():
    assert modules_after("import naively; naively.__version__; dir(naively)") == []


IRIS_SIZE = """
import os
os.environ.pop("NAIVELY_KERNELS", None)
import numpy as np
from naively import NaiveBayes
X, y = np.random.default_rng(0).normal(size=(150, 4)), np.arange(150) % 3
"""


def test_small_tables_never_wait_for_the_compiler():
    code = f"""{IRIS_SIZE}
from scipy import sparse
for parameters in ({{}}, *({{"recipe": "textbook", "families": name}} for name in {FAMILIES})):
    for table in (np.abs(X), sparse.csr_array(np.abs(X))):
        model = NaiveBayes(**parameters).fit(table, y)
        model.predict_proba(table)
    model.evidence(np.abs(X))
"""
    assert "numba" not in modules_after(code)


def test_a_large_table_takes_the_compiled_kernels():
    code = f"{IRIS_SIZE}X = np.tile(X, (10_000, 3))\nNaiveBayes('textbook').fit(X, np.zeros(len(X), dtype=int))"
    assert "numba" in modules_after(code)


def test_the_public_names_exist():
    assert {"NaiveBayes", "__version__", "load"} <= set(naively.__all__)
    for name in naively.__all__:
        assert getattr(naively, name) is not None
        assert name in dir(naively)
    with pytest.raises(AttributeError, match="'naively' has no attribute 'Bayes'"):
        naively.Bayes  # noqa: B018


def test_the_public_names_of_the_families_and_smoothings_exist():
    from naively import families, smoothing

    for name in ("Bernoulli", "Categorical", "Gaussian", "Multinomial", "Poisson"):
        assert getattr(families, name).name() == name.lower()
    for name in ("NoSmoothing", "Laplace", "Lidstone", "Jeffreys", "MEstimate", "Dirichlet"):
        assert hasattr(smoothing, name)
