"""What is about to be written, asked before the work is done: never over an input, nor over what is of another kind."""

from collections.abc import Sequence
from pathlib import Path

from polyroc.cli._files import quoted_path
from polyroc.cli._inputs import is_input
from polyroc.cli._plain import CommandError, quoted
from polyroc.cli._plot import check_plot
from polyroc.cli._report import check_report
from polyroc.cli._settings import Settings
from polyroc.cli._write import check_writable

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
    if is_input(path, inputs):
        msg = f"{option}: {quoted_path(str(path))} is an input of this command: name another file"
        raise CommandError(msg)
    if path.exists() and not force and not _is_of_kind(option, path):
        what = {"--out": "a table that --out wrote", "--report": "a report of polyroc"}
        kind = what.get(option, f"a {path.suffix.lower().lstrip('.').upper()} picture")
        msg = (
            f"{option}: {quoted_path(str(path))} is there already and is not {kind}: name another file, or add --force "
            "to replace it"
        )
        raise CommandError(msg)


def _is_of_kind(option: str, path: Path) -> bool:
    """Whether a file is empty, or what the option itself would have written there."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:  # what cannot be looked at is left alone
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
