"""Families of cost matrices: a list, a range, a ratio, or whatever a function draws."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polyroc._inputs.arrays import read_table
from polyroc._inputs.checks import InputError, listed, shown
from polyroc._inputs.options import as_square
from polyroc._lib.typing import FloatArray, LabelArray
from polyroc._records import Frozen
from polyroc.costs._arguments import as_decision_costs

# Influences of the samples on all of them are kept.
_MOST_MATRICES = 5_000
# Grid of a family of ratios, by default.
_N_RATIOS = 41


@dataclass(frozen=True)
class CostRange:
    """Cost matrices whose entries lie anywhere between those of two matrices.

    Each entry is drawn by itself, uniformly on the log scale: from 1 to 100, it is as often below 10 as above. An entry
    that both matrices have alike is fixed, such as the zeros of the diagonal.

    Parameters
    ----------
    low, high : array-like of shape (n_classes, n_classes)
        ``[true, predicted]``. Where they differ, ``0 < low < high``.

    Examples
    --------
    >>> import numpy as np
    >>> from polyroc import CostRange
    >>> costs = CostRange(low=1 - np.eye(3), high=20 - 20 * np.eye(3))
    """

    low: "ArrayLike"
    high: "ArrayLike"


@dataclass(frozen=True)
class CostRatios:
    """Cost matrices in which one confusion becomes cheaper or more expensive than the others.

    Parameters
    ----------
    true_class : object
        The true class of the mistake.
    predicted_class : object, optional
        The predicted class; by default any other class.
    ratios : array-like of shape (n_ratios,), optional
        Positive numbers, by which the costs of this confusion are multiplied. By default 41 from 0.01 to 100, equally
        spaced on the log scale.
    base : array-like of shape (n_classes, n_classes), optional
        Costs at ratio 1, ``[true, predicted]``. By default 1 for every confusion and 0 on the diagonal.

    Examples
    --------
    >>> from polyroc import CostRatios
    >>> costs = CostRatios(true_class="fraud", ratios=[1, 10, 100])
    """

    true_class: Any
    predicted_class: Any = None
    ratios: "ArrayLike | None" = None
    base: "ArrayLike | None" = None


@dataclass(frozen=True, eq=False)
class CostMatrices(Frozen):
    """The matrices that are gone through."""

    values: FloatArray
    """costs[matrix, true, predicted], shape (R, k, k)."""
    is_drawn: bool
    """Whether they are a sample of a distribution, which others would have represented as well."""
    ratios: FloatArray | None = None


def as_cost_matrices(value: Any, labels: LabelArray, n_costs: Any, seed: int) -> CostMatrices:
    """Every error about `costs` and `n_costs`."""
    number = _as_n_costs(n_costs)
    if isinstance(value, CostRatios):
        return _of_ratios(value, labels)
    if isinstance(value, CostRange):
        return CostMatrices(_of_range(value, labels, number, np.random.default_rng([seed, 0])), is_drawn=True)
    if callable(value) and not isinstance(value, type):
        return CostMatrices(_of_function(value, labels, number, np.random.default_rng([seed, 0])), is_drawn=True)
    return CostMatrices(_of_list(value, labels), is_drawn=False)


def _as_n_costs(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or not 2 <= int(value) <= _MOST_MATRICES:
        raise InputError("n_costs", f"must be an integer from 2 to {_MOST_MATRICES:,}", shown(value))
    return int(value)


def _of_list(value: Any, labels: LabelArray) -> FloatArray:
    k = len(labels)
    rule = f"must be a list of matrices of shape ({k}, {k}), a CostRange, a CostRatios or a function of a generator"
    if isinstance(value, np.ndarray):
        if value.ndim != 3:
            hint = ": for a single matrix use `decide`" if value.ndim == 2 else ""
            raise InputError("costs", rule, f"shape {value.shape}", hint=hint)
    elif not isinstance(value, list | tuple):
        raise InputError("costs", rule, type(value).__name__)
    if not 1 <= len(value) <= _MOST_MATRICES:
        raise InputError("costs", f"must hold from 1 to {_MOST_MATRICES:,} matrices", f"{len(value)}")
    return np.array([_as_matrix(one, labels, place) for place, one in enumerate(value)])


def _as_matrix(value: Any, labels: LabelArray, place: int) -> FloatArray:
    """One of several matrices; errors say which."""
    try:
        return as_decision_costs(value, labels)
    except InputError as error:
        raise InputError("costs", f"(matrix {place}) {error.rule}", error.got, hint=error.hint) from error


def _of_function(
    function: Callable[[np.random.Generator], Any], labels: LabelArray, number: int, rng: np.random.Generator
) -> FloatArray:
    try:
        inspect.signature(function).bind(rng)
    except TypeError as error:
        rule = "must be, where it is a function, one that takes a generator and gives a matrix"
        raise InputError("costs", rule, shown(function)) from error
    except ValueError:  # some compiled functions do not tell
        pass
    return np.array([_as_matrix(function(rng), labels, place) for place in range(number)])


def _of_range(value: CostRange, labels: LabelArray, number: int, rng: np.random.Generator) -> FloatArray:
    low, high = as_square(value.low, "low", labels), as_square(value.high, "high", labels)
    _check_finite(low, "low")
    _check_finite(high, "high")
    varies = low != high
    wrong = np.argwhere(varies & ~((low > 0) & (low < high)))
    if len(wrong) > 0:
        row, column = wrong[0].tolist()
        came = f"{low[row, column]:g} and {high[row, column]:g} in row {row}, column {column}"
        raise InputError("low", "must be positive and below `high` where they differ", came)
    if not varies.any():
        raise InputError("high", "must differ from `low` in some entry", "two equal matrices")
    drawn = np.repeat(low[None], number, axis=0)
    ends = np.log(low[varies]), np.log(high[varies])
    drawn[:, varies] = np.exp(rng.uniform(*ends, size=(number, int(varies.sum()))))
    return np.array([_as_matrix(one, labels, place) for place, one in enumerate(drawn)])


def _of_ratios(value: CostRatios, labels: LabelArray) -> CostMatrices:
    ratios = _as_ratios(value.ratios)
    k = len(labels)
    base = 1 - np.eye(k) if value.base is None else as_square(value.base, "base", labels)
    _check_finite(base, "base")
    row = _position(value.true_class, "true_class", labels)
    swept = np.arange(k) != row
    if value.predicted_class is not None:
        swept = np.arange(k) == _position(value.predicted_class, "predicted_class", labels)
        if swept[row]:
            rule = "must be another class than `true_class`"
            raise InputError("predicted_class", rule, f"{shown(value.predicted_class)} for both")
    if not base[row, swept].any():
        raise InputError("base", "must have a cost other than 0 for the confusion", "0, which no ratio changes")
    matrices = np.repeat(base[None], len(ratios), axis=0)
    matrices[:, row, swept] *= ratios[:, None]
    checked = np.array([_as_matrix(one, labels, place) for place, one in enumerate(matrices)])
    return CostMatrices(checked, is_drawn=False, ratios=ratios)


def _as_ratios(value: Any) -> FloatArray:
    if value is None:
        return np.geomspace(0.01, 100, _N_RATIOS)
    ratios = read_table(value, "ratios").values
    if ratios.ndim != 1 or ratios.size == 0 or not np.all(np.isfinite(ratios) & (ratios > 0)):
        raise InputError("ratios", "must be one or more finite positive numbers", shown(value))
    return np.sort(ratios.astype(np.float64))


def _check_finite(matrix: FloatArray, name: str) -> None:
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0].tolist()
        raise InputError(name, "must be finite", f"{matrix[row, column]} in row {row}, column {column}")


def _position(label: Any, name: str, labels: LabelArray) -> int:
    known = labels.tolist()
    # Asked first, because arrays compare element by element.
    if not isinstance(label, str | Real | np.bool_) or label not in known:
        raise InputError(name, f"must be one of the classes ({listed(known)})", shown(label))
    return int(known.index(label))
