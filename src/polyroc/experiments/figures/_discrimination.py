"""Labels, curves and areas by the number of covariates."""

import matplotlib
from matplotlib.figure import Figure

from polyroc.display._style import colour_of
from polyroc.experiments._discrimination import INDEPENDENT, KINDS
from polyroc.experiments._outcome import Outcome
from polyroc.experiments.figures._canvas import LEFT_OUT, lines_of, plain, rates_panel, sheet


def draw(outcome: Outcome) -> dict[str, Figure]:
    """The paper's histograms of labels and its two panels of curves, and the areas beside each other."""
    return {"labels": _labels(outcome), "curves": _curves(outcome), "areas": _areas(outcome)}


def _labels(outcome: Outcome) -> Figure:
    figure, axes = sheet(1, 2, height=2.4, sharey=True)
    for ax, kind in zip(axes[0], KINDS, strict=True):
        part = outcome.table("counts").where(labels=kind)
        bars = ax.bar(part.column("class"), part.column("samples"), color=colour_of(ax, 0), width=0.7)
        ax.bar_label(bars, fmt="{:,.0f}", fontsize=7, padding=1)
        ax.set_title(f"{kind} labels", fontsize=9)
        ax.set_xlabel("class", fontsize=8)
        plain(ax)
        ax.grid(visible=False, axis="x")
    axes[0, 0].set_ylabel("samples", fontsize=8)
    return figure


def _curves(outcome: Outcome) -> Figure:
    figure, axes = sheet(1, 2, width=3.4, height=3.6)
    lines = lines_of(outcome.table("curves"), ("labels", "covariates"))
    steps = matplotlib.colormaps["viridis_r"]
    for ax, kind in zip(axes[0], KINDS, strict=True):
        rates_panel(ax, f"{kind} labels", y_label=kind == KINDS[0])
        for (labels, name), fpr, tpr in lines:
            if labels == kind:
                own = name == INDEPENDENT
                colour = LEFT_OUT if own else steps(0.05 + 0.095 * int(name))
                # An area of 1 runs along the frame, which would hide half of the line.
                style = {"linestyle": "--" if own else "-", "linewidth": 1.3, "clip_on": False}
                ax.plot(fpr, tpr, color=colour, label=name if own else f"d = {name}", **style)
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=6, fontsize=7, frameon=False)
    return figure


def _areas(outcome: Outcome) -> Figure:
    figure, axes = sheet(1, 2, height=2.8, sharey=True)
    for ax, kind in zip(axes[0], KINDS, strict=True):
        part = outcome.table("areas").where(labels=kind)
        names = [name if name != INDEPENDENT else "none" for name in part.column("covariates")]
        ax.plot(names, part.column("D"), "o-", color=colour_of(ax, 0), markersize=4, label="D")
        ax.fill_between(names, part.column("D_low"), part.column("D_high"), color=colour_of(ax, 0), alpha=0.2)
        ax.plot(names, part.column("M"), "s--", color=colour_of(ax, 1), markersize=3, label="M")
        ax.set_title(f"{kind} labels", fontsize=9)
        ax.set_xlabel("covariates that the regression has", fontsize=8)
        plain(ax)
    axes[0, 0].set_ylabel("area", fontsize=8)
    axes[0, 0].legend(fontsize=8, frameon=False)
    return figure
