"""Scores that are written over after they were evaluated are noticed by whatever reads them again."""

import copy
import pickle

import numpy as np
import pytest
from parts import Fingerprint, as_predictions
from problems import gaussian_problem

import polyroc

READERS = {
    "M": lambda evaluation: evaluation.hand_till,
    "pairs": lambda evaluation: evaluation.pairs.auc,
    "accuracy": lambda evaluation: evaluation.accuracy,
    "mean curve": lambda evaluation: evaluation.mean_auc,
    "thresholds": lambda evaluation: evaluation.score_thresholds,
    "both kinds of thresholds": lambda evaluation: evaluation.auc_by_thresholds,
    "influences": lambda evaluation: evaluation.hand_till_influences,
    "bootstrap": lambda evaluation: evaluation.bootstrap(9, rng=0),
    "DeLong": lambda evaluation: evaluation.confidence_interval(method="delong", statistic="hand_till"),
    "text": str,
    "dictionary": lambda evaluation: evaluation.to_dict(),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS.keys())
def test_new_scores_in_the_same_array_are_an_error_and_no_mixture(read, engine):
    problem = gaussian_problem(0, 300, 3)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, engine=engine)
    before = evaluation.auc
    problem.y_score[:] = np.random.default_rng(1).normal(size=problem.y_score.shape)
    with pytest.raises(
        RuntimeError,
        match=r"`y_score` was changed after it was evaluated.*"
        r"pass a copy: `y_score\.copy\(\)`, of a tensor `y_score\.clone\(\)`",
    ):
        read(evaluation)
    assert evaluation.auc == before


def test_what_was_read_before_stays():
    problem = gaussian_problem(0, 300, 3)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score)
    before = evaluation.hand_till, evaluation.accuracy, str(evaluation)
    problem.y_score[:] = 0
    assert (evaluation.hand_till, evaluation.accuracy, str(evaluation)) == before


def test_weights_are_asked_too_and_replicates_have_no_samples_to_ask():
    problem = gaussian_problem(0, 200, 3)
    weight = np.linspace(1, 2, 200)
    evaluation = polyroc.evaluate(problem.y_true, problem.y_score, sample_weight=weight)
    drawn = evaluation.bootstrap(19, rng=0)
    weight[7] = 100
    with pytest.raises(RuntimeError, match="`sample_weight` was changed after it was evaluated"):
        evaluation.accuracy  # noqa: B018
    with pytest.raises(RuntimeError, match="`sample_weight` was changed"):
        evaluation.confidence_interval(interval="bca", method="bootstrap", n_resamples=19, rng=0)
    assert drawn.confidence_interval().low < evaluation.auc


def test_a_comparison_asks_too():
    problem = gaussian_problem(0, 200, 3)
    scores = {"a": problem.y_score, "b": problem.y_score + np.random.default_rng(0).normal(size=(200, 3))}
    comparison = polyroc.compare(problem.y_true, scores, method="bootstrap", n_resamples=19, rng=0)
    scores["b"][0] += 1
    with pytest.raises(RuntimeError, match="`y_score` was changed"):
        comparison.evaluations["b"].bootstrap(9, rng=0)
    assert comparison.evaluations["a"].bootstrap(9, rng=0).n_resamples == 9


def layouts(scores):
    """The same numbers, lying differently in memory."""
    wide = np.zeros((len(scores), 2 * scores.shape[1]), dtype=scores.dtype)
    wide[:, ::2] = scores
    turned = np.zeros((2 * scores.shape[1], len(scores)), dtype=scores.dtype)
    turned[::2] = scores.T
    reverse = scores[:, ::-1].copy()
    return [scores.copy(), np.asfortranarray(scores), wide[:, ::2], turned[::2].T, reverse[:, ::-1]]


