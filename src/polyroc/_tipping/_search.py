"""The smallest change of a single cost that makes a model first by D: candidates by gradient, verified by fits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import exp, log

import numpy as np

from polyroc._lib._typing import FloatArray
from polyroc._tipping._rivals import Cells, Rival

# By how much a model must exceed another one to be ahead of it: engines agree to as much.
TIE = 1e-9
# Candidates in each direction by the gradient, by the limit of a cost beyond all bounds, and by the mean area.
BY_SLOPE, BY_LIMIT, BY_MEAN_AREA = 8, 4, 4
# Where a change is tried first, as shares of the largest one that is still of interest on the log scale. Where the
# response to a cost rises, the first of them decides; the others are for one that rises and falls.
_STEPS = (1.0, 0.7, 0.4)
# How closely the place is found on the log scale where the order changes; three digits are shown.
_CLOSE = 5e-4
_MOST_STEPS = 40


@dataclass(frozen=True)
class Tip:
    """A cost, whether it rises or falls (1 or -1), and by how much on the log scale."""

    cell: int
    sign: int
    size: float


@dataclass(frozen=True, eq=False)
class Fits:
    """D of every model wherever it was asked for, each fitted once."""

    rivals: Sequence[Rival]
    cells: Cells
    _known: dict[tuple[int, int, float], float] = field(default_factory=dict, repr=False)

    def auc(self, rival: int, cell: int, log_factor: float) -> float:
        """D of a model at a changed cost."""
        if log_factor == 0:
            return self.rivals[rival].auc
        asked = (rival, cell, log_factor)
        if asked not in self._known:
            weights = self.cells.weights_at(cell, exp(log_factor))
            self._known[asked] = self.rivals[rival].auc_at(weights)
        return self._known[asked]

    def __len__(self) -> int:
        return len(self._known)


@dataclass(frozen=True, eq=False)
class Race:
    """One model that is not first, and the others in the order in which they are to be overtaken."""

    target: int
    others: tuple[tuple[int, float], ...]
    """Each with what the target must exceed it by: models that are first now by more than a tie, others by no less."""

    def margin(self, value: Callable[[int], float]) -> float:
        """By how much the target is first; where it is not, by how much some other model is ahead of it."""
        own, least = value(self.target), float("inf")
        for other, needed in self.others:
            gap = own - value(other) - needed
            if not gap > 0:
                # Of a fit that did not converge nobody knows who is ahead; `min` would pass over a NaN.
                return gap if gap <= 0 else -float("inf")
            least = min(least, gap)
        return least


def races(values: Sequence[float]) -> list[Race]:
    """One for each model that another one is ahead of."""
    best = max(values)
    first = [place for place, value in enumerate(values) if value >= best - TIE]
    order = sorted(range(len(values)), key=lambda place: -values[place])
    return [
        Race(place, tuple((other, TIE if other in first else -TIE) for other in order if other != place))
        for place in range(len(values))
        if place not in first
    ]


def candidates(
    race: Race, slopes: Sequence[FloatArray], limits: Sequence[FloatArray], changes: FloatArray
) -> list[tuple[int, int]]:
    """Costs and directions, the most promising first.

    Those with the smallest changes by the mean area; those by which the target gains most on the first model, by the
    gradient of D; and those whose pair the target is best at, compared with the best other model.
    """
    first = race.others[0][0]
    slope = slopes[race.target] - slopes[first]
    limit = limits[race.target] - np.max([limits[other] for other, _ in race.others], axis=0)
    found = []
    by_change = np.argsort(changes, axis=None, kind="stable")[:BY_MEAN_AREA].tolist()
    found += [(place % len(slope), 1 - 2 * (place // len(slope))) for place in by_change]
    order = np.argsort(-slope, kind="stable")
    found += [(cell, 1) for cell in order[:BY_SLOPE].tolist() if slope[cell] > 0]
    found += [(cell, 1) for cell in np.argsort(-limit, kind="stable")[:BY_LIMIT].tolist()]
    found += [(cell, -1) for cell in order[::-1][:BY_SLOPE].tolist() if slope[cell] < 0]
    return list(dict.fromkeys(found))


def smallest_tip(
    race: Race, fits: Fits, tried: Sequence[tuple[int, int]], largest: float, done: Callable[[int], object]
) -> Tip | None:
    """The smallest change of the candidates; none is followed beyond what another one has reached already."""
    best, bound = None, log(largest)
    # Twice: a response that rises and falls may be seen only once the range is as short as the best candidate's.
    for place, (cell, sign) in enumerate([*tried, *tried]):
        if place >= len(tried) and best is None:
            break

        def margin(size: float, cell: int = cell, sign: int = sign) -> float:
            return race.margin(lambda rival: fits.auc(rival, cell, sign * size))

        size = _crossing(margin, bound)
        if size is not None and (best is None or size < bound):
            best, bound = Tip(cell, sign, size), size
        done(place < len(tried))
    return best


def _crossing(margin: Callable[[float], float], bound: float) -> float | None:
    """A number up to the bound where a margin becomes positive; None where it is at no step."""
    for share in _STEPS:
        above = margin(share * bound)
        if above > 0:
            return _refined(margin, share * bound, above)
    return None


def _refined(margin: Callable[[float], float], high: float, above: float) -> float:
    """Where the margin becomes positive between 0 and a number: the Illinois method, with halving where it is slow."""
    low, below = 0.0, margin(0.0)
    for step in range(_MOST_STEPS):
        if high - low <= _CLOSE:
            break
        # Every third step halves the range, whatever the two margins are like.
        share = 0.5 if step % 3 == 2 or not np.isfinite(below) else below / (below - above)
        middle = low + min(max(share, 0.05), 0.95) * (high - low)
        found = margin(middle)
        if found > 0:
            high, above, below = middle, found, below / 2
        else:
            low, below, above = middle, found, above / 2
    return high
