"""CatBoost: a metric for `eval_metric` of `CatBoostClassifier`."""

from typing import Any

import numpy as np

from polyroc.training._metric import TrainingMetric


class CatBoostMetric(TrainingMetric):
    """D for CatBoost: `eval_metric` of ``CatBoostClassifier`` and ``CatBoost``, on the CPU.

    CatBoost stops by `eval_metric` with ``early_stopping_rounds``, and records it as "CatBoostMetric". It hands on raw
    scores, of which the softmax is taken, and weights. In every round it also evaluates the training data.

    Parameters
    ----------
    **options
        Keyword arguments of `evaluate`, such as `costs`.

    Examples
    --------
    >>> from polyroc.training import CatBoostMetric
    >>> import catboost  # doctest: +SKIP
    >>> model = catboost.CatBoostClassifier(eval_metric=CatBoostMetric(), early_stopping_rounds=20)  # doctest: +SKIP
    >>> model.fit(X_train, y_train, eval_set=(X_validation, y_validation))  # doctest: +SKIP
    """

    # Otherwise CatBoost tries to compile the methods with numba, and warns that it cannot.
    no_jit = True

    def __init__(self, **options: Any) -> None:
        super().__init__(name=type(self).__name__, **options)

    def is_max_optimal(self) -> bool:
        """Higher is better.

        Returns
        -------
        bool
            True.
        """
        return True

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        """D, and a weight of 1: D is no sum over samples.

        Parameters
        ----------
        approxes : sequence of sequences
            Raw scores, one sequence for each class; a single one of two classes.
        target : sequence
            True classes as numbers.
        weight : sequence or None
            Weights of the samples.

        Returns
        -------
        tuple of float
            D and 1.
        """
        scores = np.array([np.asarray(one) for one in approxes]).T
        weights = None if weight is None or len(weight) == 0 else np.asarray(weight)
        return self._value(np.asarray(target), scores, weights), 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        """The D of `evaluate`.

        Parameters
        ----------
        error, weight : float
            As `evaluate` gives them.

        Returns
        -------
        float
            D.
        """
        return error / weight if weight else error
