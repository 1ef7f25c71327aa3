"""evaluate_parquet(...) and compare_parquet(...): files that do not fit in memory, in two passes over them."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from polyroc._inputs.checks import InputError, as_confidence_level, as_flag, listed, shown
from polyroc._lib.warnings import underflow_is_zero
from polyroc.evaluation._comparison import Comparison
from polyroc.evaluation._evaluate import OF_SAMPLES, check_option_names
from polyroc.evaluation._evaluation import Evaluation
from polyroc.streams._accumulator import RocAccumulator
from polyroc.streams._second_pass import PairedSecondPass, SecondPass

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import ArrayLike

Paths: TypeAlias = str | PathLike[str] | Sequence[str | PathLike[str]]
ScoreKind: TypeAlias = Literal["auto", "probabilities", "free"]


@underflow_is_zero
def evaluate_parquet(
    paths: Paths,
    *,
    target: str,
    scores: str | Sequence[str] | None = None,
    labels: "ArrayLike | None" = None,
    sample_weight: str | None = None,
    groups: str | None = None,
    standard_errors: bool = True,
    exact: bool = False,
    partial: bool = False,
    checkpoint: str | PathLike[str] | None = None,
    progress: bool = False,
    score_kind: ScoreKind = "auto",
    mantissa_bits: int | None = None,
    n_jobs: int | None = None,
    **options: Any,
) -> Evaluation:
    """Evaluate a classifier on Parquet files of any size, in bounded memory (needs pyarrow, ``polyroc[cli]``).

    The files are read twice, row group by row group: scores are counted in bins, as `RocAccumulator` does, and a second
    pass gives standard errors. Only the columns that are needed are read.

    Parameters
    ----------
    paths : path or sequence of paths
        Files with the same columns. A folder stands for all files in it that end in ``.parquet`` or ``.pq``, without
        those that begin with ``.`` or ``_`` or lie in such a folder. A file that two paths lead to is refused.
    target : str
        Column of the true classes: integers, text, booleans or a dictionary.
    scores : str or sequence of str, optional
        Score columns: their names, or a pattern such as ``"p_*"``. By default all other columns of numbers; where some
        of them are named after the classes, only these. Columns are matched to classes as `evaluate` matches those of
        a data frame.
    labels : array-like of shape (n_classes,), optional
        The classes. By default they are read from the target first, in a pass over that column alone.
    sample_weight : str, optional
        Column of non-negative weights.
    groups : str, optional
        Column with the group of each sample, such as a patient ID. If given, standard errors count groups as
        independent, not samples; the sums of all groups are kept in memory.
    standard_errors : bool
        Whether to read the files a second time, for standard errors and intervals.
    exact : bool
        Whether D and M come from sorted scores instead of bins, one score column at a time. Needs memory for n times
        about 6 bytes, or 10 for scores in double precision, and ``thresholds="own"`` without `sample_weight`.
    partial : bool
        Whether files and row groups that cannot be read are left out, with a warning that names them. By default they
        are an error.
    checkpoint : path, optional
        An ``.npz`` file in which the work done is stored now and then. If it is there, the work goes on from it, with
        the same result; one of other files, columns or options is refused.
    progress : bool
        Show a bar with the time left (needs ``polyroc[progress]``).
    score_kind : {"auto", "probabilities", "free"}
        Whether scores lie between 0 and 1, or anywhere, as logits do. "auto" looks at the footers of the files, or at
        the first rows.
    mantissa_bits : int, optional
        From 0 to 16, by default as in `RocAccumulator`. One more halves the width of the bins, and takes up to twice
        the memory.
    n_jobs : int, optional
        Number of threads; None for as many as the process may use. Results do not depend on it.
    **options
        Further keyword arguments of `evaluate`; ``thresholds="difference"`` needs single samples.

    Returns
    -------
    Evaluation
        As `RocAccumulator.second_pass` gives it. What needs single samples raises a `SamplesNeededError`.

    See Also
    --------
    evaluate : The same for samples in memory.
    RocAccumulator : The same for samples from anywhere, batch by batch.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> columns = {f"p_{c}": example.scores["tree"][:, c] for c in range(10)}
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "predictions.parquet"
    ...     pq.write_table(pa.table({"digit": example.y_true, **columns}), file, row_group_size=200)
    ...     evaluation = polyroc.evaluate_parquet(file, target="digit")
    >>> round(evaluation.auc, 3), round(evaluation.standard_error, 4)
    (0.915, 0.0069)
    """
    flags = _flags(partial=partial, progress=progress, exact=exact, standard_errors=standard_errors)
    check_option_names(options, evaluate_parquet, without=OF_SAMPLES)
    passes = _passes()
    wanted = passes.as_wanted(target, {"": scores}, labels, sample_weight, groups)
    options |= {"n_jobs": n_jobs, "mantissa_bits": mantissa_bits}
    run, reader, accumulators = passes.counted(paths, wanted, flags, checkpoint, score_kind, options)
    with passes.of_columns():
        accumulator: RocAccumulator = accumulators[""]
        if not flags["standard_errors"]:
            return accumulator.compute()
        second = SecondPass(accumulator)
    passes.sum_up(run, reader, second)
    return second.compute()


@underflow_is_zero
def compare_parquet(
    paths: Paths,
    scores: Mapping[str, str | Sequence[str]],
    *,
    target: str,
    labels: "ArrayLike | None" = None,
    sample_weight: str | None = None,
    groups: str | None = None,
    confidence_level: float = 0.95,
    exact: bool = False,
    partial: bool = False,
    checkpoint: str | PathLike[str] | None = None,
    progress: bool = False,
    score_kind: ScoreKind = "auto",
    mantissa_bits: int | None = None,
    n_jobs: int | None = None,
    **options: Any,
) -> Comparison:
    """Which of several models is better, on Parquet files of any size (needs pyarrow, ``polyroc[cli]``).

    The scores of all models are columns of the same files, so the models are compared on the same samples.

    Parameters
    ----------
    paths : path or sequence of paths
        As in `evaluate_parquet`.
    scores : mapping of str to str or sequence of str
        Score columns of each model by its name: a pattern such as ``"knn_*"``, or a list of columns.
    target, labels, sample_weight, groups
        As in `evaluate_parquet`.
    confidence_level : float
        Of the intervals, between 0 and 1.
    exact, partial, checkpoint, progress, score_kind, mantissa_bits, n_jobs
        As in `evaluate_parquet`.
    **options
        Further keyword arguments of `evaluate`, the same for all models.

    Returns
    -------
    Comparison
        As `PairedSecondPass` gives it: by influences, without resampling.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> columns = {f"{name}_{c}": one[:, c] for name, one in example.scores.items() for c in range(10)}
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "predictions.parquet"
    ...     pq.write_table(pa.concat_tables(100 * [pa.table({"digit": example.y_true, **columns})]), file)
    ...     comparison = polyroc.compare_parquet(file, {"knn": "knn_*", "tree": "tree_*"}, target="digit")
    >>> str(comparison.by_auc.rankings[0])
    'knn > tree'
    """
    level = as_confidence_level(confidence_level)
    flags = _flags(partial=partial, progress=progress, exact=exact)
    check_option_names(options, compare_parquet, without=OF_SAMPLES)
    models, passes = _as_models(scores), _passes()
    wanted = passes.as_wanted(target, models, labels, sample_weight, groups)
    options |= {"n_jobs": n_jobs, "mantissa_bits": mantissa_bits}
    run, reader, accumulators = passes.counted(paths, wanted, flags, checkpoint, score_kind, options)
    with passes.of_columns():
        second = PairedSecondPass(accumulators)
    passes.sum_up(run, reader, second)
    return second.compute(level)


def _flags(**values: Any) -> dict[str, bool]:
    return {name: as_flag(value, name) for name, value in values.items()}


def _as_models(scores: Any) -> dict[str, Any]:
    if not isinstance(scores, Mapping) or len(scores) < 2:
        came = f"{len(scores)}" if isinstance(scores, Mapping) else type(scores).__name__
        raise InputError("scores", "must be a mapping of at least two names of models to their columns", came)
    if wrong := [name for name in scores if not isinstance(name, str)]:
        raise InputError("scores", "must have text for its keys, the names of the models", listed(wrong))
    if lacking := [name for name, columns in scores.items() if columns is None]:
        raise InputError("scores", "must name the columns of every model", f"None for {shown(lacking[0])}")
    return dict(scores)


def _passes() -> "ModuleType":
    """The module with the passes, which needs pyarrow."""
    try:
        from polyroc.streams import _parquet_passes
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyarrow":
            raise
        msg = 'Parquet files need pyarrow: pip install "polyroc[cli]".'
        raise ModuleNotFoundError(msg, name="pyarrow") from error
    return _parquet_passes
