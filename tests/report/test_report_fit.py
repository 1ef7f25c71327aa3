"""The fit in the page against the package, at costs that were never evaluated before the page was made."""

import json

import numpy as np
import pytest
from page_script import run_in_chromium, run_script, script_of
from problems import quietly, random_problem
from report_pages import comparison_of, evaluation_of, from_letters

import polyroc
from polyroc._records import PairwiseRates
from polyroc.report import summarize, write_html
from polyroc.report._packing import as_letters, packed_rates

# Each job: what a page carries, and one question after the other.
ASK = """(jobs) => jobs.map(({ explorer, asks }) => {
  const models = openModels(explorer);
  return asks.map(({ costs, prevalence, rest }) => models.map((model) => resultOf(model, costs, prevalence, rest)));
})"""
CLOCK = """(jobs) => jobs.map(({ explorer, asks }) => {
  const models = openModels(explorer);
  return asks.map(({ costs, prevalence, rest }) => {
    const start = performance.now();
    for (const model of models) resultOf(model, costs, prevalence, rest);
    return performance.now() - start;
  });
})"""


def question(costs, prevalence=None, *, rest=True):
    costs = np.asarray(costs, dtype=float)
    factors = np.ones(len(costs)) if prevalence is None else np.asarray(prevalence, dtype=float)
    return {"costs": costs.ravel().tolist(), "prevalence": factors.tolist(), "rest": rest}


def folded(costs, prevalence):
    """What is copied from the page: prevalences are in the costs."""
    return costs * np.outer(prevalence, prevalence)


def hard_problem(seed):
    """A random problem with some of: weights, other thresholds, prevalence, no shrinkage, weights of rates, ties."""
    rng = np.random.default_rng([seed, 19])
    found = random_problem(seed, max_samples=1000)
    options, n, k = dict(found.arguments), len(found.y_true), found.n_classes
    if rng.random() < 0.3:
        options["thresholds"] = "difference"
    if rng.random() < 0.3:
        options["sample_weight"] = rng.exponential(size=n) + 0.01
    if rng.random() < 0.3:
        options["weighting"] = "prevalence"
    if rng.random() < 0.3:
        options["shrinkage"] = float(rng.choice([0.0, 0.3, 5.0]))
    if rng.random() < 0.2:
        options["tpr_weights"] = 10 ** rng.uniform(-1, 1, size=(k, k))
    if rng.random() < 0.1:
        options["structure"] = "saturated"
    return found.y_true, found.y_score, options


def plain_problem(seed, k):
    """Classes of different size and a model of some strength, with ties in every third."""
    rng = np.random.default_rng([seed, k])
    y_true = np.concatenate([np.arange(k), np.arange(k), rng.integers(0, k, 30 * k)])
    y_score = rng.normal(size=(len(y_true), k)) + rng.uniform(0.5, 4) * np.eye(k)[y_true] * rng.uniform(0.5, 1.5, k)
    return y_true, np.round(y_score, 1) if seed % 3 == 0 else y_score, {}


def taking_part(evaluation):
    return np.flatnonzero(evaluation.class_counts)


def new_costs(evaluation, seed):
    """Costs over six orders of magnitude and prevalences over two, for the classes that take part."""
    rng, k = np.random.default_rng([seed, 7]), len(taking_part(evaluation))
    spread = rng.choice([0.5, 1.5, 3])
    costs = 10 ** rng.uniform(-spread, spread, size=(k, k))
    # Alike both ways: then the area under the mean curve is exact.
    costs = np.sqrt(costs * costs.T) if rng.random() < 0.3 else costs
    return costs, 10 ** rng.uniform(-1, 1, size=k)


