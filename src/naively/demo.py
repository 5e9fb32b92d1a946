"""The demo: one small table that ships with the package, from reading it to a saved model. Compute first, then show."""

from __future__ import annotations

import csv
import tempfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from naively import NaiveBayes, __version__, load
from naively.errors import ParameterError
from naively.typing import FloatArray, IntArray

TEXT_COLUMNS = ("island", "sex")
TEST_SHARE = 0.2
N_FORGOTTEN = 50

Record = dict[str, str | float | None]


def penguins() -> tuple[list[Record], list[str]]:
    """The rows and the species of 344 penguins; 19 cells are missing.

    Examples
    --------
    >>> rows, species = penguins()
    >>> len(rows), species[0]
    (344, 'Adelie')
    >>> rows[0]["island"], rows[0]["body_mass_g"], rows[3]["body_mass_g"]
    ('Torgersen', 3750.0, None)
    """
    with (files("naively") / "data" / "penguins.csv").open(encoding="utf-8") as file:
        records = list(csv.DictReader(file))
    species = [record.pop("target") for record in records]
    return [{name: _cell(name, text) for name, text in record.items()} for record in records], species


def _cell(name: str, text: str) -> str | float | None:
    if text == "":
        return None
    return text if name in TEXT_COLUMNS else float(text)


# -- compute --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """Some rows and their classes."""

    X: list[Record]
    y: list[str]

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, part: slice) -> Rows:
        return Rows(self.X[part], self.y[part])

    def learnt(self) -> NaiveBayes:
        """A model of these rows."""
        return NaiveBayes().fit(self.X, self.y)


@dataclass(frozen=True)
class Reasons:
    """Why one row got its class: how much each column speaks for it and against each rival, in bits.

    Parameters
    ----------
    number : int
        Which held-out row it is.
    truth, winner : str
    rivals : list of str
        The other classes.
    probability : float
        Of the winner.
    sources : list of (str, value)
        What speaks: the prior, every column with its value, and the class bias.
    bits : ndarray of shape (sources, rivals)
    log_odds : ndarray of shape (rivals,)
        From the predicted probabilities, in bits.
    """

    number: int
    truth: str
    winner: str
    rivals: list[str]
    probability: float
    sources: list[tuple[str, str | float | None]]
    bits: FloatArray
    log_odds: FloatArray


@dataclass(frozen=True)
class Demo:
    """All that the demo shows."""

    n_learnt: int
    n_held_out: int
    n_missing: int
    classes: list[str]
    accuracy: float
    log_loss: float
    confusion: IntArray
    reasons: Reasons
    after_forgetting: float
    after_merging: float
    after_loading: float
    path: Path


def run_demo(output: Path | None = None, seed: int = 0, row: int | None = None) -> Demo:
    """Learn most of the penguins, and see how the model does on the others.

    Parameters
    ----------
    output : path, optional
        Where to save the model; by default in a new temporary folder.
    seed : int
        Which rows are held out.
    row : int, optional
        The held-out row to explain; by default the one that the model is least sure of.
    """
    from sklearn.metrics import accuracy_score, confusion_matrix, log_loss

    train, test = split(seed)
    model = train.learnt()
    probability = model.predict_proba(test.X)
    predicted = model.predict(test.X)
    reasons = explain(model, test, least_sure(probability) if row is None else row)
    path = Path(tempfile.mkdtemp(prefix="naively-")) / "penguins.json" if output is None else output.absolute()
    model.save(path)

    def difference(other: NaiveBayes) -> float:
        return float(np.abs(other.predict_proba(test.X) - probability).max())

    everything = Rows(train.X + test.X[:N_FORGOTTEN], train.y + test.y[:N_FORGOTTEN])
    half = len(train) // 2
    return Demo(
        n_learnt=len(train),
        n_held_out=len(test),
        n_missing=sum(value is None for record in train.X + test.X for value in record.values()),
        classes=model.classes_.tolist(),
        accuracy=float(accuracy_score(test.y, predicted)),
        log_loss=float(log_loss(test.y, probability, labels=model.classes_)),
        confusion=confusion_matrix(test.y, predicted, labels=model.classes_),
        reasons=reasons,
        after_forgetting=difference(everything.learnt().forget(test.X[:N_FORGOTTEN], test.y[:N_FORGOTTEN])),
        after_merging=difference(train[:half].learnt() + train[half:].learnt()),
        after_loading=difference(load(path)),
        path=path,
    )


def split(seed: int) -> tuple[Rows, Rows]:
    """Rows to learn and rows to hold out, with the same share of every species in both."""
    from sklearn.model_selection import train_test_split

    rows, species = penguins()
    X, X_test, y, y_test = train_test_split(rows, species, test_size=TEST_SHARE, stratify=species, random_state=seed)
    return Rows(X, y), Rows(X_test, y_test)


def least_sure(probability: FloatArray) -> int:
    """The row whose most probable class is the least probable."""
    return int(probability.max(axis=1).argmin())


