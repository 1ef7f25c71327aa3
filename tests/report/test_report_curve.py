"""The curves of the page: where lines are drawn in the square, the corner and on logit scales, and their numbers."""

import re

import numpy as np
import pytest
from browser_pages import PHONE, settled, until
from report_pages import HOSTILE, Page, comparison_of, distance_to_line, evaluation_of, from_letters, problem

import polyroc
from polyroc._lib.axes import View
from polyroc.report import render_html, summarize
from polyroc.report._figures import curve_svg, opening_view, rounded_rate
from polyroc.report._packing import packed_curves
from polyroc.report._sentences import names_of

# Pixels of the paths of a class, and of the texts of the axes.
PATHS = """(selector) => [...document.querySelectorAll(`#curve ${selector}`)]
  .filter((path) => path.style.display !== "none").map((path) => path.getAttribute("d"))"""
TICKS = """(axis) => [...document.querySelectorAll(`#curve text.tick.${axis}`)]
  .map((text) => [text.textContent, Number(text.getAttribute(axis)) - (axis === "y" ? 4 : 0)])"""
READOUT = """[...document.querySelectorAll("#curve .readout:not([hidden]) > div")].map((row) => row.textContent)"""
TOO_SMALL = 1.5  # pixels


# Without a browser


@pytest.mark.slow
def test_the_corner_opens_where_the_best_d_is_above_95_percent(summaries):
    for name in ("k10", "comparison", "crossing", "binary", "hostile"):
        summary = summaries[name]
        models = summary.get("evaluations", {"": summary}).values()
        best = max(model["auc"] for model in models)
        assert opening_view(summary).is_corner == (best > 0.95), name
    assert opening_view(summaries["crossing"]).is_corner
    assert not opening_view(summaries["comparison"]).is_corner
    data = Page(render_html(summaries["crossing"])).data
    assert data["view"] == "corner"
    assert 2 <= data["decades"] <= 5


def test_lines_between_points_bend_as_straight_lines_of_rates_do():
    view = View(is_corner=True, decades=4)
    (x0, y0), (x1, y1) = (0.0005, 0.4), (0.3, 0.9999)
    places = np.column_stack(view.places(np.array([x0, x1]), np.array([y0, y1])))
    fpr, tpr = 10 ** (4 * (places[:, 0] - 1)), 1 - 10 ** (-4 * places[:, 1])
    np.testing.assert_allclose(tpr, y0 + (fpr - x0) / (x1 - x0) * (y1 - y0), rtol=1e-9)
    # No step of either rate is large.
    assert np.max(np.diff(places, axis=0)) < np.log10(1.31) / 4
    assert len(places) > 30


def test_rates_of_0_stand_outside_of_the_frame():
    view = View(is_corner=True, decades=3)
    across, up = view.places(np.array([0, 0, 0.5, 1]), np.array([0, 0.9, 1, 1]))
    places = list(zip(across, up, strict=True))
    # Straight up outside of the frame to 90 %, a third of the way.
    outside = [up for across, up in places if across < 0]
    assert outside[0] == 0
    assert max(outside) == pytest.approx(1 / 3, abs=0.001)
    assert places[-1][1] > 1
    assert places[-1][0] == 1
    # Where the line crosses the edge: 0.1 % of the way from 90 % to 100 %, at a false positive rate of 0.1 %.
    inside = next(place for place in places if place[0] >= 0)
    assert inside[1] == pytest.approx(-np.log10(0.1 * (1 - 0.002 * 10 ** (3 * inside[0]))) / 3, rel=1e-6)


def test_the_drawing_without_a_script_is_the_corner_too(summaries):
    svg = curve_svg(summaries["crossing"])
    ticks = {tick["across"]: tick["x"] for tick in svg["ticks"]}
    ups = {tick["up"]: tick["y"] for tick in svg["ticks"]}
    assert {"0.1 %", "1 %", "10 %", "100 %"} <= set(ticks)
    assert {"0 %", "90 %", "99 %", "99.9 %"} <= set(ups)
    assert ticks["1 %"] < ticks["10 %"]
    assert ups["99 %"] < ups["90 %"]
    for place, model in enumerate(summaries["crossing"]["evaluations"].values()):
        line = [line for line in svg["lines"] if line["kind"] == "curve"][place]
        drawn = np.array([[float(x) for x in point.split(",")] for point in line["points"].split()])
        near = [(f, t) for f, t in zip(model["curve"]["fpr"], model["curve"]["tpr"], strict=True) if 0.01 < f < 0.1]
        for fpr, tpr in near:
            x = ticks["1 %"] + np.log10(fpr / 0.01) * (ticks["10 %"] - ticks["1 %"])
            y = ups["90 %"] + np.log10(0.1 / max(1 - tpr, 1e-9)) * (ups["99 %"] - ups["90 %"])
            if y > svg["top"]:
                assert distance_to_line(drawn, (x, y)) < 0.2
    # Of four models bands would hide each other.
    assert svg["bands"] == []


