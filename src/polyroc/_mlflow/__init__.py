"""An evaluator for ``mlflow.models.evaluate(..., evaluators="polyroc")``.

MLflow finds it by the entry point in pyproject.toml; nobody imports it by name. Only `_evaluator` needs MLflow.
"""
