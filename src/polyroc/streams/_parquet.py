"""evaluate_parquet(...) and compare_parquet(...): files that do not fit in memory, in two passes over them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from polyroc._inputs.checks import InputError, as_confidence_level, as_flag, as_n_jobs, listed, one_of, shown
from polyroc._lib.grid import grid
from polyroc._lib.warnings import underflow_is_zero
from polyroc.evaluation._comparison import Comparison
from polyroc.evaluation._evaluate import OF_SAMPLES, check_option_names
from polyroc.evaluation._evaluation import Evaluation
from polyroc.streams._accumulator import RocAccumulator
from polyroc.streams._checkpoint import as_checkpoint, check_facts, check_files
from polyroc.streams._second_pass import PairedSecondPass, SecondPass

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from polyroc.streams._parquet_layout import Layout, Wanted
    from polyroc.streams._parquet_run import ParquetRun

Paths: TypeAlias = str | PathLike[str] | Sequence[str | PathLike[str]]
ScoreKind: TypeAlias = Literal["auto", "probabilities", "free"]
# Options of a run that change no number.
_WITHOUT_EFFECT = ("n_jobs", "engine")


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
    wanted = _wanted(target, {"": scores}, labels, sample_weight, groups)
    begun = _begin(paths, wanted, flags, checkpoint, score_kind, mantissa_bits, {**options, "n_jobs": n_jobs})
    [accumulator] = begun.accumulators.values()
    with _of_columns():
        if not flags["standard_errors"]:
            return accumulator.compute()
        second = SecondPass(accumulator)
    begun.sum_up(second)
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
    wanted = _wanted(target, _as_models(scores), labels, sample_weight, groups)
    begun = _begin(paths, wanted, flags, checkpoint, score_kind, mantissa_bits, {**options, "n_jobs": n_jobs})
    with _of_columns():
        second = PairedSecondPass(begun.accumulators)
    begun.sum_up(second)
    return second.compute(level)


@contextmanager
def _of_columns() -> Iterator[None]:
    """Errors about scores name the argument that chose their columns."""
    try:
        yield
    except InputError as error:
        if error.argument != "y_score":
            raise
        raise InputError("scores", error.rule, error.got, error.hint) from error


def _flags(**given: Any) -> dict[str, bool]:
    return {name: as_flag(value, name) for name, value in given.items()}


def _as_models(scores: Any) -> dict[str, Any]:
    if not isinstance(scores, Mapping) or len(scores) < 2:
        came = f"{len(scores)}" if isinstance(scores, Mapping) else type(scores).__name__
        raise InputError("scores", "must be a mapping of at least two names of models to their columns", came)
    if wrong := [name for name in scores if not isinstance(name, str)]:
        raise InputError("scores", "must have text for its keys, the names of the models", listed(wrong))
    if lacking := [name for name, columns in scores.items() if columns is None]:
        raise InputError("scores", "must name the columns of every model", f"None for {shown(lacking[0])}")
    return dict(scores)


def _wanted(target: Any, scores: Mapping[str, Any], labels: Any, sample_weight: Any, groups: Any) -> "Wanted":
    try:
        from polyroc.streams._parquet_layout import as_wanted
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyarrow":
            raise
        msg = 'Parquet files need pyarrow: pip install "polyroc[cli]".'
        raise ModuleNotFoundError(msg, name="pyarrow") from error
    return as_wanted(target, scores, labels, sample_weight, groups)


class _Begun:
    """A run whose scores are counted."""

    def __init__(self, run: "ParquetRun", layout: "Layout", accumulators: dict[str, RocAccumulator]) -> None:
        self._run, self._layout, self.accumulators = run, layout, accumulators

    def sum_up(self, second: SecondPass | PairedSecondPass) -> None:
        from polyroc.streams._parquet_passes import sum_up

        sum_up(self._run, self._layout, second, "standard errors")


def _begin(
    paths: Any,
    wanted: "Wanted",
    flags: dict[str, bool],
    checkpoint: Any,
    score_kind: Any,
    mantissa_bits: Any,
    options: dict[str, Any],
) -> _Begun:
    """Open the files, find classes and columns, and count: the first pass, and exact columns where asked for."""
    from polyroc.streams._parquet_exact import ExactPass, check_exact
    from polyroc.streams._parquet_files import open_files
    from polyroc.streams._parquet_layout import check_wanted, layout_of
    from polyroc.streams._parquet_passes import count, find_classes, guess_kind
    from polyroc.streams._parquet_run import ParquetRun

    kind, file = one_of(score_kind, "score_kind", get_args(ScoreKind)), as_checkpoint(checkpoint)
    n_jobs = as_n_jobs(options["n_jobs"])
    files = open_files(paths, partial=flags["partial"])
    check_wanted(files, wanted)
    run = ParquetRun(files, n_jobs=n_jobs, partial=flags["partial"], progress=flags["progress"], checkpoint=file)
    then = None if file is None else file.facts(len(files.files))
    if then is not None:
        check_files(then, run.facts["files"])
    found: Any = wanted.labels
    categories: Any = None
    if wanted.labels is None:
        found, categories = (None, None) if then is None else (then.get("found"), then.get("categories"))
        # Those of another column are refused below.
        if then is None or not isinstance(found, list) or then.get("target") != wanted.target:
            found, categories = find_classes(run, wanted.target)
    layout = layout_of(files, wanted, found, categories)
    kind = guess_kind(run, layout) if kind == "auto" else kind
    accumulators = {
        name: RocAccumulator(layout.labels, score_kind=kind, mantissa_bits=mantissa_bits, **options)
        for name in wanted.scores
    }
    if flags["exact"]:
        check_exact(next(iter(accumulators.values())), wanted.sample_weight)
    _settle(run, wanted, layout, accumulators, flags["exact"], found, categories)
    if file is not None and then is not None:
        check_facts(then, run.facts)
        run.stored = file.arrays(_most_stored(run, accumulators))
    count(run, layout, accumulators, "counts")
    run.warn_of_missing()
    if flags["exact"]:
        if flags.get("standard_errors", True):
            with _of_columns():
                for accumulator in accumulators.values():
                    accumulator._check_bins_of_errors()
        ExactPass(run, layout, accumulators).find()
    return _Begun(run, layout, accumulators)


def _most_stored(run: "ParquetRun", accumulators: Mapping[str, RocAccumulator]) -> int:
    """Bytes that a checkpoint of this run can have at most, unpacked."""
    first, n_models = next(iter(accumulators.values())), len(accumulators)
    k, m = len(first.labels), 3 * n_models
    # Of each bin that can occur its number, its scores and its counts; then tables of classes, and exact columns.
    n_bins = min(first._bins.n_bins, run.files.n_rows)
    of_model = k * n_bins * (k + 3) + k * (k + 8) + k * k * (1 + 2 * len(grid(first._options.n_thresholds)))
    of_second = k * (2 + m**2 + (m * (m + 1) // 2) ** 2)
    n_arrays = n_models * (20 + 3 * k) + 20
    text = len(json.dumps(run.facts)) * (n_models + 1)
    return 8 * (n_models * of_model + of_second + len(run.files.parts)) + 256 * n_arrays + text


def _settle(
    run: "ParquetRun",
    wanted: "Wanted",
    layout: "Layout",
    accumulators: dict[str, RocAccumulator],
    exact: bool,
    found: list[Any],
    categories: list[Any] | None,
) -> None:
    """What a checkpoint must agree with."""
    first = next(iter(accumulators.values()))
    options = {name: value for name, value in first._options.to_dict().items() if name not in _WITHOUT_EFFECT}
    run.facts |= {
        "target": wanted.target,
        "scores": {name: list(columns) for name, columns in layout.reader.models.items()},
        "sample_weight": wanted.sample_weight,
        "groups": wanted.groups,
        "score_kind": first._bins.scores,
        "mantissa_bits": first._bins.mantissa_bits,
        "exact": exact,
        "partial": run.partial,
        "options": options,
        "labels": layout.labels.tolist(),
        "found": found if wanted.labels is None else None,
        "categories": categories,
    }
