"""Replicates of an evaluation -> BootstrapResult: intervals and bands without new work."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar, get_args

import numpy as np

from polyroc._core.curve import RocCurve, asked_max_fpr, error_cost, least_area, partial_areas, with_corners
from polyroc._core.samples import is_backwards, warn_of_backwards
from polyroc._inputs.checks import InputError, as_confidence_level, as_flag, as_n_resamples, as_rng, listed, one_of
from polyroc._inputs.options import Options
from polyroc._lib.grid import grid
from polyroc._lib.numbers import area
from polyroc._lib.threads import Threads
from polyroc._lib.typing import AnyStatistic, Curve, FloatArray, IntArray, IntervalKind, Method, Statistic
from polyroc._lib.warnings import ResamplingWarning, progress_bar, underflow_is_zero, warn
from polyroc._records import Frozen, Predictions, Source
from polyroc._uncertainty.band import ConfidenceBand, confidence_band
from polyroc._uncertainty.intervals import Distribution, Interval, is_at_end
from polyroc._uncertainty.replicates import USUAL_RESAMPLES, ParametricReplicates, Replicated, Replicates
from polyroc._uncertainty.units import AnyUnits, ResamplingPlan, StreamedUnits, Streams

_DRAWING = ("bootstrap", "parametric-pairs", "parametric-samples")
_Method = TypeVar("_Method", bound=str)


class Draws(NamedTuple):
    """Number and seed of the resamples."""

    n_resamples: int
    rng: Any


# If the data ask for resamples, they are always the same.
OF_AUTO = Draws(USUAL_RESAMPLES, 0)


def as_draws(method: str, *, n_resamples: Any = None, rng: Any = None, interval: Any = "logit") -> Draws:
    """Resamples of a method; an error if their options come with a method that does not draw."""
    interval = one_of(interval, "interval", get_args(IntervalKind))
    count = USUAL_RESAMPLES if n_resamples is None else as_n_resamples(n_resamples)
    draws = Draws(count, as_rng(rng))
    if method in _DRAWING:
        return draws
    given = {"n_resamples": n_resamples is not None, "rng": rng is not None, "interval": interval != "logit"}
    for name in [name for name, is_given in given.items() if is_given]:
        why = "chooses by the data alone" if method == "auto" else "does not resample"
        raise InputError(name, f"needs a method that draws: pass method='bootstrap' (method={method!r} {why})")
    return OF_AUTO


def chosen_method(method: _Method, doubt: Callable[[], str]) -> _Method:
    """The method itself; for "auto" influences, or the bootstrap if there is a doubt about their formula.

    >>> chosen_method("auto", lambda: ""), chosen_method("auto", lambda: "D is within 0.001 of 1")
    ('influence', 'bootstrap')
    """
    if method != "auto":
        return method
    return "bootstrap" if doubt() else "influence"  # type: ignore[return-value]  # names of the same Literal


# Fewer samples of a class show little of how they vary.
_FEW_SAMPLES = 10
# Fewer degrees of freedom than this are warned of. The population on which intervals failed in the study, ten nearest
# neighbours at D = 0.999 (59 %, docs/coverage.md), has such samples: what one shows says little about what none shows.
_FEW_CARRY = 5.0
# Parametric replicates that are drawn together.
_AT_ONCE = 16


@dataclass(frozen=True, eq=False)
class BootstrapResult(Frozen):
    """Replicates of the statistics and of both curves, and what follows from them.

    Attributes
    ----------
    curve : RocCurve
        The curve of the sample itself.
    mean_curve : RocCurve
        The mean curve of the sample itself.
    observed_hand_till : float
        Hand and Till's M of the sample itself.
    observed_mean_area : float
        Mean area of the pairs as they are ranked: M, or AUCmu with ``thresholds="difference"``.
    auc : ndarray of shape (n_resamples,)
        Replicates of D.
    hand_till : ndarray of shape (n_resamples,), or None
        Replicates of Hand and Till's M; None for the parametric methods, which resample no samples.
    mean_auc : ndarray of shape (n_resamples,), or None
        Replicates of the area under the mean curve; likewise. The same as `hand_till` where it is M.
    fpr, tpr : ndarray of shape (n_resamples, n_call_rates)
        Replicates of the curve, without its corners.
    mean_fpr, mean_tpr : ndarray of shape (n_resamples, n_call_rates), or None
        Replicates of the mean curve, without its corners; None for the parametric methods.
    method : str
        How they were made.
    by_groups : bool
        Whether whole groups were resampled, or single samples.
    n_not_converged : int
        Replicates whose fit did not converge. They count as they ended.
    n_lost_class : int
        Replicates without any sample of some class, whose pairs were left out. Only with groups.
    n_classes : int
        Classes that have samples.
    n_independent : int
        Samples, or groups, of the smallest of them.
    rare_class : float
        Samples, or groups, of a class in which an unseen error costs the root mean square of what it costs in each.
    unshrunk_curve : RocCurve or None
        The curve of the sample without shrinkage; None of two classes, whose curve is no fit.
    freedom : float
        Degrees of freedom of the standard errors: few where few samples carry the variance.
    hand_till_freedom : float
        The same of M, which differ with ``thresholds="difference"``.
    influences : ndarray of shape (3, n_blocks), or None
        What single samples, or blocks of them, add to D, M and the area under the mean curve, found by leaving them
        out. Only the interval "bca" needs them; None where they were not asked for.
    seed : int or None
        The seed that was given as `rng`; None where it was a generator or nothing.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> evaluation = polyroc.evaluate(example.y_true, example.scores["logistic"])
    >>> replicates = evaluation.bootstrap(n_resamples=99, rng=0)
    >>> replicates.method, replicates.auc.shape
    ('bootstrap', (99,))
    >>> low, high = replicates.confidence_interval()
    >>> bool(low < evaluation.auc < high)
    True
    """

    curve: RocCurve
    mean_curve: RocCurve
    observed_hand_till: float
    observed_mean_area: float
    auc: FloatArray
    hand_till: FloatArray | None
    mean_auc: FloatArray | None
    fpr: FloatArray
    tpr: FloatArray
    mean_fpr: FloatArray | None
    mean_tpr: FloatArray | None
    method: Method
    by_groups: bool
    n_not_converged: int
    n_lost_class: int
    n_classes: int
    n_independent: int
    rare_class: float
    unshrunk_curve: RocCurve | None
    freedom: float
    hand_till_freedom: float
    influences: FloatArray | None = None
    seed: int | None = None

    @property
    def n_resamples(self) -> int:
        return len(self.auc)

    def __repr__(self) -> str:
        lost = f", {self.n_lost_class} of them without some class" if self.n_lost_class else ""
        failed = f", {self.n_not_converged} not converged" if self.n_not_converged else ""
        return (
            f"BootstrapResult({self.n_resamples} replicates ({self.method}){lost}{failed}, "
            f"auc {area(self.curve.auc)} with standard error {self.standard_error():.4f})"
        )

    @underflow_is_zero
    def standard_error(self, statistic: AnyStatistic = "auc", *, max_fpr: float | None = None) -> float:
        """Standard deviation of the replicates.

        Parameters
        ----------
        statistic : {"auc", "hand_till", "mean_auc", "partial_auc"}
            Which of them.
        max_fpr : float, optional
            Where the partial area stops, in (0, 1]; for nothing else.
        """
        return self.distribution(statistic, max_fpr).standard_error

    @underflow_is_zero
    def confidence_interval(
        self,
        confidence_level: float = 0.95,
        *,
        statistic: AnyStatistic = "auc",
        max_fpr: float | None = None,
        interval: IntervalKind = "logit",
    ) -> Interval:
        """Confidence interval from the replicates.

        Parameters
        ----------
        confidence_level : float
            Between 0 and 1.
        statistic : {"auc", "hand_till", "mean_auc", "partial_auc"}
            D, Hand and Till's M, the area under the mean curve, or the area left of `max_fpr` under the curve of D.
        max_fpr : float, optional
            Where the partial area stops, in (0, 1]; for nothing else.
        interval : {"logit", "percentile", "basic", "bca"}
            As in `Evaluation.confidence_interval`; "bca" for replicates that were drawn with ``influences=True``.
        """
        level = as_confidence_level(confidence_level)
        interval = one_of(interval, "interval", get_args(IntervalKind))
        if interval == "bca" and self.influences is None:
            check_bca(self.method)
            raise InputError(
                "interval",
                "must not be 'bca' for replicates without influences, which only the samples can give",
                hint=". Draw them with `evaluation.bootstrap(..., influences=True)`, or call "
                "`evaluation.confidence_interval(method='bootstrap', interval='bca')`",
            )
        if interval == "bca":
            check_bca(self.method, statistic)
        found = self.distribution(statistic, max_fpr).interval(level, interval)
        # A curve may begin below chance without being backwards.
        if is_backwards(*found) and statistic != "partial_auc":
            warn_of_backwards()
        return found

    @underflow_is_zero
    def confidence_band(
        self, confidence_level: float = 0.95, *, curve: Curve = "shared", simultaneous: bool = False
    ) -> ConfidenceBand:
        """Band around one of the curves.

        Parameters
        ----------
        confidence_level : float
            Between 0 and 1.
        curve : {"shared", "mean"}
            The curve of D, or the mean curve.
        simultaneous : bool
            Whether the band covers the whole curve at this level, or each point separately.
        """
        if one_of(curve, "curve", get_args(Curve)) == "shared":
            observed, fpr, tpr = self.curve, self.fpr, self.tpr
        elif self.mean_fpr is None or self.mean_tpr is None:
            raise InputError("curve", f"must be 'shared' for method={self.method!r}, which draws rates and no samples")
        else:
            observed, fpr, tpr = self.mean_curve, self.mean_fpr, self.mean_tpr
        return confidence_band(
            observed,
            fpr,
            tpr,
            as_confidence_level(confidence_level),
            simultaneous=as_flag(simultaneous, "simultaneous"),
            least_class=self.n_independent,
            n_classes=self.n_classes,
            freedom=self.freedom,
            # The mean curve is no fit.
            unshrunk=self.unshrunk_curve if curve == "shared" else None,
        )

    def distribution(self, statistic: AnyStatistic, max_fpr: float | None = None) -> Distribution:
        """Estimate and replicates of one statistic."""
        statistic = one_of(statistic, "statistic", get_args(AnyStatistic))
        stop = asked_max_fpr(statistic, max_fpr)
        if statistic == "partial_auc":
            assert stop is not None
            return self._partial_distribution(stop)
        replicates: FloatArray | None = getattr(self, statistic)
        if replicates is None:
            raise InputError("statistic", f"must be 'auc' for method={self.method!r}, which draws rates and no samples")
        is_hand_till = statistic == "hand_till"
        return Distribution(
            estimate=self._observed(statistic),
            replicates=replicates,
            n_independent=self.n_independent,
            n_classes=self.n_classes,
            freedom=self.hand_till_freedom if is_hand_till else self.freedom,
            rare_class=self.rare_class,
            unshrunk=None if statistic != "auc" or self.unshrunk_curve is None else self.unshrunk_curve.auc,
            influences=None if self.influences is None else self.influences[get_args(Statistic).index(statistic)],
            at_end=is_at_end(self.observed_hand_till if is_hand_till else self.observed_mean_area),
        )

    def _partial_distribution(self, max_fpr: float) -> Distribution:
        """The partial area of every replicate's curve."""
        replicates = partial_areas(*with_corners(self.fpr, self.tpr), max_fpr)
        estimate = self.curve.partial_auc(max_fpr)
        if self.unshrunk_curve is None:
            # Two classes have the curve of all their samples, of which replicates have the points of the grid.
            coarse = with_corners(*_at_call_rates(self.curve))
            replicates = np.clip(replicates + (estimate - partial_areas(*coarse, max_fpr)), 0.0, 1.0)
        return Distribution(
            estimate=estimate,
            replicates=replicates,
            n_independent=self.n_independent,
            n_classes=self.n_classes,
            freedom=self.freedom,
            unshrunk=None if self.unshrunk_curve is None else self.unshrunk_curve.partial_auc(max_fpr),
            influences=None,
            at_end=is_at_end(self.observed_mean_area),
            error_cost=error_cost(max_fpr),
            floor=least_area(max_fpr),
        )

    def _observed(self, statistic: Statistic) -> float:
        if statistic == "hand_till":
            return self.observed_hand_till
        return self.curve.auc if statistic == "auc" else self.mean_curve.auc


