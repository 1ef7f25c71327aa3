"""What a command writes: checked before any work is done, then written whole or not at all."""

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from polyroc import Evaluation, Plan
from polyroc._lib import files as _write
from polyroc._lib.files import why_not_writable
from polyroc.cli._files import is_input, quoted_path
from polyroc.cli._messages import Messages
from polyroc.cli._plain import CommandError, one_line, quoted
from polyroc.cli._settings import Settings
from polyroc.evaluation._intervals import EvaluationIntervals

_PAGES = ("html", "htm")


def check_report(path: Path) -> None:
    """Whether such a page can be made and written, asked before the work is done."""
    if path.suffix.lower().lstrip(".") not in _PAGES:
        msg = f"--report must end in .html, got {quoted(path.name)}"
        raise CommandError(msg)
    if find_spec("jinja2") is None:
        msg = '--report needs jinja2: pip install "polyroc[report]"'
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


def check_plot(path: Path) -> None:
    """Whether such a picture can be drawn and written, asked before the work is done."""
    if path.suffix.lower() not in _PICTURES:
        msg = f"--plot must end in .png, .svg or .pdf, got {quoted(path.name)}"
        raise CommandError(msg)
    if find_spec("matplotlib") is None:
        msg = '--plot needs matplotlib: pip install "polyroc[plot]"'
        raise CommandError(msg)
    check_writable(path)


def draw_curve(
    path: Path, evaluation: Evaluation, intervals: EvaluationIntervals | None, confidence_level: float
) -> None:
    """The shared curve, with its band if that needs no resamples of its own."""
    _draw_without_screen()
    from polyroc.display import RocCurveDisplay

    band = None if intervals is None else intervals.confidence_band(confidence_level)
    _save(path, RocCurveDisplay.from_evaluation(evaluation, name=None, band=band).plot())


def draw_plan(path: Path, plan: Plan) -> None:
    """Half width or power against the number of samples."""
    _draw_without_screen()
    _save(path, plan.plot())


def _draw_without_screen() -> None:
    # Only to a file: no screen is needed, nor looked for.
    os.environ["MPLBACKEND"] = "agg"


def _save(path: Path, display: Any) -> None:
    file = BytesIO()
    display.figure_.savefig(file, format=path.suffix.lower().lstrip("."), dpi=150)
    write_whole(path, file.getvalue())


# What makes a spreadsheet take a cell for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def check_writable(path: Path) -> None:
    """Whether a file can be written there, asked before the work is done."""
    if reason := why_not_writable(path):
        raise _refusal(path, reason)


def write_whole(path: Path, content: bytes) -> None:
    """As the library does it, with one line where it cannot be done."""
    with said_of(path):
        _write.write_whole(path, content)


@contextmanager
def said_of(path: Path) -> Iterator[None]:
    """While it lasts, a full disk and its like are said in one line, of this path."""
    try:
        yield
    except OSError as error:
        raise _refusal(path, error.strerror or str(error)) from error


def _refusal(path: Path, reason: str) -> CommandError:
    return CommandError(f"{quoted_path(str(path))} cannot be written: {one_line(reason)}")


def csv_of(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """A table as UTF-8 text that no spreadsheet runs."""
    file = StringIO(newline="")
    # RFC 4180. With a plain line feed, Python would not quote a carriage return, and some take it for a new row.
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow([_cell(name) for name in header])
    writer.writerows([_cell(value) for value in row] for row in rows)
    return file.getvalue().encode("utf-8", errors="backslashreplace")


def _cell(value: Any) -> Any:
    """Text that begins like a formula gets a quote before it, which spreadsheets do not show."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


# As many bytes of a file as say what it is; a page names its maker behind its security policy.
_HEAD = 8192
# The first columns of the table that `compare --out` writes.
_TABLE = b"statistic,first,second,"
_PAGE = b'<meta name="generator" content="polyroc '
_PICTURES = {".png": b"\x89PNG\r\n\x1a\n", ".pdf": b"%PDF-", ".svg": b"<svg"}


def check_outputs(settings: Settings, inputs: Sequence[str]) -> None:
    """Whether all that is wanted can be written; `inputs` are the files that are read."""
    if settings.out is not None:
        _check_table(settings.out)
    if settings.plot is not None:
        check_plot(settings.plot)
    if settings.report is not None:
        check_report(settings.report)
    wanted = {"--out": settings.out, "--plot": settings.plot, "--report": settings.report}
    read = [*inputs, *([] if settings.costs is None else [settings.costs])]
    for option, path in wanted.items():
        if path is not None:
            _check_replaced(option, path, read, force=settings.force)


def _check_table(path: Path) -> None:
    check_writable(path)
    if path.suffix.lower() != ".csv":
        msg = f"--out must end in .csv, got {quoted(path.name)}"
        raise CommandError(msg)


def _check_replaced(option: str, path: Path, inputs: Sequence[str], *, force: bool) -> None:
    what = {"--out": "a table that --out wrote", "--report": "a report of polyroc"}
    kind = what.get(option, f"a {path.suffix.lower().lstrip('.').upper()} picture")
    check_replaced(option, path, inputs, force=force, kind=kind, is_of_kind=partial(_is_of_kind, option))


def check_replaced(
    option: str, path: Path, inputs: Sequence[str], *, force: bool, kind: str, is_of_kind: Callable[[Path], bool]
) -> None:
    """Refuse to replace an input, and without `force` whatever is not of the kind that would be written there."""
    if is_input(path, inputs):
        msg = f"{option}: {quoted_path(str(path))} is an input of this command: name another file"
        raise CommandError(msg)
    if path.exists() and not force and not is_of_kind(path):
        msg = (
            f"{option}: {quoted_path(str(path))} is there already and is not {kind}: name another file, or add "
            "`--force` to replace it"
        )
        raise CommandError(msg)


def _is_of_kind(option: str, path: Path) -> bool:
    """Whether a file is empty, or what the option itself would have written there."""
    head = head_of(path)
    if head is None:
        return False
    if not head:
        return True
    if option == "--out":
        return head.startswith(_TABLE)
    if option == "--report":
        return _PAGE in head
    suffix = path.suffix.lower()
    if suffix == ".svg":
        return head.lstrip().startswith((b"<?xml", b"<svg")) and _PICTURES[suffix] in head
    return head.startswith(_PICTURES[suffix])


def head_of(path: Path) -> bytes | None:
    """The first bytes of a file; None where it cannot be looked at, and so is left alone."""
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        return None


def as_json(summary: dict[str, Any]) -> str:
    """Lists of numbers and names on one line, everything else indented; nothing beyond ASCII.

    >>> print(as_json({"auc": 0.75, "curve": {"fpr": [0, 0.5, 1]}}))
    {
      "auc": 0.75,
      "curve": {
        "fpr": [0, 0.5, 1]
      }
    }
    """
    return _written(summary, 0)


def _written(value: Any, depth: int) -> str:
    entries: list[str]
    if isinstance(value, dict) and value:
        entries = [f"{json.dumps(str(key))}: {_written(entry, depth + 1)}" for key, entry in value.items()]
        ends = "{}"
    elif isinstance(value, list) and any(isinstance(entry, dict | list) for entry in value):
        entries = [_written(entry, depth + 1) for entry in value]
        ends = "[]"
    else:
        return json.dumps(value, allow_nan=False)
    inside = ",\n".join(f"{'  ' * (depth + 1)}{entry}" for entry in entries)
    return f"{ends[0]}\n{inside}\n{'  ' * depth}{ends[1]}"
