"""Where nothing is left to fit, where every pair is separated, and where the caller made NumPy strict."""

import numpy as np
import pytest
from preparing import prepared
from problems import gaussian_problem, quietly

import polyroc
from polyroc._lib.grid import grid
from polyroc._records import PairWeights, PairwiseRates

STRUCTURES = ["rank-one", "centered", "saturated"]


def separated(seed, weighted=False):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(3, 8))
    y_true = np.r_[np.arange(k), rng.integers(0, k, int(rng.integers(0, 200)))]
    weight = np.exp(3 * rng.normal(size=len(y_true))) if weighted else None
    return y_true, 0.1 * rng.random((len(y_true), k)) + np.eye(k)[y_true], weight


@pytest.mark.parametrize("n_thresholds", [2, 3, 4, 5, 99])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_separated_classes_have_area_one_and_a_fit_that_converged(engine, structure, n_thresholds):
    """The reference warned of n_thresholds=4, and 0.99999999999981 was printed as less than 1."""
    for seed in range(4):
        y_true, y_score, weight = separated(seed, weighted=seed % 2 == 1)
        options = {"engine": engine, "structure": structure, "n_thresholds": n_thresholds, "sample_weight": weight}
        found = polyroc.evaluate(y_true, y_score, **options)
        assert found.factorization.converged
        # The mean of logits, of which each is cut at 30, may lack the last bit.
        assert found.auc == pytest.approx(1.0, abs=0 if structure != "saturated" else 2e-16)
        assert found.hand_till == found.mean_auc == 1.0
        assert found.pairs.auc.max() == found.pairs.auc.min() == 1.0
        weighed = polyroc.evaluate(y_true, y_score, **options, weighting="prevalence")
        assert weighed.mean_auc <= 1.0


def test_replicates_of_weighted_samples_have_areas_of_at_most_one(engine):
    y_true, y_score, weight = separated(3, weighted=True)
    drawn = polyroc.evaluate(y_true, y_score, sample_weight=weight, engine=engine, weighting="prevalence")
    with pytest.warns(polyroc.ResamplingWarning):
        drawn = drawn.bootstrap(50, rng=0)
    assert drawn.hand_till.max() <= 1
    assert drawn.mean_auc.max() <= 1
    assert drawn.hand_till.min() > 1 - 1e-12


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("n_pairs", [2, 500])
def test_a_fit_without_any_row_to_fit_is_what_the_rates_are(engine, structure, n_pairs):
    y_true, y_score, _ = separated(0)
    n = len(grid(2))
    half = grid(2) >= 0.5
    tpr = np.repeat(half.astype(float)[:, None], n_pairs, axis=1)
    rates = PairwiseRates(tpr, 0 * tpr, grid(2))
    weights = PairWeights(np.ones(n_pairs), np.ones(n_pairs), np.full(n_pairs, 5.0))
    source = polyroc.evaluate(y_true, y_score).fitted.source
    fit = prepared(engine, source).fit(rates, weights, shrinkage=1.0, structure=structure)
    assert fit.converged
    assert fit.deviance == 0
    assert np.array_equal(fit.row_effects, np.r_[np.where(half, 30, -30), np.full(n, -30)])
    assert np.array_equal(fit.mean_rates, np.r_[half, np.zeros(n)])
    assert fit.explained in (None, 1.0)


# Of two pairs that contradict each other nothing says which is sharper, so that not all of these fits converge.
@pytest.mark.filterwarnings("ignore::polyroc.ResamplingWarning")
@pytest.mark.parametrize("method", ["parametric-pairs", "parametric-samples"])
def test_parametric_replicates_of_one_sample_per_class(engine, method):
    """Each rate is drawn as 0 or 1, so that often all rows of a fit are."""
    evaluation = quietly(polyroc.evaluate, [0, 1], np.eye(3)[:2], labels=[0, 1, 2], n_thresholds=2, engine=engine)
    drawn = evaluation.bootstrap(200, method=method, rng=0)
    assert np.all((drawn.auc >= 0) & (drawn.auc <= 1))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::polyroc.ResamplingWarning")
def test_numpy_may_raise_all_that_it_knows(engine):
    """`centered` has predictors so large that probabilities vanish, which is no error."""
    with np.errstate(all="raise"):
        for structure in STRUCTURES:
            for strength, thresholds in ((1, "own"), (1, "shared"), (10, "shared")):
                problem = gaussian_problem(1, 40, 4, strength)
                found = polyroc.evaluate(
                    problem.y_true, problem.y_score, structure=structure, engine=engine, thresholds=thresholds
                )
                drawn = found.bootstrap(9, rng=0, influences=True)
                assert 0 <= drawn.confidence_interval().low <= drawn.confidence_interval(interval="bca").high <= 1
                assert 0 <= found.mean_auc <= 1


@pytest.mark.parametrize("k", [3, 4, 5])
def test_a_fit_that_begins_at_its_optimum_converges(engine, k):
    """A step that moved nothing was damped more and more, because it had promised a fall of 1e-33."""
    found = polyroc.evaluate(range(k), np.eye(k), n_thresholds=4, engine=engine)
    assert found.factorization.converged
    assert found.factorization.n_iter < 20


def vanishing(seed=0, k=4):
    """Weights whose squares and products are less than the smallest float."""
    rng = np.random.default_rng(seed)
    y_true = np.arange(60) % k
    weight = 10.0 ** rng.integers(-250, 1, size=60)
    weight[:k] = 1.0  # of each class, so that classes can be compared
    return y_true, rng.normal(size=(60, k)) + np.eye(k)[y_true], weight


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("structure", STRUCTURES)
def test_what_vanishes_raises_nothing(engine, structure):
    """Only `centered` was safe from `np.seterr(under="raise")`; weights, rates, intervals and baselines were not."""
    y_true, y_score, weight = vanishing()
    y_score = y_score * 1e-300

    def everything():
        found = polyroc.evaluate(y_true, y_score, sample_weight=weight, structure=structure, engine=engine)
        drawn = found.bootstrap(9, rng=0, influences=True)
        yield found.auc
        yield found.hand_till
        yield found.mean_auc
        yield from found.accuracy_interval()
        yield from drawn.confidence_interval()
        yield from drawn.confidence_interval(interval="bca")
        yield from found.confidence_interval(statistic="hand_till", method="delong")
        yield drawn.confidence_band().lower.auc
        yield float(found.score_thresholds.sum())
        for baseline in (polyroc.baselines.hand_till, polyroc.baselines.auc_mu):
            yield baseline(y_true, y_score, sample_weight=weight)
        index = polyroc.baselines.pdi(y_true, y_score, sample_weight=weight)
        yield from (float(index), index.standard_error)

    usual = list(everything())
    with np.errstate(all="raise"):
        assert list(everything()) == usual
        assert np.geterr()["under"] == "raise"


def test_a_warning_still_points_at_the_caller():
    """Every public function is called through NumPy, which sets what underflow means."""
    with pytest.warns(UserWarning, match="had no effect") as caught:
        polyroc.evaluate([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4], shrinkage=2.0)
    assert caught[0].filename == __file__
