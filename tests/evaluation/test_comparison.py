"""Comparisons: paired, reproducible, and told in tables that agree with each other."""

import itertools
import json
import pickle
import re
from html import escape, unescape

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import polyroc
from polyroc import ResamplingWarning


def three_models(seed=0, n=240, k=4, strengths=(1.2, 1.0, 0.3)):
    rng = np.random.default_rng(seed)
    y_true = np.arange(n) % k
    shared = rng.normal(size=(n, k))
    scores = {
        name: 0.8 * shared + 0.6 * rng.normal(size=(n, k)) + strength * np.eye(k)[y_true]
        for name, strength in zip(("good", "fair", "poor"), strengths, strict=True)
    }
    return y_true, scores


@pytest.fixture(scope="module")
def comparison():
    return polyroc.compare(*three_models(), method="bootstrap", n_resamples=99, rng=0)


def test_estimates_are_those_of_evaluate_and_its_bootstrap(comparison):
    y_true, scores = three_models()
    for name, by_d, by_m in zip(scores, comparison.by_auc.estimates, comparison.by_hand_till.estimates, strict=True):
        evaluation = polyroc.evaluate(y_true, scores[name])
        drawn = evaluation.bootstrap(99, rng=0)
        assert by_d.model == name
        assert by_d.value == evaluation.auc
        assert by_m.value == evaluation.hand_till
        assert by_d.standard_error == drawn.standard_error()
        assert (by_d.low, by_d.high) == drawn.confidence_interval()
        assert (by_m.low, by_m.high) == drawn.confidence_interval(statistic="hand_till")


@pytest.mark.parametrize("statistic", ["auc", "hand_till"])
def test_differences_are_of_paired_replicates(comparison, statistic):
    entries = {(entry.first, entry.second): entry for entry in getattr(comparison, f"by_{statistic}").differences}
    assert list(entries) == list(itertools.combinations(comparison.models, 2))
    for (a, b), entry in entries.items():
        first, second = (getattr(comparison.bootstraps[name], statistic) for name in (a, b))
        assert entry.standard_error == pytest.approx(np.std(first - second, ddof=1), rel=1e-12)
        assert entry.low < entry.value < entry.high
        # Correlated models: the difference is surer than if they were independent.
        assert entry.standard_error < 0.9 * np.hypot(np.std(first), np.std(second))
        # atanh, the logit scale of a number between -1 and 1, hardly bends here.
        z = entry.value / entry.standard_error
        assert entry.p_value == pytest.approx(2 * stats.t.sf(abs(z), 59), rel=0.15)
        assert entry.p_value <= entry.p_value_holm <= 3 * entry.p_value


def test_ranking_probabilities(comparison):
    replicates = np.array([comparison.bootstraps[name].auc for name in comparison.models])
    for ranking in comparison.by_auc.rankings:
        places = [comparison.models.index(name) for (name,) in ranking.order]
        share = np.mean(np.all(np.diff(replicates[places], axis=0) < 0, axis=0))
        assert ranking.probability == pytest.approx(share)
    probabilities = [ranking.probability for ranking in comparison.by_auc.rankings]
    assert sum(probabilities) == pytest.approx(1)
    assert probabilities == sorted(probabilities, reverse=True)
    best = [entry.probability_best for entry in comparison.by_auc.estimates]
    assert_allclose(best, np.mean(replicates == replicates.max(axis=0), axis=1))
    assert str(comparison.by_auc.rankings[0]) == "good > fair > poor"


def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(comparison):
    again = polyroc.compare(*three_models(), method="bootstrap", n_resamples=99, rng=0, n_jobs=1)
    assert again.to_dict() == comparison.to_dict()
    other = polyroc.compare(*three_models(), method="bootstrap", n_resamples=99, rng=1)
    assert other.to_dict() != comparison.to_dict()


def test_a_model_and_itself():
    y_true, scores = three_models()
    found = polyroc.compare(
        y_true, {"one": scores["good"], "same": scores["good"].copy()}, method="bootstrap", n_resamples=50, rng=0
    )
    for contest in (found.by_auc, found.by_hand_till):
        [difference] = contest.differences
        assert (difference.value, difference.low, difference.high) == (0, 0, 0)
        assert difference.p_value == difference.p_value_holm == 1
        assert [str(ranking) for ranking in contest.rankings] == ["one = same"]
        assert [entry.probability_best for entry in contest.estimates] == [0.5, 0.5]
    assert found.delong[0].p_value == 1


