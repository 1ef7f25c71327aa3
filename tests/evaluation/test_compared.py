"""Several models: estimates, paired differences, and how they are written."""

import json
import pickle

import numpy as np
import pytest
from preparing import passes_of

import polyroc


@pytest.fixture(scope="module")
def comparison():
    example = polyroc.load_example()
    return polyroc.compare(example.y_true, example.scores)


@pytest.fixture(scope="module")
def measures(comparison):
    return comparison.measures()


def test_each_model_has_the_row_that_it_has_alone(comparison, measures):
    for model, evaluation in comparison.evaluations.items():
        for row in evaluation.measures():
            assert measures[row.name].estimates[model] == row


def test_d_and_m_are_those_of_the_comparison(comparison, measures):
    assert measures["auc"].differences == comparison.by_auc.differences
    assert measures["hand_till"].differences == comparison.by_hand_till.differences


@pytest.mark.slow
def test_d_and_m_of_resamples_are_not_computed_again():
    example = polyroc.load_example()
    drawn = polyroc.compare(example.y_true, example.scores, method="bootstrap", n_resamples=99, rng=0)
    row = drawn.measures(["auc", "accuracy"])["auc"]
    assert row.differences == drawn.by_auc.differences
    assert [one.low for one in row.estimates.values()] == [one.low for one in drawn.by_auc.estimates]


def test_differences_of_accuracy_are_those_of_paired_shares(comparison, measures):
    example = polyroc.load_example()
    y = np.asarray(example.y_true)
    right = {name: np.asarray(scores).argmax(axis=1) == y for name, scores in example.scores.items()}
    for one in measures["accuracy"].differences:
        apart = right[one.first].astype(float) - right[one.second]
        assert one.value == pytest.approx(apart.mean(), abs=1e-12)
        assert one.standard_error == pytest.approx(apart.std(ddof=1) / np.sqrt(len(y)), rel=1e-9)
        assert one.low < one.value < one.high


@pytest.mark.parametrize("name", ["f1_macro", "mcc", "log_loss", "brier", "balanced_accuracy"])
def test_standard_errors_of_differences_are_those_of_a_paired_bootstrap(name):
    example = polyroc.load_example()
    y, both = np.asarray(example.y_true), {name: np.asarray(example.scores[name]) for name in ("knn", "tree")}
    [found] = polyroc.compare(y, both).measures([name])[name].differences
    rng = np.random.default_rng(0)
    classes = [np.flatnonzero(y == label) for label in np.unique(y)]
    values = []
    for _ in range(200):
        rows = rng.choice(len(y), len(y))
        if name == "balanced_accuracy":
            rows = np.concatenate([rng.choice(members, len(members)) for members in classes])
        knn, tree = (passes_of(y[rows], one[rows]).functional(name)[0] for one in both.values())
        values.append(knn - tree)
    # 200 replicates know a standard error to 5 %.
    assert np.std(values, ddof=1) == pytest.approx(found.standard_error, rel=0.15)


def test_the_same_scores_do_not_differ():
    example = polyroc.load_example()
    twice = polyroc.compare(example.y_true, dict.fromkeys(("a", "b"), example.scores["tree"]))
    for row in twice.measures():
        [one] = row.differences
        assert one.value == 0
        assert one.low <= 0 <= one.high
        assert one.p_value == pytest.approx(1.0)


def test_losses_are_marked_and_p_values_adjusted(measures):
    assert not measures["log_loss"].higher_is_better
    assert "Lower is better for Brier score, log loss, calibration error" in str(measures)
    for row in measures:
        for one in row.differences:
            assert one.p_value_holm >= one.p_value


def test_the_adjustment_of_p_values_is_explained():
    example = polyroc.load_example()
    comparison = polyroc.compare(example.y_true, example.scores)
    several, single = comparison.measures(["accuracy", "mcc"]), comparison.measures(["accuracy"])
    note = "p (Holm) is adjusted for the pairs of models, not for the number of measures"
    assert note in str(several)
    assert note in several._repr_html_()
    assert note not in str(single)
    # By hand: the smallest of three p values times three, of each measure alone.
    for row in several:
        p, adjusted = min((one.p_value, one.p_value_holm) for one in row.differences)
        assert adjusted == pytest.approx(3 * p)


def test_what_one_model_lacks_is_left_out_with_its_name():
    example = polyroc.load_example()
    scores = {"tree": np.asarray(example.scores["tree"]), "logits": np.log(np.asarray(example.scores["knn"]) + 0.01)}
    with pytest.warns(UserWarning, match="probabilities"):
        comparison = polyroc.compare(example.y_true, scores)
    measures = comparison.measures()
    assert measures.left_out["brier"].startswith("logits: The rows are not probabilities")
    assert "accuracy" in measures


def test_groups_of_the_comparison_count():
    example = polyroc.load_example()
    y = np.repeat(np.asarray(example.y_true), 2)
    both = {name: np.repeat(np.asarray(example.scores[name]), 2, axis=0) for name in ("knn", "tree")}
    once = polyroc.compare(example.y_true, {name: example.scores[name] for name in both}).measures(["mcc"])
    twice = polyroc.compare(y, both, groups=np.repeat(np.arange(len(y) // 2), 2)).measures(["mcc"])
    expected, found = (one["mcc"].differences[0].standard_error for one in (once, twice))
    assert found == pytest.approx(expected, rel=0.01)


def test_any_number_of_looks_makes_differences_wider():
    example = polyroc.load_example()
    once, always = (
        polyroc.compare(example.y_true, example.scores, anytime=anytime).measures(["mcc"])["mcc"].differences[0]
        for anytime in (False, True)
    )
    assert always.high - always.low > 1.2 * (once.high - once.low)


def test_odd_names_are_escaped_everywhere():
    example = polyroc.load_example()
    names = ("<script>|_x_", r"[50% & \cmd{$#^~}]")
    scores = dict(zip(names, (example.scores["tree"], example.scores["knn"]), strict=True))
    measures = polyroc.compare(example.y_true, scores).measures(["accuracy", "mcc"])
    for table in ("estimates", "differences"):
        markdown = measures.to_markdown(table)
        assert "<script>" not in markdown.replace(r"\<", "")
        assert r"\|\_x\_" in markdown
        assert len({line.replace(r"\|", "").count("|") for line in markdown.splitlines()}) == 1
        latex = measures.to_latex(table)
        assert r"50\% \& \textbackslash{}cmd\{\$\#\textasciicircum{}\textasciitilde{}\}]" in latex
        # At the start of a cell a bracket would be read as an option of the line before.
        assert not any(cell.strip().startswith("[") for line in latex.splitlines() for cell in line.split("&"))
        assert r"\textless{}script\textgreater{}" in latex
    assert "<script>" not in measures._repr_html_()
    assert "<script>|_x_" in str(measures)


def test_exports_have_every_row(measures):
    assert len(measures.to_frame()) == 3 * len(measures)
    assert len(measures.to_frame("differences")) == 3 * len(measures)
    record = json.loads(json.dumps(measures.to_dict(), allow_nan=False))
    assert [row["name"] for row in record["measures"]] == list(measures.names)
    assert record["measures"][0]["estimates"][0]["model"] == "logistic"
    with pytest.raises(polyroc.InputError, match="`table`"):
        measures.to_frame("rankings")
    assert pickle.loads(pickle.dumps(measures)).rows[0].differences == measures.rows[0].differences
