"""One selection for the whole page, kept in the hash of its address."""

import numpy as np
import pytest
from browser_pages import PHONE, until
from parts import names_of
from report_pages import HOSTILE
from table_pages import cell_at, come_to_heatmap, hash_of, selected, table


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


@pytest.mark.smoke
def test_a_click_on_a_row_selects_the_cell_and_goes_into_the_address(opened, summaries):
    order = summaries["comparison"]["heatmap_classes"]
    with opened("comparison") as page:
        come_to_heatmap(page)
        assert hash_of(page) == ""
        first = table(page, "#pairs")[3][:2]
        page.locator("#pairs tbody tr").nth(3).click()
        pair = [summaries["comparison"]["labels"].index(name) for name in first]
        assert hash_of(page) == f"#model=0&pair={pair[0]},{pair[1]}"
        assert selected(page, "#pairs") == [first]
        assert marked_cell(page) == [order.index(c) for c in pair]
        # A second click takes it back.
        page.locator("#pairs tbody tr").nth(3).click()
        assert (hash_of(page), selected(page, "#pairs"), marked_cell(page)) == ("", [], None)


def test_a_click_on_a_cell_selects_the_row_and_shows_it_in_its_box(opened, summaries):
    summary = summaries["k40"]
    order, areas = summary["heatmap_classes"], np.array(summary["pairs"]["auc"])
    easiest = int(np.argmax(areas))  # last of 1,560 pairs, of which the page shows 200
    names = [summary["pairs"][side][easiest] for side in ("positive", "negative")]
    pair = [summary["labels"].index(name) for name in names]
    with opened("k40") as page:
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


@pytest.mark.smoke
def test_a_link_restores_model_and_pair(opened, summaries):
    with opened("comparison", "#model=2&pair=3,5") as page:
        labels = summaries["comparison"]["labels"]
        assert page.locator("#model").input_value() == "2"
        assert page.locator("#pairs-title").inner_text() == "Pairs of classes: third"
        assert page.locator("#classes-title").inner_text() == "Classes: third"
        assert selected(page, "#pairs") == [[labels[3], labels[5]]]
        assert hash_of(page) == "#model=2&pair=3,5"
        # Another link on the open page.
        page.evaluate("location.hash = '#model=1&class=4'")
        until(page, lambda: page.locator("#model").input_value() == "1")
        assert selected(page, "#pairs") == []
        assert selected(page, "#class-table")[0][0] == labels[4]
        # Back to the first.
        page.go_back()
        until(page, lambda: page.locator("#pairs-title").inner_text() == "Pairs of classes: third")
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
def test_what_is_no_selection_is_ignored(opened, bad):
    with opened("comparison", bad) as page:
        assert page.locator("#model").input_value() == "0"
        assert page.locator("tr.selected").count() == 0
        assert not page.locator("#only-class").is_visible()
        page.locator("#pairs tbody tr").first.click()
        assert hash_of(page).startswith("#model=0&pair=")


def test_anchors_stay_anchors(opened):
    with opened("comparison", "#model=0&pair=1,2") as page:
        page.locator("nav a[href='#classes']").click()
        assert hash_of(page) == "#classes"
        assert len(selected(page, "#pairs")) == 1
        page.keyboard.press("Escape")
        # Nothing is selected now, and the anchor is not the selection's to remove.
        assert (hash_of(page), selected(page, "#pairs")) == ("#classes", [])


def test_a_class_filters_the_pairs_and_a_chip_takes_it_back(opened, summaries):
    labels = summaries["comparison"]["labels"]
    with opened("comparison") as page:
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


def test_escape_clears_but_not_while_somebody_types(opened):
    with opened("comparison", "#model=1&class=2") as page:
        page.locator("#search").focus()
        page.keyboard.press("Escape")
        assert hash_of(page) == "#model=1&class=2"
        page.locator("#pairs-title").click()
        page.locator("#pairs").locator("xpath=..").focus()
        page.keyboard.press("Escape")
        # The model is looked at still.
        assert hash_of(page) == "#model=1"
        assert page.locator("tr.selected").count() == 0


def test_keys_select_rows(opened):
    with opened("comparison") as page:
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


def test_marks_are_not_printed_and_a_filter_is_said(opened, summaries):
    with opened("comparison", "#model=0&class=2", color_scheme="dark") as page:
        row = page.locator("#class-table tr.selected")
        assert row.evaluate("(row) => getComputedStyle(row).boxShadow") != "none"
        assert not page.locator("#only-words").is_visible()
        page.emulate_media(media="print", color_scheme="dark")
        assert row.evaluate("(row) => getComputedStyle(row).boxShadow") == "none"
        assert not page.locator("#only-class").is_visible()
        page.locator("#heatmap .heat-stage svg").wait_for(state="attached", timeout=120_000)
        assert not page.locator("#heatmap .heat-mark").first.is_visible()
        assert (
            page.locator("#only-words").inner_text() == f"Pairs of class {summaries['comparison']['labels'][2]} only."
        )


def test_hostile_names_are_text_in_the_chip_the_tip_and_the_announcement(opened, summaries):
    shown = [name.text for name in names_of(HOSTILE)]
    whole = [name.whole for name in names_of(HOSTILE)]
    order = summaries["hostile"]["heatmap_classes"]
    with opened("hostile") as page:
        come_to_heatmap(page)
        for c in range(len(HOSTILE)):
            page.evaluate(f"location.hash = '#model=0&class={c}'")
            until(page, lambda c=c: page.locator("#only-class bdi").text_content() == shown[c])
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


def test_on_a_phone_names_stay_and_rows_can_be_hit(opened):
    with opened("comparison", **PHONE) as page:
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
