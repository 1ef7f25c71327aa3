"""A file and the names of its columns -> what `polyroc.evaluate` takes; costs are another file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from polyroc._engines._samples import look_like_log_probabilities
from polyroc._lib.typing import FloatArray, LabelArray
from polyroc.cli._columns import Choice, Columns, check_column, choose_scores, ways_of
from polyroc.cli._files import Source, open_source, quoted_path
from polyroc.cli._labels import Target, labels_column, read_target, text_of
from polyroc.cli._long import INDEXES, check_layout, one_model, parse_split
from polyroc.cli._missing import check_scores, complete_rows
from polyroc.cli._plain import CommandError, clean, listed, quoted


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
    check_column(source, columns.target, "--target")
    is_long, n_rows = columns.model_column is not None, source.n_rows
    if columns.model_column is not None:
        split = parse_split(source, columns.model_column)
        columns = replace(columns, model_column=check_column(source, split.column, "--model-column"))
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
    named = {"--sample-weight": columns.sample_weight, "--groups": columns.groups, "--key": columns.key}
    for option, name in named.items():
        if name is not None:
            check_column(source, name, option)


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
                    f"predicted classes, got rows by column {quoted(name)}: transpose the table"
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
