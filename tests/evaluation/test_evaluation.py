"""Evaluation: the public contract, field by field."""

import copy
import json
import pickle
import sys
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import gaussian_problem

import polyroc


@pytest.fixture(scope="module")
def problem():
    return gaussian_problem(0, 300, 4)


@pytest.fixture(scope="module")
def evaluation(problem):
    return polyroc.evaluate(problem.y_true, problem.y_score)


def test_shapes(evaluation):
    assert evaluation.rates.tpr.shape == evaluation.rates.fpr.shape == (111, 12)
    assert evaluation.score_thresholds.shape == (111, 12)
    assert evaluation.rates.row_weights.shape == evaluation.rates.call_rates.shape == (111,)
    assert evaluation.factorization.row_effects.shape == (222,)
    assert evaluation.factorization.pair_effects.shape == (12,)
    assert evaluation.factorization.pair_effects.mean() == pytest.approx(1)
    assert evaluation.curve.fpr.shape == evaluation.curve.tpr.shape == (113,)
    assert evaluation.n_samples == 300
    assert evaluation.class_counts.sum() == 300
    assert evaluation.factorization.n_iter == len(evaluation.factorization.deviance_path) - 1
    assert evaluation.factorization.status == "converged"


def test_area_is_that_of_the_curve_and_of_auc_score(problem, evaluation):
    assert evaluation.auc == evaluation.curve.auc
    assert evaluation.auc == polyroc.auc_score(problem.y_true, problem.y_score)
    assert type(evaluation.auc) is float


def test_pairs_are_in_order_and_agree_with_the_counts(problem, evaluation):
    pairs = evaluation.pairs
    assert list(zip(pairs.positive[:4], pairs.negative[:4], strict=True)) == [(0, 1), (0, 2), (0, 3), (1, 0)]
    counts = np.bincount(problem.y_true)
    assert np.array_equal(pairs.n_positive, counts[pairs.positive])
    assert np.array_equal(pairs.n_negative, counts[pairs.negative])
    assert np.array_equal(pairs.effect, evaluation.factorization.pair_effects)


def test_pairwise_areas_and_hand_till_equal_scikit_learn(problem, evaluation):
    metrics = pytest.importorskip("sklearn.metrics")
    for pair, (i, j) in enumerate(zip(evaluation.pairs.positive, evaluation.pairs.negative, strict=True)):
        members = np.isin(problem.y_true, [i, j])
        expected = metrics.roc_auc_score(problem.y_true[members] == i, problem.y_score[members, i])
        assert evaluation.pairs.auc[pair] == pytest.approx(expected, abs=1e-12)
    probability = np.exp(problem.y_score) / np.exp(problem.y_score).sum(axis=1, keepdims=True)
    again = polyroc.evaluate(problem.y_true, probability)
    expected = metrics.roc_auc_score(problem.y_true, probability, multi_class="ovo", average="macro")
    assert again.hand_till == pytest.approx(expected, abs=1e-12)


def test_everything_is_read_only(evaluation):
    arrays = [
        evaluation.curve.fpr,
        evaluation.curve.tpr,
        evaluation.labels,
        evaluation.class_counts,
        evaluation.rates.tpr,
        evaluation.rates.fpr,
        evaluation.score_thresholds,
        evaluation.rates.call_rates,
        evaluation.pairs.auc,
        evaluation.pairs.effect,
        evaluation.pairs.positive,
        evaluation.factorization.row_effects,
        evaluation.factorization.deviance_path,
        evaluation.fitted.source.scores,
    ]
    assert not any(array.flags.writeable for array in arrays)
    with pytest.raises(AttributeError):
        evaluation.curve = None


def test_the_callers_arrays_stay_writeable_and_uncopied(problem):
    scores = problem.y_score.copy()
    evaluation = polyroc.evaluate(problem.y_true, scores)
    assert scores.flags.writeable
    assert np.shares_memory(scores, evaluation.fitted.source.scores)


