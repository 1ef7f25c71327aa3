"""Types that many modules share.

Shapes are written with the letters of the method page: n is the number of samples,
k of classes, K of ordered pairs, T of points on the grid.
"""

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    FloatArray: TypeAlias = NDArray[np.floating[Any]]
    BoolArray: TypeAlias = NDArray[np.bool_]
    IntArray: TypeAlias = NDArray[np.integer[Any]]
    LabelArray: TypeAlias = NDArray[Any]
else:
    # As `help` shows them: the full types fill a line each, and say no more to a reader.
    FloatArray = BoolArray = IntArray = LabelArray = np.ndarray

Weighting: TypeAlias = Literal["equal", "prevalence"]
Thresholds: TypeAlias = Literal["own", "shared", "difference"]
Structure: TypeAlias = Literal["rank-one", "centered", "saturated"]
Statistic: TypeAlias = Literal["auc", "hand_till", "mean_auc"]
# With the one that needs a `max_fpr`.
AnyStatistic: TypeAlias = Literal["auc", "hand_till", "mean_auc", "partial_auc"]
Curve: TypeAlias = Literal["shared", "mean"]
Method: TypeAlias = Literal["bootstrap", "parametric-pairs", "parametric-samples", "delong", "influence", "auto"]
IntervalKind: TypeAlias = Literal["logit", "percentile", "basic", "bca"]