def test_rates_keep_what_they_lack_to_one():
    for lacks in np.geomspace(1e-6, 0.4, 30):
        assert rounded_rate(lacks) == pytest.approx(lacks, rel=1e-4)
        assert 1 - rounded_rate(1 - lacks) == pytest.approx(lacks, rel=1e-4)
    assert [rounded_rate(rate) for rate in (0.0, 1.0, 0.5)] == [0, 1, 0.5]


@pytest.mark.parametrize("thresholds", ["own", "shared"])
def test_packed_curves_of_pairs_are_the_curves_of_pairs(thresholds):
    curves = summarize(evaluation_of(4, options={"thresholds": thresholds}))["pair_curves"]
    packed = packed_curves(curves)
    assert (packed["fpr"] is None) == (thresholds == "own")
    rates = np.array(packed["call_rate"])

    def read(key):
        return np.array(from_letters(packed[key])).reshape(packed["n"], -1) / packed["limit"]

    if thresholds == "own":
        tpr = rates + read("tpr") * np.minimum(rates, 1 - rates)
        fpr = 2 * rates - tpr
    else:
        tpr, fpr = read("tpr"), read("fpr")
    np.testing.assert_allclose(tpr, curves["tpr"], atol=2e-5)
    np.testing.assert_allclose(fpr, curves["fpr"], atol=4e-5)


def test_the_difference_of_curves_is_paired():
    comparison = comparison_of(k=4, names=("a", "b"), n_resamples=49)
    found = summarize(comparison)["curve_differences"]
    [pair] = found["pairs"]
    assert (pair["first"], pair["second"]) == ("a", "b")
    a, b = (comparison.evaluations[name] for name in "ab")
    # At equal call rates, by a loop over them: the mean true positive rate of the pairs.
    wanted = [np.mean(row) - np.mean(other) for row, other in zip(a.rates.tpr, b.rates.tpr, strict=True)]
    np.testing.assert_allclose(pair["mean_curve"]["value"], wanted, atol=1e-6)
    np.testing.assert_allclose(found["call_rate"], a.rates.call_rates, atol=1e-6)
    # The band from the replicates, point by point.
    drawn = comparison.bootstraps
    for t in (20, 55, 90):
        replicates = drawn["a"].mean_tpr[:, t].astype(float) - drawn["b"].mean_tpr[:, t]
        bias = np.mean(replicates) - wanted[t]
        width = 1.959964 * np.sqrt(np.var(replicates, ddof=1) + bias**2)
        assert pair["mean_curve"]["high"][t] - pair["mean_curve"]["low"][t] == pytest.approx(2 * width, rel=1e-3)
        assert pair["mean_curve"]["low"][t] <= wanted[t] <= pair["mean_curve"]["high"][t]
    # Paired: narrower than of two models that were resampled apart.
    apart = np.sqrt(np.var(drawn["a"].mean_tpr[:, 55], ddof=1) + np.var(drawn["b"].mean_tpr[:, 55], ddof=1))
    assert (pair["mean_curve"]["high"][55] - pair["mean_curve"]["low"][55]) / 2 < 1.96 * apart


def test_differences_of_curves_are_few_and_take_little_time(summaries, monkeypatch):
    many = comparison_of(k=3, names=tuple("abcdefg"), n_resamples=3)
    found = summarize(many)["curve_differences"]["pairs"]
    assert len(found) == 10
    best = max(many.evaluations, key=lambda name: many.evaluations[name].auc)
    assert [one["first"] for one in found[:6]] == 6 * [best]
    # Without resamples the curves of many samples take long, and those of two classes have no formula.
    y_true, labels, scores = problem(3, n=300)
    models = {"a": scores, "b": scores + np.random.default_rng(1).normal(size=scores.shape)}
    compared = polyroc.compare(y_true, models, labels=labels)
    assert len(summarize(compared)["curve_differences"]["pairs"]) == 1
    monkeypatch.setattr("polyroc.report._facts._QUICK_PAIRS", 299)
    without = summarize(compared)
    assert without["curve_differences"] is None
    assert "difference of two curves" not in Page(render_html(without)).text
    assert "difference of two curves" in Page(render_html(summaries["comparison"])).text
    assert summaries["binary"]["curve_differences"]["pairs"][0]["mean_curve"] is None


