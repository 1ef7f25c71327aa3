"""Options of an evaluation, each declared once, and every error about them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from polyroc._inputs.arrays import read_table, row_names
from polyroc._inputs.checks import InputError, as_n_jobs, drawn_seed, is_integer, is_number, listed, one_of, shown
from polyroc._inputs.columns import Affixes, numbering_of
from polyroc._lib.typing import FloatArray, LabelArray, Structure, Thresholds, Weighting
from polyroc._records import Frozen


class EngineEntry(NamedTuple):
    """An engine that users can ask for."""

    meaning: str
    extra: str | None = None
    """Extra to install for it."""


# The registry of engines: a new one is a line here and a folder of that name in `polyroc._core`.
ENGINES = {
    "auto": EngineEntry("chosen by size"),
    "numpy": EngineEntry("reference"),
    "numba": EngineEntry("compiled", extra="fast"),
    "torch": EngineEntry("on a GPU", extra="torch"),
}

# Beyond it the cheap cells no longer count in double precision.
LARGEST_RATIO = 1e12
# More would ask for a finer grid than any sample can fill, and for more memory than there is.
_MOST_THRESHOLDS = 1_000_000


def _as_max_pairs(value: Any) -> int | None:
    if value is None:
        return None
    if not is_integer(value, 2):
        raise InputError("max_pairs", "must be None or an integer of at least 2", shown(value))
    return int(value)


def _as_n_thresholds(value: Any) -> int:
    if not is_integer(value, 2, _MOST_THRESHOLDS):
        raise InputError("n_thresholds", f"must be an integer from 2 to {_MOST_THRESHOLDS}", shown(value))
    return int(value)


def _as_shrinkage(value: Any) -> float:
    try:
        number = float(value) if is_number(value) else math.nan
    except OverflowError:  # an integer beyond all floats
        number = math.inf
    if not 0 <= number < math.inf:
        raise InputError("shrinkage", "must be a finite number of at least 0", shown(value))
    return number


def as_square(value: Any, name: str, labels: LabelArray) -> FloatArray:
    """A matrix with a row and a column per class, copied; those of a frame are matched to the classes by name."""
    table, n_classes = read_table(value, name), len(labels)
    if table.values.shape != (n_classes, n_classes):
        rule = f"must have shape ({n_classes}, {n_classes}), a row and a column per class"
        raise InputError(name, rule, f"{table.values.shape}")
    rows, columns = row_names(value), table.names
    matrix = np.array(table.values, dtype=np.float64)
    if columns is not None:
        # Without names of their own, rows are in the order of the classes only if the columns are.
        rows_are_named = rows is not None and _numbers(rows) is None
        matrix = matrix[:, _order(columns, labels.tolist(), name, "columns", may_move=rows_are_named)]
    return matrix if rows is None else matrix[_order(rows, labels.tolist(), name, "rows", may_move=True)]


def _order(names: list[Any], classes: list[Any], name: str, axis: str, *, may_move: bool) -> list[int]:
    """Where each class stands on an axis, by name; by position where nobody named anything."""
    texts, wanted = [str(entry) for entry in names], [str(label) for label in classes]
    is_numbered, is_shuffled = _numbers(names) is not None, sorted(texts) == sorted(wanted)
    if texts == wanted or (is_numbered and not is_shuffled):
        return list(range(len(classes)))
    # Numbers in another order than classes that are numbers may be classes, and may be mere positions.
    if is_shuffled and may_move and not is_numbered:
        return [texts.index(label) for label in wanted]
    raise InputError(
        name,
        f"must have its {axis} in the order of the classes ({listed(classes)})",
        f"{axis} named {listed(names)}",
        hint=": bring both rows and columns into that order, or name both after the classes",
    )


def _numbers(names: list[Any]) -> Affixes | None:
    """How pandas and polars call rows and columns that nobody named: 0, 1, 2 or column_0, column_1, column_2."""
    numbering = numbering_of([str(name) for name in names])
    return numbering if numbering in (Affixes("", ""), Affixes("column_", "")) else None


def as_weights(value: Any, name: str, labels: LabelArray) -> FloatArray | None:
    """A matrix of positive numbers per two classes, with ones on the diagonal, whatever stood there."""
    if value is None:
        return None
    matrix = as_square(value, name, labels)
    np.fill_diagonal(matrix, 1.0)
    wrong = np.argwhere(~(np.isfinite(matrix) & (matrix > 0)))
    if len(wrong) > 0:
        row, column = wrong[0].tolist()
        raise InputError(
            name,
            "must be finite and positive off the diagonal",
            f"{matrix[row, column]} in row {row}, column {column}",
            hint=": `polyroc.decide` takes gains" if name == "costs" and matrix[row, column] < 0 else "",
        )
    return matrix


def _has_diagonal(costs: Any, labels: LabelArray) -> bool:
    """Whether something is meant by the diagonal: zeros are what is usual, and ones what checked costs have there."""
    if costs is None:
        return False
    diagonal = np.diag(as_square(costs, "costs", labels))
    return not (np.all(diagonal == 0) or np.all(diagonal == 1))


def _declared(
    default: Any, help_text: str, check: Callable[..., Any] | Mapping[str, str], *, of_classes: bool = False
) -> Any:
    """A field of `Options` with all that is to be said of it.

    The check is a function of the value, or of the value, its name and the classes where the option is `of_classes`.
    A mapping in its place has the words that are allowed, and what each means in a list of settings.
    """
    words = check if isinstance(check, Mapping) else {}
    return field(
        default=default,
        metadata={"help": help_text, "check": check, "words": MappingProxyType(dict(words)), "of_classes": of_classes},
    )


@dataclass(frozen=True, eq=False)
class Options(Frozen):
    """How an evaluation is done; whatever reads this record need not check anything again.

    A new option is declared here and takes its place in the signature of `evaluate`, which the tests compare; the
    command line, where it has the option, finds its help, its words and its default here.
    """

    weighting: Weighting = _declared(
        "equal",
        "Weight of each pair of classes: equal, or prevalence (by their numbers of samples).",
        {"equal": "every pair the same", "prevalence": "pairs by their numbers of samples"},
    )
    costs: FloatArray | None = _declared(None, "Costs of misclassification.", as_weights, of_classes=True)
    """Cost of predicting a class (column) for samples of a class (row), shape (k, k), with ones on the diagonal."""
    tpr_weights: FloatArray | None = _declared(
        None, "Weights of the true positive rates of each pair.", as_weights, of_classes=True
    )
    """Weight of the true positive rates of each pair (positive, negative), shape (k, k), ones on the diagonal."""
    fpr_weights: FloatArray | None = _declared(
        None, "Weights of the false positive rates of each pair.", as_weights, of_classes=True
    )
    """Weight of the false positive rates of each pair (positive, negative), shape (k, k), ones on the diagonal."""
    thresholds: Thresholds = _declared(
        "own",
        "own: each class's column has its own threshold; shared: one threshold for both columns of a pair; "
        "difference: a threshold on the difference of the two columns. The last two require comparable columns.",
        {
            "own": "each score column's own",
            "shared": "one for both score columns of a pair",
            "difference": "on the difference of a pair's two score columns",
        },
    )
    n_thresholds: int = _declared(
        99, "Number of uniform call rates in the grid; 12 more are added around 1/2.", _as_n_thresholds
    )
    """Number of uniform call rates; 12 more stand around 1/2."""
    shrinkage: float = _declared(
        1.0,
        "How strongly each pair's rates are pulled to the rates of all pairs, in samples; 0 for none.",
        _as_shrinkage,
    )
    structure: Structure = _declared(
        "rank-one",
        "Structure of the pairwise rates; rank-one is the paper's.",
        {"rank-one": "rank-one", "centered": "centered", "saturated": "saturated"},
    )
    engine: str = _declared(
        "auto",
        "Implementation: numpy (reference), numba (compiled), torch (GPU); auto chooses by size.",
        {name: entry.meaning for name, entry in ENGINES.items()},
    )
    max_pairs: int | None = _declared(
        None, "Use a random sample of at most this many ordered pairs; for very many classes.", _as_max_pairs
    )
    """At most this many ordered pairs are compared; None for all."""
    rng: int = _declared(0, "Random seed of the sample of pairs.", drawn_seed)
    """Seed of the sample of pairs; never a live generator, which would give other pairs whenever it is asked."""
    n_jobs: int | None = _declared(None, "Number of threads; by default all cores.", as_n_jobs)
    """Number of threads; None for as many as the process may use."""
    ignores_diagonal: bool = False
    """Whether `costs` came with a diagonal, which is ignored; what was found, no option."""

    def to_dict(self) -> dict[str, Any]:
        """The options as plain data that `json` can write."""
        record = {name: getattr(self, name) for name in DECLARED}
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in record.items()}


DECLARED: Mapping[str, "Field[Any]"] = MappingProxyType(
    {entry.name: entry for entry in fields(Options) if entry.metadata}
)


def as_options(labels: LabelArray, **given: Any) -> Options:
    """The options of `evaluate` for these classes, checked; those not given have their defaults.

    >>> as_options(np.array(["ant", "bee"]), costs=[[0, 4], [1, 0]]).costs.tolist()
    [[1.0, 4.0], [1.0, 1.0]]
    """
    # Whoever takes options from a user has checked their names, in the user's words.
    checked = {name: _checked(name, value, labels) for name, value in given.items()}
    options = Options(**checked, ignores_diagonal=_has_diagonal(given.get("costs"), labels))
    if options.costs is not None:
        _check_ratio("costs", options.costs)
    if options.tpr_weights is not None or options.fpr_weights is not None:
        # One set of cell weights, in which a matrix not given counts as 1 everywhere.
        _check_ratio("tpr_weights", options.tpr_weights, options.fpr_weights, others="and `fpr_weights` together ")
    return options


def _checked(name: str, value: Any, labels: LabelArray) -> Any:
    said = DECLARED[name].metadata
    if said["words"]:
        return one_of(value, name, tuple(said["words"]))
    return said["check"](value, name, labels) if said["of_classes"] else said["check"](value)


def _check_ratio(name: str, *matrices: FloatArray | None, others: str = "") -> None:
    entries = [np.ones(1) if matrix is None else matrix[~np.eye(len(matrix), dtype=bool)] for matrix in matrices]
    pooled = np.concatenate(entries)
    with np.errstate(over="ignore"):
        too_wide = pooled.max() > LARGEST_RATIO * pooled.min()
    if too_wide:
        came = f"entries from {pooled.min():g} to {pooled.max():g}"
        raise InputError(name, f"{others}must lie within a ratio of {LARGEST_RATIO:g}", came)
