"""Columns beside the scores that look like scores, too: of classes that no sample has."""

from collections.abc import Mapping

import numpy as np

from polyroc._lib._typing import FloatArray

# Probabilities may be rounded to two digits.
_NEARLY = 0.01


def completing(scores: FloatArray, others: Mapping[str, FloatArray]) -> list[str]:
    """The columns that make the rows of probabilities sum to 1, where without them some do not; none where none do.

    >>> scores = np.array([[0.5, 0.2], [0.1, 0.9]])
    >>> completing(scores, {"id": np.array([1.0, 2.0]), "owl": np.array([0.3, 0.0])})
    ['owl']
    """
    lacking = 1 - scores.sum(axis=1)
    if not np.abs(lacking).max(initial=0.0) > _NEARLY:
        return []
    likely = {name: one for name, one in others.items() if bool(np.all((one >= -_NEARLY) & (one <= 1 + _NEARLY)))}
    for names in (list(likely), *([name] for name in likely)):
        if names and bool(np.all(np.abs(lacking - sum(likely[name] for name in names)) <= _NEARLY)):
            return names
    return []
