"""Evaluate the embedded example: a table on the screen and a picture of the curves.

The picture is demo/curves.png; with --readme it is docs/images/curve.png, which the README shows.
"""

import argparse
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


def table(evaluations):
    rows = [("model", "D", "Hand-Till M", "hardest pair")]
    for name, evaluation in evaluations.items():
        pairs = evaluation.pairs
        worst = int(np.argmin(pairs.auc))
        hardest = f"{pairs.positive[worst]} against {pairs.negative[worst]}: {pairs.auc[worst]:.3f}"
        rows.append((NAMES[name], f"{evaluation.auc:.4f}", f"{evaluation.hand_till:.4f}", hardest))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def draw(evaluations, path):
    # A figure of its own, not pyplot's: no screen is needed.
    figure = Figure(figsize=(5.2, 5.2), layout="constrained")
    ax = figure.add_subplot()
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle=":", label="no information (D = 0.5)")
    for name, evaluation in evaluations.items():
        curve = evaluation.curve
        ax.plot(curve.fpr, curve.tpr, linewidth=2, label=f"{NAMES[name]} (D = {evaluation.auc:.3f})", **STYLES[name])
    n_samples, n_classes = next(iter(evaluations.values())).n_samples, len(polyroc.load_example().labels)
    ax.set(
        xlim=(-0.01, 1.01),
        ylim=(-0.01, 1.01),
        aspect="equal",
        xlabel="shared false positive rate",
        ylabel="shared true positive rate",
        title=f"One ROC curve for {n_classes} classes ({n_samples} handwritten digits)",
    )
    ax.title.set_fontsize(11)
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
    evaluations = {name: polyroc.evaluate(example.y_true, score) for name, score in example.scores.items()}
    draw(evaluations, ROOT / path)

    print(f"Predictions for {len(example.y_true)} handwritten digits, {len(example.labels)} classes:\n")
    print(table(evaluations))
    print(f"\nThe curves are drawn in {path}")


if __name__ == "__main__":
    main()
