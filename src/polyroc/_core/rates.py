"""A prepared source -> PairwiseRates: every pair's ROC polygon, read at the same call rates.

Equations (rates) and (grid) of docs/method.md.
"""

from typing import Any

import numpy as np

from polyroc._core import Prepared, Resources, get_engine
from polyroc._core.memory import check_memory
from polyroc._inputs.checks import InputError
from polyroc._inputs.options import Options
from polyroc._lib.grid import grid
from polyroc._lib.typing import FloatArray, IntArray
from polyroc._records import AllPairs, PairIndex, PairwiseRates, Predictions, SomePairs, Source


def prepared_for(source: Predictions, pairs: PairIndex, options: Options) -> Prepared:
    """The source made ready by the engine that the options ask for, or by the one that is done first."""
    engine = get_engine(options.engine, source, n_pairs=len(pairs), n_thresholds=options.n_thresholds)
    return engine.prepare(source, Resources(options.n_jobs))


def rates_of(prepared: Prepared, pairs: PairIndex, options: Options) -> PairwiseRates:
    """Rates of all pairs on the grid, if there is memory for them; of two classes, the whole polygon."""
    if prepared.source.is_binary:
        return prepared.polygon()[0]
    call_rates = grid(options.n_thresholds)
    check_memory(prepared, len(pairs), len(call_rates), options.thresholds)
    return prepared.rates(pairs, call_rates, options.thresholds)


def score_thresholds(prepared: Prepared, pairs: PairIndex, options: Options) -> FloatArray:
    """The score at which each pair reaches each call rate of its rates, shape (T, K)."""
    if prepared.source.is_binary:
        return prepared.polygon()[1]
    return prepared.score_thresholds(pairs, grid(options.n_thresholds), options.thresholds)


def all_pairs(source: Source) -> PairIndex:
    """Every ordered pair of the classes that have samples, positive-major.

    Two classes have the single pair (second class, first class), ranked by their last column.
    """
    if source.is_binary:
        return SomePairs(positive=np.array([1]), negative=np.array([0]), column=np.array([source.n_columns - 1]))
    return AllPairs(np.flatnonzero(source.class_counts))


def sampled_pairs(source: Source, max_pairs: int | None, rng: Any) -> PairIndex:
    """At most `max_pairs` pairs, in which every class is positive, and negative, equally often.

    The classes are put in a circle in random order; each is paired with those that stand at some randomly chosen
    distances from it. So the sample is stratified by both classes of a pair.
    """
    present = np.flatnonzero(source.class_counts)
    n_classes = len(present)
    if source.is_binary or max_pairs is None or n_classes * (n_classes - 1) <= max_pairs:
        return all_pairs(source)
    if max_pairs < n_classes:
        raise InputError(
            "max_pairs", f"must be at least the number of classes with samples, {n_classes}", f"{max_pairs}"
        )
    generator = np.random.default_rng(rng)
    circle = generator.permutation(present)
    distances = generator.choice(np.arange(1, n_classes), size=max_pairs // n_classes, replace=False)
    place, draw = np.meshgrid(np.arange(n_classes), np.arange(len(distances)), indexing="ij")
    positive, negative = circle[place].ravel(), circle[(place + distances[draw]) % n_classes].ravel()
    order = np.lexsort((negative, positive))
    return SomePairs(positive[order], negative[order], positive[order], stratum=draw.ravel()[order])


def reverse_places(pairs: PairIndex, places: IntArray) -> IntArray:
    """Place of (j, i) for each place of a pair (i, j), same shape; -1 if there is no such pair.

    >>> reverse_places(AllPairs(np.array([0, 2, 5])), np.array([0, 1, 2, 5])).tolist()
    [2, 4, 0, 3]
    """
    if isinstance(pairs, AllPairs):
        # By arithmetic: lists of very many pairs take gigabytes.
        n_others = len(pairs.classes) - 1
        first, second = np.divmod(places, n_others)
        second += second >= first
        return second * n_others + first - (first > second)
    n_classes = 1 + int(max(pairs.positive.max(), pairs.negative.max()))
    keys = pairs.positive * n_classes + pairs.negative
    wanted = pairs.negative[places] * n_classes + pairs.positive[places]
    found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[found] == wanted, found, -1)
