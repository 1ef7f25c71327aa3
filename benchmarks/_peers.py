"""What polyroc is compared with. Each takes labels and probabilities; a package is imported when it is measured."""

from itertools import combinations

import numpy as np

NAMES = {
    "sklearn_ovo": "scikit-learn ovo",
    "sklearn_ovr": "scikit-learn ovr",
    "sklearn_bootstrap": "scikit-learn ovo",
    "torchmetrics_ovr": "torchmetrics ovr",
}


def sklearn_ovo(y_true, y_score):
    from sklearn.metrics import roc_auc_score

    return roc_auc_score(y_true, y_score, multi_class="ovo")


def sklearn_ovr(y_true, y_score):
    from sklearn.metrics import roc_auc_score

    return roc_auc_score(y_true, y_score, multi_class="ovr")


def sklearn_some_pairs(y_true, y_score, n_pairs):
    """The loop of scikit-learn's ovo over a random sample of its pairs, with the function that it calls for each."""
    from sklearn import config_context
    from sklearn.metrics._ranking import _binary_roc_auc_score

    pairs = list(combinations(range(y_score.shape[1]), 2))
    chosen = np.random.default_rng(0).choice(len(pairs), n_pairs, replace=False)
    areas = []
    # roc_auc_score switches the checks of what it calls off in the same way.
    with config_context(skip_parameter_validation=True):
        for a, b in (pairs[p] for p in chosen):
            a_mask, b_mask = y_true == a, y_true == b
            either = np.logical_or(a_mask, b_mask)
            areas.append(_binary_roc_auc_score(a_mask[either], y_score[either, a]))
            areas.append(_binary_roc_auc_score(b_mask[either], y_score[either, b]))
    return np.mean(areas)


def sklearn_resamples(y_true, y_score, n_resamples):
    """A bootstrap of ovo as one would write it: draw within each class, take those rows, score."""
    rng = np.random.default_rng(0)
    members = [np.flatnonzero(y_true == c) for c in range(y_score.shape[1])]
    for _ in range(n_resamples):
        rows = np.concatenate([rng.choice(m, len(m)) for m in members])
        area = sklearn_ovo(y_true[rows], y_score[rows])
    return area


def torchmetrics_ovr(y_true, y_score):
    """torchmetrics has no average over pairs; its exact one-vs-rest is the nearest."""
    import torch
    from torchmetrics.functional.classification import multiclass_auroc

    scores, labels = torch.from_numpy(y_score), torch.from_numpy(y_true)
    return float(multiclass_auroc(scores, labels, num_classes=y_score.shape[1], average="macro", thresholds=None))
