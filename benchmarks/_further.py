"""What is computed beyond a curve, in evaluations: python -m benchmarks._further [--quick]

All in one process, in turns: the table of measures with and without D, single measures, classes with intervals, hulls
of pairs, and D on score differences. Then decisions, in seconds, each once, with the loading of what is compiled.
"""

import argparse
from statistics import median
from time import perf_counter

import numpy as np

import polyroc
from benchmarks import _table
from benchmarks._data import Problem, make
from polyroc.evaluation._measure_list import KINDS, ONLY_ORDERED

FULL = Problem(50_000, 100)
DECISIONS = [Problem(50_000, 100), Problem(1_000_000, 10)]
QUICK = Problem(600, 4)
ROUNDS = 5
WITHOUT_D = [name for name in KINDS if name != "auc" and name not in ONLY_ORDERED]


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks._further", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small problem: shows that all parts work")
    quick = parser.parse_args().quick
    print(_table.plain(added_cells(QUICK if quick else FULL)))
    print()
    print(_table.plain(decision_cells([QUICK] if quick else DECISIONS)))


def added_cells(problem):
    y_true, y_score = make(problem)
    asked = {
        "all measures": lambda one: one.measures(),
        "all measures but D": lambda one: one.measures(WITHOUT_D),
        "D with its interval": lambda one: one.measures(["auc"]),
        "PDI": lambda one: one.measures(["pdi"]),
        "AUCmu": lambda one: one.measures(["auc_mu"]),
        "classes with intervals": lambda one: one.classes.with_intervals(),
        "hulls of all pairs": lambda one: one.pairs.hull_area,
        "evaluate on differences": lambda _: evaluated(y_true, y_score, thresholds="difference"),
    }
    for compile_first in asked.values():
        compile_first(evaluated(y_true, y_score))
    times = {what: [] for what in ("evaluate with M", *asked)}
    for _ in range(ROUNDS):
        for what, ask in asked.items():
            before = perf_counter()
            one = evaluated(y_true, y_score)
            between = perf_counter()
            ask(one)
            times["evaluate with M"].append(between - before)
            times[what].append(perf_counter() - between)
    unit = median(times["evaluate with M"])
    rows = [[str(problem), what, _table.duration(t := median(of)), f"{t / unit:.2f}"] for what, of in times.items()]
    return [["problem", "what, in addition", "time", "evaluate with M = 1"], *rows]


def evaluated(y_true, y_score, **options):
    evaluation = polyroc.evaluate(y_true, y_score, **options)
    _ = evaluation.hand_till
    return evaluation


def decision_cells(problems):
    rows = [["problem", "what", "time"]]
    for problem in problems:
        y_true, y_score = make(problem)
        costs = np.random.default_rng(1).uniform(0.2, 3, (problem.k, problem.k))
        np.fill_diagonal(costs, 0)
        before = perf_counter()
        polyroc.decide(y_true, y_score, costs)
        rows.append([str(problem), "decide, cross-fitted", _table.duration(perf_counter() - before)])
    return rows


if __name__ == "__main__":
    main()
