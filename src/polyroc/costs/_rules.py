"""A rule that predicts a class for every row of scores."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from polyroc._engines._predicted import (
    are_by_true_class,
    cheapest,
    cost_levels,
    expected_costs,
    highest,
    levels,
    two_columns,
    with_reject,
)
from polyroc._engines._samples import exponentials_hint, look_like_probabilities
from polyroc._inputs.checks import InputError
from polyroc._lib.typing import FloatArray, IntArray
from polyroc._records import Frozen, Predictions

RuleName: TypeAlias = Literal["auto", "tuned", "bayes", "argmax"]
Scale: TypeAlias = Literal["log probability", "expected cost", "score"]


@dataclass(frozen=True, eq=False)
class Rule(Frozen):
    """All that a rule needs; a few numbers per class."""

    name: RuleName
    costs: FloatArray
    """costs[true, predicted], shape (k, k)."""
    ratio: FloatArray
    """Prior over prevalence of each class, shape (k,): what Bayes' rule multiplies probabilities with."""
    scale: Scale
    """What offsets are added to: "expected cost" stands for minus its logarithm."""
    n_columns: int
    offsets: FloatArray | None = None
    """Shape (k,); None for Bayes' rule."""
    reject_cost: float | None = None
    reject_offset: float | None = None
    tuned_share: float | None = None
    """Of "auto": how much of the tuned offsets is used, from 0 (Bayes' rule) to 1."""

    @property
    def on_log_scale(self) -> bool:
        """Whether scores are probabilities."""
        return self.scale != "score"

    @property
    def abstains(self) -> bool:
        return self.reject_cost is not None and self.name != "argmax"

    def predict(self, scores: FloatArray) -> IntArray:
        """Position of the class predicted for each row of checked scores; k where the rule abstains."""
        scores = two_columns(scores, are_probabilities=self.on_log_scale)
        if self.offsets is None:
            return cheapest(scores, self.costs, self.ratio, self.reject_cost)
        return highest(self._levels(scores), self._all_offsets(self.offsets))

    def margins(self, scores: FloatArray) -> FloatArray:
        """The rule predicts the column of the highest, shape (n, k): it abstains, where it may, if all are negative."""
        scores = two_columns(scores, are_probabilities=self.on_log_scale)
        if self.offsets is None:
            return (self.reject_cost or 0.0) - expected_costs(scores, self.costs, self.ratio)
        found: FloatArray = (self._levels(scores) + self._all_offsets(self.offsets)[:, np.newaxis]).T
        return found[:, :-1] - found[:, -1:] if self.abstains else found

    def _levels(self, scores: FloatArray) -> FloatArray:
        reject_cost = self.reject_cost if self.abstains else None
        return levels_on(self.scale, scores, with_reject(self.costs, reject_cost), self.ratio)

    def _all_offsets(self, offsets: FloatArray) -> FloatArray:
        """With that of abstaining at the end, where the rule may abstain."""
        return offsets if self.reject_offset is None else np.r_[offsets, self.reject_offset]

    def check(self, scores: FloatArray) -> None:
        """Refuse later scores that are of another kind than those that the rule was made from."""
        if self.on_log_scale:
            if not look_like_probabilities(scores):
                rule = "must hold probabilities, as the scores did that the rule was made from"
                came = f"scores from {scores.min():g} to {scores.max():g}, or other row sums"
                raise InputError("y_score", rule, came, exponentials_hint(scores))
        elif scores.shape[1] != self.n_columns:
            rule = f"must have {self.n_columns} columns, as the scores had that the rule was made from"
            raise InputError("y_score", rule, f"{scores.shape[1]}")


def prior_ratio(prior: FloatArray, predictions: Predictions) -> FloatArray:
    """Prior over prevalence of the samples, shape (k,); 0 of classes without samples."""
    prevalence = predictions.class_weights / predictions.class_weights.sum()
    ratio: FloatArray = np.divide(prior, prevalence, out=np.zeros(len(prevalence)), where=prevalence > 0)
    return ratio


def scale_of(costs: FloatArray, ratio: FloatArray, reject_cost: float | None, *, are_probabilities: bool) -> Scale:
    """The scale on which some offsets give Bayes' rule; from costs, priors and the kind of scores.

    On log probabilities they do if a mistake costs the same whatever is predicted: the logarithms of these costs. To
    know where abstaining is cheaper takes the expected cost, to which all probabilities of a sample contribute.
    """
    if not are_probabilities:
        return "score"
    has_offsets = reject_cost is None and are_by_true_class(costs) and bool((_severity(costs, ratio) > 0).all())
    return "log probability" if has_offsets else "expected cost"


def bayes_offsets(scale: Scale, costs: FloatArray, ratio: FloatArray, n_levels: int) -> FloatArray:
    """The offsets, with mean 0, that give Bayes' rule, shape (n_levels,)."""
    if scale != "log probability":
        return np.zeros(n_levels)
    # Elkan (2001): with one cost per true class, Bayes' rule adds the logarithm of that cost.
    logs = np.log(_severity(costs, ratio))
    centred: FloatArray = logs - logs.mean()
    return centred


def _severity(costs: FloatArray, ratio: FloatArray) -> FloatArray:
    """Mean cost of the mistakes about each class above that of predicting it, times its ratio, shape (k,)."""
    own = np.diag(costs)
    severity: FloatArray = ((costs.sum(axis=1) - own) / (len(costs) - 1) - own) * ratio
    return severity


def levels_on(scale: Scale, scores: FloatArray, costs: FloatArray, ratio: FloatArray) -> FloatArray:
    """What offsets are added to, a row for each column of costs[true, predicted]."""
    if scale == "expected cost":
        return cost_levels(scores, costs, ratio)
    return levels(scores, on_log_scale=scale == "log probability")


def as_labels(predicted: IntArray, labels: Any, *, may_abstain: bool) -> Any:
    """The classes by their names; None in an array of objects where a rule abstained."""
    if not may_abstain:
        return labels[predicted]
    names = np.empty(len(labels) + 1, dtype=object)
    names[: len(labels)] = labels.tolist()
    return names[predicted]
