"""Bootstrap of an evaluation: the same bits for a seed, honest counts, and clear words where it cannot be done."""

import gc
import os
import pickle
import signal
import subprocess
import sys
import warnings
import weakref

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import gaussian_problem, quietly, random_problem

import polyroc
from polyroc import ResamplingWarning


@pytest.fixture(scope="module")
def evaluation():
    problem = gaussian_problem(0, 300, 4)
    return polyroc.evaluate(problem.y_true, problem.y_score)


# Fits of the fast engine's replicates are in single precision.
SINGLE = 5e-7


def assert_same(one, other, first=None):
    """The same replicates, or the same of the first so many."""
    for name in ("auc", "hand_till", "fpr", "tpr"):
        if getattr(other, name) is not None:
            assert_array_equal(getattr(one, name)[:first], getattr(other, name))


def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(engine):
    problem = gaussian_problem(1, 250, 3)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, engine=engine)
    first = evaluation.bootstrap(50, rng=7, n_jobs=1)
    for n_jobs in (2, 3, None, -1):
        assert_same(first, evaluation.bootstrap(50, rng=7, n_jobs=n_jobs))
    other = evaluation.bootstrap(50, rng=8)
    assert not np.array_equal(first.auc, other.auc)
    assert first.auc.std() > 0


def test_rng_follows_spec_7(evaluation):
    first = evaluation.bootstrap(20, rng=np.random.default_rng(3))
    assert_same(first, evaluation.bootstrap(20, rng=np.random.default_rng(3)))
    generator = np.random.default_rng(3)
    assert_same(first, evaluation.bootstrap(20, rng=generator))
    assert not np.array_equal(first.auc, evaluation.bootstrap(20, rng=generator).auc)
    assert not np.array_equal(evaluation.bootstrap(20).auc, evaluation.bootstrap(20).auc)


def test_replicates_are_evaluations_of_the_drawn_samples():
    """By the other road: weights of the plan, given to `evaluate` one by one."""
    from polyroc._uncertainty.units import ResamplingPlan, units_of

    problem = gaussian_problem(0, 300, 4)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, shrinkage=0)
    predictions = evaluation.fitted.source
    drawn = evaluation.bootstrap(10, rng=5)
    weights = ResamplingPlan(predictions, units_of(predictions, None), 10, [5]).weights(0, 10)
    for r, weight in enumerate(weights):
        expected = polyroc.evaluate(problem.y_true, problem.y_score, sample_weight=weight, shrinkage=0)
        assert drawn.hand_till[r] == pytest.approx(expected.hand_till, abs=1e-12)
        assert drawn.auc[r] == pytest.approx(expected.auc, abs=SINGLE)


@pytest.mark.slow
def test_standard_errors_are_those_of_new_samples():
    """What the bootstrap is about: how much the statistic varies from sample to sample."""
    problems = [gaussian_problem(seed, 400, 3) for seed in range(300)]
    areas = [polyroc.evaluate(problem.y_true, problem.y_score) for problem in problems]
    claimed = np.mean([area.bootstrap(99, rng=0).standard_error() for area in areas[:20]])
    # 300 samples give a standard deviation to 4 %.
    assert claimed == pytest.approx(np.std([area.auc for area in areas], ddof=1), rel=0.15)


def test_intervals_come_from_the_result_without_new_work(evaluation, monkeypatch):
    from polyroc._uncertainty.replicates import Replicates

    drawn = evaluation.bootstrap(199, rng=1)
    monkeypatch.setattr(Replicates, "__call__", None)
    assert drawn.confidence_interval(0.9).low > drawn.confidence_interval(0.99).low
    assert drawn.confidence_interval(statistic="hand_till").low < evaluation.hand_till
    assert drawn.standard_error("hand_till") == pytest.approx(np.std(drawn.hand_till, ddof=1))
    drawn.confidence_band()


@pytest.fixture(scope="module")
def drawn(evaluation):
    return evaluation.bootstrap(199, rng=0, influences=True)


