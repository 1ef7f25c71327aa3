"""Figures of experiment 4: areas and curves of one split, and D against M over many."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments._canvas import lines_of, plain, rates_panel, sheet
from experiments._classifiers import MODELS, SETTINGS
from experiments._outcome import Outcome, Table
from polyroc.display._style import LINE_STYLES, colour_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_METHODS = {"paper_method": "paper's replicates", "bootstrap": "resampled samples"}


def draw(outcome: Outcome) -> "dict[str, Figure]":
    """The paper's two figures, with honest replicates beside its own, and the splits."""
    return {"areas": _areas(outcome), "curves": _draw_curves(outcome), "splits": _splits(outcome)}


def _panels(table: Table, **size: float) -> "tuple[Figure, dict[str, Any]]":
    """One panel per data set, three in a row."""
    names = table.distinct("data")
    n_rows = math.ceil(len(names) / 3)
    figure, axes = sheet(n_rows, min(3, len(names)), **size)
    for spare in axes.flat[len(names) :]:
        spare.set_axis_off()
    return figure, dict(zip(names, axes.flat, strict=False))


def _areas(outcome: Outcome) -> "Figure":
    replicates, areas = outcome.table("replicates"), outcome.table("areas")
    figure, panels = _panels(replicates, width=2.9, height=2.6)
    handles: dict[str, Any] = {}
    for name, ax in panels.items():
        for side, (method, label) in enumerate(_METHODS.items()):
            part, colour = replicates.where(data=name, method=method), colour_of(ax, side)
            boxes = ax.boxplot(
                [part.where(model=model).column("D") for model in MODELS],
                positions=np.arange(len(MODELS)) + 0.34 * (side - 0.5),
                widths=0.28,
                patch_artist=True,
                # In its colour throughout: the paper's boxes are as thin as their lines.
                **{f"{piece}props": {"color": colour} for piece in ("box", "whisker", "cap", "median")},
                flierprops={"marker": ".", "markersize": 2, "markeredgecolor": colour},
            )
            for box in boxes["boxes"]:
                box.set_facecolor((colour, 0.35))
            handles[label] = boxes["boxes"][0]
        for letter, mark in (("D", "D"), ("M", "o")):
            found = areas.where(data=name).column(letter)
            handles[letter] = ax.scatter(np.arange(len(MODELS)), found, color="black", marker=mark, s=14, zorder=5)
        ax.set_xticks(np.arange(len(MODELS)), MODELS)
        ax.set_title(name, fontsize=9)
        plain(ax)
    figure.supylabel("D", fontsize=9)
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    return figure


def _draw_curves(outcome: Outcome) -> "Figure":
    curves = outcome.table("curves")
    figure, panels = _panels(curves, width=2.9, height=2.9)
    edges = {key: (fpr, tpr) for key, fpr, tpr in lines_of(outcome.table("bands"), ("data", "model", "edge"))}
    n_columns = min(3, len(panels))
    for place, (name, ax) in enumerate(panels.items()):
        rates_panel(ax, name, x_label=place >= len(panels) - n_columns, y_label=place % n_columns == 0)
    for (name, model), fpr, tpr in lines_of(curves, ("data", "model")):
        ax, number = panels[name], MODELS.index(model)
        colour = colour_of(ax, number)
        lower, upper = edges[name, model, "lower"], edges[name, model, "upper"]
        # The lower edge there and the upper one back.
        ax.fill(lower[0] + upper[0][::-1], lower[1] + upper[1][::-1], color=colour, alpha=0.15, linewidth=0)
        ax.plot(fpr, tpr, color=colour, linestyle=LINE_STYLES[number], linewidth=1.3, label=model)
    handles, names = next(iter(panels.values())).get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return figure


def _splits(outcome: Outcome) -> "Figure":
    splits = outcome.table("splits").where(settings=SETTINGS[0])
    figure, panels = _panels(splits, width=2.9, height=2.7)
    for name, ax in panels.items():
        part = splits.where(data=name)
        ends = [min(part.column("M").min(), part.column("D").min()), 1]
        ax.plot(ends, ends, color="black", alpha=0.5, linewidth=0.8, linestyle=":")
        for number, model in enumerate(MODELS):
            one = part.where(model=model)
            style = {"color": colour_of(ax, number), "marker": "os^"[number], "alpha": 0.6, "s": 10, "linewidths": 0}
            ax.scatter(one.column("M"), one.column("D"), label=model, **style)
        ax.set_title(name, fontsize=9)
        ax.locator_params(nbins=4)
        plain(ax)
    figure.supxlabel("M", fontsize=9)
    figure.supylabel("D", fontsize=9)
    handles, names = next(iter(panels.values())).get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=3, fontsize=8, frameon=False, markerscale=2)
    return figure
