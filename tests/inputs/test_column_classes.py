"""Which class a column of scores belongs to: what gives the right number, and what is refused because it might not."""

import numpy as np
import pytest

import polyroc
from polyroc._inputs.predictions import as_predictions

ORDER = ["owl", "cat", "dog"]  # of the columns, which is not the sorted order


def animals(n_samples=300, seed=0):
    """Labels, and scores with the columns in the order owl, cat, dog."""
    rng = np.random.default_rng(seed)
    y_true = np.array(["cat", "dog", "owl"] * (n_samples // 3))
    return y_true, np.column_stack([(y_true == name) * 1.5 + rng.normal(size=n_samples) for name in ORDER])


def frame(library, values, names):
    columns = {name: values[:, place] for place, name in enumerate(names)}
    if library == "pyarrow":
        return pytest.importorskip("pyarrow").table(columns)
    return pytest.importorskip(library).DataFrame(columns)


Y_TRUE, SCORES = animals()
# By position, where nothing has to be guessed.
RIGHT = polyroc.auc_score(Y_TRUE, SCORES, labels=ORDER)


def by_hand(y_true, scores, classes):
    """Hand and Till's M by counting, column i being the score of classes[i]."""
    areas = []
    for column, one in enumerate(classes):
        for other in classes:
            ours, theirs = scores[y_true == one, column], scores[y_true == other, column]
            if one != other and len(ours) and len(theirs):
                areas.append(np.mean(ours[:, None] > theirs) + np.mean(ours[:, None] == theirs) / 2)
    return np.mean(areas)


def test_the_numbers_of_this_page_are_right():
    assert round(RIGHT, 3) == 0.867
    assert polyroc.evaluate(Y_TRUE, SCORES, labels=ORDER).hand_till == pytest.approx(by_hand(Y_TRUE, SCORES, ORDER))


# Names with a prefix, a suffix, or both


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("pattern", ["{}", "p_{}", "{}_prob", "p_{}_hat", "P({})", "probability of {}", "c{}"])
def test_columns_of_a_frame_are_matched_inside_any_prefix_and_suffix(library, pattern):
    scores = frame(library, SCORES, [pattern.format(name) for name in ORDER])
    assert polyroc.auc_score(Y_TRUE, scores) == RIGHT
    assert as_predictions(Y_TRUE, scores).labels.tolist() == ORDER
    assert polyroc.baselines.hand_till(Y_TRUE, scores) == pytest.approx(by_hand(Y_TRUE, SCORES, ORDER))


def test_labels_bring_prefixed_columns_into_their_order():
    predictions = as_predictions(Y_TRUE, frame("pandas", SCORES, [f"p_{name}" for name in ORDER]), labels=sorted(ORDER))
    assert predictions.labels.tolist() == ["cat", "dog", "owl"]
    assert np.array_equal(predictions.scores, SCORES[:, [1, 2, 0]])


def test_a_class_that_does_not_occur_is_named_by_its_column():
    seen = Y_TRUE != "owl"
    with pytest.warns(UserWarning, match="1 of 3 classes: 'owl'"):
        predictions = as_predictions(Y_TRUE[seen], frame("pandas", SCORES[seen], [f"{name}_p" for name in ORDER]))
    assert predictions.labels.tolist() == ORDER


def test_integers_inside_a_prefix_stay_integers():
    numbers = {"owl": 3, "cat": 10, "dog": 2}
    y_true = np.array([numbers[name] for name in Y_TRUE])
    predictions = as_predictions(y_true, frame("pandas", SCORES, [f"p_{numbers[name]}" for name in ORDER]))
    assert predictions.labels.tolist() == [3, 10, 2]
    with pytest.warns(UserWarning, match="1 of 3 classes: 3"):
        predictions = as_predictions(y_true[y_true != 3], frame("pandas", SCORES[y_true != 3], ["p_3", "p_10", "p_2"]))
    assert predictions.labels.tolist() == [3, 10, 2]


def test_classes_that_begin_alike_keep_their_beginning():
    predictions = as_predictions(["p1", "p10", "p11"], frame("pandas", SCORES[:3], ["pp1", "pp10", "pp11"]))
    assert predictions.labels.tolist() == ["p1", "p10", "p11"]


# Names that are not the classes


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_labels_name_the_columns_of_a_frame_by_position_where_names_say_nothing(library):
    for names in (["s1", "s2", "s3"], ["first", "second", "third"], ["model_1_a", "model_1_b", "model_1_c"]):
        assert polyroc.auc_score(Y_TRUE, frame(library, SCORES, names), labels=ORDER) == RIGHT


def test_what_the_message_advises_gives_the_right_number():
    scores = frame("pandas", SCORES, ["first", "second", "third"])
    with pytest.raises(
        ValueError, match=r"named after the classes, 'cat', 'dog', 'owl'.*`labels=`, in the order of the "
    ):
        polyroc.auc_score(Y_TRUE, scores)
    assert polyroc.auc_score(Y_TRUE, scores, labels=ORDER) == RIGHT


def test_names_in_another_case_suggest_the_order_of_the_columns():
    scores = frame("pandas", SCORES, ["Owl", "CAT", "p(dog)"])
    with pytest.raises(ValueError, match=r"in the order of the columns, such as `labels=\['owl', 'cat', 'dog'\]`"):
        polyroc.auc_score(Y_TRUE, scores)
    assert polyroc.auc_score(Y_TRUE, scores, labels=["owl", "cat", "dog"]) == RIGHT


@pytest.mark.parametrize(
    ("names", "labels", "match"),
    [
        (["p_cat", "p_dog", "p_fox"], None, "'p_fox' and none for 'owl'"),
        (["p_cat", "p_dog", "p_fox"], ["cat", "dog", "owl"], "'p_fox' and none for 'owl'.*rename"),
        (["Owl", "CAT", "dog"], ["cat", "dog", "owl"], "Names that speak of classes must be the classes"),
        (["id", "p_owl", "p_cat", "p_dog"], None, "got also 'id': drop what is no score"),
        ([f"{m}_{name}" for m in ("a", "b") for name in ORDER], None, r"those of 2 models, 'a_\.\.\.', 'b_\.\.\.'"),
    ],
)
def test_names_that_contradict_are_refused(names, labels, match):
    scores = np.tile(SCORES, 2)[:, : len(names)]
    with pytest.raises(ValueError, match=match) as caught:
        as_predictions(Y_TRUE, frame("pandas", scores, names), labels=labels)
    assert "to_numpy" not in str(caught.value)


@pytest.mark.parametrize(
    "names", [[0, 1, 2], ["0", "1", "2"], ["column_0", "column_1", "column_2"], ["p0", "p1", "p2"]]
)
def test_numbered_columns_need_the_order_of_the_classes(names):
    scores = frame("pandas", SCORES, names)
    with pytest.raises(ValueError, match=r"columns that are only numbered.*in the order of the columns as `labels=`"):
        polyroc.auc_score(Y_TRUE, scores)
    assert polyroc.auc_score(Y_TRUE, scores, labels=ORDER) == RIGHT


def test_numbered_columns_and_the_same_numbers_in_another_order_are_refused():
    y_true = np.array([ORDER.index(name) for name in Y_TRUE])
    scores = frame("pandas", SCORES, ["p_0", "p_1", "p_2"])
    assert polyroc.auc_score(y_true, scores) == RIGHT
    assert polyroc.auc_score(y_true, scores, labels=[0, 1, 2]) == RIGHT
    with pytest.raises(ValueError, match="not clear whether these are classes"):
        polyroc.auc_score(y_true, scores, labels=[2, 0, 1])


# The digit that differs is 0, 1, 2 in the order of the columns, but only a part of the class.
NUMBERS_INSIDE = [("10:00", "11:00", "12:00"), ("0:00", "1:00", "2:00"), ("2010", "2011", "2012"), ("a0", "a1", "a2")]


@pytest.mark.parametrize("prefix", ["p_", ""])
@pytest.mark.parametrize("classes", [*NUMBERS_INSIDE, (10, 11, 12)])
def test_classes_that_contain_a_running_number_are_names(classes, prefix):
    by_name = dict(zip(ORDER, classes, strict=True))
    y_true = [by_name[name] for name in Y_TRUE]
    scores = frame("pandas", SCORES, [f"{prefix}{label}" for label in classes])
    assert polyroc.auc_score(y_true, scores) == pytest.approx(RIGHT, abs=1e-9)
    # By position, which was done before, the labels would be those of other columns.
    turned = [classes[2], classes[0], classes[1]]
    assert polyroc.auc_score(y_true, scores, labels=turned) == pytest.approx(RIGHT, abs=1e-9)


def test_one_column_with_a_prefix_of_the_first_class_is_refused():
    pd = pytest.importorskip("pandas")
    y_true = np.array(["ham", "spam"] * 50)
    score = (y_true == "ham") * 1.0 + np.random.default_rng(1).normal(size=100)
    with pytest.raises(ValueError, match=r"got a column named 'p_ham'. If it is .* pass `labels=\['spam', 'ham'\]`"):
        polyroc.auc_score(y_true, pd.Series(score, name="p_ham"))
    expected = polyroc.auc_score(y_true == "ham", score)
    assert polyroc.auc_score(y_true, pd.Series(score, name="p_ham"), labels=["spam", "ham"]) == expected


# MLflow


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (ORDER, None),
        ([f"{name}_prob" for name in ORDER], None),
        (["s1", "s2", "s3"], ORDER),
        (ORDER, sorted(ORDER)),
        ([f"p_{name}" for name in ORDER], sorted(ORDER)),
    ],
)
def test_score_columns_of_mlflow_are_matched_in_the_same_way(names, labels):
    from types import SimpleNamespace

    from polyroc._mlflow import as_config, evaluate_dataset

    data = SimpleNamespace(features_data=frame("pandas", SCORES, names), labels_data=Y_TRUE, predictions_data=None)
    given = {"score_columns": list(names)} | ({} if labels is None else {"labels": labels})
    found = evaluate_dataset(data, None, None, as_config(given))
    assert found.auc == pytest.approx(RIGHT, abs=1e-9)
    if names[0] == "s1":
        return
    with pytest.raises(ValueError, match=r"`score_columns` must have a column for each of `labels`.*none for 'cow'"):
        evaluate_dataset(data, None, None, as_config(given | {"labels": ["owl", "cat", "cow"]}))