def compared(cases):
    """The page's answers and the package's at new costs, into which prevalences are folded for the package."""
    jobs, expected = [], []
    for seed, (y_true, y_score, options) in enumerate(cases):
        opening = quietly(polyroc.evaluate, y_true, y_score, **options)
        costs, prevalence = new_costs(opening, seed)
        whole = np.ones((len(opening.labels),) * 2)
        whole[np.ix_(taking_part(opening), taking_part(opening))] = folded(costs, prevalence)
        expected.append(quietly(polyroc.evaluate, y_true, y_score, **{**options, "costs": whole}))
        jobs.append({"explorer": packed_rates([opening]), "asks": [question(costs, prevalence)]})
    return [(answers[0][0], found) for answers, found in zip(run_script(ASK, jobs), expected, strict=True)]


def check(pairs, *, at_least):
    """D, mean area and both curves are the package's wherever its own fit has converged to one optimum."""
    n_checked = 0
    for answer, evaluation in pairs:
        assert is_sound(answer)
        assert answer["mean_auc"] == pytest.approx(evaluation.mean_auc, abs=1e-6)
        # A rate is packed in steps of up to 3e-5.
        np.testing.assert_allclose(answer["mean_curve"]["tpr"], evaluation.mean_curve.tpr, atol=5e-5)
        np.testing.assert_allclose(answer["mean_curve"]["fpr"], evaluation.mean_curve.fpr, atol=5e-5)
        if not evaluation.factorization.converged:
            continue
        n_checked += 1
        assert answer["auc"] == pytest.approx(evaluation.auc, abs=1e-6)
        # Single points move by some steps where one pair has nearly all the weight; in D they even out.
        np.testing.assert_allclose(answer["curve"]["tpr"], evaluation.curve.tpr, atol=1e-4)
        np.testing.assert_allclose(answer["curve"]["fpr"], evaluation.curve.fpr, atol=1e-4)
    assert n_checked >= at_least


def is_sound(answer):
    """Finite numbers, areas in [0, 1], and curves that rise from corner to corner."""
    rates = [np.array(answer[curve][kind], dtype=float) for curve in ("curve", "mean_curve") for kind in ("fpr", "tpr")]
    rises = all(rate[0] == 0 and rate[-1] == 1 and np.all(np.diff(rate) >= -1e-12) for rate in rates)
    return rises and all(isinstance(answer[key], int | float) and 0 <= answer[key] <= 1 for key in ("auc", "mean_auc"))


@pytest.mark.parametrize(
    ("seeds", "at_least"),
    [pytest.param(range(60), 50, id="60"), pytest.param(range(60, 260), 170, id="200", marks=pytest.mark.slow)],
)
def test_hard_problems_have_the_packages_numbers(seeds, at_least):
    check(compared([hard_problem(seed) for seed in seeds]), at_least=at_least)


def test_ordinary_problems_have_the_packages_numbers():
    check(compared([plain_problem(seed, k) for seed, k in enumerate((3, 3, 4, 5, 8, 10, 12, 17))]), at_least=8)


@pytest.mark.slow
def test_many_classes_have_the_packages_numbers():
    check(compared([plain_problem(seed, k) for seed, k in enumerate((20, 30, 50))]), at_least=3)


def test_opening_costs_have_the_very_numbers_of_the_package():
    costs = np.ones((10, 10))
    costs[2, 5], costs[5, 2] = 40, 0.3
    evaluation = evaluation_of(10, options={"costs": costs})
    # Only ratios count, and frames are no exception.
    asks = [question(costs), question(7 * costs), question(costs, np.full(10, 0.2), rest=False)]
    for (answer,) in run_script(ASK, [{"explorer": packed_rates([evaluation]), "asks": asks}])[0]:
        assert (answer["auc"], answer["mean_auc"]) == (evaluation.auc, evaluation.mean_auc)
        np.testing.assert_allclose(answer["curve"]["tpr"], evaluation.curve.tpr, atol=5e-5)