@pytest.mark.filterwarnings("ignore::polyroc.ResamplingWarning")
def test_equal_models_are_drawn_as_equal():
    """Without resampling, too: rounding would put one of them before the others in each draw."""
    y_true, scores = three_models()
    equal = {name: scores["good"].copy() for name in ("one", "same", "again")}
    found = polyroc.compare(y_true, {**equal, "other": scores["fair"]})
    for contest in (found.by_auc, found.by_hand_till):
        assert {str(ranking) for ranking in contest.rankings} <= {
            "one = same = again > other",
            "other > one = same = again",
        }
        shares = [entry.probability_best for entry in contest.estimates[:3]]
        assert shares[0] == shares[1] == shares[2]


@pytest.mark.filterwarnings("ignore:The scores of .* are probabilities")
@pytest.mark.filterwarnings("ignore:The scores .*rank samples backwards")
@pytest.mark.filterwarnings("ignore::polyroc.ResamplingWarning")
def test_perfect_constant_and_reversed_models():
    y_true = np.repeat([0, 1, 2], 20)
    perfect = np.eye(3)[y_true]
    found = polyroc.compare(
        y_true, {"1": perfect, "half": 0 * perfect, "0": -perfect}, method="bootstrap", n_resamples=99, rng=0
    )
    json.dumps(found.to_dict(), allow_nan=False)
    # As far apart as the intervals of the two allow: perfect is compatible with areas down to the 20th root of
    # 0.025, and with 1/2 only at a level of 1 - 2 / 2^20.
    reach = 1 - 0.025 ** (1 / 20)
    for difference, expected in zip(found.by_auc.differences, (0.5, 1, 0.5), strict=True):
        assert difference.value == pytest.approx(expected, abs=1e-9)
        assert difference.low == pytest.approx(expected - (2 if expected == 1 else 1) * reach, abs=1e-9)
        assert difference.p_value == pytest.approx(2 / 2**20, rel=1e-6)
    assert str(found.by_auc.rankings[0]) == "1 > half > 0"
    # DeLong's variance is 0 here, so that its test has nothing to say.
    assert [difference.p_value for difference in found.delong] == [1, 1, 1]


@pytest.mark.filterwarnings("ignore::polyroc.ResamplingWarning")
def test_intervals_and_p_values_agree_where_nothing_varies():
    for per_class in (1, 3, 6):
        y_true = np.repeat([0, 1, 2], per_class)
        perfect = np.eye(3)[y_true]
        found = polyroc.compare(
            y_true, {"perfect": perfect, "constant": 0 * perfect}, method="bootstrap", n_resamples=20, rng=0
        )
        [difference] = found.by_auc.differences
        assert (difference.p_value < 0.05) == (difference.low > 0)


@pytest.mark.filterwarnings("ignore:The scores of .* are probabilities")
@pytest.mark.filterwarnings("ignore::polyroc.ResamplingWarning")
def test_two_perfect_models_may_differ_as_far_as_their_intervals_allow():
    y_true = np.repeat([0, 1, 2], 20)
    found = polyroc.compare(
        y_true, {"a": np.eye(3)[y_true], "b": 2 * np.eye(3)[y_true]}, method="bootstrap", n_resamples=20, rng=0
    )
    [difference] = found.by_auc.differences
    assert difference.value == 0
    assert difference.p_value == 1
    assert_allclose([difference.low, difference.high], np.array([-1, 1]) * (1 - 0.025 ** (1 / 20)), atol=1e-9)


def test_a_few_gross_errors_do_not_blow_intervals_up():
    """One sample of 300 scored backwards: D is known to within a few errors, whatever some replicates say."""
    y_true = np.repeat([0, 1, 2], 300)
    rng = np.random.default_rng(0)
    y_score = np.eye(3)[y_true] + 0.01 * rng.normal(size=(900, 3))
    y_score[0, 0] = -1
    evaluation = polyroc.evaluate(y_true, y_score)
    with pytest.warns(ResamplingWarning, match=r"errors of very few samples .* \(2.0 degrees of freedom\)"):
        drawn = evaluation.bootstrap(199, rng=0)
    for statistic in ("auc", "hand_till"):
        low, high = drawn.confidence_interval(statistic=statistic)
        assert 0.96 < low < high <= 1
    for simultaneous in (False, True):
        band = drawn.confidence_band(simultaneous=simultaneous)
        assert 0.97 < band.lower.auc < evaluation.auc < band.upper.auc