def test_to_dict_is_plain_data(problem):
    names = np.array(["a", "b", "<b>", "d"])
    evaluation = polyroc.evaluate(names[problem.y_true], problem.y_score, labels=names)
    record = json.loads(json.dumps(evaluation.to_dict(), allow_nan=False))
    assert record["auc"] == evaluation.auc
    assert record["hand_till"] == evaluation.hand_till
    assert record["labels"] == ["a", "b", "<b>", "d"]
    assert record["pairs"]["auc"] == evaluation.pairs.auc.tolist()
    assert record["fit"]["status"] == "converged"
    assert "rates" not in record
    rates = json.loads(json.dumps(evaluation.to_dict(include_rates=True)))["rates"]
    assert np.array_equal(rates["tpr"], evaluation.rates.tpr)


@pytest.mark.parametrize("wanted", [1, "yes", None, np.ones(3)])
def test_whether_rates_are_included_is_true_or_false(wanted):
    evaluation = polyroc.evaluate([0, 1, 2], np.eye(3))
    with pytest.raises(ValueError, match="`include_rates` must be True or False, got "):
        evaluation.to_dict(include_rates=wanted)
    assert "rates" in evaluation.to_dict(include_rates=np.bool_(True))


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_pairs_become_frames(problem, evaluation, backend):
    pytest.importorskip(backend)
    frame = evaluation.pairs.to_frame(backend)
    assert type(frame).__module__.split(".")[0] == backend
    names = frame.column_names if backend == "pyarrow" else list(frame.columns)
    assert names == ["positive", "negative", "n_positive", "n_negative", "auc", "effect"]
    assert_allclose(np.asarray(frame["auc"]), evaluation.pairs.auc)
    text = np.array(["w", "x", "y", "z"])
    named = polyroc.evaluate(text[problem.y_true], problem.y_score).pairs.to_frame(backend)
    assert list(np.asarray(named["positive"]))[:4] == ["w", "w", "w", "x"]


def test_pairs_refuse_an_unknown_backend(evaluation):
    with pytest.raises(ValueError, match="`backend` must be one of 'pandas', 'polars', 'pyarrow', got 'excel'"):
        evaluation.pairs.to_frame("excel")


def test_reprs_are_short_and_useful(evaluation):
    text = repr(evaluation)
    assert f"auc={evaluation.auc:.4f}" in text
    assert "4 classes" in text
    assert "converged" in text
    assert len(text) < 200
    assert len(repr(evaluation.pairs)) < 200


def test_evaluations_can_be_sent_to_other_processes(evaluation):
    sent = pickle.loads(pickle.dumps(evaluation))
    assert sent.auc == evaluation.auc
    assert np.array_equal(sent.score_thresholds, evaluation.score_thresholds)
    assert np.array_equal(sent.pairs.auc, evaluation.pairs.auc)


def test_a_class_without_samples_is_named_and_its_pairs_dropped(problem):
    y_score = np.column_stack([problem.y_score, np.zeros(300)])
    with pytest.warns(UserWarning, match=r"4.*`labels=`"):
        evaluation = polyroc.evaluate(problem.y_true, y_score)
    assert len(evaluation.labels) == 5
    assert len(evaluation.pairs) == 12
    assert evaluation.auc == polyroc.auc_score(problem.y_true, problem.y_score)


def test_two_of_three_classes_take_the_general_path(problem):
    members = problem.y_true < 2
    with pytest.warns(UserWarning, match="No samples"):
        evaluation = polyroc.evaluate(problem.y_true[members], problem.y_score[members, :3], labels=[0, 1, 2])
    assert len(evaluation.pairs) == 2
    assert evaluation.curve.fpr.shape == (113,)


def test_a_class_of_one_sample_works(problem):
    keep = np.r_[np.flatnonzero(problem.y_true != 2), np.flatnonzero(problem.y_true == 2)[:1]]
    evaluation = polyroc.evaluate(problem.y_true[keep], problem.y_score[keep])
    assert evaluation.class_counts[2] == 1
    assert 0.5 < evaluation.auc < 1


def test_two_classes_warn_of_options_without_effect():
    y_true, y_score = [0, 1, 0, 1], [0.1, 0.8, 0.3, 0.05]
    with pytest.warns(UserWarning, match="`costs`, `thresholds`, `n_thresholds`, `shrinkage` had no effect"):
        evaluation = polyroc.evaluate(
            y_true, y_score, costs=np.ones((2, 2)), thresholds="shared", n_thresholds=9, shrinkage=0
        )
    assert evaluation.auc == 0.5
    assert evaluation.hand_till == 0.5


