"""A real Chromium without a network: one for each process of the tests, and pages that are opened in it."""

import os
import re
import shutil
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib.util import find_spec

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = ["background-networking", "component-update", "sync", "gpu"]
ARGUMENTS = ["--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in QUIET)]
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
# Pixels of 180 mm by 271 mm, what A4 leaves between the margins.
PAPER = {"width": 680, "height": 1024}
_RUNNING = ExitStack()


@cache
def chromium():
    """The browser of this process, started when it is first asked for.

    Skipped where playwright or Chromium is missing; with POLYROC_BROWSER=1 that is a failure.
    """
    missing = [name for name in ("playwright", "axe_playwright_python") if find_spec(name) is None]
    missing += [] if CHROMIUM else ["chromium"]
    if missing:
        said = f"needs {', '.join(missing)}"
        pytest.fail(said, pytrace=False) if os.environ.get("POLYROC_BROWSER") == "1" else pytest.skip(said)
    from playwright.sync_api import sync_playwright

    playwright = _RUNNING.enter_context(sync_playwright())
    started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
    _RUNNING.callback(started.close)
    return started


def close_chromium():
    """When the tests are over; where none was started nothing happens."""
    _RUNNING.close()
    chromium.cache_clear()


@contextmanager
def opened_page(file, hash_="", *, ready=True, **options):
    """A page; afterwards nothing may have been fetched and nothing may have gone wrong."""
    address = file.as_uri()
    asked, wrong = [], []
    context = chromium().new_context(offline=True, **{"viewport": {"width": 1280, "height": 900}, **options})
    try:
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url.partition("#")[0]))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        page.goto(address + hash_)
        if options.get("java_script_enabled", True):
            if ready:
                page.wait_for_selector("html[data-ready]", state="attached", timeout=120_000)
            for name in ("emulate_media", "set_viewport_size"):
                setattr(page, name, _and_settled(page, getattr(page, name)))
        yield page
    finally:
        context.close()
    # A worker is made of the page's own text.
    assert {url for url in asked if not url.startswith("blob:")} == {address}
    assert wrong == []


# A browser tells a page with its next frames that something was unfolded, or that sizes, colours or media are others.
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"


def settled(page):
    """Wait until the page was told of what has happened."""
    page.evaluate(FRAMES)


def _and_settled(page, method):
    def call(*given, **options):
        method(*given, **options)
        settled(page)

    return call


def until(page, holds):
    """Wait for something; the page forbids the scripts by which playwright would wait. For two minutes."""
    for _ in range(2_400):
        if holds():
            return
        page.wait_for_timeout(50)
    pytest.fail("it never came")


def serious_violations(page, part=None):
    """What axe-core finds on the page or in a part of it, as far as it matters."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, part, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        (one["id"], [(node["html"][:160], node["failureSummary"]) for node in one["nodes"][:3]])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def n_sheets(document):
    """How many pages a PDF has."""
    return len(re.findall(rb"/Type\s*/Page\b", document))
