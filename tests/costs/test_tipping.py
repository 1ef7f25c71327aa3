"""What a single mistake would have to cost to make another model first: against refits, and against trying all."""

import json
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import quietly

import polyroc
from polyroc._core.adjoint import weight_gradient
from polyroc._core.factorization import rank_one
from polyroc._core.weights import pair_weights
from polyroc._records import PairWeights
from polyroc.costs._tipping import _Finder, find_tipping
from polyroc.costs._tipping_search import Race, races

# A coarse grid: hundreds of fits, of which all that matters is which is larger.
COARSE = 9


def rivals(k, seed, *, n_models=3, per_class=25, names=None):
    """Labels and scores of models of about the same strength, each better at pairs of its own."""
    rng = np.random.default_rng(seed)
    codes = np.arange(k).repeat(per_class)
    scores = {}
    for model in "abcdefg"[:n_models]:
        signal = np.eye(k) + 0.8 * rng.uniform(size=(k, k)) * (1 - np.eye(k))
        scores[model] = rng.uniform(1.2, 1.8) * signal[codes] + rng.normal(size=(len(codes), k))
    return (codes if names is None else np.array(names, dtype=object)[codes]), scores


def compared(y_true, scores, **options):
    asked = {"method": "bootstrap", "n_resamples": 2, "rng": 0, "n_thresholds": COARSE, **options}
    return quietly(polyroc.compare, y_true, scores, **asked)


def values_at(y_true, scores, cell, factor, statistic, costs=None, **options):
    """The statistic of each model where one cost is multiplied by a factor: by the public road."""
    k = len(np.unique(y_true))
    changed = np.ones((k, k)) if costs is None else np.array(costs, dtype=float)
    changed[cell] *= factor
    asked = {"costs": changed, "n_thresholds": COARSE, **options}
    found = {name: quietly(polyroc.evaluate, y_true, one, **asked) for name, one in scores.items()}
    return {name: getattr(one, statistic) for name, one in found.items()}


def is_first(values, model):
    return all(values[model] > value for name, value in values.items() if name != model)


@pytest.mark.parametrize("shrinkage", [0.0, 1.0, 20.0])
def test_gradient_is_that_of_finite_differences(shrinkage):
    y_true, scores = rivals(4, 1)
    costs = 10 ** np.random.default_rng(5).uniform(-1, 1, (4, 4))
    one = quietly(
        polyroc.evaluate, y_true, scores["a"], costs=costs, shrinkage=shrinkage, engine="numpy", n_thresholds=19
    )
    weights = pair_weights(one.fitted.source, one.fitted.pairs, one.fitted.options)
    by_tpr, by_fpr = weight_gradient(one.factorization, one.rates, weights, shrinkage=shrinkage)

    def area(log_tpr, log_fpr):
        moved = PairWeights(weights.tpr * np.exp(log_tpr), weights.fpr * np.exp(log_fpr), weights.size)
        tpr, fpr = np.split(1 / (1 + np.exp(-rank_one(one.rates, moved, shrinkage).row_effects)), 2)
        return np.trapezoid(np.r_[0, tpr, 1], np.r_[0, fpr, 1])

    step, none = 1e-4, np.zeros(12)
    for pair in range(12):
        move = step * (np.arange(12) == pair)
        assert_allclose(by_tpr[pair], (area(move, none) - area(-move, none)) / (2 * step), atol=1e-8, rtol=1e-6)
        assert_allclose(by_fpr[pair], (area(none, move) - area(none, -move)) / (2 * step), atol=1e-8, rtol=1e-6)
    # Only ratios matter.
    assert abs(by_tpr.sum() + by_fpr.sum()) < 1e-9


