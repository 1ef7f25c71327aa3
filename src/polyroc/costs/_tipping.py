"""Comparison -> TippingCosts: for each model that is not first, what would make it first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, exp, floor, log, log10
from numbers import Real
from typing import Any, Protocol

import numpy as np

from polyroc._inputs.checks import InputError, shown
from polyroc._inputs.options import LARGEST_RATIO
from polyroc._lib.typing import FloatArray
from polyroc._lib.warnings import progress_bar
from polyroc.costs._tipping_costs import TippingCost, TippingCosts, TippingStatistic
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
    if evaluation._pair_index.stratum is not None:
        return "Only a sample of the pairs was compared (`max_pairs`), so no cost was sought."
    if evaluation._kept_rates is None:
        return f"There are too many pairs of classes ({len(evaluation._pair_index):,}), so no cost was sought."
    weights = Cells.of(evaluation).weights
    pooled = np.concatenate([weights.tpr, weights.fpr])
    costs = evaluation._options.costs
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
        return cls(rivals, cells, areas, first.labels.tolist(), first._options.costs, largest)

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
