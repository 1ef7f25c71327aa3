"""How much several threads gain, by the size of the problem: the table of docs/large.md.

python -m benchmarks._threads --threads 1 2 4 8 16

Numbers of threads take turns, because the speed of a core changes within seconds, and medians are compared.
"""

import argparse
import os
import platform
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import polyroc
from benchmarks._data import Problem, make

PROBLEMS = (
    Problem(100_000, 10),
    Problem(1_000_000, 10),
    Problem(50_000, 100),
    Problem(50_000, 1_000, "float32"),
)


def seconds_by_threads(problem, threads, limit):
    """Median of the time of `evaluate` for each number of threads, in as many turns as fit in some seconds."""
    y_true, y_score = make(problem)

    def evaluate(n):
        start = time.perf_counter()
        polyroc.evaluate(y_true, y_score, engine="numba", n_jobs=n)
        return time.perf_counter() - start

    evaluate(threads[-1])
    found, begin = [], time.perf_counter()
    while len(found) < 2 or time.perf_counter() - begin < limit:
        found.append([evaluate(n) for n in threads])
    return np.median(found, axis=0), len(found)


def slowdown(n):
    """How many times as long each of n independent sorts takes at once as one alone: what busy cores lose."""
    column = np.random.default_rng(0).random(2_000_000)

    def sort(_=None):
        start = time.perf_counter()
        np.sort(column)
        return time.perf_counter() - start

    sort()
    alone = np.median([sort() for _ in range(5)])
    with ThreadPoolExecutor(n) as pool:
        return np.median(list(pool.map(sort, range(5 * n)))) / alone


def cell(seconds, first):
    return f"{1e3 * seconds:.3g} ms ({first / seconds:.1f}x)"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=10.0, help="for each problem; two turns at least")
    parser.add_argument("--classes", type=int, nargs="+", default=[10, 100, 1_000], help="only problems of these")
    given = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, NumPy {np.__version__}\n")
    names = ["1 thread" if n == 1 else f"{n} threads" for n in given.threads]
    print(f"| problem | {' | '.join(names)} | turns |")
    print("| --- " * (len(names) + 2) + "|")
    for problem in PROBLEMS:
        if problem.k in given.classes:
            medians, turns = seconds_by_threads(problem, given.threads, given.seconds)
            first = medians[0]
            row = [f"{1e3 * first:.3g} ms", *(cell(seconds, first) for seconds in medians[1:])]
            print(f"| {problem} | {' | '.join(row)} | {turns} |", flush=True)
    most = max(given.threads)
    print(f"\n{most} independent sorts at once: each takes {slowdown(most):.1f} times as long as one alone.")


if __name__ == "__main__":
    main()
