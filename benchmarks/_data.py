"""Problems to measure on. A size always gives the same one, and it is read from a file, so that making it costs
the measured process neither time nor memory."""

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Problem:
    n: int
    k: int
    dtype: str = "float64"

    def __str__(self):
        return f"n = {self.n:,}, k = {self.k:,}" + ("" if self.dtype == "float64" else f", {self.dtype}")

    @property
    def n_pairs(self):
        """Unordered pairs of classes."""
        return self.k * (self.k - 1) // 2

    @property
    def stem(self):
        return f"{self.n}_{self.k}_{self.dtype}"


def make(problem):
    """Probabilities, as scikit-learn asks for: softmax of Gaussian logits, some classes easier than others."""
    rng = np.random.default_rng(0)
    y_true = rng.integers(0, problem.k, problem.n)
    y_true[: problem.k] = np.arange(problem.k)
    logits = rng.normal(size=(problem.n, problem.k))
    logits[np.arange(problem.n), y_true] += rng.uniform(0.5, 2.5, size=problem.k)[y_true]
    weights = np.exp(logits, out=logits)
    weights /= weights.sum(axis=1, keepdims=True)
    return y_true, weights.astype(problem.dtype, copy=False)


def save(problem, folder):
    y_true, y_score = make(problem)
    np.save(Path(folder) / f"{problem.stem}_true.npy", y_true)
    np.save(Path(folder) / f"{problem.stem}_score.npy", y_score)


def load(problem, folder):
    return tuple(np.load(Path(folder) / f"{problem.stem}_{name}.npy") for name in ("true", "score"))


def as_json(problem):
    return json.dumps(asdict(problem))


if __name__ == "__main__":
    save(Problem(**json.loads(sys.argv[1])), sys.argv[2])
