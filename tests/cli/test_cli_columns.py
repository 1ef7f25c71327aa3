"""Which columns are scores, and of which class; and what is said where that cannot be told."""

import json
import re

import numpy as np
import pyarrow as pa
import pytest
from cli_files import animal_table, animals
from pyarrow import csv as arrow_csv
from pyarrow import parquet

import polyroc
from polyroc.cli import main


@pytest.fixture
def evaluate(tmp_path, capsys):
    """Write a table, evaluate it without resamples; the summary, or the error."""

    def run(table, *options, suffix="parquet", code=0):
        path = tmp_path / f"table.{suffix}"
        write = arrow_csv.write_csv if suffix == "csv" else parquet.write_table
        write(table, path)
        options = options if "--target" in options else ("--target", "label", *options)
        assert main(["evaluate", str(path), "--method", "none", "--json", *options]) == code
        out, err = capsys.readouterr()
        if code == 0:
            return json.loads(out)
        assert out == ""
        assert err.count("\n") == 1
        return err

    return run


Y_TRUE, SCORES = animals()
EXPECTED = polyroc.evaluate(Y_TRUE, SCORES)


@pytest.mark.parametrize("prefix", ["", "p_", "probability of ", "c"])
def test_columns_are_matched_behind_any_prefix(evaluate, prefix):
    found = evaluate(animal_table(prefix))
    assert found["auc"] == EXPECTED.auc
    assert found["labels"] == ["cat", "dog", "owl"]
    assert found["source"]["scores"] == [f"{prefix}{name}" for name in ("cat", "dog", "owl")]


def without_dogs(names):
    """Probabilities of three classes, of which one has no samples."""
    probabilities = SCORES - SCORES.min() + 0.1
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    kept = np.array(Y_TRUE) != "dog"
    table = {"id": np.arange(kept.sum()), "label": np.array(Y_TRUE)[kept]}
    truth = polyroc.evaluate(table["label"], probabilities[kept], labels=["cat", "dog", "owl"])
    return pa.table(table | dict(zip(names, probabilities[kept].T, strict=True))), truth.accuracy


@pytest.mark.filterwarnings("ignore:No samples")
@pytest.mark.parametrize("options", [[], ["--stream", "--quiet"]])
def test_a_column_of_a_class_without_samples_is_not_left_out(evaluate, options):
    """Left out, it could not be the highest, and accuracy would be too high."""
    table, accuracy = without_dogs(["cat", "dog", "owl"])
    message = evaluate(table, *options, code=2)
    assert "'dog'" in message
    assert "--labels" in message
    if not options:
        assert "has no sample: name all classes, `--labels cat,dog,owl`, or choose" in message
    found = evaluate(table, *options, "--labels", "cat,dog,owl")
    assert found["accuracy"] == pytest.approx(accuracy, abs=1e-12)
    assert evaluate(table, *options, "--scores", "cat,owl")["accuracy"] > accuracy
    # Numbers that do not complete the rows are no scores.
    assert evaluate(animal_table("").append_column("dose", pa.array(np.linspace(0, 1, 60))), *options)


ORDER = ("owl", "cat", "dog")  # of the columns, which is not the sorted order
SHUFFLED = SCORES[:, [2, 0, 1]]


def table_of(names, y_true=Y_TRUE, scores=SHUFFLED):
    return pa.table({"label": y_true} | {name: scores[:, j] for j, name in enumerate(names)})


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("pattern", ["{}_prob", "p_{}_hat", "P({})", "{} %"])
def test_columns_are_matched_before_any_suffix(evaluate, suffix, pattern):
    found = evaluate(table_of([pattern.format(name) for name in ORDER]), suffix=suffix)
    assert found["auc"] == pytest.approx(EXPECTED.auc, abs=1e-9)
    assert found["labels"] == list(ORDER)


