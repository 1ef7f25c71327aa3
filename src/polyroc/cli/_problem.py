"""A file and the names of its columns -> what `polyroc.evaluate` takes."""

from dataclasses import dataclass, field, replace
from typing import Any

from polyroc._lib._typing import FloatArray, LabelArray
from polyroc.cli._columns import Choice, check_column, choose_scores
from polyroc.cli._files import Source, open_source
from polyroc.cli._labels import Target, labels_column, read_target
from polyroc.cli._long import check_layout, one_model, parse_split


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
        if self.scores.shape[1] > 2 and (low < 0 or high > 1):
            notes.append(
                f"the scores of {whose} go from {low:.3g} to {high:.3g}, so they are not probabilities. Logits and "
                "their softmax rank samples differently, so they give different D"
            )
        return [note for note in notes if note]


def read_problem(path: str, columns: Columns) -> Problem:
    """Read what an evaluation needs, and nothing else."""
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
    return replace(problem_of(source, target, choice, columns), layout_note=note)


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
