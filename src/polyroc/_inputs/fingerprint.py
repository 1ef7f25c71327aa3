"""Whether samples are still what they were: scores and weights are not copied, and their owner may write over them."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from polyroc._inputs.tensors import Tensor, TensorPredictions, Tensors
from polyroc._lib.typing import FloatArray, IntArray
from polyroc._records import Frozen, Predictions, Source

# Numbers of a block: they are added at once, and so about as many are kept.
_AT_ONCE = 8_192
# Blocks that are read. All of a larger table would take 3 to 6 % of the time of the fastest evaluation.
_MOST_BLOCKS = 64


@dataclass(frozen=True, eq=False)
class Fingerprint(Frozen):
    """Sums of scores and weights.

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
        if isinstance(source, TensorPredictions):
            return TensorFingerprint.of_tensors(source.tensors)
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
                f"would belong to different numbers. Evaluate again, or pass a copy: `{argument}.copy()`, of a tensor "
                f"`{argument}.clone()`."
            )
            raise RuntimeError(msg)


@dataclass(frozen=True, eq=False)
class TensorFingerprint(Fingerprint):
    """The same of samples on a device, where the sums stay: nobody waits for them until they are compared."""

    scores: Tensor
    weight: Tensor | None

    @staticmethod
    def of_tensors(tensors: Tensors) -> "TensorFingerprint":
        weight = tensors.weight
        return TensorFingerprint(
            _tensor_sums(tensors.scores), None if weight is None else _tensor_sums(weight[:, None])
        )

    def __reduce__(self) -> Any:
        # As the arrays that samples have in a pickle are added up.
        return Fingerprint, (_on_host(self.scores), None if self.weight is None else _on_host(self.weight))


class _Blocks(NamedTuple):
    """Where blocks of rows lie: all rows, the last block perhaps shorter, or some of very many, with the last rows."""

    n_rows: int
    step: int
    n_whole: int
    """Blocks at this distance from each other."""
    last: slice
    """Rows of one more; it may have none."""


def _blocks(n_rows: int, n_columns: int) -> _Blocks:
    """Blocks of a table of this shape."""
    at_once = max(1, min(n_rows, _AT_ONCE // n_columns))
    if n_rows > _MOST_BLOCKS * at_once:
        step = (n_rows - at_once) // (_MOST_BLOCKS - 1)
        return _Blocks(at_once, step, _MOST_BLOCKS - 1, slice(n_rows - at_once, n_rows))
    return _Blocks(at_once, at_once, n_rows // at_once, slice(n_rows - n_rows % at_once, n_rows))


def _sums(table: FloatArray) -> IntArray:
    """Sums of the bits at each place of a block of rows, over all blocks or some of very many."""
    n_rows, step, n_whole, last = _blocks(*table.shape)
    bits = table.view(f"u{table.dtype.itemsize}")
    # In the order in which the table lies in memory, or each sum would be far from the last.
    sums = np.zeros_like(bits[:n_rows])
    for block in range(n_whole):
        sums += bits[block * step : block * step + n_rows]
    sums[: last.stop - last.start] += bits[last]
    return sums


def _tensor_sums(table: Tensor) -> Tensor:
    """The same on a device, by one or two passes over them."""
    import torch

    n_rows, step, n_whole, last = _blocks(*table.shape)
    bits = table.view(torch.int32 if table.dtype == torch.float32 else torch.int64)
    row, column = bits.stride()
    # All blocks in one view of the same memory.
    blocks = bits.as_strided((n_whole, n_rows, bits.shape[1]), (step * row, row, column))
    sums = blocks.sum(dim=0, dtype=bits.dtype)
    if last.stop > last.start:
        # By a method: `+=` on a part would copy that part once more.
        sums[: last.stop - last.start].add_(bits[last])
    return sums


def _on_host(sums: Tensor) -> IntArray:
    copied: IntArray = sums.cpu().numpy()
    return copied.view(f"u{copied.itemsize}")


def _is_same(then: Any, now: Any) -> bool:
    if then is None or now is None:
        return then is now
    return bool(np.array_equal(then, now)) if isinstance(then, np.ndarray) else bool(then.equal(now))
