"""The corner of a ROC curve on two log axes: false positive rate against the rate of misses, 1 - TPR."""

from collections.abc import Iterable

import numpy as np

from polyroc._lib._typing import FloatArray

# No test of a usual size says anything about rates below the first; less than two decades are no corner.
_LOWEST, _HIGHEST = 1e-5, 1e-2
# Straight lines between rates are bent on a log axis: 40 points per decade, from one below the frame, so that a line to
# a rate of 0 leaves it where it should.
_RATES = np.geomspace(_LOWEST / 10, 1, 241)


def lowest_rate(curves: Iterable[tuple[FloatArray, FloatArray]]) -> float:
    """Where both axes begin: a power of 10, low enough to show the curves from a TPR of 1/2 to an FPR of 1/2.

    A curve has no place for a rate of 0, so its smallest positive rate counts there.

    >>> lowest_rate([(np.array([0, 0.004, 1]), np.array([0, 0.9, 1]))])
    0.001
    >>> lowest_rate([(np.array([0, 0, 1]), np.array([0, 1, 1]))])
    0.01
    """
    found = [_HIGHEST]
    for fpr, tpr in curves:
        miss = 1 - tpr[::-1]
        found += [_end(fpr, tpr), _end(miss, 1 - fpr[::-1])]
    return float(10.0 ** np.floor(np.log10(max(min(found), _LOWEST)) + 1e-9))


def _end(rate: FloatArray, other: FloatArray) -> float:
    """The rate where the other one is 1/2; where that is 0, the smallest that is not."""
    middle = float(np.interp(0.5, other, rate))
    return middle if middle > 0 else float(rate[rate > 0].min())


def densified(fpr: FloatArray, tpr: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A curve with more points on the same straight lines, close enough together for log axes.

    >>> fpr, tpr = densified(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    >>> bool(np.abs(fpr - tpr).max() < 1e-12), bool(np.diff(np.log(fpr[fpr > 1e-5])).max() < 0.06)
    (True, True)
    """
    # Lengths along the curve: rates may stand still, but not both at once.
    along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(fpr)) + np.abs(np.diff(tpr)))])
    at = np.unique(np.concatenate([along, np.interp(_RATES, fpr, along), np.interp(1 - _RATES[::-1], tpr, along)]))
    return np.interp(at, along, fpr), np.interp(at, along, tpr)
