"""Evaluated: the point estimates of an evaluation, by the names that users read."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from polyroc._core.curve import RocCurve
from polyroc._core.factorization import EXPLAINED_BOUND, auc_by_thresholds
from polyroc._core.rates import reverse_places, score_thresholds
from polyroc._counts.binning import BinningError, binning_error
from polyroc._counts.counted import CountedPrepared
from polyroc._counts.exact import ExactPrepared
from polyroc._lib.typing import FloatArray, IntArray, LabelArray, Thresholds
from polyroc._lib.warnings import underflow_is_zero
from polyroc._records import Factorization, Frozen, PairwiseRates, read_only
from polyroc._uncertainty.influence import refuse_centered
from polyroc._uncertainty.units import Evidence
from polyroc.baselines._accuracy import accuracy, why_no_accuracy
from polyroc.evaluation._class_areas import MeasuredClasses
from polyroc.evaluation._classes import Classes, class_table, never_predicted_note
from polyroc.evaluation._fitted import Fitted, Pair, Pairs
from polyroc.evaluation._text import FAILED_PAIR, NO_SECOND_PASS, Headline, LowPairs, binning_note, weighted_by
from polyroc.evaluation._uncertainty import Uncertainty

# Pairs up to which a summary says what bins have changed.
_QUICKLY_BINNED = 10_000


@dataclass(frozen=True, eq=False)
class Evaluated(Frozen):
    """The part of `Evaluation` that takes no interval; documented there."""

    fitted: Fitted = field(repr=False)
    evidence: Evidence | None = field(default=None, repr=False)
    """Of counted scores, what a second pass over the samples showed."""

    @cached_property
    def uncertainty(self) -> Uncertainty:
        """How sure the estimates are."""
        return Uncertainty(self.fitted, self.evidence)

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes, by the number of score columns: one pair, and the ordinary ROC curve."""
        return self.fitted.source.is_binary

    @property
    def curve(self) -> RocCurve:
        return self.fitted.curve

    @property
    def factorization(self) -> Factorization:
        return self.fitted.factorization

    @property
    def auc(self) -> float:
        return self.curve.auc

    @property
    def labels(self) -> LabelArray:
        return self.fitted.source.labels

    @property
    def n_samples(self) -> int:
        return self.fitted.source.n_samples

    @property
    def class_counts(self) -> IntArray:
        return self.fitted.source.class_counts

    @cached_property
    @underflow_is_zero
    def pairs(self) -> Pairs:
        positive, negative = self.fitted.pairs.positive, self.fitted.pairs.negative
        return Pairs(
            positive=self.labels[positive],
            negative=self.labels[negative],
            n_positive=self.class_counts[positive],
            n_negative=self.class_counts[negative],
            effect=self.factorization.pair_effects,
            auc=self.fitted.areas,
            # Not a method of this record, which would then be inside its own table.
            _hull_areas=self.fitted.hull_areas,
        )

    @property
    def hand_till(self) -> float:
        return self.fitted.hand_till

    @property
    def worst_pair(self) -> Pair:
        return self.pairs.worst

    @property
    def _worst_reversed(self) -> float | None:
        [back] = reverse_places(self.fitted.pairs, np.array([np.argmin(self.pairs.auc)]))
        return None if back < 0 else float(self.pairs.auc[back])

    @cached_property
    @underflow_is_zero
    def accuracy(self) -> float | None:
        return None if self.accuracy_note else accuracy(self.fitted.unchanged.source)

    @cached_property
    def accuracy_note(self) -> str:
        """Why there is no accuracy: one score column, or columns that are certainly not comparable; else empty.

        Columns that are not probabilities count as not comparable where every score of one class lies below every
        score of another, so that the first could never be predicted. Otherwise they are compared as they are.
        """
        return why_no_accuracy(self.fitted.unchanged.source)

    @cached_property
    @underflow_is_zero
    def classes(self) -> Classes:
        """One entry per class: recall, precision, areas, its hardest partner, and where its mistakes go.

        ``classes.with_intervals()`` adds confidence intervals.

        Examples
        --------
        >>> import polyroc
        >>> example = polyroc.load_example()
        >>> classes = polyroc.evaluate(example.y_true, example.scores["tree"]).classes
        >>> classes.never_predicted
        [2]
        """
        self.fitted.fingerprint.check(self.fitted.source)
        return class_table(self._measured_classes)

    @cached_property
    def _measured_classes(self) -> MeasuredClasses:
        return MeasuredClasses(self.fitted, why_not_predicted=self.accuracy_note)

    @property
    def notes(self) -> tuple[str, ...]:
        return self.headline.notes

    @cached_property
    def headline(self) -> Headline:
        """Summary of the evaluation, as it is shown everywhere."""
        return Headline(
            auc=self.auc,
            hand_till=self.hand_till,
            accuracy=self.accuracy,
            accuracy_note=self.accuracy_note,
            never_predicted=never_predicted_note(self._measured_classes),
            worst_pair=self.worst_pair,
            worst_reversed=self._worst_reversed,
            n_pairs=len(self.fitted.pairs),
            low_pairs=self._low_pairs(),
            weighted_by="" if self.is_binary else weighted_by(vars(self.fitted.options)),
            n_classes=int(np.count_nonzero(self.class_counts)),
            n_samples=self.n_samples,
            status=self.factorization.status,
            explained=self.explained,
            is_well_explained=self.is_well_explained,
            auc_mu=self.fitted.mean_area if self.fitted.thresholds == "difference" else None,
            ignores_diagonal=self.fitted.options.ignores_diagonal,
            of_counts=self._notes_of_counts(),
        )

    def hardest(self, n: int) -> list[tuple[Pair, float | None]]:
        """The pairs with the smallest areas, each with the area the other way round; None if that is not there."""
        pairs = self.pairs
        places = np.argsort(pairs.auc, kind="stable")[:n]
        back = reverse_places(self.fitted.pairs, places)
        reversed_areas = [None if place < 0 else float(pairs.auc[place]) for place in back.tolist()]
        return list(zip(map(pairs.__getitem__, places.tolist()), reversed_areas, strict=True))

    def _low_pairs(self) -> LowPairs:
        areas = self.pairs.auc
        low = np.flatnonzero(areas < FAILED_PAIR)
        if self.fitted.pairs.stratum is not None:
            return LowPairs(len(low), None)
        back = reverse_places(self.fitted.pairs, low)
        # Once for both directions; the better of the two areas says how well the classes are separated.
        both = (low < back) & (areas[back] < FAILED_PAIR)
        first, better = low[both], np.maximum(areas[low], areas[back])[both]
        named = (
            self.pairs[place] for place in first[np.argsort(better, kind="stable")][: LowPairs.most_named].tolist()
        )
        return LowPairs(len(low), len(first), tuple((pair.positive, pair.negative) for pair in named))

    def _notes_of_counts(self) -> tuple[str, ...]:
        if self.fitted.has_samples:
            return ()
        found = () if self.evidence is not None else (NO_SECOND_PASS,)
        # Of more pairs the estimate takes longer than the evaluation.
        error = self.binning_error if len(self.fitted.pairs) <= _QUICKLY_BINNED else None
        return found if error is None else (binning_note(error.hand_till, error.auc), *found)

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
        prepared = self.fitted.prepared
        # Sorted scores have no bins.
        if not isinstance(prepared, CountedPrepared) or isinstance(prepared, ExactPrepared):
            return None
        has_gradient = not self.is_binary and self.fitted.options.structure != "centered"
        gradient = self.fitted.gradient("auc") if has_gradient else None
        return binning_error(prepared, self.fitted.pairs, self.rates, gradient)

    @property
    def mean_curve(self) -> RocCurve:
        """The mean of the pairs' ROC curves at equal call rates, for two classes the ordinary curve.

        Its area is exactly the mean of the pairwise areas, with no fit and no shrinkage: Hand and Till's M, or AUCmu
        with ``thresholds="difference"``. Weights of pairs and costs weigh the mean; with costs that differ for a pair's
        true and false positive rates, and with shared thresholds, the area is a statistic of its own, by trapezoids on
        the grid of call rates.
        """
        return self.fitted.mean_curve

    @property
    def mean_auc(self) -> float:
        return self.mean_curve.auc

    @property
    def rates(self) -> PairwiseRates:
        return self.fitted.rates

    @cached_property
    @underflow_is_zero
    def score_thresholds(self) -> FloatArray:
        """The score at which each pair reaches each call rate of `rates`, shape (n_call_rates, n_pairs)."""
        return read_only(score_thresholds(self.fitted.unchanged, self.fitted.pairs, self.fitted.options))

    @property
    def explained(self) -> float | None:
        """Share of what the pairs have beyond chance that one curve with pair effects explains: `Factorization`'s."""
        return self.factorization.explained

    @property
    def is_well_explained(self) -> bool:
        """Whether one curve describes the pairs: False where it explains less than 80 % of what is beyond chance.

        Then the pairs differ by more than how sharp they are, or by noise, of models near chance on few samples.
        """
        return self.explained is None or self.explained >= EXPLAINED_BOUND

    @property
    @underflow_is_zero
    def pair_sampling_error(self) -> float:
        """Standard error that `max_pairs` adds to `auc`, 0 if all pairs were compared.

        By the jackknife over the strata of the sample: some strata are left out in turn and the rest is fitted again.
        With a single stratum, pairs are left out at random, which overstates the error a little.
        """
        return self.uncertainty.pair_sampling_error

    @underflow_is_zero
    def partial_auc(self, max_fpr: float) -> float:
        """Area left of a false positive rate under the curve of D, standardised as in scikit-learn.

        Chance is 1/2 and a perfect curve is 1, whatever `max_fpr` (McClish, 1989). For two classes it is what
        ``sklearn.metrics.roc_auc_score(max_fpr=...)`` gives. Its interval:
        ``confidence_interval(statistic="partial_auc", max_fpr=...)``.

        Parameters
        ----------
        max_fpr : float
            Where to stop, in (0, 1]; 1 gives the whole area.

        Examples
        --------
        >>> import polyroc
        >>> example = polyroc.load_example()
        >>> evaluation = polyroc.evaluate(example.y_true, example.scores["tree"])
        >>> round(evaluation.partial_auc(0.1), 3), round(evaluation.auc, 3)
        (0.777, 0.915)
        """
        return self.curve.partial_auc(max_fpr)

    @cached_property
    @underflow_is_zero
    def auc_by_thresholds(self) -> dict[Thresholds, float] | None:
        """D with `"own"` thresholds of each column, and with one threshold `"shared"` by both columns of a pair.

        If the second is much lower, one threshold does not suit both columns: rare classes, costs or columns on
        different scales can do that. Also D by `"difference"` if that was asked for. Needs a second fit, or a third, on
        first access. None for two classes, for more than 100, for a sample of the pairs (`max_pairs`), and if such a
        fit did not converge or did not fit in memory.
        """
        return auc_by_thresholds(self.fitted.unchanged, self.fitted.pairs, self.fitted.options, self.auc)

    @property
    def unshrunk_curve(self) -> RocCurve | None:
        """The curve without shrinkage, by one more fit on first access; None of two classes, whose curve is no fit."""
        return self.fitted.unshrunk_curve

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
        return self.uncertainty.note

    @property
    @underflow_is_zero
    def influences(self) -> FloatArray:
        """Influence of each sample on D, shape (n_samples,).

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
        refuse_centered(self.fitted.options)
        _ = self.fitted.samples
        return self.uncertainty.influences("auc")

    @property
    @underflow_is_zero
    def hand_till_influences(self) -> FloatArray:
        """Influence of each sample on Hand and Till's M: DeLong's structural components, shape (n_samples,)."""
        return self.uncertainty.influences("hand_till")

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
        is_refused = self.influence_note if self.fitted.has_samples else self.fitted.doubt
        return None if is_refused else self.uncertainty.error_of("auc", self.uncertainty.units())
