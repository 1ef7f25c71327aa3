"""Evaluation: one curve, its area, and what follows from them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from polyroc._estimator._curve import asked_max_fpr
from polyroc._estimator._doubts import warn_of_backwards
from polyroc._inputs.checks import InputError, as_confidence_level, as_flag, as_n_jobs, as_n_resamples, as_rng, one_of
from polyroc._inputs.frames import plain
from polyroc._lib.limits import NOTEBOOK_PAIRS
from polyroc._lib.numbers import area
from polyroc._lib.threads import threads_for
from polyroc._lib.typing import AnyStatistic, Curve, FloatArray, IntervalKind, Method
from polyroc._lib.warnings import ResamplingWarning, underflow_is_zero, warn
from polyroc._records import read_only
from polyroc._uncertainty.band import ConfidenceBand, confidence_band
from polyroc._uncertainty.bootstrap import (
    BootstrapResult,
    check_bca,
    draw_rates,
    draw_samples,
    least_class,
    result_of,
    warn_of_few_carriers,
    warn_of_small_classes,
)
from polyroc._uncertainty.delong import freedom
from polyroc._uncertainty.influence import (
    N_REFITS,
    curve_draws,
    refitted_point_bias,
)
from polyroc._uncertainty.intervals import Interval
from polyroc._uncertainty.jackknife import jackknife_influences
from polyroc._uncertainty.method import as_draws, chosen_method
from polyroc._uncertainty.parametric import ParametricReplicates
from polyroc._uncertainty.replicates import Replicated
from polyroc._uncertainty.units import AnyUnits, ResamplingPlan, Units, as_seed, plain_seed, units_of
from polyroc.baselines._accuracy import accuracy_interval
from polyroc.evaluation._influenced import Influenced
from polyroc.evaluation._measure_list import Kind
from polyroc.evaluation._measure_values import Measured, Passes
from polyroc.evaluation._measures import Measures, as_kinds, table_of
from polyroc.evaluation._notebook import evaluation_html, model_whiskers
from polyroc.evaluation._pairs import Pair
from polyroc.evaluation._text import evaluation_text

if TYPE_CHECKING:
    from polyroc.display import RocCurveDisplay

# Samples times pairs up to which a notebook shows intervals: nobody waits to see a result.
_QUICK_CELLS = 2_000_000
_HARDEST = 5


@dataclass(frozen=True, eq=False)
class Evaluation(Influenced):
    """Result of `evaluate`: D and M, their curves, and every pair of classes.

    Attributes
    ----------
    auc : float
        D (multi-class AUC): area under `curve`.
    curve : RocCurve
        The curve fitted to all pairs of classes.
    labels : ndarray of shape (n_classes,)
        The classes, in the order of the score columns.
    n_samples : int
        Samples that counted (those of weight 0 do not).
    class_counts : ndarray of shape (n_classes,)
        Samples of each class.
    pairs : Pairs
        One entry per ordered pair of classes: its area, its effect, its sample numbers.
    classes : Classes
        One entry per class: recall, precision, areas, its hardest partner, where its mistakes go. Computed on first
        access.
    hand_till : float
        M (Hand and Till, scikit-learn's `ovo`): the mean of the areas of all pairs, each ranked by its own column,
        whatever `thresholds` are. Computed on first access.
    accuracy : float or None
        Share of samples whose highest score column is that of their class. None if it cannot be computed;
        `accuracy_note` says why.
    worst_pair : Pair
        The pair of classes with the smallest area.
    notes : tuple of str
        What contradicts D, one sentence each: a class that is never predicted, a pair that fails although D is high, or
        D and M far apart.
    mean_curve : RocCurve
        The mean of the pairs' ROC curves at equal call rates. Computed on first access.
    mean_auc : float
        Area under `mean_curve`: `hand_till`, unless there are costs, other weights of pairs or shared thresholds;
        AUCmu with ``thresholds="difference"``.
    rates : PairwiseRates
        The pairwise rates on the grid of call rates. Of many classes, computed on first access.
    score_thresholds : ndarray of shape (n_call_rates, n_pairs)
        The score at which each pair reaches each call rate, or the difference of scores. Computed on first access.
    factorization : Factorization
        Row effects, pair effects, and how the fit ended.
    influences : ndarray of shape (n_samples,)
        What each sample contributes to D. Computed on first access.
    standard_error : float or None
        Standard error of D without resampling; None if influences do not hold. Computed on first access.
    influence_note : str
        Why `influences` give no interval of D; empty where they do.
    """

    @underflow_is_zero
    def confidence_interval(
        self,
        confidence_level: float = 0.95,
        *,
        statistic: AnyStatistic = "auc",
        max_fpr: float | None = None,
        method: Method = "auto",
        interval: IntervalKind = "logit",
        n_resamples: int | None = None,
        groups: "ArrayLike | None" = None,
        rng: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> Interval:
        """Confidence interval of D, of Hand and Till's M, of the area under the mean curve or of the partial area.

        For several intervals, or an interval and a band, call `bootstrap` once and ask its result.

        Parameters
        ----------
        confidence_level : float
            Between 0 and 1.
        statistic : {"auc", "hand_till", "mean_auc", "partial_auc"}
            D, Hand and Till's M, the area under the mean curve, or `partial_auc` of this `max_fpr`.
        max_fpr : float, optional
            Where the partial area stops, in (0, 1]; for nothing else.
        method : {"auto", "influence", "bootstrap", "delong", "parametric-pairs", "parametric-samples"}
            Source of the uncertainty. "influence": what each sample contributes, without resampling; it is refused
            if its formula does not hold (`influence_note` says why). "bootstrap": resampled samples; nearly the
            same intervals, much slower. "auto": "influence" if it holds for these data, else "bootstrap" with 999
            resamples and seed 0. "delong": DeLong's formula, which is "influence" for M.
            "parametric-pairs" and "parametric-samples": rates simulated around the fit, with n_i n_j trials each as
            in the paper, or with n_i and n_j. They reproduce the paper, and their intervals are far too narrow: see
            the page on coverage.
        interval : {"logit", "percentile", "basic", "bca"}
            How the interval is computed from the replicates: on the logit scale, with corrections for bias, shrinkage
            and errors that no sample shows (the default); their quantiles; their quantiles reflected at the estimate;
            or quantiles corrected for bias and skewness, with up to 500 more evaluations. All but "logit" need a
            method that draws.
        n_resamples : int, optional
            Number of replicates, 999 by default; only for a method that draws ("bootstrap" and the parametric ones).
        groups : array-like of shape (n_samples,), optional
            Group of each sample, such as a patient ID. If given, whole groups are resampled instead of single samples,
            or their influences are summed. By default samples are resampled within each class. A resample of groups
            without any pair of classes to compare is drawn again.
        rng : int, Generator or None
            Seed of the resamples, only for a method that draws; the same one gives the same bits whatever `n_jobs`.
        n_jobs : int, optional
            Number of threads; None for as many as the process may use.
        progress : bool
            Show a bar with the time left while resampling (needs ``polyroc[progress]``); changes no number.

        Returns
        -------
        Interval
            A named tuple with `low` and `high`, which also has the `method` that was used.

        Examples
        --------
        >>> import polyroc
        >>> example = polyroc.load_example()
        >>> evaluation = polyroc.evaluate(example.y_true, example.scores["tree"])
        >>> low, high = evaluation.confidence_interval()
        >>> low < evaluation.auc < high
        True
        >>> evaluation.confidence_interval().method
        'influence'
        >>> evaluation.confidence_interval(method="bootstrap", n_resamples=199, rng=0).method
        'bootstrap'
        """
        level, method = as_confidence_level(confidence_level), one_of(method, "method", get_args(Method))
        draws = as_draws(method, n_resamples=n_resamples, rng=rng, interval=interval)
        n_jobs, progress = as_n_jobs(n_jobs), as_flag(progress, "progress")
        statistic = one_of(statistic, "statistic", get_args(AnyStatistic))
        stop = asked_max_fpr(statistic, max_fpr)
        method = self._chosen_method(method, statistic, stop)
        if method == "delong":
            return self._delong_interval(level, statistic, self._units(groups)).by(method)
        if method == "influence":
            return self._influence_interval(level, statistic, self._units(groups), stop).by(method)
        if method != "bootstrap" and statistic not in ("auc", "partial_auc"):
            raise InputError(
                "statistic", f"must be 'auc' for method={method!r}, which draws rates and no samples", repr(statistic)
            )
        if interval == "bca":
            check_bca(method, statistic)
        drawn = self.bootstrap(
            draws.n_resamples,
            method=method,
            groups=groups,
            rng=draws.rng,
            n_jobs=n_jobs,
            progress=progress,
            influences=interval == "bca",
        )
        return drawn.confidence_interval(level, statistic=statistic, max_fpr=stop, interval=interval).by(method)

    def _chosen_method(self, method: Method, statistic: AnyStatistic, max_fpr: float | None = None) -> Method:
        """The method of an interval, where "auto" looks at the data; counts cannot be resampled."""
        return chosen_method(method, lambda: self._doubt(statistic, max_fpr) if self._has_samples else "")

    def _delong_interval(self, confidence_level: float, statistic: AnyStatistic, units: AnyUnits) -> Interval:
        if statistic in ("auc", "partial_auc"):
            raise InputError(
                "statistic", "must be 'hand_till' for method='delong', which has no formula for D", repr(statistic)
            )
        if statistic == "mean_auc" and not self._mean_is_hand_till:
            raise InputError(
                "statistic",
                "must be 'hand_till' for method='delong' where the area under the mean curve is not M: with "
                "costs, weights of pairs, and shared thresholds or those on differences",
                repr(statistic),
            )
        return self._influence_interval(confidence_level, "hand_till", units)

    def _influence_interval(
        self,
        confidence_level: float,
        statistic: AnyStatistic,
        units: AnyUnits,
        max_fpr: float | None = None,
    ) -> Interval:
        if doubt := self._doubt(statistic, max_fpr):
            if self._has_samples:
                raise InputError("method", f"must be 'bootstrap' where {doubt}", "'influence'")
            if self._fitted.doubt:
                raise InputError("statistic", f"must be 'hand_till' for counted scores where {doubt}", repr(statistic))
            # Of counts there is nothing better, and of very many samples nothing wrong with it.
            warn(f"This interval is probably too narrow, because {doubt}.", ResamplingWarning)
        warn_of_small_classes(self._source, units)
        spread = self._spread(statistic, units, max_fpr)
        warn_of_few_carriers(spread.freedom, spread.at_end)
        found = spread.interval(confidence_level)
        if found.high < 0.5 and statistic != "partial_auc":
            warn_of_backwards()
        return found

    @underflow_is_zero
    def accuracy_interval(
        self, confidence_level: float = 0.95, *, groups: "ArrayLike | None" = None
    ) -> Interval | None:
        """Confidence interval of the accuracy, that of `measures`; None where there is no accuracy.

        Samples count as independent (Wilson's interval); with weights, as many as Kish's effective number.

        Parameters
        ----------
        confidence_level : float
            Between 0 and 1.
        groups : array-like of shape (n_samples,), optional
            Group of each sample, such as a patient ID. If given, groups are independent, not samples.

        Returns
        -------
        Interval or None
            A named tuple with `low` and `high`.

        Examples
        --------
        >>> import polyroc
        >>> example = polyroc.load_example()
        >>> evaluation = polyroc.evaluate(example.y_true, example.scores["tree"])
        >>> low, high = evaluation.accuracy_interval()
        >>> low < evaluation.accuracy < high
        True
        """
        level = as_confidence_level(confidence_level)
        return self._accuracy_interval(level, None if groups is None else self._units(groups))

    def _accuracy_interval(self, level: float, units: AnyUnits | None) -> Interval | None:
        if self.accuracy is None:
            return None
        if units is None or not units.are_groups:
            return accuracy_interval(self._unchanged.source, level)
        # Of counted scores nobody knows which groups were right.
        if not isinstance(units, Units):
            return None
        [measured], _ = self._measured(as_kinds(["accuracy"], ordered=False), units)
        assert measured.sure is not None
        return measured.sure.ends(level)

    @underflow_is_zero
    def measures(
        self,
        names: Sequence[str] | None = None,
        *,
        ordered: bool = False,
        confidence_level: float = 0.95,
        groups: "ArrayLike | None" = None,
    ) -> Measures:
        """D, M, accuracy, F1, kappa and other measures of the same samples, each with an interval, without resampling.

        Measures that depend on the proportions of the classes (accuracy, F1, Brier score, ...) count the samples as
        drawn at random from all classes; the others count the numbers of samples per class as given.

        Parameters
        ----------
        names : sequence of str, optional
            Which measures, in which order; by default all that can be computed. The page on measures lists them.
        ordered : bool
            Whether the classes are ordered as the columns are: adds the quadratic kappa.
        confidence_level : float
            Between 0 and 1.
        groups : array-like of shape (n_samples,), optional
            Group of each sample, such as a patient ID. If given, groups are independent, not samples.

        Returns
        -------
        Measures
            One row per measure; `left_out` says why others are not there.

        Examples
        --------
        >>> import polyroc
        >>> example = polyroc.load_example()
        >>> evaluation = polyroc.evaluate(example.y_true, example.scores["tree"])
        >>> measures = evaluation.measures(["accuracy", "f1_macro", "mcc"])
        >>> print(measures)
        measure    estimate  95 % interval     standard error  better
        accuracy   0.5562    [0.5235, 0.5883]  0.0166          higher
        F1, macro  0.5149    [0.4933, 0.5379]  0.0114          higher
        MCC        0.5425    [0.5096, 0.5738]  0.0164          higher
        >>> measures["mcc"].low > 0.5
        True
        """
        kinds, level = as_kinds(names, ordered), as_confidence_level(confidence_level)
        units = units_of(self._samples, groups)
        warn_of_small_classes(self._source, units)
        found, left_out = self._measured(kinds, units)
        return table_of(found, left_out, level)

    def _measured(
        self, kinds: Sequence[Kind], units: Units, *, without: tuple[str, ...] = ()
    ) -> tuple[list[Measured], dict[str, str]]:
        """The measures that can be computed, and why the others cannot; `without` those that somebody has elsewhere."""
        areas = None if self._pair_index.stratum is not None else (lambda: self._own_areas)
        passes = Passes(self._unchanged, units, areas)
        left_out = {kind.name: why for kind in kinds if (why := passes.why_not(kind))}
        asked = [kind for kind in kinds if kind.name not in left_out]
        found = {kind.name: Measured(kind, np.nan, None) for kind in asked if kind.name in without}
        unknown = [kind for kind in asked if kind.name not in found]
        # D takes as long as all others together, which need not wait for it.
        lanes = [[kind for kind in unknown if (kind.name == "auc") == is_d] for is_d in (True, False)]
        samples = self._samples
        with threads_for(samples.n_samples * samples.n_columns, self._options.n_jobs) as threads:
            for measured in threads.map(partial(self._measure_all, passes), [(lane,) for lane in lanes if lane]):
                found |= measured
        return [found[kind.name] for kind in asked], left_out

    def _measure_all(self, passes: Passes, kinds: Sequence[Kind]) -> dict[str, Measured]:
        if passes.pair_areas is not None and {"hand_till", "ovr_macro"} <= {kind.name for kind in kinds}:
            # Kept where cached properties are: M's influences come with those of other means of the same areas.
            vars(self).setdefault("hand_till_influences", read_only(passes.means_of_areas.hand_till_influences))
        return {kind.name: self._measure(passes, kind) for kind in kinds}

    def _measure(self, passes: Passes, kind: Kind) -> Measured:
        """One measure; D and M with the interval that `confidence_interval` gives without resampling."""
        if kind.name == "hand_till":
            return Measured(kind, self.hand_till, self._spread("hand_till", passes.units))
        if kind.name != "auc":
            return passes.of(kind)
        if self.influence_note:
            note = f"It has no interval here because {self.influence_note}: `confidence_interval` resamples instead."
            return Measured(kind, self.auc, None, note)
        return Measured(kind, self.auc, self._spread("auc", passes.units))

    @underflow_is_zero
    def bootstrap(
        self,
        n_resamples: int = 999,
        *,
        method: Method = "bootstrap",
        groups: "ArrayLike | None" = None,
        rng: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
        progress: bool = False,
        influences: bool = False,
    ) -> BootstrapResult:
        """Replicates of D, of Hand and Till's M, of the area under the mean curve, and of both curves.

        Parameters
        ----------
        n_resamples : int
            Number of replicates.
        method : {"bootstrap", "parametric-pairs", "parametric-samples"}
            As in `confidence_interval`.
        groups, rng, n_jobs, progress
            As in `confidence_interval`.
        influences : bool
            Whether to find what single samples add to each statistic, by up to 500 more evaluations. The result needs
            it for ``interval="bca"``.

        Returns
        -------
        BootstrapResult
            With the replicates, `confidence_interval`, `confidence_band` and `standard_error`: numbers only, without
            the samples.

        Examples
        --------
        >>> import polyroc
        >>> example = polyroc.load_example()
        >>> evaluation = polyroc.evaluate(example.y_true, example.scores["tree"])
        >>> drawn = evaluation.bootstrap(99, rng=0)
        >>> drawn.auc.shape, drawn.tpr.shape
        ((99,), (99, 111))
        """
        n_resamples, rng = as_n_resamples(n_resamples), as_rng(rng)
        n_jobs = self._options.n_jobs if n_jobs is None else as_n_jobs(n_jobs)
        progress, influences = as_flag(progress, "progress"), as_flag(influences, "influences")
        if one_of(method, "method", get_args(Method)[:3]) != "bootstrap":
            if influences:
                raise InputError(
                    "influences", f"must be False for method={method!r}, which has no samples to leave out"
                )
            drawn = self._parametric(n_resamples, method, groups, as_seed(rng), n_jobs, progress)
        else:
            units = units_of(self._samples, groups)
            drawn = self._drawn(n_resamples, units, as_seed(rng), n_jobs, progress, influences)
        return replace(drawn, seed=plain_seed(rng))

    def _drawn(
        self, n_resamples: int, units: Units, seed: list[int], n_jobs: int | None, progress: bool, influences: bool
    ) -> BootstrapResult:
        warn_of_small_classes(self._source, units)
        replicates = self._replicates(n_resamples)
        plan = ResamplingPlan(self._samples, units, n_resamples, seed, self._pair_index)
        [drawn] = draw_samples([replicates], plan, n_jobs=n_jobs, progress=progress)
        found = jackknife_influences(replicates, units, n_jobs) if influences else None
        return self._bootstrap_result(drawn, units, influences=found)

    def _parametric(
        self, n_resamples: int, method: Method, groups: Any, seed: list[int], n_jobs: int | None, progress: bool
    ) -> BootstrapResult:
        if groups is not None:
            raise InputError("groups", f"must be None for method={method!r}, which draws rates and no samples")
        if self.is_binary or self._options.structure != "rank-one":
            came = "two classes" if self.is_binary else f"structure={self._options.structure!r}"
            raise InputError(
                "method", "must be 'bootstrap' where no rank-one structure is fitted", f"{method!r} for {came}"
            )
        parametric = ParametricReplicates(
            self._prepared, self._pair_index, self._options, self.factorization, self.rates, method, n_resamples
        )
        drawn = draw_rates(parametric, n_resamples, seed, n_jobs=n_jobs, progress=progress)
        return self._bootstrap_result(drawn, units_of(self._samples, None), method=method)

    def _bootstrap_result(
        self,
        drawn: Replicated,
        units: Units,
        *,
        method: Method = "bootstrap",
        influences: FloatArray | None = None,
    ) -> BootstrapResult:
        """Replicates that were drawn for this evaluation, as the record that answers questions about them."""
        return result_of(
            drawn,
            curve=self.curve,
            mean_curve=self.mean_curve,
            unshrunk_curve=self.unshrunk_curve,
            observed_hand_till=self.hand_till,
            observed_mean_area=self._mean_area,
            hand_till_influences=self.hand_till_influences,
            mean_area_influences=self._mean_area_influences,
            predictions=self._samples,
            units=units,
            method=method,
            influences=influences,
        )

    @underflow_is_zero
    def confidence_band(
        self,
        confidence_level: float = 0.95,
        *,
        curve: Curve = "shared",
        simultaneous: bool = False,
        method: Literal["auto", "influence", "bootstrap"] = "auto",
        n_resamples: int | None = None,
        groups: "ArrayLike | None" = None,
        rng: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> ConfidenceBand:
        """Confidence band around the curve, or around the mean curve.

        Parameters
        ----------
        confidence_level : float
            Between 0 and 1.
        curve : {"shared", "mean"}
            The curve of D, or the mean curve.
        simultaneous : bool
            Whether the band covers the whole curve at this level, or each point separately.
        method : {"auto", "influence", "bootstrap"}
            Source of the uncertainty: what each sample contributes to each point of the curve, or resampled samples;
            "auto" as in `confidence_interval`.
        n_resamples, groups, rng, n_jobs, progress
            As in `confidence_interval`.

        Returns
        -------
        ConfidenceBand
            Two curves, `lower` and `upper`.

        Examples
        --------
        >>> import polyroc
        >>> example = polyroc.load_example()
        >>> evaluation = polyroc.evaluate(example.y_true, example.scores["tree"])
        >>> band = evaluation.confidence_band()
        >>> band.lower.auc < evaluation.auc < band.upper.auc
        True
        """
        level, curve = as_confidence_level(confidence_level), one_of(curve, "curve", get_args(Curve))
        method = one_of(method, "method", ("auto", "influence", "bootstrap"))
        draws = as_draws(method, n_resamples=n_resamples, rng=rng)
        n_jobs, progress = as_n_jobs(n_jobs), as_flag(progress, "progress")
        if chosen_method(method, lambda: self._why_no_band(curve)) == "influence":
            if why := self._why_no_band(curve):
                raise InputError("method", f"must be 'bootstrap' {why}", "'influence'")
            units = units_of(self._samples, groups)
            warn_of_small_classes(self._source, units)
            return self._band_by_influences(level, curve, units, simultaneous=as_flag(simultaneous, "simultaneous"))
        drawn = self.bootstrap(draws.n_resamples, groups=groups, rng=draws.rng, n_jobs=n_jobs, progress=progress)
        return drawn.confidence_band(level, curve=curve, simultaneous=simultaneous)

    def _why_no_band(self, curve: Curve) -> str:
        """Why a curve has no band by influences; empty where it has one."""
        if not self._has_samples:
            return "for counted scores"
        if self.is_binary:
            return "for two classes, whose curve is no function of call rates"
        return f"where {self.influence_note}" if curve == "shared" and self.influence_note else ""

    def _band_by_influences(
        self, level: float, curve: Curve, units: Units, *, simultaneous: bool = False
    ) -> ConfidenceBand:
        return confidence_band(
            self.curve if curve == "shared" else self.mean_curve,
            *curve_draws(*self._point_spread(curve, units), units),
            level,
            simultaneous=simultaneous,
            least_class=least_class(self._source, units),
            n_classes=int(np.count_nonzero(self.class_counts)),
            freedom=freedom(self._mean_area_influences, units),
            unshrunk=self.unshrunk_curve if curve == "shared" else None,
        )

    def _point_spread(self, curve: Curve, units: Units) -> tuple[FloatArray, FloatArray, FloatArray]:
        """TPR and then FPR at every call rate, what each sample adds to them, and their bias."""
        self._fingerprint.check(self._source)
        observed = self.curve if curve == "shared" else self.mean_curve
        points = np.concatenate([observed.tpr[1:-1], observed.fpr[1:-1]])
        influences = self._fitted.point_influences(curve)
        return points, influences, refitted_point_bias(self._replicates(N_REFITS), curve, points, influences, units)

    def to_dict(self, *, include_rates: bool = False) -> dict[str, Any]:
        """Everything as plain data that `json` can write.

        Parameters
        ----------
        include_rates : bool
            Also the pairwise rates, 2 T K numbers.
        """
        include_rates, fit = as_flag(include_rates, "include_rates"), self.factorization
        record: dict[str, Any] = {
            "auc": self.auc,
            "hand_till": self.hand_till,
            "accuracy": self.accuracy,
            "accuracy_note": self.accuracy_note,
            "worst_pair": _plain_pair(self.worst_pair) | {"reversed_auc": self._worst_reversed},
            "notes": list(self.notes),
            "mean_auc": self.mean_auc,
            "n_samples": self.n_samples,
            "labels": plain(self.labels),
            "class_counts": plain(self.class_counts),
            "curve": {"fpr": plain(self.curve.fpr), "tpr": plain(self.curve.tpr)},
            "mean_curve": {"fpr": plain(self.mean_curve.fpr), "tpr": plain(self.mean_curve.tpr)},
            "classes": self.classes.to_dict(),
            "pairs": self.pairs.to_dict(),
            "fit": {
                "status": str(fit.status),
                "n_iter": fit.n_iter,
                "deviance": fit.deviance,
                "explained": fit.explained,
            },
            "options": self._options.to_dict(),
        }
        if include_rates:
            rates = self.rates
            record["rates"] = {
                **{name: getattr(rates, name).tolist() for name in ("call_rates", "tpr", "fpr")},
                "thresholds": self.score_thresholds.tolist(),
            }
        return record

    def plot(self, ax: Any = None, **kwargs: Any) -> "RocCurveDisplay":
        """Draw the curve (needs ``polyroc[plot]``).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **kwargs
            Further arguments of `polyroc.display.RocCurveDisplay.plot`, such as ``pairs=True``, ``scale="corner"``
            for a D above 0.95, or ``scale="logit"``.

        Returns
        -------
        RocCurveDisplay
            With `ax_`, `figure_` and `line_`.
        """
        # The one way up from the numbers: whoever does not draw does not load it.
        from polyroc.display import RocCurveDisplay

        return RocCurveDisplay.from_evaluation(self).plot(ax, **kwargs)

    def _repr_html_(self) -> str:
        curves = (self.curve, None if self.is_binary else self.mean_curve)
        return evaluation_html(
            self.headline, self._hardest(_HARDEST), curves, model_whiskers([""], [self._shown_areas])
        )

    @cached_property
    @underflow_is_zero
    def _shown_areas(self) -> list[tuple[float, float, float]]:
        """D and M with their 95 % intervals, where these take no resampling and no time that somebody notices."""
        n_pairs = len(self._pair_index)
        if n_pairs > NOTEBOOK_PAIRS or self.n_samples * n_pairs > _QUICK_CELLS:
            return []
        try:
            if (not self._has_samples and self._evidence is None) or self.influence_note:
                return []
            units = self._units()
            statistics: tuple[AnyStatistic, ...] = ("auc",) if self.is_binary else ("auc", "hand_till")
            return [(self._estimate(one, None), *self._spread(one, units).ends(0.95)) for one in statistics]
        except RuntimeError:
            # The scores were changed since, which is said where a number is asked for: a cell still shows the others.
            return []

    def __str__(self) -> str:
        return evaluation_text(self.headline)

    def __repr__(self) -> str:
        fit = self.factorization
        ending = f"converged in {fit.n_iter} iterations" if fit.converged else f"NOT converged ({fit.status})"
        return (
            f"Evaluation(auc={area(self.auc)}, {len(self.labels)} classes, {self.n_samples} samples, "
            f"{len(self._pair_index)} pairs, fit {ending})"
        )


def _plain_pair(pair: Pair) -> dict[str, Any]:
    """A pair that `json` can write: labels of other types become text, as in the table."""
    return {name: x if isinstance(x, bool | int | float | str) else str(x) for name, x in pair._asdict().items()}
