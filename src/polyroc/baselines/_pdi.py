"""Van Calster's PDI: of one sample of each class, how often each class's own column is highest for it.

For a sample x of class i the samples of the other classes are drawn independently, so that x wins with the probability

    term(x) = integral over u from 0 to 1 of the product over j != i of (L_j + u T_j),

L_j being the share of class j below x in column i and T_j the share tied with x. The integral divides a tie of l
samples into 1/l each: give every sample a uniform number that decides ties, and u is that of x. The integrand is a
polynomial whose degree t is the number of classes tied with x, so Gauss and Legendre's rule with t // 2 + 1 nodes is
exact; without ties it is the plain product. A column is read into a table of classes by distinct scores of class i,
which has O(n_i k) cells: O(nk) for all columns, and at most k / 2 times that with ties.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from polyroc._core import Prepared
from polyroc._core.samples import centred, class_shares, warn_of_disagreement
from polyroc._inputs.arrays import plain
from polyroc._inputs.predictions import as_predictions
from polyroc._lib.threads import Threads, chunks
from polyroc._lib.typing import FloatArray, IntArray, LabelArray
from polyroc._lib.warnings import underflow_is_zero
from polyroc._records import Frozen, Predictions, read_only
from polyroc._uncertainty.influence import whole_error
from polyroc._uncertainty.units import units_of

# Cells of a table that are computed at once: some arrays of them lie in the cache together.
_CELLS = 2**17
# Columns that are copied at once: that many scores of a row share a line of the cache.
_TOGETHER = 8
# Tasks have sums of their own, of n numbers each.
_MOST_TASKS = 16
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class Pdi(Frozen):
    """Result of `pdi`; ``float(...)`` of it is the value.

    Attributes
    ----------
    value : float
        The mean of `per_class` over the classes that have samples.
    per_class : ndarray of shape (n_classes,)
        Probability that the sample of the class has the highest score in
        the class's column; NaN for a class without samples.
    standard_error : float
        Standard error of `value`, from what each sample contributes to it.
        0 where every class has one sample: they show no variation.
    labels : ndarray of shape (n_classes,)
        The classes.

    Examples
    --------
    >>> from polyroc.baselines import pdi
    >>> found = pdi([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> found.value, found.per_class.tolist()
    (0.75, [0.75, 0.75])
    """

    value: float
    per_class: FloatArray
    standard_error: float
    labels: LabelArray

    def __float__(self) -> float:
        return self.value

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers and lists, for JSON; None for a class without samples.

        Examples
        --------
        >>> from polyroc.baselines import pdi
        >>> pdi([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).to_dict()["per_class"]
        [0.75, 0.75]
        """
        return {
            "value": self.value,
            "per_class": [None if np.isnan(value) else float(value) for value in self.per_class],
            "standard_error": self.standard_error,
            "labels": plain(self.labels),
        }


@underflow_is_zero
def pdi(y_true: Any, y_score: Any, *, labels: Any = None, sample_weight: Any = None) -> Pdi:
    """Polytomous discrimination index: of one sample of each class, how often the right one scores highest.

    Take one sample of each class. PDI of class i is the probability that the sample of class i has the highest score in
    column i; if l samples share the highest score, each counts 1/l. PDI is the mean over the classes that have samples.
    With two classes it is the ordinary AUC.

    Parameters
    ----------
    y_true, y_score, labels, sample_weight : array-like
        As in `hand_till`.

    Returns
    -------
    Pdi
        The value with its standard error, and PDI of each class. The value is 1 / n_classes for scores without
        information.

    Raises
    ------
    ValueError
        If an argument breaks one of the rules above.

    Notes
    -----
    PDI is computed exactly, over all sets of one sample per class. It is a U-statistic, and its standard error comes
    from its structural components, as DeLong's does for the AUC.

    References
    ----------
    .. [1] B. Van Calster, V. Van Belle, Y. Vergouwe, D. Timmerman, S. Van Huffel and E. W. Steyerberg, "Extending the
       c-statistic to nominal polytomous outcomes: the Polytomous Discrimination Index", Statistics in Medicine 31,
       2610-2626, 2012.

    Examples
    --------
    There are two sets of one sample per class. Classes 0 and 1 win in both; class 2 loses to the second sample of class
    0 in the last column.

    >>> from polyroc.baselines import pdi
    >>> y_score = [[0.9, 0.1, 0.0], [0.4, 0.1, 0.5], [0.2, 0.7, 0.1], [0.3, 0.4, 0.3]]
    >>> found = pdi([0, 0, 1, 2], y_score)
    >>> found.per_class.tolist()
    [1.0, 1.0, 0.5]
    >>> round(float(found), 6)
    0.833333
    """
    predictions = as_predictions(y_true, y_score, labels=labels, sample_weight=sample_weight)
    warn_of_disagreement(predictions)
    terms = pdi_terms(predictions)
    return Pdi(
        value=_mean(terms),
        per_class=terms.by_class,
        standard_error=whole_error(terms.influences, units_of(predictions, None), 0.0),
        labels=predictions.labels,
    )


def pdi_functional(prepared: Prepared) -> tuple[float, FloatArray]:
    """PDI of samples made ready, and what each sample adds to it, shape (n,); 0 in sum over each class."""
    terms = pdi_terms(prepared.samples, prepared.resources.n_jobs)
    return _mean(terms), terms.influences


class PdiTerms(NamedTuple):
    """PDI of each class that has samples, and what each sample adds to their mean."""

    by_class: FloatArray
    """Shape (k,); NaN of classes without samples."""
    influences: FloatArray
    """Shape (n,); 0 in sum over each class."""


def _mean(terms: PdiTerms) -> float:
    return float(np.mean(terms.by_class[~np.isnan(terms.by_class)]))


def pdi_terms(predictions: Predictions, n_jobs: int | None = None) -> PdiTerms:
    """Polytomous discrimination index of each class, and the structural components of the mean."""
    present = np.flatnonzero(predictions.class_counts)
    by_class = np.full(len(predictions.labels), np.nan)
    # Two classes have one ranking, by the last column: what the one wins, the other loses in the column turned round.
    ranked = present[-1:] if predictions.is_binary else present
    with Threads(n_jobs) as threads:
        total = _added_terms(predictions, ranked, threads, by_class)
    if predictions.is_binary:
        by_class[present] = by_class[ranked]
    [influences] = centred(total[None] / len(ranked), predictions)
    return PdiTerms(by_class, np.asarray(influences))


def _added_terms(predictions: Predictions, ranked: IntArray, threads: Threads, by_class: FloatArray) -> FloatArray:
    """Influence of each sample in the columns of some classes, shape (n,); their PDI is written to `by_class`."""
    present = np.flatnonzero(predictions.class_counts)
    codes = np.searchsorted(present, predictions.codes)
    share = class_shares(predictions)

    def add(first: int, last: int) -> FloatArray:
        out = np.zeros(predictions.n_samples)
        for start in range(first, last, _TOGETHER):
            classes = ranked[start : min(start + _TOGETHER, last)]
            columns = np.ascontiguousarray(predictions.scores[:, [-1] if predictions.is_binary else classes].T)
            for i, score in zip(classes, columns, strict=True):
                column = _Column.of(score, codes, share, int(np.searchsorted(present, i)))
                by_class[i] = _add_column(column, len(present), out)
        return out

    # Cut by the number of columns alone, so that threads change no bit.
    parts = threads.imap(add, chunks(len(ranked), 1, _MOST_TASKS))
    total = next(parts)
    for part in parts:
        total += part
    return total


class _Column(NamedTuple):
    """The samples in rising order of a column; knots are the distinct scores of the class that it belongs to."""

    own: int
    """That class, as a position among those that have samples."""
    order: IntArray
    """The sample at each place, shape (n,)."""
    codes: IntArray
    share: FloatArray | None
    edges: IntArray
    """The place at which each bin begins; the last one is where the samples above all knots begin."""
    steps: int
    """Bins of each knot: one for what is at most as high, or, where other classes have ties, for below and at it."""

    @classmethod
    def of(cls, score: FloatArray, codes: IntArray, share: FloatArray | None, own: int) -> "_Column":
        order = np.argsort(score)
        ranked, codes = score[order], codes[order]
        knots = ranked[codes == own]
        n_own = len(knots)
        # Compared, not subtracted: the difference of two finite scores may overflow.
        knots = knots[np.concatenate([[True], knots[1:] != knots[:-1]])]
        begins, ends = (np.searchsorted(ranked, knots, side=side) for side in ("left", "right"))
        has_ties = int(np.sum(ends - begins)) > n_own
        bins = np.stack([begins, ends], axis=1).ravel() if has_ties else ends
        share = None if share is None else share[order]
        return cls(own, order, codes, share, np.concatenate([[0], bins]), 2 if has_ties else 1)

    @property
    def n_knots(self) -> int:
        return (len(self.edges) - 1) // self.steps

    def block(self, first: int, last: int) -> "_Block":
        """The knots from one to another."""
        edges = self.edges[self.steps * first : self.steps * last + 1]
        places = slice(int(edges[0]), int(edges[-1]))
        bins = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
        return _Block(places, bins + self.codes[places] * (len(edges) - 1), len(edges) - 1)

    def weights(self, places: slice, cells: IntArray, n_cells: int) -> FloatArray:
        """Weight of the samples in each cell: their number, or with weights their share of the class."""
        share = None if self.share is None else self.share[places]
        return np.bincount(cells, share, minlength=n_cells).astype(float, copy=False)


class _Block(NamedTuple):
    """Some knots of a column, few enough for a table of all classes by their bins."""

    places: slice
    """Where their samples are."""
    cells: IntArray
    """The cell of each of these samples in the table."""
    n_bins: int

    def cumulated(self, column: _Column, start: FloatArray) -> FloatArray:
        """Weight of each class up to each bin, shape (k, bins); `start` is the weight before them, shape (k,)."""
        table = column.weights(self.places, self.cells, len(start) * self.n_bins).reshape(len(start), -1)
        table[:, 0] += start
        return np.cumsum(table, axis=1, out=table)


def _add_column(column: _Column, n_classes: int, out: FloatArray) -> float:
    """PDI of the class of a column; to `out` is added the mean of the column's terms given each sample."""
    size = max(1, _CELLS // (n_classes * column.steps))
    spans = [(a, min(a + size, column.n_knots)) for a in range(0, column.n_knots, size)]
    starts: list[FloatArray] = [np.zeros(n_classes)]
    for span in spans[:-1]:
        starts.append(column.block(*span).cumulated(column, starts[-1])[:, -1])
    beyond = slice(int(column.edges[-1]), None)
    total, rest = np.empty(0), column.weights(beyond, column.codes[beyond], n_classes)
    # From the last knots to the first, because a sample adds to the terms of all knots above it.
    above: FloatArray = np.zeros((n_classes, 1))
    won = of_all = 0.0
    for span, start in zip(reversed(spans), reversed(starts), strict=True):
        block = column.block(*span)
        upto = block.cumulated(column, start)
        if len(total) == 0:
            total = upto[:, -1] + rest
        own = np.diff(upto[column.own, column.steps - 1 :: column.steps], prepend=start[column.own])
        own /= total[column.own]
        upto /= total[:, None]
        table, term = _mean_terms(upto, own, above, column)
        out[column.order[block.places]] += table.ravel()[block.cells]
        above = table[:, :1]
        won, of_all = won + float(np.sum(own * term)), of_all + float(np.sum(own))
    # Weights of the nodes may sum to the next float after 1.
    return min(1.0, won / of_all)


def _mean_terms(upto: FloatArray, own: FloatArray, above: FloatArray, column: _Column) -> tuple[FloatArray, FloatArray]:
    """Mean of the terms given a sample of each class in each bin, shape (k, bins), and the term of each knot, (m,).

    `above` is that mean, shape (k, 1), over the knots above these alone.
    """
    if column.steps == 1:
        upto[column.own] = 1.0
        term = np.prod(upto, axis=0)
        table = _summed_from(term * own / np.maximum(upto, _TINY), above)
        table[column.own] = term
        return table, term
    below, at = upto[:, 0::2].copy(), upto[:, 1::2] - upto[:, 0::2]
    below[column.own], at[column.own] = 1.0, 0.0
    won = _with_ties(below, at)
    table = np.empty_like(upto)
    table[:, 0::2] = _summed_from(won.if_below * own, above)
    table[:, 1::2] = np.concatenate([table[:, 2::2], above], axis=1) + won.if_tied * own
    table[column.own, 1::2] = won.term
    return table, won.term


def _summed_from(terms: FloatArray, above: FloatArray) -> FloatArray:
    """The sum of terms at each place and all after it, and of what comes above all of them."""
    summed: FloatArray = np.cumsum(terms[:, ::-1], axis=1)[:, ::-1] + above
    return summed


class _Won(NamedTuple):
    term: FloatArray
    """Probability that a sample at each knot wins, shape (m,)."""
    if_below: FloatArray
    """The same where the sample of class j is one below the knot, shape (k, m)."""
    if_tied: FloatArray
    """The same where it is one at the knot."""


def _with_ties(below: FloatArray, at: FloatArray) -> _Won:
    """The integrals over u for each knot, from the shares of each class below and at it, shape (k, m)."""
    won = _Won(np.empty(below.shape[1]), np.empty_like(below), np.empty_like(below))
    # The degree t is that of the term and of u times the product without one class, and q nodes serve up to 2q - 1.
    n_nodes = np.count_nonzero(at > 0, axis=0) // 2 + 1
    # Rounded up to powers of two, so that many knots share their nodes.
    n_nodes = 2 ** np.ceil(np.log2(n_nodes)).astype(int)
    for n in np.unique(n_nodes):
        knots = np.flatnonzero(n_nodes == n)
        low, tied = below[:, knots], at[:, knots]
        term, if_below, if_tied = np.zeros(len(knots)), np.zeros_like(low), np.zeros_like(low)
        for u, weight in zip(*_nodes(int(n)), strict=True):
            factor = low + u * tied
            product = weight * np.multiply.reduce(factor, axis=0)
            term += product
            # Where a factor is 0, so is the product, and its class has no sample here that would read the quotient.
            others = product / np.maximum(factor, _TINY)
            if_below += others
            if_tied += u * others
        won.term[knots], won.if_below[:, knots], won.if_tied[:, knots] = term, if_below, if_tied
    return won


@lru_cache(maxsize=16)
def _nodes(n: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of Gauss and Legendre from 0 to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return read_only((nodes + 1) / 2), read_only(weights / 2)
