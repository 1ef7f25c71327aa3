"""What is simulated: classes, classifiers, ties, groups; and samples of real predictions."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import softmax

from studies._populations import populations


@dataclass(frozen=True)
class Setting:
    """Scores are the softmax of Gaussian logits, in which each class raises its own column by its strength."""

    name: str
    counts: tuple[int, ...]
    strengths: tuple[float, ...] = ()
    decimals: int | None = None
    """Probabilities are rounded to so many decimals, which makes ties."""
    group_size: int | None = None
    """Samples of a class come in groups of so many that share half of the variance of their logits."""
    mixed_groups: bool = False
    """Whether a group holds several classes, or one."""
    reversed_share: float = 0.0
    """Share of samples whose logits have the wrong sign: rare gross errors."""
    wrong_labels: float = 0.0
    """Share of samples that are labeled as another class than the one whose scores they have; in contests only."""
    hard_pair: float | None = None
    """Classes 0 and 1 raise each other's column too, as much as their own but for this much: one confusable pair."""
    population: str | None = None
    """Samples are drawn from these out-of-sample predictions instead (`studies/_populations.py`)."""

    @property
    def n_classes(self):
        return len(self.counts)

    @property
    def n_samples(self):
        return sum(self.counts)


def draw(setting, rng, counts=None):
    """Labels, scores and groups of one sample."""
    counts = setting.counts if counts is None else counts
    y_true = np.repeat(np.arange(setting.n_classes), counts)
    if setting.population is not None:
        return y_true, drawn_from(setting.population, y_true, rng), None
    logits = rng.normal(size=(len(y_true), setting.n_classes))
    groups = None
    if setting.group_size is not None:
        groups = _groups(setting, counts)
        # What samples of one group and class share.
        both, of_both = np.unique(groups * setting.n_classes + y_true, return_inverse=True)
        shared = rng.normal(size=(len(both), setting.n_classes))
        logits = np.sqrt(0.5) * (logits + shared[of_both])
    scores = scores_of(setting, y_true, logits)
    if setting.reversed_share > 0:
        wrong = rng.random(len(y_true)) < setting.reversed_share
        scores[wrong] = softmax(-np.log(scores[wrong]), axis=1)
    return y_true, scores, groups


def drawn_from(population, y_true, rng):
    """Scores of samples drawn with replacement, class by class, from a finite population."""
    return populations()[population][1][_rows(population, y_true, rng)]


def _rows(population, y_true, rng):
    codes = populations()[population][0]
    drawn = [rng.choice(np.flatnonzero(codes == c), np.count_nonzero(y_true == c)) for c in np.unique(y_true)]
    return np.concatenate(drawn)


def scores_of(setting, y_true, noise, change=0.0):
    """Probabilities from the noise of the logits; `change` is added to the strength of each class."""
    logits = noise.copy()
    logits[np.arange(len(y_true)), y_true] += np.asarray(setting.strengths)[y_true] + change
    if setting.hard_pair is not None:
        confusable = np.flatnonzero(y_true < 2)
        logits[confusable, 1 - y_true[confusable]] += setting.strengths[0] - setting.hard_pair
    probability = softmax(logits, axis=1)
    return probability if setting.decimals is None else np.round(probability, setting.decimals)


