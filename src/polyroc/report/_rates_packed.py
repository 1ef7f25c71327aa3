"""Pairwise rates as the page's script takes them: what its fit needs to follow costs that somebody drags.

Rates lie by pairs, as whole numbers: of 16 bits as `_signs.py` writes them, of 32 bits in base64, little-endian. With
own thresholds, and with those on differences, a rate is stored as (TPR - s) / min(s, 1 - s), its share of the room
around the call rate s, and FPR = 2 s - TPR follows; with shared thresholds both rates are stored as they are. 0 and +-1
are exact, and nothing else becomes 1 by rounding.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from polyroc._estimator._weights import pair_weights
from polyroc._evaluation import Evaluation
from polyroc._lib._typing import FloatArray
from polyroc._records import AllPairs
from polyroc.report._packing import as_base64, share_of_room
from polyroc.report._signs import as_signs

# A grid of costs of more classes nobody reads.
MOST_CLASSES = 50
# Rates of one model: those of MOST_CLASSES on the usual grid, about 0.5 MB.
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
    if n_classes > MOST_CLASSES:
        return f"Costs can be changed here for up to {MOST_CLASSES} classes; these are {n_classes}."
    if evaluation._options.model == "centered":
        return "Costs cannot be changed here with the centered model."
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
        "model": options.model,
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
