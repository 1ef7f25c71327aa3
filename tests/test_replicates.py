"""Replicates: re-weighing gives what a new evaluation with these weights gives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import gaussian_problem

import polyroc
from polyroc._options import Options
from polyroc._pairs import all_pairs
from polyroc._validation import as_predictions

pytest.importorskip("numba")

# Replicates are computed in single precision unless asked otherwise: a few of its units of 6e-8.
SINGLE = 5e-7


def replicates_of(problem, decimals, **options):
    from polyroc._replicates import Replicates

    y_score = np.round(problem.y_score, decimals)
    predictions = as_predictions(problem.y_true, y_score)
    return y_score, Replicates(predictions, all_pairs(predictions), Options(**options))


@pytest.mark.parametrize("decimals", [0, 1, 12])
@pytest.mark.parametrize("real", [False, True])
def test_rates_are_those_of_a_weighted_evaluation(decimals, real):
    problem = gaussian_problem(4, 700, 5)
    y_score, replicates = replicates_of(problem, decimals)
    rng = np.random.default_rng(decimals)
    weight = rng.uniform(0, 3, 700) if real else rng.integers(0, 4, 700).astype(float)
    expected = polyroc.evaluate(problem.y_true, y_score, sample_weight=weight, engine="numpy").rates
    for precision, atol in ((np.float64, 1e-12), (np.float32, SINGLE)):
        rates = replicates.rates(weight, precision)
        assert_allclose(rates.tpr, expected.tpr, atol=atol)
        assert_allclose(rates.fpr, expected.fpr, atol=atol)


def test_area_is_that_of_repeated_samples_without_shrinkage():
    problem = gaussian_problem(5, 900, 4)
    y_score, replicates = replicates_of(problem, 2, shrinkage=0.0)
    weight = np.random.default_rng(1).integers(0, 3, 900)
    index = np.repeat(np.arange(900), weight)
    expected = polyroc.auc_score(problem.y_true[index], y_score[index], shrinkage=0, engine="numpy")
    assert replicates.auc(weight.astype(float), np.float64) == pytest.approx(expected, abs=1e-9)
    assert replicates.auc(weight.astype(float)) == pytest.approx(expected, abs=SINGLE)


def test_class_counts_stay_what_they_are_when_rates_are_shrunk():
    """Weights of 2 everywhere leave the area alone: a replicate is shrunk as the sample was."""
    problem = gaussian_problem(6, 300, 3)
    y_score, replicates = replicates_of(problem, 2)
    expected = polyroc.auc_score(problem.y_true, y_score, engine="numpy")
    assert replicates.auc(np.full(300, 2.0), np.float64) == pytest.approx(expected, abs=1e-9)
    assert replicates.auc(np.full(300, 2.0)) == pytest.approx(expected, abs=SINGLE)


def test_areas_do_not_depend_on_the_number_of_threads():
    problem = gaussian_problem(7, 400, 4)
    weights = np.random.default_rng(2).integers(0, 3, (12, 400)).astype(float)
    areas = [replicates_of(problem, 2, n_jobs=n_jobs)[1].aucs(weights) for n_jobs in (1, 2, 4)]
    assert np.array_equal(areas[0], areas[1])
    assert np.array_equal(areas[0], areas[2])
    assert np.std(areas[0]) > 0


def test_the_scores_are_sorted_once_and_not_copied_again():
    problem = gaussian_problem(8, 400, 4)
    predictions = as_predictions(problem.y_true, problem.y_score)
    from polyroc._replicates import Replicates
    from polyroc.engines import _class_sorted
    from polyroc.engines._threads import Threads

    replicates = Replicates(predictions, all_pairs(predictions), Options())
    with Threads(1) as threads:
        kept = _class_sorted.class_sorted(predictions, threads)
    assert replicates._runs is kept
    before = kept.values.copy()
    replicates.auc(np.ones(400))
    assert np.array_equal(kept.values, before)
