"""The six data sets: from a folder, from scikit-learn, or from OpenML, and a word on which it was."""

import csv
import gzip
import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from polyroc._containers import one_line
from polyroc._typing import FloatArray, LabelArray

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
    where = _folder(folder)
    found: list[DataSet] = []
    skipped: dict[str, str] = {}
    openml_is_there = True
    for name in names:
        data_set = (where and _from_folder(name, where)) or _from_scikit_learn(name)
        if data_set is None and openml_is_there:
            try:
                data_set = _from_openml(name)
            except OSError:  # no network: the next one would not be there either
                openml_is_there = False
            except ValueError as error:
                skipped[name] = f"OpenML's copy could not be used: {error}"
                continue
        if data_set is None:
            skipped[name] = f"no {name}.csv.gz in the data folder, not part of scikit-learn, and OpenML did not answer"
        else:
            found.append(data_set)
    return Found(tuple(found), skipped)


def _folder(given: Path | None) -> Path | None:
    """The folder that was asked for, else that of the environment."""
    if given is not None:
        if not given.is_dir():
            msg = f"`data` must be a folder, got '{_named(given)}'."
            raise ValueError(msg)
        return given
    named = os.environ.get(FOLDER_VARIABLE)
    if not named:
        return None
    if not Path(named).is_dir():
        msg = f"{FOLDER_VARIABLE} must name a folder, got '{_named(Path(named))}'."
        raise ValueError(msg)
    return Path(named)


def _named(path: Path) -> str:
    """A path inside a sentence: long enough to be found."""
    return one_line(path, 200)


def _from_folder(name: str, folder: Path) -> DataSet | None:
    """A CSV file with a header, the label last; compressed or not."""
    for path in (folder / f"{name}.csv.gz", folder / f"{name}.csv"):
        if path.is_file():
            try:
                return _made(name, _rows(path)[1:], f"{path.name} of the data folder")
            except (ValueError, OSError, EOFError) as error:
                msg = f"`data`: {path.name} must hold the data set {name}: {error}."
                raise ValueError(msg) from error
    return None


def _rows(path: Path) -> list[list[str]]:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return list(csv.reader(content.decode("utf-8").splitlines()))


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
        # It warns before it tries again, and again.
        warnings.simplefilter("ignore", UserWarning)
        loaded = fetch_openml(data_id=KNOWN[name].openml, as_frame=True, n_retries=1, delay=0.0)
    table = np.column_stack([loaded.data.to_numpy(dtype=object), loaded.target.to_numpy(dtype=object)])
    return _made(name, table.tolist(), f"OpenML {KNOWN[name].openml}")


def _made(name: str, rows: list[list[Any]], source: str) -> DataSet:
    known = KNOWN[name]
    if len(rows) != known.n_rows:
        msg = f"{known.n_rows} rows were expected, {len(rows)} came"
        raise ValueError(msg)
    if len({len(row) for row in rows}) != 1:
        msg = "its rows have different lengths"
        raise ValueError(msg)
    table = np.array(rows, dtype=object)
    categories, numbers = table[:, : known.n_categories].astype(str), table[:, known.n_categories : -1].astype(float)
    return DataSet(name, np.column_stack([*map(_indicators, categories.T), numbers]), table[:, -1].astype(str), source)


def _indicators(column: Any) -> FloatArray:
    """One column of zeros and ones per category."""
    indicators: FloatArray = (column[:, None] == np.unique(column)).astype(float)
    return indicators
