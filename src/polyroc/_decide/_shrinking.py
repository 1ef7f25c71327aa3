"""How much of the tuned offsets is used: Bayes' rule unless the samples show that tuning is cheaper.

Tuned offsets see only the mistakes that occur. If an expensive one does not, they give up the caution of Bayes' rule,
and their cross-fitted cost does not show it. So the share of them that costs least is used only if it is cheaper than
Bayes' rule by one standard error, in which unseen mistakes count.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from polyroc._decide._crossfit import CrossFit
from polyroc._decide._judging import Judge, Paid
from polyroc._engines._naming import highest
from polyroc._engines._offsets import OffsetProblem
from polyroc._lib._typing import FloatArray, IntArray

# From Bayes' rule to the tuned offsets.
SHARES = (0.0, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 1.0)
_STANDARD_ERRORS = 1.0
_LEVEL = float(2 * ndtr(_STANDARD_ERRORS) - 1)


class Bayes(NamedTuple):
    """Bayes' rule: where the shrinking ends."""

    offsets: FloatArray
    """Shape (m,)."""
    named: IntArray
    """Shape (n,)."""


class Shrunk(NamedTuple):
    """The share of the tuned offsets, and the classes that are predicted."""

    share: float
    named: IntArray
    """By offsets that were tuned, and a share that was chosen, without the fold of each sample, shape (n,)."""


def shrunk_offsets(offsets: FloatArray, bayes: FloatArray, share: float) -> FloatArray:
    """The offsets between those of Bayes' rule and tuned ones."""
    return bayes + share * (offsets - bayes)


def shrink(
    judge: Judge, problem: OffsetProblem, fitted: CrossFit, bayes: Bayes, fold: IntArray, costs: FloatArray
) -> Shrunk:
    """The share that is chosen on all samples, and without each fold by folds within the others."""
    assert fitted.pair_offsets is not None
    n_folds, inside = len(fitted.fold_offsets), [np.flatnonzero(fold == f) for f in range(len(fitted.fold_offsets))]

    def classes(offsets: FloatArray, rows: IntArray) -> IntArray:
        """What each share predicts, shape (n_shares, n_rows)."""
        z = problem.z[:, rows]
        shrunk = (highest(z, shrunk_offsets(offsets, bayes.offsets, share)) for share in SHARES[1:])
        return np.array([bayes.named[rows], *shrunk])

    by_share = np.empty((len(SHARES), len(fold)), dtype=np.intp)
    for rows, offsets in zip(inside, fitted.fold_offsets, strict=True):
        by_share[:, rows] = classes(offsets, rows)
    named, within = np.empty(len(fold), dtype=np.intp), np.empty_like(by_share)
    for left_out in range(n_folds):
        others = [f for f in range(n_folds) if f != left_out]
        for f in others:
            within[:, inside[f]] = classes(fitted.pair_offsets[left_out, f], inside[f])
        rest = np.flatnonzero(fold != left_out)
        chosen = _choose(judge.part(rest), within[:, rest], costs)
        named[inside[left_out]] = by_share[chosen, inside[left_out]]
    return Shrunk(SHARES[_choose(judge, by_share, costs)], named)


def _choose(judge: Judge, by_share: IntArray, costs: FloatArray) -> int:
    """The cheapest share of those that are seen to be cheaper than Bayes' rule, which is the first."""
    paid = [Paid.of(judge.codes, one, costs) for one in by_share]
    order = np.argsort([judge.mean(one.costs) for one in paid], kind="stable").tolist()
    for place in order[: order.index(0)]:
        low, _ = judge.balance_of_two(paid[0], paid[place]).ends(_LEVEL)
        if low > 0:
            return int(place)
    return 0
