"""The benchmarks run, on problems too small to tell anything about speed; no time is asserted."""

import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba")
pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")

pytestmark = pytest.mark.slow  # some twenty processes, one after the other

ROOT = Path(__file__).resolve().parents[2]
NUMBER = re.compile(r"(?<![\w.])(?:\d[\d,]*\.?\d*(?:e[+-]?\d+)?|nan|inf)(?=x\b|\b)")


@pytest.fixture(scope="module")
def docs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    shutil.copy(ROOT / "docs" / "benchmarks.md", folder)
    return folder


@pytest.fixture(scope="module")
def printed(docs):
    command = [sys.executable, "-m", "benchmarks", "--quick", "--write", str(docs)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def table(text, title):
    """Cells of a printed table, below its head and rule."""
    block = text.split(f"\n{title}\n\n")[1].split("\n\n")[0]
    return [re.split(r"\s{2,}", line) for line in block.splitlines()[2:]]


@pytest.mark.parametrize(
    ("title", "columns", "n_rows"),
    [
        ("Speed", slice(3, 8), 4),
        ("Standard errors", slice(2, 5), 4),
        ("Start", slice(1, 2), 2),
        ("Growth", slice(2, 5), 3),
    ],
)
def test_every_row_has_finite_numbers(printed, title, columns, n_rows):
    rows = table(printed, title)
    assert len(rows) >= n_rows
    for row in rows:
        for cell in row[columns]:
            numbers = NUMBER.findall(cell)
            assert numbers, cell
            assert all(math.isfinite(float(number.replace(",", ""))) for number in numbers), cell


def test_a_scaled_time_says_so(printed):
    assert "scaled from 50 of 190 pairs" in printed


def test_results_go_between_the_marks_of_the_page(printed, docs):
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    written = (docs / "benchmarks.md").read_text(encoding="utf-8")
    begin, end = re.findall(r"<!-- .*? -->", page)
    assert written.partition(begin)[0] == page.partition(begin)[0]
    assert written.partition(end)[2] == page.partition(end)[2]
    for title in ("Speed", "Start", "Growth"):
        for row in table(printed, title):
            assert f"| {row[0]} | {row[1]} | {row[2]} |" in written
    assert (docs / "images" / "growth.png").stat().st_size > 0


def test_a_quick_run_does_not_touch_the_documentation():
    command = [sys.executable, "-m", "benchmarks", "--quick", "--write"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "whole run" in done.stderr


def test_what_lies_beyond_a_curve_is_measured_in_evaluations():
    command = [sys.executable, "-m", "benchmarks._further", "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    added, decisions = (
        [re.split(r"\s{2,}", line) for line in part.splitlines()[2:]] for part in done.stdout.split("\n\n")
    )
    assert [row[1] for row in added][:2] == ["evaluate with M", "all measures"]
    assert added[0][3] == "1.00"
    assert all(float(row[3]) > 0 for row in added)
    assert [row[1] for row in decisions] == ["decide, cross-fitted"]
