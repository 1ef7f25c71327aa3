"""The second pass over samples that were counted: what each adds is looked up, and its squares are summed.

Nothing is resampled and no sample is kept. The tables come from the first pass (influence of a sample on D: the page
on the method), so a second pass costs about what the first one did.
"""

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polyroc._engines._counted import CountedPrepared, InfluenceLookup
from polyroc._inputs.batch import Batch, as_batch, groups_of
from polyroc._inputs.checks import InputError, as_confidence_level, listed, shown
from polyroc._lib.typing import AnyStatistic, FloatArray, IntArray, LabelArray
from polyroc._lib.warnings import underflow_is_zero
from polyroc._uncertainty.units import Evidence
from polyroc.evaluation._compare import by_influence
from polyroc.evaluation._comparison import Comparison
from polyroc.evaluation._evaluation import Evaluation
from polyroc.streams._accumulator import RocAccumulator
from polyroc.streams._joint_sums import GroupSums, SampleSums
from polyroc.streams._state import check_same, packed_header, read_header

_KIND = "polyroc second pass"
# Sums of the same weights in another order differ by less.
_ROUNDED = 1e-9
# The rule that other samples than those of the first pass break.
OF_FIRST_PASS = "must be that of the first pass"
_STATISTICS: tuple[AnyStatistic, ...] = ("auc", "hand_till", "mean_auc")


class _Model:
    """One model of the first pass, with its tables."""

    def __init__(self, accumulator: RocAccumulator) -> None:
        self.evaluation = accumulator.compute()
        prepared = self.evaluation.fitted.prepared
        assert isinstance(prepared, CountedPrepared)
        self.statistics = _STATISTICS[: 2 if self.evaluation.fitted.mean_is_hand_till else 3]
        tables = [self.evaluation.fitted.tables(statistic) for statistic in self.statistics]
        joined = tables[0]
        for more in tables[1:]:
            joined = joined.joined(more)
        self.lookup = InfluenceLookup.of(prepared.source, joined)


