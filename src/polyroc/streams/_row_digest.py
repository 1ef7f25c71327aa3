"""Digests of the rows of each partition: whether a second pass had the rows of the first one.

A second pass adds up numbers of single rows. The order of rows does not matter, nor does the partition of a row: Spark
may change both from run to run. What must stay together is the class, the scores, the weight and the group of a row. So
a digest is a sum over rows.
"""

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from polyroc._inputs.predictions import Batch
from polyroc._lib.typing import LabelArray
from polyroc.streams._state import read_array

# Rows that stay in the cache while all columns are added.
_BLOCK = 16_384
_MODULUS = 2**64


class RowDigests:
    """Sum over rows of a hash of 64 bits, by partition, modulo 2**64."""

    def __init__(self) -> None:
        self.sums: dict[int, int] = {}

    def add(self, part: int, batches: Mapping[str, Batch], groups: LabelArray | None) -> None:
        """Add some rows of a partition, with the scores of each model; `groups` of the rows that are in the batches."""
        first = next(iter(batches.values()))
        columns: list[Any] = [column for batch in batches.values() for column in batch.columns]
        if first.weight is not None:
            columns.append(first.weight)
        names = None if groups is None else _numbers(groups)
        total = 0
        for start in range(0, len(first), _BLOCK):
            rows = slice(start, start + _BLOCK)
            entries = [first.codes[rows], *(_bits(column[rows]) for column in columns)]
            if names is not None:
                entries.append(names[rows])
            total += int(_hashes(entries).sum(dtype=np.uint64))
        self._add(part, total)

    def _add(self, part: int, total: int) -> None:
        self.sums[part] = (self.sums.get(part, 0) + total) % _MODULUS

    def merge(self, other: "RowDigests") -> None:
        """Add the rows of others."""
        for part, total in other.sums.items():
            self._add(part, total)

    def other_part(self, second: "RowDigests") -> int | None:
        """The first partition that has other rows in a second pass; None if all rows came again, wherever."""
        if (sum(self.sums.values()) - sum(second.sums.values())) % _MODULUS == 0:
            return None
        parts = sorted(self.sums.keys() | second.sums.keys())
        return next(part for part in parts if self.sums.get(part, 0) != second.sums.get(part, 0))

    def state(self) -> dict[str, Any]:
        parts = sorted(self.sums)
        return {
            "digest_parts": np.array(parts, dtype=np.int64),
            "digests": np.array([self.sums[part] for part in parts], dtype=np.uint64),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "RowDigests":
        """What `state` gave."""
        parts = read_array(state, "digest_parts", (None,), "iu")
        sums = read_array(state, "digests", (len(parts),), "iu")
        found = cls()
        for part, total in zip(parts.tolist(), sums.tolist(), strict=True):
            found._add(part, total)
        return found


def _hashes(entries: list[Any]) -> Any:
    """A number of 64 bits for each row, from whole numbers in each column."""
    mixed = np.zeros(len(entries[0]), dtype=np.uint64)
    for entry, multiplier in zip(entries, _multipliers(len(entries)), strict=True):
        mixed += entry.astype(np.uint64) * multiplier
    # Without this, the sum over rows would only see the sum of each column.
    for multiplier in _multipliers(2):
        mixed ^= mixed >> np.uint64(32)
        mixed *= multiplier
    return mixed ^ (mixed >> np.uint64(32))


@lru_cache(maxsize=16)
def _multipliers(n: int) -> Any:
    """Odd numbers that look random, the same on every machine."""
    return np.random.SeedSequence(0).generate_state(n, np.uint64) | np.uint64(1)


def _bits(column: Any) -> Any:
    """Numbers in single precision, in which scores are binned, as integers."""
    with np.errstate(over="ignore", under="ignore"):
        return column.astype(np.float32).view(np.uint32)


def _numbers(groups: LabelArray) -> Any:
    """A number for each group, which is the same in every process."""
    if groups.dtype.kind in "biu":
        return groups
    names, places = np.unique(groups, return_inverse=True)
    digests = [hashlib.blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest() for name in names.tolist()]
    return np.frombuffer(b"".join(digests), dtype="<u8")[places]
