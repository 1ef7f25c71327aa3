"""The table of pairs: one entry per ordered pair, kept by columns."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np

from polyroc._records import Frozen, read_only
from polyroc._typing import FloatArray, IntArray, LabelArray


@dataclass(frozen=True, eq=False)
class Pairs(Frozen):
    """What is known of every ordered pair of classes, one entry per pair in each column.

    Attributes
    ----------
    positive, negative : ndarray of shape (n_pairs,)
        The two classes; the score is the positive class's column.
    n_positive, n_negative : ndarray of shape (n_pairs,)
        Their numbers of samples.
    auc : ndarray of shape (n_pairs,)
        Mann-Whitney area A(i, j), ties counted one half. Computed on first access.
    effect : ndarray of shape (n_pairs,)
        How much sharper (above 1) or duller (below 1) the pair is than the curve all pairs share.
    """

    positive: LabelArray
    negative: LabelArray
    n_positive: IntArray
    n_negative: IntArray
    effect: FloatArray
    measure: Callable[[], FloatArray] = field(repr=False)

    def __len__(self) -> int:
        return len(self.positive)

    def __repr__(self) -> str:
        return f"Pairs({len(self)} ordered pairs: positive, negative, n_positive, n_negative, auc, effect)"

    @cached_property
    def auc(self) -> FloatArray:
        """Mann-Whitney area of each pair, ties counted one half."""
        return read_only(self.measure())

    def to_dict(self) -> dict[str, list[Any]]:
        """The table as plain lists by column name."""
        return {name: plain(column) for name, column in self._columns().items()}

    def to_frame(self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
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
        allowed = ("pandas", "polars", "pyarrow")
        if str(backend) not in allowed:  # as text, because an array would be compared element by element
            msg = f"`backend` must be one of {', '.join(map(repr, allowed))}, got {backend!r}."
            raise ValueError(msg)
        try:
            import_module(backend)
        except ModuleNotFoundError as error:
            msg = f"`to_frame({backend!r})` needs {backend}, which is not installed: `pip install {backend}`."
            raise ModuleNotFoundError(msg) from error
        columns = {name: x.tolist() if x.dtype == object else x for name, x in self._columns().items()}
        return nw.from_dict(columns, backend=backend).to_native()

    def _columns(self) -> dict[str, np.ndarray[Any, Any]]:
        names = ("positive", "negative", "n_positive", "n_negative", "auc", "effect")
        return {name: getattr(self, name) for name in names}


def plain(array: np.ndarray[Any, Any]) -> list[Any]:
    """An array as a list that `json` can write: labels of other types become text."""
    return [x if isinstance(x, bool | int | float | str) else str(x) for x in array.tolist()]
