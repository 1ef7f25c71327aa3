"""Several models on the same rows: from several files, or from several sets of columns of one."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polyroc._inputs.labels import text_of
from polyroc._lib.numbers import counted
from polyroc._lib.typing import BoolArray, FloatArray, IntArray
from polyroc.cli._columns import Columns, check_column, choose_scores, labels_column, read_target, split
from polyroc.cli._files import STANDARD_INPUT, Source, open_source, quoted_path
from polyroc.cli._messages import CommandError, listed, quoted
from polyroc.cli._problem import (
    Problem,
    check_classes_left,
    check_layout,
    check_others,
    check_rows_left,
    common_id,
    comparison_of,
    complete,
    complete_rows,
    dropped_rows,
    label_texts,
    long_layout,
    models_of,
    parse_split,
    problem_of,
)


@dataclass(frozen=True, eq=False)
class Models:
    """Scores by the name of the model; what else there is about the rows comes from the first."""

    first: Problem
    scores: dict[str, FloatArray]
    notes: tuple[str, ...]
    key: Any = None
    """The key of each row, if rows were matched by one."""


def read_models(paths: Sequence[str], models: str | None, columns: Columns) -> Models:
    """The models of one file with `--models` or `--model-column`, or of one file each."""
    if columns.common and models is not None:
        raise CommandError(
            "`common`", "matches rows of several tables, but with `models` all rows are in one: leave it out"
        )
    if columns.common and columns.key is None:
        raise CommandError("`common`", "needs `key`, the column that identifies rows")
    if columns.model_column is not None:
        return _of_one_column(paths, models, columns)
    if models is not None:
        return _of_one_file(paths, models, columns)
    if len(paths) < 2:
        # A file in long layout is told how to go on.
        source = open_source(paths[0])
        target = read_target(source, check_column(source, columns.target, "target"))
        scores: tuple[str, ...] = ()
        with suppress(CommandError):
            scores = choose_scores(source, target, columns).columns
        if (layout := long_layout(source, columns, scores)) is not None:
            raise CommandError(comparison_of(source, layout, columns))
        msg = "compare needs two files, or one with `models` 'first=a_*,second=b_*' or with `model_column` NAME"
        raise CommandError(msg)
    return _of_files(paths, columns)


def _of_one_file(paths: Sequence[str], models: str, columns: Columns) -> Models:
    if len(paths) != 1 or columns.scores is not None:
        came = "`scores`" if columns.scores is not None else f"{len(paths)} files"
        raise CommandError("`models`", f"takes the models from the columns of one file, got {came} as well")
    source = open_source(paths[0])
    check_column(source, columns.target, "target")
    check_others(source, columns)
    patterns, dropped = model_patterns(models), ""
    if columns.drop_missing:
        source, dropped = complete_rows(source, columns, list(patterns.values()))
    target = read_target(source, columns.target)
    choices = {name: choose_scores(source, target, columns, pattern) for name, pattern in patterns.items()}
    used = {column for choice in choices.values() for column in choice.columns}
    note = check_layout(source, columns, used, takes_one=False)
    problems = {name: problem_of(source, target, choice, columns) for name, choice in choices.items()}
    first = next(iter(problems))
    problems[first] = replace(problems[first], layout_note=note, warnings=(dropped,) if dropped else ())
    return _joined(problems, None)


def _of_one_column(paths: Sequence[str], models: str | None, columns: Columns) -> Models:
    if len(paths) != 1 or models is not None:
        came = "`models`" if models is not None else f"{len(paths)} files"
        raise CommandError("`model_column`", f"takes the models from the rows of one file, got {came} as well")
    source = open_source(paths[0])
    check_column(source, columns.target, "target")
    wanted = parse_split(source, columns.model_column or "")
    column = check_column(source, wanted.column, "model_column")
    sources = models_of(source, wanted, columns)
    if len(sources) < 2:
        raise CommandError(
            "`model_column`:", f"{quoted(column)} must name at least two models, got {listed(list(sources))}"
        )
    columns = replace(columns, model_column=column)
    if columns.key is not None or (by := common_id(source, sources, columns.taken)) is None:
        return _of_sources(sources.items(), columns)
    matched = _of_sources(sources.items(), replace(columns, key=by))
    return replace(matched, notes=(f"the rows of the models are matched by column {quoted(by)}", *matched.notes))


def model_patterns(models: str) -> dict[str, str]:
    """`knn=knn_*,tree=tree_*` by name."""
    patterns: dict[str, str] = {}
    for piece in split(models):
        name, equals, pattern = piece.partition("=")
        if not (name and equals and pattern):
            raise CommandError("`models`", f"must read like 'knn=knn_*,tree=tree_*', got {quoted(piece)}")
        if name in patterns:
            raise CommandError("`models`", f"names {quoted(name)} twice")
        patterns[name] = pattern
    if len(patterns) < 2:
        raise CommandError("`models`", f"must name at least two models, got {quoted(models)}")
    return patterns


def _of_files(paths: Sequence[str], columns: Columns) -> Models:
    # One after the other: the tables of text files lie in memory as long as somebody holds them.
    return _of_sources(zip(model_names(paths), map(open_source, paths), strict=True), columns)


@dataclass(frozen=True, eq=False)
class _Table:
    """The rows of one model: those that can be used, and what all are matched by."""

    problem: Problem
    """Of the complete rows."""
    keys: Any
    """Of all rows; None if rows are matched by their order."""
    complete: BoolArray
    """Whether a row has no missing value; shape (n_rows,)."""
    labels: Any
    """The class of each row as text, None if it is missing; None if no rows are dropped."""


def _of_sources(sources: Iterable[tuple[str, Source]], columns: Columns) -> Models:
    tables: dict[str, _Table] = {}
    places: list[IntArray] = []
    for name, source in sources:
        tables[name] = _table(source, columns, is_first=not tables)
        # Files that do not match are refused before the next one is read.
        places.append(_places(next(iter(tables.values())), tables[name], columns))
    return _of_common_rows(tables, np.stack(places), columns)


def _table(source: Source, columns: Columns, *, is_first: bool) -> _Table:
    check_column(source, columns.target, "target")
    # Weights and groups belong to the rows, which are the same: the first table says them.
    used = columns if is_first else replace(columns, sample_weight=None, groups=None)
    check_others(source, used)
    if columns.drop_missing and columns.key is not None:
        # Rows without a key are matched with none.
        with_key = source.present([columns.key])
        check_rows_left(int(np.count_nonzero(with_key)), source.n_rows)
        source = source.where(with_key, source.name)
    keys, labels = None if columns.key is None else _keys(source, columns.key), None
    rows = np.ones(source.n_rows, dtype=np.bool_)
    if columns.drop_missing:
        rows = complete(source, columns, [columns.scores], (used.sample_weight, used.groups))
        labels = label_texts(source, columns.target)
        check_classes_left(labels, rows, "`drop_missing` leaves")
        source = source if rows.all() else source.where(rows, source.name)
    target = read_target(source, columns.target)
    choice = choose_scores(source, target, columns)
    # Rows of a model in long layout are those of one model.
    grouped = columns if columns.groups in source.names else used
    note = "" if columns.model_column else check_layout(source, grouped, choice.columns, takes_one=False)
    problem = replace(problem_of(source, target, choice, used), layout_note=note)
    return _Table(problem, keys, rows, labels)


def _of_common_rows(tables: dict[str, _Table], places: IntArray, columns: Columns) -> Models:
    """The rows that all models have, without a missing value in any; `places` has a row per table, -1 for no row."""
    first = next(iter(tables.values()))
    shared = np.all(places >= 0, axis=0)
    rows = shared.copy()
    for table, place in zip(tables.values(), places, strict=True):
        rows[shared] &= table.complete[place[shared]]
    warnings = _left_out(tables, shared, rows, columns) if columns.common or columns.drop_missing else []
    keys = None if first.keys is None else first.keys.filter(pa.array(rows))
    problems: dict[str, Problem] = {}
    for (name, table), place in zip(tables.items(), places, strict=True):
        # Where each row is among the complete ones.
        position = np.cumsum(table.complete) - 1
        problems[name] = _chosen(table.problem, position[place[rows]])
        _check_targets(next(iter(problems.values())), problems[name], keys, np.flatnonzero(rows))
    one = next(iter(problems))
    problems[one] = replace(problems[one], warnings=tuple(warnings))
    return _joined(problems, keys)


def _left_out(tables: dict[str, _Table], shared: BoolArray, rows: BoolArray, columns: Columns) -> list[str]:
    """Rows that options left out, in words; refuses to lose all rows, or a class."""
    first, warnings = next(iter(tables.values())), []
    if columns.common:
        n_shared = int(np.count_nonzero(shared))
        check_rows_left(n_shared, len(shared), "`common` leaves")
        absent = {table.problem.file: len(table.complete) - n_shared for table in tables.values()}
        if any(absent.values()):
            each = ", ".join(f"{counted(count, 'row')} of {quoted_path(file)}" for file, count in absent.items())
            warnings.append(f"left out by `common`, because not all files have their keys: {each}")
    labels = first.labels
    if labels is None:
        labels = np.array([text_of(label) for label in first.problem.target.values.tolist()], dtype=object)
    both = columns.common and columns.drop_missing
    option = "`common` leaves" if not columns.drop_missing else "`drop_missing` leaves"
    check_classes_left(labels, rows, "`common` and `drop_missing` leave" if both else option)
    dropped = dropped_rows(labels[shared], rows[shared], n_models=len(tables))
    return [*warnings, dropped] if dropped else warnings


def _joined(problems: dict[str, Problem], keys: Any) -> Models:
    """All scores with the classes in the order of the first model's."""
    first = next(iter(problems.values()))
    wanted = [text_of(label) for label in first.labels]
    scores: dict[str, FloatArray] = {}
    for name, problem in problems.items():
        texts = [text_of(label) for label in problem.labels]
        if sorted(texts) != sorted(wanted) or problem.scores.shape[1] != first.scores.shape[1]:
            msg = f"model {quoted(name)} has scores for {listed(texts)}, but the first model for {listed(wanted)}"
            raise CommandError(msg)
        if texts == wanted:
            scores[name] = problem.scores
        elif problem.scores.shape[1] == 1:
            # The score of the other class: turned round it is a score of the first model's.
            scores[name] = -problem.scores
        else:
            scores[name] = problem.scores[:, [texts.index(text) for text in wanted]]
    told = (note for problem in problems.values() for note in problem.notes)
    notes = tuple(dict.fromkeys(told))
    return Models(first, scores, notes, keys)


