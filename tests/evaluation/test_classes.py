"""The table of classes against loops over its definitions and against scikit-learn."""

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import polyroc
from polyroc import InputError


def problem(rng, n=60, k=4, *, ties=True, weights=True, names=None):
    y = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    score = np.eye(k)[y] + rng.normal(size=(n, k))
    if ties:
        score = np.round(score, 0)
    weight = rng.integers(1, 4, size=n).astype(float) if weights else None
    labels = np.arange(k) if names is None else np.array(names)
    return labels[y], score, weight, labels


def area(positive, negative, weight_positive, weight_negative):
    """Probability that one of the first is above one of the second, by loops."""
    won = total = 0.0
    for x, v in zip(positive, weight_positive, strict=True):
        for y, w in zip(negative, weight_negative, strict=True):
            won += v * w * (1.0 if x > y else 0.5 if x == y else 0.0)
            total += v * w
    return won / total


def pair_areas(y, score, weight, labels):
    found = {}
    for i, a in enumerate(labels):
        for b in labels:
            if a != b:
                found[a, b] = area(score[y == a, i], score[y == b, i], weight[y == a], weight[y == b])
    return found


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_every_column_agrees_with_loops(weights, ties, engine):
    if engine == "numba":
        pytest.importorskip("numba")
    y, score, weight, labels = problem(np.random.default_rng(3), ties=ties, weights=weights)
    table = polyroc.evaluate(y, score, sample_weight=weight, engine=engine).classes
    w = np.ones(len(y)) if weight is None else weight
    areas, predicted = pair_areas(y, score, w, labels), labels[score.argmax(axis=1)]
    for i, row in enumerate(table):
        mine, rest = y == row.label, y != row.label
        assert row.n_samples == sum(mine)
        assert row.weight == (None if weight is None else w[mine].sum())
        assert row.n_predicted == sum(predicted == row.label)
        assert_allclose(row.recall, w[mine & (predicted == y)].sum() / w[mine].sum(), rtol=1e-14)
        assert_allclose(row.precision, w[mine & (predicted == y)].sum() / w[predicted == row.label].sum(), rtol=1e-14)
        assert_allclose(row.auc_vs_rest, area(score[mine, i], score[rest, i], w[mine], w[rest]), rtol=1e-12)
        others = [c for c in labels if c != row.label]
        both = {c: (areas[row.label, c] + areas[c, row.label]) / 2 for c in others}
        assert_allclose(row.mean_pair_auc, np.mean(list(both.values())), rtol=1e-12)
        assert_allclose(row.hardest_auc, min(both.values()), rtol=1e-12)
        assert_allclose(both[row.hardest_partner], row.hardest_auc, rtol=1e-12)
        wrong = {c: w[mine & (predicted == c)].sum() / w[mine].sum() for c in others}
        assert_allclose(row.mistaken_share, max(wrong.values()), rtol=1e-14)
        assert row.mistaken_for == max(others, key=lambda c: wrong[c])


def test_agrees_with_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    y, score, weight, labels = problem(np.random.default_rng(5), n=200, k=5)
    table = polyroc.evaluate(y, score, sample_weight=weight).classes
    predicted = score.argmax(axis=1)
    asked = {"average": None, "sample_weight": weight, "labels": labels}
    assert_allclose(table.recall, metrics.recall_score(y, predicted, **asked), rtol=1e-12)
    assert_allclose(table.precision, metrics.precision_score(y, predicted, **asked), rtol=1e-12)
    against_rest = [metrics.roc_auc_score(y == c, score[:, c], sample_weight=weight) for c in labels]
    assert_allclose(table.auc_vs_rest, against_rest, rtol=1e-12)


def test_the_mean_over_classes_is_m_and_that_against_the_rest_is_one_vs_rest():
    y, score, weight, _ = problem(np.random.default_rng(6), n=90, k=5)
    evaluation = polyroc.evaluate(y, score, sample_weight=weight)
    assert_allclose(evaluation.classes.mean_pair_auc.mean(), evaluation.hand_till, rtol=1e-14)
    macro = polyroc.baselines.one_vs_rest(y, score, sample_weight=weight)
    assert_allclose(evaluation.classes.auc_vs_rest.mean(), macro, rtol=1e-12)


