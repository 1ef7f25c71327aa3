"""What tests of Dask and of Spark compare with: one accumulator over all samples."""

import numpy as np
from numpy.testing import assert_allclose

import polyroc


def problem(seed, n=900, k=4, ties=False):
    """Labels, probabilities and weights; the last class is rare."""
    rng = np.random.default_rng(seed)
    y_true = rng.choice(k, size=n, p=np.r_[np.full(k - 1, 0.95 / (k - 1)), 0.05])
    y_true[:k] = np.arange(k)
    logits = 1.5 * np.eye(k)[y_true] + rng.normal(size=(n, k))
    y_score = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    if ties:
        y_score = np.round(y_score, 1)
    return y_true, y_score, rng.gamma(2.0, size=n) * (rng.uniform(size=n) > 0.1)


def local(y_true, y_score, sample_weight=None, groups=None, labels=range(4), **options):
    """An accumulator of all samples at once, and its second pass."""
    accumulator = polyroc.RocAccumulator(labels, **options)
    accumulator.update(y_true, y_score, sample_weight)
    second = accumulator.second_pass()
    second.update(y_true, y_score, sample_weight, groups=groups)
    return accumulator, second.compute()


def compared(y_true, scores, sample_weight=None, labels=range(4)):
    """The comparison of several models in one process."""
    accumulators = {name: polyroc.RocAccumulator(labels) for name in scores}
    for name, accumulator in accumulators.items():
        accumulator.update(y_true, scores[name], sample_weight)
    second = polyroc.PairedSecondPass(accumulators)
    second.update(y_true, scores, sample_weight)
    return second.compute()


def assert_same(evaluation, expected, exact=True):
    """The same D, to the last bit where there are no weights, and the same standard error."""
    if exact:
        assert evaluation.auc == expected.auc
        assert evaluation.hand_till == expected.hand_till
        assert evaluation.curve.tpr.tobytes() == expected.curve.tpr.tobytes()
        for mine, theirs in zip(evaluation.fitted.source.columns, expected.fitted.source.columns, strict=True):
            assert mine.bins.tobytes() == theirs.bins.tobytes()
            assert mine.weight.tobytes() == theirs.weight.tobytes()
    assert_allclose(evaluation.auc, expected.auc, rtol=1e-12)
    assert_allclose(evaluation.hand_till, expected.hand_till, rtol=1e-12)
    assert_allclose(evaluation.standard_error, expected.standard_error, rtol=1e-12)


def assert_same_differences(found, expected):
    """The same differences of models, and the same intervals."""
    for mine, theirs in zip(found.by_auc.differences, expected.by_auc.differences, strict=True):
        assert_allclose([mine.value, mine.low, mine.high], [theirs.value, theirs.low, theirs.high], rtol=0, atol=1e-12)