def test_the_same_scores_have_no_difference():
    y_true, labels, scores = problem(4, n=200)
    twice = polyroc.compare(y_true, {"a": scores, "b": scores}, labels=labels, method="bootstrap", n_resamples=9, rng=0)
    [pair] = summarize(twice)["curve_differences"]["pairs"]
    for kind in ("curve", "mean_curve"):
        assert not np.any([pair[kind][key] for key in ("value", "low", "high")])


@pytest.mark.slow
def test_pages_are_small_and_hold_no_library(pages):
    assert len(pages["k10"].encode()) < 268_000
    assert "plotly" not in pages["k10"].lower()
    assert len(pages["k100"].encode()) < 1_000_000
    assert Page(pages["k100"]).data["models"][0]["curves"]["n"] == 200


# In a browser


def pixels(path):
    """The points of a path."""
    return np.array([[float(x) for x in point.split()] for point in re.split("[MLZ]", path) if point])


def axis(page, letter):
    """From rates to pixels, by the texts of the axis: what a reader does."""
    ticks = dict(page.evaluate(TICKS, letter))
    if "0.2" in ticks:
        return lambda rate: ticks["0.2"] + (rate - 0.2) / 0.6 * (ticks["0.8"] - ticks["0.2"])
    if letter == "x":
        return lambda fpr: ticks["1 %"] + np.log10(fpr / 0.01) * (ticks["10 %"] - ticks["1 %"])
    return lambda tpr: ticks["90 %"] + np.log10(0.1 / (1 - tpr)) * (ticks["99 %"] - ticks["90 %"])


def on_screen(page, fpr, tpr):
    """Where a point of the chart is on the screen; the drawing has a unit for each pixel."""
    page.locator("#curve").scroll_into_view_if_needed()
    box = page.locator("#curve").bounding_box()
    return box["x"] + axis(page, "x")(fpr), box["y"] + axis(page, "y")(tpr)


def point_at(page, fpr, tpr):
    page.mouse.move(1, 1)
    page.mouse.move(*on_screen(page, fpr, tpr))
    return page.evaluate(READOUT)


def drag(page, start, end):
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()


def rate_text(rate):
    """As the page writes rates: three decimals, near 0 and 1 two digits of what is lacking."""
    lacks = min(rate, 1 - rate)
    if lacks < 1e-12:
        return f"{rate:.0f}"
    return f"{rate:.3f}" if lacks >= 0.01 else f"{rate:.{1 - int(np.floor(np.log10(lacks)))}f}"


@pytest.mark.parametrize("kind", ["curve", "mean_curve"])
def test_lines_are_where_the_numbers_say(opened, summaries, kind):
    with opened("comparison") as page:
        lines = page.evaluate(PATHS, f"path.line.{kind}")
        assert len(lines) == 3
        for line, model in zip(lines, summaries["comparison"]["evaluations"].values(), strict=True):
            drawn = pixels(line)
            across, up = axis(page, "x"), axis(page, "y")
            for fpr, tpr in zip(model[kind]["fpr"], model[kind]["tpr"], strict=True):
                assert np.min(np.hypot(drawn[:, 0] - across(fpr), drawn[:, 1] - up(tpr))) < 0.3


def test_the_corner_has_known_points_at_known_places(opened, summaries):
    with opened("crossing") as page:
        ticks = {letter: dict(page.evaluate(TICKS, letter)) for letter in "xy"}
        assert {"0.1 %", "1 %", "10 %", "100 %"} <= set(ticks["x"])
        assert {"0 %", "90 %", "99 %", "99.9 %"} <= set(ticks["y"])
        # Better is up and left.
        assert ticks["x"]["0.1 %"] < ticks["x"]["1 %"]
        assert ticks["y"]["99 %"] < ticks["y"]["90 %"]
        across, up = axis(page, "x"), axis(page, "y")
        frame = page.evaluate(
            "(({ x, y }) => [x, y].map(({ baseVal }) => baseVal.value))(document.querySelector('#curve .frame'))"
        )
        for line, model in zip(
            page.evaluate(PATHS, "path.line.curve"), summaries["crossing"]["evaluations"].values(), strict=True
        ):
            drawn = pixels(line)
            for fpr, tpr in zip(model["curve"]["fpr"], model["curve"]["tpr"], strict=True):
                x, y = across(max(fpr, 1e-15)), up(min(tpr, 1 - 1e-15))
                if x > frame[0] and y > frame[1]:
                    assert np.min(np.hypot(drawn[:, 0] - x, drawn[:, 1] - y)) < 0.5
            # It begins left of the frame and ends above it, by a little.
            assert 0 < frame[0] - drawn[0, 0] < 12
            assert 0 < frame[1] - drawn[-1, 1] < 12
        caption = page.locator("#curve-section figcaption").inner_text()
        assert "A line that leaves the frame goes on to less than" in caption