def test_recall_by_samples_is_accuracy():
    y, score, weight, _ = problem(np.random.default_rng(7), n=90, k=5)
    evaluation = polyroc.evaluate(y, score, sample_weight=weight)
    assert_allclose(np.average(evaluation.classes.recall, weights=evaluation.classes.weight), evaluation.accuracy)


def test_shared_thresholds_and_costs_change_no_class():
    y, score, weight, _ = problem(np.random.default_rng(8), n=90)
    plain = polyroc.evaluate(y, score, sample_weight=weight)
    other = polyroc.evaluate(
        y, score, sample_weight=weight, thresholds="shared", costs=np.arange(16.0).reshape(4, 4) + 1
    )
    assert plain.auc != other.auc
    assert plain.classes.to_dict() == other.classes.to_dict()


def test_pairs_ranked_by_differences_change_no_class():
    y, score, _, _ = problem(np.random.default_rng(8), n=90)
    plain, other = polyroc.evaluate(y, score), polyroc.evaluate(y, score, thresholds="difference")
    assert plain.pairs.auc.tolist() != other.pairs.auc.tolist()
    assert plain.classes.with_intervals().to_dict() == other.classes.with_intervals().to_dict()
    assert_allclose(other.classes.mean_pair_auc.mean(), other.hand_till, rtol=1e-14)
    # The same areas are behind the mean over one-vs-rest.
    found = other.measures(["ovr_macro"])
    assert_allclose(found["ovr_macro"].estimate, other.classes.auc_vs_rest.mean(), rtol=1e-12)


def test_a_class_without_samples_has_no_areas_and_no_recall():
    y, score, _, _ = problem(np.random.default_rng(9), n=90, k=3)
    score = np.column_stack([score, np.full(90, -9.0)])
    score[7, 3] = 99.0
    with pytest.warns(UserWarning, match="No samples"):
        table = polyroc.evaluate(y, score, labels=[0, 1, 2, 3]).classes
    row = table.of(3)
    assert (row.n_samples, row.n_predicted, row.precision) == (0, 1, 0.0)
    missing = ("recall", "auc_vs_rest", "mean_pair_auc", "hardest_partner", "hardest_auc", "mistaken_for")
    assert [getattr(row, name) for name in missing] == [None] * len(missing)
    assert row.mistaken_share is None
    # The others are as if it were not there, but for the row where it was predicted.
    without = polyroc.evaluate(y, score[:, :3]).classes
    assert_allclose(table.auc_vs_rest[:3], without.auc_vs_rest)
    assert table.hardest_partner.tolist()[:3] == without.hardest_partner.tolist()
    assert table.never_predicted == []
    assert table.with_intervals().of(3).intervals.keys() == {"precision"}
    assert "no samples" in str(table)


def test_a_class_that_is_lost_is_said_although_d_is_high():
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(5), 60)
    logits = 4 * np.eye(5)[y] + rng.normal(size=(300, 5))
    # Such a column ranks well, and is never the highest.
    logits[:, 3] -= 9
    score = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    evaluation = polyroc.evaluate(y, score)
    assert evaluation.auc > 0.95
    row = evaluation.classes.of(3)
    assert (row.n_predicted, row.recall, row.precision) == (0, 0.0, None)
    note = (
        "Class 3 (60 samples) is never predicted: its column is the highest in no row. D and M compare samples within "
        "a column and cannot show that."
    )
    assert evaluation.notes[0] == note
    assert evaluation.classes.notes == (note,)
    assert "Class 3 (60 samples) is never predicted" in " ".join(str(evaluation).split())
    assert "never predicted" in str(evaluation.classes)
    assert evaluation.classes.to_dict()["precision"][3] is None


def test_a_class_that_only_ties_is_not_said_to_be_lower():
    votes = [[3.0, 0.0, 2.0], [1.0, 3.0, 1.0], [2.0, 1.0, 2.0], [2.0, 2.0, 1.0]]
    [note] = [one for one in polyroc.evaluate([0, 1, 2, 0], votes).notes if "never predicted" in one]
    assert note.startswith(
        "Class 2 (1 sample) is never predicted: its column is the highest in no row without a tie, and of equal "
        "columns the first counts. D and M"
    )


