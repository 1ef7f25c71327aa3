"""How often the test of two models errs, and how often the interval of their difference covers the truth."""

import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from tqdm import tqdm

import polyroc
from polyroc import ResamplingWarning
from studies._populations import populations
from studies._settings import draw_models

LEVEL = 0.95
N_TRUTH = 1_000_000


def run_contest(contest, seed, n_replications, n_resamples):
    """The true D and M of both models, and what was found in each replication."""
    truths = find_truths(contest, seed)
    found = {}
    work = partial(replicate, contest, truths, seed, n_resamples)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        outcomes = pool.map(work, range(n_replications), chunksize=max(1, min(20, n_replications // 8)))
        for outcome in tqdm(outcomes, total=n_replications, desc=contest.name, unit="", dynamic_ncols=True):
            for name, value in outcome.items():
                found.setdefault(name, []).append(float(value))
    return truths, found


def find_truths(contest, seed):
    """D and M of each model, without shrinkage."""
    if contest.second is not None:
        names = (contest.setting.population, contest.second)
        return [truth_of(*populations()[name]) for name in names]
    counts = (N_TRUTH // contest.setting.n_classes,) * contest.setting.n_classes
    y_true, scores = draw_models(contest, np.random.default_rng([seed, 1]), counts)
    if contest.change == 0:
        # Exactly the same, though two samples would differ by chance.
        return [truth_of(y_true, scores[0])] * 2
    return [truth_of(y_true, score) for score in scores]


def truth_of(y_true, y_score):
    evaluation = polyroc.evaluate(y_true, y_score, shrinkage=0, engine="numba")
    return evaluation.auc, evaluation.hand_till


def replicate(contest, truths, seed, n_resamples, replication):
    """One comparison: where the true differences lie, and which are called significant."""
    y_true, scores = draw_models(contest, np.random.default_rng([seed, 3, replication]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResamplingWarning)
        asked = {"n_resamples": n_resamples, "rng": replication, "n_jobs": 1, "engine": "numba"}
        compared = polyroc.compare(y_true, dict(zip("ab", scores, strict=True)), **asked)
    found = {"M, DeLong, significant": compared.delong[0].p_value < 1 - LEVEL}
    for place, (name, by) in enumerate({"D": compared.auc, "M": compared.hand_till}.items()):
        [apart] = by.differences
        true = truths[0][place] - truths[1][place]
        found[name] = -1 if true < apart.low else 1 if true > apart.high else 0
        found[f"{name}, significant"] = apart.p_value < 1 - LEVEL
    return found
