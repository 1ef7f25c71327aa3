"""Bands: curves on both sides, wider where asked for more, and honest where nothing varies."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import gaussian_problem
from reference import grid_by_loops
from scipy import stats
from scipy.special import expit, logit

import polyroc
from polyroc._uncertainty.band import confidence_band

LINES = np.array([float(s) for s in grid_by_loops(99)])
ROOM = 2 * np.minimum(LINES, 1 - LINES)


@pytest.fixture(scope="module")
def drawn():
    problem = gaussian_problem(0, 300, 4)
    return polyroc.evaluate(problem.y_true, problem.y_score).bootstrap(299, rng=0)


def heights(curve):
    """TPR - FPR on the lines of equal call rate, by solving for the point of the polygon on each line."""
    found = []
    for s in LINES:
        total = curve.tpr + curve.fpr
        edge = min(int(np.searchsorted(total, 2 * s)), len(total) - 1)
        part = (2 * s - total[edge - 1]) / (total[edge] - total[edge - 1])
        tpr = curve.tpr[edge - 1] + part * (curve.tpr[edge] - curve.tpr[edge - 1])
        found.append(2 * (tpr - s))
    return np.array(found)


def places(curve):
    return (1 + heights(curve) / ROOM) / 2


def test_band_by_hand(drawn):
    """Pointwise: normal on the logit scale of the place on the line, with bias, shrinkage and one unseen error."""
    replicates = np.array(
        [
            places(polyroc.RocCurve(fpr=np.r_[0, fpr, 1], tpr=np.r_[0, tpr, 1]))
            for fpr, tpr in zip(drawn.fpr, drawn.tpr, strict=True)
        ]
    )
    middle = np.abs(LINES - 0.5) < 0.25  # away from the corners nothing else has a say
    error, mean = replicates.std(axis=0, ddof=1), replicates.mean(axis=0)
    observed, unshrunk = places(drawn.curve), places(drawn.unshrunk_curve)
    bias = logit(mean) - logit(observed)
    place = expit(logit(observed) - bias / 2)
    spread = np.sqrt((error / (mean * (1 - mean))) ** 2 + bias**2)
    one_more = 0.5 / (4 * drawn.n_independent) / ROOM
    band = drawn.confidence_band(0.95)
    for curve, sign, gap in ((band.lower, -1, 1 - mean), (band.upper, 1, mean)):
        unseen = np.minimum(one_more / gap, 0.9 * spread)
        total = np.sqrt(spread**2 + unseen**2 + (logit(unshrunk) - logit(place)) ** 2)
        expected = ROOM * (2 * expit(logit(place) + sign * 1.959964 * total) - 1)
        # Rates never fall: nowhere does a height change by more than twice the distance of the lines.
        outer = [
            sign * max(sign * h - 2 * abs(s - line) for h, line in zip(expected, LINES, strict=True)) for s in LINES
        ]
        assert_allclose((curve.tpr - curve.fpr)[1:-1][middle], np.array(outer)[middle], atol=1e-5)


@pytest.mark.parametrize("simultaneous", [False, True])
def test_the_band_holds_the_curve_between_two_curves(drawn, simultaneous):
    band = drawn.confidence_band(simultaneous=simultaneous)
    assert band.contains(drawn.curve)
    assert band.lower.auc < drawn.curve.auc < band.upper.auc
    for curve in (band.lower, band.upper):
        for rate in (curve.fpr, curve.tpr):
            assert rate[0] == 0
            assert rate[-1] == 1
            assert np.all(np.diff(rate) >= 0)
        # Both on the lines TPR + FPR = 2 s.
        assert_allclose((curve.fpr + curve.tpr)[1:-1], 2 * LINES, atol=1e-9)


def test_more_confidence_is_wider_and_the_whole_curve_is_wider_than_a_point(drawn):
    narrow, wide = drawn.confidence_band(0.8), drawn.confidence_band(0.99)
    whole = drawn.confidence_band(0.8, simultaneous=True)
    assert wide.lower.auc < narrow.lower.auc < narrow.upper.auc < wide.upper.auc
    assert whole.lower.auc < narrow.lower.auc
    assert whole.upper.auc > narrow.upper.auc


def test_the_simultaneous_band_holds_as_many_replicates_as_it_says(drawn):
    """From below; above, replicates that reach the end are beyond any curve that does not."""
    band = drawn.confidence_band(0.9, simultaneous=True)
    low = (band.lower.tpr - band.lower.fpr)[1:-1]
    above = [
        np.all(heights(polyroc.RocCurve(fpr=np.r_[0, fpr, 1], tpr=np.r_[0, tpr, 1])) >= low - 1e-6)
        for fpr, tpr in zip(drawn.fpr, drawn.tpr, strict=True)
    ]
    # Quantiles are interpolated, so that one replicate more or less may be inside.
    assert np.mean(above) >= 0.9 - 1 / len(above)


def test_share_inside():
    diagonal = polyroc.RocCurve(fpr=[0, 1], tpr=[0, 1])
    rng = np.random.default_rng(0)
    rates = np.sort(rng.uniform(0.4, 0.6, size=(2, 50, 9)), axis=2)
    asked = {"simultaneous": False, "least_class": 10**9, "n_classes": 3, "freedom": np.inf, "unshrunk": None}
    band = confidence_band(diagonal, rates[0], rates[1], 0.95, **asked)
    assert band.share_inside(diagonal) == 1
    perfect = polyroc.RocCurve(fpr=[0, 0, 1], tpr=[0, 1, 1])
    assert band.share_inside(perfect) == 0
    assert not band.contains(perfect)


def test_a_perfect_sample_leaves_room_below():
    """No error among the 20 samples of the smallest class of three is compatible with some."""
    y_true = np.repeat([0, 1, 2], [50, 40, 20])
    evaluation = polyroc.evaluate(y_true, np.eye(3)[y_true])
    band = evaluation.confidence_band(method="bootstrap", n_resamples=50, rng=0)
    assert band.upper.auc == pytest.approx(1)
    unseen = 0.3 * (1 - 0.025 ** (1 / 20))
    at_half = np.flatnonzero(np.isclose(band.lower.fpr + band.lower.tpr, 1))[0]
    assert band.lower.fpr[at_half] == pytest.approx(unseen, abs=1e-9)
    assert band.lower.tpr[at_half] == pytest.approx(1 - unseen, abs=1e-9)


def test_a_good_classifier_has_a_narrow_band():
    problem = gaussian_problem(1, 900, 3, strength=3.0)
    drawn = polyroc.evaluate(problem.y_true, problem.y_score).bootstrap(199, rng=0)
    low, high = drawn.confidence_interval()
    for simultaneous, wider in ((False, 4), (True, 8)):
        band = drawn.confidence_band(simultaneous=simultaneous)
        assert band.upper.auc - band.lower.auc < wider * (high - low)


def test_the_band_of_two_classes_does_not_depend_on_the_grid():
    rng = np.random.default_rng(0)
    y_true = rng.integers(0, 2, 200)
    score = rng.normal(size=200) + y_true
    plain = polyroc.evaluate(y_true, score).confidence_band(method="bootstrap", n_resamples=50, rng=0)
    with pytest.warns(UserWarning, match="`n_thresholds` had no effect"):
        coarse = polyroc.evaluate(y_true, score, n_thresholds=3)
    assert_allclose(coarse.confidence_band(method="bootstrap", n_resamples=50, rng=0).lower.tpr, plain.lower.tpr)


def test_the_mean_curve_has_no_shrinkage(drawn):
    """Its band is that of a curve that is no fit, whatever the shared curve without shrinkage."""
    asked = {"simultaneous": False, "least_class": drawn.n_independent, "n_classes": drawn.n_classes}
    asked |= {"freedom": drawn.freedom, "unshrunk": None}
    expected = confidence_band(drawn.mean_curve, drawn.mean_fpr, drawn.mean_tpr, 0.95, **asked)
    found = drawn.confidence_band(0.95, curve="mean")
    assert_allclose(found.lower.tpr, expected.lower.tpr, atol=1e-12)
    biased = confidence_band(
        drawn.mean_curve, drawn.mean_fpr, drawn.mean_tpr, 0.95, **(asked | {"unshrunk": drawn.unshrunk_curve})
    )
    assert np.abs(found.lower.tpr - biased.lower.tpr).max() > 1e-3


def at_share(place):
    """The curve that takes this share of the room on every line of equal call rate, from 0 (all wrong) to 1."""
    lines = np.linspace(0, 1, 201)
    height = 2 * np.minimum(lines, 1 - lines) * (2 * place - 1)
    return lines - height / 2, lines + height / 2


@pytest.mark.parametrize("simultaneous", [False, True])
def test_half_of_the_bias_moves_the_band_and_few_samples_widen_it(simultaneous):
    """By hand on one line: all of the bias widens, and Student's t widens a whole band."""
    places = np.array([0.74, 0.75, 0.76, 0.78, 0.8])
    fpr, tpr = np.array([at_share(place) for place in places])[:, :, 1:-1].transpose(1, 0, 2)
    curve = polyroc.RocCurve(*at_share(0.75))
    asked = {"least_class": 10**9, "n_classes": 3, "freedom": 6.0, "unshrunk": None}
    band = confidence_band(curve, fpr, tpr, 0.95, simultaneous=simultaneous, **asked)
    bias = np.log(0.766 / 0.234) - np.log(3)
    error = np.std(places, ddof=1)
    spread = np.hypot(error / (0.75 * 0.25), bias)
    reach = 1.959963984540054
    if simultaneous:
        largest = np.quantile(np.abs(places - places.mean()) / error, 0.95)
        reach = max(reach, largest) * stats.t.ppf(0.975, 6) / reach
    expected = 1 / (1 + np.exp(-(np.log(3) - bias / 2 + reach * spread * np.array([-1, 1]))))
    for found, place in zip((band.lower, band.upper), expected, strict=True):
        at_half = np.flatnonzero(np.isclose(found.fpr + found.tpr, 1))[0]
        assert found.tpr[at_half] == pytest.approx(place, rel=1e-6)


@pytest.mark.parametrize("thresholds", ["own", "shared"])
def test_a_band_does_not_depend_on_how_many_numbers_are_done_at_a_time(thresholds, monkeypatch):
    from polyroc._core import influence as _influence

    rng = np.random.default_rng(5)
    y_true = np.arange(60) % 4
    y_score = rng.normal(size=(60, 4)) + np.eye(4)[y_true]
    one = polyroc.evaluate(y_true, y_score, thresholds=thresholds, n_thresholds=9, engine="numpy").confidence_band()
    monkeypatch.setattr(_influence, "_MOST_HEIGHTS", 1)
    other = polyroc.evaluate(y_true, y_score, thresholds=thresholds, n_thresholds=9, engine="numpy").confidence_band()
    np.testing.assert_array_equal(one.lower.tpr, other.lower.tpr)
    np.testing.assert_array_equal(one.upper.fpr, other.upper.fpr)
