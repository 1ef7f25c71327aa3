"""MulticlassD: D as a metric of torchmetrics, from counts that are added over batches and processes."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from polyroc._counts.bins import ROUNDED, SEVERAL_SCORES, ScoreBins, usual_bits
from polyroc._counts.tally import Tally
from polyroc._inputs.checks import InputError, as_flag, one_of, shown
from polyroc._lib.numbers import counted
from polyroc._lib.typing import LabelArray, Statistic
from polyroc._lib.warnings import warn
from polyroc.evaluation._evaluate import OF_SAMPLES, check_option_names
from polyroc.evaluation._evaluation import Evaluation
from polyroc.streams._accumulator import RocAccumulator

try:
    import torch
    from torchmetrics import Metric
except ModuleNotFoundError as error:
    _msg = f'`polyroc.torch` needs {error.name}: pip install "polyroc[torch]".'
    raise ModuleNotFoundError(_msg, name=error.name) from error

TensorScores: TypeAlias = Literal["auto", "probabilities", "logits", "free"]

# What `torchmetrics.Metric` takes.
_OF_TORCHMETRICS = (
    "compute_on_cpu",
    "compute_with_cache",
    "dist_sync_fn",
    "dist_sync_on_step",
    "distributed_available_fn",
    "process_group",
    "sync_on_compute",
)
# Counts are twice on a device (what `reset` puts back is a tensor, too), and once more for every process while they
# are gathered: what is taken without being asked for leaves room for that.
_BY_DEFAULT, _AT_MOST = 2**28, 2**32
# Below this D would be wrong in its fourth decimal.
_FEWEST_BITS = 3


class MulticlassD(Metric):  # type: ignore[misc]  # torchmetrics is not looked at
    """D (multi-class AUC) of all batches, as a metric of torchmetrics. Needs ``polyroc[torch]``.

    Scores are counted on their device, in the bins of `RocAccumulator`: the result is the same to the last bit,
    whatever the batches, their order and the number of processes. Processes exchange counts, never samples.
    `compute` moves the counts to the host and fits D there, in some milliseconds for 10 classes. Call `update` for
    each batch and `compute` at the end of an epoch: `forward` fits D for each batch as well.

    Parameters
    ----------
    num_classes : int
        At least 2.
    output : {"auc", "hand_till", "mean_auc"}
        What `compute` gives: D, Hand and Till's M, or the area under the mean curve. Metrics of one
        ``MetricCollection`` share their counts if they count alike, with the same `num_classes`, `score_kind`,
        `ignore_index` and `mantissa_bits`.
    score_kind : {"auto", "probabilities", "logits", "free"}
        What `preds` are. "auto" does as torchmetrics: softmax of a batch that has a value outside [0, 1] (by more than
        1e-6). "logits" always takes the softmax, "free" never. Logits and their softmax rank samples differently, so
        they give different D.
    labels : sequence of length num_classes, optional
        Names of the classes in `evaluation`; by default 0 to num_classes - 1. `target` is 0 to num_classes - 1 anyway.
    ignore_index : int, optional
        Samples with this `target` are left out.
    mantissa_bits : int, optional
        As in `RocAccumulator`. By default 8 for up to 22 classes, and for more as many as keep the counts within 256
        MiB: 6 for 45, 4 for 91, 3 for 128, and an error above that. `binning_error` of `evaluation` says how far
        bins can have moved D.
    validate_args : bool
        Check every batch in `update`. Without, nothing waits for the device, and `compute` raises the error.
    **options
        Further keyword arguments of `evaluate` and of ``torchmetrics.Metric``.

    Attributes
    ----------
    nbytes : int
        Memory of the counts: 8 bytes for each column, class and bin, 49 MiB for 10 classes, besides 16 bytes for each
        column and bin. They are twice in memory, and once more for each process during `compute` under DDP.

    See Also
    --------
    polyroc.RocAccumulator : Counts on the host, keeps only bins that occur: for more classes, and with weights.

    Examples
    --------
    >>> import torch
    >>> import polyroc
    >>> from polyroc.torch import MulticlassD
    >>> example = polyroc.load_example()
    >>> metric = MulticlassD(num_classes=10)
    >>> y_score, y_true = torch.tensor(example.scores["tree"]), torch.tensor(example.y_true)
    >>> for preds, target in zip(y_score.split(100), y_true.split(100)):
    ...     metric.update(preds, target)
    >>> round(float(metric.compute()), 3)
    0.915
    >>> evaluation = metric.evaluation()
    >>> round(evaluation.hand_till, 3)
    0.867
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0

    counts: torch.Tensor
    least: torch.Tensor
    most: torch.Tensor
    confusion: torch.Tensor
    lowest: torch.Tensor
    highest: torch.Tensor
    worst_row: torch.Tensor
    wrong: torch.Tensor
    counted_by: torch.Tensor

    def __init__(
        self,
        num_classes: int,
        *,
        output: Statistic = "auc",
        score_kind: TensorScores = "auto",
        labels: Sequence[Any] | None = None,
        ignore_index: int | None = None,
        mantissa_bits: int | None = None,
        validate_args: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(**{name: options.pop(name) for name in _OF_TORCHMETRICS if name in options})
        check_option_names(options, MulticlassD, without=OF_SAMPLES)
        k = _at_least("num_classes", num_classes, 2)
        self.num_classes: int = k
        self.output: Statistic = one_of(output, "output", get_args(Statistic))
        self.score_kind: TensorScores = one_of(score_kind, "score_kind", get_args(TensorScores))
        self.ignore_index: int | None = _as_ignored(ignore_index)
        self.validate_args: bool = as_flag(validate_args, "validate_args")
        rule: Literal["free", "probabilities"] = "free" if score_kind == "free" else "probabilities"
        self._made_with: dict[str, Any] = {
            "labels": range(k) if labels is None else list(labels),
            "score_kind": rule,
            "mantissa_bits": _fitting_bits(k, rule) if mantissa_bits is None else mantissa_bits,
            **options,
        }
        made = RocAccumulator(**self._made_with)  # which checks the options, before there are samples
        if len(made.labels) != k:
            raise InputError("labels", f"must name {k} classes", f"{len(made.labels)}")
        self._bins: ScoreBins = made.bins
        if self.nbytes > _AT_MOST:
            raise _too_large(k, self._bins)
        self.add_state("counts", torch.zeros((k, k, self._bins.n_bins), dtype=torch.int64), dist_reduce_fx="sum")
        # Ends of the scores in each bin, as the bits of a float: where they are the same, the bin is a tie.
        ends, shape = torch.iinfo(torch.int64), (k, self._bins.n_bins)
        self.add_state("least", torch.full(shape, ends.max, dtype=torch.int64), dist_reduce_fx="min")
        self.add_state("most", torch.full(shape, ends.min, dtype=torch.int64), dist_reduce_fx="max")
        self.add_state("confusion", torch.zeros((k, k), dtype=torch.int64), dist_reduce_fx="sum")
        # In single precision, which every device has.
        self.add_state("lowest", torch.full((k,), math.inf, dtype=torch.float32), dist_reduce_fx="min")
        self.add_state("highest", torch.full((k,), -math.inf, dtype=torch.float32), dist_reduce_fx="max")
        self.add_state("worst_row", torch.tensor(0.0, dtype=torch.float32), dist_reduce_fx="max")
        # Samples with a wrong target, and with wrong scores, in batches that were not checked.
        self.add_state("wrong", torch.zeros(2, dtype=torch.int64), dist_reduce_fx="sum")
        # A state, because a collection shares counts between metrics whose states are equal after the first batch.
        self.add_state("counted_by", self._counted_by(), dist_reduce_fx="max")

    @property
    def nbytes(self) -> int:
        return _nbytes(self.num_classes, self._bins)

    def update(self, preds: torch.Tensor, target: torch.Tensor) -> None:
        """Count a batch.

        Parameters
        ----------
        preds : Tensor of shape (n_samples, num_classes) or (n_samples, num_classes, ...)
            Probabilities or logits, see `score_kind`, of any floating type.
        target : Tensor of shape (n_samples,) or (n_samples, ...)
            True classes, integers from 0 to num_classes - 1.
        """
        scores, target = self._flat(preds, target)
        if self.ignore_index is not None:
            kept = target != self.ignore_index
            scores, target = scores[kept], target[kept]
        if len(target) == 0:
            return
        if self.validate_args:
            self._check(scores, target)
        if self.score_kind == "auto":
            scores = _softmax_if_needed(scores)
        elif self.score_kind == "logits":
            scores = scores.softmax(dim=1)
        if not self.validate_args:
            scores, target = self._noted(scores, target)
        elif not torch.isfinite(scores).all():
            raise InputError("preds", "must be finite", "NaN or infinity")
        self._count(scores, target)
        cell = target * self.num_classes + scores.argmax(dim=1)
        self.confusion.view(-1).scatter_add_(0, cell, torch.ones_like(cell))
        self.lowest = torch.minimum(self.lowest, scores.amin(dim=0).to(torch.float32))
        self.highest = torch.maximum(self.highest, scores.amax(dim=0).to(torch.float32))
        error = (scores.sum(dim=1, dtype=_widest(scores.device)) - 1).abs().amax()
        self.worst_row = torch.maximum(self.worst_row, error.to(torch.float32))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Count a batch as `update`, and compute D of this batch.

        Parameters
        ----------
        *args, **kwargs
            As in `update`.

        Returns
        -------
        Tensor
            As `compute` of the batch alone.
        """
        # `Metric.forward` sets the counts aside while it computes, and an error there would lose them.
        before = self.__dict__.copy()
        try:
            return super().forward(*args, **kwargs)
        except BaseException:
            self.__dict__.update(before)
            raise

    def _flat(self, preds: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores (n, k) in single or double precision, and classes (n,)."""
        if not isinstance(preds, torch.Tensor) or not preds.is_floating_point():
            came = shown(getattr(preds, "dtype", type(preds).__name__))
            raise InputError("preds", "must be a tensor of floats", came)
        if not isinstance(target, torch.Tensor) or target.is_floating_point() or target.is_complex():
            came = shown(getattr(target, "dtype", type(target).__name__))
            raise InputError("target", "must be a tensor of integers", came)
        for name, tensor in (("preds", preds), ("target", target)):
            if tensor.is_nested or tensor.layout is not torch.strided:
                raise InputError(name, "must be dense", "a nested tensor" if tensor.is_nested else f"{tensor.layout}")
        k = self.num_classes
        if preds.ndim < 2 or preds.shape[1] != k or preds.shape[:1] + preds.shape[2:] != target.shape:
            rule = f"must have shape (n, {k}, ...), and `target` (n, ...)"
            raise InputError("preds", rule, f"{tuple(preds.shape)} and {tuple(target.shape)}")
        scores = preds.detach()
        if scores.dtype not in (torch.float32, torch.float64):
            scores = scores.float()
        return scores.movedim(1, -1).reshape(-1, k), target.detach().reshape(-1).long()

    def _check(self, scores: torch.Tensor, target: torch.Tensor) -> None:
        low, high = int(target.min()), int(target.max())
        if low < 0 or high >= self.num_classes:
            came = f"{low if low < 0 else high}"
            raise InputError("target", self._target_rule, came)
        if self.score_kind == "probabilities":
            lowest, highest = float(scores.min()), float(scores.max())
            if lowest < -ROUNDED or highest > 1 + ROUNDED:
                came = f"{lowest if lowest < -ROUNDED else highest:g}"
                hint = ": for scores that are no probabilities pass `score_kind='logits'` or `score_kind='free'`"
                raise InputError("preds", "must lie between 0 and 1", came, hint=hint)

    def _count(self, scores: torch.Tensor, target: torch.Tensor) -> None:
        """Add scores (n, k) of classes (n,) to the counts, and to the ends of the scores in each bin."""
        n_bins, column = self._bins.n_bins, torch.arange(self.num_classes, device=scores.device)
        index = bin_index(self._bins, scores)
        cell = (column * self.num_classes + target[:, None]) * n_bins + index
        # Whole numbers: whichever thread adds first, the sum is the same.
        self.counts.view(-1).scatter_add_(0, cell.view(-1), torch.ones_like(cell).view(-1))
        place, bits = (column * n_bins + index).view(-1), _score_bits(self._bins, scores).view(-1)
        self.least.view(-1).scatter_reduce_(0, place, bits, "amin")
        self.most.view(-1).scatter_reduce_(0, place, bits, "amax")

    @property
    def _target_rule(self) -> str:
        return f"must lie between 0 and {self.num_classes - 1}"

    def _noted(self, scores: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The same where it is right; what is wrong is noted for `compute`, and then counted somewhere."""
        right = torch.isfinite(scores)
        if self.score_kind == "probabilities":
            right &= (scores >= -ROUNDED) & (scores <= 1 + ROUNDED)
        wrong_target = (target < 0) | (target >= self.num_classes)
        self.wrong += torch.stack([wrong_target.sum(), (~right).any(dim=1).sum()])
        return scores.where(right, 0), target.clamp(0, self.num_classes - 1)

    def compute(self) -> torch.Tensor:
        """The number that `output` names, of all batches and processes.

        Returns
        -------
        Tensor
            A scalar on the device of the metric, in double precision where the device has it. NaN, with a warning,
            where fewer than two classes have samples, as in a small batch of `forward`.
        """
        value, accumulator = math.nan, self._accumulated()
        if (accumulator.tally.class_counts > 0).sum() < 2:
            warn("D is NaN: fewer than two classes have samples.", UserWarning)
        else:
            value = float(getattr(accumulator.compute(), self.output))
        return torch.tensor(value, dtype=_widest(self.device), device=self.device)

    def evaluation(self) -> Evaluation:
        """The evaluation of all batches: D, M, curves, pairs and classes.

        Under DDP all processes must call it, as `compute`.

        Returns
        -------
        Evaluation
            As `RocAccumulator.compute` gives it.
        """
        return self.accumulator().compute()

    def accumulator(self) -> RocAccumulator:
        """The counts as a `RocAccumulator`: to store, to merge, or for standard errors by a second pass.

        Under DDP all processes must call it, as `compute`.

        Returns
        -------
        RocAccumulator
            With the counts of all batches; later batches do not change it.
        """
        with self.sync_context(
            dist_sync_fn=self.dist_sync_fn, should_sync=self._to_sync and not self._is_synced, should_unsync=True
        ):
            return self._accumulated()

    def _accumulated(self) -> RocAccumulator:
        self._check_counts()
        accumulator = RocAccumulator(**self._made_with)
        state: Mapping[str, Any] = self.metric_state
        accumulator.tally = _tally_of(accumulator.labels, self._bins, dict(state))
        return accumulator

    def _check_counts(self) -> None:
        if not torch.equal(self.counted_by.cpu(), self._counted_by()):
            rule = "must be that of a MulticlassD with the same `num_classes`, `score_kind`, `ignore_index` and bins"
            hint = ": such metrics cannot share or add counts (`compute_groups`, `merge_state`, `load_state_dict`, DDP)"
            raise InputError("state", rule, "another metric's", hint=hint)
        n_targets, n_scores = self.wrong.tolist()
        hint = " of batches that were not checked. `validate_args=True` finds the batch; `reset()` forgets it"
        if n_targets:
            raise InputError("target", self._target_rule, f"others in {counted(n_targets, 'sample')}", hint=hint)
        if n_scores:
            rule = "must be finite, and between 0 and 1" if self.score_kind == "probabilities" else "must be finite"
            raise InputError("preds", rule, f"others in {counted(n_scores, 'sample')}", hint=hint)

    def _counted_by(self) -> torch.Tensor:
        """A digest of what decides how a batch is counted, and its negative: the maximum of two differs from both."""
        deciding = (self.num_classes, self.score_kind, self.ignore_index, self._bins.mantissa_bits)
        digest = torch.tensor(list(hashlib.blake2b(repr(deciding).encode(), digest_size=16).digest()))
        return torch.cat([digest, -digest])

    def set_dtype(self, dst_type: Any) -> "MulticlassD":
        """Does nothing: counts are whole numbers.

        Parameters
        ----------
        dst_type : str or dtype
            Ignored.

        Returns
        -------
        MulticlassD
            This metric.
        """
        return self


def _at_least(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise InputError(name, f"must be an integer of at least {least}", shown(value))
    return int(value)


def _as_ignored(value: Any) -> int | None:
    if value is None:
        return None
    limits = torch.iinfo(torch.int64)
    if isinstance(value, bool) or not isinstance(value, Integral) or not limits.min <= value <= limits.max:
        raise InputError("ignore_index", "must be None or an integer of 64 bits", shown(value))
    return int(value)


def _widest(device: torch.device) -> torch.dtype:
    """The most precise floats of a device; Apple's have no double precision."""
    return torch.float32 if device.type == "mps" else torch.float64


def _nbytes(k: int, bins: ScoreBins) -> int:
    return 8 * k * k * bins.n_bins


def _fitting_bits(k: int, scores: Literal["free", "probabilities"]) -> int:
    """As many as the counts have room for by default."""
    for bits in range(usual_bits(k), _FEWEST_BITS - 1, -1):
        if _nbytes(k, ScoreBins(scores, bits)) <= _BY_DEFAULT:
            return bits
    raise _too_large(k, ScoreBins(scores, _FEWEST_BITS))


def _too_large(k: int, bins: ScoreBins) -> InputError:
    return InputError(
        "num_classes",
        "must be so small that the counts of all columns, classes and bins fit on a device",
        f"{k} classes, which need {_nbytes(k, bins) / 2**30:.2f} GiB with `mantissa_bits={bins.mantissa_bits}`",
        hint=": count on the host with `polyroc.RocAccumulator`, which keeps only bins that occur, or pass fewer "
        f"`mantissa_bits` (at most {_AT_MOST / 2**30:.0f} GiB)",
    )


_LARGEST = float(np.finfo(np.float32).max)


def bin_index(bins: ScoreBins, scores: torch.Tensor) -> torch.Tensor:
    """`ScoreBins.index` of a tensor of float32 or float64, as int64."""
    if bins.scores == "probabilities":
        upper = scores > 0.5
        folded = torch.where(upper, 1 - scores, scores).clamp(0, 0.5).to(torch.float32)
        # Adding 0 makes one zero of the two.
        low = (folded + 0.0).view(torch.int32) >> bins.shift
        return torch.where(upper, bins.n_bins - 1 - low, low).long()
    bits = (scores.clamp(-_LARGEST, _LARGEST).to(torch.float32) + 0.0).view(torch.int32)
    # The bits of negative floats rise as the floats fall.
    ordered = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    return (ordered >> bins.shift).long() + bins.n_bins // 2


def _score_bits(bins: ScoreBins, scores: torch.Tensor) -> torch.Tensor:
    """The bits of `ScoreBins.compared`: equal for equal scores, in numbers that every device has."""
    wide = (scores.cpu() if scores.device.type == "mps" else scores).double()
    compared = (wide.clamp(0, 1) if bins.scores == "probabilities" else wide) + 0.0
    return compared.view(torch.int64).to(scores.device)


def _softmax_if_needed(scores: torch.Tensor) -> torch.Tensor:
    """As torchmetrics: softmax of a batch that has a value outside [0, 1]. Nothing is sent to the host to decide it."""
    outside = ((scores < -ROUNDED) | (scores > 1 + ROUNDED)).any()
    return torch.where(outside, scores.softmax(dim=1), scores)


def _tally_of(labels: LabelArray, bins: ScoreBins, state: dict[str, Any]) -> Tally:
    """The counts on the host, as an accumulator would have them after the same samples."""
    tally = Tally(labels, bins)
    k = len(labels)
    counts: torch.Tensor = state["counts"]
    tally.class_counts = counts[0].sum(dim=1).cpu().numpy()
    if not tally.class_counts.any():
        return tally
    tally.set_columns(k)
    # Most bins are empty, and stay where they are.
    occurred = (counts != 0).any(dim=1)
    for place, (counter, column, used) in enumerate(zip(tally.counters, counts, occurred, strict=True)):
        least, most = (state[name][place, used].cpu().numpy() for name in ("least", "most"))
        scores = np.where(least == most, least.view(np.float64), SEVERAL_SCORES)
        counter.add_rows(used.nonzero()[:, 0].cpu().numpy(), column[:, used].T.contiguous().cpu().numpy(), scores)
    tally.confusion = state["confusion"].cpu().numpy().copy()
    tally.times = tally.confusion.sum(axis=0)
    tally.lowest, tally.highest = (state[name].cpu().numpy().astype(float) for name in ("lowest", "highest"))
    tally.worst_row = float(state["worst_row"])
    return tally
