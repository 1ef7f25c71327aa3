"""The six data sets: from a folder, from scikit-learn, or from OpenML, and a word on which it was."""

import csv
import gzip
import os
import warnings
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from http.client import HTTPException
from io import StringIO
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from polyroc._inputs.checks import InputError, one_line
from polyroc._lib.typing import FloatArray, LabelArray

FOLDER_VARIABLE = "POLYROC_DATA"


@dataclass(frozen=True)
class _Known:
    """What is known of a data set before it is read."""

    n_rows: int
    openml: int
    """Its number there."""
    n_categories: int = 0
    """How many of the first columns are names or codes, which have no order that a distance could use."""


KNOWN = {
    "car": _Known(1728, 40975, n_categories=6),
    "optical": _Known(5620, 28),
    "pen": _Known(10992, 32),
    "tae": _Known(151, 48, n_categories=4),
    "iris": _Known(150, 61),
    "glass": _Known(214, 41),
}


@dataclass(frozen=True, eq=False)
class DataSet:
    """Features, labels, and where they come from."""

    name: str
    features: FloatArray
    labels: LabelArray
    source: str


@dataclass(frozen=True, eq=False)
class Found:
    """The data sets that could be had, and why the others could not."""

    data_sets: tuple[DataSet, ...]
    skipped: dict[str, str]


def find_data_sets(names: Iterable[str], folder: Path | None) -> Found:
    """Each data set from the first source that has it."""
    found: list[DataSet] = []
    skipped: dict[str, str] = {}
    openml_is_there = True
    for name in names:
        data_set = (folder and _from_folder(name, folder)) or _from_scikit_learn(name)
        if data_set is None and openml_is_there:
            try:
                data_set = _from_openml(name)
            except (OSError, HTTPException):  # no network: the next one would not be there either
                openml_is_there = False
            except ValueError as error:
                skipped[name] = f"OpenML's copy could not be used: {error}"
                continue
        if data_set is None:
            skipped[name] = f"no {name}.csv.gz in the data folder, not part of scikit-learn, and OpenML did not answer"
        else:
            found.append(data_set)
    return Found(tuple(found), skipped)


def as_data_folder(given: Any) -> Path | None:
    """The folder that was asked for, else that of the environment, else none."""
    if given is not None:
        if not isinstance(given, str | PathLike) or str(given) == "" or not Path(given).is_dir():
            raise InputError("data", "must be a folder", repr(_named(given)))
        return Path(given)
    named = os.environ.get(FOLDER_VARIABLE)
    if not named:
        return None
    if not Path(named).is_dir():
        msg = f"{FOLDER_VARIABLE} must name a folder, got {_named(named)!r}."
        raise ValueError(msg)
    return Path(named)


def _named(path: Any) -> str:
    """A path inside a sentence: long enough to be found."""
    return one_line(path, 200)


def _from_folder(name: str, folder: Path) -> DataSet | None:
    """A CSV file with a header, the label last; compressed or not."""
    for path in (folder / f"{name}.csv.gz", folder / f"{name}.csv"):
        if path.exists():
            try:
                return _made(name, _rows(path)[1:], f"{path.name} of the data folder")
            except (ValueError, OSError, EOFError, csv.Error, zlib.error) as error:
                msg = f"`data`: {path.name} must hold the data set {name}: {error}."
                raise ValueError(msg) from error
    return None


def _rows(path: Path) -> list[list[str]]:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return list(csv.reader(StringIO(content.decode("utf-8"), newline="")))


def _from_scikit_learn(name: str) -> DataSet | None:
    from sklearn import datasets

    if name == "iris":
        # Fisher's own numbers; the file at UCI has two rows wrong.
        loaded = datasets.load_iris()
        labels = loaded.target_names[loaded.target]
        return DataSet(name, loaded.data, labels, "scikit-learn (two rows differ from UCI's file)")
    if name == "optical":
        loaded = datasets.load_digits()
        return DataSet(name, loaded.data, loaded.target.astype(str), "scikit-learn's digits, the test part of optical")
    return None


def _from_openml(name: str) -> DataSet:
    from sklearn.datasets import fetch_openml

    with warnings.catch_warnings():
        # It warns before it tries again.
        warnings.simplefilter("ignore", UserWarning)
        # As arrays, which need no pandas; categories become codes, which indicators are made of as well.
        loaded = fetch_openml(data_id=KNOWN[name].openml, as_frame=False, parser="liac-arff", n_retries=1)
    table = np.column_stack([loaded.data.astype(object), loaded.target])
    return _made(name, table.tolist(), f"OpenML {KNOWN[name].openml}")


def _made(name: str, rows: list[list[Any]], source: str) -> DataSet:
    known = KNOWN[name]
    if len(rows) != known.n_rows:
        msg = f"{known.n_rows} rows were expected, {len(rows)} came"
        raise ValueError(msg)
    if len({len(row) for row in rows}) != 1:
        msg = "its rows have different lengths"
        raise ValueError(msg)
    least = max(2, known.n_categories + 1)
    if len(rows[0]) < least:
        msg = f"{least} columns or more were expected, {len(rows[0])} came"
        raise ValueError(msg)
    table = np.array(rows, dtype=object)
    categories, numbers = table[:, : known.n_categories].astype(str), table[:, known.n_categories : -1].astype(float)
    if not np.all(np.isfinite(numbers)):
        msg = "its numbers must be finite"
        raise ValueError(msg)
    _check_classes(table[:, -1].astype(str))
    return DataSet(name, np.column_stack([*map(_indicators, categories.T), numbers]), table[:, -1].astype(str), source)


def _check_classes(labels: LabelArray) -> None:
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) < 3 or counts.min() < 4:
        msg = f"3 classes of 4 samples or more were expected, {len(classes)} came, the smallest with {counts.min()}"
        raise ValueError(msg)


def _indicators(column: Any) -> FloatArray:
    """One column of zeros and ones per category."""
    indicators: FloatArray = (column[:, None] == np.unique(column)).astype(float)
    return indicators