@pytest.mark.parametrize("interval", ["logit", "percentile", "basic", "bca"])
@pytest.mark.parametrize("statistic", ["auc", "hand_till"])
def test_intervals_of_every_kind(evaluation, drawn, interval, statistic):
    asked = {"statistic": statistic, "interval": interval}
    low, high = drawn.confidence_interval(**asked)
    value = evaluation.auc if statistic == "auc" else evaluation.hand_till
    assert 0 < low < value < high < 1
    assert high - low == pytest.approx(3.92 * drawn.standard_error(statistic), rel=0.2)
    assert evaluation.confidence_interval(method="bootstrap", n_resamples=199, rng=0, **asked) == (low, high)


def test_jackknife_influences_of_hand_till_are_those_of_delong(evaluation):
    """M is linear in what each class is made of, so that leaving one out gives its influence exactly."""
    found = evaluation.bootstrap(2, rng=0, influences=True).influences[1]
    assert_allclose(np.sort(found), np.sort(evaluation.hand_till_influences), atol=1e-12)


@pytest.mark.slow
def test_jackknife_by_blocks_has_nearly_the_same_spread():
    problem = gaussian_problem(2, 3000, 3)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score)
    blocks = evaluation.bootstrap(2, rng=0, influences=True).influences[1]
    assert len(blocks) <= 501
    expected = np.sum(evaluation.hand_till_influences**2)
    # The sum of 500 squares of nearly normal numbers varies by sqrt(2 / 500).
    assert np.sum(blocks**2) == pytest.approx(expected, rel=4 * np.sqrt(2 / 500))


def test_groups_widen_the_interval_where_samples_come_in_copies():
    problem = gaussian_problem(3, 100, 3)
    y_true, y_score = np.tile(problem.y_true, 4), np.tile(problem.y_score, (4, 1))
    groups = np.tile(np.arange(100), 4)
    once = polyroc.evaluate(problem.y_true, problem.y_score).bootstrap(399, rng=0).standard_error()
    copied = polyroc.evaluate(y_true, y_score)
    assert copied.bootstrap(399, rng=0).standard_error() < 0.6 * once
    assert copied.bootstrap(399, groups=groups, rng=0).standard_error() == pytest.approx(once, rel=0.1)


def test_classes_that_vanish_are_counted():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(12), 10)
    y_true = rng.integers(0, 2, 120)
    y_true[groups == 0] = 2  # the third class has one group only
    y_score = rng.normal(size=(120, 3)) + np.eye(3)[y_true]
    evaluation = polyroc.evaluate(y_true, y_score)
    with pytest.warns(ResamplingWarning, match=r"fewer than 10 groups: 2 \(1\)"):
        drawn = evaluation.bootstrap(200, groups=groups, rng=0)
    # The group is missed by eleven draws out of twelve with probability (11 / 12)^11 = 0.384.
    assert drawn.n_lost_class == pytest.approx(200 * 0.384, abs=4 * np.sqrt(200 * 0.384 * 0.616))
    assert f"{drawn.n_lost_class} of them without some class" in repr(drawn)
    assert np.isfinite(drawn.auc).all()


def test_small_classes_are_named():
    rng = np.random.default_rng(0)
    y_true = np.array(["ant"] * 30 + ["bee"] * 9 + ["cat"])
    evaluation = polyroc.evaluate(y_true, rng.normal(size=(40, 3)))
    with pytest.warns(ResamplingWarning, match=r"fewer than 10 samples: 'bee' \(9\), 'cat' \(1\)"):
        evaluation.bootstrap(20, rng=0)
    with pytest.warns(ResamplingWarning, match="'cat'"):
        evaluation.confidence_interval(statistic="hand_till", method="delong")


def test_the_warning_points_at_the_caller():
    evaluation = polyroc.evaluate(np.arange(12) % 3, np.random.default_rng(0).normal(size=(12, 3)))
    with pytest.warns(ResamplingWarning) as caught:
        evaluation.confidence_interval(method="bootstrap", n_resamples=20, rng=0)
    assert caught[0].filename == __file__


