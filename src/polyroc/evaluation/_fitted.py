"""What is known of evaluated predictions before anybody asks how sure it is: statistics, curves, pairs."""

from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from polyroc._engines import Prepared
from polyroc._engines._hulls import difference_hull_areas, hull_areas
from polyroc._estimator._curve import RocCurve, area_weights, is_mean, mean_curve
from polyroc._estimator._factorization import EXPLAINED_BOUND, auc_by_thresholds, pair_sampling_error, unshrunk_curve
from polyroc._estimator._rates import rates_of, reverse_places, score_thresholds
from polyroc._estimator._weights import pair_weights
from polyroc._inputs.fingerprint import Fingerprint
from polyroc._inputs.options import Options
from polyroc._lib.typing import FloatArray, IntArray, LabelArray, Thresholds
from polyroc._lib.warnings import underflow_is_zero
from polyroc._records import Factorization, Frozen, PairIndex, PairwiseRates, Predictions, Source, read_only
from polyroc.baselines._accuracy import accuracy, why_no_accuracy
from polyroc.evaluation._class_areas import MeasuredClasses
from polyroc.evaluation._classes import Classes, class_table, never_predicted_note
from polyroc.evaluation._pairs import Pair, Pairs
from polyroc.evaluation._text import FAILED_PAIR, Headline, LowPairs, weighted_by


