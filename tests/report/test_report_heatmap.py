"""The heatmap of the report: its colours, numbers, order and tree."""

import math
import re
from itertools import permutations

import numpy as np
import pytest
from browser_pages import until
from numpy.testing import assert_allclose
from parts import short_names
from report_pages import Page, from_letters
from table_pages import cell_at, come_to_heatmap, hash_of

from polyroc.report import render_html

# The ends of the scales, light and dark: areas from 0.9999 and up to 0.5.
ENDS = {"light": ("#e8f0f8", "#08306b"), "dark": ("#1b2530", "#e0f0fd")}
BACKGROUND = {"light": (255, 255, 255), "dark": (20, 23, 28)}


def channels(colour):
    if colour.startswith("#"):
        return tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return tuple(int(number) for number in re.findall(r"\d+", colour)[:3])


def luminance(colour):
    linear = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def drawn_cells(page):
    """By row and column: the colour of a cell, its number and the colour of the number."""
    come_to_heatmap(page)
    found = page.evaluate(
        """() => {
          const { left, top, cell } = document.querySelector(".heat-stage").dataset;
          return [...document.querySelectorAll(".heat-cells rect")].map((rect) => {
            const at = (key, start) => Math.round((Number(rect.getAttribute(key)) - start) / cell);
            const text = rect.nextElementSibling?.matches("text") ? rect.nextElementSibling : null;
            const fill = rect.getAttribute("fill");
            return [at("y", +top), at("x", +left), fill, text?.textContent, text?.getAttribute("fill")];
          });
        }"""
    )
    return {(row, column): tuple(rest) for row, column, *rest in found}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_of_known_areas_have_fixed_ends(opened, scheme):
    with opened("known", color_scheme=scheme) as page:
        cells = list(drawn_cells(page).values())
    easy, hard = (channels(end) for end in ENDS[scheme])
    colours = [channels(cell[0]) for cell in cells]
    # 0.3, 0.5 and 0 at the hard end; 0.9999, 0.99996, 1 and 1 - 1e-9 at the easy one.
    assert {colours[at] for at in (0, 1, 9)} == {hard}
    assert {colours[at] for at in (5, 6, 8, 10)} == {easy}
    # From 0.5 to 0.9999 every step goes towards the background.
    steps = [contrast(colours[at], BACKGROUND[scheme]) for at in (1, 2, 3, 4, 5)]
    assert steps == sorted(steps, reverse=True)
    assert steps[0] > 9
    assert steps[-1] < 1.3
    for _, text, ink in cells:
        assert text
        assert ink in ("#000000", "#ffffff")
    for colour, (_, _, ink) in zip(colours, cells, strict=True):
        assert contrast(colour, channels(ink)) >= 4.5


def test_between_the_ends_colours_follow_the_logarithm(opened):
    with opened("known") as page:
        cells = list(drawn_cells(page).values())
        bar = page.locator(".heat-bar").evaluate("(bar) => bar.style.background")
        ticks = page.locator(".heat-bar span").evaluate_all(
            "(s) => s.map((t) => [t.textContent, parseFloat(t.style.left)])"
        )
    stops = np.array([channels(f"rgb({one})") for one in re.findall(r"rgb\(([^)]*)\)", bar)])
    assert len(stops) == 8
    for area, cell in zip((0.9, 0.99, 0.999, 0.934), (cells[2], cells[3], cells[4], cells[11]), strict=True):
        share = math.log10((1 - area) / 1e-4) / math.log10(0.5 / 1e-4)
        expected = [np.interp(7 * share, range(8), stops[:, channel]) for channel in range(3)]
        assert_allclose(channels(cell[0]), expected, atol=0.51)
    # The legend's ticks are where these colours are; hard is left.
    assert [text for text, _ in ticks] == ["0.5", "0.9", "0.99", "0.999", "0.9999"]
    for text, left in ticks:
        share = math.log10((1 - float(text)) / 1e-4) / math.log10(0.5 / 1e-4)
        assert left == pytest.approx(100 * (1 - share), abs=0.01)


def test_numbers_have_three_digits_and_none_is_perfect_that_is_not(opened, summaries):
    with opened("known") as page:
        texts = [text for _, text, _ in drawn_cells(page).values()]
    assert texts == [
        ".300", ".500", ".900", ".990", ".999", ".9999", ">.999", ".9995", "1", "0", ">.999", ".934"
    ]  # fmt: skip
    areas = summaries["sharp"]["pairs"]["auc"]
    assert any(0.9995 < area < 1 for area in areas)
    with opened("sharp") as page:
        texts = [text for _, text, _ in drawn_cells(page).values()]
    assert len(texts) == len(areas)
    assert texts.count("1") == areas.count(1.0)
    assert "1.000" not in texts


