"""Numbers that a page carries as letters, and the codes of single samples; packing.js reads them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyroc._core.predicted import confusion, highest, levels
from polyroc._core.samples import can_be_probabilities
from polyroc._core.weights import pair_weights
from polyroc._lib.limits import COST_GRID
from polyroc._lib.typing import BoolArray, FloatArray, IntArray
from polyroc._records import AllPairs, Frozen, Predictions
from polyroc.evaluation._evaluation import Evaluation
from polyroc.report._sentences import Model

# Different numbers that are listed as they are, 128 kB: all that have four decimals, and all of small problems. Of a
# forest or of neighbours, expected costs are often equal, and then the last digit decides.
_MOST_VALUES = 2**14
# Probabilities below this count as much as this: costs of a millionth do not reach as far down.
_LEAST = 1e-20
_STEPS = 2**16 - 1


@dataclass(frozen=True, eq=False)
class CodedScores(Frozen):
    """Probabilities by their places in a list, or by equal steps of their logarithms."""

    codes: IntArray
    """Shape (n, k), from 0 to 65535."""
    values: FloatArray | None
    """The list; None where there are steps: code 0 stands for 0, and code c for exp(low + (c - 1) step)."""
    low: float = 0.0
    step: float = 0.0

    @property
    def decoded(self) -> FloatArray:
        """The probabilities that the codes stand for, shape (n, k)."""
        if self.values is not None:
            listed: FloatArray = self.values[self.codes]
            return listed
        return np.where(self.codes > 0, np.exp(self.low + (self.codes - 1) * self.step), 0.0)


@dataclass(frozen=True, eq=False)
class RuleScores(Frozen):
    """Input of two rules: counts of what the highest score predicts, and the scores if they are probabilities."""

    confusion: FloatArray
    """Sum of weights by true class (row) and class of the highest score (column), shape (k, k)."""
    scores: CodedScores | None
    """None for free scores, of which only the highest counts."""


def drawn_rows(n_samples: int, most: int, seed: int) -> IntArray | None:
    """A random sample of `most` rows in their order; None where there are no more."""
    if n_samples <= most:
        return None
    rows: IntArray = np.sort(np.random.default_rng(seed).choice(n_samples, most, replace=False))
    return rows


def rule_scores(predictions: Predictions, classes: IntArray, rows: IntArray | None) -> RuleScores:
    """Scores of some classes (columns) and samples (rows, None for all), and counts of what the highest predicts."""
    taken = slice(None) if rows is None else rows
    codes, scores = true_places(predictions, classes, rows), predictions.scores[taken][:, classes]
    # As `decide` compares them, so that rounding of logarithms decides alike.
    are_probabilities = can_be_probabilities(predictions)
    predicted = highest(levels(scores, on_log_scale=are_probabilities), np.zeros(len(classes)))
    weight = np.ones(len(codes)) if predictions.sample_weight is None else predictions.sample_weight[taken]
    found = confusion(codes, predicted, weight, (len(classes), len(classes)))
    return RuleScores(found, coded(scores) if are_probabilities else None)


def true_places(predictions: Predictions, classes: IntArray, rows: IntArray | None) -> IntArray:
    """The true class of each of these samples as a place in `classes`."""
    codes = predictions.codes if rows is None else predictions.codes[rows]
    places: IntArray = np.searchsorted(classes, codes)
    return places


def row_weights(predictions: Predictions, rows: IntArray | None) -> FloatArray | None:
    """Weights of these samples in units of the largest; None where all are 1."""
    if predictions.sample_weight is None:
        return None
    weight = predictions.sample_weight if rows is None else predictions.sample_weight[rows]
    scaled: FloatArray = weight / weight.max()
    return scaled


def coded(scores: FloatArray) -> CodedScores:
    """Probabilities in 16 bits each: exactly where they take few values, else to half a step of their logarithm.

    >>> coded(np.array([[0.0, 0.25, 0.75]])).decoded.tolist()
    [[0.0, 0.25, 0.75]]
    """
    p = np.maximum(scores.astype(np.float64), 0.0)
    values, places = np.unique(p, return_inverse=True)
    if len(values) <= _MOST_VALUES:
        return CodedScores(places.reshape(p.shape), values)
    least = max(float(values[values > 0][0]), _LEAST)
    low, high = float(np.log(least)), float(np.log(values[-1]))
    step = (high - low) / (_STEPS - 1)
    whole = np.rint((np.log(np.maximum(p, least)) - low) / step).astype(np.intp) + 1
    return CodedScores(np.where(p > 0, whole, 0), None, low, step)


# What can be printed, except what ends strings or has a meaning in HTML.
LETTERS = "".join(chr(code) for code in range(33, 127) if chr(code) not in '"&<>\\')
# A number ends with one of the first letters; the others say that it goes on. With 46 of 89 rates take the least space.
_ENDING = 46
_OTHERS = len(LETTERS) - _ENDING


def as_letters(numbers: IntArray) -> str:
    """Whole numbers as one string: the change from each number to the next, in as many letters as it needs.

    >>> as_letters(np.array([0, 1, 0, 32767, 32767, -32767]))
    '!$#~bG!Svk!'
    """
    change = np.diff(numbers.ravel().astype(np.int64), prepend=0)
    # 0, -1, 1, -2, 2, ... are 0, 1, 2, 3, 4, ...
    rest = np.where(change >= 0, 2 * change, -2 * change - 1)
    goes_on = np.ones(len(rest), dtype=bool)
    digits, is_used = list[IntArray](), list[BoolArray]()
    while goes_on.any():
        is_used.append(goes_on)
        goes_on = goes_on & (rest >= _ENDING)
        more, digit = np.divmod(rest - _ENDING, _OTHERS)
        digits.append(np.where(goes_on, _ENDING + digit, rest))
        rest = np.where(goes_on, more, 0)
    alphabet = np.frombuffer(LETTERS.encode("ascii"), dtype=np.uint8)
    return bytes(alphabet[np.stack(digits, axis=1)[np.stack(is_used, axis=1)]]).decode("ascii")


def share_of_room(tpr: FloatArray, call_rates: FloatArray) -> FloatArray:
    """(TPR - s) / min(s, 1 - s), from -1 to 1, where FPR = 2 s - TPR follows; call rates along the last axis.

    >>> share_of_room(np.array([[0.25, 0.75], [0.5, 1.0]]), np.array([0.25, 0.75])).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    share: FloatArray = (tpr - call_rates) / np.minimum(call_rates, 1 - call_rates)
    return share


