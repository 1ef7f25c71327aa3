"""The simulation study: that its pieces are what they say, and that its estimator is ours, reached by another road."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import polyroc
from studies import _decisions, _hard, _page, _plans
from studies._settings import (
    CONTESTS,
    CORRELATION,
    COVERAGE,
    GROUPED,
    HARD,
    HELD_OUT,
    MORE_CONTESTS,
    PRESENT,
    SEPARATED,
    TUNED,
    VARIANTS,
    draw,
    draw_models,
)

ROOT = Path(__file__).resolve().parents[2]


def test_settings_are_as_the_page_says():
    assert all(min(setting.counts) >= 20 for setting in COVERAGE)
    assert any(max(setting.counts) == 20 * min(setting.counts) for setting in COVERAGE)
    assert all(min(setting.counts) < 20 or setting.reversed_share > 0 for setting in HARD)
    names = [setting.name for setting in TUNED + GROUPED + HELD_OUT]
    assert len(set(names)) == len(names)
    # Settings that were not looked at are others than those that were.
    assert not {replace(s, name="") for s in HELD_OUT} & {replace(s, name="") for s in TUNED}
    assert {len(s.counts) for s in TUNED} >= {3, 5, 10, 20}


def test_draws_have_the_classes_ties_and_groups_that_they_should():
    rng = np.random.default_rng(0)
    for setting in [s for s in TUNED + HELD_OUT if s.population is None]:
        y_true, y_score, groups = draw(setting, rng)
        assert np.bincount(y_true).tolist() == list(setting.counts)
        assert groups is None
        assert (len(np.unique(y_score)) < 12) == (setting.decimals == 1)
    pure, mixed = (draw(setting, rng) for setting in GROUPED)
    for g in np.unique(pure[2]):
        assert len(set(pure[0][pure[2] == g])) == 1
        assert np.count_nonzero(pure[2] == g) == 5
    for g in np.unique(mixed[2]):
        assert np.bincount(mixed[0][mixed[2] == g]).tolist() == [2, 2, 2]


def test_a_hard_pair_is_one_pair_among_separated_ones():
    y_true, y_score, _ = draw(SEPARATED[0], np.random.default_rng(0))
    pairs = polyroc.evaluate(y_true, y_score).pairs
    hard = [{pair.positive, pair.negative} == {0, 1} for pair in pairs]
    assert_allclose(pairs.auc[np.logical_not(hard)], 1)
    assert np.all(pairs.auc[hard] < 0.8)


def test_samples_of_a_group_share_half_of_the_variance():
    setting = GROUPED[0]
    y_true, y_score, _ = draw(setting, np.random.default_rng(0), (50_000,) * 3)
    logits = np.log(y_score[:, 1] / y_score[:, 0])[y_true == 2].reshape(-1, 5)
    assert np.corrcoef(logits[:, 0], logits[:, 1])[0, 1] == pytest.approx(0.5, abs=0.03)


def test_two_models_of_a_contest_are_correlated_and_the_second_weaker_by_the_change():
    contest = next(c for c in CONTESTS if c.change != 0)
    y_true, scores = draw_models(contest, np.random.default_rng(0), (10_000,) * 4)
    first, second = (np.log(score[:, 1] / score[:, 0]) for score in scores)
    inside = y_true == 3  # a class that raises neither of the two columns
    assert np.corrcoef(first[inside], second[inside])[0, 1] == pytest.approx(CORRELATION, abs=0.02)
    rises = [np.mean(x[y_true == 1]) - np.mean(x[inside]) for x in (first, second)]
    assert rises[1] - rises[0] == pytest.approx(contest.change, abs=0.04)


def test_populations_come_from_the_file_that_is_named(tmp_path, monkeypatch):
    from studies import _populations

    codes, scores = np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]])
    np.savez(tmp_path / "some.npz", **{"pen, tree/codes": codes, "pen, tree/scores": scores})
    monkeypatch.setenv(_populations.FILE_VARIABLE, str(tmp_path / "some.npz"))
    _populations.populations.cache_clear()
    try:
        [(name, found)] = _populations.populations().items()
    finally:
        _populations.populations.cache_clear()
    assert name == "pen, tree"
    assert_allclose(found[1], scores)


@pytest.mark.full("torch")
@pytest.mark.parametrize(("n_classes", "n_samples", "strength"), [(3, 90, 0.7), (5, 200, 2.0), (17, 170, 2.0)])
def test_the_estimator_of_the_study_is_that_of_the_library(n_classes, n_samples, strength):
    """In torch and apart from the engines: D, M and curve under integer weights, ties included."""
    import torch

    from studies import _batched, _coverage

    rng = np.random.default_rng(n_classes)
    y_true = np.arange(n_samples) % n_classes
    y_score = np.round(rng.normal(size=(2, n_samples, n_classes)) + strength * np.eye(n_classes)[y_true], 1)
    weights = rng.integers(0, 3, size=(2, 2, n_samples)).astype(float)
    weights[:, 0] = 1.0
    pairs = _batched.ordered_pairs(torch.tensor(y_true), torch.tensor(y_score))
    tpr, areas = _batched.rates_and_areas(pairs, torch.tensor(weights), _coverage.GRID.cpu())
    keep = _coverage.kept_share(np.bincount(y_true), 0.0).cpu()
    fits = _batched.fit_rank_one(tpr.flatten(0, 1), _coverage.GRID.cpu(), _coverage.ROW_WEIGHTS.cpu(), keep)
    fpr, tpr = _batched.curves(fits.row)
    for one in range(4):
        asked = {"sample_weight": weights[one // 2, one % 2], "shrinkage": 0.0, "engine": "numpy"}
        expected = polyroc.evaluate(y_true, y_score[one // 2], **asked)
        assert bool(fits.converged[one]) == expected.factorization.converged
        assert_allclose(areas.flatten(0, 1)[one].mean(), expected.hand_till, rtol=1e-12)
        assert_allclose(_batched.areas_under(fpr, tpr)[one], expected.auc, atol=1e-8)
        assert_allclose(tpr[one], expected.curve.tpr, atol=1e-7)


@pytest.mark.full("torch")
def test_the_study_judges_as_the_library_does():
    """Replicates of the library's own draws, judged by both."""
    import torch

    from studies import _coverage

    setting = COVERAGE[0]
    y_true, y_score, _ = draw(setting, np.random.default_rng(0))
    evaluation = polyroc.evaluate(y_true, y_score, engine="numpy")
    units = _coverage.units_of(y_true, None)
    weights = _coverage.draw_weights(units, 1, 40, torch.Generator(device=_coverage.DEVICE).manual_seed(0))
    drawn = _coverage.draw_replicates(y_true, y_score[None], weights, 1)
    assert_allclose(drawn.auc[0], evaluation.auc, atol=1e-8)
    assert_allclose(drawn.influences[0], evaluation.hand_till_influences, atol=1e-12)
    assert_allclose(_coverage.curve_of(drawn.unshrunk[0]).auc, evaluation.unshrunk_curve.auc, atol=1e-7)
    again = evaluation.fitted.replicates()(weights[0].cpu().numpy())
    assert_allclose(drawn.aucs[0], again.auc, atol=1e-6)
    assert_allclose(drawn.hand_tills[0], again.hand_till, atol=1e-9)
    # u - 1 draws of each class of u.
    assert set(weights.sum(dim=2).flatten().tolist()) == {sum(setting.counts) - 3}


