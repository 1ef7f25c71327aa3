"""Sums over samples of what they add to several statistics: what a second pass keeps, and can merge."""

from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np

from polyroc._inputs.checks import InputError
from polyroc._lib.typing import FloatArray, IntArray, LabelArray
from polyroc._uncertainty.units import AnyUnits, StreamedUnits, Units, differences, products
from polyroc.streams._state import check_counts, read_array

_SUMS = ("sizes", "shares", "squares", "fourths", "one_sided")
_KEPT = (*_SUMS, "largest")


class SampleSums:
    """Of independent samples: by class, products of two and of four; and both sides of the differences of two."""

    def __init__(self, n_classes: int, m: int) -> None:
        p, q = m * (m - 1) // 2, m * (m + 1) // 2
        self.sizes, self.shares = np.zeros(n_classes, dtype=np.int64), np.zeros(n_classes)
        self.squares, self.fourths = np.zeros((n_classes, m, m)), np.zeros((n_classes, q, q))
        self.one_sided, self.largest = np.zeros((p, 2, 2)), np.zeros((p, 2))

    def add(self, codes: IntArray, x: FloatArray) -> None:
        """Add what some samples add, shape (n, m)."""
        # Short integers are sorted by counting them.
        order = np.argsort(codes.astype(np.uint16) if len(self.sizes) < 2**16 else codes, kind="stable")
        counts = np.bincount(codes, minlength=len(self.sizes))
        ends = np.cumsum(counts)
        x = x[order]
        for c in np.flatnonzero(counts):
            own = x[ends[c] - counts[c] : ends[c]]
            two = products(own)
            self.squares[c] += own.T @ own
            self.fourths[c] += two.T @ two
        apart = differences(x)
        for side, part in enumerate((np.maximum(apart, 0.0), np.maximum(-apart, 0.0))):
            self.one_sided[:, side] += np.stack([part.sum(axis=0), np.sum(part**2, axis=0)], axis=1)
            self.largest[:, side] = np.maximum(self.largest[:, side], part.max(axis=0, initial=0.0))
        self.sizes += counts

    def merge(self, other: "SampleSums") -> None:
        for name in _SUMS:
            getattr(self, name)[...] += getattr(other, name)
        np.maximum(self.largest, other.largest, out=self.largest)

    @property
    def units(self) -> AnyUnits:
        return StreamedUnits(*(getattr(self, name).copy() for name in _KEPT if name != "shares"))

    def influences(self, statistic: int) -> FloatArray:
        """A combination that is the statistic itself, shape (m,)."""
        chosen = np.zeros(self.squares.shape[1])
        chosen[statistic] = 1.0
        return chosen

    def state(self) -> dict[str, Any]:
        return {name: getattr(self, name).copy() for name in _KEPT}

    def load(self, state: Mapping[str, Any]) -> None:
        found = {
            name: read_array(state, name, getattr(self, name).shape, "iu" if name == "sizes" else "f") for name in _KEPT
        }
        for name in ("sizes", "shares"):
            check_counts(name, found[name])
        vars(self).update(found)


class GroupSums:
    """Of groups of samples: what each group adds, and which classes it has."""

    def __init__(self, n_classes: int, m: int) -> None:
        self.sizes, self.shares = np.zeros(n_classes, dtype=np.int64), np.zeros(n_classes)
        self._m = m
        self._places: dict[Any, int] = {}
        self._total = np.zeros((0, m))
        self._has = np.zeros((0, n_classes), dtype=bool)

    def add(self, codes: IntArray, x: FloatArray, named: LabelArray) -> None:
        """Add what some samples add, shape (n, m), to their groups."""
        distinct, unit = np.unique(named, return_inverse=True)
        places = self._make(distinct.tolist())[unit]
        np.add.at(self._total, places, x)
        self._has[places, codes] = True
        self.sizes += np.bincount(codes, minlength=len(self.sizes))

    def _make(self, names: list[Any]) -> IntArray:
        kinds = {type(name) for name in (*names[:1], *islice(self._places, 1))}
        if len(kinds) > 1:
            came = " and ".join(sorted(kind.__name__ for kind in kinds))
            raise InputError("groups", "must be of one type in all batches: integers, strings or booleans", came)
        for name in names:
            self._places.setdefault(name, len(self._places))
        lacking = len(self._places) - len(self._total)
        if lacking > 0:
            self._total = np.concatenate([self._total, np.zeros((lacking, self._m))])
            self._has = np.concatenate([self._has, np.zeros((lacking, self._has.shape[1]), dtype=bool)])
        return np.array([self._places[name] for name in names], dtype=np.intp)

    def merge(self, other: "GroupSums") -> None:
        places = self._make(list(other._places))
        self._total[places] += other._total
        self._has[places] |= other._has
        self.sizes += other.sizes
        self.shares += other.shares

    @property
    def units(self) -> AnyUnits:
        if len(self._places) < 2:
            hint = ": with a single group nothing can be drawn"
            raise InputError("groups", "must name at least two groups", f"{len(self._places)}", hint=hint)
        # Where each group holds a single class, groups are compared within the classes, as samples are.
        single = bool(np.all(self._has.sum(axis=1) == 1))
        stratum = self._has.argmax(axis=1) if single else np.zeros(len(self._has), dtype=np.intp)
        return Units(np.arange(len(stratum)), stratum, are_groups=True, by_class=self._has.sum(axis=0))

    def influences(self, statistic: int) -> FloatArray:
        """What each group adds, shape (G,)."""
        return self._total[:, statistic].copy()
