"""Intervals on the logit scale, for areas and other numbers between 0 and 1 (docs/method.md, uncertainty).

Near 1 an area is one minus a sum of rare errors, and the logit of such a sum is nearly normal. Four things keep the
plain delta method from covering as often as it says. Each has its term here, found on settings of docs/coverage.md.

1. *Bias.* A fitted area is too large on average, and its replicates show most of that: they are larger still. The
   centre is moved by as much to the other side, and the delta method is used at the mean of the replicates.
2. *Shrinkage* is a bias that no replicate shows. The same fit without it says how large that may be.
3. *Few samples carry the variance.* Then the standard error is itself uncertain. Towards the nearer end of the range
   Student's t distribution stands for that, with the degrees of freedom that the influences' fourth moments give.
4. *Errors that no sample shows.* Towards the middle of the range, one more sample of the smallest class may go wrong.
   This is the idea of Fay and Feuer (1997) for weighted sums of rare counts. Where few errors were seen, a single one
   more may be worth more than all of them, and its term here is bounded by these. So the interval reaches at least as
   far as theirs, with one more error in some class: a gamma distribution with the mean and the variance of the sum.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, gammainccinv, logit, ndtr, ndtri, stdtrit

from polyroc._lib.typing import FloatArray

# Nearer to an end than this is at the end.
EDGE = 1e-12
# An unseen error counts at most this share of all errors seen: where nearly none were seen it would be everything.
UNSEEN_BOUND = 0.9
# Of the comparisons of an unseen error where few were seen. With 0.125, models with 0.5 % of wrong labels covered 86 %
# (with 0.15 it is 92 %); with 0.25 the interval of D = 0.999 was 1.8 times as wide as without (1.2 times).
RARE_SHARE = 0.15
# Of c errors the logit has a standard error of about 1 / sqrt(c), more than this only of a number nearer to an end than
# its own standard error, whose logit says nothing.
_MOST_SPREAD = 2.0
# A fit without shrinkage may run away; more than this on the logit scale says only that it did.
_MOST_SHRINKAGE = 2.0


@dataclass(frozen=True)
class Reach:
    """How many standard errors an interval reaches, and what the standard error does not know."""

    normal: float
    """Quantile of the normal distribution."""
    student: float
    """Quantile of Student's t distribution: that of few samples, which carry the variance."""
    unseen: float
    """What one more wrong sample would cost."""
    rare: float = 0.0
    """What one more wrong sample of some class would cost, where few errors were seen; 0 to leave that out."""

    @classmethod
    def of(cls, confidence_level: float, freedom: float, unseen: float, rare: float = 0.0) -> "Reach":
        tail = (1 - confidence_level) / 2
        return cls(-float(ndtri(tail)), -float(stdtrit(freedom, tail)), unseen, rare)


def unseen_error(n_classes: int, least_class: float) -> float:
    """What one more sample of the smallest class costs in the mean over pairs, with a quarter of its comparisons wrong.

    A sample takes part in 2 (k - 1) of the k (k - 1) pairs, and is 1 / n of its class in each.
    """
    return 0.25 * 2 / (n_classes * least_class)


def rare_error(n_classes: int, rare_class: float) -> float:
    """The same of some class, with the share of its comparisons wrong that Fay and Feuer's interval takes."""
    return RARE_SHARE * 2 / (n_classes * rare_class)


def ends(
    estimate: Any, error: Any, reach: Reach, *, mean: Any = None, unshrunk: Any = None
) -> tuple[FloatArray, FloatArray]:
    """Both ends of the interval of a number in [0, 1], or of each of an array.

    `mean` is that of the replicates and `unshrunk` the estimate without shrinkage, of a statistic that is biased.
    """
    estimate = np.clip(estimate, EDGE, 1 - EDGE)
    place = estimate if mean is None else np.clip(mean, EDGE, 1 - EDGE)
    centre = 2 * logit(estimate) - logit(place)
    spread = np.minimum(error / (place * (1 - place)), _MOST_SPREAD)
    shrinkage = 0.0 if unshrunk is None else logit(np.clip(unshrunk, EDGE, 1 - EDGE)) - logit(estimate)
    shrinkage = np.clip(shrinkage, -_MOST_SHRINKAGE, _MOST_SHRINKAGE)
    # Next to 1, the upper end takes Student's t, and the lower end the unseen error; next to 0 the other way round.
    low, high = (
        expit(centre + sign * ((reach.normal + room * (reach.student - reach.normal)) * total + (1 - room) * further))
        for sign, room, total, further in (
            (-1, 1 - place, *_far(spread, shrinkage, reach, 1 - place)),
            (1, place, *_far(spread, shrinkage, reach, place)),
        )
    )
    # There the interval reaches at least as far as a plain one.
    low = np.where(error > 1 - estimate, np.minimum(low, estimate - reach.normal * error), low)
    high = np.where(error > estimate, np.maximum(high, estimate + reach.normal * error), high)
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def corrected(estimate: float, error: float, mean: float | None) -> tuple[float, float]:
    """An estimate less the bias that its replicates show, and its standard error there: where `ends` begins."""
    estimate = float(np.clip(estimate, EDGE, 1 - EDGE))
    place = estimate if mean is None else float(np.clip(mean, EDGE, 1 - EDGE))
    centre = float(expit(2 * logit(estimate) - logit(place)))
    return centre, min(error / (place * (1 - place)), _MOST_SPREAD) * centre * (1 - centre)


def _far(spread: Any, shrinkage: Any, reach: Reach, missing: Any) -> tuple[Any, Any]:
    """The whole spread, and how much further Fay and Feuer's interval reaches; `missing` is what is wrong by now."""
    total = _total(spread, reach.unseen / missing, shrinkage)
    if reach.rare == 0:
        return total, 0.0
    # All as shares of the sum of errors: its standard error, and one more of them.
    error, one_more = np.hypot(spread, shrinkage), reach.rare / missing
    mean = 1 + one_more
    shape = mean**2 / (error**2 + one_more**2)
    rare = np.log(mean * gammainccinv(shape, ndtr(-reach.normal)) / shape)
    return total, np.maximum(rare - reach.normal * total, 0.0)


def _total(spread: Any, unseen: Any, shrinkage: Any) -> Any:
    return np.sqrt(spread**2 + np.minimum(unseen, UNSEEN_BOUND * spread) ** 2 + shrinkage**2)
