"""What counts as an escape, and what is a refusal as it should be."""

from types import TracebackType
from typing import Any, NamedTuple

import polyroc


class Escape(Exception):  # noqa: N818  # found, and no error of the fuzzer
    """Something that polyroc must never do."""


class Answer(NamedTuple):
    """What a call gave: a result, or the words with which it was refused."""

    result: Any
    refusal: str | None

    @property
    def refused(self) -> bool:
        return self.refusal is not None


def attempt(
    function: Any, /, *args: Any, refusals: tuple[type[Exception], ...] = (polyroc.InputError,), **kwargs: Any
) -> Answer:
    """Call, and let through only what may come: a result, or a refusal in polyroc's own words."""
    try:
        return Answer(function(*args, **kwargs), None)
    except Exception as error:
        wrong = why_no_refusal(error, refusals)
        if wrong is None:
            return Answer(None, str(error))
        msg = f"{wrong}: {_first_line(error)} of {call_text(function, args, kwargs)}"
        raise Escape(msg) from error


def why_no_refusal(error: BaseException, refusals: tuple[type[Exception], ...]) -> str | None:
    """What is wrong with an error as an answer to bad input; None where nothing is."""
    kind = type(error).__name__
    # Not their subclasses: NumPy's AxisError is a ValueError, too.
    if type(error) not in refusals:
        return f"{kind} is no refusal"
    if not _raised_by_polyroc(error.__traceback__):
        return f"{kind} of another package came through"
    text = str(error)
    if not text.strip() or len(text) > 5_000:
        return f"{kind} with a message of {len(text)} characters"
    if "`" not in text:
        return f"{kind} that names no argument"
    return None


def _raised_by_polyroc(trace: TracebackType | None) -> bool:
    module = ""
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        trace = trace.tb_next
    return module.partition(".")[0] == polyroc.__name__


def call_text(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The call as one would type it, shortened."""
    given = [short(value) for value in args] + [f"{name}={short(value)}" for name, value in kwargs.items()]
    return f"{getattr(function, '__name__', 'call')}({', '.join(given)})"


def short(value: Any, longest: int = 120) -> str:
    """A value on one line."""
    try:
        text = " ".join(repr(value).split())
    except Exception as error:
        text = f"<{type(value).__name__} whose repr raises {type(error).__name__}>"
    text = text if len(text) <= longest else f"{text[: longest - 3]}..."
    return text.encode("ascii", "backslashreplace").decode()


def _first_line(error: BaseException) -> str:
    return short(str(error).partition("\n")[0], 200)
