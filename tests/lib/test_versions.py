import importlib.util
import platform
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from parts import versions

import polyroc

ROOT = Path(__file__).resolve().parents[2]


def test_versions_are_those_installed():
    found = versions()
    assert found["polyroc"] == polyroc.__version__ == version("polyroc")
    assert found["python"] == platform.python_version()
    assert found["numpy"] == version("numpy")


def test_the_citation_file_names_this_version():
    citation = (Path(__file__).resolve().parents[2] / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {polyroc.__version__}\n" in citation


def test_what_is_missing_is_said(monkeypatch):
    monkeypatch.setattr("polyroc._lib.versions._OPTIONAL", ("no-such-package",))
    assert versions()["no-such-package"] == "not installed"


def test_show_versions_prints_a_line_for_each(capsys):
    polyroc.show_versions()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(versions())


def oldest():
    spec = importlib.util.spec_from_file_location("oldest", ROOT / "scripts" / "oldest.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_every_package_has_a_lower_bound_that_can_be_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lowest = oldest().lower_bounds(project)
    assert {"numpy", "scipy", "narwhals", "numba", "typer", "click", "rich", "pyarrow", "jinja2"} <= lowest.keys()


def test_of_two_lower_bounds_the_higher_one_is_tested():
    project = {"dependencies": ["a>=1.9"], "optional-dependencies": {"x": ["a>=1.10", "polyroc[y]"], "mlflow": ["b"]}}
    assert oldest().lower_bounds(project) == {"a": "1.10"}
    with pytest.raises(ValueError, match="'c' has no lower bound"):
        oldest().lower_bounds(project | {"dependencies": ["c"]})
