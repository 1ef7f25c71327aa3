"""The second pass over samples that were counted: what each adds is looked up, and its squares are summed.

Nothing is resampled and no sample is kept. The tables come from the first pass (influence of a sample on D: the page
on the method), so a second pass costs about what the first one did.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import count, islice
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from polyroc._counts.counted import CountedPrepared, InfluenceLookup
from polyroc._inputs.checks import InputError, as_confidence_level, listed, shown
from polyroc._inputs.predictions import Batch, as_batch, groups_of
from polyroc._lib.typing import AnyStatistic, FloatArray, IntArray, LabelArray
from polyroc._lib.warnings import underflow_is_zero
from polyroc._uncertainty.units import AnyUnits, Evidence, StreamedUnits, Units, differences, products
from polyroc.evaluation._compare import by_influence
from polyroc.evaluation._comparison import Comparison
from polyroc.evaluation._evaluation import Evaluation
from polyroc.streams._accumulator import RocAccumulator
from polyroc.streams._state import check_counts, check_same, packed_header, read_array, read_header

_KIND = "polyroc second pass"
# Sums of the same weights in another order differ by less.
_ROUNDED = 1e-9
# The rule that other samples than those of the first pass break.
OF_FIRST_PASS = "must be that of the first pass"
_STATISTICS: tuple[AnyStatistic, ...] = ("auc", "hand_till", "mean_auc")


_SUMS = ("sizes", "shares", "squares", "fourths", "one_sided")
_KEPT = (*_SUMS, "largest")


class SampleSums:
    """Of independent samples: by class, products of two and of four; and both sides of the differences of two."""

    def __init__(self, n_classes: int, m: int) -> None:
        p, q = m * (m - 1) // 2, m * (m + 1) // 2
        self.sizes, self.shares = np.zeros(n_classes, dtype=np.int64), np.zeros(n_classes)
        self.squares, self.fourths = np.zeros((n_classes, m, m)), np.zeros((n_classes, q, q))
        self.one_sided, self.largest = np.zeros((p, 2, 2)), np.zeros((p, 2))

    def add(self, codes: IntArray, x: FloatArray) -> None:
        """Add what some samples add, shape (n, m)."""
        # Short integers are sorted by counting them.
        order = np.argsort(codes.astype(np.uint16) if len(self.sizes) < 2**16 else codes, kind="stable")
        counts = np.bincount(codes, minlength=len(self.sizes))
        ends = np.cumsum(counts)
        x = x[order]
        for c in np.flatnonzero(counts):
            own = x[ends[c] - counts[c] : ends[c]]
            two = products(own)
            self.squares[c] += own.T @ own
            self.fourths[c] += two.T @ two
        apart = differences(x)
        for side, part in enumerate((np.maximum(apart, 0.0), np.maximum(-apart, 0.0))):
            self.one_sided[:, side] += np.stack([part.sum(axis=0), np.sum(part**2, axis=0)], axis=1)
            self.largest[:, side] = np.maximum(self.largest[:, side], part.max(axis=0, initial=0.0))
        self.sizes += counts

    def merge(self, other: Self) -> None:
        for name in _SUMS:
            getattr(self, name)[...] += getattr(other, name)
        np.maximum(self.largest, other.largest, out=self.largest)

    @property
    def units(self) -> AnyUnits:
        return StreamedUnits(*(getattr(self, name).copy() for name in _KEPT if name != "shares"))

    def influences(self, statistic: int) -> FloatArray:
        """A combination that is the statistic itself, shape (m,)."""
        chosen = np.zeros(self.squares.shape[1])
        chosen[statistic] = 1.0
        return chosen

    def state(self) -> dict[str, Any]:
        return {name: getattr(self, name).copy() for name in _KEPT}

    def load(self, state: Mapping[str, Any]) -> None:
        sums = {
            name: read_array(state, name, getattr(self, name).shape, "iu" if name == "sizes" else "f") for name in _KEPT
        }
        for name in ("sizes", "shares"):
            check_counts(name, sums[name])
        vars(self).update(sums)


class GroupSums:
    """Of groups of samples: what each group adds, and which classes it has."""

    def __init__(self, n_classes: int, m: int) -> None:
        self.sizes, self.shares = np.zeros(n_classes, dtype=np.int64), np.zeros(n_classes)
        self._m = m
        self._places: dict[Any, int] = {}
        self._total = np.zeros((0, m))
        self._has = np.zeros((0, n_classes), dtype=bool)

    def add(self, codes: IntArray, x: FloatArray, named: LabelArray) -> None:
        """Add what some samples add, shape (n, m), to their groups."""
        distinct, unit = np.unique(named, return_inverse=True)
        places = self._make(distinct.tolist())[unit]
        np.add.at(self._total, places, x)
        self._has[places, codes] = True
        self.sizes += np.bincount(codes, minlength=len(self.sizes))

    def _make(self, names: list[Any]) -> IntArray:
        kinds = {type(name) for name in (*names[:1], *islice(self._places, 1))}
        if len(kinds) > 1:
            came = " and ".join(sorted(kind.__name__ for kind in kinds))
            raise InputError("groups", "must be of one type in all batches: integers, strings or booleans", came)
        for name in names:
            self._places.setdefault(name, len(self._places))
        lacking = len(self._places) - len(self._total)
        if lacking > 0:
            self._total = np.concatenate([self._total, np.zeros((lacking, self._m))])
            self._has = np.concatenate([self._has, np.zeros((lacking, self._has.shape[1]), dtype=bool)])
        return np.array([self._places[name] for name in names], dtype=np.intp)

    def merge(self, other: Self) -> None:
        places = self._make(list(other._places))
        self._total[places] += other._total
        self._has[places] |= other._has
        self.sizes += other.sizes
        self.shares += other.shares

    @property
    def units(self) -> AnyUnits:
        if len(self._places) < 2:
            hint = ": with a single group nothing can be drawn"
            raise InputError("groups", "must name at least two groups", f"{len(self._places)}", hint=hint)
        # Where each group holds a single class, groups are compared within the classes, as samples are.
        single = bool(np.all(self._has.sum(axis=1) == 1))
        stratum = self._has.argmax(axis=1) if single else np.zeros(len(self._has), dtype=np.intp)
        return Units(np.arange(len(stratum)), stratum, are_groups=True, by_class=self._has.sum(axis=0))

    def influences(self, statistic: int) -> FloatArray:
        """Influence of each group, shape (G,)."""
        return self._total[:, statistic].copy()

    def state(self) -> dict[str, Any]:
        # Names of groups are numbers, truth values or text, of which JSON keeps each as it is.
        names = np.frombuffer(json.dumps(list(self._places)).encode(), dtype=np.uint8)
        return {"names": names, "total": self._total, "has": self._has, "sizes": self.sizes, "shares": self.shares}

    def load(self, state: Mapping[str, Any]) -> None:
        self._places = {name: place for place, name in enumerate(json.loads(bytes(state["names"])))}
        self._total, self._has = state["total"], state["has"]
        self.sizes, self.shares = state["sizes"].astype(np.int64), state["shares"]


def _statistics(evaluation: Evaluation) -> tuple[AnyStatistic, ...]:
    return _STATISTICS[: 2 if evaluation.fitted.mean_is_hand_till else 3]


def _lookup(evaluation: Evaluation) -> InfluenceLookup:
    """Tables of what a sample adds to each statistic of a model."""
    prepared = evaluation.fitted.prepared
    assert isinstance(prepared, CountedPrepared)
    tables = [evaluation.fitted.tables(statistic) for statistic in _statistics(evaluation)]
    return InfluenceLookup.of(prepared.source, reduce(lambda joined, more: joined.joined(more), tables))


@dataclass(frozen=True, eq=False)
class Tables:
    """Tables of the influences of samples on the statistics of a first pass; sent to where the samples are."""

    lookups: dict[str, InfluenceLookup]
    labels: LabelArray
    class_counts: IntArray

    def no_sums(self) -> "PassSums":
        """Sums of no sample yet."""
        return PassSums(len(self.labels), sum(lookup.n_statistics for lookup in self.lookups.values()))


class PassSums:
    """Sums of a second pass over some samples; of samples or of groups, as the first batch says."""

    def __init__(self, n_classes: int, n_statistics: int, total: SampleSums | GroupSums | None = None) -> None:
        self.n_classes, self.n_statistics, self.total = n_classes, n_statistics, total

    def empty(self) -> "PassSums":
        """Sums of no sample, to be merged later."""
        return PassSums(self.n_classes, self.n_statistics)

    @property
    def n_samples(self) -> int:
        return 0 if self.total is None else int(self.total.sizes.sum())

    def add(self, tables: Tables, batches: Mapping[str, Batch], groups: Any = None, n_expected: int = 0) -> None:
        """Add the same samples of every model, or none at all; `n_expected` will come in all."""
        if not batches:
            return
        influences = []
        for name, batch in batches.items():
            lookup = tables.lookups[name]
            share = lookup.shares(batch)
            # More than all of its class: then the samples are others, and squares might be beyond all floats.
            if share.max() > 1 + _ROUNDED:
                raise InputError("sample_weight", OF_FIRST_PASS, "more than the whole class had there")
            x = lookup.influences(batch, max(n_expected, self.n_samples))
            if x is None:
                raise InputError("y_score", OF_FIRST_PASS, "scores that were not counted there")
            influences.append(x)
            codes = batch.codes
        x = np.concatenate(influences, axis=1)
        sums = self.total or (SampleSums if groups is None else GroupSums)(self.n_classes, self.n_statistics)
        if isinstance(sums, GroupSums) != (groups is not None):
            raise InputError("groups", "must be given with all batches of a second pass, or with none")
        if isinstance(sums, GroupSums):
            sums.add(codes, x, groups_of(batch, groups))
        else:
            sums.add(codes, x)
        sums.shares += np.bincount(codes, share, minlength=self.n_classes)
        self.total = sums

    def merge(self, other: Self) -> None:
        """Add the sums of other samples."""
        if other.total is None:
            return
        if self.total is None:
            self.total = type(other.total)(self.n_classes, self.n_statistics)
        if type(self.total) is not type(other.total):
            raise InputError("other", "must have groups as this one, or none as this one")
        self.total.merge(other.total)  # type: ignore[arg-type]


class _AnyPass:
    """Base of the passes over one model and over several."""

    def __init__(self, models: Mapping[str, RocAccumulator]) -> None:
        self._models = {name: one.compute() for name, one in models.items()}
        first = next(iter(self._models.values()))
        lookups = {name: _lookup(one) for name, one in self._models.items()}
        self.tables: Tables = Tables(lookups, first.labels, first.class_counts)
        self.sums: PassSums = self.tables.no_sums()

    @property
    def n_samples(self) -> int:
        """Samples of the second pass so far."""
        return self.sums.n_samples

    def _add(self, y_true: Any, scores: Mapping[str, Any], sample_weight: Any, groups: Any) -> None:
        batches = {name: as_batch(y_true, one, self.tables.labels, sample_weight) for name, one in scores.items()}
        self.sums.add(self.tables, {name: batch for name, batch in batches.items() if batch is not None}, groups)

    def merge(self, other: Self) -> None:
        """Add what another second pass of the same first pass has summed.

        Parameters
        ----------
        other : SecondPass or PairedSecondPass
            Of the same class as this one; stays as it is.
        """
        if type(other) is not type(self):
            raise InputError("other", f"must be a {type(self).__name__}", shown(type(other).__name__))
        if self._fingerprint() != other._fingerprint():
            raise InputError("other", "must belong to the same first pass")
        self.sums.merge(other.sums)

    def _fingerprint(self) -> dict[str, Any]:
        """Which first pass this belongs to: models, classes, numbers of samples, and D to the last bit."""
        return {
            "models": list(self._models),
            "labels": self.tables.labels.tolist(),
            "class_counts": self.tables.class_counts.tolist(),
            "auc": [one.auc for one in self._models.values()],
        }

    def _evaluations(self) -> dict[str, Evaluation]:
        """Each model with its standard errors."""
        sums, expected = self.sums.total, self.tables.class_counts
        sizes = np.zeros(len(expected), dtype=np.int64) if sums is None else sums.sizes
        if sums is None or not np.array_equal(sizes, expected):
            c = int(np.flatnonzero(sizes != expected)[0])
            n_first = f"{expected[c]:,} of class {shown(self.tables.labels.tolist()[c])}"
            raise InputError(
                "y_true", f"must have the samples of the first pass, {n_first}", f"{sizes[c]:,} in the second"
            )
        if np.any(np.abs(sums.shares - 1)[sizes > 0] > _ROUNDED):
            raise InputError("sample_weight", OF_FIRST_PASS, "other sums of weights")
        units, numbers, evaluations = sums.units, count(), {}
        for model, one in self._models.items():
            influences: dict[str, FloatArray] = {name: sums.influences(next(numbers)) for name in _statistics(one)}
            influences.setdefault("mean_auc", influences["hand_till"])
            evaluations[model] = replace(one, evidence=Evidence(units, influences))
        return evaluations

    def state_dict(self) -> dict[str, Any]:
        """The sums so far as plain arrays; not of groups, whose names are the user's.

        Returns
        -------
        dict of str to ndarray
            For `load_state_dict` of a second pass that belongs to the same first pass.
        """
        sums = self.sums.total
        if isinstance(sums, GroupSums):
            msg = "A second pass with groups has no state: it would contain the names of all groups."
            raise ValueError(msg)
        stored = sums or SampleSums(self.sums.n_classes, self.sums.n_statistics)
        return {"header": packed_header(_KIND, **self._fingerprint()), **stored.state()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over the sums of a second pass that belongs to the same first pass.

        Parameters
        ----------
        state : mapping of str to ndarray
            As `state_dict` gives it; whatever does not fit is refused, and changes nothing.
        """
        check_same(read_header(state, _KIND), **self._fingerprint())
        sums = SampleSums(self.sums.n_classes, self.sums.n_statistics)
        sums.load(state)
        self.sums.total = sums


