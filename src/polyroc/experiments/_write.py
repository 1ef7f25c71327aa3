"""Outcome -> files: tables, claims and figures."""

import csv
from collections.abc import Iterable, Sequence
from io import BytesIO, StringIO
from os import PathLike
from pathlib import Path
from typing import Any

from polyroc._containers import one_line
from polyroc._write import write_whole
from polyroc.experiments._outcome import Outcome
from polyroc.experiments._reproduce import draw

_CLAIMS = ("claim", "measured", "holds")


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
    >>> from polyroc.experiments import reproduce, write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = write(reproduce("coverage", quick=True), folder)
    >>> [path.name for path in paths]
    ['coverage.csv', 'claims.csv', 'claims.md', 'coverage.png', 'coverage.svg']
    """
    into = made_folder(Path(folder) / outcome.name)
    claims = [[claim.text, claim.measured, _yes(claim.holds)] for claim in outcome.claims]
    files = {f"{table.name}.csv": _csv(table.header, table.rows) for table in outcome.tables}
    files["claims.csv"] = _csv(_CLAIMS, claims)
    files["claims.md"] = claims_page([outcome]).encode()
    for name, figure in draw(outcome).items():
        files |= {f"{name}.{kind}": _picture(figure, kind) for kind in ("png", "svg")}
    paths = [into / name for name in files]
    for path, content in zip(paths, files.values(), strict=True):
        write_whole(path, content)
    return paths


def made_folder(path: Path) -> Path:
    """The folder, made if need be; a ValueError where that cannot be done."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"`folder` must be a folder that can be written, got '{one_line(path, 200)}': {error.strerror}."
        raise ValueError(msg) from error
    return path


def claims_page(outcomes: Iterable[Outcome]) -> str:
    """What was claimed, what was measured, and whether it holds, as Markdown."""
    lines = []
    for outcome in outcomes:
        lines += [f"## {outcome.title}", "", f"`polyroc reproduce {outcome.name}`", ""]
        lines += ["| claim | measured | holds |", "| --- | --- | --- |"]
        lines += [f"| {_cell(c.text)} | {_cell(c.measured)} | {_yes(c.holds)} |" for c in outcome.claims]
        lines += ["", *(f"- {_cell(note)}" for note in outcome.notes), *([""] if outcome.notes else [])]
    return "\n".join(lines)


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def _cell(text: str) -> str:
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