def test_frames_of_a_drag_stay_near_the_fit_at_rest():
    explorer = packed_rates([evaluation_of(10, n=600)])
    asks = []
    for exponent in np.linspace(0, 3, 60):
        costs = np.ones((10, 10))
        costs[1, 0] = 10**exponent
        asks.append(question(costs, rest=False))
    drags = [[question(np.ones((10, 10))), *asks], [{**ask, "rest": True} for ask in asks]]
    moving, at_rest = run_script(ASK, [{"explorer": explorer, "asks": drag} for drag in drags])
    shown = np.array([models[0]["auc"] for models in moving[1:]])
    wanted = np.array([models[0]["auc"] for models in at_rest])
    assert np.ptp(wanted) > 0.05
    assert np.abs(shown - wanted).max() < 1e-4


@pytest.mark.parametrize(
    "k", [3, 10, pytest.param(30, marks=pytest.mark.slow), pytest.param(50, marks=pytest.mark.slow)]
)
def test_jumps_give_finite_numbers_and_end_at_the_fit_from_scratch(k):
    rng = np.random.default_rng(k)
    y_true, y_score, _ = plain_problem(k, k)
    explorer = packed_rates([polyroc.evaluate(y_true, y_score, shrinkage=0.5)])
    asks = [question(10 ** rng.uniform(-3, 3, (k, k)), 10 ** rng.uniform(-1, 1, k), rest=False) for _ in range(8)]
    last = {**asks[-1], "rest": True}
    dragged, fresh = run_script(
        ASK, [{"explorer": explorer, "asks": [*asks, last]}, {"explorer": explorer, "asks": [last]}]
    )
    assert all(is_sound(answer) for answers in dragged for answer in answers)
    assert dragged[-1][0]["auc"] == pytest.approx(fresh[0][0]["auc"], abs=1e-12)


def test_what_is_no_cost_still_gives_finite_numbers():
    wrong = []
    for value in (0.0, -1.0, 1e300, 1e-300):
        costs = np.ones((4, 4))
        costs[0, 1] = value
        wrong += [question(costs, rest=False), question(costs)]
    answers = run_script(ASK, [{"explorer": packed_rates([evaluation_of(4)]), "asks": wrong}])[0]
    assert all(is_sound(answer) for (answer,) in answers)


def test_perfect_and_backward_scores_stay_at_the_ends():
    y_true = np.repeat(np.arange(4), 20)
    costs = 10 ** np.random.default_rng(0).uniform(-2, 2, (4, 4))
    perfect = polyroc.evaluate(y_true, np.eye(4)[y_true])
    with pytest.warns(UserWarning, match="backwards"):
        backward = polyroc.evaluate(y_true, -np.eye(4)[y_true])
    constant = polyroc.evaluate(y_true, np.zeros((80, 4)))
    jobs = [{"explorer": packed_rates([one]), "asks": [question(costs)]} for one in (perfect, backward, constant)]
    found = [answers[0][0]["auc"] for answers in run_script(ASK, jobs)]
    np.testing.assert_allclose(found, [1, 0, 0.5], atol=1e-12)


def unpacked(explorer):
    """Shares of the room around the call rates, as the script reads them; of 16 bits."""
    run = "(jobs) => jobs.map((one) => numbersOf(one.models[0].rates))"
    return np.array(run_script(run, [explorer])[0]) / (2**15 - 1)


