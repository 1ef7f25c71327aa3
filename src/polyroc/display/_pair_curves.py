"""The curves of single pairs, as far as somebody can see them."""

import numpy as np

from polyroc._estimator._curve import RocCurve
from polyroc._evaluation import Evaluation

# More faint curves than these are one grey area.
_MOST_PAIRS = 300


def pair_curves_of(evaluation: Evaluation) -> list[RocCurve]:
    """The curves of the pairs, from corner to corner, where they are at hand and more than one."""
    rates = evaluation.kept_rates
    if rates is None or rates.n_pairs < 2:
        return []
    chosen = np.arange(rates.n_pairs)
    if rates.n_pairs > _MOST_PAIRS:
        by_effect = np.argsort(evaluation.pairs.effect, kind="stable")
        chosen = by_effect[np.linspace(0, rates.n_pairs - 1, _MOST_PAIRS).round().astype(int)]
    return [RocCurve(fpr=np.r_[0, rates.fpr[:, p], 1], tpr=np.r_[0, rates.tpr[:, p], 1]) for p in chosen]
