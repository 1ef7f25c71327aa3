"""An evaluator for ``mlflow.models.evaluate(..., evaluators="polyroc")``: its configuration, and where scores are.

MLflow finds it by the entry point in pyproject.toml; only `_evaluator` needs MLflow. The order of the classes is never
guessed: it comes from the model's `classes_`, from names of columns, from the configuration, or from true classes that
are themselves numbers of columns, 0 to k - 1.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyroc._inputs.arrays import read_labels, read_table
from polyroc._inputs.checks import InputError, as_confidence_level, as_plain_seed, listed, one_of, shown
from polyroc._inputs.columns import OF_SCORES, Known, assign_columns, distinct, named_classes
from polyroc._inputs.options import DECLARED
from polyroc._uncertainty.bootstrap import as_draws
from polyroc.evaluation._evaluate import evaluate
from polyroc.evaluation._evaluation import Evaluation
from polyroc.evaluation._intervals import PAGE_METHODS, PageMethod
from polyroc.evaluation._scoring import class_scores, evaluate_estimator

# The seed has its own key, which is that of the resamples, too.
OPTIONS = tuple(name for name in DECLARED if name != "rng")


@dataclass(frozen=True, eq=False)
class Config:
    """How to find the scores, how to evaluate them, and how to call what is logged."""

    score_columns: list[Any] | dict[Any, Any] | None = None
    """The columns of scores, or the column of each class."""
    labels: Any = None
    sample_weight: Any = None
    """The name of a column, or the weights themselves; so are `groups`."""
    groups: Any = None
    confidence_level: float = 0.95
    method: PageMethod = "auto"
    """Where intervals come from; "none" for point estimates."""
    n_resamples: int | None = None
    seed: int | None = None
    """Of the resamples and of a sample of the pairs, 0 by default: the same run gives the same numbers again."""
    metric_prefix: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    """Further keyword arguments of `evaluate`."""


KEYS = tuple(entry.name for entry in fields(Config) if entry.name != "options")
# The built-in evaluators read this one too.
_SHARED = "metric_prefix"


def is_for_polyroc(config: Mapping[str, Any]) -> bool:
    """Whether a configuration that all evaluators get has keys that only this one reads.

    >>> is_for_polyroc({"label_list": [0, 1]}), is_for_polyroc({"score_columns": ["a", "b"]})
    (False, True)
    """
    return any(key in config for key in (*KEYS, *OPTIONS) if key != _SHARED)


def as_config(values: Mapping[str, Any]) -> Config:
    """The configuration, checked as far as it can be without the data.

    >>> as_config({"method": "bootstrap", "n_resamples": 199, "shrinkage": 0.5}).options
    {'shrinkage': 0.5}
    """
    if unknown := [key for key in values if key not in (*KEYS, *OPTIONS)]:
        raise InputError("evaluator_config", f"must hold only {', '.join((*KEYS, *OPTIONS))}", listed(unknown))
    own: dict[str, Any] = {key: value for key, value in values.items() if key in KEYS}
    for key, check in _CHECKS.items():
        if key in own:
            own[key] = check(own[key])
    if isinstance(own.get("score_columns"), dict) and own.get("labels") is not None:
        rule = "must be left out where `score_columns` names the classes itself, as a mapping of class to column"
        raise InputError("labels", rule)
    config = Config(**own, options={key: value for key, value in values.items() if key in OPTIONS})
    method = one_of(config.method, "method", PAGE_METHODS)
    seed = None if config.options.get("max_pairs") else config.seed
    try:
        as_draws(method, n_resamples=config.n_resamples, rng=seed)
    except InputError as error:
        argument = "seed" if error.argument == "rng" else error.argument
        raise InputError(argument, error.rule, error.got, error.hint) from error
    return config


def _as_score_columns(value: Any) -> list[Any] | dict[Any, Any] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping | list | tuple) or len(value) == 0:
        rule = "must be a list of column names, or a mapping of class to column name"
        raise InputError("score_columns", rule, shown(value))
    if isinstance(value, Mapping) and len(value) == 1:
        hint = ": a single column of two classes is a list of one, and `labels` names the class it speaks for last"
        came = f"one for {listed(list(value))} alone"
        raise InputError("score_columns", "must name a column for each class", came, hint=hint)
    return dict(value) if isinstance(value, Mapping) else list(value)


def _as_prefix(value: Any) -> str:
    if not isinstance(value, str):
        raise InputError("metric_prefix", "must be text", shown(value))
    return value


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "score_columns": _as_score_columns,
    "confidence_level": as_confidence_level,
    # No generator: the numbers of a run are to be found again from what it says.
    "seed": lambda value: None if value is None else as_plain_seed(value),
    "metric_prefix": _as_prefix,
}


_LOG_PROBABILITIES = "log a scikit-learn model, or one that predicts probabilities (pyfunc_predict_fn='predict_proba')"


def columns_of(dataset: Any) -> dict[Any, Any]:
    """The columns of the data by their names, without targets and predictions."""
    features = dataset.features_data
    if isinstance(features, np.ndarray):
        return {name: features[:, place] for place, name in enumerate(dataset.feature_names)}
    return dict(features.items())


def column(columns: Mapping[Any, Any], value: Any, key: str) -> Any:
    """The column that the configuration names under a key; what is no name is the column itself."""
    if not isinstance(value, str):
        return value
    if value not in columns:
        raise InputError(key, f"must name a column of the data ({listed(list(columns))})", shown(value))
    return columns[value]


def evaluate_dataset(dataset: Any, model: Any, output: str | None, config: Config) -> Evaluation:
    """Evaluation of a model on data, or of the scores that data hold; `output` is the column of a model's scores."""
    columns, y_true = columns_of(dataset), read_labels(dataset.labels_data, "targets")
    weight = column(columns, config.sample_weight, "sample_weight")
    options = {"sample_weight": weight, "rng": config.seed or 0, **config.options}
    if model is not None:
        features = _features(dataset, [name for name in (config.sample_weight, config.groups) if isinstance(name, str)])
        classifier = _classifier_of(model)
        if classifier is not None:
            return _evaluate_classifier(classifier, features, y_true, config, options)
        scores, labels = _scores_of_output(model.predict(features), output, y_true, config)
    elif config.score_columns is not None:
        scores, labels = _chosen(config.score_columns, columns, "the data", y_true, config)
    elif dataset.predictions_data is None:
        rule = "must name the columns of scores where there is neither a model nor `predictions`"
        raise InputError("score_columns", rule, f"none; the data have {listed(list(columns))}")
    else:
        scores, labels = _unnamed(dataset.predictions_data, y_true, config)
    return evaluate(y_true, scores, labels=labels, **options)


