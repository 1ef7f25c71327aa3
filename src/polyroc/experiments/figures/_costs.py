"""The grid of curves under costs, and the areas with shared and with own thresholds."""

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure

from polyroc.display._style import colour_of
from polyroc.experiments._outcome import Outcome
from polyroc.experiments.figures._canvas import lines_of, plain, rates_panel, sheet


def draw(outcome: Outcome) -> dict[str, Figure]:
    """The paper's grid, and D by c for both kinds of thresholds."""
    return {"curves": _curves(outcome), "areas": _areas(outcome)}


def _curves(outcome: Outcome) -> Figure:
    curves = outcome.table("curves").where(thresholds="shared")
    classes, alphas = curves.distinct("classes"), curves.distinct("alpha")
    figure, axes = sheet(len(classes), len(alphas), width=2.6, height=2.5)
    # The middle is black: c = 1 favours nobody.
    steps = LinearSegmentedColormap.from_list("costs", ["#E69F00", "#C04000", "#222222", "#0060A0", "#56B4E9"])
    colours = ScalarMappable(LogNorm(0.1, 10), steps)
    for r, k in enumerate(classes):
        for c, alpha in enumerate(alphas):
            rates_panel(axes[r, c], f"k = {k}, alpha = {alpha}", x_label=r == len(classes) - 1, y_label=c == 0)
    for (k, alpha, cost), fpr, tpr in lines_of(curves, ("classes", "alpha", "cost")):
        ax = axes[classes.index(k), alphas.index(alpha)]
        ax.plot(fpr, tpr, color=colours.to_rgba(cost), linewidth=1.1)
    bar = figure.colorbar(colours, ax=axes, shrink=0.6, label="c", ticks=[0.1, 0.3, 1, 3, 10])
    bar.ax.set_yticklabels(["0.1", "0.3", "1", "3", "10"])
    bar.ax.minorticks_off()
    return figure


def _areas(outcome: Outcome) -> Figure:
    areas = outcome.table("areas")
    classes, alphas = areas.distinct("classes"), areas.distinct("alpha")
    figure, axes = sheet(1, len(alphas), width=2.8, height=2.8, sharey=True)
    for ax, alpha in zip(axes[0], alphas, strict=True):
        for place, k in enumerate(classes):
            for thresholds, style in (("shared", "o-"), ("own", "s:")):
                part = areas.where(classes=k, alpha=alpha, thresholds=thresholds)
                label = f"k = {k}, {thresholds}"
                ax.plot(
                    part.column("cost"), part.column("D"), style, color=colour_of(ax, place), markersize=3, label=label
                )
        ax.set_xscale("log")
        ax.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
        ax.set_title(f"alpha = {alpha}", fontsize=9)
        ax.set_xlabel("c", fontsize=8)
        ax.set_yticks(np.arange(0, 1.01, 0.25))
        plain(ax)
    axes[0, 0].set_ylabel("D", fontsize=8)
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize=7, frameon=False)
    return figure
