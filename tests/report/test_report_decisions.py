"""What decisions cost, on the page: against `polyroc.decide` with the same scores, costs and shares.

The script of the page is run by Node; some tests open the page in Chromium.
"""

import shutil
from functools import cache

import numpy as np
import pytest
from page_script import run_in_chromium, run_script, script_of
from report_pages import HOSTILE, Page, comparison_of, from_letters

import polyroc
from polyroc._core.predicted import cheapest, expected_costs
from polyroc.report import _packing, render_html, summarize, write_html

SCRIPT = script_of("decisions.js")
# Each job: what a page carries, and costs and shares one after the other.
ASK = """(jobs) => jobs.map(({ decisions, k, asks }) => {
  const models = openDecisions(decisions, k);
  const scores = decisions.models.map((one) => one.scores && decisionScores(one.scores));
  return asks.map(({ costs, shares }) => models.map((model, m) => ({
    ...model(costs, shares),
    predicted: scores[m] && leastExpected(scores[m], k, costs, shares),
  })));
})"""
CLOCK = """([{ decisions, k, asks }]) => {
  const [model] = openDecisions(decisions, k);
  return asks.map(({ costs, shares }) => {
    const start = process.cpuUsage();
    model(costs, shares);
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000;
  });
}"""
SENTENCE = "This page contains true classes and scores of single samples."


def softmax_problem(seed, k, n, *, decimals=None, strength=2.0):
    """Classes of different size; scores that are too sure, so that least expected cost and highest score differ."""
    rng = np.random.default_rng([seed, k])
    y_true = np.concatenate([np.arange(k), np.arange(k), rng.choice(k, n - 2 * k, p=rng.dirichlet(np.full(k, 5.0)))])
    z = 2 * (rng.normal(size=(n, k)) + strength * np.eye(k)[y_true])
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return y_true, p if decimals is None else np.round(p, decimals)


def votes(seed, k=5, n=800, n_voters=7):
    """Shares of few votes, of which expected costs are often equal."""
    rng = np.random.default_rng(seed)
    y_true = np.concatenate([np.arange(k), np.arange(k), rng.integers(0, k, n - 2 * k)])
    chances = 0.5 * np.eye(k)[y_true] + 0.5 / k
    return y_true, np.array([rng.multinomial(n_voters, one) for one in chances]) / n_voters


def asked(seed, k, count=4):
    """Costs that no transposition leaves as they are, and shares; the first are all 1."""
    rng = np.random.default_rng([seed, k, 18])
    found = [(np.ones((k, k)), np.ones(k))]
    for place in range(1, count):
        costs = 10 ** rng.uniform(-1.5, 1.5, (k, k)) if place % 2 else rng.choice([1.0, 2.0, 5.0, 10.0], (k, k))
        found.append((costs, np.ones(k) if place < 2 else 10 ** rng.uniform(-1, 1, k)))
    return found


def prior_of(y_true, shares, weight=None):
    prior = np.bincount(y_true, weight, minlength=len(shares)) * shares
    return prior / prior.sum()


def judged(y_true, scores, costs, shares, **options):
    """Costs of both rules by `polyroc.decide`, without what a right name costs."""
    prior = prior_of(y_true, shares, options.get("sample_weight"))
    zero = costs * (1 - np.eye(len(costs)))
    return polyroc.decide(y_true, scores, zero, prior=prior, rule="argmax", n_folds=2, **options)


def by_rule(decision):
    return {one.rule: one.cost for one in decision.rules if one.rule in ("bayes", "argmax")}


def answers(decisions, k, asks):
    jobs = [{"costs": costs.ravel().tolist(), "shares": shares.tolist()} for costs, shares in asks]
    return run_script(ASK, [{"decisions": decisions, "k": k, "asks": jobs}], script=SCRIPT)[0]


def decisions_of(result):
    return summarize(result, include_decisions=True, include_intervals=False)["decisions"]


PROBLEMS = {
    "k3": lambda: softmax_problem(0, 3, 400),
    "k3 weak": lambda: softmax_problem(1, 3, 300, strength=0.5),
    "k10": lambda: softmax_problem(2, 10, 900),
    "k10, three decimals": lambda: softmax_problem(3, 10, 3000, decimals=3),
    "k10, steps": lambda: softmax_problem(4, 10, 5000),
}


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_costs_are_those_of_decide(name, weighted):
    y_true, scores = PROBLEMS[name]()
    k, asks = scores.shape[1], asked(len(name), scores.shape[1])
    options = {"sample_weight": np.random.default_rng(5).exponential(size=len(y_true))} if weighted else {}
    decisions = decisions_of(polyroc.evaluate(y_true, scores, **options))
    assert (decisions["models"][0]["scores"]["values"] is None) == (name == "k10, steps")
    for (costs, shares), (answer,) in zip(asks, answers(decisions, k, asks), strict=True):
        expected = by_rule(judged(y_true, scores, costs, shares, **options))
        assert answer["highest"] == pytest.approx(expected["argmax"], rel=1e-9)
        # Weights have 24 bits.
        assert answer["least"] == pytest.approx(expected["bayes"], rel=1e-6)


