"""A batch of samples -> what each of them adds to some statistics, by tables of their bins."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from polyroc._engines._bins import GroupedBins, ScoreBins
from polyroc._engines._counted import InfluenceTables
from polyroc._engines._registry import passes_for
from polyroc._inputs.predictions import Batch
from polyroc._lib.typing import FloatArray, IntArray
from polyroc._records import Frozen, ScoreCounts

# Rows whose sums stay in the cache while all columns pass.
_BLOCK = 16_384


@dataclass(frozen=True, eq=False)
class InfluenceLookup(Frozen):
    """Tables of m statistics, ready for samples of the same source."""

    bins: ScoreBins
    slots: tuple[IntArray, ...]
    """Of each column the place of each bin in its table, -1 of those that were not counted."""
    tables: tuple[FloatArray, ...]
    mean: FloatArray
    """Shape (k, m)."""
    class_weights: FloatArray

    @classmethod
    def of(cls, source: ScoreCounts, found: InfluenceTables) -> "InfluenceLookup":
        bins: Any = source.bins
        fine = bins.fine if isinstance(bins, GroupedBins) else bins
        slots = tuple(bins.slots(column.bins, place) for place, column in enumerate(source.columns))
        return cls(fine, slots, found.columns, found.mean, source.class_weights)

    @property
    def n_statistics(self) -> int:
        return int(self.mean.shape[1])

    def influences(self, batch: Batch, n_seen: int) -> FloatArray | None:
        """What each sample adds, shape (n, m); None where a score has a bin that was never counted."""
        found = np.zeros((len(batch), self.n_statistics))
        passes = passes_for("_counting", (n_seen + len(batch)) * len(self.tables))
        for start in range(0, len(batch), _BLOCK):
            rows = slice(start, start + _BLOCK)
            for slots, table, column in zip(self.slots, self.tables, batch.columns, strict=True):
                if not passes.look_up(slots, table, self.bins, column[rows], batch.codes[rows], found[rows]):
                    return None
        found -= self.mean[batch.codes]
        found *= self.shares(batch)[:, None]
        return found

    def shares(self, batch: Batch) -> FloatArray:
        """Share of each sample in the weight of its class, shape (n,)."""
        weight = 1.0 if batch.weight is None else batch.weight
        share: FloatArray = weight / self.class_weights[batch.codes]
        return share
