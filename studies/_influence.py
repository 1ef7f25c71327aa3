"""Intervals and tests by influences, on the very samples on which the bootstrap was judged.

Everything is the library's own code: `evaluate`, `Evaluation.spread` and what it makes of them. Next to each interval
stands what it was made of, so that other choices can be judged without another run (`again`).
"""

import importlib.util
import multiprocessing
import os
import warnings

import numpy as np
from tqdm import tqdm

import polyroc
from polyroc._uncertainty.delong import covariance, freedom
from polyroc._uncertainty.influence import Spread
from polyroc._uncertainty.intervals import (
    Interval,
    Reach,
    end_interval,
    logit_ends,
    unseen_error,
)
from polyroc._uncertainty.p_values import Once
from polyroc._uncertainty.paired_influence import difference
from polyroc._uncertainty.units import Units, units_of
from studies._settings import Variant, draw, draw_models

LEVEL = 0.95
N_TRUTH = 1_000_000
# Why the formula is not for a sample, as a number; 0 where it is.
NOTES = {"": 0, "the fit did not converge": 1, "the fit holds": 2, "D is within": 3}
_TWO = Units(np.arange(2), np.zeros(2, dtype=int), are_groups=False)
ENGINE = "numba" if importlib.util.find_spec("numba") else "numpy"


def find_truth(asked, seed):
    """D and M as the study of the bootstrap has them; of a variant, of many samples without shrinkage."""
    if not isinstance(asked, Variant):
        from studies._coverage import find_truth as by_torch

        truth = by_torch(asked, seed)
        return [truth.auc, truth.hand_till]
    setting = asked.setting
    counts = (N_TRUTH // setting.n_classes,) * setting.n_classes
    y_true, y_score, _ = draw(setting, np.random.default_rng([seed, 1]), counts)
    # As many of each class as there can be, and weights for the prevalences of the setting.
    options = dict(asked.options) | {"sample_weight": np.array(setting.counts, dtype=float)[y_true]}
    found = polyroc.evaluate(y_true, y_score, shrinkage=0.0, engine=ENGINE, **options)
    return [found.auc, found.hand_till]


def find_truths(asked, seed):
    from studies._contests import find_truths as by_torch

    return by_torch(asked, seed)


def evaluated(asked, seed, number):
    """One sample of a setting, evaluated, and its units; the samples are those of `studies._run`."""
    variant = asked if isinstance(asked, Variant) else Variant(asked.name, asked)
    y_true, y_score, groups = draw(variant.setting, np.random.default_rng([seed, 2, number]))
    options = dict(variant.options)
    if variant.weighted:
        options["sample_weight"] = np.random.default_rng([seed, 4, number]).gamma(2.0, size=len(y_true))
    evaluation = polyroc.evaluate(y_true, y_score, engine=ENGINE, n_jobs=1, **options)
    return evaluation, units_of(evaluation.fitted.source, groups)


def judge_sample(asked, seed, number):
    """Both statistics of one sample with their intervals, and what these were made of."""
    evaluation, units = evaluated(asked, seed, number)
    by_d, by_m = evaluation.uncertainty.spread("auc", units), evaluation.uncertainty.spread("hand_till", units)
    found = {"note": note_of(evaluation), "M's freedom": by_m.freedom} | made_of(by_d)
    for name, spread in (("D", by_d), ("M", by_m)):
        low, high = spread.interval(LEVEL)
        found |= {name: spread.estimate, f"{name}, low": low, f"{name}, high": high}
    return found


def note_of(evaluation):
    [number] = [n for text, n in NOTES.items() if text and evaluation.influence_note.startswith(text)] or [0]
    return number


def made_of(spread):
    """The parts of an interval."""
    bias, bias_error = spread.bias
    return {
        "standard error": spread.standard_error,
        "bias": bias,
        "bias error": bias_error,
        "freedom": spread.freedom,
        "unshrunk": spread.unshrunk if spread.unshrunk is not None else spread.estimate,
        "at end": spread.at_end,
        "least": spread.n_independent,
    }


def again(found, one, n_classes, *, freedom="freedom", bias=True):
    """D's interval of one replication from its parts, with other choices: M's freedom, or no bias."""
    parts = {name: values[one] for name, values in found.items()}
    if parts["at end"]:
        return end_interval(parts["D"], int(parts["least"]), LEVEL)
    error = parts["standard error"]
    if error == 0:
        return Interval(parts["D"], parts["D"])
    # The influences are gone; two units have the same standard error.
    shift = (parts["bias"], parts["bias error"]) if bias else (0.0, 0.0)
    sizes = (parts["least"], n_classes)
    spread = Spread(parts["D"], np.array([error, -error]) / 2, _TWO, *sizes, bias=shift, unshrunk=parts["unshrunk"])
    reach = Reach.of(LEVEL, parts[freedom], unseen_error(n_classes, parts["least"]))
    ends = logit_ends(parts["D"], spread._error, reach, mean=spread._place, unshrunk=spread.unshrunk)
    return Interval(*map(float, ends))


def judge_contest(asked, seed, number):
    """Two models on one sample: their differences by influences, of D and of M."""
    y_true, scores = draw_models(asked, np.random.default_rng([seed, 3, number]))
    both = [polyroc.evaluate(y_true, score, engine=ENGINE, n_jobs=1) for score in scores]
    units = units_of(both[0].fitted.source, None)
    found = {"note": max(note_of(evaluation) for evaluation in both)}
    for name, statistic in (("D", "auc"), ("M", "hand_till")):
        first, second = (evaluation.uncertainty.spread(statistic, units) for evaluation in both)
        value, error, (low, high), p_value = difference(first, second, LEVEL, Once())
        found |= {name: value, f"{name}, error": error, f"{name}, low": low, f"{name}, high": high}
        found[f"{name}, p"] = p_value
        found[f"{name}, freedom"] = freedom(first.influences - second.influences, units)
        found[f"{name}, covariance"] = covariance(np.array([first.influences, second.influences]), units)[0, 1]
        for model, spread in (("a", first), ("b", second)):
            found[f"{name} of {model}"] = spread.estimate
            found |= {f"{name} of {model}, {part}": value for part, value in made_of(spread).items()}
    return found


def run(asked, seed, n_replications, judge):
    """What every replication found, by name, on all cores."""
    found = {}
    works = [(judge, asked, seed, number) for number in range(n_replications)]
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        chunk = max(1, min(25, n_replications // (4 * os.cpu_count())))
        for one in tqdm(pool.imap(_judged, works, chunksize=chunk), asked.name, len(works), dynamic_ncols=True):
            for name, value in one.items():
                found.setdefault(name, []).append(float(value))
    return found


def _judged(work):
    judge, *given = work
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return judge(*given)
