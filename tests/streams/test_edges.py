"""Few bins by quantiles of all scores, for very many classes."""

import numpy as np
import pytest
from problems import coarsely
from test_accumulator import predictions

import polyroc


def counted(y_true, y_score, n_bins, k):
    edges = polyroc.ScoreEdges(n_bins)
    for part in np.array_split(y_score, 3):
        edges.update(part)
    accumulator = polyroc.RocAccumulator(range(k), edges=edges)
    for chosen in np.array_split(np.arange(len(y_true)), 4):
        accumulator.update(y_true[chosen], y_score[chosen])
    return accumulator


def test_the_error_falls_with_the_square_of_the_number_of_bins():
    errors = []
    for seed in range(3):
        y_true, y_score = predictions("calibrated", 20_000, 5, seed)
        exact = polyroc.evaluate(y_true, y_score)
        found = [coarsely(counted(y_true, y_score, n_bins, 5).compute) for n_bins in (16, 64)]
        for one in found:
            assert abs(one.hand_till - exact.hand_till) <= one.binning_error.hand_till
        errors.append([abs(one.auc - exact.auc) for one in found])
    coarse, fine = np.mean(errors, axis=0)
    # Four times as many bins: a sixteenth, but for chance.
    assert fine < coarse / 6


def test_a_group_has_about_as_many_samples_as_any_other():
    y_true, y_score = predictions("calibrated", 50_000, 3, 0)
    accumulator = counted(y_true, y_score, 20, 3)
    for column in coarsely(accumulator.compute).fitted.source.columns:
        assert len(column.bins) == 20
        sizes = column.weight.sum(axis=1)
        assert sizes.max() < 1.5 * sizes.min()


def test_standard_errors_are_close_to_those_of_samples():
    y_true, y_score = predictions("calibrated", 20_000, 4, 0)
    accumulator = counted(y_true, y_score, 256, 4)
    second = accumulator.second_pass()
    second.update(y_true, y_score)
    assert second.compute().standard_error == pytest.approx(polyroc.evaluate(y_true, y_score).standard_error, rel=0.01)


def test_merging_and_states_need_the_same_edges():
    y_true, y_score = predictions("calibrated", 2_000, 3, 0)
    whole = counted(y_true, y_score, 32, 3)
    edges = polyroc.ScoreEdges(32)
    other = polyroc.ScoreEdges(32)
    edges.update(y_score[:1_000])
    other.update(y_score[1_000:])
    edges.merge(other)
    parts = [polyroc.RocAccumulator(range(3), edges=edges) for _ in range(2)]
    parts[0].update(y_true[:500], y_score[:500])
    parts[1].update(y_true[500:], y_score[500:])
    parts[0].merge(parts[1])
    again = polyroc.RocAccumulator(range(3), edges=edges)
    again.load_state_dict(parts[0].state_dict())
    for name, array in whole.state_dict().items():
        assert array.tobytes() == again.state_dict()[name].tobytes()
    plain = polyroc.RocAccumulator(range(3), mantissa_bits=7)
    with pytest.raises(ValueError, match="same `edges`"):
        plain.merge(again)
    with pytest.raises(ValueError, match="same `edges`"):
        plain.load_state_dict(again.state_dict())


@pytest.mark.parametrize("n_bins", [1, 5_000, 2.5, True])
def test_a_number_of_bins_that_cannot_be_is_refused(n_bins):
    with pytest.raises(ValueError, match="n_bins"):
        polyroc.ScoreEdges(n_bins)


def test_edges_that_do_not_fit_are_refused():
    edges = polyroc.ScoreEdges(16)
    with pytest.raises(ValueError, match="must have seen scores"):
        polyroc.RocAccumulator(range(3), edges=edges)
    with pytest.raises(ValueError, match="between 0 and 1"):
        edges.update([[2.0, 3.0, 4.0]])
    edges.update(np.full((5, 4), 0.25))
    edges.update(np.empty((0, 4)))
    with pytest.raises(ValueError, match="same number of columns"):
        edges.update(np.full((5, 3), 0.25))
    with pytest.raises(ValueError, match="must have seen 3 columns"):
        polyroc.RocAccumulator(range(3), edges=edges)
    with pytest.raises(ValueError, match="same `score_kind`"):
        polyroc.RocAccumulator(range(4), edges=edges, score_kind="free")
    with pytest.raises(ValueError, match="must be a ScoreEdges"):
        polyroc.RocAccumulator(range(4), edges=3)
    with pytest.raises(ValueError, match="'own' for bins"):
        polyroc.RocAccumulator(range(4), edges=edges, thresholds="shared")
    with pytest.raises(ValueError, match="same `n_bins`"):
        edges.merge(polyroc.ScoreEdges(32))
    with pytest.raises(ValueError, match="must be a ScoreEdges"):
        edges.merge(3)


def test_more_classes_than_memory_are_refused_before_any_is_taken():
    with pytest.raises(MemoryError, match=r"100,000 classes.*GiB.*max_pairs"):
        polyroc.RocAccumulator(range(100_000))


def test_fewer_bins_are_proposed_where_they_would_fit(monkeypatch):
    monkeypatch.setattr("polyroc._core.memory.available", lambda: 2**28)
    with pytest.raises(MemoryError, match=r"600 classes.*ScoreEdges\(\d+\)") as raised:
        polyroc.RocAccumulator(range(600))
    # What is proposed fits.
    edges = polyroc.ScoreEdges(int(str(raised.value).split("ScoreEdges(")[1].split(")")[0]))
    edges.update(np.random.default_rng(0).dirichlet(np.ones(600), 200))
    polyroc.RocAccumulator(range(600), edges=edges)
