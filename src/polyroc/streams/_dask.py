"""evaluate and compare of polyroc.dask: both passes as tasks of Dask, a summary of each partition, merged in a tree."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from polyroc._counts.bins import Scores
from polyroc._inputs.arrays import read_categories, read_labels, read_table
from polyroc._inputs.checks import InputError, as_confidence_level, as_flag, listed, shown
from polyroc._inputs.columns import Known, are_named, assign_columns
from polyroc._inputs.predictions import is_empty
from polyroc._lib.limits import CLUSTER_CLASSES
from polyroc.evaluation._comparison import Comparison
from polyroc.evaluation._evaluate import OF_SAMPLES, check_option_names
from polyroc.evaluation._evaluation import Evaluation
from polyroc.streams._partitions import (
    ONE_MODEL,
    PartCounts,
    PartPass,
    PartSums,
    Recipe,
    as_models,
    as_recipe,
    check_installed,
    classes_of,
    compare_passes,
    evaluate_passes,
    in_partition,
)


def evaluate(
    y_true: Any,
    y_score: Any,
    *,
    labels: "ArrayLike | None" = None,
    sample_weight: Any = None,
    groups: Any = None,
    standard_errors: bool = True,
    score_kind: Scores = "probabilities",
    mantissa_bits: int | None = None,
    **options: Any,
) -> Evaluation:
    """Evaluate a classifier from predictions in the partitions of Dask: D, M, their curves and standard errors.

    Each partition is counted where it lies, as a `RocAccumulator` does. Counts are merged in a tree, and the fit is
    made by the caller. The result is that of one accumulator over all samples, whatever the partitions. Uses the
    distributed client where there is one, else Dask's default scheduler.

    Parameters
    ----------
    y_true : dask array, dask series, list of delayed objects or str
        True classes. With scores in a dask data frame it may be the name of one of its columns, so that each partition
        is read once per pass.
    y_score : dask array, dask data frame or list of delayed objects
        Scores, with as many rows and partitions as `y_true`; one column per class. Arrays are rechunked so that a block
        has all columns. Columns of a data frame that are named after the classes are matched by name.
    labels : array-like of shape (n_classes,), optional
        The classes in the order of the columns. By default they are found as in `polyroc.evaluate`, which takes another
        pass over `y_true`.
    sample_weight : dask array, dask series, list of delayed objects or str, optional
        Non-negative weights, or the name of a column of `y_score`.
    groups : dask array, dask series, list of delayed objects or str, optional
        Group of each sample, such as a patient ID, or the name of a column of `y_score`. If given, groups are
        independent and not samples. Their sums are kept in the memory of the caller.
    standard_errors : bool
        Whether to make the second pass that standard errors and intervals need. Partitions are computed again for it:
        persist them if they fit in the memory of the workers and are expensive.
    score_kind, mantissa_bits
        As in `polyroc.RocAccumulator`.
    **options
        Further keyword arguments of `polyroc.evaluate`; ``thresholds="difference"`` needs single samples.

    Returns
    -------
    Evaluation
        As `RocAccumulator.compute` and `SecondPass.compute` give it.

    See Also
    --------
    polyroc.RocAccumulator : The same for batches in one process.

    Examples
    --------
    >>> import dask.array as da
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> y_true = da.from_array(example.y_true, chunks=200)
    >>> y_score = da.from_array(example.scores["tree"], chunks=(200, 10))
    >>> evaluation = polyroc.dask.evaluate(y_true, y_score, labels=range(10))
    >>> round(evaluation.standard_error, 4)
    0.0069
    """
    check_installed("dask", "evaluate")
    check_option_names(options, evaluate, without=OF_SAMPLES)
    if groups is not None and not as_flag(standard_errors, "standard_errors"):
        raise InputError("groups", "must be None where `standard_errors` is False: they have no part in the first pass")
    passes = as_passes(y_true, {ONE_MODEL: y_score}, sample_weight, groups)
    recipe = as_recipe(labels, passes, (ONE_MODEL,), score_kind, mantissa_bits, options)
    return evaluate_passes(passes, recipe, options, standard_errors)


def compare(
    y_true: Any,
    scores: Mapping[str, Any],
    *,
    labels: "ArrayLike | None" = None,
    sample_weight: Any = None,
    groups: Any = None,
    confidence_level: float = 0.95,
    score_kind: Scores = "probabilities",
    mantissa_bits: int | None = None,
    **options: Any,
) -> Comparison:
    """Which of several models is better, from predictions in the partitions of Dask, in two passes.

    Parameters
    ----------
    y_true : dask array, dask series or list of delayed objects
        True classes.
    scores : mapping of str to dask array, dask data frame or list of delayed objects
        The scores of each model for the same samples, by its name.
    labels, sample_weight, groups, score_kind, mantissa_bits
        As in `evaluate`; no names of columns.
    confidence_level : float
        Of the intervals, between 0 and 1.
    **options
        Further keyword arguments of `polyroc.evaluate`, the same for all models.

    Returns
    -------
    Comparison
        As `PairedSecondPass.compute` gives it, without resampling.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import polyroc
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.integers(3, size=10_000)
    >>> noise = rng.normal(size=(10_000, 3))
    >>> scores = {
    ...     "strong": da.from_array(2 * np.eye(3)[y_true] + noise, chunks=(1000, 3)),
    ...     "weak": da.from_array(np.eye(3)[y_true] + noise, chunks=(1000, 3)),
    ... }
    >>> comparison = polyroc.dask.compare(da.from_array(y_true, chunks=1000), scores, score_kind="free")
    >>> str(comparison.by_auc.rankings[0])
    'strong > weak'
    """
    check_installed("dask", "compare")
    check_option_names(options, compare, without=OF_SAMPLES)
    level, models = as_confidence_level(confidence_level), as_models(scores)
    passes = as_passes(y_true, models, sample_weight, groups)
    recipe = as_recipe(labels, passes, tuple(models), score_kind, mantissa_bits, options)
    return compare_passes(passes, recipe, options, level)


_KINDS = "a dask array, a dask series or data frame, or a list of delayed objects"


def as_passes(y_true: Any, scores: Mapping[str, Any], sample_weight: Any, groups: Any) -> "DaskPasses":
    """The partitions of all arguments, aligned."""
    names = dict.fromkeys(scores, "y_score") if len(scores) == 1 else {model: f"scores[{model!r}]" for model in scores}
    first = next(iter(scores))
    leader = _one_chunk_of_columns(scores[first], names[first])
    rest = {"y_true": y_true, "sample_weight": sample_weight, "groups": groups}
    named = {name: value for name, value in rest.items() if isinstance(value, str)}
    if named:
        _check_columns(leader, named, len(scores))
    if not any(map(_is_lazy, (leader, *rest.values()))):
        hint = ": for predictions in memory use `polyroc.evaluate` or `polyroc.compare`"
        raise InputError("y_score", f"must be {_KINDS}", shown(type(leader).__name__), hint=hint)
    blocks = {first: _blocks(leader, names[first])}
    n_parts = len(blocks[first])
    columns = [_columns_of(leader, set(named.values()))]
    for model in list(scores)[1:]:
        whole = _one_chunk_of_columns(scores[model], names[model])
        blocks[model] = _aligned(whole, names[model], leader, n_parts)
        columns.append(_columns_of(whole, set()))
    truth, weight, group = (
        [value] * n_parts if value is None or isinstance(value, str) else _aligned(value, name, leader, n_parts)
        for name, value in rest.items()
    )
    targets = _blocks(leader[y_true], "y_true") if isinstance(y_true, str) else truth
    return DaskPasses(truth, blocks, weight, group, targets, columns)


# By what their types have, so that neither pandas nor dask.array is loaded; a delayed object itself has every name.
def _is_array(value: Any) -> bool:
    return hasattr(value, "__dask_graph__") and hasattr(type(value), "chunks")


def _is_frame(value: Any) -> bool:
    return hasattr(value, "__dask_graph__") and hasattr(type(value), "divisions")


def _is_delayed(value: Any) -> bool:
    from dask.delayed import Delayed

    return isinstance(value, Delayed)


def _is_delayed_list(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) > 0 and all(map(_is_delayed, value))


def _is_lazy(value: Any) -> bool:
    return _is_array(value) or _is_frame(value) or _is_delayed(value) or _is_delayed_list(value)


def _is_known(array: Any) -> bool:
    return _is_array(array) and not np.isnan(array.shape[0])


def _one_chunk_of_columns(value: Any, name: str) -> Any:
    """Arrays whose blocks have all columns."""
    if not _is_array(value):
        return value
    if value.ndim not in (1, 2):
        raise InputError(name, "must have shape (n_samples, n_classes) or (n_samples,)", f"{value.shape}")
    return value.rechunk({1: -1}) if value.ndim == 2 and value.numblocks[1] > 1 else value


def _check_columns(frame: Any, named: Mapping[str, str], n_models: int) -> None:
    """Whether names of columns can be found."""
    [argument, *_] = named
    if n_models > 1:
        raise InputError(argument, f"must be {_KINDS}", f"the name of a column, {shown(named[argument])}")
    if not _is_frame(frame) or frame.ndim != 2:
        rule = "may be the name of a column only where `y_score` is a dask data frame"
        raise InputError(argument, rule, f"{shown(named[argument])} and {type(frame).__name__}")
    for argument, column in named.items():
        if column not in list(frame.columns):
            came = f"{shown(column)}, which is not among {listed(list(frame.columns))}"
            raise InputError(argument, "must be a column of `y_score`", came)


def _blocks(value: Any, name: str) -> list[Any]:
    if _is_array(value):
        return list(np.ravel(value.to_delayed()))
    if _is_frame(value):
        return list(value.to_delayed())
    if _is_delayed(value):
        return [value]
    if _is_delayed_list(value):
        return list(value)
    raise InputError(name, f"must be {_KINDS}", shown(type(value).__name__))


def _aligned(value: Any, name: str, leader: Any, n_parts: int) -> list[Any]:
    """The blocks of an argument, which has the rows of the first model's scores."""
    if not _is_lazy(value) and _is_known(leader):
        from dask import array

        value = array.from_array(np.asarray(value), chunks=-1)
    if _is_array(value) and name in ("y_true", "sample_weight", "groups") and value.ndim != 1:
        raise InputError(name, "must be one-dimensional", f"shape {value.shape}")
    if _is_known(value) and _is_known(leader):
        if value.shape[0] != leader.shape[0]:
            rule = "must have one entry per row of the scores"
            raise InputError(name, rule, f"{value.shape[0]:,} entries and {leader.shape[0]:,} rows")
        value = value.rechunk({0: leader.chunks[0]})
    both_frames = _is_frame(value) and _is_frame(leader)
    if both_frames and value.known_divisions and leader.known_divisions and value.divisions != leader.divisions:
        raise InputError(name, "must have the divisions of the scores", hint=": take both from one data frame")
    blocks = _blocks(value, name)
    if len(blocks) != n_parts:
        raise InputError(name, f"must have as many partitions as the scores, {n_parts}", f"{len(blocks)}")
    return blocks