def _at_call_rates(curve: RocCurve) -> tuple[FloatArray, FloatArray]:
    """FPR and TPR of two classes' curve where replicates are read."""
    call_rates = grid(Options().n_thresholds)
    # Along a curve the call rate, the mean of both rates, never stands still.
    along = (curve.fpr + curve.tpr) / 2
    return np.interp(call_rates, along, curve.fpr), np.interp(call_rates, along, curve.tpr)


def check_bca(method: Method, statistic: AnyStatistic = "auc") -> None:
    """Refuse "bca" where there are no samples to leave out, or where nobody has looked what they add."""
    if statistic == "partial_auc":
        raise InputError("interval", "must be 'logit', 'percentile' or 'basic' for statistic='partial_auc'", "'bca'")
    if method != "bootstrap":
        raise InputError("interval", "must not be 'bca' for a parametric method, which has no samples to leave out")


def run_blocks(
    draw: Callable[[int, int], list[Replicated]],
    blocks: Sequence[tuple[int, int]],
    *,
    n_jobs: int | None,
    progress: bool,
) -> list[Replicated]:
    """All blocks of replicates on threads; for each model its replicates, in the order in which they were drawn."""
    parts = []
    with Threads(n_jobs) as threads, progress_bar(blocks[-1][1], "resampling", shown=progress) as done:
        for (start, stop), part in zip(blocks, threads.imap(draw, list(blocks)), strict=True):
            parts.append(part)
            done(stop - start)
    return [Replicated.joined(list(of_model)) for of_model in zip(*parts, strict=True)]


