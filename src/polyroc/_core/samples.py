"""Passes over samples that take no engine of their own: one column, or one look at each row.

The areas of a pair are those of equation (pair-area) of docs/method.md. Samples on a GPU are looked at there, by
`tensor_samples`. Last come warnings of scores that can be read but look wrong: backwards ranks, columns that disagree,
models on different scales. Nothing is refused for that, because each of it can be meant.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from polyroc._core import tensor_samples as on_device
from polyroc._inputs.checks import listed, shown
from polyroc._inputs.tensors import TensorPredictions
from polyroc._lib.typing import BoolArray, FloatArray, IntArray
from polyroc._lib.warnings import warn
from polyroc._records import PairIndex, PairwiseRates, Predictions, RowCounts, ScoreCounts, Source

# Probabilities in a file are often rounded: rows sum to one to this, each of them or in the mean over the rows.
_ROUNDED = 0.02


def weighed(predictions: Predictions, weight: FloatArray) -> Predictions:
    """The same samples with other weights, shape (n,), without those of weight 0."""
    kept = weight > 0
    scores, codes = predictions.scores[kept], predictions.codes[kept]
    # On the host, wherever the samples lie: their weights come from there.
    return Predictions(codes, scores, predictions.labels, weight[kept], predictions.kept)


def whole_polygon(predictions: Predictions) -> tuple[PairwiseRates, FloatArray]:
    """The vertices of the ordinary ROC curve of two classes, without its two corners, and their scores, (T, 1)."""
    score = predictions.scores[:, -1]
    weight = np.ones(len(score)) if predictions.sample_weight is None else predictions.sample_weight
    order = np.argsort(score, kind="stable")[::-1]
    score, positive = score[order], predictions.codes[order] == 1
    # Compared, not subtracted: the difference of two finite scores may overflow.
    last_of_tie = np.flatnonzero(score[1:] != score[:-1])
    tpr = _shares(np.where(positive, weight[order], 0.0))[last_of_tie]
    fpr = _shares(np.where(positive, 0.0, weight[order]))[last_of_tie]
    return PairwiseRates(tpr[:, None], fpr[:, None], (tpr + fpr) / 2), score[last_of_tie][:, None]


def _shares(weight: FloatArray) -> FloatArray:
    cumulated = np.cumsum(weight)
    shares: FloatArray = cumulated / cumulated[-1]
    return shares


def class_shares(predictions: Predictions) -> FloatArray | None:
    """Share of each sample in the weight of its class, shape (n,); None where all weights are 1."""
    if predictions.sample_weight is None:
        return None
    return predictions.sample_weight / predictions.class_weights[predictions.codes]


def mann_whitney(score: FloatArray, is_positive: IntArray, share: FloatArray | None = None) -> float:
    """Probability that a positive sample scores higher than a negative one, ties one half.

    `is_positive` holds 0 and 1; `share` is what `class_shares` gives for these samples.
    """
    wins = doubled_wins(score, is_positive, 1, 2, share)[0]
    if share is not None:
        return float(wins / 2)
    n_positive = int(np.count_nonzero(is_positive))
    return float(wins / (2 * n_positive * (len(score) - n_positive)))


def doubled_wins(
    score: FloatArray, codes: IntArray, positive: int, n_classes: int, share: FloatArray | None
) -> FloatArray:
    """Twice the wins of class `positive` over each class, a tie being half a win, shape (k,).

    With shares, twice the share of wins: at most 2 whatever the rounding, and 2 where the class wins always, because
    the sums that divide are those that a class of nothing but wins would have.
    """
    order = np.argsort(score)
    ranked, ranked_codes = score[order], codes[order]
    is_positive = ranked_codes == positive
    if share is None:
        cumulated = np.concatenate([[0], np.cumsum(is_positive)])
    else:
        share = share[order]
        cumulated = np.concatenate([[0.0], np.cumsum(np.where(is_positive, share, 0.0))])
    edges = np.concatenate([[0], np.flatnonzero(ranked[1:] != ranked[:-1]) + 1, [len(ranked)]])
    # Doubled, so that without weights everything is a whole number and no order of samples changes a bit.
    above = 2 * cumulated[-1] - cumulated[edges[:-1]] - cumulated[edges[1:]]
    won = np.repeat(above, np.diff(edges))
    if share is None:
        return np.bincount(ranked_codes, won, minlength=n_classes).astype(float, copy=False)
    wins = np.bincount(ranked_codes, won / cumulated[-1] * share, minlength=n_classes)
    total = np.bincount(ranked_codes, share, minlength=n_classes)
    return np.divide(wins, total, out=np.zeros(n_classes), where=total > 0)


def two_areas(predictions: Predictions) -> tuple[float, float] | None:
    """Areas of two classes by the second column, and by the first one turned round; None where they must agree."""
    low, high = _sums_of_quarters(predictions)
    # Complements, as probabilities are: the one column says what the other does.
    if high - low <= 1e-6 * max(0.25, high, -low):
        return None
    if isinstance(predictions, TensorPredictions):
        return on_device.two_areas(predictions)
    scores, share = predictions.scores, class_shares(predictions)
    used, other = (mann_whitney(column, predictions.codes, share) for column in (scores[:, 1], -scores[:, 0]))
    return used, other


def _sums_of_quarters(predictions: Predictions) -> tuple[float, float]:
    """Lowest and highest sum of two columns, by quarters: so neither a sum nor a difference is beyond all floats."""
    if isinstance(predictions, TensorPredictions):
        return on_device.sums_of_quarters(predictions)
    total = predictions.scores[:, 0] / 4 + predictions.scores[:, 1] / 4
    return float(total.min()), float(total.max())


def is_constant(predictions: Predictions) -> bool:
    """Whether no column ranks anything."""
    lowest, highest = column_ranges(predictions)
    return not np.any(highest > lowest)


def are_probabilities(predictions: Predictions, *, every_row: bool = False) -> bool:
    """Whether scores lie between 0 and 1 and rows sum to one, but for rounding: in the mean, or every single row."""
    slack = 0.0 if every_row else _ROUNDED
    if isinstance(predictions, TensorPredictions):
        look = on_device.look_at(predictions)
        if look.lowest < -slack or look.highest > 1 + slack:
            return False
        return look.worst_error < _ROUNDED if every_row else look.mean_error <= _ROUNDED
    if not _lie_between_0_and_1(predictions.scores, slack):
        return False
    off = _row_errors(predictions.scores)
    return bool(np.all(off < _ROUNDED)) if every_row else bool(off.mean() <= _ROUNDED)


def are_log_probabilities(predictions: Predictions, *, every_row: bool = False) -> bool:
    """Whether scores are at most 0 and their exponentials sum to one: in the mean over the rows, or in every row."""
    if not isinstance(predictions, TensorPredictions):
        return look_like_log_probabilities(predictions.scores, every_row=every_row)
    if predictions.n_columns == 1 or column_ranges(predictions)[1].max() > 0:
        return False
    look = on_device.look_at(predictions, exponentials=True)
    return look.worst_error < _ROUNDED if every_row else look.mean_error <= _ROUNDED


def look_like_log_probabilities(scores: FloatArray, *, every_row: bool = False) -> bool:
    """The same of an array."""
    if scores.shape[1] == 1 or scores.max() > 0:
        return False
    off = _row_errors(np.exp(scores))
    return bool(np.all(off < _ROUNDED)) if every_row else bool(off.mean() <= _ROUNDED)


def exponentials_hint(scores: Predictions | FloatArray) -> str:
    """What to pass instead of log probabilities if probabilities are needed; empty for other scores."""
    is_log = are_log_probabilities(scores) if isinstance(scores, Predictions) else look_like_log_probabilities(scores)
    return ": these are log probabilities, pass `np.exp(y_score)`" if is_log else ""


def can_be_probabilities(predictions: Predictions) -> bool:
    """Whether scores are probabilities; of a single column, whether they can be."""
    if predictions.n_columns == 1:
        lowest, highest = column_ranges(predictions)
        return bool(lowest[0] >= 0 and highest[0] <= 1)
    return are_probabilities(predictions)


def look_like_probabilities(scores: FloatArray) -> bool:
    """Whether later scores can be of the same kind as probabilities; more may be rounded off few rows than off many."""
    if not _lie_between_0_and_1(scores, _ROUNDED):
        return False
    return scores.shape[1] == 1 or bool(_row_errors(scores).mean() <= 5 * _ROUNDED)


def _lie_between_0_and_1(scores: FloatArray, slack: float) -> bool:
    return bool(scores.min() >= -slack and scores.max() <= 1 + slack)


def _row_errors(scores: FloatArray) -> FloatArray:
    """How far the sum of each row is from 1, shape (n,)."""
    off: FloatArray = np.abs(scores.sum(axis=1, dtype=np.float64) - 1)
    return off


def every_row_is_one(source: Source) -> bool:
    """Whether every row of scores is one of probabilities; of counts, by what was noted of the rows."""
    if isinstance(source, Predictions):
        return are_probabilities(source, every_row=True)
    lowest, highest = column_ranges(source)
    return bool(lowest.min() >= 0 and highest.max() <= 1 and row_notes(source).worst_row < _ROUNDED)


def column_ranges(source: Source) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest score of each column, shape (k,) each."""
    if isinstance(source, TensorPredictions):
        return on_device.column_ranges(source)
    if isinstance(source, Predictions):
        return source.scores.min(axis=0), source.scores.max(axis=0)
    noted = row_notes(source)
    return noted.lowest, noted.highest


