"""How often the test of two models errs, and how often the interval of their difference covers the truth.

As in `studies._coverage`, the replicates come from the card, and what is made of them is the library's own code.
"""

import numpy as np
import torch

from polyroc._uncertainty.delong import freedom, standard_error
from polyroc._uncertainty.paired import contest, normal_differences
from studies import _coverage as coverage
from studies._populations import populations
from studies._run import batches, joined
from studies._settings import draw_models

MODELS = ("a", "b")


def run_contest(asked, seed, n_replications, n_resamples):
    """The true D and M of both models, and what was found in each replication."""
    truths = find_truths(asked, seed)
    works, generator = [], torch.Generator(device=coverage.DEVICE).manual_seed(seed)
    for start, stop in batches(asked.setting, n_replications, n_resamples, asked.name):
        samples = [draw_models(asked, np.random.default_rng([seed, 3, number])) for number in range(start, stop)]
        y_true = samples[0][0]
        units = coverage.units_of(y_true, None)
        weights = coverage.draw_weights(units, len(samples), n_resamples, generator)
        scores = (np.array([s[1][model] for s in samples]) for model in range(len(MODELS)))
        drawn = [coverage.draw_replicates(y_true, score, weights, 0) for score in scores]
        works += [(judge_contest, drawn, one, units, asked.setting, truths) for one in range(len(samples))]
    return truths, joined(works)


def find_truths(asked, seed):
    """D and M of each model, without shrinkage."""
    if asked.second is not None:
        names = (asked.setting.population, asked.second)
        truths = [coverage.truth_of(*populations()[name]) for name in names]
    else:
        counts = (coverage.N_TRUTH // asked.setting.n_classes,) * asked.setting.n_classes
        y_true, scores = draw_models(asked, np.random.default_rng([seed, 1]), counts)
        # Equally good models are exactly the same, though two samples would differ by chance.
        truths = [coverage.truth_of(y_true, score) for score in (scores if asked.change else scores[:1] * 2)]
    return [(truth.auc, truth.hand_till) for truth in truths]


def judge_contest(drawn, one, units, setting, truths):
    """Where the true differences lie, -1 below an interval, 1 above it, and which are called significant."""
    apart = drawn[0].influences[one] - drawn[1].influences[one]
    freedoms = {MODELS: freedom(apart, units)}
    both = [coverage.distributions(of_model, one, units, setting) for of_model in drawn]
    found = {}
    for place, name in enumerate("DM"):
        models = {model: distributions[place] for model, distributions in zip(MODELS, both, strict=True)}
        [measured] = contest("auc", models, freedoms, coverage.LEVEL, "logit").differences
        true = truths[0][place] - truths[1][place]
        found[name] = coverage.side((measured.low, measured.high), true)
        found[f"{name}, significant"] = measured.p_value < 1 - coverage.LEVEL
    values = np.array([of_model.hand_till[one] for of_model in drawn])
    [delong] = normal_differences(MODELS, values, {(0, 1): standard_error(apart, units)}, coverage.LEVEL)
    return found | {"M, DeLong, significant": delong.p_value < 1 - coverage.LEVEL}
