"""The evaluator: one evaluation, logged as metrics, a picture, a report and its numbers.

MLflow loads this module whenever it is imported itself, so what draws and writes is imported only when it is used.
"""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mlflow
import numpy as np
from mlflow.models.evaluation.base import EvaluationResult, ModelEvaluator
from numpy.typing import NDArray

from polyroc._inputs.arrays import read_labels, read_table
from polyroc._inputs.checks import InputError, as_confidence_level, as_plain_seed, listed, one_of, shown
from polyroc._inputs.columns import OF_SCORES, Known, assign_columns, distinct, named_classes
from polyroc._inputs.options import DECLARED
from polyroc._lib.typing import Statistic
from polyroc._uncertainty.method import as_draws
from polyroc.evaluation._evaluate import evaluate
from polyroc.evaluation._evaluation import Evaluation
from polyroc.evaluation._intervals import PAGE_METHODS, EvaluationIntervals, PageMethod
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


def is_for_polyroc(given: Mapping[str, Any]) -> bool:
    """Whether a configuration that all evaluators get has keys that only this one reads.

    >>> is_for_polyroc({"label_list": [0, 1]}), is_for_polyroc({"score_columns": ["a", "b"]})
    (False, True)
    """
    return any(key in given for key in (*KEYS, *OPTIONS) if key != _SHARED)


def as_config(given: Mapping[str, Any]) -> Config:
    """The configuration, checked as far as it can be without the data.

    >>> as_config({"method": "bootstrap", "n_resamples": 199, "shrinkage": 0.5}).options
    {'shrinkage': 0.5}
    """
    if unknown := [key for key in given if key not in (*KEYS, *OPTIONS)]:
        raise InputError("evaluator_config", f"must hold only {', '.join((*KEYS, *OPTIONS))}", listed(unknown))
    own: dict[str, Any] = {key: value for key, value in given.items() if key in KEYS}
    for key, check in _CHECKS.items():
        if key in own:
            own[key] = check(own[key])
    if isinstance(own.get("score_columns"), dict) and own.get("labels") is not None:
        raise InputError(
            "labels", "must be left out where `score_columns` names the classes itself, as a mapping of class to column"
        )
    config = Config(**own, options={key: value for key, value in given.items() if key in OPTIONS})
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
        raise InputError(
            "score_columns", "must be a list of column names, or a mapping of class to column name", shown(value)
        )
    if isinstance(value, Mapping):
        if len(value) == 1:
            raise InputError(
                "score_columns",
                "must name a column for each class",
                f"one for {listed(list(value))} alone",
                hint=": a single column of two classes is a list of one, and `labels` names the class it speaks "
                "for last",
            )
        return dict(value)
    return list(value)


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
    """Evaluate a model on data, or the scores that data hold where there is no model.

    Parameters
    ----------
    dataset : mlflow.data.evaluation_dataset.EvaluationDataset
        Features, targets, perhaps predictions.
    model : mlflow.pyfunc.PyFuncModel or None
        The model.
    output : str or None
        Which column of the model's output holds the scores, where it is not all of them.
    config : Config
        The configuration.
    """
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
    else:
        scores, labels = _unnamed(_predictions(dataset, columns), "predictions", y_true, config)
    return evaluate(y_true, scores, labels=labels, **options)


def _features(dataset: Any, left_out: Sequence[str]) -> Any:
    """A copy of what the model is to see, which weights and groups are no part of."""
    features = dataset.features_data
    if isinstance(features, np.ndarray):
        return np.delete(features, [list(dataset.feature_names).index(name) for name in left_out], axis=1)
    return features.drop(columns=list(left_out))


def _predictions(dataset: Any, columns: Mapping[Any, Any]) -> Any:
    if dataset.predictions_data is None:
        raise InputError(
            "score_columns",
            "must name the columns of scores where there is neither a model nor `predictions`",
            f"none; the data have {listed(list(columns))}",
        )
    return dataset.predictions_data


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
            raise InputError(
                "targets",
                f"must hold classes of the model ({listed(known)})",
                listed(classes),
                hint=": where these are other names for the same classes, `labels` gives them in the model's order",
            )
        return evaluate_estimator(classifier, features, y_true, **options)
    labels = read_labels(config.labels, "labels").tolist()
    # Other names are welcome, another order is not.
    if any(label in known and known[place : place + 1] != [label] for place, label in enumerate(labels)):
        raise InputError("labels", f"must be in the order of the model's classes_ ({listed(known)})", listed(labels))
    scores, _ = class_scores(classifier, features)
    return evaluate(y_true, scores, labels=config.labels, **options)


