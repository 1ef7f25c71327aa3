"""What Dask and Spark have in common: counts and sums of partitions, small enough to be sent, and merged in any order.

A partition is counted where it lies. What leaves the machine are counts of bins that occurred (`PartCounts`) and, in a
second pass, a few sums for each class (`PartSums`). The fit is made once, on the machine of the caller.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, get_args

import numpy as np

from polyroc._engines._bins import Scores
from polyroc._engines._counted import InfluenceLookup
from polyroc._inputs.batch import Batch, as_batch, groups_of
from polyroc._inputs.checks import InputError, as_flag, listed, one_of
from polyroc._inputs.columns import FRAME, Known, Said, are_named, assign_columns
from polyroc._lib.typing import IntArray, LabelArray
from polyroc.evaluation._comparison import Comparison
from polyroc.evaluation._evaluation import Evaluation
from polyroc.streams._accumulator import RocAccumulator
from polyroc.streams._joint_sums import GroupSums, SampleSums
from polyroc.streams._row_digest import RowDigests
from polyroc.streams._second_pass import OF_FIRST_PASS, PairedSecondPass, SecondPass, _Passing
from polyroc.streams._state import pack, unpack

# Options with an entry for each class or pair.
_OF_CLASSES = ("costs", "tpr_weights", "fpr_weights")
ONE_MODEL = ""
"""The name of the only model of an evaluation."""


@dataclass(frozen=True)
class Recipe:
    """How partitions are counted; sent with every task."""

    labels: tuple[Any, ...]
    models: tuple[str, ...]
    scores: Scores
    mantissa_bits: int

    def accumulator(self, **options: Any) -> RocAccumulator:
        return RocAccumulator(
            list(self.labels), score_kind=self.scores, mantissa_bits=self.mantissa_bits, **{"n_jobs": 1, **options}
        )


def as_models(scores: Any) -> dict[str, Any]:
    """Scores of at least two models by their names."""
    if not isinstance(scores, Mapping) or len(scores) < 2:
        came = f"{len(scores)}" if isinstance(scores, Mapping) else type(scores).__name__
        raise InputError("scores", "must be a mapping with the scores of at least two models", came)
    found = {str(name): one for name, one in scores.items()}
    if len(found) < len(scores):
        raise InputError("scores", "must have a name of its own for each model", listed(list(scores)))
    return found


def as_recipe(
    labels: Any,
    passes: "Passes",
    models: tuple[str, ...],
    scores: Any,
    mantissa_bits: Any,
    options: Mapping[str, Any],
) -> Recipe:
    """How to count; options that are wrong are refused before anything is passed, and labels are looked for last."""
    one_of(scores, "score_kind", get_args(Scores))
    if labels is None:
        # Options may need the classes (costs by class), so here only what holds for any classes is checked.
        without_classes = {name: value for name, value in options.items() if name not in _OF_CLASSES}
        RocAccumulator([0, 1], score_kind=scores, mantissa_bits=mantissa_bits, **without_classes)
        labels = passes.labels()
    made = RocAccumulator(labels, score_kind=scores, mantissa_bits=mantissa_bits, **options)
    classes = made.labels.tolist()
    passes.check(classes)
    return Recipe(tuple(classes), models, scores, made._bins.mantissa_bits)


def classes_of(known: Known, columns: Mapping[str, tuple[list[Any] | None, int]], said: Said = FRAME) -> list[Any]:
    """The classes in the order of the first model's columns; those of others without names must be read alike."""
    (first, own), *others = columns.items()
    classes = assign_columns(known, *own, said).classes
    for model, (names, n_columns) in others:
        if not are_named(names, n_columns) and assign_columns(known, names, n_columns, said).classes != classes:
            argument = f"scores[{model!r}]"
            rule = f"must have columns named after the classes, as those of {first!r}, {listed(classes)}"
            hint = ": pass the classes in the order of the columns as `labels=`"
            raise InputError(argument, rule, "columns without names", hint=hint)
    return classes


