"""Compare D with M, one-vs-rest and AUCmu in six simulations, and average ninety curves.

The tables go into docs/meaning.md, the pictures into docs/images/meaning. The data are made up and seeded: the same
versions of the packages give the same bytes.
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")  # no screen is needed

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit, logit, ndtri, softmax

import polyroc
from polyroc import baselines
from polyroc._lib.files import write_whole
from polyroc.display._style import LINE_STYLES, colour_of, despined, faint_grid

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, FOLDER = DOCS / "meaning.md", DOCS / "images" / "meaning"
THEMES = {"light": "default", "dark": "dark_background"}
END = "<!-- end of table -->"
N_SAMPLES, SEED = 20_000, 0

STRENGTHS = (0.25, 0.5, 1, 1.5, 2, 3)
AREAS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
# How far a class raises its own column, and what the others are then called.
OTHERS = {2.5: "easy", 0.8: "hard"}
PRIOR = np.array([0.7, 0.2, 0.07, 0.03])
SHIFTS = (-6, -4, -2, -1, 0, 1, 2, 4, 6)
# Normal scores so far apart that an area is 0.999.
SEPARATED = np.sqrt(2) * ndtri(0.999)
CHANCE_AREAS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 0.999)
N_MERGED = 3_000

MEASURES = {
    "D": polyroc.auc_score,
    "D, shared thresholds": lambda y, s: polyroc.auc_score(y, s, thresholds="shared"),
    "D, weighted by prevalence": lambda y, s: polyroc.auc_score(y, s, weighting="prevalence"),
    "M": baselines.hand_till,
    "OvR, macro": baselines.one_vs_rest,
    "OvR, weighted": lambda y, s: baselines.one_vs_rest(y, s, average="weighted"),
    "AUCmu": baselines.auc_mu,
    "accuracy": lambda y, s: float(np.mean(s.argmax(axis=1) == y)),
}
FOUR = ("D", "M", "OvR, macro", "AUCmu")
# The same colour and line in all pictures, by their place.
LOOKS = {"D": 0, "M": 1, "AUCmu": 2, "D, shared thresholds": 3, "OvR, macro": 4}


def measured(names, y_true, y_score):
    return [MEASURES[name](y_true, y_score) for name in names]


def exchangeable(strength, n_classes=5):
    """Each class raises its own column by the same amount; scores are the exact probabilities."""
    y_true = np.arange(N_SAMPLES) % n_classes
    noise = np.random.default_rng(SEED).normal(size=(N_SAMPLES, n_classes))
    return y_true, softmax(strength * (strength * np.eye(n_classes)[y_true] + noise), axis=1)


def one_odd_pair(raised, area, n_classes=4):
    """Classes 0 and 1 are told apart with the given area, all other pairs with that of normal scores `raised` apart."""
    y_true = np.arange(N_SAMPLES) % n_classes
    means = raised * np.eye(n_classes)
    means[0, 1] = means[1, 0] = raised - np.sqrt(2) * ndtri(area)
    return y_true, means[y_true] + np.random.default_rng(SEED).normal(size=(N_SAMPLES, n_classes))


def two_columns_merged():
    """Six classes of which 0 and 1 are alike, with exact probabilities; and the same, these two columns averaged."""
    means = 3 * np.eye(6)
    means[0, 1], means[1] = -1, [3, 1, 0, 0, 0, 0]
    y_true = np.arange(N_MERGED) % 6
    x = means[y_true] + np.random.default_rng(SEED).normal(size=(N_MERGED, 6))
    good = softmax(-0.5 * np.square(x[:, np.newaxis] - means).sum(axis=2), axis=1)
    merged = good.copy()
    merged[:, :2] = good[:, :2].mean(axis=1, keepdims=True)
    return y_true, {"good": good, "merged": merged}


def log_densities(share):
    """Four classes in the plane, so many of each; up to a constant the log densities at their samples."""
    means = np.array([[-0.8, 0], [0.8, 0], [0, 1.6], [0, -1.6]])
    y_true = np.repeat(np.arange(4), np.rint(share * N_SAMPLES).astype(int))
    x = means[y_true] + np.random.default_rng(SEED).normal(size=(len(y_true), 2))
    return y_true, -0.5 * np.square(x[:, np.newaxis] - means).sum(axis=2)


def priors():
    """The same classes sampled evenly; unevenly, with the same scores; and unevenly, with scores that know it."""
    y_even, even = log_densities(np.full(4, 0.25))
    y_skewed, skewed = log_densities(PRIOR)
    return {
        "even": (y_even, softmax(even, axis=1)),
        "skewed, same scores": (y_skewed, softmax(skewed, axis=1)),
        "skewed, scores for it": (y_skewed, softmax(skewed + np.log(PRIOR), axis=1)),
    }


def one_shifted_column(shift):
    """The first column of exact probabilities moved on the logit scale; its order stays."""
    y_true, log_density = log_densities(np.full(4, 0.25))
    score = softmax(log_density, axis=1)
    score[:, 0] = expit(logit(score[:, 0]) + shift)
    return y_true, score


def not_monotone_rows():
    """D and M as one pair gets better, all others being nearly separated."""
    for area in CHANCE_AREAS:
        made = one_odd_pair(SEPARATED, area)
        yield (str(area), *(f"{value:.4f}" for value in measured(("D", "M", "accuracy"), *made)))


def merged_rows(y_true, models):
    for name, scores in models.items():
        evaluation = polyroc.evaluate(y_true, scores)
        numbers = (evaluation.auc, evaluation.hand_till, evaluation.accuracy, evaluation.worst_pair.auc)
        yield (name, *(f"{value:.4f}" for value in numbers))


def compute():
    """The numbers of all tables and pictures, by table: column names, and rows that begin with what was varied.

    What is printed is a text.
    """
    merged = two_columns_merged()
    shifted = ("D", "D, shared thresholds", "M", "AUCmu", "accuracy")
    of_priors = {case: measured(MEASURES, *made) for case, made in priors().items()}
    return {
        "exchangeable": (
            ("strength", *FOUR),
            [(str(strength), *measured(FOUR, *exchangeable(strength))) for strength in STRENGTHS],
        ),
        "odd-pair": (
            ("the other pairs", "area of the odd pair", *FOUR),
            [
                (called, str(area), *measured(FOUR, *one_odd_pair(raised, area)))
                for raised, called in OTHERS.items()
                for area in AREAS
            ],
        ),
        "not-monotone": (("area of the odd pair", "D", "M", "accuracy"), list(not_monotone_rows())),
        "merged": (("model", "D", "M", "accuracy", "worst pair"), list(merged_rows(*merged))),
        "merged-comparison": str(polyroc.compare(*merged)),
        "priors": (
            ("", *of_priors),
            list(zip(MEASURES, *of_priors.values(), strict=True)),
        ),
        "shifted-column": (
            ("shift", *shifted),
            [(str(shift), *measured(shifted, *one_shifted_column(shift))) for shift in SHIFTS],
        ),
    }


def table(columns, rows):
    cells = [[one if isinstance(one, str) else f"{one:.3f}" for one in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in [columns, ["---"] * len(columns), *cells])


def part(content):
    """What stands between two marks: a table, or something printed."""
    return f"```text\n{content}\n```" if isinstance(content, str) else table(*content)


def page(text, found):
    """The page with each table between its marks."""
    for name, content in found.items():
        begin = f"<!-- {name}: written by `make meaning` -->"
        before, mark, rest = text.partition(begin)
        if not mark:
            msg = f"{PAGE.name} lacks its mark, {begin}"
            raise ValueError(msg)
        text = f"{before}{begin}\n\n{part(content)}\n\n{END}{rest.partition(END)[2]}"
    return text


def line(ax, x, rows, columns, name, **style):
    """One measure against what was varied."""
    values = [row[columns.index(name)] for row in rows]
    place = LOOKS[name]
    looks = {"color": colour_of(ax, place), "linestyle": LINE_STYLES[place], "linewidth": 1.8, "marker": "."}
    ax.plot(x, values, **{"label": name, **looks, **style})
    return values


def finish(ax):
    faint_grid(ax)
    despined(ax)


def legend(ax, **place):
    ax.legend(fontsize="small", framealpha=0.8, edgecolor="none", **place)


def legend_below(figure, ax, n_columns):
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=n_columns, frameon=False)


def axes(width, height):
    return plt.subplots(figsize=(width, height), layout="constrained")


def draw_curves(y_true, y_score, title):
    figure, ax = axes(4.3, 4.3)
    evaluation = polyroc.evaluate(y_true, y_score)
    evaluation.plot(ax, pairs=True, name="shared curve", despine=True, plot_chance_level=True)
    ax.set_title(title, fontsize=10)
    ax.set(xlabel="false positive rate", ylabel="true positive rate")
    return figure


def draw_ninety():
    """The polygons of all pairs of the embedded example, and their mean at equal call rates."""
    example = polyroc.load_example()
    evaluation = polyroc.evaluate(example.y_true, example.scores["knn"])
    figure, ax = axes(5.2, 5.2)
    evaluation.plot(ax, pairs=True, curves="both", name="nearest neighbours", despine=True, plot_chance_level=True)
    ax.set_title("ninety pairs, their mean, and the shared curve", fontsize=10)
    return figure


def draw_exchangeable(columns, rows):
    figure, ax = axes(4.3, 4.3)
    line(ax, STRENGTHS, rows, columns, "D")
    # Upon one another: a line, rings around its points, and crosses through them.
    line(ax, STRENGTHS, rows, columns, "M", linestyle="none", marker="o", markersize=10, fillstyle="none")
    line(ax, STRENGTHS, rows, columns, "OvR, macro", linestyle="none", marker="+", markersize=13)
    line(ax, STRENGTHS, rows, columns, "AUCmu")
    ax.set(xlabel="strength", ylabel="area")
    ax.set_title("four measures, three of them the same", fontsize=10)
    finish(ax)
    legend(ax, loc="lower right")
    return figure


def draw_odd_pair(columns, rows):
    figure, ax = axes(4.3, 4.3)
    for called in OTHERS.values():
        part = [row for row in rows if row[0] == called]
        for name in ("M", "AUCmu", "D"):
            values = line(ax, AREAS, part, columns, name, label=name if called == "easy" else None)
        above = {"textcoords": "offset points", "fontsize": "small"}
        ax.annotate(f"the others {called}", (AREAS[0], values[0]), (0, 22), **above)
    ax.set(xlabel="area of the odd pair", ylabel="area", ylim=(None, 1.03))
    ax.set_title("measures against the area of that pair", fontsize=10)
    finish(ax)
    legend(ax, loc="center left")
    return figure


def draw_priors(columns, rows):
    figure, ax = axes(6.2, 3.8)
    shown = [row for row in rows if row[0] != "accuracy"]
    places = np.arange(len(shown))
    for number, (case, marker) in enumerate(zip(columns[1:], "osD", strict=True)):
        values = [row[number + 1] for row in shown]
        ax.plot(values, places + 0.18 * (number - 1), marker, color=colour_of(ax, number), markersize=7, label=case)
    ax.set_yticks(places, [row[0] for row in shown])
    ax.set(xlabel="area", ylim=(len(shown) - 0.5, -0.5))
    finish(ax)
    legend_below(figure, ax, 3)
    return figure


def draw_shifted_column(columns, rows):
    figure, ax = axes(6.2, 3.8)
    for name in columns[1:-1]:
        line(ax, SHIFTS, rows, columns, name)
    ax.set(xlabel="shift of the first column on the logit scale", ylabel="area")
    finish(ax)
    legend_below(figure, ax, 4)
    return figure


def pictures(found):
    """Functions that draw, by the names of the files."""
    return {
        "exchangeable-curves": lambda: draw_curves(*exchangeable(1), "all pairs alike: strength 1"),
        "exchangeable": lambda: draw_exchangeable(*found["exchangeable"]),
        "odd-pair-curves": lambda: draw_curves(*one_odd_pair(2.5, 0.6), "one hard pair of area 0.6 among easy ones"),
        "odd-pair": lambda: draw_odd_pair(*found["odd-pair"]),
        "ninety": draw_ninety,
        "priors": lambda: draw_priors(*found["priors"]),
        "shifted-column": lambda: draw_shifted_column(*found["shifted-column"]),
    }


def main():
    found = compute()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for theme, style in THEMES.items():
        for name, draw in pictures(found).items():
            path = FOLDER / f"{name}-{theme}.png"
            with plt.style.context(style):
                figure = draw()
                # No software version in the file: the same picture gives the same bytes.
                figure.savefig(path, dpi=110, metadata={"Software": None})
                plt.close(figure)
            print(f"docs/images/meaning/{path.name}: {path.stat().st_size / 1000:.0f} kB")
    written = page(PAGE.read_text(encoding="utf-8"), found)
    write_whole(PAGE, written.encode())
    print(f"Written: docs/{PAGE.name}")


if __name__ == "__main__":
    main()