def _scores_of_output(found: Any, output: str | None, y_true: NDArray[Any], config: Config) -> tuple[Any, Any]:
    """Scores and classes from what a model of unknown make predicted."""
    if not hasattr(found, "columns"):
        if config.score_columns is not None:
            rule = "must be left out where the model's output has no named columns"
            raise InputError("score_columns", rule, type(found).__name__)
        return _unnamed(found, "predictions", y_true, config)
    if config.score_columns is not None:
        return _chosen(config.score_columns, dict(found.items()), "the model's output", y_true, config)
    if output is not None:
        return _unnamed(column(dict(found.items()), output, "predictions"), "predictions", y_true, config)
    return found, config.labels


def _chosen(
    chosen: list[Any] | dict[Any, Any], columns: Mapping[Any, Any], where: str, y_true: NDArray[Any], config: Config
) -> tuple[Any, Any]:
    """The columns that the configuration names, and their classes."""
    names = list(chosen.values()) if isinstance(chosen, dict) else chosen
    if absent := [name for name in names if name not in columns]:
        raise InputError("score_columns", f"must name columns of {where} ({listed(list(columns))})", listed(absent))
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
        raise InputError(
            "score_columns", "must have a column for every class of the targets", f"none for {listed(absent)}{hint}"
        )
    return classes


def _without(labels: list[Any], known: list[Any]) -> list[Any]:
    """The labels that are not known, neither as they are nor as text: settings in JSON have only text for keys."""
    forms = {*known, *map(str, known)}
    return [label for label in labels if label not in forms and str(label) not in forms]


def _unnamed(found: Any, what: str, y_true: NDArray[Any], config: Config) -> tuple[Any, Any]:
    """Scores whose columns have no names."""
    array = np.asarray(found)
    # A column of a frame holds the scores of a sample as one list.
    if array.ndim == 1 and any(isinstance(row, list | tuple | np.ndarray) for row in array):
        array = read_table(array.tolist(), "predictions").values
    if array.ndim == 1 and _are_decisions(array, y_true):
        hint = f": {_LOG_PROBABILITIES}, or name the columns of scores by `score_columns`"
        raise InputError(what, "must be scores", f"decisions such as {shown(array.tolist()[0])}", hint=hint)
    return array, _labels_of_unnamed(array, what, y_true, config)


def _are_decisions(array: NDArray[Any], y_true: NDArray[Any]) -> bool:
    """Whether a single column holds no scores but text, or integers that are the classes themselves."""
    if array.dtype.kind in "biu" and y_true.dtype.kind in "biu":
        return bool(np.isin(array, y_true).all())
    return array.dtype.kind in "OUST"


def _labels_of_unnamed(scores: NDArray[Any], what: str, y_true: NDArray[Any], config: Config) -> Any:
    """The classes in the order of the columns; None where the true classes are the numbers of the columns."""
    if config.labels is not None:
        return config.labels
    n_columns, classes = (scores.shape[1] if scores.ndim > 1 else 1), np.unique(y_true).tolist()
    if n_columns == 1 and len(classes) > 2:
        raise InputError(what, "must have one column per class", f"a single one for {listed(classes)}")
    if not isinstance(classes[0], str) and classes[0] >= 0 and classes[-1] < max(2, n_columns):
        return None
    raise InputError(
        "labels",
        f"must name the classes in the order of the columns of `{what}`, which have no names",
        f"none for {listed(classes)}",
    )


_STATISTICS: tuple[Statistic, ...] = ("auc", "hand_till")


