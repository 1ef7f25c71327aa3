"""A real Chromium without a network, for tests that open pages."""

import os
import shutil
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = ["background-networking", "component-update", "sync", "gpu"]
ARGUMENTS = ["--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in QUIET)]


@contextmanager
def chromium():
    """The browser; skipped where playwright or Chromium is missing, with POLYROC_BROWSER=1 a failure."""
    missing = ["playwright"] if find_spec("playwright") is None else []
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
def opened_page(browser, file, *, ready=True, **options):
    """A page; afterwards nothing may have been fetched and nothing may have gone wrong."""
    address = file.as_uri()
    asked, wrong = [], []
    context = browser.new_context(offline=True, **{"viewport": {"width": 1280, "height": 900}, **options})
    context.route("**/*", lambda route: route.continue_() if route.request.url == address else route.abort())
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.goto(address)
    if ready:
        page.wait_for_selector("html[data-ready]", state="attached", timeout=20_000)
    yield page
    context.close()
    assert asked == [address]
    assert wrong == []


def until(page, holds):
    """Wait for something; the page forbids the scripts by which playwright would wait."""
    for _ in range(100):
        if holds():
            return
        page.wait_for_timeout(50)
    pytest.fail("it never came")
