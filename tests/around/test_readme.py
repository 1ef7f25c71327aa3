"""What README and pages show is what happens: code runs as pasted and prints what is shown, links lead somewhere."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from pages import ROOT, blocks_of, differences, python_of, run, text_of
from sklearn.metrics import roc_auc_score

import polyroc

# Pages whose code runs without packages outside of `all` and `dev`, and without files that are not there.
PAGES = [
    "README.md",
    "docs/index.md",
    "docs/tutorial.md",
    "docs/agents.md",
    "docs/comparing.md",
    "docs/cost-matrix.md",
    "docs/costs.md",
    "docs/data-frames.md",
    "docs/decisions.md",
    "docs/delong.md",
    "docs/displays.md",
    "docs/faq.md",
    "docs/folds.md",
    "docs/groups.md",
    "docs/influence.md",
    "docs/interval-multiclass-auc.md",
    "docs/large.md",
    "docs/meaning.md",
    "docs/meta.md",
    "docs/planning.md",
    "docs/report.md",
    "docs/scikit-learn.md",
    "docs/uncertainty.md",
]
# Files that the code of a page says it writes.
WRITTEN = {"docs/tutorial.md": ("curves.png", "predictions.csv", "report.html", "comparison.html")}
SOURCES = ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]


# What a newcomer pastes first; the code of all other pages takes minutes.
FIRST = ("README.md", "docs/index.md", "docs/first-steps.md")


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[] if page in FIRST else [pytest.mark.slow]) for page in PAGES]
)
def test_code_runs_as_pasted_and_prints_what_is_shown(page, tmp_path):
    done = run(page, tmp_path)
    assert any(block.printed for block in done)
    assert all((tmp_path / name).stat().st_size > 0 for name in WRITTEN.get(page, ()))
    wrong = [
        f"{block.code}\n{one}" for block in done if block.shown for one in differences(block.shown, block.printed or "")
    ]
    assert not wrong, f"`python tests/helpers/pages.py {page}` writes what is printed now:\n" + "\n".join(wrong)


def test_the_code_in_the_readme_is_short():
    lines = [line for line in python_of("README.md").splitlines() if line.strip()]
    assert len(lines) <= 10


def test_every_number_in_the_prose_of_the_readme_is_computed():
    example, text = polyroc.load_example(), text_of("README.md")
    tree = polyroc.evaluate(example.y_true, example.scores["tree"])
    pair, scores = tree.worst_pair, example.scores["tree"]
    hand_till = roc_auc_score(example.y_true, scores / scores.sum(axis=1, keepdims=True), multi_class="ovo")
    ends = tree.confidence_interval(statistic="hand_till")
    areas = [f"{value:.3f}" for value in (hand_till, *ends, tree.auc, pair.auc)]
    right = f"{100 * np.mean(scores.argmax(axis=1) == example.y_true):.0f} %"
    oldest = tomllib.loads(text_of("pyproject.toml"))["project"]["requires-python"].removeprefix(">=")
    prose = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", "", text, flags=re.DOTALL)
    assert set(re.findall(r"\d[\d.,]*\d(?: %)?", prose)) == {
        *areas,
        right,
        oldest,
        str(len(tree.pairs)),
        "95 %",
        "10,000",
    }
    assert f"the same {areas[0]} with its ROC curve and a 95 % interval ({areas[1]} to {areas[2]})" in " ".join(
        text.split()
    )
    assert f"({pair.positive} against {pair.negative}, area {areas[4]})" in " ".join(text.split())
    # Measured on a card.
    assert "10,000 classes" in text_of("docs/gpu.md")


def test_shown_outputs_are_compared():
    assert sum(block.shown is not None for page in PAGES for block in blocks_of(page)) >= 30
    assert not differences("D = 0.915, p 1.1e-09\n", "D = 0.916,  p 1.2e-09\n")
    assert differences("D = 0.915\n", "D = 0.917\n")
    assert differences("999 resamples\n", "998 resamples\n")
    assert differences("logistic > knn\n", "knn > logistic\n")
    assert not differences("first\n...\n", "first\nsecond\n")


@pytest.mark.parametrize("page", SOURCES)
def test_links_lead_somewhere(page):
    # Sphinx looks at links within docs; this also sees what it would copy without a question, and the README.
    for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)[^)]*\)", re.sub(r"`[^`]*`", "", text_of(page))):
        assert ((ROOT / page).parent / target).is_file(), target


@pytest.mark.parametrize("page", SOURCES)
def test_pictures_are_described(page):
    for options in re.findall(r"^```\{(?:image|figure)\}.*?\n(.*?)^```", text_of(page), flags=re.DOTALL | re.MULTILINE):
        assert re.search(r"^:alt: \S", options, flags=re.MULTILINE)
    assert not re.search(r"!\[\]\(", text_of(page))


@pytest.mark.parametrize("page", SOURCES)
def test_pages_name_no_machine(page):
    assert not re.search(r"(?<![\w.~])/(?:home|root|tmp|work|Users)/", text_of(page)), page
    assert Path.home().as_posix() == "/" or f"{Path.home().as_posix()}/" not in text_of(page)
