"""The fast engine where it works, else the reference: what "auto" hands out for large work.

Kernels are compiled when they are first called, so only then it shows whether they can be. That depends on the machine
and on other packages; the reference needs neither.
"""

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from polyroc._engines._protocol import Engine, Reweighed
from polyroc._lib._typing import FloatArray, Thresholds
from polyroc._lib._warnings import warn
from polyroc._records import Factorization, PairIndex, PairWeights, PairwiseRates, Predictions, RankOneFits

ResultT = TypeVar("ResultT")


def can_compile() -> bool:
    """Whether numba, which is loaded, would compile: NUMBA_DISABLE_JIT runs kernels as Python, which these are not."""
    config = getattr(sys.modules.get("numba"), "config", None)
    return not getattr(config, "DISABLE_JIT", False)


@dataclass(frozen=True, eq=False)
class FastOrReference:
    """An engine that asks the fast one, and the reference from the first time on that the fast one fails."""

    fast: Engine
    reference: Engine
    works: ClassVar[bool] = True
    """Whether the fast engine has not failed in this process."""
    _once: ClassVar[threading.Lock] = threading.Lock()

    @property
    def __name__(self) -> str:
        return str(getattr(self.fast if self.works else self.reference, "__name__", ""))

    @classmethod
    def give_up(cls, error: Exception) -> None:
        """Take the reference from now on, and say so once."""
        with cls._once:
            is_first, FastOrReference.works = cls.works, False
        if is_first:
            msg = (
                f"The fast engine failed ({type(error).__name__}: {str(error).strip().partition(chr(10))[0]}). The "
                'slower reference engine is used in its place: engine="numpy".'
            )
            warn(msg, UserWarning)

    def attempt(self, fast: Callable[[], ResultT], reference: Callable[[], ResultT]) -> ResultT:
        """What the fast engine gives; what the reference gives where it fails for another reason than memory."""
        if self.works:
            try:
                return fast()
            except MemoryError:
                raise
            except Exception as error:
                self.give_up(error)
        return reference()

    def memory_needed(self, predictions: Predictions, n_pairs: int, n_call_rates: int) -> int:
        """As the engine's own."""
        engine = self.fast if self.works else self.reference
        return engine.memory_needed(predictions, n_pairs, n_call_rates)

    def memory_to_reweigh(self, predictions: Predictions, pairs: PairIndex, thresholds: Thresholds) -> int:
        """As the engine's own."""
        engine = self.fast if self.works else self.reference
        return engine.memory_to_reweigh(predictions, pairs, thresholds)

    def pairwise_rates(
        self,
        predictions: Predictions,
        pairs: PairIndex,
        call_rates: FloatArray,
        thresholds: Thresholds,
        *,
        n_jobs: int | None = None,
    ) -> PairwiseRates:
        """As the engine's own."""
        asked = (predictions, pairs, call_rates, thresholds)
        return self._ask(lambda engine: engine.pairwise_rates(*asked, n_jobs=n_jobs))

    def fit_rank_one(
        self, rates: PairwiseRates, weights: PairWeights, shrinkage: float, *, n_jobs: int | None = None
    ) -> Factorization:
        """As the engine's own."""
        return self._ask(lambda engine: engine.fit_rank_one(rates, weights, shrinkage, n_jobs=n_jobs))

    def pairwise_areas(self, predictions: Predictions, pairs: PairIndex, *, n_jobs: int | None = None) -> FloatArray:
        """As the engine's own."""
        return self._ask(lambda engine: engine.pairwise_areas(predictions, pairs, n_jobs=n_jobs))

    def contrast_areas(
        self, predictions: Predictions, pairs: PairIndex, partition: FloatArray, *, n_jobs: int | None = None
    ) -> FloatArray:
        """As the engine's own."""
        return self._ask(lambda engine: engine.contrast_areas(predictions, pairs, partition, n_jobs=n_jobs))

    def reweigh(
        self,
        predictions: Predictions,
        pairs: PairIndex,
        call_rates: FloatArray,
        thresholds: Thresholds,
        *,
        n_jobs: int | None = None,
    ) -> Reweighed:
        """As the engine's own."""
        asked = (predictions, pairs, call_rates, thresholds)
        made = self._ask(lambda engine: engine.reweigh(*asked, n_jobs=n_jobs))
        return _Reweighed(self, made, lambda: self.reference.reweigh(*asked)) if self.works else made

    def _ask(self, ask: Callable[[Engine], ResultT]) -> ResultT:
        return self.attempt(lambda: ask(self.fast), lambda: ask(self.reference))


@dataclass(frozen=True, eq=False)
class _Reweighed:
    """Samples made ready by the fast engine, and how to make them ready for the reference."""

    engine: FastOrReference
    fast: Reweighed
    again: Callable[[], Reweighed]

    def rates(self, weight: FloatArray) -> tuple[PairwiseRates, FloatArray]:
        """As the engine's own."""
        return self.engine.attempt(lambda: self.fast.rates(weight), lambda: self.again().rates(weight))

    def fits(self, weights: FloatArray, pair_weights: PairWeights, shrinkage: float) -> RankOneFits:
        """As the engine's own."""
        asked = (weights, pair_weights, shrinkage)
        return self.engine.attempt(lambda: self.fast.fits(*asked), lambda: self.again().fits(*asked))
