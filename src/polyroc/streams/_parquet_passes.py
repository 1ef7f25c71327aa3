"""What is done in each pass over Parquet files: find the classes, count the scores, sum what samples add."""

from collections.abc import Mapping
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

import numpy as np

from polyroc._engines._bins import ROUNDED, Scores
from polyroc._engines._tally import Tally
from polyroc._inputs.checks import InputError
from polyroc._inputs.predictions import Batch
from polyroc._lib.typing import LabelArray
from polyroc.streams._accumulator import RocAccumulator
from polyroc.streams._arrow_batch import distinct_labels, is_dictionary, typed_like
from polyroc.streams._parquet_files import DamagedPartError, Part, open_files
from polyroc.streams._parquet_layout import Layout, as_wanted, check_wanted, layout_of
from polyroc.streams._parquet_run import COUNTS, ParquetRun
from polyroc.streams._second_pass import PairedSecondPass, SecondPass

AnySecondPass: TypeAlias = SecondPass | PairedSecondPass
Tallies: TypeAlias = dict[str, Tally]

_SECOND = "second"


def find_classes(run: ParquetRun, target: str) -> tuple[list[Any], list[Any] | None]:
    """The distinct values of the target, in rising order, and its categories where the files have some."""
    found: dict[Any, None] = {}
    categories: dict[Any, None] = {}
    has_categories = is_dictionary(run.files.files[0].type_of(target))

    def work(part: Part) -> list[tuple[list[Any], list[Any]]]:
        return [distinct_labels(rows.column(target), target, place) for rows, place in run.rows(part, [target])]

    def finish(result: list[tuple[list[Any], list[Any]]]) -> None:
        for values, own in result:
            found.update(dict.fromkeys(values))
            if has_categories:
                categories.update(dict.fromkeys(own))

    run.every_part("classes", work, finish, may_fail=True)
    if len(kinds := sorted({type(label).__name__ for label in found})) > 1:
        raise InputError("target", "must hold labels of one type in all files", ", ".join(kinds))
    if not found:
        raise InputError("target", "must hold labels", "no row that can be read")
    return sorted(found), list(categories) or None


def guess_kind(run: ParquetRun, layout: Layout) -> Scores:
    """Whether scores look like probabilities: by the footers, else by the first rows."""
    columns = layout.reader.score_columns
    low, high = run.files.score_range(columns) or _first_range(run, layout, columns)
    return "probabilities" if low >= -ROUNDED and high <= 1 + ROUNDED else "free"


def _first_range(run: ParquetRun, layout: Layout, columns: list[str]) -> tuple[float, float]:
    for part in run.files.parts:
        try:
            rows, place = next(run.rows(part, columns))
        except DamagedPartError:
            if run.partial:
                continue
            raise
        scores = [layout.reader.score(rows.column(name), name, place) for name in columns]
        return min(float(one.min()) for one in scores), max(float(one.max()) for one in scores)
    return 0.0, 1.0


def count(run: ParquetRun, layout: Layout, accumulators: Mapping[str, RocAccumulator], title: str) -> None:
    """Count the scores of every model."""
    first, names = next(iter(accumulators.values())), list(accumulators)
    _take_over_counts(run, accumulators)
    # Whole numbers can be added in any order, so every thread has counts of its own. Sums of weights cannot: each
    # part is counted by itself, and parts are added in their order, whatever the threads do.
    reader, n_jobs = layout.reader, run.n_jobs if run.inside else 1
    in_order, bounded = reader.sample_weight is not None, first._bins.scores == "probabilities"
    idle: SimpleQueue[Tallies] = SimpleQueue()
    n_expected = run.files.n_rows * len(layout.labels)

    def work(part: Part) -> Tallies:
        tallies = _taken(idle) or {name: Tally(first._labels, first._bins) for name in names}
        try:
            for rows, place in run.rows(part, reader.columns):
                try:
                    for name, batch in reader.batches(rows, place).items():
                        tallies[name].add(batch, n_jobs, n_expected)
                except InputError as error:
                    raise reader.locate(rows, place, error, bounded=bounded) from error
        finally:
            # Also where the part is damaged: what was counted before stays, and nothing of this part was.
            if not in_order:
                idle.put(tallies)
        return tallies

    def finish(tallies: Tallies) -> None:
        if in_order:
            _merge(accumulators, tallies)

    def state() -> dict[str, Any]:
        while (tallies := _taken(idle)) is not None:
            _merge(accumulators, tallies)
        states = [one.state_dict() for one in accumulators.values()]
        return {f"{place}/{key}": value for place, one in enumerate(states) for key, value in one.items()}

    run.stage(COUNTS, title, work, finish, state, layout.labels)
    while (tallies := _taken(idle)) is not None:
        _merge(accumulators, tallies)
    if first.n_samples == 0:
        raise InputError("sample_weight" if in_order else "paths", "must leave samples that count", "none")


def _take_over_counts(run: ParquetRun, accumulators: Mapping[str, RocAccumulator]) -> None:
    stored = run.of_stage(COUNTS)
    if not stored:
        return
    for place, one in enumerate(accumulators.values()):
        state = {key.partition("/")[2]: value for key, value in stored.items() if key.startswith(f"{place}/")}
        try:
            one.load_state_dict(state)
        except InputError as error:
            raise InputError("checkpoint", error.rule, error.got, error.hint) from error


def _merge(accumulators: Mapping[str, RocAccumulator], tallies: Tallies) -> None:
    for name, tally in tallies.items():
        accumulators[name]._tally.merge(tally)


def _taken(idle: "SimpleQueue[Tallies]") -> Tallies | None:
    try:
        return idle.get_nowait()
    except Empty:
        return None


def sum_up(run: ParquetRun, layout: Layout, second: AnySecondPass, title: str) -> None:
    """Sum what every sample adds to the statistics of the models."""
    reader, n_expected = layout.reader, run.files.n_rows
    if stored := run.of_stage(_SECOND):
        try:
            second.load_state_dict(stored)
        except InputError as error:
            raise InputError("checkpoint", error.rule, error.got, error.hint) from error

    def work(part: Part) -> Any:
        # Each part by itself, to be added in their order: sums of floats depend on it.
        own = second._empty()
        for rows, place in run.rows(part, reader.columns):
            batches = reader.batches(rows, place)
            if not batches:
                continue
            _check_finite(batches)
            own._add_batches(batches, reader.groups_of(rows, place), n_expected)
        return own

    # Sums of groups are not stored: with groups, this pass begins anew.
    state = None if reader.groups is not None else second.state_dict
    run.stage(_SECOND, title, work, second._merge, state, layout.labels)


def _check_finite(batches: Mapping[str, Batch]) -> None:
    """Whether scores are still those that were counted; tables have no place for others."""
    for batch in batches.values():
        if not all(np.isfinite(column.min()) and np.isfinite(column.max()) for column in batch.columns):
            raise InputError("paths", "must lead to files that nobody changes meanwhile", "other scores than before")


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
    given = None if labels is None else typed_like(labels, files.files[0].type_of(target))
    wanted = as_wanted(target, scores, given, sample_weight, groups)
    check_wanted(files, wanted)
    run = ParquetRun(files, n_jobs=n_jobs, partial=partial, progress=progress, checkpoint=None)
    found, categories = find_classes(run, target) if given is None else (given, None)
    layout = layout_of(files, wanted, found, categories)
    return layout.labels, {name: list(columns) for name, columns in layout.reader.models.items()}
