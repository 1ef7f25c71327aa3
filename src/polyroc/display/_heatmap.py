"""Areas or effects of all ordered pairs of classes, as a table in colours."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from polyroc._inputs.checks import InputError, one_of
from polyroc._lib.class_order import clustered
from polyroc._lib.limits import HEATMAP_AS_GIVEN
from polyroc._lib.numbers import area as area_text
from polyroc._lib.typing import FloatArray
from polyroc._records import PairIndex, read_only
from polyroc.display._style import (
    SMALLEST_FONT,
    contrast,
    fit_names,
    font_points,
    is_light,
    letters_in,
    names_of,
    points_now,
    points_of,
    pyplot,
    square_axes_of,
)
from polyroc.evaluation._evaluation import Evaluation

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def pair_matrix(n_classes: int, pairs: PairIndex, column: FloatArray) -> FloatArray:
    """One number per pair -> a table, NaN where there is no pair."""
    values = np.full((n_classes, n_classes), np.nan)
    values[pairs.positive, pairs.negative] = column
    return values


Value: TypeAlias = Literal["auc", "effect"]
Order: TypeAlias = Literal["auto", "given", "clustered"]

_MEANING = {"auc": "pairwise area", "effect": "pair effect"}


class PairwiseHeatmapDisplay:
    """Heatmap of the areas or effects of all ordered pairs of classes.

    Parameters
    ----------
    values : array-like of shape (n_classes, n_classes)
        One row per positive and one column per negative class; NaN is left blank.
    labels : sequence
        The classes, in the order of rows and columns.
    value : {"auc", "effect"}
        What the numbers are.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it was drawn.
    im_ : AxesImage
        The coloured cells.
    text_ : list of Text
        The numbers in the cells; empty where they have no room.

    Examples
    --------
    >>> import polyroc
    >>> from matplotlib.figure import Figure
    >>> from polyroc.display import PairwiseHeatmapDisplay
    >>> example = polyroc.load_example()
    >>> evaluation = polyroc.evaluate(example.y_true, example.scores["tree"])
    >>> display = PairwiseHeatmapDisplay.from_evaluation(evaluation).plot(Figure().add_subplot())
    >>> display.values.shape, display.ax_.get_ylabel()
    ((10, 10), 'positive class')
    """

    def __init__(self, *, values: Any, labels: Sequence[Any], value: Value = "auc") -> None:
        self.values: FloatArray = read_only(np.array(values, dtype=float))
        self.labels = tuple(labels)
        self.value: Value = one_of(value, "value", get_args(Value))
        if self.values.shape != (len(self.labels),) * 2:
            raise InputError(
                "values", f"must have a row and a column for each of {len(self.labels)} labels", f"{self.values.shape}"
            )

    @classmethod
    def from_evaluation(
        cls, evaluation: Evaluation, *, value: Value = "auc", order: Order = "auto"
    ) -> "PairwiseHeatmapDisplay":
        """Make the display from an evaluation, without drawing it.

        Parameters
        ----------
        evaluation : Evaluation
            Result of `evaluate`.
        value : {"auc", "effect"}
            Mann-Whitney areas, or pair effects compared with the shared curve (below 1: harder).
        order : {"auto", "given", "clustered"}
            The classes as they are in the evaluation, or classes that are hard to separate next to each other;
            "auto" does the latter for more than 12. The order is by areas, also if effects are shown.
        """
        value, order = one_of(value, "value", get_args(Value)), one_of(order, "order", get_args(Order))
        n_classes = len(evaluation.labels)
        # Asked for only where needed: areas of very many classes take a while.
        values = pair_matrix(n_classes, evaluation.fitted.pairs, getattr(evaluation.pairs, value))
        if order == "clustered" or (order == "auto" and n_classes > HEATMAP_AS_GIVEN):
            leaves = clustered(pair_matrix(n_classes, evaluation.fitted.pairs, evaluation.pairs.auc))
        else:
            leaves = np.arange(n_classes)
        return cls(values=values[np.ix_(leaves, leaves)], labels=evaluation.labels[leaves].tolist(), value=value)

    def plot(self, ax: "Axes | None" = None, *, cmap: Any = None, colorbar: bool = True) -> "PairwiseHeatmapDisplay":
        """Draw the heatmap.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default a new figure, larger for many classes.
        cmap : str or Colormap, optional
            Colours from the lowest to the highest number. By default viridis, in the direction in which low numbers
            contrast with the background.
        colorbar : bool
            Draw the scale of the colours.

        Returns
        -------
        PairwiseHeatmapDisplay
            Itself.
        """
        n_classes = len(self.labels)
        self.ax_ = ax = square_axes_of(ax, side=min(1.5 + 0.13 * n_classes, 9))
        self.figure_ = ax.figure
        low, high = _range(self.values)
        # The cells fill the axes: square ones would leave colour bar and labels to a layout that knows no squares.
        self.im_ = ax.imshow(
            self.values, cmap=cmap or _colours(ax), vmin=low, vmax=high, interpolation="nearest", aspect="auto"
        )
        if colorbar:
            self.figure_.colorbar(self.im_, ax=ax, label=_MEANING[self.value], fraction=0.05, pad=0.04, aspect=25)
        ax.set(xlabel="negative class", ylabel="positive class")
        # Names take at most a quarter of the side, so that the table stays the largest thing.
        room = min(points_now(ax)) / 4
        size = font_points(pyplot().rcParams["ytick.labelsize"])
        fit_names(ax, names_of(self.labels, min(30, letters_in(room, size))), axes="xy")
        write = cell_text if self.value == "auc" else _effect_text
        self.text_ = _number_cells(ax, self.values, self.im_, write)
        return self


def _range(values: FloatArray) -> tuple[float, float]:
    known = values[~np.isnan(values)]
    if known.size == 0:
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    # Numbers that are all the same would leave the scale without a length.
    return (low, high) if high - low > 1e-6 else (low - 0.05, high + 0.05)


def _colours(ax: "Axes") -> str:
    return "viridis" if is_light(ax) else "viridis_r"


def _number_cells(ax: "Axes", values: FloatArray, image: Any, write: Callable[[float], str]) -> list[Any]:
    """The numbers themselves, where they can be read."""
    # A number fills at most three quarters of its cell, in a font no larger than that of the names.
    room = 0.75 * min(points_of(ax)) / len(values) / 0.65
    if room < SMALLEST_FONT * len(".99"):
        return []
    texts = {(i, j): write(values[i, j]) for i, j in np.argwhere(~np.isnan(values)).tolist()}
    size = min(font_points("small"), room / max(map(len, texts.values()), default=1))
    if size < SMALLEST_FONT:
        return []
    inks = [pyplot().rcParams["text.color"], ax.get_facecolor()]
    drawn = []
    for (i, j), text in texts.items():
        under = image.cmap(image.norm(values[i, j]))
        ink = max(inks, key=partial(contrast, under))
        drawn.append(ax.text(j, i, text, ha="center", va="center", fontsize=size, color=ink))
    return drawn


def cell_text(area: float) -> str:
    """An area in a cell: two decimals, more where they would make it perfect, and a bound where these do not fit.

    >>> cell_text(0.934), cell_text(0.996), cell_text(0.99996), cell_text(1.0), cell_text(0.00002)
    ('.93', '.996', '>.999', '1', '<.001')
    """
    if area in (0.0, 1.0):
        return f"{area:g}"
    # Nobody misses the 0 of 0.93 ninety times.
    text = area_text(area, digits=2).removeprefix("0")
    return text if len(text) <= len(".9995") else ">.999" if area > 0.5 else "<.001"


def _effect_text(effect: float) -> str:
    text = f"{effect:.2f}" if abs(effect) < 10 else f"{effect:.0f}"
    return text.replace("0.", ".", 1) if abs(effect) < 1 and text.lstrip("-").startswith("0.") else text
