"""RocAccumulator, an evaluation of samples that come batch by batch and are not kept."""

from collections.abc import Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from polyroc._counts.bins import NO_SCORE, SEVERAL_SCORES, ScoreBins, Scores, usual_bits
from polyroc._counts.counted import refuse_differences
from polyroc._counts.exact import ExactColumns
from polyroc._counts.tally import Tally, check_counts_memory
from polyroc._inputs.arrays import read_labels
from polyroc._inputs.checks import InputError, one_of, shown
from polyroc._inputs.columns import distinct
from polyroc._inputs.labels import check_class_counts, labels_array
from polyroc._inputs.options import Options, as_options
from polyroc._inputs.predictions import as_batch
from polyroc._lib.typing import LabelArray
from polyroc._lib.warnings import underflow_is_zero
from polyroc.evaluation._evaluate import OF_SAMPLES, check_option_names, evaluate_counts
from polyroc.evaluation._evaluation import Evaluation
from polyroc.streams._state import check_counts, check_same, packed_header, read_array, read_header

if TYPE_CHECKING:
    from polyroc.streams._second_pass import SecondPass


_KIND = "polyroc counts"
# More have no meaning in single precision; fewer make bins of whole powers of two.
_MOST_BITS = 16
# Tables of classes as they are stored: axes of k classes, and whether they are whole numbers. None: without weights.
_TABLES = {
    "class_counts": (1, True),
    "class_weights": (1, False),
    "class_squares": (1, False),
    "confusion": (2, None),
    "times": (1, True),
}


