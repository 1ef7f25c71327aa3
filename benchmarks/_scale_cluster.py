"""Rows per second of both passes over Parquet files by Dask and by Spark, each on this machine alone.

python -m benchmarks._scale_cluster TARGET FILE ... [--labels 0,1,2]
"""

import argparse
import importlib.util
import os
import shutil
import sys
import time
from pathlib import Path

import numpy as np

import polyroc
from polyroc._counts.bins import usual_bits
from polyroc.streams._partitions import ONE_MODEL, Recipe, evaluate_passes


def run(paths, target, scores, labels):
    """Print rows per second of pass one and of pass two, by every engine that is installed."""
    _warm_up(len(scores))
    for name, runner in (("Dask, threads", run_dask), ("Spark, local", run_spark)):
        lacking = runner.lacking()
        if lacking:
            print(f"{name:<14}  left out: {lacking}")
            continue
        n_rows, first, second = runner(paths, target, scores, labels)
        print(
            f"{name:<14}  {n_rows:>13,} rows   pass one {n_rows / first:>11,.0f} rows/s   "
            f"pass two {n_rows / second:>11,.0f} rows/s",
            flush=True,
        )


def run_dask(paths, target, scores, labels):
    """Rows, and seconds of either pass, with Dask's threads."""
    import dask
    import dask.dataframe as dd

    from polyroc.streams._dask import as_passes

    with dask.config.set(scheduler="threads"):
        frame = dd.read_parquet([str(path) for path in paths], columns=[target, *scores])
        return _timed(as_passes(target, {ONE_MODEL: frame}, None, None), labels)


def run_spark(paths, target, scores, labels):
    """The same with a local session of Spark."""
    from pyspark.sql import SparkSession

    from polyroc.streams._spark import as_passes

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[*]").appName("polyroc").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "2g").config("spark.log.level", "ERROR")
    session = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "65536").getOrCreate()
    try:
        frame = session.read.parquet(*(str(path) for path in paths))
        passes = as_passes(frame, target, {ONE_MODEL: list(scores)}, None, None)
        # What stays is started: processes of Python, and what they import.
        started = as_passes(session.read.parquet(str(paths[0])), target, {ONE_MODEL: list(scores)}, None, None)
        started.count(_recipe(labels))
        return _timed(passes, labels)
    finally:
        session.stop()


class _Timed:
    """Passes that watch the clock."""

    def __init__(self, passes):
        self._passes, self.seconds = passes, {}

    def _of(self, name, given):
        start = time.perf_counter()
        found = getattr(self._passes, name)(given)
        self.seconds[name] = time.perf_counter() - start
        return found

    def count(self, recipe):
        return self._of("count", recipe)

    def sum(self, tables):
        return self._of("sum", tables)


def _timed(passes, labels):
    timed = _Timed(passes)
    evaluation = evaluate_passes(timed, _recipe(labels), {}, True)
    return int(evaluation.class_counts.sum()), timed.seconds["count"], timed.seconds["sum"]


def _recipe(labels):
    return Recipe(tuple(labels), (ONE_MODEL,), "probabilities", usual_bits(len(labels)))


def _warm_up(k):
    """Compile or load what counts, which is no part of any speed."""
    n = 2_000_000 // k
    accumulator = polyroc.RocAccumulator(range(k))
    y_true, y_score = np.arange(n) % k, np.full((n, k), 0.5, dtype=np.float32)
    accumulator.update(y_true, y_score)
    accumulator.second_pass().update(y_true, y_score)


def _lacks(*packages):
    return ", ".join(f"no {name}" for name in packages if importlib.util.find_spec(name) is None)


run_dask.lacking = lambda: _lacks("dask", "pandas", "pyarrow")
run_spark.lacking = lambda: _lacks("pyspark", "pyarrow", "pandas") or ("" if shutil.which("java") else "no Java")


def main():
    import pyarrow.parquet as pq

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", help="column of true classes")
    parser.add_argument("paths", nargs="+", type=Path, help="Parquet files; all their other columns are scores")
    parser.add_argument("--labels", help="classes in the order of the columns, with commas; numbers from 0 by default")
    given = parser.parse_args()
    scores = [name for name in pq.read_schema(given.paths[0]).names if name != given.target]
    run(given.paths, given.target, scores, given.labels.split(",") if given.labels else range(len(scores)))


if __name__ == "__main__":
    main()
