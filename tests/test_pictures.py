"""The pictures of the documentation are those that the code draws.

To draw them again after a change: ``NAIVELY_WRITE_PICTURES=1 pytest tests/test_pictures.py``, and look at them.

Text, the number of things drawn and where each of them lies are compared, not bytes: those depend on the versions of
matplotlib and of the libraries below it. A decimal may differ by one in its last digit: the last bits of sums differ
from processor to processor, and a number may lie where it is rounded either way. Under another minor version of
matplotlib than that which drew a picture only its text is compared.
"""

import os
import re
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot

from tests.pictures import PICTURES
from tests.terminal import drawn, printed, words

matplotlib.use("Agg")
HOME = Path(__file__).parents[1] / "docs" / "pictures"
AGAIN = "If that is intended: NAIVELY_WRITE_PICTURES=1 pytest tests/test_pictures.py"
LARGEST = 60_000
NEAR = 2.0
"""How far, in points of a picture some 340 wide, an edge may be from where it was."""

NEAR_OF = {"reliability": 10.0}
"""How far it may be where more moves: "auto" stops weighing where little is gained, at probabilities that differ by
some 2e-4 from processor to processor; one of the 77 rows of a bin may then be in the next, a point 8 points lower."""

STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "naively",
    "font.size": 9,
    "font.sans-serif": ["DejaVu Sans"],
    "path.simplify": True,
    "path.simplify_threshold": 1.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
DRAWN_WITH = ".".join(version("matplotlib").split(".")[:2])


def write(draw, path):
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, "backend": "Agg", **STYLE}):
        fig = draw()
        fig.savefig(path, format="svg", metadata={"Date": None, "Creator": f"matplotlib {DRAWN_WITH}"})
        pyplot.close(fig)
    path.write_text(slim(path.read_text(encoding="utf-8")), encoding="utf-8")


def slim(text):
    """The same picture with coordinates to a tenth of a point, and without the vertices that change nothing."""
    text = re.sub(r'\bd="(M [^"a-zB-KN-Y]*z?\s*)"', lambda match: f'd="{straightened(match[1])}"', text)
    text = re.sub(r'\b(?:d|x|y)="[^"]*"', lambda match: rounded(match[0]), text)
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)


def rounded(text):
    return re.sub(r"-?\d+\.\d+(?:e-?\d+)?", lambda number: f"{float(number[0]):.1f}", text)


def straightened(path):
    """A path of straight lines without the vertices that lie on the line between their neighbours."""
    pieces = []
    for piece in re.findall(r"M[^Mz]*z?", path):
        points = np.array(re.findall(r"-?\d[\d.e-]*", piece), dtype=float).reshape(-1, 2)
        kept = [0]
        for place in range(1, len(points) - 1):
            line, step = points[place + 1] - points[kept[-1]], points[place] - points[kept[-1]]
            if abs(line[0] * step[1] - line[1] * step[0]) > 0.03 * np.hypot(*line) or line @ (line - step) < 0:
                kept.append(place)
        corners = points[[*kept, len(points) - 1]] if len(points) > 1 else points
        line = " L ".join(f"{x:.1f} {y:.1f}" for x, y in corners)
        pieces.append(f"M {line}{' z' if piece.endswith('z') else ''}")
    return " ".join(pieces)


def texts(root):
    return [element.text for element in root.iter() if element.tag.endswith("}text")]


DECIMAL = re.compile(r"\d+\.\d+")


def same_text(new, old):
    """Whether all words are the same, and decimals have as many digits and differ by at most one in the last."""
    new, old = "\n".join(new), "\n".join(old)
    if DECIMAL.sub("", new) != DECIMAL.sub("", old):
        return False
    pairs = zip(DECIMAL.findall(new), DECIMAL.findall(old), strict=True)
    return all(
        len(one.partition(".")[2]) == len(other.partition(".")[2])
        and abs(int(one.replace(".", "")) - int(other.replace(".", ""))) <= 1
        for one, other in pairs
    )