# Integers without `labels`


def digits(first, n_classes=7, seed=3):
    """Classes first to first + 6 without the last one, and a column for each of the seven."""
    rng = np.random.default_rng(seed)
    codes = np.arange(420) % (n_classes - 1)
    return codes + first, 1.5 * np.eye(n_classes)[codes] + rng.normal(size=(420, n_classes))


def wrapped(kind, scores):
    if kind == "array":
        return scores
    names = range(scores.shape[1]) if kind == "pandas" else [f"p_{column}" for column in range(scores.shape[1])]
    return frame("pandas", scores, names)


@pytest.mark.parametrize("kind", ["array", "pandas", "prefixed"])
@pytest.mark.parametrize("make", [np.array, lambda y: y.astype(float), list])
def test_labels_from_one_on_with_the_last_class_absent_are_refused(kind, make):
    y_true, scores = digits(first=1)
    with pytest.raises(
        ValueError,
        match=r"`labels=range\(0, 7\)` if the classes are 0 to 6, or `labels=range\(1, 8\)` if the classes are 1 to 7",
    ):
        polyroc.auc_score(make(y_true), wrapped(kind, scores))
    expected = by_hand(y_true, scores, range(1, 8))
    assert expected > 0.8
    with pytest.warns(UserWarning, match="1 of 7 classes: 7"):
        found = polyroc.evaluate(make(y_true), wrapped(kind, scores), labels=range(1, 8))
    assert found.hand_till == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["array", "pandas", "prefixed"])
