"""The table of pairs: one entry per ordered pair, kept by columns."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from operator import index
from typing import Any, NamedTuple

import numpy as np

from polyroc._inputs.arrays import FrameBackend, frame_of, plain
from polyroc._lib.typing import FloatArray, IntArray, LabelArray
from polyroc._lib.warnings import underflow_is_zero
from polyroc._records import Frozen, read_only


class Pair(NamedTuple):
    """One ordered pair of classes: one entry of `Pairs`.

    >>> import polyroc
    >>> pair = polyroc.evaluate([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).worst_pair
    >>> pair.positive, pair.negative, pair.auc
    (1, 0, 0.75)
    """

    positive: Any
    negative: Any
    n_positive: int
    n_negative: int
    effect: float
    auc: float


@dataclass(frozen=True, eq=False)
class Pairs(Frozen):
    """What is known of every ordered pair of classes, one entry per pair in each column.

    ``pairs[i]`` is one `Pair`, and a loop over the table gives them all.

    Attributes
    ----------
    positive, negative : ndarray of shape (n_pairs,)
        The two classes; the score is the positive class's column.
    n_positive, n_negative : ndarray of shape (n_pairs,)
        Their numbers of samples.
    auc : ndarray of shape (n_pairs,)
        Mann-Whitney area A(i, j), ties counted one half.
    effect : ndarray of shape (n_pairs,)
        How the pair compares with the shared curve: above 1 it is easier, below 1 harder.
    hull_area : ndarray of shape (n_pairs,)
        Area under the convex hull of the pair's ROC curve. Computed on first access, and not in `to_frame`.

    Examples
    --------
    >>> import polyroc
    >>> pairs = polyroc.evaluate([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).pairs
    >>> [(pair.positive, pair.negative, pair.auc) for pair in pairs]
    [(1, 0, 0.75)]
    """

    positive: LabelArray
    negative: LabelArray
    n_positive: IntArray
    n_negative: IntArray
    effect: FloatArray
    auc: FloatArray
    _hull_areas: Callable[[], FloatArray] | None = field(default=None, repr=False)
    """Passes over the samples for `hull_area`; None in a table that was made without samples."""

    @cached_property
    @underflow_is_zero
    def hull_area(self) -> FloatArray:
        """Area under the upper convex hull of each pair's ROC curve, shape (n_pairs,), ranked as for `auc`.

        What the pair could reach if its scores were recalibrated by merging neighbours: the corners of the hull are
        the thresholds that are best at some costs (Provost and Fawcett 2001; Flach and Provost's repaired curves). It
        is at least `auc`, and equals it where the curve is concave. It is found on these samples, so it is optimistic
        for new ones, most of all for small classes.

        Examples
        --------
        The middle two scores are in the wrong order. Merged, they are no longer wrong.

        >>> import polyroc
        >>> pairs = polyroc.evaluate([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).pairs
        >>> pairs.auc.tolist(), pairs.hull_area.tolist()
        ([0.75], [0.875])
        """
        if self._hull_areas is None:
            msg = "These pairs were made without samples, so their hulls are unknown: use `evaluate(...).pairs`."
            raise AttributeError(msg)
        # Sums in another order: where the curve is concave, rounding may leave less.
        return read_only(np.maximum(self._hull_areas(), self.auc))

    def __len__(self) -> int:
        return len(self.positive)

    def __getitem__(self, position: int) -> Pair:
        # An array has its own error for a position that is not there; slices and masks are for the columns.
        place = range(len(self))[index(position)]
        return Pair(
            positive=self.positive[place : place + 1].tolist()[0],
            negative=self.negative[place : place + 1].tolist()[0],
            n_positive=int(self.n_positive[place]),
            n_negative=int(self.n_negative[place]),
            effect=float(self.effect[place]),
            auc=float(self.auc[place]),
        )

    def __iter__(self) -> Iterator[Pair]:
        return (self[place] for place in range(len(self)))

    @property
    def worst(self) -> Pair:
        """The pair with the smallest area; the first of several."""
        return self[int(np.argmin(self.auc))]

    def __repr__(self) -> str:
        return f"Pairs({len(self)} ordered pairs: positive, negative, n_positive, n_negative, auc, effect)"

    def to_dict(self) -> dict[str, list[Any]]:
        """The table as plain lists by column name."""
        return {name: plain(column) for name, column in self._columns().items()}

    def to_frame(self, backend: FrameBackend = "pandas") -> Any:
        """The table as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            Whose data frame to make; that package must be installed.

        Examples
        --------
        >>> import polyroc
        >>> example = polyroc.load_example()
        >>> evaluation = polyroc.evaluate(example.y_true, example.scores["tree"])
        >>> evaluation.pairs.to_frame("pandas").shape
        (90, 6)
        """
        return frame_of(self._columns(), backend)

    def _columns(self) -> dict[str, np.ndarray[Any, Any]]:
        names = ("positive", "negative", "n_positive", "n_negative", "auc", "effect")
        return {name: getattr(self, name) for name in names}
