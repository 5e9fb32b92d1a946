"""What a row of the bench finds."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Target:
    """A number that must be reached.

    Parameters
    ----------
    of : str
        What the number is: for example "x scikit-learn", how many times faster we are.
    sense : "at least" or "at most"
    limit, value : float
    """

    of: str
    sense: str
    limit: float
    value: float

    @property
    def met(self) -> bool:
        return self.value >= self.limit if self.sense == "at least" else self.value <= self.limit

    def __str__(self) -> str:
        return f"{self.sense} {self.limit:g} {self.of}: {self.value:.3g}"


def at_least(limit: float, of: str, value: float) -> Target:
    return Target(of, "at least", limit, value)


def at_most(limit: float, of: str, value: float) -> Target:
    return Target(of, "at most", limit, value)


@dataclass(frozen=True)
class Result:
    """One row of the table.

    Parameters
    ----------
    work : str
    ours : float
    peer : float, optional
    peer_name : str
    unit : "s", "MB" or "modules"
    must_move : int, optional
        The bytes that any program must read (and, for answers, write); the floor is the time that takes.
    targets : list of Target
    notes : str
    """

    work: str
    ours: float
    peer: float | None = None
    peer_name: str = ""
    unit: str = "s"
    must_move: int | None = None
    targets: list[Target] = field(default_factory=list)
    notes: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times faster than the peer."""
        return None if self.peer is None else self.peer / self.ours

    @property
    def met(self) -> bool:
        return all(target.met for target in self.targets)

    def floor(self, bandwidth: float) -> float | None:
        return None if self.must_move is None else self.must_move / bandwidth

    def distance(self, bandwidth: float) -> float | None:
        """How many times the floor we take."""
        floor = self.floor(bandwidth)
        return None if floor is None else self.ours / floor

    def as_dict(self, bandwidth: float) -> dict[str, Any]:
        return {
            **asdict(self),
            "targets": [{**asdict(target), "met": target.met} for target in self.targets],
            "ratio": self.ratio,
            "floor": self.floor(bandwidth),
            "distance": self.distance(bandwidth),
            "met": self.met,
        }


def from_dict(found: dict[str, Any]) -> Result:
    """The result that `as_dict` has written."""
    given = {name: found[name] for name in ("work", "ours", "peer", "peer_name", "unit", "must_move", "notes")}
    targets = [Target(one["of"], one["sense"], one["limit"], one["value"]) for one in found["targets"]]
    return Result(**given, targets=targets)


def size(count: int) -> str:
    """A count in short: 1M, 200k, 16."""
    for unit, letter in ((1_000_000, "M"), (1000, "k")):
        if count >= unit:
            return f"{count / unit:.3g}{letter}"
    return str(count)


def duration(time: float | None) -> str:
    """Seconds in a readable unit."""
    if time is None:
        return ""
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")):
        if time >= unit:
            return f"{time / unit:.3g} {name}"
    return "0 s"


def fit_alone(estimates: float) -> str:
    """The note of a row that times `fit`: what it leaves for the first answer."""
    return f"fit alone; the estimates, made at the first answer, take {duration(estimates)} more"