class PartCounts:
    """What has been counted of one partition, or of several: an accumulator for each model, and digests of the rows."""

    def __init__(self, recipe: Recipe, number: int = 0) -> None:
        self._recipe, self._number = recipe, number
        self.accumulators = {name: recipe.accumulator() for name in recipe.models}
        self.digests = RowDigests()

    def add(self, y_true: Any, scores: Sequence[Any], sample_weight: Any = None, groups: Any = None) -> None:
        """Count a batch, with the scores of each model; groups are in the digest only."""
        labels = next(iter(self.accumulators.values())).labels
        batches = _batches_of(self.accumulators, labels, y_true, scores, sample_weight)
        for name, batch in batches.items():
            self.accumulators[name]._tally.add(batch, 1)
        _digest(self.digests, self._number, batches, groups)

    def merge(self, other: "PartCounts") -> None:
        """Add what another has counted, which stays as it is."""
        for name, one in other.accumulators.items():
            self.accumulators[name].merge(one)
        self.digests.merge(other.digests)

    @classmethod
    def merged(cls, parts: "Sequence[PartCounts]") -> "PartCounts":
        """The sum of several, which stay as they are."""
        found = cls(parts[0]._recipe)
        for part in parts:
            found.merge(part)
        return found

    def to_bytes(self) -> bytes:
        states = [one.state_dict() for one in self.accumulators.values()]
        counts = {f"{place}/{name}": array for place, state in enumerate(states) for name, array in state.items()}
        return pack(counts | self.digests.state())

    @classmethod
    def from_bytes(cls, recipe: Recipe, data: bytes) -> "PartCounts":
        found, arrays = cls(recipe), unpack(data)
        for place, one in enumerate(found.accumulators.values()):
            start = f"{place}/"
            one.load_state_dict({name[len(start) :]: arrays[name] for name in arrays if name.startswith(start)})
        found.digests = RowDigests.from_state(arrays)
        return found

    def __reduce__(self) -> Any:
        # In memory as it is, which costs nothing between threads; packed wherever it is sent.
        return type(self).from_bytes, (self._recipe, self.to_bytes())

    def __sizeof__(self) -> int:
        return sum(one.nbytes for one in self.accumulators.values())


class _Tables:
    """Of one model, in place of what the caller keeps: only what a second pass looks up."""

    def __init__(self, lookup: InfluenceLookup) -> None:
        self.lookup = lookup


class PartPass(_Passing):
    """The second pass of one partition: tables, and sums of its own."""

    def __init__(self, whole: _Passing) -> None:
        self._models = {name: _Tables(one.lookup) for name, one in whole._models.items()}  # type: ignore[misc]
        self._labels: LabelArray = whole._labels
        self._class_counts: IntArray = whole._class_counts
        self._m = whole._m
        self._sums: SampleSums | GroupSums | None = None
        self._number, self._digests = 0, RowDigests()

    def begun(self, number: int = 0) -> "PartPass":
        """The same tables, and no sums yet."""
        made = PartPass(self)
        made._number = number
        return made

    def add(self, y_true: Any, scores: Sequence[Any], sample_weight: Any = None, groups: Any = None) -> None:
        """Pass a batch, with the scores of each model."""
        batches = _batches_of(self._models, self._labels, y_true, scores, sample_weight)
        self._add_batches(batches, groups)
        _digest(self._digests, self._number, batches, groups)

    @property
    def sums(self) -> "PartSums":
        return PartSums(len(self._labels), self._m, self._sums, self._digests)

    @property
    def nbytes(self) -> int:
        """What is sent to each machine once."""
        found = 0
        for one in self._models.values():
            arrays = (*one.lookup.tables, *one.lookup.slots, one.lookup.mean, one.lookup.class_weights)
            found += sum(array.nbytes for array in arrays)
        return found


class PartSums:
    """Sums of a second pass over one partition, or over several; none where no sample passed."""

    def __init__(self, n_classes: int, m: int, sums: SampleSums | GroupSums | None, digests: RowDigests) -> None:
        self._n_classes, self._m, self.sums, self.digests = n_classes, m, sums, digests

    @classmethod
    def merged(cls, parts: "Sequence[PartSums]") -> "PartSums":
        """The sum of several, which stay as they are."""
        k, m = parts[0]._n_classes, parts[0]._m
        found: Any = None
        digests = RowDigests()
        for part in parts:
            digests.merge(part.digests)
            if part.sums is not None:
                found = found or type(part.sums)(k, m)
                found.merge(part.sums)
        return cls(k, m, found, digests)

    def to_bytes(self) -> bytes:
        k, m, sums = self._n_classes, self._m, self.sums
        state: dict[str, Any] = {"shape": np.array([k, m]), **self.digests.state()}
        if isinstance(sums, GroupSums):
            # The names of groups are numbers, truth values or text, of which JSON keeps each as it is.
            names = np.frombuffer(json.dumps(list(sums._places)).encode(), dtype=np.uint8)
            state |= {
                "names": names,
                "total": sums._total,
                "has": sums._has,
                "sizes": sums.sizes,
                "shares": sums.shares,
            }
        elif sums is not None:
            state |= sums.state()
        return pack(state)

    @classmethod
    def from_bytes(cls, data: bytes) -> "PartSums":
        state = unpack(data)
        k, m = state["shape"].tolist()
        digests = RowDigests.from_state(state)
        if "sizes" not in state:
            return cls(k, m, None, digests)
        if "names" not in state:
            sums = SampleSums(k, m)
            sums.load(state)
            return cls(k, m, sums, digests)
        groups = GroupSums(k, m)
        names = json.loads(bytes(state["names"]))
        groups._places = {name: place for place, name in enumerate(names)}
        groups._total, groups._has = state["total"], state["has"]
        groups.sizes, groups.shares = state["sizes"].astype(np.int64), state["shares"]
        return cls(k, m, groups, digests)


