"""Whatever the command line proposes runs as it is pasted, and gives the right number."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from cli_files import CLASSES, animals
from pyarrow import csv as arrow_csv
from pyarrow import parquet

import polyroc
from polyroc.cli import main

N = 90
Y_TRUE, KNN = animals(N, seed=1)
TREE = 0.5 * animals(N, seed=2)[1] + 0.5 / 3
Y_TRUE, ROWS = np.array(Y_TRUE), np.arange(N)
OF = {"knn": polyroc.auc_score(Y_TRUE, KNN), "tree": polyroc.auc_score(Y_TRUE, TREE)}
BOTH = (OF["knn"], OF["tree"])
POOLED = polyroc.auc_score([*Y_TRUE, *Y_TRUE], np.vstack([KNN, TREE]))
POOLED_TWICE = 2 * (POOLED,)
SHUFFLED = np.random.default_rng(0).permutation(2 * N)
# The hints have commands without a resampling of their own.
QUICKLY = {"evaluate": ["--method", "none"], "compare": ["--method", "bootstrap", "--resamples", "9"]}


def scored(scores, prefix="p_", names=CLASSES, **columns):
    return pa.table(columns | {f"{prefix}{name}": scores[:, j] for j, name in enumerate(names)})


def long_table(**columns):
    """Two models below each other, in whatever order."""
    return scored(np.vstack([KNN, TREE]), label=np.tile(Y_TRUE, 2), **columns).take(SHUFFLED)


def of_rows(rows, scores=KNN):
    return polyroc.auc_score(Y_TRUE[rows], scores[rows])


NAMES = ["knn"] * N + ["tree"] * N
HOLED = KNN.copy()
HOLED[4, 1] = np.nan
CODES = np.arange(N) % 3
# Bins cannot tell these apart; their order is that of the scores.
NARROW = [0.5 + scores / 1000 for scores in (KNN, TREE)]
OF_NARROW = tuple(polyroc.auc_score(Y_TRUE, scores) for scores in NARROW)
FOUR = np.column_stack([KNN, 0.01 * KNN[:, 0]])


def write_files(folder):
    tables = {
        "knn.csv": scored(KNN, id=ROWS, label=Y_TRUE),
        "tree.csv": scored(TREE, id=ROWS, label=Y_TRUE),
        "both.csv": pa.table({"label": Y_TRUE, "w": np.ones(N)} | columns_of("knn_", KNN) | columns_of("tree_", TREE)),
        "suffixes.csv": pa.table({"label": Y_TRUE} | columns_of("p_", KNN) | columns_of("p_", TREE, "_b, c")),
        "long.csv": long_table(id=np.tile(ROWS, 2), llm=NAMES),
        "rest.csv": long_table(id=np.tile(ROWS, 2), shift=NAMES),
        "odd.parquet": long_table(**{"case no.": np.tile(ROWS, 2), "the llm": ["a, b"] * N + ["it's"] * N}),
        "short.csv": long_table(**{"case": np.tile(ROWS, 2), "llm": NAMES}).filter(pa.array(SHUFFLED != 3)),
        "model.parquet": long_table(model=NAMES),
        "ordered.csv": scored(np.vstack([KNN, TREE]), label=np.tile(Y_TRUE, 2), model=NAMES),
        "unnamed.csv": pa.table({"label": Y_TRUE, "CAT (1)": KNN[:, 0], "Owl": KNN[:, 2], "p of dog": KNN[:, 1]}),
        "numbered.csv": scored(FOUR, names=range(4), label=CODES + 1),
        "absent.csv": pa.table({"label": Y_TRUE[CODES != 1]} | columns_of("", KNN[CODES != 1])),
        "holed.csv": scored(HOLED, id=ROWS, label=Y_TRUE),
        "holed.parquet": scored(HOLED, label=Y_TRUE),
        "unlabelled.parquet": scored(KNN, label=pa.array(Y_TRUE, mask=ROWS == 3)),
        "some.csv": scored(TREE[:80], id=ROWS[:80], label=Y_TRUE[:80]),
        "repeated.csv": scored(KNN, id=ROWS // 3, label=Y_TRUE),
        "narrow.parquet": pa.table({"label": Y_TRUE} | columns_of("knn_", NARROW[0]) | columns_of("tree_", NARROW[1])),
    }
    for name, table in tables.items():
        write = arrow_csv.write_csv if name.endswith("csv") else parquet.write_table
        write(table, folder / name)
    (folder / "costs.csv").write_text("cat,dog,owl\n0,1,4\n1,0,1\n1,1,0\n")
    (folder / "kept.html").write_text("<p>mine</p>")
    (folder / "predictions.csv").write_bytes((folder / "knn.csv").read_bytes())


def columns_of(prefix, scores, suffix=""):
    return {f"{prefix}{name}{suffix}": scores[:, j] for j, name in enumerate(CLASSES)}


COSTED = polyroc.auc_score(Y_TRUE, KNN, costs=[[0, 1, 4], [1, 0, 1], [1, 1, 0]])
COSTED_TREE = polyroc.auc_score(Y_TRUE, TREE, costs=[[0, 1, 4], [1, 0, 1], [1, 1, 0]])
with pytest.warns(UserWarning, match="classes: 4"):
    NUMBERED = polyroc.auc_score(CODES + 1, FOUR, labels=range(1, 5))
KEPT = np.delete(ROWS, 4)
NOT_THREE = np.delete(ROWS, 3)
# A command, and the D of the models that each of its proposals must give.
CASES = {
    "several models in columns": ("evaluate both.csv --target label --sample-weight w", [OF["knn"], BOTH]),
    "several models with costs": (
        "evaluate both.csv --target label --sample-weight w --costs costs.csv --weighting prevalence",
        [None, None],
    ),
    "a pattern that takes both": ("evaluate suffixes.csv --target label", [OF["knn"], BOTH]),
    "a long file": ("evaluate long.csv --target label", [OF["tree"], BOTH[::-1], POOLED, POOLED]),
    "a long file with costs": (
        "evaluate long.csv --target label --costs costs.csv",
        [COSTED_TREE, (COSTED_TREE, COSTED), None, None],
    ),
    "a long file of odd names": ("evaluate odd.parquet --target label", [OF["tree"], BOTH[::-1], POOLED, POOLED]),
    "a long file with a lost row": ("evaluate short.csv --target label", [OF["tree"], None, None, None]),
    "a long file without a key": ("evaluate model.parquet --target label", [OF["tree"], POOLED]),
    "a long file in order": ("evaluate ordered.csv --target label", [OF["knn"], BOTH, POOLED]),
    "a column of models": ("evaluate long.csv --target label --model-column llm", [OF["tree"], BOTH[::-1]]),
    "two models, named": (
        "evaluate long.csv --target label --model-column llm=knn,tree",
        [OF["knn"], BOTH],
    ),
    "a long file in a comparison": ("compare long.csv --target label", [BOTH[::-1]]),
    "a long file in decide": (
        "decide long.csv --target label --costs costs.csv",
        [None, (COSTED_TREE, COSTED), None, None],
    ),
    "a long file among others": ("compare long.csv rest.csv --target label", [BOTH[::-1], POOLED_TWICE, POOLED_TWICE]),
    "a long file in plan": ("plan long.csv --target label --half-width 0.01", [None, BOTH[::-1], None]),
    "a long file that is streamed": ("evaluate model.parquet --target label --stream", [OF["knn"], None]),
    "names in another case": ("evaluate unnamed.csv --target label", [OF["knn"]]),
    "columns that are numbered": ("evaluate numbered.csv --target label", [None, NUMBERED]),
    "a class without samples": ("evaluate absent.csv --target label", [None]),
    "a missing score": ("evaluate holed.csv --target label", [of_rows(KEPT)]),
    "a missing score in a stream": ("evaluate holed.parquet --target label --stream", [of_rows(KEPT)]),
    "a missing label in a stream": ("evaluate unlabelled.parquet --target label --stream", [of_rows(NOT_THREE)]),
    "a missing score in a comparison": (
        "compare knn.csv holed.csv --target label --key id",
        [(of_rows(KEPT), of_rows(KEPT))],
    ),
    "rows that one file lacks": (
        "compare knn.csv some.csv --target label --key id",
        [(of_rows(ROWS[:80]), of_rows(ROWS[:80], TREE))],
    ),
    "ids that repeat": ("evaluate repeated.csv --target label", [OF["knn"]]),
    "a page that is there": ("evaluate knn.csv --target label --report kept.html", [OF["knn"]]),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said_by(arguments, capsys):
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def proposals(command, text):
    """Commands between backquotes, and options between backquotes together with the command they are for."""
    for proposal in re.findall(r"`((?:polyroc |--)[^`]*)`", text):
        words = shlex.split(proposal)
        yield words[1:] if words[0] == "polyroc" else [*shlex.split(command), *words]


def areas(arguments, capsys):
    """D of each model by one command, which must succeed."""
    quickly = QUICKLY.get(arguments[0], [])
    code, out, err = said_by([*arguments, *quickly, "--json"], capsys)
    assert code == 0, f"polyroc {shlex.join(arguments)}: {err}"
    found = json.loads(out)
    if arguments[0] == "compare":
        return tuple(one["value"] for one in found["auc"]["estimates"])
    return found.get("auc")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_what_is_proposed_runs_and_gives_the_right_number(case, folder, capsys):
    command, expected = CASES[case]
    words = shlex.split(command)
    _, _, err = said_by([*words, *QUICKLY.get(words[0], [])], capsys)
    proposed = list(proposals(command, err))
    assert len(proposed) == len(expected), err
    for arguments, right in zip(proposed, expected, strict=True):
        found = areas(arguments, capsys)
        if right is not None:
            assert found == pytest.approx(right, abs=1e-9), arguments


KNN_ALONE = "narrow.parquet --target label --scores 'knn_*'"
BOTH_NARROW = "narrow.parquet --target label --models 'knn=knn_*,tree=tree_*'"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (f"evaluate {KNN_ALONE} --stream", [OF_NARROW[0], OF_NARROW[0]]),
        (f"evaluate {KNN_ALONE} --stream --method none", [OF_NARROW[0], OF_NARROW[0]]),
        (f"evaluate {KNN_ALONE} --exact", [OF_NARROW[0]]),
        (f"evaluate many/{KNN_ALONE} --exact --checkpoint state.npz", [OF_NARROW[0]]),
        (f"compare {BOTH_NARROW} --stream", [OF_NARROW]),
    ],
)
def test_what_is_proposed_for_scores_that_bins_cannot_tell_apart(command, expected, folder, capsys):
    (folder / "many").mkdir()
    (folder / "many" / "narrow.parquet").write_bytes((folder / "narrow.parquet").read_bytes())
    code, _, err = said_by(shlex.split(command), capsys)
    assert (code, "bins" in err) == (2, True)
    found = []
    for arguments in proposals(command, err):
        code, out, err = said_by([*arguments, "--json"], capsys)
        assert code == 0, err
        record = json.loads(out)["auc"]
        found.append(record if isinstance(record, float) else tuple(one["value"] for one in record["estimates"]))
    assert np.array(found) == pytest.approx(np.array(expected), abs=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_what_a_warning_of_bins_proposes_is_of_the_command_line(folder, capsys):
    table = pa.table({"label": Y_TRUE} | columns_of("p_", KNN + 2))
    parquet.write_table(table, folder / "moved.parquet")
    command = ["evaluate", "moved.parquet", "--target", "label", "--json"]
    code, _, err = said_by([*command, "--stream"], capsys)
    assert code == 0
    assert "warning: Bins can move M by up to" in err
    assert "`" not in err
    assert set(re.findall(r"--[a-z-]+", err)) == {"--no-stream", "--exact"}
    for option in ("--no-stream", "--exact"):
        assert areas([*command[:-1], option], capsys) == pytest.approx(OF["knn"], abs=1e-9)
    constant = float(re.search(r"Subtract (\S+) from all scores", err)[1])
    moved = pa.table({"label": Y_TRUE} | columns_of("p_", KNN + 2 - constant))
    parquet.write_table(moved, folder / "moved.parquet")
    assert areas([*command[:-1], "--stream"], capsys) == pytest.approx(OF["knn"], abs=1e-3)


def test_the_constant_that_is_proposed_where_nothing_else_helps(folder, capsys):
    """A comparison in a folder: its files cannot be read into memory, and p values need standard errors."""
    (folder / "many").mkdir()
    (folder / "narrow.parquet").rename(folder / "many" / "narrow.parquet")
    command = ["compare", "many", "--target", "label", "--models", "knn=knn_*,tree=tree_*", "--json"]
    code, _, err = said_by(command, capsys)
    assert (code, "`" in err) == (2, False)
    constant = float(re.search(r"Subtract (\S+) from all scores", err)[1])
    moved = [scores - constant for scores in NARROW]
    table = pa.table({"label": Y_TRUE} | columns_of("knn_", moved[0]) | columns_of("tree_", moved[1]))
    parquet.write_table(table, folder / "many" / "narrow.parquet")
    code, out, err = said_by(command, capsys)
    assert code == 0, err
    assert [one["value"] for one in json.loads(out)["auc"]["estimates"]] == pytest.approx(OF_NARROW, abs=1e-3)


def test_the_lost_row_of_a_model_is_left_out_of_all(folder, capsys):
    _, _, err = said_by(["evaluate", "short.csv", "--target", "label"], capsys)
    comparing = next(one for one in proposals("", err) if one and one[0] == "compare")
    assert comparing[-3:] == ["--key", "case", "--common"]
    right = (of_rows(NOT_THREE, TREE), of_rows(NOT_THREE))
    assert areas(comparing, capsys) == pytest.approx(right, abs=1e-9)


def test_options_that_cannot_be_given_are_not_proposed(folder, capsys):
    """A key needs all rows in memory, which --no-stream cannot do for a folder nor with --exact."""
    (folder / "many").mkdir()
    (folder / "model.parquet").rename(folder / "many" / "model.parquet")
    for call in (["many", "--stream"], ["many/model.parquet", "--exact"]):
        code, _, err = said_by(["evaluate", *call, "--target", "label", "--drop-missing"], capsys)
        assert (code, list(proposals("", err))) == (2, [])
        code, _, err = said_by(["evaluate", *call, "--target", "label"], capsys)
        assert (code, list(proposals("", err))) == (2, [["--pooled"]])
        assert said_by(["evaluate", *call, "--target", "label", "--pooled"], capsys)[0] == 0
    # All rows have a missing value: nothing would be left.
    arrow_csv.write_csv(scored(KNN * np.nan, label=Y_TRUE), folder / "empty.csv")
    assert "--drop-missing" not in said_by(["evaluate", "empty.csv", "--target", "label"], capsys)[2]
    # Groups are given.
    code, _, err = said_by(["evaluate", "repeated.csv", "--target", "label", "--groups", "id"], capsys)
    assert (code, "--groups" in err) == (0, False)


# What is printed below the numbers, and the D that each command there must give.
NEXT = {
    "evaluate knn.csv --target label": [OF["knn"]] * 4 + [BOTH],
    "evaluate holed.csv --target label --drop-missing": [of_rows(KEPT)] * 4 + [(of_rows(KEPT), of_rows(KEPT, TREE))],
    "evaluate long.csv --target label --model-column llm=knn": [OF["knn"]] * 4 + [BOTH[::-1]],
    "evaluate long.csv --target label --pooled --groups id": [POOLED] * 4,
    "evaluate both.csv --target label --scores 'knn_*' --costs costs.csv": [COSTED] * 4,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("command", NEXT)
def test_what_comes_next_runs_and_gives_the_right_number(command, folder, capsys):
    code, out, err = said_by([*shlex.split(command), *QUICKLY["evaluate"]], capsys)
    assert code == 0, err
    lines = [line.partition("polyroc ")[2] for line in out.partition("\nNext\n")[2].splitlines()]
    calls = [shlex.split(line) for line in lines if line]
    # The file of the other model is the user's.
    calls = [["tree.csv" if word == "OTHER" else word for word in call] for call in calls]
    for call, right in zip(calls, NEXT[command], strict=False):
        assert areas(call, capsys) == pytest.approx(right, abs=1e-9), call
    assert len(calls) >= len(NEXT[command])


@pytest.mark.parametrize(
    "command",
    [
        "compare knn.csv tree.csv --target label",
        "evaluate odd.parquet --target label --stream --pooled",
        "demo",
    ],
)
def test_hints_name_options_that_run_and_were_not_given(command, folder, capsys):
    words = [
        *shlex.split(command),
        *(
            {
                "compare": ["--method", "bootstrap", "--resamples", "9"],
                "demo": ["--method", "bootstrap", "--resamples", "9"],
            }.get(command[:7].strip(), [])
        ),
    ]
    _, out, _ = said_by(words, capsys)
    hints = out.partition("\nNext\n")[2].strip()
    if hints.startswith("polyroc "):
        assert areas(shlex.split(re.match(r"polyroc (.*) judges", hints)[1]), capsys) == pytest.approx(OF["knn"])
        return
    options = [shlex.split(option) for option in re.findall(r"--[a-z]+(?: \S+\.\w+)?", hints)]
    assert options
    for option in options:
        code, out, err = said_by([*words, *option], capsys)
        assert code == 0, err
        assert option[0] not in out.partition("\nNext\n")[2]
        if len(option) > 1:
            assert Path(option[1]).stat().st_size > 0


def test_nothing_comes_next_after_a_pipe(folder, capsys, monkeypatch):
    with (folder / "knn.csv").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        code, out, _ = said_by(["evaluate", "-", "--target", "label", *QUICKLY["evaluate"]], capsys)
    assert (code, "polyroc" in out) == (0, False)
