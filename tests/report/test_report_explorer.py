"""The cost explorer as people meet it: costs dragged, typed and moved by keys, in a real Chromium.

Numbers are reached by another road: by `polyroc.compare` and the command line, with the costs that the page shows or
copies.
Skipped where playwright or Chromium is missing; with POLYROC_BROWSER=1 that is a failure.
"""

import csv
import io
import json
import re
from contextlib import contextmanager, redirect_stdout

import numpy as np
import pyarrow as pa
import pytest
from browser_pages import PHONE, until
from page_script import run_script, script_of
from pyarrow import parquet
from report_pages import HOSTILE, Page, comparison_of, distance_to_line, evaluation_of, problem
from report_shelf import GIVEN_COSTS, LONG_CLASSES, two_models

from polyroc.cli import main
from polyroc.report import _page, render_html, summarize, write_html
from polyroc.report._figures import opening_view

TIMES = "\u00d7"


@pytest.fixture
def explored(opened, pages, tmp_path):
    """A function that opens a page at its grid."""

    @contextmanager
    def open_page(name, *, change=None, **options):
        if change:
            (tmp_path / "changed.html").write_text(change(pages[name]), encoding="utf-8")
            name = tmp_path / "changed.html"
        with opened(name, **{"viewport": {"width": 1280, "height": 1000}, **options}) as page:
            if options.get("java_script_enabled", True):
                page.locator("#explorer").scroll_into_view_if_needed()
            yield page

    return open_page


def cell(page, row, column):
    """By place in the grid: 0 are the names, classes count from 1, the shares follow."""
    return page.locator(f"#explorer-grid [data-r='{row}'][data-c='{column}']")


def at_rest(page):
    page.locator("#explorer[data-settled='true']").wait_for(state="attached", timeout=120_000)


def says(page):
    at_rest(page)
    return page.locator("#explorer-says").inner_text()


def drag(page, row, column, *, right=0, up=0):
    box = cell(page, row, column).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + right, y - up, steps=8)
    page.mouse.up()
    at_rest(page)


def typed(page, row, column, text):
    cell(page, row, column).focus()
    page.keyboard.type(text)
    page.keyboard.press("Enter")
    at_rest(page)


def costs_shown(page, k):
    return np.array(
        [
            [1.0 if a == b else float(cell(page, a + 1, b + 1).inner_text().replace(",", "")) for b in range(k)]
            for a in range(k)
        ]
    )


def shown(page, model, key="auc"):
    return float(page.locator(f"#explorer-numbers [data-model='{model}'] .now-{key}").inner_text())


def copied(page):
    """The text of the file, whether the clipboard took it or not."""
    page.locator("#explorer-copy").click()
    page.locator("#explorer-copied:not(:empty)").wait_for()
    return page.locator("#explorer-file").input_value()


def with_costs(k, costs, **arguments):
    """The same two models, judged anew with other costs."""
    return two_models(k, options={"costs": costs}, **arguments)


def test_it_opens_with_what_was_judged(explored, results):
    with explored("two") as page:
        for place, one in enumerate(results["two"].evaluations.values()):
            assert shown(page, place) == pytest.approx(one.auc, abs=5.1e-5)
            assert shown(page, place, "mean_auc") == pytest.approx(one.mean_auc, abs=5.1e-5)
        assert says(page).startswith("first is first by D (")
        assert says(page).endswith(" and by the mean area, when all mistakes count the same.")
        assert np.all(costs_shown(page, 6) == 1)
        assert page.locator("#explorer-grid td.none").count() == 6


@pytest.mark.smoke
def test_a_drag_changes_cost_numbers_and_sentence(explored):
    with explored("two") as page:
        before = shown(page, 0)
        drag(page, 1, 2, right=100, up=100)
        assert costs_shown(page, 6)[0, 1] == 100
        assert np.sum(costs_shown(page, 6) != 1) == 1
        assert says(page).endswith("; predicting class 00 as class 01 counts 100 times.")
        costs = np.ones((6, 6))
        costs[0, 1] = 100
        judged = with_costs(6, costs).evaluations
        for place, one in enumerate(judged.values()):
            assert shown(page, place) == pytest.approx(one.auc, abs=5.2e-5)
            assert shown(page, place, "mean_auc") == pytest.approx(one.mean_auc, abs=5.2e-5)
        assert shown(page, 0) != before
        drag(page, 1, 2, up=-300)
        assert costs_shown(page, 6)[0, 1] == 0.1


