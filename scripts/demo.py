"""Compare the models of the embedded example: tables on the screen and a picture of the curves.

The picture is demo/curves.png; with --readme it is docs/images/curve.png, which the README shows.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import polyroc

ROOT = Path(__file__).resolve().parents[1]
NAMES = {
    "logistic": "logistic regression, 4 components",
    "knn": "15 nearest neighbours, 2 components",
    "tree": "decision tree, depth 4",
}
# Okabe and Ito: distinguishable with every common form of colour blindness. Line styles tell them apart in grey.
STYLES = {
    "logistic": {"color": "#0072B2", "linestyle": "-"},
    "knn": {"color": "#D55E00", "linestyle": "--"},
    "tree": {"color": "#009E73", "linestyle": "-."},
}


def draw(comparison, path):
    # A figure of its own, not pyplot's: no screen is needed.
    figure = Figure(figsize=(5.2, 5.2), layout="constrained")
    ax = figure.add_subplot()
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle=":", label="no information (D = 0.5)")
    for name, evaluation in comparison.evaluations.items():
        curve, band = evaluation.curve, comparison.bootstraps[name].confidence_band()
        # The lower edge there and the upper one back: both are curves, which fill_between could not take.
        fpr, tpr = (np.r_[getattr(band.lower, rate), getattr(band.upper, rate)[::-1]] for rate in ("fpr", "tpr"))
        ax.fill(fpr, tpr, color=STYLES[name]["color"], alpha=0.2, linewidth=0)
        ax.plot(curve.fpr, curve.tpr, linewidth=2, label=f"{NAMES[name]} (D = {evaluation.auc:.3f})", **STYLES[name])
    n_samples, n_classes = evaluation.n_samples, len(evaluation.labels)
    ax.set(
        xlim=(-0.01, 1.01),
        ylim=(-0.01, 1.01),
        aspect="equal",
        xlabel="shared false positive rate",
        ylabel="shared true positive rate",
        title=f"One ROC curve for {n_classes} classes, with 95 % bands ({n_samples} digits)",
    )
    ax.title.set_fontsize(10)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(color="0.92", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.legend(loc="lower right", frameon=False, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    # No software version in the file: the same curves give the same bytes.
    figure.savefig(path, dpi=150, metadata={"Software": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readme", action="store_true", help="draw the picture in the README instead")
    path = Path("docs/images/curve.png") if parser.parse_args().readme else Path("demo/curves.png")

    example = polyroc.load_example()
    print(f"Predictions for {len(example.y_true)} handwritten digits, {len(example.labels)} classes.")
    print("Resampling; the very first time compiled code is made as well, which takes some seconds more.")
    comparison = polyroc.compare(example.y_true, example.scores, rng=0, progress=sys.stderr.isatty())
    draw(comparison, ROOT / path)
    print(f"\n{comparison}\n\nThe curves are drawn in {path}")


if __name__ == "__main__":
    main()
