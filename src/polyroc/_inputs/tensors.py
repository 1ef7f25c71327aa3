"""Scores on a GPU -> TensorPredictions: the rules of `predictions`, checked where the scores lie.

Neither scores nor labels are copied to the host. Reading a number from a device waits for all that it has to do, so
what is asked of all samples is asked at once. torch is imported when scores on a GPU come, and not before.
"""

import math
import threading
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from polyroc._inputs.arrays import (
    EXACT,
    is_on_device,
    no_array,
    read_categories,
    read_labels,
    read_table,
    refuse_sparse,
    too_large,
)
from polyroc._inputs.checks import (
    SMALLEST_WEIGHT,
    InputError,
    bad_scores,
    bad_weight,
    check_score_shape,
    check_weight_shape,
    no_weight,
    weight_exponent,
)
from polyroc._inputs.columns import Known, assign_columns, distinct
from polyroc._inputs.labels import (
    check_class_counts,
    encode,
    factorize,
    is_dense,
    labels_array,
    positions,
    unknown_labels,
)
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


# From what the user holds


def as_tensor_predictions(y_true: Any, y_score: Any, *, labels: Any, sample_weight: Any) -> TensorPredictions:
    """As `as_predictions`, of scores on a device; labels and weights may lie anywhere."""
    scores = _as_real(_as_tensor(y_score, "y_score"), "y_score")
    truth = _read_truth(y_true, scores.device)
    check_score_shape(tuple(scores.shape), len(truth))
    if scores.ndim == 1:
        scores = scores[:, None]
    weight = None if sample_weight is None else _read_weights(sample_weight, len(truth), scores.device)
    looked = _look(scores, truth, weight)
    _check_scores(scores, looked)
    if weight is not None:
        _check_weights(weight, looked)

    named = None if labels is None else distinct(read_labels(labels, "labels"), "labels")
    if isinstance(truth, np.ndarray):
        categories = read_categories(y_true, "y_true") if named is None else None
        coded = _code_on_host(truth, Known([], named, categories), scores)
    else:
        coded = _code(truth, looked, named, scores.shape[1])

    codes, class_counts, kept = coded.codes, coded.class_counts, None
    if weight is not None and looked.least_weight == 0:
        kept = weight > 0
        rows = kept.nonzero()[:, 0]
        codes, scores, weight = codes[rows], scores[rows], weight[rows]
        class_counts = codes.bincount(minlength=len(coded.classes)).cpu().numpy()
    check_class_counts(class_counts, coded.classes)
    if weight is not None:
        weight = _in_range(weight, looked.largest_weight)
    return TensorPredictions(Tensors(scores, codes, weight), labels_array(coded.classes), class_counts, kept)


def in_order(predictions: TensorPredictions, order: list[int], labels: LabelArray) -> TensorPredictions:
    """The same samples with the classes in another order: first the one at the first place of `order`, and so on."""
    import torch

    scores, codes, weight = predictions.tensors
    if scores.shape[1] == 1:
        # The score of the second class speaks against the first.
        scores = torch.cat([-scores, scores], dim=1)
    places = torch.tensor(np.argsort(order), device=codes.device)
    tensors = Tensors(scores[:, order], places[codes], weight)
    return TensorPredictions(tensors, labels, predictions.class_counts[order], predictions.kept_tensor)


# Each argument for itself


def _torch(name: str) -> Any:
    try:
        import torch
    except ModuleNotFoundError as error:
        msg = (
            f'`{name}` lies on a GPU, which needs torch: pip install "polyroc[torch]". Or copy it to the host: '
            f"`{name}.get()` of CuPy, `numpy.asarray({name})` of JAX."
        )
        raise ModuleNotFoundError(msg, name=error.name) from error
    return torch


def _as_tensor(value: Any, name: str) -> Tensor:
    """A dense tensor on a device, without its history; arrays of other libraries share their memory with it."""
    torch = _torch(name)
    refuse_sparse(value, name)
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided:
            raise InputError(name, "must be dense", f"a tensor of layout {value.layout}")
        tensor = value.detach()
    else:
        try:
            tensor = torch.from_dlpack(value)
        # Another library's `__dlpack__` may raise anything, and torch does where it has no such device.
        except Exception as error:
            came, hint = type(value).__name__, f": {str(error).rstrip('.')}"
            raise InputError(name, "cannot be read as a tensor on a GPU", came, hint=hint) from error
    if tensor.ndim == 0:
        raise no_array(value, name)
    return tensor


def _as_real(tensor: Tensor, name: str) -> Tensor:
    """Real numbers as float32 or float64, copied only where their type must change."""
    torch = _torch(name)
    if tensor.dtype in (torch.float32, torch.float64):
        return tensor
    if tensor.is_floating_point():
        return tensor.to(torch.float32)
    if tensor.is_complex():
        raise InputError(name, "must hold real numbers", f"complex numbers (dtype {tensor.dtype})")
    if tensor.dtype in (torch.int64, torch.uint64) and tensor.numel():
        low, high = torch.stack(tensor.view(torch.int64).aminmax()).tolist()
        # Unsigned numbers that do not fit in 63 bits look negative.
        if max(-low, high) > EXACT or (low < 0 and tensor.dtype == torch.uint64):
            raise too_large(name)
    return tensor.to(torch.float64)


def _read_truth(y_true: Any, device: Any) -> "Tensor | LabelArray":
    """Labels as integers or booleans on the device, and on the host whatever came from there.

    What a device cannot tell at once is read on the host, which says what is wrong with it.
    """
    if not is_on_device(y_true):
        return read_labels(y_true, "y_true")
    torch = _torch("y_true")
    truth = _as_tensor(y_true, "y_true")
    if truth.ndim == 2 and truth.shape[1] == 1:
        truth = truth[:, 0]
    of_integers = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    if truth.ndim == 1 and len(truth) > 0:
        if truth.is_floating_point():
            truth = truth.to(torch.float64)
            if bool(((truth.round() == truth) & (truth.abs() <= EXACT)).all()):
                return truth.to(device, torch.int64)
        elif truth.dtype in of_integers:
            return truth.to(device)
    return read_labels(truth.cpu(), "y_true")