def test_shift_drags_finely(explored):
    with explored("two") as page:
        page.keyboard.down("Shift")
        drag(page, 2, 1, right=100)
        page.keyboard.up("Shift")
        assert costs_shown(page, 6)[1, 0] == 1.26


def test_a_number_is_typed(explored):
    with explored("two") as page:
        for text, cost in (("20", 20), ("1/50", 0.02), ("0,5", 0.5), ("1,000", 1000), ("5e6", 1000), ("3.25", 3.25)):
            typed(page, 3, 5, text)
            assert costs_shown(page, 6)[2, 4] == cost, text
            assert page.evaluate("document.activeElement.dataset.r + document.activeElement.dataset.c") == "35"
        cell(page, 3, 5).focus()
        page.keyboard.type("0")
        page.keyboard.press("Enter")
        assert "Type a number between 0.001 and 1,000" in page.locator("#explorer-note").inner_text()
        assert page.locator("#explorer-value").get_attribute("aria-invalid") == "true"
        page.keyboard.press("Escape")
        assert costs_shown(page, 6)[2, 4] == 3.25


def test_keys_move_and_change(explored):
    focused = "[document.activeElement.dataset.r, document.activeElement.dataset.c].join()"
    with explored("two") as page:
        cell(page, 1, 2).focus()
        for key, place in (("ArrowRight", "1,3"), ("ArrowDown", "2,3"), ("Home", "2,0"), ("End", "2,7")):
            page.keyboard.press(key)
            assert page.evaluate(focused) == place
        for key, place in (("ArrowUp", "1,7"), ("ArrowUp", "1,7"), ("ArrowLeft", "1,6"), ("ArrowUp", "0,6")):
            page.keyboard.press(key)
            assert page.evaluate(focused) == place
        cell(page, 4, 2).focus()
        for key, cost in (("+", 2), ("PageUp", 5), ("Shift+ArrowUp", 10), ("-", 5), ("PageDown", 2), ("Delete", 1)):
            page.keyboard.press(key)
            assert costs_shown(page, 6)[3, 1] == cost, key
        # One place of the grid is reached by Tab, the next press leaves it.
        assert page.locator("#explorer-grid [tabindex='0']").count() == 1
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('#explorer-grid')") is None


def test_the_name_of_a_class_moves_its_row_or_column(explored):
    with explored("two") as page:
        typed(page, 2, 0, "10")
        costs = np.ones((6, 6))
        costs[1] = 10
        np.fill_diagonal(costs, 1)
        np.testing.assert_array_equal(costs_shown(page, 6), costs)
        assert says(page).endswith("; every mistake on class 01 counts 10 times.")
        drag(page, 0, 4, up=100)
        costs[[0, 2, 4, 5], 3] = 10
        costs[1, 3] = 100
        np.testing.assert_array_equal(costs_shown(page, 6), costs)
        cell(page, 2, 0).focus()
        page.keyboard.press("Delete")
        costs[1, [0, 2, 3, 4, 5]] = 1
        np.testing.assert_array_equal(costs_shown(page, 6), costs)


def drawn(page, selector):
    return [path.get_attribute("d") for path in page.locator(selector).all()]


def test_the_large_picture_says_what_it_shows(explored):
    with explored("two") as page:
        key, live = page.locator(".key .areas"), page.locator("#curve-live")
        judged, lines = key.all_inner_texts(), drawn(page, "#curve path.line")
        assert all(re.fullmatch(r"D\s0\.\d{4} M\s0\.\d{4}", one) for one in judged)
        assert not live.is_visible()
        typed(page, 1, 2, "100")
        assert live.is_visible()
        # At other costs the mean area is not M.
        assert key.all_inner_texts() == [
            f"D\u00a0{shown(page, place):.4f} mean\u00a0{shown(page, place, 'mean_auc'):.4f}" for place in (0, 1)
        ]
        assert drawn(page, "#curve path.line") != lines
        # On paper words and lines are those of the costs as judged.
        before = page.locator("#curve path.line").first.get_attribute("d")
        page.emulate_media(media="print")
        on_paper = drawn(page, "#curve path.line")
        page.locator("#explorer-reset").evaluate("(button) => button.click()")
        at_rest(page)
        assert drawn(page, "#curve path.line") == on_paper
        page.locator("#explorer-undo").evaluate("(button) => button.click()")
        at_rest(page)
        assert drawn(page, "#curve path.line") == on_paper
        page.emulate_media(media="screen")
        # Drawn again when the page has been told that it is on a screen, and how wide it is there.
        page.wait_for_function(
            "(d) => document.querySelector('#curve path.line').getAttribute('d') === d", arg=before, timeout=120_000
        )
        page.locator("#explorer-reset").click()
        assert (key.all_inner_texts(), drawn(page, "#curve path.line")) == (judged, lines)
        assert not live.is_visible()