@pytest.mark.parametrize(
    ("new", "old", "same"),
    [
        (["error 0.036", "7 rows"], ["error 0.035", "7 rows"], True),
        (["error 0.037"], ["error 0.035"], False),
        (["error 0.36"], ["error 0.036"], False),
        (["8 rows"], ["7 rows"], False),
        (["error 0.035"], ["loss 0.035"], False),
        (["0.1"], ["0.1", "0.2"], False),
    ],
)
def test_texts_are_the_same_but_for_rounding(new, old, same):
    assert same_text(new, old) is same


def creator(root):
    return next(element[0][0].text for element in root.iter() if element.tag.endswith("}creator"))


def boxes(root):
    """For each thing drawn: what it is, and the box that its coordinates span."""
    found = []
    for element in root.iter():
        kind = element.tag.rpartition("}")[2]
        if kind == "path":
            numbers = np.array(
                [float(number) for number in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", element.get("d", ""))]
            )
            points = numbers[: len(numbers) // 2 * 2].reshape(-1, 2)
            if len(points):
                found.append((kind, *points.min(axis=0), *points.max(axis=0)))
        elif kind in ("use", "image"):
            found.append((kind, *(float(element.get(name, 0)) for name in ("x", "y", "width", "height"))))
    return found


def farthest(before, after):
    """How far the edge of a box has moved at most."""
    return np.abs(np.array([box for _, *box in after]) - np.array([box for _, *box in before])).max()


@pytest.mark.parametrize("draw", PICTURES, ids=lambda draw: draw.__name__)
def test_the_picture_is_what_the_code_draws(draw, tmp_path):
    committed = HOME / f"{draw.__name__}.svg"
    if os.environ.get("NAIVELY_WRITE_PICTURES"):
        HOME.mkdir(exist_ok=True)
        write(draw, committed)
    write(draw, tmp_path / "new.svg")
    assert committed.exists(), f"docs/pictures/{committed.name} is not there. {AGAIN}"
    assert committed.stat().st_size < LARGEST
    old, new = (ElementTree.parse(path).getroot() for path in (committed, tmp_path / "new.svg"))
    assert same_text(texts(new), texts(old)), f"{committed.name}: the text has changed. {AGAIN}"
    assert old.get("viewBox") == new.get("viewBox")
    if creator(old) != creator(new):
        return
    before, after = boxes(old), boxes(new)
    assert [kind for kind, *_ in after] == [kind for kind, *_ in before], f"{committed.name} has other parts. {AGAIN}"
    moved = farthest(before, after)
    assert moved <= NEAR_OF.get(draw.__name__, NEAR), (
        f"{committed.name}: something moved by {moved:.1f} points. {AGAIN}"
    )


def test_the_terminal_shows_what_the_commands_print(tmp_path, monkeypatch):
    committed = HOME.parent / "terminal.svg"
    monkeypatch.chdir(tmp_path)
    now = drawn(printed(tmp_path))
    if os.environ.get("NAIVELY_WRITE_PICTURES"):
        committed.write_text(now, encoding="utf-8")
    assert words(now) == words(committed.read_text(encoding="utf-8")), AGAIN
    assert "http" not in now.replace("http://www.w3.org/2000/svg", "")


def test_no_picture_is_left_over():
    assert {path.stem for path in HOME.glob("*.svg")} == {draw.__name__ for draw in PICTURES}


def test_a_picture_that_differs_is_found(tmp_path):
    def drawing(height):
        def draw():
            fig, ax = pyplot.subplots()
            ax.plot([0, 1, 2], [0, height, 1])
            ax.set_ylim(0, 10)
            return fig

        return draw

    write(drawing(5.0), tmp_path / "a.svg")
    write(drawing(5.0), tmp_path / "b.svg")
    write(drawing(6.0), tmp_path / "c.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    one, other = (
        np.array([box for _, *box in boxes(ElementTree.parse(tmp_path / f"{name}.svg").getroot())]) for name in "ac"
    )
    assert farthest(one, other) > NEAR
