"""Cost arguments: one matrix or a family of them, a prior, a cost of abstaining; every error about them."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polyroc._core.samples import column_ranges
from polyroc._inputs.arrays import read_table
from polyroc._inputs.checks import InputError, listed, shown
from polyroc._inputs.columns import Affixes, numbering_of
from polyroc._inputs.options import as_square
from polyroc._lib.typing import FloatArray, IntArray, LabelArray
from polyroc._records import Frozen, Predictions

# How far the entries of a prior may sum from 1: they are often written with few digits.
_OFF = 1e-6
_MOST_FOLDS = 100
# Fourth powers of larger costs are beyond all floats, and those of smaller ones vanish.
_LARGEST_COST = 1e60
# Sums and differences of larger scores may be beyond all floats.
_LARGEST_SCORE = 1e100


def as_decision_costs(value: Any, labels: LabelArray) -> FloatArray:
    """costs[true, predicted], shape (k, k): finite, with its diagonal, gains (negative entries) allowed."""
    costs = as_square(value, "costs", labels)
    wrong = np.argwhere(~np.isfinite(costs))
    if len(wrong) > 0:
        row, column = wrong[0].tolist()
        raise InputError("costs", "must be finite", f"{costs[row, column]} in row {row}, column {column}")
    if np.all(costs == costs[:, :1]):
        raise InputError(
            "costs",
            "must differ within some row, or every rule costs the same",
            "rows of one number each",
            hint=": entries are costs[true, predicted]",
        )
    if np.abs(costs).max() > _LARGEST_COST or np.ptp(costs, axis=1).max() < 1 / _LARGEST_COST:
        rule = f"must lie within {_LARGEST_COST:g} of 0, and differ by more than {1 / _LARGEST_COST:g}"
        raise InputError("costs", rule, f"entries from {costs.min():g} to {costs.max():g}")
    return costs


def check_size(predictions: Predictions, argument: str, of_model: str = "") -> None:
    """Refuse scores that no offset could be added to."""
    lowest, highest = column_ranges(predictions)
    if max(float(highest.max()), -float(lowest.min())) > _LARGEST_SCORE:
        raise InputError(argument, f"{of_model}must lie within {_LARGEST_SCORE:g} of 0", "larger scores")


def as_prior(value: Any, labels: LabelArray, class_weights: FloatArray) -> FloatArray | None:
    """Prevalence of each class where the rule is to be used, shape (k,); None where it is that of the samples."""
    if value is None:
        return None
    prior = _in_order(value, labels)
    if prior.shape != (len(labels),):
        raise InputError("prior", f"must have shape ({len(labels)},), one entry per class", f"{prior.shape}")
    wrong = ~(np.isfinite(prior) & (prior >= 0))
    if wrong.any():
        first = int(wrong.argmax())
        raise InputError(
            "prior", "must be finite and not negative", f"{prior[first]} for class {shown(labels.tolist()[first])}"
        )
    if abs(prior.sum() - 1) > _OFF:
        raise InputError("prior", f"must sum to 1 (to within {_OFF:g})", f"a sum of {prior.sum():.6g}")
    absent = [label for label, p, w in zip(labels.tolist(), prior, class_weights, strict=True) if p > 0 and w == 0]
    if absent:
        rule = "must be 0 for classes without samples, because nothing is known about their scores"
        raise InputError("prior", rule, f"more for {listed(absent)}")
    scaled: FloatArray = prior / prior.sum()
    return scaled


def _in_order(value: Any, labels: LabelArray) -> FloatArray:
    """The entries in the order of the classes: by name of a mapping or a pandas series, else as they stand."""
    if not (hasattr(value, "keys") and hasattr(value, "items")):
        return np.array(read_table(value, "prior").values, dtype=np.float64)
    names, classes = [str(name) for name in value.keys()], [str(label) for label in labels.tolist()]  # noqa: SIM118
    entries = read_table([entry for _, entry in value.items()], "prior").values.astype(np.float64)
    if sorted(names) == sorted(classes):
        found: FloatArray = entries[[names.index(name) for name in classes]]
        return found
    # A pandas series that nobody named.
    if names and numbering_of(names) == Affixes("", "") and not isinstance(value, dict):
        return entries
    raise InputError(
        "prior", f"must name each class once ({listed(labels.tolist())})", f"names {listed(names)}" if names else "none"
    )


def as_reject_cost(value: Any) -> float | None:
    """A finite number, or None if the rule never abstains."""
    if value is None:
        return None
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not abs(value) <= _LARGEST_COST:
        raise InputError("reject_cost", f"must be None or a number within {_LARGEST_COST:g} of 0", shown(value))
    return float(value)


def as_n_folds(value: Any) -> int:
    """A number of folds, at least 2."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 2 <= int(value) <= _MOST_FOLDS:
        raise InputError("n_folds", f"must be an integer from 2 to {_MOST_FOLDS}", shown(value))
    return int(value)


def check_units(units_per_class: IntArray, labels: LabelArray, *, are_groups: bool) -> None:
    """Refuse classes that are in a single unit: the fold that holds it is judged by offsets that never saw it."""
    alone = [label for label, count in zip(labels.tolist(), units_per_class, strict=True) if count == 1]
    if alone:
        what = "groups" if are_groups else "samples"
        rule = f"must have at least two {what} of each class, because folds are judged by the others"
        raise InputError("groups" if are_groups else "y_true", rule, f"one of {listed(alone)}")


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
    ratios = as_ratios(value.ratios, _N_RATIOS)
    k = len(labels)
    base = 1 - np.eye(k) if value.base is None else as_square(value.base, "base", labels)
    _check_finite(base, "base")
    row = class_position(value.true_class, "true_class", labels)
    swept = np.arange(k) != row
    if value.predicted_class is not None:
        swept = np.arange(k) == class_position(value.predicted_class, "predicted_class", labels)
        if swept[row]:
            rule = "must be another class than `true_class`"
            raise InputError("predicted_class", rule, f"{shown(value.predicted_class)} for both")
    if not base[row, swept].any():
        raise InputError("base", "must have a cost other than 0 for the confusion", "0, which no ratio changes")
    matrices = np.repeat(base[None], len(ratios), axis=0)
    matrices[:, row, swept] *= ratios[:, None]
    checked = np.array([_as_matrix(one, labels, place) for place, one in enumerate(matrices)])
    return CostMatrices(checked, is_drawn=False, ratios=ratios)


def as_ratios(value: Any, n_default: int) -> FloatArray:
    """Positive factors in rising order; by default this many from 0.01 to 100."""
    if value is None:
        return np.geomspace(0.01, 100, n_default)
    ratios = read_table(value, "ratios").values
    if ratios.ndim != 1 or ratios.size == 0 or not np.all(np.isfinite(ratios) & (ratios > 0)):
        raise InputError("ratios", "must be one or more finite positive numbers", shown(value))
    return np.sort(ratios.astype(np.float64))


def _check_finite(matrix: FloatArray, name: str) -> None:
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0].tolist()
        raise InputError(name, "must be finite", f"{matrix[row, column]} in row {row}, column {column}")


def class_position(label: Any, name: str, labels: LabelArray) -> int:
    """The position of a class."""
    known = labels.tolist()
    # Asked first, because arrays compare element by element, and lazy frames not at all.
    if not isinstance(label, str | Real | np.bool_) or label not in known:
        raise InputError(name, f"must be one of the classes ({listed(known)})", shown(label))
    return int(known.index(label))
