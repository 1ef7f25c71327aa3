"""How much of what the pairs have beyond chance one curve explains, against loops and where it is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers, sampled_from
from problems import gaussian_problem, quietly, random_problem
from reference import explained_by_loops

import polyroc
from polyroc._core.factorization import EXPLAINED_BOUND


@given(seed=integers(0, 10**6), n_thresholds=sampled_from([3, 40]), weighting=sampled_from(["equal", "prevalence"]))
def test_it_is_that_of_loops(engine, seed, n_thresholds, weighting):
    problem = random_problem(seed, n_classes=3 + seed % 3, max_samples=200)
    asked = {**problem.arguments, "n_thresholds": n_thresholds, "weighting": weighting, "engine": engine}
    evaluation = quietly(polyroc.evaluate, problem.y_true, problem.y_score, **asked)
    of = (evaluation.rates, evaluation.factorization, problem.y_true, problem.options.get("costs"))
    expected = explained_by_loops(*of, shrinkage=1.0, weighting=weighting, n_thresholds=n_thresholds)
    assert evaluation.explained == evaluation.factorization.explained
    assert evaluation.explained == pytest.approx(min(1, max(0, expected)), abs=1e-7)


def test_pairs_that_are_alike_are_explained_and_an_inverted_column_is_not():
    problem = gaussian_problem(0, 3000, 4, 2.0)
    alike = polyroc.evaluate(problem.y_true, problem.y_score)
    assert alike.explained > 0.99
    assert alike.is_well_explained
    inverted = polyroc.evaluate(problem.y_true, problem.y_score * [-1, 1, 1, 1])
    assert inverted.explained < EXPLAINED_BOUND
    assert not inverted.is_well_explained


@pytest.mark.parametrize(
    "scores", [lambda y: np.eye(3)[y], lambda y: np.zeros((len(y), 3))], ids=["perfect", "constant"]
)
def test_perfect_and_constant_scores_are_explained_whole(scores, engine):
    y_true = np.arange(60) % 3
    assert polyroc.evaluate(y_true, scores(y_true), engine=engine).explained == 1


def test_more_is_explained_with_an_intercept():
    problem = gaussian_problem(1, 300, 4)
    y_score = problem.y_score * [1, 1, 1, -0.5]
    rank_one, centered = (
        polyroc.evaluate(problem.y_true, y_score, structure=structure) for structure in ("rank-one", "centered")
    )
    assert rank_one.explained <= centered.explained + 1e-12
    assert rank_one.factorization.chance_deviance == centered.factorization.chance_deviance


def test_nothing_is_said_where_nothing_is_fitted():
    problem = gaussian_problem(1, 300, 3)
    assert polyroc.evaluate(problem.y_true, problem.y_score, structure="saturated").explained is None
    two = polyroc.evaluate([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    assert two.explained is None
    assert two.is_well_explained


def test_single_precision_says_the_same(monkeypatch):
    pytest.importorskip("numba")
    from polyroc._core.numba import engine as _numba

    for seed in range(20):
        problem = random_problem(seed)
        asked = {**problem.arguments, "engine": "numba"}
        with monkeypatch.context() as patch:
            double = quietly(polyroc.evaluate, problem.y_true, problem.y_score, **asked)
            patch.setattr(_numba, "SINGLE_CELLS", 0)
            single = quietly(polyroc.evaluate, problem.y_true, problem.y_score, **asked)
        assert single.rates.tpr.dtype == np.float32
        assert single.explained == pytest.approx(double.explained, abs=2e-5), seed


def test_it_is_in_the_plain_data():
    problem = gaussian_problem(1, 90, 3)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score)
    assert evaluation.to_dict()["fit"]["explained"] == evaluation.explained