def test_rows_are_true_classes():
    """To miss the first class is expensive, so it is predicted more often; transposed, less often."""
    y_true, scores = softmax_problem(6, 3, 600, strength=0.7)
    costs = np.ones((3, 3))
    costs[0] = 20.0
    (first,), (plain,) = answers(
        decisions_of(polyroc.evaluate(y_true, scores)), 3, [(costs, np.ones(3)), (np.ones((3, 3)), np.ones(3))]
    )
    assert first["predicted"].count(0) > 1.5 * plain["predicted"].count(0)
    assert first["least"] < first["highest"]


def test_votes_differ_only_where_expected_costs_are_equal():
    y_true, scores = votes(0)
    asks = asked(7, 5, 12)
    found = answers(decisions_of(polyroc.evaluate(y_true, scores)), 5, asks)
    n_other = 0
    for (costs, shares), (answer,) in zip(asks, found, strict=True):
        zero, here = costs * (1 - np.eye(5)), np.array(answer["predicted"])
        ratio = prior_of(y_true, shares) / prior_of(y_true, np.ones(5))
        there, expected = cheapest(scores, zero, ratio, None), expected_costs(scores, zero, ratio)
        other = np.flatnonzero(here != there)
        np.testing.assert_allclose(expected[other, here[other]], expected[other, there[other]], rtol=1e-14)
        n_other += len(other)
        own = sum(shares[y_true] * zero[y_true, here]) / sum(shares[y_true])
        assert answer["least"] == pytest.approx(own, rel=1e-12)
    # The last bit of a sum is the processor's; most ties are broken as the package breaks them.
    assert n_other < 0.01 * len(asks) * len(y_true)


def test_steps_change_hardly_a_name_and_only_near_ties():
    y_true, scores = softmax_problem(8, 10, 20_000)
    asks = asked(8, 10, 4)
    decisions = decisions_of(polyroc.evaluate(y_true, scores))
    step = decisions["models"][0]["scores"]["step"]
    assert 0 < step < 1e-3
    for (costs, shares), (answer,) in zip(asks, answers(decisions, 10, asks), strict=True):
        zero, here = costs * (1 - np.eye(10)), np.array(answer["predicted"])
        ratio = prior_of(y_true, shares) / prior_of(y_true, np.ones(10))
        there, expected = cheapest(scores, zero, ratio, None), expected_costs(scores, zero, ratio)
        other = np.flatnonzero(here != there)
        assert len(other) <= 1e-3 * len(y_true)
        np.testing.assert_allclose(expected[other, here[other]], expected[other, there[other]], rtol=1.01 * step)


def test_rows_of_zeros_and_classes_of_no_probability():
    y_true = np.tile(np.arange(3), 40)
    scores = np.eye(3)[(y_true + (np.arange(120) % 5 == 0)) % 3]
    scores[7] = 0.0
    decisions = decisions_of(polyroc.evaluate(y_true, scores))
    asks = asked(9, 3)
    for (costs, shares), (answer,) in zip(asks, answers(decisions, 3, asks), strict=True):
        expected = by_rule(judged(y_true, scores, costs, shares))
        assert (answer["least"], answer["highest"]) == pytest.approx((expected["bayes"], expected["argmax"]), rel=1e-9)


def test_free_scores_need_no_samples():
    comparison = comparison_of(4, names=("first", "second"), n_resamples=3)
    decisions = decisions_of(comparison)
    assert decisions["true"] is None
    assert decisions["weight"] is None
    assert [one["scores"] for one in decisions["models"]] == [None, None]
    codes, asks = next(iter(comparison.evaluations.values())).fitted.source.codes, asked(10, 4)
    for (costs, shares), models in zip(asks, answers(decisions, 4, asks), strict=True):
        for answer, evaluation in zip(models, comparison.evaluations.values(), strict=True):
            expected = by_rule(judged(codes, evaluation.fitted.source.scores, costs, shares))
            assert answer["least"] is None
            assert answer["highest"] == pytest.approx(expected["argmax"], rel=1e-9)
    text = Page(render_html(summarize(comparison, include_rates=True, include_decisions=True))).text
    assert "and no scores of single samples" in text
    assert SENTENCE not in text


