"""Comparison -> TippingCosts: for each model that is not first, what would make it first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, exp, floor, log, log10
from numbers import Real
from typing import Any, Literal, Protocol, TypeAlias, get_args

import numpy as np

from polyroc._inputs.arrays import FrameBackend, frame_with_gaps, plain
from polyroc._inputs.checks import InputError, one_of, shown
from polyroc._inputs.options import LARGEST_RATIO
from polyroc._lib.numbers import area_and_ends, counted
from polyroc._lib.text import aligned, printable, short_names, wrapped
from polyroc._lib.typing import FloatArray
from polyroc._lib.warnings import progress_bar
from polyroc._records import Frozen
from polyroc.costs._tipping_search import (
    Cells,
    Fits,
    MeanAreas,
    Race,
    Rival,
    Tip,
    candidates,
    mean_areas_of,
    races,
    rivals_of,
    smallest_changes,
    smallest_tip,
)
from polyroc.evaluation._evaluation import Evaluation
from polyroc.evaluation._text import tables_html

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
    """Change of a cost that makes one model first by one statistic: one entry of `TippingCosts`.

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

        The package `backend` must be installed.
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


_MOST = 1_000_000
# Digits of a factor that are shown, and how often the last of them is raised until it is seen to be enough.
_DIGITS, _RAISED = 3, 5


def find_tipping(evaluations: Mapping[str, Evaluation], largest: float, *, progress: bool) -> TippingCosts:
    """By D and by the mean area, for each model that another one is ahead of."""
    if why := why_none(next(iter(evaluations.values())), largest):
        return TippingCosts((), largest, 0, why)
    found = _Finder.of(evaluations, largest)
    by_auc, n_fits = found.by_auc(progress=progress)
    return TippingCosts((*by_auc, *found.by_mean_auc()), largest, n_fits)


def as_largest(value: Any) -> float:
    """A factor above 1, up to a million."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 1 < value <= _MOST:
        raise InputError("largest", "must be a number above 1 and at most 1,000,000", shown(value))
    return float(value)


def why_none(evaluation: Evaluation, largest: float) -> str:
    """Why no cost can be sought; empty where it can."""
    if evaluation.is_binary:
        return "Two classes have one pair, so no cost changes D."
    if evaluation.fitted.pairs.stratum is not None:
        return "Only a sample of the pairs was compared (`max_pairs`), so no cost was sought."
    if evaluation.fitted.kept_rates is None:
        return f"There are too many pairs of classes ({len(evaluation.fitted.pairs):,}), so no cost was sought."
    weights = Cells.of(evaluation).weights
    pooled = np.concatenate([weights.tpr, weights.fpr])
    costs = evaluation.fitted.options.costs
    ratio = (
        pooled.max() / pooled.min() if costs is None else max(pooled.max() / pooled.min(), costs.max() / costs.min())
    )
    if ratio * largest > LARGEST_RATIO:
        return f"The weights of the pairs are already up to {ratio:.0e} times apart, so no cost was sought."
    return ""


class _Value(Protocol):
    """A statistic of a model where one cost is multiplied by a factor, given by its logarithm."""

    def __call__(self, rival: int, cell: int, log_factor: float) -> float: ...


@dataclass(frozen=True, eq=False)
class _Finder:
    rivals: Sequence[Rival]
    cells: Cells
    areas: Sequence[MeanAreas]
    labels: Sequence[Any]
    costs: Any
    largest: float

    @classmethod
    def of(cls, evaluations: Mapping[str, Evaluation], largest: float) -> "_Finder":
        first = next(iter(evaluations.values()))
        cells, rivals = Cells.of(first), rivals_of(evaluations)
        areas = [mean_areas_of(rival, cells) for rival in rivals]
        return cls(rivals, cells, areas, first.labels.tolist(), first.fitted.options.costs, largest)

    def by_auc(self, *, progress: bool) -> tuple[list[TippingCost], int]:
        """By fits, and how many of them it took."""
        fits, wanted = Fits(self.rivals, self.cells), races([rival.auc for rival in self.rivals])
        slopes = [rival.auc_slopes(self.cells) for rival in self.rivals] if wanted else []
        limits = [areas.limit for areas in self.areas]
        tried = [candidates(race, slopes, limits, self._changes(race)) for race in wanted]
        found = []
        with progress_bar(sum(map(len, tried)), "tipping costs", shown=progress) as done:
            for race, promising in zip(wanted, tried, strict=True):
                tip = smallest_tip(race, fits, promising, self.largest, done)
                found.append(self._entry("auc", race, tip, fits.auc))
        return found, len(fits)

    def by_mean_auc(self) -> list[TippingCost]:
        """Of all costs, without any fit."""
        found = []
        for race in races([rival.mean_auc for rival in self.rivals]):
            changes = self._changes(race)
            place = int(np.argmin(changes))
            size, sign = float(changes.flat[place]), 1 if place < len(self.cells) else -1
            tip = Tip(place % len(self.cells), sign, size) if size < np.inf else None
            found.append(self._entry("mean_auc", race, tip, self._mean_auc))
        return found

    def _changes(self, race: Race) -> FloatArray:
        others = [(self.areas[other], needed) for other, needed in race.others]
        return smallest_changes(self.areas[race.target], others, self.cells, self.largest)

    def _mean_auc(self, rival: int, cell: int, log_factor: float) -> float:
        return self.rivals[rival].mean_auc_at(self.cells.weights_at(cell, exp(log_factor)))

    def _entry(self, statistic: TippingStatistic, race: Race, tip: Tip | None, value: _Value) -> TippingCost:
        model, first = self.rivals[race.target].name, self.rivals[race.others[0][0]].name
        if tip is None:
            return TippingCost(model, statistic, first)
        factor = self._shown(race, tip, value)
        true, predicted = int(self.cells.true[tip.cell]), int(self.cells.predicted[tip.cell])
        now = 1.0 if self.costs is None else float(self.costs[true, predicted])
        of_model, of_first = (value(rival, tip.cell, log(factor)) for rival in (race.target, race.others[0][0]))
        classes = (self.labels[true], self.labels[predicted], (true, predicted))
        return TippingCost(model, statistic, first, *classes, factor, now * factor, of_model, of_first)

    def _shown(self, race: Race, tip: Tip, value: _Value) -> float:
        """The factor with as few digits as are shown, at which the model is still seen to be first."""
        exact = exp(tip.sign * tip.size)
        for raised in range(_RAISED):
            factor = _outward(exact, tip.sign, raised)
            at = partial(value, cell=tip.cell, log_factor=log(factor))
            if abs(log(factor)) <= log(self.largest) + 1e-12 and race.margin(at) > 0:
                return factor
        return exact


def _outward(factor: float, sign: int, raised: int) -> float:
    """The next number of three digits that is farther from 1, or one that is some more units farther.

    >>> _outward(340.2, 1, 0), _outward(0.04567, -1, 0), _outward(1.0, 1, 0), _outward(1.0, -1, 0), _outward(7.0, 1, 1)
    (341.0, 0.0456, 1.01, 0.999, 7.01)
    """
    # Of a number that falls below 1, the digits are those of the next decade.
    exponent = floor(log10(factor) + (1e-12 if sign > 0 else -1e-12)) - _DIGITS + 1
    units = factor / 10.0**exponent
    whole = ceil(units - 1e-6) if sign > 0 else floor(units + 1e-6)
    # A change of nothing at all is none.
    raised += whole == round(1 / 10.0**exponent)
    return float(f"{whole + sign * raised}e{exponent}")
