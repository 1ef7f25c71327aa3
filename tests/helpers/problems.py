"""Random problems of every kind the method must survive; a seed always gives the same one."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import polyroc

# Seeds of the studies of the solver: a hundred problems in every run, the other nine hundred with the slow tests.
STUDY = [pytest.param(range(100), id="100"), pytest.param(range(100, 1000), id="900", marks=pytest.mark.slow)]


@dataclass(frozen=True)
class Problem:
    y_true: NDArray[Any]
    y_score: NDArray[Any]
    options: dict[str, Any]

    @property
    def n_classes(self) -> int:
        return self.y_score.shape[1]

    @property
    def arguments(self) -> dict[str, Any]:
        return {"labels": np.arange(self.n_classes), **self.options}


def random_problem(seed: int, *, n_classes: int | None = None, max_samples: int = 3000) -> Problem:
    """k 3 to 12, n 6 to 3,000: noise, ties, separable pairs, a constant column, columns on scales from 1e-6 to 1e6,
    skew up to 1:1000, cost ratios up to 1e4, both kinds of thresholds."""
    rng = np.random.default_rng(seed)
    k = n_classes or int(rng.integers(3, 13))
    n = int(np.exp(rng.uniform(np.log(6), np.log(max_samples))))
    prior = np.geomspace(1, 1000, k) if rng.random() < 0.3 else np.ones(k)
    y_true = rng.choice(k, n, p=prior / prior.sum())
    y_true[:2] = rng.permutation(k)[:2]
    strength = rng.choice([0.0, 0.5, 1.0, 2.0, 5.0]) * rng.uniform(0, 2, size=k)
    y_score = rng.normal(size=(n, k)) + strength * np.eye(k)[y_true]
    shape = rng.choice(["plain", "ties", "constant", "scales", "separable"])
    if shape == "ties":
        y_score = np.round(y_score)
    elif shape == "constant":
        y_score[:, 0] = 0
    elif shape == "scales":
        y_score *= 10 ** rng.uniform(-6, 6, size=k)
    elif shape == "separable":
        y_score[y_true == 0, 0] += 20
    options: dict[str, Any] = {"thresholds": str(rng.choice(["own", "shared"]))}
    if rng.random() < 0.3:
        options["costs"] = 10 ** rng.uniform(0, 4, size=(k, k))
    return Problem(y_true, y_score, options)


def quietly(function, *args, **kwargs):
    """Call without the two warnings that hard problems bring; tests of the warnings themselves do not use this."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No samples in `y_true`", UserWarning)
        warnings.simplefilter("ignore", polyroc.ConvergenceWarning)
        return function(*args, **kwargs)


def coarsely(function, *args, **kwargs):
    """Call without the warning that bins are wide, where a test makes them so."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Bins can move M", UserWarning)
        return function(*args, **kwargs)


def gaussian_problem(seed: int, n: int, k: int, strength: float = 1.0) -> Problem:
    """Exchangeable classes, each raising its own column by `strength`."""
    rng = np.random.default_rng(seed)
    y_true = rng.integers(0, k, n)
    return Problem(y_true, rng.normal(size=(n, k)) + strength * np.eye(k)[y_true], {})
