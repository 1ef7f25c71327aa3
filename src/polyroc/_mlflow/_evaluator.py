"""The evaluator: one evaluation, logged as metrics, a picture, a report and its numbers.

MLflow loads this module whenever it is imported itself, so what draws and writes is imported only when it is used.
"""

import inspect
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mlflow
from mlflow.models.evaluation.base import EvaluationResult, ModelEvaluator

from polyroc._lib.typing import Statistic
from polyroc._mlflow import Config, as_config, column, columns_of, evaluate_dataset, is_for_polyroc
from polyroc.evaluation._evaluation import Evaluation
from polyroc.evaluation._intervals import EvaluationIntervals

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
        values = _metrics(evaluation, intervals, config.confidence_level)
        metrics = {f"{config.metric_prefix}{name}": value for name, value in values.items()}
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
    run_id: str, config: Config, evaluation: Evaluation, intervals: EvaluationIntervals | None, source: dict[str, Any]
) -> dict[str, Any]:
    from mlflow.models.evaluation import artifacts as of_mlflow

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
        "polyroc_curve.png": of_mlflow.ImageEvaluationArtifact,
        "polyroc_report.html": of_mlflow.TextEvaluationArtifact,
        "polyroc_summary.json": of_mlflow.JsonEvaluationArtifact,
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
