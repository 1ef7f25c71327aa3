"""Run one case: whatever happens, it ends as None or as what escaped."""

import os
import shutil
import signal
import tempfile
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from fuzz import _areas
from fuzz._case import Attempt, Case
from fuzz._escape import Escape
from fuzz._guard import GUARD

# No case has much to do. The first ones wait for numba, which compiles for half a minute where nothing is on disk.
LIMIT = 90.0


@dataclass(frozen=True)
class Found:
    """An escape: of which case, what, and where in the code."""

    case: Case
    what: str
    trace: str = ""


class _Hang(BaseException):
    """Raised by the alarm; no `except Exception` swallows it."""


def run_case(case: Case, folder: Path, limit: float = LIMIT) -> Found | None:
    """Try a case inside a new folder below `folder`, which is gone afterwards."""
    work = _areas.work_of(case)
    try:
        with _own_folder(folder) as own, GUARD.watching(own), _alarm(limit), _nothing_left_behind(), _silence():
            work(Attempt(case.rng, own))
    except _Hang:
        return Found(case, f"a hang: not done after {limit:g} seconds", traceback.format_exc())
    except Escape as escape:
        return Found(case, str(escape), traceback.format_exc())
    except Exception as error:
        return Found(case, f"{type(error).__name__}: {error}", traceback.format_exc())
    if GUARD.found:  # where polyroc took the guard's refusal for one of the system's
        return Found(case, f"polyroc {GUARD.found[0]}")
    return None


@contextmanager
def _own_folder(folder: Path) -> Iterator[Path]:
    """An empty current folder, where temporary files go as well."""
    before, temporary = Path.cwd(), tempfile.tempdir
    own = folder / "case"
    own.mkdir(exist_ok=True)
    os.chdir(own)
    tempfile.tempdir = str(own)
    try:
        yield own
    finally:
        tempfile.tempdir = temporary
        os.chdir(before)
        if any(own.iterdir()):  # made anew only where it must be: most cases write nothing
            shutil.rmtree(own)


@contextmanager
def _alarm(limit: float) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(*_: Any) -> None:
        raise _Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _nothing_left_behind() -> Iterator[None]:
    """Filters of warnings and NumPy's error state stay as they are, and only polyroc's kinds of warnings are heard."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        filters, show, state = list(warnings.filters), warnings.showwarning, np.geterr()
        yield
        if list(warnings.filters) != filters:
            msg = f"a filter of warnings is left behind: {[one for one in warnings.filters if one not in filters]}"
            raise Escape(msg)
        if warnings.showwarning is not show:
            msg = "warnings.showwarning is left replaced"
            raise Escape(msg)
        if np.geterr() != state:
            msg = f"np.seterr is left as {np.geterr()}"
            raise Escape(msg)
    # polyroc's own are UserWarnings; a RuntimeWarning is NumPy's word for a number that went wrong.
    if strange := [one for one in heard if not issubclass(one.category, UserWarning) and _is_of_polyroc(one)]:
        msg = f"{strange[0].category.__name__}: {strange[0].message} ({Path(strange[0].filename).name})"
        raise Escape(msg)


@contextmanager
def _silence() -> Iterator[None]:
    """Computations print nothing; what goes to the standard error, such as bars, is not looked at."""
    with redirect_stdout(StringIO()) as printed, redirect_stderr(StringIO()):
        yield
    if printed.getvalue():
        msg = f"something was printed: {printed.getvalue()[:100]!r}"
        raise Escape(msg)


def _is_of_polyroc(warning: warnings.WarningMessage) -> bool:
    # Those of other packages about themselves are no fault of polyroc's, but for NumPy's about numbers.
    return issubclass(warning.category, RuntimeWarning) or "polyroc" in Path(warning.filename).parts
