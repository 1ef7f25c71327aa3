"""Which ordered pairs of classes are compared."""

from typing import Any

import numpy as np

from polyroc._inputs._checks import InputError
from polyroc._records import PairIndex, Predictions


def all_pairs(predictions: Predictions) -> PairIndex:
    """Every ordered pair of the classes that have samples, positive-major.

    Binary predictions have the single pair (second class, first class).
    """
    if predictions.is_binary:
        return PairIndex(positive=np.array([1]), negative=np.array([0]))
    present = np.flatnonzero(predictions.class_counts)
    positive, negative = np.repeat(present, len(present)), np.tile(present, len(present))
    different = positive != negative
    return PairIndex(positive=positive[different], negative=negative[different])


def sampled_pairs(predictions: Predictions, max_pairs: int | None, rng: Any) -> PairIndex:
    """At most `max_pairs` pairs, in which every class is positive, and negative, equally often.

    The classes are put in a circle in random order; each is paired with those that stand at some randomly chosen
    distances from it. So the sample is stratified by both classes of a pair.
    """
    present = np.flatnonzero(predictions.class_counts)
    n_classes = len(present)
    if predictions.is_binary or max_pairs is None or n_classes * (n_classes - 1) <= max_pairs:
        return all_pairs(predictions)
    if max_pairs < n_classes:
        raise InputError(
            "max_pairs", f"must be at least the number of classes with samples, {n_classes}", f"{max_pairs}"
        )
    generator = np.random.default_rng(rng)
    circle = generator.permutation(present)
    distances = generator.choice(np.arange(1, n_classes), size=max_pairs // n_classes, replace=False)
    place, draw = np.meshgrid(np.arange(n_classes), np.arange(len(distances)), indexing="ij")
    positive, negative = circle[place].ravel(), circle[(place + distances[draw]) % n_classes].ravel()
    order = np.lexsort((negative, positive))
    return PairIndex(positive[order], negative[order], stratum=draw.ravel()[order])
