"""The command line: arguments -> evaluate or compare -> text, JSON or a picture."""

import sys
import traceback
from collections.abc import Sequence

from polyroc.cli._messages import replace_closed_error, silence_broken

__all__ = ["main", "run"]

# As shells count them: 128 and the number of the signal.
_INTERRUPTED = 130
_BROKEN_PIPE = 141
# What the extra `cli` brings.
_PACKAGES = ("typer", "rich", "pyarrow", "click")


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the arguments say.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the name of the program; by default those of the process.

    Returns
    -------
    int
        0 on success, 2 on bad input and where output cannot be written, 130 after an interrupt, 141 where the reader
        of the output has gone, 1 where polyroc itself is wrong.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    replace_closed_error()
    try:
        return _guarded(arguments)
    except KeyboardInterrupt:
        sys.stderr.write("\npolyroc: interrupted\n")
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has had enough. Python would complain again when it closes the stream.
        sys.stdout = sys.__stdout__
        silence_broken()
        return _BROKEN_PIPE


def run() -> None:
    """The console script."""
    sys.exit(main())


def _guarded(arguments: list[str]) -> int:
    """Every ending but an interrupt, as an exit code and at most one line."""
    _replace_what_a_stream_cannot_write()
    if sys.stdout is None:
        return _said("standard output is closed: send it to a file, a pipe or a terminal")
    try:
        import typer

        from polyroc.cli._app import app
    except ModuleNotFoundError as missing:
        return _explained(missing)
    try:
        code = app(arguments, prog_name="polyroc", standalone_mode=False)
        sys.stdout.flush()
    except typer.Abort as abort:  # typer's word for an interrupt, in older versions
        raise KeyboardInterrupt from abort
    except SystemExit as end:
        # Typer ends so on a broken pipe, and after shell completion.
        if isinstance(end.__context__, BrokenPipeError):
            raise end.__context__ from end
        return end.code if isinstance(end.code, int) else 0
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except Exception as problem:
        if "--debug" in arguments:
            traceback.print_exc()
        return _explained(problem)
    if code == _INTERRUPTED:
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def _explained(problem: Exception) -> int:
    from polyroc.cli._messages import in_options

    if hasattr(problem, "format_message"):  # click's errors about arguments, from click itself or from typer's copy
        text = problem.format_message()
        asked = getattr(getattr(problem, "ctx", None), "command_path", "polyroc")
        return _said(f"{text.rstrip('.') or 'no command'}. Try '{asked} --help'.")
    if isinstance(problem, ModuleNotFoundError) and (problem.name or "").partition(".")[0] in _PACKAGES:
        return _said(f'the command line needs {problem.name}: pip install "polyroc[cli]"')
    if isinstance(problem, ValueError | ModuleNotFoundError):  # the library's words for what it cannot use
        return _said(in_options(problem))
    if isinstance(problem, MemoryError):
        return _said(in_options(problem) or "there is not enough memory for this")
    if isinstance(problem, OSError) and problem.errno is not None:  # what the system refuses, a full disk above all
        return _said(_of_system(problem))
    _said(f"unexpected {type(problem).__name__}: {problem}. This is a bug of polyroc; --debug shows where.")
    return 1


def _of_system(problem: OSError) -> str:
    silence_broken()
    reason = problem.strerror or str(problem)
    if isinstance(problem.filename, str):
        return f"'{problem.filename}' cannot be read or written: {reason}"
    # Inputs and files that are written have their own words, so that this is the standard output or a cache.
    return f"output cannot be written: {reason}"


def _said(text: str) -> int:
    """One line on the standard error, and the exit code of what the user can put right."""
    from polyroc.cli._messages import error

    error(text)
    return 2


def _replace_what_a_stream_cannot_write() -> None:
    """A terminal of another encoding than UTF-8 gets escapes for what it lacks, and no crash."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
