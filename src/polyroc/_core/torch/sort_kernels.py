"""Short runs sorted by a warp or some, as a kernel of Triton: each class in each column by itself, in registers.

PyTorch sorts the rows of a table, with an index of eight bytes for every number. Classes of different sizes would have
to be laid out as such a table first, and back, which takes twice as long as the sorting.
"""

from typing import Any

import torch
import triton
import triton.language as tl

from polyroc._core.torch.devices import MOST_COLUMNS, compiled_with, pieces

# Numbers of a run for each warp.
_PER_WARP = 256


@triton.jit
def _flipped(bits, FLIP: tl.constexpr):
    """The bits of floats as whole numbers of the same order, and such numbers as the bits of floats."""
    return tl.where(bits >= 0, bits, bits ^ FLIP)


@triton.jit
def _sort(
    scores_ptr,  # (c, n): some columns, gathered by class
    values_ptr,  # (c, n)
    order_ptr,  # (c, n), int32: places in the gathered column
    classes_ptr,  # the classes of this size
    offsets_ptr,
    n,
    BLOCK: tl.constexpr,
    IS_ORDERED: tl.constexpr,
    WHOLE: tl.constexpr,  # whole numbers as wide as the scores
    FLIP: tl.constexpr,  # all their bits but the sign
):
    c = tl.load(classes_ptr + tl.program_id(0))
    start, stop = tl.load(offsets_ptr + c), tl.load(offsets_ptr + c + 1)
    column = tl.program_id(1).to(tl.int64) * n
    place = tl.arange(0, BLOCK)
    inside = place < stop - start
    score = tl.load(scores_ptr + column + start + place, mask=inside, other=float("-inf"))
    # As whole numbers: Triton before 3.4 multiplies what it sorts by 0, and 0 times infinity is no number.
    if IS_ORDERED:
        # Above the places, which break ties: the first sample comes first. A zero is one, whatever its sign.
        ranks = _flipped(tl.where(score == 0.0, 0.0, score).to(WHOLE, bitcast=True), FLIP)
        key = (ranks.to(tl.int64) << 32) | (BLOCK - 1 - place).to(tl.int64)
        key = tl.sort(key, descending=True)
        found = (BLOCK - 1 - (key & 0xFFFFFFFF)).to(tl.int32)
        sorted_score = tl.load(scores_ptr + column + start + found, mask=inside, other=0.0)
        tl.store(values_ptr + column + start + place, sorted_score, mask=inside)
        tl.store(order_ptr + column + start + place, (start + found).to(tl.int32), mask=inside)
    else:
        ranks = tl.sort(_flipped(score.to(WHOLE, bitcast=True), FLIP), descending=True)
        sorted_score = _flipped(ranks, FLIP).to(score.dtype, bitcast=True)
        tl.store(values_ptr + column + start + place, sorted_score, mask=inside)


def can_sort(dtype: torch.dtype, *, ordered: bool) -> bool:
    """Whether a run of at most LONGEST_SHORT scores is sorted here: with places, only of scores of 32 bits."""
    return dtype == torch.float32 or not ordered


def sort_short(
    gathered: torch.Tensor,
    values: torch.Tensor,
    order: torch.Tensor | None,
    classes: torch.Tensor,
    offsets: torch.Tensor,
    length: int,
) -> None:
    """Sort classes of at most `length` samples in some columns, gathered by class, (c, n), in falling order."""
    block = max(32, triton.next_power_of_2(length))
    # Where no order is asked for, nothing is written there.
    places = gathered if order is None else order
    whole, width = (tl.int32, 32) if gathered.dtype == torch.float32 else (tl.int64, 64)
    for first, last in pieces(len(gathered), MOST_COLUMNS):
        grid: Any = (len(classes), last - first)
        _sort[grid](
            gathered[first:last],
            values[first:last],
            places[first:last],
            classes,
            offsets,
            gathered.shape[1],
            BLOCK=block,
            IS_ORDERED=order is not None,
            WHOLE=whole,
            FLIP=2 ** (width - 1) - 1,
            **compiled_with(max(1, block // _PER_WARP)),
        )
