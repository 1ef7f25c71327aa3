"""What a decision is asked for: costs, a prior, a cost of abstaining; every error about them."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from polyroc._engines._samples import column_ranges
from polyroc._inputs.arrays import read_table
from polyroc._inputs.checks import InputError, listed, shown
from polyroc._inputs.columns import Affixes, numbering_of
from polyroc._inputs.options import as_square
from polyroc._lib.typing import FloatArray, IntArray, LabelArray
from polyroc._records import Predictions

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
