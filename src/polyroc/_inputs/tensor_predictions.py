"""Predictions whose samples lie on a GPU and stay there; their arrays are copies, made when first asked for."""

import math
import threading
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from polyroc._lib.typing import BoolArray, FloatArray, IntArray, LabelArray
from polyroc._records import Predictions, read_only

# One of torch's, which is not imported here: what is asked of tensors are their methods.
Tensor: TypeAlias = Any

# Bits of a float64's whole numbers.
_BITS = 53


class Tensors(NamedTuple):
    """Samples on one device."""

    scores: Tensor
    """One column per class, shape (n, k), or (n, 1); float32 or float64, with the strides that came."""
    codes: Tensor
    """True class of each sample as a position in the labels, shape (n,), int64."""
    weight: Tensor | None = None
    """Positive weights, shape (n,), float64; None where all are 1."""


class TensorPredictions(Predictions):
    """The source that holds every sample on a device.

    Numbers per class are read from there. `scores`, `codes`, `sample_weight` and `kept` are copies on the host, for
    whatever has no version for tensors; a pickle has these copies alone.
    """

    tensors: Tensors
    _kept: Tensor | None
    _copies: dict[str, Any]
    _lock: threading.Lock

    def __init__(
        self, tensors: Tensors, labels: LabelArray, class_counts: IntArray, kept: Tensor | None = None
    ) -> None:
        # By its dictionary, because the record is frozen.
        vars(self).update(
            tensors=tensors,
            labels=labels,
            # In place of the one that is computed of all codes.
            class_counts=class_counts,
            _kept=kept,
            _copies={},
            _lock=threading.Lock(),
        )
        self.__post_init__()

    def __repr__(self) -> str:
        n, k, device = self.n_samples, self.n_columns, self.tensors.scores.device
        return f"TensorPredictions({n} samples, {k} score columns on {device})"

    def __reduce__(self) -> Any:
        return Predictions, (self.codes, self.scores, self.labels, self.sample_weight, self.kept)

    @property
    def scores(self) -> FloatArray:
        """A copy on the host."""
        scores: FloatArray = self._copy("scores", self.tensors.scores)
        return scores

    @property
    def codes(self) -> IntArray:
        """A copy on the host."""
        codes: IntArray = self._copy("codes", self.tensors.codes)
        return codes

    @property
    def sample_weight(self) -> FloatArray | None:
        """A copy on the host; None where all weights are 1."""
        return None if self.tensors.weight is None else self._copy("weight", self.tensors.weight)

    @property
    def kept(self) -> BoolArray | None:
        """A copy on the host; None where no sample had weight 0."""
        return None if self._kept is None else self._copy("kept", self._kept)

    @property
    def kept_tensor(self) -> Tensor | None:
        """Which of the samples that came are here, on the device."""
        return self._kept

    @property
    def n_samples(self) -> int:
        return len(self.tensors.codes)

    @property
    def n_columns(self) -> int:
        return int(self.tensors.scores.shape[1])

    @property
    def device(self) -> str:
        return str(self.tensors.scores.device)

    @property
    def is_weighted(self) -> bool:
        return self.tensors.weight is not None

    def _copy(self, name: str, tensor: Tensor) -> Any:
        # One at a time: two threads would copy the same gigabyte twice.
        with self._lock:
            if name not in self._copies:
                self._copies[name] = read_only(tensor.to("cpu", copy=True).numpy())
            return self._copies[name]

    @cached_property
    def class_weights(self) -> FloatArray:
        """Sum of the sample weights of each class, shape (k,)."""
        sums = self._weight_sums
        return super().class_weights if sums is None else read_only(np.ldexp(sums.total, sums.exponent))

    @cached_property
    def effective_counts(self) -> FloatArray:
        """Kish's effective number of samples of each class, (sum w)^2 / sum w^2."""
        sums = self._weight_sums
        if sums is None:
            return super().effective_counts
        squared = np.zeros_like(sums.total)
        return read_only(np.divide(sums.total**2, sums.squares, out=squared, where=sums.squares > 0))

    @cached_property
    def _weight_sums(self) -> "_WeightSums | None":
        codes, weight = self.tensors.codes, self.tensors.weight
        if weight is None:
            return None
        n_classes = len(self.labels)
        largest = weight.new_zeros(n_classes).scatter_reduce(0, codes, weight, "amax")
        exponent = np.frexp(largest.cpu().numpy())[1]
        # Not by ldexp, which is one of single precision in torch. Beyond 2**1000 lie subnormal numbers alone.
        scale = weight.new_tensor(np.ldexp(1.0, np.minimum(-exponent, 1000)))
        relative = weight * scale[codes]
        exponent = np.maximum(exponent, -1000)
        return _WeightSums(
            _class_sums(relative, codes, n_classes), _class_sums(relative * relative, codes, n_classes), exponent
        )


class _WeightSums(NamedTuple):
    """Sums of weights and of their squares by class, shape (k,) each, of weights that are at most 1."""

    total: FloatArray
    squares: FloatArray
    exponent: IntArray
    """Powers of two by which weights were divided, so that squares can neither overflow nor vanish."""


def _class_sums(values: Tensor, codes: Tensor, n_classes: int) -> FloatArray:
    """Sums by class of numbers from 0 to 1, the same in any order.

    A GPU adds in an order of its own, which may change from run to run. Sums of whole numbers are exact in any order,
    so each number is cut into two or three of them, which are added one after the other.
    """
    bits = _BITS - len(values).bit_length()
    total, rest, unit = np.zeros(n_classes), values, 1.0
    for _ in range(math.ceil(_BITS / bits)):
        rest, unit = rest * 2.0**bits, unit * 2.0**-bits
        whole = rest.floor()
        total += unit * summed(whole, codes, n_classes).cpu().numpy()
        rest = rest - whole
    return total


def summed(values: Tensor, places: Tensor, n_places: int) -> Tensor:
    """Sums of float64 numbers by place, on the device."""
    import torch

    # The quick way is refused where torch is told to be deterministic, though of whole numbers it is.
    if torch.are_deterministic_algorithms_enabled():
        return values.new_zeros(n_places).index_add_(0, places, values)
    return places.bincount(values, minlength=n_places)
