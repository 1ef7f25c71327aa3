"""Draw every display for 3, 10 and 50 classes, on paper and on a dark slide, into docs/images/display.

The data are made up and seeded: the same versions of the packages give the same bytes.
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")  # no screen is needed

import matplotlib.pyplot as plt
import numpy as np

import polyroc
from polyroc.display import (
    ComparisonDisplay,
    ConfusionDisplay,
    CostProfileDisplay,
    CostSweepDisplay,
    PairwiseHeatmapDisplay,
    RankDisplay,
    RocCurveDisplay,
)

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images" / "display"
THEMES = {"light": "default", "dark": "dark_background"}
N_RANKED = 12
SAMPLES = {3: 400, 10: 900, 50: 2000}
REJECT_COST = {3: 0.4, 10: 0.7, 50: 0.8}
MODELS = {"boosting": 1.5, "forest": 1.42, "neighbours": 1.1, "baseline": 0.5}
# fmt: off
ANIMALS = [
    "ant", "badger", "bat", "bear", "bee", "bison", "boar", "camel", "cat", "cod", "cow", "crab", "crane", "crow",
    "deer", "dog", "dolphin", "dove", "duck", "eagle", "eel", "elk", "falcon", "ferret", "finch", "fox", "frog",
    "gecko", "goat", "goose", "gull", "hare", "hawk", "hen", "heron", "horse", "hyena", "jackal", "jay", "kite",
    "lark", "lion", "lizard", "lynx", "magpie", "mole", "moose", "mouse", "newt", "octopus",
]
# fmt: on


def made_up(n_classes, seed=0):
    """Classes in groups that are mistaken for each other, and models that are strong or weak on the same samples."""
    rng = np.random.default_rng(seed)
    n_samples = SAMPLES[n_classes]
    codes = np.arange(n_samples) % n_classes
    group = rng.permutation(n_classes) % max(2, n_classes // 5)
    signal = np.eye(n_classes) * rng.uniform(0.7, 1.6, n_classes) + 0.6 * (group[:, None] == group)
    shared = rng.normal(size=(n_samples, n_classes))
    scores = {
        name: strength * signal[codes] + 0.8 * shared + 0.6 * rng.normal(size=shared.shape)
        for name, strength in MODELS.items()
    }
    return np.array(ANIMALS[:n_classes])[codes], scores


def roc_curves(comparison, sweep):
    figure, (models, pairs) = plt.subplots(1, 2, figsize=(8.6, 4.4), layout="constrained")
    for place, (name, evaluation) in enumerate(comparison.evaluations.items()):
        drawn = comparison.bootstraps[name]
        display = RocCurveDisplay.from_evaluation(
            evaluation,
            name=name,
            band=drawn.confidence_band(),
            interval=drawn.confidence_interval(),
            mean_band=drawn.confidence_band(curve="mean"),
        )
        display.plot(models, despine=True, plot_chance_level=place == 0)
    comparison.evaluations["forest"].plot(pairs, name="forest", pairs=True, despine=True, plot_chance_level=True)
    models.set_title("models, with 95 % bands", fontsize=10)
    pairs.set_title("one model, with its pairs", fontsize=10)
    return figure


def heatmaps(comparison, sweep):
    evaluation = comparison.evaluations["forest"]
    size = (13, 5.8) if len(evaluation.labels) > 12 else (9.6, 3.9)
    figure, axes = plt.subplots(1, 2, figsize=size, layout="constrained")
    for ax, value in zip(axes, ("auc", "effect"), strict=True):
        PairwiseHeatmapDisplay.from_evaluation(evaluation, value=value).plot(ax)
    return figure


def comparisons(comparison, sweep):
    figure, axes = plt.subplots(2, 2, figsize=(8.6, 5.6), layout="constrained")
    display = ComparisonDisplay.from_comparison(comparison)
    for ax, kind in zip(axes.flat, ("box", "ridge", "differences", "rankings"), strict=True):
        display.plot(ax, kind=kind)
    return figure


def cost_sweeps(comparison, sweep):
    figure, (areas, curves) = plt.subplots(1, 2, figsize=(8.6, 4), layout="constrained")
    CostSweepDisplay.from_sweep(sweep).plot(areas, despine=True)
    CostSweepDisplay.from_sweep(sweep).plot(curves, kind="curves", despine=True)
    return figure


def decided(y_true, scores, sweep):
    """What the rules of `decide` cost by the ratio of a confusion, and a decision that may abstain."""
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    family = polyroc.CostRatios(sweep.true_class, sweep.predicted_class, ratios=np.geomspace(0.1, 100, 7))
    rules = ("argmax", "bayes", "tuned")
    profile = polyroc.cost_profile(y_true, {"forest": p}, costs=family, rule=rules, n_folds=2)
    costs = 1 - np.eye(p.shape[1])
    return profile, polyroc.decide(y_true, p, costs, method="bayes", reject_cost=REJECT_COST[p.shape[1]], n_folds=2)


def decisions(profile, decision):
    size = (11, 5.2) if len(decision.labels) > 12 else (8.6, 3.9)
    figure, (rules, confusion) = plt.subplots(1, 2, figsize=size, layout="constrained")
    CostProfileDisplay.from_profile(profile).plot(rules)
    ConfusionDisplay.from_decision(decision).plot(confusion)
    return figure


def ranks():
    """A leaderboard of a dozen models by D, and by M."""
    y_true, scores = made_up(3)
    noise = np.random.default_rng(1).normal(size=(N_RANKED, *scores["forest"].shape))
    many = {f"model {chr(97 + m)}": scores["forest"] + 0.18 * m * noise[m] for m in range(N_RANKED)}
    comparison = polyroc.compare(y_true, many)
    figure, axes = plt.subplots(1, 2, figsize=(8.6, 4), layout="constrained")
    for ax, statistic in zip(axes, ("auc", "hand_till"), strict=True):
        RankDisplay.from_comparison(comparison, statistic=statistic).plot(ax)
    return figure


def save(figure, name):
    path = FOLDER / f"{name}.png"
    # No software version in the file: the same picture gives the same bytes.
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)
    print(f"docs/images/display/{path.name}: {path.stat().st_size / 1000:.0f} kB")


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for theme, style in THEMES.items():
        with plt.style.context(style):
            save(ranks(), f"ranks-{theme}")
    draw = {
        "roc-curve": roc_curves,
        "heatmap": heatmaps,
        "comparison": comparisons,
        "cost-sweep": cost_sweeps,
        "decision": decisions,
    }
    for n_classes in SAMPLES:
        y_true, scores = made_up(n_classes)
        comparison = polyroc.compare(y_true, scores, n_resamples=99, rng=0)
        pairs = comparison.evaluations["forest"].pairs
        hardest = pairs.auc.argmin()
        sweep = polyroc.cost_sweep(
            y_true, scores["forest"], true_class=pairs.positive[hardest], predicted_class=pairs.negative[hardest]
        )
        made = decided(y_true, scores["forest"], sweep)
        for theme, style in THEMES.items():
            for name, function in draw.items():
                with plt.style.context(style):
                    figure = function(*made) if function is decisions else function(comparison, sweep)
                    save(figure, f"{name}-{n_classes}-{theme}")


if __name__ == "__main__":
    main()
