"""The published schemas fit what the command line prints, for other files than those they were made from."""

import importlib.util
import json

import numpy as np
import pyarrow as pa
import pytest
from cli_files import animal_table, help_of
from pages import ROOT, text_of
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from polyroc.cli import main
from polyroc.cli._app import app

jsonschema = pytest.importorskip("jsonschema")

FOLDER = ROOT / "docs" / "_extra" / "schemas"
COMMANDS = {
    "evaluate": [
        "evaluate a.csv --target label",
        "evaluate a.csv --target label --method none --costs c.csv",
        "evaluate a.csv --target label --thresholds shared --structure saturated --max-pairs 4",
        "evaluate numbers.csv --target label --method bootstrap --resamples 9",
        "evaluate spam.csv --target label",
        "evaluate both.parquet --target label --scores b_* --stream --exact",
    ],
    "compare": [
        "compare a.csv b.csv --target label --measures",
        "compare a.csv best.csv --target label --report page.html",
        "compare spam.csv noise.csv --target label",
        "compare both.parquet --target label --models a=a_*,b=b_* --stream --measures",
        "demo",
    ],
    "plan": ["plan a.csv --target label --half-width 0.05", "plan numbers.csv --target label --half-width 0.03"],
    "decide": [
        "decide a.csv --target label --costs c.csv --rule bayes --save-rule rule.json",
        "decide numbers.csv --target label --costs n.csv --save-rule numbers.json",
    ],
    # Last, because it needs the rules.
    "decide-apply": [
        "decide b.csv --apply rule.json --out decided.csv",
        "decide numbers.csv --apply numbers.json --out decided.csv --force",
    ],
}


def schema_of(name):
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("schemas")
    tables = {name: animal_table(seed=seed) for name, seed in (("a", 3), ("b", 4))}
    classes = np.array(["cat", "dog", "owl"])
    right = np.array(tables["a"]["label"])[:, np.newaxis] == classes
    tables["best"] = pa.table(
        {"label": tables["a"]["label"], **{f"p_{c}": right[:, j] * 1.0 for j, c in enumerate(classes)}}
    )
    tables["numbers"] = animal_table(seed=5, classes=(0, 1, 2))
    # Of two classes, one column of scores.
    for name, seed in (("spam", 6), ("noise", 7)):
        tables[name] = animal_table(seed=seed, classes=("ham", "spam")).drop_columns(["p_ham"])
    for name, table in tables.items():
        arrow_csv.write_csv(table, made / f"{name}.csv")
    columns = {f"{model}_{c}": tables[model][f"p_{c}"] for model in "ab" for c in classes}
    parquet.write_table(pa.table({"label": tables["a"]["label"], **columns}), made / "both.parquet")
    (made / "c.csv").write_text("cat,dog,owl\n0,1,3\n1,0,1\n2,1,0\n", encoding="utf-8")
    (made / "n.csv").write_text("0,1,2\n0,1,3\n1,0,1\n2,1,0\n", encoding="utf-8")
    return made


@pytest.mark.parametrize("name", COMMANDS)
def test_outputs_fit_their_schema(name, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    schema = schema_of(name)
    for command in COMMANDS[name]:
        assert main([*command.split(), "--json", "--quiet"]) == 0
        printed = json.loads(capsys.readouterr().out)
        jsonschema.validate(printed, schema)
        if "best.csv" in command:
            assert printed["best"] == "best"


@pytest.mark.parametrize("name", COMMANDS)
def test_schemas_are_schemas_and_strict(name):
    schema = schema_of(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    # What a new key would be called cannot be forgotten here.
    assert schema["additionalProperties"] is False
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({}, schema)


def test_every_command_that_prints_json_has_a_schema():
    commands = {command.name for command in app.registered_commands}
    tried = {command.split()[0] for listed in COMMANDS.values() for command in listed}
    assert {name for name in commands if "--json" in help_of(name)} == tried


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
