"""What is simulated: classes, classifiers, ties, groups."""

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax


@dataclass(frozen=True)
class Setting:
    """Scores are the softmax of Gaussian logits, in which each class raises its own column by its strength."""

    name: str
    counts: tuple[int, ...]
    strengths: tuple[float, ...]
    decimals: int | None = None
    """Probabilities are rounded to so many decimals, which makes ties."""
    group_size: int | None = None
    """Samples of a class come in groups of so many that share half of the variance of their logits."""
    mixed_groups: bool = False
    """Whether a group holds several classes, or one."""
    reversed_share: float = 0.0
    """Share of samples whose logits have the wrong sign: rare gross errors."""
    with_bca: bool = False

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


def scores_of(setting, y_true, noise, change=0.0):
    """Probabilities from the noise of the logits; `change` is added to the strength of each class."""
    logits = noise.copy()
    logits[np.arange(len(y_true)), y_true] += np.asarray(setting.strengths)[y_true] + change
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
    Setting("medium, balanced", (34, 33, 33), MEDIUM3, with_bca=True),
    Setting("weak, balanced", (50, 50, 50), WEAK3),
    Setting("strong, balanced", (34, 33, 33), STRONG3, with_bca=True),
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
GROUPED = [
    Setting("groups of 5 of one class", (100, 100, 100), MEDIUM3, group_size=5),
    Setting("groups of 6, 2 of each class", (120, 120, 120), MEDIUM3, group_size=2, mixed_groups=True),
]
TEST = Setting("two models, correlation 0.7", (150, 100, 100, 50), (0.6, 1.0, 1.4, 1.0))
CORRELATION, CHANGE = 0.7, -0.1
