"""Dask: evaluate and compare models whose predictions are dask arrays, dask data frames or delayed batches."""

from polyroc.dask._compare import compare
from polyroc.dask._evaluate import evaluate

__all__ = ["compare", "evaluate"]
