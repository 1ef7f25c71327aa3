"""Predictions from files by the rules of the command line: the same columns, classes, rows and messages."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from polyroc._inputs.checks import InputError, in_words, shown
from polyroc._lib.typing import FloatArray, LabelArray
from polyroc._records import Frozen, read_only

if TYPE_CHECKING:
    from polyroc.cli._columns import Columns
    from polyroc.cli._problem import Problem

_T = TypeVar("_T")
_Names = str | Sequence[Any] | None


@dataclass(frozen=True, eq=False)
class _Predictions(Frozen):
    y_true: LabelArray
    """True class of each sample, shape (n,)."""
    labels: LabelArray
    """The classes in the order of the score columns, shape (k,)."""
    sample_weight: FloatArray | None
    """Weight of each sample, shape (n,), of several files in the first; None if no column was named."""
    groups: LabelArray | None
    """Group of each sample, shape (n,), of several files in the first; None if no column was named."""
    notes: tuple[str, ...]
    """How many rows were dropped or left out, and what was guessed."""

    def __repr__(self) -> str:
        scores = [f"scores={list(self.scores)}"] if isinstance(self, PairedPredictions) else []
        notes = [f"notes={list(self.notes)}"] if self.notes else []
        parts = [f"n_samples={len(self.y_true)}", f"labels={self.labels.tolist()}", *scores, *notes]
        return f"{type(self).__name__}({', '.join(parts)})"


@dataclass(frozen=True, eq=False, repr=False)
class FilePredictions(_Predictions):
    r"""Predictions of one model, as they were read from a file.

    >>> import tempfile, pathlib, polyroc
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "knn.csv"
    >>> _ = path.write_text("label,p_a,p_b\na,0.9,0.1\nb,0.4,0.6\n")
    >>> predictions = polyroc.read_predictions(path, target="label")
    >>> predictions.labels.tolist(), predictions.y_score.shape
    (['a', 'b'], (2, 2))
    """

    y_score: FloatArray
    """One column per class, shape (n, k); or (n, 1), the score of the second of two classes."""


@dataclass(frozen=True, eq=False, repr=False)
class PairedPredictions(_Predictions):
    r"""Predictions of several models for the same samples, as they were read from files.

    >>> import tempfile, pathlib, polyroc
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "both.csv"
    >>> _ = path.write_text("label,knn_a,knn_b,tree_a,tree_b\na,0.9,0.1,0.6,0.4\nb,0.4,0.6,0.2,0.8\n")
    >>> models = polyroc.read_paired_predictions(path, target="label", models={"knn": "knn_*", "tree": "tree_*"})
    >>> list(models.scores), models.labels.tolist()
    (['knn', 'tree'], ['a', 'b'])
    """

    scores: Mapping[str, FloatArray]
    """Scores by the name of the model, shape (n, k) each."""
    key: LabelArray | None
    """Key of each sample, shape (n,); None if rows were matched by their order."""

    def __post_init__(self) -> None:
        super().__post_init__()
        scores = {name: read_only(array.view()) for name, array in self.scores.items()}
        object.__setattr__(self, "scores", MappingProxyType(scores))

    def __reduce__(self) -> tuple[Any, ...]:
        # A read-only mapping cannot be pickled; making the record anew makes a new one.
        return type(self), tuple(dict(value) if name == "scores" else value for name, value in vars(self).items())


def read_predictions(
    path: str | PathLike[str],
    *,
    target: str,
    scores: _Names = None,
    labels: _Names = None,
    sample_weight: str | None = None,
    groups: str | None = None,
    model_column: str | None = None,
    pooled: bool = False,
    drop_missing: bool = False,
) -> FilePredictions:
    r"""Read the predictions of one model from a file, by the rules of ``polyroc evaluate`` (needs ``polyroc[cli]``).

    Parameters
    ----------
    path : path
        CSV, TSV, Parquet, Arrow, Feather, NDJSON or npz.
    target : str
        Column of the true classes.
    scores : str or list of str, optional
        Score columns: names, or patterns such as ``"p_*"``; by default all other
        columns of numbers that are named after the classes.
    labels : list, optional
        Classes in the order of the score columns, if their names do not contain them.
    sample_weight, groups : str, optional
        Columns of weights and of groups.
    model_column : str, optional
        Which model to read from a file with one row per sample and model, ``"llm=gpt"``.
    pooled : bool
        Whether all rows are samples of one model although a column looks like the names
        of several.
    drop_missing : bool
        Whether to leave out rows with missing values in a column that is used;
        otherwise they are an error.

    Returns
    -------
    FilePredictions
        A frozen record with ``y_true``, ``y_score``, ``labels``, ``sample_weight``,
        ``groups`` and ``notes``.

    Raises
    ------
    InputError
        If the file cannot be read as such predictions, or in more than one way.

    See Also
    --------
    read_paired_predictions : Several models for the same samples.
    evaluate_parquet : Parquet files that do not fit in memory.

    Examples
    --------
    >>> import tempfile, pathlib, polyroc
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "predictions.csv"
    >>> _ = path.write_text("label,p_cat,p_dog\ncat,0.9,0.1\ndog,0.4,0.6\ncat,,0.5\ncat,0.3,0.7\n")
    >>> predictions = polyroc.read_predictions(path, target="label", drop_missing=True)
    >>> predictions.notes
    ("dropped 1 of 4 rows with missing values: 1 of class 'cat'",)
    >>> polyroc.auc_score(predictions.y_true, predictions.y_score, labels=predictions.labels)
    0.5
    """
    columns = _columns("read_predictions", {name: one for name, one in locals().items() if name != "path"})
    from polyroc.cli._problem import read_problem

    problem = _in_arguments(lambda: read_problem(_path(path, "path"), columns()), "path")
    return FilePredictions(**_shared(problem, problem.notes), y_score=problem.scores)


def read_paired_predictions(
    paths: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    target: str,
    key: str | None = None,
    models: Mapping[str, str | Sequence[str]] | None = None,
    model_column: str | None = None,
    scores: _Names = None,
    labels: _Names = None,
    sample_weight: str | None = None,
    groups: str | None = None,
    pooled: bool = False,
    drop_missing: bool = False,
    common: bool = False,
) -> PairedPredictions:
    r"""Read several models' predictions for the same samples, by the rules of ``polyroc compare`` (``polyroc[cli]``).

    Parameters
    ----------
    paths : path or list of paths
        One file per model, which is named after it; or one file with `models` or
        `model_column`. Formats are those of `read_predictions`.
    target : str
        Column of the true classes.
    key : str, optional
        Column that identifies samples, to match the rows of files; by default files must
        have them in the same order.
    models : mapping of str to str or list of str, optional
        The score columns of each model in one file, ``{"knn": "knn_*", "tree": "tree_*"}``.
    model_column : str, optional
        Column with the name of the model in a file with one row per sample and model;
        ``"llm=gpt,claude"`` reads two of them.
    scores, labels, sample_weight, groups, pooled
        As for `read_predictions`. Weights and groups come from the first file.
    drop_missing : bool
        Whether to leave out rows with a missing value in at least one model, for all models.
    common : bool
        Whether to leave out rows whose `key` is not in all files; otherwise they are an error.

    Returns
    -------
    PairedPredictions
        A frozen record with ``y_true``, ``scores`` (a mapping for `compare`), ``labels``,
        ``sample_weight``, ``groups``, ``key`` and ``notes``.

    Raises
    ------
    InputError
        If the files cannot be read as such predictions, in more than one way, or do not
        belong to the same samples.

    See Also
    --------
    read_predictions : One model.
    compare_parquet : Parquet files that do not fit in memory.

    Examples
    --------
    >>> import tempfile, pathlib, polyroc
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "knn.csv").write_text("id,label,p_a,p_b\n1,a,0.9,0.1\n2,b,0.4,0.6\n3,a,0.7,0.3\n")
    >>> _ = (folder / "tree.csv").write_text("id,label,p_a,p_b\n2,b,0.2,0.8\n1,a,0.6,0.4\n")
    >>> files = [folder / "knn.csv", folder / "tree.csv"]
    >>> pairs = polyroc.read_paired_predictions(files, target="label", key="id", common=True)
    >>> pairs
    PairedPredictions(n_samples=2, labels=['a', 'b'], scores=['knn', 'tree'], notes=[...])
    >>> pairs.key.tolist(), pairs.scores["tree"][:, 1].tolist()
    ([1, 2], [0.4, 0.8])
    """
    values = {name: one for name, one in locals().items() if name not in ("paths", "models")}
    columns = _columns("read_paired_predictions", values)
    from polyroc.cli._models import read_models

    several: Sequence[Any] = paths if isinstance(paths, Sequence) and not isinstance(paths, str) else [paths]
    names = [_path(one, "paths") for one in several]
    if not names:
        raise InputError("paths", "must lead to at least one file", "none")
    read = _in_arguments(lambda: read_models(names, _patterns(models), columns()), "paths")
    keys = None if read.key is None else read.key.to_numpy(zero_copy_only=False)
    return PairedPredictions(**_shared(read.first, read.notes), scores=read.scores, key=keys)


def _columns(function: str, values: dict[str, Any]) -> Callable[[], "Columns"]:
    """Problem as the command line reads it from the same options, made where its errors are translated."""
    try:
        from polyroc.cli._columns import Columns
    except ModuleNotFoundError as error:
        msg = f'`{function}` needs {error.name}: pip install "polyroc[cli]".'
        raise ModuleNotFoundError(msg, name=error.name) from error
    values |= {name: value.tolist() for name, value in values.items() if isinstance(value, np.ndarray)}
    for name, value in values.items():
        if name in _FLAGS:
            if not isinstance(value, bool | np.bool_):
                raise InputError(name, "must be True or False", shown(value))
        elif name in ("scores", "labels"):
            if value is not None and not (isinstance(value, Sequence) and not isinstance(value, bytes) and value):
                raise InputError(name, "must be a list of names, or names between commas", shown(value))
        elif not (isinstance(value, str) or (value is None and name != "target")):
            raise InputError(name, "must be the name of a column", shown(value))
    return lambda: Columns(**values)


_FLAGS = ("pooled", "drop_missing", "common")


def _path(value: Any, name: str) -> str:
    if not isinstance(value, str | PathLike) or not isinstance(fspath(value), str) or not fspath(value):
        raise InputError(name, "must be a path", shown(value))
    # Here no name stands for the standard input.
    return "./-" if fspath(value) == "-" else str(fspath(value))


def _patterns(models: Any) -> str | None:
    """The patterns of several models as the command line has them."""
    from polyroc.cli._columns import joined

    if models is None:
        return None
    named = isinstance(models, Mapping) and all(isinstance(name, str) and "=" not in name for name in models)
    if not named or not all(isinstance(pattern, str | list | tuple) and pattern for pattern in models.values()):
        rule = "must map names of models (without '=') to their score columns, such as {'knn': 'knn_*'}"
        raise InputError("models", rule, shown(models))
    return joined([f"{name}={joined(pattern)}" for name, pattern in models.items()])


def _shared(problem: "Problem", notes: Sequence[str]) -> dict[str, Any]:
    """Fields of both records, from the first file."""
    return {
        "y_true": problem.target.values,
        # Objects keep text as it is; NumPy's own type would lose a NUL at the end.
        "labels": np.array(problem.labels, dtype=object if isinstance(problem.labels[0], str) else None),
        "sample_weight": problem.sample_weight,
        "groups": problem.groups,
        "notes": tuple(in_words(text, _as_argument) for text in (*problem.warnings, *notes)),
    }


def _in_arguments(read: Callable[[], _T], argument: str) -> _T:
    """Messages about what was read, with proposals in the words of Python."""
    from polyroc.cli._messages import CommandError

    try:
        return read()
    except CommandError as error:
        text = in_words(str(error), _as_argument).rstrip(".")
        if not text.startswith("`"):
            raise InputError(argument, f"must lead to predictions: {text}") from error
        name, _, rest = text[1:].partition("`")
        rule = f"must fit the file{rest}" if rest.startswith(":") else rest.lstrip()
        raise InputError(name, rule) from error


def _as_argument(code: str) -> str:
    """An option with its value, as it would be typed, as an argument; other code as it is."""
    option, _, value = code.partition(" ")
    if not option.startswith("--"):
        return f"`{code}`"
    name = option[2:].replace("-", "_")
    return f"`{name}={shlex.split(value)[0]!r}`" if value else f"`{name}=True`"
