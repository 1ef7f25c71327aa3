"""Take pictures of the report in Chromium, on a wide screen, on a phone and on paper, into docs/images/report.

Needs Chromium on the path. The numbers are those of the embedded example; letters look as the fonts that are installed.
"""

import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import polyroc
from polyroc.report import write_html

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images" / "report"
WIDE, PHONE = {"width": 1280, "height": 1000}, {"width": 390, "height": 844}
# A4 at 96 dots per inch, and the margins of the page.
SHEET, MARGINS = {"width": 794, "height": 1123}, "body { padding: 14mm 15mm !important; }"
MOST_BYTES = 2_500_000


def write_reports(folder):
    example = polyroc.load_example()
    evaluation = polyroc.evaluate(example.y_true, example.scores["tree"])
    write_html(evaluation, folder / "evaluation.html", n_resamples=999, title="A decision tree for handwritten digits")
    comparison = polyroc.compare(example.y_true, example.scores, rng=0)
    write_html(comparison, folder / "comparison.html", title="Three classifiers of handwritten digits")


def opened(browser, address, **options):
    page = browser.new_context(**options).new_page()
    page.goto(address)
    page.wait_for_selector("html[data-ready]", state="attached")
    return page


def save(picture, name):
    """With a palette, which takes a third of the room; of this kind it also holds the colours that are rare."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(FOLDER / name, optimize=True)
    print(f"docs/images/report/{name}: {(FOLDER / name).stat().st_size / 1000:.0f} kB")


def from_to(page, first, last, width):
    """What lies between the tops of two sections, with some room around."""
    # Drawn only when somebody comes near to it.
    page.locator("#heatmap").scroll_into_view_if_needed()
    page.locator("#heatmap .heat-stage svg").wait_for(state="attached")
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(300)
    top = page.locator(first).bounding_box()["y"] - 24 if first else 0
    bottom = page.locator(last).bounding_box()["y"] - 24
    return page.screenshot(full_page=True, clip={"x": 0, "y": top, "width": width, "height": bottom - top})


def on_screens(browser, name, address):
    for scheme in ("light", "dark"):
        page = opened(browser, address, viewport=WIDE, color_scheme=scheme)
        save(from_to(page, None, "#pairs-section", WIDE["width"]), f"{name}-wide-{scheme}.png")
        save(from_to(page, "#pairs-section", "#costs", WIDE["width"]), f"{name}-pairs-{scheme}.png")
        page.context.close()
        page = opened(browser, address, viewport=PHONE, color_scheme=scheme, is_mobile=True, has_touch=True)
        save(from_to(page, None, "#pairs-section", PHONE["width"]), f"{name}-phone-{scheme}.png")
        page.context.close()


def on_paper(browser, name, address):
    page = opened(browser, address, viewport=SHEET)
    page.add_style_tag(content=MARGINS)
    page.emulate_media(media="print")
    page.wait_for_timeout(500)
    save(page.screenshot(), f"{name}-print.png")
    page.context.close()


def main():
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("Chromium is not on the path; on Debian: apt-get install chromium")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made, sync_playwright() as playwright:
        write_reports(Path(made))
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name in ("evaluation", "comparison"):
            address = (Path(made) / f"{name}.html").as_uri()
            on_screens(browser, name, address)
            on_paper(browser, name, address)
        browser.close()
    total = sum(path.stat().st_size for path in FOLDER.iterdir())
    assert total < MOST_BYTES, f"{total} bytes are more than a repository should hold of pictures"


if __name__ == "__main__":
    main()