def test_labels_that_are_suggested_follow_the_columns(evaluate):
    """Sorted, as they once were, they gave the score of each class to another one."""
    table = table_of(["Owl (1)", "CAT (2)", "p of dog"])
    message = evaluate(table, code=2)
    assert message.rstrip().endswith("name the class of each column, `--labels owl,cat,dog`")
    found = evaluate(table, "--labels", "owl,cat,dog")
    assert found["auc"] == pytest.approx(EXPECTED.auc, abs=1e-9)
    assert "must be named after them" in evaluate(table, "--labels", "cat,dog,owl", code=2)


def test_an_id_is_not_named_as_a_class(evaluate):
    """Named as proposed, it became a class without samples, and its numbers the highest scores."""
    table = table_of(["Owl (1)", "CAT (2)", "p of dog"])
    with_id = table.append_column("id", pa.array(range(len(table))))
    message = evaluate(with_id, code=2)
    proposed = re.search("or name columns and classes, `--scores '(.*)'` and `--labels (.*)`$", message.rstrip())
    found = evaluate(with_id, "--scores", proposed[1], "--labels", proposed[2])
    assert found["labels"] == ["owl", "cat", "dog"]
    assert found["auc"] == pytest.approx(EXPECTED.auc, abs=1e-9)
    assert found["accuracy"] == EXPECTED.accuracy
    message = evaluate(with_id.rename_columns(["label", "a", "b", "c", "id"]), code=2)
    assert "or choose one column for each class with --scores, and name these classes in the same order" in message
    found = evaluate(table.rename_columns(["label", "a", "b", "c"]), "--scores", "a,b,c", "--labels", "owl,cat,dog")
    assert found["accuracy"] == EXPECTED.accuracy


def test_the_library_proposes_columns_and_classes(tmp_path):
    table = table_of(["Owl (1)", "CAT (2)", "p of dog"])
    parquet.write_table(table.append_column("id", pa.array(range(len(table)))), tmp_path / "table.parquet")
    with pytest.raises(ValueError, match="name columns and classes") as caught:
        polyroc.read_predictions(tmp_path / "table.parquet", target="label")
    scores, labels = re.search("`scores='(.*)'` and `labels='(.*)'`", str(caught.value)).groups()
    found = polyroc.read_predictions(tmp_path / "table.parquet", target="label", scores=scores, labels=labels)
    assert list(found.labels) == ["owl", "cat", "dog"]


def test_one_score_beside_an_id_is_proposed(evaluate):
    y_true = ["spam" if one == "owl" else "ham" for one in Y_TRUE]
    table = pa.table({"id": range(60), "label": y_true, "p_spam": SCORES[:, 2]})
    message = evaluate(table, code=2)
    assert message.rstrip().endswith("One score column is enough for two classes: `--scores p_spam`")
    expected = polyroc.auc_score(np.array(y_true) == "spam", SCORES[:, 2])
    assert evaluate(table, "--scores", "p_spam")["auc"] == pytest.approx(expected, abs=1e-12)


def test_two_models_by_suffix_and_a_pattern_that_would_take_both(evaluate):
    names = [f"{name}{end}" for end in ("_p", "_q") for name in ORDER]
    message = evaluate(table_of(names, scores=np.hstack([SHUFFLED, SHUFFLED])), code=2)
    assert "2 models, '*_p', '*_q': choose one, `--scores '*_p'`" in message
    assert "--models 'p=*_p,q=*_q'" in message
    names = [f"p_{name}{end}" for end in ("", "_error") for name in ORDER]
    table = table_of(names, scores=np.hstack([SHUFFLED, SHUFFLED]))
    message = evaluate(table, code=2)
    assert "`--scores p_owl,p_cat,p_dog`" in message
    assert evaluate(table, "--scores", "p_owl,p_cat,p_dog")["labels"] == list(ORDER)


def test_one_column_named_after_a_class_in_front_or_against_the_labels(evaluate):
    y_true, scores = animals(classes=("ham", "spam"))
    expected = pytest.approx(polyroc.auc_score(y_true, scores[:, 1]), abs=1e-12)
    assert evaluate(pa.table({"label": y_true, "ham_prob": scores[:, 0]}))["auc"] == expected
    assert evaluate(pa.table({"label": y_true, "p_ham": scores[:, 0]}), "--labels", "ham,spam")["auc"] == expected