@pytest.mark.full("torch")
def test_the_study_judges_two_models_as_the_library_does():
    """The study's replicates inside the library's own records, beside `compare` on other resamples."""
    import torch

    from studies import _contests, _coverage

    asked = CONTESTS[-3]
    y_true, scores = draw_models(asked, np.random.default_rng(3))
    units = _coverage.units_of(y_true, None)
    weights = _coverage.draw_weights(units, 1, 399, torch.Generator(device=_coverage.DEVICE).manual_seed(0))
    drawn = [_coverage.draw_replicates(y_true, score[None], weights, 0) for score in scores]
    compared = polyroc.compare(y_true, dict(zip("ab", scores, strict=True)), method="bootstrap", n_resamples=399, rng=0)
    for place, by in enumerate((compared.by_auc, compared.by_hand_till)):
        [apart] = by.differences
        width = apart.high - apart.low
        # A truth well inside the library's interval, and one well beyond either end.
        for true, side in ((apart.value, 0), (apart.low - width / 2, -1), (apart.high + width / 2, 1)):
            truths = [(true, true), (0.0, 0.0)]
            found = _contests.judge_contest(drawn, 0, units, asked.setting, truths)
            assert found["DM"[place]] == side
            assert found[f"{'DM'[place]}, significant"] == (apart.p_value < 0.05)
    assert found["M, DeLong, significant"] == (compared.delong[0].p_value < 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("asked", [COVERAGE[2], GROUPED[1], *VARIANTS[:1], *VARIANTS[4:5]], ids=lambda one: one.name)
def test_the_study_of_influences_records_the_interval_of_the_library(asked):
    """One sample: the same interval by the public method, and again from the parts that are kept."""
    from studies import _influence

    setting = getattr(asked, "setting", asked)
    found = _influence.judge_sample(asked, 7, 1)
    y_true, y_score, groups = draw(setting, np.random.default_rng([7, 2, 1]))
    options = dict(getattr(asked, "options", ())) | {"engine": _influence.ENGINE}
    if getattr(asked, "weighted", False):
        options["sample_weight"] = np.random.default_rng([7, 4, 1]).gamma(2.0, size=len(y_true))
    evaluation = polyroc.evaluate(y_true, y_score, **options)
    assert found["note"] == 0
    assert evaluation.influence_note == ""
    for name, statistic in (("D", "auc"), ("M", "hand_till")):
        low, high = evaluation.confidence_interval(method="influence", statistic=statistic, groups=groups)
        assert_allclose([found[f"{name}, low"], found[f"{name}, high"]], [low, high], atol=1e-9)
    kept = {name: [value] for name, value in found.items()}
    assert_allclose(_influence.again(kept, 0, setting.n_classes), [found["D, low"], found["D, high"]], atol=1e-9)
    # Without its bias, the centre of the interval moves up: D is too large on average.
    assert sum(_influence.again(kept, 0, setting.n_classes, bias=False)) > found["D, low"] + found["D, high"]


def test_the_study_of_influences_judges_two_models_as_compare_does():
    from studies import _influence

    asked = CONTESTS[0]
    found = _influence.judge_contest(asked, 7, 1)
    y_true, scores = draw_models(asked, np.random.default_rng([7, 3, 1]))
    # On the engine of the study: refits of the fast one are in single precision.
    models = dict(zip("ab", scores, strict=True))
    compared = polyroc.compare(y_true, models, method="influence", engine=_influence.ENGINE)
    for name, by in (("D", compared.by_auc), ("M", compared.by_hand_till)):
        [apart] = by.differences
        assert_allclose([found[f"{name}, low"], found[f"{name}, high"]], [apart.low, apart.high], atol=1e-9)
        assert_allclose(found[f"{name}, p"], apart.p_value, rtol=1e-6)


def test_the_tables_of_influences_count_by_hand():
    from studies import _influence_page

    found = {"D, low": [0.5, 0.7, 0.5, 0.5], "D, high": [0.9, 0.9, 0.6, 0.9], "M, low": [0.5] * 4, "M, high": [0.9] * 4}
    found |= {"D": [0.7, 0.8, 0.55, 0.7], "note": [0, 0, 0, 3]}
    boot = {"D": [0.7, 0.8, 0.55, 0.7], "logit": [0, 0, 0, 1], "width": [0.4, 0.4, 0.1, 0.2]}
    name, truth = COVERAGE[0].name, [0.65, 0.95]
    results = {
        "influence": {name: {"truth": truth, "found": found}},
        "settings": {name: {"truth": truth, "found": boot}},
    }
    [_, row] = _influence_page.influence_rows(results, lambda *_: [], _page.number, _page.percent)
    # Of three samples that the formula takes it covers one, the truth is below one and above one; forced, two of four.
    assert row[2:6] == ["75.0 %", "25.0 %", "33.3 %", "33.3 %"]
    assert row[6:] == ["33.3 %", "1.00", "50.0 %", "25.0 %", "0.0 %", "met"]
    results["settings"][name]["found"]["D"][0] = 0.71
    with pytest.raises(ValueError, match="same seeds"):
        _influence_page.influence_rows(results, lambda *_: [], _page.number, _page.percent)
    assert list(_influence_page.type_one(0.05)) == []
    assert list(_influence_page.type_one(0.03)) == ["rejects too rarely"]
    assert list(_influence_page.type_one(0.07)) == ["rejects too often"]


def test_what_of_a_goal_is_missed():
    sides = np.zeros(2000)
    met = {"setting": HELD_OUT[0], "width": 1.5, "true": 0.9}
    sides[:50], sides[-50:] = -1, 1
    assert list(_page.missed(sides=sides, **met)) == []
    sides[:100], sides[-60:] = -1, 0
    assert list(_page.missed(sides=sides, **met)) == ["one side missed too often"]
    sides[:240] = -1
    assert list(_page.missed(sides=sides, **met)) == ["covers too little", "one side missed too often"]
    assert list(_page.missed(sides=np.zeros(2000), **met)) == ["covers too much"]
    assert list(_page.missed(sides=np.zeros(2000), **(met | {"true": 0.9995}))) == []
    sides[100:240] = 0
    sides[:100] = np.tile([-1, 1], 50)
    assert list(_page.missed(sides=sides, **(met | {"setting": PRESENT[0]}))) == ["wider than wanted"]
    assert list(_page.missed(sides=sides, **(met | {"setting": PRESENT[0], "width": None}))) == []


def test_the_page_says_what_was_not_run():
    results = {"settings": {}, "contests": {}, "runs": []}
    text = _page.page(results)
    assert f"Not run: {TUNED[0].name}" in text
    assert CONTESTS[-1].name in text


def test_results_are_written_between_the_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{_page.BEGIN}\nold\n{_page.END}\nafter\n", encoding="utf-8")
    _page.write(page, "new")
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "new" in text
    assert "old" not in text


def test_the_committed_page_has_every_setting():
    text = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
    not_run = text.partition("Not run: ")[2].partition("\n")[0]
    for one in TUNED + GROUPED + HELD_OUT + CONTESTS:
        assert f"| {one.name} |" in text or one.name in not_run
    by_influence = text.partition("## Intervals by influences")[2]
    for one in TUNED + GROUPED + HELD_OUT + VARIANTS + CONTESTS + MORE_CONTESTS:
        assert f"| {one.name} |" in by_influence


def test_a_planned_study_draws_what_was_planned():
    pilot = _plans.PILOTS[0]
    found = _plans.one_study(pilot, 0.03, 0, 0)
    for name in ("estimate", "assured"):
        assert found[f"half width, {name}"] == pytest.approx(pilot.half_width, rel=0.25)
        assert found[f"samples for the half width, {name}"] > sum(pilot.contest.setting.counts)
        assert found[f"detected, {name}"] in (True, False)
    assert found["samples for the power, assured"] > found["samples for the power, estimate"]
    assert _plans.one_study(pilot, 0.03, 0, 0) == found


def test_some_labels_are_wrong_in_contests():
    [contest] = [one.contest for one in _plans.PILOTS if one.contest.setting.wrong_labels == 0.01]
    y_true, (first, _) = draw_models(contest, np.random.default_rng(0), (20_000,) * 4)
    setting = replace(contest.setting, wrong_labels=0.0)
    right, (clean, _) = draw_models(replace(contest, setting=setting), np.random.default_rng(0), (20_000,) * 4)
    assert np.array_equal(y_true, right)
    # The noise of the logits is the same, so scores differ exactly where a label is wrong.
    assert np.mean((first != clean).any(axis=1)) == pytest.approx(0.01, abs=0.001)


def test_plans_are_judged_by_realised_width_and_power():
    pilot = _plans.PILOTS[1]
    is_met = np.arange(400) % 5 > 0
    widths = np.where(is_met, pilot.half_width, 1.1 * pilot.half_width)
    found = {"half width, assured": widths, "detected, assured": is_met}
    assert list(_plans.missed(pilot, found)) == []
    assert list(_plans.missed(pilot, found | {"half width, assured": widths + 1e-4})) == ["half width"]
    assert list(_plans.missed(pilot, found | {"detected, assured": np.arange(400) % 2 > 0})) == ["power"]
    found |= {"half width, estimate": widths, "detected, estimate": is_met}
    sizes = [f"samples for the {what}, {kind}" for what in ("half width", "power") for kind in ("estimate", "assured")]
    values = {name: one.tolist() for name, one in (found | dict.fromkeys(sizes, np.arange(400))).items()}
    table = _plans.page({pilot.name: {"difference": -0.02, "found": values}})
    row = "0.015 | 80.0 % | 200 (20 to 379) | 0.0200 | 80.0 % | 80.0 % | 200 (20 to 379) |"
    assert f"| {pilot.name} | optimal | 400 | estimate | {row} - |" in table
    assert f"| {pilot.name} | optimal | 400 | assured | {row} met |" in table
    assert all(sum(one.contest.setting.counts) == 300 for one in _plans.PILOTS)


def test_the_committed_plans_have_every_setting():
    text = (ROOT / "docs" / "planning.md").read_text(encoding="utf-8")
    assert all(f"| {one.name} |" in text for one in _plans.PILOTS)


def test_the_study_of_decisions_judges_on_samples_that_nothing_was_tuned_on(tmp_path):
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.resize([0, 1, 2], 60))
    part = _decisions._quarters(codes, seed=1)
    assert [np.bincount(codes[part == one]).tolist() for one in range(4)] == [[5, 5, 5]] * 4
    parts = {"tune/codes": codes[:30], "tune/scores": rng.dirichlet(np.ones(3), 30)}
    parts |= {"test/codes": codes[30:], "test/scores": rng.dirichlet(np.ones(3), 30)}
    np.savez(tmp_path / "predictions.npz", **{f"tae/tree/0/{name}": value for name, value in parts.items()})
    by_class, by_pair = _decisions.run_held_out(tmp_path / "predictions.npz", 1)
    assert [by_class["kind"], by_pair["kind"]] == list(_decisions.KINDS)
    costs = _decisions._random_costs(np.random.default_rng([0, 7]), 3, "pair")
    assert not np.allclose(costs, costs.T)
    tuned = polyroc.decide(parts["tune/codes"], parts["tune/scores"], costs, rule="tuned")
    named = {"tuned": tuned.predict(parts["test/scores"]), "argmax": parts["test/scores"].argmax(axis=1)}
    for rule, names in named.items():
        assert by_pair[rule] == pytest.approx(np.mean([costs[a, j] for a, j in zip(codes[30:], names, strict=True)]))