class SecondPass(_AnyPass):
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

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> accumulator = polyroc.RocAccumulator(range(10))
    >>> accumulator.update(example.y_true, example.scores["tree"])
    >>> second = accumulator.second_pass()
    >>> second.update(example.y_true, example.scores["tree"])
    >>> round(second.compute().standard_error, 4)
    0.0069
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

    @underflow_is_zero
    def compute(self) -> Evaluation:
        """The evaluation with standard errors and intervals.

        Returns
        -------
        Evaluation
            Whose `standard_error` and `confidence_interval` work without samples.
        """
        [evaluation] = self._evaluations().values()
        return evaluation


class PairedSecondPass(_AnyPass):
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
        models: Any = accumulators
        if not isinstance(models, Mapping) or len(models) < 2:
            came = f"{len(models)}" if isinstance(models, Mapping) else type(models).__name__
            raise InputError("accumulators", "must be a mapping of at least two names to RocAccumulators", came)
        for name, one in models.items():
            if not isinstance(one, RocAccumulator):
                raise InputError("accumulators", f"must hold a RocAccumulator for {shown(name)}", type(one).__name__)
        first = next(iter(accumulators.values()))
        for name, one in accumulators.items():
            same = first.labels.tolist() == one.labels.tolist()
            if not same or not np.array_equal(first.tally.class_counts, one.tally.class_counts):
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
        by_model: Any = scores
        if not isinstance(by_model, Mapping) or set(by_model) != set(self._models):
            came = listed(list(by_model)) if isinstance(by_model, Mapping) else type(by_model).__name__
            raise InputError("scores", f"must be a mapping with the models {listed(list(self._models))}", came)
        self._add(y_true, {name: scores[name] for name in self._models}, sample_weight, groups)

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
