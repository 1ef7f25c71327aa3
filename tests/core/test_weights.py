"""Weights of pairs by a rule: the same numbers as lists of pairs have, and no list before one is asked for."""

import math
import pickle
from contextlib import nullcontext
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from polyroc._core import weights as _weights
from polyroc._core.rates import sampled_pairs
from polyroc._core.weights import pair_weights
from polyroc._inputs.options import as_options
from polyroc._inputs.predictions import as_predictions

K = 6
RNG = np.random.default_rng(0)
MATRICES = RNG.uniform(0.1, 10, (3, K, K))
OPTIONS = {
    "nothing": {},
    "prevalence": {"weighting": "prevalence"},
    "costs": {"costs": MATRICES[0]},
    "tpr": {"tpr_weights": MATRICES[1]},
    "fpr": {"fpr_weights": MATRICES[2]},
    "everything": {
        "weighting": "prevalence",
        "costs": MATRICES[0],
        "tpr_weights": MATRICES[1],
        "fpr_weights": MATRICES[2],
    },
}


def source_of(n_absent=0, weighted=True):
    present = np.arange(K)[: K - n_absent]
    y_true = np.repeat(present, RNG.integers(1, 30, len(present)))
    weight = RNG.uniform(0.1, 5, len(y_true)) if weighted else None
    with_absent = pytest.warns(UserWarning, match="No samples") if n_absent else nullcontext()
    with with_absent:
        return as_predictions(y_true, RNG.random((len(y_true), K)), labels=np.arange(K), sample_weight=weight)


def by_loops(source, pairs, weighting="equal", costs=None, tpr_weights=None, fpr_weights=None):
    """The formula of the method page, pair by pair."""
    ones = np.ones((K, K))
    costs, on_tpr, on_fpr = (ones if m is None else m for m in (costs, tpr_weights, fpr_weights))
    tpr, fpr, size = [], [], []
    for i, j in pairs:
        both = source.class_weights[i] * source.class_weights[j] if weighting == "prevalence" else 1.0
        tpr.append(both * costs[i, j] * on_tpr[i, j])
        fpr.append(both * costs[j, i] * on_fpr[i, j])
        size.append(2 / (1 / source.effective_counts[i] + 1 / source.effective_counts[j]))
    scale = math.fsum(tpr + fpr) / (2 * len(tpr))
    return np.array(tpr) / scale, np.array(fpr) / scale, np.array(size)


@pytest.mark.parametrize("max_pairs", [None, 12])
@pytest.mark.parametrize("n_absent", [0, 2])
@pytest.mark.parametrize("name", OPTIONS)
def test_weights_agree_with_loops(name, n_absent, max_pairs):
    source = source_of(n_absent)
    pairs = sampled_pairs(source, max_pairs, 0)
    found = pair_weights(source, pairs, as_options(source.labels, **OPTIONS[name]))
    listed = list(zip(pairs.positive.tolist(), pairs.negative.tolist(), strict=True))
    if n_absent == 0 and max_pairs is None:
        assert listed == list(permutations(range(K), 2))
    tpr, fpr, size = by_loops(source, listed, **OPTIONS[name])
    assert_allclose(found.tpr, tpr, rtol=1e-14)
    assert_allclose(found.fpr, fpr, rtol=1e-14)
    assert_allclose(found.size, size, rtol=1e-14)
    assert_array_equal(found.counts, source.effective_counts)
    for weight in (found.tpr, found.fpr):
        assert found.are_equal == (name == "nothing")
        assert not found.are_equal or (weight == 1).all()
        assert not weight.flags.writeable


@pytest.mark.parametrize("name", OPTIONS)
def test_the_mean_of_very_many_pairs_is_found_without_their_lists(monkeypatch, name):
    source = source_of(n_absent=1)
    pairs, options = sampled_pairs(source, None, 0), as_options(source.labels, **OPTIONS[name])
    few = pair_weights(source, pairs, options)
    monkeypatch.setattr(_weights, "_AT_ONCE", 7)
    again = sampled_pairs(source, None, 0)
    many = pair_weights(source, again, options)
    assert_allclose(many.scale, few.scale, rtol=1e-15)
    assert "positive" not in vars(again)
    assert not {"tpr", "fpr", "size"} & vars(many).keys()
    assert_allclose(many.tpr, few.tpr, rtol=2e-15)


@pytest.mark.parametrize("share", [[1.0, 1e-12, 1e-12], [1e-9, 1.0, 0.3, 1e-9], [0.5, 1.0]])
def test_products_of_all_pairs_do_not_cancel(share):
    found = _weights._spread_of_products(np.array(share))
    products = [a * b for a, b in permutations(share, 2)]
    assert found.mean == pytest.approx(math.fsum(products) / len(products), rel=1e-15)
    assert (found.smallest, found.largest) == (min(products), max(products))


def test_of_ten_thousand_classes_nothing_is_listed():
    k = 10_000
    source = as_predictions(np.arange(k), np.broadcast_to(np.float32(0), (k, k)))
    pairs = sampled_pairs(source, None, 0)
    for options in ({}, {"weighting": "prevalence"}):
        found = pair_weights(source, pairs, as_options(source.labels, **options))
        assert found.scale == 1
        assert vars(pairs).keys() == {"classes"}
    assert repr(found) == "RuledPairWeights(99990000 ordered pairs of 10000 classes)"


def test_a_ratio_too_wide_is_refused_with_and_without_lists(monkeypatch):
    source = source_of(weighted=False)
    steep = np.ones((K, K))
    steep[0, 1] = 1e-8
    options = as_options(source.labels, costs=steep, tpr_weights=steep)
    for at_once in (1000, 7):
        monkeypatch.setattr(_weights, "_AT_ONCE", at_once)
        with pytest.raises(ValueError, match=r"`costs` and `tpr_weights` must give cells .* 1e\+12, got 1e\+16"):
            pair_weights(source, sampled_pairs(source, None, 0), options)


def test_a_pickle_keeps_the_rule():
    source = source_of()
    found = pair_weights(source, sampled_pairs(source, None, 0), as_options(source.labels, **OPTIONS["everything"]))
    again = pickle.loads(pickle.dumps(found))
    assert_array_equal(again.fpr, found.fpr)
    assert again.scale == found.scale
