"""Intervals of the table of classes: their standard errors by the jackknife, the bootstrap and by DeLong's formula."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import polyroc
from polyroc._uncertainty.delong import freedom, standard_error
from polyroc._uncertainty.units import units_of
from polyroc.evaluation._class_areas import ClassAreas, Ranking, _Counting


def problem(seed, n=80, k=4, *, weights=False):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.repeat(np.arange(k), 5), rng.integers(k, size=n - 5 * k)])
    score = np.round(1.2 * np.eye(k)[y] + rng.normal(size=(n, k)), 1)
    return y, score, rng.uniform(0.5, 2, size=n) if weights else None


def ranking(evaluation, groups=None):
    predictions = evaluation.fitted.source
    areas = ClassAreas.of(evaluation.fitted.prepared, evaluation.fitted.pairs, evaluation.pairs.auc)
    found = {"rest": {}, "pairs": {}, "hardest": {}}
    for name, i, spread in Ranking(predictions, areas, units_of(predictions, groups)).spreads():
        found[name][i] = spread
    return found.values()


def derivatives(y, score, weight, pick, step=1e-5):
    """What each sample adds: the derivative by its weight, times the weight."""
    base = np.ones(len(y)) if weight is None else weight
    found = []
    for m in range(len(y)):
        ends = []
        for sign in (1, -1):
            moved = base.copy()
            moved[m] *= 1 + sign * step
            ends.append(pick(polyroc.evaluate(y, score, sample_weight=moved, engine="numpy").classes))
        found.append((ends[0] - ends[1]) / (2 * step))
    return np.array(found)


@pytest.mark.parametrize("weights", [False, True])
def test_influences_are_the_derivatives_by_the_weights(weights):
    y, score, weight = problem(1, n=36, weights=weights)
    evaluation = polyroc.evaluate(y, score, sample_weight=weight)
    against_rest, of_pairs, of_hardest = ranking(evaluation)
    rest = derivatives(y, score, weight, lambda table: table.auc_vs_rest)
    mean = derivatives(y, score, weight, lambda table: table.mean_pair_auc)
    hardest = derivatives(y, score, weight, lambda table: table.hardest_auc)
    for i in range(4):
        # Against the rest, with the derivative by how frequent the other classes are.
        assert_allclose(against_rest[i].influences, rest[:, i], atol=1e-8)
        assert_allclose(of_pairs[i].influences, mean[:, i], atol=1e-8)
        taking_part = np.isin(y, [i, evaluation.classes.hardest_partner[i]])
        assert_allclose(sorted(of_hardest[i].influences), sorted(hardest[taking_part, i]), atol=1e-8)
        assert_allclose(hardest[~taking_part, i], 0, atol=1e-8)


def test_standard_errors_against_the_rest_are_delongs_of_two_classes():
    y, score, _ = problem(2)
    against_rest, _, _ = ranking(polyroc.evaluate(y, score))
    for i in range(4):
        binary = polyroc.evaluate(y == i, score[:, i])
        assert_allclose(against_rest[i].standard_error, binary.standard_error, rtol=1e-12)
        table = polyroc.evaluate(y, score).classes.with_intervals(0.9)
        low_high = binary.confidence_interval(0.9, method="delong", statistic="hand_till")
        assert_allclose(table.intervals.auc_vs_rest[i], low_high, rtol=1e-12)


def test_the_hardest_pair_has_the_interval_of_these_two_classes_alone():
    y, score, _ = problem(3)
    table = polyroc.evaluate(y, score).classes.with_intervals()
    for i, row in enumerate(table):
        j = row.hardest_partner
        kept, both = np.isin(y, [i, j]), sorted([i, j])
        # A third class without samples keeps two columns from being an ordinary curve.
        columns = np.column_stack([score[kept][:, both], score[kept][:, 0]])
        with pytest.warns(UserWarning, match="No samples"):
            alone = polyroc.evaluate(y[kept], columns, labels=[*both, 99])
        assert_allclose(row.hardest_auc, alone.hand_till, rtol=1e-12)
        expected = alone.confidence_interval(method="delong", statistic="hand_till")
        assert_allclose(row.intervals["hardest_auc"], expected, rtol=1e-12)


def test_the_mean_of_the_influences_over_classes_is_that_of_m():
    y, score, weight = problem(4, weights=True)
    evaluation = polyroc.evaluate(y, score, sample_weight=weight)
    _, of_pairs, _ = ranking(evaluation)
    for spread in of_pairs.values():
        assert_allclose(spread.standard_error, standard_error(spread.influences, spread.units), rtol=1e-12)
        assert_allclose(spread.freedom, freedom(spread.influences, spread.units), rtol=1e-12)
    mean = np.mean([spread.influences for spread in of_pairs.values()], axis=0)
    assert_allclose(mean, evaluation.hand_till_influences, atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("grouped", [False, True])
def test_standard_errors_agree_with_resamples(grouped):
    rng = np.random.default_rng(5)
    y, score, _ = problem(6, n=240)
    group = np.arange(240)
    if grouped:  # three samples each, which err together
        group = np.arange(240) // 3
        y, score = np.repeat(y[:80], 3), np.repeat(score[:80], 3, axis=0) + 0.3 * rng.normal(size=(240, 4))
    against_rest, of_pairs, _ = ranking(polyroc.evaluate(y, score), group if grouped else None)
    drawn = []
    n_groups = group[-1] + 1
    of_class = y[np.searchsorted(group, np.arange(n_groups))]
    for _ in range(300):
        # Groups are drawn within each class, so that the mean over pairs is that of classes of these sizes.
        times = np.zeros(n_groups)
        for c in range(4):
            members = np.flatnonzero(of_class == c)
            np.add.at(times, rng.choice(members, size=len(members) - 1), 1)
        weight = times[group]
        drawn.append(polyroc.evaluate(y, score, sample_weight=weight, engine="numpy").classes.mean_pair_auc)
    errors = np.std(drawn, axis=0, ddof=1)
    assert_allclose([of_pairs[i].standard_error for i in range(4)], errors, rtol=0.16)
    # Of single-class groups the class is one stratum and all others another.
    assert set(np.unique(against_rest[2].units.stratum)) == {0, 1}


def test_groups_of_several_classes_are_one_stratum():
    y, score, _ = problem(7, n=120)
    group = np.random.default_rng(0).integers(30, size=120)
    table = polyroc.evaluate(y, score).classes
    one, other = table.with_intervals(groups=group), table.with_intervals()
    assert one.recall.tolist() == other.recall.tolist()
    assert not np.allclose(one.intervals.auc_vs_rest, other.intervals.auc_vs_rest)
    assert np.all(one.intervals.auc_vs_rest[:, 0] < one.auc_vs_rest)
    with pytest.raises(ValueError, match="`groups` must have one entry per sample, 120"):
        table.with_intervals(groups=[1, 2])


def wilson(share, n, z=1.959963984540054):
    """By solving the equation of the normal test for both shares."""
    a, b, c = 1 + z**2 / n, -(2 * share + z**2 / n), share**2
    root = np.sqrt(b**2 - 4 * a * c)
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


def test_recall_and_precision_have_wilsons_interval():
    y, score, weight = problem(8, weights=True)
    predicted = score.argmax(axis=1)
    for used in (None, weight):
        table = polyroc.evaluate(y, score, sample_weight=used).classes.with_intervals()
        w = np.ones(len(y)) if used is None else used
        for i, row in enumerate(table):
            for name, part in (("recall", y == i), ("precision", predicted == i)):
                effective = w[part].sum() ** 2 / np.sum(w[part] ** 2)
                assert_allclose(row.intervals[name], wilson(getattr(row, name), effective), rtol=1e-10)


def test_copies_in_groups_count_once():
    y, score, _ = problem(9)
    alone = polyroc.evaluate(y, score).classes.with_intervals()
    copies = polyroc.evaluate(np.repeat(y, 4), np.repeat(score, 4, axis=0)).classes
    together = copies.with_intervals(groups=np.repeat(np.arange(len(y)), 4))
    assert_allclose(together.recall, alone.recall)
    # The variance of u groups has the factor u / (u - 1), which Wilson's has not.
    inside = (alone.recall > 0) & (alone.recall < 1)
    assert inside.any()
    ratio = np.diff(together.intervals.recall) / np.diff(alone.intervals.recall)
    assert_allclose(ratio[inside], 1, atol=0.06)
    assert_allclose(together.intervals.mean_pair_auc, alone.intervals.mean_pair_auc, rtol=1e-9)
    assert_allclose(together.intervals.auc_vs_rest, alone.intervals.auc_vs_rest, rtol=1e-9)


def test_shares_of_groups_that_never_vary_count_the_groups():
    y, score = np.repeat([0, 1, 2], 12), np.repeat(np.eye(3), 12, axis=0)
    evaluation = polyroc.evaluate(y, score + np.linspace(0, 0.1, 108).reshape(36, 3))
    units = units_of(evaluation.fitted.source, np.arange(36) // 4)
    counting = _Counting(evaluation.fitted.source, units)
    assert counting._effective(np.ones(3), y, np.ones(36, dtype=bool)).tolist() == [3.0, 3.0, 3.0]


def test_a_perfect_class_has_clopper_and_pearsons_interval():
    y = np.repeat([0, 1, 2], 20)
    score = np.eye(3)[y] + np.linspace(0, 0.2, 180).reshape(60, 3)
    row = polyroc.evaluate(y, score).classes.with_intervals().of(0)
    assert row.auc_vs_rest == row.mean_pair_auc == 1.0
    assert_allclose(row.intervals["auc_vs_rest"], (0.025 ** (1 / 20), 1.0))
    assert_allclose(row.intervals["hardest_auc"], (0.025 ** (1 / 20), 1.0))


@pytest.mark.parametrize("columns", [1, 2])
def test_two_classes_have_the_interval_of_their_pair(columns):
    y, score, _ = problem(10, k=2)
    score = np.column_stack([-score[:, 1], score[:, 1]])[:, 2 - columns :]
    evaluation = polyroc.evaluate(y, score)
    found = evaluation.classes.with_intervals().intervals
    expected = evaluation.confidence_interval(method="delong", statistic="hand_till")
    for ends in (found.auc_vs_rest, found.mean_pair_auc, found.hardest_auc):
        assert_allclose(ends, [expected, expected], rtol=1e-12)
    assert (found.recall is None) == (columns == 1)


def test_large_tables_are_kept_in_single_precision(monkeypatch):
    y, score, _ = problem(11)
    table = polyroc.evaluate(y, score).classes
    double = table.with_intervals().intervals
    monkeypatch.setattr("polyroc.evaluation._class_areas._SINGLE", 10)
    single = table.with_intervals().intervals
    assert_allclose(single.mean_pair_auc, double.mean_pair_auc, rtol=1e-5)
    assert not np.array_equal(single.mean_pair_auc, double.mean_pair_auc)


def test_a_perfect_class_is_as_sure_as_the_smallest_class_that_it_is_compared_with():
    y = np.repeat([0, 1, 2], [60, 12, 30])
    score = np.eye(3)[y] + np.linspace(0, 0.2, 306).reshape(102, 3)
    first, second, _ = polyroc.evaluate(y, score).classes.with_intervals()
    # Against the rest of 42, over two pairs with at least 12 samples each, and against the smaller partner.
    counted = {"auc_vs_rest": 42, "mean_pair_auc": 24, "hardest_auc": 12}
    for name, count in counted.items():
        assert_allclose(first.intervals[name], (0.025 ** (1 / count), 1.0))
        assert_allclose(second.intervals[name], (0.025 ** (1 / 12), 1.0))


def test_groups_add_no_samples_to_those_that_weights_leave():
    # Of each group one sample is predicted right and one wrong, so that groups do not vary; one group has most weight.
    y, predicted = np.repeat([0, 1], 20), np.tile([0, 1], 20)
    weight = np.where(np.arange(40) < 2, 50.0, 1.0)
    evaluation = polyroc.evaluate(y, np.eye(2)[predicted], sample_weight=weight)
    row = evaluation.classes.with_intervals(groups=np.arange(40) // 2).of(0)
    assert row.recall == 0.5
    assert_allclose(row.intervals["recall"], wilson(0.5, 118**2 / (2 * 50**2 + 18)), rtol=1e-10)
