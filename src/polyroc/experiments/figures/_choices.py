"""Four of the choices in pictures: thresholds, intercept, shrinkage, and the printed update."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polyroc.display._style import colour_of
from polyroc.experiments._outcome import Outcome, Table
from polyroc.experiments._readings import MODELS, SAMPLES_PER_CLASS, SWEPT_COSTS
from polyroc.experiments.figures._canvas import plain, sheet


def draw(outcome: Outcome) -> dict[str, Figure]:
    """One sheet of four panels."""
    table = outcome.table("choices")
    figure, axes = sheet(2, 2, width=3.9, height=3.1)
    _thresholds(axes[0, 0], table)
    _intercept(axes[0, 1], table)
    _shrinkage(axes[1, 0], table)
    _update(axes[1, 1], table)
    for ax in axes.flat:
        plain(ax)
    return {"choices": figure}


def _thresholds(ax: Axes, table: Table) -> None:
    part = table.where(choice="thresholds", quantity="D")
    problems = [name for name in part.distinct("problem") if not name.startswith("majority")]
    for number, reading in enumerate(("own", "shared")):
        values = [part.where(problem=name, reading=reading).column("value")[0] for name in problems]
        ax.scatter(values, np.arange(len(problems)), color=colour_of(ax, number), marker="os"[number], label=reading)
    m = [table.where(choice="thresholds", problem=name, quantity="M").column("value")[0] for name in problems]
    ax.scatter(m, np.arange(len(problems)), color="black", marker="x", label="M")
    # Of four lines at most, each short enough for the margin.
    ax.set_yticks(np.arange(len(problems)), [name.replace(", ", ",\n", 1) for name in problems])
    ax.invert_yaxis()
    ax.set_title("own or shared thresholds", fontsize=9)
    ax.set_xlabel("D", fontsize=8)
    ax.legend(fontsize=7, frameon=False)


def _intercept(ax: Axes, table: Table) -> None:
    part = table.where(choice="intercept", quantity="D")
    for number, model in enumerate(MODELS):
        one = [part.where(problem=f"majority classifier, c = {c:g}", reading=model) for c in SWEPT_COSTS]
        areas = [float(table.column("value")[0]) for table in one]
        ax.plot(SWEPT_COSTS, areas, "os^"[number] + "-", color=colour_of(ax, number), markersize=4, label=model)
    _dress(ax, SWEPT_COSTS, "with or without intercept: majority classifier", "c", "D")


def _shrinkage(ax: Axes, table: Table) -> None:
    part = table.where(choice="shrinkage", quantity="mean D")
    truth = table.where(choice="shrinkage", problem="four classes, very many samples").column("value")[0]
    ax.axhline(truth, color="black", alpha=0.5, linestyle=":", linewidth=1, label="truth")
    for number, reading in enumerate(("a = 0", "a = 1")):
        one = part.where(reading=reading)
        ax.plot(SAMPLES_PER_CLASS, one.column("value"), "os"[number] + "-", color=colour_of(ax, number), label=reading)
    _dress(ax, SAMPLES_PER_CLASS, "shrinkage", "samples per class", "mean D")


def _dress(ax: Axes, places: Sequence[float], title: str, x_label: str, y_label: str) -> None:
    """A logarithmic axis whose ticks are the places that were computed."""
    ax.set_xscale("log")
    ax.set_xticks(places, [f"{place:g}" for place in places])
    ax.set_xticks([], minor=True)
    ax.set_title(title, fontsize=9)
    ax.set_xlabel(x_label, fontsize=8)
    ax.set_ylabel(y_label, fontsize=8)
    ax.legend(fontsize=7, frameon=False)


def _update(ax: Axes, table: Table) -> None:
    part = table.where(choice="update", quantity="D")
    printed, damped = (part.where(reading=reading).column("value") for reading in ("as printed", "damped"))
    shown = (printed >= 0) & (printed <= 1)
    ax.plot([0.5, 1], [0.5, 1], color="black", alpha=0.5, linestyle=":", linewidth=1)
    ax.scatter(damped[shown], printed[shown], color=colour_of(ax, 0), s=12, label=f"{shown.sum()} that end in [0, 1]")
    # No number has no place on the axis: at its lower end, in another colour.
    lost = f"{np.sum(~shown)} that do not"
    ax.scatter(damped[~shown], np.full(np.sum(~shown), 0.45), color=colour_of(ax, 1), marker="x", s=14, label=lost)
    ax.set_title("the printed update, 50 iterations", fontsize=9)
    ax.set_xlabel("D at the optimum", fontsize=8)
    ax.set_ylabel("D by the printed update", fontsize=8)
    ax.legend(fontsize=7, frameon=False)
