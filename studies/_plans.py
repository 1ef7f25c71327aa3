"""How well a pilot of 300 samples plans a study: realised against planned half width and power.

Each replication draws a pilot, plans by it, draws a new sample of the planned sizes, and looks at what that gives.
"""

import multiprocessing
import os
import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
from tqdm import tqdm

import polyroc
from studies._page import markdown, percent
from studies._settings import Contest, Setting, draw_models

BEGIN, END = "<!-- results: written by `python -m studies plans-page` -->", "<!-- end of results -->"
POWER, LEVEL = 0.8, 0.95
# Both within 10 % of what was planned.
GOAL = 0.1
N_TRUTH = 300_000


@dataclass(frozen=True)
class Pilot:
    """Two models, a pilot of 300 samples, and what is planned by it."""

    contest: Contest
    half_width: float
    allocation: str

    @property
    def name(self):
        return self.contest.setting.name


def _contest(name, counts, strengths, change):
    return Contest(name, Setting(name, counts, strengths), change=change)


PILOTS = [
    Pilot(_contest("three classes, medium", (100, 100, 100), (0.6, 1.0, 1.4), -0.1), 0.02, "same"),
    Pilot(_contest("four classes, skewed 1:7", (140, 80, 60, 20), (1.0, 1.5, 2.0, 1.5), -0.12), 0.015, "optimal"),
    Pilot(_contest("six classes, strong", (50,) * 6, tuple(np.linspace(1.0, 2.5, 6)), -0.1), 0.01, "equal"),
]


def true_difference(pilot, seed):
    """Of D, without shrinkage, on samples whose number leaves no doubt."""
    n_classes = pilot.contest.setting.n_classes
    counts = (N_TRUTH // n_classes,) * n_classes
    y_true, scores = draw_models(pilot.contest, np.random.default_rng([seed, 1]), counts)
    first, second = (polyroc.auc_score(y_true, score, shrinkage=0.0) for score in scores)
    return first - second


def run_plans(pilot, seed, n_replications):
    """What was planned and what came of it in each replication, by name; and the true difference."""
    difference = true_difference(pilot, seed)
    work = partial(one_study, pilot, difference, seed)
    found = {}
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        done = pool.imap(work, range(n_replications), chunksize=4)
        for one in tqdm(done, total=n_replications, desc=pilot.name, unit="", dynamic_ncols=True):
            for name, value in one.items():
                found.setdefault(name, []).append(round(float(value), 10))
    return difference, found


def one_study(pilot, difference, seed, number):
    """Pilot, plan, new sample: once for the half width of D and once for the test of two models."""
    rng = np.random.default_rng([seed, 2, number])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", polyroc.ResamplingWarning)
        y_true, scores = draw_models(pilot.contest, rng)
        by_width = polyroc.plan(
            polyroc.evaluate(y_true, scores[0], n_jobs=1), half_width=pilot.half_width, allocation=pilot.allocation
        )
        y_new, (score, _) = draw_models(pilot.contest, rng, by_width.class_counts)
        low, high = polyroc.evaluate(y_new, score, n_jobs=1).confidence_interval(LEVEL, method="influence")
        by_power = polyroc.plan(
            _compared(y_true, scores), detect=abs(difference), power=POWER, allocation=pilot.allocation
        )
        [apart] = _compared(*draw_models(pilot.contest, rng, by_power.class_counts)).by_auc.differences
    return {
        "half width": (high - low) / 2,
        "samples for the half width": by_width.n_samples,
        "detected": apart.p_value < 1 - LEVEL,
        "samples for the power": by_power.n_samples,
    }


def _compared(y_true, scores):
    models = dict(zip("ab", scores, strict=True))
    return polyroc.compare(y_true, models, method="influence", confidence_level=LEVEL, n_jobs=1)


def page(results):
    """The table of docs/planning.md."""
    header = ["setting", "allocation", "studies", "asked half width", "mean realised", "samples planned"]
    rows = [[*header, "true difference", "asked power", "share detected", "samples planned", "goal"]]
    for pilot in PILOTS:
        if pilot.name not in results:
            continue
        found = {name: np.array(values) for name, values in results[pilot.name]["found"].items()}
        realised, detected = found["half width"].mean(), found["detected"].mean()
        widths = [f"{pilot.half_width:g}", f"{realised:.4f}", _middle(found["samples for the half width"])]
        powers = [percent(POWER), percent(detected), _middle(found["samples for the power"])]
        difference = f"{abs(results[pilot.name]['difference']):.4f}"
        goal = ", ".join(missed(pilot, found)) or "met"
        rows.append([pilot.name, pilot.allocation, f"{len(found['detected']):,}", *widths, difference, *powers, goal])
    return markdown(rows)


def missed(pilot, found):
    """What is not within 10 % of the plan; two standard errors of the simulation are allowed."""
    ratios = found["half width"] / pilot.half_width
    if abs(ratios.mean() - 1) - 2 * ratios.std() / np.sqrt(len(ratios)) > GOAL:
        yield "half width"
    share = found["detected"].mean()
    if abs(share / POWER - 1) - 2 * np.sqrt(share * (1 - share) / len(ratios)) / POWER > GOAL:
        yield "power"


def _middle(counts):
    """The median, and where the middle 90 % are: one pilot plans more samples than another."""
    low, middle, high = np.quantile(counts, [0.05, 0.5, 0.95])
    return f"{middle:,.0f} ({low:,.0f} to {high:,.0f})"
