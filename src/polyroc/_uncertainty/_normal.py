"""Draws from a normal distribution: the same on every machine."""

import numpy as np

from polyroc._lib._typing import FloatArray


def normal_errors(noise: FloatArray, covariance: FloatArray) -> FloatArray:
    """Errors with this covariance, shape (N, m), from independent ones of variance 1.

    By the symmetric root of the covariance, because there is only one. The signs of eigenvectors, and their directions
    where eigenvalues are alike, depend on the machine, and so would what is drawn along them.

    >>> import numpy as np
    >>> normal_errors(np.eye(2), np.array([[5.0, 4.0], [4.0, 5.0]])).round(12)
    array([[2., 1.],
           [1., 2.]])
    """
    values, vectors = np.linalg.eigh(covariance)
    # Rounding may leave a covariance a little below 0 in directions in which nothing varies.
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    found: FloatArray = noise @ root
    return found
