"""What the user asks for -> Options; every error about how the evaluation is to be done."""

import math
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, cast, get_args

import numpy as np

from polyroc._containers import read_table, shown
from polyroc._records import Frozen
from polyroc._typing import FloatArray, Model, Thresholds, Weighting

ENGINES = ("auto", "numpy", "numba")

# Beyond it the cheap cells no longer count in double precision.
_LARGEST_RATIO = 1e12


@dataclass(frozen=True, eq=False)
class Options(Frozen):
    """How an evaluation is done; whatever reads this record need not check anything again."""

    weighting: Weighting = "equal"
    costs: FloatArray | None = None
    """Cost of calling a class (row) another (column), shape (k, k), with ones on the diagonal."""
    tpr_weights: FloatArray | None = None
    """Weight of the true positive rates of each pair (positive, negative), shape (k, k), ones on the diagonal."""
    fpr_weights: FloatArray | None = None
    """Weight of the false positive rates of each pair (positive, negative), shape (k, k), ones on the diagonal."""
    thresholds: Thresholds = "own"
    n_thresholds: int = 99
    shrinkage: float = 1.0
    model: Model = "rank-one"
    engine: str = "auto"

    def to_dict(self) -> dict[str, Any]:
        """The options as plain data that `json` can write."""
        record = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in record.items()}


def as_options(
    n_classes: int,
    *,
    weighting: Any = "equal",
    costs: Any = None,
    tpr_weights: Any = None,
    fpr_weights: Any = None,
    thresholds: Any = "own",
    n_thresholds: Any = 99,
    shrinkage: Any = 1.0,
    model: Any = "rank-one",
    engine: Any = "auto",
) -> Options:
    """The options of `evaluate` for k classes, checked.

    >>> as_options(2, costs=[[0, 4], [1, 0]]).costs.tolist()
    [[1.0, 4.0], [1.0, 1.0]]
    """
    costs = _as_weights(costs, "costs", n_classes)
    tpr_weights = _as_weights(tpr_weights, "tpr_weights", n_classes)
    fpr_weights = _as_weights(fpr_weights, "fpr_weights", n_classes)
    _check_ratio(costs, name="`costs`")
    if tpr_weights is not None or fpr_weights is not None:
        # One set of cell weights, in which a matrix not given counts as 1 everywhere.
        _check_ratio(tpr_weights, fpr_weights, name="`tpr_weights` and `fpr_weights` together")
    return Options(
        weighting=cast(Weighting, _one_of(weighting, "weighting", get_args(Weighting))),
        costs=costs,
        tpr_weights=tpr_weights,
        fpr_weights=fpr_weights,
        thresholds=cast(Thresholds, _one_of(thresholds, "thresholds", get_args(Thresholds))),
        n_thresholds=_as_n_thresholds(n_thresholds),
        shrinkage=_as_shrinkage(shrinkage),
        model=cast(Model, _one_of(model, "model", get_args(Model))),
        engine=_one_of(engine, "engine", ENGINES),
    )


def _one_of(value: Any, name: str, allowed: tuple[str, ...]) -> str:
    # Asked for text first: `in` would compare an array element by element.
    if isinstance(value, str) and value in allowed:
        return value
    msg = f"`{name}` must be one of {', '.join(map(repr, allowed))}, got {shown(value)}."
    raise ValueError(msg)


def _as_n_thresholds(value: Any) -> int:
    if not isinstance(value, Integral) or value < 2:  # booleans are below 2
        msg = f"`n_thresholds` must be an integer of at least 2, got {shown(value)}."
        raise ValueError(msg)
    return int(value)


def _as_shrinkage(value: Any) -> float:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    try:
        number = float(value) if is_number else math.nan
    except OverflowError:  # an integer beyond all floats
        number = math.inf
    if not 0 <= number < math.inf:
        msg = f"`shrinkage` must be a finite number of at least 0, got {shown(value)}."
        raise ValueError(msg)
    return number


def _as_weights(value: Any, name: str, n_classes: int) -> FloatArray | None:
    if value is None:
        return None
    matrix = np.array(read_table(value, name).values, dtype=np.float64)
    if matrix.shape != (n_classes, n_classes):
        msg = f"`{name}` must have shape ({n_classes}, {n_classes}), a row and a column per class, got {matrix.shape}."
        raise ValueError(msg)
    np.fill_diagonal(matrix, 1.0)
    wrong = np.argwhere(~(np.isfinite(matrix) & (matrix > 0)))
    if len(wrong) > 0:
        row, column = wrong[0].tolist()
        msg = (
            f"`{name}` must be finite and positive off the diagonal, "
            f"got {matrix[row, column]} in row {row}, column {column}."
        )
        raise ValueError(msg)
    return matrix


def _check_ratio(*matrices: FloatArray | None, name: str) -> None:
    entries = [np.ones(1) if matrix is None else matrix[~np.eye(len(matrix), dtype=bool)] for matrix in matrices]
    pooled = np.concatenate(entries)
    with np.errstate(over="ignore"):
        too_wide = pooled.max() > _LARGEST_RATIO * pooled.min()
    if too_wide:
        came = f"entries from {pooled.min():g} to {pooled.max():g}"
        msg = f"{name} must lie within a ratio of {_LARGEST_RATIO:g}, got {came}."
        raise ValueError(msg)