def numbered(first, names):
    """Classes first to first + 3, without the last one, and four columns."""
    rng = np.random.default_rng(1)
    codes = np.arange(120) % 3
    scores = 1.5 * np.eye(4)[codes] + rng.normal(size=(120, 4))
    return codes + first, scores, table_of(names, codes + first, scores)


@pytest.mark.parametrize("names", [["p_0", "p_1", "p_2", "p_3"], ["0", "1", "2", "3"]])
def test_integers_from_one_on_and_columns_from_zero_on_are_refused(evaluate, names):
    y_true, scores, table = numbered(1, names)
    message = evaluate(table, code=2)
    assert "`--labels 0,1,2,3` if the classes are 0 to 3 or `--labels 1,2,3,4` if the classes are 1 to 4" in message
    found = evaluate(table, "--labels", "1,2,3,4")
    with pytest.warns(UserWarning, match="classes: 4"):
        expected = polyroc.auc_score(y_true, scores, labels=[1, 2, 3, 4])
    assert found["auc"] == expected > 0.8
    assert evaluate(numbered(0, names)[2])["auc"] == pytest.approx(expected, abs=1e-9)
    assert "not clear whether these numbers are classes" in evaluate(table, "--labels", "3,2,1,0", code=2)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("classes", [("10:00", "11:00", "12:00"), ("0:00", "1:00", "2:00"), ("a0", "a1", "a2")])
def test_times_are_classes_and_no_numbers_of_columns(evaluate, classes, suffix):
    """They were refused as columns that are only numbered."""
    found = evaluate(animal_table(classes=classes), suffix=suffix)
    assert found["labels"] == list(classes)
    assert found["auc"] == pytest.approx(EXPECTED.auc, abs=1e-9)


def test_integers_from_ten_on_are_classes_and_no_numbers_of_columns(evaluate):
    assert evaluate(animal_table(classes=(10, 11, 12)))["labels"] == [10, 11, 12]


def test_columns_of_an_npz_matrix_are_numbers_and_no_classes(tmp_path, capsys):
    y_true, scores, _ = numbered(1, "abcd")
    np.savez(tmp_path / "p.npz", label=y_true, p=scores)
    assert main(["evaluate", str(tmp_path / "p.npz"), "--target", "label", "--method", "none"]) == 2
    assert "`--labels 1,2,3,4` if the classes are 1 to 4" in capsys.readouterr().err
    np.savez(tmp_path / "p.npz", label=y_true, p=scores[:, :3])
    assert main(["evaluate", str(tmp_path / "p.npz"), "--target", "label", "--method", "none"]) == 2
    assert (
        "only numbered, 'p_0', 'p_1', 'p_2', so their classes are not known: `--labels 1,2,3`"
        in capsys.readouterr().err
    )


def test_order_of_columns_does_not_matter(evaluate):
    shuffled = animal_table().select(["p_owl", "p_cat", "label", "p_dog"])
    found = evaluate(shuffled)
    assert found["labels"] == ["owl", "cat", "dog"]
    assert found["auc"] == pytest.approx(EXPECTED.auc, abs=1e-9)


def test_classes_that_begin_alike_are_not_stripped_of_it(evaluate):
    classes = ("p1", "p10", "p11")
    found = evaluate(animal_table("p", classes))
    assert found["labels"] == list(classes)
    assert found["auc"] == EXPECTED.auc


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_integers_and_booleans_stay_what_they_are(evaluate, suffix):
    numbers = animal_table(classes=(3, 10, 2))
    assert evaluate(numbers, suffix=suffix)["labels"] == [3, 10, 2]
    booleans = animal_table(classes=(False, True))
    assert evaluate(booleans, suffix=suffix)["labels"] == [False, True]
    lower = booleans.rename_columns(["label", "p_false", "p_true"])
    assert evaluate(lower, suffix=suffix)["labels"] == [False, True]


