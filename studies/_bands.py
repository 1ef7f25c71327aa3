"""How often bands by influences cover: single points and the whole curve, for the curve of D and the mean curve."""

import multiprocessing
import os
import warnings

import numpy as np

import polyroc
from studies._settings import draw

LEVEL = 0.95


def run_bands(setting, seed, n_replications, truth):
    """Share of points inside the pointwise band, and whether the simultaneous one covers, by curve and replication."""
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        tasks = [(setting, [seed, 2, number], truth) for number in range(n_replications)]
        judged = pool.starmap(_judge, tasks, chunksize=4)
    return {name: [one[name] for one in judged if one is not None] for name in next(x for x in judged if x)}


def _judge(setting, seed, truth):
    """None where the formula does not hold, and `auto` would resample."""
    y_true, y_score, groups = draw(setting, np.random.default_rng(seed))
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluation = polyroc.evaluate(y_true, y_score, n_jobs=1)
        if evaluation.influence_note:
            return None
        for name, curve in (("shared", truth.curve), ("mean", truth.mean_curve)):
            asked = {"curve": name, "method": "influence", "groups": groups}
            point, whole = (evaluation.confidence_band(LEVEL, simultaneous=s, **asked) for s in (False, True))
            found |= {f"{name}, points": point.share_inside(curve), f"{name}, whole": float(whole.contains(curve))}
    return found