def test_the_study_of_decisions_counts_what_intervals_cover():
    population = replace(_decisions.POPULATIONS[0], n_samples=60)
    found = _decisions.run_coverage(population, 5, 2)
    codes, scores = population.draw(np.random.default_rng([5, 0]), _decisions._N_TRUTH)
    y_true, y_score = population.draw(np.random.default_rng([5, 2]), 60)
    decision = polyroc.decide(y_true, y_score, population.costs, rng=2, rule="tuned")
    true = population.costs[codes, decision.predict(scores)].mean()
    low, high = decision.cost_interval
    assert found["true"][1] == pytest.approx(true)
    assert found["side"][1] == int(true > high) - int(true < low)
    # Calibrated scores: Bayes' rule costs less than any other.
    assert true > population.costs[codes, np.argmin(scores @ population.costs, axis=1)].mean()


def test_the_tables_of_decisions_count_by_hand():
    row = {"data": "car", "classifier": "tree", "kind": "pair", "split": 0, "tuned": 1.0, "bayes": 2.0, "argmax": 4.0}
    more = row | {"data": "tae", "tuned": 2.0, "bayes": 0.0}
    covered = {"true": [0.5, 0.7], "resubstitution": [0.4, 0.4], "side": [0, 1]}
    table = _decisions.page({"held out": [row, more], "coverage": {_decisions.POPULATIONS[0].name: covered}})
    assert "| costs by pair | car | tae | all: tuned / Bayes | all: tuned / highest score |" in table
    assert "| tree | 0.50 | none | 1.50 | 0.38 |" in table
    assert "| 3 classes, calibrated | 300 | 2 | 0.600 | 0.400 | 50.0 % | 0.0 % | 50.0 % |" in table


