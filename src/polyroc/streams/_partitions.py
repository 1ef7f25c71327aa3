"""Counts and sums of the partitions of Dask and Spark, small enough to be sent, and merged in any order.

A partition is counted where it lies. What leaves the machine are counts of bins that occurred (`PartCounts`) and, in a
second pass, a few sums for each class (`PartSums`). The fit is made once, on the machine of the caller.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any, Protocol, get_args

import numpy as np

from polyroc._counts.bins import Scores
from polyroc._inputs.checks import InputError, as_flag, listed, one_of
from polyroc._inputs.columns import FRAME, Known, Said, are_named, assign_columns
from polyroc._inputs.predictions import Batch, as_batch, groups_of
from polyroc._lib.typing import LabelArray
from polyroc.evaluation._comparison import Comparison
from polyroc.evaluation._evaluation import Evaluation
from polyroc.streams._accumulator import RocAccumulator
from polyroc.streams._second_pass import (
    OF_FIRST_PASS,
    GroupSums,
    PairedSecondPass,
    PassSums,
    SampleSums,
    SecondPass,
    Tables,
)
from polyroc.streams._state import pack, read_array, unpack

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

    def begun(self, number: int = 0) -> "PartCounts":
        """Counts of a partition without any sample yet."""
        return PartCounts(self, number)


def as_models(scores: Any) -> dict[str, Any]:
    """Scores of at least two models by their names."""
    if not isinstance(scores, Mapping) or len(scores) < 2:
        came = f"{len(scores)}" if isinstance(scores, Mapping) else type(scores).__name__
        raise InputError("scores", "must be a mapping with the scores of at least two models", came)
    models = {str(name): one for name, one in scores.items()}
    if len(models) < len(scores):
        raise InputError("scores", "must have a name of its own for each model", listed(list(scores)))
    return models


def as_recipe(
    labels: Any, passes: "Passes", models: tuple[str, ...], scores: Any, mantissa_bits: Any, options: Mapping[str, Any]
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
    return Recipe(tuple(classes), models, scores, made.bins.mantissa_bits)


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


# Rows that stay in the cache while all columns are added.
_BLOCK = 16_384
_MODULUS = 2**64


class RowDigests:
    """Digests of the rows of each partition: whether a second pass had the rows of the first one.

    A second pass adds up numbers of single rows. The order of rows does not matter, nor does the partition of a row:
    Spark may change both from run to run. What must stay together is the class, the scores, the weight and the group of
    a row. So a digest is a sum over rows: of a hash of 64 bits, modulo 2**64.
    """

    def __init__(self) -> None:
        self.sums: dict[int, int] = {}

    def add(self, part: int, batches: Mapping[str, Batch], groups: Any) -> None:
        """Add some rows of a partition, with the scores of each model and the groups of all samples that came."""
        if not batches:
            return
        first = next(iter(batches.values()))
        columns: list[Any] = [column for batch in batches.values() for column in batch.columns]
        if first.weight is not None:
            columns.append(first.weight)
        names = None if groups is None else _numbers(groups_of(first, groups))
        total = 0
        for start in range(0, len(first), _BLOCK):
            rows = slice(start, start + _BLOCK)
            entries = [first.codes[rows], *(_bits(column[rows]) for column in columns)]
            if names is not None:
                entries.append(names[rows])
            total += int(_hashes(entries).sum(dtype=np.uint64))
        self.add_digest(part, total)

    def add_digest(self, part: int, total: int) -> None:
        self.sums[part] = (self.sums.get(part, 0) + total) % _MODULUS

    def merge(self, other: "RowDigests") -> None:
        """Add the rows of others."""
        for part, total in other.sums.items():
            self.add_digest(part, total)

    def other_part(self, second: "RowDigests") -> int | None:
        """The first partition that has other rows in a second pass; None if all rows came again, wherever."""
        if (sum(self.sums.values()) - sum(second.sums.values())) % _MODULUS == 0:
            return None
        parts = sorted(self.sums.keys() | second.sums.keys())
        return next(part for part in parts if self.sums.get(part, 0) != second.sums.get(part, 0))

    def state(self) -> dict[str, Any]:
        parts = sorted(self.sums)
        return {
            "digest_parts": np.array(parts, dtype=np.int64),
            "digests": np.array([self.sums[part] for part in parts], dtype=np.uint64),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "RowDigests":
        """Digests from what `state` gave."""
        parts = read_array(state, "digest_parts", (None,), "iu")
        sums = read_array(state, "digests", (len(parts),), "iu")
        digests = cls()
        for part, total in zip(parts.tolist(), sums.tolist(), strict=True):
            digests.add_digest(part, total)
        return digests


def _hashes(entries: list[Any]) -> Any:
    """A number of 64 bits for each row, from whole numbers in each column."""
    mixed = np.zeros(len(entries[0]), dtype=np.uint64)
    for entry, multiplier in zip(entries, _multipliers(len(entries)), strict=True):
        mixed += entry.astype(np.uint64) * multiplier
    # Without this, the sum over rows would only see the sum of each column.
    for multiplier in _multipliers(2):
        mixed ^= mixed >> np.uint64(32)
        mixed *= multiplier
    return mixed ^ (mixed >> np.uint64(32))


@lru_cache(maxsize=16)
def _multipliers(n: int) -> Any:
    """Odd numbers that look random, the same on every machine."""
    return np.random.SeedSequence(0).generate_state(n, np.uint64) | np.uint64(1)


def _bits(column: Any) -> Any:
    """Numbers in single precision, in which scores are binned, as integers."""
    with np.errstate(over="ignore", under="ignore"):
        return column.astype(np.float32).view(np.uint32)


def _numbers(groups: LabelArray) -> Any:
    """A number for each group, which is the same in every process."""
    if groups.dtype.kind in "biu":
        return groups
    names, places = np.unique(groups, return_inverse=True)
    digests = [hashlib.blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest() for name in names.tolist()]
    return np.frombuffer(b"".join(digests), dtype="<u8")[places]


class PartCounts:
    """Counts of one partition, or of several: an accumulator for each model, and digests of the rows."""

    def __init__(self, recipe: Recipe, number: int = 0) -> None:
        self.recipe, self._number = recipe, number
        self.accumulators = {name: recipe.accumulator() for name in recipe.models}
        self.digests = RowDigests()

    def add(self, y_true: Any, scores: Sequence[Any], sample_weight: Any = None, groups: Any = None) -> None:
        """Count a batch, with the scores of each model; groups are in the digest only."""
        labels = next(iter(self.accumulators.values())).labels
        batches = _batches_of(self.accumulators, labels, y_true, scores, sample_weight)
        for name, batch in batches.items():
            self.accumulators[name].tally.add(batch, 1)
        self.digests.add(self._number, batches, groups)

    @property
    def summary(self) -> "PartCounts":
        """The part that leaves the machine."""
        return self

    def merge(self, other: "PartCounts") -> None:
        """Add what another has counted, which stays as it is."""
        for name, one in other.accumulators.items():
            self.accumulators[name].merge(one)
        self.digests.merge(other.digests)

    @classmethod
    def merged(cls, parts: "Iterable[PartCounts]") -> "PartCounts":
        """The sum of several, which stay as they are; of an iterator only two are in memory at a time."""
        total: PartCounts | None = None
        for part in parts:
            total = total or cls(part.recipe)
            total.merge(part)
        assert total is not None
        return total

    def to_bytes(self) -> bytes:
        states = [one.state_dict() for one in self.accumulators.values()]
        counts = {f"{place}/{name}": array for place, state in enumerate(states) for name, array in state.items()}
        return pack(counts | self.digests.state())

    @classmethod
    def from_bytes(cls, recipe: Recipe, data: bytes) -> "PartCounts":
        counts, arrays = cls(recipe), unpack(data)
        for place, one in enumerate(counts.accumulators.values()):
            start = f"{place}/"
            one.load_state_dict({name[len(start) :]: arrays[name] for name in arrays if name.startswith(start)})
        counts.digests = RowDigests.from_state(arrays)
        return counts

    def __reduce__(self) -> Any:
        # In memory as it is, which costs nothing between threads; packed wherever it is sent.
        return type(self).from_bytes, (self.recipe, self.to_bytes())

    def __sizeof__(self) -> int:
        return sum(one.nbytes for one in self.accumulators.values())


class PartPass:
    """The second pass of one partition: tables, and sums of its own."""

    def __init__(self, tables: Tables, number: int = 0) -> None:
        self._tables, self._sums = tables, tables.no_sums()
        self._number, self._digests = number, RowDigests()

    def begun(self, number: int = 0) -> "PartPass":
        """The same tables, and no sums yet."""
        return PartPass(self._tables, number)

    def add(self, y_true: Any, scores: Sequence[Any], sample_weight: Any = None, groups: Any = None) -> None:
        """Pass a batch, with the scores of each model."""
        batches = _batches_of(self._tables.lookups, self._tables.labels, y_true, scores, sample_weight)
        self._sums.add(self._tables, batches, groups)
        self._digests.add(self._number, batches, groups)

    @property
    def summary(self) -> "PartSums":
        """The part that leaves the machine."""
        return PartSums(self._sums, self._digests)

    @property
    def nbytes(self) -> int:
        """Bytes that are sent to each machine once."""
        lookups = self._tables.lookups.values()
        arrays = [array for one in lookups for array in (*one.tables, *one.slots, one.mean, one.class_weights)]
        return sum(array.nbytes for array in arrays)


class PartSums:
    """Sums of a second pass over one partition, or over several, and digests of their rows."""

    def __init__(self, sums: PassSums, digests: RowDigests) -> None:
        self.sums, self.digests = sums, digests

    @classmethod
    def merged(cls, parts: "Iterable[PartSums]") -> "PartSums":
        """The sum of several, which stay as they are."""
        parts = list(parts)
        total = cls(parts[0].sums.empty(), RowDigests())
        for part in parts:
            total.digests.merge(part.digests)
            total.sums.merge(part.sums)
        return total

    def to_bytes(self) -> bytes:
        own = self.sums
        state = {} if own.total is None else own.total.state()
        return pack({"shape": np.array([own.n_classes, own.n_statistics]), **self.digests.state(), **state})

    @classmethod
    def from_bytes(cls, data: bytes) -> "PartSums":
        state = unpack(data)
        k, m = state["shape"].tolist()
        sums: SampleSums | GroupSums | None = None
        if "sizes" in state:
            sums = (GroupSums if "names" in state else SampleSums)(k, m)
            sums.load(state)
        return cls(PassSums(k, m, sums), RowDigests.from_state(state))


def check_installed(package: str, function: str) -> None:
    """Refuse a function of `polyroc.dask` or `polyroc.spark` without the package that it needs."""
    name = {"spark": "pyspark"}.get(package, package)
    try:
        import_module(name)
    except ModuleNotFoundError as error:
        msg = f'`polyroc.{package}.{function}` needs {name}: pip install "polyroc[{package}]".'
        raise ModuleNotFoundError(msg) from error


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
    accumulators = {name: recipe.accumulator(**{"n_jobs": None, **options}) for name in recipe.models}
    counts = passes.count(recipe)
    if counts is not None:
        for name, one in accumulators.items():
            one.merge(counts.accumulators[name])
    if counts is None or all(one.n_samples == 0 for one in accumulators.values()):
        raise InputError("y_true", "must not be empty", "no samples in any partition")
    return accumulators, counts.digests


def _pass_again(passes: Passes, second: SecondPass | PairedSecondPass, digests: RowDigests) -> None:
    try:
        sums = passes.sum(PartPass(second.tables))
    except InputError as error:
        if error.rule == OF_FIRST_PASS:
            error.add_note(f"{passes.how_to_keep}.")
        raise
    other = digests.other_part(RowDigests() if sums is None else sums.digests)
    if other is not None:
        rule = "must have the same rows in both passes, each with the same class, scores, weight and group"
        came = f"other rows in partition {other} (the first is 0) in the second pass"
        raise InputError(passes.argument, rule, came, hint=f". {passes.how_to_keep}")
    if sums is not None:
        second.sums = sums.sums


def _batches_of(
    models: Iterable[str], labels: LabelArray, y_true: Any, scores: Sequence[Any], sample_weight: Any
) -> dict[str, Batch]:
    """A batch for each model; none if no sample counts."""
    batches = {
        name: as_batch(y_true, y_score, labels, sample_weight) for name, y_score in zip(models, scores, strict=True)
    }
    return {name: batch for name, batch in batches.items() if batch is not None}


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
