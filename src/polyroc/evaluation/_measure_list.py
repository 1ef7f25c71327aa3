"""Every measure, declared once, and the scales on which their intervals are made."""

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from polyroc._lib.typing import FloatArray, IntervalKind
from polyroc._records import Frozen
from polyroc._uncertainty.delong import freedom
from polyroc._uncertainty.influence import error_at, place_of, whole_error
from polyroc._uncertainty.intervals import UNSEEN_BOUND, Interval, Reach, logit_corrected, logit_ends
from polyroc._uncertainty.units import Units
from polyroc.baselines._accuracy import wilson_interval

Need: TypeAlias = Literal[
    "", "predicted", "predicted, several", "predicted, ordered", "probabilities", "all pairs", "all pairs, one scale"
]
Scale: TypeAlias = Literal["area", "share", "logit", "log", "size"]


@dataclass(frozen=True)
class Kind:
    """Declaration of a measure, which needs no samples."""

    name: str
    label: str
    """For people, in a table."""
    meaning: str
    sklearn: str = ""
    """The function of scikit-learn that gives the same value; empty where there is none."""
    needs: Need = ""
    depends_on_prevalence: bool = False
    """Whether the measure changes where only the proportions of the classes change."""
    higher_is_better: bool = True
    lowest: float = 0.0
    highest: float = 1.0
    scale: Scale = "logit"
    """How its interval is made: that of an area, of a share of samples, on the scale of the range, ..."""
    rare_classes_count: bool = False
    """Whether a sample of a rare class counts more than others, so that the smallest class limits what is known."""
    unseen: float = 0.0
    """What share of a mistake its interval adds for errors that no sample shows (`_uncertainty/intervals.py`)."""
    is_curved: bool = False
    """Whether the measure has a bias that its interval takes out."""


_Predicted = partial(Kind, needs="predicted", depends_on_prevalence=True)
_Agreement = partial(_Predicted, lowest=-1.0, is_curved=True)
_OneVsRest = partial(Kind, needs="all pairs", depends_on_prevalence=True, unseen=0.5)
_Loss = partial(Kind, needs="probabilities", depends_on_prevalence=True, higher_is_better=False)
_KINDS = (
    Kind("auc", "D (multi-class AUC)", "area under the one curve that all pairs of classes share", scale="area"),
    Kind(
        "hand_till",
        "M (Hand and Till)",
        "mean of the areas of all pairs of classes",
        'roc_auc_score(multi_class="ovo")',
        scale="area",
    ),
    Kind(
        "pdi",
        "PDI",
        "chance that the right one of k samples, one per class, has the highest score for a class: 1/k by guessing",
        rare_classes_count=True,
        unseen=0.1,
    ),
    Kind(
        "auc_mu",
        "AUCmu",
        "mean area of all pairs of classes, each ranked by the difference of its two columns",
        needs="all pairs, one scale",
        rare_classes_count=True,
        unseen=0.1,
    ),
    _OneVsRest(
        "ovr_macro",
        "one-vs-rest AUC, macro",
        "mean area of one class against all others, classes counting the same",
        'roc_auc_score(multi_class="ovr")',
        rare_classes_count=True,
    ),
    _OneVsRest(
        "ovr_weighted",
        "one-vs-rest AUC, weighted",
        "mean area of one class against all others, classes counting by their samples",
        'roc_auc_score(multi_class="ovr", average="weighted")',
    ),
    _Predicted(
        "accuracy",
        "accuracy",
        "share of samples whose highest column is their class",
        "accuracy_score",
        scale="share",
        unseen=0.5,
    ),
    _Predicted(
        "top_3",
        "top-3 accuracy",
        "share of samples whose class is among the three highest columns",
        "top_k_accuracy_score(k=3)",
        needs="predicted, several",
        scale="share",
        unseen=0.5,
    ),
    Kind(
        "balanced_accuracy",
        "balanced accuracy",
        "mean share of each class that is predicted correctly (recall)",
        "balanced_accuracy_score",
        needs="predicted",
        rare_classes_count=True,
    ),
    _Predicted(
        "f1_macro",
        "F1, macro",
        "mean over the classes of the harmonic mean of precision and recall",
        'f1_score(average="macro")',
        rare_classes_count=True,
        is_curved=True,
    ),
    _Agreement(
        "mcc",
        "MCC",
        "Matthews' correlation of true and predicted classes: 0 for chance, 1 for no mistake",
        "matthews_corrcoef",
    ),
    _Agreement(
        "kappa",
        "kappa",
        "Cohen's agreement of true and predicted classes beyond chance: 0 for chance, 1 for no mistake",
        "cohen_kappa_score",
    ),
    _Agreement(
        "quadratic_kappa",
        "quadratic kappa",
        "kappa of ordered classes, mistakes counting by their squared distance",
        'cohen_kappa_score(weights="quadratic")',
        needs="predicted, ordered",
    ),
    _Loss(
        "brier",
        "Brier score",
        "mean squared error of the probabilities, summed over the classes (half of that for two classes)",
        "brier_score_loss",
        highest=2.0,
        unseen=0.5,
    ),
    _Loss(
        "log_loss",
        "log loss",
        "mean of minus the logarithm of the probability of the true class",
        "log_loss",
        highest=float("inf"),
        scale="log",
        unseen=0.5,
    ),
    _Loss(
        "calibration_error",
        "calibration error",
        "mean over classes and 15 bins of |share of the class - mean probability| (class-wise ECE)",
        scale="size",
    ),
)
KINDS: dict[str, Kind] = {kind.name: kind for kind in _KINDS}
# Only where somebody says that the classes are ordered.
ONLY_ORDERED = ("quadratic_kappa",)