def test_the_study_of_verdicts_has_the_intervals_of_decide():
    from studies import _verdicts

    name, k = _verdicts.NAMES[0], 4
    costs = _verdicts.costs_of("two of 200", k)
    assert sorted(set(costs.ravel().tolist())) == [0, 1, 200]
    y_true, scores = _verdicts.sample(name, None, 200, np.random.default_rng(3))
    decision = polyroc.decide(y_true, scores, costs, labels=range(k), rule="bayes")
    bayes, highest = decision.predict(scores), scores.argmax(axis=1)
    counts = np.bincount((y_true * k + bayes) * k + highest, minlength=k**3)[np.newaxis]
    true, first, second = np.unravel_index(np.arange(k**3), (k, k, k))
    made = {"true": _verdicts._made(counts, true, k), "bayes": _verdicts._made(counts, first, k)}
    made["argmax"] = _verdicts._made(counts, second, k)
    one, other = costs[true, first], costs[true, second]
    found = _verdicts._ends(counts, one, 200, _verdicts._largest(made, ("bayes",), costs), np.zeros(1))
    assert_allclose(np.ravel(found), decision.cost_interval, rtol=1e-9)
    less = costs[:, :, None] - costs[:, None, :]
    unseen = [_verdicts._largest(made, ("bayes", "argmax"), sign * less) for sign in (1, -1)]
    low, high = np.ravel(_verdicts._ends(counts, one - other, 200, *unseen))
    apart = next(rule for rule in decision.rules if rule.rule == "argmax").difference_interval
    assert_allclose((-high, -low), apart, rtol=1e-9)


