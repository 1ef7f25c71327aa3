"""How well a pilot of 300 samples plans a study: how often the half width is reached, and the difference detected.

Each replication draws a pilot, plans by it with and without assurance, draws new samples of the planned sizes, and
looks at what these give.
"""

import multiprocessing
import os
import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np

import polyroc
from studies._page import markdown, percent
from studies._settings import Contest, Setting, draw_models

BEGIN, END = "<!-- results: written by `python -m studies plans-page` -->", "<!-- end of results -->"
POWER, LEVEL, ASSURANCE = 0.8, 0.95, 0.8
KINDS = {"estimate": None, "assured": ASSURANCE}
# Shares may be less by this.
GOAL = 0.05
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


def _contest(name, counts, strengths, change, wrong_labels=0.0):
    return Contest(name, Setting(name, counts, strengths, wrong_labels=wrong_labels), change=change)


PILOTS = [
    Pilot(_contest("three classes, medium", (100, 100, 100), (0.6, 1.0, 1.4), -0.1), 0.02, "same"),
    Pilot(_contest("four classes, skewed 1:7", (140, 80, 60, 20), (1.0, 1.5, 2.0, 1.5), -0.12), 0.015, "optimal"),
    Pilot(_contest("six classes, strong", (50,) * 6, tuple(np.linspace(1.0, 2.5, 6)), -0.1), 0.01, "equal"),
    Pilot(_contest("four classes, strong, 1 % of labels wrong", (75,) * 4, (2.5,) * 4, -0.25, 0.01), 0.007, "same"),
    Pilot(_contest("five classes, strong, 0.5 % of labels wrong", (60,) * 5, (2.2,) * 5, -0.15, 0.005), 0.007, "same"),
]


def true_difference(pilot, seed):
    """Of D, without shrinkage, on samples whose number leaves no doubt."""
    n_classes = pilot.contest.setting.n_classes
    counts = (N_TRUTH // n_classes,) * n_classes
    y_true, scores = draw_models(pilot.contest, np.random.default_rng([seed, 1]), counts)
    first, second = (polyroc.auc_score(y_true, score, shrinkage=0.0) for score in scores)
    return first - second


def run_plans(pilot, seed, n_replications, n_jobs=None):
    """What was planned and what came of it in each replication, by name; and the true difference."""
    from tqdm import tqdm

    difference = true_difference(pilot, seed)
    work = partial(one_study, pilot, difference, seed)
    found = {}
    with multiprocessing.get_context("spawn").Pool(n_jobs or os.cpu_count()) as pool:
        done = pool.imap(work, range(n_replications), chunksize=4)
        for one in tqdm(done, total=n_replications, desc=pilot.name, unit="", dynamic_ncols=True):
            for name, value in one.items():
                found.setdefault(name, []).append(round(float(value), 10))
    return difference, found


def one_study(pilot, difference, seed, number):
    """Pilot, plans, new samples: for the half width of D and for the test of two models, with and without assurance."""
    rng = np.random.default_rng([seed, 2, number])
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", polyroc.ResamplingWarning)
        compared = _compared(*draw_models(pilot.contest, rng))
        for name, assurance in KINDS.items():
            options = {"allocation": pilot.allocation, "assurance": assurance}
            by_width = polyroc.plan(compared.evaluations["a"], half_width=pilot.half_width, **options)
            y_new, (score, _) = draw_models(pilot.contest, rng, by_width.class_counts)
            low, high = polyroc.evaluate(y_new, score, n_jobs=1).confidence_interval(LEVEL, method="influence")
            by_power = polyroc.plan(compared, detect=abs(difference), power=POWER, **options)
            [apart] = _compared(*draw_models(pilot.contest, rng, by_power.class_counts)).by_auc.differences
            found |= {
                f"half width, {name}": (high - low) / 2,
                f"samples for the half width, {name}": by_width.n_samples,
                f"detected, {name}": apart.p_value < 1 - LEVEL,
                f"samples for the power, {name}": by_power.n_samples,
            }
    return found


def _compared(y_true, scores):
    models = dict(zip("ab", scores, strict=True))
    return polyroc.compare(y_true, models, method="influence", confidence_level=LEVEL, n_jobs=1)


def page(results):
    """The table of docs/planning.md."""
    header = ["setting", "allocation", "studies", "plan", "asked half width", "reached in", "samples planned"]
    rows = [[*header, "true difference", "asked power", "detected in", "samples planned", "goal"]]
    for pilot in PILOTS:
        if pilot.name not in results:
            continue
        found = {name: np.array(values) for name, values in results[pilot.name]["found"].items()}
        difference = f"{abs(results[pilot.name]['difference']):.4f}"
        for name in KINDS:
            reached = percent((found[f"half width, {name}"] <= pilot.half_width).mean())
            detected = percent(found[f"detected, {name}"].mean())
            widths = [f"{pilot.half_width:g}", reached, _middle(found[f"samples for the half width, {name}"])]
            powers = [percent(POWER), detected, _middle(found[f"samples for the power, {name}"])]
            goal = "-" if KINDS[name] is None else ", ".join(missed(pilot, found)) or "met"
            n_studies = f"{len(found[f'detected, {name}']):,}"
            rows.append([pilot.name, pilot.allocation, n_studies, name, *widths, difference, *powers, goal])
    return markdown(rows)


def missed(pilot, found):
    """What assured plans reach less often than they say; two standard errors of the simulation are allowed."""
    reached = found["half width, assured"] <= pilot.half_width
    for name, is_reached, least in (("half width", reached, ASSURANCE), ("power", found["detected, assured"], POWER)):
        share = np.mean(is_reached)
        if share + 2 * np.sqrt(share * (1 - share) / len(is_reached)) < least - GOAL:
            yield name


def _middle(counts):
    """The median, and where the middle 90 % are: one pilot plans more samples than another."""
    low, middle, high = np.quantile(counts, [0.05, 0.5, 0.95])
    return f"{middle:,.0f} ({low:,.0f} to {high:,.0f})"
