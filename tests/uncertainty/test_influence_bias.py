"""The bias of D by a few refits: against the mean of many resamples, which shows the same bias the long way."""

from dataclasses import replace

import numpy as np
import pytest
from problems import quietly

import polyroc
from polyroc._uncertainty.influence import needs_bias
from polyroc._uncertainty.units import units_of


@pytest.fixture(scope="module", params=[0, pytest.param(1, marks=pytest.mark.slow)])
def evaluation(request):
    """Ten classes of twenty: there the bias is half a standard error."""
    rng = np.random.default_rng(request.param)
    y_true = np.repeat(np.arange(10), 20)
    score = rng.normal(size=(200, 10)) + np.linspace(1.5, 3, 10) * np.eye(10)[y_true]
    return quietly(polyroc.evaluate, y_true, score)


def test_four_refits_find_what_many_resamples_show(evaluation):
    spread = evaluation.uncertainty.spread("auc", units_of(evaluation.fitted.source, None))
    drawn = evaluation.bootstrap(999, rng=0)
    shown = (drawn.auc.mean() - evaluation.auc) / spread.standard_error
    found, error = np.array(spread.bias) / spread.standard_error
    assert shown > 0.25
    # The mean of 999 resamples is right to 0.03 standard errors; the refits say how right they are.
    assert error < 0.15
    assert abs(found - shown) < 3 * np.hypot(error, 0.03)


def test_the_interval_is_moved_back_by_the_bias(evaluation):
    """Without it the interval would lie higher."""
    spread = evaluation.uncertainty.spread("auc", units_of(evaluation.fitted.source, None))
    moved, unmoved = spread.interval(0.95), replace(spread, bias=(0.0, 0.0)).interval(0.95)
    assert moved.low < unmoved.low
    assert moved.high < unmoved.high
    assert spread.corrected()[0] < spread.estimate


def test_m_has_no_bias(evaluation):
    assert evaluation.uncertainty.spread("hand_till", units_of(evaluation.fitted.source, None)).bias == (0.0, 0.0)


def test_very_many_samples_need_no_refits(evaluation):
    few = units_of(evaluation.fitted.source, None)
    assert needs_bias(few, 10)
    many = np.repeat(np.arange(10), 5000)
    assert not needs_bias(type(few)(np.arange(50_000), many, are_groups=False), 10)
