"""Tables of classes in colours: areas or effects of all ordered pairs, and the confusion matrix of a decision."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from polyroc._inputs.checks import InputError, one_of
from polyroc._lib.axes import clustered
from polyroc._lib.limits import HEATMAP_AS_GIVEN
from polyroc._lib.numbers import area as area_text
from polyroc._lib.numbers import percent
from polyroc._lib.typing import FloatArray
from polyroc._records import PairIndex, read_only
from polyroc.costs._decision import Decision
from polyroc.display._style import (
    RULE_NAMES,
    SMALLEST_FONT,
    contrast,
    fit_names,
    font_points,
    ink,
    is_light,
    letters_in,
    literal,
    names_of,
    points_now,
    points_of,
    square_axes_of,
)
from polyroc.evaluation._evaluation import Evaluation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Value: TypeAlias = Literal["auc", "effect"]
Order: TypeAlias = Literal["auto", "given", "clustered"]
Cell: TypeAlias = tuple[int, int]

_MEANING = {"auc": "pairwise area", "effect": "pair effect"}
_ABSTAINED = "abstained"


def _paint(ax: "Axes", values: FloatArray, **colours: Any) -> Any:
    # The cells fill the axes: square ones would leave colour bar and labels to a layout that knows no squares.
    return ax.imshow(values, interpolation="nearest", aspect="auto", **colours)


def _add_scale(ax: "Axes", image: Any, label: str) -> Any:
    return ax.figure.colorbar(image, ax=ax, label=label, fraction=0.05, pad=0.04, aspect=25)


def _side_names(ax: "Axes", labels: Sequence[Any]) -> list[str]:
    """Names take at most a quarter of the side, so that the table stays the largest thing."""
    return names_of(labels, min(30, letters_in(min(points_now(ax)) / 4, "ytick.labelsize")))


def _write_cells(ax: "Axes", image: Any, texts: Mapping[Cell, str], size: float) -> list[Any]:
    """Texts in the cells, each in the ink that contrasts with its cell; none where they would be too small to read."""
    if size < SMALLEST_FONT:
        return []
    inks, values = [ink(), ax.get_facecolor()], image.get_array()
    style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": size}
    drawn = []
    for (i, j), text in texts.items():
        colour = max(inks, key=partial(contrast, image.cmap(image.norm(values[i, j]))))
        drawn.append(ax.text(j, i, literal(text), color=colour, **style))
    return drawn


@dataclass(kw_only=True, eq=False, repr=False)
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

    values: Any
    labels: Sequence[Any]
    value: Value = "auc"

    def __post_init__(self) -> None:
        self.values = read_only(np.array(self.values, dtype=float))
        self.labels = tuple(self.labels)
        one_of(self.value, "value", get_args(Value))
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
        values = _pair_matrix(n_classes, evaluation.fitted.pairs, getattr(evaluation.pairs, value))
        if order == "clustered" or (order == "auto" and n_classes > HEATMAP_AS_GIVEN):
            leaves = clustered(_pair_matrix(n_classes, evaluation.fitted.pairs, evaluation.pairs.auc))
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
        """
        self.ax_ = ax = square_axes_of(ax, side=min(1.5 + 0.13 * len(self.labels), 9))
        self.figure_ = ax.figure
        low, high = _range(self.values)
        self.im_ = _paint(
            ax, self.values, cmap=cmap or ("viridis" if is_light(ax) else "viridis_r"), vmin=low, vmax=high
        )
        if colorbar:
            _add_scale(ax, self.im_, _MEANING[self.value])
        ax.set(xlabel="negative class", ylabel="positive class")
        fit_names(ax, _side_names(ax, self.labels), axes="xy")
        self.text_ = self._number_cells(ax, _cell_text if self.value == "auc" else _effect_text)
        return self

    def _number_cells(self, ax: "Axes", write: Callable[[float], str]) -> list[Any]:
        # A number fills at most three quarters of its cell, in a font no larger than that of the names.
        room = 0.75 * min(points_of(ax)) / len(self.values) / 0.65
        if room < SMALLEST_FONT * len(".99"):
            return []
        texts = {(i, j): write(self.values[i, j]) for i, j in np.argwhere(~np.isnan(self.values)).tolist()}
        size = min(font_points("small"), room / max(map(len, texts.values()), default=1))
        return _write_cells(ax, self.im_, texts, size)