@pytest.mark.parametrize("n", [50, 40_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_number_one_row_or_all_of_them_show_in_any_layout(n, dtype):
    rng = np.random.default_rng(0)
    y_true = np.arange(n) % 3
    probabilities = rng.dirichlet(np.ones(3), size=n).astype(dtype)
    for scores in layouts(probabilities):
        predictions = as_predictions(y_true, scores)
        assert np.shares_memory(predictions.scores, scores)
        then = Fingerprint.of(predictions)
        then.check(predictions)
        for row in (0, n // 2, n - 1):
            # Rows that sum to one before and after; the same numbers in another order; the next number that there is.
            for new in (rng.dirichlet(np.ones(3)), scores[row, ::-1].copy(), np.nextafter(scores[row], dtype(2))):
                kept = scores[row].copy()
                scores[row] = new
                with pytest.raises(RuntimeError, match="`y_score` was changed"):
                    then.check(predictions)
                scores[row] = kept
        then.check(predictions)
        kept = scores.copy()
        scores[:] = rng.permutation(kept)
        with pytest.raises(RuntimeError, match="`y_score` was changed"):
            then.check(predictions)
        scores[:] = kept
        then.check(predictions)


def test_copies_of_an_evaluation_are_their_own():
    problem = gaussian_problem(0, 300, 4)
    for scores in layouts(problem.y_score):
        evaluation = polyroc.evaluate(problem.y_true, scores)
        copies = pickle.loads(pickle.dumps(evaluation)), copy.deepcopy(evaluation)
        scores[:] = 0
        for one in copies:
            assert one.hand_till == pytest.approx(
                polyroc.baselines.hand_till(problem.y_true, problem.y_score), abs=1e-12
            )
        with pytest.raises(RuntimeError, match="was changed"):
            evaluation.hand_till  # noqa: B018
        # One that was changed before is not made right by copying it.
        with pytest.raises(RuntimeError, match="was changed"):
            pickle.loads(pickle.dumps(evaluation)).hand_till  # noqa: B018


def test_frames_that_were_copied_may_change():
    pd = pytest.importorskip("pandas")
    problem = gaussian_problem(0, 90, 3)
    frame = pd.DataFrame(np.round(100 * problem.y_score).astype(int), columns=["a", "b", "c"])
    labels = np.array(["a", "b", "c"])[problem.y_true]
    evaluation = polyroc.evaluate(labels, frame)
    frame.iloc[:] = 0
    assert 0.5 < evaluation.hand_till < 1


def test_of_very_many_samples_a_stretch_shows_wherever_it_lies():
    rng = np.random.default_rng(0)
    scores = rng.random((200_000, 10))
    predictions = as_predictions(np.arange(200_000) % 10, scores)
    then = Fingerprint.of(predictions)
    for start in (0, 1_000, 98_765, 196_000, *rng.integers(0, 196_000, 20).tolist()):
        kept = scores[start : start + 200_000 // 60].copy()
        scores[start : start + 200_000 // 60] = 0.5
        with pytest.raises(RuntimeError, match="`y_score` was changed"):
            then.check(predictions)
        scores[start : start + 200_000 // 60] = kept
    then.check(predictions)


@pytest.mark.filterwarnings("ignore:No samples")
@pytest.mark.parametrize(("n", "k"), [(574, 1000), (600, 1000), (188, 9000), (524_351, 3)])
def test_of_very_many_scores_the_last_rows_are_read(n, k):
    scores = np.zeros((n, k))
    scores[:, 0] = np.arange(n)
    predictions = as_predictions(np.arange(n) % 3, scores, labels=range(k))
    then = Fingerprint.of(predictions)
    for row in (0, n - 1):
        scores[row, -1] = 1
        with pytest.raises(RuntimeError, match="`y_score` was changed"):
            then.check(predictions)
        scores[row, -1] = 0
    then.check(predictions)


def test_it_keeps_little():
    predictions = as_predictions(np.arange(100_000) % 3, np.zeros((100_000, 3)))
    assert Fingerprint.of(predictions).scores.nbytes <= 2**16
