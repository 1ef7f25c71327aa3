import re
import subprocess
import sys
from pathlib import Path

import pytest

import polyroc

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def python_of(page: str) -> str:
    """All Python blocks of a page, as somebody would paste them one after the other."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return "\n".join(re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize(
    "page", ["README.md", "docs/quickstart.md", "docs/uncertainty.md", "docs/displays.md", "docs/scikit-learn.md"]
)
def test_python_runs_as_pasted(page, tmp_path):
    # A process of its own, away from the repository: nothing but the installed package helps.
    command = [sys.executable, "-W", "error", "-c", python_of(page)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_code_in_the_readme_is_short():
    lines = [line for line in python_of("README.md").splitlines() if line.strip()]
    assert len(lines) <= 10


def test_the_table_in_the_readme_is_what_the_code_above_it_prints():
    example = polyroc.load_example()
    text = repr(polyroc.compare(example.y_true, example.scores, rng=0))
    shown = re.search(r"^```text\n(Comparison.*?)^```", README, flags=re.DOTALL | re.MULTILINE)[1]
    number = r"[+-]?\d+\.\d+(?:e-\d+)?|\b\d+\b"
    assert re.sub(rf"{number}|\s+", "", shown) == re.sub(rf"{number}|\s+", "", text)
    # p values have two digits, the rest four decimals; another machine may round the last of them otherwise.
    for one, other in zip(re.findall(number, shown), re.findall(number, text), strict=True):
        assert float(one) == pytest.approx(float(other), abs=1.01e-4, rel=0.1 if "e-" in one else 0)


@pytest.mark.parametrize("target", re.findall(r"\]\((?!https?:)([^)]+)\)", README))
def test_links_lead_somewhere(target):
    assert (ROOT / target).is_file()