def test_the_study_of_verdicts_judges_what_is_deployed(monkeypatch):
    from studies import _verdicts

    monkeypatch.setattr(_verdicts, "_N_COUNTS", 50)
    name = _verdicts.NAMES[1]
    codes, scores = _verdicts.population(name, None)
    found = _verdicts.decided(name, None, "by pair", 120, [1, 2, 3])
    y_true, y_score = _verdicts.sample(name, None, 120, np.random.default_rng([1, 2, 3]))
    costs = _verdicts.costs_of("by pair", 6)
    decision = polyroc.decide(y_true, y_score, costs, rng=3)
    true = costs[codes, decision.predict(scores)].mean()
    assert found["auto"] == pytest.approx(true)
    assert found["bayes"] == pytest.approx(costs[codes, (scores @ costs).argmin(axis=1)].mean())
    assert found["side"] == int(true > decision.cost_interval.high) - int(true < decision.cost_interval.low)
    fixed = _verdicts.fixed(name, None, "by pair", 200, 0)
    rows = {rule: [found[rule], found[rule]] for rule in found}
    text = _verdicts.page({f"{name} | by pair | 200": {"fixed": fixed, "decided": rows}})
    assert f"| {name} | 200 | 2 | " in text
    assert "Over all 1 settings" in text
    marked = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
    assert marked.count(_verdicts.BEGIN) == marked.count(_verdicts.END) == 1


