"""Values that nobody should pass, or almost nobody."""

import datetime
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl


class _Unreadable:
    """A container that fails when it is read."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        msg = "on purpose"
        raise RuntimeError(msg)


class _Endless:
    """A sequence that claims to be larger than any memory."""

    def __len__(self) -> int:
        return 2**62

    def __getitem__(self, place: int) -> int:
        if place > 20:
            raise IndexError
        return place


def _nested() -> list[Any]:
    inside: list[Any] = []
    inside.append(inside)
    return inside


# Made anew for each case.
HOSTILE: tuple[Callable[[], Any], ...] = (
    *[
        lambda value=value: value
        for value in (
            *(None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**63, -(2**63), 10**400, -(10**400)),
            *(0.0, -0.0, 0.5, 0.95, 1.0, -1.0, 1.5, 1e-320, 1e308, float("nan"), float("inf"), float("-inf"), 1j),
            *("", "x", "auc", "own", "logit", "nan", "0.5", "\0", "\udcff", "é", "a" * 10_000, b"", b"own"),
            *((), (1,), {}, {"a": 1}, set(), {0, 1}, frozenset(), range(3), slice(None), ..., int, NotImplemented),
            *(Decimal("0.95"), Decimal("NaN"), Fraction(19, 20), datetime.date(2000, 1, 1), Path("x")),
            *(np.float32(0.9), np.float64("nan"), np.int64(3), np.bool_(True), np.str_("own"), np.datetime64("NaT")),
        )
    ],
    object,
    _Unreadable,
    _Endless,
    _nested,
    list,
    lambda: [[]],
    lambda: [None] * 12,
    lambda: ["a"] * 12,
    lambda: list("abcabcabcabc"),
    lambda: [[1, 2], [3]],
    lambda: iter([1, 2]),
    lambda: (one for one in "abc"),
    lambda: lambda: None,
    lambda: np.array(1.0),
    lambda: np.zeros(0),
    lambda: np.zeros((0, 3)),
    lambda: np.zeros((12, 0)),
    lambda: np.zeros((12, 3)),
    lambda: np.ones((3, 3)),
    lambda: np.full((3, 3), np.nan),
    lambda: -np.ones((3, 3)),
    lambda: np.ones((2, 2)),
    lambda: np.ones((3, 3, 3)),
    lambda: np.full(12, np.inf),
    lambda: np.full(12, 1e308),
    lambda: np.arange(12),
    lambda: np.arange(12) % 2,
    lambda: np.arange(11),
    lambda: np.zeros(12),
    lambda: np.array(["a", "b", "c"] * 4),
    lambda: np.array(["a", None, 3] * 4, dtype=object),
    lambda: np.ma.array(np.arange(12), mask=np.arange(12) > 5),
    lambda: np.ma.array(np.ones((3, 3)), mask=np.eye(3)),
    lambda: np.array([0.1, 1, 10]),
    lambda: np.array([0.0, 0.5, 1.0]),
    lambda: np.array([0.0, np.nan, 1.0]),
    lambda: np.zeros(12, dtype="datetime64[D]"),
    lambda: np.zeros(12, dtype=[("a", float)]),
    lambda: pd.Series(np.arange(12) % 3),
    lambda: pd.DataFrame(np.ones((3, 3)), index=list("abc"), columns=list("abc")),
    lambda: pd.DataFrame(np.ones((3, 3))),
    lambda: pd.DataFrame({"a": [1], "b": ["x"]}),
    lambda: pl.DataFrame({"a": [1.0], "b": [None]}),
    lambda: pl.LazyFrame({"a": [1.0]}),
    lambda: np.random.default_rng(0),
    lambda: np.random.RandomState(0),  # what people pass for a generator
    lambda: np.random.SeedSequence(0),
)