def test_labels_from_zero_on_with_the_last_class_absent_are_read(kind):
    y_true, scores = digits(first=0)
    with pytest.warns(UserWarning, match="1 of 7 classes: 6"):
        found = polyroc.evaluate(y_true, wrapped(kind, scores))
    assert found.labels.tolist() == list(range(7))
    assert found.hand_till == pytest.approx(by_hand(y_true, scores, range(7)))


@pytest.mark.parametrize(
    ("y_true", "match"),
    [
        ([2, 3, 4], r"has 3 \(2, 3, 4\)\. Pass `labels=range\(0, 5\)` .* or `labels=range\(1, 6\)`"),
        ([3, 4, 5], r"Pass `labels=range\(1, 6\)` if the classes are 1 to 5;"),
        ([-1, 0, 1], "Pass all 5 classes in the order of the columns as `labels=`"),
        ([0, 1, 9], "Pass all 5 classes in the order of the columns as `labels=`"),
        (["a", "b", "c"], "Pass all 5 classes in the order of the columns as `labels=`"),
    ],
)
def test_fewer_labels_than_columns_are_refused_with_their_readings(y_true, match):
    with pytest.raises(ValueError, match=match):
        as_predictions(y_true, np.zeros((3, 5)))


def test_as_many_integers_as_columns_are_sorted():
    assert as_predictions([1, 3, 2], np.zeros((3, 3))).labels.tolist() == [1, 2, 3]
    assert as_predictions([7, -2, 40], np.zeros((3, 3))).labels.tolist() == [-2, 7, 40]