def test_the_logit_scale_has_known_points_at_known_places(opened, summaries):
    with opened("crossing") as page:
        page.locator("[data-view=logit]").click()
        assert page.locator(".logit-words").is_visible()
        assert not page.locator(".corner-words").is_visible()
        assert page.locator("#curve text.title").all_text_contents() == [
            "false positive rate (logit scale)",
            "true positive rate (logit scale)",
        ]
        left, top, side = page.evaluate(
            "(({ x, y, width }) => [x, y, width].map(({ baseVal }) => baseVal.value))"
            "(document.querySelector('#curve .frame'))"
        )
        least = 10 ** -page.evaluate("JSON.parse(document.getElementById('data').textContent).decades")

        def place(rate):
            return 0.5 + np.log(rate / (1 - rate)) / (2 * np.log((1 - least) / least))

        for letter, start, sign in (("x", left, 1), ("y", top + side, -1)):
            ticks = page.evaluate(TICKS, letter)
            assert "50 %" in dict(ticks)
            assert len(ticks) >= 3
            for text, pixel in ticks:
                rate = float(text.removesuffix(" %")) / 100
                assert pixel == pytest.approx(start + sign * place(rate) * side, abs=0.2)
        n_inside = 0
        lines = page.evaluate(PATHS, "path.line.curve")
        for line, model in zip(lines, summaries["crossing"]["evaluations"].values(), strict=True):
            drawn = pixels(line)
            for fpr, tpr in zip(model["curve"]["fpr"], model["curve"]["tpr"], strict=True):
                if least < min(fpr, tpr) and max(fpr, tpr) < 1 - least:
                    at = left + place(fpr) * side, top + side - place(tpr) * side
                    assert np.min(np.hypot(*(drawn - at).T)) < 0.5
                    n_inside += 1
        assert n_inside > 100
        # Guessing is the diagonal of the frame.
        chance = pixels(page.evaluate(PATHS, "path.chance")[0])
        np.testing.assert_allclose(chance[:, 0] - left, top + side - chance[:, 1], atol=0.2)


def test_a_part_of_the_logit_scale_keeps_ticks(opened):
    with opened("crossing") as page:
        page.locator("[data-view=logit]").click()
        box = page.locator("#curve").bounding_box()
        for low, high in ((0.2, 0.5), (0.4, 0.5), (0.4, 0.45)):
            page.locator("#curve").dblclick()
            drag(page, *((box["x"] + share * box["width"], box["y"] + share * box["height"]) for share in (low, high)))
            for letter in "xy":
                texts = [text for text, _ in page.evaluate(TICKS, letter)]
                assert 2 <= len(texts) <= 12
                assert len(set(texts)) == len(texts)


@pytest.mark.smoke
def test_close_models_are_apart_in_the_corner_only(opened):
    def apart(page):
        """The largest distance of two models' lines where FPR is about 1 %."""
        across = axis(page, "x")(0.01)
        heights = [np.interp(across, *pixels(line).T) for line in page.evaluate(PATHS, "path.line.curve")]
        return max(heights) - min(heights)

    with opened("crossing") as page:
        in_corner = apart(page)
        page.locator("[data-view=square]").click()
        assert page.locator("[data-view=square]").get_attribute("aria-pressed") == "true"
        assert not page.locator(".corner-words").is_visible()
        in_square = apart(page)
        assert in_corner > 5 * in_square
        page.locator("[data-view=corner]").click()
        assert page.locator(".corner-words").is_visible()
        assert apart(page) == pytest.approx(in_corner, abs=0.5)


@pytest.mark.parametrize("name", ["k10", "crossing"])
def test_pointing_shows_name_and_rates(opened, summaries, name):
    summary = summaries[name]
    curve = summary["curve"] if name == "k10" else summary["evaluations"]["outliers"]["curve"]
    called = "shared curve" if name == "k10" else "outliers: shared curve"
    with opened(name) as page:
        # Others would lie in the way.
        for place in range(len(summary.get("evaluations", []))):
            page.locator(f"[data-curve='{place}']").set_checked(place == 1)
        # Not around a call rate of 1/2, where points are closer than a pointer can point.
        for point in (35, 80):
            rate, fpr, tpr = (curve[key][point] for key in ("call_rate", "fpr", "tpr"))
            if min(fpr, 1 - tpr) < 1e-4:
                continue
            assert point_at(page, fpr, tpr) == [
                called,
                f"call rate (quantile) {rate:.4f}",
                f"false positive rate {rate_text(fpr)}",
                f"true positive rate {rate_text(tpr)}",
            ]
            assert page.locator("#curve .dot").count() == 1
        page.mouse.move(1, 1)
        assert page.evaluate(READOUT) == []


