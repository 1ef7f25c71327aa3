"""Types that many modules share.

Shapes are written with the letters of the method page: n is the number of samples,
k of classes, K of ordered pairs, T of points on the grid.
"""

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
BoolArray: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.integer[Any]]
LabelArray: TypeAlias = NDArray[Any]

Weighting: TypeAlias = Literal["equal", "prevalence"]
Thresholds: TypeAlias = Literal["own", "shared"]
Model: TypeAlias = Literal["rank-one", "centered", "saturated"]
Statistic: TypeAlias = Literal["auc", "hand_till", "mean_auc"]
Curve: TypeAlias = Literal["shared", "mean"]
Method: TypeAlias = Literal["bootstrap", "parametric-pairs", "parametric-samples", "delong"]
IntervalKind: TypeAlias = Literal["logit", "percentile", "basic", "bca"]
