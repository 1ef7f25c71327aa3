"""What once went wrong, by name; these cases come first, every time.

Here the library; `_corpus_files` has the command line.
"""

import sys
import threading
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import polars as pl

import polyroc
from fuzz._case import Attempt
from fuzz._containers import Animal
from fuzz._corpus_files import FILE_CASES
from fuzz._escape import attempt, why_no_refusal
from fuzz._files import process
from fuzz._oracles import check_evaluation, check_interval, check_json, check_shares, require

_SEEDS = range(12)


def _problem(seed: int, n: int, k: int, strength: float = 1.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y_true = np.arange(n) % k
    return y_true, rng.normal(size=(n, k)) + strength * np.eye(k)[y_true]


def _refused(function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    require(attempt(function, *args, **kwargs).refused, f"{function.__name__} took {args} {kwargs}")


def groups_without_a_sampled_pair(_: Attempt) -> None:
    for seed in _SEEDS:
        y_true, y_score = _problem(seed, 32, 8)
        groups = y_true // 2  # a draw of one group alone has two classes, whose pair was perhaps not sampled
        for structure in ("rank-one", "saturated"):
            asked = {"max_pairs": 8, "structure": structure, "n_thresholds": 9, "engine": "numba", "n_jobs": 1}
            evaluation = polyroc.evaluate(y_true, y_score, **asked)
            drawn = attempt(evaluation.bootstrap, 20, groups=groups, rng=0)
            if not drawn.refused:
                check_shares(drawn.result.auc, "replicates of D")
                check_shares(drawn.result.hand_till, "replicates of M")
                check_interval(drawn.result.confidence_interval(), "interval of D")
            models = {"a": y_score, "b": -y_score}
            made = attempt(
                polyroc.compare, y_true, models, method="bootstrap", n_resamples=9, groups=groups, rng=0, **asked
            )
            if not made.refused:
                check_json(made.result.to_dict(), "Comparison.to_dict()")


def labels_of_a_str_enum(_: Attempt) -> None:
    members = [list(Animal)[j % 3] for j in range(12)]
    for labels in (members, np.array(members, dtype=object)):
        evaluation = polyroc.evaluate(labels, _problem(0, 12, 3)[1])
        shown = [str(label) for label in evaluation.labels.tolist()]
        require(shown == ["ant", "bee", "cat"], f"labels are {shown}")
        require("ant" in str(evaluation) or "bee" in str(evaluation), "the worst pair is not named by its classes")


def buffer_used_again(_: Attempt) -> None:
    """Either all of it is of the numbers as they were, or it is refused."""
    y_true, y_score = _problem(0, 60, 3, strength=20.0)
    noise = np.random.default_rng(1).normal(size=y_score.shape)
    buffer = y_score.copy()
    evaluation = polyroc.evaluate(y_true, buffer)
    buffer[:] = noise
    for name in ("hand_till", "accuracy", "mean_auc"):
        try:
            found = getattr(evaluation, name)
        except Exception as error:
            require(
                why_no_refusal(error, (polyroc.InputError, RuntimeError)) is None,
                f"{name}: {type(error).__name__} {error}",
            )
        else:
            require(abs(found - 1) < 1e-12, f"{name} is {found}, of numbers that came later; D is {evaluation.auc}")


def compare_in_threads(_: Attempt) -> None:
    y_true = np.arange(12) % 3
    # Replicates that never vary, where intervals of differences are made from others.
    models = {"a": np.eye(3)[y_true], "b": -np.eye(3)[y_true], "c": 2 * np.eye(3)[y_true]}
    before, interval = list(warnings.filters), sys.getswitchinterval()

    def run() -> None:
        for _ in range(8):
            polyroc.compare(
                y_true,
                models,
                method="bootstrap",
                n_resamples=2,
                n_thresholds=2,
                engine="numpy",
                structure="saturated",
                rng=0,
            )

    sys.setswitchinterval(1e-6)

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(interval)
    left = [one for one in warnings.filters if one not in before]
    warnings.filters[:] = before  # type: ignore[index]
    require(not left, f"filters of warnings are left behind: {left[:1]}")


_TWICE = """
import numpy as np, polyroc, warnings
warnings.simplefilter("ignore")
y = np.arange(24) % 3
s = np.random.default_rng(0).normal(size=(24, 3))
for engine in ("auto", "numba"):
    try:
        e = polyroc.evaluate(y, s, n_thresholds=9, engine=engine)
        assert 0 <= e.bootstrap(3, rng=0).auc.min()
        polyroc.compare(y, {"a": s, "b": -s}, method="bootstrap", n_resamples=3, n_thresholds=9, rng=0, engine=engine)
    except (ValueError, RuntimeError) as error:  # who asks for the compiler by name may be told that there is none
        assert engine == "numba" and "NUMBA_DISABLE_JIT" in str(error), error
y = np.repeat(y, 100)
e = polyroc.evaluate(y, np.random.default_rng(0).normal(size=(2400, 3)))
e.bootstrap(30, rng=0)
"""
_TOO_MANY = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, 6 * 2**30))
import numpy as np, polyroc, warnings
warnings.simplefilter("ignore")
y = np.arange(24) % 3
e = polyroc.evaluate(y, np.random.default_rng(0).normal(size=(24, 3)), engine="numpy")
try:
    e.bootstrap(10_000_000, rng=0, n_jobs=1)