def test_the_keys_move_a_cursor_and_say_its_numbers(opened, summaries):
    models = list(summaries["comparison"]["evaluations"].values())
    with opened("comparison") as page:
        page.locator("#model").select_option("1")
        page.locator("#curve").focus()
        assert page.evaluate("document.activeElement.id") == "curve"
        page.keyboard.press("ArrowRight")
        said = page.locator("#curve-said")
        assert said.get_attribute("aria-live") == "polite"
        middle = len(models[1]["curve"]["fpr"]) // 2
        for key, place in (("ArrowRight", 1), ("ArrowLeft", 0), ("ArrowLeft", -1), ("Shift+ArrowRight", 9)):
            page.keyboard.press(key)
            rate, fpr, tpr = (models[1]["curve"][name][middle + place] for name in ("call_rate", "fpr", "tpr"))
            assert said.inner_text() == (
                f"second: shared curve: call rate (quantile) {rate:.4f}, "
                f"false positive rate {rate_text(fpr)}, true positive rate {rate_text(tpr)}"
            )
            assert page.evaluate(READOUT)[0] == "second: shared curve"
        page.keyboard.press("ArrowDown")
        assert said.inner_text().startswith(f"third: shared curve: call rate (quantile) {rate:.4f}")
        page.keyboard.press("Home")
        assert said.inner_text().endswith("call rate (quantile) 0.0000, false positive rate 0, true positive rate 0")
        page.keyboard.press("End")
        assert said.inner_text().endswith("call rate (quantile) 1.0000, false positive rate 1, true positive rate 1")


def test_a_part_is_enlarged_and_the_whole_comes_back(opened):
    def shown():
        return [float(text) for text, _ in page.evaluate(TICKS, "x")]

    with opened("k10") as page:
        assert shown() == [0, 0.2, 0.4, 0.6, 0.8, 1]
        whole = page.locator("#curve-whole")
        assert not whole.is_visible()
        part = (0.02, 0.98), (0.14, 0.7)
        for back in ("double click", "button", "Escape", "0"):
            drag(page, *(on_screen(page, *corner) for corner in part))
            assert len(shown()) >= 3
            assert min(shown()) >= 0.02
            assert max(shown()) <= 0.14
            # The corners of what was dragged over are the corners now.
            frame = page.locator("#curve .frame").bounding_box()
            box = page.locator("#curve").bounding_box()
            ticks = page.evaluate(TICKS, "x")
            (first, x0), (last, x1) = ticks[0], ticks[-1]
            left = float(first) - (box["x"] + x0 - frame["x"]) * (float(last) - float(first)) / (x1 - x0)
            assert left == pytest.approx(0.02, abs=0.005)
            assert whole.is_visible()
            if back == "button":
                whole.click()
            elif back == "double click":
                page.mouse.dblclick(frame["x"] + 300, frame["y"] + 300)
            else:
                page.locator("#curve").focus()
                page.keyboard.press(back)
            assert shown() == [0, 0.2, 0.4, 0.6, 0.8, 1]
            assert not whole.is_visible()


def test_keys_and_wheel_enlarge_and_the_wheel_alone_scrolls(opened):
    with opened("k10") as page:
        page.locator("#curve").focus()
        page.keyboard.press("+")
        assert len(page.evaluate(TICKS, "x")) >= 4
        assert "1" not in dict(page.evaluate(TICKS, "x"))
        page.keyboard.press("-")
        assert "1" in dict(page.evaluate(TICKS, "x"))
        page.mouse.move(*on_screen(page, 0.3, 0.7))
        before = page.evaluate("scrollY")
        page.mouse.wheel(0, 120)
        until(page, lambda: page.evaluate("scrollY") > before)
        assert "1" in dict(page.evaluate(TICKS, "x"))
        page.mouse.move(*on_screen(page, 0.3, 0.7))
        page.keyboard.down("Control")
        page.mouse.wheel(0, -120)
        page.keyboard.up("Control")
        until(page, lambda: "1" not in dict(page.evaluate(TICKS, "x")))


