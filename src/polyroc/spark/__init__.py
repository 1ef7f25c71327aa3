"""Spark: evaluate and compare models whose predictions are columns of a Spark data frame."""

from polyroc.spark._compare import compare
from polyroc.spark._evaluate import evaluate

__all__ = ["compare", "evaluate"]
