"""Spark: evaluate and compare models whose predictions are columns of a Spark data frame."""

from polyroc.streams._spark import compare, evaluate

__all__ = ["compare", "evaluate"]
