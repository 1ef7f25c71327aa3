"""Areas under straight lines on the logit scale."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, logit

from polyroc.meta._summary import LogitLine, _area_of_odds_ratio

# Even in the logit: the steep ends get as many points as the middle.
GRID = np.linspace(-40, 40, 400_001)


def area_by_points(line, low=0.0, high=1.0):
    x = GRID[(expit(GRID) >= low) & (expit(GRID) <= high)]
    return np.trapezoid(expit(line.height + line.slope * (x - line.center)), expit(x))


@pytest.mark.parametrize("slope", [0.02, 0.4, 0.999999, 1.0, 1.000001, 1.84, 12.0, 300.0])
@pytest.mark.parametrize(("center", "height"), [(-1.26, 2.1), (0.0, 0.0), (3.0, -2.0), (-6.0, 7.0)])
def test_area_agrees_with_many_points(center, height, slope):
    line = LogitLine(center=center, height=height, slope=slope)
    assert line.area() == pytest.approx(area_by_points(line), abs=2e-8)
    curve = line.curve()
    assert curve.auc == line.area()
    assert np.trapezoid(curve.tpr, curve.fpr) == pytest.approx(line.area(), abs=1e-5)
    fpr = np.linspace(0.01, 0.99, 99)
    assert_allclose(curve.tpr_at(fpr), line.tpr_at(fpr), atol=1e-5)
    # The points of the grid end a little inside of both ends.
    assert line.mean_tpr(0.1, 0.7) == pytest.approx(area_by_points(line, 0.1, 0.7) / 0.6, abs=1e-4)


@pytest.mark.parametrize("slope", [1e-12, 1e-5, 1e5, 1e12])
def test_extreme_slopes_tend_to_a_level_or_a_step(slope):
    line = LogitLine(center=-0.7, height=1.1, slope=slope)
    expected = expit(1.1) if slope < 1 else expit(0.7)
    assert line.area() == pytest.approx(expected, abs=1e-4)
    assert line.curve().auc == line.area()


def test_a_level_and_a_step():
    level, step = (LogitLine(center=-0.7, height=1.1, slope=slope) for slope in (0.0, math.inf))
    assert level.area() == level.mean_tpr(0, 1) == level.mean_tpr(0, 0) == pytest.approx(expit(1.1))
    assert step.area() == step.mean_tpr(0, 1) == pytest.approx(expit(0.7))
    assert (step.mean_tpr(0.1, 0.2), step.mean_tpr(0.5, 0.6)) == (0, 1)
    jump = float(expit(-0.7))
    assert step.tpr_at(np.array([0.0, jump - 1e-9, jump, 1.0])).tolist() == [0, 0, 1, 1]


def test_one_odds_ratio():
    for ratio in (1e-9, 0.3, 0.999, 1.0, 1.0005, 1.002, 7.0, 1e12):
        line = LogitLine(center=0.0, height=math.log(ratio), slope=1.0)
        assert _area_of_odds_ratio(math.log(ratio)) == pytest.approx(area_by_points(line), abs=2e-8)
    assert _area_of_odds_ratio(800.0) == 1
    # Where the series ends and the formula begins both say the same.
    below, above = _area_of_odds_ratio(0.000999999), _area_of_odds_ratio(0.001000001)
    assert above - below == pytest.approx(2e-9 / 6, abs=1e-9)


def test_one_observed_rate_gives_the_rate_there():
    line = LogitLine(center=-1.0, height=1.0, slope=1.5)
    assert line.mean_tpr(0.3, 0.3) == pytest.approx(expit(1.0 + 1.5 * (logit(0.3) + 1.0)))
    assert (line.mean_tpr(0.0, 0.0), line.mean_tpr(1.0, 1.0)) == (0, 1)
