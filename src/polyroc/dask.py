"""Dask: evaluate and compare models whose predictions are dask arrays, dask data frames or delayed batches."""

from polyroc.streams._dask import compare, evaluate

__all__ = ["compare", "evaluate"]
