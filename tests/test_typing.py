"""What type checkers and editors see of the package: classes, functions and signatures, although it imports lazily."""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mypy import api

import naively
from naively import typing as names

SOURCES = Path(naively.__file__).parent

RIGHT = """
from pathlib import Path
import numpy as np
import naively
from naively import JointBayes, NaiveBayes, TAN, load, named, tune
from naively.families import Gaussian, Joint
from naively.smoothing import MEstimate
from naively.typing import FloatArray, TableLike

X = np.zeros((4, 2))
rows = [{"a": 1.0, "b": "x"}, {"a": None}]
model: NaiveBayes = NaiveBayes("textbook", families={"a": Gaussian(), "b": "categorical"}, smoothing=MEstimate(2))
NaiveBayes(families="gaussian", smoothing=0.5, prior={"a": 0.5, "b": 0.5}, factors=[Joint("a", "b")], n_threads=2)
NaiveBayes(smoothing={"a": 1, "b": "laplace"}, prior=[0.5, 0.5], prior_smoothing="none", kept_rows=100)
fitted: NaiveBayes = model.fit(rows, ["cat", "dog"]).partial_fit(X, [0, 1, 0, 1], classes=[0, 1]).forget(X, "kind")
proba: FloatArray = model.predict_proba(X, prior=np.array([0.5, 0.5]))
model.fit({"a": [1, 2]}, np.array([0, 1]), sample_weight=[1.0, 2.0]).fit([[1, 2], [3, 4]], (0, 1), np.ones(2))
model.predict(X, loss={("a", "b"): 1.0}, reject=0.1, reject_label="unsure")
model.explain(X, target="cat", tokens=3)
model.loo()
NaiveBayes(**model.get_params(deep=False)).set_params(smoothing=1.0).set_fit_request(sample_weight=True).fit(X, [0, 1])
model.fit("table.csv", "kind").partial_fit(iter([X]), "kind").fit((X, [0, 1]) for _ in range(2))
model.loo(X, [0, 1])
model.save("model.json")
model.save(Path("model.json"))
loaded: NaiveBayes = load(Path("model.json"))
merged: NaiveBayes = model + fitted
tree: NaiveBayes = TAN().fit(X, [0, 1])
joint: NaiveBayes = JointBayes().fit(X, [0, 1])
found = tune(model, X, [0, 1], {"smoothing": [1, 2]})
naively.analysis.shift.estimate_prior(model, X)
naively.analysis.drift.compare(model, fitted)
naively.analysis.diagnostics.dependence(model, X, [0, 1])
naively.analysis.thresholds.trade_off(model, X, [0, 1])
naively.analysis.selection.drop_correlated(named(X, ["a", "b"]))
naively.compat.e1071()
naively.sklearn.GaussianNB().fit(X, [0, 1])
naively.plots.plot_densities(model)
naively.families.Gaussian(ties="feature")
naively.smoothing.Laplace()
version: str = naively.__version__


def train(table: TableLike) -> NaiveBayes:
    return NaiveBayes().fit(table, "kind")
"""

WRONG = """
import numpy as np
import naively
from naively import NaiveBayes, load
from naively import Bayes  # attr-defined
X = np.zeros((4, 2))
model = NaiveBayes()
naively.NaiveBays  # attr-defined
naively.plot  # attr-defined
NaiveBayes(1)  # arg-type
NaiveBayes(familys="gaussian")  # call-arg
NaiveBayes(families=3)  # arg-type
NaiveBayes(smoothing=[1, 2])  # arg-type
NaiveBayes(factors="a")  # arg-type
NaiveBayes(prior=0.5)  # arg-type
NaiveBayes(kept_rows="many")  # arg-type
model.predict("table.csv")  # arg-type
model.fit(3, [0, 1])  # arg-type
model.predict()  # call-arg
model.fit(X, 3)  # arg-type
model.fit(X, [0, 1], 3.0)  # arg-type
model.fit(X, [0, 1], weights=[1.0])  # call-arg
model.partial_fit(X, [0, 1], classes=3)  # arg-type
model.predict(None)  # arg-type
model.predict(X, loss=3)  # arg-type
model.predict(X, reject="much")  # arg-type
model.predict_proba(X, prior=1)  # arg-type
model.explain(X, target=["cat"])  # arg-type
model.decay("half")  # arg-type
model.impute_proba(X, 1.5)  # arg-type
model.save(3)  # arg-type
load()  # call-arg
model.fitt(X, [0, 1])  # attr-defined
model.classes  # attr-defined
naively.compat.e1071().predict_probs(X)  # attr-defined
naively.sklearn.GaussianNB().fitt(X, [0, 1])  # attr-defined
text: str = model.predict_proba(X)  # assignment
"""


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """For each of the two pieces of code, mypy's findings: the line and the code of each error."""
    folder = tmp_path_factory.mktemp("typing")
    for name, code in (("right", RIGHT), ("wrong", WRONG)):
        (folder / f"{name}.py").write_text(code, encoding="utf-8")
    settings = "[mypy]\nstrict = true\nignore_missing_imports = true\nfollow_imports = silent\n"
    settings += f"mypy_path = {SOURCES.parent}\ncache_dir = {folder / 'cache'}\n"
    settings += "[mypy-sklearn.*,scipy.*,numba.*,matplotlib.*,pandas.*]\nfollow_imports = skip\n"
    (folder / "mypy.ini").write_text(settings, encoding="utf-8")
    files = [str(folder / f"{name}.py") for name in ("right", "wrong")]
    output, problems, _ = api.run(["--config-file", str(folder / "mypy.ini"), "--no-pretty", *files])
    assert not problems, problems
    found = re.findall(r"(right|wrong)\.py:(\d+): error: .*\[([a-z-]+)\]", output)
    assert len(found) == output.count(" error: "), output
    return {(name, int(line)): code for name, line, code in found}, output


