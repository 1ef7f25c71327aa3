import numpy as np
import pytest
from numpy.testing import assert_allclose

from polyroc._uncertainty.units import normal_errors

# Eigenvalues that are alike, one after the other, and 0: where eigenvectors are free, and where they are not.
COVARIANCES = {
    "exchangeable": 1e-4 * (0.6 + 0.4 * np.eye(6)),
    "distinct": np.diag(np.arange(1.0, 7)) + 0.3,
    "singular": np.outer(np.arange(6.0), np.arange(6.0)),
    "nothing": np.zeros((6, 6)),
}


@pytest.mark.parametrize("name", COVARIANCES)
def test_errors_have_the_covariance(name):
    covariance = COVARIANCES[name]
    root = normal_errors(np.eye(6), covariance)
    assert_allclose(root @ root.T, covariance, atol=1e-14 * max(1.0, covariance.max()))


@pytest.mark.parametrize("name", COVARIANCES)
def test_errors_do_not_depend_on_how_eigenvectors_are_chosen(name, monkeypatch):
    """As LAPACK of another machine chooses them: other signs, and other directions where eigenvalues are alike."""
    covariance = COVARIANCES[name]
    noise = np.random.default_rng(0).normal(size=(50, 6))
    expected = normal_errors(noise, covariance)
    values, vectors = np.linalg.eigh(covariance)
    rng, turned = np.random.default_rng(1), vectors.copy()
    for value in np.unique(values.round(12)):
        same = np.flatnonzero(values.round(12) == value)
        turned[:, same] = -vectors[:, same] @ np.linalg.qr(rng.normal(size=(len(same), len(same))))[0]
    assert not np.allclose(turned, vectors)
    monkeypatch.setattr(np.linalg, "eigh", lambda _covariance: (values, turned))
    # The root of what rounding leaves of an eigenvalue of 0 is much larger than that.
    assert_allclose(normal_errors(noise, covariance), expected, atol=1e-6 * np.sqrt(max(1e-8, covariance.max())))
