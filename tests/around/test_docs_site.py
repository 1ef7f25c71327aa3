"""The script that looks through the built documentation finds what must not be there, and nothing else."""

import importlib.util
import sys

import pytest
from pages import ROOT

GOOD = """<!doctype html><html lang="en"><head><link rel="stylesheet" href="_static/a.css">
<link rel="canonical" href="https://example.org/"><script src="_static/a.js"></script></head>
<body><img src="a.png" alt="a curve"><h2 id="here">Here</h2>
<a href="#here">up</a> <a href="other.html#there">there</a> <a href="https://arxiv.org/abs/2404.13147">paper</a>
</body></html>"""
OTHER = '<html lang="en"><body><p id="there">There</p></body></html>'


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("check_site", ROOT / "scripts" / "check_site.py")
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def site(tmp_path):
    (tmp_path / "index.html").write_text(GOOD, encoding="utf-8")
    (tmp_path / "other.html").write_text(OTHER, encoding="utf-8")
    return tmp_path


def test_a_good_site_has_no_problems(script, site):
    assert script.problems(site) == []


@pytest.mark.parametrize(
    ("markup", "complaint"),
    [
        ('<script src="https://cdn.example.org/x.js"></script>', "loads https://cdn.example.org/x.js"),
        ('<link rel="preload" href="//fonts.example.org/x.woff2">', "loads //fonts.example.org/x.woff2"),
        ('<img src="http://example.org/x.png" alt="x">', "loads http://example.org/x.png"),
        ('<iframe src="https://example.org/"></iframe>', "loads https://example.org/"),
        ('<p style="background: url(https://example.org/x.png)">', "loads https://example.org/x.png"),
        ("<style>@import 'https://example.org/x.css';</style>", "loads https://example.org/x.css"),
        ('<img src="a.png">', "no text for image a.png"),
        ('<a href="missing.html">x</a>', "leads nowhere, missing.html"),
        ('<a href="other.html#missing">x</a>', "leads nowhere, other.html#missing"),
    ],
)
def test_what_is_wrong_is_found(script, site, markup, complaint):
    (site / "bad.html").write_text(f'<html lang="en"><body>{markup}</body></html>', encoding="utf-8")
    assert script.problems(site) == [f"bad.html: {complaint}"]


def test_style_sheets_are_looked_through(script, site):
    (site / "a.css").write_text("@font-face { src: url('https://example.org/x.woff2') }", encoding="utf-8")
    assert script.problems(site) == ["a.css: loads https://example.org/x.woff2"]


def test_an_empty_folder_is_no_site(script, tmp_path):
    assert len(script.problems(tmp_path)) == 1
