"""The paper's own replicates: every rate drawn from a binomial distribution around its fitted value.

Cells share samples, so that drawing them one by one is far too confident; the documentation states the coverage.
It is here to reproduce the paper, and to be compared with.
"""

import numpy as np
from scipy.special import expit

from polyroc._engines import Prepared, Resources, get_engine
from polyroc._engines._memory import check_resampling_memory
from polyroc._estimator._curve import areas_under, shared_rates
from polyroc._estimator._weights import pair_weights
from polyroc._inputs.options import Options
from polyroc._lib.typing import FloatArray, IntArray, Method
from polyroc._records import Factorization, PairIndex, PairwiseRates, Predictions, Source
from polyroc._uncertainty.replicates import USUAL_RESAMPLES, Replicated, replicate_bytes


class ParametricReplicates:
    """Replicates of the fit, from rates drawn around it."""

    def __init__(
        self,
        prepared: Prepared,
        pairs: PairIndex,
        options: Options,
        fit: Factorization,
        rates: PairwiseRates,
        method: Method,
        n_resamples: int,
    ) -> None:
        source = prepared.source
        self._options, self._call_rates = options, rates.call_rates
        check_resampling_memory(prepared, n_resamples, replicate_bytes(len(rates.call_rates)), 0)
        engine = get_engine(options.engine, source, n_pairs=len(pairs), repeats=USUAL_RESAMPLES)
        # Replicates have a thread each, and are fitted where the samples lie.
        device = source.device if isinstance(source, Predictions) else None
        self._fitter = engine.fitter(Resources(n_jobs=1, device=device))
        self._weights = pair_weights(source, pairs, options)
        # Row and pair effects multiply to the linear predictor, however they are scaled.
        self._mean = expit(fit.row_effects[:, None] * fit.pair_effects)
        self._sizes = _binomial_sizes(source, pairs, method)

    def __call__(self, rng: np.random.Generator) -> Replicated:
        """One replicate. M and the mean curve are not among what this model draws: their places hold nothing."""
        tpr_mean, fpr_mean = np.split(self._mean, 2)
        tpr_size, fpr_size = self._sizes
        drawn = PairwiseRates(
            rng.binomial(tpr_size, tpr_mean) / tpr_size,
            rng.binomial(fpr_size, fpr_mean) / fpr_size,
            self._call_rates,
        )
        fit = self._fitter.fit(drawn, self._weights, shrinkage=self._options.shrinkage, structure="rank-one")
        fpr, tpr = shared_rates(fit.row_effects[None])
        auc: FloatArray = areas_under(fpr, tpr)
        nothing, no_curve = np.full(1, np.nan), np.full((1, 0), np.nan)
        return Replicated(
            auc,
            nothing,
            nothing,
            fpr[:, 1:-1],
            tpr[:, 1:-1],
            no_curve,
            no_curve,
            np.array([fit.converged]),
            np.array([False]),
        )


def _binomial_sizes(source: Source, pairs: PairIndex, method: Method) -> tuple[IntArray, IntArray]:
    """Trials behind each pair's true and false positive rates: the paper's n_i n_j for both, or n_i and n_j."""
    counts = np.maximum(np.rint(source.effective_counts), 1).astype(np.int64)
    positive, negative = counts[pairs.positive], counts[pairs.negative]
    if method == "parametric-pairs":
        return positive * negative, positive * negative
    return positive, negative
