"""Several models on the same rows: from several files, or from several sets of columns of one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polyroc._lib._typing import FloatArray, IntArray
from polyroc.cli._columns import check_column, choose_scores, split
from polyroc.cli._files import STANDARD_INPUT, Source, open_source, quoted_path
from polyroc.cli._labels import labels_column, read_target, text_of
from polyroc.cli._long import check_layout, common_id, models_of, parse_split
from polyroc.cli._plain import CommandError, listed, quoted
from polyroc.cli._problem import Columns, Problem, check_others, problem_of


@dataclass(frozen=True, eq=False)
class Models:
    """Scores by the name of the model; what else there is about the rows comes from the first."""

    first: Problem
    scores: dict[str, FloatArray]
    notes: tuple[str, ...]


def read_models(paths: Sequence[str], models: str | None, columns: Columns) -> Models:
    """The models of one file with `--models` or `--model-column`, or of one file each."""
    if columns.model_column is not None:
        return _of_one_column(paths, models, columns)
    if models is not None:
        return _of_one_file(paths, models, columns)
    if len(paths) < 2:
        # A file in long layout is told how to go on.
        source = open_source(paths[0])
        read_target(source, check_column(source, columns.target, "--target"))
        check_layout(source, columns.target, columns.key, columns.taken)
        msg = "compare needs two files, or one with --models 'first=a_*,second=b_*' or with --model-column NAME"
        raise CommandError(msg)
    return _of_files(paths, columns)


def _of_one_file(paths: Sequence[str], models: str, columns: Columns) -> Models:
    if len(paths) != 1 or columns.scores is not None:
        came = "--scores" if columns.scores is not None else f"{len(paths)} files"
        msg = f"--models takes the models from the columns of one file, got {came} as well"
        raise CommandError(msg)
    source = open_source(paths[0])
    target = read_target(source, check_column(source, columns.target, "--target"))
    check_others(source, columns)
    problems: dict[str, Problem] = {}
    for name, pattern in model_patterns(models).items():
        choice = choose_scores(source, target, scores=pattern, labels=columns.labels, taken=columns.taken)
        problems[name] = problem_of(source, target, choice, columns)
    return _joined(problems)


def _of_one_column(paths: Sequence[str], models: str | None, columns: Columns) -> Models:
    if len(paths) != 1 or models is not None:
        came = "--models" if models is not None else f"{len(paths)} files"
        msg = f"--model-column takes the models from the rows of one file, got {came} as well"
        raise CommandError(msg)
    source = open_source(paths[0])
    check_column(source, columns.target, "--target")
    split = parse_split(source, columns.model_column or "")
    column = check_column(source, split.column, "--model-column")
    if split.model is not None:
        msg = (
            f"--model-column must name a column alone, to compare all of its models, got {quoted(columns.model_column)}"
        )
        raise CommandError(msg)
    found = models_of(source, column)
    if len(found) < 2:
        msg = f"--model-column: {quoted(column)} must name at least two models, got {listed(list(found))}"
        raise CommandError(msg)
    columns = replace(columns, model_column=column)
    if columns.key is not None or (by := common_id(source, found, columns.taken)) is None:
        return _of_sources(found.items(), columns)
    joined = _of_sources(found.items(), replace(columns, key=by))
    return replace(joined, notes=(f"the rows of the models are matched by column {quoted(by)}", *joined.notes))


def model_patterns(models: str) -> dict[str, str]:
    """`knn=knn_*,tree=tree_*` by name."""
    patterns: dict[str, str] = {}
    for piece in split(models):
        name, equals, pattern = piece.partition("=")
        if not (name and equals and pattern):
            msg = f"--models must read like 'knn=knn_*,tree=tree_*', got {quoted(piece)}"
            raise CommandError(msg)
        if name in patterns:
            msg = f"--models names {quoted(name)} twice"
            raise CommandError(msg)
        patterns[name] = pattern
    if len(patterns) < 2:
        msg = f"--models must name at least two models, got {quoted(models)}"
        raise CommandError(msg)
    return patterns


def _of_files(paths: Sequence[str], columns: Columns) -> Models:
    # One after the other: the tables of text files lie in memory as long as somebody holds them.
    return _of_sources(zip(model_names(paths), map(open_source, paths), strict=True), columns)


def _of_sources(sources: Iterable[tuple[str, Source]], columns: Columns) -> Models:
    problems: dict[str, Problem] = {}
    first_keys, first = None, None
    for name, source in sources:
        # Weights and groups belong to the rows, which are the same: the first table says them.
        wanted = columns if first is None else replace(columns, sample_weight=None, groups=None)
        target = read_target(source, check_column(source, columns.target, "--target"))
        check_others(source, wanted)
        choice = choose_scores(source, target, scores=columns.scores, labels=columns.labels, taken=columns.taken)
        note = "" if columns.model_column else check_layout(source, columns.target, columns.key, columns.taken)
        problem = replace(problem_of(source, target, choice, wanted), layout_note=note)
        keys = None if columns.key is None else _keys(source, columns.key)
        if first is None:
            first, first_keys = problem, keys
        elif keys is not None:
            problem = _in_order(problem, _places(first_keys, keys, first.file, problem.file))
            _check_targets(first, problem, first_keys)
        else:
            _check_targets(first, problem, None)
        problems[name] = problem
    return _joined(problems)


def _joined(problems: dict[str, Problem]) -> Models:
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
    told = (note for name, problem in problems.items() for note in problem.notes(f"model {quoted(name)}"))
    notes = tuple(dict.fromkeys(told))
    return Models(first, scores, notes)


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
        msg = f"--key: {quoted_path(source.name)} has {which} more than once in column {quoted(name)}"
        raise CommandError(msg)
    return keys


def _places(first: Any, second: Any, first_file: str, second_file: str) -> IntArray:
    """Where each key of the first file stands in the second."""
    if first.type != second.type:
        first, second = first.cast(pa.string()), second.cast(pa.string())
    places = pc.index_in(first, value_set=second)
    if places.null_count > 0:
        absent = first.filter(places.is_null()).to_pylist()
        raise CommandError(_unmatched(absent, first_file, second_file))
    if len(second) > len(first):
        absent = second.filter(pc.invert(pc.is_in(second, value_set=first))).to_pylist()
        raise CommandError(_unmatched(absent, second_file, first_file))
    found: IntArray = places.to_numpy()
    return found


def _unmatched(keys: list[Any], there: str, absent: str) -> str:
    rows = "1 row" if len(keys) == 1 else f"{len(keys)} rows"
    files = f"{rows} of {quoted_path(there)} not in {quoted_path(absent)}"
    return f"the files do not match: {files}, by key {listed(keys, 5)}"


def _in_order(problem: Problem, places: IntArray) -> Problem:
    if np.array_equal(places, np.arange(len(places))):
        return problem
    target = replace(problem.target, values=problem.target.values[places])
    return replace(problem, target=target, scores=problem.scores[places])


def _check_targets(first: Problem, other: Problem, keys: Any) -> None:
    """Whether two files are about the same samples, as far as their targets tell."""
    ours, theirs = first.target.values, other.target.values
    files = f"the files do not match: {quoted_path(first.file)} and {quoted_path(other.file)}"
    hint = (
        ""
        if keys is not None
        else "; if their rows are in another order, name a column that identifies them with --key"
    )
    if len(ours) != len(theirs):
        msg = f"{files} have {len(ours)} and {len(theirs)} rows{hint}"
        raise CommandError(msg)
    if ours.dtype.kind != theirs.dtype.kind:
        ours, theirs = ours.astype(str), theirs.astype(str)
    differ = np.flatnonzero(ours != theirs)
    if len(differ) > 0:
        row = int(differ[0])
        where = f"row {row}" if keys is None else f"the row of key {quoted(keys[row].as_py())}"
        many = f", and {len(differ) - 1} more rows differ" if len(differ) > 1 else ""
        msg = f"{files} have targets {quoted(ours[row])} and {quoted(theirs[row])} in {where}{many}{hint}"
        raise CommandError(msg)