@pytest.mark.parametrize("name", ["crossing", "two"])
def test_the_small_picture_has_the_view_of_the_large(explored, summaries, name):
    view = opening_view(summaries[name])
    assert view.is_corner == (name == "crossing")
    with explored(name) as page:
        lines = drawn(page, "#explorer-curves .curve.now")
    for line, model in zip(lines, summaries[name]["evaluations"].values(), strict=True):
        found = np.array([place.split() for place in re.split("[ML]", line)[1:]], dtype=float) / 200
        wanted = np.column_stack(view.places(np.array(model["curve"]["fpr"]), np.array(model["curve"]["tpr"])))
        wanted = wanted[[True, *np.any(np.diff(wanted, axis=0) != 0, axis=1)]]
        found[:, 1] = 1 - found[:, 1]
        assert max(distance_to_line(found, place) for place in wanted) < 0.005
        assert max(distance_to_line(wanted, place) for place in found) < 0.005


# A cell is dragged by a pixel in every frame; the answers of the worker are awaited.
DRAG = """async (frames) => {
  const cell = document.querySelector("#explorer-grid [data-r='9'][data-c='6']");
  cell.scrollIntoView({ block: "center" });
  const { x, y } = cell.getBoundingClientRect(), frame = () => new Promise((next) => requestAnimationFrame(next));
  const always = { bubbles: true, pointerId: 1, pointerType: "mouse", button: 0, buttons: 1, clientY: y + 5 };
  const send = (type, by) => cell.dispatchEvent(new PointerEvent(type, { ...always, clientX: x + 5 + by }));
  let answers = 0;
  const numbers = document.getElementById("explorer-numbers");
  new MutationObserver(() => { answers += 1; }).observe(numbers, { subtree: true, childList: true });
  send("pointerdown", 0);
  for (let by = 1; by <= frames; by += 1) {
    send("pointermove", by);
    await frame();
  }
  send("pointerup", frames);
  return answers;
}"""


@pytest.mark.clock
def test_frames_of_a_drag_take_less_than_16_ms_of_the_page(opened, tmp_path):
    """Everything that the thread of the page does: events, sentence, table, both pictures, style, layout, painting."""
    write_html(comparison_of(k=10, n=1000, n_resamples=3), tmp_path / "page.html")
    with opened(tmp_path / "page.html", viewport={"width": 1280, "height": 1000}) as page:
        session = page.context.new_cdp_session(page)
        # Of the processor, because others may use it, too.
        session.send("Performance.enable", {"timeDomain": "threadTicks"})

        def spent():
            metrics = session.send("Performance.getMetrics")["metrics"]
            return next(1000 * one["value"] for one in metrics if one["name"] == "TaskDuration")

        page.evaluate(DRAG, 20)
        at_rest(page)
        before = spent()
        assert page.evaluate(DRAG, 120) > 60
        assert (spent() - before) / 120 < 16


def test_several_changes_are_counted(explored):
    with explored("two") as page:
        for column, text in ((2, "100"), (3, "50"), (4, "20"), (5, "5")):
            typed(page, 1, column, text)
        assert says(page).endswith(
            "; predicting class 00 as class 01 counts 100 times, "
            "predicting class 00 as class 02 counts 50 times, and 2 more."
        )


def test_the_share_of_a_class_is_dragged_and_folded_in(explored):
    with explored("two") as page:
        drag(page, 5, 7, right=100)
        assert cell(page, 5, 7).inner_text() == f"{TIMES}10"
        assert "How common class 04 is where the model is used" in page.locator("#explorer-what").inner_text()
        assert says(page).endswith("; class 04 is 10 times as common.")
        shares = np.array([1, 1, 1, 1, 10, 1])
        table = list(csv.reader(io.StringIO(copied(page))))
        found = np.array([row[1:] for row in table[1:]], dtype=float)
        np.testing.assert_array_equal(found, np.outer(shares, shares) * (1 - np.eye(6)))
        for place, one in enumerate(with_costs(6, np.outer(shares, shares)).evaluations.values()):
            assert shown(page, place) == pytest.approx(one.auc, abs=5.2e-5)


