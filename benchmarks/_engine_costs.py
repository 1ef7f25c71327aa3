"""What each engine costs, for the choice of `engine="auto"`: python -m benchmarks._engine_costs

Prints processor seconds on one thread and the constants of `polyroc._engines._choice` that fit them best. Seconds of
the processor, not of the clock, so that a busy machine gives nearly the same; BLAS is to have one thread, too
(OPENBLAS_NUM_THREADS=1). It takes some minutes.
"""

import tempfile
from time import process_time

import numpy as np
from scipy.optimize import nnls

from benchmarks._measure import python
from polyroc._engines import Resources, get_engine
from polyroc._engines._choice import Work
from polyroc._estimator._rates import all_pairs
from polyroc._inputs.options import as_options
from polyroc._inputs.predictions import as_predictions
from polyroc._uncertainty.units import ResamplingPlan, units_of
from polyroc.evaluation._evaluate import evaluate_predictions

SIZES = [
    *((n, 3) for n in (300, 3_000, 30_000, 300_000)),
    *((n, 10) for n in (1_000, 20_000, 200_000)),
    *((n, 30) for n in (1_000, 20_000)),
    *((n, 60) for n in (2_000, 20_000)),
]
ENGINES = ("numpy", "numba")

STARTED = """
import sys
from time import process_time
start = process_time()
import numpy, polyroc
rng, k = numpy.random.default_rng(0), 5
y_true, y_score = rng.permutation(2000) % k, rng.normal(size=(2000, k))
evaluation = polyroc.evaluate(y_true, y_score, engine="numpy")
ready = process_time()
from polyroc._engines import Resources, get_engine
task = sys.argv[1]
if task == "evaluate":
    polyroc.evaluate(y_true, y_score, engine="numba", n_jobs=1)
else:
    prepared = get_engine("numba", evaluation._source).prepare(evaluation._source, Resources(n_jobs=1))
    if task == "areas":
        prepared.areas(evaluation._pair_index)
    elif task == "contrasts":
        prepared.contrast_areas(evaluation._pair_index, 1 - numpy.eye(k))
    else:
        polyroc.evaluate(y_true, y_score, engine="numba", n_jobs=1).bootstrap(2, rng=0)
print(process_time() - ready)
"""


def problem(n, k):
    rng = np.random.default_rng(0)
    y_true = rng.permutation(n) % k
    return as_predictions(y_true, rng.normal(size=(n, k)) + 1.5 * np.eye(k)[y_true])


def run(task, name, predictions):
    """Something to call; each time with a source made ready anew, because sorted scores are kept with the old one."""
    engine, pairs = get_engine(name, predictions), all_pairs(predictions)
    k = len(predictions.labels)
    if task == "areas":
        return lambda: engine.prepare(predictions, Resources(n_jobs=1)).areas(pairs)
    if task == "contrasts":
        return lambda: engine.prepare(predictions, Resources(n_jobs=1)).contrast_areas(pairs, 1 - np.eye(k))
    options = as_options(predictions.labels, engine=name, n_jobs=1)
    if task == "evaluate":
        return lambda: evaluate_predictions(predictions, options)
    evaluation = evaluate_predictions(predictions, options)
    replicates, plan = evaluation._replicates(), ResamplingPlan(predictions, units_of(predictions, None), 4, [0])
    weights = plan.weights(0, 4)
    return lambda: replicates(weights)


def seconds(call):
    call()
    times, spent = [], 0.0
    while len(times) < 3 or (spent < 0.3 and len(times) < 200):
        start = process_time()
        call()
        times.append(process_time() - start)
        spent += times[-1]
    return float(np.median(times))


def main():
    for task in ("areas", "contrasts", "evaluate", "replicates"):
        for name in ENGINES:
            rows, found = [], []
            for n, k in SIZES:
                if n * k > 1_000_000 and task == "replicates":
                    continue
                each = 4 if task == "replicates" else 1
                found.append(seconds(run(task, name, problem(n, k))) / each)
                rows.append(Work(task, n, k, k * (k - 1)).features)
                print(f"{task:10} {name} n {n:>7,} k {k:>3} {found[-1]:.6f} s", flush=True)
            # Relative errors count alike.
            constants, _ = nnls(np.array(rows) / np.array(found)[:, None], np.ones(len(found)))
            fitted = np.array(rows) @ constants
            rounded = [float(f"{c:.2g}") for c in constants]
            print(f"{task} {name} {rounded} off by {np.round(fitted / found, 2).tolist()}")
    for task in ("areas", "contrasts", "evaluate", "replicates"):
        with tempfile.TemporaryDirectory() as folder:
            compiled, loaded = (
                float(python("-c", STARTED, task, environment={"NUMBA_CACHE_DIR": folder})) for _ in range(2)
            )
        print(f"{task} compiling {compiled:.2f} s, loading {loaded:.2f} s", flush=True)


if __name__ == "__main__":
    main()
