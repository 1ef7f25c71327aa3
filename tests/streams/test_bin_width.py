"""Scores that bins cannot tell apart: no wrong number leaves, and what the message proposes gives the right one."""

import re
import warnings

import numpy as np
import pytest
from parquet_files import table_of, write
from parts import ScoreBins
from problems import coarsely

import polyroc


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 20_000)
    logits = rng.normal(size=(20_000, 4)) + np.eye(4)[y]
    return y, logits, np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


def counted(y, scores, **options):
    accumulator = polyroc.RocAccumulator(range(4), **options)
    accumulator.update(y, scores)
    return accumulator


def with_outlier(likelihoods):
    likelihoods[0, 0] = 2
    return likelihoods


SCORES = {
    "probabilities": (lambda logits, p: 0.5 + p / 1000, {}),
    "logits": (lambda logits, p: logits + 1e5, {"score_kind": "free"}),
    "below 0": (lambda logits, p: logits - 1e5, {"score_kind": "free"}),
    "single precision": (lambda logits, p: (logits + 300).astype(np.float32), {"score_kind": "free"}),
    "tiny": (lambda logits, p: np.exp(60 * logits - 400), {}),
    "tiny and alike": (lambda logits, p: 1e-39 * np.exp(logits - 5), {}),
    "denormal": (lambda logits, p: p * 1e-310, {"score_kind": "free"}),
    "negative likelihoods": (lambda logits, p: -np.exp(-60 * logits - 400), {"score_kind": "free"}),
    "negative and alike": (lambda logits, p: -1e-42 * np.exp(-logits), {"score_kind": "free"}),
    "likelihoods beside a 2": (lambda logits, p: with_outlier(np.exp(60 * logits - 400)), {"score_kind": "free"}),
}


def followed(message, scores):
    """Scores and options after what a message proposes, to the letter."""
    if subtracted := re.search(r"Subtract (\S+) from all scores", message):
        scores = scores - float(subtracted[1])
    else:
        code = re.search(r"count `(-?np\.[^`]+)`", message)[1]
        scores = eval(code, {"np": np, "scores": scores})
    return scores, {"score_kind": re.search(r"score_kind='(\w+)'", message)[1]}


@pytest.mark.parametrize("name", SCORES)
def test_what_the_error_proposes_gives_the_right_number(samples, name):
    y, logits, p = samples
    change, options = SCORES[name]
    scores = change(logits, p)
    with pytest.raises(polyroc.InputError, match="must be scores that bins can distinguish") as caught:
        counted(y, scores, **options).compute()
    with pytest.raises(polyroc.InputError, match="must be scores that bins can distinguish"):
        counted(y, scores, **options).second_pass()
    assert caught.value.argument == "y_score"
    exact = polyroc.evaluate(y, scores)
    scores, options = followed(str(caught.value), scores)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # logarithms lie as far apart as their bins in a few cases
        found = counted(y, scores, **options).compute()
    assert found.auc == pytest.approx(exact.auc, abs=1e-4)
    assert abs(found.hand_till - exact.hand_till) <= found.binning_error.hand_till < 0.005


def test_bins_that_cannot_be_narrower_are_not_proposed(samples):
    y, logits, _ = samples
    scores = logits + 1e5 * np.eye(4)[2]
    with pytest.raises(polyroc.InputError, match=r"Take narrower bins, `mantissa_bits=\d+`; or evaluate samples"):
        counted(y, scores, score_kind="free").compute()
    with pytest.warns(UserWarning, match=r"No bins are narrow enough; evaluate samples that fit in memory"):
        counted(y, scores, score_kind="free", mantissa_bits=16).compute()


def test_a_bound_above_a_thousandth_is_a_warning_that_helps(samples):
    y, logits, _ = samples
    with pytest.warns(UserWarning, match=r"move M by up to 0.002: .* Take narrower bins, `mantissa_bits=9`") as heard:
        counted(y, logits + 5, score_kind="free").compute()
    bits = int(re.search(r"mantissa_bits=(\d+)", str(heard[0].message))[1])
    found = counted(y, logits + 5, score_kind="free", mantissa_bits=bits).compute()
    assert 0 < found.binning_error.hand_till < 0.001
    with pytest.warns(UserWarning, match="Subtract 100.2 from all scores") as heard:
        far = counted(y, logits + 100, score_kind="free").compute()
    # Neither the estimate of D nor the bound of M claims less than what happened.
    exact = polyroc.evaluate(y, logits)
    assert abs(far.auc - exact.auc) < 1.5 * far.binning_error.auc
    assert abs(far.hand_till - exact.hand_till) < far.binning_error.hand_till
    scores, options = followed(str(heard[0].message), logits + 100)
    assert counted(y, scores, **options).compute().auc == pytest.approx(exact.auc, abs=1e-5)


def test_fewer_bits_take_less_memory_and_errors_stay_within_their_bound(samples):
    y, _, p = samples
    exact, found = polyroc.evaluate(y, p), {}
    for bits in (8, 6, 4):
        accumulator = counted(y, p, mantissa_bits=bits)
        evaluation = coarsely(accumulator.compute)
        found[bits] = accumulator.nbytes
        assert abs(evaluation.hand_till - exact.hand_till) <= evaluation.binning_error.hand_till
        assert evaluation.auc == pytest.approx(exact.auc, abs=5e-4)
    assert found[4] < found[6] / 1.5 < found[8] / 3


