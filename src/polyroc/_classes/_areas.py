"""How well each class is ranked: against the rest, in the mean over its pairs, and against its hardest partner."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from polyroc._engines import Prepared
from polyroc._lib._typing import FloatArray, IntArray
from polyroc._records import Frozen, PairIndex, Source
from polyroc.baselines._one_vs_rest import mixed_areas


@dataclass(frozen=True, eq=False)
class ClassAreas(Frozen):
    """Areas of each class, shape (k,) each; NaN where a class has no samples."""

    against_rest: FloatArray
    """Probability that a sample of the class scores higher in its column than a sample of any other class."""
    of_pairs: FloatArray | None
    """Mean of both areas of all its pairs: the mean of these over the classes is M. None of a sample of the pairs."""
    hardest: IntArray | None
    """The class with which the mean of both areas is lowest, the first of several; -1 where there is none."""
    of_hardest: FloatArray | None
    """That mean of both areas."""

    @classmethod
    def of(cls, prepared: Prepared, pairs: PairIndex, areas: FloatArray) -> "ClassAreas":
        source = prepared.source
        if pairs.stratum is not None:
            return cls(prepared.areas_against_rest(), None, None, None)
        k, present = len(source.labels), np.flatnonzero(source.class_counts)
        both = np.full((len(present), len(present)), np.inf)
        place = np.zeros(k, dtype=np.intp)
        place[present] = np.arange(len(present))
        both[place[pairs.positive], place[pairs.negative]] = areas
        if source.is_binary:  # one pair, which is both
            both[place[pairs.negative], place[pairs.positive]] = areas
        both = (both + both.T) / 2
        hardest = both.argmin(axis=1)
        lowest = both.min(axis=1)
        np.fill_diagonal(both, 0.0)
        return cls(
            against_rest=_against_rest(source, pairs, areas),
            of_pairs=_spread_out(both.sum(axis=1) / (len(present) - 1), present, k),
            hardest=_spread_out(present[hardest], present, k, -1),
            of_hardest=_spread_out(lowest, present, k),
        )


def _against_rest(source: Source, pairs: PairIndex, areas: FloatArray) -> FloatArray:
    if source.is_binary:  # each is the rest of the other
        return np.full(len(source.labels), float(areas[0]))
    weight = source.class_weights / source.class_weights.max()
    # Means of areas that are all 1 may be rounded up.
    found: FloatArray = np.minimum(mixed_areas(pairs, areas, weight), 1.0)
    return found


def _spread_out(values: Any, present: IntArray, k: int, missing: float = np.nan) -> Any:
    """From the classes that have samples to all of them."""
    found = np.full(k, missing, dtype=values.dtype)
    found[present] = values
    return found
