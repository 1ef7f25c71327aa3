"""Take pictures of the report in Chromium: what the documentation shows into docs/images/report.

`--look FOLDER` writes more of them there, to be looked at and not kept: 3, 50 and 100 classes, close models, long
names, costs, each on a wide screen, dark, on a phone and on paper. Needs Chromium on the path. Letters look as the
fonts that are installed.
"""

import argparse
import io
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

import polyroc
from polyroc.report import write_html

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images" / "report"
WIDE, PHONE = {"width": 1280, "height": 1000}, {"width": 390, "height": 844}
# A4 at 96 dots per inch, and the margins of the page.
SHEET, MARGINS = {"width": 794, "height": 1123}, "body { padding: 14mm 15mm !important; }"
# What follows is on the next sheets.
SECOND_SHEET = ".sheet ~ *, .by-model ~ * { visibility: hidden !important; }"
MOST_BYTES, MOST_OF_ONE = 1_500_000, 300_000
LONG_CLASSES = [f"a class with a rather long description, number {c:02d} of twelve" for c in range(12)]
LONG_MODELS = [f"gradient boosting, depth {depth}, trained for a very long time" for depth in (4, 6)]


def problem(k, n, noises, *, signal=3.0, names=None):
    """Labels and models that differ in their noise; every fourth class is hard to separate from the next."""
    rng = np.random.default_rng(0)
    names = np.array([f"class {c:02d}" for c in range(k)] if names is None else names, dtype=object)
    codes = np.arange(n) % k
    means = np.eye(k)
    for c in range(0, k - 1, 4):
        means[c, c + 1] = means[c + 1, c] = 0.8
    common, own = rng.normal(size=(2, n, k))
    # Noise of their own, and tails: close models cross in the corner.
    models = {
        name: signal * means[codes] + common + noise * own * np.abs(own) ** power
        for power, (name, noise) in enumerate(noises.items())
    }
    return names[codes], models, names


def write_examples(folder):
    example = polyroc.load_example()
    evaluation = polyroc.evaluate(example.y_true, example.scores["tree"])
    write_html(evaluation, folder / "evaluation.html", title="A decision tree for handwritten digits")
    comparison = polyroc.compare(example.y_true, example.scores, method="bootstrap", rng=0)
    write_html(comparison, folder / "comparison.html", title="Three classifiers of handwritten digits")


def write_close(folder):
    y_true, models, labels = problem(8, 8000, {"ridge": 0.2, "forest": 0.25, "boosting": 0.12}, signal=6.5)
    comparison = polyroc.compare(y_true, models, labels=labels, method="bootstrap", n_resamples=199, rng=0)
    write_html(comparison, folder / "close.html", title="Three close models")


def write_others(folder):
    example = polyroc.load_example()
    costs = np.ones((10, 10))
    costs[3, 8], costs[8, 3], costs[:, 1] = 20, 0.5, 4
    judged = polyroc.compare(example.y_true, example.scores, method="bootstrap", rng=0, costs=costs, n_resamples=99)
    write_html(judged, folder / "costs.html", title="Digits, with costs")
    for k in (3, 50, 100):
        y_true, models, labels = problem(k, max(300, 20 * k), {"one": 0.5})
        write_html(polyroc.evaluate(y_true, models["one"], labels=labels), folder / f"k{k}.html")
    costs = np.ones((12, 12))
    costs[1, 2], costs[10, 11] = 17, 19
    y_true, models, labels = problem(12, 400, {LONG_MODELS[0]: 0.5, LONG_MODELS[1]: 1}, names=LONG_CLASSES)
    comparison = polyroc.compare(y_true, models, labels=labels, costs=costs, method="bootstrap", n_resamples=99, rng=0)
    write_html(comparison, folder / "long.html")


@contextmanager
def opened(browser, file, **options):
    context = browser.new_context(**options)
    page = context.new_page()
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    yield page
    context.close()


