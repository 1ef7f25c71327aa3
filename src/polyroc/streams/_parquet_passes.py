"""The passes over Parquet files: find the classes, count the scores, sort them, sum the influences of samples."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any, TypeAlias, get_args

import numpy as np

from polyroc._core.rates import sampled_pairs
from polyroc._counts.binning import check_bins_of_errors
from polyroc._counts.bins import ROUNDED, Scores
from polyroc._counts.exact import ExactColumns, SortedColumn, check_exact_memory, code_type, counted_for, exact_columns
from polyroc._counts.tally import Tally
from polyroc._inputs.checks import InputError, as_n_jobs, one_of
from polyroc._inputs.predictions import Batch
from polyroc._lib.grid import grid
from polyroc._lib.typing import FloatArray, LabelArray
from polyroc.streams._accumulator import RocAccumulator
from polyroc.streams._parquet_columns import (
    BatchReader,
    Wanted,
    as_wanted,
    check_wanted,
    distinct_labels,
    is_dictionary,
    reader_of,
    typed_like,
)
from polyroc.streams._parquet_files import DamagedPartError, Part, open_files
from polyroc.streams._parquet_run import COUNTS, ParquetRun, as_checkpoint, check_facts, check_files
from polyroc.streams._second_pass import PairedSecondPass, SecondPass

Tallies: TypeAlias = dict[str, Tally]
Accumulators: TypeAlias = dict[str, RocAccumulator]

_SECOND, _EXACT = "second", "exact"
# Options of a run that change no number.
_WITHOUT_EFFECT = ("n_jobs", "engine")


def counted(
    paths: Any, wanted: Wanted, flags: Mapping[str, bool], checkpoint: Any, score_kind: Any, options: dict[str, Any]
) -> tuple[ParquetRun, BatchReader, Accumulators]:
    """Open the files, find classes and columns, and count: the first pass, and exact columns if asked for.

    `options` are those of `RocAccumulator`.
    """
    kinds = ("auto", *get_args(Scores))
    kind, file, n_jobs = (
        one_of(score_kind, "score_kind", kinds),
        as_checkpoint(checkpoint),
        as_n_jobs(options["n_jobs"]),
    )
    files = open_files(paths, partial=flags["partial"])
    check_wanted(files, wanted)
    run = ParquetRun(files, n_jobs=n_jobs, partial=flags["partial"], progress=flags["progress"], checkpoint=file)
    earlier = None if file is None else file.facts(len(files.files))
    if earlier is not None:
        check_files(earlier, run.facts["files"])
    classes, categories = wanted.labels, None
    if classes is None and earlier is not None and earlier.get("target") == wanted.target:
        classes, categories = earlier.get("found"), earlier.get("categories")
    # Those of another column are refused below.
    if not isinstance(classes, list):
        classes, categories = find_classes(run, wanted.target)
    reader = reader_of(files, wanted, classes, categories)
    kind = guess_kind(run, reader) if kind == "auto" else kind
    accumulators = {name: RocAccumulator(reader.labels, score_kind=kind, **options) for name in wanted.scores}
    first = next(iter(accumulators.values()))
    if flags["exact"]:
        _check_exact(first, wanted.sample_weight)
    # What a checkpoint must agree with.
    run.facts |= {
        "target": wanted.target,
        "scores": {name: list(columns) for name, columns in reader.models.items()},
        "sample_weight": wanted.sample_weight,
        "groups": wanted.groups,
        "score_kind": first.bins.scores,
        "mantissa_bits": first.bins.mantissa_bits,
        "exact": flags["exact"],
        "partial": run.partial,
        "options": {name: value for name, value in first.options.to_dict().items() if name not in _WITHOUT_EFFECT},
        "labels": reader.labels.tolist(),
        "found": classes if wanted.labels is None else None,
        "categories": categories,
    }
    if file is not None and earlier is not None:
        check_facts(earlier, run.facts)
        run.stored = file.arrays(_most_stored(run, accumulators))
    _count(run, reader, accumulators)
    run.warn_of_missing()
    if flags["exact"]:
        if flags.get("standard_errors", True):
            with of_columns():
                for accumulator in accumulators.values():
                    _check_bins_of_errors(accumulator)
        _ExactPass(run, reader, accumulators).find()
    return run, reader, accumulators


@contextmanager
def of_columns() -> Iterator[None]:
    """Errors about scores name the argument that chose their columns."""
    try:
        yield
    except InputError as error:
        if error.argument != "y_score":
            raise
        raise InputError("scores", error.rule, error.got, error.hint) from error


def _most_stored(run: ParquetRun, accumulators: Accumulators) -> int:
    """Bytes that a checkpoint of this run can have at most, unpacked."""
    first, n_models = next(iter(accumulators.values())), len(accumulators)
    k, m = len(first.labels), 3 * n_models
    # Of each bin that can occur its number, its scores and its counts; then tables of classes, and exact columns.
    n_bins = min(first.bins.n_bins, run.files.n_rows)
    of_model = k * n_bins * (k + 3) + k * (k + 8) + k * k * (1 + 2 * len(grid(first.options.n_thresholds)))
    of_second = k * (2 + m**2 + (m * (m + 1) // 2) ** 2)
    n_arrays = n_models * (20 + 3 * k) + 20
    text = len(json.dumps(run.facts)) * (n_models + 1)
    return 8 * (n_models * of_model + of_second + len(run.files.parts)) + 256 * n_arrays + text


def found_columns(
    paths: Any,
    *,
    target: str,
    scores: Mapping[str, Any],
    labels: list[str] | None,
    sample_weight: str | None,
    groups: str | None,
    partial: bool,
    progress: bool,
    n_jobs: int | None,
) -> tuple[LabelArray, dict[str, list[str]]]:
    """The classes, of the type that the target has, and the score columns of each model in their order."""
    files = open_files(paths, partial=partial)
    files.check_columns([target], "target")
    classes = None if labels is None else typed_like(labels, files.files[0].type_of(target))
    wanted = as_wanted(target, scores, classes, sample_weight, groups)
    check_wanted(files, wanted)
    run = ParquetRun(files, n_jobs=n_jobs, partial=partial, progress=progress, checkpoint=None)
    classes, categories = find_classes(run, target) if classes is None else (classes, None)
    reader = reader_of(files, wanted, classes, categories)
    return reader.labels, {name: list(columns) for name, columns in reader.models.items()}


def find_classes(run: ParquetRun, target: str) -> tuple[list[Any], list[Any] | None]:
    """The distinct values of the target, in rising order, and its categories if the files have some."""
    classes: dict[Any, None] = {}
    categories: dict[Any, None] = {}
    has_categories = is_dictionary(run.files.files[0].type_of(target))

    def work(part: Part) -> list[tuple[list[Any], list[Any]]]:
        return [distinct_labels(rows.column(target), target, place) for rows, place in run.rows(part, [target])]

    def finish(result: list[tuple[list[Any], list[Any]]]) -> None:
        for values, own in result:
            classes.update(dict.fromkeys(values))
            if has_categories:
                categories.update(dict.fromkeys(own))

    run.each_part("classes", work, finish, may_fail=True)
    if len(kinds := sorted({type(label).__name__ for label in classes})) > 1:
        raise InputError("target", "must hold labels of one type in all files", ", ".join(kinds))
    if not classes:
        raise InputError("target", "must hold labels", "no row that can be read")
    return sorted(classes), list(categories) or None


def guess_kind(run: ParquetRun, reader: BatchReader) -> Scores:
    """Whether scores look like probabilities: by the footers, else by the first rows."""
    low, high = run.files.score_range(reader.score_columns) or _first_range(run, reader)
    return "probabilities" if low >= -ROUNDED and high <= 1 + ROUNDED else "free"


def _first_range(run: ParquetRun, reader: BatchReader) -> tuple[float, float]:
    columns = reader.score_columns
    for part in run.files.parts:
        try:
            rows, place = next(run.rows(part, columns))
        except DamagedPartError:
            if run.partial:
                continue
            raise
        scores = [reader.score(rows.column(name), name, place) for name in columns]
        return min(float(one.min()) for one in scores), max(float(one.max()) for one in scores)
    return 0.0, 1.0


def _count(run: ParquetRun, reader: BatchReader, accumulators: Accumulators) -> None:
    """Count the scores of every model."""
    first, names = next(iter(accumulators.values())), list(accumulators)
    _take_over_counts(run, accumulators)
    # Whole numbers can be added in any order, so every thread has counts of its own. Sums of weights cannot: each
    # part is counted by itself, and parts are added in their order, whatever the threads do.
    in_order, n_jobs = reader.sample_weight is not None, run.n_jobs if run.inside else 1
    idle: SimpleQueue[Tallies] = SimpleQueue()
    n_expected = run.files.n_rows * len(reader.labels)

    def work(part: Part) -> Tallies:
        tallies = _taken(idle) or {name: Tally(first.labels, first.bins) for name in names}
        try:
            for rows, place in run.rows(part, reader.columns):
                try:
                    for name, batch in reader.batches(rows, place).items():
                        tallies[name].add(batch, n_jobs, n_expected)
                except InputError as error:
                    bounded = first.bins.scores == "probabilities"
                    raise reader.locate(rows, place, error, bounded=bounded) from error
        finally:
            # Also if the part is damaged: what was counted before stays, and nothing of this part was.
            if not in_order:
                idle.put(tallies)
        return tallies

    def merge(tallies: Tallies) -> None:
        for name, tally in tallies.items():
            accumulators[name].tally.merge(tally)

    def merge_idle() -> None:
        while (tallies := _taken(idle)) is not None:
            merge(tallies)

    def state() -> dict[str, Any]:
        merge_idle()
        states = [one.state_dict() for one in accumulators.values()]
        return {f"{place}/{key}": value for place, one in enumerate(states) for key, value in one.items()}

    run.each_part("counts", work, merge if in_order else lambda _: None, may_fail=True, stage=COUNTS, state=state)
    merge_idle()
    if first.n_samples == 0:
        raise InputError("sample_weight" if in_order else "paths", "must leave samples that count", "none")


def _taken(idle: "SimpleQueue[Tallies]") -> Tallies | None:
    try:
        return idle.get_nowait()
    except Empty:
        return None


def _take_over_counts(run: ParquetRun, accumulators: Accumulators) -> None:
    stored = run.of_stage(COUNTS)
    if not stored:
        return
    for place, one in enumerate(accumulators.values()):
        state = {key.partition("/")[2]: value for key, value in stored.items() if key.startswith(f"{place}/")}
        _load(one, state)


def _load(into: RocAccumulator | SecondPass | PairedSecondPass, state: dict[str, Any]) -> None:
    try:
        into.load_state_dict(state)
    except InputError as error:
        raise InputError("checkpoint", error.rule, error.got, error.hint) from error


def sum_up(run: ParquetRun, reader: BatchReader, second: SecondPass | PairedSecondPass) -> None:
    """Sum what every sample adds to the statistics of the models."""
    if stored := run.of_stage(_SECOND):
        _load(second, stored)

    def work(part: Part) -> Any:
        # Each part by itself, to be added in their order: sums of floats depend on it.
        own = second.sums.empty()
        for rows, place in run.rows(part, reader.columns):
            batches = reader.batches(rows, place)
            if not batches:
                continue
            _check_finite(batches)
            own.add(second.tables, batches, reader.groups_of(rows, place), run.files.n_rows)
        return own

    # Sums of groups are not stored: with groups, this pass begins anew.
    state = None if reader.groups is not None else second.state_dict
    run.each_part("standard errors", work, second.sums.merge, stage=_SECOND, state=state)


def _check_finite(batches: Mapping[str, Batch]) -> None:
    """Whether scores are still those that were counted; tables have no place for others."""
    for batch in batches.values():
        if not all(np.isfinite(column.min()) and np.isfinite(column.max()) for column in batch.columns):
            raise InputError("paths", "must lead to files that nobody changes meanwhile", "other scores than before")


def _check_bins_of_errors(accumulator: RocAccumulator) -> None:
    """Refuse scores whose standard errors would be wrong, where D and M will be exact."""
    counts, options = accumulator.tally.counts(), accumulator.options
    pairs = sampled_pairs(counts, options.max_pairs, options.rng)
    check_bins_of_errors(counted_for(counts, pairs, options), pairs)


def _check_exact(accumulator: RocAccumulator, sample_weight: str | None) -> None:
    """Refuse what sorted columns cannot give, before any file is read."""
    if accumulator.options.thresholds != "own":
        rule = "must be 'own' with `exact=True`, which sorts one score column at a time"
        raise InputError("thresholds", rule, repr(accumulator.options.thresholds))
    if sample_weight is not None:
        rule = "must be None with `exact=True`: sorted weights take three times the memory that it promises"
        raise InputError("sample_weight", rule, repr(sample_weight))


class _ExactPass:
    """One score column at a time is gathered, sorted and asked, so memory is that of one column."""

    def __init__(self, run: ParquetRun, reader: BatchReader, accumulators: Accumulators) -> None:
        self._run, self._reader, self._accumulators = run, reader, accumulators
        first = next(iter(accumulators.values()))
        self._source, options = first.tally.counts(), first.options
        self._pairs = sampled_pairs(self._source, options.max_pairs, options.rng)
        # Two classes have one area, and a curve whose vertices bins have.
        self._call_rates = np.zeros(0) if self._source.is_binary else grid(options.n_thresholds)
        self._dtype = np.dtype(np.float32 if reader.single else np.float64)
        n_rates = len(self._call_rates) * len(self._pairs)
        check_exact_memory(self._source.n_samples, len(reader.labels), self._dtype.itemsize, n_rates)
        self._codes: Any = None
        self._starts: dict[int, int] = {}

    def find(self) -> None:
        """Give every accumulator its exact columns."""
        stored, column, lock = self._run.of_stage(_EXACT), None, Lock()
        # Of two classes one is positive; the table of classes has the area of the other one, too.
        positives = [0, 1] if self._source.n_columns == 2 else np.unique(self._pairs.positive).tolist()
        n_columns = len(positives) * len(self._accumulators)
        for number, (model, accumulator) in enumerate(self._accumulators.items()):
            by_class: dict[int, tuple[FloatArray, FloatArray, FloatArray]] = {}
            for place, i in enumerate(positives):
                key = f"{number}/{i}"
                if f"{key}/areas" not in stored:
                    column = column or SortedColumn(self._source.class_counts, self._dtype)
                    own = self._reader.models[model]
                    title = f"column {number * len(positives) + place + 1} of {n_columns}"
                    self._gather(own[i if len(own) > 1 else 0], column, lock, title)
                    stored |= self._asked(column, i, key)
                    self._run.store(_EXACT, stored)
                by_class[i] = self._checked(stored, i, key)
            accumulator.exact = self._put_together(by_class)

    def _put_together(self, by_class: dict[int, tuple[FloatArray, FloatArray, FloatArray]]) -> ExactColumns:
        return exact_columns(self._call_rates, self._pairs, by_class, len(self._reader.labels))

    def _asked(self, column: SortedColumn, i: int, key: str) -> dict[str, Any]:
        n_jobs = self._run.n_jobs
        column.sort(n_jobs)
        negatives = self._pairs.negative[self._pairs.positive == i].tolist()
        tpr: FloatArray = np.zeros((0, len(negatives)))
        scores: FloatArray = tpr
        if len(self._call_rates):
            tpr, scores = column.cut(i, negatives, self._call_rates, n_jobs)
        return {f"{key}/areas": column.areas(i, n_jobs), f"{key}/tpr": tpr, f"{key}/scores": scores}

    def _checked(self, stored: dict[str, Any], i: int, key: str) -> tuple[FloatArray, FloatArray, FloatArray]:
        shape = (len(self._call_rates), int(np.count_nonzero(self._pairs.positive == i)))
        shapes = {"areas": (len(self._reader.labels),), "tpr": shape, "scores": shape}
        arrays = [np.asarray(stored.get(f"{key}/{name}")) for name in shapes]
        if any(one.shape != own or one.dtype != np.float64 for one, own in zip(arrays, shapes.values(), strict=True)):
            raise InputError("checkpoint", f"must hold all of exact column {key}", hint=": it is damaged")
        return arrays[0], arrays[1], arrays[2]

    def _gather(self, name: str, column: SortedColumn, lock: Lock, title: str) -> None:
        """Read a column into its classes; with the first one, the classes of all samples."""
        reader, k = self._reader, len(self._reader.labels)
        is_first = self._codes is None
        if is_first:
            self._codes = np.empty(self._source.n_samples, dtype=code_type(k))
            starts = np.cumsum([0, *(part.n_rows for part in self._run.present)]).tolist()
            self._starts = {part.number: start for part, start in zip(self._run.present, starts, strict=False)}
        column.begin()

        def work(part: Part) -> bool:
            at = self._starts[part.number]
            for rows, place in self._run.rows(part, [reader.target, name] if is_first else [name]):
                codes = self._codes[at : at + len(rows)]
                if is_first:
                    codes[:] = reader.encode(rows.column(reader.target), reader.target, place)
                scores = reader.score(rows.column(name), name, place)
                with lock:
                    places = column.reserve(np.bincount(codes, minlength=k))
                column.put(scores, codes, places)
                at += len(rows)
            return True

        self._run.each_part(title, work, lambda _done: None)
