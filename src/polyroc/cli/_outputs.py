"""Output of a command, to files (checked before any work is done, and whole or not at all) and as text for people."""

import csv
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyroc import ComparedMeasures, Comparison, Evaluation, Measures
from polyroc._lib import files as _write
from polyroc._lib.files import why_not_writable
from polyroc._lib.limits import CLASS_ROWS_PRINTED
from polyroc._lib.numbers import area, area_and_ends, counted, level
from polyroc._lib.text import aligned, short_names, wrapped
from polyroc.cli._files import is_input, quoted_path
from polyroc.cli._messages import CommandError, Messages, one_line, quoted
from polyroc.evaluation._intervals import EvaluationIntervals
from polyroc.evaluation._text import backwards_note

if TYPE_CHECKING:
    from polyroc import Plan
    from polyroc.cli._app import Settings


def write_report(path: Path, summary: Mapping[str, Any]) -> None:
    """The page, whole or not at all."""
    from polyroc.report import render_html

    write_whole(path, render_html(summary).encode("utf-8"))


def say_where(path: Path | None, messages: Messages) -> None:
    """The last line: where the page is."""
    if path is not None:
        messages.note(f"the report is in {quoted_path(str(path))}")


def draw_curve(
    path: Path, evaluation: Evaluation, intervals: EvaluationIntervals | None, confidence_level: float
) -> None:
    """The shared curve, with its band if that needs no resamples of its own."""
    _draw_without_screen()
    from polyroc.display import RocCurveDisplay

    band = None if intervals is None else intervals.confidence_band(confidence_level)
    _save(path, RocCurveDisplay.from_evaluation(evaluation, name=None, band=band).plot())


def draw_plan(path: Path, plan: "Plan") -> None:
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


def write_differences(path: Path, comparison: Comparison) -> None:
    """The differences by both statistics, and by the partial area if it was asked for, below each other."""
    made_by = {"n_resamples": comparison.n_resamples, "seed": comparison.seed}
    rows = [
        {"statistic": one.statistic, **vars(entry), **made_by}
        for one in (comparison.by_auc, comparison.by_hand_till, comparison.by_partial_auc)
        if one is not None
        for entry in one.differences
    ]
    write_whole(path, csv_of(list(rows[0]), [list(row.values()) for row in rows]))


# As many bytes of a file as say what it is; a page names its maker behind its security policy.
_HEAD = 8192
_BEGINNINGS = {".png": b"\x89PNG\r\n\x1a\n", ".pdf": b"%PDF-", ".svg": b"<svg"}


def _is_picture(head: bytes, path: Path) -> bool:
    suffix = path.suffix.lower()
    if suffix == ".svg":
        return head.lstrip().startswith((b"<?xml", b"<svg")) and _BEGINNINGS[suffix] in head
    return head.startswith(_BEGINNINGS[suffix])


class Output(NamedTuple):
    """File that an option writes: its suffixes, and how one that it wrote before is told from others."""

    option: str
    suffixes: tuple[str, ...]
    kind: str
    is_own: Callable[[bytes, Path], bool]
    """By the first bytes of a file."""
    needs: str = ""
    extra: str = ""

    def check(self, path: Path, inputs: Sequence[str], *, force: bool) -> None:
        """Whether this can be made and written there, asked before the work is done; `inputs` are never replaced."""
        suffix, where = path.suffix.lower(), f"{self.option}: {quoted_path(str(path))}"
        if reason := why_not_writable(path):
            raise _refusal(path, reason)
        if suffix not in self.suffixes:
            *firsts, last = [end for end in self.suffixes if end != ".htm"]
            ends = f"{', '.join(firsts)} or {last}" if firsts else last
            raise CommandError(self.option, f"must end in {ends}, got {quoted(path.name)}")
        if self.needs and find_spec(self.needs) is None:
            raise CommandError(self.option, f'needs {self.needs}: pip install "polyroc[{self.extra}]"')
        if is_input(path, inputs):
            raise CommandError(where, "is an input of this command: name another file")
        if path.exists() and not force and not self._wrote(path):
            kind = self.kind.format(suffix.lstrip(".").upper())
            way_out = "name another file, or add `--force` to replace it"
            raise CommandError(where, f"is there already and is not {kind}: {way_out}")

    def _wrote(self, path: Path) -> bool:
        """Whether a file is empty or of this kind; one that cannot be looked at is left alone."""
        try:
            with path.open("rb") as file:
                head = file.read(_HEAD)
        except OSError:
            return False
        return not head or self.is_own(head, path)


