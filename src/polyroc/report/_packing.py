"""Numbers as text that a page carries: base64, little-endian, which curve.js, fit_cells.js and decisions.js read."""

import base64
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np

from polyroc._estimator._weights import pair_weights
from polyroc._lib.limits import COST_GRID
from polyroc._lib.typing import FloatArray, IntArray
from polyroc._records import AllPairs
from polyroc.evaluation._evaluation import Evaluation
from polyroc.report._sentences import Model


def as_base64(numbers: FloatArray | IntArray, kind: str) -> str:
    """Numbers in few letters; `kind` as NumPy names it.

    >>> as_base64(np.array([[1.0, -1.0], [0.0, 32767.0]]), "<i2")
    'AQD//wAA/38='
    """
    return base64.b64encode(numbers.astype(kind).tobytes()).decode("ascii")


def share_of_room(tpr: FloatArray, call_rates: FloatArray) -> FloatArray:
    """(TPR - s) / min(s, 1 - s), from -1 to 1, where FPR = 2 s - TPR follows; call rates along the last axis.

    >>> share_of_room(np.array([[0.25, 0.75], [0.5, 1.0]]), np.array([0.25, 0.75])).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    share: FloatArray = (tpr - call_rates) / np.minimum(call_rates, 1 - call_rates)
    return share


# What can be printed, less what ends strings or has a meaning in HTML.
SIGNS = "".join(chr(code) for code in range(33, 127) if chr(code) not in '"&<>\\')
_BASE = len(SIGNS)
# How many first signs stand alone, and how many have one more; the others have two more.
_ALONE, _IN_TWO = 40, 31
_SECOND = _ALONE + _IN_TWO * _BASE


def as_signs(numbers: IntArray) -> str:
    """Numbers of at most 16 bits and a sign, in one line of text.

    >>> as_signs(np.array([0, 1, 0, 32767, 32767, -32767]))
    '!$#twu!}46'
    """
    change = np.diff(numbers.ravel().astype(np.int64), prepend=0)
    # 0, -1, 1, -2, 2, ... are 0, 1, 2, 3, 4, ...
    code = np.where(change >= 0, 2 * change, -2 * change - 1)
    short, middle = code < _ALONE, code < _SECOND
    two, three = code - _ALONE, code - _SECOND
    first = np.where(short, code, np.where(middle, _ALONE + two // _BASE, _ALONE + _IN_TWO + three // _BASE**2))
    second = np.where(middle, two % _BASE, three // _BASE % _BASE)
    places = np.stack([first, second, three % _BASE], axis=1)
    is_used = np.stack([np.ones_like(short), ~short, ~middle], axis=1)
    alphabet = np.frombuffer(SIGNS.encode("ascii"), dtype=np.uint8)
    return bytes(alphabet[places[is_used]]).decode("ascii")


# Rates of one model: those of COST_GRID on the usual grid, about 0.5 MB.
_MOST_RATES = 300_000
# Of few pairs no mean evens out what rounding takes: up to this many rates have 32 bits, more have 16.
_FINE_RATES = 5_000
# Of an area: as exact as its sums are.
_DIGITS = 13


def explorer_note(evaluation: Evaluation) -> str:
    """Why the page cannot follow other costs; empty where it can."""
    if evaluation.is_binary:
        return "Costs do not change the curve of two classes."
    if not isinstance(evaluation._pair_index, AllPairs):
        return "Costs cannot be changed here because only a sample of the pairs was compared (max_pairs)."
    n_classes = len(evaluation._pair_index.classes)
    if n_classes > COST_GRID:
        return f"Costs can be changed here for up to {COST_GRID} classes; these are {n_classes}."
    if evaluation._options.structure == "centered":
        return "Costs cannot be changed here with the centered structure."
    # Before any rate is read: a fine grid of many classes would be large.
    n_rates = len(evaluation.factorization.row_effects) // 2 * len(evaluation._pair_index)
    if n_rates > _MOST_RATES:
        n_thresholds = evaluation._options.n_thresholds
        return (
            f"Costs cannot be changed here: {n_thresholds} thresholds of {n_classes} classes are too many for a page."
        )
    return ""


def packed_rates(evaluations: Sequence[Evaluation]) -> dict[str, Any] | None:
    """What the script needs of one or several evaluations of the same samples; None where `explorer_note` says why."""
    first = evaluations[0]
    if any(explorer_note(evaluation) for evaluation in evaluations):
        return None
    options, pairs = first._options, first._pair_index
    assert isinstance(pairs, AllPairs)
    classes, n_rates = pairs.classes, first.rates.n_call_rates * len(pairs)
    bits = 32 if n_rates <= _FINE_RATES else 16
    given = np.ones((len(first.labels),) * 2) if options.costs is None else options.costs
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
        "counts": first._source.effective_counts[classes].tolist(),
        "costs": given[np.ix_(classes, classes)].tolist(),
        **_fixed_weights(first),
        "bits": bits,
        "models": [_of_model(evaluation, bits) for evaluation in evaluations],
    }


def _fixed_weights(evaluation: Evaluation) -> dict[str, Any]:
    """What pairs count for before costs, by `weighting`, `tpr_weights` and `fpr_weights`; None where all count 1."""
    options = evaluation._options
    if options.weighting == "equal" and options.tpr_weights is None and options.fpr_weights is None:
        return {"on_tpr": None, "on_fpr": None}
    pairs, costs = evaluation._pair_index, options.costs
    weights = pair_weights(evaluation._source, pairs, options)
    if costs is None:
        return {"on_tpr": weights.tpr.tolist(), "on_fpr": weights.fpr.tolist()}
    # Costs taken out again: without them the other weights may lie further apart than is allowed.
    on_tpr = weights.tpr / costs[pairs.positive, pairs.negative]
    on_fpr = weights.fpr / costs[pairs.negative, pairs.positive]
    return {"on_tpr": on_tpr.tolist(), "on_fpr": on_fpr.tolist()}


def _of_model(evaluation: Evaluation, bits: int) -> dict[str, Any]:
    rates = evaluation.rates
    tpr, fpr, width = rates.tpr.T.astype(float), rates.separate_fpr, rates.row_weights
    if fpr is None:
        tpr = share_of_room(tpr, rates.call_rates)
        width = width * np.minimum(rates.call_rates, 1 - rates.call_rates)
    return {
        "rates": _packed(tpr, width, bits),
        "fpr": None if fpr is None else _packed(fpr.T.astype(float), width, bits),
        "areas": np.round(evaluation.pairs.auc.astype(float), _DIGITS).tolist(),
        "auc": evaluation.auc,
        "mean_auc": evaluation.mean_auc,
    }


def _packed(shares: FloatArray, width: FloatArray, bits: int) -> str:
    """Numbers from -1 to 1, shape (K, T), as integers; `width` is what one of them counts for at each call rate.

    >>> import base64
    >>> packed = base64.b64decode(_packed(np.array([[-1, 0, 0.9999999999, 1]]), np.ones(4), 32))
    >>> np.frombuffer(packed, "<i4").tolist()
    [-2147483647, 0, 2147483646, 2147483647]
    """
    limit = 2 ** (bits - 1) - 1
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
    return as_signs(whole.astype(np.int64)) if bits == 16 else as_base64(whole, "<i4")


# The page shows at most six decimals of an area, and three of an effect.
_PARTS = 10**6
_EFFECT_PARTS = 1000


def packed_pairs(summary: dict[str, Any], model: Model, *, most: int, first: int) -> dict[str, Any]:
    """Areas in millionths and effects in thousandths; pairs.js unpacks them, the smallest area first.

    All pairs come in the order of their classes, which need not be told for each; `first` are the pairs with the
    smallest areas, whose order rounding might change. A sample of the pairs, or the worst of very many, are named.
    """
    pairs = model.record["pairs"]
    position = {label: place for place, label in enumerate(summary["labels"])}
    positive, negative = ([position[label] for label in pairs[side]] for side in ("positive", "negative"))
    classes = sorted(set(positive))
    is_whole = len(positive) <= most and list(zip(positive, negative, strict=True)) == list(permutations(classes, 2))
    kept = list(range(len(positive))) if is_whole else model.worst_pairs[:most]
    if is_whole:
        named: dict[str, Any] = {"classes": classes, "first": model.worst_pairs[:first]}
    else:
        named = {"positive": [positive[p] for p in kept], "negative": [negative[p] for p in kept]}
    return {
        **named,
        "auc": [millionths(pairs["auc"][p]) for p in kept],
        "effect": [round(round(pairs["effect"][p], 3) * _EFFECT_PARTS) for p in kept],
    }


def millionths(area: float) -> float:
    """An area in whole millionths; only one that would become 0 or 1 keeps its digits.

    >>> millionths(0.98765432), millionths(1.0), round(millionths(1 - 2e-9), 3)
    (987654, 1000000, 999999.998)
    """
    parts = round(area * _PARTS)
    return area * _PARTS if parts in (0, _PARTS) and area not in (0.0, 1.0) else parts


# 16-bit integers, in which 0 and 1 stay exact: of a rate as a share of what it can differ from the call rate, or of the
# rate itself.
_OF_ROOM, _OF_ONE = 32767, 65535
# Rates come with five decimals.
_ROUNDING = 3e-5


def curves_of(curves: dict[str, Any] | None, *, are_explored: bool) -> dict[str, Any] | None:
    """How many curves of pairs there are, and their rates unless the page has those of all pairs anyway."""
    if curves is None:
        return None
    return {"n": len(curves["tpr"])} if are_explored else packed_curves(curves)


def packed_curves(curves: dict[str, Any]) -> dict[str, Any]:
    """`tpr` and `fpr` as base64 of little-endian integers, a row per pair.

    Where FPR is 2 s - TPR at every call rate s, `fpr` is None, and `tpr` is (TPR - s) / min(s, 1 - s).
    """
    rates, fpr, tpr = (np.array(curves[key], dtype=float) for key in ("call_rate", "fpr", "tpr"))
    follows = bool(np.all(np.abs(2 * rates - tpr - fpr) < _ROUNDING))
    packed = {"call_rate": curves["call_rate"], "n": len(tpr)}
    if follows:
        share = np.clip(share_of_room(tpr, rates), -1, 1)
        return packed | {"tpr": as_base64(np.round(share * _OF_ROOM), "<i2"), "fpr": None}
    # With one threshold for both classes of a pair, a call rate says less about the rates.
    return packed | {key: as_base64(np.round(rate * _OF_ONE), "<u2") for key, rate in (("tpr", tpr), ("fpr", fpr))}
