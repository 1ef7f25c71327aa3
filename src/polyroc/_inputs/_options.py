"""What the user asks for -> Options; every error about how the evaluation is to be done."""

import math
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, get_args

import numpy as np

from polyroc._inputs._arrays import listed, read_table, row_names, shown
from polyroc._inputs._checks import as_n_jobs, drawn_seed, one_of
from polyroc._inputs._class_names import Affixes, numbering_of
from polyroc._lib._typing import FloatArray, LabelArray, Model, Thresholds, Weighting
from polyroc._records import Frozen

# The engines by name, and the extra that brings what each is made of.
ENGINES = {"auto": None, "numpy": None, "numba": "fast"}

# Beyond it the cheap cells no longer count in double precision.
LARGEST_RATIO = 1e12
# More would ask for a finer grid than any sample can fill, and for more memory than there is.
_MOST_THRESHOLDS = 1_000_000


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
    """Number of uniform call rates; 12 more stand around 1/2."""
    shrinkage: float = 1.0
    model: Model = "rank-one"
    engine: str = "auto"
    max_pairs: int | None = None
    """At most this many ordered pairs are compared; None for all."""
    rng: int = 0
    """Seed of the sample of pairs; never a live generator, which would give other pairs whenever it is asked."""
    n_jobs: int | None = None
    """Number of threads; None for as many as the process may use."""

    def to_dict(self) -> dict[str, Any]:
        """The options as plain data that `json` can write."""
        record = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in record.items()}


def as_options(
    labels: LabelArray,
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
    max_pairs: Any = None,
    rng: Any = 0,
    n_jobs: Any = None,
) -> Options:
    """The options of `evaluate` for these classes, checked.

    >>> as_options(np.array(["ant", "bee"]), costs=[[0, 4], [1, 0]]).costs.tolist()
    [[1.0, 4.0], [1.0, 1.0]]
    """
    costs = as_weights(costs, "costs", labels)
    tpr_weights = as_weights(tpr_weights, "tpr_weights", labels)
    fpr_weights = as_weights(fpr_weights, "fpr_weights", labels)
    _check_ratio(costs, name="`costs`")
    if tpr_weights is not None or fpr_weights is not None:
        # One set of cell weights, in which a matrix not given counts as 1 everywhere.
        _check_ratio(tpr_weights, fpr_weights, name="`tpr_weights` and `fpr_weights` together")
    return Options(
        weighting=one_of(weighting, "weighting", get_args(Weighting)),
        costs=costs,
        tpr_weights=tpr_weights,
        fpr_weights=fpr_weights,
        thresholds=one_of(thresholds, "thresholds", get_args(Thresholds)),
        n_thresholds=_as_n_thresholds(n_thresholds),
        shrinkage=_as_shrinkage(shrinkage),
        model=one_of(model, "model", get_args(Model)),
        engine=one_of(engine, "engine", tuple(ENGINES)),
        max_pairs=_as_max_pairs(max_pairs),
        rng=drawn_seed(rng),
        n_jobs=as_n_jobs(n_jobs),
    )


def _as_max_pairs(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 2:
        msg = f"`max_pairs` must be None or an integer of at least 2, got {shown(value)}."
        raise ValueError(msg)
    return int(value)


def _as_n_thresholds(value: Any) -> int:
    if not isinstance(value, Integral) or not 2 <= int(value) <= _MOST_THRESHOLDS:  # booleans are below 2
        msg = f"`n_thresholds` must be an integer from 2 to {_MOST_THRESHOLDS}, got {shown(value)}."
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


def as_square(value: Any, name: str, labels: LabelArray) -> FloatArray:
    """A matrix with a row and a column per class, copied; those of a frame are matched to the classes by name."""
    table, n_classes = read_table(value, name), len(labels)
    if table.values.shape != (n_classes, n_classes):
        came = f"a row and a column per class, got {table.values.shape}"
        msg = f"`{name}` must have shape ({n_classes}, {n_classes}), {came}."
        raise ValueError(msg)
    rows, columns = row_names(value), table.names
    matrix = np.array(table.values, dtype=np.float64)
    if columns is not None:
        # Without names of their own, rows are in the order of the classes only if the columns are.
        rows_are_named = rows is not None and _numbers(rows) is None
        matrix = matrix[:, _order(columns, labels.tolist(), name, "columns", may_move=rows_are_named)]
    return matrix if rows is None else matrix[_order(rows, labels.tolist(), name, "rows", may_move=True)]


def _order(names: list[Any], classes: list[Any], name: str, axis: str, *, may_move: bool) -> list[int]:
    """Where each class stands on an axis, by name; by position where nobody named anything."""
    found, wanted = [str(entry) for entry in names], [str(label) for label in classes]
    is_numbered, is_shuffled = _numbers(names) is not None, sorted(found) == sorted(wanted)
    if found == wanted or (is_numbered and not is_shuffled):
        return list(range(len(classes)))
    # Numbers in another order than classes that are numbers may be classes, and may be mere positions.
    if is_shuffled and may_move and not is_numbered:
        return [found.index(label) for label in wanted]
    msg = (
        f"`{name}` must have its {axis} in the order of the classes ({listed(classes)}), got {axis} named "
        f"{listed(names)}: bring both rows and columns into that order, or name both after the classes."
    )
    raise ValueError(msg)


def _numbers(names: list[Any]) -> Affixes | None:
    """How pandas and polars call rows and columns that nobody named: 0, 1, 2 or column_0, column_1, column_2."""
    numbering = numbering_of([str(name) for name in names])
    return numbering if numbering in (Affixes("", ""), Affixes("column_", "")) else None


def as_weights(value: Any, name: str, labels: LabelArray) -> FloatArray | None:
    """A matrix of positive numbers per two classes, with ones on the diagonal, whatever stood there."""
    if value is None:
        return None
    matrix = as_square(value, name, labels)
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
        too_wide = pooled.max() > LARGEST_RATIO * pooled.min()
    if too_wide:
        came = f"entries from {pooled.min():g} to {pooled.max():g}"
        msg = f"{name} must lie within a ratio of {LARGEST_RATIO:g}, got {came}."
        raise ValueError(msg)