def model_names(paths: Sequence[str]) -> list[str]:
    """The stems of the files; where those are not distinct, their names, their paths, or numbers.

    >>> model_names(["a/knn.csv", "b/tree.csv"]), model_names(["a/knn.csv", "b/knn.csv"])
    (['knn', 'tree'], ['a/knn.csv', 'b/knn.csv'])
    """
    files = [Path("stdin" if path == STANDARD_INPUT else path) for path in paths]
    for names in ([file.stem for file in files], [file.name for file in files], [str(file) for file in files]):
        if len(set(names)) == len(names):
            return names
    return [f"{file.stem} ({number})" for number, file in enumerate(files, 1)]


def _keys(source: Source, name: str) -> Any:
    keys = labels_column(source, name).combine_chunks()
    counts = keys.value_counts()
    twice = counts.filter(pc.greater(counts.field("counts"), 1))
    if len(twice) > 0:
        which = listed(twice.field("values").to_pylist(), 5)
        raise CommandError("`key`:", f"{quoted_path(source.name)} has {which} more than once in column {quoted(name)}")
    return keys


def _places(first: _Table, other: _Table, columns: Columns) -> IntArray:
    """The row of the other table that belongs to each of the first; -1 if there is none, which --common allows."""
    files = (first.problem.file, other.problem.file)
    if other is first:
        return np.arange(len(first.complete))
    if first.keys is None:
        n_rows, n_others = len(first.complete), len(other.complete)
        if n_rows != n_others:
            raise CommandError(_do_not_match(*files), f"have {n_rows} and {n_others} rows{_KEY_HINT}")
        return np.arange(n_rows)
    ours, theirs = first.keys, other.keys
    if ours.type != theirs.type:
        ours, theirs = ours.cast(pa.string()), theirs.cast(pa.string())
    places = pc.index_in(ours, value_set=theirs)
    if not columns.common:
        if places.null_count > 0:
            raise CommandError(_unmatched(ours.filter(places.is_null()).to_pylist(), *files))
        if len(theirs) > len(ours):
            absent = theirs.filter(pc.invert(pc.is_in(theirs, value_set=ours))).to_pylist()
            raise CommandError(_unmatched(absent, *files[::-1]))
    rows: IntArray = places.fill_null(-1).to_numpy()
    return rows


