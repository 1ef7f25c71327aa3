"""One selection for the whole page, kept in the hash of its address."""

import numpy as np
import pytest
from report_pages import HOSTILE, comparison_of, evaluation_of
from table_pages import PHONE, cell_at, chromium, come_to_heatmap, hash_of, page_of, selected, table

from polyroc.report import render_html, summarize
from polyroc.report._names import names_of


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def summaries():
    hostile = comparison_of(k=len(HOSTILE), classes=HOSTILE, names=HOSTILE[:3], n_resamples=3)
    return {
        "k6": summarize(comparison_of(n_resamples=9)),
        "k40": summarize(evaluation_of(40)),
        "hostile": summarize(hostile),
    }


@pytest.fixture(scope="module")
def pages(summaries, tmp_path_factory):
    folder = tmp_path_factory.mktemp("selection")
    for name, summary in summaries.items():
        (folder / f"{name}.html").write_text(render_html(summary), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in summaries}


def marked_cell(page):
    """Row and column of the frame around a cell."""
    return page.evaluate(
        """() => {
          const { left, top, cell } = document.querySelector("#heatmap .heat-stage").dataset;
          const frame = document.querySelector("#heatmap .heat-mark:not(.halo)");
          if (frame === null) return null;
          const at = (key, start) => Math.round((Number(frame.getAttribute(key)) + 1 - start) / cell);
          return [at("y", +top), at("x", +left)];
        }"""
    )


def test_a_click_on_a_row_selects_the_cell_and_goes_into_the_address(browser, pages, summaries):
    order = summaries["k6"]["heatmap_classes"]
    with page_of(browser, pages["k6"]) as page:
        come_to_heatmap(page)
        assert hash_of(page) == ""
        first = table(page, "#pairs")[3][:2]
        page.locator("#pairs tbody tr").nth(3).click()
        pair = [summaries["k6"]["labels"].index(name) for name in first]
        assert hash_of(page) == f"#model=0&pair={pair[0]},{pair[1]}"
        assert selected(page, "#pairs") == [first]
        assert marked_cell(page) == [order.index(c) for c in pair]
        # A second click takes it back.
        page.locator("#pairs tbody tr").nth(3).click()
        assert (hash_of(page), selected(page, "#pairs"), marked_cell(page)) == ("", [], None)


def test_a_click_on_a_cell_selects_the_row_and_shows_it_in_its_box(browser, pages, summaries):
    summary = summaries["k40"]
    order, areas = summary["heatmap_classes"], np.array(summary["pairs"]["auc"])
    easiest = int(np.argmax(areas))  # last of 1,560 pairs, of which the page shows 200
    names = [summary["pairs"][side][easiest] for side in ("positive", "negative")]
    pair = [summary["labels"].index(name) for name in names]
    with page_of(browser, pages["k40"]) as page:
        page.mouse.click(*cell_at(page, *(order.index(c) for c in pair)))
        assert hash_of(page) == f"#model=0&pair={pair[0]},{pair[1]}"
        assert selected(page, "#pairs") == [names]
        assert page.locator("#shown").inner_text() == "the worst 200 of 1,560 pairs, and the selected one"
        # One that is shown already, but below: the box scrolls, the page does not.
        worst = int(np.argsort(areas, kind="stable")[150])
        names = [summary["pairs"][side][worst] for side in ("positive", "negative")]
        at = cell_at(page, *(order.index(summary["labels"].index(name)) for name in names))
        before = page.evaluate("scrollY")
        page.mouse.click(*at)
        assert page.evaluate("scrollY") == before
        assert selected(page, "#pairs") == [names]
        row, box = page.locator("#pairs tr.selected").bounding_box(), page.locator("#pairs").locator("xpath=..")
        frame = box.bounding_box()
        assert frame["y"] < row["y"] < frame["y"] + frame["height"] - row["height"]