def _features(dataset: Any, left_out: Sequence[str]) -> Any:
    """A copy of what the model is to see, which weights and groups are no part of."""
    features = dataset.features_data
    if isinstance(features, np.ndarray):
        return np.delete(features, [list(dataset.feature_names).index(name) for name in left_out], axis=1)
    return features.drop(columns=list(left_out))


def _classifier_of(model: Any) -> Any:
    """The classifier behind an MLflow model, which knows the order of its classes; None where there is none."""
    try:
        raw = model.get_raw_model()
    # Functions and models of other makes have nothing behind them.
    except (AttributeError, NotImplementedError):
        return None
    scores = hasattr(raw, "predict_proba") or hasattr(raw, "decision_function")
    return raw if scores and hasattr(raw, "classes_") else None


def _evaluate_classifier(
    classifier: Any, features: Any, y_true: NDArray[Any], config: Config, options: dict[str, Any]
) -> Evaluation:
    if config.score_columns is not None:
        raise InputError("score_columns", "must be left out for a model with classes_", shown(config.score_columns))
    known, classes = read_labels(classifier.classes_, "classes_").tolist(), np.unique(y_true).tolist()
    if config.labels is None:
        if _without(classes, known) == classes:
            hint = ": where these are other names for the same classes, `labels` gives them in the model's order"
            raise InputError("targets", f"must hold classes of the model ({listed(known)})", listed(classes), hint=hint)
        return evaluate_estimator(classifier, features, y_true, **options)
    labels = read_labels(config.labels, "labels").tolist()
    # Other names are welcome, another order is not.
    if any(label in known and known[place : place + 1] != [label] for place, label in enumerate(labels)):
        raise InputError("labels", f"must be in the order of the model's classes_ ({listed(known)})", listed(labels))
    scores, _ = class_scores(classifier, features)
    return evaluate(y_true, scores, labels=config.labels, **options)


def _scores_of_output(scores: Any, output: str | None, y_true: NDArray[Any], config: Config) -> tuple[Any, Any]:
    """Scores and classes from what a model of unknown make predicted."""
    if not hasattr(scores, "columns"):
        if config.score_columns is not None:
            rule = "must be left out where the model's output has no named columns"
            raise InputError("score_columns", rule, type(scores).__name__)
        return _unnamed(scores, y_true, config)
    columns = dict(scores.items())
    if config.score_columns is not None:
        return _chosen(config.score_columns, columns, "the model's output", y_true, config)
    if output is not None:
        return _unnamed(column(columns, output, "predictions"), y_true, config)
    return scores, config.labels


