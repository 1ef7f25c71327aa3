"""A process that measures: jobs come as JSON on the standard input, times and peak memory leave as JSON."""

import json
import os
import resource
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from statistics import median
from time import perf_counter

from benchmarks import _peers
from benchmarks._data import Problem, load


@dataclass(frozen=True)
class Effort:
    """Repeat for `seconds`, but at least and at most so many times; of more pairs, scikit-learn gets a sample."""

    seconds: float
    least: int
    most: int
    whole_pairs: int
    sampled_pairs: int
    replicates: int
    peer_replicates: int
    own_replicates: int = 20


FULL = Effort(2.0, 3, 101, whole_pairs=10_000, sampled_pairs=2_000, replicates=999, peer_replicates=5)
QUICK = Effort(0.0, 1, 1, whole_pairs=100, sampled_pairs=50, replicates=20, peer_replicates=2)


@dataclass(frozen=True)
class Job:
    """One thing to time: a name of polyroc or of a peer, on a problem."""

    call: str
    problem: Problem
    threads: int = 2
    options: dict = field(default_factory=dict)


def polyroc_call(name, y_true, y_score, **options):
    """The number at the end tells a peer's computation of the same thing from another one."""
    import polyroc

    if name == "evaluate with areas":
        evaluation = polyroc.evaluate(y_true, y_score, **options)
        assert len(evaluation.pairs.auc) > 1
        return evaluation.hand_till
    if name == "evaluate":
        return polyroc.evaluate(y_true, y_score, **options).auc
    if name == "auc_score":
        return polyroc.auc_score(y_true, y_score, **options)
    # The baselines use as many threads as the process has cores.
    del options["n_jobs"]
    return getattr(polyroc.baselines, name)(y_true, y_score, **options)


def bootstrap(y_true, y_score, n_resamples, n_jobs):
    """From labels and scores to the interval of D."""
    import polyroc

    evaluation = polyroc.evaluate(y_true, y_score, n_jobs=n_jobs)
    low, high = evaluation.confidence_interval(method="bootstrap", n_resamples=n_resamples, rng=0)
    assert low < evaluation.auc < high
    return high - low


def timed_evaluation(y_true, y_score, n_jobs):
    """An evaluation and the seconds it takes, alone: what is asked of it later is timed by itself."""
    import polyroc

    start = perf_counter()
    # By name: "auto" leaves small problems to the reference.
    evaluation = polyroc.evaluate(y_true, y_score, n_jobs=n_jobs, engine="numba")
    return evaluation, perf_counter() - start


def after_evaluation(job, y_true, y_score, effort):
    """Medians of the seconds that an evaluation takes and of what is asked of it in addition, in turns.

    In turns, so that a busy machine slows down both: what counts is their ratio.
    """
    evaluations, asked = [], []
    resampled = job.call == "resamples after evaluate"
    few = effort.own_replicates
    while len(asked) <= effort.least or (sum(asked) < effort.seconds and len(asked) <= effort.most):
        evaluation, seconds = timed_evaluation(y_true, y_score, job.threads)
        evaluations.append(seconds)
        start = perf_counter()
        # The first one warms up.
        value = evaluation.bootstrap(few if asked else 2, rng=0).auc[0] if resampled else evaluation.standard_error
        asked.append(perf_counter() - start)
        if resampled and len(asked) > 1 and sum(asked) > effort.seconds:
            break
    scale = effort.replicates / few if resampled else 1.0
    return {
        "seconds": scale * median(asked[1:]),
        "runs": len(asked) - 1,
        "value": float(value),
        "remark": f"scaled from {few} resamples" if resampled else "",
        "evaluation": median(evaluations[1:]),
    }


def perform(job, y_true, y_score, effort):
    """Seconds, number of runs, the value, and a remark where the time is scaled."""
    scale, remark = 1.0, ""
    if job.call.endswith(" after evaluate"):
        return after_evaluation(job, y_true, y_score, effort)
    if job.call == "bootstrap":
        call = partial(bootstrap, y_true, y_score, effort.replicates, job.threads)
    elif job.call == "sklearn_bootstrap":
        call = partial(_peers.sklearn_resamples, y_true, y_score, effort.peer_replicates)
        scale = effort.replicates / effort.peer_replicates
        remark = f"scaled from {effort.peer_replicates} resamples"
    elif job.call == "sklearn_some_pairs" or (job.call == "sklearn_ovo" and job.problem.n_pairs > effort.whole_pairs):
        call = partial(_peers.sklearn_some_pairs, y_true, y_score, effort.sampled_pairs)
        scale = job.problem.n_pairs / effort.sampled_pairs
        remark = f"scaled from {effort.sampled_pairs:,} of {job.problem.n_pairs:,} pairs"
    elif hasattr(_peers, job.call):
        call = partial(getattr(_peers, job.call), y_true, y_score)
    else:
        call = partial(polyroc_call, job.call, y_true, y_score, n_jobs=job.threads, **job.options)
    value = float(call())  # warms up
    times = repeated(call, effort)
    # A scaled time is of a part, whose value is not the whole's.
    return {
        "seconds": scale * median(times),
        "runs": len(times),
        "value": None if remark else value,
        "remark": remark,
    }


def repeated(call, effort):
    times = []
    while len(times) < effort.least or (sum(times) < effort.seconds and len(times) < effort.most):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return times


@contextmanager
def cores(n):
    """Bind this process to n of its cores, where the system can, and the threads of NumPy's linear algebra too."""
    from threadpoolctl import threadpool_limits

    mine = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    if mine is not None:
        os.sched_setaffinity(0, sorted(mine)[-n:])
    try:
        with threadpool_limits(n):
            yield
    finally:
        if mine is not None:
            os.sched_setaffinity(0, mine)


def peak_memory():
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def main():
    order = json.load(sys.stdin)
    effort, results, loaded = Effort(**order["effort"]), [], (None, None)
    for given in order["jobs"]:
        job = Job(**{**given, "problem": Problem(**given["problem"])})
        if loaded[0] != job.problem:
            loaded = (None, None)
            loaded = (job.problem, load(job.problem, order["folder"]))
        if not hasattr(_peers, job.call):
            # Before the cores are counted out: a linear algebra loaded later would not hear of it.
            import_module("polyroc")
        with cores(job.threads):
            results.append(perform(job, *loaded[1], effort))
    print(json.dumps({"results": results, "peak": peak_memory()}))


if __name__ == "__main__":
    main()