def test_a_link_restores_model_and_pair(browser, pages, summaries):
    with page_of(browser, pages["k6"], "#model=2&pair=3,5") as page:
        labels = summaries["k6"]["labels"]
        assert page.locator("#model").input_value() == "2"
        assert page.locator("#pairs-title").inner_text() == "Pairs of classes: third"
        assert page.locator("#classes-title").inner_text() == "Classes: third"
        assert selected(page, "#pairs") == [[labels[3], labels[5]]]
        assert hash_of(page) == "#model=2&pair=3,5"
        # Another link on the open page.
        page.evaluate("location.hash = '#model=1&class=4'")
        page.wait_for_timeout(100)
        assert page.locator("#model").input_value() == "1"
        assert selected(page, "#pairs") == []
        assert selected(page, "#class-table")[0][0] == labels[4]
        # Back to the first.
        page.go_back()
        page.wait_for_timeout(100)
        assert page.locator("#pairs-title").inner_text() == "Pairs of classes: third"
        assert selected(page, "#pairs") == [[labels[3], labels[5]]]


@pytest.mark.parametrize(
    "bad",
    [
        "#model=3",
        "#model=0&pair=3,3",
        "#model=0&pair=3",
        "#model=0&pair=3,6",
        "#model=-1&class=0",
        "#model=0&class=1.5",
        "#model=0&class=1&pair=1,2",
        "#model=0&class=1&class=2",
        "#__proto__=1",
        "#model=0&pair=<script>",
        "#%",
        "#pair",
        "#nowhere",
    ],
)
def test_what_is_no_selection_is_ignored(browser, pages, bad):
    with page_of(browser, pages["k6"], bad) as page:
        assert page.locator("#model").input_value() == "0"
        assert page.locator("tr.selected").count() == 0
        assert not page.locator("#only-class").is_visible()
        page.locator("#pairs tbody tr").first.click()
        assert hash_of(page).startswith("#model=0&pair=")


def test_anchors_stay_anchors(browser, pages):
    with page_of(browser, pages["k6"], "#model=0&pair=1,2") as page:
        page.locator("nav a[href='#classes']").click()
        assert hash_of(page) == "#classes"
        assert len(selected(page, "#pairs")) == 1
        page.keyboard.press("Escape")
        # Nothing is selected now, and the anchor is not the selection's to remove.
        assert (hash_of(page), selected(page, "#pairs")) == ("#classes", [])


def test_a_class_filters_the_pairs_and_a_chip_takes_it_back(browser, pages, summaries):
    labels = summaries["k6"]["labels"]
    with page_of(browser, pages["k6"]) as page:
        come_to_heatmap(page)
        page.locator("#class-table tbody tr").nth(2).click()
        assert hash_of(page) == "#model=0&class=2"
        assert selected(page, "#class-table")[0][0] == labels[2]
        rows = table(page, "#pairs")
        assert len(rows) == 2 * 5
        assert all(labels[2] in row[:2] for row in rows)
        chip = page.locator("#only-class")
        assert chip.inner_text().split() == ["class", *labels[2].split(), "only", "\N{MULTIPLICATION SIGN}"]
        assert page.locator("#shown").inner_text() == "10 pairs"
        # A row and a column of the heatmap.
        assert page.locator("#heatmap .heat-mark:not(.halo)").count() == 2
        # The class stays while another model is looked at.
        page.locator("#model").select_option("1")
        assert hash_of(page) == "#model=1&class=2"
        assert len(table(page, "#pairs")) == 10
        chip.click()
        assert hash_of(page) == "#model=1"
        assert len(table(page, "#pairs")) == 30
        assert not chip.is_visible()
        # A pair takes the place of a class.
        page.locator("#class-table tbody tr").nth(2).click()
        page.locator("#pairs tbody tr").first.click()
        assert selected(page, "#class-table") == []
        assert len(table(page, "#pairs")) == 30
        assert len(selected(page, "#pairs")) == 1


