"""ScoreEdges: where the scores of each column lie, whatever their class, so that few bins do for very many classes."""

from numbers import Integral
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from polyroc._engines._bins import GroupedBins, ScoreBins, Scores
from polyroc._engines._tally import Tally
from polyroc._inputs.checks import InputError, one_of, shown
from polyroc._inputs.predictions import Batch, plain_scores

_FINE_BITS = 7
_MOST_BINS = 4_096


class ScoreEdges:
    """Bins with about equally many samples each, from a pass over the scores alone.

    Counts of all pairs of classes need memory of the number of bins times the square of the number of classes. With
    hundreds of classes, a first pass that counts scores without their classes finds some hundred bins that suffice:
    pass it to ``RocAccumulator(labels, edges=...)``. The error falls with the square of their number.

    Parameters
    ----------
    n_bins : int
        Bins of each column, from 2 to 4,096.
    score_kind : {"probabilities", "free"}
        As in `RocAccumulator`.

    Attributes
    ----------
    n_bins : int
        Bins of each column, at most.
    n_samples : int
        Samples so far.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> edges = polyroc.ScoreEdges(512)
    >>> edges.update(example.scores["logistic"])
    >>> accumulator = polyroc.RocAccumulator(range(10), edges=edges)
    >>> accumulator.update(example.y_true, example.scores["logistic"])
    >>> exact = polyroc.evaluate(example.y_true, example.scores["logistic"])
    >>> abs(accumulator.compute().auc - exact.auc) < 0.002
    True
    """

    def __init__(self, n_bins: int = 640, *, score_kind: Scores = "probabilities") -> None:
        given: Any = n_bins
        if isinstance(given, bool) or not isinstance(given, Integral) or not 2 <= int(given) <= _MOST_BINS:
            raise InputError("n_bins", f"must be an integer from 2 to {_MOST_BINS:,}", shown(given))
        self.n_bins = int(given)
        self._bins = ScoreBins(one_of(score_kind, "score_kind", get_args(Scores)), _FINE_BITS)
        self._tally = Tally(np.zeros(1, dtype=np.int64), self._bins)

    @property
    def n_samples(self) -> int:
        return int(self._tally.class_counts.sum())

    def update(self, y_score: "ArrayLike") -> None:
        """Count the scores of a batch, in the order of the columns, which names do not change.

        Parameters
        ----------
        y_score : array-like or data frame of shape (n_samples, n_classes)
            As in `evaluate`.
        """
        scores = plain_scores(y_score)
        if len(scores) == 0:
            return
        columns = tuple(scores.T)
        if self._tally.counters and len(columns) != self._tally.n_columns:
            came = f"{len(columns)} after {self._tally.n_columns} in earlier batches"
            raise InputError("y_score", "must have the same number of columns in all batches", came)
        self._tally.add_scores(Batch(np.zeros(len(scores), dtype=np.int32), columns, None))

    def merge(self, other: "ScoreEdges") -> None:
        """Add what another pass over scores of the same kind has counted.

        Parameters
        ----------
        other : ScoreEdges
            Stays as it is.
        """
        if not isinstance(other, ScoreEdges):
            raise InputError("other", "must be a ScoreEdges", shown(type(other).__name__))
        if (self.n_bins, self._bins) != (other.n_bins, other._bins):
            raise InputError("other", "must have the same `n_bins` and `score_kind` as this one")
        self._tally.merge(other._tally)

    def _grouped(self) -> GroupedBins:
        """Groups of neighbouring bins, each with about as many samples."""
        if not self._tally.counters:
            raise InputError("edges", "must have seen scores: call its `update` first")
        groups = np.zeros((self._tally.n_columns, self._bins.n_bins), dtype=np.int32)
        for row, counter in zip(groups, self._tally.counters, strict=True):
            counts = np.zeros(self._bins.n_bins)
            counts[counter.occupied] = counter.at(counter.occupied)[:, 0]
            # A bin belongs where its middle sample does; groups without a sample are skipped.
            middle = np.cumsum(counts) - counts / 2
            wanted = np.minimum(middle * self.n_bins / counts.sum(), self.n_bins - 1).astype(np.int64)
            row[:] = np.unique(wanted, return_inverse=True)[1]
        return GroupedBins(self._bins, groups)