def test_slopes_of_costs_are_those_of_the_cost_matrix_as_it_is_given():
    y_true, scores = rivals(4, 2)
    comparison = compared(y_true, scores, engine="numpy")
    finder = _Finder.of(comparison.evaluations, 1000.0)
    slopes = finder.rivals[0].auc_slopes(finder.cells)
    for place in (0, 5, 7, 11):
        cell = int(finder.cells.true[place]), int(finder.cells.predicted[place])
        up, down = (values_at(y_true, {"a": scores["a"]}, cell, np.exp(step), "auc")["a"] for step in (1e-4, -1e-4))
        assert_allclose(slopes[place], (up - down) / 2e-4, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("statistic", ["auc", "mean_auc"])
def test_the_cost_that_was_found_makes_the_model_first_and_a_little_less_does_not(seed, statistic):
    y_true, scores = rivals(4, seed)
    found = [one for one in compared(y_true, scores).tipping_costs() if one.statistic == statistic]
    assert {one.model for one in found} | {found[0].first} == set(scores)
    tipped = [one for one in found if one.factor is not None]
    for one in tipped:
        there = values_at(y_true, scores, one.cell, one.factor, statistic)
        assert is_first(there, one.model)
        assert (one.value, one.first_value) == pytest.approx((there[one.model], there[one.first]), abs=1e-8)
        less = one.factor * (0.98 if one.factor > 1 else 1.02)
        if (less > 1) == (one.factor > 1):
            assert not is_first(values_at(y_true, scores, one.cell, less, statistic), one.model)
        # Shown in three digits, and to be typed so.
        assert one.factor == float(f"{one.factor:.3g}")


def one_sided(n=60):
    """Two models that differ in one mistake alone: `narrow` takes no 2 for a 0, and is worse everywhere else."""
    rng = np.random.default_rng(0)
    codes = np.arange(3).repeat(n)
    noise = rng.normal(size=(len(codes), 3))
    wide = 1.5 * np.eye(3)[codes] + noise
    narrow = 1.0 * np.eye(3)[codes] + noise
    # The column of 0 separates the twos, so that the pair (0, 2) is perfect; the column of 2 is as bad as before.
    narrow[codes == 2, 0] -= 20
    return codes, {"wide": wide, "narrow": narrow}


@pytest.mark.parametrize("statistic", ["auc", "mean_auc"])
def test_the_row_is_the_true_class_and_the_column_the_predicted_class(statistic):
    y_true, scores = one_sided()
    one = compared(y_true, scores).tipping_costs().of("narrow", statistic)
    turned = one.cell[::-1]
    assert (one.true_class, one.predicted_class) == one.cell
    assert is_first(values_at(y_true, scores, one.cell, one.factor, statistic), "narrow")
    assert not is_first(values_at(y_true, scores, turned, one.factor, statistic), "narrow")


@pytest.mark.parametrize(
    "options",
    [
        {},
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in ({"weighting": "prevalence"}, {"thresholds": "shared"}, {"shrinkage": 0.5})
        ),
    ],
)
def test_by_the_mean_area_no_smaller_change_will_do(options):
    for seed in range(2):
        y_true, scores = rivals(3, seed, per_class=20, n_models=2)
        y_true = np.r_[y_true, [2] * 15]
        scores = {name: np.r_[one, one[-15:] + 0.1] for name, one in scores.items()}
        tipping = compared(y_true, scores, **options).tipping_costs()
        for one in tipping:
            if one.statistic != "mean_auc":
                continue
            reach = np.log(1000.0) if one.factor is None else abs(np.log(one.factor)) - 0.01
            tried = [
                ((a, b), np.exp(sign * size))
                for a in range(3)
                for b in range(3)
                for sign in (1, -1)
                for size in np.linspace(0.05, 1, 6) * reach
                if a != b and reach > 0
            ]
            for cell, factor in tried:
                there = values_at(y_true, scores, cell, factor, "mean_auc", **options)
                assert not is_first(there, one.model), (seed, one, cell, factor)


@pytest.mark.slow
def test_first_means_ahead_of_every_model_and_not_only_of_the_one_that_is_first():
    """Where a cost makes a model overtake the first one, a third may be ahead of both."""
    seen = 0
    for seed in range(12):
        y_true, scores = rivals(3, seed)
        for one in compared(y_true, scores).tipping_costs():
            if one.factor is None or one.statistic != "mean_auc":
                continue
            two = {name: scores[name] for name in (one.model, one.first)}
            alone = compared(y_true, two).tipping_costs().of(one.model, "mean_auc")
            size, of_two = abs(np.log(one.factor)), abs(np.log(alone.factor))
            assert of_two <= size + 0.01
            seen += of_two < size - 0.01
    assert seen > 0


def test_given_costs_are_where_the_change_starts():
    y_true, scores = rivals(4, 3)
    costs = 10 ** np.random.default_rng(1).uniform(-0.5, 0.5, (4, 4))
    np.fill_diagonal(costs, 0)
    tipping = compared(y_true, scores, costs=costs).tipping_costs()
    found = [one for one in tipping if one.factor is not None]
    assert {one.statistic for one in found} == {"auc", "mean_auc"}
    for one in found:
        there = values_at(y_true, scores, one.cell, one.factor, one.statistic, costs)
        assert is_first(there, one.model)
        assert one.cost == pytest.approx(costs[one.cell] * one.factor)
        less = costs.copy()
        less[one.cell] *= one.factor**0.9
        nearly = values_at(y_true, scores, one.cell, 1.0, one.statistic, less)
        assert not is_first(nearly, one.model)


