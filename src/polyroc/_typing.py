"""Array aliases, and the letters used everywhere.

n samples, k classes, K ordered pairs of classes, T thresholds (grid points).
"""

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.integer[Any]]
LabelArray: TypeAlias = NDArray[Any]

Weighting: TypeAlias = Literal["equal", "prevalence"]
Thresholds: TypeAlias = Literal["own", "shared"]
Model: TypeAlias = Literal["rank-one", "centered", "saturated"]
