"""A rule that names a class for every row of scores."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from polyroc._engines._naming import cheapest, expected_costs, highest, levels, looks_like_probabilities, two_columns
from polyroc._inputs._checks import InputError
from polyroc._lib._typing import FloatArray, IntArray
from polyroc._records import Frozen

Method: TypeAlias = Literal["tuned", "bayes", "argmax"]


@dataclass(frozen=True, eq=False)
class Rule(Frozen):
    """All that a rule needs; a few numbers per class."""

    method: Method
    costs: FloatArray
    """costs[true, named], shape (k, k)."""
    ratio: FloatArray
    """Prior over prevalence of each class, shape (k,): what Bayes' rule multiplies probabilities with."""
    on_log_scale: bool
    """Whether scores are probabilities, so that offsets are added to their logarithms."""
    n_columns: int
    offsets: FloatArray | None = None
    """Shape (k,); None for Bayes' rule."""
    reject_cost: float | None = None
    reject_offset: float | None = None

    @property
    def abstains(self) -> bool:
        return self.reject_cost is not None and self.method != "argmax"

    def named(self, scores: FloatArray) -> IntArray:
        """The position of the class that is named for each row of checked scores; k where the rule abstains."""
        scores = two_columns(scores, are_probabilities=self.on_log_scale)
        if self.offsets is None:
            return cheapest(scores, self.costs, self.ratio, self.reject_cost)
        if self.reject_offset is None:
            return highest(levels(scores, on_log_scale=self.on_log_scale), self.offsets)
        z = levels(scores, on_log_scale=self.on_log_scale, abstains=True)
        return highest(z, np.r_[self.offsets, self.reject_offset])

    def margins(self, scores: FloatArray) -> FloatArray:
        """What the rule names the highest of, shape (n, k): it abstains, where it may, if all are negative."""
        scores = two_columns(scores, are_probabilities=self.on_log_scale)
        if self.offsets is None:
            return (self.reject_cost or 0.0) - expected_costs(scores, self.costs, self.ratio)
        z = levels(scores, on_log_scale=self.on_log_scale)
        found: FloatArray = (z + self.offsets[:, np.newaxis]).T
        return found if self.reject_offset is None else found - self.reject_offset

    def check(self, scores: FloatArray) -> None:
        """Refuse later scores that are of another kind than those that the rule was made from."""
        if self.on_log_scale:
            if not looks_like_probabilities(scores):
                rule = "must hold probabilities, as the scores did that the rule was made from"
                raise InputError(
                    "y_score", rule, f"scores from {scores.min():g} to {scores.max():g}, or other row sums"
                )
        elif scores.shape[1] != self.n_columns:
            rule = f"must have {self.n_columns} columns, as the scores had that the rule was made from"
            raise InputError("y_score", rule, f"{scores.shape[1]}")


def with_reject(costs: FloatArray, reject_cost: float | None) -> FloatArray:
    """costs[true, named] with a last column for abstaining, where that is allowed."""
    if reject_cost is None:
        return costs
    return np.column_stack([costs, np.full(len(costs), reject_cost)])


def as_labels(named: IntArray, labels: Any, *, may_abstain: bool) -> Any:
    """The classes by their names; None in an array of objects where a rule abstained."""
    if not may_abstain:
        return labels[named]
    names = np.empty(len(labels) + 1, dtype=object)
    names[: len(labels)] = labels.tolist()
    return names[named]