def test_of_many_samples_some_are_drawn(monkeypatch):
    y_true, scores = softmax_problem(11, 3, 500)
    weight = np.random.default_rng(0).exponential(size=500)
    models = {"one": scores, "two": np.roll(scores, 1, axis=0), "free": np.log(scores + 1e-3)}
    with pytest.warns(UserWarning, match="are probabilities"):
        comparison = polyroc.compare(y_true, models, method="bootstrap", n_resamples=3, rng=0, sample_weight=weight)
    monkeypatch.setattr(_packing, "MOST_SCORES", 1200)
    summary = summarize(comparison, include_rates=True, include_decisions=True)
    decisions = summary["decisions"]
    assert (decisions["n_samples"], decisions["n_rows"]) == (500, 200)
    rows = np.sort(np.random.default_rng(0).choice(500, 200, replace=False))
    assert from_letters(decisions["true"]) == y_true[rows].tolist()
    for (costs, shares), found in zip(asked(11, 3), answers(decisions, 3, asked(11, 3)), strict=True):
        for answer, one in zip(found, models.values(), strict=True):
            expected = by_rule(judged(y_true[rows], one[rows], costs, shares, sample_weight=weight[rows]))
            assert answer["highest"] == pytest.approx(expected["argmax"], rel=1e-9)
            assert answer["least"] == (pytest.approx(expected["bayes"], rel=1e-6) if "bayes" in expected else None)
    text = Page(render_html(summary)).text
    assert "judged on a random sample of 200 of the 500 samples (seed 0)" in text
    assert "The scores of free are not probabilities, so only the highest score is judged." in text


def test_classes_without_samples_are_never_predicted():
    y_true, scores = softmax_problem(12, 4, 400, strength=0.5)
    kept = y_true != 2
    with pytest.warns(UserWarning, match="No samples"):
        evaluation = polyroc.evaluate(y_true[kept], scores[kept], labels=np.arange(4))
    columns = scores[kept][:, [0, 1, 3]]
    codes = np.searchsorted([0, 1, 3], y_true[kept])
    for (costs, shares), (answer,) in zip(
        asked(12, 3), answers(decisions_of(evaluation), 3, asked(12, 3)), strict=True
    ):
        # Bayes' rule does not know the unit of probabilities; without one column they have another.
        rule = by_rule(judged(codes, columns / columns.sum(axis=1, keepdims=True), costs, shares))
        assert answer["least"] == pytest.approx(rule["bayes"], rel=1e-9)
        assert answer["highest"] == pytest.approx(rule["argmax"], rel=1e-9)
    page = render_html(summarize(evaluation, include_rates=True, include_decisions=True))
    assert "Classes without samples are never predicted here." in Page(page).text


def test_without_the_flag_no_sample_is_on_the_page(tmp_path):
    y_true, scores = softmax_problem(13, 3, 300)
    evaluation = polyroc.evaluate(y_true, scores, sample_weight=np.linspace(1, 2, 300))
    carried = decisions_of(evaluation)
    scored = carried["models"][0]["scores"]
    texts = [carried["true"], carried["weight"], scored["codes"], scored["values"]]
    write_html(evaluation, tmp_path / "with.html", include_decisions=True)
    write_html(evaluation, tmp_path / "without.html")
    asked_for, plain = ((tmp_path / f"{name}.html").read_text(encoding="utf-8") for name in ("with", "without"))
    assert all(f'"{text}"' in asked_for for text in texts)
    assert not any(text in plain for text in texts)
    assert "decisions" not in summarize(evaluation, include_rates=True)
    assert Page(plain).data["decisions"] is None
    for words in (SENTENCE, "Cost of decisions."):
        assert words in Page(asked_for).text
        assert words not in Page(plain).text


@pytest.mark.parametrize(("k", "structure"), [(2, "rank-one"), (3, "centered")])
def test_a_page_without_a_grid_carries_no_samples(k, structure):
    y_true, scores = softmax_problem(14, k, 60)
    evaluation = polyroc.evaluate(y_true, scores, structure=structure)
    summary = summarize(evaluation, include_rates=True, include_decisions=True, include_intervals=False)
    assert summary["decisions"] is None
    page = Page(render_html(summary))
    assert page.data["decisions"] is None
    assert SENTENCE not in page.text


def test_a_page_without_rates_carries_no_samples():
    page = Page(render_html(summarize(polyroc.evaluate(*softmax_problem(15, 3, 90)), include_decisions=True)))
    assert page.data["decisions"] is None
    assert SENTENCE not in page.text


