"""XGBoost: a metric for `custom_metric` of `xgboost.train` and for `eval_metric` of `XGBClassifier`."""

from typing import Any

from polyroc.training._metric import TrainingMetric


class XGBoostMetric(TrainingMetric):
    """D for XGBoost: `custom_metric` of ``xgboost.train`` and ``xgboost.cv``, `eval_metric` of ``XGBClassifier``.

    XGBoost maximizes metrics whose name begins with "auc" and minimizes others: with another `name` use
    ``xgboost.callback.EarlyStopping(rounds, maximize=True)``. Weights of the validation set are used. Margins, which a
    custom objective has, are turned into probabilities by softmax. The objective "multi:softmax" gives no scores: use
    "multi:softprob", as ``XGBClassifier`` does.

    Parameters
    ----------
    name : str
        Under which XGBoost shows and records it.
    **options
        Keyword arguments of `evaluate`, such as `costs`.

    Examples
    --------
    >>> from polyroc.training import XGBoostMetric
    >>> import xgboost  # doctest: +SKIP
    >>> model = xgboost.XGBClassifier(eval_metric=XGBoostMetric(), early_stopping_rounds=20)  # doctest: +SKIP
    >>> model.fit(X_train, y_train, eval_set=[(X_validation, y_validation)])  # doctest: +SKIP
    """

    @property
    def __name__(self) -> str:
        # Where XGBClassifier looks for the name of a function.
        return self.name

    def __call__(self, first: Any, second: Any, sample_weight: Any = None) -> Any:
        """``(predt, dtrain)`` as `custom_metric`: name and D; ``(y_true, y_score)`` as `eval_metric`: D."""
        if not hasattr(second, "get_label"):
            return self._value(first, second, sample_weight)
        weight = second.get_weight()
        return self.name, self._value(second.get_label(), first, weight if len(weight) else None)