def draw_samples(
    models: Sequence[Replicates], plan: ResamplingPlan, *, n_jobs: int | None, progress: bool
) -> list[Replicated]:
    """Replicates of several models on the same resamples."""

    def draw(start: int, stop: int) -> list[Replicated]:
        weights = plan.weights(start, stop)
        return [replicates(weights) for replicates in models]

    # A device takes many replicates at once, and has memory for this many.
    asked = [size for replicates in models if (size := replicates.at_once) is not None]
    blocks = plan.blocks_of(min(asked)) if asked else plan.blocks
    return run_blocks(draw, blocks, n_jobs=n_jobs, progress=progress)


def draw_rates(
    parametric: ParametricReplicates, n_resamples: int, seed: list[int], *, n_jobs: int | None, progress: bool
) -> Replicated:
    """Replicates of the paper's kind."""
    streams = Streams(seed)

    def draw(start: int, stop: int) -> list[Replicated]:
        return [Replicated.joined([parametric(rng) for rng in streams(start, stop)])]

    blocks = [(start, min(start + _AT_ONCE, n_resamples)) for start in range(0, n_resamples, _AT_ONCE)]
    return run_blocks(draw, blocks, n_jobs=n_jobs, progress=progress)[0]


def warn_of_few_carriers(freedom: float, at_end: bool) -> None:
    """Say that very few samples decide how sure everything is."""
    if freedom < _FEW_CARRY and not at_end:
        msg = (
            f"The errors of very few samples decide how sure D and M are ({freedom:.1f} degrees of freedom). "
            "If gross errors are rare, both intervals are probably too narrow: only more samples can tell."
        )
        warn(msg, ResamplingWarning)