@pytest.mark.parametrize("structure", ["centered", "saturated"])
def test_other_structures_are_verified_by_their_own_fits(structure):
    y_true, scores = rivals(3, 5)
    found = [one for one in compared(y_true, scores, structure=structure).tipping_costs() if one.factor is not None]
    assert found
    for one in found:
        assert is_first(values_at(y_true, scores, one.cell, one.factor, one.statistic, structure=structure), one.model)


def worse_everywhere(k=4):
    rng = np.random.default_rng(0)
    codes = np.arange(k).repeat(30)
    noise = rng.normal(size=(len(codes), k))
    return codes, {"good": 3 * np.eye(k)[codes] + noise, "bad": 0.3 * np.eye(k)[codes] + noise}


def test_a_model_that_is_worse_at_every_pair_is_never_first():
    y_true, scores = worse_everywhere()
    tipping = compared(y_true, scores).tipping_costs()
    assert [(one.model, one.statistic, one.factor) for one in tipping] == [
        ("bad", "auc", None),
        ("bad", "mean_auc", None),
    ]
    assert tipping.sentences == (
        "No single cost up to 1,000 times makes bad first by D.",
        "No single cost up to 1,000 times makes bad first by the mean area.",
    )
    assert tipping.of("bad").cell is None


def test_a_change_beyond_the_largest_is_not_found():
    y_true, scores = one_sided()
    comparison = compared(y_true, scores)
    found = comparison.tipping_costs().of("narrow", "mean_auc")
    size = max(found.factor, 1 / found.factor)
    assert comparison.tipping_costs(largest=size * 1.02).of("narrow", "mean_auc").factor == found.factor
    assert comparison.tipping_costs(largest=1 + 0.9 * (size - 1)).of("narrow", "mean_auc").factor is None


def test_equal_models_are_first_together_and_become_first_together():
    y_true, scores = one_sided()
    wide, narrow = scores["wide"], scores["narrow"]
    both = compared(y_true, {"wide": wide, "twin": wide}).tipping_costs()
    assert len(both) == 0
    assert str(both) == "All models are equally good by D and by the mean area."
    tipping = compared(y_true, {"wide": wide, "narrow": narrow, "twin": narrow.copy()}).tipping_costs()
    alone = compared(y_true, scores).tipping_costs()
    for statistic in ("auc", "mean_auc"):
        assert tipping.of("narrow", statistic).factor == tipping.of("twin", statistic).factor
        assert tipping.of("twin", statistic).factor == alone.of("narrow", statistic).factor


def test_two_classes_samples_of_pairs_and_extreme_costs_have_an_empty_list_with_a_reason():
    y_true, scores = rivals(5, 0)
    is_one = (y_true == 1).astype(int)
    binary = compared(is_one, {name: one[:, 1] for name, one in scores.items()}, n_thresholds=99).tipping_costs()
    assert (len(binary), binary.note) == (0, "Two classes have one pair, so no cost changes D.")
    assert str(binary) == binary.note
    sampled = compared(y_true, scores, max_pairs=10).tipping_costs()
    assert sampled.note == "Only a sample of the pairs was compared (`max_pairs`), so no cost was sought."
    costs = np.ones((5, 5))
    costs[0, 1] = 1e11
    evaluations = {name: quietly(polyroc.evaluate, y_true, one, costs=costs) for name, one in scores.items()}
    extreme = find_tipping(evaluations, 1000.0, progress=False)
    assert extreme.note == "The weights of the pairs are already up to 1e+11 times apart, so no cost was sought."


def test_a_class_without_samples_has_no_part():
    y_true, scores = rivals(4, 1)
    kept = y_true != 2
    scores = {name: one[kept] for name, one in scores.items()}
    found = compared(y_true[kept], scores, labels=range(4)).tipping_costs()
    assert len(found) > 0
    assert all(2 not in one.cell for one in found if one.cell)


@pytest.mark.parametrize("largest", [1, 0.5, -3, 2e6, np.nan, np.inf, True, "1000", None])
def test_the_largest_change_is_checked(largest):
    comparison = compared(*one_sided())
    with pytest.raises(polyroc.InputError, match=r"`largest` must be a number above 1 and at most 1,000,000, got"):
        comparison.tipping_costs(largest=largest)
    with pytest.raises(polyroc.InputError, match="`progress` must be"):
        comparison.tipping_costs(progress=1)


