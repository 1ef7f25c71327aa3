"""What single pairs say that no shared curve does: how many are found at a rate, and what a pair costs."""

from typing import Any

import numpy as np

from polyroc._estimator._weights import pair_weights
from polyroc._evaluation import Evaluation

# False positives that people are used to allow.
_READ_AT_FPR = 0.05


def operating_point(evaluation: Evaluation) -> dict[str, Any]:
    """The true positive rate at a false positive rate: of the shared curve, and of the pairs themselves.

    The pairs' are None where their rates were not kept, of many classes.
    """
    curve, at = evaluation.curve, _READ_AT_FPR
    point = {"fpr": at, "tpr": float(np.interp(at, curve.fpr, curve.tpr)), "pairs": None}
    rates = evaluation.kept_rates
    if evaluation.predictions.is_binary or rates is None:
        return point
    corner = np.zeros((1, rates.n_pairs))
    fpr, tpr = (np.vstack([corner, rate, corner + 1]).T for rate in (rates.fpr, rates.tpr))
    found = np.array([np.interp(at, x, y) for x, y in zip(fpr, tpr, strict=True)])
    return point | {"pairs": {"mean": float(found.mean()), "low": float(found.min()), "high": float(found.max())}}


def pair_costs(evaluation: Evaluation) -> list[float] | None:
    """What a pair's mistakes cost compared with the mean pair; None where costs and weights were not given.

    The mean of what it costs to miss the class and to call another one so, which D weighs by as well.
    """
    options = evaluation.options
    given = (options.costs, options.tpr_weights, options.fpr_weights)
    if evaluation.predictions.is_binary or all(matrix is None for matrix in given):
        return None
    weights = pair_weights(evaluation.predictions, evaluation.pair_index, options)
    costs: list[float] = ((weights.tpr + weights.fpr) / 2).tolist()
    return costs