@dataclass(frozen=True, eq=False)
class Evaluated(Frozen):
    """The part of `Evaluation` that takes no interval; documented there."""

    _prepared: Prepared = field(repr=False)
    _options: Options = field(repr=False)
    curve: RocCurve
    factorization: Factorization
    _pair_index: PairIndex = field(repr=False)
    _kept_rates: PairwiseRates | None = field(repr=False)
    _fingerprint: Fingerprint = field(repr=False)
    """Of the samples when they were evaluated."""

    @property
    def _source(self) -> Source:
        return self._prepared.source

    @property
    def _samples(self) -> Predictions:
        """The source where it holds samples; an error that says so where it holds counts."""
        return self._prepared.samples

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes, by the number of score columns: one pair, and the ordinary ROC curve."""
        return self._source.is_binary

    @property
    def auc(self) -> float:
        return self.curve.auc

    @property
    def labels(self) -> LabelArray:
        return self._source.labels

    @property
    def n_samples(self) -> int:
        return self._source.n_samples

    @property
    def class_counts(self) -> IntArray:
        return self._source.class_counts

    @property
    def _unchanged(self) -> Prepared:
        """The prepared source, for whatever reads samples again; an error where they were changed since."""
        self._fingerprint.check(self._prepared.source)
        return self._prepared

    @cached_property
    @underflow_is_zero
    def pairs(self) -> Pairs:
        positive, negative = self._pair_index.positive, self._pair_index.negative
        return Pairs(
            positive=self.labels[positive],
            negative=self.labels[negative],
            n_positive=self.class_counts[positive],
            n_negative=self.class_counts[negative],
            effect=self.factorization.pair_effects,
            auc=self._unchanged.areas(self._pair_index, self._thresholds),
            # Not a method, which would hold this record inside its own table.
            _hull_areas=partial(_hull_areas, self._prepared, self._pair_index, self._thresholds, self._fingerprint),
        )

    @property
    def _thresholds(self) -> Thresholds:
        """What ranks the pairs: for two classes their one column, whatever was asked for."""
        return "own" if self.is_binary else self._options.thresholds

    @cached_property
    @underflow_is_zero
    def hand_till(self) -> float:
        return float(np.mean(self._own_areas))

    @cached_property
    @underflow_is_zero
    def _own_areas(self) -> FloatArray:
        """Areas of the pairs by the columns themselves, also where pairs are ranked by differences of columns."""
        return self._unchanged.areas(self._pair_index) if self._thresholds == "difference" else self.pairs.auc

    @property
    def _mean_area(self) -> float:
        """The mean of the areas of the pairs as they are ranked: M, or AUCmu where that is by differences."""
        return float(np.mean(self.pairs.auc))

    @property
    def worst_pair(self) -> Pair:
        return self.pairs.worst

    @property
    def _worst_reversed(self) -> float | None:
        [back] = reverse_places(self._pair_index, np.array([np.argmin(self.pairs.auc)]))
        return None if back < 0 else float(self.pairs.auc[back])

    @cached_property
    @underflow_is_zero
    def accuracy(self) -> float | None:
        return None if self.accuracy_note else accuracy(self._unchanged.source)

    @cached_property
    def accuracy_note(self) -> str:
        """Why there is no accuracy: one score column, or columns that are certainly not comparable; else empty.

        Columns that are not probabilities count as not comparable where every score of one class lies below every
        score of another, so that the first could never be predicted. Otherwise they are compared as they are.
        """
        return why_no_accuracy(self._unchanged.source)

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
        self._fingerprint.check(self._source)
        return class_table(self._measured_classes)

    @cached_property
    def _measured_classes(self) -> MeasuredClasses:
        return MeasuredClasses(
            self._unchanged, self._fingerprint, self._pair_index, self._own_areas, why_not_predicted=self.accuracy_note
        )

    @property
    def notes(self) -> tuple[str, ...]:
        return self.headline.notes

    @cached_property
    def headline(self) -> Headline:
        """What is shown of an evaluation wherever it is shown."""
        return Headline(
            auc=self.auc,
            hand_till=self.hand_till,
            accuracy=self.accuracy,
            accuracy_note=self.accuracy_note,
            never_predicted=never_predicted_note(self._measured_classes),
            worst_pair=self.worst_pair,
            worst_reversed=self._worst_reversed,
            n_pairs=len(self._pair_index),
            low_pairs=self._low_pairs(),
            weighted_by="" if self.is_binary else weighted_by(vars(self._options)),
            n_classes=int(np.count_nonzero(self.class_counts)),
            n_samples=self.n_samples,
            status=self.factorization.status,
            explained=self.explained,
            is_well_explained=self.is_well_explained,
            auc_mu=self._mean_area if self._thresholds == "difference" else None,
            ignores_diagonal=self._options.ignores_diagonal,
            of_counts=self._notes_of_counts(),
        )

    def _hardest(self, n: int) -> list[tuple[Pair, float | None]]:
        """The pairs with the smallest areas, each with the area the other way round; None if that is not there."""
        pairs = self.pairs
        places = np.argsort(pairs.auc, kind="stable")[:n]
        back = reverse_places(self._pair_index, places)
        reversed_areas = [None if place < 0 else float(pairs.auc[place]) for place in back.tolist()]
        return list(zip(map(pairs.__getitem__, places.tolist()), reversed_areas, strict=True))

    def _low_pairs(self) -> LowPairs:
        areas = self.pairs.auc
        low = np.flatnonzero(areas < FAILED_PAIR)
        if self._pair_index.stratum is not None:
            return LowPairs(len(low), None)
        back = reverse_places(self._pair_index, low)
        # Once for both directions; the better of the two areas says how well the classes are separated.
        both = (low < back) & (areas[back] < FAILED_PAIR)
        first, better = low[both], np.maximum(areas[low], areas[back])[both]
        named = (
            self.pairs[place] for place in first[np.argsort(better, kind="stable")][: LowPairs.most_named].tolist()
        )
        return LowPairs(len(low), len(first), tuple((pair.positive, pair.negative) for pair in named))

    def _notes_of_counts(self) -> tuple[str, ...]:
        """What is to be known of an evaluation of counted scores; nothing of one of samples."""
        return ()

    @cached_property
    @underflow_is_zero
    def mean_curve(self) -> RocCurve:
        """The mean of the pairs' ROC curves at equal call rates, for two classes the ordinary curve.

        Its area is exactly the mean of the pairwise areas, with no fit and no shrinkage: Hand and Till's M, or AUCmu
        with ``thresholds="difference"``. Weights of pairs and costs weigh the mean; with costs that differ for a pair's
        true and false positive rates, and with shared thresholds, the area is a statistic of its own, by trapezoids on
        the grid of call rates.
        """
        if self.is_binary:
            return self.curve
        shares, exact = self._area_weights, None
        if shares is not None:
            exact = self._mean_area if is_mean(shares) else min(1.0, float(shares @ self.pairs.auc))
        return mean_curve(self.factorization.mean_rates, exact)

    @property
    def mean_auc(self) -> float:
        return self.mean_curve.auc

    @cached_property
    def _area_weights(self) -> FloatArray | None:
        """What each pairwise area counts for in `mean_auc`; None where that is no mean of areas."""
        weights = pair_weights(self._source, self._pair_index, self._options)
        return area_weights(weights, self._thresholds)

    @property
    def _mean_is_hand_till(self) -> bool:
        """Whether the area under the mean curve is M."""
        return self._thresholds == "own" and is_mean(self._area_weights)

    @cached_property
    @underflow_is_zero
    def rates(self) -> PairwiseRates:
        if self._kept_rates is not None:
            return self._kept_rates
        return rates_of(self._unchanged, self._pair_index, self._options)

    @cached_property
    @underflow_is_zero
    def score_thresholds(self) -> FloatArray:
        """The score at which each pair reaches each call rate of `rates`, shape (n_call_rates, n_pairs)."""
        return read_only(score_thresholds(self._unchanged, self._pair_index, self._options))

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

    @cached_property
    @underflow_is_zero
    def pair_sampling_error(self) -> float:
        """Standard error that `max_pairs` adds to `auc`, 0 where all pairs were compared.

        By the jackknife over the strata of the sample: some strata are left out in turn and the rest is fitted again.
        With a single stratum, pairs are left out at random, which overstates the error a little.
        """
        return self._pair_sampling_error(None)

    def _pair_sampling_error(self, max_fpr: float | None) -> float:
        """The same for D, or for the partial area."""
        stratum = self._pair_index.stratum
        if stratum is None:
            return 0.0
        return pair_sampling_error(self._prepared, self._pair_index, self.rates, self._options, stratum, max_fpr)

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
        return auc_by_thresholds(self._unchanged, self._pair_index, self._options, self.auc)

    @cached_property
    @underflow_is_zero
    def unshrunk_curve(self) -> RocCurve | None:
        """The curve without shrinkage, by one more fit on first access; None of two classes, whose curve is no fit."""
        return unshrunk_curve(self._prepared, self._pair_index, self.rates, self._options, self.factorization)

    @property
    def _equal_shares(self) -> FloatArray:
        # One number, repeated: a million of them need not be made, nor sent to a card.
        return np.broadcast_to(1 / len(self._pair_index), len(self._pair_index))


def _hull_areas(prepared: Prepared, pairs: PairIndex, thresholds: Thresholds, fingerprint: Fingerprint) -> FloatArray:
    """Areas under the hulls of the pairs, if the samples are still those that were evaluated."""
    fingerprint.check(prepared.samples)
    found = difference_hull_areas if thresholds == "difference" else hull_areas
    return found(prepared.samples, pairs, prepared.resources.n_jobs)
