"""Intervals on the logit scale by the delta method, for numbers between 0 and 1 with a standard error.

Near the ends they are nearly those of a count: of c errors the logit has a standard error of about 1 / sqrt(c). That
is at most 1 while there is an error at all. Where it is more, the number lies nearer to the end than its own standard
error, and its logit says nothing about the other side; there the interval reaches at least as far as a plain one.
"""

from typing import Any

import numpy as np
from scipy.special import expit, logit

from polyroc._typing import FloatArray

# Nearer to an end than this is at the end.
_EDGE = 1e-12


def ends(place: Any, error: Any, reach: float) -> tuple[FloatArray, FloatArray]:
    """Both ends of intervals that reach so many standard errors, of a number or of each of an array."""
    place = np.clip(place, _EDGE, 1 - _EDGE)
    spread = error / (place * (1 - place))
    step = reach * np.minimum(spread, 1)
    low, high = expit(logit(place) - step), expit(logit(place) + step)
    low = np.where(spread <= 1, low, np.minimum(low, place - reach * error))
    high = np.where(spread <= 1, high, np.maximum(high, place + reach * error))
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def distance(place: float, error: float, null: float) -> float:
    """How many standard errors an interval must reach to get from a place to another."""
    place = float(np.clip(place, _EDGE, 1 - _EDGE))
    spread = error / (place * (1 - place))
    on_logits = float(abs(logit(place) - logit(null))) / min(spread, 1)
    return on_logits if spread <= 1 else min(on_logits, abs(place - null) / error)
