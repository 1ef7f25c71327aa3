"""Checks of single arguments that several functions take; each names the argument, the rule and what came."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from polyroc._inputs._arrays import shown

MOST_RESAMPLES = 10_000_000


def one_of(value: Any, name: str, allowed: tuple[str, ...]) -> Any:
    """One of some words."""
    # Asked for text first: `in` would compare an array element by element.
    if isinstance(value, str) and value in allowed:
        return value
    msg = f"`{name}` must be one of {', '.join(map(repr, allowed))}, got {shown(value)}."
    raise ValueError(msg)


def as_rng(value: Any) -> Any:
    """A seed, a generator, or None for a seed of chance (SPEC 7)."""
    if value is None or isinstance(value, np.random.Generator):
        return value
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        msg = f"`rng` must be None, a non-negative integer or a numpy.random.Generator, got {shown(value)}."
        raise ValueError(msg)
    return int(value)


def drawn_seed(value: Any) -> int:
    """A seed that can be used again: the integer itself, or one drawn once from a generator or from chance."""
    rng = as_rng(value)
    return rng if isinstance(rng, int) else int(np.random.default_rng(rng).integers(2**32))


def as_plain_seed(value: Any) -> int:
    """A seed that can be written down, and given again."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        msg = f"`seed` must be a non-negative integer, got {shown(value)}."
        raise ValueError(msg)
    return int(value)


def as_n_jobs(value: Any) -> int | None:
    """A number of threads, or None or -1 for all that there are."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or (value < 1 and value != -1):
        msg = f"`n_jobs` must be None, -1 or a number of threads of at least 1, got {shown(value)}."
        raise ValueError(msg)
    return int(value)


def as_confidence_level(value: Any) -> float:
    """A number between 0 and 1."""
    # Compared as it came: an integer may be too large for a float.
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 < value < 1:
        msg = f"`confidence_level` must be between 0 and 1, for example 0.95, got {shown(value)}."
        raise ValueError(msg)
    return float(value)


def as_flag(value: Any, name: str) -> bool:
    """True or False, and no text that Python would take for true."""
    if not isinstance(value, bool | np.bool_):
        msg = f"`{name}` must be True or False, got {shown(value)}."
        raise ValueError(msg)
    return bool(value)


def as_n_resamples(value: Any) -> int:
    """At least 2, because one replicate has no spread."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 2 <= int(value) <= MOST_RESAMPLES:
        msg = f"`n_resamples` must be an integer from 2 to {MOST_RESAMPLES:,}, got {shown(value)}."
        raise ValueError(msg)
    return int(value)