def test_delong_agrees_with_the_bootstrap_of_hand_till():
    found = polyroc.compare(*three_models(n=600), method="bootstrap", n_resamples=1999, rng=0)
    for closed, drawn in zip(found.delong, found.by_hand_till.differences, strict=True):
        assert closed.value == drawn.value
        # Standard deviations of 1,999 replicates are good to 1.6 %.
        assert closed.standard_error == pytest.approx(drawn.standard_error, rel=0.07)
        assert closed.p_value <= closed.p_value_holm


@pytest.mark.parametrize("interval", ["percentile", "basic", "bca"])
def test_other_intervals(interval):
    found = polyroc.compare(*three_models(n=120), method="bootstrap", n_resamples=99, rng=0, interval=interval)
    for entry in found.by_auc.differences:
        assert entry.low < entry.value < entry.high
        assert 0 < entry.p_value <= 1
    assert found.by_auc.differences[1].p_value < 0.05


def test_groups_and_options_reach_every_model():
    y_true, scores = three_models()
    groups = np.arange(240) // 4 % 30
    costs = np.ones((4, 4))
    costs[0] = 5
    found = polyroc.compare(
        y_true, scores, method="bootstrap", n_resamples=30, rng=0, groups=groups, costs=costs, thresholds="shared"
    )
    for name in scores:
        expected = polyroc.evaluate(y_true, scores[name], costs=costs, thresholds="shared")
        assert found.evaluations[name].auc == expected.auc
        again = expected.bootstrap(30, rng=0, groups=groups)
        assert_array_equal(found.bootstraps[name].auc, again.auc)


def test_frames_with_columns_in_another_order_are_matched_by_name():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    y_true, scores = three_models()
    names = np.array(["ant", "bee", "cat", "dog"])
    first = pd.DataFrame(scores["good"], columns=names)
    second = pl.DataFrame(dict(zip(names, scores["fair"].T, strict=True))).select(names[::-1])
    found = polyroc.compare(names[y_true], {"a": first, "b": second}, method="bootstrap", n_resamples=20, rng=0)
    expected = polyroc.compare(
        y_true, {"a": scores["good"], "b": scores["fair"]}, method="bootstrap", n_resamples=20, rng=0
    )
    assert found.to_dict()["auc"] == expected.to_dict()["auc"]


def test_an_array_after_a_frame_keeps_its_own_order_of_columns():
    pd = pytest.importorskip("pandas")
    y_true, scores = three_models()
    names = np.array(["ant", "bee", "cat", "dog"])
    frame = pd.DataFrame(scores["good"], columns=names)[names[::-1]]
    for models in ({"a": frame, "b": scores["fair"]}, {"b": scores["fair"], "a": frame}):
        found = polyroc.compare(names[y_true], models, method="bootstrap", n_resamples=20, rng=0)
        assert found.evaluations["a"].auc == pytest.approx(polyroc.auc_score(y_true, scores["good"]), abs=1e-9)
        assert found.evaluations["b"].auc == pytest.approx(polyroc.auc_score(y_true, scores["fair"]), abs=1e-9)
        assert found.by_hand_till.differences[0].standard_error > 0


def test_one_column_beside_two_in_the_other_order():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y_true = np.array(["no", "yes"])[rng.integers(0, 2, 100)]
    score = rng.normal(size=100) + (y_true == "yes")
    frame = pd.DataFrame({"yes": score, "no": -score})
    found = polyroc.compare(y_true, {"two": frame, "one": score}, method="bootstrap", n_resamples=20, rng=0)
    [difference] = found.by_auc.differences
    assert difference.value == pytest.approx(0, abs=1e-12)