def row_notes(source: Source) -> RowCounts:
    """What counts keep of rows: which class was predicted, and what the scores looked like; not of a single column."""
    assert isinstance(source, ScoreCounts)
    assert source.row_counts is not None
    return source.row_counts


def predicted_right(predictions: Predictions) -> BoolArray:
    """Whether the highest column of each sample is that of its class, shape (n,); the first of equal ones counts."""
    if isinstance(predictions, TensorPredictions):
        return on_device.predicted_right(predictions)
    right: BoolArray = predicted_classes(predictions) == predictions.codes
    return right


def accuracy_of(predictions: Predictions) -> float:
    """Share of the samples, by their weights, whose highest column is that of their class."""
    if isinstance(predictions, TensorPredictions):
        return on_device.accuracy_of(predictions)
    return float(np.average(predicted_right(predictions), weights=predictions.sample_weight))


def predicted_classes(predictions: Predictions) -> IntArray:
    """The class of the highest column of each sample, as a position in the labels, shape (n,)."""
    if isinstance(predictions, TensorPredictions):
        return on_device.predicted_classes(predictions)
    predicted: IntArray = np.argmax(predictions.scores, axis=1)
    return predicted


def in_range(values: FloatArray) -> FloatArray:
    """The same up to a power of two, which ranks alike, where products and sums would overflow or vanish."""
    exponent = int(np.frexp(max(values.max(), -values.min()))[1])
    return values if abs(exponent) <= 500 else np.ldexp(values, int(np.sign(exponent)) * 500 - exponent)


