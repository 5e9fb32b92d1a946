"""The documents hold together: links lead somewhere, every picture is shown, every erratum is listed."""

import ast
import builtins
import json
import re
import runpy
from pathlib import Path

import pytest

import naively

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
ANALYSIS = ("diagnostics", "drift", "selection", "shift", "thresholds")  # at home in naively.analysis


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
    assert [int(number) for number, _ in rows] == list(range(1, 38))
    assert all("#" in link for _, link in rows)


def test_every_erratum_of_the_notes_has_its_page():
    table = (ROOT / "docs" / "lecture_notes.md").read_text(encoding="utf-8").partition("## 10. Where each page")[2]
    assert {int(number) for number in re.findall(r"\bE(\d+)\b", table)} == set(range(1, 38))


def test_every_section_of_the_course_has_a_page_of_the_notes():
    course = ROOT / "docs" / "lecture_notes.md"
    text, _, table = course.read_text(encoding="utf-8").partition("## 10. Where each page")
    own = {"in-between-a-tree", "drawing-judging-and-completing-rows", "how-sure-of-a-probability"}
    own |= {"the-same-answers-as-scikit-learn", "the-prior-estimated-given-uniform-or-found"}  # beyond the notes
    headings = re.findall(r"^### (.+)$", text, flags=re.MULTILINE)
    sections = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert sections - own == set(re.findall(r"\(#([^)]+)\)", table)) - {"naive-bayes-the-course"}


def test_every_public_name_is_in_the_reference():
    pages = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs" / "api").glob("*.rst")))
    described = set(re.findall(r"^\.\. auto(?:module|class|function):: (\S+)$", pages, flags=re.MULTILINE))
    homes = {f"naively.analysis.{name}": f"naively.{name}" for name in ANALYSIS}
    described = {homes.get(name, name) for name in described}
    public = {f"naively.{name}" for name in dir(naively) if not name.startswith("__")}
    assert public | {"naively.river", "naively.testing", "naively.typing"} <= described


def test_every_method_is_in_the_table_of_the_reference():
    page = (ROOT / "docs" / "api" / "naive_bayes.rst").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   NaiveBayes\.(\w+)$", page, flags=re.MULTILINE))
    public = {name for name in vars(naively.NaiveBayes) if not name.startswith("_")}
    own = {name for name in public if callable(getattr(naively.NaiveBayes, name)) or name.endswith("_")}
    assert {name for name in own if not name.endswith("_request")} == listed


# ---------------------------------------------------------------------- The course as notebooks


def made_of_the_course():
    module = runpy.run_path(str(ROOT / "docs" / "notebooks.py"))
    return module["notebooks"]((ROOT / "docs" / "lecture_notes.md").read_text(encoding="utf-8"))


def code_of(notebook):
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_the_notebooks_are_the_course():
    committed = {
        path.name: json.loads(path.read_text(encoding="utf-8"))
        for path in (ROOT / "docs" / "notebooks").glob("*.ipynb")
    }
    assert committed == made_of_the_course(), "python docs/notebooks.py writes them anew"


def test_the_notebooks_have_every_example_and_are_listed():
    made = made_of_the_course()
    code = "\n".join(line for notebook in made.values() for cell in code_of(notebook) for line in cell.splitlines())
    course = (ROOT / "docs" / "lecture_notes.md").read_text(encoding="utf-8")
    prompts = re.findall(r"^(?:>>>|\.\.\.)(?: (.*))?$", course, flags=re.MULTILINE)
    assert [line for line in code.splitlines() if line.strip()] == [line for line in prompts if line.strip()]
    assert {f"notebooks/{name}" for name in made} <= set(links(ROOT / "docs" / "learn.md"))


@pytest.mark.parametrize("name", sorted(made_of_the_course()))
def test_a_notebook_needs_no_other(name):
    known = set(dir(builtins))
    for cell in code_of(made_of_the_course()[name]):
        tree = ast.parse(cell)
        nodes = list(ast.walk(tree))
        names = [node for node in nodes if isinstance(node, ast.Name)]
        known |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
        known |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        known |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        imports = [alias for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names]
        known |= {(alias.asname or alias.name).partition(".")[0] for alias in imports}
        assert {node.id for node in names} <= known, cell
