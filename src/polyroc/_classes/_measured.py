"""From samples and their pairwise areas to what is known of the classes."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from polyroc._classes._areas import ClassAreas
from polyroc._classes._intervals import ClassIntervals, class_intervals
from polyroc._engines import Prepared
from polyroc._engines._named import Named, named_of
from polyroc._inputs._fingerprint import Fingerprint
from polyroc._lib._typing import FloatArray
from polyroc._records import PairIndex
from polyroc._uncertainty._bootstrap import warn_of_small_classes
from polyroc._uncertainty._resampling import Units, units_of


@dataclass(frozen=True, eq=False)
class MeasuredClasses:
    """What the table is made from."""

    prepared: Prepared
    fingerprint: Fingerprint
    pairs: PairIndex
    pair_areas: FloatArray
    """Mann-Whitney area of each pair."""
    why_unnamed: str
    """Why no class can be named; empty where they can."""

    @cached_property
    def named(self) -> Named | None:
        """What is named for what; None where no class can be named."""
        return None if self.why_unnamed else named_of(self.prepared.source)

    @cached_property
    def areas(self) -> ClassAreas:
        """How well each class is ranked."""
        return ClassAreas.of(self.prepared, self.pairs, self.pair_areas)

    def units(self, groups: Any) -> Units:
        """What is independent, with a warning where there is little of it."""
        units = units_of(self.prepared.samples, groups)
        warn_of_small_classes(self.prepared.samples, units)
        return units

    def intervals(self, confidence_level: float, units: Units) -> ClassIntervals:
        """How sure all of that is."""
        predictions = self.prepared.samples
        self.fingerprint.check(predictions)
        return class_intervals(predictions, self.named, self.areas, units, confidence_level)
