"""The band of the difference of two curves, against resamples of our own and against known curves."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

import polyroc
from polyroc.report._facts import curve_difference, curve_differences, replicates_of


def two_models(rng, n, strengths=(1.0, 1.0)):
    """Labels of two classes, and scores of two models whose errors have a correlation of 1/2."""
    y_true = np.arange(n) % 2
    errors = rng.normal(size=n)
    other = 0.5 * errors + np.sqrt(0.75) * rng.normal(size=n)
    return y_true, {"a": strengths[0] * y_true + errors, "b": strengths[1] * y_true + other}


def difference(y_true, models, n_resamples, seed=0):
    compared = polyroc.compare(y_true, models, method="bootstrap", n_resamples=n_resamples, rng=seed)
    drawn = [replicates_of(one, "shared") for one in compared.bootstraps.values()]
    return curve_difference(*drawn, n_independent=compared.n_independent, confidence_level=0.95)


def tpr_at(y_true, scores, call_rates):
    """Walk down the sorted scores of two classes; without ties, each sample is a step up or to the right."""
    found = y_true[np.argsort(-scores)]
    tpr = np.r_[0, np.cumsum(found)] / found.sum()
    fpr = np.r_[0, np.cumsum(1 - found)] / (1 - found).sum()
    return np.interp(call_rates, (tpr + fpr) / 2, tpr)


def known_tpr(strength, call_rates):
    """Of normal scores, where TPR + FPR is twice the call rate."""
    cuts = [
        brentq(lambda cut, s=s: norm.sf(cut - strength) + norm.sf(cut) - 2 * s, -20, 20) for s in call_rates.tolist()
    ]
    return norm.sf(np.array(cuts) - strength)


def test_value_and_band_are_those_of_resamples_by_hand():
    rng = np.random.default_rng(5)
    y_true, models = two_models(rng, 200, (1.5, 0.8))
    found = difference(y_true, models, n_resamples=999)
    wanted = tpr_at(y_true, models["a"], found.call_rates) - tpr_at(y_true, models["b"], found.call_rates)
    np.testing.assert_allclose(found.value, wanted, atol=1e-12)
    classes = [np.flatnonzero(y_true == one) for one in (0, 1)]
    replicates = []
    for _ in range(999):
        # The same samples for both models; ties of samples that were drawn twice do not matter, by tiny noise.
        chosen = np.concatenate([rng.choice(one, len(one)) for one in classes])
        noise = 1e-9 * rng.normal(size=len(chosen))
        a, b = (tpr_at(y_true[chosen], models[name][chosen] + noise, found.call_rates) for name in "ab")
        replicates.append(a - b)
    low, high = np.quantile(replicates, [0.025, 0.975], axis=0)
    middle = (found.call_rates > 0.15) & (found.call_rates < 0.85)
    width = (high - low)[middle].mean()
    assert (found.high - found.low)[middle].mean() == pytest.approx(width, rel=0.1)
    spread = np.hypot(np.std(replicates, axis=0, ddof=1), np.mean(replicates, axis=0) - wanted)
    np.testing.assert_allclose((found.high - found.low)[middle], 2 * 1.96 * spread[middle], rtol=0.2)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::polyroc.ResamplingWarning")
def test_the_band_of_very_good_models_contains_the_known_difference():
    # Most of their replicates do not vary at most call rates. By them alone, the band contained it in 58 % of cases.
    rng = np.random.default_rng(1)
    call_rates = difference(*two_models(rng, 20), n_resamples=2).call_rates
    wanted = known_tpr(3.0, call_rates) - known_tpr(2.5, call_rates)
    inside = []
    for seed in range(30):
        found = difference(*two_models(rng, 60, (3.0, 2.5)), n_resamples=49, seed=seed)
        inside.append((found.low <= wanted) & (wanted <= found.high))
    assert np.mean(inside) > 0.93


@pytest.mark.filterwarnings("ignore::polyroc.ResamplingWarning")
def test_the_band_stays_where_rates_can_be():
    found = difference(*two_models(np.random.default_rng(2), 20, (6.0, 5.0)), n_resamples=29)
    room = 2 * np.minimum(found.call_rates, 1 - found.call_rates)
    assert np.all(found.low <= found.value)
    assert np.all(found.value <= found.high)
    assert np.all(np.abs([found.low, found.high]) <= room + 1e-12)
    # Both may make errors that twenty samples do not show.
    assert np.min(found.high - found.low) > 0


def test_influences_give_the_band_of_paired_resamples():
    example = polyroc.load_example()
    scores = {name: example.scores[name] for name in ("knn", "logistic", "tree")}
    found = curve_differences(polyroc.compare(example.y_true, scores))
    drawn = curve_differences(polyroc.compare(example.y_true, scores, method="bootstrap", n_resamples=999, rng=0))
    middle = slice(15, -15)
    for one, other in zip(found["pairs"], drawn["pairs"], strict=True):
        assert (one["first"], one["second"]) == (other["first"], other["second"])
        for curve in ("curve", "mean_curve"):
            assert one[curve]["value"] == other[curve]["value"]
            widths = [np.subtract(of[curve]["high"], of[curve]["low"])[middle] for of in (one, other)]
            np.testing.assert_allclose(*widths, rtol=0.2)
            for end in ("low", "high"):
                gap = np.abs(np.subtract(one[curve][end], other[curve][end])[middle])
                assert np.all(gap < 0.15 * widths[1])