def test_reset_and_undo_go_back(explored):
    with explored("given") as page:
        opening, sentence = costs_shown(page, 6), says(page)
        np.testing.assert_array_equal(opening, np.where(np.eye(6, dtype=bool), 1, GIVEN_COSTS))
        assert sentence.endswith(", at the costs as given.")
        numbers = [shown(page, place) for place in (0, 1)]
        typed(page, 2, 3, "3")
        assert says(page).endswith("; predicting class 01 as class 02 costs 3 instead of 30.")
        typed(page, 1, 2, "7")
        cell(page, 1, 2).focus()
        page.keyboard.press("Control+z")
        assert costs_shown(page, 6)[0, 1] == 2
        assert costs_shown(page, 6)[1, 2] == 3
        page.locator("#explorer-reset").click()
        np.testing.assert_array_equal(costs_shown(page, 6), opening)
        assert says(page) == sentence
        assert [shown(page, place) for place in (0, 1)] == numbers
        page.locator("#explorer-undo").click()
        assert costs_shown(page, 6)[1, 2] == 3


@pytest.mark.parametrize("name", ["two", "given", "awkward"])
def test_what_is_copied_gives_the_d_that_was_shown(explored, results, tmp_path, name):
    labels = [str(label) for label in next(iter(results[name].evaluations.values())).labels]
    with explored(name) as page:
        drag(page, 1, 2, right=100, up=30)
        typed(page, 4, 0, "3")
        typed(page, 2, 7, "0.25")
        (tmp_path / "costs.csv").write_text(copied(page), encoding="utf-8", newline="")
        values = [(shown(page, place), shown(page, place, "mean_auc")) for place in (0, 1)]
    y_true, _, scores = problem(6, n=300, names=labels)
    noise = np.random.default_rng(1).normal(size=scores.shape)
    for place, model in enumerate(("first", "second")):
        columns = dict(zip(labels, (scores + 1.2 * place * noise).T, strict=True))
        # The column of labels has a name that no class has.
        parquet.write_table(pa.table({"the label": list(y_true)} | columns), tmp_path / f"{model}.parquet")
    files = [str(tmp_path / f"{model}.parquet") for model in ("first", "second")]
    options = [
        "--target",
        "the label",
        "--costs",
        str(tmp_path / "costs.csv"),
        "--method",
        "bootstrap",
        "--resamples",
        "3",
        "--json",
    ]
    with redirect_stdout(io.StringIO()) as printed:
        assert main(["compare", *files, *options]) == 0
    judged = json.loads(printed.getvalue())["evaluations"]
    for (d, mean), model in zip(values, ("first", "second"), strict=True):
        assert d == pytest.approx(judged[model]["auc"], abs=5.2e-5)
        assert mean == pytest.approx(judged[model]["mean_auc"], abs=5.2e-5)


def test_classes_without_samples_are_in_the_file_but_not_in_the_grid(explored, tmp_path):
    from polyroc.cli._columns import read_costs

    labels = [f"class {c:02d}" for c in range(7)]
    with explored("missing") as page:
        names = page.locator("#explorer-grid tbody th").all_inner_texts()
        assert names == [label for label in labels if label != "class 03"]
        assert "Classes without samples are not in the grid." in page.locator("#explorer-help").inner_text()
        typed(page, 4, 1, "40")
        (tmp_path / "costs.csv").write_text(copied(page), encoding="utf-8")
    costs = 1 - np.eye(7)
    costs[4, 0] = 40
    np.testing.assert_array_equal(read_costs(str(tmp_path / "costs.csv"), labels), costs)


def test_refused_clipboards_leave_the_text_selected(explored):
    with explored("k3") as page:
        page.evaluate(
            "Object.defineProperty(navigator, 'clipboard', { value: { writeText: () => Promise.reject(Error()) } })"
        )
        text = copied(page)
        assert page.locator("#explorer-file").is_visible()
        assert page.evaluate("document.activeElement.id") == "explorer-file"
        assert page.evaluate("getSelection().toString()") == text
        assert text.splitlines()[0] == "true class,class 00,class 01,class 02"


