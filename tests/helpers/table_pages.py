"""What the tests of tables, heatmap and selection share: Chromium, and a page that is opened without a network."""

import os
import shutil
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = ["background-networking", "component-update", "sync", "gpu"]
ARGUMENTS = ["--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in QUIET)]
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


@contextmanager
def chromium():
    """Skipped where playwright or Chromium is missing; with POLYROC_BROWSER=1 that is a failure."""
    missing = [name for name in ("playwright", "axe_playwright_python") if find_spec(name) is None]
    missing += [] if CHROMIUM else ["chromium"]
    if missing:
        said = f"needs {', '.join(missing)}"
        pytest.fail(said, pytrace=False) if os.environ.get("POLYROC_BROWSER") == "1" else pytest.skip(said)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@contextmanager
def page_of(browser, path, hash_="", **options):
    """Afterwards nothing may have been fetched and nothing may have gone wrong."""
    address = path.as_uri()
    asked, wrong = [], []
    context = browser.new_context(offline=True, **{"viewport": {"width": 1280, "height": 900}, **options})
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url.partition("#")[0]))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.goto(address + hash_)
    if options.get("java_script_enabled", True):
        page.wait_for_selector("html[data-ready]", state="attached", timeout=20_000)
    yield page
    context.close()
    assert set(asked) == {address}
    assert wrong == []


def hash_of(page):
    return page.evaluate("location.hash")


def come_to_heatmap(page):
    """Drawn only when somebody comes near to it."""
    page.locator("#heatmap-section").scroll_into_view_if_needed()
    page.locator("#heatmap .heat-stage svg").wait_for(state="attached", timeout=5_000)


def cell_at(page, row, column):
    """The middle of a cell of the heatmap on the screen."""
    come_to_heatmap(page)
    page.locator("#heatmap .heat-stage").scroll_into_view_if_needed()
    return page.evaluate(
        """([row, column]) => {
          const stage = document.querySelector("#heatmap .heat-stage"), { left, top, cell } = stage.dataset;
          const box = stage.getBoundingClientRect();
          return [box.left + +left + (column + 0.5) * cell, box.top + +top + (row + 0.5) * cell];
        }""",
        [row, column],
    )


def table(page, selector):
    """The texts of the rows of a table."""
    script = "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.innerText.trim()))"
    return page.locator(f"{selector} tbody tr").evaluate_all(script)


def selected(page, selector):
    """Names in the selected rows of a table."""
    script = "(rows) => rows.map((row) => [...row.querySelectorAll('bdi')].map((name) => name.textContent))"
    rows = page.locator(f"{selector} tbody tr[aria-selected=true]")
    assert rows.count() == page.locator(f"{selector} tr.selected").count()
    return rows.evaluate_all(script)
