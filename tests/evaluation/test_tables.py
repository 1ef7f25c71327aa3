"""The table of one model: what is in it, what is left out, and how it is written."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from parts import KINDS
from preparing import passes_of
from problems import gaussian_problem

import polyroc

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def evaluation():
    example = polyroc.load_example()
    return polyroc.evaluate(example.y_true, example.scores["tree"])


@pytest.fixture(scope="module")
def measures(evaluation):
    return evaluation.measures()


def test_every_measure_is_there_but_the_one_for_ordered_classes(measures, evaluation):
    assert set(measures.names) == set(KINDS) - {"quadratic_kappa"}
    assert measures.names[:2] == ("auc", "hand_till")
    assert "quadratic_kappa" in evaluation.measures(ordered=True)
    assert evaluation.measures("quadratic_kappa").names == ("quadratic_kappa",)


def test_every_measure_has_a_row_on_its_page():
    page = (ROOT / "docs" / "measures.md").read_text(encoding="utf-8")
    for name, kind in KINDS.items():
        [row] = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
        assert (kind.sklearn or "| |") in row, name
        assert kind.higher_is_better or "lower is better" in row, name


def test_d_m_and_accuracy_have_the_intervals_that_they_have_elsewhere(measures, evaluation):
    assert (measures["auc"].low, measures["auc"].high) == tuple(evaluation.confidence_interval())
    m = evaluation.confidence_interval(statistic="hand_till")
    assert (measures["hand_till"].low, measures["hand_till"].high) == tuple(m)
    assert measures["accuracy"].estimate == evaluation.accuracy
    assert (measures["accuracy"].low, measures["accuracy"].high) == tuple(evaluation.accuracy_interval())
    assert measures["auc"].standard_error == evaluation.standard_error


def test_resamples_replace_the_intervals_of_d_and_m_and_no_others(measures, evaluation):
    drawn = evaluation.bootstrap(99, rng=0)
    by_resamples = measures.by_resamples(drawn)
    assert (by_resamples["auc"].low, by_resamples["auc"].high) == tuple(drawn.confidence_interval())
    assert by_resamples["hand_till"].standard_error == drawn.standard_error("hand_till")
    assert by_resamples.rows[2:] == measures.rows[2:]


def test_covariances_have_the_standard_errors_on_their_diagonal(measures):
    errors = [row.standard_error for row in measures]
    assert_allclose(np.sqrt(np.diag(measures.covariance)), errors, rtol=1e-12)
    correlation = measures.correlation
    assert_allclose(correlation, correlation.T)
    assert np.all(np.abs(correlation) <= 1 + 1e-12)
    names = list(measures.names)
    # The same errors make both.
    assert correlation[names.index("mcc"), names.index("kappa")] > 0.95
    assert correlation[names.index("accuracy"), names.index("brier")] < -0.5


def test_scores_that_are_no_probabilities_have_no_losses(evaluation):
    example = polyroc.load_example()
    scores = 5 * np.asarray(example.scores["tree"])
    measures = polyroc.evaluate(example.y_true, scores).measures(ordered=True)
    assert set(measures.left_out) == {"brier", "log_loss", "calibration_error"}
    assert "not probabilities" in measures.left_out["brier"]
    assert "Without Brier score, log loss, calibration error: The rows are not probabilities" in str(measures)
    with pytest.raises(KeyError, match="The rows are not probabilities"):
        measures["brier"]


def test_columns_on_scales_of_their_own_name_no_class():
    rng = np.random.default_rng(0)
    y = np.repeat(range(4), 20)
    scores = rng.normal(size=(80, 4)) + np.eye(4)[y] + 100 * np.arange(4)
    measures = polyroc.evaluate(y, scores).measures()
    assert measures.left_out["mcc"].startswith("The columns are not on a common scale")
    assert measures.left_out["auc_mu"].startswith("The columns are not on a common scale")
    assert {"auc", "hand_till", "pdi", "ovr_macro"} <= set(measures.names)


def test_three_classes_have_no_top_3_and_a_sample_of_pairs_no_one_vs_rest():
    rng = np.random.default_rng(0)
    y = np.repeat(range(3), 20)
    assert "There are 3 classes" in polyroc.evaluate(y, rng.random((60, 3))).measures().left_out["top_3"]
    example = polyroc.load_example()
    sampled = polyroc.evaluate(example.y_true, example.scores["tree"], max_pairs=30, rng=0)
    left_out = sampled.measures(["hand_till", "ovr_macro", "auc_mu", "accuracy"]).left_out
    assert set(left_out) == {"ovr_macro", "auc_mu"}
    assert "max_pairs" in left_out["ovr_macro"]


def test_d_without_a_formula_is_said_and_not_resampled():
    example = polyroc.load_example()
    evaluation = polyroc.evaluate(example.y_true, example.scores["tree"], structure="centered")
    row = evaluation.measures(["auc", "accuracy"])["auc"]
    assert row.estimate == evaluation.auc
    assert (row.standard_error, row.low, row.high) == (None, None, None)
    assert "the centered structure has no formula" in row.note
    measures = evaluation.measures(["auc", "accuracy"])
    assert "D (multi-class AUC)  " in str(measures)
    assert np.isnan(measures.to_frame()["low"][0])
    assert np.isnan(measures.covariance[0]).all()
    json.dumps(measures.to_dict(), allow_nan=False)


def test_one_vs_rest_is_of_the_columns_also_where_pairs_are_ranked_by_differences(measures):
    example = polyroc.load_example()
    other = polyroc.evaluate(example.y_true, example.scores["tree"], thresholds="difference")
    rows = other.measures(["hand_till", "ovr_macro", "auc_mu"])
    for row in rows:
        assert row.estimate == pytest.approx(measures[row.name].estimate, abs=1e-12)


def test_no_mistake_is_no_certainty():
    y = np.repeat(range(4), [50, 40, 30, 20])
    measures = polyroc.evaluate(y, np.eye(4)[y]).measures()
    for row in measures:
        perfect = 1.0 if row.higher_is_better else 0.0
        assert row.estimate == pytest.approx(perfect, abs=1e-12)
        assert row.standard_error == pytest.approx(0, abs=1e-12)
        assert row.low < row.high, row.name
        assert row.low <= row.estimate <= row.high, row.name
    # Clopper and Pearson: none of the 20 samples of the smallest class went wrong.
    assert measures["f1_macro"].low == pytest.approx(0.025 ** (1 / 20))
    assert measures["brier"].high == pytest.approx(2 * (1 - 0.025 ** (1 / 140)))


def test_one_class_for_all_is_no_certainty_either():
    rng = np.random.default_rng(0)
    y = np.repeat(range(3), 30)
    scores = rng.dirichlet([1, 1, 1], size=90) * 0.1
    scores[:, 0] += 0.9
    measures = polyroc.evaluate(y, scores).measures(["mcc", "kappa", "balanced_accuracy", "f1_macro"])
    assert measures["mcc"].estimate == 0
    assert measures["kappa"].estimate == pytest.approx(0, abs=1e-12)
    for row in measures:
        assert row.low < row.estimate < row.high, row.name


def test_bad_names_are_refused_by_name(evaluation):
    with pytest.raises(polyroc.InputError, match=r"`names` must be None or names among auc, .*got 'acuracy'"):
        evaluation.measures(["accuracy", "acuracy"])
    for bad in ([], 3, [4], {"accuracy": 1}):
        with pytest.raises(polyroc.InputError, match="`names`"):
            evaluation.measures(bad)
    with pytest.raises(polyroc.InputError, match="`ordered`"):
        evaluation.measures(ordered="yes")
    with pytest.raises(polyroc.InputError, match="`confidence_level`"):
        evaluation.measures(confidence_level=95)
    with pytest.raises(polyroc.InputError, match="`groups`"):
        evaluation.measures(groups=[1, 2])


def test_rows_stand_in_the_order_in_which_they_were_asked_for(evaluation):
    assert evaluation.measures(["mcc", "accuracy", "mcc"]).names == ("mcc", "accuracy")


def test_exports_have_every_row(measures):
    frame = measures.to_frame()
    assert list(frame["name"]) == list(measures.names)
    assert_allclose(frame["estimate"], [row.estimate for row in measures])
    assert set(frame.columns) >= {"name", "label", "estimate", "standard_error", "low", "high", "note"}
    lines = measures.to_markdown().splitlines()
    assert len(lines) == 2 + len(measures)
    assert len({line.count("|") for line in lines}) == 1
    latex = measures.to_latex()
    assert latex.count(r"\\") == 1 + len(measures)
    assert r"95 \% interval" in latex
    assert [row["name"] for row in json.loads(json.dumps(measures.to_dict()))["measures"]] == list(measures.names)
    assert "<td" in measures._repr_html_()
    again = pickle.loads(pickle.dumps(measures))
    assert again.rows == measures.rows
    with pytest.raises(TypeError):
        again.left_out["x"] = "y"


def test_groups_count_as_units(evaluation):
    """Every sample twice, in groups of two: as sure as the samples once."""
    example = polyroc.load_example()
    y, scores = np.asarray(example.y_true), np.asarray(example.scores["tree"])
    twice = polyroc.evaluate(np.repeat(y, 2), np.repeat(scores, 2, axis=0))
    grouped = twice.measures(groups=np.repeat(np.arange(len(y)), 2))
    once = evaluation.measures()
    for row in grouped:
        assert row.standard_error == pytest.approx(once[row.name].standard_error, rel=0.03), row.name
    alone = twice.measures()
    assert alone["mcc"].standard_error == pytest.approx(once["mcc"].standard_error / np.sqrt(2), rel=0.01)


@pytest.mark.slow
def test_standard_errors_are_those_of_resamples():
    """By the bootstrap: labels drawn at random where a measure depends on prevalence, else within classes."""
    rng = np.random.default_rng(0)
    example = polyroc.load_example()
    chosen = rng.permutation(len(example.y_true))[:500]
    y, scores = np.asarray(example.y_true)[chosen], np.asarray(example.scores["logistic"])[chosen]
    kept = [name for name in KINDS if name not in ("auc", "hand_till", "calibration_error", "quadratic_kappa")]
    whole = polyroc.evaluate(y, scores).measures(kept)
    classes = [np.flatnonzero(y == label) for label in np.unique(y)]
    found = {name: [] for name in kept}
    for _ in range(150):
        overall = rng.choice(len(y), len(y))
        within = np.concatenate([rng.choice(members, len(members)) for members in classes])
        for rows, depends in ((overall, True), (within, False)):
            names = [name for name in kept if KINDS[name].depends_on_prevalence == depends]
            drawn = passes_of(y[rows], scores[rows])
            for name in names:
                found[name].append(drawn.functional(name)[0])
    for name, values in found.items():
        # 150 replicates know a standard error to 6 %.
        assert np.std(values, ddof=1) == pytest.approx(whole[name].standard_error, rel=0.2), name


def test_threads_change_no_measure(fast_engine):
    """D is measured beside the others where there are threads for it."""
    problem = gaussian_problem(0, 12_000, 10, 1.5)
    alone, together = (
        polyroc.evaluate(problem.y_true, problem.y_score, engine=fast_engine, n_jobs=n).measures() for n in (1, 4)
    )
    assert alone.rows == together.rows
    assert_array_equal(alone.covariance, together.covariance)