def _columns_of(leader: Any, without: set[str]) -> tuple[list[Any] | None, int] | None:
    if _is_array(leader):
        return None, 1 if leader.ndim == 1 else int(leader.shape[1])
    if _is_frame(leader):
        names = [name for name in leader.columns if name not in without] if leader.ndim == 2 else [leader.name]
        return names, len(names)
    return None


# Summaries that one task merges. A tree over P partitions has log8(P) levels, so no machine has to hold many.
FAN_IN = 8


_Part = TypeVar("_Part")


@dataclass(eq=False)
class DaskPasses:
    """Partitions that Dask passes: with the distributed client where there is one, else with its default scheduler."""

    truth: Sequence[Any]
    """Delayed objects, or names of columns of the scores; so are weights and groups."""
    scores: Mapping[str, Sequence[Any]]
    """Of each model."""
    weight: Sequence[Any]
    groups: Sequence[Any]
    targets: Sequence[Any]
    """True classes alone, where `truth` is the name of a column that the scores have."""
    columns: list[tuple[list[Any] | None, int] | None]
    """Names and number of score columns of each model; None where only its batches know."""
    argument: str = "y_true"
    how_to_keep: str = (
        "A loader with an order of its own for each call, or a draw without a seed, does that: seed it, or persist the "
        "partitions with `dask.persist` first"
    )

    def count(self, recipe: Recipe) -> PartCounts | None:
        return self._computed_with(recipe, PartCounts.merged)

    def sum(self, tables: PartPass) -> PartSums | None:
        from dask import delayed

        # One task, on which all others depend: sent to a machine once, from there to the others, and sent again if that
        # machine is lost, which data that were only scattered are not.
        return self._computed_with(delayed(_as_it_is, pure=False)(tables), PartSums.merged)

    def _computed_with(self, begin: Any, merged: "Callable[[list[_Part]], _Part]") -> "_Part | None":
        from dask import delayed

        summarizing = delayed(_summarize, pure=False)
        models = [list(blocks) for blocks in zip(*self.scores.values(), strict=True)]
        rows = enumerate(zip(self.truth, models, self.weight, self.groups, strict=True))
        return _computed([summarizing(begin, number, *columns) for number, columns in rows], merged)

    def labels(self) -> list[Any]:
        """The classes, from the values of the target in all partitions and the names of the score columns."""
        from dask import delayed

        looking = delayed(_look, pure=False)
        # Scores are opened only where nobody else knows their columns.
        unknown = [model for model, own in zip(self.scores, self.columns, strict=True) if own is None]
        tasks = [
            looking(number, y_true, {model: self.scores[model][number] for model in unknown})
            for number, y_true in enumerate(self.targets)
        ]
        seen = _computed(tasks, _merged)
        if seen is None or not seen.values:
            raise InputError("y_true", "must not be empty", "no samples in any partition")
        columns = {
            model: seen.columns_of(model) if own is None else own
            for model, own in zip(self.scores, self.columns, strict=True)
        }
        if not are_named(*next(iter(columns.values()))) and len(seen.categories) > 1:
            raise _differing("y_true", "categories", seen.categories)
        return classes_of(Known(sorted(seen.values), None, seen.categories[0][1]), columns)

    def check(self, labels: list[Any]) -> None:
        """Refuse score columns that cannot be those of the classes, before anything is computed."""
        for columns in self.columns:
            if columns is not None:
                assign_columns(Known(sorted(labels), labels, None), *columns)


