"""Pages, help texts and code are in plain English: phrases that readers stumbled over and wrong claims stay out."""

import io
import re
import tokenize

import pytest
from cli_files import help_of
from pages import ROOT, blocks_of, text_of

PAGES = ["README.md"] + [
    f"docs/{name}.md"
    for name in (
        "index",
        "agents",
        "cost-matrix",
        "delong",
        "folds",
        "interval-multiclass-auc",
        "tutorial",
        "how-to",
        "comparing",
        "costs",
        "groups",
        "data-frames",
        "displays",
        "report",
        "cli",
        "large",
        "gpu",
        "planning",
        "scikit-learn",
        "training",
        "mlflow",
        "meta",
        "faq",
        "explanation",
        "evidence",
        "first-steps",
        "security",
    )
]
COMMANDS = ["", "evaluate", "compare", "plan", "demo"]
AVOIDED = {
    "more expensive": r"\bdear(er|est)?\b",
    "contain, cover": r"\bhold(s|ing)? the truth\b",
    "at most, up to, this many": r"\bso many\b|\bso far\b",
    "compared with": r"\bbeside\b",
    "because": r"standard error, for\b|, for (the fits|these are|they are)\b",
    "group of each sample": r"\bbelongs? together\b",
    "separate": r"\btold apart\b",
    "D can be smaller than M": r"at least M\b",
    "the coverage page has measured it": r"takes most\s+of\s+that away",
}
# Words that the code has given up, in docstrings, comments and messages; CONTRIBUTING.md has the glossary.
GIVEN_UP = {
    "structure": r"\b(rank-one|centered|saturated) model\b|\bmodel=.(rank-one|centered|saturated)\b",
    "approach": r"\bmodel=.(reitsma|moses)\b",
    "predicted": r"\bnever named\b|\bnames the right class\b|\bright class (is )?named\b|\bclass to name\b"
    r"|\bclass(es)? (that )?(is|are) (often )?named\b(?! after)|\bn_named\b|\bnaming classes\b",
    "predicted as": r"\bcosts? of taking\b|\bif taking\b|\bwrongly taken for\b|\btaken_for\b"
    r"|\bis taken for (an?|the|another)\b",
    "streamed, skipped": r"\b(is|are|were) passed over\b",
    "distinguish, separate, identify": r"\b(tells?|told)\b.{0,30}\bapart\b",
    "at most, up to, this many": r"\bso many\b",
    "more expensive": AVOIDED["more expensive"],
    "contain, cover": AVOIDED["contain, cover"],
    "group of each sample": AVOIDED["group of each sample"],
    "compared with, next to": r"\bbeside\b",
}
CODE = sorted((ROOT / "src" / "polyroc").rglob("*.py"))
INSTALL = "pip install '.[all]'"


def prose(page):
    return re.sub(r"^```.*?^```", "", text_of(page), flags=re.M | re.S)


def words_of_help(command):
    # As one line, without the frames that stand around it.
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", help_of(*command.split())).split())


@pytest.mark.parametrize("instead", AVOIDED)
@pytest.mark.parametrize("page", PAGES)
def test_pages_avoid(page, instead):
    found = re.search(AVOIDED[instead], prose(page), flags=re.I)
    assert found is None, f"{page}: {found[0]!r}, say: {instead}"


@pytest.mark.parametrize("page", PAGES)
def test_pages_tell_apart_at_most_once(page):
    assert len(re.findall(r"\btells?\b.{0,30}\bapart\b", prose(page))) <= 1


@pytest.mark.parametrize("page", PAGES)
def test_there_is_one_install_line(page):
    lines = set(re.findall(r"pip install [^`\n]*polyroc[^`\n]*|pip install '?\.[^`\n]*", text_of(page)))
    # What will do once it is published, which the README alone says.
    assert lines <= ({INSTALL, "pip install polyroc"} if page == "README.md" else {INSTALL})


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/tutorial.md", "docs/cli.md", "docs/mlflow.md"])
def test_pages_say_how_to_install(page):
    assert INSTALL in text_of(page)


