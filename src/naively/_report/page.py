"""The page: what the contract holds, put into the template."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from naively._report.contract import contract
from naively._report.sources import Sources
from naively.errors import ParameterError
from naively.typing import PathLike

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes

UNSAFE = "<>&\u2028\u2029"
"""What could end a script element, or a line of one."""


def write_report(model: NaiveBayes, path: PathLike, data: Any, row: Any, title: str | None) -> Path:
    """Write the report of a model of one state; `NaiveBayes.report` says what the parameters are."""
    if title is not None and not isinstance(title, str):
        raise ParameterError(f"report(title) must be a text, got {title!r}.")
    page = rendered(contract(Sources(model, data, row), title or "Naive Bayes model"))
    path = Path(path)
    path.write_text(page, encoding="utf-8", errors="replace")
    return path


def rendered(told: dict[str, Any]) -> str:
    """The page of a contract."""
    try:
        import jinja2
    except ImportError as error:
        raise ImportError("Reports need Jinja2: pip install 'naively[report]'.") from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("naively._report"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    template = environment.get_template("report.html")
    return template.render(title=told["title"], data=as_script(told))


def as_script(told: dict[str, Any]) -> str:
    r"""A contract as JSON that cannot end the element that it stands in.

    Examples
    --------
    >>> as_script({"a": "</script>"})
    '{"a":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in UNSAFE:
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