def test_the_corner_is_enlarged_too_and_keeps_ticks(opened):
    with opened("crossing") as page:
        corners = on_screen(page, 0.011, 0.9985), on_screen(page, 0.019, 0.9952)
        drag(page, *corners)
        for letter, low, high in (("x", 1.0, 2.0), ("y", 99.5, 99.86)):
            texts = [text for text, _ in page.evaluate(TICKS, letter)]
            values = [float(text.removesuffix(" %")) for text in texts]
            assert 2 <= len(values) <= 12
            assert len(set(texts)) == len(texts)
            assert all(low <= value <= high for value in values)


def test_bands_and_curves_can_be_switched_off(opened):
    def seen(what):
        return len(page.evaluate(PATHS, f"path.{what}"))

    with opened("comparison") as page:
        assert [seen("line"), seen("band")] == [6, 0]
        page.locator("#bands").check()
        assert [seen("line"), seen("band")] == [6, 6]
        page.locator("[data-curve='1']").uncheck()
        assert [seen("line"), seen("band")] == [4, 4]
        page.locator("[data-kind=mean_curve]").uncheck()
        assert [seen("line.curve"), seen("line.mean_curve"), seen("band")] == [2, 0, 2]
        page.locator("#bands").uncheck()
        assert [seen("line"), seen("band")] == [2, 0]


def test_bands_are_where_the_numbers_say(opened, summaries):
    band = summaries["k10"]["band"]
    with opened("k10") as page:
        page.locator("#bands").check()
        [drawn] = (pixels(path) for path in page.evaluate(PATHS, "path.band.curve"))
        across, up = axis(page, "x"), axis(page, "y")
        for side in ("lower", "upper"):
            for fpr, tpr in zip(band[side]["fpr"], band[side]["tpr"], strict=True):
                assert np.min(np.hypot(drawn[:, 0] - across(fpr), drawn[:, 1] - up(tpr))) < 0.3


def test_curves_of_pairs_are_on_the_canvas(opened, summaries):
    curves, pairs = summaries["k10"]["pair_curves"], summaries["k10"]["pairs"]
    # The more lines, the longer the picture.
    picture = "document.querySelector('#curve canvas').toDataURL()"
    with opened("k10") as page:
        empty = page.evaluate(picture)
        assert page.locator("#pair-curves option").all_inner_texts() == [
            "none",
            "the worst 10",
            "the worst 50",
            "all 90",
        ]
        page.locator("#pair-curves").select_option("10")
        few = page.evaluate(picture)
        page.locator("#pair-curves").select_option("90")
        assert len(page.evaluate(picture)) > len(few) > len(empty)
        # A point of the worst pair that no other curve comes near to.
        label = point_at(page, curves["fpr"][0][60], curves["tpr"][0][60])
        worst = int(np.argmin(pairs["auc"]))
        assert label[0] == f"{pairs['positive'][worst]} against {pairs['negative'][worst]}"
        page.locator("#pair-curves").select_option("0")
        assert page.evaluate(picture) == empty
        assert page.evaluate(READOUT) == []


def test_canvas_and_drawing_lie_on_each_other(opened):
    with opened("k10") as page:
        for view in ("square", "corner", "logit"):
            page.locator(f"[data-view={view}]").click()
            first, second = (page.locator(f"#curve {part}").bounding_box() for part in ("canvas", "svg"))
            for key in ("x", "y", "width", "height"):
                assert first[key] == pytest.approx(second[key], abs=0.6)


def test_colours_follow_the_theme_and_paper_is_light(opened):
    colour = "getComputedStyle(document.querySelector('#curve path.line')).stroke"
    with opened("k10", color_scheme="dark") as page:
        on_dark = page.evaluate(colour)
        page.locator("#pair-curves").select_option("10")
        page.emulate_media(media="print", color_scheme="dark")
        until(page, lambda: page.evaluate(colour) != on_dark)
        assert page.evaluate(colour) == "rgb(0, 114, 178)"
        until(page, lambda: page.locator("#curve svg").bounding_box()["width"] == pytest.approx(329, abs=2))
        assert not page.locator(".chart-tools").is_visible()
        page.emulate_media(media="screen", color_scheme="dark")
        until(page, lambda: page.evaluate(colour) == on_dark)
        until(page, lambda: page.locator("#curve svg").bounding_box()["width"] > 400)