def test_two_classes_are_ranked_by_the_second_column_not_by_a_difference():
    """The difference would separate them; a warning says that it was not used, another that columns disagree."""
    y_true, y_score = [0, 0, 1, 1], [[2.0, 1.0], [5.0, 4.0], [1.0, 2.0], [2.0, 3.0]]
    with (
        pytest.warns(UserWarning, match="`thresholds` had no effect: two classes have one pair"),
        pytest.warns(UserWarning, match="The two columns of `y_score` do not agree"),
    ):
        evaluation = polyroc.evaluate(y_true, y_score, thresholds="difference")
    assert evaluation.auc == evaluation.hand_till == evaluation.mean_auc == evaluation.pairs.auc[0] == 0.5
    assert evaluation.headline.auc_mu is None
    again = evaluation.fitted.replicates(1)(np.ones((1, 4)))
    assert again.auc[0] == again.hand_till[0] == again.mean_auc[0] == 0.5


def test_the_second_of_two_columns_is_the_positive_class():
    evaluation = polyroc.evaluate(["no", "no", "yes"], [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
    assert evaluation.auc == 1
    assert evaluation.pairs.positive.tolist() == ["yes"]


def test_a_fit_that_does_not_converge_says_so():
    # Few samples and nothing shrunk: the optimum lies at infinity.
    rng = np.random.default_rng(2)
    y_true, y_score = np.arange(8) % 4, rng.normal(size=(8, 4))
    with pytest.warns(polyroc.ConvergenceWarning, match="shrinkage"):
        evaluation = polyroc.evaluate(y_true, y_score, shrinkage=0)
    assert not evaluation.factorization.converged
    assert "NOT converged" in repr(evaluation)
    assert 0 <= evaluation.auc <= 1


def test_weights_enter_shrinkage_as_kish_numbers(problem):
    """Weights of one class doubled: its effective number stays, so nothing moves under equal weighting."""
    weight = np.where(problem.y_true == 1, 2.0, 1.0)
    doubled = polyroc.auc_score(problem.y_true, problem.y_score, sample_weight=weight)
    assert doubled == pytest.approx(polyroc.auc_score(problem.y_true, problem.y_score), abs=1e-9)
    prevalence = {"weighting": "prevalence", "sample_weight": weight}
    assert polyroc.auc_score(problem.y_true, problem.y_score, **prevalence) != pytest.approx(
        polyroc.auc_score(problem.y_true, problem.y_score, weighting="prevalence"), abs=1e-6
    )


EXTREME = {"weighting": "prevalence", "engine": "numpy"}


def test_classes_of_incomparable_weight_cannot_count_by_prevalence(problem):
    weight = np.where(problem.y_true == 0, 1e300, 1e-300)
    match = r"`sample_weight` must give classes whose sums of weights lie within a ratio of 1e\+12 .*smallest"
    with pytest.raises(ValueError, match=match):
        polyroc.evaluate(problem.y_true, problem.y_score, sample_weight=weight, **EXTREME)
    # Within a class only ratios matter, so equal weighting does not mind.
    assert polyroc.auc_score(problem.y_true, problem.y_score, sample_weight=weight) == pytest.approx(
        polyroc.auc_score(problem.y_true, problem.y_score), abs=1e-12
    )
    weight = np.where(problem.y_true == 0, 1e6, 1.0)
    assert 0 < polyroc.auc_score(problem.y_true, problem.y_score, sample_weight=weight, **EXTREME) < 1


def test_the_ratio_of_the_weights_that_are_fitted_is_checked(problem):
    """Each matrix alone is within the limit, their product is not."""
    steep = np.ones((4, 4))
    steep[0, 1] = 1e8
    with pytest.raises(ValueError, match=r"`costs` and `tpr_weights` must give cells .* ratio of 1e\+12, got 1e\+16"):
        polyroc.evaluate(problem.y_true, problem.y_score, costs=steep, tpr_weights=steep)
    weight = np.where(problem.y_true < 2, 1e7, 1.0)
    with pytest.raises(ValueError, match=r"^`weighting` 'prevalence' must give cells"):
        polyroc.evaluate(problem.y_true, problem.y_score, sample_weight=weight, **EXTREME)
    with pytest.raises(ValueError, match=r"^`weighting` 'prevalence', `costs` and `fpr_weights` must give cells"):
        polyroc.evaluate(problem.y_true, problem.y_score, costs=steep, fpr_weights=steep.T, **EXTREME)
    assert polyroc.evaluate(problem.y_true, problem.y_score, costs=steep, tpr_weights=1 / steep).factorization.converged


def test_a_cost_matrix_named_in_another_order_is_matched_by_name(problem):
    pandas = pytest.importorskip("pandas")
    names = list("abcd")
    costs = pandas.DataFrame(1.0 + np.arange(16).reshape(4, 4) ** 2, index=names, columns=names)
    y_true = np.array(names)[problem.y_true]
    expected = polyroc.auc_score(y_true, problem.y_score, costs=costs.to_numpy())
    turned = costs.loc[names[::-1], names[::-1]]
    assert polyroc.auc_score(y_true, problem.y_score, costs=turned) == expected
    assert polyroc.auc_score(y_true, problem.y_score, costs=turned.to_numpy()) != expected
    with pytest.raises(ValueError, match="`costs` must have its columns in the order of the classes"):
        polyroc.auc_score(y_true, problem.y_score, costs=turned.reset_index(drop=True))


def arrays_of(record):
    """All arrays within a record, those that were cached on access too."""
    for value in vars(record).values():
        if isinstance(value, np.ndarray):
            yield value
        elif hasattr(value, "__dataclass_fields__"):
            yield from arrays_of(value)


@pytest.mark.parametrize("copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy, copy.copy])
def test_copies_are_as_read_only_as_what_they_copy(evaluation, copied):
    _ = evaluation.pairs.auc, evaluation.score_thresholds, evaluation.fitted.source.effective_counts
    arrays = list(arrays_of(copied(evaluation)))
    assert len(arrays) > 15
    assert not any(array.flags.writeable for array in arrays)


def test_records_have_reprs_of_one_line(evaluation):
    assert repr(evaluation.rates) == "PairwiseRates(tpr and fpr of 12 ordered pairs at 111 call rates)"
    assert repr(evaluation.curve) == f"RocCurve(auc={evaluation.auc:.4f}, 113 points)"
    fit = evaluation.factorization
    assert repr(fit).startswith("Factorization(222 row effects, 12 pair effects, deviance=")
    assert repr(fit).endswith(f"converged after {fit.n_iter} iterations)")


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_missing_package_is_named_with_what_to_install(evaluation, backend, monkeypatch):
    monkeypatch.setitem(sys.modules, backend, None)
    with pytest.raises(ModuleNotFoundError, match=f"needs {backend}, which is not installed: `pip install {backend}`"):
        evaluation.pairs.to_frame(backend)


@pytest.mark.parametrize("function", [polyroc.evaluate, polyroc.auc_score])
def test_warnings_point_at_the_line_that_called(problem, function):
    few = problem.y_true < 3
    y_true, y_score = problem.y_true[few], problem.y_score[few]
    rng = np.random.default_rng(2)
    for arguments, options, match in [
        ((y_true, y_score), {}, "No samples"),
        (([0, 1, 0, 1], [0.1, 0.8, 0.3, 0.05]), {"shrinkage": 0}, "no effect"),
        ((np.arange(8) % 4, rng.normal(size=(8, 4))), {"shrinkage": 0}, "fit"),
    ]:
        with pytest.warns(UserWarning, match=match) as caught:
            function(*arguments, **options)
        assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.clock
def test_a_small_evaluation_is_quick():
    """Against scikit-learn's mean over pairs, on the same data in the same run."""
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    y_true = rng.integers(0, 3, 1000)
    score = np.exp(rng.normal(size=(1000, 3)) + 1.2 * np.eye(3)[y_true])
    score /= score.sum(axis=1, keepdims=True)

    def seconds(function, **options):
        start = time.perf_counter()
        function(y_true, score, **options)
        return time.perf_counter() - start

    # In turns: the speed of a machine that others use, too, changes from one second to the next.
    turns = [(seconds(polyroc.evaluate), seconds(metrics.roc_auc_score, multi_class="ovo")) for _ in range(900)]
    ours, theirs = np.min(turns, axis=0)
    # With NumPy 2.4 and scikit-learn 1.9: 0.40 of it before steps made fewer records and fewer arrays, 0.36 after.
    assert ours < 0.4 * theirs
