"""D of what training loops hold, probabilities or margins; and as a metric of LightGBM, XGBoost and CatBoost."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from polyroc._counts.bins import ROUNDED
from polyroc._inputs.arrays import read_labels, read_table
from polyroc._inputs.checks import InputError
from polyroc._lib.typing import FloatArray
from polyroc.evaluation._evaluate import OF_SAMPLES, auc_score, check_option_names
from polyroc.evaluation._scoring import checked_options


def multiclass_d(
    y_true: "ArrayLike", y_score: "ArrayLike", *, sample_weight: "ArrayLike | None" = None, **options: Any
) -> float:
    """D (multi-class AUC) of coded classes, from probabilities or from the margins before softmax.

    All metrics of `polyroc.training` are this function. For probabilities it is `auc_score`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes as numbers from 0 to n_classes - 1, also if they came as floats.
    y_score : array-like of shape (n_samples, n_classes) or (n_samples,)
        Probabilities; if a value lies outside [0, 1] by more than 1e-6, margins (logits), of which the softmax is
        taken. For two classes one column, the score of class 1, is enough.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights.
    **options
        Further keyword arguments of `evaluate`, such as `costs`.

    Returns
    -------
    float
        Between 0 and 1, higher is better.

    Examples
    --------
    >>> import numpy as np
    >>> from polyroc.training import multiclass_d
    >>> margins = np.array([[2.0, 0, 0], [0, 2, 0], [0, 0, 2], [1, 0, 0], [0, 1, 0], [0, 1, 0]])
    >>> y_true = [0, 1, 2, 0, 1, 2]
    >>> probabilities = np.exp(margins) / np.exp(margins).sum(axis=1, keepdims=True)
    >>> multiclass_d(y_true, margins) == multiclass_d(y_true, probabilities)
    True
    """
    if options:
        check_option_names(options, multiclass_d, without=OF_SAMPLES)
    codes, scores = read_labels(y_true, "y_true"), read_table(y_score, "y_score").values
    if codes.dtype.kind not in "ib":
        raise InputError("y_true", "must hold numbers of classes, 0 to n_classes - 1", "text")
    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    if scores.ndim == 1 and codes.max() > 1:
        hint = " (of XGBoost, objective='multi:softprob' gives scores, and 'multi:softmax' only the predicted class)"
        raise InputError("y_score", "must have one column per class", f"shape {scores.shape}{hint}")
    if scores.ndim == 2:
        scores = _softmax_if_needed(scores)
    k = scores.shape[1] if scores.ndim == 2 else 2
    return auc_score(codes, scores, labels=range(k), sample_weight=sample_weight, **options)


def _softmax_if_needed(scores: FloatArray) -> FloatArray:
    if not np.isfinite(scores).all():  # `evaluate` says what is wrong
        return scores
    if scores.size == 0 or (scores.min() >= -ROUNDED and scores.max() <= 1 + ROUNDED):
        return scores
    # What vanishes is 0, whatever the caller has made of underflow.
    with np.errstate(under="ignore", over="ignore"):
        shares: FloatArray = softmax(scores.astype(np.float64), axis=1)
    return shares


def options_of(metric: type, options: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments of `evaluate`, checked now and not after the first round of training."""
    check_option_names(options, metric, without=OF_SAMPLES)
    return checked_options(options)


class TrainingMetric:
    """D by the name under which training shows it; can be pickled and compared, as parameters of estimators are."""

    def __init__(self, *, name: str = "auc_d", **options: Any) -> None:
        self.name, self.options = name, options_of(type(self), options)

    def _value(self, y_true: Any, y_score: Any, sample_weight: Any = None) -> float:
        return multiclass_d(y_true, y_score, sample_weight=sample_weight, **self.options)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.options.items())})"


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
