"""Rows with missing values, which are refused, or left out with `--drop-missing` and counted by class."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polyroc._lib.limits import LISTED_CLASSES
from polyroc._lib.numbers import counted
from polyroc._lib.typing import BoolArray, FloatArray
from polyroc.cli._columns import Columns, choose_scores
from polyroc.cli._files import Source
from polyroc.cli._labels import labels_column, missing_values, read_target, text_of
from polyroc.cli._plain import CommandError, listed, quoted


def check_scores(source: Source, scores: FloatArray, names: Sequence[str]) -> None:
    """Refuse scores that are missing, with the way out; infinite ones are left to the library."""
    for position, name in enumerate(names):
        missing = np.flatnonzero(np.isnan(scores[:, position]))
        if len(missing) > 0:
            raise CommandError(missing_values(source, name, len(missing), int(missing[0])))


def present(source: Source, names: Collection[str]) -> BoolArray:
    """Whether each row has a value in all of these columns."""
    rows = np.ones(source.n_rows, dtype=np.bool_)
    for name in names:
        start = 0
        for chunk in source.chunks(name):
            rows[start : start + len(chunk)] &= ~_is_missing(chunk)
            start += len(chunk)
    return rows


def _is_missing(values: Any) -> BoolArray:
    """Null, NaN, or text without a letter."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    missing = values.is_null(nan_is_null=True)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        missing = pc.or_(missing, pc.fill_null(pc.equal(values, ""), True))
    found: BoolArray = missing.to_numpy(zero_copy_only=False)
    return found


def complete(source: Source, columns: Columns, patterns: Sequence[Any], others: Sequence[str | None]) -> BoolArray:
    """Rows without a missing value in the target, in scores, which `patterns` choose, and in other columns."""
    rows = present(source, [columns.target, *(name for name in others if name is not None)])
    check_rows_left(int(np.count_nonzero(rows)), source.n_rows)
    # Which columns are scores depends on the classes.
    labelled = source.where(rows, source.name)
    target = read_target(labelled, columns.target)
    chosen = {name for one in patterns for name in choose_scores(labelled, target, columns, one).columns}
    return rows & present(source, chosen)


def complete_rows(source: Source, columns: Columns, patterns: Sequence[Any]) -> tuple[Source, str]:
    """The rows without a missing value, and how many of which class were dropped; nothing if none were."""
    rows = complete(source, columns, patterns, (columns.sample_weight, columns.groups, columns.key))
    if rows.all():
        return source, ""
    labels = label_texts(source, columns.target)
    check_classes_left(labels, rows, "--drop-missing leaves")
    return source.where(rows, source.name), dropped_rows(labels, rows, n_models=len(patterns))


def label_texts(source: Source, target: str) -> Any:
    """The class of each row as text; None if it is missing."""
    labelled = present(source, [target])
    texts = np.full(source.n_rows, None, dtype=object)
    if labelled.any():
        values = labels_column(source.where(labelled, source.name), target)
        texts[labelled] = [text_of(value) for value in values.to_pylist()]
    return texts


def check_rows_left(n_left: int, n_rows: int, option: str = "--drop-missing leaves") -> None:
    """Refuse to go on without rows."""
    if n_left == 0:
        msg = f"{option} none of the {counted(n_rows, 'row')}"
        raise CommandError(msg)


def check_classes_left(labels: Any, rows: BoolArray, option: str) -> None:
    """Refuse to lose a class, because D is then about other classes."""
    check_rows_left(int(np.count_nonzero(rows)), len(rows), option)
    before, after = ({text for text in texts if text is not None} for texts in (labels, labels[rows]))
    if lost := sorted(before - after):
        what = f"class {quoted(lost[0])}" if len(lost) == 1 else f"the classes {listed(lost)}"
        msg = f"{option} no row of {what}: D would be about the other classes only"
        raise CommandError(msg)


def dropped_rows(labels: Any, rows: BoolArray, *, n_models: int) -> str:
    """How many rows were dropped, and of which classes; nothing if none were."""
    dropped = Counter(labels[~rows].tolist())
    if not dropped:
        return ""
    unlabelled = dropped.pop(None, 0)
    parts = [f"{count:,} of class {quoted(text)}" for text, count in dropped.most_common(LISTED_CLASSES)]
    others = sum(dropped.values()) - sum(count for _, count in dropped.most_common(LISTED_CLASSES))
    parts += [f"{others:,} of other classes"] if others else []
    parts += [f"{unlabelled:,} without a class"] if unlabelled else []
    why = "missing values" if n_models == 1 else "a missing value in at least one model, for all models alike"
    n_dropped = int(np.count_nonzero(~rows))
    return f"dropped {n_dropped:,} of {counted(len(rows), 'row')} with {why}: {', '.join(parts)}"
