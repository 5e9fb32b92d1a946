"""The table of engines in docs/engines.md, made from the registry: ``python -m tests.engines.overview`` writes it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from naively.engines._registry import ENGINES, SOURCES
from naively.engines.base import Source
from naively.families import FAMILIES
from naively.recipes import RECIPES, Recipe
from naively.statistics._registry import STATISTICS

PAGE = Path(__file__).parents[2] / "docs" / "engines.md"

KEPT = "kept rows"

REASONS = {
    "moments": "sums of numbers and of their squares",
    "counts": "how often each label occurs",
    "histogram": "its cells follow the numbers as they come, and a GROUP BY would have to know them before",
    "calendar": "months, weekdays and hours are taken from dates here, by one rule for all time zones",
    "joint": "sums over combinations of several columns and products of numbers, which no plan asks for yet",
    "tokens": "texts are cut into tokens by rules of this package, which a database does not have",
    KEPT: "rows are chosen by a hash of all their cells, which is that of this package",
}
"""What a kind of statistics is, or why it is no sum that a query gives."""

INTRODUCTION = """# The table of engines

Every recipe and every family works with every source of rows. What differs is where the sums are made: **in memory**,
by the local kernels; **there**, where the rows are, so that only sums travel; or **here**, piece by piece, with the
same local kernels, so that rows travel but never more than fit in memory. This page is made from the registry of
engines; a test makes it again and compares.

"""


def overview() -> str:
    """The whole page."""
    parts = [INTRODUCTION, "## What reads what\n\n", _engines(), "\n## By recipe\n\n", _by_recipe()]
    parts += ["\n## By family\n\n", _by_family(), "\n## Gaps, and why\n\n", _gaps()]
    return "".join(parts)


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    header = list(header)
    lines = [header, ["---"] * len(header), *map(list, rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _engines() -> str:
    rows = [[f"`{engine.name}`", engine.sources, "in memory"] for engine in ENGINES.values()]
    for source in SOURCES:
        there = ", ".join(sorted(source.counts_there)) + (", " + KEPT if source.keeps_rows_there else "")
        rows.append([f"`{source.name}`", source.sources, there or "nothing: rows are counted here"])
    return _table(["engine", "rows", "added up there"], rows)


def _by_recipe() -> str:
    kinds = {name: _kinds_of_recipe(recipe) for name, recipe in RECIPES.items()}
    return _matrix({f'"{name}"': needed for name, needed in kinds.items()}, "recipe, with its own families (no prose)")


def _kinds_of_recipe(recipe: Recipe) -> set[str]:
    kinds = {summary.kind for family in (recipe.numeric, recipe.categorical) for summary in family.summaries}
    return kinds | ({KEPT} if recipe.kept_rows else set())


def _by_family() -> str:
    kinds = {f"`{name}`": {summary.kind for summary in family().summaries} for name, family in FAMILIES.items()}
    return _matrix(kinds, "family, in the recipe textbook")


def _matrix(needed: dict[str, set[str]], what: str) -> str:
    header = [what, "needs", *(f"`{engine.name}`" for engine in ENGINES.values())]
    header += [f"`{source.name}`" for source in SOURCES]
    rows = []
    for name, kinds in needed.items():
        counted = ["in memory" if kinds - {KEPT} <= engine.kinds else "no" for engine in ENGINES.values()]
        rows.append([name, ", ".join(sorted(kinds)), *counted, *(_where(source, kinds) for source in SOURCES)])
    return _table(header, rows)


def counted_there(source: type[Source]) -> set[str]:
    """All that a source adds up where its rows are."""
    return {*source.counts_there, *({KEPT} if source.keeps_rows_there else ())}


def _where(source: type[Source], kinds: set[str]) -> str:
    return "there" if kinds <= counted_there(source) else "here"


def _gaps() -> str:
    rows = []
    for source in SOURCES:
        there = counted_there(source)
        if not there:
            rows.append(
                [
                    f"`{source.name}`",
                    "all",
                    "the rows have to be read in any case, and the local kernels count them fastest",
                ]
            )
        rows += [
            [f"`{source.name}`", kind, REASONS[kind]] for kind in (*STATISTICS, KEPT) if there and kind not in there
        ]
    return _table(["engine", "counted here", "because"], rows)


if __name__ == "__main__":
    PAGE.write_text(overview())