def test_replicates_that_do_not_converge_are_counted_and_kept():
    # In double precision: in single the last steps towards infinity are too short to be seen.
    problem = random_problem(83, max_samples=300)
    evaluation = quietly(
        polyroc.evaluate, problem.y_true, problem.y_score, labels=range(10), shrinkage=0.0, engine="numpy"
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        drawn = evaluation.bootstrap(4, rng=0)
    assert drawn.n_not_converged == 4  # classes of one sample: every resample is the sample
    assert len(drawn.auc) == 4
    assert any("4 of 4 replicates did not converge" in str(entry.message) for entry in caught)
    assert "4 not converged" in repr(drawn)


@pytest.mark.filterwarnings("ignore:The scores .*rank samples backwards")
def test_a_perfect_and_a_reversed_classifier():
    y_true = np.repeat([0, 1, 2], 20)
    for y_score, low, high in ((np.eye(3)[y_true], 0.8, 1), (-np.eye(3)[y_true], 0, 0.2)):
        evaluation = polyroc.evaluate(y_true, y_score)
        with pytest.warns(ResamplingWarning, match=r"smallest class \(20 samples\)"):
            found = evaluation.confidence_interval(method="bootstrap", n_resamples=50, rng=0)
        # Clopper and Pearson: 20 tuples of one sample of each class, and none went wrong.
        assert_allclose(found, (0.025 ** (1 / 20), 1) if low else (0, 1 - 0.025 ** (1 / 20)), atol=1e-9)
        assert low <= found.low
        assert found.high <= high


def test_bca_with_groups_that_hold_whole_classes():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(12), 10)
    y_true = np.where(groups == 0, np.arange(120) % 3, 0)
    evaluation = polyroc.evaluate(y_true, rng.normal(size=(120, 3)) + np.eye(3)[y_true])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        low, high = evaluation.confidence_interval(
            groups=groups, interval="bca", method="bootstrap", n_resamples=50, rng=0
        )
    assert any("Without 1 of 12 groups no pair of classes is left" in str(entry.message) for entry in caught)
    assert 0 <= low <= high <= 1


def test_names_of_groups_do_not_matter(evaluation):
    numbers = np.arange(300) // 3 % 40
    names = np.array([f"{(7 * number) % 40:02}" for number in numbers])
    assert_same(evaluation.bootstrap(20, groups=numbers, rng=0), evaluation.bootstrap(20, groups=names, rng=0))


def test_a_perfect_sample_by_resamples_and_by_delong():
    y_true = np.repeat([0, 1, 2], 20)
    evaluation = quietly(polyroc.evaluate, y_true, np.eye(3)[y_true], n_thresholds=10)
    assert evaluation.auc == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResamplingWarning)
        low, high = evaluation.confidence_interval(method="bootstrap", n_resamples=20, rng=0)
    assert (low, high) == pytest.approx((0.025 ** (1 / 20), 1))
    by_delong = evaluation.confidence_interval(statistic="hand_till", method="delong")
    assert by_delong == pytest.approx((0.025 ** (1 / 20), 1))


def test_unequal_weights_count_for_fewer_tuples():
    y_true = np.repeat([0, 1, 2], 20)
    weight = np.ones(60)
    weight[0] = 1e6  # as good as alone in its class
    evaluation = polyroc.evaluate(y_true, np.eye(3)[y_true], sample_weight=weight)
    with pytest.warns(ResamplingWarning, match=r"smallest class \(1 sample\)"):
        low, _ = evaluation.confidence_interval(method="bootstrap", n_resamples=20, rng=0)
    assert low == pytest.approx(0.025)


def test_two_classes():
    rng = np.random.default_rng(0)
    y_true = rng.integers(0, 2, 300)
    evaluation = polyroc.evaluate(y_true, rng.normal(size=300) + y_true)
    drawn = evaluation.bootstrap(299, rng=0)
    assert_array_equal(drawn.auc, drawn.hand_till)
    low, high = evaluation.confidence_interval(statistic="hand_till", method="delong")
    assert_allclose(drawn.confidence_interval(), (low, high), atol=0.01)
    assert drawn.confidence_band().lower.auc < evaluation.auc