class Passes(Protocol):
    """Samples that can be passed twice, wherever they lie."""

    argument: str
    """The argument that has the samples."""
    how_to_keep: str
    """How samples become the same in both passes."""

    def labels(self) -> list[Any]:
        """The classes, where nobody has given them."""

    def check(self, labels: list[Any]) -> None:
        """Refuse score columns that cannot be those of the classes, before anything is computed."""

    def count(self, recipe: Recipe) -> PartCounts | None:
        """The first pass; None where there is no partition."""

    def sum(self, tables: PartPass) -> PartSums | None:
        """The second pass."""


def evaluate_passes(passes: Passes, recipe: Recipe, options: Mapping[str, Any], standard_errors: bool) -> Evaluation:
    """One model: counts, the fit, and where asked for a second pass."""
    accumulators, digests = _counted(passes, recipe, options)
    [accumulator] = accumulators.values()
    if not as_flag(standard_errors, "standard_errors"):
        return accumulator.compute()
    second = SecondPass(accumulator)
    _pass_again(passes, second, digests)
    return second.compute()


def compare_passes(passes: Passes, recipe: Recipe, options: Mapping[str, Any], confidence_level: float) -> Comparison:
    """Several models, paired by samples."""
    accumulators, digests = _counted(passes, recipe, options)
    second = PairedSecondPass(accumulators)
    _pass_again(passes, second, digests)
    return second.compute(confidence_level)


def _counted(
    passes: Passes, recipe: Recipe, options: Mapping[str, Any]
) -> tuple[dict[str, RocAccumulator], RowDigests]:
    # Made before anything is counted: options that are wrong are refused at once.
    found = {name: recipe.accumulator(**{"n_jobs": None, **options}) for name in recipe.models}
    counts = passes.count(recipe)
    if counts is not None:
        for name, one in found.items():
            one.merge(counts.accumulators[name])
    if counts is None or all(one.n_samples == 0 for one in found.values()):
        raise InputError("y_true", "must not be empty", "no samples in any partition")
    return found, counts.digests


def _pass_again(passes: Passes, second: _Passing, digests: RowDigests) -> None:
    try:
        sums = passes.sum(PartPass(second))
    except InputError as error:
        if error.rule == OF_FIRST_PASS:
            error.add_note(f"{passes.how_to_keep}.")
        raise
    other = digests.other_part(RowDigests() if sums is None else sums.digests)
    if other is not None:
        rule = "must have the same rows in both passes, each with the same class, scores, weight and group"
        came = f"other rows in partition {other} (the first is 0) in the second pass"
        raise InputError(passes.argument, rule, came, hint=f". {passes.how_to_keep}")
    second._sums = None if sums is None else sums.sums


def _batches_of(
    models: Iterable[str], labels: LabelArray, y_true: Any, scores: Sequence[Any], sample_weight: Any
) -> dict[str, Batch]:
    """A batch for each model; none if no sample counts."""
    batches = {
        name: as_batch(y_true, y_score, labels, sample_weight) for name, y_score in zip(models, scores, strict=True)
    }
    return {name: batch for name, batch in batches.items() if batch is not None}


def _digest(digests: RowDigests, number: int, batches: Mapping[str, Batch], groups: Any) -> None:
    if batches:
        first = next(iter(batches.values()))
        digests.add(number, batches, None if groups is None else groups_of(first, groups))


@contextmanager
def in_partition(number: int) -> Iterator[None]:
    """Errors about the samples of a partition say which it was: rows are numbered within it."""
    try:
        yield
    except ValueError as error:
        error.add_note(f"This is about partition {number} (the first is 0), whose rows are numbered from 0.")
        raise


def sent_error(error: ValueError) -> str:
    """An error of a worker as text, where exceptions do not travel as they are; nothing of it is run."""
    notes = getattr(error, "__notes__", [])
    if isinstance(error, InputError):
        fields = {"argument": error.argument, "rule": error.rule, "got": error.got, "hint": error.hint}
        return json.dumps({"fields": fields, "notes": notes})
    return json.dumps({"message": str(error), "notes": notes})


def received_error(text: str) -> ValueError:
    """The error that a worker has sent.

    >>> received_error(sent_error(InputError("y_true", "must not be empty")))
    InputError('`y_true` must not be empty.')
    """
    sent = json.loads(text)
    error = InputError(**sent["fields"]) if "fields" in sent else ValueError(sent["message"])
    for note in sent["notes"]:
        error.add_note(note)
    return error