def test_scores_by_pattern_and_by_list(evaluate):
    table = animal_table().append_column("other_cat", pa.array(np.zeros(60)))
    for scores in ("p_*", "p_cat,p_dog,p_owl", "p_c*,p_d?g,p_owl"):
        assert evaluate(table, "--scores", scores)["auc"] == EXPECTED.auc


def test_a_name_that_looks_like_a_pattern_is_a_name(evaluate):
    table = animal_table(classes=("[/x]", "a*", "b?"), prefix="")
    found = evaluate(table, "--scores", "[/x],a*,b?")
    assert found["labels"] == ["[/x]", "a*", "b?"]
    assert found["auc"] == EXPECTED.auc


def test_a_name_with_a_comma_stands_in_quotes(evaluate):
    table = animal_table(classes=("a,b", "c", "d"), prefix="")
    assert evaluate(table, "--scores", '"a,b",c,d')["labels"] == ["a,b", "c", "d"]


def test_columns_of_numbers_without_the_prefix_are_left_out(evaluate):
    found = evaluate(animal_table().append_column("fold", pa.array(np.arange(60) % 5)))
    assert found["auc"] == EXPECTED.auc
    assert "fold" not in found["source"]["scores"]


def test_columns_beside_those_named_as_the_classes_are_left_out(evaluate):
    y_true, scores = animals(classes=("ham", "spam"))
    columns = {"": np.arange(60), "ham": scores[:, 0], "spam": scores[:, 1], "w": np.full(60, np.nan)}
    found = evaluate(pa.table({"label": y_true} | columns))
    assert found["labels"] == ["ham", "spam"]
    assert found["auc"] == polyroc.auc_score(y_true, scores)


def test_labels_name_columns_by_position_or_by_name(evaluate):
    unnamed = animal_table().rename_columns(["label", "s1", "s2", "s3"])
    assert evaluate(unnamed, "--labels", "cat,dog,owl")["auc"] == EXPECTED.auc
    by_name = evaluate(animal_table(), "--labels", "owl,dog,cat")
    assert by_name["source"]["scores"] == ["p_owl", "p_dog", "p_cat"]
    assert by_name["auc"] == pytest.approx(EXPECTED.auc, abs=1e-9)


def test_one_column_belongs_to_the_class_it_is_named_after(evaluate):
    y_true, scores = animals(classes=("ham", "spam"))
    expected = polyroc.auc_score(y_true, scores[:, 1])
    for name, values in (("p_spam", scores[:, 1]), ("ham", scores[:, 0]), ("score", scores[:, 1])):
        found = evaluate(pa.table({"label": y_true, name: values}))
        assert found["auc"] == pytest.approx(expected, abs=1e-12)