@pytest.mark.parametrize("method", ["parametric-pairs", pytest.param("parametric-samples", marks=pytest.mark.slow)])
def test_parametric_replicates_scatter_around_the_fit(evaluation, method):
    drawn = evaluation.bootstrap(100, method=method, rng=0, n_jobs=1)
    assert drawn.method == method
    assert drawn.hand_till is None
    assert_array_equal(drawn.auc, evaluation.bootstrap(100, method=method, rng=0, n_jobs=2).auc)
    assert np.mean(drawn.auc) == pytest.approx(evaluation.auc, abs=0.01)
    # Far too sure of themselves, which is why they are not the default; the paper's the most.
    honest = evaluation.bootstrap(100, rng=0).standard_error()
    assert drawn.standard_error() < (0.05 if method == "parametric-pairs" else 0.4) * honest
    low, high = evaluation.confidence_interval(method=method, n_resamples=100, rng=0)
    assert low < high


def test_parametric_sizes():
    """The paper draws n_i n_j times for both rates; the milder variant n_i and n_j times."""
    from polyroc._uncertainty.replicates import _binomial_sizes

    y_true = np.repeat([0, 1, 2], [5, 7, 11])
    evaluation = polyroc.evaluate(y_true, np.random.default_rng(0).normal(size=(23, 3)))
    pairs = evaluation.fitted.pairs
    counts = np.array([5, 7, 11])
    for sizes in _binomial_sizes(evaluation.fitted.source, pairs, "parametric-pairs"):
        assert_array_equal(sizes, counts[pairs.positive] * counts[pairs.negative])
    tpr_sizes, fpr_sizes = _binomial_sizes(evaluation.fitted.source, pairs, "parametric-samples")
    assert_array_equal(tpr_sizes, counts[pairs.positive])
    assert_array_equal(fpr_sizes, counts[pairs.negative])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"confidence_level": 95}, "`confidence_level` must be between 0 and 1, for example 0.95, got 95"),
        ({"confidence_level": 1.0}, "`confidence_level`"),
        ({"confidence_level": True}, "`confidence_level`"),
        ({"confidence_level": "high"}, "`confidence_level`"),
        ({"confidence_level": float("nan")}, "`confidence_level`"),
        ({"statistic": "f1"}, "`statistic` must be one of 'auc', 'hand_till', 'mean_auc', 'partial_auc', got 'f1'"),
        ({"method": "jackknife"}, "`method` must be one of 'bootstrap', 'parametric-pairs'"),
        ({"interval": "normal"}, "`interval` must be one of 'logit', 'percentile', 'basic', 'bca'"),
        ({"n_resamples": 1}, "`n_resamples` must be an integer from 2"),
        ({"n_resamples": 99.0}, "`n_resamples`"),
        ({"n_resamples": True}, "`n_resamples`"),
        ({"n_resamples": 10**12}, "`n_resamples`"),
        ({"rng": "seed"}, "`rng` must be None, a non-negative integer"),
        ({"rng": -1}, "`rng`"),
        ({"n_jobs": 0}, "`n_jobs` must be None, -1 or"),
        ({"groups": [1, 2]}, "`groups` must have one entry per sample, 300, got 2"),
        ({"method": "delong", "statistic": "hand_till", "n_resamples": -3}, "`n_resamples`"),
        ({"progress": "no"}, "`progress` must be True or False, got 'no'"),
        ({"method": "delong"}, "`statistic` must be 'hand_till' for method='delong'"),
        ({"method": "delong", "statistic": "hand_till", "interval": "bca"}, "`interval` needs a method that draws"),
        ({"method": "parametric-pairs", "statistic": "hand_till"}, "`statistic` must be 'auc'"),
        ({"method": "parametric-pairs", "groups": np.arange(300)}, "`groups` must be None"),
        ({"method": "parametric-pairs", "interval": "bca", "n_resamples": 5}, "`interval` must not be 'bca'"),
    ],
    ids=str,
)
def test_bad_requests(evaluation, arguments, message):
    with pytest.raises(ValueError, match=message):
        evaluation.confidence_interval(**arguments)


def test_bad_requests_of_a_result(evaluation):
    with pytest.raises(
        ValueError, match="`method` must be one of 'bootstrap', 'parametric-pairs', 'parametric-samples'"
    ):
        evaluation.bootstrap(5, method="delong")
    drawn = evaluation.bootstrap(5, method="parametric-pairs", rng=0)
    with pytest.raises(ValueError, match="`statistic` must be 'auc' for method='parametric-pairs'"):
        drawn.standard_error("hand_till")
    with pytest.raises(ValueError, match="`interval`"):
        drawn.confidence_interval(interval=np.array(["logit", "basic"]))
    with pytest.raises(ValueError, match="`confidence_level`"):
        drawn.confidence_band(0)
    with pytest.raises(ValueError, match="`simultaneous` must be True or False, got 'no'"):
        drawn.confidence_band(simultaneous="no")


