"""The parts of the course as notebooks: ``python docs/notebooks.py`` writes them, a test holds them to the page.

A code cell holds the examples of a block up to one that shows something, and what it shows is the cell's output.
"""

from __future__ import annotations

import doctest
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HOME = Path(__file__).parent
COURSE = HOME / "lecture_notes.md"
FOLDER = HOME / "notebooks"
PAGES = "https://github.com/naively/naively/blob/main/docs"
PICTURES = "https://github.com/naively/naively/raw/main/docs"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def notebooks(page: str) -> dict[str, dict[str, Any]]:
    """The notebook of every part that has code, by the name of its file."""
    found = {}
    for part in re.split(r"^(?=## \d)", page, flags=re.MULTILINE)[1:]:
        number, title = re.match(r"## (\d+)\. (.+)", part).groups()  # type: ignore[union-attr]
        if "```python" in part:
            name = re.sub(r"\W+", "_", title.lower()).strip("_")
            found[f"{number}_{name}.ipynb"] = notebook(part)
    return found


def notebook(part: str) -> dict[str, Any]:
    """One part of the course in the format of Jupyter, 4.4."""
    cells = [prose(f"*A part of [the course]({PAGES}/{COURSE.name}); it needs `pip install 'naively[plots]' pandas`.*")]
    for text, block in re.findall(r"(.*?)(?:^```python\n(.*?)^```\n|\Z)", part, flags=re.MULTILINE | re.DOTALL):
        cells += [prose(section) for section in re.split(r"^(?=##)", text, flags=re.MULTILINE) if section.strip()]
        cells += code(block)
    return {"cells": cells, "metadata": {"kernelspec": KERNEL}, "nbformat": 4, "nbformat_minor": 4}


def prose(text: str) -> dict[str, Any]:
    """A cell of text, whose links lead to the pages wherever the notebook is."""
    text = re.sub(r"(!\[[^]]*\])\((?!http)([^)\s]+)\)", rf"\1({PICTURES}/\2)", text)
    text = re.sub(r"\]\((#[^)\s]+)\)", rf"]({PAGES}/{COURSE.name}\1)", text)
    text = re.sub(r"\]\((?!http)([^)\s]+)\)", rf"]({PAGES}/\1)", text)
    return {"cell_type": "markdown", "metadata": {}, "source": text.strip().splitlines(keepends=True)}


def code(block: str) -> Iterator[dict[str, Any]]:
    """The cells of a block."""
    sources: list[str] = []
    examples = doctest.DocTestParser().get_examples(block)
    for place, example in enumerate(examples):
        sources.append(example.source)
        if example.want or place == len(examples) - 1:
            raises = {"tags": ["raises-exception"]} if example.exc_msg else {}
            output = {"output_type": "stream", "name": "stdout", "text": example.want.splitlines(keepends=True)}
            yield {
                "cell_type": "code",
                "execution_count": None,
                "metadata": raises,
                "outputs": [output] if example.want else [],
                "source": "".join(sources).strip().splitlines(keepends=True),
            }
            sources = []


def main() -> None:
    """Write them all, and nothing else into their folder."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.ipynb"):
        old.unlink()
    for name, one in notebooks(COURSE.read_text(encoding="utf-8")).items():
        (FOLDER / name).write_text(json.dumps(one, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
