"""Diagnostic studies for tests of summary ROC curves."""

import numpy as np

# Kriston et al. (2008), "Meta-analysis: Are 3 questions enough to detect unhealthy alcohol use?", Annals of Internal
# Medicine 149; in R: library(mada); data(AuditC).
AUDIT_C = {
    "TP": [47, 126, 19, 36, 130, 84, 68, 752, 59, 142, 137, 57, 34, 152],
    "FN": [9, 51, 10, 3, 19, 2, 0, 0, 5, 50, 24, 3, 1, 51],
    "FP": [101, 272, 12, 78, 211, 68, 112, 3226, 55, 571, 107, 103, 21, 88],
    "TN": [738, 1543, 192, 276, 959, 89, 423, 2977, 136, 2788, 358, 437, 56, 264],
}
AUDIT_C_TABLE = np.array(list(AUDIT_C.values())).T


def simulated(rng, mean, between, n_studies, sizes):
    """Counts of studies of the bivariate model with binomial counts; sizes are of diseased and of healthy people."""
    logits = rng.multivariate_normal(mean, between, size=n_studies)
    rates = 1 / (1 + np.exp(-logits))
    positive = rng.binomial(sizes, rates)
    return np.stack([positive[:, 0], sizes[0] - positive[:, 0], positive[:, 1], sizes[1] - positive[:, 1]], axis=1)