@pytest.mark.filterwarnings("ignore:The scores .*rank samples backwards")
def test_no_parametric_replicates_without_a_rank_one_fit():
    problem = gaussian_problem(0, 90, 3)
    saturated = polyroc.evaluate(problem.y_true, problem.y_score, structure="saturated")
    with pytest.raises(
        ValueError, match="no rank-one structure is fitted, got 'parametric-pairs' for structure='saturated'"
    ):
        saturated.bootstrap(5, method="parametric-pairs")
    binary = polyroc.evaluate(problem.y_true > 0, problem.y_score[:, 0])
    with pytest.raises(ValueError, match="for two classes"):
        binary.bootstrap(5, method="parametric-samples")


def test_results_survive_pickling_and_cannot_be_written_to(evaluation):
    drawn = evaluation.bootstrap(30, rng=0, influences=True)
    again = pickle.loads(pickle.dumps(drawn))
    assert_same(drawn, again)
    for interval in ("logit", "bca"):
        assert again.confidence_interval(interval=interval) == drawn.confidence_interval(interval=interval)
    for name in ("auc", "influences"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(drawn, name)[0] = 1
        with pytest.raises(ValueError, match="read-only"):
            getattr(again, name)[0] = 1
    assert repr(drawn).startswith("BootstrapResult(30 replicates (bootstrap), auc 0.")


def test_a_result_is_numbers_only(monkeypatch):
    """It is pickled in about the bytes of its arrays, comes back without a sort, and keeps no sample alive."""
    problem = gaussian_problem(0, 4_000, 3)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score)
    results = {"alone": evaluation.bootstrap(20, rng=0, influences=True)}
    models = {"a": problem.y_score, "b": problem.y_score[:, [0, 2, 1]].copy()}
    results |= polyroc.compare(problem.y_true, models, method="bootstrap", n_resamples=20, rng=0).bootstraps
    samples = weakref.ref(evaluation.fitted.source)
    del evaluation
    gc.collect()
    assert samples() is None
    for name in ("sort", "argsort", "lexsort"):
        monkeypatch.setattr(np, name, None)
    monkeypatch.setattr("polyroc._uncertainty.replicates.Replicates.__init__", None)
    for result in results.values():
        pickled = pickle.dumps(result)
        assert len(pickled) < array_bytes(result) + 5_000 < 100_000
        assert pickle.loads(pickled).standard_error() == result.standard_error()


def array_bytes(record):
    """Of all arrays of a record, and of the records in it."""
    if isinstance(record, np.ndarray):
        return record.nbytes
    return sum(map(array_bytes, vars(record).values())) if hasattr(record, "__dataclass_fields__") else 0


@pytest.mark.slow
@pytest.mark.parametrize("method", ["bootstrap", "parametric-samples"])
@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_a_replicate_depends_on_the_seed_and_its_number_alone(engine, method, monkeypatch):
    if engine == "numba":
        pytest.importorskip("numba")
    problem = gaussian_problem(1, 60, 3)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, engine=engine, n_thresholds=9)
    long, short = (evaluation.bootstrap(n, method=method, rng=7) for n in (999, 199))
    assert_same(long, short, first=199)
    assert len(np.unique(long.auc)) > 900
    monkeypatch.setattr("polyroc._uncertainty.units._BLOCK_REPLICATES", 5)
    monkeypatch.setattr("polyroc._uncertainty.bootstrap._AT_ONCE", 5)
    assert_same(evaluation.bootstrap(199, method=method, rng=7), short)


