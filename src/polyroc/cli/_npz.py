"""npz files -> tables: vectors are columns, matrices are several; two columns of one name are refused."""

import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from polyroc.cli._plain import CommandError, clean, listed, quoted

# Arrays that name the columns of the matrices.
_COLUMN_NAMES = ("labels", "classes")
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


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
        raise CommandError(msg)
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
        raise CommandError(msg)
    if twice := _repeated([member.removesuffix(".npy") for member in members]):
        msg = f"has more than one array of the same name: {listed(twice)}"
        raise CommandError(msg)


def _arrays(file: Any) -> dict[str, Any]:
    try:
        with np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except Exception as error:  # a broken archive makes zipfile and NumPy raise almost anything
        if not _holds_objects(file):
            raise OSError(str(error)) from error
        msg = "holds Python objects (a pickle), which are not read: save text as `array.astype(str)`"
        raise CommandError(msg) from error
    # NumPy hands out the bytes of a member that does not begin as an array does.
    if others := [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]:
        msg = f"has members that are not arrays: {listed(others)}"
        raise CommandError(msg)
    return arrays


def _holds_objects(file: Any) -> bool:
    """Whether the header of some member says that a pickle follows."""
    with zipfile.ZipFile(file) as archive:
        return any(_is_of_objects(archive, member) for member in archive.namelist())


def _is_of_objects(archive: zipfile.ZipFile, member: str) -> bool:
    try:
        with archive.open(member) as stream:
            read = _HEADERS[np.lib.format.read_magic(stream)]
            return bool(read(stream)[2].hasobject)
    except Exception:  # as above: whatever is broken is said by whoever reads the array
        return False


def _ends(name: str, labels: Any) -> list[str]:
    ends = [str(label) for label in labels.tolist()]
    if twice := _repeated(ends):
        msg = (
            f"has array {quoted(name)} with {listed(twice)} more than once: each column of a matrix needs its own label"
        )
        raise CommandError(msg)
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
            raise CommandError(msg)
        columns |= parts
        origin |= dict.fromkeys(parts, name)
    return columns


def _repeated(names: Sequence[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
