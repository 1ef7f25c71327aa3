"""The published schemas fit what the command line prints, for other files than those they were made from."""

import importlib.util
import json

import pytest
from cli_files import animal_table
from pages import ROOT, text_of
from pyarrow import csv as arrow_csv

from polyroc.cli import main

jsonschema = pytest.importorskip("jsonschema")

FOLDER = ROOT / "docs" / "_extra" / "schemas"
COMMANDS = {
    "evaluate": ["evaluate a.csv --target label", "evaluate a.csv --target label --method none --costs c.csv"],
    "compare": ["compare a.csv b.csv --target label --measures"],
    "plan": ["plan a.csv --target label --half-width 0.05"],
    "decide": ["decide a.csv --target label --costs c.csv --rule bayes --save-rule rule.json"],
    # Last, because it needs the rule.
    "decide-apply": ["decide b.csv --apply rule.json --out decided.csv"],
}


def schema_of(name):
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("schemas")
    for name, seed in (("a", 3), ("b", 4)):
        arrow_csv.write_csv(animal_table(seed=seed), made / f"{name}.csv")
    (made / "c.csv").write_text("cat,dog,owl\n0,1,3\n1,0,1\n2,1,0\n", encoding="utf-8")
    return made


@pytest.mark.parametrize("name", COMMANDS)
def test_outputs_fit_their_schema(name, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    schema = schema_of(name)
    for command in COMMANDS[name]:
        assert main([*command.split(), "--json", "--quiet"]) == 0
        jsonschema.validate(json.loads(capsys.readouterr().out), schema)


@pytest.mark.parametrize("name", COMMANDS)
def test_schemas_are_schemas_and_strict(name):
    schema = schema_of(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    # What a new key would be called cannot be forgotten here.
    assert schema["additionalProperties"] is False
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({}, schema)


def test_every_schema_is_on_the_page_for_agents():
    page = text_of("docs/agents.md")
    assert sorted(path.stem for path in FOLDER.glob("*.json")) == sorted(COMMANDS)
    assert all(f"_extra/schemas/{name}.json" in page for name in COMMANDS)


def test_exit_codes_on_the_page_for_agents_are_those_of_the_command_line():
    codes = {
        page: [
            line.split("|")[1].strip() for line in text_of(page).splitlines() if line.startswith(("| 0", "| 1", "| 2"))
        ]
        for page in ("docs/agents.md", "docs/cli.md")
    }
    assert codes["docs/agents.md"] == codes["docs/cli.md"] == ["0", "1", "2", "130", "141"]


@pytest.fixture(scope="module")
def llms():
    spec = importlib.util.spec_from_file_location("llms", ROOT / "docs" / "_extensions" / "llms.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_llms_names_every_page_once(llms):
    pages = llms.pages_of(ROOT / "docs")
    text = llms.llms_of(pages)
    lines = [line for line in text.splitlines() if line.startswith("- [")]
    assert text.startswith("# polyroc\n\n> polyroc evaluates")
    assert len(lines) == len(pages)
    assert len({path.stem for path in (ROOT / "docs").glob("*.md")} - set(pages)) == len(llms.LEFT_OUT)
    assert all(line.partition("): ")[2] for line in lines)
