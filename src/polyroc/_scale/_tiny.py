"""Probabilities that are too small for bins, as those of a softmax of large logits."""

import numpy as np

from polyroc._engines._bins import ScoreBins
from polyroc._inputs._batch import Batch
from polyroc._lib._warnings import warn

# Below it the highest bits of a float32 are all 0.
_TINY = 1e-39
# Rows that are looked at, and the share of their scores from which on D can change in its third digit.
_ROWS, _SOME = 1_000, 0.001


def has_tiny(batch: Batch, bins: ScoreBins) -> bool:
    """Whether some scores are not 0 but count as 0."""
    if bins.scores != "probabilities":
        return False
    step = max(1, len(batch) // _ROWS)
    some = [column[::step] for column in batch.columns]
    n_tiny = sum(int(np.count_nonzero((one > 0) & (one < _TINY))) for one in some)
    return n_tiny > _SOME * sum(map(len, some))


def warn_of_tiny() -> None:
    """Say what to do about it."""
    warn(
        "Scores between 0 and 1e-39 count as 0 in bins, so that D and M may be off by more than `binning_error` says. "
        'Count the logarithms of the scores, with `score_kind="free"`, or sort the scores of Parquet files, with '
        "`exact=True`.",
        UserWarning,
    )
