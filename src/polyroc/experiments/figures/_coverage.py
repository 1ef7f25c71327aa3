"""Coverage of each interval in each setting."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from polyroc.display._style import colour_of
from polyroc.experiments._coverage import LEVEL
from polyroc.experiments._outcome import Outcome
from polyroc.experiments.figures._canvas import plain, sheet


def draw(outcome: Outcome) -> dict[str, Figure]:
    """A point per interval and setting, beside the level that all of them promise."""
    table = outcome.table("coverage")
    figure, axes = sheet(1, 1, width=6.4, height=2.8)
    ax = axes[0, 0]
    intervals = table.distinct("interval")
    place = np.arange(len(intervals))
    for number, setting in enumerate(table.distinct("setting")):
        part = table.where(setting=setting)
        coverage, n = part.column("coverage"), part.column("samples")
        error = 1.96 * np.sqrt(coverage * (1 - coverage) / n)
        ax.errorbar(
            coverage,
            place + 0.18 * (number - 1),
            xerr=error,
            fmt="os^"[number],
            color=colour_of(ax, number),
            markersize=5,
            capsize=2,
            label=setting,
        )
    ax.axvline(LEVEL, color="black", linestyle=":", linewidth=1, alpha=0.7)
    ax.set_yticks(place, intervals)
    ax.invert_yaxis()
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    ax.set_xlim(-0.03, 1.03)
    ax.set_xlabel("samples whose 95 % interval holds the truth", fontsize=8)
    plain(ax)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return {"coverage": figure}
