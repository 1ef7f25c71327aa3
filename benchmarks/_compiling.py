"""Processor seconds of compiling each part of the fast engine: python -m benchmarks._compiling

These are the seconds of `polyroc._core.numba.compile.PARTS`, which users are told before a part is compiled.
"""

import os
import tempfile
import warnings
from collections import Counter
from time import process_time

import numpy as np


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        from numba.core import event

        import polyroc
        from polyroc._core.numba.compile import PARTS

        part_of = {module: part for part, (_, modules) in PARTS.items() for module in modules}
        seconds, started = Counter(), []

        class Clock(event.Listener):
            def on_start(self, begun):
                function = getattr((begun.data or {}).get("dispatcher"), "py_func", None)
                started.append((str(getattr(function, "__module__", "")).rpartition(".")[2], process_time()))

            def on_end(self, ended):
                module, began = started.pop()
                if not started:
                    seconds[part_of.get(module, module)] += process_time() - began

        event.register("numba:compile", Clock())
        warnings.simplefilter("ignore")
        use_everything(polyroc)
        for part, measured in seconds.most_common():
            told = f"told {PARTS[part][0]} s" if part in PARTS else "not announced"
            print(f"{part:32} {measured:5.1f} s, {told}")


def use_everything(polyroc):
    rng = np.random.default_rng(0)
    y_true = rng.permutation(20_000) % 10
    logits = rng.normal(size=(20_000, 10)) + np.eye(10)[y_true]
    scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    evaluation = polyroc.evaluate(y_true, scores, engine="numba", n_jobs=1)
    evaluation.confidence_interval(statistic="hand_till")
    evaluation.confidence_band()
    evaluation.bootstrap(2, rng=0)
    evaluation.measures()
    polyroc.evaluate(y_true, scores, engine="numba", n_jobs=1, thresholds="difference").confidence_band()
    polyroc.baselines.auc_mu(np.tile(y_true, 25), np.tile(scores, (25, 1)))
    many_true = rng.permutation(20_000) % 120
    polyroc.evaluate(many_true, rng.normal(size=(20_000, 120)), engine="numba", n_jobs=2)
    large = np.tile(scores, (25, 1))
    accumulator = polyroc.RocAccumulator(range(10))
    accumulator.update(np.tile(y_true, 25), large)
    accumulator.compute()
    polyroc.decide(np.tile(y_true, 25), large, 1 - np.eye(10))


if __name__ == "__main__":
    main()