def test_bca_says_how_to_get_what_it_needs(evaluation):
    with pytest.raises(ValueError, match=r"without influences.*bootstrap\(..., influences=True\).*confidence_interval"):
        evaluation.bootstrap(19, rng=0).confidence_interval(interval="bca")
    drawn = evaluation.bootstrap(19, rng=0, influences=True)
    assert drawn.confidence_interval(interval="bca") == evaluation.confidence_interval(
        interval="bca", method="bootstrap", n_resamples=19, rng=0
    )
    with pytest.raises(ValueError, match="`influences` must be False for method='parametric-pairs'"):
        evaluation.bootstrap(5, method="parametric-pairs", influences=True)
    with pytest.raises(ValueError, match="`influences` must be True or False, got 'bca'"):
        evaluation.bootstrap(5, influences="bca")


def test_progress_shows_a_bar_with_the_time_left(evaluation, capsys):
    pytest.importorskip("tqdm")
    evaluation.bootstrap(64, rng=0, progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "resampling: 100%" in shown.err
    assert "64/64" in shown.err
    evaluation.bootstrap(64, rng=0)
    assert capsys.readouterr().err == ""


def test_progress_without_tqdm_says_what_to_install(evaluation, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ModuleNotFoundError, match=r'needs tqdm: pip install "polyroc\[progress\]"'):
        evaluation.bootstrap(4, progress=True)


@pytest.mark.slow
@pytest.mark.threads
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_stops_sooner_than_a_hundred_replicates_take(n_jobs):
    """Counted, not timed: other processes may be busy."""
    code = f"""
import signal, threading
import numpy as np
import polyroc
from polyroc._uncertainty.units import ResamplingPlan
# Two threads may come here at once: appending is one step, and only the first gets the lock, which nobody gives back.
drawn, at_signal, first, weights = [], [], threading.Lock(), ResamplingPlan.weights
def counted(plan, start, stop):
    drawn.append(stop - start)
    if sum(drawn) >= 200 and first.acquire(blocking=False):
        print("started", flush=True)
    return weights(plan, start, stop)
def interrupt(*_):
    at_signal.append(sum(drawn))
    raise KeyboardInterrupt
y_true = np.arange(20_000) % 10
y_score = np.random.default_rng(0).normal(size=(20_000, 10))
evaluation = polyroc.evaluate(y_true, y_score)
ResamplingPlan.weights = counted
signal.signal(signal.SIGINT, interrupt)
try:
    # Many more than come before the signal, and few enough for little memory: 170 MiB.
    evaluation.bootstrap(20_000, n_jobs={n_jobs})
except KeyboardInterrupt:
    print("interrupted", at_signal[0], sum(drawn), flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        try:
            assert process.stdout.readline() == "started\n"
            process.send_signal(signal.SIGINT)
            said = process.stdout.readline().split()
            process.wait(timeout=120)
        finally:
            process.kill()
    assert said[0] == "interrupted"
    before, after = map(int, said[1:])
    assert 100 < before <= after < before + 100
    assert process.returncode == 0


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_of_single_samples_nothing_can_be_left_out():
    """Found by the fuzzer: NumPy's "need at least one array to concatenate"."""
    drawn = polyroc.evaluate([0, 1, 2], [[3.0, 1, 2], [1, 3, 2], [2, 3, 1]]).bootstrap(5, rng=0, influences=True)
    assert drawn.influences.shape == (3, 0)
    low, high = drawn.confidence_interval(interval="bca")
    assert 0 <= low <= high <= 1


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_replicates_of_the_mean_curve_are_rates(engine):
    """Found by the fuzzer: means of rates that are all 0 were -1e-17 in some replicates."""
    y_true = [0, 2, 1, 0, 1, 2, 2, 1]
    y_score = [[0, 3, 1], [3, 1, 1], [3, 4, 2], [3, 2, 3], [2, 4, 4], [4, 2, 3], [1, 1, 4], [2, 3, 0]]
    weight = [1.29349718, 0.5517138, 1.86708959, 0.6864613, 2.27730051, 1.33157471, 2.01159622, 1.33092598]
    groups = [4, 2, 1, 5, 0, 3, 2, 2]
    found = polyroc.evaluate(y_true, y_score, sample_weight=weight, n_thresholds=9, engine=engine)
    drawn = found.bootstrap(50, rng=0, groups=groups)
    for rates in (drawn.mean_fpr, drawn.mean_tpr):
        assert rates.min() >= 0
        assert rates.max() <= 1
