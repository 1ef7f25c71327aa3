"""How often the intervals of `Evaluation.measures` cover the truth.

Labels are drawn at random in the proportions of a setting, so that the numbers of samples per class are chance, too:
that is what measures that depend on prevalence are about. The others are judged on the same samples.
"""

import importlib.util
import multiprocessing
import os
import sys
import warnings

import numpy as np

import polyroc
from polyroc._uncertainty.units import units_of
from polyroc.evaluation._measure_list import KINDS
from studies._populations import populations
from studies._settings import COVERAGE, HELD_OUT, draw

LEVEL = 0.95
N_TRUTH = 1_000_000
GOAL = (0.93, 0.97)
# D has tables of its own, and the classes of these settings have no order.
NAMES = [name for name in KINDS if name not in ("auc", "quadratic_kappa")]
SETTINGS = [
    next(one for one in COVERAGE if one.name == "strong, balanced"),
    next(one for one in COVERAGE if one.name == "medium, skewed 1:20"),
    next(one for one in HELD_OUT if one.name == "pen, logistic"),
]
BEGIN, END = "<!-- measures: begin -->", "<!-- measures: end -->"
_ENGINE = "numba" if importlib.util.find_spec("numba") else "numpy"


def find_truth(setting, seed):
    """Every measure of the population: of many samples, or of all rows, weighed to the proportions of the setting."""
    if setting.population is None:
        counts = (N_TRUTH // setting.n_classes,) * setting.n_classes
        y_true, y_score, _ = draw(setting, np.random.default_rng([seed, 1]), counts)
    else:
        y_true, y_score = populations()[setting.population]
    weight = np.array(setting.counts, dtype=float) / np.bincount(y_true)
    evaluation = polyroc.evaluate(y_true, y_score, sample_weight=weight[y_true], engine=_ENGINE)
    return estimates(evaluation)


def estimates(evaluation):
    """The values alone: standard errors are not computed before somebody asks."""
    kinds = [KINDS[name] for name in NAMES]
    measured, _ = evaluation.uncertainty.measured(kinds, units_of(evaluation.fitted.source, None))
    return {one.kind.name: one.estimate for one in measured}


def judge(setting, seed, number):
    """Estimate, standard error and interval of every measure of one sample."""
    rng = np.random.default_rng([seed, 5, number])
    counts = rng.multinomial(setting.n_samples, np.array(setting.counts) / setting.n_samples)
    y_true, y_score, _ = draw(setting, rng, counts)
    labels = range(setting.n_classes)
    evaluation = polyroc.evaluate(y_true, y_score, labels=labels, engine=_ENGINE, n_jobs=1)
    rows = evaluation.measures(NAMES, confidence_level=LEVEL)
    return {row.name: (row.estimate, row.standard_error, row.low, row.high) for row in rows}


def run_setting(setting, seed, n_replications, n_jobs):
    """Truth, coverage, sides and width of every measure."""
    truth = find_truth(setting, seed)
    works = [(setting, seed, number) for number in range(n_replications)]
    found = {name: [] for name in truth}
    with multiprocessing.get_context("fork").Pool(n_jobs or os.cpu_count()) as pool:
        for number, one in enumerate(pool.imap_unordered(_judged, works, chunksize=5), start=1):
            for name, values in one.items():
                found[name].append(values)
            if number % 200 == 0:
                print(f"{setting.name}: {number} of {n_replications}", file=sys.stderr, flush=True)
    return {name: summary(truth[name], np.array(values)) for name, values in found.items()}


def _judged(work):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return judge(*work)


def summary(truth, found):
    """What the page shows of one measure; `found` has the columns estimate, standard error, low and high."""
    estimate, error, low, high = found.T
    return {
        "truth": truth,
        "n": len(found),
        "covers": float(np.mean((low <= truth) & (truth <= high))),
        "truth below": float(np.mean(truth < low)),
        "truth above": float(np.mean(truth > high)),
        "width": float(np.mean(high - low)),
        "bias": float(np.mean(estimate) - truth),
        "standard deviation": float(np.std(estimate, ddof=1)),
        "mean standard error": float(np.mean(error)),
    }


def page(results):
    """The table of docs/coverage.md: one row per measure, coverage and width by setting."""
    settings = [one for one in SETTINGS if one.name in results]
    header = ["measure"]
    for one in settings:
        header += [f"{one.name}: true value", "covers", "truth below", "truth above", "mean width"]
    rows = [header]
    for name in NAMES:
        cells = [KINDS[name].label]
        for one in settings:
            cells += _cells(results[one.name].get(name))
        if any(cell != "-" for cell in cells[1:]):
            rows.append(cells)
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|" + " --- |" + " ---: |" * (len(header) - 1))
    counts = {one["n"] for setting in settings for one in results[setting.name].values()}
    return "\n".join([*lines, "", _judgement(results, settings, min(counts))])


def _cells(one):
    if one is None:
        return ["-"] * 5
    shares = [f"{100 * one[key]:.1f} %" for key in ("covers", "truth below", "truth above")]
    return [f"{one['truth']:.4f}", *shares, f"{one['width']:.4f}"]


def _judgement(results, settings, n):
    """What lies outside the goal."""
    missed = [
        f"{KINDS[name].label} ({setting.name}, {100 * one['covers']:.1f} %)"
        for setting in settings
        for name, one in results[setting.name].items()
        if not GOAL[0] <= one["covers"] <= GOAL[1]
    ]
    told = f"{n:,} samples of each setting; the share of intervals that cover is known to about 0.5 points. "
    return told + (f"Outside 93 to 97 %: {', '.join(missed)}." if missed else "All lie within 93 to 97 %.")