def test_a_scorer_needs_no_labels_where_a_fold_lacks_the_first_class():
    """The estimator knows its classes, so nothing is guessed from the fold."""
    naive_bayes = pytest.importorskip("sklearn.naive_bayes")
    y_true, scores = digits(first=1)
    model = naive_bayes.GaussianNB().fit(scores, y_true)
    fold = y_true > 1
    with pytest.warns(UserWarning, match="classes: 1"):
        found = polyroc.auc_scorer(model, scores[fold], y_true[fold])
    with pytest.warns(UserWarning, match="classes: 1"):
        expected = polyroc.auc_score(y_true[fold], model.predict_proba(scores[fold]), labels=range(1, 7))
    assert found == expected


# Categories


LEVELS = ["low", "middle", "high"]  # sorted they are high, low, middle


def levels(library, values, categories=LEVELS):
    """Labels as a categorical of some library, with these categories in this order."""
    if library.startswith("pandas"):
        pd = pytest.importorskip("pandas")
        kind = pd.CategoricalDtype(categories, ordered="ordered" in library)
        made = pd.Series(values, dtype=kind)
        if library.startswith("pandas-arrow"):
            pa = pytest.importorskip("pyarrow")
            return made.astype(pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))
        shapes = {"pandas-array": lambda: made.array, "pandas-index": lambda: pd.Index(made)}
        shapes |= {"pandas-frame": lambda: made.to_frame("level")}
        return shapes.get(library, lambda: made)()
    if library == "polars":
        pl = pytest.importorskip("polars")
        return pl.Series(values, dtype=pl.Enum(categories))
    pa = pytest.importorskip("pyarrow")
    codes = pa.array([categories.index(value) for value in values], pa.int32())
    made = pa.DictionaryArray.from_arrays(codes, pa.array(categories))
    return made if library == "pyarrow" else pa.chunked_array([made])


