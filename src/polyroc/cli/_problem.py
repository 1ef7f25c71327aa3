"""A file and the names of its columns -> what `polyroc.evaluate` takes.

A file in long layout has one row per sample and model. It is split by its column of models, and refused if nobody names
one: pooled as one model its rows would give a number that belongs to none of them.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polyroc._core.samples import look_like_log_probabilities
from polyroc._inputs.labels import text_of
from polyroc._lib.limits import LISTED_CLASSES
from polyroc._lib.numbers import counted
from polyroc._lib.typing import BoolArray, FloatArray, LabelArray
from polyroc.cli._columns import (
    INDEXES,
    Choice,
    Columns,
    Target,
    check_column,
    choose_scores,
    joined,
    labels_column,
    missing_values,
    read_target,
    split,
)
from polyroc.cli._files import Source, is_numeric, open_source, quoted_path
from polyroc.cli._messages import CommandError, clean, listed, quoted, typed


@dataclass(frozen=True, eq=False)
class Problem:
    """Labels and scores of one model, with what goes with the rows."""

    file: str
    target: Target = field(repr=False)
    choice: Choice
    scores: FloatArray = field(repr=False)
    """One column per class, shape (n, k), or (n, 1)."""
    sample_weight: FloatArray | None = field(repr=False)
    groups: LabelArray | None = field(repr=False)
    layout_note: str = ""
    warnings: tuple[str, ...] = ()
    """Changes to the rows."""
    model_column: str | None = None
    """The column of models, if the file has others than this one."""

    @property
    def labels(self) -> list[Any]:
        return list(self.choice.labels)

    @property
    def notes(self) -> list[str]:
        """Notes on guesses."""
        return [note for note in (self.layout_note, self.choice.note) if note]


def scale_notes(scores: Mapping[str, FloatArray], options: Mapping[str, Any], *, of_models: bool) -> list[str]:
    """Whose scores are not probabilities, and what that means for D; by the name of the model or of the file."""
    # Of two classes either column ranks the samples alike; of more, a softmax mixes the columns.
    several = {name: one for name, one in scores.items() if one.shape[1] > 2 and not _are_percentages(one)}
    logs = {name: one for name, one in several.items() if look_like_log_probabilities(one)}
    others = {name: one for name, one in several.items() if name not in logs and (one.min() < 0 or one.max() > 1)}
    notes = []
    if others:
        low, high = min(one.min() for one in others.values()), max(one.max() for one in others.values())
        notes.append(
            f"the scores of {_whose(others, of_models)} go from {low:.3g} to {high:.3g}, so they are not "
            "probabilities. Logits and their softmax rank samples differently, so they give different D"
        )
    # By columns, log probabilities rank samples as the probabilities do.
    if logs and options.get("thresholds") == "difference":
        notes.append(
            f"the scores of {_whose(logs, of_models)} are log probabilities. Their differences rank samples "
            "differently from those of probabilities, so they give different D"
        )
    return notes


def _whose(scores: Mapping[str, FloatArray], of_models: bool) -> str:
    if not of_models:
        return quoted_path(next(iter(scores)))
    return f"model{'' if len(scores) == 1 else 's'} {listed(list(scores))}"


def _are_percentages(scores: FloatArray) -> bool:
    """Whether these are probabilities times a number, which has no effect."""
    sums = scores.sum(axis=1)
    return bool(scores.min() >= 0 and sums.max() - sums.min() <= 0.01 * sums.max())


def read_problem(path: str, columns: Columns) -> Problem:
    """Read what an evaluation needs, and nothing else."""
    return open_problem(path, columns)[1]


def open_problem(path: str, columns: Columns) -> tuple[Source, Problem]:
    """The same, with the table that its rows come from."""
    source = open_source(path)
    check_column(source, columns.target, "target")
    is_long, n_rows = columns.model_column is not None, source.n_rows
    if columns.model_column is not None:
        split = parse_split(source, columns.model_column)
        columns = replace(columns, model_column=check_column(source, split.column, "model_column"))
        source = one_model(source, split, columns)
    has_rivals = source.n_rows < n_rows
    check_others(source, columns)
    dropped = ""
    if columns.drop_missing:
        source, dropped = complete_rows(source, columns, [columns.scores])
    target = read_target(source, columns.target)
    choice = choose_scores(source, target, columns)
    note = "" if is_long else check_layout(source, columns, choice.columns, takes_one=True)
    problem = problem_of(source, target, choice, columns)
    dropped_notes, rivals = (dropped,) if dropped else (), columns.model_column if has_rivals else None
    return source, replace(problem, layout_note=note, warnings=dropped_notes, model_column=rivals)


def check_others(source: Source, columns: Columns) -> None:
    """Whether there are such columns, before any is read."""
    named = {"sample_weight": columns.sample_weight, "groups": columns.groups, "key": columns.key}
    for argument, name in named.items():
        if name is not None:
            check_column(source, name, argument)


def problem_of(source: Source, target: Target, choice: Choice, columns: Columns) -> Problem:
    """The chosen columns, read."""
    weight = None if columns.sample_weight is None else source.matrix([columns.sample_weight])[:, 0]
    groups = None if columns.groups is None else as_groups(source, columns.groups)
    scores = source.matrix(choice.columns)
    check_scores(source, scores, choice.columns)
    return Problem(source.name, target, choice, scores, weight, groups)


def as_groups(source: Source, name: str) -> LabelArray:
    """Group of each row."""
    groups: LabelArray = labels_column(source, name).to_numpy()
    return groups


# Rows with missing values: refused, or left out with `--drop-missing` and counted by class


def check_scores(source: Source, scores: FloatArray, names: Sequence[str]) -> None:
    """Refuse scores that are missing, with the way out; infinite ones are left to the library."""
    for position, name in enumerate(names):
        missing = np.flatnonzero(np.isnan(scores[:, position]))
        if len(missing) > 0:
            raise CommandError(missing_values(source, name, len(missing), int(missing[0])))


def complete(source: Source, columns: Columns, patterns: Sequence[Any], others: Sequence[str | None]) -> BoolArray:
    """Rows without a missing value in the target, in scores, which `patterns` choose, and in other columns."""
    rows = source.present([columns.target, *(name for name in others if name is not None)])
    check_rows_left(int(np.count_nonzero(rows)), source.n_rows)
    # Which columns are scores depends on the classes.
    labelled = source.where(rows, source.name)
    target = read_target(labelled, columns.target)
    chosen = {name for one in patterns for name in choose_scores(labelled, target, columns, one).columns}
    return rows & source.present(chosen)


def complete_rows(source: Source, columns: Columns, patterns: Sequence[Any]) -> tuple[Source, str]:
    """The rows without a missing value, and how many of which class were dropped; nothing if none were."""
    rows = complete(source, columns, patterns, (columns.sample_weight, columns.groups, columns.key))
    if rows.all():
        return source, ""
    labels = label_texts(source, columns.target)
    check_classes_left(labels, rows, "`drop_missing` leaves")
    return source.where(rows, source.name), dropped_rows(labels, rows, n_models=len(patterns))


def label_texts(source: Source, target: str) -> Any:
    """The class of each row as text; None if it is missing."""
    labelled = source.present([target])
    texts = np.full(source.n_rows, None, dtype=object)
    if labelled.any():
        values = labels_column(source.where(labelled, source.name), target)
        texts[labelled] = [text_of(value) for value in values.to_pylist()]
    return texts


def check_rows_left(n_left: int, n_rows: int, option: str = "`drop_missing` leaves") -> None:
    """Refuse to go on without rows."""
    if n_left == 0:
        raise CommandError(option, f"none of the {counted(n_rows, 'row')}")


def check_classes_left(labels: Any, rows: BoolArray, option: str) -> None:
    """Refuse to lose a class, because D is then about other classes."""
    check_rows_left(int(np.count_nonzero(rows)), len(rows), option)
    before, after = ({text for text in texts if text is not None} for texts in (labels, labels[rows]))
    if lost := sorted(before - after):
        what = f"class {quoted(lost[0])}" if len(lost) == 1 else f"the classes {listed(lost)}"
        raise CommandError(option, f"no row of {what}: D would be about the other classes only")


def dropped_rows(labels: Any, rows: BoolArray, *, n_models: int) -> str:
    """How many rows were dropped, and of which classes; nothing if none were."""
    dropped = Counter(labels[~rows].tolist())
    if not dropped:
        return ""
    unlabelled = dropped.pop(None, 0)
    parts = [f"{count:,} of class {quoted(text)}" for text, count in dropped.most_common(LISTED_CLASSES)]
    others = sum(dropped.values()) - sum(count for _, count in dropped.most_common(LISTED_CLASSES))
    parts += [f"{others:,} of other classes"] if others else []
    parts += [f"{unlabelled:,} without a class"] if unlabelled else []
    why = "missing values" if n_models == 1 else "a missing value in at least one model, for all models alike"
    n_dropped = int(np.count_nonzero(~rows))
    return f"dropped {n_dropped:,} of {counted(len(rows), 'row')} with {why}: {', '.join(parts)}"


# Columns that identify samples, and columns that identify models, by what people and pandas call them.
_IDS = ("id", "ids", "key", "row_id", "rowid", "sample", "sample_id", "example_id", "image_id", "uid", "uuid")
MODELS = ("model", "models", "model_name", "classifier", "estimator", "algorithm")
# A column with more values than these names no models.
MOST_MODELS = 50
_ROWS_AT_ONCE = 65_536


class Split(NamedTuple):
    """The column of models, and those that are wanted, as typed; None for all."""

    column: str
    models: str | None


def parse_split(source: Source, text: str) -> Split:
    """`model`, or `model=knn,tree`; a column whose name holds an equals sign is a column first."""
    column, equals, models = text.partition("=")
    if text in source.names or not equals:
        return Split(text, None)
    return Split(column, models)


def models_of(source: Source, wanted: Split, columns: Columns) -> dict[str, Source]:
    """The rows of each model as a table of its own, in the order in which models occur, or are named."""
    if columns.drop_missing:
        # A row without a model is a row of none of them.
        source = source.where(source.present([wanted.column]), source.name)
    values = labels_column(source, wanted.column).cast(pa.string())
    there = pc.unique(values).to_pylist()
    names = there if wanted.models is None else _named(source, wanted, there)
    model = values.to_numpy()
    return {name: source.where(model == name, f"{source.name}, model {clean(name)}") for name in names}


def _named(source: Source, wanted: Split, there: list[str]) -> list[str]:
    names = [str(wanted.models)] if wanted.models in there else split(wanted.models or "")
    where = f"column {quoted(wanted.column)} of {quoted_path(source.name)}"
    if unknown := [name for name in names if name not in there] or ([] if names else [""]):
        raise CommandError("`model_column`:", f"no {listed(unknown)} in {where}, which has {listed(there)}")
    if len(set(names)) < len(names):
        raise CommandError("`model_column`", f"must name each model once, got {quoted(wanted.models)}")
    return names


def one_model(source: Source, wanted: Split, columns: Columns) -> Source:
    """The rows of the one model that is wanted."""
    models = models_of(source, wanted, columns)
    if len(models) > 1:
        names = list(models)
        below = f"{quoted_path(source.name)} holds {len(names)} models below each other, {listed(names)} in column "
        msg = f"{below}{quoted(wanted.column)}: {_choose(source, wanted, names, columns)}"
        raise CommandError(msg)
    if wanted.models is None:
        return source
    return next(iter(models.values()))


def _choose(source: Source, wanted: Split, models: list[str], columns: Columns, *, takes_one: bool = True) -> str:
    """How to evaluate one model, and how to compare them if their rows can be matched."""
    comparing = _comparing(source, wanted, columns)
    compare = f"compare them, `{comparing}`" if comparing else "name their column with `model_column`, and a `key`"
    if not takes_one:
        return compare
    one = f"choose one, `--model-column {typed(f'{wanted.column}={joined([models[0]])}')}`"
    return f"{one}, or {compare}" if comparing else one


def _comparing(source: Source, wanted: Split, columns: Columns) -> str:
    """The command that compares the models; empty if nothing tells which of their rows are of the same sample."""
    parts = models_of(source, wanted, replace(columns, drop_missing=True))
    column = wanted.column if wanted.models is None else f"{wanted.column}={wanted.models}"
    rest = columns.typed("model_column", "pooled", "common", "key")
    call = f"polyroc compare {typed(source.path)}{rest} --model-column {typed(column)}"
    if columns.key is None:
        taken = [*columns.taken, wanted.column]
        if common_id(source, parts, taken) is not None:
            return call
        keys = [name for name in source.names if name not in taken and _is_key(source, name)]
    else:
        keys = [columns.key]
    by = next(
        (key for key in keys if _repeats(source, key, columns) and _tells_apart(source, key, wanted.column)), None
    )
    if by is not None:
        is_whole = _n_distinct(source, by) * len(parts) == sum(part.n_rows for part in parts.values())
        return f"{call} --key {typed(by)}{'' if is_whole else ' --common'}"
    targets = [labels_column(part, columns.target).combine_chunks() for part in parts.values()]
    return call if all(target.equals(targets[0]) for target in targets[1:]) else ""


def common_id(source: Source, models: dict[str, Source], taken: list[str]) -> str | None:
    """The column by which the rows of models can be matched: it has the same values, each once, in all of them."""
    by = _id_column(source, taken)
    if by is None:
        return None
    parts = list(models.values())
    counts = {_n_distinct(one, by) for one in parts} | {one.n_rows for one in parts}
    n_ids = len(pa.chunked_array([chunk for one in parts for chunk in _column(one, by).chunks]).unique())
    return by if counts == {n_ids} else None


def _id_column(source: Source, taken: list[str]) -> str | None:
    """The column that identifies samples, if one has such a name."""
    for known in (_IDS, INDEXES):
        for name in source.names:
            if name.casefold() in known and name not in taken and _is_key(source, name):
                return name
    return None


class Layout(NamedTuple):
    """That a table may have the rows of several models."""

    column: str
    """The one that may hold their names."""
    key: str | None
    """The column that repeats, once for each model; None if the column of models is only called so."""


def long_layout(source: Source, columns: Columns, scores: Collection[str]) -> Layout | None:
    """A column of few values that is called as models are, or that distinguishes the rows of a repeating key."""
    if columns.pooled:
        return None
    others = [name for name in source.names if name not in {*columns.taken, *scores}]
    few = [name for name in others if _names_models(source, name) and _has_few_values(source, name)]
    # Those that are called so first, then text, then numbers.
    few.sort(key=lambda name: (name.casefold() not in MODELS, not _is_text(source.schema.field(name).type)))
    keys = [columns.key] if columns.key else [name for name in others if _is_key(source, name)]
    repeated = [key for key in keys if _repeats(source, key, columns)] if few else []
    for name in few:
        by = next((key for key in repeated if key != name and _tells_apart(source, key, name)), None)
        if by is not None or name.casefold() in MODELS:
            return Layout(name, by)
    return None


def check_layout(source: Source, columns: Columns, scores: Collection[str], *, takes_one: bool) -> str:
    """Refuse a table that may have the rows of several models; a note if ids repeat.

    `takes_one` says whether the command can evaluate one of the models.
    """
    layout = long_layout(source, columns, scores)
    if layout is not None:
        raise CommandError(_two_readings(source, *layout, columns, takes_one=takes_one))
    by = _id_column(source, columns.taken)
    if columns.pooled or columns.groups or not columns.has_groups or columns.key or by is None:
        return ""
    n_ids = _n_distinct(source, by)
    if n_ids == source.n_rows or by.casefold() not in _IDS:
        return ""
    return (
        f"column {quoted(by)} has {n_ids} values in {source.n_rows} rows; if these rows form groups, "
        f"`--groups {typed(by)}` says so"
    )


def comparison_of(source: Source, layout: Layout, columns: Columns) -> str:
    """That a table must be compared by its column of models."""
    wanted = Split(layout.column, None)
    several = f"{quoted_path(source.name)} alone can be compared by its column {quoted(layout.column)}"
    return f"{several}: {_choose(source, wanted, [], columns, takes_one=False)}"


def _two_readings(source: Source, name: str, by: str | None, columns: Columns, *, takes_one: bool) -> str:
    """Both readings of a table, each with what to type."""
    named = source.where(source.present([name]), source.name)
    models = pc.unique(labels_column(named, name).cast(pa.string())).to_pylist()
    wanted = Split(name, None)
    why = "" if by is None else f", and the rows of each {quoted(by)} differ by it"
    several = (
        f"{quoted_path(source.name)} can be read in two ways. If column {quoted(name)} ({listed(models, 5)}{why}) "
        f"holds the names of {len(models)} models, "
    )
    choose = _choose(source, wanted, models, columns, takes_one=takes_one)
    pooled = "if all rows are samples of one model, add `--pooled`"
    if by is not None and columns.has_groups and columns.groups is None and name.casefold() not in MODELS:
        pooled += f", or `--groups {typed(by)}` if the rows of each {quoted(by)} form a group"
    return f"{several}{choose}; {pooled}"


def _names_models(source: Source, name: str) -> bool:
    """Whether the values of a column can be names: text, numbers such as a temperature, booleans, dates and times."""
    kind = source.schema.field(name).type
    return _is_text(kind) or is_numeric(kind) or bool(pa.types.is_boolean(kind) or pa.types.is_temporal(kind))


def _has_few_values(source: Source, name: str) -> bool:
    """Whether a column has as many values as a file may have models; of a column of many, little is looked at."""
    values: set[Any] = set()
    for chunk in source.chunks(name):
        for start in range(0, len(chunk), _ROWS_AT_ONCE):
            values.update(chunk.slice(start, _ROWS_AT_ONCE).unique().to_pylist())
            if len(values) > MOST_MODELS:
                return False
    return len(values) > 1


def _is_key(source: Source, name: str) -> bool:
    """Whether a column may identify samples; pandas makes floats of integers of which one is missing."""
    kind = source.schema.field(name).type
    is_float_id = bool(pa.types.is_floating(kind)) and name.casefold() in (*_IDS, *INDEXES)
    return is_float_id or _is_text(kind) or bool(pa.types.is_integer(kind) or pa.types.is_temporal(kind))


def _is_text(kind: Any) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _column(source: Source, name: str) -> Any:
    """A column without its dictionary, which Arrow cannot count."""
    column = source.column(name)
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _n_distinct(source: Source, *names: str) -> int:
    """Number of distinct values of a column, or of combinations of several."""
    if len(names) == 1:
        return int(pc.count_distinct(_column(source, names[0]), mode="all").as_py())
    table = pa.table({str(number): _column(source, name) for number, name in enumerate(names)})
    return len(table.group_by(table.column_names).aggregate([]))


def _repeats(source: Source, key: str, columns: Columns) -> bool:
    """Whether a column can be the key of samples that several models saw: most values repeat, with the same class."""
    n_keys = _n_distinct(source, key)
    # Half of the samples seen by two models make 1.5 rows per key; all of them seen by every model, as many as models.
    if not 1.5 * n_keys <= source.n_rows <= MOST_MODELS * n_keys:
        return False
    if _n_distinct(source, key, columns.target) != n_keys:
        return False
    # Rows of a group are samples of one model if the user says so.
    groups = columns.groups
    return groups is None or not n_keys == _n_distinct(source, groups) == _n_distinct(source, key, groups)


def _tells_apart(source: Source, key: str, name: str) -> bool:
    """Whether no two rows have the same key and the same value of a column, of which there are no more than keys."""
    return _n_distinct(source, name) <= _n_distinct(source, key) and _n_distinct(source, key, name) == source.n_rows