def _computed(tasks: Sequence[Any], merged: Callable[[Any], _Part]) -> _Part | None:
    """The result of a tree of merges."""
    import dask

    if not tasks:
        return None
    merging = dask.delayed(merged, pure=False)
    while len(tasks) > 1:
        tasks = [merging(list(tasks[start : start + FAN_IN])) for start in range(0, len(tasks), FAN_IN)]
    result: _Part = dask.compute(tasks[0])[0]
    return result


# What runs on the workers.


def _summarize(begin: Any, number: int, y_true: Any, scores: list[Any], weight: Any, group: Any) -> Any:
    """The counts or sums of a partition, begun by a `Recipe` or a `PartPass`."""
    columns, part = (y_true, weight, group), begin.begun(number)
    with in_partition(number):
        if named := [name for name in columns if isinstance(name, str)]:
            # Names stand for columns of the only frame of scores, which are no scores then.
            [frame] = scores
            y_true, weight, group = (frame[name] if isinstance(name, str) else name for name in columns)
            scores = [frame.drop(columns=list(dict.fromkeys(named)))]
        part.add(y_true, scores, weight, group)
    return part.summary


def _as_it_is(tables: PartPass) -> PartPass:
    return tables


_Entry: TypeAlias = tuple[int, Any]


class _Seen(NamedTuple):
    """Classes as partitions have them: each entry has the number of the first partition that says so."""

    values: set[Any]
    """Distinct values of the target."""
    categories: list[_Entry]
    """Categories of the first partition with samples, and of the first that has others."""
    columns: dict[str, list[_Entry]]
    """Likewise the names and the number of score columns, of models whose batches alone know them."""

    def columns_of(self, model: str) -> tuple[list[Any] | None, int]:
        """Names and number of score columns of a model, the same in all partitions."""
        if len(self.columns[model]) > 1:
            named = [(number, columns[0]) for number, columns in self.columns[model]]
            raise _differing(f"scores[{model!r}]" if model else "y_score", "columns", named)
        [(_, columns)] = self.columns[model]
        names, n_columns = columns
        return names, n_columns


