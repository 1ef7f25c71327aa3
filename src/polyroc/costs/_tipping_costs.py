"""TippingCosts: for each model that is not first, the smallest change of one cost that makes it first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from polyroc._inputs.arrays import FrameBackend, frame_with_gaps, plain
from polyroc._inputs.checks import InputError, one_of, shown
from polyroc._lib.numbers import area_and_ends, counted
from polyroc._lib.text import aligned, printable, short_names, wrapped
from polyroc._records import Frozen
from polyroc.evaluation._notebook import tables_html

# What the statistics are called in a sentence.
STATISTICS = {"auc": "D", "mean_auc": "the mean area"}
MEANING = (
    "By point estimates: the order of two models may be uncertain before and after the change. By D, the most "
    "promising costs were tried by fits; by the mean area, all costs were solved for exactly."
)
ALL_FIRST = "All models are equally good by D and by the mean area."


def sentence(
    model: Any, statistic: str, factor: float | None, true_class: Any, predicted_class: Any, largest: float
) -> tuple[Any, ...]:
    """A sentence in pieces, because names are data: text, and the names as they came.

    >>> "".join(map(str, sentence("tree", "auc", 340.0, 8, 5, 1000)))
    'tree becomes first by D if predicting 8 as 5 counts 340 times as much.'
    >>> "".join(map(str, sentence("tree", "mean_auc", None, None, None, 1000)))
    'No single cost up to 1,000 times makes tree first by the mean area.'
    """
    by = STATISTICS[statistic]
    if factor is None:
        return f"No single cost up to {times(largest)} times makes ", model, f" first by {by}."
    much = f" counts {times(factor)} times as much."
    return model, f" becomes first by {by} if predicting ", true_class, " as ", predicted_class, much


def times(factor: float) -> str:
    """A factor in three digits.

    >>> times(1000.0), times(340.0), times(2.5), times(0.0456), times(0.001)
    ('1,000', '340', '2.5', '0.0456', '0.001')
    """
    if factor >= 100:
        return f"{factor:,.0f}"
    return np.format_float_positional(factor, precision=3, fractional=False, trim="-")


TippingStatistic: TypeAlias = Literal["auc", "mean_auc"]
# Letters of a name in a table.
_NAME = 30


@dataclass(frozen=True)
class TippingCost:
    """What makes one model first by one statistic: one entry of `TippingCosts`.

    Everything from `true_class` on is None where no single cost makes the model first.

    Attributes
    ----------
    model : str
        The model that is not first.
    statistic : {"auc", "mean_auc"}
        By D, or by the area under the mean curve.
    first : str
        The model that is first now.
    true_class, predicted_class : object or None
        The mistake whose cost changes: predicting the second class for the first.
    cell : tuple of int or None
        Their positions in the classes: the row and the column of the cost matrix.
    factor : float or None
        By which that cost is multiplied, in three digits; below 1 where it becomes cheaper.
    cost : float or None
        The cost after the change: what to put into the cost matrix.
    value, first_value : float or None
        The statistic of the model, and of the one that is first now, at that cost.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> two = {name: example.scores[name] for name in ("knn", "tree")}
    >>> one = polyroc.compare(example.y_true, two).tipping_costs().of("tree")
    >>> one.first, one.true_class, one.predicted_class
    ('knn', 8, 5)
    >>> one.factor
    36.0
    """

    model: str
    statistic: TippingStatistic
    first: str
    true_class: Any = None
    predicted_class: Any = None
    cell: tuple[int, int] | None = None
    factor: float | None = None
    cost: float | None = None
    value: float | None = None
    first_value: float | None = None

    def sentence(self, largest: float) -> str:
        """The entry in words, `largest` being the largest change that was sought."""
        classes = (printable(self.true_class), printable(self.predicted_class))
        return "".join(sentence(printable(self.model), self.statistic, self.factor, *classes, largest))

    def to_dict(self) -> dict[str, Any]:
        """The entry as plain data that `json` can write."""
        classes = {name: _plain_label(getattr(self, name)) for name in ("true_class", "predicted_class")}
        return dict(vars(self)) | classes | {"cell": None if self.cell is None else list(self.cell)}


@dataclass(frozen=True, eq=False)
class TippingCosts(Frozen):
    """The smallest change of a single cost that makes each model first: result of `Comparison.tipping_costs`.

    A loop gives every `TippingCost`: by D, then by the mean area, each in the order of the models.

    Attributes
    ----------
    entries : tuple of TippingCost
        One for each model that another one is ahead of, by each of the two statistics.
    largest : float
        The largest factor that was sought; the smallest is 1 over it.
    n_fits : int
        Number of fits by which candidates were verified.
    note : str
        Why nothing was sought; empty where something was.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> comparison = polyroc.compare(example.y_true, {name: example.scores[name] for name in ("knn", "tree")})
    >>> tipping = comparison.tipping_costs()
    >>> one = tipping.of("tree")
    >>> one.first, one.value > one.first_value
    ('knn', True)
    """

    entries: tuple[TippingCost, ...]
    largest: float
    n_fits: int
    note: str = ""

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[TippingCost]:
        return iter(self.entries)

    def of(self, model: str, statistic: TippingStatistic = "auc") -> TippingCost:
        """The entry of a model.

        Parameters
        ----------
        model : str
            One that is not first.
        statistic : {"auc", "mean_auc"}
            By D, or by the area under the mean curve.
        """
        by = one_of(statistic, "statistic", get_args(TippingStatistic))
        for one in self.entries:
            if (one.model, one.statistic) == (model, by):
                return one
        raise InputError("model", f"must be a model that is not first by {STATISTICS[by]}", shown(model))

    @property
    def sentences(self) -> tuple[str, ...]:
        """All entries in words; why there are none where there are none."""
        if not self.entries:
            return (self.note or ALL_FIRST,)
        return tuple(one.sentence(self.largest) for one in self.entries)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that `json` can write."""
        entries = [one.to_dict() for one in self.entries]
        return {"largest": self.largest, "n_fits": self.n_fits, "note": self.note, "entries": entries}

    def to_frame(self, backend: FrameBackend = "pandas") -> Any:
        """The entries as a data frame; what is not there is null, NaN in pandas.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            Whose data frame to make; that package must be installed.
        """
        numbers = ("factor", "cost", "value", "first_value")
        names = ("model", "statistic", "first")
        columns = {name: np.array([getattr(one, name) for one in self.entries], dtype=str) for name in names}
        for name in ("true_class", "predicted_class"):
            column = np.empty(len(self.entries), dtype=object)
            column[:] = [getattr(one, name) for one in self.entries]
            columns[name] = column
        columns |= {name: np.array([getattr(one, name) for one in self.entries], dtype=float) for name in numbers}
        return frame_with_gaps(columns, backend)

    def _rows(self) -> list[list[str]]:
        """The changes that were found as text, a header first."""
        found = [one for one in self.entries if one.factor is not None]
        names = _short([name for one in found for name in (one.model, one.first)])
        classes = _short([name for one in found for name in (one.true_class, one.predicted_class)])
        rows = [["by", "model", "its value", "first now", "its value", "true", "predicted", "counts"]]
        for one in found:
            assert one.factor is not None
            assert one.value is not None
            assert one.first_value is not None
            # At the change the two are close: with as many digits as keep them apart.
            value, first_value, _ = area_and_ends(one.value, one.first_value, one.first_value)
            numbers = [names[one.model], value, names[one.first], first_value]
            mistake = [classes[one.true_class], classes[one.predicted_class]]
            rows.append([STATISTICS[one.statistic], *numbers, *mistake, f"{times(one.factor)} times"])
        return rows

    def _repr_html_(self) -> str:
        rows = self._rows()
        return tables_html(self._lines(), [rows] if len(rows) > 1 else [])

    def _lines(self) -> tuple[str, ...]:
        return (*self.sentences, MEANING) if self.entries else self.sentences

    def __str__(self) -> str:
        lines = [line for one in self.sentences for line in wrapped(one)]
        rows = self._rows()
        if len(rows) > 1:
            lines += ["", *aligned(rows)]
        return "\n".join([*lines, "", *wrapped(MEANING)] if self.entries else lines)

    def __repr__(self) -> str:
        found = sum(one.factor is not None for one in self.entries)
        return f"TippingCosts({found} of {counted(len(self.entries), 'order')} can be changed by a single cost)"


def _short(names: Sequence[Any]) -> dict[Any, str]:
    return dict(zip(names, short_names(names, _NAME), strict=True))


def _plain_label(label: Any) -> Any:
    return None if label is None else plain(np.array([label], dtype=object))[0]
