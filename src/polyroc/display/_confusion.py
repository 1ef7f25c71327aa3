"""Confusion matrix of a decision."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from polyroc._inputs.checks import InputError
from polyroc._lib.numbers import percent
from polyroc._lib.typing import FloatArray
from polyroc._records import read_only
from polyroc.costs._decision import Decision
from polyroc.display._style import (
    SMALLEST_FONT,
    contrast,
    fit_names,
    font_points,
    is_light,
    letters_in,
    literal,
    names_of,
    points_now,
    points_of,
    pyplot,
    square_axes_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RULES = {
    "auto": "share of tuned offsets, cross-fitted",
    "tuned": "tuned offsets, cross-fitted",
    "bayes": "Bayes' rule",
    "argmax": "highest score",
}
_ABSTAINED = "abstained"


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

    def __init__(self, *, confusion: Any, labels: Sequence[Any], title: str = "") -> None:
        table = np.array(confusion, dtype=np.float64)
        if table.ndim != 2 or table.shape[0] != len(labels) or table.shape[1] - len(labels) not in (0, 1):
            rule = f"must have a row for each of the {len(labels)} labels, and as many columns or one more"
            raise InputError("confusion", rule, f"shape {table.shape}")
        if not (np.isfinite(table).all() and (table >= 0).all()):
            raise InputError("confusion", "must be finite and not negative")
        self.confusion = read_only(table)
        self.labels = list(labels)
        self.title = title

    @classmethod
    def from_decision(cls, decision: Decision) -> "ConfusionDisplay":
        """Make the display from a decision, without drawing it.

        Parameters
        ----------
        decision : Decision
            Result of `decide`.
        """
        return cls(confusion=decision.confusion, labels=decision.labels.tolist(), title=_RULES[decision.rule])

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

        Returns
        -------
        ConfusionDisplay
            Itself.
        """
        k = len(self.labels)
        self.ax_ = ax = square_axes_of(ax, side=min(1.5 + 0.3 * k, 10))
        self.figure_ = ax.figure
        cmap = cmap or ("Blues" if is_light(ax) else "Blues_r")
        self.im_ = ax.imshow(self.shares, cmap=cmap, vmin=0, vmax=1, interpolation="nearest", aspect="auto")
        if colorbar:
            bar = self.figure_.colorbar(self.im_, ax=ax, label="share of the class", fraction=0.05, pad=0.04, aspect=25)
            bar.set_ticks([0, 0.5, 1], labels=[literal(text) for text in ("0 %", "50 %", "100 %")])
        ax.set(xlabel="predicted", ylabel="true class")
        if self.title:
            ax.set_title(literal(self.title), fontsize="medium")
        self._name(ax)
        if self.confusion.shape[1] > k:
            ax.axvline(k - 0.5, color=pyplot().rcParams["text.color"], linewidth=1.2)
        self.text_ = self._number_cells(ax)
        return self

    def _name(self, ax: "Axes") -> None:
        """Names of rows and columns; they take at most a quarter of the side."""
        k = len(self.labels)
        room = min(points_now(ax)) / 4
        names = names_of(self.labels, min(30, letters_in(room, font_points(pyplot().rcParams["ytick.labelsize"]))))
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
        places = np.argwhere(self.confusion > 0).tolist()
        texts = {(i, j): _share_text(self.shares[i, j]) for i, j in places}
        counts = {(i, j): _count_text(self.confusion[i, j]) for i, j in places}
        longest = max(map(len, [*texts.values(), *counts.values()]), default=1)
        largest = font_points("small")
        size = min(largest, across / (0.62 * longest), down / 2.6)
        if size >= SMALLEST_FONT + 1:
            texts = {place: f"{text}\n{counts[place]}" for place, text in texts.items()}
        else:
            size = min(largest, across / (0.62 * max(map(len, texts.values()), default=1)), down / 1.3)
        if size < SMALLEST_FONT:
            return []
        inks = [pyplot().rcParams["text.color"], ax.get_facecolor()]
        drawn = []
        for (i, j), text in texts.items():
            ink = max(inks, key=partial(contrast, self.im_.cmap(self.im_.norm(self.shares[i, j]))))
            drawn.append(ax.text(j, i, literal(text), ha="center", va="center", fontsize=size, color=ink))
        return drawn


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