def test_cells_are_those_of_the_model_that_is_looked_at(opened, summaries):
    summary = summaries["comparison"]
    order = [summary["labels"][c] for c in summary["heatmap_classes"]]
    with opened("comparison") as page:
        come_to_heatmap(page)
        for place, name in enumerate(("first", "second", "third")):
            page.locator("#model").select_option(str(place))
            pairs = summary["evaluations"][name]["pairs"]
            cells = drawn_cells(page)
            assert len(cells) == 30
            for positive, negative, area in zip(pairs["positive"], pairs["negative"], pairs["auc"], strict=True):
                text = cells[order.index(positive), order.index(negative)][1]
                assert float(text) == pytest.approx(area, abs=0.00051)
            assert page.locator("#heatmap-title").inner_text() == f"Heatmap: {name}"


def joins(tree, n):
    """The leaves below each step, by walking down."""
    below = [[leaf] for leaf in range(n)]
    for a, b, _ in tree:
        below.append(below[a] + below[b])
    return below[n:]


def test_the_tree_joins_neighbours_at_the_mean_area_between_them(summaries):
    for name in ("k10", "k100"):
        summary = summaries[name]
        order, tree = summary["heatmap_classes"], summary["heatmap_tree"]
        n, labels = len(order), summary["labels"]
        areas = np.full((n, n), np.nan)
        place = {labels[c]: at for at, c in enumerate(order)}
        for positive, negative, area in zip(
            *(summary["pairs"][key] for key in ("positive", "negative", "auc")), strict=True
        ):
            areas[place[positive], place[negative]] = area
        assert len(tree) == n - 1
        below = [[leaf] for leaf in range(n)]
        for a, b, height in tree:
            one, other = below[a], below[b]
            between = [(areas[i, j] + areas[j, i]) / 2 for i in one for j in other]
            assert height == pytest.approx(np.mean(between), abs=1e-5)
            below.append(one + other)
        # No line crosses another: what is joined stands side by side in the drawing.
        for group in joins(tree, n):
            assert max(group) - min(group) == len(group) - 1
        assert [step[2] for step in tree] == sorted(step[2] for step in tree)
    # Of every four classes, the first two are mistaken for each other.
    order = summaries["k10"]["heatmap_classes"]
    assert all(abs(order.index(c) - order.index(c + 1)) == 1 for c in (0, 4, 8))


def test_the_page_draws_the_tree_and_a_stored_dict_without_one_too(opened, summaries):
    with opened("k10") as page:
        come_to_heatmap(page)
        path = page.locator(".heat-tree").get_attribute("d")
        assert path.count("M") == 9
        stage = page.locator(".heat-stage").evaluate("(stage) => ({ ...stage.dataset })")
        left, cell = float(stage["left"]), float(stage["cell"])
        across = [float(x) for x in re.findall(r"H([\d.]+)", path)]
        assert min(across) > left + 10 * cell
        width = page.locator(".heat-stage svg").bounding_box()["width"]
        assert max(across) < width
    with opened("known") as page:
        come_to_heatmap(page)
        assert page.locator(".heat-tree").count() == 0


def test_names_along_the_sides_are_cut_together(opened, summaries):
    summary = summaries["k10"]
    expected = short_names([summary["labels"][c] for c in summary["heatmap_classes"]], 14)
    with opened("k10") as page:
        come_to_heatmap(page)
        names = page.locator(".heat-names text[data-class]").all_text_contents()
        assert names[0::2] == names[1::2] == expected
        titles = page.locator(".heat-title").all_text_contents()
        assert titles == ["negative class", "positive class"]


def test_many_classes_are_painted_sharply(opened, summaries):
    summary = summaries["k100"]
    labels, order = summary["labels"], summary["heatmap_classes"]
    areas, place = np.array(summary["pairs"]["auc"]), {labels[c]: at for at, c in enumerate(order)}
    inside = np.flatnonzero((areas > 0.5) & (areas < 0.9999))
    spread = inside[np.argsort(areas[inside])][np.linspace(0, len(inside) - 1, 6).astype(int)]
    cells = [[place[summary["pairs"][side][p]] for side in ("positive", "negative")] for p in spread]
    for scale in (1, 2):
        with opened("k100", device_scale_factor=scale) as page:
            come_to_heatmap(page)
            assert page.locator(".heat-cells").count() == 0
            canvas = page.locator(".heat-stage canvas")
            size = canvas.evaluate("(c) => [c.width, c.getBoundingClientRect().width]")
            assert size[0] == pytest.approx(scale * size[1], abs=1)
            # Read at once: a canvas that is read often is slow, and the browser says so.
            pixels = """(canvas, cells) => {
              const side = canvas.width / 100;
              const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
              const place = (i) => Math.floor((i + 0.4) * side);
              const at = ([row, column]) => 4 * (place(row) * canvas.width + place(column));
              return cells.map((cell) => [...data.slice(at(cell), at(cell) + 4)]);
            }"""
            diagonal, *colours = canvas.evaluate(pixels, [(7, 7), *cells])
            assert diagonal[3] == 0
            assert [alpha for *_, alpha in colours] == [255] * len(cells)
            shades = [luminance(colour[:3]) for colour in colours]
            # Larger areas are lighter.
            assert shades == sorted(shades)
            assert len(set(shades)) == len(cells)


