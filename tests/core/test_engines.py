"""The other engines against the reference engine, which decides what they must give."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from preparing import prepared
from problems import STUDY, Problem, gaussian_problem, quietly, random_problem
from reference import cut, grid_by_loops, polygon_by_loops, rates_by_loops
from scipy.optimize import brentq
from scipy.special import expit

import polyroc
from polyroc import baselines
from polyroc._core import get_engine
from polyroc._core.rates import all_pairs
from polyroc._core.weights import pair_weights, shrunk_cells
from polyroc._inputs.predictions import as_predictions
from polyroc._lib.grid import grid

numba = pytest.importorskip("numba")

from polyroc._core.numba import engine as _numba  # noqa: E402
from polyroc._core.numba import problem as _numba_cells  # noqa: E402
from polyroc._core.numba import rates as _numba_rates  # noqa: E402
from polyroc._lib.threads import Threads  # noqa: E402


@dataclass(frozen=True)
class Comparison:
    seed: int
    rates: float
    auc: float
    statuses: tuple[str, str]

    @property
    def both_converged(self) -> bool:
        return self.statuses == ("converged", "converged")


def both_engines(problem: Problem, engine: str, **options) -> tuple[polyroc.Evaluation, polyroc.Evaluation]:
    arguments = {**problem.arguments, **options}
    evaluate = polyroc.evaluate
    return (
        quietly(evaluate, problem.y_true, problem.y_score, engine="numpy", **arguments),
        quietly(evaluate, problem.y_true, problem.y_score, engine=engine, n_jobs=1, **arguments),
    )


def compare(seed: int, engine: str, **options) -> Comparison:
    reference, fast = both_engines(random_problem(seed), engine, **options)
    assert reference.rates.tpr.shape == fast.rates.tpr.shape
    return Comparison(
        seed,
        max(np.abs(getattr(reference.rates, side) - getattr(fast.rates, side)).max() for side in ("tpr", "fpr")),
        abs(reference.auc - fast.auc),
        (str(reference.factorization.status), str(fast.factorization.status)),
    )


def assert_agree(study: list[Comparison]) -> None:
    for found in study:
        assert found.rates <= 1e-12, found
        assert found.auc <= (1e-9 if found.both_converged else 1e-5), found
    assert sum(found.statuses[0] == found.statuses[1] for found in study) >= 0.99 * len(study)


def weights_of(problem: Problem, seed: int):
    return np.random.default_rng(seed).uniform(0.1, 3, len(problem.y_true))


@pytest.mark.parametrize("seeds", STUDY)
def test_every_problem_of_the_solver_study_gives_the_same(seeds, fast_engine):
    assert_agree([compare(seed, fast_engine) for seed in seeds])


@pytest.mark.parametrize("seeds", STUDY)
def test_weighted_problems_give_the_same(seeds, fast_engine):
    weights = {seed: weights_of(random_problem(seed), seed) for seed in seeds[::5]}
    assert_agree([compare(seed, fast_engine, sample_weight=weight) for seed, weight in weights.items()])


@pytest.mark.parametrize("seeds", STUDY)
def test_fits_that_do_not_converge_end_alike(seeds, fast_engine):
    """Without shrinkage some optima lie at infinity, such as those of the seeds 57 and 560."""
    study = [compare(seed, fast_engine, shrinkage=0) for seed in sorted({57, 560, *seeds[::10]}.intersection(seeds))]
    assert_agree(study)
    assert any(not found.both_converged for found in study)


@pytest.mark.parametrize(
    ("structure", "seeds"),
    [
        ("rank-one", range(8)),
        pytest.param("rank-one", range(8, 50), marks=pytest.mark.slow),
        ("centered", range(10)),
        ("saturated", range(10)),
    ],
    ids=str,
)
def test_single_precision_is_right_to_five_digits(monkeypatch, structure, seeds):
    monkeypatch.setattr(_numba, "SINGLE_CELLS", 0)
    for seed in seeds:
        reference, fast = both_engines(random_problem(seed), "numba", structure=structure)
        assert fast.rates.tpr.dtype == np.float32
        assert fast.auc == pytest.approx(reference.auc, abs=1e-5), seed
        assert fast.factorization.status == reference.factorization.status, seed
        start = reference.factorization.deviance_path[0]
        assert fast.factorization.deviance == pytest.approx(reference.factorization.deviance, abs=1e-5 * start), seed


def test_many_pairs_give_the_same(fast_engine):
    """More pairs than rows, so that the rows are solved for, in several chunks."""
    problem = gaussian_problem(1, 3000, 50)
    reference, fast = both_engines(problem, fast_engine, n_thresholds=19, weighting="prevalence")
    assert_allclose(fast.rates.tpr, reference.rates.tpr, atol=1e-12)
    assert_allclose(fast.pairs.effect, reference.pairs.effect, atol=1e-7)
    assert_allclose(fast.factorization.row_effects, reference.factorization.row_effects, atol=1e-7)
    assert fast.auc == pytest.approx(reference.auc, abs=1e-9)
    assert fast.factorization.deviance == pytest.approx(reference.factorization.deviance, rel=1e-9)
    # Curvature that the last sweeps keep must not cost steps.
    assert fast.factorization.n_iter <= reference.factorization.n_iter + 1


@pytest.mark.parametrize("thresholds", ["own", "shared", "difference"])
@pytest.mark.parametrize("decimals", [0, 3, None], ids=["few values", "ties", "continuous"])
def test_long_runs_give_the_same_rates(decimals, thresholds, fast_engine):
    problem = gaussian_problem(4, 60_000, 4)
    y_score = problem.y_score if decimals is None else problem.y_score.round(decimals)
    assert 2 * np.bincount(problem.y_true).min() > _numba_rates.LONG
    reference, fast = both_engines(Problem(problem.y_true, y_score, {"thresholds": thresholds}), fast_engine)
    assert_allclose(fast.rates.tpr, reference.rates.tpr, atol=1e-12)
    assert_allclose(fast.rates.fpr, reference.rates.fpr, atol=1e-12)
    assert fast.auc == pytest.approx(reference.auc, abs=1e-9)


@pytest.mark.parametrize("skew", [1, 5000])
def test_a_long_run_beside_a_short_one_gives_the_same_rates(skew, fast_engine):
    rng = np.random.default_rng(skew)
    y_true = np.repeat([0, 1, 2], [skew, 20_000, 3])
    y_score = np.round(rng.normal(size=(len(y_true), 3)) + np.eye(3)[y_true], 2)
    reference, fast = both_engines(Problem(y_true, y_score, {}), fast_engine)
    assert_allclose(fast.rates.tpr, reference.rates.tpr, atol=1e-12)
    assert_allclose(fast.rates.fpr, reference.rates.fpr, atol=1e-12)


def variants(y_score):
    wide = np.zeros((2 * len(y_score), y_score.shape[1] + 2), dtype=y_score.dtype)
    wide[::2, 1:-1] = y_score
    fixed = y_score.copy()
    fixed.flags.writeable = False
    return {"column-major": np.asfortranarray(y_score), "strided": wide[::2, 1:-1], "read-only": fixed}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", ["column-major", "strided", "read-only"])
def test_the_layout_of_the_scores_does_not_matter(layout, dtype, fast_engine):
    problem = gaussian_problem(6, 400, 4)
    y_score = problem.y_score.astype(dtype)
    given_as = variants(y_score)[layout]
    before = given_as.copy()
    reference = polyroc.evaluate(problem.y_true, y_score, engine="numpy")
    fast = polyroc.evaluate(problem.y_true, given_as, engine=fast_engine)
    assert_allclose(fast.rates.tpr, reference.rates.tpr, atol=1e-12)
    assert_array_equal(fast.score_thresholds, reference.score_thresholds)
    assert fast.auc == pytest.approx(reference.auc, abs=1e-9)
    assert_array_equal(given_as, before)


COMPILED = """
import polyroc
from preparing import prepared
from problems import gaussian_problem, quietly, random_problem
from polyroc._core.numba import fit as _numba_fit
from polyroc._core.numba import steps as _numba_steps

