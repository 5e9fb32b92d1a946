"""The documents hold together: links lead somewhere, every picture is shown, every erratum is listed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def prose(document):
    """The text without its code."""
    return re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def links(document):
    return re.findall(r"\]\(([^)\s]+)\)", prose(document))


def anchors(document):
    """The headings as GitHub names them in links."""
    headings = re.findall(r"^#+ (.+)$", prose(document), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document):
    for link in links(document):
        if re.match(r"https?:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_picture_is_shown():
    shown = {Path(link).name for document in DOCUMENTS for link in links(document) if link.endswith(".svg")}
    drawn = {path.name for path in (ROOT / "docs").rglob("*.svg")}
    assert drawn <= shown


def test_every_erratum_is_listed_with_its_check():
    rows = re.findall(r"^\| E(\d+) \|.*\]\(([^)\s]+)\)[^|]*\|$", prose(ROOT / "docs" / "errata.md"), flags=re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 34))
    assert all("#" in link for _, link in rows)
