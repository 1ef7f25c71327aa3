"""Small problems of every kind that numbers come in: ties, extremes, separated and absent classes, odd weights."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fuzz._case import Attempt

_LARGEST, _SMALLEST = np.finfo(np.float64).max, 5e-324
_WRONG = (np.nan, np.inf, -np.inf)


@dataclass(frozen=True, eq=False)
class Problem:
    """Codes and scores; the classes are the numbers of the columns."""

    y_true: Any
    y_score: Any
    weight: Any = None
    is_finite: bool = True

    @property
    def n_classes(self) -> int:
        return max(2, self.y_score.shape[1])

    @property
    def arguments(self) -> dict[str, Any]:
        given = {"labels": np.arange(self.n_classes)}
        return given if self.weight is None else given | {"sample_weight": self.weight}

    @property
    def n_present(self) -> int:
        """Classes that have samples which count."""
        counted = np.ones(len(self.y_true), bool) if self.weight is None else self.weight > 0
        return len(np.unique(self.y_true[counted]))

    def ordered(self, order: Any) -> "Problem":
        """The same samples in another order."""
        weight = None if self.weight is None else self.weight[order]
        return replace(self, y_true=self.y_true[order], y_score=self.y_score[order], weight=weight)


def problem(given: Attempt, *, most_samples: int = 30) -> Problem:
    """One by chance; in one case of thirty with a score that is no number, which must be refused."""
    rng = given.rng
    k = int(given.choose([2, 3, 3, 3, 4, 5, 6, 9]))
    n = int(rng.integers(2, most_samples + 1))
    y_true = rng.integers(0, k, n)
    if given.happens(0.5):  # else whatever came: absent classes, perhaps all but one
        y_true[: min(n, k)] = rng.permutation(k)[:n]
    y_score = _SCORES[given.choose(_SCORES)](given, y_true, k)
    if k == 2 and given.happens(0.5):
        y_score = y_score[:, -1:]
    if given.happens(0.1):
        y_score = y_score.astype(np.float32) if np.abs(y_score).max() < 1e38 else y_score
    made = Problem(y_true, y_score, _weight(given, n))
    return _with_a_wrong_score(given, made) if given.happens(1 / 30) else made


def _with_a_wrong_score(given: Attempt, made: Problem) -> Problem:
    y_score = made.y_score.copy()
    y_score.flat[int(given.rng.integers(y_score.size))] = given.choose(_WRONG)
    return replace(made, y_score=y_score, is_finite=False)


def _plain(given: Attempt, y_true: Any, k: int) -> Any:
    strength = given.choose([0.0, 0.5, 2.0, 5.0])
    return given.rng.normal(size=(len(y_true), k)) + strength * np.eye(k)[y_true]


def _softmax(given: Attempt, y_true: Any, k: int) -> Any:
    raised = np.exp(_plain(given, y_true, k))
    return raised / raised.sum(axis=1, keepdims=True)


def _ties(given: Attempt, y_true: Any, k: int) -> Any:
    return np.round(_plain(given, y_true, k), int(given.rng.integers(0, 2)))


def _constant(given: Attempt, y_true: Any, k: int) -> Any:
    scores = _plain(given, y_true, k)
    scores[:, given.rng.random(k) < 0.6] = given.choose([0.0, -0.0, 1 / 3, 1e300])
    return scores


def _hard(given: Attempt, y_true: Any, k: int) -> Any:
    named = np.where(given.rng.random(len(y_true)) < 0.7, y_true, given.rng.integers(0, k, len(y_true)))
    return np.eye(k)[named]


def _separated(given: Attempt, y_true: Any, k: int) -> Any:
    """Every class above all others in its own column, or below; perhaps but for one."""
    scores = given.rng.uniform(-1, 1, size=(len(y_true), k)) + given.choose([-3, 3]) * np.eye(k)[y_true]
    if given.happens(0.3):
        scores[:, 0] = given.rng.normal(size=len(y_true))
    return scores


def _extreme(given: Attempt, y_true: Any, k: int) -> Any:
    values = np.array([0.0, -0.0, _SMALLEST, -_SMALLEST, 1e-308, 1.0, -1.0, 1e300, _LARGEST, -_LARGEST])
    return given.rng.choice(values, size=(len(y_true), k))


def _neighbours(given: Attempt, y_true: Any, k: int) -> Any:
    """Numbers that differ in their last bit only."""
    at = given.choose([1.0, 0.1, 1e300, 1e-300, 2.0**53])
    return np.nextafter(at, np.inf * given.rng.choice([-1, 1], size=(len(y_true), k)))


def _scales(given: Attempt, y_true: Any, k: int) -> Any:
    return _plain(given, y_true, k) * 10 ** given.rng.uniform(-150, 150, size=k)


def _repeated(given: Attempt, y_true: Any, k: int) -> Any:
    few = _plain(given, y_true, k)[: max(1, len(y_true) // 4)]
    return few[given.rng.integers(len(few), size=len(y_true))]


_SCORES = {
    "plain": _plain,
    "softmax": _softmax,
    "ties": _ties,
    "constant": _constant,
    "hard": _hard,
    "separated": _separated,
    "extreme": _extreme,
    "neighbours": _neighbours,
    "scales": _scales,
    "repeated": _repeated,
}


def _weight(given: Attempt, n: int) -> Any:
    rng = given.rng
    kind = given.choose(["none"] * 6 + ["uniform", "counts", "wide", "huge", "tiny", "one"])
    if kind == "none":
        return None
    if kind == "uniform":
        return rng.uniform(0.1, 3, n)
    if kind == "counts":
        return rng.integers(0, 3, n).astype(float)
    if kind == "wide":
        return 10 ** rng.uniform(-12, 12, n)
    if kind == "huge":
        return np.full(n, 1e308)
    if kind == "tiny":
        return rng.integers(1, 5, n) * _SMALLEST
    weight = np.ones(n)
    weight[int(rng.integers(n))] = given.choose([0.0, 1e-300, 1e15, 1e300])
    return weight


def options(given: Attempt, n_classes: int) -> dict[str, Any]:
    """Options of `evaluate` that are all right in themselves; together they may be refused."""
    shape = (n_classes, n_classes)
    ways: dict[str, Any] = {
        "weighting": lambda: given.choose(["equal", "prevalence"]),
        "thresholds": lambda: given.choose(["own", "shared", "difference"]),
        "n_thresholds": lambda: int(given.choose([2, 3, 4, 5, 9, 9, 19, 200])),
        "shrinkage": lambda: given.choose([0.0, 0, 1e-300, 0.01, 0.5, 1, 10.0, 1e6, 1e300]),
        "structure": lambda: given.choose(["rank-one", "rank-one", "rank-one", "centered", "saturated"]),
        "max_pairs": lambda: int(given.rng.integers(2, 2 * n_classes + 2)),
        "costs": lambda: 10.0 ** given.rng.uniform(0, given.choose([1, 4, 11.9]), size=shape),
        "tpr_weights": lambda: 10.0 ** given.rng.uniform(-1, 1, size=shape),
        "fpr_weights": lambda: 10.0 ** given.rng.uniform(-1, 1, size=shape),
    }
    likely = {"thresholds": 0.6, "structure": 0.6, "n_thresholds": 0.8}
    return {name: draw() for name, draw in ways.items() if given.happens(likely.get(name, 0.2))}
