"""A file and the names of its columns -> what `polyroc.evaluate` takes; costs are another file."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from polyroc._lib._typing import FloatArray, LabelArray
from polyroc.cli._columns import Choice, check_column, choose_scores, ways_of
from polyroc.cli._files import Source, open_source, quoted_path
from polyroc.cli._labels import Target, labels_column, read_target, text_of
from polyroc.cli._long import INDEXES, check_layout, one_model, parse_split
from polyroc.cli._plain import CommandError, clean, listed, quoted


@dataclass(frozen=True)
class Columns:
    """What the user said about the columns of a file."""

    target: str
    scores: str | None = None
    labels: str | None = None
    sample_weight: str | None = None
    groups: str | None = None
    key: str | None = None
    model_column: str | None = None
    """The column of models of a file in long layout; perhaps with the one that is wanted, as in `model=knn`."""

    @property
    def taken(self) -> list[str]:
        """Those that are no scores."""
        named = (self.target, self.sample_weight, self.groups, self.key, self.model_column)
        return [name for name in named if name is not None]


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

    @property
    def labels(self) -> list[Any]:
        return list(self.choice.labels)

    def notes(self, whose: str) -> list[str]:
        """What was guessed or looks odd; `whose` scores they are, in a sentence."""
        notes = [self.layout_note, self.choice.note]
        low, high = float(self.scores.min()), float(self.scores.max())
        # Of two classes either column ranks the samples alike; of more, a softmax mixes the columns.
        if self.scores.shape[1] > 2 and (low < 0 or high > 1) and not _are_percentages(self.scores):
            notes.append(
                f"the scores of {whose} go from {low:.3g} to {high:.3g}, so they are not probabilities. Logits and "
                "their softmax rank samples differently, so they give different D"
            )
        return [note for note in notes if note]


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
    check_column(source, columns.target, "--target")
    is_long = columns.model_column is not None
    if columns.model_column is not None:
        split = parse_split(source, columns.model_column)
        columns = replace(columns, model_column=check_column(source, split.column, "--model-column"))
        source = one_model(source, split, columns.target)
    target = read_target(source, columns.target)
    check_others(source, columns)
    note = "" if is_long else check_layout(source, columns.target, columns.key, columns.taken)
    choice = choose_scores(source, target, scores=columns.scores, labels=columns.labels, taken=columns.taken)
    return source, replace(problem_of(source, target, choice, columns), layout_note=note)


def check_others(source: Source, columns: Columns) -> None:
    """Whether there are such columns, before any is read."""
    named = {"--sample-weight": columns.sample_weight, "--groups": columns.groups, "--key": columns.key}
    for option, name in named.items():
        if name is not None:
            check_column(source, name, option)


def problem_of(source: Source, target: Target, choice: Choice, columns: Columns) -> Problem:
    """The chosen columns, read."""
    weight = None if columns.sample_weight is None else source.matrix([columns.sample_weight])[:, 0]
    groups = None if columns.groups is None else as_groups(source, columns.groups)
    return Problem(source.name, target, choice, source.matrix(choice.columns), weight, groups)


def as_groups(source: Source, name: str) -> LabelArray:
    """Group of each row."""
    groups: LabelArray = labels_column(source, name).to_numpy()
    return groups


# What the column of rows is called in a table that is the other way round.
_OF_PREDICTIONS = ("named", "predicted", "prediction", "predicted class", "y_pred", "decision", "decided")


def read_costs(path: str, labels: Sequence[Any]) -> FloatArray:
    """What it costs to take the class of a row for the class of a column.

    The header names the classes. The rows are in the same order, or are named by one more column of text.
    """
    source, texts = open_source(path), [text_of(label) for label in labels]
    ways = ways_of(source.names, texts)
    # Booleans were matched in whatever case.
    actual = {name.lower(): name for name in source.names} | {name: name for name in source.names}
    columns = [actual[ways[0].name(text)] for text in texts] if len(ways) == 1 else []
    if not columns or source.n_rows != len(texts):
        msg = (
            f"--costs: {quoted_path(path)} must have a header with the {len(texts)} classes ({listed(labels)}) "
            f"and a row for each, got {source.n_rows} rows of {', '.join(clean(name) for name in source.names[:10])}"
        )
        raise CommandError(msg)
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
                msg = (
                    f"--costs: the rows of {quoted_path(source.name)} must be the true classes and the columns the "
                    f"classes that are named, got rows by column {quoted(name)}: transpose the table"
                )
                raise CommandError(msg)
            return found
    # Any other column is taken for names with a mistake in them, except the index that pandas writes.
    if wrong := [name for name in others if not _is_index(source, name)]:
        came = listed(_names_in(source, wrong[0])) if len(wrong) == 1 else "other names"
        msg = (
            f"--costs: the rows of {quoted_path(source.name)} must be named {listed(texts)}, by column "
            f"{listed(wrong)}, got {came}"
        )
        raise CommandError(msg)
    by_column = dict(zip(columns, texts, strict=True))
    return [by_column[name] for name in source.names if name in by_column]


def _names_in(source: Source, name: str) -> list[str]:
    """A column as the names that it may hold, spelled as in the file."""
    if source.column(name).null_count > 0:
        return [str(value) for value in source.column(name).to_pylist()]
    return [text_of(value) for value in labels_column(source, name).to_pylist()]


def _is_index(source: Source, name: str) -> bool:
    return name.casefold() in INDEXES and source.column(name).to_pylist() == list(range(source.n_rows))
