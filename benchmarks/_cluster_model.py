"""What a cluster sends and computes, by a model, compared with runs: `python -m benchmarks._cluster_model`.

The model is fitted to single partitions: bytes of a summary, and processor seconds to count, pack and merge one. Then
the first pass of `polyroc.dask` runs on other samples in 4, 16, 64 and 256 partitions; every result passes through
pickle, as it does between machines. What the runs send and compute is printed next to what the model says. Seconds are
those of the processor, not of the clock, so that other programs on the machine do not matter much.
"""

import argparse
import pickle
import time
from dataclasses import dataclass

import numpy as np

from polyroc._counts.bins import usual_bits
from polyroc.streams import _dask as _passes
from polyroc.streams._dask import as_passes
from polyroc.streams._partitions import ONE_MODEL, PartCounts, PartPass, Recipe
from polyroc.streams._second_pass import PairedSecondPass, SecondPass

PARTITIONS = (4, 16, 64, 256)
# Classes, rows of a run, rows of the single partitions that the model is fitted to.
CASES = (
    (10, 2**20, (1_000, 4_000, 16_000, 64_000, 256_000, 1_000_000)),
    (100, 2**17, (500, 2_000, 8_000, 32_000, 128_000)),
)


def usual_recipe(k, models=(ONE_MODEL,)):
    return Recipe(tuple(range(k)), tuple(models), "probabilities", usual_bits(k))


def samples(n, k, seed):
    """Over-confident probabilities in single precision, as networks give them."""
    rng = np.random.default_rng(seed)
    y_true = rng.integers(k, size=n)
    logits = rng.normal(size=(n, k), scale=2)
    logits[np.arange(n), y_true] += 4 + np.log(k)
    logits -= logits.max(axis=1, keepdims=True)
    y_score = np.exp(logits)
    return y_true, (y_score / y_score.sum(axis=1, keepdims=True)).astype(np.float32)


@dataclass(frozen=True)
class Shape:
    """How much a summary contains."""

    bins: float
    """Bins with samples, over all columns."""
    cells: float
    """Pairs of such a bin and a class with samples."""
    classes: int
    rows: float

    @classmethod
    def of(cls, counts):
        state = counts.accumulators[ONE_MODEL].state_dict()
        return cls(len(state["bins"]), np.count_nonzero(state["rows"]), *_sizes(state))

    @property
    def places(self):
        """Bytes to say which cells have samples, by their entropy."""
        share = min(self.cells / (self.bins * self.classes), 1 - 1e-12)
        bits = -(share * np.log2(share) + (1 - share) * np.log2(1 - share))
        return self.bins * self.classes * bits / 8

    @property
    def values(self):
        """Bytes to say how many samples such a cell has, by the logarithm of their mean."""
        return self.cells * np.log2(max(self.rows * self.classes / self.cells, 1)) / 8


def _sizes(state):
    return len(state["class_counts"]), int(state["class_counts"].sum())


def expected_shape(counts, n, n_all):
    """Of a summary of n rows, from the counts of n_all: of a cell with c samples, exp(-c n / n_all) is without any."""
    rows = counts.accumulators[ONE_MODEL].state_dict()["rows"]
    bins, cells = (-np.expm1(-each * (n / n_all)).sum() for each in (rows.sum(axis=1), rows))
    return Shape(float(bins), float(cells), rows.shape[1], n)


@dataclass(frozen=True)
class Model:
    """Linear in what a summary contains; fitted for each number of classes."""

    k: int
    bytes_: np.ndarray  # bins, places, values
    count: np.ndarray  # 1, rows
    pack: np.ndarray  # 1, bins
    merge: np.ndarray  # 1, bins

    def sent(self, shape):
        return float(self.bytes_ @ [shape.bins, shape.places, shape.values])

    def seconds(self, part, *features):
        return float(getattr(self, part) @ [1, *features])


