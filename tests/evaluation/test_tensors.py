"""Tensors on the CPU are read as arrays are; one on another device says how to bring it here."""

import numpy as np
import pytest
from problems import gaussian_problem

import polyroc

PROBLEM = gaussian_problem(0, 200, 4)
EXPECTED = polyroc.auc_score(PROBLEM.y_true, PROBLEM.y_score)


@pytest.mark.full("torch")
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_torch(dtype):
    import torch

    y_true, y_score = torch.tensor(PROBLEM.y_true), torch.tensor(PROBLEM.y_score).to(getattr(torch, dtype))
    rounded = y_score.double().numpy()
    assert polyroc.auc_score(y_true, y_score) == polyroc.auc_score(PROBLEM.y_true, rounded)
    weight = torch.arange(1, 201)
    expected = polyroc.auc_score(PROBLEM.y_true, rounded, sample_weight=np.arange(1, 201))
    assert polyroc.auc_score(y_true, y_score, sample_weight=weight) == expected


@pytest.mark.full("torch")
def test_torch_with_a_gradient():
    import torch

    y_score = torch.tensor(PROBLEM.y_score, requires_grad=True)
    assert polyroc.auc_score(torch.tensor(PROBLEM.y_true), y_score) == EXPECTED
    assert y_score.requires_grad


@pytest.mark.full("torch")
def test_torch_elsewhere():
    import torch

    y_score = torch.zeros((200, 4), device="meta")
    with pytest.raises(ValueError, match="`y_score`"):
        polyroc.auc_score(PROBLEM.y_true, y_score)


@pytest.mark.full("torch")
def test_torch_in_a_comparison():
    import torch

    scores = {"a": torch.tensor(PROBLEM.y_score), "b": torch.tensor(PROBLEM.y_score**3)}
    groups = torch.arange(200) // 2
    found = polyroc.compare(
        torch.tensor(PROBLEM.y_true), scores, method="bootstrap", n_resamples=20, rng=0, groups=groups
    )
    assert found.by_auc.estimates[0].value == EXPECTED


@pytest.mark.full("jax")
def test_jax():
    import jax

    y_score = jax.numpy.asarray(PROBLEM.y_score)  # float32 unless told otherwise
    expected = polyroc.auc_score(PROBLEM.y_true, np.asarray(y_score))
    assert polyroc.auc_score(jax.numpy.asarray(PROBLEM.y_true), y_score) == expected