def _chosen(
    chosen: list[Any] | dict[Any, Any], columns: Mapping[Any, Any], place: str, y_true: NDArray[Any], config: Config
) -> tuple[Any, Any]:
    """The columns that the configuration names, and their classes."""
    names = list(chosen.values()) if isinstance(chosen, dict) else chosen
    if absent := [name for name in names if name not in columns]:
        raise InputError("score_columns", f"must name columns of {place} ({listed(list(columns))})", listed(absent))
    if len(set(names)) < len(names):
        raise InputError("score_columns", "must not name a column twice", listed(names))
    scores = np.column_stack([read_table(columns[name], f"{name}").values for name in names])
    if isinstance(chosen, dict):
        return scores, _checked(list(chosen), y_true, "")
    if len(names) == 1:
        return scores, _labels_of_unnamed(scores, "score_columns", y_true, config)
    if config.labels is not None:
        return _by_labels(scores, names, y_true, config.labels)
    if (named := named_classes(names, np.unique(y_true).tolist())) is not None:
        return scores, named
    hint = ": where columns are named otherwise, map each class to its column, or give `labels` in the same order"
    return scores, _checked(names, y_true, hint)


def _by_labels(scores: NDArray[Any], names: list[Any], y_true: NDArray[Any], labels: Any) -> tuple[Any, Any]:
    """Columns in the order of the labels: by their names where these are the classes, else by position."""
    known = Known(np.unique(y_true).tolist(), distinct(read_labels(labels, "labels"), "labels"), None)
    try:
        classes, order = assign_columns(known, names, len(names))
    except InputError as error:
        argument = "score_columns" if error.argument in OF_SCORES else error.argument
        raise InputError(argument, error.rule, error.got, hint=error.hint) from error
    return (scores if order is None else scores[:, order]), classes


def _checked(classes: list[Any], y_true: NDArray[Any], hint: str) -> list[Any]:
    if absent := _without(np.unique(y_true).tolist(), classes):
        rule = "must have a column for every class of the targets"
        raise InputError("score_columns", rule, f"none for {listed(absent)}{hint}")
    return classes


def _without(labels: list[Any], known: list[Any]) -> list[Any]:
    """The labels that are not known, neither as they are nor as text: settings in JSON have only text for keys."""
    forms = {*known, *map(str, known)}
    return [label for label in labels if label not in forms and str(label) not in forms]


def _unnamed(scores: Any, y_true: NDArray[Any], config: Config) -> tuple[Any, Any]:
    """Scores whose columns have no names."""
    array = np.asarray(scores)
    # A column of a frame holds the scores of a sample as one list.
    if array.ndim == 1 and any(isinstance(row, list | tuple | np.ndarray) for row in array):
        array = read_table(array.tolist(), "predictions").values
    if array.ndim == 1 and _are_decisions(array, y_true):
        hint = f": {_LOG_PROBABILITIES}, or name the columns of scores by `score_columns`"
        raise InputError("predictions", "must be scores", f"decisions such as {shown(array.tolist()[0])}", hint=hint)
    return array, _labels_of_unnamed(array, "predictions", y_true, config)


def _are_decisions(array: NDArray[Any], y_true: NDArray[Any]) -> bool:
    """Whether a single column holds no scores but text, or integers that are the classes themselves."""
    if array.dtype.kind in "biu" and y_true.dtype.kind in "biu":
        return bool(np.isin(array, y_true).all())
    return array.dtype.kind in "OUST"


def _labels_of_unnamed(scores: NDArray[Any], argument: str, y_true: NDArray[Any], config: Config) -> Any:
    """The classes in the order of the columns; None where the true classes are the numbers of the columns."""
    if config.labels is not None:
        return config.labels
    n_columns, classes = (scores.shape[1] if scores.ndim > 1 else 1), np.unique(y_true).tolist()
    if n_columns == 1 and len(classes) > 2:
        raise InputError(argument, "must have one column per class", f"a single one for {listed(classes)}")
    if not isinstance(classes[0], str) and classes[0] >= 0 and classes[-1] < max(2, n_columns):
        return None
    rule = f"must name the classes in the order of the columns of `{argument}`, which have no names"
    raise InputError("labels", rule, f"none for {listed(classes)}")