def test_an_entry_of_the_tipping_list_is_shown_in_the_grid(explored):
    entry = (
        '<p data-true="2" data-predicted="4" data-factor="20">'
        '<button type="button" class="control" hidden>Show in the grid</button></p>'
    )

    def with_entry(text):
        start = text.index('<p id="explorer-says"')
        return text[:start] + entry + text[start:]

    with explored("given", change=with_entry) as page:
        typed(page, 1, 2, "9")
        page.get_by_role("button", name="Show in the grid").click()
        costs = np.where(np.eye(6, dtype=bool), 1, GIVEN_COSTS)
        costs[2, 4] *= 20
        np.testing.assert_array_equal(costs_shown(page, 6), costs)
        assert says(page).endswith("; predicting class 02 as class 04 costs 40 instead of 2.")
        assert page.evaluate("document.activeElement.dataset.r + document.activeElement.dataset.c") == "35"


def test_one_model_has_no_place_and_nobody_is_first(explored):
    with explored("k3") as page:
        typed(page, 1, 2, "20")
        assert re.fullmatch(
            r"D is 0\.\d{3}, as judged 0\.\d{3}; the mean area is 0\.\d{3}, as judged 0\.\d{3}; "
            r"predicting class 00 as class 01 counts 20 times\.",
            says(page),
        )
        assert page.locator("#explorer-numbers .place").count() == 0


SAY = """(jobs) => jobs.map(({ now, before, moved }) => {
  const costs = explorerCosts({ classes: [0, 1, 2], costs: [[1, 1, 1], [1, 1, 1], [1, 1, 1]] });
  for (const [target, value] of moved) costs.set(target, value);
  const model = ([auc, mean_auc]) => ({ auc, mean_auc });
  const names = (text) => [...text].map((letter) => ({ text: letter }));
  const said = { models: now.map(model), before: before.map(model), costs, given: false };
  const pieces = explorerSentence({ ...said, names: names("xyz"), labels: names("abc") });
  return pieces.map((piece) => piece.text ?? piece).join("");
})"""


def test_the_sentence_claims_no_more_than_the_numbers():
    before, cell, row = [[0.9, 0.9], [0.8, 0.8]], [{"a": 0, "b": 1}, 100], [{"a": 1}, 10]
    jobs = [
        {"now": [[0.91, 0.8], [0.9, 0.85]], "before": before, "moved": [cell]},
        {"now": [[0.91, 0.8], [0.99996, 0.85]], "before": before, "moved": [row]},
        {"now": [[0.9, 0.9], [0.8999996, 0.8]], "before": before, "moved": [cell, row, [{"share": 2}, 0.5]]},
        {"now": [[0.9, 0.9], [0.89996, 0.8]], "before": before, "moved": [[{"b": 0}, 0.2]]},
    ]
    script = script_of("explorer_words.js")
    assert run_script(SAY, jobs, script=script) == [
        "x is first by D (0.910, 0.010 ahead of y), but y is first by the mean area (0.850, 0.050 ahead of x); "
        "predicting a as b counts 100 times. As judged, x is first by the mean area.",
        "y is first by D (0.99996, 0.090 ahead of x) and by the mean area; every mistake on b counts 10 times. "
        "As judged, x is first by both.",
        "x and y are level by D (0.900), but x is first by the mean area (0.900, 0.100 ahead of y); "
        "predicting a as b counts 100 times, every mistake on b counts 10 times, "
        "and 1 more. As judged, x is first by D.",
        "x is first by D (0.900, 0.00004 ahead of y) and by the mean area; every sample wrongly predicted as a counts "
        "0.2 times.",
    ]


def test_a_finger_selects_and_the_slider_changes(explored):
    with explored("two", **PHONE) as page:
        cell(page, 2, 4).tap()
        assert page.locator("#explorer-what").inner_text() == "Cost of predicting class 01 as class 03"
        assert np.all(costs_shown(page, 6) == 1)
        page.locator("#explorer-slide").evaluate(
            """(slide) => {
              slide.value = "1.3";
              for (const type of ["input", "change"]) slide.dispatchEvent(new Event(type));
            }"""
        )
        at_rest(page)
        assert costs_shown(page, 6)[1, 3] == 20
        assert says(page).endswith("; predicting class 01 as class 03 counts 20 times.")
        for button in ("less", "more", "undo", "reset", "copy", "value"):
            assert page.locator(f"#explorer-{button}").bounding_box()["height"] >= 44
        box = cell(page, 2, 4).bounding_box()
        assert min(box["width"], box["height"]) >= 44


