"""plan(...): the record, its words, and what is refused."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import polyroc


def sample(counts, strength=1.2, seed=0, names=None):
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(counts)), counts)
    y_score = rng.normal(size=(len(codes), len(counts))) + strength * np.eye(len(counts))[codes]
    return (codes if names is None else np.array(names)[codes]), y_score


@pytest.fixture(scope="module")
def pilot():
    return polyroc.evaluate(*sample((120, 100, 80), names=("ant", "bee", "cat")))


@pytest.fixture(scope="module")
def comparison():
    y_true, y_score = sample((120, 100, 80), names=("ant", "bee", "cat"))
    noise = np.random.default_rng(1).normal(size=(2, *y_score.shape))
    scores = {"first": y_score, "second": y_score + 0.7 * noise[0], "third": y_score + noise[1]}
    return polyroc.compare(y_true, scores, method="influence")


def test_a_plan_reaches_what_was_asked_with_the_fewest_samples(pilot):
    plan = polyroc.plan(pilot, half_width=0.02)
    assert plan.half_width <= 0.02 < plan.current.half_width
    assert plan.half_width_at(plan.n_samples) <= 0.02
    assert plan.half_width_at(plan.n_samples - 3) > 0.02
    assert plan.class_counts.sum() == plan.n_samples
    assert_allclose(plan.class_counts / plan.n_samples, np.array([120, 100, 80]) / 300, atol=0.002)
    assert plan.missing.tolist() == (plan.class_counts - [120, 100, 80]).tolist()
    assert plan.power is None


def test_allocations(pilot):
    plans = {name: polyroc.plan(pilot, half_width=0.02, allocation=name) for name in ("same", "equal", "optimal")}
    assert len(set(plans["equal"].class_counts.tolist())) == 1
    sigma = plans["optimal"].sigma
    assert_allclose(plans["optimal"].class_counts / plans["optimal"].n_samples, sigma / sigma.sum(), atol=0.002)
    # No other allocation of as many samples has a smaller variance.
    counts = plans["optimal"].class_counts
    least = np.sum(sigma**2 / counts)
    for one in range(3):
        for other in range(3):
            moved = counts + 20 * (np.eye(3, dtype=int)[one] - np.eye(3, dtype=int)[other])
            assert np.sum(sigma**2 / moved) >= least * (1 - 1e-5)
    assert plans["optimal"].n_samples <= min(plans["same"].n_samples, plans["equal"].n_samples) + 3


def test_the_next_class_lowers_the_variance_most(pilot):
    plan = polyroc.plan(pilot, half_width=0.02)
    variances = [np.sum(plan.sigma**2 / (np.array([120, 100, 80]) + one)) for one in np.eye(3)]
    assert plan.label_next == ("ant", "bee", "cat")[int(np.argmin(variances))]


def test_sigma_gives_the_standard_error(pilot):
    plan = polyroc.plan(pilot, half_width=0.02)
    assert np.sqrt(np.sum(plan.sigma**2 / pilot.class_counts)) == pytest.approx(pilot.standard_error, rel=1e-9)


def test_power_and_half_width_of_a_difference(comparison):
    plan = polyroc.plan(comparison, detect=0.01, power=0.9, models=("first", "second"))
    assert plan.power >= 0.9 > plan.power_at(plan.n_samples - 3)
    assert plan.models == ("first", "second")
    turned = polyroc.plan(comparison, detect=0.01, power=0.9, models=("second", "first"))
    assert turned.n_samples == plan.n_samples
    # Twice the difference takes about a quarter of the samples.
    assert polyroc.plan(comparison, detect=0.02, power=0.9, models=("first", "second")).n_samples == pytest.approx(
        plan.n_samples / 4, rel=0.05
    )
    # Of a normal test at level 5 % with power 90 %: (1.960 + 1.282)^2 sum of sigma^2 / share / d^2.
    shares = np.array([120, 100, 80]) / 300
    plan = polyroc.plan(comparison, detect=0.01, power=0.9, models=("first", "second"), assurance=None)
    normal = (1.95996 + 1.28155) ** 2 * np.sum(plan.sigma**2 / shares) / 0.01**2
    assert plan.n_samples == pytest.approx(normal, rel=0.05)
    assert polyroc.plan(comparison, half_width=0.01, models=("first", "second")).half_width <= 0.01


def test_plans_do_not_depend_on_names_units_of_weight_or_order(pilot):
    y_true, y_score = sample((120, 100, 80), names=("ant", "bee", "cat"))
    plan = polyroc.plan(pilot, half_width=0.02)
    order = np.random.default_rng(3).permutation(len(y_true))
    for evaluation in (
        polyroc.evaluate(y_true[order], y_score[order]),
        polyroc.evaluate(y_true, y_score, sample_weight=np.full(len(y_true), 7.0)),
        polyroc.evaluate(y_true, 3 * y_score + 5),
    ):
        again = polyroc.plan(evaluation, half_width=0.02)
        assert_allclose(again.sigma, plan.sigma, rtol=1e-6)
        # Bias is found by refits under weights that go by the place of a sample.
        assert again.n_samples == pytest.approx(plan.n_samples, rel=0.03)
    # Twice the same samples: as sure as a sample of twice the size, and the same plan but for n / (n - 1).
    twice = polyroc.plan(
        polyroc.evaluate(np.tile(y_true, 2), np.tile(y_score, (2, 1))),
        half_width=0.02,
        statistic="hand_till",
        assurance=None,
    )
    once = polyroc.plan(pilot, half_width=0.02, statistic="hand_till", assurance=None)
    assert_allclose(twice.sigma, once.sigma, rtol=0.01)
    assert twice.n_samples == pytest.approx(once.n_samples, rel=0.03)
    assert twice.current.half_width == pytest.approx(once.half_width_at(600), rel=0.02)


def test_classes_without_samples_need_none():
    y_true, y_score = sample((60, 50, 40))
    with_empty = np.column_stack([y_score, np.random.default_rng(0).normal(size=len(y_true))])
    with pytest.warns(UserWarning, match="No samples in `y_true`"):
        evaluation = polyroc.evaluate(y_true, with_empty, labels=[0, 1, 2, 3])
    plan = polyroc.plan(evaluation, half_width=0.03)
    assert plan.class_counts[3] == 0
    assert plan.sigma[3] == 0
    assert "3: 0" not in str(plan)


def test_the_words(pilot, comparison):
    plan = polyroc.plan(pilot, half_width=0.02)
    counts = dict(zip(("ant", "bee", "cat"), plan.class_counts.tolist(), strict=True))
    assert plan.text.sentence == (
        f"For a 95 % interval of D with half width 0.02, you need about {plan.n_samples:,} samples (you have 300). By "
        f"class: ant: {counts['ant']:,}, bee: {counts['bee']:,}, cat: {counts['cat']:,}. That is enough in 80 % of "
        f"such studies. The half width is {plan.current.half_width:.3f} now. The next sample should be of class "
        f"{plan.label_next!r}: it lowers the variance most."
    )
    assert max(map(len, str(plan).splitlines())) <= 100
    enough = polyroc.plan(pilot, half_width=0.2)
    assert enough.is_enough
    assert f"about {enough.n_samples} samples are enough (you have 300)" in enough.text.sentence
    assert "next sample" not in enough.text.sentence
    test = polyroc.plan(comparison, detect=0.01, models=("first", "third"), statistic="hand_till")
    assert test.text.sentence.startswith(
        "To detect a true difference of 0.01 in M between 'first' and 'third' with a probability of 80 % (two-sided "
        f"test at level 5 %), you need about {test.n_samples:,} samples (you have 300)."
    )
    both = polyroc.plan(comparison, half_width=0.01, models=("first", "third"), confidence_level=0.9)
    assert "For a 90 % interval of the difference in D between 'first' and 'third'" in both.text.sentence


def test_a_pilot_that_reached_the_half_width_is_enough_though_a_new_study_needs_more(pilot):
    reached = polyroc.plan(pilot, half_width=0.02).current.half_width
    plan = polyroc.plan(pilot, half_width=1.01 * reached)
    assert plan.is_enough
    assert plan.n_samples > 300
    assert plan.missing.tolist() == [0, 0, 0]
    sentence = plan.text.sentence
    assert f"your 300 samples are enough. The half width is {reached:.3f} now. A new study needs about" in sentence
    estimate = polyroc.plan(pilot, half_width=1.01 * reached, assurance=None)
    assert estimate.n_samples <= 300
    assert "This is the estimate of the pilot: about half of such plans are too small." in estimate.text.sentence


def test_many_classes_are_said_in_one_clause(pilot):
    plan = polyroc.plan(pilot, half_width=0.02)
    equal = replace(plan, labels=np.arange(12), planned=replace(plan.planned, class_counts=np.repeat(30, 12)))
    assert "you need about 360 samples (you have 300). Of each class: 30. That" in equal.text.sentence
    skewed = replace(equal, planned=replace(plan.planned, class_counts=np.array([30] * 11 + [1500])))
    assert "Of each class, from 30 to 1,500. That" in skewed.text.sentence


def test_plain_data_frames_and_pickles(pilot, comparison):
    pytest.importorskip("pandas")
    plan = polyroc.plan(comparison, detect=0.01, models=("first", "second"))
    record = json.loads(json.dumps(plan.to_dict()))
    assert record["planned"]["n_samples"] == plan.n_samples
    asked = {"confidence_level": 0.95, "half_width": None, "detect": 0.01, "power": 0.8, "assurance": 0.8}
    assert record["asked"] == asked
    assert record["label_next"] == plan.label_next
    frame = plan.to_frame()
    assert frame["class"].tolist() == ["ant", "bee", "cat"]
    assert frame["planned"].sum() == plan.n_samples
    again = pickle.loads(pickle.dumps(plan))
    assert again.power_at(1000) == plan.power_at(1000)
    assert repr(plan).startswith(f"Plan({plan.n_samples} samples, 300 now, power 0.8")
    # Numbers of classes, not of samples: a plan is small.
    assert len(pickle.dumps(polyroc.plan(pilot, half_width=0.02))) < 5000
    with pytest.raises(ValueError, match="read-only"):
        plan.class_counts[0] = 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "`half_width` or `detect` must be given, exactly one of them, got neither."),
        ({"half_width": 0.1, "detect": 0.1}, "`half_width` or `detect` must be given, exactly one of them, got both."),
        ({"half_width": 0.0}, "`half_width` must be a number greater than 0 and less than 0.5, got 0.0."),
        ({"half_width": 0.5}, "`half_width` must be a number greater than 0 and less than 0.5, got 0.5."),
        ({"half_width": float("nan")}, "`half_width` must be a number greater than 0 and less than 0.5, got nan."),
        ({"half_width": "0.1"}, "`half_width` must be a number greater than 0 and less than 0.5, got '0.1'."),
        ({"detect": 0.1}, "`detect` needs a comparison of two models as `pilot`, got an Evaluation."),
        ({"half_width": 0.1, "models": ("a", "b")}, "`models` must be None for an Evaluation, which has one model, "),
        ({"half_width": 0.1, "assurance": 0.4}, "`assurance` must be at least 0.5 and below 1, got 0.4."),
        (
            {"half_width": 0.1, "assurance": 1},
            "`assurance` must be at least 0.5 and below 1, got 1.",
        ),
        ({"half_width": 0.1, "assurance": True}, "`assurance` must be at least 0.5 and below 1, got True."),
        ({"half_width": 0.1, "allocation": "best"}, "`allocation` must be one of 'same', 'equal', 'optimal', "),
        ({"half_width": 0.1, "statistic": "D"}, "`statistic` must be one of 'auc', "),
        ({"half_width": 0.1, "confidence_level": 95}, "`confidence_level` must be between 0 and 1"),
        ({"half_width": 1e-9}, "`half_width` must be large enough to be reached with a trillion samples, got 1e-09."),
    ],
)
def test_bad_input(pilot, options, message):
    with pytest.raises(polyroc.InputError) as caught:
        polyroc.plan(pilot, **options)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"detect": 0.1}, "`models` must be two of the models ('first', 'second', 'third'), got None."),
        ({"detect": 0.1, "models": ("first", "first")}, "`models` must be two of the models "),
        ({"detect": 0.1, "models": ("first", "other")}, "`models` must be two of the models "),
        ({"detect": 0.1, "models": "first"}, "`models` must be two of the models "),
        (
            {"detect": 1.0, "models": ("first", "second")},
            "`detect` must be a number greater than 0 and less than 1, got 1.0.",
        ),
        (
            {"detect": 0.1, "power": 0.05, "models": ("first", "second")},
            "`power` must be a number greater than 0.05 and less than 1, got 0.05.",
        ),
    ],
)
def test_bad_input_for_comparisons(comparison, options, message):
    with pytest.raises(polyroc.InputError) as caught:
        polyroc.plan(comparison, **options)
    assert str(caught.value).startswith(message)


def test_pilots_that_say_nothing_are_refused():
    with pytest.raises(polyroc.InputError, match="`pilot` must be an Evaluation or a Comparison, got dict"):
        polyroc.plan({}, half_width=0.1)
    y_true, y_score = sample((20, 20, 20), strength=40.0)
    perfect = polyroc.evaluate(y_true, y_score)
    with pytest.raises(polyroc.InputError, match=r"`pilot` must have errors and successes, .* got no errors"):
        polyroc.plan(perfect, half_width=0.1)
    y_true, y_score = sample((20, 20, 20))
    centered = polyroc.evaluate(y_true, y_score, structure="centered")
    with pytest.raises(polyroc.InputError, match="got one where the centered structure has no formula"):
        polyroc.plan(centered, half_width=0.1)
    assert polyroc.plan(centered, half_width=0.1, statistic="hand_till").n_samples > 0
    same = polyroc.compare(y_true, {"a": y_score, "b": 2 * y_score}, method="influence")
    with pytest.raises(polyroc.InputError, match="got two models that rank the samples alike"):
        polyroc.plan(same, detect=0.1)
    groups = np.arange(60) // 2
    grouped = polyroc.compare(y_true, {"a": y_score, "b": np.round(y_score)}, method="influence", groups=groups)
    with pytest.raises(polyroc.InputError, match="must be a comparison without `groups`"):
        polyroc.plan(grouped, detect=0.1)


def test_small_classes_make_a_rough_plan():
    with pytest.warns(
        polyroc.ResamplingWarning, match=r"This plan is a rough guess: .* samples of some classes, 2 \(6\)"
    ):
        plan = polyroc.plan(polyroc.evaluate(*sample((40, 30, 6))), half_width=0.05)
    assert plan.note in plan.text.sentence
    with pytest.raises(polyroc.InputError, match=r"must have at least 2 samples of each class, got 2 \(1\)"):
        polyroc.plan(polyroc.evaluate(*sample((40, 30, 1))), half_width=0.05, statistic="hand_till")


def test_power_is_that_of_a_difference(pilot):
    plan = polyroc.plan(pilot, half_width=0.02)
    with pytest.raises(polyroc.InputError, match="`detect` must be given to `plan`"):
        plan.power_at(1000)
    with pytest.raises(polyroc.InputError, match="`n_samples` must be a number of at least 6, 2 per class, got 5"):
        plan.half_width_at(5)
