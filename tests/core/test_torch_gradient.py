"""Gradients, effects and baselines of the torch engine: where they are, and that they are the reference's."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from preparing import prepared
from problems import gaussian_problem, quietly

import polyroc
from polyroc._core.adjoint import Gradient
from polyroc._inputs.predictions import as_predictions
from polyroc._records import Factorization

pytestmark = pytest.mark.full("torch")


def evaluated(**options):
    """12 classes: more pairs than rows."""
    problem = gaussian_problem(4, 600, 12, 1.5)
    return quietly(polyroc.evaluate, problem.y_true, problem.y_score, n_thresholds=9, **options)


def test_a_gradient_is_not_copied_to_the_host_unless_asked():
    evaluation = evaluated(engine="torch")
    gradient = evaluation.fitted.gradient("auc")
    asked = (evaluation.fitted.pairs, evaluation.rates.call_rates, "own")
    found = evaluation.fitted.prepared.influences(*asked, gradient)[0]
    assert "pair" not in vars(gradient)
    assert "pair_effects" not in vars(evaluation.factorization)
    expected = evaluated(engine="numpy")
    assert_allclose(found, expected.influences, rtol=0, atol=1e-9 * np.abs(expected.influences).max())
    assert gradient.pair.shape == (1, 3, 132)


def test_what_is_on_a_device_goes_into_a_pickle_as_arrays():
    evaluation = evaluated(engine="torch")
    gradient, factorization = evaluation.fitted.gradient("auc"), evaluation.factorization
    again, fit = pickle.loads(pickle.dumps((gradient, factorization)))
    assert type(again) is Gradient
    assert type(fit) is Factorization
    assert (again.cells == gradient.cells).all()
    assert (fit.pair_effects == factorization.pair_effects).all()
    other = replace(factorization, pair_effects=np.ones(132), n_iter=7)
    assert (other.pair_effects == 1).all()
    assert other.n_iter == 7
    assert (other.row_effects == factorization.row_effects).all()


@pytest.mark.parametrize("decimals", [8, 1])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_baselines_are_those_of_the_reference(decimals, is_weighted):
    problem = gaussian_problem(3, 200, 5, 1.2)
    weight = np.random.default_rng(1).uniform(0.1, 2, 200) if is_weighted else None
    given = (problem.y_true, np.round(problem.y_score, decimals))
    # A class without samples has no area.
    without = problem.y_true != 2
    some = quietly(as_predictions, given[0][without], given[1][without], labels=range(5))
    assert_allclose(*(prepared(name, some).areas_against_rest() for name in ("torch", "numpy")), rtol=1e-12)
    predictions = as_predictions(*given, sample_weight=weight)
    one, other = (prepared(name, predictions) for name in ("torch", "numpy"))
    assert_allclose(one.areas_against_rest(), other.areas_against_rest(), rtol=1e-12)