# Rates of one model: those of COST_GRID on the usual grid, about 0.5 MB.
_MOST_RATES = 300_000
# What stands for a share of 1. Few pairs do not even rounding out, so up to this many rates are finer.
_LIMIT, _FINE_LIMIT = 2**15 - 1, 2**31 - 1
_FINE_RATES = 5_000
# Of an area: as exact as its sums are.
_DIGITS = 13


def explorer_note(evaluation: Evaluation) -> str:
    """Why the page cannot follow other costs; empty where it can."""
    if evaluation.is_binary:
        return "Costs do not change the curve of two classes."
    if not isinstance(evaluation.fitted.pairs, AllPairs):
        return "Costs cannot be changed here because only a sample of the pairs was compared (max_pairs)."
    n_classes = len(evaluation.fitted.pairs.classes)
    if n_classes > COST_GRID:
        return f"Costs can be changed here for up to {COST_GRID} classes; these are {n_classes}."
    if evaluation.fitted.options.structure == "centered":
        return "Costs cannot be changed here with the centered structure."
    # Before any rate is read: a fine grid of many classes would be large.
    n_rates = len(evaluation.factorization.row_effects) // 2 * len(evaluation.fitted.pairs)
    if n_rates > _MOST_RATES:
        n_thresholds = evaluation.fitted.options.n_thresholds
        return (
            f"Costs cannot be changed here: {n_thresholds} thresholds of {n_classes} classes are too many for a page."
        )
    return ""


