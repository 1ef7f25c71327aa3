"""Uncertainty: how sure the statistics of an evaluation are, by influences, by resamples, or by a second pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeGuard

import numpy as np

from polyroc._core.curve import error_cost, is_mean, least_area
from polyroc._core.samples import is_backwards, warn_of_backwards
from polyroc._counts.counted import second_pass_needed
from polyroc._inputs.checks import InputError
from polyroc._lib.threads import threads_for
from polyroc._lib.typing import AnyStatistic, Curve, FloatArray, Method
from polyroc._lib.warnings import ResamplingWarning, warn
from polyroc._records import Frozen, read_only
from polyroc._uncertainty.band import ConfidenceBand, confidence_band
from polyroc._uncertainty.bootstrap import (
    BootstrapResult,
    chosen_method,
    draw_rates,
    draw_samples,
    least_class,
    rare_class,
    warn_of_few_carriers,
    warn_of_small_classes,
)
from polyroc._uncertainty.delong import freedom, standard_error
from polyroc._uncertainty.influence import (
    N_REFITS,
    Spread,
    curve_draws,
    near_end,
    needs_bias,
    refitted_bias,
    refitted_point_bias,
    refuse_centered,
    too_large,
    whole_error,
)
from polyroc._uncertainty.intervals import Interval, is_at_end
from polyroc._uncertainty.replicates import ParametricReplicates, Replicated, jackknife_influences
from polyroc._uncertainty.units import AnyUnits, Evidence, ResamplingPlan, Units, units_of
from polyroc.baselines._accuracy import accuracy_interval
from polyroc.evaluation._fitted import Fitted
from polyroc.evaluation._measure_list import Kind
from polyroc.evaluation._measure_values import Measured, Passes
from polyroc.evaluation._measures import as_kinds


@dataclass(frozen=True, eq=False)
class Uncertainty(Frozen):
    """How sure the statistics of what was fitted are."""

    fitted: Fitted
    evidence: Evidence | None = None
    """Of counted scores, what a second pass over the samples showed."""

    @property
    def is_known(self) -> bool:
        return self.fitted.has_samples or self.evidence is not None

    @property
    def _second_pass(self) -> Evidence:
        if self.evidence is None:
            raise second_pass_needed()
        return self.evidence

    def units(self, groups: Any = None) -> AnyUnits:
        """Single samples, or groups; of counted scores, those of the second pass."""
        if self.fitted.has_samples:
            return units_of(self.fitted.samples, groups)
        if groups is not None:
            raise InputError("groups", "must be None for counted scores: they belong to the second pass")
        return self._second_pass.units

    def influences(self, statistic: AnyStatistic, max_fpr: float | None = None) -> FloatArray:
        """Influence of each sample on a statistic, shape (n_samples,); of counts, as the second pass has it."""
        if not self.fitted.has_samples:
            return self._second_pass.of(statistic)
        if statistic == "mean_auc" and is_mean(self.fitted.area_weights):
            return self.mean_area_influences
        # Kept where cached properties are: read-only after a pickle, too.
        kept, name = vars(self), _kept_as(statistic, max_fpr)
        if name not in kept:
            if statistic in ("auc", "partial_auc"):
                refuse_centered(self.fitted.options)
            self.fitted.fingerprint.check(self.fitted.source)
            kept[name] = read_only(self.fitted.influences(statistic, max_fpr))
        found: FloatArray = kept[name]
        return found

    @cached_property
    def mean_area_influences(self) -> FloatArray:
        """Influence of each sample on the mean of the areas of the pairs as they are ranked, shape (n_samples,)."""
        fitted = self.fitted
        if fitted.thresholds != "difference":
            return self.influences("hand_till")
        return read_only(fitted.unchanged.area_influences(fitted.pairs, fitted.equal_shares, fitted.thresholds))

    @cached_property
    def pair_sampling_error(self) -> float:
        return self.fitted.pair_error()

    def _pair_error(self, statistic: AnyStatistic, max_fpr: float | None) -> float:
        if statistic not in ("auc", "partial_auc") or self.fitted.source.is_binary:
            return 0.0
        return self.pair_sampling_error if max_fpr is None else self.fitted.pair_error(max_fpr)

    def error_of(self, statistic: AnyStatistic, units: AnyUnits, max_fpr: float | None = None) -> float:
        """Standard error of a statistic by influences, whether or not they hold."""
        return whole_error(self.influences(statistic, max_fpr), units, self._pair_error(statistic, max_fpr))

    @property
    def note(self) -> str:
        """Why D has no interval by influences: the fit, the structure or D itself does not allow it; else empty."""
        doubt = self.fitted.doubt
        if doubt or self.fitted.source.is_binary or is_at_end(self.fitted.mean_area):
            return doubt
        return near_end(self.fitted.curve.auc) or too_large(self.error_of("auc", self.units()), self.fitted.curve.auc)

    def doubt(self, statistic: AnyStatistic, max_fpr: float | None = None) -> str:
        """Why a statistic has no interval by influences; empty if it has one."""
        if statistic == "auc":
            return self.note
        if statistic != "partial_auc" or max_fpr is None:
            return ""
        if not self.fitted.has_samples:
            self._second_pass.of(statistic)
        if self.fitted.source.is_binary:
            return "two classes have no formula for the partial area"
        if (doubt := self.note) or is_at_end(self.fitted.mean_area):
            return doubt
        name, value = "the partial area", self.estimate(statistic, max_fpr)
        error = standard_error(self.influences(statistic, max_fpr), self.units())
        return near_end(value, name) or too_large(error, value, name)

    def chosen_method(self, method: Method, statistic: AnyStatistic, max_fpr: float | None = None) -> Method:
        """The method of an interval, where "auto" looks at the data; counts cannot be resampled."""
        return chosen_method(method, lambda: self.doubt(statistic, max_fpr) if self.fitted.has_samples else "")

    def estimate(self, statistic: AnyStatistic, max_fpr: float | None = None) -> float:
        if max_fpr is not None:
            return self.fitted.curve.partial_auc(max_fpr)
        if statistic == "hand_till":
            return self.fitted.hand_till
        return self.fitted.curve.auc if statistic == "auc" else self.fitted.mean_curve.auc

    def spread(self, statistic: AnyStatistic, units: AnyUnits, max_fpr: float | None = None) -> Spread:
        """How sure a statistic is by its influences; the bias of D, which an interval needs, takes some refits."""
        source, is_area = self.fitted.source, max_fpr is None
        is_fit = statistic in ("auc", "partial_auc") and not source.is_binary
        influences, estimate = self.influences(statistic, max_fpr), self.estimate(statistic, max_fpr)
        bias, unshrunk = (0.0, 0.0), None
        at_end = is_at_end(self.fitted.hand_till if statistic == "hand_till" else self.fitted.mean_area)
        if is_fit and not at_end:
            curve = self.fitted.unshrunk_curve
            assert curve is not None
            unshrunk = curve.auc if max_fpr is None else curve.partial_auc(max_fpr)
            if needs_bias(units, len(source.labels)) and self._can_refit(units):
                bias = refitted_bias(self.fitted.replicates(N_REFITS), estimate, influences, units, max_fpr)
        return Spread(
            estimate=estimate,
            influences=influences,
            units=units,
            n_independent=least_class(source, units),
            n_classes=int(np.count_nonzero(source.class_counts)),
            # Left of a small false positive rate hardly a sample is left: what one more would cost there is not known.
            rare_class=rare_class(source, units) if is_area else None,
            bias=bias,
            unshrunk=unshrunk,
            pair_error=self._pair_error(statistic, max_fpr),
            at_end=at_end,
            error_cost=1.0 if max_fpr is None else error_cost(max_fpr),
            floor=0.0 if max_fpr is None else least_area(max_fpr),
        )

    def _can_refit(self, units: AnyUnits) -> TypeGuard[Units]:
        """Whether samples are there to be weighed again; a warning if their bias stays in D."""
        if not self.fitted.has_samples:
            msg = (
                "The interval of D is not corrected for its bias, because that needs samples in memory. With this few "
                "samples of each class, `polyroc.evaluate` has room for all of them."
            )
            warn(msg, ResamplingWarning)
        return self.fitted.has_samples

    def interval(
        self, confidence_level: float, statistic: AnyStatistic, units: AnyUnits, max_fpr: float | None = None
    ) -> Interval:
        """Confidence interval by influences, with the warnings of a single interval."""
        if doubt := self.doubt(statistic, max_fpr):
            if self.fitted.has_samples:
                raise InputError("method", f"must be 'bootstrap' where {doubt}", "'influence'")
            if self.fitted.doubt:
                raise InputError("statistic", f"must be 'hand_till' for counted scores where {doubt}", repr(statistic))
            # Of counts there is nothing better, and of very many samples nothing wrong with it.
            warn(f"This interval is probably too narrow, because {doubt}.", ResamplingWarning)
        warn_of_small_classes(self.fitted.source, units)
        spread = self.spread(statistic, units, max_fpr)
        warn_of_few_carriers(spread.freedom, spread.at_end)
        found = spread.interval(confidence_level)
        if is_backwards(*found) and statistic != "partial_auc":
            warn_of_backwards()
        return found

    def resampled(
        self, n_resamples: int, units: Units, seed: list[int], n_jobs: int | None, progress: bool, influences: bool
    ) -> BootstrapResult:
        """Replicates of resampled samples or groups."""
        warn_of_small_classes(self.fitted.source, units)
        replicates = self.fitted.replicates(n_resamples)
        plan = ResamplingPlan(self.fitted.samples, units, n_resamples, seed, self.fitted.pairs)
        [drawn] = draw_samples([replicates], plan, n_jobs=n_jobs, progress=progress)
        found = jackknife_influences(replicates, units, n_jobs) if influences else None
        return self.bootstrap_result(drawn, units, influences=found)

    def parametric(
        self, n_resamples: int, method: Method, seed: list[int], n_jobs: int | None, progress: bool
    ) -> BootstrapResult:
        """Replicates of the paper's kind, from rates drawn around the fit."""
        fitted, structure = self.fitted, self.fitted.options.structure
        if fitted.source.is_binary or structure != "rank-one":
            came = "two classes" if fitted.source.is_binary else f"structure={structure!r}"
            raise InputError(
                "method", "must be 'bootstrap' where no rank-one structure is fitted", f"{method!r} for {came}"
            )
        parametric = ParametricReplicates(
            fitted.prepared, fitted.pairs, fitted.options, fitted.factorization, fitted.rates, method, n_resamples
        )
        drawn = draw_rates(parametric, n_resamples, seed, n_jobs=n_jobs, progress=progress)
        return self.bootstrap_result(drawn, units_of(fitted.samples, None), method=method)

    def bootstrap_result(
        self, drawn: Replicated, units: Units, *, method: Method = "bootstrap", influences: FloatArray | None = None
    ) -> BootstrapResult:
        """The record of replicates that were drawn for this evaluation, with warnings of what makes it less sure."""
        fitted, draws_samples = self.fitted, method == "bootstrap"
        if n_failed := int(np.count_nonzero(~drawn.converged)):
            what = f"{n_failed} of {len(drawn.auc)} replicates did not converge; they count as they ended."
            warn(what, ResamplingWarning)
        carrying = freedom(self.mean_area_influences, units)
        if draws_samples:
            warn_of_few_carriers(carrying, is_at_end(fitted.mean_area))
        return BootstrapResult(
            curve=fitted.curve,
            mean_curve=fitted.mean_curve,
            observed_hand_till=fitted.hand_till,
            observed_mean_area=fitted.mean_area,
            auc=drawn.auc,
            hand_till=drawn.hand_till if draws_samples else None,
            mean_auc=drawn.mean_auc if draws_samples else None,
            fpr=drawn.fpr.astype(np.float32),
            tpr=drawn.tpr.astype(np.float32),
            mean_fpr=drawn.mean_fpr.astype(np.float32) if draws_samples else None,
            mean_tpr=drawn.mean_tpr.astype(np.float32) if draws_samples else None,
            method=method,
            by_groups=units.are_groups,
            n_not_converged=n_failed,
            n_lost_class=int(np.count_nonzero(drawn.lost_class)),
            n_classes=int(np.count_nonzero(fitted.source.class_counts)),
            n_independent=least_class(fitted.source, units),
            rare_class=rare_class(fitted.source, units),
            unshrunk_curve=fitted.unshrunk_curve,
            # Those of the pairs' mean area: D's own need a formula of their own, and the same samples carry both.
            freedom=carrying,
            hand_till_freedom=freedom(self.influences("hand_till"), units),
            influences=influences,
        )

    def why_no_band(self, curve: Curve) -> str:
        """Why a curve has no band by influences; empty if it has one."""
        if not self.fitted.has_samples:
            return "for counted scores"
        if self.fitted.source.is_binary:
            return "for two classes, whose curve is no function of call rates"
        return f"where {self.note}" if curve == "shared" and self.note else ""

    def band(self, level: float, curve: Curve, units: Units, *, simultaneous: bool = False) -> ConfidenceBand:
        """Confidence band by influences."""
        source = self.fitted.source
        return confidence_band(
            self.fitted.curve if curve == "shared" else self.fitted.mean_curve,
            *curve_draws(*self.point_spread(curve, units), units),
            level,
            simultaneous=simultaneous,
            least_class=least_class(source, units),
            n_classes=int(np.count_nonzero(source.class_counts)),
            freedom=freedom(self.mean_area_influences, units),
            unshrunk=self.fitted.unshrunk_curve if curve == "shared" else None,
        )

    def point_spread(self, curve: Curve, units: Units) -> tuple[FloatArray, FloatArray, FloatArray]:
        """TPR and then FPR at every call rate, what each sample adds to them, and their bias."""
        self.fitted.fingerprint.check(self.fitted.source)
        observed = self.fitted.curve if curve == "shared" else self.fitted.mean_curve
        points = np.concatenate([observed.tpr[1:-1], observed.fpr[1:-1]])
        influences = self.fitted.point_influences(curve)
        replicates = self.fitted.replicates(N_REFITS)
        return points, influences, refitted_point_bias(replicates, curve, points, influences, units)

    def accuracy_interval(self, level: float, units: AnyUnits | None) -> Interval | None:
        """Interval of an accuracy that can be computed; None of counts in groups, whose right ones nobody knows."""
        if units is None or not units.are_groups:
            return accuracy_interval(self.fitted.unchanged.source, level)
        if not isinstance(units, Units):
            return None
        [measured], _ = self.measured(as_kinds(["accuracy"], ordered=False), units)
        assert measured.sure is not None
        return measured.sure.ends(level)

    def measured(
        self, kinds: Sequence[Kind], units: Units, *, without: tuple[str, ...] = ()
    ) -> tuple[list[Measured], dict[str, str]]:
        """The measures that can be computed, and why the others cannot; `without` those that are known elsewhere."""
        areas = None if self.fitted.pairs.stratum is not None else (lambda: self.fitted.own_areas)
        passes = Passes(self.fitted.unchanged, units, areas)
        left_out = {kind.name: why for kind in kinds if (why := passes.why_not(kind))}
        chosen = [kind for kind in kinds if kind.name not in left_out]
        found = {kind.name: Measured(kind, np.nan, None) for kind in chosen if kind.name in without}
        unknown = [kind for kind in chosen if kind.name not in found]
        # D takes as long as all others together, which need not wait for it.
        lanes = [[kind for kind in unknown if (kind.name == "auc") == is_d] for is_d in (True, False)]
        samples = self.fitted.samples
        with threads_for(samples.n_samples * samples.n_columns, self.fitted.options.n_jobs) as threads:
            for measured in threads.map(partial(self._measure_all, passes), [(lane,) for lane in lanes if lane]):
                found |= measured
        return [found[kind.name] for kind in chosen], left_out

    def _measure_all(self, passes: Passes, kinds: Sequence[Kind]) -> dict[str, Measured]:
        if passes.pair_areas is not None and {"hand_till", "ovr_macro"} <= {kind.name for kind in kinds}:
            # M's influences come with those of other means of the same areas.
            vars(self).setdefault(_kept_as("hand_till"), read_only(passes.means_of_areas.hand_till_influences))
        return {kind.name: self._measure(passes, kind) for kind in kinds}

    def _measure(self, passes: Passes, kind: Kind) -> Measured:
        """One measure; D and M with the interval that `confidence_interval` gives without resampling."""
        if kind.name == "hand_till":
            return Measured(kind, self.fitted.hand_till, self.spread("hand_till", passes.units))
        if kind.name != "auc":
            return passes.of(kind)
        if self.note:
            note = f"It has no interval here because {self.note}: `confidence_interval` resamples instead."
            return Measured(kind, self.fitted.curve.auc, None, note)
        return Measured(kind, self.fitted.curve.auc, self.spread("auc", passes.units))


def _kept_as(statistic: AnyStatistic, max_fpr: float | None = None) -> str:
    return f"influences of {statistic} {max_fpr}"