def test_words_name_the_mistake_and_the_factor():
    y_true, scores = one_sided()
    names = np.array(["cat", "dog", "cow"])
    tipping = compared(names[y_true], scores, labels=names).tipping_costs()
    one = tipping.of("narrow")
    words = tipping.sentences[0]
    assert words.startswith(
        f"narrow becomes first by D if predicting {one.true_class} as {one.predicted_class} counts "
    )
    assert words.endswith(" times as much.")
    text = str(tipping)
    assert text.splitlines()[0] == words
    assert "By point estimates: " in text
    assert text.count("By point estimates") == 1
    assert repr(tipping) == "TippingCosts(2 of 2 orders can be changed by a single cost)"


def test_hostile_names_stay_text():
    y_true, scores = one_sided()
    names = np.array(["<b>a</b>", "two\nlines", "=1+1"], dtype=object)
    hostile = {"<script>1</script>": scores["wide"], "x\ny": scores["narrow"]}
    tipping = compared(names[y_true], hostile, labels=names).tipping_costs()
    page = tipping._repr_html_()
    assert "<b>" not in page
    assert "<script>" not in page
    assert "two\nlines" not in page
    assert "x\ny" not in str(tipping)


def test_plain_data_frames_and_pickles():
    y_true, scores = one_sided()
    tipping = compared(y_true, scores).tipping_costs()
    record = json.loads(json.dumps(tipping.to_dict()))
    assert [one["model"] for one in record["entries"]] == ["narrow", "narrow"]
    assert tuple(record["entries"][0]["cell"]) == tipping.of("narrow").cell
    again = pickle.loads(pickle.dumps(tipping))
    assert again.entries == tipping.entries
    pandas = pytest.importorskip("pandas")
    frame = tipping.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["factor"].tolist() == [one.factor for one in tipping]
    none = compared(*worse_everywhere()).tipping_costs().to_frame()
    assert none["factor"].isna().all()
    with pytest.raises(polyroc.InputError, match="must be a model that is not first by D, got 'wide'"):
        tipping.of("wide")


def test_rates_are_measured_once_and_no_model_is_fitted_twice_at_a_cost(monkeypatch):
    comparison = compared(*rivals(3, 0), engine="numpy")
    asked = []
    [fitting] = {type(one.fitted.prepared) for one in comparison.evaluations.values()}
    monkeypatch.setattr(fitting, "rates", lambda *_: pytest.fail("rates were measured again"))
    fit = fitting.fit
    monkeypatch.setattr(fitting, "fit", lambda self, *given, **more: asked.append(1) or fit(self, *given, **more))
    tipping = comparison.tipping_costs()
    assert len(asked) == tipping.n_fits > 0


def test_where_a_fit_does_not_converge_nobody_is_first():
    race = Race(0, ((1, 0.0), (2, 0.0)))
    nan = float("nan")
    for values in ((nan, 0.5, 0.5), (0.6, nan, 0.5), (0.6, 0.5, nan)):
        assert race.margin(values.__getitem__) == -float("inf")
    assert race.margin((0.6, 0.5, 0.55).__getitem__) == pytest.approx(0.05)
    assert race.margin((0.6, 0.5, 0.7).__getitem__) == pytest.approx(-0.1)


def smaller_change(y_true, scores, one, statistic="auc"):
    """Any cost that makes the model first by a change at least 2 % smaller, by trying all of them."""
    reach = np.log(1000.0) if one.factor is None else abs(np.log(one.factor)) - 0.02
    k = len(np.unique(y_true))
    for share in (1.0, 0.75, 0.5, 0.25):
        for a, b in ((a, b) for a in range(k) for b in range(k) if a != b):
            for sign in (1, -1):
                factor = np.exp(sign * share * reach)
                if reach > 0 and is_first(values_at(y_true, scores, (a, b), factor, statistic), one.model):
                    return (a, b), factor
    return None


@pytest.mark.slow
def test_a_smaller_change_by_d_is_missed_in_less_than_2_percent_of_random_comparisons():
    missed, n = [], 0
    for seed in range(50):
        y_true, scores = rivals(3 + seed % 3, 100 + seed, n_models=2 + seed % 2)
        for one in compared(y_true, scores).tipping_costs():
            if one.statistic == "auc":
                n += 1
                if found := smaller_change(y_true, scores, one):
                    missed.append((seed, one, found))
    assert n >= 50
    assert len(missed) < 0.02 * n, missed


def test_races_are_run_by_models_that_another_one_is_ahead_of():
    found = races([0.8, 0.9, 0.9, 0.7])
    assert [race.target for race in found] == [0, 3]
    values = {0: 0.95, 1: 0.9, 2: 0.9, 3: 0.97}
    assert found[0].margin(values.__getitem__) < 0
    assert found[1].margin(values.__getitem__) > 0
    assert found[0].margin({**values, 1: float("nan")}.__getitem__) < 0