def packed_rates(evaluations: Sequence[Evaluation]) -> dict[str, Any] | None:
    """Rates of one or several evaluations of the same samples, for the script; None where `explorer_note` says why."""
    first = evaluations[0]
    if any(explorer_note(evaluation) for evaluation in evaluations):
        return None
    options, pairs = first.fitted.options, first.fitted.pairs
    assert isinstance(pairs, AllPairs)
    classes, n_rates = pairs.classes, first.rates.n_call_rates * len(pairs)
    limit = _FINE_LIMIT if n_rates <= _FINE_RATES else _LIMIT
    costs = np.ones((len(first.labels),) * 2) if options.costs is None else options.costs
    return {
        "k": len(classes),
        "classes": classes.tolist(),
        "grid": first.rates.call_rates.tolist(),
        "row_weights": first.rates.row_weights.tolist(),
        "positive": pairs.positive.tolist(),
        "negative": pairs.negative.tolist(),
        "thresholds": options.thresholds,
        "structure": options.structure,
        "shrinkage": options.shrinkage,
        "weighting": options.weighting,
        "counts": first.fitted.source.effective_counts[classes].tolist(),
        "costs": costs[np.ix_(classes, classes)].tolist(),
        **_fixed_weights(first),
        "limit": limit,
        "models": [_of_model(evaluation, limit) for evaluation in evaluations],
    }


def _fixed_weights(evaluation: Evaluation) -> dict[str, Any]:
    """Weights of pairs before costs, by `weighting`, `tpr_weights` and `fpr_weights`; None if all are 1."""
    options = evaluation.fitted.options
    if options.weighting == "equal" and options.tpr_weights is None and options.fpr_weights is None:
        return {"on_tpr": None, "on_fpr": None}
    pairs, costs = evaluation.fitted.pairs, options.costs
    weights = pair_weights(evaluation.fitted.source, pairs, options)
    if costs is None:
        return {"on_tpr": weights.tpr.tolist(), "on_fpr": weights.fpr.tolist()}
    # Costs taken out again: without them the other weights may lie further apart than is allowed.
    on_tpr = weights.tpr / costs[pairs.positive, pairs.negative]
    on_fpr = weights.fpr / costs[pairs.negative, pairs.positive]
    return {"on_tpr": on_tpr.tolist(), "on_fpr": on_fpr.tolist()}


def _of_model(evaluation: Evaluation, limit: int) -> dict[str, Any]:
    rates = evaluation.rates
    tpr, fpr, width = rates.tpr.T.astype(float), rates.separate_fpr, rates.row_weights
    if fpr is None:
        tpr = share_of_room(tpr, rates.call_rates)
        width = width * np.minimum(rates.call_rates, 1 - rates.call_rates)
    return {
        "rates": _packed(tpr, width, limit),
        "fpr": None if fpr is None else _packed(fpr.T.astype(float), width, limit),
        "areas": np.round(evaluation.pairs.auc.astype(float), _DIGITS).tolist(),
        "auc": evaluation.auc,
        "mean_auc": evaluation.mean_auc,
    }


def _packed(shares: FloatArray, width: FloatArray, limit: int) -> str:
    """Numbers from -1 to 1, shape (K, T), in steps of 1 / limit; `width` is the weight of each call rate in an area.

    >>> as_letters(np.array([-100, 0, 99, 100])) == _packed(np.array([[-1, 0, 0.9999999999, 1]]), np.ones(4), 100)
    True
    """
    scaled = np.clip(shares, -1, 1) * limit
    is_exact = (np.abs(shares) >= 1 - 1e-12) | (shares == 0)
    whole, owed = np.rint(scaled), np.zeros(len(shares))
    for t in range(shares.shape[1]):
        # What rounding takes at one call rate is given back at the next: areas keep more digits than single rates.
        # Half a step at most, because rates around 1/2 stand for little each.
        wanted = scaled[:, t] + np.clip(owed / width[t], -0.5, 0.5)
        # A rate that is nearly 1 must not become 1: a row of such rates would take no part in the fit.
        rounded = np.clip(np.rint(wanted), 1 - limit, limit - 1)
        whole[:, t] = np.where(is_exact[:, t], whole[:, t], rounded)
        owed += (scaled[:, t] - whole[:, t]) * width[t]
    return as_letters(whole.astype(np.int64))


# The page shows at most six decimals of an area, and three of an effect.
_AREA_PARTS, _EFFECT_PARTS = 10**7, 1000


