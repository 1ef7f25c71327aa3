"""One Chromium for each process of the tests, and pages that are rendered once."""

import pytest
from browser_pages import chromium, close_chromium, opened_page
from report_shelf import Shelf


@pytest.fixture(scope="session")
def browser():
    """Whoever asks for it, by itself or through `opened`, is marked `browser` (tests/conftest.py)."""
    return chromium()


def pytest_sessionfinish():
    close_chromium()


@pytest.fixture(scope="session")
def shelf(tmp_path_factory):
    return Shelf(tmp_path_factory.mktemp("reports"))


@pytest.fixture(scope="session")
def results(shelf):
    return shelf.results


@pytest.fixture(scope="session")
def summaries(shelf):
    return shelf.summaries


@pytest.fixture(scope="session")
def pages(shelf):
    """The texts of the pages."""
    return shelf.pages


@pytest.fixture(scope="session")
def opened(browser, shelf):
    """A function that opens a page by its name, or a file; `opened_page` says how."""
    return lambda name, *rest, **options: opened_page(
        shelf.files[name] if isinstance(name, str) else name, *rest, **options
    )
