"""Fail if a link of the built site leads to no file, or to no place in it.

Usage: check_links.py DIRECTORY, which holds the HTML. Links to other hosts are not followed.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The places of a page that can be led to, and what it leads to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of ids, names, links and sources."""
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.places.add(value or "")
            elif name in ("href", "src") and value:
                self.links.append(value)


def dead(pages: dict[Path, Page], path: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    found = []
    for link in pages[path].links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        target = target / "index.html" if target.is_dir() else target
        place = unquote(parts.fragment)
        if not target.exists() or (place and target in pages and place not in pages[target].places):
            found.append(link)
    return found


def main() -> None:
    """Look at every page."""
    root = Path(sys.argv[1]).resolve()
    found = sorted(path for path in root.rglob("*.html") if "_static" not in path.parts)  # the theme's templates
    pages = {path: Page(path) for path in found}
    wrong = [f"{path.relative_to(root)}: {link}" for path in pages for link in dead(pages, path)]
    if wrong or not pages:
        sys.exit("\n".join(["Links that lead nowhere:", *wrong]))
    print(f"{sum(len(page.links) for page in pages.values()):,} links of {len(pages)} pages lead somewhere.")


if __name__ == "__main__":
    main()
