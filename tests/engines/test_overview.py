"""The page on engines says what the registry says."""

from naively.engines._registry import SOURCES
from naively.statistics._registry import STATISTICS
from tests.engines.overview import KEPT, PAGE, REASONS, counted_there, overview


def test_the_page_on_engines_is_up_to_date() -> None:
    assert PAGE.read_text() == overview(), "run python -m tests.engines.overview"


def test_every_gap_has_a_reason() -> None:
    assert set(REASONS) == {*STATISTICS, KEPT}
    for source in SOURCES:
        assert counted_there(source) <= set(REASONS)
