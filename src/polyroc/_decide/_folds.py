"""Folds for cross-fitting: stratified by class, groups kept whole."""

import numpy as np

from polyroc._lib._typing import IntArray


def folds_of(codes: IntArray, unit: IntArray, n_folds: int, seed: int) -> IntArray:
    """The fold of each sample, shape (n,): units are dealt out in turn within their commonest class.

    A class with fewer units than folds is missing from some folds, and never from all others. What a unit is dealt
    depends on its own random number and on the units of its class, not on the order of the classes.
    """
    rng = np.random.default_rng(seed)
    n_units = int(unit.max()) + 1
    key = rng.random(n_units)
    kind = _commonest(codes, unit, n_units)
    order = np.lexsort((key, kind))
    counts = np.bincount(kind)
    begins = np.cumsum(counts) - counts
    rank = np.arange(n_units) - begins[kind[order]]
    # Where the dealing begins in each class, by chance: else small classes would all lie in the first folds.
    lowest = np.ones(len(counts))
    np.minimum.at(lowest, kind, key)
    shift = np.floor(lowest * 2**40).astype(np.int64) % n_folds
    fold = np.empty(n_units, dtype=np.intp)
    fold[order] = (rank + shift[kind[order]]) % n_folds
    found: IntArray = fold[unit]
    return found


def _commonest(codes: IntArray, unit: IntArray, n_units: int) -> IntArray:
    """The class of most samples of each unit, shape (n_units,); the first of equal ones."""
    if n_units == len(codes):
        kind = np.empty(n_units, dtype=np.intp)
        kind[unit] = codes
        return kind
    k = int(codes.max()) + 1
    pairs, counts = np.unique(unit * k + codes, return_counts=True)
    order = np.lexsort((-pairs, counts))
    kind = np.empty(n_units, dtype=np.intp)
    # Written in rising order of the counts, so that the largest stays.
    kind[pairs[order] // k] = pairs[order] % k
    return kind


def units_per_class(codes: IntArray, unit: IntArray, n_classes: int) -> IntArray:
    """Number of units that hold a sample of each class, shape (k,)."""
    if int(unit.max()) + 1 == len(codes):
        return np.bincount(codes, minlength=n_classes)
    pairs = np.unique(unit.astype(np.int64) * n_classes + codes)
    return np.bincount(pairs % n_classes, minlength=n_classes)
