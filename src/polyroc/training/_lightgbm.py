"""LightGBM: a metric for `feval` of `lightgbm.train` and for `eval_metric` of `LGBMClassifier.fit`."""

from typing import Any

import numpy as np

from polyroc.training._metric import TrainingMetric


class LightGBMMetric(TrainingMetric):
    """D for LightGBM: `feval` of ``lightgbm.train`` and ``lightgbm.cv``, `eval_metric` of ``LGBMClassifier.fit``.

    To stop by D alone, switch the built-in metric off (``metric="None"``) or use ``first_metric_only=True``. Weights of
    the validation set are used. Raw scores, which a custom objective has, are turned into probabilities by softmax.

    Parameters
    ----------
    name : str
        Under which LightGBM shows and records it.
    **options
        Keyword arguments of `evaluate`, such as `costs`.

    Examples
    --------
    >>> from polyroc.training import LightGBMMetric
    >>> import lightgbm  # doctest: +SKIP
    >>> booster = lightgbm.train(
    ...     {"objective": "multiclass", "num_class": 10, "metric": "None"},
    ...     training_set,
    ...     valid_sets=[validation_set],
    ...     feval=LightGBMMetric(),
    ...     callbacks=[lightgbm.early_stopping(20)],
    ... )  # doctest: +SKIP
    """

    # Three arguments by these places: LightGBM counts them to know whether to pass weights.
    def __call__(self, first: Any, second: Any, weight: Any = None) -> tuple[str, float, bool]:
        """``(preds, dataset)`` as `feval`, ``(y_true, y_pred, weight)`` as `eval_metric`: name, D, higher is better."""
        if hasattr(second, "get_label"):
            y_true, y_score, weight = second.get_label(), first, second.get_weight()
        else:
            y_true, y_score = first, second
        return self.name, self._value(y_true, _by_class(y_score, len(y_true)), weight), True


def _by_class(scores: Any, n: int) -> Any:
    """LightGBM before 4.0 hands scores on in one row, class after class."""
    scores = np.asarray(scores)
    return scores.reshape(-1, n).T if scores.ndim == 1 and len(scores) > n > 0 else scores
