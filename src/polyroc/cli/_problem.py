"""A file and the names of its columns -> what `polyroc.evaluate` takes; costs are another file."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from polyroc._engines._samples import look_like_log_probabilities
from polyroc._inputs.labels import text_of
from polyroc._lib.limits import LISTED_CLASSES
from polyroc._lib.numbers import counted
from polyroc._lib.typing import BoolArray, FloatArray, LabelArray
from polyroc.cli._columns import (
    Choice,
    Columns,
    Target,
    check_column,
    choose_scores,
    columns_of,
    labels_column,
    missing_values,
    read_target,
)
from polyroc.cli._files import Source, open_source, quoted_path
from polyroc.cli._long import INDEXES, check_layout, one_model, parse_split
from polyroc.cli._messages import CommandError, clean, listed, quoted


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
    """What was done to the rows."""
    model_column: str | None = None
    """The column of models, if the file has others than this one."""

    @property
    def labels(self) -> list[Any]:
        return list(self.choice.labels)

    @property
    def notes(self) -> list[str]:
        """What was guessed."""
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


# What the column of rows is called in a table that is the other way round.
_OF_PREDICTIONS = ("named", "predicted", "prediction", "predicted class", "y_pred", "decision", "decided")


def read_costs(path: str, labels: Sequence[Any]) -> FloatArray:
    """Cost of predicting the class of a column for the class of a row.

    The header names the classes. The rows are in the same order, or are named by one more column of text.
    """
    source, texts = open_source(path), [text_of(label) for label in labels]
    columns = columns_of(source, labels)
    if not columns or source.n_rows != len(texts):
        raise CommandError(
            "`costs`:",
            f"{quoted_path(path)} must have a header with the {len(texts)} classes ({listed(labels)}) "
            f"and a row for each, got {source.n_rows} rows of {', '.join(clean(name) for name in source.names[:10])}",
        )
    matrix = source.matrix(columns)
    names = _row_names(source, columns, texts)
    order = [names.index(text) for text in texts]
    return matrix[order]


def _row_names(source: Source, columns: list[str], texts: list[str]) -> list[str]:
    """The classes of the rows: a column that holds just them, or the order of the columns in the file."""
    others = [name for name in source.names if name not in columns]
    for name in others:
        if sorted(found := _names_in(source, name)) == sorted(texts):
            if name.casefold() in _OF_PREDICTIONS:
                raise CommandError(
                    "`costs`:",
                    f"the rows of {quoted_path(source.name)} must be the true classes and the columns the "
                    f"predicted classes, got rows by column {quoted(name)}: transpose the table",
                )
            return found
    # Any other column is taken for names with a mistake in them, except the index that pandas writes.
    if wrong := [name for name in others if not _is_index(source, name)]:
        came = listed(_names_in(source, wrong[0])) if len(wrong) == 1 else "other names"
        raise CommandError(
            "`costs`:",
            f"the rows of {quoted_path(source.name)} must be named {listed(texts)}, by column "
            f"{listed(wrong)}, got {came}",
        )
    by_column = dict(zip(columns, texts, strict=True))
    return [by_column[name] for name in source.names if name in by_column]


def _names_in(source: Source, name: str) -> list[str]:
    """A column as the names that it may hold, spelled as in the file."""
    if source.column(name).null_count > 0:
        return [str(value) for value in source.column(name).to_pylist()]
    return [text_of(value) for value in labels_column(source, name).to_pylist()]


def _is_index(source: Source, name: str) -> bool:
    return name.casefold() in INDEXES and source.column(name).to_pylist() == list(range(source.n_rows))


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
