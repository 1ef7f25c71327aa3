"""How large a page is and how soon it is there: a page is mailed, and opened on whatever machine there is."""

import json
import re

import numpy as np
import pytest
from page_script import run_in_chromium, run_script, script_of
from report_pages import Page, evaluation_of

from polyroc.report import summarize, write_html
from polyroc.report._context import payload


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Pages of one model with intervals, by the number of classes; made when first asked for."""
    folder, made = tmp_path_factory.mktemp("pages"), {}

    def page_of(k):
        if k not in made:
            made[k] = folder / f"{k}.html"
            evaluation = evaluation_of(k)
            write_html(evaluation, made[k], bootstrap=evaluation.bootstrap(9, rng=0))
        return made[k]

    return page_of


# Of 100 classes without the explorer.
@pytest.mark.parametrize(("k", "most"), [(3, 235_000), (10, 268_000), (50, 981_000), (100, 564_000)])
def test_a_page_of_one_model_is_small(pages, k, most):
    assert pages(k).stat().st_size < most


def test_a_page_of_fifty_classes_is_small_whatever_the_scores_are(tmp_path):
    # Of many samples rates are smooth, and no two are the same.
    evaluation = evaluation_of(50, n=10_000)
    write_html(evaluation, tmp_path / "page.html", bootstrap=evaluation.bootstrap(2, rng=0))
    assert (tmp_path / "page.html").stat().st_size < 1_000_000


def test_rates_of_pairs_are_in_a_page_once(pages):
    with_rates, without = Page(pages(10).read_text("utf-8")).data, Page(pages(100).read_text("utf-8")).data
    assert with_rates["models"][0]["curves"] == {"n": 90}
    assert with_rates["explorer"] is not None
    assert set(without["models"][0]["curves"]) == {"call_rate", "n", "limit", "tpr", "fpr"}
    assert without["explorer"] is None


CURVES = """async (jobs) => jobs.map((name) => {
  document.getElementById("pair-curves").value = name;
  document.getElementById("pair-curves").dispatchEvent(new Event("change"));
  return document.querySelector("canvas").getContext("2d").getImageData(0, 0, 400, 400).data.some((value) => value > 0);
})"""


@pytest.mark.usefixtures("browser")
def test_curves_of_pairs_are_drawn_from_the_rates_of_all_pairs(pages):
    assert run_in_chromium(CURVES, ["0", "50", "0"], page=pages(10)) == [False, True, False]


# The same curve, stored by itself and among the rates of all pairs.
BOTH = """(jobs) => jobs.map(({ data, place }) => {
  const model = { ...unpacked(data).models[0], at: 0 };
  return pairCurvesOf(data, model).at(place);
})"""


@pytest.mark.parametrize("thresholds", ["own", "shared"])
def test_curves_of_pairs_are_the_same_from_both_sources(thresholds):
    evaluation = evaluation_of(7, options={"thresholds": thresholds})
    jobs = []
    for include_rates in (False, True):
        data = json.loads(
            json.dumps(payload(summarize(evaluation, include_rates=include_rates, include_intervals=False)))
        )
        jobs += [{"data": data, "place": place} for place in (0, 3, 41)]
    found = run_script(BOTH, jobs, script=script_of("curve.js"))
    areas = np.argsort(evaluation.pairs.auc, kind="stable")
    for stored, explored, place in zip(found[:3], found[3:], (0, 3, 41), strict=True):
        for key in ("call_rate", "tpr", "fpr"):
            values = np.array(list(explored[key]), dtype=float)
            np.testing.assert_allclose(stored[key], values, atol=6e-5)
        np.testing.assert_allclose(explored["tpr"][1:-1], evaluation.rates.tpr[:, areas[place]], atol=6e-5)


def test_the_page_without_a_script_has_some_points_of_each_curve(pages):
    page = pages(10).read_text("utf-8")
    table = re.search(r'<table class="numbers">.*?</table>', page, re.DOTALL)[0]
    assert table.count("<tr>") == 42
    assert "<td>0.0000</td>" in table
    assert "<td>1.0000</td>" in table


# Opened: all points.
NUMBERS = """async (jobs) => {
  const table = document.querySelector("table.numbers");
  table.closest("details").open = true;
  const { rows } = table.tBodies[0], few = rows.length, nap = (resolve) => setTimeout(resolve, 50);
  for (let turn = 0; turn < 2400 && rows.length === few; turn += 1) await new Promise(nap);
  return [rows.length, table.caption.textContent, [...rows[60].cells].map((cell) => cell.textContent)];
}"""


@pytest.mark.usefixtures("browser")
def test_the_script_fills_the_table_of_points_up(pages):
    n, caption, row = run_in_chromium(NUMBERS, [], page=pages(10))
    evaluation = evaluation_of(10)
    assert n == len(evaluation.curve.fpr)
    assert caption == f"{n} points from corner to corner"
    curves = (evaluation.curve, evaluation.mean_curve)
    assert row[1:] == [f"{rates[60]:.4f}" for curve in curves for rates in (curve.fpr, curve.tpr)]


PAINT = """async (jobs) => {
  // On a busy machine the script may be ready before the browser has painted, or has told so. What is not there after
  // some seconds is late, whenever it will come.
  const paints = () => performance.getEntriesByType("paint");
  const ready = () => document.documentElement.dataset.ready;
  const isThere = () => ready() && paints().length > 0;
  while (!isThere() && performance.now() < 20000) await new Promise((resolve) => setTimeout(resolve, 20));
  return [Number(ready() ?? performance.now()), paints()[0]?.startTime ?? performance.now()];
}"""


@pytest.mark.clock
@pytest.mark.parametrize("k", [10, 50, 100])
@pytest.mark.usefixtures("browser")
def test_a_page_is_there_soon(pages, k):
    # The best of some: another program may have had the machine meanwhile.
    times = [run_in_chromium(PAINT, [], page=pages(k)) for _ in range(3)]
    assert min(ready for ready, _ in times) < 1000
    assert min(paint for _, paint in times) < 300


BANDS = """async (jobs) => {
  const seen = () => [...document.querySelectorAll("path.band")].map((band) => band.style.display !== "none");
  const box = document.getElementById("bands"), before = [box.checked, ...seen()];
  box.click();
  return [before, [box.checked, ...seen()]];
}"""


@pytest.mark.usefixtures("browser")
def test_bands_are_there_on_demand(pages):
    before, after = run_in_chromium(BANDS, [], page=pages(10))
    assert before == [False, False, False]
    assert after == [True, True, True]
    # Without a script there is nothing to ask with.
    assert "<polygon points=" in pages(10).read_text("utf-8")


def test_a_page_without_the_explorer_says_why_in_its_place(pages):
    said = "Costs can be changed here for up to 50 classes; these are 100."
    page = pages(100).read_text("utf-8")
    assert f'<p class="soft explorer-none">{said}</p>' in page
    assert page.index("The numbers of the curve") < page.index(said) < page.index('id="words"')
    assert "explorer-none" not in pages(10).read_text("utf-8").split("<body>")[1]


UPRIGHT = """async (jobs) => {
  while (!document.querySelector("#explorer-grid thead th")) await new Promise((resolve) => setTimeout(resolve, 20));
  const names = [...document.querySelectorAll("#explorer-grid thead th[data-c] .name")];
  return names.map((name) => [name.textContent, getComputedStyle(name).writingMode]);
}"""


@pytest.mark.usefixtures("browser")
def test_short_names_are_not_turned(tmp_path):
    names = ["1", "two", "four", "ünü"]
    write_html(evaluation_of(4, names=names), tmp_path / "page.html")
    found = run_in_chromium(UPRIGHT, [], page=tmp_path / "page.html")
    level, turned = "horizontal-tb", "vertical-rl"
    assert dict(found) == {"1": level, "two": level, "four": turned, "ünü": level}