class _Passing:
    """What a pass over one model and one over several have in common."""

    def __init__(self, models: Mapping[str, RocAccumulator]) -> None:
        self._models = {name: _Model(one) for name, one in models.items()}
        first = next(iter(self._models.values())).evaluation
        self._labels: LabelArray = first.labels
        self._class_counts: IntArray = first.class_counts
        self._m = sum(one.lookup.n_statistics for one in self._models.values())
        self._sums: SampleSums | GroupSums | None = None

    @property
    def n_samples(self) -> int:
        """Samples of the second pass so far."""
        return 0 if self._sums is None else int(self._sums.sizes.sum())

    def _add(self, y_true: Any, scores: Mapping[str, Any], sample_weight: Any, groups: Any) -> None:
        batches = {name: as_batch(y_true, one, self._labels, sample_weight) for name, one in scores.items()}
        self._add_batches({name: batch for name, batch in batches.items() if batch is not None}, groups)

    def _add_batches(self, batches: Mapping[str, Batch], groups: Any, n_expected: int = 0) -> None:
        """The same samples for every model, or none at all; `n_expected` will come in all."""
        if not batches:
            return
        found = []
        for name, batch in batches.items():
            lookup = self._models[name].lookup
            share = lookup.shares(batch)
            # More than all of its class: then the samples are others, and squares might be beyond all floats.
            if share.max() > 1 + _ROUNDED:
                raise InputError("sample_weight", OF_FIRST_PASS, "more than the whole class had there")
            x = lookup.influences(batch, max(n_expected, self.n_samples))
            if x is None:
                raise InputError("y_score", OF_FIRST_PASS, "scores that were not counted there")
            found.append(x)
            codes = batch.codes
        x = np.concatenate(found, axis=1)
        sums = self._sums
        if sums is None:
            made = SampleSums if groups is None else GroupSums
            sums = made(len(self._labels), self._m)
        if isinstance(sums, GroupSums) != (groups is not None):
            raise InputError("groups", "must be given with all batches of a second pass, or with none")
        if isinstance(sums, GroupSums):
            sums.add(codes, x, groups_of(batch, groups))
        else:
            sums.add(codes, x)
        sums.shares += np.bincount(codes, share, minlength=len(self._labels))
        self._sums = sums

    def _empty(self) -> "_Passing":
        """The same pass without any sample, to be merged later."""
        made = copy(self)
        made._sums = None
        return made

    def _merge(self, other: "_Passing") -> None:
        if type(other) is not type(self):
            raise InputError("other", f"must be a {type(self).__name__}", shown(type(other).__name__))
        self._check_same(other)
        if other._sums is None:
            return
        if self._sums is None:
            self._sums = type(other._sums)(len(self._labels), self._m)
        if type(self._sums) is not type(other._sums):
            raise InputError("other", "must have groups as this one, or none as this one")
        self._sums.merge(other._sums)  # type: ignore[arg-type]

    def _check_same(self, other: "_Passing") -> None:
        if self._fingerprint() != other._fingerprint():
            raise InputError("other", "must belong to the same first pass")

    def _fingerprint(self) -> dict[str, Any]:
        """Which first pass this belongs to: models, classes, numbers of samples, and D to the last bit."""
        return {
            "models": list(self._models),
            "labels": self._labels.tolist(),
            "class_counts": self._class_counts.tolist(),
            "auc": [one.evaluation.auc for one in self._models.values()],
        }

    def _evaluations(self) -> dict[str, Evaluation]:
        """Each model with its standard errors."""
        sizes = np.zeros(len(self._labels), dtype=np.int64) if self._sums is None else self._sums.sizes
        if self._sums is None or not np.array_equal(sizes, self._class_counts):
            place = int(np.flatnonzero(sizes != self._class_counts)[0])
            raise InputError(
                "y_true",
                f"must have the samples of the first pass, {self._class_counts[place]:,} of class "
                f"{shown(self._labels.tolist()[place])}",
                f"{sizes[place]:,} in the second",
            )
        if np.any(np.abs(self._sums.shares - 1)[sizes > 0] > _ROUNDED):
            raise InputError("sample_weight", OF_FIRST_PASS, "other sums of weights")
        units, start, found = self._sums.units, 0, {}
        for name, one in self._models.items():
            influences: dict[str, FloatArray] = {
                statistic: self._sums.influences(start + place) for place, statistic in enumerate(one.statistics)
            }
            influences.setdefault("mean_auc", influences["hand_till"])
            found[name] = replace(one.evaluation, evidence=Evidence(units, influences))
            start += one.lookup.n_statistics
        return found

    def state_dict(self) -> dict[str, Any]:
        """The sums so far as plain arrays; not of groups, whose names are the user's.

        Returns
        -------
        dict of str to ndarray
            For `load_state_dict` of a second pass that belongs to the same first pass.
        """
        if isinstance(self._sums, GroupSums):
            msg = "A second pass with groups has no state: it would contain the names of all groups."
            raise ValueError(msg)
        sums = self._sums or SampleSums(len(self._labels), self._m)
        return {"header": packed_header(_KIND, self._labels, **_without_labels(self._fingerprint())), **sums.state()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over the sums of a second pass that belongs to the same first pass.

        Parameters
        ----------
        state : mapping of str to ndarray
            As `state_dict` gives it; whatever does not fit is refused, and changes nothing.
        """
        check_same(read_header(state, _KIND), **self._fingerprint())
        sums = SampleSums(len(self._labels), self._m)
        sums.load(state)
        self._sums = sums


def _without_labels(fingerprint: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fingerprint.items() if name != "labels"}


class SecondPass(_Passing):
    """A second pass over the samples of a `RocAccumulator`: standard errors without resampling.

    Made by `RocAccumulator.second_pass`.

    Parameters
    ----------
    accumulator : RocAccumulator
        Of the first pass; what it counts later has no part in this.

    Attributes
    ----------
    n_samples : int
        Samples of the second pass so far.
    """

    def __init__(self, accumulator: RocAccumulator) -> None:
        if not isinstance(accumulator, RocAccumulator):
            raise InputError("accumulator", "must be a RocAccumulator", shown(type(accumulator).__name__))
        super().__init__({"": accumulator})

    def update(
        self,
        y_true: "ArrayLike",
        y_score: "ArrayLike",
        sample_weight: "ArrayLike | None" = None,
        *,
        groups: "ArrayLike | None" = None,
    ) -> None:
        """Pass a batch of the same samples; batches may be others than those of the first pass, in any order.

        Parameters
        ----------
        y_true, y_score, sample_weight : array-like
            As in `RocAccumulator.update`.
        groups : array-like of shape (n_samples,), optional
            Group of each sample, such as a patient ID. If given, with all batches, groups are independent and not
            samples. The sums of all groups are kept in memory.
        """
        self._add(y_true, {"": y_score}, sample_weight, groups)

    def merge(self, other: "SecondPass") -> None:
        """Add what another second pass of the same first pass has summed.

        Parameters
        ----------
        other : SecondPass
            Stays as it is.
        """
        self._merge(other)

    @underflow_is_zero
    def compute(self) -> Evaluation:
        """The evaluation with standard errors and intervals.

        Returns
        -------
        Evaluation
            Whose `standard_error` and `confidence_interval` work without samples.
        """
        [found] = self._evaluations().values()
        return found


class PairedSecondPass(_Passing):
    """A second pass over the samples of several models: which is better, and how sure that is.

    Parameters
    ----------
    accumulators : mapping of str to RocAccumulator
        The first pass of each model, over the same samples.

    Attributes
    ----------
    n_samples : int
        Samples of the second pass so far.

    Examples
    --------
    >>> import numpy as np
    >>> import polyroc
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.integers(0, 3, 6_000)
    >>> scores = {name: rng.normal(size=(6_000, 3)) for name in ("good", "better")}
    >>> scores["good"] += np.eye(3)[y_true]
    >>> scores["better"] += 1.5 * np.eye(3)[y_true]
    >>> accumulators = {name: polyroc.RocAccumulator(range(3), score_kind="free") for name in scores}
    >>> for name, y_score in scores.items():
    ...     accumulators[name].update(y_true, y_score)
    >>> second = polyroc.PairedSecondPass(accumulators)
    >>> second.update(y_true, scores)
    >>> second.compute().best
    'better'
    """

    def __init__(self, accumulators: Mapping[str, RocAccumulator]) -> None:
        given: Any = accumulators
        if not isinstance(given, Mapping) or len(given) < 2:
            came = f"{len(given)}" if isinstance(given, Mapping) else type(given).__name__
            raise InputError("accumulators", "must be a mapping of at least two names to RocAccumulators", came)
        for name, one in given.items():
            if not isinstance(one, RocAccumulator):
                raise InputError("accumulators", f"must hold a RocAccumulator for {shown(name)}", type(one).__name__)
        first = next(iter(accumulators.values()))
        for name, one in accumulators.items():
            same = first.labels.tolist() == one.labels.tolist()
            if not same or not np.array_equal(first._tally.class_counts, one._tally.class_counts):
                rule = "must have counted the same samples for all models"
                raise InputError("accumulators", rule, f"other classes or numbers of samples for {shown(name)}")
        super().__init__({str(name): one for name, one in accumulators.items()})

    def update(
        self,
        y_true: "ArrayLike",
        scores: Mapping[str, Any],
        sample_weight: "ArrayLike | None" = None,
        *,
        groups: "ArrayLike | None" = None,
    ) -> None:
        """Pass a batch of the same samples.

        Parameters
        ----------
        y_true, sample_weight, groups : array-like
            As in `SecondPass.update`.
        scores : mapping of str to array-like
            Scores of every model for these samples.
        """
        given: Any = scores
        if not isinstance(given, Mapping) or set(given) != set(self._models):
            came = listed(list(given)) if isinstance(given, Mapping) else type(given).__name__
            raise InputError("scores", f"must be a mapping with the models {listed(list(self._models))}", came)
        self._add(y_true, {name: scores[name] for name in self._models}, sample_weight, groups)

    def merge(self, other: "PairedSecondPass") -> None:
        """Add what another second pass of the same first passes has summed.

        Parameters
        ----------
        other : PairedSecondPass
            Stays as it is.
        """
        self._merge(other)

    @underflow_is_zero
    def compute(self, confidence_level: float = 0.95) -> Comparison:
        """The comparison of the models, paired by samples.

        Parameters
        ----------
        confidence_level : float
            Between 0 and 1.

        Returns
        -------
        Comparison
            As `compare` gives it without resampling.
        """
        evaluations = self._evaluations()
        units = next(iter(evaluations.values())).uncertainty.units()
        return by_influence(evaluations, units, as_confidence_level(confidence_level))
