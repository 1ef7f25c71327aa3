"""What shares are tested by: errors of differences of costs, and replicates of what costs are off by."""

import numpy as np
from numpy.testing import assert_allclose

from polyroc.costs._profile import Batches, replicated_errors


def test_errors_and_replicates_have_the_variance_of_samples_and_the_luck_of_tuning():
    rng = np.random.default_rng(0)
    stratum = np.repeat([0, 1], [40, 25])
    influences = rng.normal(size=(65, 2, 3)) * [[[0.02], [0.03]]]
    # Influences sum to nothing within each stratum.
    for one in (0, 1):
        influences[stratum == one] -= influences[stratum == one].mean(axis=0)
    luck = np.array([[0.1, 0.2, 0.0], [0.3, 0.0, 0.4]])
    errors, found = replicated_errors(influences, luck, Batches(np.arange(65), stratum), 4_000, seed=1)
    scale = np.where(stratum == 0, 40 / 39, 25 / 24)[:, None]
    apart = influences[:, 0] - influences[:, 1]
    expected = np.sqrt((scale * apart**2).sum(axis=0) + luck[0] ** 2 + luck[1] ** 2)
    assert_allclose(errors[0, 1], expected)
    assert_allclose(errors[1, 0], expected)
    # 4,000 replicates know a standard deviation to 1.1 %.
    assert_allclose((found[:, 0] - found[:, 1]).std(axis=0), expected, rtol=0.05)
    # One luck for all matrices of a model.
    assert np.corrcoef(found[:, 0, 0], found[:, 0, 1])[0, 1] > 0.3
