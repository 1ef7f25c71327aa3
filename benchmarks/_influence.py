"""What a standard error costs in addition to an evaluation: without resampling, and by 999 resamples."""

from dataclasses import dataclass

from benchmarks._data import Problem
from benchmarks._measure import Timing
from benchmarks._worker import Job

FULL = [Problem(100_000, 10), Problem(50_000, 100), Problem(50_000, 1_000)]
QUICK = [Problem(300, 3), Problem(1_000, 20)]
# Times an evaluation in addition, at most; and times faster than 999 resamples, at least.
MOST_ADDED, LEAST_FASTER = 1.5, 200
THREADS = (1, 2)


@dataclass(frozen=True)
class Added:
    """One problem on one number of threads."""

    problem: Problem
    threads: int
    error: Timing
    resamples: Timing

    @property
    def ratio(self):
        """To the evaluation, in the same process and in turns with it."""
        return self.error.seconds / self.error.evaluation

    @property
    def faster(self):
        return self.resamples.seconds / self.error.seconds


def measure(problems, bench):
    for problem in problems:
        for threads in THREADS:
            calls = ("standard_error after evaluate", "resamples after evaluate")
            yield Added(problem, threads, *bench.measure(*(Job(call, problem, threads) for call in calls)))