# The first columns of the table that `compare --out` writes.
_TABLE = Output(
    "--out", (".csv",), "a table that --out wrote", lambda head, _: head.startswith(b"statistic,first,second,")
)
_PICTURE = Output("--plot", (".png", ".svg", ".pdf"), "a {} picture", _is_picture, "matplotlib", "plot")
_GENERATOR = b'<meta name="generator" content="polyroc '
_PAGE = Output(
    "--report", (".html", ".htm"), "a report of polyroc", lambda head, _: _GENERATOR in head, "jinja2", "report"
)


def check_outputs(settings: "Settings", inputs: Sequence[str]) -> None:
    """Whether all that is wanted can be written; `inputs` are the files that are read."""
    read = [*inputs, *([] if settings.costs is None else [settings.costs])]
    for output, path in ((_TABLE, settings.out), (_PICTURE, settings.plot), (_PAGE, settings.report)):
        if path is not None:
            output.check(path, read, force=settings.force)


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


# Results as text for people: what matters first, and what to do next

# Rows of the table of pairs.
_WORST = 5
# Where nobody looks at a terminal, tables are as wide as they are, and sentences as wide as this.
_WIDE = 200
_SENTENCE = 100
_NAME = 30
# The columns of a table of differences after the names of the two models.
_NUMBERS = 56


def print_evaluation(
    evaluation: Evaluation,
    intervals: EvaluationIntervals | None,
    *,
    title: str,
    confidence_level: float,
    measures: Measures | None,
    hints: Sequence[str],
    max_fpr: float | None = None,
) -> None:
    """D, M, accuracy and the worst pair, what contradicts them, the worst pairs, and what to do next."""
    page = _Page()
    how = "" if intervals is None else f"; {intervals.told}"
    page.say(f"{title}: {evaluation.headline.sized(None if intervals is None else intervals.n_groups)}{how}")
    ends = None if intervals is None else _ends(evaluation, intervals, confidence_level)
    rows = _summary_rows(evaluation, ends, confidence_level)
    if max_fpr is not None:
        rows.append(_partial_row(evaluation, intervals, confidence_level, max_fpr))
    page.table(rows)
    for note in _notes(evaluation, intervals, confidence_level):
        page.say("", note)
    if not evaluation.is_binary:
        page.say(
            "", f"Worst of {len(evaluation.pairs):,} ordered pairs (an effect below 1: harder than the shared curve)"
        )
        page.table(_worst_rows(evaluation))
    if measures is not None:
        page.measures([measures.text_rows()], measures.notes)
    page.hints(hints)


def _ends(evaluation: Evaluation, intervals: EvaluationIntervals, confidence_level: float) -> dict[str, str]:
    """The interval of each number that has one."""
    values = {"D": evaluation.auc, "M": evaluation.hand_till}
    intervals_of = {
        "D": intervals.confidence_interval(confidence_level),
        "M": intervals.confidence_interval(confidence_level, statistic="hand_till"),
    }
    if evaluation.headline.auc_mu is not None and evaluation.mean_auc == evaluation.headline.auc_mu:
        values["AUCmu"] = evaluation.mean_auc
        intervals_of["AUCmu"] = intervals.confidence_interval(confidence_level, statistic="mean_auc")
    if evaluation.accuracy is not None:
        values["accuracy"], intervals_of["accuracy"] = (
            evaluation.accuracy,
            intervals.accuracy_interval(confidence_level),
        )
    ends = {name: area_and_ends(values[name], *one) for name, one in intervals_of.items() if one is not None}
    return {name: f"[{low}, {high}]" for name, (_, low, high) in ends.items()}


def _summary_rows(evaluation: Evaluation, ends: dict[str, str] | None, confidence_level: float) -> list[list[str]]:
    if ends is None:
        return [["", "value", ""], *(list(row) for row in evaluation.headline.rows)]
    header = ["", "value", f"{level(confidence_level)} interval", ""]
    return [header, *([name, value, ends.get(name, ""), what] for name, value, what in evaluation.headline.rows)]


def _partial_row(
    evaluation: Evaluation, intervals: EvaluationIntervals | None, confidence_level: float, max_fpr: float
) -> list[str]:
    value, what = evaluation.partial_auc(max_fpr), f"area of D's curve, FPR up to {max_fpr:g}, standardised"
    if intervals is None:
        return ["partial area", area(value), what]
    ends = intervals.confidence_interval(confidence_level, statistic="partial_auc", max_fpr=max_fpr)
    if ends is None:
        return ["partial area", area(value), "", what]
    told, low, high = area_and_ends(value, *ends)
    return ["partial area", told, f"[{low}, {high}]", what]


def _notes(evaluation: Evaluation, intervals: EvaluationIntervals | None, confidence_level: float) -> list[str]:
    ends = None if intervals is None else intervals.confidence_interval(confidence_level)
    backwards = "" if ends is None else backwards_note(evaluation.auc, ends.low, ends.high)
    return [note for note in (backwards, *evaluation.notes) if note]


