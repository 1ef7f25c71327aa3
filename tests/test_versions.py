import platform
from importlib.metadata import version
from pathlib import Path

import polyroc
from polyroc._versions import versions


def test_versions_are_those_installed():
    found = versions()
    assert found["polyroc"] == polyroc.__version__ == version("polyroc")
    assert found["python"] == platform.python_version()
    assert found["numpy"] == version("numpy")


def test_the_citation_file_names_this_version():
    citation = (Path(__file__).resolve().parents[1] / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {polyroc.__version__}\n" in citation


def test_what_is_missing_is_said(monkeypatch):
    monkeypatch.setattr("polyroc._versions._OPTIONAL", ("no-such-package",))
    assert versions()["no-such-package"] == "not installed"


def test_show_versions_prints_a_line_for_each(capsys):
    polyroc.show_versions()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(versions())
