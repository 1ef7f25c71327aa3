"""What D costs in a training loop, per call: python -m benchmarks._training

Prints the table of `docs/training.md`: scores of 10 classes, as a model of medium quality gives them. Seconds of the
processor, not of the clock, so that a busy machine gives nearly the same. The best of some calls counts, because
training calls a metric again and again. One thread; BLAS is to have one, too (OPENBLAS_NUM_THREADS=1). Columns of
packages that are not there are left out; `.venv-training/bin/python` has all of them.
"""

import argparse
import importlib.util
from collections.abc import Callable
from functools import partial
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks import _table
from polyroc.training import multiclass_d

SIZES, QUICK = (1_000, 10_000, 100_000), (300,)
K, BATCH = 10, 1_000


def predictions(n: int) -> tuple[Any, Any]:
    """True classes, and probabilities in single precision."""
    rng = np.random.default_rng(0)
    y_true = rng.permutation(n) % K
    logits = 2 * rng.normal(size=(n, K)) + 3 * np.eye(K)[y_true]
    shares = np.exp(logits)
    return y_true, (shares / shares.sum(axis=1, keepdims=True)).astype(np.float32)


def best(call: Callable[[], Any], least: float) -> float:
    """Seconds of the fastest of at least three calls, after one to warm up."""
    call()
    times, start = [], perf_counter()
    while len(times) < 3 or (perf_counter() - start < least and len(times) < 100):
        before = process_time()
        call()
        times.append(process_time() - before)
    return min(times)


def measure(n: int, least: float = 1.0) -> dict[str, float]:
    """Seconds of one call, by column, after calling each for at least this long."""
    y_true, y_score = predictions(n)
    calls: dict[str, Callable[[], Any]] = {}
    for engine in ("numpy", "numba"):
        if importlib.util.find_spec(engine):
            calls[f"`multiclass_d`, {engine}"] = partial(multiclass_d, y_true, y_score, engine=engine, n_jobs=1)
    if importlib.util.find_spec("sklearn"):
        from sklearn.metrics import roc_auc_score

        calls["scikit-learn, `ovo`"] = partial(roc_auc_score, y_true, y_score.astype(float), multi_class="ovo")
    if importlib.util.find_spec("torchmetrics"):
        calls |= torch_calls(y_true, y_score)
    return {name: best(call, least) for name, call in calls.items()}


def torch_calls(y_true: Any, y_score: Any) -> dict[str, Callable[[], Any]]:
    import torch

    from polyroc.torch import MulticlassD

    torch.set_num_threads(1)
    # Without a cache each `compute` is one.
    metric = MulticlassD(K, n_jobs=1, compute_with_cache=False)
    batches = list(zip(torch.tensor(y_score).split(BATCH), torch.tensor(y_true).split(BATCH), strict=True))

    def update() -> None:
        metric.reset()
        for preds, target in batches:
            metric.update(preds, target)

    return {"`MulticlassD`, all `update`": update, "`MulticlassD`, `compute`": metric.compute}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks._training", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small problem: shows that all parts work")
    sizes = QUICK if parser.parse_args().quick else SIZES
    rows = {n: measure(n) for n in sizes}
    names = list(rows[sizes[0]])
    print("| samples | " + " | ".join(names) + " |")
    print("| --- |" + " ---: |" * len(names))
    for n, row in rows.items():
        print(f"| {n:,} | " + " | ".join(_table.duration(row[name]) for name in names) + " |")


if __name__ == "__main__":
    main()