def test_escape_clears_but_not_while_somebody_types(browser, pages):
    with page_of(browser, pages["k6"], "#model=1&class=2") as page:
        page.locator("#search").focus()
        page.keyboard.press("Escape")
        assert hash_of(page) == "#model=1&class=2"
        page.locator("#pairs-title").click()
        page.locator("#pairs").locator("xpath=..").focus()
        page.keyboard.press("Escape")
        # The model is looked at still.
        assert hash_of(page) == "#model=1"
        assert page.locator("tr.selected").count() == 0


def test_keys_select_rows(browser, pages):
    with page_of(browser, pages["k6"]) as page:
        for selector in ("#pairs", "#class-table"):
            stops = page.locator(f"{selector} tbody tr[tabindex='0']")
            assert stops.count() == 1
            stops.focus()
            page.keyboard.press("ArrowDown")
            page.keyboard.press("ArrowDown")
            page.keyboard.press("Enter")
            focused = page.evaluate("[...document.activeElement.parentElement.rows].indexOf(document.activeElement)")
            marked = page.locator(f"{selector} tbody tr").evaluate_all("(rows) => rows.map((r) => r.ariaSelected)")
            assert (marked.index("true"), marked.count("true")) == (2, 1)
            assert focused == 2
            page.keyboard.press("Escape")
            assert page.locator("tr.selected").count() == 0
            assert stops.count() == 1


def test_marks_are_not_printed_and_a_filter_is_said(browser, pages, summaries):
    with page_of(browser, pages["k6"], "#model=0&class=2", color_scheme="dark") as page:
        row = page.locator("#class-table tr.selected")
        assert row.evaluate("(row) => getComputedStyle(row).boxShadow") != "none"
        assert not page.locator("#only-words").is_visible()
        page.emulate_media(media="print", color_scheme="dark")
        assert row.evaluate("(row) => getComputedStyle(row).boxShadow") == "none"
        assert not page.locator("#only-class").is_visible()
        page.locator("#heatmap .heat-stage svg").wait_for(state="attached", timeout=5_000)
        assert not page.locator("#heatmap .heat-mark").first.is_visible()
        assert page.locator("#only-words").inner_text() == f"Pairs of class {summaries['k6']['labels'][2]} only."


def test_hostile_names_are_text_in_the_chip_the_tip_and_the_announcement(browser, pages, summaries):
    shown = [name.text for name in names_of(HOSTILE)]
    whole = [name.whole for name in names_of(HOSTILE)]
    order = summaries["hostile"]["heatmap_classes"]
    with page_of(browser, pages["hostile"]) as page:
        come_to_heatmap(page)
        for c in range(len(HOSTILE)):
            page.evaluate(f"location.hash = '#model=0&class={c}'")
            page.wait_for_timeout(30)
            assert page.locator("#only-class bdi").text_content() == shown[c]
            assert whole[c] in page.locator("#only-class").get_attribute("aria-label")
            row, column = order.index(c), (order.index(c) + 1) % len(order)
            page.mouse.move(*cell_at(page, row, column))
            names = page.locator(".heat-tip bdi").all_text_contents()
            assert names == [shown[c], shown[order[column]]]
        page.locator(".heat-stage").focus()
        page.keyboard.press("ArrowRight")
        assert " against " in page.locator("#heatmap-cell").text_content()
        assert page.evaluate("window.hacked") is None
        assert page.locator("main img, main script, main bdi *, #heatmap a, .chip a").count() == 0


def test_on_a_phone_names_stay_and_rows_can_be_hit(browser, pages):
    with page_of(browser, pages["k6"], **PHONE) as page:
        for selector, first in (("#pairs", "td"), ("#class-table", "th")):
            row = page.locator(f"{selector} tbody tr").nth(1)
            assert row.bounding_box()["height"] >= 44
            box = page.locator(selector).locator("xpath=..")
            box.evaluate("(box) => { box.scrollLeft = 200; }")
            inside, name = box.bounding_box(), row.locator(first).first.bounding_box()
            assert abs(name["x"] - inside["x"]) <= 2
        page.locator("#pairs tbody tr").nth(1).tap()
        assert hash_of(page).startswith("#model=0&pair=")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