def test_hostile_names_are_text_at_the_pointer_and_in_what_is_said(opened, summaries):
    shown = [name.text for name in names_of(HOSTILE)]
    curves = summaries["hostile"]["evaluations"]
    with opened("hostile") as page:
        for place in range(3):
            for other in range(3):
                page.locator(f"[data-curve='{other}']").set_checked(other == place)
            curve = curves[HOSTILE[place]]["curve"]
            assert point_at(page, curve["fpr"][50], curve["tpr"][50])[0].startswith(shown[place])
            page.locator("#model").select_option(str(place))
            page.locator("#curve").focus()
            page.keyboard.press("ArrowRight")
            assert page.locator("#curve-said").inner_text().startswith(f"{shown[place]}: shared curve: call rate")
            page.keyboard.press("Escape")
        page.locator("[data-curve='2']").uncheck()
        page.locator("#pair-curves").select_option("10")
        pairs = curves[HOSTILE[2]]["pair_curves"]
        for fpr, tpr in zip(pairs["fpr"][:5], pairs["tpr"][:5], strict=True):
            first, _, second = point_at(page, fpr[50], tpr[50])[0].partition(" against ")
            assert {first, second} <= set(shown)
        page.locator("#difference-section summary").click()
        settled(page)
        assert page.locator("#difference path.band").count() == 1
        assert page.evaluate("window.hacked") is None
        assert page.locator("#curve a, #curve b, #curve img, #curve script, bdi *, #curve-said *").count() == 0


def test_a_tap_shows_numbers_one_finger_scrolls_and_two_enlarge(opened, summaries):
    curve = summaries["k10"]["curve"]
    with opened("k10", **PHONE) as page:
        page.locator("#curve").scroll_into_view_if_needed()
        x, y = on_screen(page, curve["fpr"][30], curve["tpr"][30])
        page.touchscreen.tap(x, y)
        label = page.evaluate(READOUT)
        assert len(label) == 4
        assert label[1].startswith("call rate (quantile) 0.")
        device = page.context.new_cdp_session(page)

        def touch(kind, *points):
            sent = [{"x": a, "y": b, "id": number} for number, (a, b) in enumerate(points)]
            device.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": sent})

        ticks = page.evaluate(TICKS, "x")
        x, y = on_screen(page, 0.5, 0.5)
        before = page.evaluate("scrollY")
        touch("touchStart", (x, y))
        for step in range(1, 9):
            touch("touchMove", (x, y - 20 * step))
        touch("touchEnd")
        until(page, lambda: page.evaluate("scrollY") > before)
        assert page.evaluate(TICKS, "x") == ticks

        def is_still():
            place = page.evaluate("scrollY")
            page.wait_for_timeout(300)
            return page.evaluate("scrollY") == place

        until(page, is_still)
        page.locator("#curve").scroll_into_view_if_needed()
        x, y = on_screen(page, 0.5, 0.5)
        touch("touchStart", (x - 20, y), (x + 20, y))
        for step in range(1, 6):
            touch("touchMove", (x - 20 - 12 * step, y), (x + 20 + 12 * step, y))
        touch("touchEnd")
        until(page, lambda: page.evaluate(TICKS, "x") != ticks)
        assert page.locator("#curve-whole").is_visible()
        assert page.locator("#curve-whole").bounding_box()["height"] >= 44
        assert page.evaluate("visualViewport.scale") == pytest.approx(1)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_difference_of_two_curves_is_drawn_on_demand(opened, summaries):
    found = summaries["comparison"]["curve_differences"]
    with opened("comparison") as page:
        assert page.locator("#difference svg").count() == 0
        page.locator("#difference-section summary").click()
        settled(page)
        choices = page.locator("#difference-pair option").all_inner_texts()
        assert choices == ["first minus second", "first minus third", "second minus third"]
        for place, kind in ((0, "curve"), (1, "mean_curve")):
            page.locator("#difference-pair").select_option(str(place))
            page.locator("#difference-kind").select_option(kind)
            drawn = pixels(page.evaluate("document.querySelector('#difference path.line').getAttribute('d')"))
            value = found["pairs"][place][kind]["value"]
            # Of some stretch of call rates; there pixels are straight functions of the numbers, falling downwards.
            n, best = len(drawn), np.inf
            for start in range(len(value) - n + 1):
                part = slice(start, start + n)
                (slope, offset), (wide, left) = (
                    np.polyfit(numbers[part], drawn[:, axis], 1)
                    for numbers, axis in ((np.array(value), 1), (np.array(found["call_rate"]), 0))
                )
                off = np.abs(slope * np.array(value[part]) + offset - drawn[:, 1])
                aside = np.abs(wide * np.array(found["call_rate"][part]) + left - drawn[:, 0])
                if slope < 0 < wide:
                    best = min(best, np.max(off) + np.max(aside))
            assert n > 30
            assert best < 0.3
            label = page.locator("#difference").get_attribute("aria-label")
            largest = int(np.argmax(np.abs(value)))
            assert label.startswith(f"{choices[place]}: largest difference +{value[largest]:.4f} at a call rate of")
        assert "The 95 % band is for each call rate separately" in page.locator("#difference-section").inner_text()