def test_models_of_different_classes_are_refused():
    pd = pytest.importorskip("pandas")
    y_true, scores = three_models(n=80)
    frame = pd.DataFrame(scores["fair"], columns=["0", "1", "2", "3"])
    other = pd.DataFrame(np.column_stack([scores["fair"], y_true]), columns=["0", "1", "2", "3", "4"])
    with (
        pytest.warns(UserWarning, match="No samples"),
        pytest.raises(ValueError, match=r"same classes for all models, got '0', .* for 'a' and .*'4' for 'b'"),
    ):
        polyroc.compare(y_true, {"a": frame, "b": other}, method="bootstrap", n_resamples=5)


def test_two_classes():
    rng = np.random.default_rng(0)
    y_true = rng.integers(0, 2, 200)
    noise = rng.normal(size=200)
    found = polyroc.compare(
        y_true, {"a": noise + 2 * y_true, "b": noise + y_true}, method="bootstrap", n_resamples=99, rng=0
    )
    for by_d, by_m in zip(found.by_auc.estimates, found.by_hand_till.estimates, strict=True):
        assert_allclose([by_d.value, by_d.low, by_d.high], [by_m.value, by_m.low, by_m.high], atol=1e-12)
    assert found.delong[0].p_value < 0.01
    # One pair is no worst one, and one column names no class.
    assert found.tables.estimate_rows()[0][-1] == "accuracy"
    assert {row[-1] for row in found.tables.estimate_rows()[1:]} == {"none"}


def test_tables(comparison):
    pytest.importorskip("pandas")
    estimates = comparison.to_frame()
    assert list(estimates.columns) == [
        "statistic",
        "model",
        "value",
        "standard_error",
        "low",
        "high",
        "probability_best",
    ]
    assert estimates["model"].tolist() == ["good", "fair", "poor"] * 2
    differences = comparison.to_frame("differences", "polars")
    assert differences.shape == (6, 9)
    rankings = comparison.to_frame("rankings", "pyarrow").to_pandas()
    assert rankings["ranking"][0] == "good > fair > poor"
    with pytest.raises(
        ValueError, match="`table` must be one of 'estimates', 'differences', 'rankings', 'ranks', got 'models'"
    ):
        comparison.to_frame("models")
    with pytest.raises(ValueError, match="`backend` must be one of"):
        comparison.to_frame(backend="excel")


def test_dict_is_json_and_complete(comparison):
    record = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert record["models"] == ["good", "fair", "poor"]
    assert set(record["hand_till"]) == {"estimates", "differences", "rankings", "ranks"}
    longer = comparison.to_dict(include_delong=True)
    assert longer["hand_till"].pop("delong") == [vars(entry) for entry in comparison.delong]
    assert longer == comparison.to_dict()
    assert record["auc"]["rankings"][0]["order"] == [["good"], ["fair"], ["poor"]]
    assert record["n_not_converged"] == {"good": 0, "fair": 0, "poor": 0}


def test_print_shows_readable_tables(comparison):
    text = str(comparison)
    lines = text.splitlines()
    title = " ".join(text.partition("\n\n")[0].split())
    n_samples = next(iter(comparison.evaluations.values())).n_samples
    assert title == (
        f"Comparison of 3 models on {n_samples} samples of 4 classes, 12 ordered pairs 99 paired resamples (seed "
        f"{comparison.seed}), 95 % logit intervals"
    )
    header = next(place for place, line in enumerate(lines) if line.startswith("model"))
    assert lines[header].split() == [
        "model",
        "D",
        "interval",
        "M",
        "interval",
        "accuracy",
        "worst",
        "pair,",
        "reversed",
    ]
    for line, (name, evaluation) in zip(lines[header + 1 :], comparison.evaluations.items(), strict=False):
        pair = evaluation.worst_pair
        worst, areas = f"{pair.auc:.4f}", {(one.positive, one.negative): one.auc for one in evaluation.pairs}
        assert line.endswith(
            f"{worst} ({pair.positive} against {pair.negative}), {areas[pair.negative, pair.positive]:.4f}"
        )
        for cell in (name, f"{evaluation.auc:.4f}", f"{evaluation.hand_till:.4f}", f"{evaluation.accuracy:.4f}", worst):
            assert cell in line.split()
    assert "good - fair" in text
    assert max(map(len, lines)) <= 100
    assert repr(comparison) == "Comparison(3 models, 99 paired resamples, none clearly best)"