_KEY_HINT = "; if their rows are in another order, name a column that identifies them with `key`"


def _do_not_match(first: str, second: str) -> str:
    return f"the files do not match: {quoted_path(first)} and {quoted_path(second)}"


def _unmatched(keys: list[Any], there: str, absent: str) -> str:
    rows = "1 row" if len(keys) == 1 else f"{len(keys)} rows"
    files = f"{rows} of {quoted_path(there)} not in {quoted_path(absent)}"
    return (
        f"the files do not match: {files}, by key {listed(keys, 5)}: `--common` compares the rows that all files have"
    )


def _chosen(problem: Problem, rows: IntArray) -> Problem:
    """Some rows of a problem, in this order."""
    if np.array_equal(rows, np.arange(len(problem.scores))):
        return problem
    weight, groups = (None if of_rows is None else of_rows[rows] for of_rows in (problem.sample_weight, problem.groups))
    target = replace(problem.target, values=problem.target.values[rows])
    return replace(problem, target=target, scores=problem.scores[rows], sample_weight=weight, groups=groups)


def _check_targets(first: Problem, other: Problem, keys: Any, rows: IntArray) -> None:
    """Whether two files are about the same samples, as far as their targets tell; `rows` are those of the file."""
    ours, theirs = first.target.values, other.target.values
    if ours.dtype.kind != theirs.dtype.kind:
        ours, theirs = ours.astype(str), theirs.astype(str)
    differ = np.flatnonzero(ours != theirs)
    if len(differ) > 0:
        row = int(differ[0])
        where = f"row {rows[row]}" if keys is None else f"the row of key {quoted(keys[row].as_py())}"
        many = f", and {len(differ) - 1} more rows differ" if len(differ) > 1 else ""
        files, hint = _do_not_match(first.file, other.file), _KEY_HINT if keys is None else ""
        raise CommandError(files, f"have targets {quoted(ours[row])} and {quoted(theirs[row])} in {where}{many}{hint}")
