"""A file and the names of its columns -> what `polyroc.evaluate` takes."""

from dataclasses import dataclass, field
from typing import Any

from polyroc._typing import FloatArray, LabelArray
from polyroc.cli._columns import Choice, check_column, choose_scores
from polyroc.cli._files import Source, open_source
from polyroc.cli._labels import Target, labels_column, read_target


@dataclass(frozen=True)
class Columns:
    """What the user said about the columns of a file."""

    target: str
    scores: str | None = None
    labels: str | None = None
    sample_weight: str | None = None
    groups: str | None = None
    key: str | None = None

    @property
    def taken(self) -> list[str]:
        """Those that are no scores."""
        return [name for name in (self.target, self.sample_weight, self.groups, self.key) if name is not None]


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

    @property
    def labels(self) -> list[Any]:
        return list(self.choice.labels)

    @property
    def notes(self) -> list[str]:
        """What was guessed or looks odd."""
        notes = [self.choice.note]
        low, high = float(self.scores.min()), float(self.scores.max())
        # Of two classes either column ranks the samples alike; of more, a softmax mixes the columns.
        if self.scores.shape[1] > 2 and (low < 0 or high > 1):
            notes.append(
                f"the scores go from {low:.3g} to {high:.3g}, so they are no probabilities; each column ranks the "
                "samples as it is, and logits rank them otherwise than their softmax does"
            )
        return [note for note in notes if note]


def read_problem(path: str, columns: Columns) -> Problem:
    """Read what an evaluation needs, and nothing else."""
    source = open_source(path)
    target = read_target(source, check_column(source, columns.target, "--target"))
    check_others(source, columns)
    choice = choose_scores(source, target, scores=columns.scores, labels=columns.labels, taken=columns.taken)
    return problem_of(source, target, choice, columns)


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
    """What belongs together, by row."""
    groups: LabelArray = labels_column(source, name).to_numpy()
    return groups
