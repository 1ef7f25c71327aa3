"""The areas by name, each with its share of the time."""

from collections.abc import Callable
from importlib import import_module

from fuzz._case import CORPUS, Attempt, Case

# Areas of many quick cases get more of it than those whose cases take long.
SHARES = {"numeric": 3.0, "containers": 2.0, "arguments": 2.0, "resampling": 2.0, "files": 2.0}


def work_of(case: Case) -> Callable[[Attempt], None]:
    """The function that tries a case."""
    if case.area == CORPUS:
        from fuzz._corpus import CASES

        if case.number not in CASES:
            msg = f"the corpus has no case {case.number!r}; it has {', '.join(CASES)}"
            raise ValueError(msg)
        work: Callable[[Attempt], None] = CASES[str(case.number)]
        return work
    if case.area not in SHARES:
        msg = f"there is no area {case.area!r}; there are {', '.join([CORPUS, *SHARES])}"
        raise ValueError(msg)
    tried: Callable[[Attempt], None] = import_module(f"fuzz._{case.area}").attempt_case
    return tried