def graded(n_samples=300, seed=0):
    """Levels, and scores with the columns in the order low, middle, high."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, n_samples)
    return np.array(LEVELS)[codes], 1.5 * np.eye(3)[codes] + rng.normal(size=(n_samples, 3))


CATEGORICAL = ["pandas", "pandas-ordered", "pandas-array", "pandas-index", "pandas-frame", "pandas-arrow", "polars"]
CATEGORICAL += ["pyarrow", "pyarrow-chunked"]


@pytest.mark.parametrize("library", CATEGORICAL)
def test_the_order_of_the_categories_is_that_of_the_columns(library):
    y_true, scores = graded()
    with pytest.warns(UserWarning, match=r"order of the categories of `y_true`: 'low', 'middle', 'high'\. .*`labels=`"):
        found = polyroc.evaluate(levels(library, y_true), scores)
    assert found.labels.tolist() == LEVELS
    assert found.hand_till == pytest.approx(by_hand(y_true, scores, LEVELS))
    # Whoever says the order hears nothing.
    assert polyroc.auc_score(levels(library, y_true), scores, labels=LEVELS) == found.auc


@pytest.mark.parametrize("library", CATEGORICAL)
def test_nothing_is_said_of_categories_in_sorted_order_and_of_named_columns(library):
    y_true, scores = graded()
    expected = polyroc.auc_score(y_true, scores, labels=LEVELS)
    in_sorted_order = levels(library, y_true, sorted(LEVELS))
    assert polyroc.auc_score(in_sorted_order, scores[:, [2, 0, 1]]) == pytest.approx(expected, abs=1e-9)
    named = frame("pandas", scores[:, [1, 2, 0]], ["p_middle", "p_high", "p_low"])
    assert polyroc.auc_score(levels(library, y_true), named) == pytest.approx(expected, abs=1e-9)


def test_the_categories_of_a_polars_categorical_have_no_order():
    pl = pytest.importorskip("polars")
    y_true, scores = graded()
    found = as_predictions(pl.Series(y_true, dtype=pl.Categorical), scores)
    assert found.labels.tolist() == sorted(LEVELS)


@pytest.mark.parametrize("library", CATEGORICAL)
def test_a_category_that_does_not_occur_is_an_absent_class_if_it_has_a_column(library):
    y_true, scores = graded()
    seen = y_true != "middle"
    with (
        pytest.warns(UserWarning, match="order of the categories"),
        pytest.warns(UserWarning, match="classes: 'middle'"),
    ):
        found = polyroc.evaluate(levels(library, y_true[seen]), scores[seen])
    assert found.labels.tolist() == LEVELS
    assert found.hand_till == pytest.approx(by_hand(y_true[seen], scores[seen], LEVELS))
    many = levels(library, y_true, ["none", *LEVELS, "severe"])
    with pytest.warns(UserWarning, match="'low', 'middle', 'high'"):
        assert as_predictions(many, scores).labels.tolist() == LEVELS


def test_one_column_is_the_score_of_the_second_category():
    pd = pytest.importorskip("pandas")
    y_true = np.array(["yes", "no"] * 50)
    score = (y_true == "no") * 1.0 + np.random.default_rng(0).normal(size=100)
    categorical = pd.Series(y_true, dtype=pd.CategoricalDtype(["yes", "no"]))
    with pytest.warns(
        UserWarning, match="is read as the score of 'no', the second class in the order of the categories"
    ):
        found = polyroc.auc_score(categorical, score)
    ours, theirs = score[y_true == "no"], score[y_true == "yes"]
    assert found == pytest.approx(np.mean(ours[:, None] > theirs))


def test_categories_tell_what_integers_alone_do_not():
    pd = pytest.importorskip("pandas")
    y_true, scores = digits(first=1)
    y_true = pd.Series(y_true, dtype=pd.CategoricalDtype(range(1, 8)))
    with pytest.warns(UserWarning, match="1 of 7 classes: 7"):
        assert as_predictions(y_true, scores).labels.tolist() == list(range(1, 8))
    with pytest.raises(ValueError, match=r"`labels=range\(0, 8\)`.* or `labels=range\(1, 9\)`"):
        as_predictions(y_true, np.hstack([scores, scores[:, :1]]))
