"""PairwiseRates and their weights -> Factorization (method, steps 4, 6 and 7)."""

import numpy as np
from scipy.special import logit

from polyroc._engines import Prepared
from polyroc._engines._cells import LOGIT_BOUND
from polyroc._estimator._weights import pair_weights
from polyroc._inputs.options import Options
from polyroc._records import Factorization, PairIndex, PairwiseRates, Status

# A smaller share of what pairs have beyond chance, and one curve with pair effects does not describe them. In five
# splits of each data set of the reproduction, classifiers with information reach 0.82 to 0.999 (glass 0.82 to 0.94,
# car 0.95 to 0.99, iris 0.97 to 0.998, optical and pen 0.99 and more), those of the embedded example 0.89 to 0.98.
# Below lie tae, 76 samples near chance, where noise differs from pair to pair (0.09 to 0.81), and simulated models
# whose curves differ in shape: a column that ranks backwards 0.35 to 0.80, positive classes of different spread 0.70
# to 0.83. A single pair at chance among separated ones is not seen (0.96 and more from five classes on).
EXPLAINED_BOUND = 0.8


def fit_of(
    prepared: Prepared,
    pairs: PairIndex,
    rates: PairwiseRates,
    options: Options,
    *,
    near: Factorization | None = None,
) -> Factorization:
    """The threshold effects that all pairs share; of two classes, the rates of their one pair.

    `near` is the fit of the same rates with other options, from which a fit of many pairs may begin.
    """
    if prepared.source.is_binary:
        return _own_fit(rates)
    weights = pair_weights(prepared.source, pairs, options)
    return prepared.fit(rates, weights, shrinkage=options.shrinkage, structure=options.structure, near=near)


def _own_fit(rates: PairwiseRates) -> Factorization:
    """One pair, whose rates are their own fit."""
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