def test_the_pointer_finds_the_numbers_of_a_pair(opened, summaries):
    summary = summaries["k100"]
    order, pairs = summary["heatmap_classes"], summary["pairs"]
    areas = dict(zip(zip(pairs["positive"], pairs["negative"], strict=True), pairs["auc"], strict=True))
    with opened("k100") as page:
        for row, column in ((3, 50), (90, 7), (99, 98), (0, 99)):
            names = summary["labels"][order[row]], summary["labels"][order[column]]
            page.mouse.move(*cell_at(page, row, column))
            tip = page.locator(".heat-tip")
            assert tip.is_visible()
            assert f"{names[0]} against {names[1]}\narea {areas[names]:.4f}, effect " in tip.inner_text()
            inside, box = tip.bounding_box(), page.locator(".heat-box").bounding_box()
            assert box["x"] <= inside["x"]
            assert inside["x"] + inside["width"] <= box["x"] + box["width"] + 1
        page.mouse.move(2, 2)
        assert not tip.is_visible()


def test_keys_move_a_cursor_over_the_cells_and_enter_selects(opened, summaries):
    order, labels = summaries["k10"]["heatmap_classes"], summaries["k10"]["labels"]
    with opened("k10") as page:
        come_to_heatmap(page)
        page.locator(".heat-stage").focus()
        page.keyboard.press("ArrowDown")  # over the diagonal, from (0, 1)
        said = page.locator("#heatmap-cell")
        assert said.text_content().startswith(f"{labels[order[2]]} against {labels[order[1]]}: area 0.")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowUp")
        assert said.text_content().startswith(f"{labels[order[1]]} against {labels[order[3]]}: area 0.")
        page.keyboard.press("Enter")
        assert hash_of(page) == f"#model=0&pair={order[1]},{order[3]}"
        assert said.text_content().endswith(", selected")
        assert page.locator("#pairs tr.selected").count() == 1
        for _ in range(12):
            page.keyboard.press("ArrowRight")
        assert said.text_content().startswith(f"{labels[order[1]]} against {labels[order[9]]}: ")
        page.keyboard.press("Escape")
        assert hash_of(page) == ""
        assert said.get_attribute("role") == "status"


def test_a_click_on_a_name_selects_the_class(opened, summaries):
    order = summaries["k10"]["heatmap_classes"]
    with opened("k10") as page:
        come_to_heatmap(page)
        page.locator(f".heat-names text[data-class='{order[4]}']").first.click()
        assert hash_of(page) == f"#model=0&class={order[4]}"


def test_pairs_that_were_not_sampled_are_blank(opened, summaries):
    with opened("sampled") as page:
        assert len(drawn_cells(page)) == 200 == len(summaries["sampled"]["pairs"]["auc"])


def test_paper_has_the_heatmap_in_light_colours_also_in_the_dark(opened):
    with opened("known", color_scheme="dark") as page:
        assert channels(next(iter(drawn_cells(page).values()))[0]) == channels(ENDS["dark"][1])
        page.set_viewport_size({"width": 680, "height": 1000})
        page.emulate_media(media="print", color_scheme="dark")
        until(page, lambda: channels(next(iter(drawn_cells(page).values()))[0]) == channels(ENDS["light"][1]))
        assert page.evaluate("document.documentElement.scrollWidth") <= 680


def test_the_page_carries_areas_in_ten_millionths_and_none_becomes_one(summaries):
    packed = Page(render_html(summaries["known"])).data["models"][0]["pairs"]
    areas = summaries["known"]["pairs"]["auc"]
    order = np.argsort(areas, kind="stable")
    carried = np.array(from_letters(packed["auc"]))
    assert [carried[order == pair].item() for pair in (8, 9, 10)] == [10**7, 0, 10**7 - 1]
    assert_allclose(carried / 1e7, np.array(areas)[order], atol=1.01e-7)
    pairs = np.array(list(permutations(range(4), 2)))[order]
    assert [from_letters(packed[side]) for side in ("positive", "negative")] == pairs.T.tolist()


def test_of_more_pairs_than_a_page_holds_the_heatmap_has_its_own(monkeypatch, summaries, opened, tmp_path):
    summary = summaries["k10"]
    monkeypatch.setattr("polyroc.report._context.PAIRS_ON_PAGE", 12)
    (tmp_path / "cut.html").write_text(render_html(summary), encoding="utf-8")
    order = [summary["labels"][c] for c in summary["heatmap_classes"]]
    with opened(tmp_path / "cut.html") as page:
        cells = drawn_cells(page)
        assert len(cells) == 90
        pairs = summary["pairs"]
        for positive, negative, area in zip(pairs["positive"], pairs["negative"], pairs["auc"], strict=True):
            assert float(cells[order.index(positive), order.index(negative)][1]) == pytest.approx(area, abs=0.00051)
        # A pair that the table does not have can be looked at all the same.
        page.mouse.click(*cell_at(page, 0, 9))
        assert "area 0." in page.locator(".heat-tip").inner_text()


def test_a_hundred_classes_take_little_room(summaries):
    pairs = Page(render_html(summaries["k100"])).data["models"][0]["pairs"]
    assert sum(map(len, pairs.values())) < 60_000
    assert len(render_html(summaries["k100"])) < 1_000_000
