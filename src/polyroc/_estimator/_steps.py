"""The steps of an evaluation as its options ask for them; `evaluate` composes them, and results come back to them."""

import numpy as np
from scipy.special import logit

from polyroc._engines import Engine, get_engine
from polyroc._engines._cells import LOGIT_BOUND
from polyroc._engines._memory import check_memory
from polyroc._estimator._factorization import factorize
from polyroc._estimator._rates import pairwise_rates
from polyroc._estimator._weights import pair_weights
from polyroc._inputs._options import Options
from polyroc._lib._grid import grid
from polyroc._lib._typing import FloatArray
from polyroc._records import Factorization, PairIndex, PairwiseRates, Predictions, Status


def engine_for(predictions: Predictions, pairs: PairIndex, options: Options) -> Engine:
    """The engine that the options ask for, or the one that is done first with rates and fit of these pairs."""
    return get_engine(options.engine, predictions, n_pairs=len(pairs), n_thresholds=options.n_thresholds)


def rates_of(predictions: Predictions, pairs: PairIndex, options: Options, engine: Engine) -> PairwiseRates:
    """Steps 1 to 3; says before it begins whether there is memory for it."""
    if not predictions.is_binary:
        check_memory(engine, predictions, len(pairs), len(grid(options.n_thresholds)))
    return pairwise_rates(
        predictions,
        pairs,
        thresholds=options.thresholds,
        n_thresholds=options.n_thresholds,
        engine=engine,
        n_jobs=options.n_jobs,
    )


def fit_of(
    predictions: Predictions, pairs: PairIndex, rates: PairwiseRates, options: Options, engine: Engine
) -> Factorization:
    """Steps 4 to 7."""
    weights = pair_weights(predictions, pairs, options)
    return factorize(
        rates, weights, shrinkage=options.shrinkage, model=options.model, engine=engine, n_jobs=options.n_jobs
    )


def areas_of(predictions: Predictions, pairs: PairIndex, options: Options) -> FloatArray:
    """Mann-Whitney area of each pair."""
    engine = get_engine(options.engine, predictions, task="areas", n_pairs=len(pairs))
    return engine.pairwise_areas(predictions, pairs, n_jobs=options.n_jobs)


def saturated_fit(rates: PairwiseRates) -> Factorization:
    """Two classes: one pair, whose rates are their own fit."""
    mean = np.concatenate([rates.tpr[:, 0], rates.fpr[:, 0]])
    return Factorization(
        row_effects=np.clip(logit(mean), -LOGIT_BOUND, LOGIT_BOUND),
        pair_effects=np.ones(1),
        deviance=0.0,
        deviance_path=np.zeros(1),
        n_iter=0,
        status=Status.CONVERGED,
        mean_rates=mean,
    )
