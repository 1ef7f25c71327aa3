"""npz files -> tables: vectors are columns, matrices are several; two columns of one name are refused."""

import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from polyroc.cli._plain import InputError, clean, listed, quoted

# Arrays that name the columns of the matrices.
_COLUMN_NAMES = ("labels", "classes")


def npz_table(file: Any) -> Any:
    """A matrix `p` is the columns p_0, p_1, ..., or p_cat, p_dog, ... by the array `labels`."""
    _check_members(file)
    arrays = _arrays(file)
    widths = {array.shape[1] for array in arrays.values() if array.ndim == 2}
    named = next((n for n in _COLUMN_NAMES if n in arrays and arrays[n].ndim == 1 and {len(arrays[n])} == widths), None)
    ends = None if named is None else _ends(named, arrays.pop(named))
    columns = _columns(arrays, ends)
    lengths = {name: len(array) for name, array in columns.items()}
    if len(set(lengths.values())) != 1:
        came = ", ".join(f"{clean(name)} ({length})" for name, length in list(lengths.items())[:10])
        msg = f"must hold arrays of the same length, got {came}" if lengths else "holds no array of one or two axes"
        raise InputError(msg)
    return pa.table({name: pa.array(array) for name, array in columns.items()})


def _check_members(file: Any) -> None:
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.namelist()
    except NotImplementedError as error:
        raise OSError(str(error)) from error
    if not members or not all(member.endswith(".npy") for member in members):
        what = "an Excel workbook: save it as CSV" if any(m.startswith("xl/") for m in members) else "a zip archive"
        msg = f"is {what}, and no npz of arrays" if what == "a zip archive" else f"is {what}"
        raise InputError(msg)
    if twice := _repeated([member.removesuffix(".npy") for member in members]):
        msg = f"has more than one array of the same name: {listed(twice)}"
        raise InputError(msg)


def _arrays(file: Any) -> dict[str, Any]:
    try:
        with np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except Exception as error:  # a broken archive makes zipfile and NumPy raise almost anything
        if "pickle" not in str(error):
            raise OSError(str(error)) from error
        msg = "holds Python objects (a pickle), which are not read: save text as `array.astype(str)`"
        raise InputError(msg) from error
    # NumPy hands out the bytes of a member that does not begin as an array does.
    if others := [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]:
        msg = f"has members that are not arrays: {listed(others)}"
        raise InputError(msg)
    return arrays


def _ends(name: str, labels: Any) -> list[str]:
    ends = [str(label) for label in labels.tolist()]
    if twice := _repeated(ends):
        msg = (
            f"has array {quoted(name)} with {listed(twice)} more than once: each column of a matrix needs its own label"
        )
        raise InputError(msg)
    return ends


def _columns(arrays: dict[str, Any], ends: list[str] | None) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for name, array in arrays.items():
        if array.ndim == 2:
            parts = {f"{name}_{ends[j] if ends else j}": array[:, j] for j in range(array.shape[1])}
        else:
            parts = {name: array} if array.ndim == 1 else {}
        if collide := [column for column in parts if column in columns]:
            which = f"{quoted(origin[collide[0]])} and {quoted(name)}"
            msg = f"has arrays that give columns of the same name: {which} both give {listed(collide)}; rename one"
            raise InputError(msg)
        columns |= parts
        origin |= dict.fromkeys(parts, name)
    return columns


def _repeated(names: Sequence[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
