"""The polytomous discrimination index on the fast engine: classes that are sorted already, merged column by column.

The formula is that of `polyroc._engines._numpy._pdi`. Without ties the term of a sample x of class i is the product of
the shares L_j below it, and a sample of class j has a part in the terms of all x above it: a sum from the top.
"""

from typing import Any

import numpy as np

from polyroc._engines._numba._class_sorted import ClassSorted
from polyroc._engines._numba._compile import borrowed, inner, kernel
from polyroc._engines._numba._cuts import called_share
from polyroc._engines._numba._influence_kernels import Sorted
from polyroc._engines._numpy._pdi import added_terms
from polyroc._engines._protocol import PdiTerms
from polyroc._engines._samples import centred
from polyroc._lib.threads import Threads, chunks
from polyroc._lib.typing import FloatArray
from polyroc._records import Predictions

# Tasks have sums of their own, of n numbers each.
_MOST_TASKS = 16
_TINY = float(np.finfo(np.float64).tiny)


def compiled_pdi_terms(predictions: Predictions, runs: ClassSorted, threads: Threads) -> PdiTerms:
    """PDI of each class and what each sample adds; columns in which classes are tied are left to the reference."""
    present = np.flatnonzero(predictions.class_counts)
    classes = Sorted(runs.values, runs.offsets, runs.order)
    tails = runs.tails(predictions.sample_weight, threads)
    by_class = np.full(len(predictions.labels), np.nan)

    def add(first: int, last: int) -> FloatArray:
        out = np.zeros(predictions.n_samples)
        add_columns(classes, tails, present, first, last, by_class, out)
        return out

    # Cut by the number of columns alone, so that threads change no bit.
    parts = threads.imap(add, chunks(len(present), 1, _MOST_TASKS))
    total = next(parts)
    for part in parts:
        total += part
    tied = present[np.isnan(by_class[present])]
    if len(tied):
        total += added_terms(predictions, tied, threads, by_class)
    [influences] = centred(total[None] / len(present), predictions)
    return PdiTerms(by_class, np.asarray(influences))


@kernel
def add_columns(classes: Any, tails: Any, present: Any, start: int, stop: int, by_class: Any, out: Any) -> None:
    """Add the terms of the columns of some classes, given each sample, to `out` (n,), and write PDI to `by_class`.

    A column in which a class is tied with another is skipped: its PDI stays as it is.
    """
    classes = borrowed(classes)
    offsets, n_classes = classes.offsets, present.shape[0]
    longest = np.int64(0)
    for c in range(start, stop):
        longest = max(longest, offsets[present[c] + 1] - offsets[present[c]])
    # For each class, by the samples of the column's own class in rising order: how many lie below, and what share.
    below, share = np.empty((n_classes, longest), np.int64), np.empty((n_classes, longest))
    own, term, quotient = np.empty(longest), np.empty(longest), np.empty(longest)
    for place in range(start, stop):
        i = present[place]
        n = offsets[i + 1] - offsets[i]
        fill_own(tails, offsets, i, own[:n])
        term[:n] = 1.0
        is_tied = False
        for c in range(n_classes):
            if c != place and not is_tied:
                is_tied = count_below(classes, tails, i, present[c], below[c, :n], share[c, :n])
                for p in range(n):
                    term[p] *= share[c, p]
        if is_tied:
            continue
        order, won, of_all = classes.order[i], 0.0, 0.0
        for p in range(n):
            out[order[offsets[i] + p]] += term[p]
            won += own[p] * term[p]
            of_all += own[p]
        # Shares may sum to the next float after 1.
        by_class[i] = min(1.0, won / of_all)
        for c in range(n_classes):
            if c == place:
                continue
            for p in range(n):
                # Where a share is 0, so is the term, and the class has no sample here that would read the quotient.
                quotient[p] = own[p] * term[p] / max(share[c, p], _TINY)
            hand_down(quotient[:n], below[c, :n], order[offsets[present[c]] : offsets[present[c] + 1]], out)


@inner
def fill_own(tails: Any, offsets: Any, i: int, own: Any) -> None:
    """Each sample's share of the class of a column."""
    n = own.shape[0]
    if tails is None:
        own[:] = 1.0 / n
        return
    tail = tails[i, offsets[i] : offsets[i + 1]]
    for p in range(n):
        own[p] = tail[p] - called_share(tail, p + 1, n)


@inner
def count_below(classes: Any, tails: Any, i: int, j: int, below: Any, share: Any) -> bool:
    """How many samples of class j, and what share, lie below each of class i in column i; whether two are tied."""
    offsets = classes.offsets
    a = classes.values[i, offsets[i] : offsets[i + 1]]
    b = classes.values[i, offsets[j] : offsets[j + 1]]
    n_b, at = b.shape[0], 0
    for p in range(a.shape[0]):
        while at < n_b and b[at] < a[p]:
            at += 1
        if at < n_b and b[at] == a[p]:
            return True
        below[p] = at
    if tails is None:
        for p in range(a.shape[0]):
            share[p] = below[p] / n_b
    else:
        tail = tails[i, offsets[j] : offsets[j + 1]]
        for p in range(a.shape[0]):
            share[p] = 1.0 - called_share(tail, below[p], n_b)
    return False


@inner
def hand_down(quotient: Any, below: Any, order: Any, out: Any) -> None:
    """Add to each sample of a class, from the top, the sum of what lies above it; `below` rises with the quotients."""
    p, total = quotient.shape[0] - 1, 0.0
    for q in range(order.shape[0] - 1, -1, -1):
        while p >= 0 and below[p] > q:
            total += quotient[p]
            p -= 1
        out[order[q]] += total