def subtractable(values: FloatArray) -> FloatArray:
    """The same, or half of it, which ranks alike, where the difference of two of them would overflow."""
    exponent = int(np.frexp(max(values.max(), -values.min()))[1])
    return values / 2 if values.dtype == np.float64 and exponent > 1023 else values


def centred(found: FloatArray, predictions: Predictions) -> FloatArray:
    """Less the mean of each class, and times the share of each sample in its class, shape (m, n)."""
    codes: IntArray = predictions.codes
    weight = np.ones(predictions.n_samples) if predictions.sample_weight is None else predictions.sample_weight
    share = weight / predictions.class_weights[codes]
    mean = np.array([np.bincount(codes, share * row, minlength=len(predictions.labels)) for row in found])
    influence: FloatArray = share * (found - mean[:, codes])
    return influence


class ColumnWins(NamedTuple):
    """Comparisons in one column with the samples of its class; ties count one half."""

    above: FloatArray
    """Share of the class that lies above each sample, shape (n,)."""
    below: FloatArray
    """Share of every class that lies below each sample of this class, shape (n_i, k)."""


class ClassWins:
    """What each sample wins in one column: the parts of DeLong's structural components, for all classes in one pass.

    In the column of class i, a sample of i is compared with every other sample, and no other two are. Its wins over
    each class, and the wins of i over each sample, are all that areas of class i are made of.
    """

    def __init__(self, predictions: Predictions) -> None:
        self._predictions = predictions
        share = class_shares(predictions)
        self._share = 1 / predictions.class_counts[predictions.codes] if share is None else share

    def in_column(self, column: int, members: IntArray) -> ColumnWins:
        """What the samples of a class, at these places, win in its column."""
        codes, n_classes = self._predictions.codes, len(self._predictions.labels)
        score = np.ascontiguousarray(self._predictions.scores[:, column])
        order = np.argsort(score[members], kind="stable")
        own = score[members][order]
        cumulated = np.concatenate([[0.0], np.cumsum(self._share[members][order])])
        # How many of the class lie strictly below each sample, and how many below or level with it.
        below, upto = np.searchsorted(own, score, side="left"), np.searchsorted(own, score, side="right")
        above = cumulated[-1] - 0.5 * (cumulated[below] + cumulated[upto])
        # A sample lies below the p-th of the class where `upto` <= p, and below or level with it where `below` <= p.
        size = (len(own) + 1) * n_classes
        counted = np.bincount(upto * n_classes + codes, self._share, minlength=size)
        counted += np.bincount(below * n_classes + codes, self._share, minlength=size)
        won = np.empty((len(own), n_classes))
        won[order] = 0.5 * np.cumsum(counted.reshape(-1, n_classes)[:-1], axis=0)
        return ColumnWins(above / cumulated[-1], won)


def areas_against_rest(predictions: Predictions) -> FloatArray:
    """Area of each class against all the others, shape (k,), one column at a time; NaN of a class without samples."""
    found = np.full(len(predictions.labels), np.nan)
    weight = predictions.sample_weight
    for i in np.flatnonzero(predictions.class_counts):
        score, is_own = np.ascontiguousarray(predictions.scores[:, i]), predictions.codes == i
        order = np.argsort(score[is_own], kind="stable")
        own, rest = score[is_own][order], score[~is_own]
        counted = np.ones(len(own)) if weight is None else weight[is_own][order] / weight.max()
        cumulated = np.concatenate([[0.0], np.cumsum(counted)])
        below, upto = (np.searchsorted(own, rest, side=side) for side in ("left", "right"))
        above = 1 - 0.5 * (cumulated[below] + cumulated[upto]) / cumulated[-1]
        found[i] = np.average(above, weights=None if weight is None else weight[~is_own] / weight.max())
    return found


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
