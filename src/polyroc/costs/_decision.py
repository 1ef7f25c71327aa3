"""The result of `decide`: a rule, what it predicts, and what it costs."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polyroc._core.curve import RocCurve
from polyroc._inputs.arrays import FrameBackend, frame_of, plain
from polyroc._inputs.predictions import as_scores
from polyroc._lib.typing import FloatArray, LabelArray
from polyroc._lib.warnings import underflow_is_zero
from polyroc._records import Frozen, read_only
from polyroc._uncertainty.intervals import Interval
from polyroc.costs._judging import UnseenMistake
from polyroc.costs._rules import Rule, RuleName, Scale, as_labels
from polyroc.costs._stored import OF_COSTS, OF_RULE, as_stored
from polyroc.costs._words import DecisionText


@dataclass(frozen=True)
class RuleCost:
    """Cost of one rule.

    Attributes
    ----------
    rule : str
        "auto", "tuned", "bayes", "argmax", "always" (the same class for every sample) or "abstain" (for every sample).
    label : object
        The class that is always predicted; None for other rules.
    cost : float
        Expected cost per sample; that of "auto" and "tuned" is cross-fitted.
    standard_error : float
        Standard error of `cost`.
    interval : Interval
        Confidence interval of `cost`.
    difference : float
        `cost` minus the cost of the chosen rule, on the same samples: positive where this rule costs more.
    difference_interval : Interval
        Confidence interval of `difference`, which is paired.

    Examples
    --------
    >>> import numpy as np
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> costs = 1 - np.eye(10)
    >>> costs[3] *= 5  # to miss a 3 costs five times as much
    >>> decision = polyroc.decide(example.y_true, example.scores["logistic"], costs, rule="bayes")
    >>> decision.rival.rule, decision.rival.difference > 0
    ('tuned', True)
    """

    rule: str
    label: Any
    cost: float
    standard_error: float
    interval: Interval
    difference: float
    difference_interval: Interval


@dataclass(frozen=True, eq=False)
class DecisionRates(Frozen):
    """TPR and FPR of every ordered pair of classes under a rule.

    A sample counts as positive for a pair if the rule predicts the positive class. So the TPR is the share of the
    positive class that is predicted correctly, the same in all its pairs; the FPR is the share of the negative class
    that is predicted as the positive one.

    Attributes
    ----------
    positive, negative : ndarray of shape (n_pairs,)
        The classes of each pair.
    tpr, fpr : ndarray of shape (n_pairs,)
        Rates of each pair, cross-fitted.

    Examples
    --------
    >>> import numpy as np
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> costs = 1 - np.eye(10)
    >>> decision = polyroc.decide(example.y_true, example.scores["logistic"], costs, rule="argmax")
    >>> decision.rates.tpr.shape, round(float(decision.rates.tpr.mean()), 3)
    ((90,), 0.798)
    """

    positive: LabelArray
    negative: LabelArray
    tpr: FloatArray
    fpr: FloatArray

    def to_frame(self, backend: FrameBackend = "pandas") -> Any:
        """One row for each ordered pair: positive, negative, tpr, fpr; the package `backend` must be installed."""
        names = ("positive", "negative", "tpr", "fpr")
        return frame_of({name: getattr(self, name) for name in names}, backend)


@dataclass(frozen=True)
class CurvePoint:
    """Where a decision lies on a ROC curve.

    Attributes
    ----------
    fpr, tpr : float
        The point of the curve with the same call rate, (TPR + FPR) / 2, as the decision.
    decision_fpr, decision_tpr : float
        Mean rates of all pairs of classes at the decision.

    Examples
    --------
    >>> import numpy as np
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> costs = 1 - np.eye(10)
    >>> evaluation = polyroc.evaluate(example.y_true, example.scores["logistic"])
    >>> decision = polyroc.decide(example.y_true, example.scores["logistic"], costs, rule="argmax")
    >>> point = decision.point_on(evaluation.curve)
    >>> round(point.fpr, 3), round(point.tpr, 3)
    (0.015, 0.805)
    >>> round(point.decision_fpr, 3), round(point.decision_tpr, 3)
    (0.022, 0.798)
    """

    fpr: float
    tpr: float
    decision_fpr: float
    decision_tpr: float


@dataclass(frozen=True, eq=False)
class Decision(Frozen):
    """Result of `decide`: a rule that predicts classes, and what it costs.

    Attributes
    ----------
    rule : {"auto", "tuned", "bayes", "argmax"}
        How classes are predicted; "tuned" if "auto" had no probabilities.
    tuned_share : float or None
        Of "auto": how much of the tuned offsets is used, from 0 (Bayes' rule) to 1. None for other rules.
    labels : ndarray of shape (n_classes,)
        The classes, in the order of the score columns.
    costs : ndarray of shape (n_classes, n_classes)
        ``costs[true, predicted]``, as given.
    prior : ndarray of shape (n_classes,)
        Prevalence of each class that costs are weighed with: as given, else that of the samples.
    offsets : ndarray of shape (n_classes,) or None
        What is added to each class's level, as `scale` says, before the highest is predicted; their mean is 0. Zeros
        for "argmax" and for "auto" if that is Bayes' rule, None for "bayes".
    scale : {"log probability", "expected cost", "score"}
        What offsets are added to: the logarithm of each class's probability; minus the logarithm of the cost that is
        expected of predicting it, above the least cost of each true class; or its free score. See `decide`.
    reject_offset : float or None
        What is added to the level of abstaining; None if the rule never abstains or is "bayes".
    reject_cost : float or None
        Cost of abstaining, as given.
    cost : float
        Expected cost per sample. That of tuned offsets is cross-fitted: each fold is judged with offsets that were
        tuned, and for "auto" with a share of them that was chosen, on the others.
    cost_interval : Interval
        Confidence interval of `cost`. It allows for expensive mistakes that no sample shows.
    unseen : UnseenMistake or None
        The mistake that no sample shows and that makes up most of the width of `cost_interval`, if there is one.
    rival : RuleCost or None
        The cheapest of the other rules.
    n_samples_to_tell : int or None
        Size at which 80 % of samples would tell whether `rival` or this rule is cheaper, at the same rates. None if
        these samples tell already, and for more than a million times as many.
    standard_error : float
        Standard error of `cost`.
    resubstitution_cost : float
        Cost of the rule on the very samples that it was tuned on: too low, and not to be reported.
    confusion : ndarray of shape (n_classes, n_classes) or (n_classes, n_classes + 1)
        Samples (sums of their weights) by true (row) and predicted (column) class; the last column, if the rule may
        abstain, has those without a prediction. Cross-fitted as `cost`.
    rules : tuple of RuleCost
        Costs of "auto" if it is the rule, of the other three rules, of always predicting each class and, with
        `reject_cost`, of always abstaining. "bayes" is missing if scores are not probabilities.
    on_log_scale : bool
        Whether scores are probabilities, so that offsets are added to logarithms.
    n_samples, n_folds : int
        Samples that counted, and folds of the cross-fitting.
    confidence_level : float
        Of all intervals.

    Examples
    --------
    >>> import numpy as np
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> costs = 1 - np.eye(10)
    >>> costs[3] *= 5  # to miss a 3 costs five times as much
    >>> decision = polyroc.decide(example.y_true, example.scores["logistic"], costs, rule="bayes")
    >>> decision.rule, round(decision.cost, 2)
    ('bayes', 0.29)
    >>> decision.predict(example.scores["logistic"][:3]).tolist()
    [6, 5, 3]
    """

    labels: LabelArray
    prior: FloatArray
    confusion: FloatArray
    rules: tuple[RuleCost, ...]
    resubstitution_cost: float
    unseen: UnseenMistake | None
    n_samples_to_tell: int | None
    n_samples: int
    n_folds: int
    confidence_level: float
    predictor: Rule = field(repr=False)

    @property
    def rule(self) -> RuleName:
        return self.predictor.name

    @property
    def tuned_share(self) -> float | None:
        return self.predictor.tuned_share

    @property
    def costs(self) -> FloatArray:
        return self.predictor.costs

    @property
    def offsets(self) -> FloatArray | None:
        return self.predictor.offsets

    @property
    def reject_offset(self) -> float | None:
        return self.predictor.reject_offset

    @property
    def reject_cost(self) -> float | None:
        return self.predictor.reject_cost

    @property
    def scale(self) -> Scale:
        return self.predictor.scale

    @property
    def on_log_scale(self) -> bool:
        return self.predictor.on_log_scale

    @property
    def chosen(self) -> RuleCost:
        """The entry of `rules` for `rule`."""
        return next(one for one in self.rules if one.rule == self.rule)

    @property
    def rival(self) -> RuleCost | None:
        # All or nothing of the tuned offsets is one of the other rules.
        same = {0.0: "bayes", 1.0: "tuned"}.get(-1.0 if self.tuned_share is None else self.tuned_share)
        others = [one for one in self.rules if one.rule not in (self.rule, same)]
        return min(others, key=lambda one: one.cost, default=None)

    @property
    def cost(self) -> float:
        return self.chosen.cost

    @property
    def standard_error(self) -> float:
        return self.chosen.standard_error

    @property
    def cost_interval(self) -> Interval:
        return self.chosen.interval

    @underflow_is_zero
    def predict(self, y_score: "ArrayLike") -> Any:
        """The class that the rule predicts for each row of scores.

        Parameters
        ----------
        y_score : array-like or data frame of shape (n_samples, n_classes)
            Scores of the same kind as those given to `decide`. Columns of a data frame are matched by name.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes. If the rule may abstain (`reject_cost`), an array of objects that has None where it does, which
            pandas and polars read as missing.
        """
        scores = as_scores(y_score, self.labels)
        self.predictor.check(scores)
        return as_labels(self.predictor.predict(scores), self.labels, may_abstain=self.predictor.abstains)

    @cached_property
    def rates(self) -> DecisionRates:
        """TPR and FPR of every ordered pair of classes that have samples, cross-fitted."""
        totals = self.confusion.sum(axis=1)
        present = np.flatnonzero(totals > 0)
        shares = self.confusion[present][:, present] / totals[present, None]
        first, second = np.nonzero(~np.eye(len(present), dtype=bool))
        return DecisionRates(
            positive=self.labels[present[first]],
            negative=self.labels[present[second]],
            tpr=read_only(shares[first, first]),
            fpr=read_only(shares[second, first]),
        )

    def point_on(self, curve: RocCurve) -> CurvePoint:
        """The point of a ROC curve at which classes are predicted as often as by this rule.

        A curve of the pairs, such as `Evaluation.curve`, is a curve of call rates: the mean of TPR and FPR. At the
        decision the pairs have a mean TPR and a mean FPR, and so a call rate; the point of the curve with that call
        rate is returned, with the means. If the means lie above it, the rule separates classes better than
        a single threshold per pair would; rules for unequal costs often lie below.

        Parameters
        ----------
        curve : RocCurve
            Such as ``polyroc.evaluate(y_true, y_score).curve``.

        Returns
        -------
        CurvePoint
            With `fpr`, `tpr`, `decision_fpr` and `decision_tpr`.
        """
        fpr, tpr = float(self.rates.fpr.mean()), float(self.rates.tpr.mean())
        doubled = curve.fpr + curve.tpr
        at = fpr + tpr
        return CurvePoint(float(np.interp(at, doubled, curve.fpr)), float(np.interp(at, doubled, curve.tpr)), fpr, tpr)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that `json` can write, and `from_dict` read.

        "ratio" is prior over prevalence of the samples, by which expected costs multiply probabilities.
        """
        names = (*OF_RULE, "cost", "standard_error", "cost_interval", *OF_COSTS)
        values = {name: getattr(self, name, getattr(self.predictor, name, None)) for name in names} | {
            "labels": plain(self.labels),
            "cost_interval": list(self.cost_interval),
            "unseen": None if self.unseen is None else _plain_mistake(self.unseen),
            "rules": [_plain_rule(one) for one in self.rules],
            "sentence": self.text.sentence,
        }
        return {name: x.tolist() if isinstance(x, np.ndarray) else x for name, x in values.items()}

    @classmethod
    def from_dict(cls, record: Any) -> "Decision":
        """The decision that `to_dict` gave, to use its rule elsewhere. Nothing in a record is run.

        Parameters
        ----------
        record : dict
            As from `to_dict`, perhaps after ``json.loads``. What is missing or cannot be is an error.

        Returns
        -------
        Decision
            Equal to the one that was stored: it predicts the same classes.

        Examples
        --------
        >>> import json
        >>> import polyroc
        >>> decision = polyroc.decide(["a", "a", "b", "b"], [0.2, 0.6, 0.5, 0.9], [[0, 1], [5, 0]])
        >>> again = polyroc.Decision.from_dict(json.loads(json.dumps(decision.to_dict())))
        >>> again.predict([0.1, 0.95]).tolist()
        ['a', 'b']
        """
        stored = as_stored(record)
        return cls(rules=tuple(RuleCost(**one) for one in stored.rules), predictor=stored.rule, **stored.fields)

    def to_frame(self, backend: FrameBackend = "pandas") -> Any:
        """One row for each rule: its cost and interval, and its difference from the chosen rule.

        The package `backend` must be installed.
        """
        rows = [_plain_rule(one) for one in self.rules]
        return frame_of({name: _column([row[name] for row in rows]) for name in rows[0]}, backend)

    @property
    def text(self) -> DecisionText:
        """The decision in sentences, as it is shown everywhere."""
        return DecisionText(self)

    @property
    def abstained(self) -> float | None:
        """Share of deployed samples without a prediction; None if the rule never abstains."""
        if not self.predictor.abstains:
            return None
        totals = np.maximum(self.confusion.sum(axis=1), 1e-300)
        return float(self.prior @ (self.confusion[:, -1] / totals))

    def __str__(self) -> str:
        return str(self.text)

    def __repr__(self) -> str:
        low, high = self.cost_interval
        return f"Decision({self.rule!r}, {len(self.labels)} classes, cost={self.cost:.4g} [{low:.4g}, {high:.4g}])"


def _plain_rule(one: RuleCost) -> dict[str, Any]:
    return {
        "rule": one.rule,
        "label": None if one.label is None else str(one.label),
        "cost": one.cost,
        "standard_error": one.standard_error,
        "low": one.interval.low,
        "high": one.interval.high,
        "difference": one.difference,
        "difference_low": one.difference_interval.low,
        "difference_high": one.difference_interval.high,
    }


def _plain_mistake(one: UnseenMistake) -> dict[str, Any]:
    return vars(one) | {"true_class": str(one.true_class), "predicted_class": str(one.predicted_class)}


def _column(values: list[Any]) -> "np.ndarray[Any, Any]":
    return np.array(values, dtype=None if isinstance(values[0], float) else object)
