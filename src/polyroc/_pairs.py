"""Which ordered pairs of classes are compared."""

import numpy as np

from polyroc._records import PairIndex, Predictions


def all_pairs(predictions: Predictions) -> PairIndex:
    """Every ordered pair of the classes that have samples, positive-major.

    Binary predictions have the single pair (second class, first class).
    """
    if predictions.is_binary:
        return PairIndex(positive=np.array([1]), negative=np.array([0]))
    present = np.flatnonzero(predictions.class_counts)
    positive, negative = np.meshgrid(present, present, indexing="ij")
    different = positive != negative
    return PairIndex(positive=positive[different], negative=negative[different])
