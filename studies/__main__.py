"""`make coverage`: how honest the intervals and the test are. With --write the table goes to docs/coverage.md."""

import argparse
import os
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from tqdm import tqdm

from studies import _coverage as coverage
from studies._page import page, write
from studies._settings import COVERAGE, GROUPED, HARD

ROOT = Path(__file__).resolve().parents[1]
SEED = 20261115


def run(pool, function, n_replications, what):
    """Everything that the replications found, by name; a name that only some have holds those."""
    found = {}
    # Enough pieces for the bar to move, few enough not to be felt.
    outcomes = pool.map(function, range(n_replications), chunksize=max(1, min(20, n_replications // 8)))
    for outcome in tqdm(outcomes, total=n_replications, desc=what, unit="", dynamic_ncols=True):
        for name, value in outcome.items():
            found.setdefault(name, []).append(float(value))
    return {name: np.array(values) for name, values in found.items()}


def main():
    parser = argparse.ArgumentParser(prog="python -m studies", description=__doc__)
    parser.add_argument("--replications", type=int, default=2000)
    parser.add_argument("--resamples", type=int, default=399)
    parser.add_argument("--quick", action="store_true", help="only show, in a minute, that all parts work")
    parser.add_argument("--write", action="store_true", help="write the table into docs/coverage.md")
    asked = parser.parse_args()
    if asked.write and (asked.quick or asked.replications < 2000 or asked.resamples < 399):
        parser.error("the page is written by full runs only")
    if asked.quick:
        asked.replications, asked.resamples = 8, 39
        coverage.N_TRUTH = 20_000
    start = time.perf_counter()
    by_setting, by_test = {}, {}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for number, setting in enumerate(COVERAGE + HARD + GROUPED):
            seed = SEED + number
            truth = coverage.find_truth(setting, seed)
            work = partial(_coverage_of, setting, truth, seed, asked.resamples)
            by_setting[setting] = truth, run(pool, work, asked.replications, setting.name)
        for name, change in coverage.TESTS.items():
            work = partial(_test_of, change, SEED, asked.resamples)
            by_test[name] = run(pool, work, asked.replications, name)
    minutes = (time.perf_counter() - start) / 60
    # Of this process and of those that worked for it: what other programs on the machine do not prolong.
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu_minutes = sum(one.ru_utime + one.ru_stime for one in used) / 60
    text = page(by_setting, by_test, asked.replications, asked.resamples, (minutes, cpu_minutes))
    print(text)
    if asked.write:
        write(ROOT / "docs" / "coverage.md", text)


def _coverage_of(setting, truth, seed, n_resamples, replication):
    return coverage.replicate_coverage(setting, truth, seed, replication, n_resamples)


def _test_of(change, seed, n_resamples, replication):
    return coverage.replicate_test(change, seed, replication, n_resamples)


if __name__ == "__main__":
    main()