def _look(number: int, y_true: Any, scores: dict[str, Any]) -> _Seen:
    with in_partition(number):
        if is_empty(y_true):
            return _Seen(set(), [], {})
        columns = {}
        for model, y_score in scores.items():
            values, names = read_table(y_score, "y_score")
            columns[model] = [(number, (names, 1 if values.ndim == 1 else values.shape[1]))]
        categories = read_categories(y_true, "y_true")
        return _Seen(set(read_labels(y_true, "y_true").tolist()), [(number, categories)], columns)


def _merged(parts: list[_Seen]) -> _Seen:
    """Classes of several partitions."""
    with_samples = [part for part in parts if part.values]
    if not with_samples:
        return parts[0]
    values = set().union(*(part.values for part in with_samples))
    if len(values) > CLUSTER_CLASSES:
        raise InputError("y_true", f"must have at most {CLUSTER_CLASSES:,} classes", f"{len(values):,} distinct values")
    kinds = sorted({type(value).__name__ for value in values})
    if len(kinds) > 1:
        raise InputError("y_true", "must hold integers, strings or booleans, all of one type", ", ".join(kinds))
    columns = {
        # Names may come in another order: then each batch is matched by its names.
        model: _first_two([part.columns[model] for part in with_samples], lambda own: (set(own[0] or ()), own[1]))
        for model in with_samples[0].columns
    }
    return _Seen(values, _first_two([part.categories for part in with_samples], lambda own: own), columns)


def _first_two(said: list[list[_Entry]], key: Callable[[Any], Any]) -> list[_Entry]:
    """The entry of the first partition, and the first entry that differs from it."""
    first, *rest = sorted((entry for entries in said for entry in entries), key=itemgetter(0))
    return [first, *[entry for entry in rest if key(entry[1]) != key(first[1])][:1]]


def _differing(argument: str, what: str, entries: list[_Entry]) -> InputError:
    said = [f"{'none' if names is None else listed(names)} in partition {number}" for number, names in entries]
    other = ", if the score columns are not named after the classes" if what == "categories" else ""
    rule = f"must have the same {what} in every partition{other}"
    hint = ": pass the classes in the order of the columns as `labels=`"
    return InputError(argument, rule, " and ".join(said), hint=hint)