def test_right_code_passes(checked):
    errors, output = checked
    assert not [place for place in errors if place[0] == "right"], output


def test_every_wrong_line_is_found_and_no_other(checked):
    errors, output = checked
    lines = enumerate(WRONG.splitlines(), start=1)
    expected = {("wrong", number): line.partition("  # ")[2] for number, line in lines if "  # " in line}
    assert {place: code for place, code in errors.items() if place[0] == "wrong"} == expected, output


def test_the_package_says_that_it_is_typed():
    assert (SOURCES / "py.typed").is_file()


# -- at run time ----------------------------------------------------------------------------------------------------

MODULES = (
    *("compat", "diagnostics", "drift", "errors", "families", "plots", "selection"),
    *("shift", "sklearn", "smoothing", "thresholds"),
)


def test_names_for_type_checkers_are_those_of_run_time():
    source = (SOURCES / "__init__.py").read_text(encoding="utf-8")
    promised = set(re.findall(r"^    from \S+ import (\w+) as \1$", source, flags=re.MULTILINE))
    assert promised == {*naively.__all__, *MODULES} - {"__version__"}
    assert dir(naively) == sorted({*naively.__all__, *MODULES})


@pytest.mark.parametrize("name", [*MODULES, *sorted(set(naively.__all__) - {"__version__"})])
def test_each_name_is_reached_by_attribute_after_import(name):
    code = f"import naively; assert {name!r} in dir(naively); print(naively.{name}.__name__)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().rpartition(".")[2] == name


@pytest.mark.parametrize("name", MODULES)
def test_modules_are_modules(name):
    module = getattr(naively, name)
    assert module is importlib.import_module(module.__name__)
    assert module.__name__.rpartition(".")[2] == name


def test_methods_of_a_model_take_named_types():
    """No parameter of a public method is Any where one of the names of `naively.typing` fits."""
    named_types = {
        "X": "TableLike",
        "y": "TargetLike",
        "sample_weight": "WeightsLike",
        "prior": "PriorLike",
        "loss": "LossLike",
        "families": "FamiliesLike",
        "factors": "FactorsLike",
        "smoothing": "SmoothingLike",
        "prior_smoothing": "SmoothingLike",
        "path": "PathLike",
    }
    public = [naively.NaiveBayes.__init__]
    for name, method in inspect.getmembers(naively.NaiveBayes, inspect.isfunction):
        if not name.startswith("_") and method.__module__.startswith("naively."):
            public.append(method)
    found = 0
    for method in public:
        for parameter in inspect.signature(method).parameters.values():
            if parameter.name in named_types:
                assert parameter.annotation.startswith(named_types[parameter.name]), (method, parameter)
                found += 1
    assert found > 30
    assert all(hasattr(names, name) for name in named_types.values())


LIKE = {
    "X": "TableLike", "y": "TargetLike", "sample_weight": "WeightsLike", "prior": "PriorLike", "loss": "LossLike",
    "families": "FamiliesLike", "factors": "FactorsLike", "smoothing": "SmoothingLike",
}  # fmt: skip
PUBLIC = ("compat", "diagnostics", "drift", "plots", "selection", "shift", "sklearn", "thresholds")


def functions_of(module):
    """The public functions of a module, and the public methods of its classes, by name."""
    for name in dir(module):
        one = getattr(module, name)
        if name.startswith("_") or not getattr(one, "__module__", "").startswith(module.__name__):
            continue  # a tool of the module's own
        for inner in dir(one) if inspect.isclass(one) else ():
            method = inspect.getattr_static(one, inner)
            method = getattr(method, "__func__", method)
            is_ours = inspect.isfunction(method) and method.__module__.startswith("naively")
            if is_ours and (inner == "__init__" or not inner.startswith("_")):
                yield f"{name}.{inner}", method
        if inspect.isfunction(one):
            yield name, one


@pytest.mark.parametrize("module", [naively, *(getattr(naively, name) for name in PUBLIC)], ids=["naively", *PUBLIC])
def test_what_people_give_has_a_type_with_a_name(module):
    vague = {
        f"{name}({parameter.name}: {parameter.annotation})"
        for name, function in functions_of(module)
        for parameter in inspect.signature(function).parameters.values()
        if parameter.annotation == "Any" and parameter.name in LIKE
    }
    assert not vague