def _groups(setting, counts):
    """Groups of one class each, or of some samples of each class."""
    within = [np.arange(count) // setting.group_size for count in counts]
    if setting.mixed_groups:
        return np.concatenate(within)
    first = np.cumsum([0, *(ids[-1] + 1 for ids in within[:-1])])
    return np.concatenate([ids + start for ids, start in zip(within, first, strict=True)])


MEDIUM3, WEAK3, STRONG3 = (0.6, 1.0, 1.4), (0.2, 0.3, 0.4), (2.0, 2.5, 3.0)
SKEWED10 = (400, 350, 300, 250, 200, 180, 150, 100, 50, 20)

COVERAGE = [
    Setting("medium, balanced", (34, 33, 33), MEDIUM3),
    Setting("weak, balanced", (50, 50, 50), WEAK3),
    Setting("strong, balanced", (34, 33, 33), STRONG3),
    Setting("medium, skewed 1:20", (400, 200, 80, 20), (0.5, 1.0, 1.5, 1.0)),
    Setting("strong, tied (one decimal)", (100,) * 5, (1.0, 1.5, 2.0, 2.5, 3.0), decimals=1),
    Setting("strong, skewed 1:20", (500, 250, 150, 75, 25), (2.0, 3.0, 1.5, 2.0, 2.5)),
    Setting("mixed, skewed 1:20", SKEWED10, tuple(np.linspace(0.5, 2.5, 10))),
]
HARD = [
    Setting("medium, 10 of each class", (10, 10, 10), MEDIUM3),
    Setting("medium, smallest class 4", (80, 40, 12, 4), (0.5, 1.0, 1.5, 1.0)),
    Setting("strong, 2 % scored backwards", (50, 50, 50), STRONG3, reversed_share=0.02),
]
SEPARATED = [
    Setting("separated but for one hard pair, k = 3", (100,) * 3, (15.0,) * 3, hard_pair=0.5),
    Setting("separated but for one hard pair, k = 5", (100,) * 5, (15.0,) * 5, hard_pair=0.5),
    Setting("nearly separated but for one hard pair", (60,) * 4, (6.0,) * 4, hard_pair=0.8),
    Setting("nearly separated, a pair at chance", (50,) * 4, (6.0,) * 4, hard_pair=0.0),
]
EXTREME = [
    Setting("twenty classes", (30,) * 20, tuple(np.linspace(1.0, 3.0, 20))),
    Setting("D = 0.999", (100,) * 5, (3.43,) * 5),
    Setting("D = 0.9999", (200,) * 5, (4.06,) * 5),
    Setting("D = 0.99999", (200,) * 5, (4.58,) * 5),
    Setting("twenty of each of ten classes", (20,) * 10, tuple(np.linspace(1.5, 3.5, 10))),
    Setting("smallest class 5", (60, 40, 25, 5), (1.5, 2.0, 2.5, 2.0)),
]
REAL = [
    Setting("pen, naive Bayes", (50,) * 10, population="pen, naive Bayes"),
    Setting("pen, forest", (30,) * 10, population="pen, forest"),
    Setting("pen, tree", (30,) * 10, population="pen, tree"),
    Setting("optical, naive Bayes", (30,) * 10, population="optical, naive Bayes"),
    Setting("optical, forest", (30,) * 10, population="optical, forest"),
    Setting("optical, tree", (20,) * 10, population="optical, tree"),
    Setting("simulated, forest", (50,) * 4, population="simulated, forest"),
]
# Not looked at before the intervals were settled.
HELD_OUT = [
    Setting("medium, six classes, skewed 1:10", (200, 100, 60, 40, 30, 20), (0.5, 0.8, 1.1, 1.4, 1.7, 1.0)),
    Setting("weak, skewed 1:10", (300, 100, 30), (0.3, 0.2, 0.4)),
    Setting("strong, 25 of each class", (25,) * 4, (2.0, 2.5, 3.0, 2.0)),
    Setting("eight classes, tied (one decimal)", (50,) * 8, tuple(np.linspace(1.0, 3.0, 8)), decimals=1),
    Setting("strong, 3 % scored backwards", (40,) * 5, (2.5,) * 5, reversed_share=0.03),
    Setting("D = 0.9995, eight classes", (50,) * 8, (3.75,) * 8),
    Setting("nearly separated but for one hard pair, six classes", (40,) * 6, (6.0,) * 6, hard_pair=0.6),
    Setting("pen, neighbours", (30,) * 10, population="pen, neighbours"),
    Setting("pen, logistic", (20,) * 10, population="pen, logistic"),
    Setting("optical, logistic", (30,) * 10, population="optical, logistic"),
    Setting("simulated, naive Bayes", (40,) * 6, population="simulated, naive Bayes"),
]
GROUPED = [
    Setting("groups of 5 of one class", (100, 100, 100), MEDIUM3, group_size=5),
    Setting("groups of 6, 2 of each class", (120, 120, 120), MEDIUM3, group_size=2, mixed_groups=True),
]
TUNED = COVERAGE + HARD + SEPARATED + EXTREME + REAL
PRESENT = COVERAGE + HARD + GROUPED


@dataclass(frozen=True)
class Variant:
    """A setting that is evaluated with other options than the defaults."""

    name: str
    setting: Setting
    options: tuple[tuple[str, Any], ...] = ()
    """Keyword arguments of `polyroc.evaluate`."""
    weighted: bool = False
    """Whether samples have weights: gamma with shape 2, independent of the scores, so that D is the same."""


# Missing one of the last class is five times as expensive, and confusing neighbours half as much.
_COSTS4 = ((0, 0.5, 1, 1), (0.5, 0, 0.5, 1), (1, 0.5, 0, 0.5), (5, 5, 5, 0))
_COSTS5 = tuple(tuple(float(abs(i - j)) for j in range(5)) for i in range(5))
_MANY = Setting("strong, 1,500 of each class", (1500,) * 3, STRONG3)
VARIANTS = [
    Variant("sample weights: medium, skewed 1:20", COVERAGE[3], weighted=True),
    Variant("sample weights: strong, 3 % scored backwards", HELD_OUT[4], weighted=True),
    Variant("costs: medium, skewed 1:20", COVERAGE[3], (("costs", _COSTS4),)),
    Variant("costs by distance: strong, tied (one decimal)", COVERAGE[4], (("costs", _COSTS5),)),
    Variant("shared thresholds: medium, skewed 1:20", COVERAGE[3], (("thresholds", "shared"),)),
    Variant("shared thresholds: strong, skewed 1:20", COVERAGE[5], (("thresholds", "shared"),)),
    Variant("prevalence: medium, skewed 1:20", COVERAGE[3], (("weighting", "prevalence"),)),
    Variant("prevalence: strong, skewed 1:20", COVERAGE[5], (("weighting", "prevalence"),)),
    Variant("saturated: strong, tied (one decimal)", COVERAGE[4], (("structure", "saturated"),)),
    # So many that the bias is not looked for.
    Variant(_MANY.name, _MANY),
]


@dataclass(frozen=True)
class Contest:
    """Two models on the same samples: logits with a correlation of 0.7, or two classifiers of one data set."""

    name: str
    setting: Setting
    change: float = 0.0
    """Added to the strength of each class in the second model."""
    second: str | None = None
    """The second population."""


CORRELATION = 0.7
TEST = Setting("medium, skewed 1:3", (150, 100, 100, 50), (0.6, 1.0, 1.4, 1.0))
CONTESTS = [
    Contest("equally good: medium, skewed 1:3", TEST),
    Contest("equally good: strong, skewed 1:20", COVERAGE[5]),
    Contest("equally good: ten classes, tied, skewed 1:20", replace(COVERAGE[6], decimals=1)),
    Contest("equally good: D = 0.999", EXTREME[1]),
    Contest("second weaker by 0.1: medium, skewed 1:3", TEST, change=-0.1),
    Contest("pen: forest, tree", REAL[2], second="pen, forest"),
    Contest("optical: tree, naive Bayes", REAL[5], second="optical, naive Bayes"),
]
# By influences only.
MORE_CONTESTS = [
    Contest("equally good: weak, skewed 1:10", HELD_OUT[1]),
    Contest("equally good: eight classes, tied (one decimal)", HELD_OUT[3]),
]


def draw_models(contest, rng, counts=None):
    """Labels, and the scores of two models for the same samples."""
    setting = contest.setting
    counts = setting.counts if counts is None else counts
    y_true = np.repeat(np.arange(setting.n_classes), counts)
    if contest.second is not None:
        rows = _rows(setting.population, y_true, rng)
        return y_true, [populations()[name][1][rows] for name in (setting.population, contest.second)]
    shared, *own = rng.normal(size=(3, len(y_true), setting.n_classes))
    noise = [np.sqrt(CORRELATION) * shared + np.sqrt(1 - CORRELATION) * one for one in own]
    scored = _scored_classes(setting, y_true, rng)
    return y_true, [scores_of(setting, scored, x, c) for x, c in zip(noise, (0.0, contest.change), strict=True)]


def _scored_classes(setting, y_true, rng):
    """The class whose scores each sample has: that of its label, unless the label is wrong."""
    if setting.wrong_labels == 0:
        return y_true
    is_wrong = rng.random(len(y_true)) < setting.wrong_labels
    shift = rng.integers(1, setting.n_classes, len(y_true))
    return np.where(is_wrong, (y_true + shift) % setting.n_classes, y_true)
