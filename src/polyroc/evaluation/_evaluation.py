"""Evaluation: one curve, its area, and what follows from them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from polyroc._core.curve import asked_max_fpr
from polyroc._inputs.arrays import plain
from polyroc._inputs.checks import InputError, as_confidence_level, as_flag, as_n_jobs, as_n_resamples, as_rng, one_of
from polyroc._lib.limits import NOTEBOOK_PAIRS
from polyroc._lib.numbers import area
from polyroc._lib.typing import AnyStatistic, Curve, IntervalKind, Method
from polyroc._lib.warnings import underflow_is_zero
from polyroc._uncertainty.band import ConfidenceBand
from polyroc._uncertainty.bootstrap import BootstrapResult, as_draws, check_bca, chosen_method, warn_of_small_classes
from polyroc._uncertainty.intervals import Interval
from polyroc._uncertainty.units import as_seed, plain_seed, units_of
from polyroc.evaluation._evaluated import Evaluated
from polyroc.evaluation._fitted import Pair
from polyroc.evaluation._measures import Measures, as_kinds, table_of
from polyroc.evaluation._text import evaluation_html, evaluation_text, model_whiskers

if TYPE_CHECKING:
    from polyroc.display import RocCurveDisplay

# Samples times pairs up to which a notebook shows intervals: nobody waits to see a result.
_QUICK_CELLS = 2_000_000
_HARDEST = 5


@dataclass(frozen=True, eq=False)
class Evaluation(Evaluated):
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

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> evaluation = polyroc.evaluate(example.y_true, example.scores["logistic"])
    >>> round(evaluation.auc, 4), round(evaluation.hand_till, 4)
    (0.9817, 0.9733)
    >>> low, high = evaluation.confidence_interval()
    >>> print(f"{low:.3f} to {high:.3f}")
    0.976 to 0.985
    >>> pair = evaluation.worst_pair
    >>> pair.positive, pair.negative, round(pair.auc, 4)
    (9, 3, 0.8587)
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
        method = self.uncertainty.chosen_method(method, statistic, stop)
        if method == "delong":
            self._check_delong(statistic)
            return self.uncertainty.interval(level, "hand_till", self.uncertainty.units(groups)).by(method)
        if method == "influence":
            return self.uncertainty.interval(level, statistic, self.uncertainty.units(groups), stop).by(method)
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

    def _check_delong(self, statistic: AnyStatistic) -> None:
        rule = "must be 'hand_till' for method='delong'"
        if statistic in ("auc", "partial_auc"):
            raise InputError("statistic", f"{rule}, which has no formula for D", repr(statistic))
        if statistic == "mean_auc" and not self.fitted.mean_is_hand_till:
            weights = "costs, weights of pairs, and shared thresholds or those on differences"
            where = f"where the area under the mean curve is not M: with {weights}"
            raise InputError("statistic", f"{rule} {where}", repr(statistic))

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
        units = None if groups is None else self.uncertainty.units(groups)
        return None if self.accuracy is None else self.uncertainty.accuracy_interval(level, units)

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
        units = units_of(self.fitted.samples, groups)
        warn_of_small_classes(self.fitted.source, units)
        return table_of(*self.uncertainty.measured(kinds, units), level)

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
        n_jobs = self.fitted.options.n_jobs if n_jobs is None else as_n_jobs(n_jobs)
        progress, influences = as_flag(progress, "progress"), as_flag(influences, "influences")
        if one_of(method, "method", get_args(Method)[:3]) != "bootstrap":
            if influences:
                rule = f"must be False for method={method!r}, which has no samples to leave out"
                raise InputError("influences", rule)
            if groups is not None:
                raise InputError("groups", f"must be None for method={method!r}, which draws rates and no samples")
            drawn = self.uncertainty.parametric(n_resamples, method, as_seed(rng), n_jobs, progress)
        else:
            units = units_of(self.fitted.samples, groups)
            drawn = self.uncertainty.resampled(n_resamples, units, as_seed(rng), n_jobs, progress, influences)
        return replace(drawn, seed=plain_seed(rng))

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
        if chosen_method(method, lambda: self.uncertainty.why_no_band(curve)) == "influence":
            if why := self.uncertainty.why_no_band(curve):
                raise InputError("method", f"must be 'bootstrap' {why}", "'influence'")
            units = units_of(self.fitted.samples, groups)
            warn_of_small_classes(self.fitted.source, units)
            return self.uncertainty.band(level, curve, units, simultaneous=as_flag(simultaneous, "simultaneous"))
        drawn = self.bootstrap(draws.n_resamples, groups=groups, rng=draws.rng, n_jobs=n_jobs, progress=progress)
        return drawn.confidence_band(level, curve=curve, simultaneous=simultaneous)

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
            "fit": {"status": str(fit.status)} | {x: getattr(fit, x) for x in ("n_iter", "deviance", "explained")},
            "options": self.fitted.options.to_dict(),
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
        # Loaded when something is drawn.
        from polyroc.display import RocCurveDisplay

        return RocCurveDisplay.from_evaluation(self).plot(ax, **kwargs)

    def _repr_html_(self) -> str:
        curves = (self.curve, None if self.is_binary else self.mean_curve)
        return evaluation_html(self.headline, self.hardest(_HARDEST), curves, model_whiskers([""], [self._shown_areas]))

    @cached_property
    @underflow_is_zero
    def _shown_areas(self) -> list[tuple[float, float, float]]:
        """D and M with their 95 % intervals, where these take no resampling and no time that somebody notices."""
        n_pairs = len(self.fitted.pairs)
        if n_pairs > NOTEBOOK_PAIRS or self.n_samples * n_pairs > _QUICK_CELLS:
            return []
        try:
            if not self.uncertainty.is_known or self.influence_note:
                return []
            units = self.uncertainty.units()
            statistics: tuple[AnyStatistic, ...] = ("auc",) if self.is_binary else ("auc", "hand_till")
            spreads = [self.uncertainty.spread(statistic, units) for statistic in statistics]
            return [(spread.estimate, *spread.ends(0.95)) for spread in spreads]
        except RuntimeError:  # scores that were changed since: an error of whoever asks for a number, not of a cell
            return []

    def __str__(self) -> str:
        return evaluation_text(self.headline)

    def __repr__(self) -> str:
        fit = self.factorization
        ending = f"converged in {fit.n_iter} iterations" if fit.converged else f"NOT converged ({fit.status})"
        return (
            f"Evaluation(auc={area(self.auc)}, {len(self.labels)} classes, {self.n_samples} samples, "
            f"{len(self.fitted.pairs)} pairs, fit {ending})"
        )


def _plain_pair(pair: Pair) -> dict[str, Any]:
    """A pair that `json` can write: labels of other types become text, as in the table."""
    return {name: x if isinstance(x, bool | int | float | str) else str(x) for name, x in pair._asdict().items()}
