"""What the figures share: a sheet of panels, axes of rates, and a legend outside."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from experiments._outcome import Table
from polyroc.display._style import despined, faint_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEFT_OUT = "#999999"


def sheet(
    n_rows: int, n_columns: int, *, width: float = 3.2, height: float = 3.0, **shared: Any
) -> "tuple[Figure, Any]":
    """A figure and its axes, always a two-dimensional array of them."""
    from matplotlib.figure import Figure

    # Not pyplot's: no screen is needed, and nothing stays open.
    figure = Figure(figsize=(width * n_columns, height * n_rows), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False, **shared)


def rates_panel(ax: "Axes", title: str, *, x_label: bool = True, y_label: bool = True) -> None:
    """Axes of false and true positive rates, with the diagonal."""
    ax.plot([0, 1], [0, 1], color="black", alpha=0.5, linewidth=0.8, linestyle=":")
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal", xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
    ax.set_title(title, fontsize=9)
    if x_label:
        ax.set_xlabel("shared false positive rate", fontsize=8)
    if y_label:
        ax.set_ylabel("shared true positive rate", fontsize=8)
    plain(ax)


def plain(ax: "Axes") -> None:
    """Small ticks, a faint grid, no frame."""
    ax.tick_params(labelsize=8)
    faint_grid(ax)
    despined(ax)


def lines_of(curves: Table, keys: Iterable[str]) -> list[tuple[tuple[Any, ...], list[float], list[float]]]:
    """Keys, FPR and TPR of each curve of a table, in one pass."""
    places = [curves.header.index(name) for name in (*keys, "fpr", "tpr")]
    found: dict[tuple[Any, ...], tuple[list[float], list[float]]] = {}
    for row in curves.rows:
        *key, fpr, tpr = (row[place] for place in places)
        line = found.setdefault(tuple(key), ([], []))
        line[0].append(fpr)
        line[1].append(tpr)
    return [(key, fpr, tpr) for key, (fpr, tpr) in found.items()]
