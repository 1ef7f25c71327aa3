"""Outcome -> files: tables, claims and figures."""

import csv
from collections.abc import Iterable, Sequence
from io import BytesIO, StringIO
from os import PathLike
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from experiments._outcome import Outcome
from experiments._reproduce import draw
from polyroc._inputs.checks import InputError, one_line
from polyroc._lib.files import write_whole

_CLAIMS = ("claim", "measured", "holds", "judged by")


def write(outcome: Outcome, folder: str | PathLike[str]) -> list[Path]:
    """Write everything that an experiment found into a folder of its name.

    Parameters
    ----------
    outcome : Outcome
        What `reproduce` found.
    folder : path
        Where the folder goes; made if it is not there.

    Returns
    -------
    list of Path
        The files: a CSV file per table (numbers to 8 significant digits), ``claims.csv`` and ``claims.md``, and each
        figure as PNG and SVG.

    Examples
    --------
    >>> import tempfile
    >>> from experiments import reproduce, write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = write(reproduce("coverage", quick=True), folder)
    >>> [path.name for path in paths]
    ['coverage.csv', 'printed_intervals.csv', 'claims.csv', 'claims.md', 'coverage.png', 'coverage.svg']
    """
    into = made_folder(Path(folder) / outcome.name)
    claims = [[claim.text, claim.measured, _yes(claim.holds), claim.judged_by] for claim in outcome.claims]
    files = {f"{table.name}.csv": _csv(table.header, table.rows) for table in outcome.tables}
    files["claims.csv"] = _csv(_CLAIMS, claims)
    files["claims.md"] = claims_page([outcome]).encode()
    paths = _written(into, files)
    # Last: if a picture cannot be drawn, the numbers are there.
    drawn = draw(outcome)
    pictures = {f"{name}.{kind}": _picture(figure, kind) for name, figure in drawn.items() for kind in ("png", "svg")}
    return paths + _written(into, pictures)


def _written(folder: Path, files: dict[str, bytes]) -> list[Path]:
    for name, content in files.items():
        write_whole(folder / name, content)
    return [folder / name for name in files]


def made_folder(path: Path) -> Path:
    """The folder, made if need be, and tried; a ValueError where nothing can be written there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise InputError(
            "folder", "must be a folder that can be written", f"'{one_line(path, 200)}'", hint=f": {error.strerror}"
        ) from error
    return path


def claims_page(outcomes: Iterable[Outcome]) -> str:
    """What was claimed, what was measured, and whether it holds, as Markdown."""
    lines = []
    for outcome in outcomes:
        lines += [f"## {outcome.title}", "", f"`python -m experiments {outcome.name}`", ""]
        lines += [f"| {' | '.join(_CLAIMS)} |", "| --- | --- | --- | --- |"]
        for claim in outcome.claims:
            cells = (as_cell(claim.text), as_cell(claim.measured), _yes(claim.holds), as_cell(claim.judged_by))
            lines.append(f"| {' | '.join(cells)} |")
        lines += ["", *(f"- {as_cell(note)}" for note in outcome.notes), *([""] if outcome.notes else [])]
    return "\n".join(lines)


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def as_cell(text: str) -> str:
    """Text in a table of Markdown, without markup of its own."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace(">", "&gt;")


def _csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    file = StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([[_plain(value) for value in row] for row in rows])
    return file.getvalue().encode()


def _plain(value: Any) -> Any:
    """Numbers to 8 digits: more would differ between machines."""
    return f"{value:.8g}" if isinstance(value, float) else value


def _picture(figure: Any, kind: str) -> bytes:
    from matplotlib import rc_context

    file = BytesIO()
    # No dates, versions or random names: the same numbers give the same file.
    metadata = {"png": {"Software": None}, "svg": {"Date": None}}[kind]
    with rc_context({"svg.hashsalt": "polyroc", "svg.fonttype": "path"}):
        figure.savefig(file, format=kind, dpi=130, metadata=metadata)
    return file.getvalue()
