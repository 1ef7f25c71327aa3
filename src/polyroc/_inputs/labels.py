"""Labels -> the distinct ones, and each sample's position among the classes; every error about labels as classes."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from polyroc._inputs.checks import InputError, listed
from polyroc._lib.typing import IntArray, LabelArray
from polyroc._lib.warnings import warn

_INTEGER = re.compile(r"0|-?[1-9][0-9]*")


def is_canonical(text: str) -> bool:
    """Whether a text is how an integer is written, and the only way to write it.

    >>> [is_canonical(text) for text in ("1", "-12", "0", "01", "+1", "-0", "1_0", "1.0")]
    [True, True, True, False, False, False, False, False]
    """
    return _INTEGER.fullmatch(text) is not None


def text_of(label: Any) -> str:
    """A class as it may stand in the name of a column; of a boolean in lower case, because files write it in any."""
    return str(label).lower() if isinstance(label, bool | np.bool_) else str(label)


def classes_like(texts: Sequence[str], classes: Sequence[Any]) -> list[Any]:
    """Classes from their texts, of the type of known ones; text if one of them cannot be of that type.

    >>> classes_like(["1", "12"], [1, 2]), classes_like(["1", "01"], [1, 2]), classes_like(["TRUE"], [False, True])
    ([1, 12], ['1', '01'], [True])
    """
    if isinstance(classes[0], bool):
        words = [text.lower() for text in texts]
        return [word == "true" for word in words] if set(words) <= {"false", "true"} else list(texts)
    known = {text_of(label): label for label in classes}
    if isinstance(classes[0], str) or not all(text in known or is_canonical(text) for text in texts):
        return list(texts)
    return [known[text] if text in known else int(text) for text in texts]


def positions(values: Sequence[Any], classes: Sequence[Any]) -> list[int | None]:
    """Where each value stands among the classes, by `str` if one side is text and the other is not."""
    if isinstance(values[0], str) != isinstance(classes[0], str):
        values, classes = [str(value) for value in values], [str(label) for label in classes]
    position = {label: index for index, label in enumerate(classes)}
    return [position.get(value) for value in values]


def check_two(present: list[Any], target: str = "y_true") -> None:
    """Whether there is anything to compare."""
    if len(present) < 2:
        came = f"fewer than two classes: {listed(present)}"
        raise InputError(target, "must have samples of at least two classes", came)


class Factor(NamedTuple):
    """The distinct labels in ascending order, each sample's position among them, and how many samples each has."""

    values: list[Any]
    codes: IntArray
    counts: IntArray | None = None
    """Where they were counted on the way."""


def factorize(labels: LabelArray) -> Factor:
    """The distinct labels, whatever their type."""
    if labels.dtype.kind in "OU":
        items = labels.tolist()
        values = sorted(set(items))
        # A dictionary, because np.unique would sort all n strings.
        position = {value: code for code, value in enumerate(values)}
        return Factor(values, np.fromiter(map(position.__getitem__, items), np.intp, len(items)))
    if labels.dtype.kind == "b":
        factor = _factorize_integers(labels.astype(np.int64))
        return factor._replace(values=[bool(value) for value in factor.values])
    return _factorize_integers(labels)


def _factorize_integers(labels: IntArray) -> Factor:
    low, high = int(labels.min()), int(labels.max())
    span = high - low + 1
    if not is_dense(span, len(labels)):
        distinct, inverse = np.unique(labels, return_inverse=True)
        return Factor(distinct.tolist(), inverse)
    offsets = (labels - low).astype(np.intp, copy=False)
    counts = np.bincount(offsets)
    present = counts > 0
    values = [low + offset for offset in np.flatnonzero(present).tolist()]
    return Factor(values, offsets if len(values) == span else (np.cumsum(present) - 1)[offsets], counts[present])


def is_dense(span: int, n_samples: int) -> bool:
    """Whether integers lie close enough together to be counted, which takes less time than to sort them."""
    return span <= 2 * n_samples + 1024


def encode(factor: Factor, classes: list[Any]) -> IntArray:
    """Each label as its position among the classes, all of which are known."""
    if factor.values == classes:
        return factor.codes
    places = positions(factor.values, classes)
    unknown = [code for code, place in enumerate(places) if place is None]
    if unknown:
        first = int(np.isin(factor.codes, unknown).argmax())
        raise unknown_labels([factor.values[code] for code in unknown], classes, first)
    return np.array(places, dtype=np.intp)[factor.codes]


def unknown_labels(unknown: list[Any], classes: list[Any], first: int) -> InputError:
    """The error of labels that are none of the classes, the first of them in some row."""
    came = f"{listed(unknown)}, first in row {first}"
    return InputError("y_true", f"must hold only classes of `labels` ({listed(classes)})", came)


def labels_array(classes: list[Any]) -> LabelArray:
    """The classes as an array of one type that keeps each as it is."""
    if isinstance(classes[0], str):
        # NumPy's fixed width pads with NUL, so it cannot keep one at the end.
        return np.array(classes, dtype=object if any(label.endswith("\0") for label in classes) else None)
    if isinstance(classes[0], bool):
        return np.array(classes)
    # Named, because NumPy looks for a common type of the numbers and settles for float64.
    return np.array(classes, dtype=np.uint64 if max(classes) >= 2**63 else np.int64)


def check_class_counts(class_counts: IntArray, classes: list[Any]) -> None:
    """Two classes must have samples; those that have none are named in a warning."""
    has_samples = class_counts > 0
    if has_samples.all():
        return
    check_two([label for label, present in zip(classes, has_samples, strict=True) if present])
    absent = [label for label, present in zip(classes, has_samples, strict=True) if not present]
    msg = (
        f"No samples in `y_true` (or only of weight 0) for {len(absent)} of {len(classes)} classes: {listed(absent)}. "
        "Their pairs are dropped. If such a name is no class, leave out its column. If the classes are others, "
        "`labels=` must name those."
    )
    warn(msg, UserWarning)