def warn_of_small_classes(source: Source, units: AnyUnits) -> None:
    """Name the classes that are too small to show how samples vary."""
    counts = _units_by_class(source, units)
    present = source.class_counts > 0
    names = source.labels[present].tolist()
    small = [f"{listed([name])} ({count})" for name, count in zip(names, counts, strict=True) if count < _FEW_SAMPLES]
    if small:
        what = "groups" if units.are_groups else "samples"
        more = f" and {len(small) - 10} more" if len(small) > 10 else ""
        msg = (
            f"Classes of fewer than {_FEW_SAMPLES} {what}: {', '.join(small[:10])}{more}. These intervals are probably "
            f"too narrow: so few {what} show little of how they vary, and one shows nothing."
        )
        warn(msg, ResamplingWarning)


def _units_by_class(source: Source, units: AnyUnits) -> IntArray:
    """In how many units each class that has samples occurs."""
    if isinstance(units, StreamedUnits) or not units.are_groups:
        return source.class_counts[source.class_counts > 0]
    if units.by_class is not None:
        return units.by_class[source.class_counts > 0]
    assert isinstance(source, Predictions)
    held = np.unique(source.codes * units.n_units + units.unit) // units.n_units
    return np.bincount(held, minlength=len(source.labels))[source.class_counts > 0]


def least_class(source: Source, units: AnyUnits) -> int:
    """Units of the smallest class; fewer where some of its samples weigh much more than others."""
    effective = source.effective_counts[source.class_counts > 0]
    # Equal weights must not lose a sample by rounding.
    return max(1, min(int(_units_by_class(source, units).min()), int(effective.min() + 1e-9)))


def rare_class(source: Source, units: AnyUnits) -> float:
    """Units of a class in which an unseen error costs the root mean square of what it costs in each, 1 / units."""
    counts = np.minimum(_units_by_class(source, units), source.effective_counts[source.class_counts > 0])
    return float(1 / np.sqrt(np.mean(np.maximum(counts, 1.0) ** -2.0)))
