"""Whether samples are still what they were: scores and weights are not copied, and their owner may write over them."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from polyroc._lib._typing import FloatArray, IntArray
from polyroc._records import Frozen, Predictions, Source

# Numbers of a block: they are added at once, and so about as many are kept.
_AT_ONCE = 8_192
# Blocks that are read. All of a larger table would take 3 to 6 % of the time of the fastest evaluation.
_MOST_BLOCKS = 64


@dataclass(frozen=True, eq=False)
class Fingerprint(Frozen):
    """What scores and weights add up to.

    Each number counts as the whole number that its bits are, and blocks of rows are added. So sums are exact in any
    order, and one number, one row or all of them cannot be written over without another sum, but by a coincidence of
    all their bits. Rows that change places show, too, unless they have the same place in their blocks. Of more than
    half a million numbers, blocks at equal distances are read: then a stretch of a sixtieth of the rows shows.
    """

    scores: IntArray
    weight: IntArray | None

    @staticmethod
    def of(source: Source) -> "Fingerprint":
        """Read the samples once, or some of very many; counts of samples are copies, which nobody else can write."""
        if not isinstance(source, Predictions):
            return Fingerprint(np.empty(0, dtype=np.intp), None)
        weight = source.sample_weight
        return Fingerprint(_sums(source.scores), None if weight is None else _sums(weight[:, None]))

    def check(self, source: Source) -> None:
        """Refuse samples that were changed since."""
        now = Fingerprint.of(source)
        changed = [name for name in ("scores", "weight") if not _is_same(getattr(self, name), getattr(now, name))]
        if changed:
            argument = "y_score" if "scores" in changed else "sample_weight"
            msg = (
                f"`{argument}` was changed after it was evaluated. What was computed before and what is asked for now "
                f"would belong to different numbers. Evaluate again, or pass a copy: `{argument}.copy()`."
            )
            raise RuntimeError(msg)


def _sums(table: FloatArray) -> IntArray:
    """Sums of the bits at each place of a block of rows, over all blocks or some of very many."""
    n_rows = max(1, min(len(table), _AT_ONCE // table.shape[1]))
    starts: Iterable[int] = range(0, len(table), n_rows)
    if len(table) > _MOST_BLOCKS * n_rows:
        starts = np.linspace(0, len(table) - n_rows, _MOST_BLOCKS).astype(int).tolist()
    bits = table.view(f"u{table.dtype.itemsize}")
    # In the order in which the table lies in memory, or each sum would be far from the last.
    sums = np.zeros_like(bits[:n_rows])
    for start in starts:
        block = bits[start : start + n_rows]
        sums[: len(block)] += block
    return sums


def _is_same(then: IntArray | None, now: IntArray | None) -> bool:
    return (then is None and now is None) or bool(np.array_equal(np.asarray(then), np.asarray(now)))