class RocAccumulator:
    """D, M and their curves of samples that come in batches, from counts of their scores.

    Scores are put into bins made of the highest bits of a float, so there is no range to choose. Counts can be merged
    in any order, over files, processes and machines, and without weights every order gives the same numbers to the
    last bit. `Evaluation.binning_error` says how far bins can have moved D and M: with 8 bits D moves by less than
    1e-6 for a million samples, and by more for few. Scores that bins cannot distinguish, such as logits + 100,000 or
    probabilities below 5e-41, are an error of `compute` with what helps, and a warning if M moves by less than 0.05.

    Parameters
    ----------
    labels : array-like of shape (n_classes,)
        The classes in the order of the score columns.
    score_kind : {"probabilities", "free"}
        Whether scores lie between 0 and 1, or anywhere, as logits do.
    mantissa_bits : int, optional
        From 0 to 16. One more halves the width of the bins, and takes up to twice the memory. By default 8 for up to 50
        classes and 6 for more; 5 or 4 save memory with hundreds of classes.
    **options
        Further keyword arguments of `evaluate`, for `compute`; ``thresholds="difference"`` needs single samples.

    Attributes
    ----------
    labels : ndarray of shape (n_classes,)
        The classes.
    n_samples : int
        Samples counted so far; those of weight 0 are not.
    nbytes : int
        Memory of the counts.

    See Also
    --------
    evaluate : The same of samples in memory, without bins.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> y_score = example.scores["logistic"]
    >>> accumulator = polyroc.RocAccumulator(range(10))
    >>> for start in range(0, len(y_score), 100):
    ...     accumulator.update(example.y_true[start : start + 100], y_score[start : start + 100])
    >>> evaluation = accumulator.compute()
    >>> exact = polyroc.evaluate(example.y_true, y_score)
    >>> bool(abs(evaluation.auc - exact.auc) < 1e-5)
    True
    """

    def __init__(
        self,
        labels: "ArrayLike",
        *,
        score_kind: Scores = "probabilities",
        mantissa_bits: int | None = None,
        **options: Any,
    ) -> None:
        classes = distinct(read_labels(labels, "labels"), "labels")
        if len(classes) < 2:
            raise InputError("labels", "must name at least two classes", f"{len(classes)}")
        bits = usual_bits(len(classes)) if mantissa_bits is None else mantissa_bits
        check_option_names(options, RocAccumulator, without=OF_SAMPLES)
        self._labels: LabelArray = labels_array(classes)
        self.bins: ScoreBins = ScoreBins(
            one_of(score_kind, "score_kind", get_args(Scores)), _integer(bits, "mantissa_bits", 0, _MOST_BITS)
        )
        self.options: Options = as_options(self._labels, **options)
        refuse_differences(self.options.thresholds)
        check_counts_memory(len(classes), self.bins)
        self.tally: Tally = Tally(self._labels, self.bins)
        self.exact: ExactColumns | None = None
        """Areas and curves of the same samples without bins."""

    @property
    def labels(self) -> LabelArray:
        return self._labels

    @property
    def n_samples(self) -> int:
        return int(self.tally.class_counts.sum())

    @property
    def nbytes(self) -> int:
        return self.tally.nbytes

    def __repr__(self) -> str:
        return f"RocAccumulator({len(self._labels)} classes, {self.n_samples:,} samples, {self.nbytes / 2**20:.1f} MiB)"

    def update(self, y_true: "ArrayLike", y_score: "ArrayLike", sample_weight: "ArrayLike | None" = None) -> None:
        """Count a batch of samples; a batch that is refused changes nothing.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True classes, all of them in `labels`. A batch may lack classes, and may be empty.
        y_score : array-like or data frame of shape (n_samples, n_classes)
            As in `evaluate`.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights. Samples of batches without weights count 1 each.
        """
        batch = as_batch(y_true, y_score, self._labels, sample_weight)
        if batch is not None:
            self.tally.add(batch, self.options.n_jobs)

    def merge(self, other: Self) -> None:
        """Add what another accumulator of the same classes and bins has counted.

        Parameters
        ----------
        other : RocAccumulator
            Stays as it is.
        """
        if not isinstance(other, RocAccumulator):
            raise InputError("other", "must be a RocAccumulator", shown(type(other).__name__))
        for name, mine, theirs in (
            ("labels", self._labels.tolist(), other.labels.tolist()),
            ("score_kind", self.bins.scores, other.bins.scores),
            ("mantissa_bits", self.bins.mantissa_bits, other.bins.mantissa_bits),
        ):
            if mine != theirs:
                raise InputError("other", f"must have the same `{name}` as this one, {shown(mine)}", shown(theirs))
        self.tally.merge(other.tally)

    def reset(self) -> None:
        """Forget all samples."""
        self.tally = Tally(self._labels, self.bins)

    @underflow_is_zero
    def compute(self) -> Evaluation:
        """The evaluation of all samples so far; later batches do not change it.

        Returns
        -------
        Evaluation
            With point estimates. Standard errors and intervals need a second pass (`second_pass`); what needs single
            samples raises a ValueError that says so. `binning_error` says how far bins can have moved D and M; more
            than 0.001 for M is a warning, and more than 0.05 an error.
        """
        check_class_counts(self.tally.class_counts, self._labels.tolist())
        return evaluate_counts(self.tally.counts(), self.options, self.exact)

    def second_pass(self) -> "SecondPass":
        """Begin a second pass over the same samples, which gives standard errors and intervals.

        Returns
        -------
        SecondPass
            With `update`, `merge` and `compute`.

        Examples
        --------
        >>> import polyroc
        >>> example = polyroc.load_example()
        >>> accumulator = polyroc.RocAccumulator(range(10))
        >>> accumulator.update(example.y_true, example.scores["tree"])
        >>> second = accumulator.second_pass()
        >>> second.update(example.y_true, example.scores["tree"])
        >>> round(second.compute().standard_error, 4)
        0.0069
        """
        from polyroc.streams._second_pass import SecondPass

        return SecondPass(self)

    def state_dict(self) -> dict[str, Any]:
        """All that has been counted as plain arrays, to be stored (`numpy.savez`) or sent.

        Returns
        -------
        dict of str to ndarray
            The same bytes for the same samples without weights, whatever the order in which they came.
        """
        tally, columns = self.tally, [counter.occupied for counter in self.tally.counters]
        rows = [counter.at(bins) for counter, bins in zip(tally.counters, columns, strict=True)]
        only = [counter.scores_at(bins) for counter, bins in zip(tally.counters, columns, strict=True)]
        scores = np.concatenate([np.zeros(0), *only])
        k = len(self._labels)
        return {
            "header": packed_header(
                _KIND,
                self._labels.tolist(),
                score_kind=self.bins.scores,
                mantissa_bits=self.bins.mantissa_bits,
                weighted=tally.is_weighted,
            ),
            "column_sizes": np.array([len(bins) for bins in columns], dtype=np.int64),
            "bins": np.concatenate([np.zeros(0, dtype=np.int64), *columns]),
            "rows": np.concatenate(rows) if rows else np.zeros((0, k), dtype=np.int64),
            # The score of all samples of a bin; 0 if they have several, of which it is known only that.
            "scores": np.where(np.isfinite(scores), scores, 0.0),
            "has_several": (scores == SEVERAL_SCORES).astype(np.uint8),
            **{name: getattr(tally, name).copy() for name in _TABLES},
            # Without samples there is no lowest score, and infinities do not belong in a state.
            "ranges": np.stack([tally.lowest, tally.highest]) if np.isfinite(tally.lowest).all() else np.zeros((0, k)),
            "worst_row": np.array([tally.worst_row]),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what another accumulator of the same classes and bins had counted, in place of all so far.

        Parameters
        ----------
        state : mapping of str to ndarray
            As `state_dict` gives it. Whatever is cut short, of another version or other classes, or does not add up is
            refused, and changes nothing.
        """
        header = read_header(state, _KIND)
        check_same(
            header,
            labels=self._labels.tolist(),
            score_kind=self.bins.scores,
            mantissa_bits=self.bins.mantissa_bits,
        )
        self.tally = _tally_of(state, bool(header.get("weighted")), self.tally)


def _integer(value: Any, name: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= most:
        raise InputError(name, f"must be an integer from {least} to {most:,}", shown(value))
    return int(value)


def _tally_of(state: Mapping[str, Any], weighted: bool, like: Tally) -> Tally:
    """The counts of a state of the same kind as a tally, each of them checked against the others."""
    labels, bins = like.labels, like.bins
    k, kinds = len(labels), "f" if weighted else "iu"
    sizes = read_array(state, "column_sizes", (None,), "iu")
    check_counts("column_sizes", sizes)
    if len(sizes) not in ((0, k) if k > 2 else (0, 1, 2)):
        raise InputError("state", f"must have {k} columns", f"{len(sizes)}")
    indices = read_array(state, "bins", (int(sizes.sum()),), "iu")
    rows = read_array(state, "rows", (int(sizes.sum()), k), kinds)
    scores = read_array(state, "scores", (len(rows),), "f")
    scores[read_array(state, "has_several", (len(rows),), "iu") > 0] = SEVERAL_SCORES
    scores[~rows.any(axis=1)] = NO_SCORE
    tally = Tally(labels, bins)
    tally.is_weighted = weighted
    for name, (n_axes, is_whole) in _TABLES.items():
        own_kinds = kinds if is_whole is None else "iu" if is_whole else "f"
        setattr(tally, name, read_array(state, name, n_axes * (k,), own_kinds))
        check_counts(name, getattr(tally, name))
    ranges = read_array(state, "ranges", (None, k), "f")
    [tally.worst_row] = read_array(state, "worst_row", (1,), "f").tolist()
    check_counts("rows", rows)
    if len(ranges) == 2:
        tally.lowest, tally.highest = ranges
    tally.set_columns(len(sizes))
    expected = tally.class_weights if weighted else tally.class_counts
    ends = np.cumsum(sizes)
    for counter, start, end in zip(tally.counters, ends - sizes, ends, strict=True):
        own = indices[start:end]
        if len(own) and (own[0] < 0 or own[-1] >= bins.n_bins or np.any(np.diff(own) <= 0)):
            raise InputError("state", f"must hold rising bins from 0 to {bins.n_bins - 1} of each column")
        counter.add_rows(own, rows[start:end], scores[start:end])
        if not np.allclose(rows[start:end].sum(axis=0), expected, rtol=1e-9, atol=0):
            rule = "must hold as many scores of each class in every column as there are samples"
            raise InputError("state", rule, hint=": it is damaged")
    return tally