@pytest.mark.slow
@pytest.mark.full("torch")
def test_a_small_run_writes_every_table(tmp_path):
    import subprocess
    import sys

    out = tmp_path / "results.json"
    asked = [
        "--out",
        str(out),
        "--replications",
        "4",
        "--resamples",
        "19",
        "--only",
        COVERAGE[0].name,
        CONTESTS[0].name,
    ]
    for command in ("run", "contests"):
        done = subprocess.run(
            [sys.executable, "-m", "studies", command, *asked], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    results = json.loads(out.read_text())
    assert len(results["settings"][COVERAGE[0].name]["found"]["logit"]) == 4
    assert len(results["contests"][CONTESTS[0].name]["found"]["D"]) == 4
    assert f"| {COVERAGE[0].name} |" in _page.page(results)


@pytest.mark.slow
def test_the_study_of_measures_judges_every_measure_and_writes_its_table():
    from studies import _measures

    setting = _measures.SETTINGS[0]
    truth = dict.fromkeys(_measures.NAMES, 0.9)
    rows = [_measures.judge(setting, 1, number) for number in range(3)]
    results = {setting.name: {}}
    for name in rows[0]:
        results[setting.name][name] = _measures.summary(truth[name], np.array([row[name] for row in rows]))
    text = _measures.page(results)
    assert "| accuracy | 0.9000 |" in text
    # Three classes are all among the first three, and D has tables of its own.
    assert set(rows[0]) == set(_measures.NAMES) - {"top_3"}
    page = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
    assert page.count(_measures.BEGIN) == page.count(_measures.END) == 1


def test_the_study_of_measures_counts_the_sides_that_are_missed():
    from studies import _measures

    assert min(min(setting.counts) for setting in _measures.SETTINGS) == 20
    found = np.array([[0.9, 0.1, 0.8, 0.95], [0.5, 0.1, 0.4, 0.6], [0.7, 0.1, 0.6, 0.85], [0.9, 0.1, 0.85, 0.95]])
    judged = _measures.summary(0.83, found)
    assert (judged["covers"], judged["truth below"], judged["truth above"]) == (0.5, 0.25, 0.25)


def test_settings_where_few_samples_decide_are_what_they_are_called():
    assert len({one.name for one in _hard.ALL}) == len(_hard.ALL)
    assert all(min(one.counts) == 10 and max(one.counts) == 200 for one in _hard.SMALL)
    rng = np.random.default_rng(0)
    for one in _hard.GROUPS:
        y_true, [_], groups = _hard.draw(one, rng)
        assert np.bincount(y_true).tolist() == list(one.counts)
        assert len(set(zip(groups, y_true, strict=True))) == len(set(groups)) == 15
    wrong = next(one for one in _hard.GROSS if one.mislabelled and one.population is None)
    y_true, [scores], _ = _hard.draw(wrong, rng, (40_000,) * 5)
    highest = np.mean(scores.argmax(axis=1) != y_true)
    right = np.mean(_hard.draw(replace(wrong, mislabelled=0.0), rng, (40_000,) * 5)[1][0].argmax(axis=1) != y_true)
    assert highest - right == pytest.approx(0.005, abs=0.002)


def test_the_former_interval_of_a_difference_is_in_the_table():
    one = replace(_hard.EQUAL[0], counts=(20,) * 4)
    found = _hard.run(one, 0, 3)
    for name in ("D", "M"):
        is_above = np.array(found[name]) > 0
        low, high, low_before, high_before = (
            np.array(found[f"{name}, {end}"]) for end in ("low", "high", "low before", "high before")
        )
        # Away from 0 rare errors may have more to add; towards 0 the test has more degrees of freedom than before.
        assert np.all(np.where(is_above, high - high_before, low_before - low) >= -1e-12)
        assert np.all(np.where(is_above, low - low_before, high_before - high) >= -1e-12)
    rows = _hard.rows(one, {"truth": [[0.8, 0.7], [0.8, 0.7]], "found": found}, ("significant",))
    assert [row[:5] for row in rows] == [[one.name, s, "20", "0.0000", "3"] for s in ("D", "M")]
