"""Intervals and bands of one evaluation, as a page, a table and a log show them: by one method, resampled once."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

from polyroc._inputs.checks import one_of
from polyroc._lib.grid import grid
from polyroc._lib.numbers import counted
from polyroc._lib.typing import AnyStatistic, Curve, Method
from polyroc._uncertainty.band import ConfidenceBand
from polyroc._uncertainty.bootstrap import OF_AUTO, BootstrapResult, Draws, as_draws, least_class
from polyroc._uncertainty.intervals import Interval
from polyroc._uncertainty.units import AnyUnits, Units, as_seed, plain_seed
from polyroc.evaluation._evaluation import Evaluation

# Methods of a page; "none" shows point estimates only.
PageMethod: TypeAlias = Literal["auto", "influence", "bootstrap", "none"]
PAGE_METHODS: tuple[PageMethod, ...] = ("auto", "influence", "bootstrap", "none")

# Samples times call rates up to which bands without resampling take some seconds: 90,000 samples by default.
_QUICK_POINTS = 10_000_000


@dataclass(frozen=True, eq=False)
class EvaluationIntervals:
    """The intervals that `Evaluation.confidence_interval` gives, with the same resamples for all that need some."""

    evaluation: Evaluation
    units: AnyUnits | None
    """Samples or groups; None for replicates of groups that nobody named again."""
    method: Method = "auto"
    draws: Draws = OF_AUTO
    n_jobs: int | None = None
    progress: bool = False
    given: BootstrapResult | None = None
    """Replicates that were drawn elsewhere."""

    @classmethod
    def of(
        cls,
        evaluation: Evaluation,
        method: PageMethod = "auto",
        *,
        groups: Any = None,
        n_resamples: int | None = None,
        rng: int | None = None,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> "EvaluationIntervals | None":
        """None for point estimates, which is all that counted scores have without a second pass."""
        draws = as_draws(one_of(method, "method", PAGE_METHODS), n_resamples=n_resamples, rng=rng)
        if method == "none" or not evaluation.uncertainty.is_known:
            return None
        return cls(evaluation, evaluation.uncertainty.units(groups), method, draws, n_jobs, progress)

    @classmethod
    def of_replicates(
        cls, evaluation: Evaluation, bootstrap: BootstrapResult, units: AnyUnits | None
    ) -> "EvaluationIntervals":
        """By replicates that were drawn elsewhere."""
        return cls(evaluation, units, bootstrap.method, given=bootstrap)

    @property
    def resampled_because(self) -> str:
        """Why "auto" resamples for D; empty if it does not."""
        return self.evaluation.influence_note if self.method == "auto" and self._is_drawn else ""

    @property
    def by_groups(self) -> bool:
        return self.given.by_groups if self.units is None and self.given else bool(self.units and self.units.are_groups)

    @property
    def n_groups(self) -> int | None:
        return self.units.n_units if self.units is not None and self.units.are_groups else None

    @property
    def n_independent(self) -> int:
        """Samples, or groups, of the smallest class."""
        if self.units is None:
            assert self.given is not None
            return self.given.n_independent
        return least_class(self.evaluation.fitted.source, self.units)

    @property
    def told(self) -> str:
        """Where the intervals come from."""
        if not self.evaluation.fitted.has_samples:
            return "standard errors by a second pass, no resampling"
        if self.drawn is None:
            return "intervals by influences, no resampling"
        seed = "" if self.drawn.seed is None else f" (seed {self.drawn.seed})"
        resamples = f"{counted(self.drawn.n_resamples, 'resample')}{seed}"
        return f"D by {resamples} because {why}" if (why := self.resampled_because) else resamples

    @cached_property
    def _is_drawn(self) -> bool:
        return self.evaluation.uncertainty.chosen_method(self.method, "auc") != "influence"

    @cached_property
    def drawn(self) -> BootstrapResult | None:
        """The resamples, if D needs some."""
        return self._resamples if self._is_drawn else None

    @cached_property
    def _resamples(self) -> BootstrapResult:
        if self.given is not None:
            return self.given
        assert isinstance(self.units, Units)
        count, rng = self.draws
        n_jobs = self.evaluation.fitted.options.n_jobs if self.n_jobs is None else self.n_jobs
        drawn = self.evaluation.uncertainty.resampled(
            count, self.units, as_seed(rng), n_jobs, self.progress, influences=False
        )
        return replace(drawn, seed=plain_seed(rng))

    def method_of(self, statistic: AnyStatistic = "auc", max_fpr: float | None = None) -> Method:
        """Where the interval of a statistic comes from."""
        return self.evaluation.uncertainty.chosen_method(self.method, statistic, max_fpr)

    def confidence_interval(
        self, confidence_level: float, *, statistic: AnyStatistic = "auc", max_fpr: float | None = None
    ) -> Interval | None:
        """As `Evaluation.confidence_interval`; None if neither replicates nor counted scores can give one."""
        if self.method_of(statistic, max_fpr) != "influence":
            # Parametric methods draw no samples, and so have no replicates of M.
            if statistic not in ("auc", "partial_auc") and self._resamples.hand_till is None:
                return None
            found = self._resamples.confidence_interval(confidence_level, statistic=statistic, max_fpr=max_fpr)
            return found.by(self._resamples.method)
        is_fit = statistic == "auc" and self.evaluation.fitted.doubt
        if not self.evaluation.fitted.has_samples and (is_fit or max_fpr is not None):
            return None
        assert self.units is not None
        return self.evaluation.uncertainty.interval(confidence_level, statistic, self.units, max_fpr).by("influence")

    def standard_error(self, statistic: AnyStatistic = "auc", max_fpr: float | None = None) -> float:
        """Of a statistic that has an interval."""
        if self.method_of(statistic, max_fpr) != "influence":
            return self._resamples.standard_error(statistic, max_fpr=max_fpr)
        assert self.units is not None
        return self.evaluation.uncertainty.error_of(statistic, self.units, max_fpr)

    def confidence_band(
        self, confidence_level: float, curve: Curve = "shared", *, of_any_size: bool = False
    ) -> ConfidenceBand | None:
        """As `Evaluation.confidence_band`; None if a band alone would need resamples, or a noticeable time."""
        if self.method not in ("auto", "influence") or (curve == "shared" and self.drawn is not None):
            has_curve = curve == "shared" or self._resamples.mean_fpr is not None
            return self._resamples.confidence_band(confidence_level, curve=curve) if has_curve else None
        size = self.evaluation.n_samples * len(grid(self.evaluation.fitted.options.n_thresholds))
        if self.evaluation.uncertainty.why_no_band(curve) or (size > _QUICK_POINTS and not of_any_size):
            return None
        assert isinstance(self.units, Units)
        return self.evaluation.uncertainty.band(confidence_level, curve, self.units)

    def accuracy_interval(self, confidence_level: float) -> Interval | None:
        """As `Evaluation.accuracy_interval`; None if groups are not known."""
        if self.units is None or self.evaluation.accuracy is None:
            return None
        return self.evaluation.uncertainty.accuracy_interval(confidence_level, self.units)