for seed in range(20):
    problem = random_problem(seed)
    quietly(polyroc.evaluate, problem.y_true, problem.y_score, engine="numba", **problem.arguments)
problem = gaussian_problem(0, 1000, 12)
assert polyroc.evaluate(problem.y_true, problem.y_score, engine="numba", max_pairs=60).pair_sampling_error > 0
for name in ("sweep", "add_deviance", "add_row_means", "step_pairs", "step_rows"):
    signatures = getattr(_numba_steps if name.startswith("step") else _numba_fit, name).signatures
    assert len(signatures) <= (2 if name == "sweep" else 1), (name, signatures)
assert len(_numba_fit.sweep.signatures) > 0
"""


@pytest.mark.slow
def test_kernels_are_compiled_once_for_all_problems():
    """Whatever rows are left out of a fit, and of whichever pairs: each side to keep has its kernels once."""
    # A process of its own: replicates have kernels that call these with arrays that may be written to.
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "helpers")}
    done = subprocess.run(
        [sys.executable, "-c", COMPILED], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr


# The ways through a pair of runs, each as a function of Python: all samples, skipping most, and by weights of 1.


@numba.njit
def walked(a, b, call_rates, tpr):
    _numba_rates.read_own(a, b, None, None, call_rates, _numba_rates.LONG, tpr)


@numba.njit
def skipped(a, b, call_rates, tpr):
    _numba_rates.read_own(a, b, None, None, call_rates, 0, tpr)


@numba.njit
def weighed(a, b, call_rates, tpr):
    wa, wb = np.arange(len(a), 0, -1) / len(a), np.arange(len(b), 0, -1) / len(b)
    _numba_rates.read_own(a, b, wa, wb, call_rates, 0, tpr)


tied_runs = st.lists(st.integers(0, 6), min_size=1, max_size=14)


@pytest.mark.parametrize("read", [walked, skipped, weighed])
@given(positive=tied_runs, negative=tied_runs, n_thresholds=st.sampled_from([2, 3, 7, 10, 99]))
def test_two_runs_are_read_as_by_loops(read, positive, negative, n_thresholds):
    call_rates = grid(n_thresholds)
    # One place more than it may write to: what is written there would be somebody else's.
    tpr = np.full(len(call_rates) + 1, np.nan)
    read(np.sort(np.array(positive, float)), np.sort(np.array(negative, float)), call_rates, tpr)
    assert np.isnan(tpr[-1])
    vertices = polygon_by_loops(positive, negative)
    expected = np.array([cut(vertices, s) for s in grid_by_loops(n_thresholds)])
    assert_allclose(np.column_stack([tpr[:-1], 2 * call_rates - tpr[:-1]]), expected, atol=1e-12)


tied_problems = st.lists(
    st.tuples(st.integers(0, 2), *[st.integers(0, 4)] * 3, st.integers(1, 3)), min_size=3, max_size=25
).filter(lambda samples: {sample[0] for sample in samples} == {0, 1, 2})


@given(
    samples=tied_problems,
    thresholds=st.sampled_from(["own", "shared", "difference"]),
    n_thresholds=st.sampled_from([2, 7, 10]),
)
def test_weights_of_whole_numbers_are_repetitions(engine, samples, thresholds, n_thresholds):
    table = np.array(samples)
    y_true, y_score, weight = table[:, 0], table[:, 1:4].astype(float), table[:, 4]
    rates = quietly(
        polyroc.evaluate,
        y_true,
        y_score,
        sample_weight=weight,
        thresholds=thresholds,
        n_thresholds=n_thresholds,
        engine=engine,
    ).rates
    repeated = np.repeat(table, weight, axis=0)
    tpr, fpr = rates_by_loops(repeated[:, 0], repeated[:, 1:4], thresholds, n_thresholds)
    assert_allclose(rates.tpr, tpr, atol=1e-12)
    assert_allclose(rates.fpr, fpr, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("decimals", [0, 12], ids=["ties", "continuous"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_areas_are_those_of_the_reference(dtype, decimals, weighted):
    for seed, (n, k) in enumerate([(60, 5), (5000, 12), (30_000, 3)]):
        problem = gaussian_problem(seed, n, k)
        y_score = problem.y_score.round(decimals).astype(dtype)
        weight = weights_of(problem, seed) if weighted else None
        predictions = as_predictions(problem.y_true, y_score, sample_weight=weight)
        pairs = all_pairs(predictions)
        expected = prepared("numpy", predictions).areas(pairs)
        assert_allclose(prepared("numba", predictions).areas(pairs), expected, rtol=0, atol=1e-13)


def test_areas_need_no_sample_of_every_class():
    problem = gaussian_problem(0, 300, 6)
    y_true = np.where(problem.y_true == 2, 3, problem.y_true)
    predictions = quietly(as_predictions, y_true, problem.y_score, labels=np.arange(6))
    pairs = all_pairs(predictions)
    assert len(pairs) == 20
    reference, fast = (prepared(name, predictions).areas(pairs) for name in ("numpy", "numba"))
    assert_allclose(fast, reference, rtol=0, atol=1e-13)


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_baselines_of_large_problems_are_those_of_scikit_learn(monkeypatch, weighted):
    metrics = pytest.importorskip("sklearn.metrics")
    monkeypatch.setattr("polyroc._core.engines.LEAST_COMPILED", 0)
    problem = gaussian_problem(3, 30_000, 8)
    y_true, y_score = problem.y_true, np.exp(problem.y_score.round(1))
    y_score /= y_score.sum(axis=1, keepdims=True)
    weight = weights_of(problem, 0) if weighted else None
    assert get_engine("auto", as_predictions(y_true, y_score)).name == "numba"
    for average in ("macro", "weighted"):
        expected = metrics.roc_auc_score(y_true, y_score, multi_class="ovr", average=average, sample_weight=weight)
        ours = baselines.one_vs_rest(y_true, y_score, average=average, sample_weight=weight)
        assert ours == pytest.approx(expected, abs=1e-12)
    if not weighted:  # which scikit-learn does not know for pairs
        expected = metrics.roc_auc_score(y_true, y_score, multi_class="ovo", average="macro")
        assert baselines.hand_till(y_true, y_score) == pytest.approx(expected, abs=1e-12)


def all_numbers(evaluation):
    fit, curve, rates = evaluation.factorization, evaluation.curve, evaluation.rates
    return [curve.tpr, curve.fpr, fit.row_effects, fit.pair_effects, evaluation.pairs.auc, rates.tpr, rates.fpr]


@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("thresholds", ["own", "shared", "difference"])
def test_any_number_of_threads_gives_the_same_bits(monkeypatch, thresholds, weighted, single):
    if single:
        monkeypatch.setattr(_numba, "SINGLE_CELLS", 0)
    problem = gaussian_problem(2, 3000, 60)
    options = {
        "thresholds": thresholds,
        "sample_weight": weights_of(problem, 0) if weighted else None,
        "n_thresholds": 49,
        "engine": "numba",
    }
    one, *others = (polyroc.evaluate(problem.y_true, problem.y_score, n_jobs=n, **options) for n in (1, 2, 3, 5))
    assert len(one.fitted.pairs) == 3540
    for other in others:
        assert other.auc == one.auc
        for found, expected in zip(all_numbers(other), all_numbers(one), strict=True):
            assert_array_equal(found, expected, strict=True)


def test_effects_for_given_rows_are_nearly_the_best():
    """They are looked up in a table; a root finder knows them exactly."""
    problem = gaussian_problem(3, 2000, 16)
    costs = np.random.default_rng(0).uniform(0.2, 5, (16, 16))
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, engine="numba", costs=costs)
    predictions, options, rates = evaluation.fitted.source, evaluation.fitted.options, evaluation.rates
    weights = pair_weights(predictions, evaluation.fitted.pairs, options)
    with Threads(1) as threads:
        mean = _numba_cells.row_means(rates, weights, threads)
        compiled = _numba_cells.cells_of(rates, weights, options.shrinkage, mean)
        row = 1.2 * evaluation.factorization.row_effects[compiled.fitted]
        found = _numba_cells.effects_of(compiled, row, _numba_cells.pieces(rates.n_pairs), threads)
    cells = shrunk_cells(rates, weights, options.shrinkage).inner
    for j in range(0, rates.n_pairs, 7):
        pulled = cells.weight[:, j] * row
        best = brentq(lambda v, j=j, pulled=pulled: pulled @ (expit(row * v) - cells.rate[:, j]), 0.01, 100)
        assert found[j] == pytest.approx(best, rel=2e-3)


@pytest.mark.parametrize(("medium", "many", "curved"), [(64, 10**9, 32), (64, 128, 96)], ids=["medium", "many"])
def test_a_start_from_some_of_the_pairs_leads_to_the_same_area(monkeypatch, medium, many, curved):
    """Fits of very many pairs begin where a fit of some ended, and may take the curvature from some."""

    monkeypatch.setattr(_numba_cells, "MEDIUM_PAIRS", medium)
    monkeypatch.setattr(_numba_cells, "MANY_PAIRS", many)
    monkeypatch.setattr(_numba_cells, "CURVED_PAIRS", curved)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y_true = np.arange(1200) % 20
        y_score = rng.normal(size=(1200, 20)) + rng.uniform(0.3, 2.5, 20) * np.eye(20)[y_true]
        expected = polyroc.evaluate(y_true, y_score, engine="numpy")
        found = polyroc.evaluate(y_true, y_score, engine="numba")
        assert found.factorization.converged
        assert found.auc == pytest.approx(expected.auc, abs=1e-9)
        assert np.allclose(found.pairs.effect, expected.pairs.effect, atol=1e-6)
