"""Whether samples are still what they were: scores and weights are not copied, and their owner may write over them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from polyroc._records import Frozen, Predictions
from polyroc._typing import FloatArray, IntArray

ResultT = TypeVar("ResultT")

# Numbers that are added at once, and so about as many as are kept.
_AT_ONCE = 32_768


@dataclass(frozen=True, eq=False)
class Fingerprint(Frozen):
    """What scores and weights add up to, found in one pass over them.

    Each number counts as the whole number that its bits are, and rows a fixed distance apart are added. So sums are
    exact in any order, and one number, one row or all of them cannot be written over without another sum, but by a
    coincidence of all their bits. Rows that change places show, too, unless that distance lies between them.
    """

    scores: IntArray
    weight: IntArray | None

    @staticmethod
    def of(predictions: Predictions) -> "Fingerprint":
        """Read the samples once."""
        weight = predictions.sample_weight
        return Fingerprint(_sums(predictions.scores), None if weight is None else _sums(weight[:, None]))

    def guarded(self, predictions: Predictions, function: Callable[[], ResultT]) -> Callable[[], ResultT]:
        """The same function of these samples, called only if they are what they were."""
        return partial(_call, self, predictions, function)

    def check(self, predictions: Predictions) -> None:
        """Refuse samples that were changed since."""
        now = Fingerprint.of(predictions)
        changed = [name for name in ("scores", "weight") if not _is_same(getattr(self, name), getattr(now, name))]
        if changed:
            argument = "y_score" if "scores" in changed else "sample_weight"
            msg = (
                f"`{argument}` was changed after it was evaluated. What was computed before and what is asked for now "
                f"would belong to different numbers. Evaluate again, or pass a copy: `{argument}.copy()`."
            )
            raise RuntimeError(msg)


def _call(fingerprint: Fingerprint, predictions: Predictions, function: Callable[[], ResultT]) -> ResultT:
    fingerprint.check(predictions)
    return function()


def _sums(table: FloatArray) -> IntArray:
    """Sums of the bits at each place of a block of rows, over all such blocks."""
    n_rows = max(1, min(len(table), _AT_ONCE // table.shape[1]))
    bits = table.view(f"u{table.dtype.itemsize}")
    # In the order in which the table lies in memory, or each sum would be far from the last.
    sums = np.zeros_like(bits[:n_rows])
    for start in range(0, len(bits), n_rows):
        block = bits[start : start + n_rows]
        sums[: len(block)] += block
    return sums


def _is_same(then: IntArray | None, now: IntArray | None) -> bool:
    return (then is None and now is None) or bool(np.array_equal(np.asarray(then), np.asarray(now)))