def save(picture, file):
    """With a palette, which takes a third of the room; of this kind it also holds the colours that are rare."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")


def part(page, first=None, last=None):
    """What lies between the tops of two sections, with some room around."""
    # Drawn only when somebody comes near to it.
    page.locator("#heatmap").scroll_into_view_if_needed()
    page.locator("#heatmap .heat-stage svg").wait_for(state="attached")
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(300)
    top = page.locator(first).bounding_box()["y"] - 24 if first else 0
    foot = page.locator(last).bounding_box()["y"] - 24 if last else page.locator("body").bounding_box()["height"]
    area = {"x": 0, "y": top, "width": page.viewport_size["width"], "height": foot - top}
    return page.screenshot(full_page=True, clip=area)


def change_cell(page, row, column, value):
    """Type a cost, as somebody who tries what it does; rows and columns of classes begin with 1."""
    page.locator(f'#explorer-grid td[data-r="{row + 1}"][data-c="{column + 1}"]').click()
    page.locator("#explorer-value").fill(str(value))
    page.keyboard.press("Enter")
    page.wait_for_timeout(1500)


def on_paper(browser, file, to, *, whole=False):
    with opened(browser, file, viewport=SHEET) as page:
        page.add_style_tag(content=MARGINS if whole else MARGINS + SECOND_SHEET)
        page.emulate_media(media="print")
        page.wait_for_timeout(500)
        save(page.screenshot(full_page=whole), to)


def for_docs(browser, made):
    for scheme in ("light", "dark"):
        wide = {"viewport": WIDE, "color_scheme": scheme}
        with opened(browser, made / "comparison.html", **wide) as page:
            save(part(page, None, "#explorer"), FOLDER / f"comparison-wide-{scheme}.png")
            change_cell(page, 8, 5, 100)
            save(part(page, "#explorer", "#words"), FOLDER / f"comparison-explorer-{scheme}.png")
        with opened(browser, made / "close.html", **wide) as page:
            save(part(page, "#curve-section", "#explorer"), FOLDER / f"close-corner-{scheme}.png")
        with opened(browser, made / "evaluation.html", **wide) as page:
            save(part(page, "#pairs-section", "#settings"), FOLDER / f"evaluation-pairs-{scheme}.png")
    with opened(browser, made / "evaluation.html", viewport=PHONE, is_mobile=True, has_touch=True) as page:
        save(part(page, None, "#curve-section"), FOLDER / "evaluation-phone-light.png")
    on_paper(browser, made / "comparison.html", FOLDER / "comparison-print.png")


def for_looking(browser, made, to):
    """Every page whole: wide, dark, on a phone, on paper."""
    screens = {
        "wide": {"viewport": WIDE},
        "dark": {"viewport": WIDE, "color_scheme": "dark"},
        "phone": {"viewport": PHONE, "is_mobile": True, "has_touch": True},
    }
    for file in sorted(made.glob("*.html")):
        for screen, options in screens.items():
            with opened(browser, file, **options) as page:
                if page.locator("#explorer-grid td").count():
                    change_cell(page, 0, 1, 50)
                save(part(page), to / f"{file.stem}-{screen}.png")
        on_paper(browser, file, to / f"{file.stem}-print.png", whole=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--look", type=Path, metavar="FOLDER", help="folder for more pictures, not for the repository")
    look = parser.parse_args().look
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("Chromium is not on the path; on Debian: apt-get install chromium")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        made = Path(folder)
        write_examples(made)
        write_close(made)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for_docs(browser, made)
        if look:
            look.mkdir(parents=True, exist_ok=True)
            write_others(made)
            for_looking(browser, made, look)
        browser.close()
    sizes = [path.stat().st_size for path in FOLDER.iterdir()]
    assert sum(sizes) < MOST_BYTES, f"{sum(sizes)} bytes are more than a repository should hold of pictures"
    assert max(sizes) < MOST_OF_ONE, f"a picture of {max(sizes)} bytes"


if __name__ == "__main__":
    main()
