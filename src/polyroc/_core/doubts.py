"""What looks wrong about scores that can be read: backwards ranks, columns that disagree, models on different scales.

Nothing is refused here, because each of it can be meant.
"""

from collections.abc import Mapping

import numpy as np

from polyroc._core.samples import are_log_probabilities, are_probabilities, is_constant, two_areas
from polyroc._inputs.checks import listed, shown
from polyroc._lib.warnings import warn
from polyroc._records import PairIndex, Predictions, Source

# Two columns whose areas differ by less than this agree for everybody who reads four digits.
_AGREE = 1e-3
# How many standard errors M must lie below 1/2: scores without information do so in one case of 160.
_BEYOND_CHANCE = 2.5


def warn_of_backwards(model: str | None = None) -> None:
    """Say that scores rank backwards; whoever calls knows that it is no chance."""
    whose = "The scores" if model is None else f"The scores of model {shown(model)}"
    msg = (
        f"{whose} rank samples backwards, by more than chance explains. The columns of `y_score` may be in another "
        "order than the classes: `labels=` must be in the order of the columns. Or higher scores may mean less likely."
    )
    warn(msg, UserWarning)


def is_backwards(low: float, high: float) -> bool:
    """Whether an interval of an area lies below 1/2; a single point says nothing about chance."""
    return low < high < 0.5


def is_below_chance(hand_till: float, source: Source, pairs: PairIndex) -> bool:
    """Whether M lies so far below 1/2 that scores without information would hardly bring it there."""
    return hand_till < 0.5 - _BEYOND_CHANCE * null_error(source, pairs)


def null_error(source: Source, pairs: PairIndex) -> float:
    """An upper bound of the standard error of M where scores say nothing about classes, without a pass over samples.

    With u_j the ranks in column j, brought to 0 to 1, a sample of class c adds (u_c - mean of the other u_j) / (k n_c)
    to M, but for terms of higher order. Ranks have variance 1/12 and hang together somehow, by the same rule for all
    classes. So the variance of the difference is at most 4/12 in each class; and its sum over all classes is at most
    k^3 / (12 (k - 1)^2), because var(k u_c - sum u_j) sums to k^3 / 12 - k var(sum u_j). Of two classes the first is
    the variance of Mann and Whitney; of many classes of equal size the second is far smaller.
    """
    sizes = np.maximum(source.effective_counts[source.class_counts > 0], 1)
    k, least = len(sizes), float(sizes.min())
    variance = float(np.sum(1 / sizes)) / (3 * k**2)
    if pairs.stratum is None:  # all pairs, so that each class meets all others
        variance = min(variance, k / (12 * least * (k - 1) ** 2))
    return float(np.sqrt(variance * (1 + 1 / least)))


def warn_of_disagreement(predictions: Predictions, model: str | None = None) -> None:
    """Say which of two columns was used, where the other one would have given another area."""
    areas = two_areas(predictions) if predictions.n_columns == 2 else None
    if areas is None or abs(areas[0] - areas[1]) < _AGREE:
        return
    labels = predictions.labels.tolist()
    whose = "" if model is None else f" of model {shown(model)}"
    msg = (
        f"The two columns of `y_score`{whose} do not agree. The column of {shown(labels[1])} was used; that of "
        f"{shown(labels[0])}, reversed, gives an area that differs by {abs(areas[0] - areas[1]):.2g}. Pass one column, "
        f"the score of {shown(labels[1])}; of logits, that is the difference of the two columns."
    )
    warn(msg, UserWarning)


def warn_of_mixed_scales(models: Mapping[str, Predictions], *, by_difference: bool = False) -> None:
    """Say which models come with probabilities and which do not, if some do and some do not.

    Log probabilities rank samples as the probabilities do, except by differences of two columns.
    """
    # Of two classes one column is ranked, and both scales rank it alike if the columns agree. Constant columns rank
    # nothing, on whatever scale.
    several = {name: one for name, one in models.items() if one.n_columns > 2 and not is_constant(one)}
    logs = [name for name, one in several.items() if are_log_probabilities(one)]
    those = [name for name, one in several.items() if name in logs or are_probabilities(one)]
    others = [name for name in several if name not in those]
    if by_difference and logs and len(those) > len(logs):
        msg = (
            f"The scores of {listed(logs)} are log probabilities. Their differences rank samples differently from "
            "those of probabilities: pass `np.exp` of them."
        )
        warn(msg, UserWarning)
    if those and others:
        kind = "probabilities or their logarithms" if logs else "probabilities, rows that sum to one"
        msg = (
            f"The scores of {listed(those)} are {kind}; those of {listed(others)} are not. Logits and their softmax "
            "rank samples differently, so they give different D: compare models on one kind of scores."
        )
        warn(msg, UserWarning)