def test_a_phone_shows_d_without_scrolling(explored):
    with explored("comparison", **PHONE) as page:
        page.locator("#explorer-numbers .place").first.evaluate(
            "(cell) => { cell.textContent = '2 (by the mean area 3)'; }"
        )
        box = page.locator("#explorer-numbers .now-auc").first.bounding_box()
        assert box["x"] + box["width"] <= 390 - 16
        name = page.locator("#explorer-numbers tbody .name").first
        assert name.bounding_box()["height"] < 30


@pytest.mark.parametrize("name", ["k3", "two", "k50", "long classes", "hostile"])
def test_a_phone_does_not_scroll_sideways(explored, name):
    with explored(name, **PHONE) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_fifty_classes_have_a_grid(explored):
    with explored("k50") as page:
        assert page.locator("#explorer-grid tbody td:not(.none):not(.share)").count() == 50 * 49
        drag(page, 7, 30, right=100)
        assert page.locator("#explorer-value").input_value() == "10"
        assert page.locator("#explorer-what").inner_text() == "Cost of predicting class 06 as class 29"
        assert says(page).endswith("; predicting class 06 as class 29 counts 10 times.")
        assert cell(page, 7, 30).get_attribute("aria-label") == "predicting class 06 as class 29: 10"
        side, grid = (page.locator(f".explorer-{part}").bounding_box() for part in ("side", "grid"))
        assert side["width"] > 0
        assert grid["width"] <= 1056


def test_long_names_are_cut_in_the_grid_and_whole_in_the_sentence(explored):
    with explored("long classes") as page:
        names = page.locator("#explorer-grid tbody th").all_inner_texts()
        assert len(set(names)) == 12
        assert max(map(len, names)) <= 14
        typed(page, 1, 3, "4")
        assert says(page).endswith(f"; predicting {LONG_CLASSES[0]} as {LONG_CLASSES[2]} counts 4 times.")


def test_hostile_names_are_inert(explored, tmp_path):
    from polyroc.cli._columns import read_costs

    with explored("hostile") as page:
        for row in range(1, len(HOSTILE) + 1):
            typed(page, row, 1 + row % len(HOSTILE), "3")
            cell(page, row, 0).click()
        assert says(page).startswith(f"{HOSTILE[0]} is first by D (")
        assert page.locator("#explorer bdi *, #explorer a, #explorer img, #explorer script").count() == 0
        (tmp_path / "costs.csv").write_text(copied(page), encoding="utf-8", newline="")
        assert page.evaluate("window.hacked") is None
    found = read_costs(str(tmp_path / "costs.csv"), HOSTILE)
    np.testing.assert_array_equal(found, 1 - np.eye(12) + 2 * np.roll(np.eye(12), 1, axis=1))


def test_a_screen_reader_is_told_at_rest(explored):
    with explored("two") as page:
        typed(page, 1, 2, "50")
        live = page.locator("#explorer-live")
        assert live.get_attribute("aria-live") == "polite"
        until(page, lambda: live.text_content() == says(page))


def test_another_part_of_the_page_can_add_a_column(explored, summaries, monkeypatch):
    added = "explorer.addColumn('of costs', (model, costs, shares) => `${model}: ${costs[1]}, ${shares[2]}`);"
    # The scripts of a page are put together once in a process.
    fit, script = _page._scripts()
    end = "\n});"
    assert script.endswith(end)
    monkeypatch.setattr(_page, "_scripts", lambda: (fit, f"{script.removesuffix(end)}\n{added}{end}"))
    with explored("two", change=lambda _: render_html(summaries["two"])) as page:
        typed(page, 1, 2, "50")
        typed(page, 3, 7, "4")
        assert page.locator("#explorer-numbers thead th").last.inner_text() == "of costs"
        cells = page.locator("#explorer-numbers tbody tr td:last-child").all_inner_texts()
        assert sorted(cells) == ["0: 50, 4", "1: 50, 4"]


def test_without_javascript_a_sentence_says_so(explored):
    with explored("two", java_script_enabled=False) as page:
        assert page.get_by_text("The grid in which costs are tried needs JavaScript.").is_visible()
        assert not page.locator("#explorer-grid").is_visible()


@pytest.mark.parametrize("k", [2, 51])
def test_two_classes_and_very_many_have_no_grid(k):
    page = Page(render_html(summarize(evaluation_of(k), include_rates=True, include_intervals=False)))
    assert page.data["explorer"] is None
    assert "explorer" not in {attributes.get("id") for attributes in page.named("section")}