def timed(function, *arguments):
    start = time.process_time()
    found = function(*arguments)
    return found, time.process_time() - start


def counted(recipe, y_true, y_score):
    counts = PartCounts(recipe)
    counts.add(y_true, [y_score])
    return counts


def opened_and_merged(parts):
    return PartCounts.merged([pickle.loads(part) for part in parts])


def fitted(k, sizes, repeats=3):
    """The model, from single partitions of these sizes."""
    recipe = usual_recipe(k)
    counted(recipe, *samples(200_000 // k + 1, k, 99))  # whatever is loaded or compiled once
    shapes, sent, seconds = [], [], {"count": [], "pack": [], "merge": []}
    for size in sizes:
        y_true, y_score = samples(size, k, seed=size)
        runs = []
        for _ in range(repeats):
            counts, to_count = timed(counted, recipe, y_true, y_score)
            packed, to_pack = timed(pickle.dumps, counts)
            _, to_merge = timed(opened_and_merged, [packed] * 4)
            runs.append((to_count, to_pack, to_merge / 4))
        for name, each in zip(seconds, np.min(runs, axis=0), strict=True):
            seconds[name].append(each)
        shapes.append(Shape.of(counts))
        sent.append(len(packed))
        print(
            f"{k:>4} {size:>9,} {shapes[-1].bins:>10,} {shapes[-1].cells:>11,} {sent[-1]:>11,} "
            f"{sent[-1] / shapes[-1].cells:>7.2f} {np.min(runs, axis=0)[0]:>9.3f} {np.min(runs, axis=0)[1]:>9.3f} "
            f"{np.min(runs, axis=0)[2]:>9.3f}",
            flush=True,
        )
    bins, ones = [one.bins for one in shapes], [1] * len(sizes)
    return Model(
        k,
        non_negative(sent, bins, [one.places for one in shapes], [one.values for one in shapes]),
        non_negative(seconds["count"], ones, sizes),
        non_negative(seconds["pack"], ones, bins),
        non_negative(seconds["merge"], ones, bins),
    )


def non_negative(values, *features):
    """Coefficients of the features, by relative least squares."""
    from scipy.optimize import nnls

    values = np.asarray(values, dtype=float)
    design = np.column_stack(features)
    return nnls(design / values[:, None], np.ones(len(values)))[0]


class Recorded:
    """A run whose results pass through pickle after every task, and what that sent."""

    def __init__(self):
        self.levels = []

    def computed(self, tasks, merged):
        """In place of `_passes._computed`: the same tree."""
        import dask

        levels = [[dask.delayed(pickle.dumps)(task) for task in tasks]]
        merging = dask.delayed(lambda parts: pickle.dumps(merged([pickle.loads(part) for part in parts])))
        while len(levels[-1]) > 1:
            below = levels[-1]
            levels.append([merging(below[i : i + _passes.FAN_IN]) for i in range(0, len(below), _passes.FAN_IN)])
        sizes = [[dask.delayed(len)(part) for part in level] for level in levels]
        root, self.levels = dask.compute(levels[-1][0], sizes, scheduler="synchronous")
        return pickle.loads(root)


def measured(k, n, n_parts):
    """A whole first pass: bytes by level of the tree, and seconds of the processor."""
    import dask.array as da

    y_true, y_score = samples(n, k, seed=7)
    size = n // n_parts
    lazy = {ONE_MODEL: da.from_array(y_score, chunks=(size, k))}
    passes = as_passes(da.from_array(y_true, chunks=size), lazy, None, None)
    recorded, usual = Recorded(), _passes._computed
    _passes._computed = recorded.computed
    start = time.process_time()
    try:
        passes.count(usual_recipe(k))
    finally:
        _passes._computed = usual
    return recorded.levels, time.process_time() - start


def predicted(model, whole, n, n_parts):
    """Bytes and seconds of the same run by the model."""
    sent, seconds, level, rows = 0.0, 0.0, n_parts, n / n_parts
    shape = expected_shape(whole, rows, n)
    seconds += n_parts * model.seconds("count", rows)
    while True:
        sent += level * model.sent(shape)
        seconds += level * model.seconds("pack", shape.bins)
        if level == 1:
            return sent, seconds + model.seconds("merge", shape.bins)
        seconds += level * model.seconds("merge", shape.bins)
        n_merged = -(-level // _passes.FAN_IN)
        rows *= level / n_merged
        level, shape = n_merged, expected_shape(whole, rows, n)


def second_pass(k, n, n_models):
    """Bytes of the tables that each machine gets once, of the sums that each partition sends, and both by formula."""
    names = [f"model {place}" for place in range(n_models)]
    recipe, (y_true, y_score) = usual_recipe(k, names), samples(n, k, seed=7)
    accumulators = {}
    for place, name in enumerate(names):
        accumulators[name] = recipe.accumulator()
        accumulators[name].update(y_true, y_score ** (1 + place / 10))
    whole = SecondPass(accumulators[names[0]]) if n_models == 1 else PairedSecondPass(accumulators)
    part = PartPass(whole.tables)
    rows = slice(0, n // 16)
    part.add(y_true[rows], [y_score[rows] ** (1 + place / 10) for place in range(n_models)])
    bins = [len(one.state_dict()["bins"]) for one in accumulators.values()]
    # Two numbers of each model, D and M: their products, and products of these.
    m = whole.sums.n_statistics
    q = m * (m + 1) // 2
    n_slots = accumulators[names[0]].bins.n_bins
    tables = sum(8 * (m // n_models) * k * one + 4 * n_slots * k for one in bins)
    return part.nbytes, tables, len(part.summary.to_bytes()), 8 * k * (2 + m * m + q * q)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small problems, which say nothing about speed")
    quick = parser.parse_args().quick
    print("Single partitions: what is sent, and processor seconds to count, pack and merge\n")
    print("   k      rows       bins       cells       bytes  a cell     count      pack     merge")
    models = {}
    for k, _, sizes in CASES[: 1 if quick else None]:
        models[k] = fitted(k, sizes[:3] if quick else sizes, 1 if quick else 3)
    print("\nThe model: bytes = b bins + p places + v values")
    for k, model in models.items():
        print("   k = {}: b = {:.2f}, p = {:.2f}, v = {:.2f}".format(k, *model.bytes_))
    print("\nRuns with every result sent: measured and predicted, first pass\n")
    print("   k  partitions  MB a partition  MB in all  predicted  processor s  predicted")
    for k, n, _ in CASES[: 1 if quick else None]:
        n = n // 16 if quick else n
        recipe = usual_recipe(k)
        whole = counted(recipe, *samples(n, k, seed=7))
        for n_parts in PARTITIONS[: 2 if quick else None]:
            levels, seconds = measured(k, n, n_parts)
            by_model = predicted(models[k], whole, n, n_parts)
            total = sum(map(sum, levels))
            print(
                f"{k:>4} {n_parts:>11} {np.mean(levels[0]) / 1e6:>15.3f} {total / 1e6:>10.2f} "
                f"{by_model[0] / 1e6:>10.2f} {seconds:>12.1f} {by_model[1]:>10.1f}",
                flush=True,
            )
    print("\nSecond pass: tables for each machine, and sums of each partition\n")
    print("   k  models   tables MB  by formula   sums kB  by formula, not packed")
    for k, n, n_models in ((10, 2**17, 1), (10, 2**17, 2), (10, 2**17, 5), (100, 2**15, 1))[: 2 if quick else None]:
        tables, by_formula, sums, sums_by_formula = second_pass(k, n // 16 if quick else n, n_models)
        print(
            f"{k:>4} {n_models:>7} {tables / 1e6:>11.2f} {by_formula / 1e6:>11.2f} {sums / 1e3:>9.1f} "
            f"{sums_by_formula / 1e3:>11.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
