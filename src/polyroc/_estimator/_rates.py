"""A prepared source -> PairwiseRates: every pair's ROC polygon, read at the same call rates (method, steps 1 to 3)."""

from polyroc._engines import Prepared, Resources, get_engine
from polyroc._engines._counted import CountedPrepared
from polyroc._engines._exact import ExactColumns, ExactPrepared
from polyroc._engines._memory import check_memory
from polyroc._inputs._options import Options
from polyroc._lib._grid import grid
from polyroc._lib._typing import FloatArray
from polyroc._records import PairIndex, PairwiseRates, Predictions, ScoreCounts


def prepared_for(source: Predictions, pairs: PairIndex, options: Options) -> Prepared:
    """The source made ready by the engine that the options ask for, or by the one that is done first."""
    engine = get_engine(options.engine, source, n_pairs=len(pairs), n_thresholds=options.n_thresholds)
    return engine.prepare(source, Resources(options.n_jobs))


def counted_for(
    counts: ScoreCounts, pairs: PairIndex, options: Options, exact: ExactColumns | None = None
) -> CountedPrepared:
    """Counts made ready, to be fitted by the engine that the options ask for, or by the one that is done first."""
    engine = get_engine(options.engine, counts, n_pairs=len(pairs), n_thresholds=options.n_thresholds)
    fitter = engine.fitter(Resources(options.n_jobs))
    return CountedPrepared(counts, fitter) if exact is None else ExactPrepared(counts, fitter, exact)


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
