"""The method that says how sure a statistic is: influences or resamples. One rule for all callers."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, get_args

from polyroc._inputs.checks import InputError, as_n_resamples, as_rng, one_of
from polyroc._lib.typing import IntervalKind
from polyroc._uncertainty.replicates import USUAL_RESAMPLES

_DRAWING = ("bootstrap", "parametric-pairs", "parametric-samples")
_Method = TypeVar("_Method", bound=str)


class Draws(NamedTuple):
    """Number and seed of the resamples."""

    n_resamples: int
    rng: Any


# If the data ask for resamples, they are always the same.
OF_AUTO = Draws(USUAL_RESAMPLES, 0)


def as_draws(method: str, *, n_resamples: Any = None, rng: Any = None, interval: Any = "logit") -> Draws:
    """Resamples of a method; an error if their options come with a method that does not draw."""
    interval = one_of(interval, "interval", get_args(IntervalKind))
    count = USUAL_RESAMPLES if n_resamples is None else as_n_resamples(n_resamples)
    draws = Draws(count, as_rng(rng))
    if method in _DRAWING:
        return draws
    given = {"n_resamples": n_resamples is not None, "rng": rng is not None, "interval": interval != "logit"}
    for name in [name for name, is_given in given.items() if is_given]:
        why = "chooses by the data alone" if method == "auto" else "does not resample"
        raise InputError(name, f"needs a method that draws: pass method='bootstrap' (method={method!r} {why})")
    return OF_AUTO


def chosen_method(method: _Method, doubt: Callable[[], str]) -> _Method:
    """The method itself; for "auto" influences, or the bootstrap if there is a doubt about their formula.

    >>> chosen_method("auto", lambda: ""), chosen_method("auto", lambda: "D is within 0.001 of 1")
    ('influence', 'bootstrap')
    """
    if method != "auto":
        return method
    return "bootstrap" if doubt() else "influence"  # type: ignore[return-value]  # names of the same Literal
