"""Compare the models of the embedded example: tables on the screen, a picture of the curves, and a report.

They are demo/curves.png and demo/report.html; with --readme only docs/images/curve.png, which the README shows.
"""

import argparse
from pathlib import Path

from matplotlib.figure import Figure

import polyroc
from polyroc.display import RocCurveDisplay
from polyroc.report import write_html

ROOT = Path(__file__).resolve().parents[1]
NAMES = {
    "logistic": "logistic regression",
    "knn": "15 nearest neighbours",
    "tree": "decision tree, depth 4",
}


def draw(comparison, path):
    # A figure of its own, not pyplot's: no screen is needed.
    figure = Figure(figsize=(5.2, 5.2), layout="constrained")
    ax = figure.add_subplot()
    for number, (name, evaluation) in enumerate(comparison.evaluations.items()):
        display = RocCurveDisplay.from_evaluation(evaluation, name=NAMES[name], band=evaluation.confidence_band())
        display.plot(ax, plot_chance_level=number == 0, despine=True)
    n_classes = len(evaluation.labels)
    ax.set_title(f"ROC curves for {n_classes} classes: D (solid, 95 % band) and M (dashed)", fontsize=10)
    path.parent.mkdir(parents=True, exist_ok=True)
    # No software version in the file: the same curves give the same bytes.
    figure.savefig(path, dpi=150, metadata={"Software": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readme", action="store_true", help="draw the picture in the README instead")
    for_readme = parser.parse_args().readme
    path, report = Path("docs/images/curve.png" if for_readme else "demo/curves.png"), Path("demo/report.html")

    example = polyroc.load_example()
    print(f"Predictions for {len(example.y_true)} handwritten digits, {len(example.labels)} classes.")
    comparison = polyroc.compare(example.y_true, example.scores)
    draw(comparison, ROOT / path)
    print(f"\n{comparison}\n\nThe curves are drawn in {path}")
    if not for_readme:
        write_html(comparison, ROOT / report, title="Three classifiers of handwritten digits")
        print(f"The report, a page that works offline, is in {report}")


if __name__ == "__main__":
    main()
