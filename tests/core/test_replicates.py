"""Replicates: re-weighing gives what a new evaluation with these weights gives."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from preparing import prepared
from problems import gaussian_problem, quietly, random_problem

import polyroc
from polyroc._core.rates import all_pairs
from polyroc._inputs.options import Options
from polyroc._inputs.predictions import as_predictions
from polyroc._lib.grid import grid
from polyroc._uncertainty.replicates import Replicates

pytest.importorskip("numba")

from polyroc._core.numba import reweighed as _numba_reweighed
from polyroc._lib.threads import Threads

# Fits of replicates are done in single precision: a few of its units of 6e-8.
SINGLE = 5e-7


@pytest.fixture
def atol(engine):
    """How near a replicate of this engine comes to an evaluation."""
    return 1e-9 if engine == "numpy" else SINGLE


def some_weights(rng, y_true, n_replicates):
    """Integer weights that leave every class some sample."""
    weights = rng.integers(0, 4, (n_replicates, len(y_true))).astype(float)
    weights[:, np.unique(y_true, return_index=True)[1]] = 1
    return weights


def replicates_of(problem, engine="numba", **options):
    labels = range(problem.y_score.shape[1])  # some of which may have no samples
    predictions = quietly(as_predictions, problem.y_true, problem.y_score, labels=labels)
    return Replicates(prepared(engine, predictions), all_pairs(predictions), Options(engine=engine, **options))


@pytest.mark.parametrize("most_vertices", [2**27, 0], ids=["paths", "tails"])
@pytest.mark.parametrize("thresholds", ["own", "shared", "difference"])
@pytest.mark.parametrize("decimals", [0, 1, 12])
@pytest.mark.parametrize("real", [False, True])
def test_rates_and_areas_are_those_of_a_weighted_evaluation(monkeypatch, decimals, real, thresholds, most_vertices):
    monkeypatch.setattr(_numba_reweighed, "MOST_VERTICES", most_vertices)
    problem = gaussian_problem(4, 700, 5)
    y_score, rng = np.round(problem.y_score, decimals), np.random.default_rng(decimals)
    weight = rng.uniform(0, 3, 700) if real else rng.integers(0, 4, 700).astype(float)
    predictions = as_predictions(problem.y_true, y_score)
    pairs = all_pairs(predictions)
    expected = polyroc.evaluate(problem.y_true, y_score, sample_weight=weight, engine="numpy", thresholds=thresholds)
    for engine in ("numba", "numpy"):
        rates, areas = prepared(engine, predictions).reweigh(pairs, grid(99), thresholds).rates(weight)
        assert_allclose(rates.tpr, expected.rates.tpr, atol=1e-12)
        assert_allclose(rates.fpr, expected.rates.fpr, atol=1e-12)
        assert_allclose(areas, expected.pairs.auc, atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"thresholds": "shared"},
        {"thresholds": "difference"},
        {"thresholds": "difference", "n_thresholds": 3},
        {"n_thresholds": 3},  # more pairs than rows
        {"structure": "centered"},
        {"structure": "saturated"},
        {"weighting": "prevalence", "shrinkage": 3.0},
    ],
    ids=str,
)
def test_fast_replicates_are_those_of_the_reference(options, fast_engine):
    problem = gaussian_problem(5, 300, 4)
    weights = some_weights(np.random.default_rng(1), problem.y_true, 5)
    found, expected = (replicates_of(problem, name, **options)(weights) for name in (fast_engine, "numpy"))
    for name in ("auc", "fpr", "tpr"):
        assert_allclose(getattr(found, name), getattr(expected, name), atol=SINGLE)
    assert_allclose(found.hand_till, expected.hand_till, atol=1e-12)
    assert found.converged.all()
    assert not found.lost_class.any()


@pytest.mark.parametrize("seed", range(20))
def test_fast_replicates_of_hard_problems(seed, fast_engine):
    """Separable pairs, constant columns, ties, skew: what converges agrees."""
    problem = random_problem(seed, max_samples=400)
    weights = some_weights(np.random.default_rng(seed), problem.y_true, 3)
    costs = problem.options.get("costs")
    found, expected = (replicates_of(problem, name, costs=costs)(weights) for name in (fast_engine, "numpy"))
    both = found.converged & expected.converged
    assert both.all()
    # Areas of double precision agree to 1e-5 where an optimum is flat; single precision adds its own.
    assert_allclose(found.auc, expected.auc, atol=2e-5)
    assert_allclose(found.hand_till, expected.hand_till, atol=1e-12)


def test_more_pairs_than_rows_are_fitted_by_the_other_side(fast_engine):
    problem = gaussian_problem(6, 400, 16)
    weights = some_weights(np.random.default_rng(1), problem.y_true, 2)
    found, expected = (replicates_of(problem, name)(weights) for name in (fast_engine, "numpy"))
    assert_allclose(found.auc, expected.auc, atol=SINGLE)


def test_area_is_that_of_repeated_samples_without_shrinkage(engine, atol):
    problem = gaussian_problem(5, 900, 4)
    weight = np.random.default_rng(1).integers(0, 3, 900)
    index = np.repeat(np.arange(900), weight)
    expected = polyroc.evaluate(problem.y_true[index], problem.y_score[index], shrinkage=0, engine="numpy")
    found = replicates_of(problem, engine, shrinkage=0.0)(weight[None].astype(float))
    assert found.auc[0] == pytest.approx(expected.auc, abs=atol)
    assert found.hand_till[0] == pytest.approx(expected.hand_till, abs=1e-12)
    assert_allclose(found.tpr[0], expected.curve.tpr[1:-1], atol=atol)


def test_class_counts_stay_what_they_are_when_rates_are_shrunk(engine, atol):
    """Weights of 2 everywhere leave the area alone: a replicate is shrunk as the sample was."""
    problem = gaussian_problem(6, 300, 3)
    expected = polyroc.auc_score(problem.y_true, problem.y_score, engine="numpy")
    found = replicates_of(problem, engine)(np.full((1, 300), 2.0))
    assert found.auc[0] == pytest.approx(expected, abs=atol)


def test_weights_multiply_those_of_the_samples():
    problem = gaussian_problem(7, 300, 3)
    rng = np.random.default_rng(0)
    own, drawn = rng.uniform(0.5, 2, 300), rng.integers(1, 3, 300).astype(float)
    predictions = as_predictions(problem.y_true, problem.y_score, sample_weight=own)
    options = Options(shrinkage=0.0)
    found = Replicates(prepared("auto", predictions), all_pairs(predictions), options)(drawn[None])
    expected = polyroc.evaluate(problem.y_true, problem.y_score, sample_weight=own * drawn, shrinkage=0)
    assert found.auc[0] == pytest.approx(expected.auc, abs=SINGLE)
    assert found.hand_till[0] == pytest.approx(expected.hand_till, abs=1e-12)


@pytest.mark.parametrize("thresholds", ["own", "shared", "difference"])
def test_a_class_without_weight_loses_its_pairs(thresholds, engine):
    problem = gaussian_problem(8, 400, 4)
    weight = np.random.default_rng(0).integers(1, 3, 400).astype(float)
    weight[problem.y_true == 2] = 0
    both = np.vstack([weight, np.ones(400)])
    found = replicates_of(problem, engine, shrinkage=0.0, thresholds=thresholds)(both)
    kept = np.repeat(np.flatnonzero(weight), weight[weight > 0].astype(int))
    expected = quietly(
        polyroc.evaluate,
        problem.y_true[kept],
        problem.y_score[kept],
        shrinkage=0,
        labels=range(4),
        thresholds=thresholds,
    )
    assert found.lost_class.tolist() == [True, False]
    assert found.auc[0] == pytest.approx(expected.auc, abs=1e-9)
    assert found.hand_till[0] == pytest.approx(expected.hand_till, abs=1e-12)


@pytest.mark.parametrize("n_columns", [1, 2])
def test_two_classes_have_the_ordinary_area(engine, n_columns):
    rng = np.random.default_rng(3)
    y_true = rng.integers(0, 2, 200)
    score = np.round(rng.normal(size=200) + y_true, 1)
    y_score = score[:, None] if n_columns == 1 else np.column_stack([-score, score])
    predictions = as_predictions(y_true, y_score)
    weights = some_weights(rng, y_true, 4)
    found = Replicates(prepared(engine, predictions), all_pairs(predictions), Options(engine=engine))(weights)
    metrics = pytest.importorskip("sklearn.metrics")
    expected = [metrics.roc_auc_score(y_true, score, sample_weight=weight) for weight in weights]
    assert_allclose(found.auc, expected, atol=1e-12)
    assert_allclose(found.hand_till, expected, atol=1e-12)
    # The curve is read where TPR + FPR is twice the call rate.
    assert_allclose(found.tpr + found.fpr, np.tile(2 * grid(99), (4, 1)), atol=1e-12)


def test_a_fit_that_fails_in_single_precision_is_done_again_in_double(monkeypatch):
    problem = gaussian_problem(9, 200, 3)
    weights = np.ones((2, 200))
    replicates = replicates_of(problem)
    honest = replicates(weights)
    run = _numba_reweighed.run_replicates

    def failing(*arguments):
        run(*arguments)
        out = arguments[-1]
        out.effects[1], out.ended[1] = 0.0, 1

    monkeypatch.setattr(_numba_reweighed, "run_replicates", failing)
    again = replicates(weights)
    assert again.converged.all()
    assert again.auc[1] == pytest.approx(honest.auc[1], abs=SINGLE)


def test_fits_that_do_not_converge_are_counted(engine):
    """Without shrinkage the optimum may lie at infinity: here, classes of one or two samples."""
    problem = random_problem(156, max_samples=300)
    expected = quietly(polyroc.evaluate, problem.y_true, problem.y_score, labels=range(12), shrinkage=0.0)
    assert not expected.factorization.converged
    found = replicates_of(problem, engine, shrinkage=0.0)(np.ones((1, len(problem.y_true))))
    assert not found.converged[0]
    assert found.auc[0] == pytest.approx(expected.auc, abs=0.01)  # where the descents stood


def test_the_scores_are_sorted_once_and_not_copied_again():
    problem = gaussian_problem(8, 400, 4)
    source = prepared("numba", as_predictions(problem.y_true, problem.y_score))
    reweighed = source.reweigh(all_pairs(source.source), grid(99), "own")
    with Threads(1) as threads:
        kept = source.runs(threads)
    assert reweighed._runs is kept
    before = kept.values.copy()
    reweighed.rates(np.ones(400))
    assert np.array_equal(kept.values, before)


def test_predictions_remember_which_samples_were_kept():
    problem = gaussian_problem(8, 60, 3)
    weight = np.arange(60) % 5
    kept = as_predictions(problem.y_true, problem.y_score, sample_weight=weight).kept
    assert np.array_equal(kept, weight > 0)
    assert as_predictions(problem.y_true, problem.y_score).kept is None


def test_a_fit_of_some_of_many_pairs_comes_first_and_leads_to_the_same_end():
    # The fewest classes with more pairs than MEDIUM_PAIRS.
    problem = gaussian_problem(3, 800, 65)
    replicates = replicates_of(problem)
    weights = some_weights(np.random.default_rng(0), problem.y_true, 2)
    found = replicates(weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_numba_reweighed, "fit_replicate", partial(_from_means, _numba_reweighed.fit_replicate))
        expected = replicates(weights)
    assert_allclose(found.auc, expected.auc, rtol=0, atol=SINGLE)
    assert not np.array_equal(found.tpr, expected.tpr)


def _from_means(fit, *given, one_optimum):
    assert one_optimum
    return fit(*given, one_optimum=False)