def test_the_readme_says_when_no_clone_is_needed():
    assert "Once polyroc is published, `pip install polyroc` needs no clone." in " ".join(text_of("README.md").split())


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_in_plain_words(command):
    text = words_of_help(command)
    for instead, pattern in AVOIDED.items():
        assert not re.search(pattern, text, flags=re.I), instead


def test_help_says_what_options_choose():
    text = words_of_help("evaluate")
    assert "Implementation: numpy (reference), numba (compiled), torch (GPU); auto chooses by size." in text
    assert "own: each class's column has its own threshold; shared: one threshold for both columns of a pair" in text
    assert "Group of each sample, such as a patient ID. If given, groups are independent, not samples" in text


def test_the_first_screen_of_the_readme():
    text = text_of("README.md")
    order = ["one ROC curve", "docs/images/ninety-light.png", "make demo", INSTALL, "import polyroc", "```text"]
    order += ["four promises", 'multi_class="ovo"', "docs/images/curve.png"]
    order += ["| `roc_auc_score` | polyroc |", "## Compare models", "## The command line", "## What D means"]
    places = [text.index(one) for one in order]
    assert places == sorted(places)
    table = text[text.index("| `roc_auc_score` | polyroc |") :].partition("\n\n")[0]
    assert len(table.splitlines()) == 2 + 6
    assert len([line for line in blocks_of("README.md")[1].code.splitlines() if line]) == 5


def test_numbers_of_the_first_screen_are_those_that_are_printed():
    text = text_of("README.md")
    first = text.partition("| `roc_auc_score` | polyroc |")[0].partition("For a decision tree")[2].partition("```")[0]
    shown = blocks_of("README.md")[2].shown
    for said in ("0.867", "0.915", "0.471"):
        assert said in first
        assert any(f"{float(x):.3f}" == said for x in re.findall(r"\d\.\d{4}", shown))
    low, high = re.search(r"interval of M: (\S+) to (\S+)", shown).groups()
    assert f"95 % interval ({low} to {high})" in first


def test_the_page_on_the_method_names_the_file_of_each_step():
    section = text_of("docs/method.md").partition("## Where each step is in the code")[2].partition("\n## ")[0]
    named = re.findall(r"`(\w+/[\w/]+\.py)`", section)
    assert len(named) >= 15
    assert [name for name in named if not (ROOT / "src" / "polyroc" / name).is_file()] == []


def test_pages_say_that_d_is_not_monotone():
    for page in ("README.md", "docs/faq.md"):
        assert "not monotone" in text_of(page).replace("**", "")
    before, after = (
        re.search(rf"^{name} +D (\S+)  M (\S+)  accuracy (\S+)", text_of("docs/faq.md"), flags=re.M).groups()
        for name in ("before", "after")
    )
    # One pair improves and no other changes: D falls, and everything else rises.
    assert after[0] < before[0]
    assert after[1] > before[1]
    assert after[2] > before[2]


def words_of(source):
    """Comments and strings of a module, line by line; names are not words."""
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return "\n".join(token.string for token in tokens if token.type in kinds)


@pytest.fixture(scope="module")
def code():
    return {path.relative_to(ROOT): words_of(path.read_text(encoding="utf-8")) for path in CODE}


@pytest.mark.parametrize("instead", GIVEN_UP)
def test_the_code_avoids(code, instead):
    pattern = re.compile(GIVEN_UP[instead], flags=re.I)
    found = [f"{path}: {match[0]!r}" for path, text in code.items() for match in pattern.finditer(text)]
    assert not found, f"say: {instead}"


@pytest.mark.parametrize("instead", ["predicted", "predicted as", "streamed, skipped", "more expensive"])
def test_templates_of_the_report_avoid(instead):
    for path in sorted((ROOT / "src" / "polyroc" / "report" / "_templates").iterdir()):
        found = re.search(GIVEN_UP[instead], path.read_text(encoding="utf-8"), flags=re.I)
        assert found is None, f"{path.name}: {found[0]!r}, say: {instead}"


def test_words_of_a_module_are_its_comments_and_strings():
    words = words_of("beside = 1  # a comment\ntext = 'a string'\n")
    assert words == "# a comment\n'a string'"
