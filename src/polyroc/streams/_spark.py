"""evaluate and compare of polyroc.spark: both passes over the partitions of a Spark data frame.

Each partition becomes a row of bytes (`_spark_batches`); rows are merged on the driver, or in a tree.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from numpy.typing import ArrayLike

from polyroc._counts.bins import Scores
from polyroc._inputs.arrays import read_labels
from polyroc._inputs.checks import InputError, as_confidence_level, as_flag, listed, shown
from polyroc._inputs.columns import Known, Said, assign_columns
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
)


def evaluate(
    df: Any,
    *,
    target: str,
    scores: str | Sequence[str] | None = None,
    labels: "ArrayLike | None" = None,
    sample_weight: str | None = None,
    groups: str | None = None,
    standard_errors: bool = True,
    score_kind: Scores = "probabilities",
    mantissa_bits: int | None = None,
    **options: Any,
) -> Evaluation:
    """Evaluate a classifier from columns of a Spark data frame: D, M, their curves and standard errors.

    Each partition is counted where it lies, as a `RocAccumulator` does, and becomes one row of bytes. The driver merges
    these rows and makes the fit. The result is that of one accumulator over all samples, whatever the partitions.
    polyroc must be installed on the executors, too.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Predictions, one sample in each row. Only columns that are named are read.
    target : str
        The column of true classes: integers, strings or booleans.
    scores : str or list of str, optional
        Columns of scores, one per class; those that are named after the classes are matched by name. Or one column
        whose entries are arrays, or vectors as models of Spark ML write them. By default all other columns.
    labels : array-like of shape (n_classes,), optional
        As in `polyroc.dask.evaluate`.
    sample_weight : str, optional
        The column of non-negative weights.
    groups : str, optional
        The column of the group of each sample, such as a patient ID. If given, groups are independent and not samples.
        Their sums are kept in the memory of the driver.
    standard_errors : bool
        Whether to make the second pass that standard errors and intervals need. The data frame is computed again for
        it: cache it if it is expensive.
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
    >>> import polyroc
    >>> from pyspark.sql import SparkSession
    >>> spark = SparkSession.builder.getOrCreate()
    >>> example = polyroc.load_example()
    >>> rows = [(int(y), p.tolist()) for y, p in zip(example.y_true, example.scores["tree"])]
    >>> df = spark.createDataFrame(rows, "digit int, probability array<double>")
    >>> evaluation = polyroc.spark.evaluate(df, target="digit", scores="probability", labels=range(10))
    >>> round(evaluation.standard_error, 4)
    0.0069
    """
    check_installed("spark", "evaluate")
    check_option_names(options, evaluate, without=OF_SAMPLES)
    if groups is not None and not as_flag(standard_errors, "standard_errors"):
        raise InputError("groups", "must be None where `standard_errors` is False: they have no part in the first pass")
    passes = as_passes(df, target, {ONE_MODEL: scores}, sample_weight, groups)
    recipe = as_recipe(labels, passes, (ONE_MODEL,), score_kind, mantissa_bits, options)
    return evaluate_passes(passes, recipe, options, standard_errors)


def compare(
    df: Any,
    *,
    target: str,
    scores: Mapping[str, str | Sequence[str]],
    labels: "ArrayLike | None" = None,
    sample_weight: str | None = None,
    groups: str | None = None,
    confidence_level: float = 0.95,
    score_kind: Scores = "probabilities",
    mantissa_bits: int | None = None,
    **options: Any,
) -> Comparison:
    """Which of several models is better, from columns of a Spark data frame, in two passes.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Predictions of all models, one sample in each row.
    target : str
        The column of true classes.
    scores : mapping of str to str or list of str
        The score columns of each model, by its name: one per class, or one column of arrays or vectors.
    labels, sample_weight, groups, score_kind, mantissa_bits
        As in `evaluate`.
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
    >>> import numpy as np
    >>> import polyroc
    >>> from pyspark.sql import SparkSession
    >>> spark = SparkSession.builder.getOrCreate()
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.integers(3, size=5000)
    >>> noise = rng.normal(size=(5000, 3))
    >>> strong, weak = 2 * np.eye(3)[y_true] + noise, np.eye(3)[y_true] + noise
    >>> rows = list(zip(y_true.tolist(), strong.tolist(), weak.tolist()))
    >>> df = spark.createDataFrame(rows, "y int, strong array<double>, weak array<double>")
    >>> models = {"strong": "strong", "weak": "weak"}
    >>> comparison = polyroc.spark.compare(df, target="y", scores=models, labels=range(3), score_kind="free")
    >>> str(comparison.by_auc.rankings[0])
    'strong > weak'
    """
    check_installed("spark", "compare")
    check_option_names(options, compare, without=OF_SAMPLES)
    level, models = as_confidence_level(confidence_level), as_models(scores)
    if None in models.values():
        raise InputError("scores", "must name the columns of every model", "None")
    passes = as_passes(df, target, models, sample_weight, groups)
    recipe = as_recipe(labels, passes, tuple(models), score_kind, mantissa_bits, options)
    return compare_passes(passes, recipe, options, level)


_NUMBERS = ("byte", "short", "integer", "long", "float", "double", "boolean")


@dataclass(frozen=True)
class Layout:
    """Where in a selected row everything stands: the class, scores of each model, then weight and group."""

    models: tuple[tuple[str, ...] | None, ...]
    """Names of the score columns of each model; None for a single column of arrays."""
    has_weight: bool
    has_groups: bool


def as_passes(df: Any, target: Any, scores: Mapping[str, Any], sample_weight: Any, groups: Any) -> "SparkPasses":
    """The columns that are needed, by their names; None for all columns that have no other role."""
    types = _types_of(df)
    argument = "scores" if len(scores) == 1 else None
    roles = {"target": target, "sample_weight": sample_weight, "groups": groups}
    for name, column in roles.items():
        if column is not None or name == "target":
            _check_column(column, types, name)
    taken = {column for column in roles.values() if column is not None}
    columns: list[Any] = [_column(target).alias("y")]
    models: list[tuple[str, ...] | None] = []
    for model, chosen in scores.items():
        name = argument or f"scores[{model!r}]"
        names = (
            [column for column in types if column not in taken] if chosen is None else _as_names(chosen, types, name)
        )
        if not names:
            raise InputError(name, "must name at least one column")
        first = types[names[0]]
        if len(names) == 1 and (first.typeName() == "array" or _is_vector(first)):
            columns.append(_as_array(names[0], first).alias(f"s{len(columns)}"))
            models.append(None)
            continue
        for column in names:
            columns.append(_as_number(column, types, name).alias(f"s{len(columns)}"))
        models.append(tuple(names))
    columns += [_column(column).alias(role) for role, column in list(roles.items())[1:] if column is not None]
    layout = Layout(tuple(models), sample_weight is not None, groups is not None)
    return SparkPasses(df.select(*columns), layout, tuple(scores))


def _types_of(df: Any) -> dict[str, Any]:
    fields = getattr(getattr(df, "schema", None), "fields", None)
    if fields is None or not hasattr(df, "mapInArrow"):
        raise InputError("df", "must be a Spark data frame", shown(type(df).__name__))
    types = {field.name: field.dataType for field in fields}
    if len(types) < len(fields):
        names = [field.name for field in fields]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InputError("df", "must have a name of its own for each column", f"{listed(twice)} more than once")
    return types


def _check_column(column: Any, types: Mapping[str, Any], argument: str) -> None:
    if not isinstance(column, str):
        raise InputError(argument, "must be the name of a column", shown(column))
    if column not in types:
        raise InputError(argument, "must be a column", f"{shown(column)}, which is not among {listed(list(types))}")


def _as_names(columns: Any, types: Mapping[str, Any], argument: str) -> list[str]:
    names = [columns] if isinstance(columns, str) else columns
    if not isinstance(names, Sequence):
        raise InputError(argument, "must be the name of a column or a list of names", shown(type(names).__name__))
    for column in names:
        _check_column(column, types, argument)
    return list(names)


def _column(name: str) -> Any:
    from pyspark.sql.functions import col

    # In quotes, because a dot in a name would be a field of a structure.
    return col("`" + name.replace("`", "``") + "`")


def _is_vector(kind: Any) -> bool:
    return type(kind).__name__ == "VectorUDT"


def _as_array(name: str, kind: Any) -> Any:
    """A column of arrays, or of vectors as models of Spark ML write them."""
    if _is_vector(kind):
        from pyspark.ml.functions import vector_to_array

        return vector_to_array(_column(name))
    return _column(name)


def _as_number(name: str, types: Mapping[str, Any], argument: str) -> Any:
    kind = types[name].typeName()
    if kind == "decimal":
        return _column(name).cast("double")
    if kind not in _NUMBERS:
        came = f"{shown(name)}, which holds {types[name].simpleString()}"
        hint = ": name the score columns" if argument == "scores" else ""
        raise InputError(argument, "must be columns of numbers, or one column of arrays", came, hint=hint)
    return _column(name)


# What the driver merges by itself: Spark refuses results of more than 1 GiB, and a driver is often small.
DRIVER_BYTES = 64 * 2**20
# Rows that a task merges where there are more.
FAN_IN = 16
# What errors about columns call the arguments.
_SAID = Said("scores", "target")

_Part = TypeVar("_Part", PartCounts, PartSums)


class SparkPasses:
    """Partitions that Spark passes."""

    argument = "df"
    how_to_keep = (
        "Something in the query differs from run to run, such as a function that draws at random: write the data frame "
        "to a file and read that, or `persist()` it first"
    )

    def __init__(self, frame: Any, layout: Layout, models: tuple[str, ...]) -> None:
        self._frame, self._layout, self._models = frame, layout, models

    def count(self, recipe: Recipe) -> PartCounts | None:
        opened = partial(PartCounts.from_bytes, recipe)
        return self._collected(recipe, lambda states: PartCounts.merged(map(opened, states)))

    def sum(self, tables: PartPass) -> PartSums | None:
        session = self._frame.sparkSession
        # Spark Connect has no variables to broadcast: tables are sent with the function.
        sent = None if "connect" in type(session).__module__ else session.sparkContext.broadcast(tables)
        try:
            return self._collected(sent or tables, lambda states: PartSums.merged(map(PartSums.from_bytes, states)))
        finally:
            if sent is not None:
                sent.destroy()

    def labels(self) -> list[Any]:
        """The classes, from the distinct values of the target and the names of the score columns."""
        rows = self._frame.select("y").distinct().limit(CLUSTER_CLASSES + 1).collect()
        if len(rows) > CLUSTER_CLASSES:
            raise InputError("y_true", f"must have at most {CLUSTER_CLASSES:,} classes")
        if not rows:
            raise InputError("y_true", "must not be empty", "no samples in any partition")
        values = sorted(set(read_labels([row[0] for row in rows], "y_true").tolist()))
        first = self._layout.models[0]
        n_columns = len(self._frame.select("s1").first()[0] or ()) if first is None else len(first)
        columns: dict[str, tuple[list[Any] | None, int]] = {
            model: (None, n_columns) if names is None else (list(names), len(names))
            for model, names in zip(self._models, self._layout.models, strict=True)
        }
        return classes_of(Known(values, None, None), columns, _SAID)

    def check(self, labels: list[Any]) -> None:
        """Refuse score columns that cannot be those of the classes, before anything is computed."""
        for names in self._layout.models:
            if names is not None:
                assign_columns(Known(sorted(labels), labels, None), list(names), len(names), _SAID)

    def _collected(self, begin: Any, merged: Callable[[Iterable[bytes]], _Part]) -> _Part | None:
        """The merged states of all partitions; an error of one of them is raised as it was there."""
        from polyroc.streams._spark_batches import SCHEMA, merge_batches, raise_error, summarize

        kept: list[Any] = []

        def summarized(function: Callable[[Any], Any], rows: Any) -> tuple[int, int]:
            """Numbers of rows and bytes; the rows stay where they are, and are computed again only if they are lost."""
            from pyspark.sql import functions as F  # noqa: N812

            kept.append(rows.mapInArrow(function, SCHEMA).persist())
            failed = F.min(F.when(F.col("error").isNotNull(), F.struct("part", "error")))
            [row] = kept[-1].agg(F.count("part"), F.sum(F.length("state")), failed).collect()
            raise_error(None if row[2] is None else row[2]["error"])
            return int(row[0]), int(row[1] or 0)

        try:
            n_rows, n_bytes = summarized(partial(summarize, begin, self._layout), self._frame)
            while n_bytes > DRIVER_BYTES and n_rows > FAN_IN:
                n_rows, n_bytes = summarized(partial(merge_batches, merged), kept[-1].repartition(-(-n_rows // FAN_IN)))
            rows = sorted((row["part"], bytes(row["state"])) for row in kept[-1].collect())
        finally:
            for frame in kept:
                frame.unpersist()
        return merged(state for _, state in rows) if rows else None