def explain(model: NaiveBayes, test: Rows, number: int) -> Reasons:
    """Take the prediction of one row apart."""
    if not 0 <= number < len(test):
        raise ParameterError(f"--row must be the number of a held-out row, 0 to {len(test) - 1}, got {number}.")
    row = test.X[number]
    log_probability = model.predict_log_proba([row])[0]
    winner = int(log_probability.argmax())
    rivals = [code for code in range(len(model.classes_)) if code != winner]
    # One line for the prior and one for each term, then the winner's lead over each rival.
    terms = np.vstack([np.log(model.class_prior_), model.evidence([row])[0]]) / np.log(2)
    return Reasons(
        number=number,
        truth=test.y[number],
        winner=str(model.classes_[winner]),
        rivals=[str(model.classes_[code]) for code in rivals],
        probability=float(np.exp(log_probability[winner])),
        sources=[("prior", ""), *((name, row.get(name, "")) for name in model.evidence_names_)],
        bits=terms[:, [winner]] - terms[:, rivals],
        log_odds=(log_probability[winner] - log_probability[rivals]) / np.log(2),
    )


# -- show -----------------------------------------------------------------------------------------------------------


def show_demo(demo: Demo, console: Console) -> None:
    """Print what the demo found."""
    console.print(f"[bold]naively {__version__}[/]: naive Bayes on {demo.n_learnt + demo.n_held_out} penguins\n")
    console.print(
        f"Learnt {demo.n_learnt} rows and held out {demo.n_held_out}, the same share of each species. Numbers and text "
        f"are read as they are, and so are the {demo.n_missing} missing cells.\n"
    )
    console.print(f"accuracy  [bold]{demo.accuracy:.3f}[/]")
    console.print(f"log-loss  [bold]{demo.log_loss:.3f}[/]  (a guess without data: {np.log(len(demo.classes)):.3f})\n")
    console.print("[bold]What the held-out penguins are, and what the model said[/]")
    console.print(confusion_table(demo))
    console.print(_verdict(demo.reasons))
    console.print(reasons_table(demo.reasons))
    console.print("[bold]The same model by another way: largest difference in any probability[/]")
    console.print(differences_table(demo))
    console.print(f"The model is saved, {demo.path.stat().st_size / 1024:.1f} KiB of JSON:")
    console.print(Text(str(demo.path)), soft_wrap=True)


def confusion_table(demo: Demo) -> Table:
    """How many held-out rows of each class (down) were given which class (across)."""
    table = Table("species", box=box.SIMPLE_HEAD)
    for label in demo.classes:
        table.add_column(label, justify="right")
    for place, (label, counts) in enumerate(zip(demo.classes, demo.confusion.tolist(), strict=True)):
        table.add_row(label, *(_count(count, place == other) for other, count in enumerate(counts)))
    return table


def _count(count: int, right: bool) -> str:
    style = "dim" if count == 0 else "green" if right else "red"
    return f"[{style}]{count}[/]"


def _verdict(reasons: Reasons) -> str:
    truth = "rightly" if reasons.truth == reasons.winner else f"wrongly: it is {reasons.truth}"
    return (
        f"[bold]Why held-out row {reasons.number} is taken for {reasons.winner}[/], with probability "
        f"{reasons.probability:.3f}, {truth}. Each column's evidence for it and against the others, in bits; a bit "
        "doubles the odds."
    )


def reasons_table(reasons: Reasons) -> Table:
    """The evidence of one row; the shown digits of every line add up to the last one."""
    table = Table("column", box=box.SIMPLE_HEAD)
    table.add_column("value", justify="right")
    for rival in reasons.rivals:
        table.add_column(f"v. {rival}", justify="right")
    for (name, value), bits in zip(reasons.sources, adding_up(reasons.bits, digits=2), strict=True):
        table.add_row(name, _value(value), *(f"{number:+.2f}" for number in bits))
    table.add_section()
    table.add_row("log-odds", "", *(f"{number:+.2f}" for number in reasons.log_odds), style="bold")
    return table


def _value(value: str | float | None) -> str:
    if value is None:
        return "[dim]missing[/]"
    return value if isinstance(value, str) else f"{value:g}"


def differences_table(demo: Demo) -> Table:
    """How far the model is from the same one got by another way."""
    table = Table("way", box=box.SIMPLE_HEAD)
    table.add_column("difference", justify="right")
    table.add_row(f"learn {N_FORGOTTEN} rows more, then forget them", f"{demo.after_forgetting:.1g}")
    table.add_row("learn two halves apart, then add the models", f"{demo.after_merging:.1g}")
    table.add_row("save to a file, then load it", f"{demo.after_loading:.1g}")
    return table


def adding_up(terms: FloatArray, digits: int) -> FloatArray:
    """Numbers rounded so that those shown, down a column, add up to their rounded sum.

    Each is the difference of two rounded running sums, so it is off by less than one unit of the last digit.

    Examples
    --------
    >>> adding_up(np.array([0.4, 0.4, 0.4]), digits=0).tolist()
    [0.0, 1.0, 0.0]
    """
    return np.diff(np.round(np.cumsum(terms, axis=0), digits), axis=0, prepend=0.0)
