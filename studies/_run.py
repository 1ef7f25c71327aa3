"""Everything that the replications of a setting found, by name."""

import multiprocessing
import os
import warnings

import numpy as np
import torch
from tqdm import tqdm

from polyroc import ResamplingWarning
from studies import _coverage as coverage
from studies._settings import draw

_WORKS = []


def run_setting(setting, seed, n_replications, n_resamples):
    """The truth, and what was found in each replication."""
    truth = coverage.find_truth(setting, seed)
    works, n_failed, generator = [], 0, torch.Generator(device=coverage.DEVICE).manual_seed(seed)
    for start, stop in batches(setting, n_replications, n_resamples, setting.name):
        samples = [draw(setting, np.random.default_rng([seed, 2, number])) for number in range(start, stop)]
        y_true, _, groups = samples[0]
        units = coverage.units_of(y_true, groups)
        weights = coverage.draw_weights(units, len(samples), n_resamples, generator)
        n_bands = max(0, min(stop, coverage.N_BANDS) - start)
        drawn = coverage.draw_replicates(y_true, np.array([s[1] for s in samples]), weights, n_bands)
        n_failed += drawn.not_converged
        asked = (units, setting, truth)
        works += [(coverage.judge_sample, drawn, one, *asked, one < n_bands) for one in range(len(samples))]
    return truth, joined(works) | {"not converged": [n_failed]}


def batches(setting, n_replications, n_resamples, name):
    """First and last replication of each batch, as many as fit into memory, with a bar."""
    size = coverage.at_once(setting, n_resamples)
    with tqdm(total=n_replications, desc=name, unit="", dynamic_ncols=True) as bar:
        for start in range(0, n_replications, size):
            stop = min(start + size, n_replications)
            yield start, stop
            bar.update(stop - start)


def joined(works):
    """What each piece of work found, by name, in the order of the pieces."""
    # Forked processes read it where it stands: pickled, it would be gigabytes.
    global _WORKS
    _WORKS = works
    found = {}
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        for one in pool.map(_judge, range(len(works)), chunksize=max(1, len(works) // (8 * os.cpu_count()))):
            for name, value in one.items():
                found.setdefault(name, []).append(float(value))
    return found


def _judge(number):
    torch.set_num_threads(1)
    function, *given = _WORKS[number]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResamplingWarning)
        return function(*given)
