"""Both passes over partitions, as tasks of Dask: a summary of each, merged in a tree."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from polyroc._inputs._arrays import read_categories, read_labels, read_table
from polyroc._inputs._checks import InputError
from polyroc._inputs._column_classes import Known, assign_columns
from polyroc._scale._partitions import PartCounts, PartPass, PartSums, Recipe, in_partition
from polyroc.dask._parts import Parts

# Summaries that one task merges. A tree over P partitions has log8(P) levels, so no machine has to hold many.
FAN_IN = 8
# A target of more values is no class; merging them would fill the memory of one machine.
_MOST_CLASSES = 100_000


_Part = TypeVar("_Part")


class DaskPasses:
    """Partitions that Dask passes: with the distributed client where there is one, else with its default scheduler."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def count(self, recipe: Recipe) -> PartCounts | None:
        from dask import delayed

        parts, counting = self._parts, delayed(_count, pure=False)
        return _computed(
            [
                counting(recipe, number, y_true, parts.model_scores(number), weight, _only_name(group))
                for number, (y_true, weight, group) in self._numbered()
            ],
            PartCounts.merged,
        )

    def sum(self, tables: PartPass) -> PartSums | None:
        from dask import delayed

        # One task, on which all others depend: sent to a machine once, from there to the others, and sent again where
        # that machine is lost, which data that were only scattered are not.
        sent = delayed(_as_it_is, pure=False)(tables)
        parts, adding = self._parts, delayed(_sum, pure=False)
        return _computed(
            [
                adding(sent, number, y_true, parts.model_scores(number), weight, group)
                for number, (y_true, weight, group) in self._numbered()
            ],
            PartSums.merged,
        )

    def labels(self) -> list[Any]:
        """The classes, from the values of the target in all partitions and the names of the score columns."""
        from dask import delayed

        parts, looking = self._parts, delayed(_look, pure=False)
        scores = next(iter(parts.scores.values()))
        # Scores are opened only where nobody else knows their columns.
        tasks = [
            looking(number, y_true, scores[number] if parts.columns[0] is None else None)
            for number, y_true in enumerate(parts.targets)
        ]
        found = _computed(tasks, _seen)
        if found is None or not found[0]:
            raise InputError("y_true", "must not be empty", "no samples in any partition")
        values, categories, columns = found
        names, n_columns = parts.columns[0] or columns
        return assign_columns(Known(sorted(values), None, categories), names, n_columns).classes

    def check(self, labels: list[Any]) -> None:
        """Refuse score columns that cannot be those of the classes, before anything is computed."""
        for columns in self._parts.columns:
            if columns is not None:
                assign_columns(Known(sorted(labels), labels, None), *columns)

    def _numbered(self) -> Any:
        return enumerate(zip(self._parts.truth, self._parts.weight, self._parts.groups, strict=True))


def _computed(tasks: Sequence[Any], merged: Callable[[Any], _Part]) -> _Part | None:
    """The result of a tree of merges."""
    import dask

    if not tasks:
        return None
    merging = dask.delayed(merged, pure=False)
    while len(tasks) > 1:
        tasks = [merging(list(tasks[start : start + FAN_IN])) for start in range(0, len(tasks), FAN_IN)]
    found: _Part = dask.compute(tasks[0])[0]
    return found


# What runs on the workers.


def _count(recipe: Recipe, number: int, y_true: Any, scores: list[Any], weight: Any, group: Any) -> PartCounts:
    counts = PartCounts(recipe)
    with in_partition(number):
        y_true, scores, weight, _ = _opened(y_true, scores, weight, group)
        counts.add(y_true, scores, weight)
    return counts


def _sum(tables: PartPass, number: int, y_true: Any, scores: list[Any], weight: Any, group: Any) -> PartSums:
    begun = tables.begun()
    with in_partition(number):
        begun.add(*_opened(y_true, scores, weight, group))
    return begun.sums


def _as_it_is(tables: PartPass) -> PartPass:
    return tables


def _only_name(group: Any) -> Any:
    """Groups have no part in the first pass, unless they are a column that is no score."""
    return group if isinstance(group, str) else None


def _opened(y_true: Any, scores: list[Any], weight: Any, group: Any) -> tuple[Any, list[Any], Any, Any]:
    """Names of columns in place of which the columns stand, and scores without these."""
    given = (y_true, weight, group)
    named = [name for name in given if isinstance(name, str)]
    if not named:
        return y_true, scores, weight, group
    [frame] = scores
    y_true, weight, group = (frame[one] if isinstance(one, str) else one for one in given)
    return y_true, [frame.drop(columns=list(dict.fromkeys(named)))], weight, group


def _look(number: int, y_true: Any, y_score: Any) -> tuple[set[Any], list[Any] | None, Any]:
    """Distinct values of the target, its categories, and the names and number of score columns."""
    with in_partition(number):
        if len(y_true) == 0:
            return set(), None, None
        columns = None
        if y_score is not None:
            values, names = read_table(y_score, "y_score")
            columns = names, 1 if values.ndim == 1 else values.shape[1]
        return set(read_labels(y_true, "y_true").tolist()), read_categories(y_true, "y_true"), columns


def _seen(parts: list[Any]) -> tuple[set[Any], list[Any] | None, Any]:
    """What several partitions have seen; categories only where all have the same."""
    with_samples = [part for part in parts if part[0]]
    if not with_samples:
        return parts[0]  # type: ignore[no-any-return]
    values = set().union(*(part[0] for part in with_samples))
    if len(values) > _MOST_CLASSES:
        raise InputError("y_true", f"must have at most {_MOST_CLASSES:,} classes", f"{len(values):,} distinct values")
    kinds = sorted({type(value).__name__ for value in values})
    if len(kinds) > 1:
        raise InputError("y_true", "must hold integers, strings or booleans, all of one type", ", ".join(kinds))
    first = with_samples[0]
    same = all(part[1] == first[1] for part in with_samples)
    return values, first[1] if same else None, first[2]
