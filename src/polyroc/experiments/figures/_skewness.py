"""How skewed the classes are, the curves of skewed test sets, and how much each statistic moves."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from polyroc.display._style import LINE_STYLES, colour_of
from polyroc.experiments._outcome import Outcome
from polyroc.experiments._skewness import ALPHAS, COVARIATES, STATISTICS
from polyroc.experiments.figures._canvas import lines_of, plain, rates_panel, sheet

_NAMES = {"D_equal": "D, unweighted", "D_prevalence": "D, weighted"}
_TITLES = {"prevalence": "weighted", "equal": "unweighted"}


def draw(outcome: Outcome) -> dict[str, Figure]:
    """Tail probabilities, the two panels of curves for each alpha, and spreads."""
    return {"tails": _tails(outcome), "curves": _curves(outcome), "spread": _spread(outcome)}


def _tails(outcome: Outcome) -> Figure:
    tails = outcome.table("tails")
    figure, axes = sheet(1, 2, height=2.8, sharey=True)
    for ax, k in zip(axes[0], tails.distinct("classes"), strict=True):
        for place, alpha in enumerate(ALPHAS):
            part = tails.where(classes=k, alpha=alpha)
            style = {"color": colour_of(ax, place), "linestyle": LINE_STYLES[place]}
            ax.plot(part.column("c"), part.column("tail"), label=f"alpha = {alpha}", **style)
        ax.set(xscale="log", title=None)
        ax.set_xticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
        ax.set_xticks([], minor=True)
        ax.set_title(f"{k} classes", fontsize=9)
        ax.set_xlabel("c, times the smallest class", fontsize=8)
        plain(ax)
    axes[0, 0].set_ylabel("P(largest class > c smallest)", fontsize=8)
    axes[0, 1].legend(fontsize=8, frameon=False)
    return figure


def _curves(outcome: Outcome) -> Figure:
    figure, axes = sheet(len(ALPHAS), 2, width=3.2, height=3.0)
    lines = lines_of(outcome.table("curves"), ("covariates", "alpha", "weighting", "test_set"))
    handles: dict[str, Any] = {}
    for r, alpha in enumerate(ALPHAS):
        for c, (weighting, title) in enumerate(_TITLES.items()):
            ax = axes[r, c]
            rates_panel(ax, f"{title}, alpha = {alpha}", x_label=r == len(ALPHAS) - 1, y_label=c == 0)
            for (d, of_alpha, of_weighting, _), fpr, tpr in lines:
                if (of_alpha, of_weighting) == (alpha, weighting):
                    colour = colour_of(ax, COVARIATES.index(d))
                    [handles[f"d = {d}"]] = ax.plot(fpr, tpr, color=colour, linewidth=0.6, alpha=0.6)
    legend = figure.legend(handles.values(), handles, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    for line in legend.get_lines():
        line.set(linewidth=2, alpha=1)
    return figure


def _spread(outcome: Outcome) -> Figure:
    spread = outcome.table("spread").where(alpha="all")
    figure, axes = sheet(1, 2, width=3.6, height=3.0, sharey=True)
    titles = {"deviation": "over the test sets", "deviation_by_weights": "by skewness alone"}
    place = np.arange(len(STATISTICS))
    for ax, (column, title) in zip(axes[0], titles.items(), strict=True):
        for number, d in enumerate(COVARIATES):
            part = spread.where(covariates=d)
            style = {"color": colour_of(ax, number), "marker": "os^"[number], "s": 22}
            ax.scatter(part.column(column), place + 0.18 * (number - 1), label=f"d = {d}", **style)
        ax.set_yticks(place, [_NAMES.get(name, name.replace("_", " ")) for name in STATISTICS])
        ax.set_title(f"standard deviation {title}", fontsize=9)
        ax.set_xlim(left=-0.002)
        plain(ax)
    axes[0, 0].invert_yaxis()
    axes[0, 1].legend(fontsize=8, frameon=False, loc="lower right")
    return figure
