"""Predictions from files in Python: the numbers and the rules of the command line."""

import copy
import json
import pickle
import sys

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from cli_files import CLASSES, animals  # noqa: E402
from pyarrow import csv as arrow_csv  # noqa: E402
from pyarrow import parquet  # noqa: E402

import polyroc  # noqa: E402
from polyroc.cli import main  # noqa: E402

N = 90
Y_TRUE, FIRST = animals(N, seed=1)
SECOND = 0.5 * animals(N, seed=2)[1] + 0.5 / 3
LABELS, ROWS = np.array(Y_TRUE), np.arange(N)


def columns_of(scores, prefix="p_"):
    return {f"{prefix}{name}": scores[:, j] for j, name in enumerate(CLASSES)}


def table_of(scores, rows=ROWS, **columns):
    return pa.table({"id": rows} | columns | {"label": LABELS[rows]} | columns_of(scores[rows]))


def write(table, path):
    if path.suffix == ".csv":
        arrow_csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        parquet.write_table(table, path)
    elif path.suffix == ".npz":
        np.savez(path, **{name: np.array(table[name].to_pylist()) for name in table.column_names})
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()))
    return path


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl", "npz"])
def test_a_file_gives_what_evaluate_takes(tmp_path, suffix):
    table = table_of(FIRST, w=np.linspace(1, 2, N), g=ROWS // 2)
    path = write(table.select(["id", "w", "g", "label", "p_owl", "p_cat", "p_dog"]), tmp_path / f"a.{suffix}")
    found = polyroc.read_predictions(path, target="label", sample_weight="w", groups="g")
    assert found.y_true.tolist() == Y_TRUE
    assert found.labels.tolist() == ["owl", "cat", "dog"]
    assert np.array_equal(found.y_score, FIRST[:, [2, 0, 1]])
    assert np.array_equal(found.sample_weight, np.linspace(1, 2, N))
    assert np.array_equal(found.groups, ROWS // 2)
    assert found.notes == ("not used as scores: 'id'",)
    assert repr(found).startswith("FilePredictions(n_samples=90, labels=['owl', 'cat', 'dog'], notes=[")
    auc = polyroc.evaluate(found.y_true, found.y_score, labels=found.labels, sample_weight=found.sample_weight).auc
    assert auc == pytest.approx(polyroc.auc_score(LABELS, FIRST, sample_weight=np.linspace(1, 2, N)), abs=1e-9)
    with pytest.raises(ValueError, match="read-only"):
        found.y_score[0, 0] = 1


def test_names_may_be_lists_patterns_or_arrays(tmp_path):
    path = write(pa.table({"y": np.arange(N) % 3} | {f"s, {j}": FIRST[:, j] for j in range(3)}), tmp_path / "a.csv")
    for scores in (["s, 0", "s, 1", "s, 2"], ["s*"], "s*"):
        for labels in (["0", "1", "2"], [0, 1, 2], "0,1,2", np.arange(3), range(3)):
            found = polyroc.read_predictions(str(path), target="y", scores=scores, labels=labels)
            assert found.labels.tolist() == [0, 1, 2]
            assert np.array_equal(found.y_score, FIRST)


def test_one_column_for_two_classes(tmp_path):
    y_true = np.where(ROWS % 3 == 0, "spam", "ham")
    path = write(pa.table({"y": y_true, "p_spam": FIRST[:, 0]}), tmp_path / "a.csv")
    found = polyroc.read_predictions(path, target="y")
    assert found.labels.tolist() == ["ham", "spam"]
    assert found.notes == ("one score column: 'p_spam' is the score of class 'spam'",)
    found_auc = polyroc.auc_score(found.y_true, found.y_score, labels=found.labels)
    assert found_auc == polyroc.auc_score(y_true, FIRST[:, 0])


def holed(scores, *rows):
    scores = scores.copy()
    scores[list(rows), 1] = np.nan
    return scores


def test_rows_with_missing_values(tmp_path):
    path = write(table_of(holed(FIRST, 4, 7)), tmp_path / "a.parquet")
    with pytest.raises(polyroc.InputError, match="`drop_missing=True` leaves out such rows") as caught:
        polyroc.read_predictions(path, target="label")
    assert caught.value.argument == "path"
    assert "--" not in str(caught.value)
    found = polyroc.read_predictions(path, target="label", drop_missing=True)
    kept = np.delete(ROWS, [4, 7])
    assert found.y_true.tolist() == LABELS[kept].tolist()
    assert np.array_equal(found.y_score, FIRST[kept])
    assert found.notes[0] == "dropped 2 of 90 rows with missing values: 2 of class 'dog'"


def test_several_files_give_what_compare_takes(tmp_path):
    order = np.random.default_rng(0).permutation(N)
    first = write(table_of(FIRST, g=ROWS // 2), tmp_path / "knn.csv")
    second = write(table_of(SECOND, order[order > 9]), tmp_path / "tree.parquet")
    given = {"target": "label", "key": "id", "groups": "g"}
    with pytest.raises(polyroc.InputError, match="`common=True` compares the rows that all files have") as caught:
        polyroc.read_paired_predictions([first, second], **given)
    assert caught.value.argument == "paths"
    found = polyroc.read_paired_predictions([first, second], **given, common=True)
    kept = ROWS[10:]
    assert found.y_true.tolist() == LABELS[kept].tolist()
    assert list(found.scores) == ["knn", "tree"]
    assert np.array_equal(found.scores["knn"], FIRST[kept])
    assert np.array_equal(found.scores["tree"], SECOND[kept])
    assert np.array_equal(found.key, kept)
    assert np.array_equal(found.groups, kept // 2)
    assert "10 rows of '" in found.notes[0]
    assert "0 rows of '" in found.notes[0]
    assert "PairedPredictions(n_samples=80, labels=['cat', 'dog', 'owl'], scores=['knn', 'tree']" in repr(found)
    for again in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert np.array_equal(again.scores["tree"], SECOND[kept])
        assert again.notes == found.notes


def test_models_of_one_file(tmp_path):
    first, second = holed(FIRST, 4), holed(SECOND, 7)
    kept = np.delete(ROWS, [4, 7])
    columns = {"label": LABELS} | columns_of(first, "a_") | columns_of(second, "b_")
    both = write(pa.table(columns), tmp_path / "both.csv")
    names = [f"b_{name}" for name in CLASSES]
    for models in ({"a": "a_*", "b": "b_*"}, {"a": "a_*", "b": names}):
        found = polyroc.read_paired_predictions(both, target="label", models=models, drop_missing=True)
        assert np.array_equal(found.scores["a"], FIRST[kept])
        assert np.array_equal(found.scores["b"], SECOND[kept])
        assert found.key is None
    parts = [table_of(scores, llm=[name] * N) for name, scores in (("a", first), ("b", second), ("c", FIRST))]
    long = write(pa.concat_tables(parts), tmp_path / "long.csv")
    found = polyroc.read_paired_predictions([long], target="label", model_column="llm=b,a", key="id", drop_missing=True)
    assert list(found.scores) == ["b", "a"]
    assert np.array_equal(found.scores["b"], SECOND[kept])
    one = polyroc.read_predictions(long, target="label", model_column="llm=c")
    assert np.array_equal(one.y_score, FIRST)
    with pytest.raises(polyroc.InputError, match="can be read in two ways") as caught:
        polyroc.read_predictions(long, target="label")
    message = str(caught.value)
    assert "`model_column='llm=a'`" in message
    assert "add `pooled=True`, or `groups='id'`" in message
    # A command stays a command.
    assert "--model-column llm`;" in message
    pooled = polyroc.read_predictions(long, target="label", pooled=True, drop_missing=True)
    assert len(pooled.y_true) == 3 * N - 2


def test_the_same_numbers_as_the_command_line(tmp_path, capsys):
    path = write(table_of(holed(FIRST, 4)), tmp_path / "a.csv")
    assert main(["evaluate", str(path), "--target", "label", "--drop-missing", "--method", "none", "--json"]) == 0
    by_command = json.loads(capsys.readouterr().out)
    found = polyroc.read_predictions(path, target="label", drop_missing=True)
    evaluation = polyroc.evaluate(found.y_true, found.y_score, labels=found.labels)
    assert (evaluation.auc, evaluation.hand_till) == (by_command["auc"], by_command["hand_till"])


WRONG = {
    "no file": ({"path": "none.csv"}, "path", "`path` must lead to predictions: 'none.csv' is not there"),
    "no path": ({"path": 3}, "path", "`path` must be a path, got 3"),
    "the standard input": ({"path": "-"}, "path", "is not there"),
    "a wrong column": ({"target": "lable"}, "target", "`target` must fit the file: no column 'lable' .* mean 'label'"),
    "no column": ({"target": None}, "target", "`target` must be the name of a column, got None"),
    "a number": ({"groups": 3}, "groups", "`groups` must be the name of a column, got 3"),
    "no names": ({"labels": []}, "labels", "`labels` must be a list of names"),
    "an array without an axis": ({"scores": np.array(1.0)}, "scores", "`scores` must be a list of names"),
    "other classes": ({"labels": ["a", "b"]}, "labels", "`labels`"),
    "no such scores": ({"scores": "q_*"}, "scores", "`scores` must fit the file: no column of .* matches 'q_\\*'"),
    "text for a flag": ({"pooled": "yes"}, "pooled", "`pooled` must be True or False, got 'yes'"),
    "two readings": ({"pooled": True, "model_column": "g"}, "pooled", "leave it out, or leave out `model_column`"),
    "no such model": (
        {"model_column": "g=z"},
        "model_column",
        "`model_column` must fit the file: no 'z' in column 'g'",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_names_the_argument(tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    write(table_of(FIRST, g=["x", "y", "z2"] * 30), tmp_path / "a.csv")
    options, argument, message = WRONG[case]
    with pytest.raises(polyroc.InputError, match=message) as caught:
        polyroc.read_predictions(**{"path": "a.csv", "target": "label"} | options)
    assert caught.value.argument == argument
    assert "--" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "argument", "message"),
    [
        ({"paths": []}, "paths", "must lead to at least one file, got none"),
        ({"paths": ["a.csv", 3]}, "paths", "`paths` must be a path, got 3"),
        ({"common": True}, "common", "`common` needs `key`, the column that identifies rows"),
        ({"paths": "a.csv"}, "paths", "compare needs two files"),
        ({"models": "a=p_*"}, "models", "`models` must map names of models"),
        ({"models": {"a=b": "p_*"}}, "models", "must map names of models"),
        ({"models": {"a": 3, "b": "p_*"}}, "models", "must map names of models"),
        ({"paths": "a.csv", "models": {"a": "p_*"}}, "models", "`models` must name at least two models"),
        ({"paths": "a.csv", "model_column": "g=x,zzz"}, "model_column", "no 'zzz' in column 'g'"),
    ],
)
def test_what_does_not_fit_several_files(tmp_path, monkeypatch, options, argument, message):
    monkeypatch.chdir(tmp_path)
    write(table_of(FIRST, g=["x", "y", "z2"] * 30), tmp_path / "a.csv")
    with pytest.raises(polyroc.InputError, match=message) as caught:
        polyroc.read_paired_predictions(**{"paths": ["a.csv", "a.csv"], "target": "label"} | options)
    assert caught.value.argument == argument


def test_without_pyarrow_the_extra_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("polyroc.cli._")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for read in (polyroc.read_predictions, polyroc.read_paired_predictions):
        with pytest.raises(
            ModuleNotFoundError, match=rf'`{read.__name__}` needs pyarrow: pip install "polyroc\[cli\]"'
        ):
            read("a.csv", target="label")