@pytest.mark.parametrize("function", [summarize, write_html])
def test_the_flag_is_true_or_false(function, tmp_path):
    evaluation = polyroc.evaluate(*softmax_problem(16, 3, 90))
    path = [tmp_path / "page.html"] if function is write_html else []
    with pytest.raises(ValueError, match="`include_decisions` must be True or False, got 'yes'"):
        function(evaluation, *path, include_decisions="yes")


def test_scores_that_were_changed_are_refused():
    y_true, scores = softmax_problem(17, 3, 90)
    evaluation = polyroc.evaluate(y_true, scores)
    summarize(evaluation)
    scores[:45] = scores[45:]
    with pytest.raises(RuntimeError, match="changed"):
        summarize(evaluation, include_decisions=True)


def test_steps_hold_every_size_of_probability(monkeypatch):
    monkeypatch.setattr(_packing, "_MOST_VALUES", 10)
    p = np.concatenate([[0.0, 1e-300, 1e-21, 1.0], 10 ** np.linspace(-19.9, 0, 40)]).reshape(-1, 4)
    found = _packing.coded(p)
    assert found.values is None
    assert 0 <= found.codes.min() <= found.codes.max() <= 65_535
    wanted = np.where(p > 0, np.maximum(p, 1e-20), 0)
    np.testing.assert_allclose(found.decoded, wanted, rtol=0.51 * found.step)
    assert found.decoded[0, 0] == 0
    assert found.step < 1e-3


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_five_thousand_samples_take_less_than_5_ms():
    y_true, scores = softmax_problem(18, 10, 5000)
    asks = [{"costs": costs.ravel().tolist(), "shares": shares.tolist()} for costs, shares in asked(18, 10, 30)]
    job = {"decisions": decisions_of(polyroc.evaluate(y_true, scores)), "k": 10, "asks": asks}
    # Processor time, and the least of some: others work on this machine, too.
    assert np.sort(run_script(CLOCK, [job], script=SCRIPT))[5] < 5


@cache
def two_models():
    y_true, scores = softmax_problem(19, 4, 400, strength=1.0)
    other = softmax_problem(20, 4, 400, strength=1.0)[1]
    models = {"sure": scores, HOSTILE[0]: 0.7 * scores + 0.3 * other}
    return y_true, models, polyroc.compare(y_true, models, method="bootstrap", n_resamples=3, rng=0)


# Somebody types costs and a share, letter by letter; what the columns say is read at rest.
TYPE = """async ([typed]) => {
  const section = document.getElementById("explorer");
  const pause = () => new Promise((next) => setTimeout(next, 10));
  const rest = async () => { while (section.dataset.settled !== "true") await pause(); };
  const all = (selector) => document.querySelectorAll(`#explorer-numbers ${selector}`);
  const texts = (selector) => Array.from(all(selector), (cell) => cell.textContent);
  const read = () => ({ heads: texts("thead th"), rows: [0, 1].map((m) => texts(`[data-model="${m}"] td`)) });
  while (!document.documentElement.dataset.ready) await pause();
  await rest();
  const seen = [read()];
  for (const [row, column, text] of typed) {
    document.querySelector(`#explorer-grid [data-r="${row}"][data-c="${column}"]`).focus();
    const field = document.getElementById("explorer-value");
    field.focus();
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    field.dispatchEvent(new Event("change", { bubbles: true }));
    await rest();
    seen.push(read());
  }
  return seen;
}"""


@pytest.mark.usefixtures("browser")
def test_the_page_follows_costs_and_shares(tmp_path):
    y_true, models, comparison = two_models()
    write_html(comparison, tmp_path / "page.html", include_decisions=True)
    typed = [(1, 3, "20"), (4, 2, "0.1"), (2, 5, "5")]
    seen = run_in_chromium(TYPE, [typed], page=tmp_path / "page.html")
    costs, shares = np.ones((4, 4)), np.ones(4)
    for place, one in enumerate(seen):
        if place:
            row, column, text = typed[place - 1]
            if column == 5:
                shares[row - 1] = float(text)
            else:
                costs[row - 1, column - 1] = float(text)
        assert one["heads"][-2:] == ["cost of decisions", "by highest score"]
        for cells, scores in zip(one["rows"], models.values(), strict=True):
            expected = by_rule(judged(y_true, scores, costs, shares))
            found = [float(cell.replace(",", "")) for cell in cells[-2:]]
            assert found == pytest.approx([expected["bayes"], expected["argmax"]], rel=5.1e-4), place
    assert len({tuple(map(tuple, one["rows"])) for one in seen}) == len(seen)
