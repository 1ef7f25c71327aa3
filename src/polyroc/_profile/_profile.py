"""The result of `cost_profile`: costs by model and matrix, and how often each model is the cheapest."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from polyroc._decide._rules import RuleName
from polyroc._inputs._checks import one_of
from polyroc._inputs._frames import FrameBackend, frame_of, plain
from polyroc._lib._typing import FloatArray, LabelArray
from polyroc._profile._families import CostRatios
from polyroc._records import Frozen
from polyroc._texts._cost_profile import CostProfileText, EntryText
from polyroc._uncertainty._intervals import Interval


@dataclass(frozen=True)
class ModelCost:
    """What one model costs over all matrices.

    Attributes
    ----------
    name : str
        The model; with several rules, the model and the rule.
    model, rule : str
        The model and how it names classes.
    cost, standard_error : float
        Expected cost per sample, averaged over the matrices, and its standard error.
    interval : Interval
        Confidence interval of `cost`.
    share_cheapest : float
        Share of the matrices in which no other model costs less; equal costs are split.
    share_interval : Interval
        Confidence interval of `share_cheapest`.
    """

    name: str
    model: str
    rule: RuleName
    cost: float
    standard_error: float
    interval: Interval
    share_cheapest: float
    share_interval: Interval


@dataclass(frozen=True)
class CostDifference:
    """By how much the first model costs more than the second, averaged over the matrices, on the same samples.

    Attributes
    ----------
    first, second : str
        Names of the models.
    value, standard_error : float
        Mean cost of the first minus that of the second, and its standard error.
    interval : Interval
        Confidence interval of `value`.
    """

    first: str
    second: str
    value: float
    standard_error: float
    interval: Interval


@dataclass(frozen=True, eq=False)
class CostProfile(Frozen):
    """Result of `cost_profile`: what models cost under many cost matrices.

    Attributes
    ----------
    models : tuple of ModelCost
        Mean cost and share of the matrices in which each is the cheapest, with intervals.
    differences : tuple of CostDifference
        One for each pair of models: mean costs, paired by samples.
    costs : ndarray of shape (n_matrices, n_classes, n_classes)
        The matrices, ``costs[matrix, true, predicted]``.
    cost_by_matrix, standard_error_by_matrix : ndarray of shape (n_models, n_matrices)
        Expected cost per sample of each model under each matrix, and its standard error.
    low_by_matrix, high_by_matrix : ndarray of shape (n_models, n_matrices)
        Ends of the confidence intervals of `cost_by_matrix`, each for itself.
    family : CostRatios or None
        What the matrices are made of, if that is a ratio; its ratios are in `ratios`.
    ratios : ndarray of shape (n_matrices,) or None
        The ratio of each matrix, ascending.
    is_drawn : bool
        Whether the matrices were drawn from a distribution. Then intervals also cover what other draws would give.
    labels : ndarray of shape (n_classes,)
        The classes, in the order of rows and columns.
    prior : ndarray of shape (n_classes,)
        Prevalence of each class that costs are weighed with.
    n_samples, n_resamples : int
        Samples that counted, and resamples behind the intervals of the shares.
    n_folds : int or None
        Folds by which tuned offsets are judged; None where they are judged on the samples that they were tuned on.
    confidence_level : float
        Of all intervals.
    """

    models: tuple[ModelCost, ...]
    differences: tuple[CostDifference, ...]
    costs: FloatArray
    cost_by_matrix: FloatArray
    standard_error_by_matrix: FloatArray
    low_by_matrix: FloatArray
    high_by_matrix: FloatArray
    family: CostRatios | None
    ratios: FloatArray | None
    is_drawn: bool
    labels: LabelArray
    prior: FloatArray
    n_samples: int
    n_resamples: int
    n_folds: int | None
    confidence_level: float

    @property
    def names(self) -> list[str]:
        """Names of the models, in the order of `models` and of the rows of `cost_by_matrix`."""
        return [one.name for one in self.models]

    def difference(self, first: str, second: str) -> CostDifference:
        """Mean cost of one model minus that of another.

        Parameters
        ----------
        first, second : str
            Names of two models.
        """
        a, b = one_of(first, "first", tuple(self.names)), one_of(second, "second", tuple(self.names))
        for one in self.differences:
            if (one.first, one.second) == (a, b):
                return one
            if (one.first, one.second) == (b, a):
                turned = Interval(-one.interval.high, -one.interval.low)
                return CostDifference(a, b, -one.value, one.standard_error, turned)
        return CostDifference(a, b, 0.0, 0.0, Interval(0.0, 0.0))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that `json` can write."""
        return {
            "models": [_row(one) for one in self.models],
            "differences": [{**vars(one), "interval": list(one.interval)} for one in self.differences],
            "labels": plain(self.labels),
            "prior": self.prior.tolist(),
            "costs": self.costs.tolist(),
            "cost_by_matrix": self.cost_by_matrix.tolist(),
            "standard_error_by_matrix": self.standard_error_by_matrix.tolist(),
            "low_by_matrix": self.low_by_matrix.tolist(),
            "high_by_matrix": self.high_by_matrix.tolist(),
            "ratios": None if self.ratios is None else self.ratios.tolist(),
            "is_drawn": self.is_drawn,
            "n_samples": self.n_samples,
            "n_resamples": self.n_resamples,
            "n_folds": self.n_folds,
            "confidence_level": self.confidence_level,
            "sentence": self.text.sentence,
        }

    def to_frame(self, backend: FrameBackend = "pandas") -> Any:
        """One row for each model: mean cost and share of the matrices in which it is the cheapest, with intervals.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            Whose data frame to make; that package must be installed.
        """
        rows = [_row(one) for one in self.models]
        return frame_of({name: np.array([row[name] for row in rows]) for name in rows[0]}, backend)

    @property
    def text(self) -> CostProfileText:
        """What is said about the profile wherever it is shown."""
        order = sorted(self.models, key=lambda one: one.cost)
        gap = self.difference(order[1].name, order[0].name)
        return CostProfileText(
            entries=[
                EntryText(one.name, one.cost, one.standard_error, one.interval, one.share_cheapest, one.share_interval)
                for one in self.models
            ],
            least=order[0].name,
            next_least=order[1].name,
            gap=gap.value,
            gap_interval=gap.interval,
            rules=list(dict.fromkeys(one.rule for one in self.models)),
            n_matrices=len(self.costs),
            is_drawn=self.is_drawn,
            n_folds=self.n_folds,
            n_samples=self.n_samples,
            confidence_level=self.confidence_level,
        )

    def __str__(self) -> str:
        return str(self.text)

    def __repr__(self) -> str:
        return f"CostProfile({len(self.models)} models, {len(self.costs)} cost matrices)"


def _row(one: ModelCost) -> dict[str, Any]:
    return {
        "name": one.name,
        "model": one.model,
        "rule": one.rule,
        "cost": one.cost,
        "standard_error": one.standard_error,
        "low": one.interval.low,
        "high": one.interval.high,
        "share_cheapest": one.share_cheapest,
        "share_low": one.share_interval.low,
        "share_high": one.share_interval.high,
    }
