"""Means of the areas of pairs: Hand and Till's M, one class against the rest, and Kleiman and Page's AUCmu."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from polyroc._core import Prepared, Resources, get_engine
from polyroc._core.rates import all_pairs
from polyroc._core.samples import class_shares, in_range, mann_whitney, warn_of_disagreement
from polyroc._core.weights import relative_class_weights
from polyroc._inputs.checks import InputError, one_of
from polyroc._inputs.options import as_square, as_weights
from polyroc._inputs.predictions import as_predictions
from polyroc._lib.typing import FloatArray, IntArray, LabelArray, Thresholds
from polyroc._lib.warnings import underflow_is_zero
from polyroc._records import PairIndex, Predictions, SomePairs


@underflow_is_zero
def hand_till(y_true: Any, y_score: Any, *, labels: Any = None, sample_weight: Any = None) -> float:
    """Mean area over all pairs of classes, the M of Hand and Till.

    M is the mean of (A(i, j) + A(j, i)) / 2 over the unordered pairs of the classes that have samples, where A(i, j) is
    the probability that a sample of class i scores higher in column i than a sample of class j, ties counting one half.
    With two classes it is the ordinary AUC.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes.
    y_score : array-like or frame of shape (n_samples, n_classes)
        One score per class, higher meaning more likely; for two classes also shape (n_samples,), the score of the
        second. Only the order within each column matters.
    labels : array-like of shape (n_classes,), optional
        The classes in the order of the columns of `y_score`.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights; only their ratios within a class matter.

    Returns
    -------
    float
        M, between 0 and 1; 1/2 for scores without information.

    Raises
    ------
    ValueError
        If an argument breaks one of the rules above.

    References
    ----------
    .. [1] D. J. Hand and R. J. Till, "A simple generalisation of the area under the ROC curve for multiple class
       classification problems", Machine Learning 45, 171-186, 2001.

    Examples
    --------
    A(2, 0) is 1/2, because the score of the sample of class 2 lies between those of class 0 in the last column; the
    five other areas are 1.

    >>> from polyroc.baselines import hand_till
    >>> y_score = [[0.9, 0.1, 0.0], [0.4, 0.1, 0.5], [0.2, 0.7, 0.1], [0.3, 0.4, 0.3]]
    >>> round(hand_till([0, 0, 1, 2], y_score), 6)
    0.916667
    """
    predictions = as_predictions(y_true, y_score, labels=labels, sample_weight=sample_weight)
    warn_of_disagreement(predictions)
    return hand_till_of(predictions)


def hand_till_of(predictions: Predictions) -> float:
    """M of checked predictions; of two classes, the area of their pair."""
    # Hand and Till (2001), eq. 7: both orders of a pair occur once, so the mean over ordered pairs is M.
    engine = get_engine("auto", predictions, n_thresholds=0)
    return float(engine.prepare(predictions, Resources()).areas(all_pairs(predictions)).mean())


@underflow_is_zero
def one_vs_rest(
    y_true: Any,
    y_score: Any,
    *,
    average: Literal["macro", "weighted"] = "macro",
    labels: Any = None,
    sample_weight: Any = None,
) -> float:
    """Mean over the classes of the area of each class against all the others.

    The area of class i is the probability that a sample of class i scores higher in column i than a sample of any other
    class, ties counting one half. Classes without samples are left out. With two classes it is the ordinary AUC.

    Parameters
    ----------
    y_true, y_score, labels, sample_weight : array-like
        As in `hand_till`.
    average : {"macro", "weighted"}
        Whether all classes count the same, or each by its share of the samples.

    Returns
    -------
    float
        The mean area, between 0 and 1; 1/2 for scores without information.

    Raises
    ------
    ValueError
        If an argument breaks one of the rules above.

    References
    ----------
    .. [1] F. Provost and P. Domingos, "Well-trained PETs: improving probability estimation trees", CeDER working paper
       IS-00-04, Stern School of Business, New York University, 2000 (weighted).
    .. [2] T. Fawcett, "Using rule sets to maximize ROC performance", IEEE International Conference on Data Mining,
       131-138, 2001 (macro).

    Examples
    --------
    Against the rest, classes 0 and 1 are separated; class 2 wins two of its three comparisons in the last column.

    >>> from polyroc.baselines import one_vs_rest
    >>> y_score = [[0.9, 0.1, 0.0], [0.4, 0.1, 0.5], [0.2, 0.7, 0.1], [0.3, 0.4, 0.3]]
    >>> round(one_vs_rest([0, 0, 1, 2], y_score), 6)
    0.888889
    >>> round(one_vs_rest([0, 0, 1, 2], y_score, average="weighted"), 6)
    0.916667
    """
    average = one_of(average, "average", ("macro", "weighted"))
    predictions = as_predictions(y_true, y_score, labels=labels, sample_weight=sample_weight)
    warn_of_disagreement(predictions)
    relative = relative_class_weights(predictions)
    share = relative / relative.sum()
    pairs = all_pairs(predictions)
    engine = get_engine("auto", predictions, n_thresholds=0, n_pairs=len(pairs))
    areas = mixed_areas(pairs, engine.prepare(predictions, Resources()).areas(pairs), share)
    compared = ~np.isnan(areas)
    return float(np.average(areas[compared], weights=None if average == "macro" else share[compared]))


def mixed_areas(pairs: PairIndex, areas: FloatArray, weight: FloatArray) -> FloatArray:
    """Area of each class against all the others, from those of its pairs, shape (k,); NaN where it is not compared.

    The rest is a mixture of classes, so its area is the mean of the pairwise ones by the weights of the classes.
    """
    rest = weight[pairs.negative]
    total = np.bincount(pairs.positive, rest, minlength=len(weight))
    won = np.bincount(pairs.positive, rest * areas, minlength=len(weight))
    against_rest: FloatArray = np.divide(won, total, out=np.full(len(weight), np.nan), where=total > 0)
    return against_rest


@underflow_is_zero
def auc_mu(
    y_true: Any,
    y_score: Any,
    *,
    partition: Any = None,
    costs: Any = None,
    labels: Any = None,
    sample_weight: Any = None,
) -> float:
    """Mean area over all pairs of classes, each ranked along the direction that separates the two.

    A partition matrix A, where A[a, b] is the cost of predicting a for a true b, divides the space of scores p into
    regions: the predicted class is the one of least expected cost (A p)[a]. Classes i and j are ranked along the normal
    of the boundary between their regions, by (A[j] - A[i]) · p, the expected cost of predicting j less that of
    predicting i; S(i, j) is the probability that a sample of class i lies higher than a sample of class j, ties
    counting one half, and AUCmu the mean of S(i, j) over the unordered pairs of the classes that have samples. By
    default the class of the highest score is predicted, and the ranking is by p[i] - p[j]. With two classes it is the
    ordinary AUC, whatever the matrix.

    Parameters
    ----------
    y_true, y_score, labels, sample_weight : array-like
        As in `hand_till`; but differences of columns are ranked, so the columns of `y_score` must be on one scale, as
        probabilities are.
    partition : array-like of shape (n_classes, n_classes), optional
        The matrix A of the paper: rows predicted, columns true. For every two classes, A[i, j] + A[j, i] must exceed
        A[i, i] + A[j, j]. Ones off the diagonal and zeros on it by default.
    costs : array-like of shape (n_classes, n_classes), optional
        The same as `polyroc.evaluate` takes, in place of `partition`: rows true, columns predicted, positive off the
        diagonal, which is ignored. It is the partition matrix transposed.

    Returns
    -------
    float
        AUCmu, between 0 and 1; 1/2 for scores without information.

    Raises
    ------
    ValueError
        If an argument breaks one of the rules above, or if both matrices are given.

    References
    ----------
    .. [1] R. Kleiman and D. Page, "AUCmu: a performance metric for multi-class machine learning models", International
       Conference on Machine Learning, PMLR 97, 3439-3447, 2019.

    Examples
    --------
    Ranked by p[0] - p[2], the two samples of class 0 lie at 0.9 and -0.1, the sample of class 2 at 0.0 between them, so
    S(0, 2) is 1/2. The other two pairs are separated.

    >>> from polyroc.baselines import auc_mu
    >>> y_score = [[0.9, 0.1, 0.0], [0.4, 0.1, 0.5], [0.2, 0.7, 0.1], [0.3, 0.4, 0.3]]
    >>> round(auc_mu([0, 0, 1, 2], y_score), 6)
    0.833333

    If predicting 2 for a true 0 costs three times as much, the ranking of these classes is by 3 p[0] - p[2], and all
    three pairs are separated.

    >>> costs = [[0, 1, 3], [1, 0, 1], [1, 1, 0]]
    >>> auc_mu([0, 0, 1, 2], y_score, costs=costs)
    1.0
    """
    predictions = as_predictions(y_true, y_score, labels=labels, sample_weight=sample_weight)
    warn_of_disagreement(predictions)
    matrix = _partition_matrix(predictions.labels, partition, costs)
    if predictions.is_binary:
        # Where two scores sum to one, every matrix ranks by the second.
        return hand_till_of(predictions)
    present = np.flatnonzero(predictions.class_counts)
    first, second = np.triu_indices(len(present), 1)
    pairs = SomePairs(present[first], present[second], present[first])
    if matrix is None:
        engine = get_engine("auto", predictions, n_thresholds=0, n_pairs=len(pairs))
        return float(engine.prepare(predictions, Resources()).areas(pairs, "difference").mean())
    return float(_contrast_areas(predictions, pairs, matrix).mean())


def auc_mu_functional(prepared: Prepared) -> tuple[float, FloatArray]:
    """AUCmu with the default partition, and what each sample adds to it, shape (n,): 0 in sum over each class.

    Of two classes the ordinary area and its influences.
    """
    pairs = all_pairs(prepared.source)
    ranking: Thresholds = "own" if prepared.source.is_binary else "difference"
    share = np.full(len(pairs), 1 / len(pairs))
    # First, because an engine that sorts with the samples need not sort again without them.
    influences = prepared.area_influences(pairs, share, ranking)
    # Both orders of a pair have the same area, so the mean over ordered pairs is AUCmu.
    return float(prepared.areas(pairs, ranking).mean()), influences


def _partition_matrix(labels: LabelArray, partition: Any, costs: Any) -> FloatArray | None:
    """The matrix A of the paper from `partition` or `costs`; None by default, where A is 1 off the diagonal."""
    if partition is not None and costs is not None:
        raise InputError("partition", "must be None where `costs` is given", "both")
    diagonal = np.eye(len(labels), dtype=bool)
    weights = as_weights(costs, "costs", labels)
    if weights is not None:
        return in_range(np.where(diagonal, 0.0, weights)).T
    if partition is not None:
        matrix = as_square(partition, "partition", labels)
        _require("partition", matrix, np.isfinite(matrix), "finite")
        unscaled, matrix = matrix, in_range(matrix)
        # The normal must point from j to i: [1], in its O, (e_i - e_j) . v has the same sign for all pairs.
        excess = matrix + matrix.T - np.diag(matrix) - np.diag(matrix)[:, None]
        rule = "such that confusing two classes costs more than predicting both correctly"
        _require("partition", unscaled, diagonal | (excess > 0), rule)
        return matrix
    return None


def _require(name: str, matrix: FloatArray, holds: NDArray[np.bool_], rule: str) -> None:
    if not holds.all():
        row, column = np.argwhere(~holds)[0]
        raise InputError(name, f"must be {rule}", f"{matrix[row, column]} in row {row}, column {column}")


def _contrast_areas(predictions: Predictions, pairs: PairIndex, partition: FloatArray) -> FloatArray:
    """Mann-Whitney area of each pair along (A[negative] - A[positive]) · p, shape (K,)."""
    # In [1] v = A[i] - A[j] points towards class j; here it is turned round. No order of a column serves two pairs.
    scores, share = in_range(predictions.scores), class_shares(predictions)
    members = [np.flatnonzero(predictions.codes == c) for c in range(len(predictions.labels))]
    areas = np.empty(len(pairs))
    for pair, (i, j) in enumerate(zip(pairs.positive, pairs.negative, strict=True)):
        both = np.concatenate([members[i], members[j]])
        score = _project(scores, both, partition[j] - partition[i])
        is_first = np.repeat([1, 0], [len(members[i]), len(members[j])])
        areas[pair] = mann_whitney(score, is_first, None if share is None else share[both])
    return areas


def _project(scores: FloatArray, samples: IntArray, normal: FloatArray) -> FloatArray:
    """The sum of normal times score of each of the samples."""
    # Not a matrix product: BLAS may round equal rows differently, and so break ties.
    projected = np.zeros(len(samples))
    for c in np.flatnonzero(normal):
        projected += normal[c] * scores[samples, c]
    return projected