def _read_weights(sample_weight: Any, n_samples: int, device: Any) -> Tensor:
    torch = _torch("sample_weight")
    if is_on_device(sample_weight):
        weight = _as_real(_as_tensor(sample_weight, "sample_weight"), "sample_weight")
    else:
        table = read_table(sample_weight, "sample_weight").values
        # In one piece and writeable, as torch wants it.
        weight = torch.from_numpy(np.array(table, dtype=np.float64, order="C"))
    check_weight_shape(tuple(weight.shape), n_samples)
    return weight.to(device, torch.float64)


# One look at all samples


class _Look(NamedTuple):
    """Facts from one pass over all samples; NaN and 0 for what was not given."""

    sum_of_scores: float
    """Finite only if all scores are, unless it is too large for a float."""
    least_label: int
    largest_label: int
    least_weight: float
    """NaN where some weight is."""
    largest_weight: float


def _look(scores: Tensor, truth: "Tensor | LabelArray", weight: Tensor | None) -> _Look:
    """Sums and extremes, brought to the host together."""
    import torch

    # As bits, because a label of 64 bits does not fit into a float.
    asked = [scores.sum(dtype=torch.float64).view(torch.int64)]
    if not isinstance(truth, np.ndarray):
        asked += [number.to(torch.int64) for number in truth.aminmax()]
    if weight is not None:
        asked += [number.view(torch.int64) for number in weight.aminmax()]
    numbers = torch.stack(asked).cpu().numpy()
    low, high = (0, 0) if isinstance(truth, np.ndarray) else numbers[1:3].tolist()
    least, largest = (math.nan, math.nan) if weight is None else numbers[-2:].view(np.float64).tolist()
    return _Look(float(numbers[:1].view(np.float64)[0]), low, high, least, largest)


def _check_scores(scores: Tensor, looked: _Look) -> None:
    if math.isfinite(looked.sum_of_scores):
        return
    bad = (~scores.isfinite().all(dim=1)).nonzero()[:, 0]
    if len(bad) > 0:
        raise bad_scores(len(bad), len(scores), int(bad[0]))


def _check_weights(weight: Tensor, looked: _Look) -> None:
    if not (looked.least_weight >= 0 and looked.largest_weight < math.inf):
        row = int((~(weight.isfinite() & (weight >= 0))).nonzero()[0, 0])
        raise bad_weight(float(weight[row]), row)
    if looked.largest_weight == 0:
        raise no_weight(len(weight))


def _in_range(weight: Tensor, largest: float) -> Tensor:
    exponent = weight_exponent(largest, len(weight))
    if exponent == 0:
        return weight
    # In two steps, because the power itself may be too large for a float.
    half = exponent // 2
    return (weight * 2.0**half * 2.0 ** (exponent - half)).clamp(min=SMALLEST_WEIGHT)


# Labels as positions among the classes


class _Coded(NamedTuple):
    """The classes, each sample's position among them on the device, and how many samples each has."""

    classes: list[Any]
    codes: Tensor
    class_counts: IntArray


def _code_on_host(truth: LabelArray, known: Known, scores: Tensor) -> _Coded:
    import torch

    factor = factorize(truth)
    classes = assign_columns(known._replace(found=factor.values), None, scores.shape[1]).classes
    codes = encode(factor, classes)
    # In the fewest bytes, because the way to the device is slow.
    kinds = ((np.int8, 2**7), (np.int16, 2**15), (np.int32, 2**31))
    small = next((kind for kind, limit in kinds if len(classes) <= limit), np.int64)
    sent = torch.from_numpy(codes.astype(small)).to(scores.device).to(torch.int64)
    return _Coded(classes, sent, np.bincount(codes, minlength=len(classes)))


def _code(truth: Tensor, looked: _Look, named: list[Any] | None, n_columns: int) -> _Coded:
    """As `factorize` and `encode`; what comes to the host is as long as the range of the labels, or as their list."""
    import torch

    low = looked.least_label
    span = looked.largest_label - low + 1
    if is_dense(span, len(truth)):
        # A new tensor also where the lowest is 0: labels may be written over, as on the host.
        place = truth.to(torch.int64) - low
        counts = place.bincount(minlength=span).cpu().numpy()
        present = np.flatnonzero(counts)
        values = [low + offset for offset in present.tolist()]
    else:
        distinct_labels, place, n_each = truth.to(torch.int64).unique(return_inverse=True, return_counts=True)
        values, counts = distinct_labels.tolist(), n_each.cpu().numpy()
        present = np.arange(len(values))
    if truth.dtype == torch.bool:
        values = [bool(value) for value in values]
    classes = assign_columns(Known(values, named, None), None, n_columns).classes
    places = positions(values, classes)
    # From places to classes, in one step.
    code_of = np.full(len(counts), -1)
    code_of[present] = [-1 if code is None else code for code in places]
    if not np.array_equal(code_of, np.arange(len(code_of))):
        place = torch.from_numpy(code_of).to(place.device)[place]
    if unknown := [value for value, code in zip(values, places, strict=True) if code is None]:
        raise unknown_labels(unknown, classes, int((place < 0).nonzero()[0, 0]))
    class_counts = np.zeros(len(classes), dtype=np.intp)
    class_counts[code_of[present]] = counts[present]
    return _Coded(classes, place, class_counts)
