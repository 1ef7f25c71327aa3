"""Mann-Whitney areas of pairs of classes, from one sort per column.

A(i, j) is the probability that a sample of class i scores higher in column i
than a sample of class j, ties counting one half: the area under the ROC
polygon of the pair. One sort of column i gives A(i, j) for every j, because
each sample of any class only needs the weight of class i above it.
"""

import numpy as np

from polyroc._lib._typing import FloatArray, IntArray
from polyroc._records import PairIndex, Predictions


def pairwise_areas(predictions: Predictions, pairs: PairIndex) -> FloatArray:
    """Mann-Whitney area A(positive, negative) of each pair, shape (K,)."""
    n_classes = len(predictions.labels)
    share = class_shares(predictions)
    wins = np.zeros((n_classes, n_classes))
    for positive in np.unique(pairs.positive):
        column = -1 if predictions.is_binary else positive
        wins[positive] = _doubled_wins(predictions.scores[:, column], predictions.codes, positive, n_classes, share)
    won: FloatArray = wins[pairs.positive, pairs.negative] / 2
    if share is None:
        total = predictions.class_counts.astype(float)
        won /= total[pairs.positive] * total[pairs.negative]
    return won


def mann_whitney(score: FloatArray, is_positive: IntArray, share: FloatArray | None = None) -> float:
    """Probability that a positive sample scores higher than a negative one, ties one half.

    `is_positive` holds 0 and 1; `share` is what `class_shares` gives for these samples.
    """
    wins = _doubled_wins(score, is_positive, 1, 2, share)[0]
    if share is not None:
        return float(wins / 2)
    n_positive = int(np.count_nonzero(is_positive))
    return float(wins / (2 * n_positive * (len(score) - n_positive)))


def class_shares(predictions: Predictions) -> FloatArray | None:
    """Share of each sample in the weight of its class, shape (n,); None where all weights are 1."""
    if predictions.sample_weight is None:
        return None
    return predictions.sample_weight / predictions.class_weights[predictions.codes]


def _doubled_wins(
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