def test_weights_and_groups_are_no_scores(evaluate):
    weight = np.arange(60) % 4 + 1.0
    table = animal_table("").append_column("w", pa.array(weight)).append_column("g", pa.array(np.arange(60) // 3))
    found = evaluate(table, "--sample-weight", "w", "--groups", "g")
    assert found["auc"] == polyroc.auc_score(Y_TRUE, SCORES, sample_weight=weight)


def test_costs_are_matched_by_name(evaluate, tmp_path):
    costs = np.array([[1, 5, 2], [3, 1, 4], [6, 7, 1.0]])
    expected = polyroc.auc_score(Y_TRUE, SCORES, costs=costs)
    file = tmp_path / "costs.csv"
    for text in (
        "cat,dog,owl\n1,5,2\n3,1,4\n6,7,1\n",
        "owl,dog,cat\n1,7,6\n4,1,3\n2,5,1\n",
        "true,dog,cat,owl\ndog,1,3,4\nowl,7,6,1\ncat,5,1,2\n",
    ):
        file.write_text(text)
        assert evaluate(animal_table(), "--costs", str(file))["auc"] == pytest.approx(expected, abs=1e-9)


WRONG_COSTS = {
    "1,5,2\n3,1,4\n6,7,1\n": "must have a header with the 3 classes",
    "cat,dog\n1,2\n2,1\n": "must have a header with the 3 classes",
    "cat,dog,owl\n1,5,2\n": "got 1 rows of cat, dog, owl",
    "cat,dog,owl,true\n1,5,2,cat\n3,1,4,dog\n6,7,1,bat\n": "must be named 'cat', 'dog', 'owl'",
    "cat,dog,owl\n1,-5,2\n3,1,4\n6,7,1\n": "--costs must be finite and positive",
    "named,cat,dog,owl\ncat,1,3,6\ndog,5,1,7\nowl,2,4,1\n": "got rows by column 'named': transpose the table",
}


@pytest.mark.parametrize("text", WRONG_COSTS)
def test_wrong_costs_are_refused(evaluate, tmp_path, text):
    (tmp_path / "costs.csv").write_text(text)
    assert WRONG_COSTS[text] in evaluate(animal_table(), "--costs", str(tmp_path / "costs.csv"), code=2)


NUMBERS = animal_table(classes=(1, 2, 3))
COSTS = np.array([[1, 5, 2], [3, 1, 4], [6, 7, 1.0]])
NUMBERED_COSTS = {
    "true,1,2,3\n3,6,7,1\n1,1,5,2\n2,3,1,4\n": "by name, in whatever order",
    "1,2,3\n1,5,2\n3,1,4\n6,7,1\n": "by position",
    ",1,2,3\n0,1,5,2\n1,3,1,4\n2,6,7,1\n": "by position, with the index that pandas writes",
}


@pytest.mark.parametrize("text", NUMBERED_COSTS)
def test_costs_of_numbered_classes(evaluate, tmp_path, text):
    (tmp_path / "costs.csv").write_text(text)
    found = evaluate(NUMBERS, "--costs", str(tmp_path / "costs.csv"))
    y_true = NUMBERS["label"].to_numpy()
    assert found["auc"] == pytest.approx(polyroc.auc_score(y_true, SCORES, costs=COSTS), abs=1e-9)


@pytest.mark.parametrize(
    "text",
    [
        "true,1,2,3\n3,6,7,1\n2,3,1,4\n4,1,5,2\n",
        "true,1,2,3\n0,1,5,2\n1,3,1,4\n2,6,7,1\n",
        "true,1,2,3\n01,1,5,2\n02,3,1,4\n03,6,7,1\n",
        "true,1,2,3\n1,1,5,2\n2,3,1,4\n,6,7,1\n",
        ",1,2,3\n3,6,7,1\n2,3,1,4\n4,1,5,2\n",
    ],
)
def test_numbers_that_name_rows_of_costs_must_name_the_classes(evaluate, tmp_path, text):
    """Taken by position they gave another D, without a word."""
    (tmp_path / "costs.csv").write_text(text)
    message = evaluate(NUMBERS, "--costs", str(tmp_path / "costs.csv"), code=2)
    first = text.split("\n")[1].split(",")[0]
    assert re.search(rf"must be named '1', '2', '3', by column '(true)?', got '{first}', '", message), message


def written(labels, names, **columns):
    """A table of text, so that labels stand in the file as they are."""
    values = {name: SCORES[:, j].astype(str) for j, name in enumerate(names)}
    return pa.table({"label": labels} | values | columns)


SPELLINGS = {
    "a zero": ("01", "1", "2"),
    "zeros everywhere": ("01", "02", "10"),
    "a plus": ("+1", "1", "2"),
    "minus nothing": ("-0", "0", "1"),
    "a fraction of nothing": ("1.0", "1", "2"),
    "an exponent": ("1e0", "1", "2"),
    "beyond 64 bits": ("18446744073709551617", "18446744073709551618", "1"),
    "case": ("true", "True", "false"),
    "a number for true": ("1", "true", "false"),
    "a day twice": ("2020-01-01", "2020-01-01 00:00:00", "2020-01-02"),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("quoted", [False, True])
def test_labels_of_text_files_are_what_is_written(tmp_path, capsys, spelling, quoted):
    """01 and 1 were one class; now they are text unless all of them are canonical numbers."""
    classes = SPELLINGS[spelling]
    labels = [classes[i % 3] for i in range(60)]
    path = tmp_path / "a.csv"
    # In quotes a number is text in the file, but not for Arrow.
    path.write_text(
        "label," + ",".join(f"p_{name}" for name in classes) + "\n"
        + "".join(
            (f'"{label}",' if quoted else f"{label},") + ",".join(map(str, row)) + "\n"
            for label, row in zip(labels, SCORES, strict=True)
        )
    )  # fmt: skip
    assert main(["evaluate", str(path), "--target", "label", "--method", "none", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert json.loads(out)["labels"] == list(classes)
    assert json.loads(out)["class_counts"] == [20, 20, 20]
    assert json.loads(out)["auc"] == pytest.approx(polyroc.auc_score(labels, SCORES, labels=classes), abs=1e-9)


CANONICAL = {"integers": (["1", "2", "30"], [1, 2, 30]), "negative": (["-1", "0", "1"], [-1, 0, 1])}
CANONICAL |= {"as pandas writes them": (["1.0", "2.0", "0.0"], [1, 2, 0]), "blanks": ([" 1", " 2", " 3"], [1, 2, 3])}


@pytest.mark.parametrize("case", CANONICAL)
def test_labels_that_are_all_canonical_numbers_are_numbers(evaluate, case):
    texts, classes = CANONICAL[case]
    table = written([texts[i % 3] for i in range(60)], [f"p_{label}" for label in classes])
    found = evaluate(table, suffix="csv")
    assert found["labels"] == classes
    assert found["class_counts"] == [20, 20, 20]


def test_a_spelling_without_a_column_is_refused(evaluate):
    message = evaluate(written(["01", "1", "2"] * 20, ["p_1", "p_2", "p_3"]), suffix="csv", code=2)
    assert "has no score column for '01' of the target's classes" in message


@pytest.mark.parametrize("names", [["1", "2", "01"], ["1", "2", "1_0"], ["1", "2", " 1"]])
def test_names_of_columns_are_what_is_written(evaluate, names):
    """int() reads 1_0 as 10, and 01 and 1 alike."""
    table = written(["1", "2"] * 30, [f"p_{name}" for name in names])
    found = evaluate(table, suffix="csv")
    assert found["labels"] == names
    assert found["class_counts"] == [30, 30, 0]


def test_groups_and_keys_are_what_is_written(tmp_path, capsys):
    """Where 01 and 1 are different patients, or different rows."""
    keys = [f"{'0' * (i % 2)}{i // 2 + 1}" for i in range(60)]
    for name in ("a", "b"):
        arrow_csv.write_csv(written(Y_TRUE, ["cat", "dog", "owl"], id=keys), tmp_path / f"{name}.csv")
    files = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    assert (
        main(
            [
                "compare",
                *files,
                "--target",
                "label",
                "--key",
                "id",
                "--method",
                "bootstrap",
                "--resamples",
                "9",
                "--json",
            ]
        )
        == 0
    )
    capsys.readouterr()
    call = [
        "evaluate",
        files[0],
        "--target",
        "label",
        "--groups",
        "id",
        "--method",
        "bootstrap",
        "--resamples",
        "19",
        "--json",
    ]
    assert main(call) == 0
    found = json.loads(capsys.readouterr().out)["confidence_interval"]
    evaluation = polyroc.evaluate(Y_TRUE, SCORES)
    low, high = evaluation.bootstrap(19, rng=0, groups=keys).confidence_interval()
    assert (found["low"], found["high"]) == pytest.approx((low, high), abs=1e-9)


WITH_NULL = animal_table().set_column(0, "label", pa.array([None, *Y_TRUE[1:]]))
WRONG = {
    "wrong target": (animal_table(), ["--target", "lable"], "no column 'lable' in .* Did you mean 'label'"),
    "wrong case": (animal_table(), ["--target", "LABEL"], "Did you mean 'label'"),
    "nothing near": (animal_table(), ["--target", "zzz"], "no column 'zzz' in .* It has 'label', 'p_cat'"),
    "wrong scores": (animal_table(), ["--scores", "p_cta,p_dog,p_owl"], "--scores: no column 'p_cta'"),
    "no match": (animal_table(), ["--scores", "q_*"], "no column of .* matches 'q_[*]'"),
    "no scores": (animal_table(), ["--scores", ","], "names no columns"),
    "wrong weight": (animal_table(), ["--sample-weight", "w"], "--sample-weight: no column 'w'"),
    "wrong groups": (animal_table(), ["--groups", "g"], "--groups: no column 'g'"),
    "text as scores": (
        animal_table().rename_columns(["label", "a", "b", "c"]),
        ["--scores", "label,b,c", "--labels", "cat,dog,owl"],
        "must hold numbers",
    ),
    "no column": (animal_table(), ["--scores", "p_cat,p_dog"], "no score column for 'owl'"),
    "scores of text": (
        animal_table().set_column(2, "p_dog", pa.array(["n/a"] * 60)),
        [],
        "no score column for 'dog' of the target's classes; it has 'p_cat', 'p_owl', and 'p_dog' without numbers",
    ),
    "no class": (
        animal_table().rename_columns(["label", "a", "b", "c"]),
        [],
        "'a', 'b', 'c', do not name the classes 'cat', 'dog', 'owl': .* in the order 'a', 'b', 'c', with --labels",
    ),
    "class to be quoted": (
        animal_table()
        .set_column(0, "label", pa.array(["<b>cat" if one == "cat" else one for one in Y_TRUE]))
        .rename_columns(["label", "P_<B>CAT", "P_DOG", "P_OWL"]),
        [],
        re.escape("--labels '<b>cat,dog,owl'"),
    ),
    "no labels": (animal_table(), ["--labels", ","], "--labels must name classes, got ','"),
    "labels too few": (
        animal_table().rename_columns(["label", "a", "b", "c"]),
        ["--labels", "cat,dog"],
        "as many classes as there are score columns, got 2 classes",
    ),
    "labels of others": (
        animal_table().rename_columns(["label", "a", "b", "c"]),
        ["--labels", "cat,dog,fox"],
        "--target must hold only classes of --labels",
    ),
    "missing labels": (WITH_NULL, [], "must not have missing values, got 1 of 60, the first in row 0"),
    "empty label": (
        animal_table().set_column(0, "label", pa.array(["", *Y_TRUE[1:]])),
        [],
        "must not have missing values, got 1 of 60",
    ),
    "fractions": (animal_table(), ["--target", "p_cat"], "Were --target and --scores swapped"),
    "lists": (pa.table({"label": [[1], [2]], "p": [0.1, 0.2]}), [], "must hold text, integers or booleans"),
    "only a target": (pa.table({"label": ["a", "b"]}), [], "has no columns of numbers besides 'label'"),
    "one class": (
        pa.table({"label": ["a", "a"], "a": [0.1, 0.2], "b": [0.9, 0.8]}),
        [],
        "must hold at least two classes, got only 'a'",
    ),
    "one column, three classes": (
        animal_table().select(["label", "p_cat"]),
        [],
        "one column, which is for two classes",
    ),
    "NaN": (
        animal_table().set_column(1, "p_cat", pa.array([np.nan] * 60)),
        [],
        "column 'p_cat' of '.*' must not have missing values, got 60 of 60, the first in row 0$",
    ),
    "weighting": (
        animal_table(),
        ["--weighting", "some"],
        "--weighting must be one of 'equal', 'prevalence', got 'some'",
    ),
    "level": (animal_table(), ["--confidence-level", "95"], "--confidence-level must be between 0 and 1"),
    "limit": (animal_table(), ["--max-fpr", "0"], r"--max-fpr must be in \(0, 1\], got 0"),
    "jobs": (animal_table(), ["--jobs", "0"], "--jobs must be"),
    "seed": (animal_table(), ["--seed", "-1"], "--seed must be"),
    "not a number": (animal_table(), ["--seed", "x"], "Invalid value for '--seed'"),
    "no resamples": (
        animal_table(),
        ["--method", "bootstrap", "--resamples", "0"],
        "got 0; --method none leaves the intervals out",
    ),
    "one resample": (
        animal_table(),
        ["--method", "bootstrap", "--resamples", "1"],
        "--resamples must be an integer from 2 to 10,000,000, got 1",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_refused_in_one_line(evaluate, case):
    table, options, expected = WRONG[case]
    message = evaluate(table, *options, code=2)
    assert message.startswith("polyroc: error: ")
    assert re.search(expected, message), message


def test_two_models_in_one_file_are_told_apart(evaluate):
    columns = {
        f"{model}_{name}": SCORES[:, j] for model in ("knn", "tree") for j, name in enumerate(("cat", "dog", "owl"))
    }
    table = pa.table({"label": Y_TRUE} | columns)
    message = evaluate(table, code=2)
    assert "holds the scores of 2 models, 'knn_*', 'tree_*'" in message
    assert "--models 'knn=knn_*,tree=tree_*'" in message
    assert evaluate(table, "--scores", "tree_*")["auc"] == EXPECTED.auc


def test_warnings_of_intervals_are_in_the_summary_too(evaluate):
    table = pa.table({"label": ["a", "b"] * 6, "a": [1.0, 0.0] * 6, "b": [0.0, 1.0] * 6})
    found = evaluate(table, "--method", "bootstrap", "--resamples", "9")
    assert found["auc"] == 1
    assert any("All 9 replicates" in warning for warning in found["warnings"])


def test_a_class_without_samples_is_warned_of(evaluate):
    y_true = ["dog" if name == "owl" else name for name in Y_TRUE]
    found = evaluate(animal_table().set_column(0, "label", pa.array(y_true)))
    assert found["labels"] == ["cat", "dog", "owl"]
    assert found["class_counts"] == [20, 40, 0]
    assert "No samples in --target" in found["warnings"][0]


def test_labels_in_another_order_than_the_columns_are_warned_of(evaluate):
    """On the standard error and in the summary, with and without an interval."""
    table = table_of(["s1", "s2", "s3"])
    expected = (
        "The scores rank samples backwards, by more than chance explains. The columns of --scores may be in another "
    )
    for method in ("none", "auto"):
        found = evaluate(table, "--labels", "cat,dog,owl", "--method", method)
        assert found["auc"] < 0.5
        assert sum(warning.startswith(expected) for warning in found["warnings"]) == 1
        right = evaluate(table, "--labels", "owl,cat,dog", "--method", method)
        assert right["auc"] == pytest.approx(EXPECTED.auc, abs=1e-9)
        assert not any("backwards" in warning for warning in right["warnings"])


def test_a_comparison_of_logits_and_probabilities_names_the_models(tmp_path, capsys):
    logits = np.log(SCORES) + np.random.default_rng(0).normal(size=(60, 1))
    for name, scores in (("soft", SCORES), ("raw", logits)):
        arrow_csv.write_csv(table_of(["cat", "dog", "owl"], scores=scores), tmp_path / f"{name}.csv")
    files = [str(tmp_path / "soft.csv"), str(tmp_path / "raw.csv")]
    assert main(["compare", *files, "--target", "label", "--method", "bootstrap", "--resamples", "19", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "note: the scores of model 'raw' go from " in err
    assert "The scores of 'soft' are probabilities, rows that sum to one; those of 'raw' are not." in err
    assert any("those of 'raw' are not" in warning for warning in json.loads(out)["warnings"])
    assert main(["evaluate", files[1], "--target", "label", "--method", "none"]) == 0
    assert "raw.csv' go from" in capsys.readouterr().err
