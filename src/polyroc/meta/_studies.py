"""Data of the user -> Studies: four counts of each study, corrected where they have to be."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import narwhals.stable.v2 as nw
import numpy as np

from polyroc._inputs.arrays import read_table
from polyroc._inputs.checks import InputError, is_number, listed, one_of, shown
from polyroc._lib.typing import FloatArray
from polyroc._records import Frozen, read_only

CorrectionControl: TypeAlias = Literal["all", "single", "none"]

COLUMNS = ("TP", "FN", "FP", "TN")
_LEAST = 3
# Whole numbers up to here are exact in float64.
_LARGEST = 2.0**53


@dataclass(frozen=True, eq=False)
class Studies(Frozen):
    """Diagnostic studies: the counts of each, and its rates on the logit scale.

    Attributes
    ----------
    counts : ndarray of shape (n_studies, 4)
        TP, FN, FP, TN as given.
    corrected : ndarray of shape (n_studies, 4)
        The same after the continuity correction.
    tpr, fpr : ndarray of shape (n_studies,)
        True and false positive rates as observed, without correction.
    logits : ndarray of shape (n_studies, 2)
        Logits of the corrected true and false positive rates.
    variances : ndarray of shape (n_studies, 2)
        Their variances within the studies, 1/TP + 1/FN and 1/FP + 1/TN.

    Examples
    --------
    >>> from polyroc.meta import summary_roc
    >>> tables = {"TP": [47, 126, 19, 36], "FN": [9, 51, 10, 3], "FP": [101, 272, 12, 78], "TN": [738, 1543, 192, 276]}
    >>> studies = summary_roc(tables).studies
    >>> studies.tpr.round(2).tolist()
    [0.84, 0.71, 0.66, 0.92]
    """

    counts: FloatArray
    corrected: FloatArray

    def __len__(self) -> int:
        return len(self.counts)

    @cached_property
    def tpr(self) -> FloatArray:
        return read_only(self.counts[:, 0] / self.counts[:, :2].sum(axis=1))

    @cached_property
    def fpr(self) -> FloatArray:
        return read_only(self.counts[:, 2] / self.counts[:, 2:].sum(axis=1))

    @cached_property
    def logits(self) -> FloatArray:
        return read_only(np.log(self.corrected[:, ::2]) - np.log(self.corrected[:, 1::2]))

    @cached_property
    def variances(self) -> FloatArray:
        return read_only(1 / self.corrected[:, ::2] + 1 / self.corrected[:, 1::2])


def read_studies(tables: Any, correction: Any, correction_control: Any) -> Studies:
    """Studies of a table, a data frame or a mapping of columns."""
    # Compared as it came: an integer may be too large for a float.
    if not is_number(correction) or not 0 <= correction <= 1:
        raise InputError("correction", "must be a number from 0 to 1", shown(correction))
    correction_control = one_of(correction_control, "correction_control", get_args(CorrectionControl))
    counts = _read_counts(tables)
    _check_counts(counts)
    return Studies(counts=counts, corrected=_corrected(counts, float(correction), correction_control))


def _read_counts(tables: Any) -> FloatArray:
    columns = _columns_of(tables)
    if columns is None:
        counts = read_table(tables, "tables").values
        if counts.ndim != 2 or counts.shape[1] != len(COLUMNS):
            rule = f"must have shape (n_studies, 4), in the order {', '.join(COLUMNS)}, or columns with these names"
            raise InputError("tables", rule, f"shape {counts.shape}")
        return np.array(counts, dtype=np.float64, order="C")
    found = [_column(columns, name) for name in COLUMNS]
    lengths = [len(column) for column in found]
    if len(set(lengths)) > 1:
        raise InputError("tables", "must have columns of one length", listed(lengths))
    # In one order of memory, so that sums are the same to the last digit, whatever the container.
    return np.array(np.column_stack(found), dtype=np.float64, order="C")


def _columns_of(tables: Any) -> Mapping[Any, Any] | None:
    """Columns by name, of whatever has named columns."""
    if isinstance(tables, Mapping):
        return tables
    try:
        native: Any = nw.from_native(tables, pass_through=True)
    except Exception as error:
        # narwhals refuses, for example, two columns of one name, with an error of the frame's own library.
        hint = f": {str(error).rstrip('.')}"
        raise InputError("tables", "cannot be read", type(tables).__name__, hint=hint) from error
    if not isinstance(native, nw.DataFrame):
        return None
    return {name: native.get_column(name).to_native() for name in native.columns}


def _column(columns: Mapping[Any, Any], wanted: str) -> FloatArray:
    names = [name for name in columns if isinstance(name, str) and name.strip().upper() == wanted]
    if len(names) != 1:
        rule = f"must have one column each called {', '.join(COLUMNS)}, in any letter case"
        raise InputError("tables", rule, f"columns {listed(list(columns))}" if columns else "no columns")
    values = read_table(columns[names[0]], "tables").values
    if values.ndim != 1:
        raise InputError("tables", "must have one-dimensional columns", f"shape {values.shape} in {shown(names[0])}")
    return values


def _check_counts(counts: FloatArray) -> None:
    if len(counts) < _LEAST:
        raise InputError("tables", f"must have at least {_LEAST} studies", str(len(counts)))
    # NaN compares as false.
    wrong = ~((counts >= 0) & (counts <= _LARGEST) & (np.rint(counts) == counts))
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        hint = ". Do not add 0.5 yourself: `correction` does that" if math.modf(counts[row, column])[0] == 0.5 else ""
        came = f"{counts[row, column]:g} as {COLUMNS[column]} in row {row}"
        raise InputError("tables", "must hold whole numbers of at least 0", came, hint=hint)
    for name, part in (("diseased (TP + FN)", counts[:, :2]), ("healthy (FP + TN)", counts[:, 2:])):
        empty = part.sum(axis=1) == 0
        if empty.any():
            raise InputError("tables", f"must have {name} people in each study", f"none in row {int(empty.argmax())}")


def _corrected(counts: FloatArray, correction: float, control: CorrectionControl) -> FloatArray:
    has_zero = (counts == 0).any(axis=1)
    if not has_zero.any():
        return counts
    if control == "none" or correction == 0:
        rule = "must be positive, and `correction_control` 'all' or 'single', because a rate of 0 or 1 has no logit"
        raise InputError("correction", rule, f"a zero cell in row {int(has_zero.argmax())}")
    touched = np.ones_like(has_zero) if control == "all" else has_zero
    corrected: FloatArray = counts + correction * touched[:, None]
    return corrected
