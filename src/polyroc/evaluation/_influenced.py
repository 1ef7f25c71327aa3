"""What each sample contributes to an evaluation, and how sure its statistics are by that: nothing is resampled."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np

from polyroc._engines._counted import CountedPrepared, second_pass_needed
from polyroc._engines._exact import ExactPrepared
from polyroc._estimator._bins import BinningError, binning_error
from polyroc._estimator._curve import error_cost, is_mean, least_area
from polyroc._inputs.checks import InputError
from polyroc._lib.typing import AnyStatistic, FloatArray
from polyroc._lib.warnings import ResamplingWarning, underflow_is_zero, warn
from polyroc._records import Predictions, read_only
from polyroc._uncertainty.bootstrap import least_class, rare_class
from polyroc._uncertainty.delong import standard_error
from polyroc._uncertainty.influence import (
    N_REFITS,
    Fitted,
    Spread,
    near_end,
    needs_bias,
    refitted_bias,
    refuse_centered,
    too_large,
    whole_error,
)
from polyroc._uncertainty.intervals import is_at_end
from polyroc._uncertainty.replicates import USUAL_RESAMPLES, Replicates
from polyroc._uncertainty.streamed import Evidence
from polyroc._uncertainty.units import AnyUnits, Units, units_of
from polyroc.evaluation._fitted import Evaluated
from polyroc.evaluation._text import NO_SECOND_PASS, binning_note

# Pairs up to which a summary says what bins have changed.
_QUICKLY_BINNED = 10_000


@dataclass(frozen=True, eq=False)
class Influenced(Evaluated):
    """The part of `Evaluation` that its samples' influences are in; documented there."""

    _evidence: Evidence | None = field(default=None, repr=False)
    """Of counted scores, what a second pass over the samples found."""

    def _units(self, groups: Any = None) -> AnyUnits:
        """What is independent: single samples, or groups; of counted scores, whatever the second pass took."""
        if self._has_samples:
            return units_of(self._samples, groups)
        if groups is not None:
            raise InputError("groups", "must be None for counted scores: they belong to the second pass")
        return self._found_evidence.units

    @property
    def _has_samples(self) -> bool:
        return isinstance(self._source, Predictions)

    @property
    def _found_evidence(self) -> Evidence:
        if self._evidence is None:
            raise second_pass_needed()
        return self._evidence

    @cached_property
    def _fitted(self) -> Fitted:
        return Fitted(self._prepared, self._pair_index, self.rates, self.factorization, self._options)

    @cached_property
    @underflow_is_zero
    def binning_error(self) -> BinningError | None:
        """How far bins can have moved D and M, of counted scores; None where samples were evaluated.

        Examples
        --------
        >>> import polyroc
        >>> example = polyroc.load_example()
        >>> accumulator = polyroc.RocAccumulator(range(10))
        >>> accumulator.update(example.y_true, example.scores["logistic"])
        >>> error = accumulator.compute().binning_error
        >>> error.hand_till < 0.001, error.auc < 0.0001
        (True, True)
        """
        prepared = self._prepared
        # Sorted scores have no bins.
        if not isinstance(prepared, CountedPrepared) or isinstance(prepared, ExactPrepared):
            return None
        has_gradient = not self.is_binary and self._options.structure != "centered"
        gradient = self._fitted.gradient("auc") if has_gradient else None
        return binning_error(prepared, self._pair_index, self.rates, gradient)

    def _notes_of_counts(self) -> tuple[str, ...]:
        if self._has_samples:
            return ()
        found = () if self._evidence is not None else (NO_SECOND_PASS,)
        # Of more pairs the estimate takes longer than the evaluation.
        error = self.binning_error if len(self._pair_index) <= _QUICKLY_BINNED else None
        return found if error is None else (binning_note(error.hand_till, error.auc), *found)

    @property
    def influence_note(self) -> str:
        """Why D has no interval by influences: the fit, the structure or D itself does not allow it; else empty.

        Examples
        --------
        >>> import polyroc
        >>> example = polyroc.load_example()
        >>> polyroc.evaluate(example.y_true, example.scores["tree"]).influence_note
        ''
        >>> evaluation = polyroc.evaluate(example.y_true, example.scores["tree"], structure="centered")
        >>> evaluation.influence_note
        'the centered structure has no formula'
        """
        doubt = self._fitted.doubt
        if doubt or self.is_binary or is_at_end(self._mean_area):
            return doubt
        return near_end(self.auc) or too_large(self._error_of("auc", self._units()), self.auc)

    @cached_property
    @underflow_is_zero
    def influences(self) -> FloatArray:
        """What each sample contributes to D, shape (n_samples,).

        If the weight of a sample rises by 1 %, D changes by 1 % of its influence. Influences sum to 0 within each
        class. The sum of their squares is the variance of D, with the factor n / (n - 1) in a class of n samples.
        Strongly negative ones belong to samples that the model ranks far from where their labels say.

        Samples of weight 0 have none. Not available for ``structure="centered"``.

        Examples
        --------
        >>> import numpy as np
        >>> import polyroc
        >>> y_true = [0, 0, 0, 1, 1, 1, 2, 2, 2]
        >>> y_score = np.eye(3)[y_true] + np.linspace(0, 0.2, 27).reshape(9, 3)
        >>> y_score[4] = [0.9, 0.05, 0.05]  # labelled 1, ranked as 0
        >>> evaluation = polyroc.evaluate(y_true, y_score)
        >>> int(np.argmin(evaluation.influences))
        4
        >>> bool(abs(evaluation.influences[:3].sum()) < 1e-12)
        True
        """
        refuse_centered(self._options)
        self._fingerprint.check(self._samples)
        return read_only(self._fitted.influences("auc"))

    @cached_property
    @underflow_is_zero
    def hand_till_influences(self) -> FloatArray:
        """What each sample adds to Hand and Till's M: DeLong's structural components, shape (n_samples,)."""
        if not self._has_samples:
            return self._found_evidence.of("hand_till")
        return read_only(self._unchanged.area_influences(self._pair_index, self._equal_shares))

    @cached_property
    @underflow_is_zero
    def _mean_area_influences(self) -> FloatArray:
        """What each sample adds to the mean of the areas of the pairs as they are ranked, shape (n_samples,)."""
        if self._thresholds != "difference":
            return self.hand_till_influences
        asked = (self._pair_index, self._equal_shares, self._thresholds)
        return read_only(self._unchanged.area_influences(*asked))

    @cached_property
    @underflow_is_zero
    def standard_error(self) -> float | None:
        """Standard error of D without resampling, for samples that are independent.

        None if the formula does not hold, for example because the fit did not converge; `influence_note` says why, and
        ``bootstrap().standard_error()`` resamples instead. With `max_pairs`, it includes `pair_sampling_error`. For
        samples in groups use ``measures(["auc"], groups=...)``.

        Examples
        --------
        >>> import polyroc
        >>> example = polyroc.load_example()
        >>> evaluation = polyroc.evaluate(example.y_true, example.scores["tree"])
        >>> round(evaluation.standard_error, 4)
        0.0069
        """
        # As for intervals: of counts near 0 or 1 there is nothing better.
        is_refused = self.influence_note if self._has_samples else self._fitted.doubt
        return None if is_refused else self._error_of("auc", self._units())

    def _error_of(self, statistic: AnyStatistic, units: AnyUnits, max_fpr: float | None = None) -> float:
        """Standard error of a statistic by influences, whether or not they hold."""
        has_fit = statistic in ("auc", "partial_auc") and not self.is_binary
        pair_error = self._pair_error(max_fpr) if has_fit else 0.0
        return whole_error(self._statistic_influences(statistic, max_fpr), units, pair_error)

    def _doubt(self, statistic: AnyStatistic, max_fpr: float | None) -> str:
        """Why a statistic has no interval by influences; empty where it has one."""
        if statistic == "auc":
            return self.influence_note
        if statistic != "partial_auc" or max_fpr is None:
            return ""
        if not self._has_samples:
            self._found_evidence.of(statistic)
        if self.is_binary:
            return "two classes have no formula for the partial area"
        if (doubt := self.influence_note) or is_at_end(self._mean_area):
            return doubt
        name, value = "the partial area", self.partial_auc(max_fpr)
        error = standard_error(self._statistic_influences(statistic, max_fpr), self._units())
        return near_end(value, name) or too_large(error, value, name)

    def _spread(self, statistic: AnyStatistic, units: AnyUnits, max_fpr: float | None = None) -> Spread:
        """How sure a statistic is by its influences; the bias of D, which an interval needs, takes some refits."""
        is_fit = statistic in ("auc", "partial_auc") and not self.is_binary
        influences = self._statistic_influences(statistic, max_fpr)
        estimate = self._estimate(statistic, max_fpr)
        bias, unshrunk = (0.0, 0.0), None
        at_end = is_at_end(self.hand_till if statistic == "hand_till" else self._mean_area)
        if is_fit and not at_end:
            assert self.unshrunk_curve is not None
            unshrunk = self.unshrunk_curve.auc if max_fpr is None else self.unshrunk_curve.partial_auc(max_fpr)
            if needs_bias(units, len(self.labels)) and self._can_refit(units):
                bias = refitted_bias(self._replicates(N_REFITS), estimate, influences, units, max_fpr)
        return Spread(
            estimate=estimate,
            influences=influences,
            units=units,
            n_independent=least_class(self._source, units),
            n_classes=int(np.count_nonzero(self.class_counts)),
            # Left of a small false positive rate hardly a sample is left: what one more would cost there is not known.
            rare_class=rare_class(self._source, units) if max_fpr is None else None,
            bias=bias,
            unshrunk=unshrunk,
            pair_error=self._pair_error(max_fpr) if is_fit else 0.0,
            at_end=at_end,
            error_cost=1.0 if max_fpr is None else error_cost(max_fpr),
            floor=0.0 if max_fpr is None else least_area(max_fpr),
        )

    def _can_refit(self, units: AnyUnits) -> TypeGuard[Units]:
        """Whether samples are there to be weighed again; a warning where their bias stays in D."""
        if not self._has_samples:
            msg = (
                "The interval of D is not corrected for its bias, because that needs samples in memory. With this few "
                "samples of each class, `polyroc.evaluate` has room for all of them."
            )
            warn(msg, ResamplingWarning)
        return self._has_samples

    def _pair_error(self, max_fpr: float | None) -> float:
        return self.pair_sampling_error if max_fpr is None else self._pair_sampling_error(max_fpr)

    def _estimate(self, statistic: AnyStatistic, max_fpr: float | None) -> float:
        if max_fpr is not None:
            return self.partial_auc(max_fpr)
        return {"auc": self.auc, "hand_till": self.hand_till}.get(statistic, self.mean_auc)

    def _statistic_influences(self, statistic: AnyStatistic, max_fpr: float | None = None) -> FloatArray:
        """What each sample contributes to one of the statistics, shape (n_samples,); or what stands for that."""
        if not self._has_samples:
            return self._found_evidence.of(statistic)
        if statistic == "auc":
            return self.influences
        if max_fpr is not None:
            return self._partial_influences(max_fpr)
        if statistic == "hand_till":
            return self.hand_till_influences
        if is_mean(self._area_weights):
            return self._mean_area_influences
        self._fingerprint.check(self._source)
        return self._fitted.influences("mean_auc")

    def _partial_influences(self, max_fpr: float) -> FloatArray:
        """Those of the partial area, which a doubt and an interval both ask for."""
        # Kept where cached properties are, one entry per `max_fpr`: read-only after a pickle, too.
        kept, name = vars(self), f"_partial_influences({max_fpr!r})"
        if name not in kept:
            refuse_centered(self._options)
            self._fingerprint.check(self._source)
            kept[name] = read_only(self._fitted.influences("partial_auc", max_fpr))
        found: FloatArray = kept[name]
        return found

    def _replicates(self, n_resamples: int = USUAL_RESAMPLES, *, n_models: int = 1) -> Replicates:
        """The same evaluation under other sample weights, prepared for about this many of them.

        Refused where there is no memory for these, and for those of as many models.
        """
        return Replicates(self._unchanged, self._pair_index, self._options, n_resamples, n_models)