@pytest.mark.parametrize(("k", "free"), [(100_000, None), (600, 2**28)])
def test_more_classes_than_memory_are_refused_before_any_is_taken(monkeypatch, k, free):
    if free is not None:
        monkeypatch.setattr("polyroc._core.memory.available", lambda: free)
    with pytest.raises(MemoryError, match=rf"{k:,} classes.*GiB.*max_pairs.*exact=True"):
        polyroc.RocAccumulator(range(k))


@pytest.mark.parametrize("model", ["knn", "tree", "hard"])
def test_ties_are_no_fault_of_bins(model):
    example = polyroc.load_example()
    scores = example.scores["knn" if model == "hard" else model]
    scores = np.eye(10)[scores.argmax(axis=1)] if model == "hard" else scores
    accumulator = polyroc.RocAccumulator(range(10))
    for chosen in np.array_split(np.arange(len(scores)), 7):
        accumulator.update(example.y_true[chosen], scores[chosen])
    found = accumulator.compute()
    assert (found.binning_error.hand_till, found.binning_error.auc) == (0, 0)
    assert found.auc == pytest.approx(polyroc.evaluate(example.y_true, scores).auc, abs=1e-9)
    assert "hold one score each, so D and M are exact" in str(found)


def test_a_cluster_that_fills_one_bin_is_part_of_the_estimate(samples):
    # Wider bins change nothing there, so to compare with them says nothing.
    y, logits, _ = samples
    scores = np.round(logits * 8) / 8
    scores[:6_000] = 100 + 0.01 / (1 + np.exp(-logits[:6_000]))
    exact = polyroc.evaluate(y, scores)
    with pytest.warns(UserWarning, match="Bins can move M"):
        found = counted(y, scores, score_kind="free").compute()
    off = abs(found.auc - exact.auc)
    assert off > 0.005
    assert found.binning_error.auc >= off
    assert abs(found.hand_till - exact.hand_till) <= found.binning_error.hand_till


def test_what_is_a_tie_is_known_after_merging_and_storing():
    # Each part has one score in a bin; together they have two.
    y, scores = np.array([0, 1, 0, 1]), np.array([0.3, 0.3, 0.3001, 0.3001])
    assert len(set(ScoreBins().index(scores))) == 1
    parts = [polyroc.RocAccumulator([0, 1]) for _ in range(2)]
    for part, chosen in zip(parts, ([0, 1], [2, 3]), strict=True):
        part.update(y[chosen], scores[chosen, None])
        assert part.compute().binning_error.hand_till == 0
    again = polyroc.RocAccumulator([0, 1])
    again.load_state_dict(parts[1].state_dict())
    same = polyroc.RocAccumulator([0, 1])
    same.load_state_dict(parts[1].state_dict())
    again.merge(same)
    assert again.compute().binning_error.hand_till == 0
    again.merge(parts[0])
    restored = polyroc.RocAccumulator([0, 1])
    restored.load_state_dict(again.state_dict())
    for one in (again, restored):
        with pytest.raises(polyroc.InputError, match="must be scores that bins can distinguish"):
            one.compute()


def test_files_are_refused_and_sorted_scores_are_right(samples, tmp_path):
    y, logits, p = samples
    write(tmp_path / "a", table_of(y, 0.5 + p / 1000))
    exact = polyroc.evaluate(y, 0.5 + p / 1000)
    with pytest.raises(polyroc.InputError, match=r"`scores` must .* `exact=True` and `standard_errors=False`"):
        polyroc.evaluate_parquet(tmp_path / "a", target="y")
    found = polyroc.evaluate_parquet(tmp_path / "a", target="y", exact=True, standard_errors=False)
    assert found.auc == pytest.approx(exact.auc, abs=1e-12)
    # Standard errors are looked up by bin, also of sorted scores.
    with pytest.raises(polyroc.InputError, match=r"wrong standard errors, also with `exact=True`.*Subtract") as caught:
        polyroc.evaluate_parquet(tmp_path / "a", target="y", exact=True)
    scores, options = followed(str(caught.value), 0.5 + p / 1000)
    write(tmp_path / "b", table_of(y, scores))
    found = polyroc.evaluate_parquet(tmp_path / "b", target="y", exact=True, **options)
    assert found.auc == pytest.approx(exact.auc, abs=1e-9)
    assert found.standard_error == pytest.approx(exact.standard_error, rel=1e-3)
    table = table_of(y, logits + 1e5).rename_columns(["y", *(f"q_{c}" for c in range(4))])
    for c in range(4):
        table = table.append_column(f"r_{c}", [logits[:, c]])
    write(tmp_path / "c", table)
    for options in ({}, {"exact": True}):
        with pytest.raises(polyroc.InputError, match="`scores` must be scores that bins can distinguish"):
            polyroc.compare_parquet(tmp_path / "c", {"q": "q_*", "r": "r_*"}, target="y", **options)