# A measure this near to an end of its range is there; sums of shares are rounded.
_AT_END = 1e-12
# The logarithm of a measure with a larger standard error says nothing.
_MOST_SPREAD = 2.0
# Of what an unseen error costs, in a difference of two models: as for areas (`RARE_SHARE` / 2 of 0.25).
_SHARED_UNSEEN = 0.3


@dataclass(frozen=True, eq=False)
class Scaled(Frozen):
    """One measure and how sure it is, by its influences, within its range."""

    estimate: float
    influences: FloatArray
    units: Units
    n_independent: float
    """Units of the smallest class, or all units, whichever a single unit counts in."""
    lowest: float = 0.0
    highest: float = 1.0
    is_log: bool = False
    """Whether the interval is made on a log scale, of losses without a natural upper end."""
    unseen: float = 0.0
    """Cost of one more sample that goes wrong."""
    bias: tuple[float, float] = (0.0, 0.0)
    """By how much the measure is too large on average, and the standard error of that."""
    excess: float = 0.0
    """By how much a measure that is never too small may be too large: of sizes of differences."""
    unshrunk: ClassVar[None] = None
    """No fit shrinks a measure."""

    @cached_property
    def standard_error(self) -> float:
        return whole_error(self.influences, self.units, 0.0)

    @cached_property
    def freedom(self) -> float:
        return freedom(self.influences, self.units)

    @property
    def hidden(self) -> float:
        """Possible effect of an unseen error of one model on its difference from another (`Spread.hidden`)."""
        return _SHARED_UNSEEN * self.unseen

    @property
    def width(self) -> float:
        return self.highest - self.lowest

    @property
    def at_end(self) -> bool:
        """Whether the measure is as good, or as bad, as can be."""
        return min(self.estimate - self.lowest, self.highest - self.estimate) < _AT_END * self.width

    def ends(self, confidence_level: float, kind: IntervalKind = "logit") -> Interval:
        """Confidence interval; never a single point, because a sample without variation is a sample nevertheless."""
        if self.standard_error == 0:
            return self._without_variation(confidence_level)
        reach = Reach.of(confidence_level, self.freedom, self.unseen / self.width)
        if self.excess:
            # From what is left after the largest possible excess to what stands where there is none.
            error = reach.student * self.standard_error
            low, high = self.estimate - self.excess - error, self.estimate + error
        elif self.is_log:
            low, high = self._log_ends(reach)
        else:
            low, high = self._logit_ends(reach)
        # The bias of very few samples may be larger than the error: the estimate stays inside.
        low, high = min(low, self.estimate), max(high, self.estimate)
        return Interval(max(self.lowest, low), min(self.highest, high))

    def corrected(self) -> tuple[float, float]:
        """The estimate less its bias, and its standard error there: where the interval of a difference begins."""
        if self.is_log or self.excess:
            return self.estimate, self.standard_error
        centre, error = logit_corrected(self._place_in_range, self._error, self._place)
        return self.lowest + self.width * centre, self.width * error

    @property
    def _place_in_range(self) -> float:
        return (self.estimate - self.lowest) / self.width

    @property
    def _place(self) -> float | None:
        return place_of(self._place_in_range, self.bias[0] / self.width)

    @property
    def _error(self) -> float:
        plain = math.hypot(self.standard_error, self.bias[1]) / self.width
        return error_at(self._place, self._place_in_range, plain)

    def _logit_ends(self, reach: Reach) -> tuple[float, float]:
        low, high = logit_ends(self._place_in_range, self._error, reach, mean=self._place)
        return self.lowest + self.width * float(low), self.lowest + self.width * float(high)

    def _log_ends(self, reach: Reach) -> tuple[float, float]:
        """Student's t at the lower end, near which few samples carry the mean; one more loss at the upper end."""
        spread = min(self.standard_error / self.estimate, _MOST_SPREAD)
        unseen = min(self.unseen / self.estimate, UNSEEN_BOUND * spread)
        return (
            self.estimate * math.exp(-reach.student * spread),
            self.estimate * math.exp(reach.student * math.hypot(spread, unseen)),
        )

    def _without_variation(self, confidence_level: float) -> Interval:
        """As far as one unit in m might differ from the others without having been seen (Clopper and Pearson)."""
        hidden = self.width * (1 - ((1 - confidence_level) / 2) ** (1 / self.n_independent))
        low, high = max(self.lowest, self.estimate - hidden), min(self.highest, self.estimate + hidden)
        if not self.at_end:
            return Interval(low, high)
        is_high = self.estimate > self.lowest + self.width / 2
        return Interval(low, self.highest) if is_high else Interval(self.lowest, high)


def effective_number(share: FloatArray) -> float:
    """Kish's effective number of samples, from their shares of the weight."""
    return float(1 / np.sum(share**2))


@dataclass(frozen=True, eq=False)
class Share(Scaled):
    """A share of samples: Wilson's interval, unless samples come in groups."""

    def ends(self, confidence_level: float, kind: IntervalKind = "logit") -> Interval:
        if self.units.are_groups:
            return super().ends(confidence_level, kind)
        return wilson_interval(self.estimate, self.n_independent, confidence_level)
