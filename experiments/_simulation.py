"""The paper's simulated data, and the multinomial regressions that are fitted to them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from polyroc._lib.typing import FloatArray, IntArray

N_COVARIATES, N_CLASSES = 10, 5


@dataclass(frozen=True, eq=False)
class Simulation:
    """Covariates, and labels of two kinds that follow from them."""

    covariates: FloatArray
    independent: FloatArray
    """As many others, which the labels know nothing of."""
    random: IntArray
    """Labels drawn with the probabilities of the regression."""
    deterministic: IntArray
    """The most probable label of each sample."""


def simulate(n_samples: int, rng: np.random.Generator) -> Simulation:
    """X ~ N(0, I), B ~ N(1, 1), probabilities softmax((1, X B)), as the paper prints it."""
    covariates = rng.normal(size=(n_samples, N_COVARIATES))
    coefficients = rng.normal(1, 1, size=(N_COVARIATES, N_CLASSES - 1))
    # The 1 is a logit, not an intercept: the first class has it whatever the covariates are.
    probability = softmax(np.column_stack([np.ones(n_samples), covariates @ coefficients]), axis=1)
    return Simulation(
        covariates,
        independent=rng.normal(size=covariates.shape),
        random=draw_labels(probability, rng),
        deterministic=probability.argmax(axis=1),
    )


def draw_labels(probability: FloatArray, rng: np.random.Generator) -> IntArray:
    """One label per row of probabilities."""
    below = rng.random((len(probability), 1)) > np.cumsum(probability, axis=1)[:, :-1]
    labels: IntArray = below.sum(axis=1)
    return labels


def multinomial(covariates: FloatArray, labels: IntArray) -> Any:
    """A multinomial regression, fitted."""
    from sklearn.linear_model import LogisticRegression

    # The penalty is too small to be seen in the areas. It only keeps the coefficients finite where labels are
    # separable, as the deterministic ones are.
    return LogisticRegression(C=1e4, tol=1e-6, max_iter=2000).fit(covariates, labels)


def gaussian_scores(labels: IntArray, strengths: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Probabilities whose logits are Gaussian; each class raises its own column by its strength."""
    logits = rng.normal(size=(len(labels), len(strengths)))
    logits[np.arange(len(labels)), labels] += strengths[labels]
    scores: FloatArray = softmax(logits, axis=1)
    return scores
