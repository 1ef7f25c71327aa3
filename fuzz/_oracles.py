"""What must hold for every result, found by roads of its own where there are any."""

import json
from itertools import pairwise
from typing import Any

import numpy as np

from fuzz._escape import Escape

# As far as the tests let the engines differ: rates, D of fits that converged, D of others.
RATES, CONVERGED, ENDED = 1e-12, 1e-9, 1e-5
# Sums in another order.
AREAS = 1e-12


def require(holds: Any, what: str) -> None:
    """Escape where it does not hold."""
    if not holds:
        raise Escape(what)


def check_share(value: Any, name: str) -> None:
    """A number from 0 to 1."""
    require(isinstance(value, float) and 0 <= value <= 1, f"{name} is {value!r}, and not in [0, 1]")


def check_shares(values: Any, name: str) -> None:
    """Numbers from 0 to 1."""
    values = np.asarray(values)
    # NaN compares as false.
    require(np.all((values >= 0) & (values <= 1)), f"{name} has entries that are not in [0, 1]")


def check_curve(curve: Any, name: str) -> None:
    """From corner to corner, never falling."""
    for side in ("fpr", "tpr"):
        rate = getattr(curve, side)
        check_shares(rate, f"{name}.{side}")
        require(rate[0] == 0 and rate[-1] == 1, f"{name}.{side} does not go from 0 to 1")
        require(np.all(np.diff(rate) >= 0), f"{name}.{side} falls")
    check_share(curve.auc, f"{name}.auc")


def check_interval(interval: Any, name: str, lowest: float = 0.0) -> None:
    """In order and in range."""
    low, high = interval
    require(lowest <= low <= high <= 1, f"{name} is ({low!r}, {high!r})")


def check_json(record: Any, name: str) -> None:
    """Plain data without NaN and infinity, wherever in it."""
    try:
        json.dumps(record, allow_nan=False)
    except (ValueError, TypeError) as error:
        msg = f"{name} is not plain data of finite numbers: {error}"
        raise Escape(msg) from error


def check_evaluation(evaluation: Any) -> None:
    """Everything that an evaluation says."""
    check_share(evaluation.auc, "D")
    check_share(evaluation.hand_till, "M")
    check_share(evaluation.mean_auc, "mean_auc")
    check_curve(evaluation.curve, "curve")
    check_curve(evaluation.mean_curve, "mean_curve")
    check_shares(evaluation.pairs.auc, "pairs.auc")
    require(np.all(np.isfinite(evaluation.pairs.effect)), "pairs.effect is not finite")
    if evaluation.accuracy is not None:
        check_share(evaluation.accuracy, "accuracy")
        check_interval(evaluation.accuracy_interval(), "accuracy_interval")
    check_json(evaluation.to_dict(), "to_dict()")
    rates = evaluation.rates
    check_shares(rates.tpr, "rates.tpr")
    check_shares(rates.fpr, "rates.fpr")
    for text in (str(evaluation), repr(evaluation)):
        require(" nan" not in text and "=nan" not in text, f"nan in {text!r}")


def check_areas(evaluation: Any, y_true: Any, y_score: Any, weight: Any) -> None:
    """The pairwise areas and M against the definition, all comparisons of two samples one by one.

    `y_true` holds the number of the column of each sample's class.
    """
    labels = evaluation.labels.tolist()
    expected = [
        pair_area(y_true, y_score, weight, labels.index(pair.positive), labels.index(pair.negative))
        for pair in evaluation.pairs
    ]
    ranked = expected
    if evaluation.fitted.options.thresholds == "difference" and y_score.shape[1] > 2:
        # Halved where a difference would be infinite.
        with np.errstate(under="ignore"):
            halved = y_score / 2 if np.abs(y_score).max() > np.finfo(float).max / 2 else y_score
        ranked = [
            _difference_area(y_true, halved, weight, labels.index(pair.positive), labels.index(pair.negative))
            for pair in evaluation.pairs
        ]
    apart = np.max(np.abs(np.array(ranked) - evaluation.pairs.auc))
    require(apart <= AREAS, f"a pairwise area is {apart:.3g} from its definition")
    apart = abs(float(np.mean(expected)) - evaluation.hand_till)
    require(apart <= AREAS, f"M is {apart:.3g} from Hand and Till's definition")


def pair_area(y_true: Any, y_score: Any, weight: Any, positive: int, negative: int) -> float:
    """Share of pairs of samples that the column of `positive` ranks right; ties count one half."""
    # Of two classes, the score of the second ranks them both.
    column = y_score[:, positive] if y_score.shape[1] > 2 else y_score[:, -1]
    if y_score.shape[1] <= 2 and positive == 0:
        column = -column
    return _share_right(column, y_true, weight, positive, negative)


def _difference_area(y_true: Any, y_score: Any, weight: Any, positive: int, negative: int) -> float:
    """The same where the difference of the two columns ranks."""
    return _share_right(y_score[:, positive] - y_score[:, negative], y_true, weight, positive, negative)


def _share_right(column: Any, y_true: Any, weight: Any, positive: int, negative: int) -> float:
    upper, lower = y_true == positive, y_true == negative
    right = (column[upper][:, None] > column[lower]) + 0.5 * (column[upper][:, None] == column[lower])
    w_upper, w_lower = (_relative(weight, chosen) for chosen in (upper, lower))
    return float(w_upper @ right @ w_lower / (w_upper.sum() * w_lower.sum()))


def _relative(weight: Any, chosen: Any) -> Any:
    """Weights of a class over the largest of them, so that none of their products is infinite."""
    if weight is None:
        return np.ones(np.count_nonzero(chosen))
    return weight[chosen] / weight[chosen].max()


def check_engines(reference: Any, fast: Any, ended: float = ENDED) -> None:
    """Two engines on one problem, to the tolerances of the tests."""
    for side in ("tpr", "fpr"):
        # Two separated classes have a curve without a point between its corners.
        apart = np.max(np.abs(getattr(reference.rates, side) - getattr(fast.rates, side)), initial=0)
        require(apart <= RATES, f"{side} of the engines differ by {apart:.3g}")
    converged = reference.factorization.converged and fast.factorization.converged
    apart = abs(reference.auc - fast.auc)
    statuses = f"{reference.factorization.status} and {fast.factorization.status}"
    require(apart <= (CONVERGED if converged else ended), f"D of the engines differs by {apart:.3g} ({statuses})")
    apart = abs(reference.hand_till - fast.hand_till)
    require(apart <= AREAS, f"M of the engines differs by {apart:.3g}")


def check_band(band: Any) -> None:
    """Two curves, the one below the other on the lines on which they are compared."""
    check_curve(band.lower, "band.lower")
    check_curve(band.upper, "band.upper")
    height = [curve.tpr - curve.fpr for curve in (band.lower, band.upper)]
    require(np.all(height[0] <= height[1] + 1e-9), "the band's lower end lies above its upper one")


def check_rankings(rankings: Any) -> None:
    """Shares of the replicates, most probable first."""
    shares = [one.probability for one in rankings]
    check_shares(shares, "probabilities of rankings")
    require(abs(sum(shares) - 1) < 1e-9, f"probabilities of rankings sum to {sum(shares)}")
    require(all(a >= b for a, b in pairwise(shares)), "rankings are not in the order of their probabilities")
