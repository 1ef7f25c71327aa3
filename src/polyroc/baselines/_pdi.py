"""Van Calster's PDI: of one sample of each class, how often each class's own column is highest for it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from polyroc._engines import Prepared, Resources, get_engine
from polyroc._engines._protocol import PdiTerms
from polyroc._estimator._doubts import warn_of_disagreement
from polyroc._inputs.arrays import plain
from polyroc._inputs.predictions import as_predictions
from polyroc._lib.typing import FloatArray, LabelArray
from polyroc._lib.warnings import underflow_is_zero
from polyroc._records import Frozen
from polyroc._uncertainty.influence import whole_error
from polyroc._uncertainty.units import units_of


@dataclass(frozen=True, eq=False)
class Pdi(Frozen):
    """Result of `pdi`; ``float(...)`` of it is the value.

    Attributes
    ----------
    value : float
        The mean of `per_class` over the classes that have samples.
    per_class : ndarray of shape (n_classes,)
        Probability that the sample of the class has the highest score in
        the class's column; NaN for a class without samples.
    standard_error : float
        Standard error of `value`, from what each sample contributes to it.
        0 where every class has one sample: they show no variation.
    labels : ndarray of shape (n_classes,)
        The classes.
    """

    value: float
    per_class: FloatArray
    standard_error: float
    labels: LabelArray

    def __float__(self) -> float:
        return self.value

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers and lists, for JSON; None for a class without samples.

        Examples
        --------
        >>> from polyroc.baselines import pdi
        >>> pdi([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).to_dict()["per_class"]
        [0.75, 0.75]
        """
        return {
            "value": self.value,
            "per_class": [None if np.isnan(value) else float(value) for value in self.per_class],
            "standard_error": self.standard_error,
            "labels": plain(self.labels),
        }


@underflow_is_zero
def pdi(y_true: Any, y_score: Any, *, labels: Any = None, sample_weight: Any = None) -> Pdi:
    """Polytomous discrimination index: of one sample of each class, how often the right one scores highest.

    Take one sample of each class. PDI of class i is the probability that the sample of class i has the highest score in
    column i; if l samples share the highest score, each counts 1/l. PDI is the mean over the classes that have samples.
    With two classes it is the ordinary AUC.

    Parameters
    ----------
    y_true, y_score, labels, sample_weight : array-like
        As in `hand_till`.

    Returns
    -------
    Pdi
        The value with its standard error, and PDI of each class. The value is 1 / n_classes for scores without
        information.

    Raises
    ------
    ValueError
        If an argument breaks one of the rules above.

    Notes
    -----
    PDI is computed exactly, over all sets of one sample per class. It is a U-statistic, and its standard error comes
    from its structural components, as DeLong's does for the AUC.

    References
    ----------
    .. [1] B. Van Calster, V. Van Belle, Y. Vergouwe, D. Timmerman, S. Van Huffel and E. W. Steyerberg, "Extending the
       c-statistic to nominal polytomous outcomes: the Polytomous Discrimination Index", Statistics in Medicine 31,
       2610-2626, 2012.

    Examples
    --------
    There are two sets of one sample per class. Classes 0 and 1 win in both; class 2 loses to the second sample of class
    0 in the last column.

    >>> from polyroc.baselines import pdi
    >>> y_score = [[0.9, 0.1, 0.0], [0.4, 0.1, 0.5], [0.2, 0.7, 0.1], [0.3, 0.4, 0.3]]
    >>> found = pdi([0, 0, 1, 2], y_score)
    >>> found.per_class.tolist()
    [1.0, 1.0, 0.5]
    >>> round(float(found), 6)
    0.833333
    """
    predictions = as_predictions(y_true, y_score, labels=labels, sample_weight=sample_weight)
    warn_of_disagreement(predictions)
    # It merges all pairs of classes in each column, as their areas do.
    n_classes = int(np.count_nonzero(predictions.class_counts))
    engine = get_engine("auto", predictions, n_thresholds=0, n_pairs=n_classes * (n_classes - 1))
    terms = engine.prepare(predictions, Resources()).pdi_terms()
    return Pdi(
        value=_mean(terms),
        per_class=terms.by_class,
        standard_error=whole_error(terms.influences, units_of(predictions, None), 0.0),
        labels=predictions.labels,
    )


def pdi_functional(prepared: Prepared) -> tuple[float, FloatArray]:
    """PDI of samples made ready, and what each sample adds to it, shape (n,); 0 in sum over each class."""
    terms = prepared.pdi_terms()
    return _mean(terms), terms.influences


def _mean(terms: PdiTerms) -> float:
    return float(np.mean(terms.by_class[~np.isnan(terms.by_class)]))