def changed(path, text, *replacements):
    """A page whose script was changed, so that a test can reach into it; then it must be allowed to run."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    for old, new in replacements:
        text, count = re.subn(old, new, text)
        assert count == 1
    path.write_text(text, encoding="utf-8")
    return path


def test_live_curves_take_the_places_of_the_judged_and_are_fast(opened, pages, tmp_path):
    path = changed(
        tmp_path / "changed.html",
        pages["comparison"],
        (r"const chart ?= ?curveChart", "const chart = window.chart = curveChart"),
    )
    with opened(path) as page:
        page.locator("#bands").check()
        before = page.evaluate(PATHS, "path.line")
        result = page.evaluate("""() => {
          const { models } = JSON.parse(document.getElementById("data").textContent);
          const bent = ({ fpr, tpr }, by) => ({ fpr: fpr.map((x) => x ** by), tpr });
          const curves = (model, by) => ({ curve: bent(model.curve, by), mean_curve: bent(model.mean_curve, by) });
          const both = (model, by) => ({ auc: 0.9, mean_auc: 0.8, ...curves(model, by) });
          const live = (by) => models.map((model) => both(model, by));
          const times = [];
          for (let i = 0; i < 60; i += 1) {
            const given = live(1 + i / 60), start = performance.now();
            chart.show(given);
            times.push(performance.now() - start);
          }
          times.sort((a, b) => a - b);
          return times[30];
        }""")
        assert result < 3, result
        after = page.evaluate(PATHS, "path.line")
        assert len(after) == len(before)
        assert after != before
        assert page.evaluate(PATHS, "path.band") == []
        page.evaluate("chart.show(null)")
        assert page.evaluate(PATHS, "path.line") == before
        assert len(page.evaluate(PATHS, "path.band")) == 6


def test_a_selected_pair_stands_out_and_a_click_selects_one(opened, pages, summaries, tmp_path):
    fake = """const fake = window.fake = { now: { model: 0, pair: null, class: null }, heard: [],
      get() { return this.now; },
      set(change) { Object.assign(this.now, change); this.heard.forEach((hear) => hear(this.now)); },
      on(hear) { this.heard.push(hear); } };
    const chart = curveChart(data, state, fake);"""
    path = changed(tmp_path / "changed.html", pages["k10"], (r"const chart ?= ?curveChart\(.*?\);", fake))
    curves = summaries["k10"]["pair_curves"]
    pairs, labels = summaries["k10"]["pairs"], summaries["k10"]["labels"]
    worst = int(np.argmin(pairs["auc"]))
    wanted = [labels.index(pairs[key][worst]) for key in ("positive", "negative")]
    with opened(path) as page:
        page.evaluate("(pair) => fake.set({ pair })", wanted)
        [drawn] = page.evaluate(PATHS, "path.picked")
        across, up = axis(page, "x"), axis(page, "y")
        for fpr, tpr in zip(curves["fpr"][0], curves["tpr"][0], strict=True):
            distance = np.hypot(pixels(drawn)[:, 0] - across(fpr), pixels(drawn)[:, 1] - up(tpr))
            assert np.min(distance) < TOO_SMALL
        called = page.locator("#curve .called")
        assert called.inner_text() == " against ".join(str(labels[place]) for place in wanted)
        # Paper shows what is, not what somebody looked at.
        page.emulate_media(media="print")
        assert not called.is_visible()
        assert not page.locator("#curve path.picked").is_visible()
        page.emulate_media(media="screen")
        # Inside of the frame, and in the corner at another side of it.
        for view in ("square", "corner", "logit"):
            page.locator(f"[data-view={view}]").click()
            box, frame = called.bounding_box(), page.locator("#curve .frame").bounding_box()
            assert frame["x"] < box["x"] < box["x"] + box["width"] < frame["x"] + frame["width"]
            assert frame["y"] < box["y"] < box["y"] + box["height"] < frame["y"] + frame["height"]
            assert (box["y"] > frame["y"] + frame["height"] / 2) == (view != "corner")
        page.locator("[data-view=square]").click()
        page.evaluate("fake.set({ pair: null })")
        assert page.evaluate(PATHS, "path.picked") == []
        assert not called.is_visible()
        page.locator("#pair-curves").select_option("10")
        page.mouse.click(*on_screen(page, curves["fpr"][0][60], curves["tpr"][0][60]))
        assert page.evaluate("fake.get().pair") == wanted
