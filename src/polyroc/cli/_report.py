"""A result as a page in a file."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from polyroc.cli._files import quoted_path
from polyroc.cli._messages import Messages
from polyroc.cli._plain import CommandError, quoted
from polyroc.cli._write import check_writable, write_whole

_KINDS = ("html", "htm")


def check_report(path: Path) -> None:
    """Whether such a page can be made and written, asked before the work is done."""
    if path.suffix.lower().lstrip(".") not in _KINDS:
        msg = f"--report must end in .html, got {quoted(path.name)}"
        raise CommandError(msg)
    for package in ("jinja2", "plotly"):
        if find_spec(package) is None:
            msg = f'--report needs {package}: pip install "polyroc[report]"'
            raise CommandError(msg)
    check_writable(path)


def write_report(path: Path, summary: Mapping[str, Any]) -> None:
    """The page, whole or not at all."""
    from polyroc.report import render_html

    write_whole(path, render_html(summary).encode("utf-8"))


def say_where(path: Path | None, messages: Messages) -> None:
    """The last line: where the page is."""
    if path is not None:
        messages.note(f"the report is in {quoted_path(str(path))}")