def test_many_lost_classes_are_counted_and_few_are_told():
    y = np.repeat(np.arange(9), 3)
    score = np.full((27, 9), 0.05)
    score[:, 0], score[:, 8] = np.where(y == 8, 0.1, 0.55), np.where(y == 8, 0.55, 0.1)
    score[np.arange(27), y] += 0.01
    [note] = [one for one in polyroc.evaluate(y, score).notes if "never predicted" in one]
    assert note.startswith(
        "7 of 9 classes are never predicted: 1 (3 samples), 2 (3 samples), 3 (3 samples), 4 (3 samples), 5 (3 samples) "
        "and 2 more. Their columns"
    )


def test_two_classes_are_one_pair():
    y, score = np.array([0, 0, 1, 1, 1]), np.array([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8], [0.3, 0.7]])
    evaluation = polyroc.evaluate(y, score)
    table = evaluation.classes
    assert table.recall.tolist() == [1.0, 2 / 3]
    assert table.precision.tolist() == [2 / 3, 1.0]
    for column in (table.auc_vs_rest, table.mean_pair_auc, table.hardest_auc):
        assert column.tolist() == [evaluation.hand_till] * 2
    assert table.hardest_partner.tolist() == [1, 0]
    assert table.mistaken_for.tolist() == [None, 0]


def test_one_column_names_no_class_and_says_why():
    evaluation = polyroc.evaluate(["a", "a", "b", "b"], [0.1, 0.4, 0.35, 0.8])
    table = evaluation.classes
    assert table.recall is None
    assert table.of("b").recall is None
    assert table.of("b").auc_vs_rest == 0.75
    assert table.never_predicted == []
    assert table.notes == (
        "There is no recall and no precision. There is one score column, so a class is predicted only by a threshold.",
    )
    assert table.to_dict()["recall"] is None
    assert table.to_frame("pandas")["recall"].isna().all()


def test_a_sample_of_the_pairs_leaves_areas_against_the_rest():
    y, score, weight, _ = problem(np.random.default_rng(11), n=120, k=8)
    everything = polyroc.evaluate(y, score, sample_weight=weight).classes
    for used in (None, weight):
        everything = polyroc.evaluate(y, score, sample_weight=used).classes
        table = polyroc.evaluate(y, score, sample_weight=used, max_pairs=16, rng=0).classes
        assert_allclose(table.auc_vs_rest, everything.auc_vs_rest, rtol=1e-12)
        assert table.recall.tolist() == everything.recall.tolist()
        assert table.mean_pair_auc is None
        assert table.of(2).hardest_partner is None
        assert any("max_pairs" in note for note in table.notes)
        one, other = table.with_intervals(), everything.with_intervals()
        assert_allclose(one.intervals.auc_vs_rest, other.intervals.auc_vs_rest)
        assert one.intervals.hardest_auc is None


def test_rows_and_columns_are_the_same_numbers():
    y, score, _, _ = problem(np.random.default_rng(12))
    table = polyroc.evaluate(y, score).classes
    assert len(table) == 4
    assert table[-1] == table.of(3)
    assert [row.recall for row in table] == table.recall.tolist()
    with pytest.raises(IndexError):
        table[4]
    with pytest.raises(InputError, match=r"`label` must be one of the 4 classes, got 'x'"):
        table.of("x")
    with pytest.raises(ValueError, match="read-only"):
        table.recall[0] = 1


def test_changed_samples_are_noticed():
    y, score, _, _ = problem(np.random.default_rng(13))
    table = polyroc.evaluate(y, score).classes
    score[:, 0] = 0
    with pytest.raises(RuntimeError, match="changed"):
        table.with_intervals()


@pytest.mark.parametrize("label", [np.arange(3), np.zeros(2, dtype=[("a", int)]), pl.LazyFrame({"a": [1]}), None, [1]])
def test_what_is_no_label_is_refused_by_name(label):
    classes = polyroc.evaluate([0, 1, 2, 0, 1, 2], np.eye(3)[[0, 1, 2, 0, 1, 2]]).classes
    assert classes.of(np.int64(1)).label == 1
    with pytest.raises(polyroc.InputError, match="`label` must be one of the 3 classes, got"):
        classes.of(label)