def packed_pairs(summary: dict[str, Any], model: Model, *, most: int) -> dict[str, str]:
    """Both classes, areas and effects of the pairs with the smallest areas, in this order, as letters."""
    pairs, kept = model.record["pairs"], model.worst_pairs[:most]
    position = {label: place for place, label in enumerate(summary["labels"])}
    columns = {side: [position[pairs[side][p]] for p in kept] for side in ("positive", "negative")}
    columns["auc"] = [area_parts(pairs["auc"][p]) for p in kept]
    columns["effect"] = [round(round(pairs["effect"][p], 3) * _EFFECT_PARTS) for p in kept]
    return {name: as_letters(np.array(numbers)) for name, numbers in columns.items()}


def area_parts(area: float) -> int:
    """An area in ten-millionths, of which only 0 is none and only 1 is all.

    >>> area_parts(0.98765432), area_parts(1.0), area_parts(1 - 2e-9)
    (9876543, 10000000, 9999999)
    """
    return round(area * _AREA_PARTS) if area in (0.0, 1.0) else min(max(round(area * _AREA_PARTS), 1), _AREA_PARTS - 1)


# Rates come with five decimals.
_ROUNDING = 3e-5


def curves_of(curves: dict[str, Any] | None, *, are_explored: bool) -> dict[str, Any] | None:
    """How many curves of pairs there are, and their rates unless the page has those of all pairs anyway."""
    if curves is None:
        return None
    return {"n": len(curves["tpr"])} if are_explored else packed_curves(curves)


def packed_curves(curves: dict[str, Any]) -> dict[str, Any]:
    """`tpr` and `fpr` as letters, a row per pair.

    If FPR is 2 s - TPR at every call rate s, `fpr` is None, and `tpr` is (TPR - s) / min(s, 1 - s).
    """
    rates, fpr, tpr = (np.array(curves[key], dtype=float) for key in ("call_rate", "fpr", "tpr"))
    follows = bool(np.all(np.abs(2 * rates - tpr - fpr) < _ROUNDING))
    packed = {"call_rate": curves["call_rate"], "n": len(tpr), "limit": _LIMIT}
    if follows:
        share = np.clip(share_of_room(tpr, rates), -1, 1)
        return packed | {"tpr": as_letters(np.rint(share * _LIMIT)), "fpr": None}
    # With one threshold for both classes of a pair, a call rate says less about the rates.
    return packed | {key: as_letters(np.rint(rate * _LIMIT)) for key, rate in (("tpr", tpr), ("fpr", fpr))}


# Scores of single samples, on request

# Scores of all models together, 1.3 MB on the page; of more samples some are drawn.
MOST_SCORES = 500_000
_SEED = 0


def packed_decisions(evaluations: Sequence[Evaluation]) -> dict[str, Any] | None:
    """Data by which the script predicts classes; None if the page has no grid of costs, or knows no single sample."""
    if any(explorer_note(evaluation) or not evaluation.fitted.has_samples for evaluation in evaluations):
        return None
    sources, pairs = [evaluation.fitted.unchanged.samples for evaluation in evaluations], evaluations[0].fitted.pairs
    assert isinstance(pairs, AllPairs)
    classes, first = pairs.classes, sources[0]
    n_coded = sum(can_be_probabilities(source) for source in sources)
    # Where no model needs its scores, all samples count.
    most = MOST_SCORES // (n_coded * len(classes)) if n_coded else first.n_samples
    rows = drawn_rows(first.n_samples, most, _SEED)
    weight = row_weights(first, rows)
    return {
        "n_samples": first.n_samples,
        "n_rows": first.n_samples if rows is None else len(rows),
        "true": as_letters(true_places(first, classes, rows)) if n_coded else None,
        "weight": _bits(weight.astype("<f4")) if n_coded and weight is not None else None,
        "models": [_decided(rule_scores(source, classes, rows)) for source in sources],
    }


def _decided(rule: RuleScores) -> dict[str, Any]:
    scores = None if rule.scores is None else _packed_scores(rule.scores)
    return {"confusion": rule.confusion.tolist(), "scores": scores}


def _packed_scores(scores: CodedScores) -> dict[str, Any]:
    return {
        "codes": as_letters(scores.codes),
        "values": None if scores.values is None else _bits(scores.values.astype("<f8")),
        "low": scores.low,
        "step": scores.step,
    }


def _bits(values: FloatArray) -> str:
    """Positive numbers bit by bit, as whole numbers of 32 bits: all upper halves first, which change little."""
    words = values.view("<u4").reshape(len(values), -1)
    return as_letters(words.T[::-1])