def _pair_matrix(n_classes: int, pairs: PairIndex, column: FloatArray) -> FloatArray:
    """One number per pair -> a table, NaN where there is no pair."""
    values = np.full((n_classes, n_classes), np.nan)
    values[pairs.positive, pairs.negative] = column
    return values


def _range(values: FloatArray) -> tuple[float, float]:
    known = values[~np.isnan(values)]
    if known.size == 0:
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    # Numbers that are all the same would leave the scale without a length.
    return (low, high) if high - low > 1e-6 else (low - 0.05, high + 0.05)


def _cell_text(area: float) -> str:
    """An area in a cell: two decimals, more where they would make it perfect, and a bound where these do not fit.

    >>> _cell_text(0.934), _cell_text(0.996), _cell_text(0.99996), _cell_text(1.0), _cell_text(0.00002)
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


@dataclass(kw_only=True, eq=False, repr=False)
class ConfusionDisplay:
    """Confusion matrix of a decision: predicted classes of the samples of each class.

    Parameters
    ----------
    confusion : array-like of shape (n_classes, n_classes) or (n_classes, n_classes + 1)
        Samples (sums of their weights) by true (row) and predicted (column) class; a last column for abstentions.
    labels : sequence
        The classes, in the order of rows and columns.
    title : str, optional
        Which rule it is.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it was drawn.
    im_ : AxesImage
        The coloured cells: the share of each row.
    text_ : list of Text
        Shares and numbers in the cells; empty where they have no room. Empty cells have none.

    Examples
    --------
    >>> import numpy as np
    >>> import polyroc
    >>> from matplotlib.figure import Figure
    >>> from polyroc.display import ConfusionDisplay
    >>> example = polyroc.load_example()
    >>> decision = polyroc.decide(example.y_true, example.scores["tree"], 1 - np.eye(10), rule="argmax")
    >>> display = ConfusionDisplay.from_decision(decision).plot(Figure().add_subplot())
    >>> display.ax_.get_xlabel()
    'predicted'
    """

    confusion: Any
    labels: Sequence[Any]
    title: str = ""

    def __post_init__(self) -> None:
        table, k = np.array(self.confusion, dtype=np.float64), len(self.labels)
        if table.ndim != 2 or table.shape[0] != k or table.shape[1] - k not in (0, 1):
            rule = f"must have a row for each of the {k} labels, and as many columns or one more"
            raise InputError("confusion", rule, f"shape {table.shape}")
        if not (np.isfinite(table).all() and (table >= 0).all()):
            raise InputError("confusion", "must be finite and not negative")
        self.confusion, self.labels = read_only(table), list(self.labels)

    @classmethod
    def from_decision(cls, decision: Decision) -> "ConfusionDisplay":
        """Make the display from the result of `decide`, without drawing it."""
        tuned = ", cross-fitted" if decision.rule in ("auto", "tuned") else ""
        title = f"{RULE_NAMES[decision.rule]}{tuned}"
        return cls(confusion=decision.confusion, labels=decision.labels.tolist(), title=title)

    @property
    def shares(self) -> FloatArray:
        """Share of each true class (row) for which each class is predicted; 0 in rows of classes without samples."""
        total = self.confusion.sum(axis=1, keepdims=True)
        shares: FloatArray = np.divide(self.confusion, total, out=np.zeros_like(self.confusion), where=total > 0)
        return shares

    def plot(self, ax: "Axes | None" = None, *, cmap: Any = None, colorbar: bool = True) -> "ConfusionDisplay":
        """Draw the matrix.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default a new figure, larger for many classes.
        cmap : str or Colormap, optional
            Colours from no sample of a class to all of them. By default blues that are clear on the background.
        colorbar : bool
            Draw the scale of the colours.
        """
        k = len(self.labels)
        self.ax_ = ax = square_axes_of(ax, side=min(1.5 + 0.3 * k, 10))
        self.figure_ = ax.figure
        self.im_ = _paint(ax, self.shares, cmap=cmap or ("Blues" if is_light(ax) else "Blues_r"), vmin=0, vmax=1)
        if colorbar:
            bar = _add_scale(ax, self.im_, "share of the class")
            bar.set_ticks([0, 0.5, 1], labels=[literal(text) for text in ("0 %", "50 %", "100 %")])
        ax.set(xlabel="predicted", ylabel="true class")
        if self.title:
            ax.set_title(literal(self.title), fontsize="medium")
        self._name(ax)
        if self.confusion.shape[1] > k:
            ax.axvline(k - 0.5, color=ink(), linewidth=1.2)
        self.text_ = self._number_cells(ax)
        return self

    def _name(self, ax: "Axes") -> None:
        k, names = len(self.labels), _side_names(ax, self.labels)
        abstains = self.confusion.shape[1] > k
        fit_names(ax, [*names, _ABSTAINED] if abstains else names, axes="xy")
        if not abstains:
            return
        # No class has the name "abstained", so its column is labelled even if all other labels are left out.
        size = ax.get_yticklabels()[0].get_fontsize()
        rows = [int(place) for place in ax.get_yticks() if place < k]
        ax.set_yticks(rows, [names[place] for place in rows], fontsize=size)
        upright = max(map(len, [*names, _ABSTAINED])) > 3
        columns = [*rows, k]
        ax.set_xticks(columns, [*(names[p] for p in rows), _ABSTAINED], fontsize=size, rotation=90 if upright else 0)
        ax.set(xlim=(-0.5, k + 0.5), ylim=(k - 0.5, -0.5))

    def _number_cells(self, ax: "Axes") -> list[Any]:
        """The share of the class in each cell, and the number of samples below it where there is room."""
        rows, columns = self.confusion.shape
        width, height = points_of(ax)
        across, down = 0.85 * width / columns, 0.85 * height / rows
        shares, cells = self.shares, np.argwhere(self.confusion > 0).tolist()
        texts = {(i, j): _share_text(shares[i, j]) for i, j in cells}
        counts = {(i, j): _count_text(self.confusion[i, j]) for i, j in cells}
        longest = max(map(len, [*texts.values(), *counts.values()]), default=1)
        largest = font_points("small")
        size = min(largest, across / (0.62 * longest), down / 2.6)
        if size >= SMALLEST_FONT + 1:
            texts = {cell: f"{text}\n{counts[cell]}" for cell, text in texts.items()}
        else:
            size = min(largest, across / (0.62 * max(map(len, texts.values()), default=1)), down / 1.3)
        return _write_cells(ax, self.im_, texts, size)


def _count_text(count: float) -> str:
    """A number of samples, or a sum of weights to four digits; those before the point are all shown.

    >>> _count_text(7.0), _count_text(12345.0), _count_text(12345.678), _count_text(0.123456)
    ('7', '12,345', '12,346', '0.1235')
    """
    return f"{count:,.0f}" if count >= 1000 else f"{count:.4g}"


def _share_text(share: float) -> str:
    """A share in a cell, as short as it can be said.

    >>> _share_text(0.934), _share_text(0.004), _share_text(1.0), _share_text(0.9996)
    ('93 %', '0.4 %', '100 %', '>99.9 %')
    """
    return percent(share).replace("over ", ">").replace("below ", "<")