class PolyrocEvaluator(ModelEvaluator):  # type: ignore[misc]  # mlflow has no types here
    """D, Hand and Till's M, their intervals, the curve and the report, for `mlflow.models.evaluate`."""

    @classmethod
    def can_evaluate(cls, *, model_type: str, evaluator_config: dict[str, Any], **kwargs: Any) -> bool:
        """Whether to take part: for classifiers, and only when asked to."""
        # Where nobody names evaluators, MLflow asks all that are installed and gives them one configuration. Having
        # polyroc installed must not change, slow down or break such an evaluation.
        frame = inspect.currentframe()
        caller = frame.f_back.f_code.co_name if frame is not None and frame.f_back is not None else ""
        is_named = caller != "resolve_evaluators_and_configs"
        return model_type == "classifier" and (is_named or is_for_polyroc(evaluator_config))

    def evaluate(
        self,
        *,
        model_type: str,
        dataset: Any,
        run_id: str,
        evaluator_config: dict[str, Any],
        model: Any = None,
        model_id: str | None = None,
        predictions: str | None = None,
        **kwargs: Any,
    ) -> EvaluationResult:
        """Evaluate, log to the run, and return what was logged."""
        from polyroc.report._page import check_installed

        config = as_config(evaluator_config)
        groups = column(columns_of(dataset), config.groups, "groups")
        # Before the work is done.
        check_installed()
        evaluation = evaluate_dataset(dataset, model, predictions, config)
        # A run that is logged gives the same numbers again.
        seed = (config.seed or 0) if config.method == "bootstrap" else None
        intervals = EvaluationIntervals.of(
            evaluation, config.method, groups=groups, n_resamples=config.n_resamples, rng=seed
        )
        found = _metrics(evaluation, intervals, config.confidence_level)
        metrics = {f"{config.metric_prefix}{name}": value for name, value in found.items()}
        of_what = {"dataset_name": dataset.name, "dataset_digest": dataset.digest, "model_id": model_id}
        for name, value in metrics.items():
            mlflow.MlflowClient().log_metric(run_id, name, value, **of_what)
        source = {"mlflow_run": run_id, "mlflow_model": model_id, "dataset": dataset.name}
        artifacts = _log_artifacts(run_id, config, evaluation, intervals, source)
        return EvaluationResult(metrics=metrics, artifacts=artifacts, run_id=run_id)


def _metrics(evaluation: Evaluation, intervals: EvaluationIntervals | None, level: float) -> dict[str, float]:
    metrics: dict[str, float] = {}
    for statistic in _STATISTICS:
        name = f"polyroc_{statistic}"
        metrics[name] = getattr(evaluation, statistic)
        if intervals is not None and (ends := intervals.confidence_interval(level, statistic=statistic)) is not None:
            metrics |= {f"{name}_low": ends.low, f"{name}_high": ends.high}
    return metrics


def _log_artifacts(
    run_id: str,
    config: Config,
    evaluation: Evaluation,
    intervals: EvaluationIntervals | None,
    source: dict[str, Any],
) -> dict[str, Any]:
    from mlflow.models.evaluation.artifacts import (
        ImageEvaluationArtifact,
        JsonEvaluationArtifact,
        TextEvaluationArtifact,
    )

    from polyroc.report import render_html, summarize

    summary = summarize(
        evaluation,
        bootstrap=intervals,
        include_intervals=intervals is not None,
        confidence_level=config.confidence_level,
        source=source,
        include_rates=True,
    )
    # Only the page follows costs that somebody changes.
    plain = {key: value for key, value in summary.items() if not key.startswith("explorer")}
    kinds = {
        "polyroc_curve.png": ImageEvaluationArtifact,
        "polyroc_report.html": TextEvaluationArtifact,
        "polyroc_summary.json": JsonEvaluationArtifact,
    }
    artifacts = {}
    with TemporaryDirectory() as folder:
        curve, report, numbers = paths = [Path(folder, f"{config.metric_prefix}{name}") for name in kinds]
        # A prefix such as "test/" is a folder.
        curve.parent.mkdir(parents=True, exist_ok=True)
        _draw_curve(curve, evaluation, intervals, config.confidence_level)
        report.write_text(render_html(summary), encoding="utf-8")
        numbers.write_text(json.dumps(plain, allow_nan=False), encoding="utf-8")
        mlflow.MlflowClient().log_artifacts(run_id, folder)
        for (name, kind), path in zip(kinds.items(), paths, strict=True):
            artifact = kind(uri=mlflow.get_artifact_uri(f"{config.metric_prefix}{name}"))
            artifact._load(str(path))
            artifacts[name.partition(".")[0]] = artifact
    return artifacts


def _draw_curve(path: Path, evaluation: Evaluation, intervals: EvaluationIntervals | None, level: float) -> None:
    # No pyplot: nothing is left open, and no screen is looked for.
    from matplotlib.figure import Figure

    from polyroc.display import RocCurveDisplay

    band = None if intervals is None else intervals.confidence_band(level)
    interval = None if intervals is None else intervals.confidence_interval(level)
    figure = Figure(figsize=(5, 5), layout="constrained")
    display = RocCurveDisplay.from_evaluation(evaluation, band=band, interval=interval)
    display.plot(figure.add_subplot(), plot_chance_level=True)
    figure.savefig(path, dpi=150)