def test_notebooks_get_the_same_tables(comparison):
    page = comparison._repr_html_()
    cells = re.findall(r">([^<\n]+)<", page)
    for row in (*comparison.tables.estimate_rows(), *comparison.tables.difference_rows()):
        assert all(escape(cell) in cells for cell in row if cell)
    assert comparison.verdict.sentence in unescape(page)


def test_notebooks_take_no_name_for_markup():
    y_true, scores = three_models(n=80)
    found = polyroc.compare(
        y_true, {"<b>x</b>": scores["good"], "<script>": scores["fair"]}, method="bootstrap", n_resamples=9, rng=0
    )
    page = found._repr_html_()
    assert not re.search(r"<script|<b>", page)
    assert "&lt;script&gt;" in page


def test_the_seed_is_kept_and_shown(comparison):
    y_true, scores = three_models(n=80)
    for rng, seed in ((7, 7), (np.int64(7), 7), (None, None), (np.random.default_rng(0), None)):
        found = polyroc.compare(y_true, scores, method="bootstrap", n_resamples=5, rng=rng)
        assert found.seed == found.to_dict()["seed"] == seed
        assert ("(seed 7)" in " ".join(str(found).split())) == (seed == 7)
        assert found.evaluations["good"].bootstrap(5, rng=rng).seed == seed


def test_names_are_shown_on_one_line_and_cut():
    y_true, scores = three_models()
    found = polyroc.compare(
        y_true, {"a\nb\x1b[31m": scores["good"], "x" * 500: scores["fair"], "[/b] $a^$ 🙂": scores["poor"]},
        method="bootstrap", n_resamples=5, rng=0,
    )  # fmt: skip
    text = str(found)
    assert "\x1b" not in text
    assert "a?b?[31m" in text
    table = next(part for part in text.split("\n\n") if part.startswith("model "))
    assert "x" * 31 not in table
    assert f"{15 * 'x'}…{14 * 'x'}" in table
    assert "[/b] $a^$ 🙂" in text


def test_pickling(comparison):
    again = pickle.loads(pickle.dumps(comparison))
    assert again.to_dict() == comparison.to_dict()
    with pytest.raises(TypeError):
        again.evaluations["new"] = None


def test_small_classes_are_named_once():
    y_true, scores = three_models(n=36)
    with pytest.warns(ResamplingWarning, match=r"0 \(9\), 1 \(9\), 2 \(9\), 3 \(9\)") as caught:
        polyroc.compare(y_true, scores, method="bootstrap", n_resamples=5, rng=0)
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": [1, 2]}, "`scores` must be a mapping from names of models to their scores, got list"),
        ({"scores": {}}, "`scores` must hold at least two models, got 0"),
        ({"scores": {"one": np.zeros((8, 2))}}, "`scores` must hold at least two models, got 1"),
        ({"scores": {1: 0, 2: 0}}, "`scores` must have text for its keys, .* got 1, 2"),
        ({"confidence_level": 0}, "`confidence_level`"),
        ({"confidence_level": 10**400}, "`confidence_level`"),
        ({"progress": "no"}, "`progress` must be True or False, got 'no'"),
        ({"interval": "t"}, "`interval`"),
        ({"n_resamples": 0}, "`n_resamples`"),
        ({"n_jobs": "all"}, "`n_jobs`"),
        ({"rng": 1.5}, "`rng`"),
        ({"groups": [1]}, "`groups`"),
        ({"shrinkage": -1}, "^`shrinkage`"),
        ({"sample_weight": [1]}, "^`sample_weight`"),
        ({"labels": [0, 1]}, "^`scores` of model 'good': `y_score` must have one column per class"),
    ],
    ids=str,
)
def test_bad_requests(change, message):
    y_true, scores = three_models(n=80)
    arguments = {"scores": scores, "method": "bootstrap", "n_resamples": 5} | change
    with pytest.raises(ValueError, match=message):
        polyroc.compare(y_true, **arguments)


