"""Whatever is wrong with Numba or with the place where it keeps its code, models answer, and one warning says why."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

WORK = """
import json, os, sys, warnings
{before}
import numpy as np
from naively import NaiveBayes
from naively.errors import NaivelyWarning
os.environ["NAIVELY_KERNELS"] = "compiled"
X = np.array([[0.5, 1.0], [1.5, 3.0], [4.0, 1.0], [6.0, 3.5]])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model = NaiveBayes("textbook", families={{0: "gaussian", 1: "studentt"}}).fit(X, [0, 0, 1, 1])
    answers = [model.predict_joint_log_proba(X).tolist() for _ in range(2)]
ours = [str(one.message) for one in caught if issubclass(one.category, NaivelyWarning)]
print(json.dumps({{"answers": answers, "warnings": ours, "numba": "numba" in sys.modules}}))
"""

NO_LOCATOR = """
import numba.core.caching as caching
caching.CacheImpl._locator_classes = []
"""

FULL_DISK = """
import errno
import numba.core.caching as caching
def no_space(*_):
    raise OSError(errno.ENOSPC, "No space left on device")
caching.IndexDataCacheFile.save = no_space
"""


def work(before="", **environment):
    """What a process of its own answers, and its warnings."""
    own = ("NAIVELY_KERNELS", "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT")  # these tests are about the compiler
    known = {name: value for name, value in os.environ.items() if name not in own}
    code = WORK.format(before=before)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**known, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A directory with compiled code in it."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def expected(kept):
    found = work(NUMBA_CACHE_DIR=str(kept))
    assert found["warnings"] == []
    assert list(kept.rglob("*.nbi"))
    assert list(kept.rglob("*.nbc"))
    return found["answers"]


def test_no_place_for_compiled_code(expected):
    found = work(NO_LOCATOR)
    assert found["answers"] == expected
    (warning,) = found["warnings"]
    assert "cannot be kept on disk" in warning
    assert "NUMBA_CACHE_DIR" in warning


def test_a_cache_directory_that_is_a_file(expected, tmp_path):
    (tmp_path / "file").write_text("")
    found = work(NUMBA_CACHE_DIR=str(tmp_path / "file"))
    assert found["answers"] == expected
    assert len(found["warnings"]) <= 1  # none where the package's own directory can be written to


def test_a_full_disk(expected, tmp_path):
    found = work(FULL_DISK, NUMBA_CACHE_DIR=str(tmp_path))
    assert found["answers"] == expected
    (warning,) = found["warnings"]
    assert "No space left" in warning


@pytest.mark.parametrize(("files", "share"), [("*.nbi", 0.0), ("*.nbc", 0.5)])
def test_damaged_code_is_compiled_and_written_anew(expected, kept, files, share):
    for path in kept.rglob(files):
        content = path.read_bytes()
        path.write_bytes(content[: int(share * len(content))])
    found = work(NUMBA_CACHE_DIR=str(kept))
    assert found["answers"] == expected
    (warning,) = found["warnings"]
    assert "written anew" in warning
    assert work(NUMBA_CACHE_DIR=str(kept)) == {"answers": expected, "warnings": [], "numba": True}


@pytest.mark.parametrize("error", ["ImportError('no llvmlite')", "SystemError('another NumPy')"])
def test_numba_that_cannot_be_imported(expected, tmp_path, error):
    (tmp_path / "numba.py").write_text(f"raise {error}")
    found = work(PYTHONPATH=f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    for one, other in zip(found["answers"], expected, strict=True):
        assert one == [pytest.approx(row, rel=1e-12) for row in other]
    (warning,) = found["warnings"]
    assert "Numba cannot be imported" in warning
    assert not found["numba"]
