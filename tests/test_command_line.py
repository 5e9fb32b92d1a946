"""The command line, as a user runs it: in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from naively import __version__, load
from naively.demo import adding_up, penguins, run_demo

NAIVELY = Path(sys.executable).with_name("naively")


def naively(*arguments, **options):
    return subprocess.run([NAIVELY, *map(str, arguments)], capture_output=True, text=True, check=False, **options)


def modules_after(code):
    listing = f"import sys, json\nsys.argv = ['naively', '--version']\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_version_is_told_without_importing_anything():
    assert naively("--version").stdout == f"naively {__version__}\n"
    loaded = modules_after("from naively.cli import main; main()")
    assert not loaded & {"typer", "rich", "numpy", "sklearn", "numba"}


def test_the_demo_runs_without_the_compiler():
    loaded = modules_after("from naively.demo import run_demo; run_demo()")
    assert "numba" not in loaded


def test_the_demo_shows_its_results_and_saves_the_model(tmp_path):
    path = tmp_path / "penguins [1].json"
    done = naively("demo", "--output", path)
    assert done.returncode == 0, done.stderr
    for words in ("accuracy", "log-loss", "log-odds", "Chinstrap", str(path)):
        assert words in done.stdout.replace("\n", "")
    rows, species = penguins()
    assert load(path).score(rows, species) > 0.95


@pytest.mark.parametrize("seed", range(5))
def test_what_the_demo_claims_is_true(tmp_path, seed):
    demo = run_demo(tmp_path / "model.json", seed)
    reasons = demo.reasons
    np.testing.assert_allclose(reasons.bits.sum(axis=0), reasons.log_odds, rtol=1e-12)
    shown = adding_up(reasons.bits, digits=2)
    np.testing.assert_array_equal(shown.sum(axis=0).round(2), reasons.log_odds.round(2))
    np.testing.assert_allclose(shown, reasons.bits, atol=0.01)
    assert demo.after_loading == 0
    assert max(demo.after_forgetting, demo.after_merging) < 1e-12
    assert demo.confusion.sum() == demo.n_held_out


@pytest.mark.parametrize(
    "arguments",
    [
        ["demo", "--row", "99"],
        ["demo", "--row", "-1"],
        ["demo", "--row", "first"],
        ["demo", "--seed", "-1"],
        ["demo", "--seed", str(2**32)],
        ["demo", "--output", "/no/such/folder/model.json"],
        ["demo", "--output", "/"],
        ["demo", "--colour", "red"],
        ["demo", "extra"],
        ["no-such-command"],
        ["--no-such-option"],
    ],
)
def test_a_bad_option_is_told_without_a_traceback(arguments):
    done = naively(*arguments)
    assert done.returncode != 0
    assert done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_help_names_the_commands():
    assert "demo" in naively("--help").stdout
    assert "--output" in naively("demo", "--help").stdout
