"""The one decision about columns that frames, files, Parquet and Spark share, before anybody words it."""

import numpy as np
import pytest

from polyroc._inputs.checks import InputError
from polyroc._inputs.columns import Affixes, Known, Said, Trouble, assign_columns, find_columns
from polyroc._inputs.labels import classes_like

ANIMALS = ["cat", "dog", "owl"]
P = Affixes("p_", "")


def found(classes, names, given=None, rows=None):
    return find_columns(Known(classes, given, None), names, rows)


def test_columns_that_belong_to_no_class_are_left_out_only_if_they_may_be():
    names = ["id", "p_owl", "p_cat", "p_dog"]
    assert found(ANIMALS, names).trouble is Trouble.OTHERS
    finding = found(ANIMALS, names, rows=lambda names: None)
    assert (finding.columns, finding.classes) == (["p_owl", "p_cat", "p_dog"], ["owl", "cat", "dog"])
    assert (finding.way, finding.left, finding.trouble) == (P, ["id"], None)
    bare = found(ANIMALS, ["", "owl", "cat", "dog", "weight"], rows=lambda names: None)
    assert (bare.columns, bare.left) == (["owl", "cat", "dog"], ["", "weight"])


def test_labels_order_the_columns_by_name_or_by_position():
    by_name = found(ANIMALS, ["p_owl", "p_cat", "p_dog"], given=ANIMALS)
    assert (by_name.columns, by_name.classes) == (["p_cat", "p_dog", "p_owl"], ANIMALS)
    by_position = found(ANIMALS, ["s1", "s2", "s3"], given=["owl", "cat", "dog"])
    assert (by_position.columns, by_position.way) == (["s1", "s2", "s3"], None)
    assert by_position.classes == ["owl", "cat", "dog"]


def test_a_column_that_completes_the_rows_is_a_class_without_samples():
    table = {"cat": [0.2, 0.6], "dog": [0.3, 0.1], "owl": [0.5, 0.3], "age": [40.0, 51.0]}

    def rows(names):
        return np.array([table[name] for name in names]).T

    finding = found(["cat", "dog"], list(table), rows=rows)
    assert (finding.trouble, finding.about) == (Trouble.COMPLETING, ["owl"])
    del table["owl"]
    assert found(["cat", "dog"], list(table), rows=rows).left == ["age"]


@pytest.mark.parametrize("classes", [[-1, 0, 1], ["-1", "0", "1"], ["+1", "-1", "0"]])
def test_some_classes_may_look_like_numbers_of_columns(classes):
    """Columns 0 and 1 were taken for all scores, and refused as columns that are only numbered."""
    names = ["id", *map(str, classes), "weight"]
    finding = found(classes, names, rows=lambda names: None)
    assert (finding.trouble, finding.classes, finding.left) == (None, classes, ["id", "weight"])


@pytest.mark.parametrize("prefix", ["", "p_"])
@pytest.mark.parametrize("rows", [None, lambda names: None])
def test_numbers_are_classes_only_if_zero_occurs(prefix, rows):
    names = [f"{prefix}{number}" for number in range(4)]
    assert found([0, 1, 2], names, rows=rows).classes == [0, 1, 2, 3]
    assert found(["0", "1", "2"], names, rows=rows).classes == ["0", "1", "2", "3"]
    assert found([1, 2, 3], names, rows=rows).trouble is Trouble.NUMBERED
    assert found([1, 2, 3], names, given=[3, 2, 1, 0], rows=rows).trouble is Trouble.TURNED
    assert found([1, 2, 3], names, given=[1, 2, 3, 4], rows=rows).classes == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("names", "given", "trouble", "about"),
    [
        ([f"{model}_{one}" for model in "ab" for one in ANIMALS], None, Trouble.SEVERAL, []),
        (["p_cat", "p_dog", "p_fox"], None, Trouble.ABSENT, ["owl"]),
        (["Owl", "CAT", "the dog"], None, Trouble.UNNAMED, ["owl", "cat", "dog"]),
        (["x", "y", "z"], None, Trouble.UNNAMED, []),
        (["p_cat", "p_dog", "p_owl"], ["cat", "dog"], Trouble.COUNT, []),
        (["p_cat", "p_dog", "p_fox"], ANIMALS, Trouble.CONTRADICTED, ["owl"]),
        (["Owl", "CAT", "the dog"], ANIMALS, Trouble.CONTRADICTED, []),
    ],
)
def test_what_can_be_read_in_two_ways_is_said_without_words(names, given, trouble, about):
    finding = found(ANIMALS, names, given)
    assert finding.trouble is trouble
    assert finding.about == about


def test_booleans_in_whatever_case():
    for names in (["p_False", "p_True"], ["p_false", "p_true"], ["FALSE", "TRUE"]):
        assert found([False, True], names).classes == [False, True]
    assert classes_like(["true", "perhaps"], [False, True]) == ["true", "perhaps"]


def test_each_caller_has_the_names_of_its_own_arguments():
    said = Said("scores", "target", "of model 'knn' ")
    with pytest.raises(InputError) as caught:
        assign_columns(Known(ANIMALS, None, None), None, 4, said)
    assert str(caught.value).startswith(
        "`scores` of model 'knn' must have one column per class, got 4 columns, while `target` has 3 ('cat', 'dog', "
    )
    with pytest.raises(InputError, match="`target` must have samples of at least two classes"):
        assign_columns(Known([1], None, None), ["p_0", "p_1"], 2, said)
    with pytest.raises(InputError, match="`scores` of model 'knn' must have columns named after the classes") as caught:
        assign_columns(Known(ANIMALS, None, None), ["p_cat", "p_dog", "x"], 3, said)
    assert "none for 'owl'" in str(caught.value)
