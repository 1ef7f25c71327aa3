"""Kernels of influences against plain PyTorch: on a card, or on the CPU by Triton's own interpreter."""

from dataclasses import replace

import numpy as np
import pytest
from kernels import NEEDS_KERNELS, check_kernels, main

pytestmark = NEEDS_KERNELS

SETTINGS = {
    "distinct": (8, {}),
    "ties": (1, {}),
    "many ties": (0, {}),
    "weights": (1, {"sample_weight": np.random.default_rng(6).uniform(0.2, 3, 45)}),
    "costs": (8, {"costs": 10 ** np.random.default_rng(5).uniform(-1, 1, (3, 3))}),
    "single": (8, {}),
}


@pytest.mark.parametrize("name", ["influences"])
def test_kernels_give_what_pytorch_gives(name):
    check_kernels(__file__, name, CHECKS[name])


def compare(name, device):
    """Influences on D, on points of the curve and on sums of areas, both ways."""
    import torch
    from problems import gaussian_problem, quietly

    import polyroc
    from polyroc._core.adjoint import area_gradient, point_gradient
    from polyroc._core.engines import Resources
    from polyroc._core.torch import influence as _influence
    from polyroc._core.torch import influence_kernels as _influence_kernels
    from polyroc._core.torch.engine import ENGINE
    from polyroc._core.torch.records import pairs_on, slopes_on
    from polyroc._core.weights import pair_weights

    decimals, options = SETTINGS[name]
    problem = gaussian_problem(1, 45, 3, 1.2)
    scores = np.round(problem.y_score, decimals).astype(np.float32 if name == "single" else float)
    evaluation = quietly(polyroc.evaluate, problem.y_true, scores, engine="numpy", n_thresholds=5, **options)
    prepared = ENGINE.prepare(evaluation.fitted.source, Resources(device=str(device)))
    weights = pair_weights(evaluation.fitted.source, evaluation.fitted.pairs, evaluation.fitted.options)
    pairs, call_rates = pairs_on(evaluation.fitted.pairs, device), evaluation.rates.call_rates
    # Scores lie as they came: here by columns.
    samples = replace(prepared.on_device, scores=prepared.on_device.scores.T.contiguous().T)
    for find, reach in ((area_gradient, 0.0), (point_gradient, 0.07)):
        gradient = find(evaluation.factorization, evaluation.rates, weights, shrinkage=1.0, structure="rank-one")
        slopes = slopes_on(gradient, device).of_numbers(slice(2))
        given = (samples, prepared.runs, pairs, call_rates, "own", slopes)
        expected, found = (one.influences(*given, least_reach=reach) for one in (_influence, _influence_kernels))
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-13 * float(expected.abs().max()))
    shares = torch.from_numpy(np.random.default_rng(2).uniform(size=(3, len(evaluation.fitted.pairs)))).to(device)
    given = (samples, prepared.runs, pairs, shares)
    expected, found = (one.area_influences(*given) for one in (_influence, _influence_kernels))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-13 * float(expected.abs().max()))


def check_influences(device):
    for each in SETTINGS:
        compare(each, device)


CHECKS = {"influences": check_influences}

if __name__ == "__main__":
    main(CHECKS)
