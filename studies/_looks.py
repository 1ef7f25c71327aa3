"""What looking again and again costs: a comparison is looked at after every batch, and stopped when it is clear.

Two models on the same growing samples, whose classes come in random order. With a confidence sequence
(`compare(anytime=...)`) the chance of ever calling equally good models different must stay at 5 %; with the ordinary
interval at each look it does not. Where one model is better, the sequence stops early: how many samples that saves is
compared with a single look at as many samples as are needed for the same power.
"""

import multiprocessing
import os
import warnings

import numpy as np

import polyroc
from polyroc._uncertainty.p_values import Once
from polyroc._uncertainty.paired_influence import difference
from polyroc._uncertainty.units import units_of
from studies._page import markdown, percent
from studies._settings import COVERAGE, TEST, Contest, draw_models

BEGIN, END = "<!-- results: written by `python -m studies looks-page` -->", "<!-- end of results -->"
LOOKS = 20
LAST = 2_000
LEVEL = 0.95
PLANNED = 1_000
STREAMS = [
    Contest("equally good: medium, skewed 1:3", TEST),
    Contest("equally good: strong, tied (one decimal)", COVERAGE[4]),
    Contest("equally good: strong, skewed 1:20", COVERAGE[5]),
    Contest("second weaker by 0.15: medium, skewed 1:3", TEST, change=-0.15),
    Contest("second weaker by 0.25: medium, skewed 1:3", TEST, change=-0.25),
]


def run_stream(contest, seed, n_replications, last=LAST):
    """For each path: the look at which the sequence, and the ordinary interval, first leave 0 out; 0 for never."""
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        tasks = [(contest, [seed, 4, number], last) for number in range(n_replications)]
        paths = pool.starmap(_path, tasks, chunksize=4)
    names = ("sequence", "ordinary", "single look at the end")
    return {name: [path[place] for path in paths] for place, name in enumerate(names)}


def _path(contest, seed, last):
    """Looks after equal batches, at least 20 of the smallest class at the first."""
    rng = np.random.default_rng(seed)
    shares = np.array(contest.setting.counts) / contest.setting.n_samples
    classes = np.sort(rng.choice(len(shares), size=last, p=shares))
    y_true, scores = draw_models(contest, rng, np.bincount(classes, minlength=len(shares)))
    order = rng.permutation(last)
    y_true, scores = y_true[order], [score[order] for score in scores]
    first = {"sequence": 0, "ordinary": 0}
    for look in range(1, LOOKS + 1):
        n = last * look // LOOKS
        if np.bincount(y_true[:n], minlength=len(shares)).min() < 2:
            continue
        ordinary, sequence = _differences(y_true[:n], [score[:n] for score in scores], n)
        for name, ends in (("sequence", sequence), ("ordinary", ordinary)):
            if first[name] == 0 and (ends.low > 0 or ends.high < 0):
                first[name] = look
    return first["sequence"], first["ordinary"], int(ordinary.low > 0 or ordinary.high < 0)


def _differences(y_true, scores, n):
    """The interval of the difference of D for a single look, and that of the sequence."""
    from polyroc._uncertainty.p_values import Anytime

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both = [polyroc.evaluate(y_true, score, n_jobs=1, labels=range(score.shape[1])) for score in scores]
        units = units_of(both[0].fitted.source, None)
        spreads = [one.uncertainty.spread("auc", units) for one in both]
        return [difference(*spreads, LEVEL, test)[2] for test in (Once(), Anytime(n, PLANNED))]


def page(results):
    """The table of docs/comparing.md."""
    header = [
        "two models",
        "paths",
        "called different by the sequence at some look",
        "by ordinary intervals at some look",
    ]
    rows = [[*header, "by one ordinary look at the end", "samples when the sequence stops, median (90 %)"]]
    for contest in STREAMS:
        if contest.name not in results:
            continue
        sequence, ordinary, single = (np.array(values) for values in results[contest.name].values())
        stops = np.where(sequence > 0, sequence, LOOKS) * LAST // LOOKS
        middle, late = np.quantile(stops, [0.5, 0.9])
        shares = [percent(np.mean(first > 0)) for first in (sequence, ordinary)]
        stop = f"{middle:,.0f} ({late:,.0f})" if contest.change else "-"
        rows.append([contest.name, f"{len(sequence):,}", *shares, percent(single.mean()), stop])
    return markdown(rows)