def test_numbers_come_back_from_their_letters():
    rng = np.random.default_rng(0)
    # Steps of every length: the longest of one letter, of two, ... and the shortest of one more.
    steps = [0, 1, 22, 23, 1011, 1012, 43_539, 43_540, 65_534, 2**31, 2**33]
    walks = [np.cumsum([0, step, -step, -step, step]) - step // 2 for step in steps]
    numbers = np.concatenate([*walks, [32767, -32767, 32767], rng.integers(-32767, 32768, 2000)])
    text = as_letters(numbers)
    (found,) = run_script("(jobs) => jobs.map((text) => numbersOf(text))", [text])
    assert found == numbers.tolist() == from_letters(text)
    assert not set(text) & set('"&<>\\ ')
    assert len(as_letters(np.zeros(100, dtype=int))) == 100


@pytest.mark.parametrize("thresholds", ["own", "shared", "difference"])
@pytest.mark.parametrize(("k", "limit"), [(4, 2**31 - 1), (9, 2**15 - 1)])
def test_rates_are_packed_to_a_step_and_areas_to_less(k, limit, thresholds):
    evaluation = evaluation_of(k, strength=4, options={"thresholds": thresholds})
    explorer = packed_rates([evaluation])
    rates, model = evaluation.rates, explorer["models"][0]
    assert explorer["limit"] == limit
    (cells,) = run_script("(jobs) => jobs.map((one) => decodeRates(one, one.models[0]))", [explorer])
    tpr, fpr = np.array(cells).reshape(rates.n_pairs, 2, -1).transpose(1, 2, 0)
    for found, wanted in ((tpr, rates.tpr), (fpr, rates.fpr)):
        # Within a step; over all call rates, within a few, because what is taken at one is given back at the next.
        np.testing.assert_allclose(found, wanted, atol=1.01 / (limit + 1))
        assert np.abs((found - wanted).T @ rates.row_weights).max() <= 4 / (limit + 1)
        for end in (0, 1):
            np.testing.assert_array_equal(found == end, np.abs(wanted - end) < 1e-12)
    assert (model["fpr"] is None) == (thresholds != "shared")
    np.testing.assert_allclose(model["areas"], evaluation.pairs.auc, atol=1e-13)


def test_rates_nearly_one_do_not_become_one():
    evaluation = evaluation_of(9)
    nearly = np.full(evaluation.rates.tpr.shape, 1.0)
    nearly[:, 0] = 1 - 1e-7
    s = evaluation.rates.call_rates[:, None]
    tpr = s + nearly * np.minimum(s, 1 - s)
    evaluation.fitted.__dict__["rates"] = PairwiseRates(tpr, None, evaluation.rates.call_rates)
    shares = unpacked(packed_rates([evaluation])).reshape(72, -1)
    assert np.all(shares[0] < 1)
    assert np.all(shares[1:] == 1)


def test_a_comparison_carries_common_numbers_once():
    comparison = comparison_of(k=5)
    summary = summarize(comparison, include_rates=True)
    explorer = summary["explorer"]
    assert summary["explorer_note"] == ""
    assert [model["auc"] for model in explorer["models"]] == [one.auc for one in comparison.evaluations.values()]
    assert len(explorer["positive"]) == 20
    json.dumps(summary, allow_nan=False)


def test_rates_are_left_out_unless_asked_for():
    assert "explorer" not in summarize(evaluation_of(4))
    with pytest.raises(ValueError, match="include_rates"):
        summarize(evaluation_of(4), include_rates="yes")


@pytest.mark.parametrize(
    ("k", "options", "reason"),
    [
        (2, {}, "two classes"),
        (51, {}, "up to 50 classes; these are 51"),
        (6, {"max_pairs": 12}, "max_pairs"),
        (4, {"structure": "centered"}, "centered structure"),
        (30, {"n_thresholds": 999}, "999 thresholds of 30 classes"),
    ],
)
def test_where_costs_cannot_be_changed_the_page_says_why(k, options, reason):
    # Without intervals, which take a minute with 999 thresholds of 30 classes.
    summary = summarize(evaluation_of(k, options=options), include_rates=True, include_intervals=False)
    assert summary["explorer"] is None
    assert reason in summary["explorer_note"]


# What recompute.js meets in a page: here without a worker, with one that fails, and with one that works.
SURROUNDINGS = """
const document = { getElementById: () => ({ textContent: "" }) };
const URL = { createObjectURL: () => "blob:" };
class Blob {}
function Worker() {
  if (jobs[0].worker === "refused") throw new Error("no worker here");
  let models = [];
  this.terminate = () => {};
  this.postMessage = (asked) => setTimeout(() => {
    if (jobs[0].worker === "broken") this.onerror({ preventDefault() {} });
    else if (asked.explorer) models = openModels(asked.explorer);
    else {
      const chosen = asked.only === null ? models : [models[asked.only]];
      const results = chosen.map((model) => resultOf(model, asked.costs, asked.prevalence, asked.rest));
      this.onmessage({ data: { results } });
    }
  }, 1);
}
"""
DRAG = f"""async (jobs) => {{
  {SURROUNDINGS}
  {script_of("recompute.js", has_fit=True)}
  const {{ explorer, asks }} = jobs[0], heard = [];
  const made = makeExplorer(explorer), opening = Array.from(made.costs);
  let done;
  const end = new Promise((resolve) => {{ done = resolve; }});
  made.on((answer) => {{ heard.push(answer); if (answer.settled) done(); }});
  for (const {{ costs, prevalence }} of asks) made.set(costs, prevalence);
  const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));
  while (heard.length < 2) await pause(5);
  await pause(50);
  made.settle();
  await end;
  return {{ heard, opening, costs: made.costs, prevalence: made.prevalence }};
}}"""


@pytest.mark.parametrize("worker", ["refused", "broken", "works"])
def test_the_newest_question_wins_with_and_without_a_worker(worker):
    comparison = comparison_of(k=4)
    rng = np.random.default_rng(0)
    asks = [question(10 ** rng.uniform(-1, 1, (4, 4)), 10 ** rng.uniform(-1, 1, 4)) for _ in range(5)]
    jobs = [{"worker": worker, "explorer": packed_rates(list(comparison.evaluations.values())), "asks": asks}]
    found = run_script(DRAG, jobs)
    assert found["opening"] == [1] * 16
    assert (found["costs"], found["prevalence"]) == (asks[-1]["costs"], asks[-1]["prevalence"])
    # Those between the first and the last question were never worked on.
    assert [answer["settled"] for answer in found["heard"]] == [False, False, True]
    (wanted,) = run_script(ASK, [{**jobs[0], "asks": asks[-1:]}])
    assert [one["auc"] for one in found["heard"][-1]["models"]] == [one["auc"] for one in wanted[0]]


# In a page, whose policy allows workers of its own text; without the fit here only a worker can answer.
IN_PAGE = f"""async (jobs) => {{
  window.openModels = () => {{ throw new Error("this should be done in a worker"); }};
  {script_of("recompute.js", has_fit=True)}
  const made = makeExplorer(JSON.parse(document.getElementById("data").textContent).explorer);
  const end = new Promise((resolve) => made.on((answer) => {{ if (answer.settled) resolve(answer.models); }}));
  made.set(jobs[0].costs, jobs[0].prevalence);
  made.settle();
  return end;
}}"""


@pytest.mark.usefixtures("browser")
@pytest.mark.smoke
def test_a_worker_of_the_page_gives_the_packages_numbers(tmp_path):
    costs = 10 ** np.random.default_rng(3).uniform(-1, 1, (5, 5))
    write_html(comparison_of(k=5), tmp_path / "page.html")
    found = run_in_chromium(IN_PAGE, [question(costs)], page=tmp_path / "page.html")
    wanted = comparison_of(k=5, options={"costs": costs}).evaluations.values()
    assert [one["auc"] for one in found] == pytest.approx([one.auc for one in wanted], abs=1e-6)
    assert [one["mean_auc"] for one in found] == pytest.approx([one.mean_auc for one in wanted], abs=1e-6)


@pytest.mark.clock
def test_frames_with_three_models_of_ten_classes_are_in_time():
    explorer = packed_rates(list(comparison_of(k=10, n=1000).evaluations.values()))
    asks = [question(np.ones((10, 10)))]
    for exponent in np.linspace(0, 3, 120):
        costs = np.ones((10, 10))
        costs[3, 4] = 10**exponent
        asks.append(question(costs, rest=False))
    (taken,) = run_script(CLOCK, [{"explorer": explorer, "asks": asks}])
    assert np.median(taken[1:]) < 16