def test_bad_scores_name_the_model():
    y_true, scores = three_models(n=80)
    bad = scores["fair"].copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="`scores` of model 'fair': `y_score` must be finite"):
        polyroc.compare(y_true, {"good": scores["good"], "fair": bad}, method="bootstrap", n_resamples=5)
    with pytest.raises(ValueError, match="`scores` of model 'fair': `y_score` must have one row per label"):
        polyroc.compare(y_true, {"good": scores["good"], "fair": bad[:-1]}, method="bootstrap", n_resamples=5)
    with pytest.raises(ValueError, match="`scores` of model 'fair': `y_score` must have one column per class"):
        polyroc.compare(
            y_true, {"good": scores["good"], "fair": scores["fair"][:, :3]}, method="bootstrap", n_resamples=5
        )


def test_many_rankings_are_cut_in_words():
    y_true, scores = three_models(n=80, strengths=(0.5, 0.5, 0.5))
    many = scores | {f"{name}2": score + 0.1 * np.sin(np.arange(320)).reshape(80, 4) for name, score in scores.items()}
    found = polyroc.compare(y_true, many, method="bootstrap", n_resamples=50, rng=0)
    shown = [ranking.order for ranking in found.by_auc.rankings[:6]]
    rest = [
        {one.order: one.probability for one in contest.rankings if one.order not in shown}
        for contest in (found.by_auc, found.by_hand_till)
    ]
    assert min(map(len, rest)) > 0
    name, by_d, by_m = found.tables.ranking_rows()[-1]
    assert name == f"{len(rest[0] | rest[1])} others"
    assert [by_d, by_m] == [f"{sum(shares.values()):.3f}" for shares in rest]
    assert name in str(found)


def test_an_unknown_option_is_refused():
    y_true, scores = three_models(n=80)
    words = r"compare\(\) got an unexpected keyword argument 'random_state'\. Accepted options: .* n_resamples, "
    with pytest.raises(TypeError, match=words):
        polyroc.compare(y_true, scores, method="bootstrap", n_resamples=5, random_state=0)


def test_the_difference_of_two_models_is_that_of_the_table_turned_as_it_was_asked_for(comparison):
    found, (first, second, third) = comparison, comparison.models
    for statistic in ("auc", "hand_till", "mean_auc"):
        table = getattr(found, f"by_{statistic}").differences
        assert found.difference(first, third, statistic=statistic) == table[1]
        turned = found.difference(third, first, statistic=statistic)
        assert (turned.first, turned.second) == (third, first)
        assert (turned.value, turned.low, turned.high) == (-table[1].value, -table[1].high, -table[1].low)
        assert (turned.p_value, turned.p_value_holm) == (table[1].p_value, table[1].p_value_holm)
    assert found.difference(first, second).value == found.evaluations[first].auc - found.evaluations[second].auc
    with pytest.raises(polyroc.InputError, match=r"^`second` must be one of .*, got 'bogus'"):
        found.difference(first, "bogus")
    with pytest.raises(polyroc.InputError, match=r"^`second` must be another model than `first`, got"):
        found.difference(first, first)
    with pytest.raises(polyroc.InputError, match="`statistic` must be one of"):
        found.difference(first, second, statistic="D")


@pytest.mark.parametrize("method", ["influence", "bootstrap"])
def test_differences_of_columns_are_compared_by_auc_mu_and_m_apart(method):
    rng = np.random.default_rng(0)
    y_true = np.arange(300) % 3
    level = rng.normal(0, 2, (300, 1))
    scores = {
        # The one is good by differences of columns, the other by columns.
        "differences": np.eye(3)[y_true] + rng.normal(0, 0.6, (300, 3)) + level,
        "columns": np.eye(3)[y_true] + rng.normal(0, 0.9, (300, 3)),
    }
    options = {"n_resamples": 99, "rng": 0} if method == "bootstrap" else {}
    found = polyroc.compare(y_true, scores, method=method, thresholds="difference", **options)
    for contest, baseline in (
        (found.by_mean_auc, polyroc.baselines.auc_mu),
        (found.by_hand_till, polyroc.baselines.hand_till),
    ):
        for one in contest.estimates:
            assert one.value == pytest.approx(baseline(y_true, scores[one.model]), abs=1e-12)
            assert one.low < one.value < one.high
    [by_d], [by_mu], [by_m] = (one.differences for one in (found.by_auc, found.by_mean_auc, found.by_hand_till))
    assert by_d.low > 0
    assert by_mu.low > 0
    assert by_m.high < 0