except MemoryError as error:
    assert "GiB" in str(error) or "GB" in str(error), error
else:
    raise SystemExit("10 million resamples were drawn")
"""


def without_the_compiler(_: Attempt) -> None:
    ending = process([sys.executable, "-c", _TWICE], env={"NUMBA_DISABLE_JIT": "1"})
    require(ending.code == 0, f"NUMBA_DISABLE_JIT=1: {ending.err.strip()[-300:]}")


def more_resamples_than_memory(_: Attempt) -> None:
    ending = process([sys.executable, "-c", _TOO_MANY])
    require(ending.code == 0, f"10 million resamples in 6 GiB: exit code {ending.code}, {ending.err.strip()[-300:]}")


def ratios_of_a_cost_sweep(_: Attempt) -> None:
    y_true, y_score = _problem(0, 12, 3)
    wrong = (1.0, 10**400, [10**400], [[1.0, 2.0]], np.ma.array([1.0, 2.0], mask=[True, False]), "x", [None], object())
    for ratios in wrong:
        _refused(polyroc.cost_sweep, y_true, y_score, true_class=0, ratios=ratios)


def curves_that_are_none(_: Attempt) -> None:
    for fpr, tpr in (([0, 1], [0, 0.5, 1]), ([0, 0.5, 1], [0, 1]), ([1, 0], [0, 1]), ([0, np.nan, 1], [0, 0.5, 1])):
        _refused(polyroc.RocCurve, fpr, tpr)
    for exact in (7, -1, np.nan, "x"):
        _refused(polyroc.RocCurve, [0, 1], [0, 1], exact)


def no_row_to_fit(_: Attempt) -> None:
    for method in ("parametric-pairs", "parametric-samples"):
        for n_thresholds in (2, 3, 4):
            for strength in (0.0, 20.0):
                y_true, y_score = _problem(0, 9, 3, strength)
                evaluation = polyroc.evaluate(y_true, y_score, n_thresholds=n_thresholds)
                drawn = attempt(evaluation.bootstrap, 20, method=method, rng=0)
                if not drawn.refused:
                    check_shares(drawn.result.auc, "replicates of D")
        # Two of four classes have samples, and they are separated.
        evaluation = polyroc.evaluate([0, 1], 5 * np.eye(4)[:2], labels=range(4), n_thresholds=4, shrinkage=1e-300)
        drawn = attempt(evaluation.bootstrap, 3, method=method, rng=0)
        if not drawn.refused:
            check_shares(drawn.result.auc, "replicates of D")


def perfect_separation_converges(_: Attempt) -> None:
    for k, n_thresholds, engine in product((3, 4, 6), (2, 3, 4, 5, 99), ("numpy", "numba")):
        for y_true in (np.arange(k), np.arange(4 * k) % k):
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                evaluation = polyroc.evaluate(y_true, np.eye(k)[y_true], n_thresholds=n_thresholds, engine=engine)
            what = f"{engine}, {len(y_true)} samples of {k} classes, {n_thresholds} thresholds"
            require(not heard, f"{what}: {heard and heard[0].message}")
            require(abs(evaluation.auc - 1) <= 1e-12, f"{what}: D = {evaluation.auc!r}")


def weighted_areas(_: Attempt) -> None:
    for seed in range(60):
        y_true, _scores = _problem(seed, 15, 3)
        weight = np.random.default_rng(seed).uniform(0.1, 3, 15)
        for engine in ("numpy", "numba"):
            evaluation = polyroc.evaluate(y_true, np.eye(3)[y_true], sample_weight=weight, engine=engine)
            check_shares(evaluation.pairs.auc, "pairs.auc")
            check_shares(evaluation.classes.auc_vs_rest, "classes.auc_vs_rest")
            require(abs(evaluation.auc - 1) <= 1e-12, f"perfect separation gives D = {evaluation.auc!r}")
            require(evaluation.hand_till == 1, f"perfect separation gives M = {evaluation.hand_till!r}")


def basic_intervals(_: Attempt) -> None:
    """One sample that weighs more than all others is in some replicates, and not in others."""
    for seed, n_resamples in product(range(20), (2, 3, 9)):
        y_true, y_score = _problem(seed, 9, 3, strength=0.0)
        weight = np.where(np.arange(9) % 4 == 0, 1e6, 1.0)
        drawn = polyroc.evaluate(y_true, y_score, sample_weight=weight, n_thresholds=9).bootstrap(n_resamples, rng=seed)
        for statistic in ("auc", "hand_till"):
            check_interval(drawn.confidence_interval(statistic=statistic, interval="basic"), f"basic, {statistic}")


def integers_of_128_bits(_: Attempt) -> None:
    y_true, y_score = _problem(0, 12, 3)
    right = polyroc.evaluate(y_true, np.round(y_score * 8)).auc
    frame = pl.DataFrame({str(j): np.round(y_score[:, j] * 8).astype(int) for j in range(3)})
    for labels, scores in (
        (pl.Series(y_true, dtype=pl.Int128), np.round(y_score * 8)),
        (y_true, frame.cast(pl.Int128)),
    ):
        answer = attempt(polyroc.evaluate, labels, scores)
        require(answer.refused or abs(answer.result.auc - right) < 1e-12, "Int128 gives another D")


def everything_raises(_: Attempt) -> None:
    """`np.seterr(all="raise")`, with every structure and engine."""
    structures, engines = ("rank-one", "centered", "saturated"), ("numpy", "numba")
    for seed, (n, k), strength in product(range(4), ((6, 3), (30, 4)), (0.0, 1.0, 20.0)):
        y_true, y_score = _problem(seed, n, k, strength)
        for structure, shrinkage, engine in product(structures, (0.0, 1.0), engines):
            asked = {"structure": structure, "shrinkage": shrinkage, "engine": engine, "n_thresholds": 19}
            with np.errstate(all="raise"):
                answer = attempt(polyroc.evaluate, y_true, y_score, **asked)
                check_evaluation(answer.result)


class _Fitted:
    classes_ = np.array(["x", "y", "z"])

    def predict_proba(self, X: Any) -> Any:
        return X


def scorer_that_knows_no_label(_: Attempt) -> None:
    y_true, y_score = _problem(0, 12, 3)
    _refused(polyroc.auc_scorer, _Fitted(), y_score, np.array(["a", "b", "c"])[y_true])


def scorer_of_wrong_options(_: Attempt) -> None:
    for options in (
        {"shrinkage": "x"},
        {"structure": "x"},
        {"n_thresholds": 0},
        {"costs": "x"},
        {"costs": [[0, -1], [1, 0]]},
    ):
        _refused(polyroc.make_auc_scorer, **options)


def many_wrong_resamples(_: Attempt) -> None:
    evaluation = polyroc.evaluate(*_problem(0, 12, 3))
    for wrong in (0, 1, -1, 10**400, 2.5, "9", True, None, np.nan):
        _refused(evaluation.bootstrap, wrong)


_LIBRARY: tuple[Callable[[Attempt], None], ...] = (
    groups_without_a_sampled_pair,
    labels_of_a_str_enum,
    buffer_used_again,
    compare_in_threads,
    without_the_compiler,
    more_resamples_than_memory,
    ratios_of_a_cost_sweep,
    curves_that_are_none,
    no_row_to_fit,
    perfect_separation_converges,
    weighted_areas,
    basic_intervals,
    integers_of_128_bits,
    everything_raises,
    scorer_that_knows_no_label,
    scorer_of_wrong_options,
    many_wrong_resamples,
)
CASES = {one.__name__.replace("_", "-"): one for one in (*FILE_CASES, *_LIBRARY)}
