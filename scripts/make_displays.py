"""Draw every display for 3, 10 and 50 classes, on paper and on a dark slide, into docs/images/display.

The data are made up and seeded: the same versions of the packages give the same bytes. The picture of the first page,
docs/images/ninety-*.png, shows the embedded example. Names, such as `ninety corner decision`, draw only those.
"""

import argparse
from functools import cache
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

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
THEMES = {"light": "default", "dark": "dark_background"}
N_RANKED = 12
SAMPLES = {3: 400, 10: 900, 50: 2000}
REJECT_COST = {3: 0.4, 10: 0.7, 50: 0.8}
# Of samples that a model of `near_perfect` takes for two classes at once.
SHARES = (0.002, 0.004, 0.008)
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


@cache
def near_perfect():
    """Four models of D 0.996 to 0.9996: three take some samples for two classes at once, one has no idea of others."""
    rng = np.random.default_rng(0)
    n_samples, n_classes = 60_000, 3
    codes = np.arange(n_samples) % n_classes
    truth = 6.0 * np.eye(n_classes)[codes]
    other = 6.0 * np.eye(n_classes)[(codes + rng.integers(1, n_classes, n_samples)) % n_classes]
    lot = rng.random(n_samples)[:, None]
    models = {f"takes {share:.1%} for two".replace("%", " %"): truth + other * (lot < share) for share in SHARES}
    models["no idea of 0.8 %"] = truth * (lot > 0.008)
    scores = {name: signal + rng.normal(size=truth.shape) for name, signal in models.items()}
    return polyroc.compare(codes, scores, method="bootstrap", n_resamples=99, rng=0)


def corners():
    comparison = near_perfect()
    figure, (square, corner) = plt.subplots(1, 2, figsize=(9.4, 4.7), layout="constrained")
    comparison.plot(square, curves="shared", band=False)
    comparison.plot(corner, curves="shared", band=False, scale="corner")
    # The same as in the square, where it covers nothing.
    corner.get_legend().remove()
    square.set_title('scale="square"', fontsize=10)
    corner.set_title('scale="corner"', fontsize=10)
    return figure


def ninety():
    """All pairs of ten digits, and the two curves that speak for them."""
    example = polyroc.load_example()
    evaluation = polyroc.evaluate(example.y_true, example.scores["tree"])
    display = RocCurveDisplay.from_evaluation(
        evaluation,
        band=evaluation.confidence_band(),
        interval=evaluation.confidence_interval(),
        mean_interval=evaluation.confidence_interval(statistic="hand_till"),
    )
    figure, (many, one) = plt.subplots(1, 2, figsize=(8.6, 4.5), layout="constrained")
    rates, colours = display.pair_curves, plt.get_cmap("viridis")
    # Those that are far enough from the background.
    first, last = (0.3, 1.0) if plt.rcParams["axes.facecolor"] == "black" else (0.05, 0.85)
    worst_first = np.argsort([curve.auc for curve in rates])
    for place, pair in enumerate(worst_first):
        many.plot(
            rates[pair].fpr, rates[pair].tpr, color=colours(first + (last - first) * place / len(rates)), linewidth=0.7
        )
    display.plot(one, plot_chance_level=True, despine=True)
    many.set(xlim=one.get_xlim(), ylim=one.get_ylim(), aspect="equal")
    many.set(xlabel=one.get_xlabel(), ylabel=one.get_ylabel())
    many.spines[["top", "right"]].set_visible(False)
    many.set_title(f"{len(rates)} pairs of classes, {len(rates)} ROC curves", fontsize=11)
    one.set_title("one curve for all of them, with its 95 % band", fontsize=11)
    return figure


def save(figure, name):
    path = IMAGES / f"{name}.png"
    # No software version in the file: the same picture gives the same bytes.
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)
    print(f"docs/images/{name}.png: {path.stat().st_size / 1000:.0f} kB")


def swept(y_true, scores, pairs):
    """The cost of the hardest confusion; with bands where they take no minutes."""
    hardest = pairs.auc.argmin()
    return polyroc.cost_sweep(
        y_true,
        scores,
        true_class=pairs.positive[hardest],
        predicted_class=pairs.negative[hardest],
        confidence_level=0.95 if len(pairs) <= 90 else None,
    )


def decided(y_true, scores, sweep):
    """What the rules of `decide` cost by the ratio of a confusion, and a decision that may abstain."""
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    family = polyroc.CostRatios(sweep.true_class, sweep.predicted_class, ratios=np.geomspace(0.1, 100, 7))
    rules = ("argmax", "bayes", "tuned")
    profile = polyroc.cost_profile(y_true, {"forest": p}, costs=family, rule=rules, n_folds=2)
    costs = 1 - np.eye(p.shape[1])
    return profile, polyroc.decide(y_true, p, costs, rule="bayes", reject_cost=REJECT_COST[p.shape[1]], n_folds=2)


def decisions(profile, decision):
    size = (11, 5.2) if len(decision.labels) > 12 else (8.6, 3.9)
    figure, (rules, confusion) = plt.subplots(1, 2, figsize=size, layout="constrained")
    CostProfileDisplay.from_profile(profile).plot(rules)
    ConfusionDisplay.from_decision(decision).plot(confusion)
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="pictures to draw; by default all")
    wanted = set(parser.parse_args().names)
    (IMAGES / "display").mkdir(parents=True, exist_ok=True)
    alone = {"ninety": ninety, "display/ranks": ranks, "display/corner": corners}
    for name, function in alone.items():
        if not wanted or name.removeprefix("display/") in wanted:
            in_themes(function, name)
    draw = {
        "roc-curve": roc_curves,
        "heatmap": heatmaps,
        "comparison": comparisons,
        "cost-sweep": cost_sweeps,
        "decision": decisions,
    }
    draw = {name: function for name, function in draw.items() if not wanted or name in wanted}
    for n_classes in SAMPLES if draw else ():
        y_true, scores = made_up(n_classes)
        comparison = polyroc.compare(y_true, scores, method="bootstrap", n_resamples=99, rng=0)
        sweep = swept(y_true, scores["forest"], comparison.evaluations["forest"].pairs)
        for name, function in draw.items():
            made = decided(y_true, scores["forest"], sweep) if name == "decision" else (comparison, sweep)
            in_themes(function, f"display/{name}-{n_classes}", *made)


def in_themes(function, name, *made):
    for theme, style in THEMES.items():
        with plt.style.context(style):
            save(function(*made), f"{name}-{theme}")


if __name__ == "__main__":
    main()