def _worst_rows(evaluation: Evaluation) -> list[list[str]]:
    worst = evaluation.hardest(_WORST)
    names = short_names([name for pair, _ in worst for name in (pair.positive, pair.negative)], _NAME)
    rows = [["class", "against", "area", "reversed", "effect", "samples"]]
    for place, (pair, back) in enumerate(worst):
        sizes = f"{pair.n_positive:,} / {pair.n_negative:,}"
        areas = [area(pair.auc), "unknown" if back is None else area(back)]
        rows.append([*names[2 * place : 2 * place + 2], *areas, f"{pair.effect:.2f}", sizes])
    return rows


def print_comparison(
    comparison: Comparison, *, title: str, measures: ComparedMeasures | None, hints: Sequence[str]
) -> None:
    """Which model is best, each model, their differences, and how often each order of them occurred."""
    page, tables = _Page(), comparison.tables
    by = f"; D weighted by {comparison.verdict.weighted_by}, M not" if comparison.verdict.weighted_by else ""
    page.say(
        f"{title}: {counted(len(comparison.models), 'model')} on the same {tables.sizes}; "
        f"{tables.how}, {level(comparison.confidence_level)} intervals{by}"
    )
    verdict, *notes = tables.sentences
    page.say("", verdict, "")
    rows = tables.estimate_rows()
    for part in (
        [rows] if page.has_room_for(rows) else [[row[:5] for row in rows], [[row[0], *row[5:]] for row in rows]]
    ):
        page.table(part)
    room = page.room_for_names(2, _NUMBERS)
    for part in (tables.difference_rows(room), tables.partial_rows(room), tables.ranking_rows()):
        if part:
            page.say("")
            page.table(part)
    for note in notes:
        page.say("", note)
    if measures is not None:
        page.measures([measures.text_rows("estimates"), measures.text_rows("differences")], measures.notes)
    page.hints(hints)


def print_plan(plan: "Plan", *, title: str) -> None:
    """A plan in sentences, and the classes of which most samples are missing."""
    page = _Page()
    page.say(f"{title}: {counted(plan.current.n_samples, 'sample')}", "", plan.text.sentence, "")
    order = np.argsort(-plan.missing, kind="stable")[:CLASS_ROWS_PRINTED].tolist()
    names = short_names([plan.labels[place] for place in order], _NAME)
    rows = [["class", "now", "planned", "missing"]]
    for place, name in zip(order, names, strict=True):
        counts = (plan.current.class_counts, plan.class_counts, plan.missing)
        rows.append([name, *(f"{int(count[place]):,}" for count in counts)])
    page.table(rows)
    if len(plan.labels) > CLASS_ROWS_PRINTED:
        page.say(f"... and {counted(len(plan.labels) - CLASS_ROWS_PRINTED, 'class')} more; --json has them all")


class _Page:
    """Lines on the standard output, none broken inside a word."""

    def __init__(self) -> None:
        from rich.console import Console

        on_terminal = sys.stdout.isatty()
        width = None if on_terminal else _WIDE
        self._console = Console(file=sys.stdout, markup=False, highlight=False, emoji=False, width=width)
        self._width = self._console.width
        self._sentence = min(self._width, _SENTENCE)

    def say(self, *sentences: str) -> None:
        """Sentences, each in lines of its own."""
        for sentence in sentences:
            for line in wrapped(sentence, self._sentence) or [""]:
                self._print(line)

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """A header and rows below it."""
        header, *lines = aligned(rows)
        for line, style in [(header, "bold"), *((line, "") for line in lines)]:
            # A row that is too long goes on below, rather than where the terminal happens to end.
            for piece in [line] if len(line) <= self._width else wrapped(line, self._width):
                self._print(piece, style)

    def measures(self, tables: Sequence[Sequence[Sequence[str]]], notes: Sequence[str]) -> None:
        """All measures, and what is to be known of them."""
        for rows in tables:
            self.say("")
            self.table(rows)
        for note in notes:
            self.say("", note)

    def hints(self, hints: Sequence[str]) -> None:
        """Next steps; commands stay on one line, so that they can be pasted."""
        if hints:
            self.say("", "Next")
            for hint in hints:
                self._print(f"  {hint}")

    def has_room_for(self, rows: Sequence[Sequence[str]]) -> bool:
        return max(map(len, aligned(rows))) <= self._width

    def room_for_names(self, n_names: int, taken: int) -> int:
        """Letters that each of some names may have next to the other columns."""
        return min(_NAME, (self._width - taken) // n_names)

    def _print(self, line: str, style: str = "") -> None:
        from rich.text import Text

        # Text, not str: rich would read [/x] in a name as its markup.
        self._console.print(Text(line, style=style), soft_wrap=True)
