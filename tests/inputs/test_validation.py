"""Every kind of input that is read, by what it becomes; every kind that is refused, by what it says."""

import enum
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from parts import as_predictions

import polyroc

SCORES = np.array([[0.7, 0.2, 0.1], [0.1, 0.5, 0.4], [0.3, 0.3, 0.4], [0.6, 0.1, 0.3]])
NAMES = ["ant", "bee", "cat"]
WORDS = ["cat", "ant", "bee", "ant"]
CODES = [2, 0, 1, 0]


class OnlyDlpack:
    """A tensor that speaks DLPack and nothing else."""

    def __init__(self, array, device=1):
        self.array, self.device = array, device

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device, 0


class OnlyArray:
    """A tensor that speaks `__array__`, or fails to as torch does when gradients are required."""

    def __init__(self, array, error=None):
        self.array, self.error = array, error

    def __array__(self, dtype=None, copy=None):
        if self.error is not None:
            raise self.error
        return self.array


class Missing:
    """Stands for pandas.NA where pandas is not installed: it cannot be compared."""

    def __ne__(self, other):
        raise TypeError

    __hash__ = None


Missing.__name__ = "NAType"


def pandas_series(values, **options):
    return pytest.importorskip("pandas").Series(values, **options)


def polars_series(values, **options):
    return pytest.importorskip("polars").Series(values, **options)


def pyarrow_dictionary(values):
    pa = pytest.importorskip("pyarrow")
    return pa.chunked_array([pa.array(values).dictionary_encode()])


def frame(library, values, names):
    columns = {name: values[:, column] for column, name in enumerate(names)}
    if library == "pyarrow":
        return pytest.importorskip("pyarrow").table(columns)
    return pytest.importorskip(library).DataFrame(columns)


# Labels


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        np.array,
        lambda words: np.array(words, dtype=object),
        lambda words: np.array(words).astype(">U3"),
        lambda words: np.array(words, dtype=np.dtypes.StringDType()),
        lambda words: np.array(words)[:, np.newaxis],
        lambda words: [[word] for word in words],
        pandas_series,
        lambda words: pandas_series(words, dtype="category"),
        lambda words: pandas_series(words, dtype="string"),
        lambda words: pandas_series(words, dtype=object),
        lambda words: pandas_series(words, dtype="category").array,
        lambda words: pandas_series(words).to_frame("animal"),
        lambda words: pytest.importorskip("pandas").Index(words),
        polars_series,
        lambda words: polars_series(words, dtype=pytest.importorskip("polars").Categorical),
        lambda words: polars_series(words, dtype=pytest.importorskip("polars").Enum(NAMES)),
        lambda words: polars_series(words).to_frame("animal"),
        lambda words: pytest.importorskip("pyarrow").array(words),
        lambda words: pytest.importorskip("pyarrow").chunked_array([words[:2], words[2:]]),
        lambda words: pytest.importorskip("pyarrow").table({"animal": words}),
    ],
)
def test_strings_become_codes_of_sorted_labels(make):
    predictions = as_predictions(make(WORDS), SCORES)
    assert predictions.labels.tolist() == NAMES
    assert predictions.labels.dtype.kind == "U"
    assert predictions.codes.tolist() == CODES


@pytest.mark.parametrize(
    "make",
    [
        list,
        np.array,
        lambda codes: np.array(codes, dtype=np.int8),
        lambda codes: np.array(codes, dtype=np.uint64),
        lambda codes: np.array(codes, dtype=">i4"),
        lambda codes: np.array(codes, dtype=float),
        lambda codes: np.array(codes, dtype=np.float32),
        lambda codes: np.array(codes, dtype=object),
        lambda codes: [float(code) for code in codes],
        lambda codes: np.array([float(code) for code in codes], dtype=object),
        lambda codes: OnlyDlpack(np.array(codes)),
        lambda codes: OnlyArray(np.array(codes)),
        lambda codes: pandas_series(codes, dtype="Int64"),
        lambda codes: pandas_series(codes, dtype="category"),
        polars_series,
        lambda codes: pytest.importorskip("pyarrow").chunked_array([codes]),
    ],
)
def test_integers_within_the_columns_are_their_positions(make):
    predictions = as_predictions(make(CODES), SCORES)
    assert predictions.labels.tolist() == [0, 1, 2]
    assert predictions.labels.dtype.kind == "i"
    assert predictions.codes.tolist() == CODES


@pytest.mark.parametrize(
    ("y_true", "labels", "codes"),
    [
        ([5, 3, 9, 3], [3, 5, 9], [1, 0, 2, 0]),
        ([1, 2, 3, 2], [1, 2, 3], [0, 1, 2, 1]),
        ([-1, 0, 1, -1], [-1, 0, 1], [0, 1, 2, 0]),
        (np.array([-120, 100, 120, 100], dtype=np.int8), [-120, 100, 120], [0, 1, 2, 1]),
        ([10**12, -(10**12), 0, 0], [-(10**12), 0, 10**12], [2, 0, 1, 1]),
        (np.array([2**64 - 1, 2**64 - 2, 2**64 - 4, 2**64 - 4], dtype=np.uint64), None, [2, 1, 0, 0]),
        ([10.0, 20.0, 30.0, 10.0], [10, 20, 30], [0, 1, 2, 0]),
    ],
)
def test_other_integers_are_sorted(y_true, labels, codes):
    predictions = as_predictions(y_true, SCORES)
    assert predictions.labels.tolist() == (labels or [2**64 - 4, 2**64 - 2, 2**64 - 1])
    assert predictions.codes.tolist() == codes


def test_classes_found_by_table_and_by_sorting_agree():
    rng = np.random.default_rng(3)
    near = rng.choice([-7, 2, 5, 400], size=500)
    far = near * 10**9
    scores = rng.normal(size=(500, 4))
    assert_array_equal(as_predictions(near, scores).codes, as_predictions(far, scores).codes)
    assert_array_equal(as_predictions(near, scores).codes, np.unique(near, return_inverse=True)[1])


@pytest.mark.parametrize("make", [list, np.array, lambda y: np.array(y, dtype=object), pandas_series, polars_series])
def test_booleans_are_false_then_true(make):
    predictions = as_predictions(make([True, False, True]), [0.3, 0.1, 0.2])
    assert predictions.labels.tolist() == [False, True]
    assert predictions.labels.dtype == bool
    assert predictions.codes.tolist() == [1, 0, 1]


def test_nullable_booleans_without_a_missing_value():
    predictions = as_predictions(pandas_series([True, False], dtype="boolean"), [0.3, 0.1])
    assert predictions.labels.tolist() == [False, True]


def test_labels_set_the_order_of_unnamed_columns():
    predictions = as_predictions(WORDS, SCORES, labels=["bee", "cat", "ant"])
    assert predictions.labels.tolist() == ["bee", "cat", "ant"]
    assert predictions.codes.tolist() == [1, 2, 0, 2]
    assert_array_equal(predictions.scores, SCORES)


def test_labels_of_integers_set_the_order_of_unnamed_columns():
    predictions = as_predictions(CODES, SCORES, labels=np.array([2, 0, 1]))
    assert predictions.labels.tolist() == [2, 0, 1]
    assert predictions.codes.tolist() == [0, 1, 2, 1]


def test_boolean_truth_matches_integer_labels():
    predictions = as_predictions([True, False], [0.3, 0.1], labels=[1, 0])
    assert predictions.labels.tolist() == [1, 0]
    assert predictions.codes.tolist() == [0, 1]


def test_text_truth_matches_integer_labels_by_str():
    predictions = as_predictions(["2", "0", "1", "0"], SCORES, labels=[0, 1, 2])
    assert predictions.labels.tolist() == [0, 1, 2]
    assert predictions.codes.tolist() == CODES


# Two classes


@pytest.mark.parametrize(
    ("y_true", "labels"),
    [([0, 1, 1], [0, 1]), ([1, 2, 2], [1, 2]), ([-1, 1, 1], [-1, 1]), (["no", "yes", "yes"], ["no", "yes"])],
)
@pytest.mark.parametrize("n_columns", [0, 1, 2])
def test_two_classes_keep_the_columns_that_came(y_true, labels, n_columns):
    scores = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]])
    scores = scores[:, 1] if n_columns == 0 else scores[:, -n_columns:]
    predictions = as_predictions(y_true, scores)
    assert predictions.labels.tolist() == labels
    assert predictions.codes.tolist() == [0, 1, 1]
    assert predictions.scores.shape == (3, max(n_columns, 1))
    assert predictions.scores[:, -1].tolist() == [0.1, 0.6, 0.8]
    assert np.shares_memory(predictions.scores, scores)


@pytest.mark.parametrize("make", [pandas_series, polars_series])
def test_a_series_of_scores_is_one_column(make):
    predictions = as_predictions(["no", "yes"], make([0.25, 0.5]))
    assert predictions.scores.tolist() == [[0.25], [0.5]]


def test_an_unnamed_pandas_column_is_the_score_of_the_second_class():
    scores = pytest.importorskip("pandas").DataFrame(np.array([[0.25], [0.5]]))
    assert list(scores.columns) == [0]
    assert as_predictions([0, 1], scores).scores.tolist() == [[0.25], [0.5]]


@pytest.mark.parametrize("wrap", [lambda series: series, lambda series: series.to_frame()])
def test_one_column_named_by_the_first_class_is_refused(wrap):
    scores = wrap(pandas_series([0.25, 0.5], name="no"))
    with pytest.raises(ValueError, match=r"`y_score` of one column must be the score of the second class, 'yes'.*'no'"):
        as_predictions(["no", "yes"], scores)
    assert as_predictions(["no", "yes"], scores, labels=["yes", "no"]).codes.tolist() == [1, 0]


# Scores


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_floats_stay_as_they_are_without_a_copy(dtype, order):
    scores = np.array(SCORES, dtype=dtype, order=order)
    predictions = as_predictions(CODES, scores)
    assert predictions.scores.dtype == dtype
    assert np.shares_memory(predictions.scores, scores)
    assert scores.flags.writeable
    assert not predictions.scores.flags.writeable


def test_a_slice_is_not_copied():
    scores = np.random.default_rng(0).random((8, 7))[::2, 1:6:2]
    assert np.shares_memory(as_predictions(CODES, scores).scores, scores)


@pytest.mark.parametrize("wrap", [OnlyArray, OnlyDlpack])
def test_tensors_are_not_copied(wrap):
    scores = SCORES.copy()
    assert np.shares_memory(as_predictions(CODES, wrap(scores)).scores, scores)


@pytest.mark.parametrize(
    ("came", "becomes"),
    [
        (np.int8, np.float64),
        (np.uint64, np.float64),
        (bool, np.float64),
        (np.float16, np.float32),
        (np.longdouble, np.float64),
        (">f4", np.float32),
        (">f8", np.float64),
        (">i8", np.float64),
    ],
)
def test_other_numbers_become_native_floats(came, becomes):
    scores = np.array([[1, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 1]])
    predictions = as_predictions(CODES, scores.astype(came))
    assert predictions.scores.dtype == becomes
    assert predictions.scores.dtype.isnative
    assert_array_equal(predictions.scores, scores)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("precision", [np.float16, np.float32, np.float64, np.longdouble])
def test_labels_may_be_whole_floats_of_any_precision(precision):
    """Half precision has no 2**53 to be compared with."""
    whole = np.array(CODES, dtype=precision)
    for labels in (whole, list(whole), whole.astype(object)):
        predictions = as_predictions(labels, SCORES)
        assert_array_equal(predictions.labels[predictions.codes], CODES)
    for wrong in (0.5, np.nan, np.inf):
        with pytest.raises(ValueError, match="`y_true` must"):
            as_predictions(np.array([wrong, *whole[1:]], dtype=precision), SCORES)


def test_scores_whose_sum_overflows_are_finite():
    huge = np.full((4, 3), np.finfo(float).max)
    for scores in (huge, -huge, huge * [1, -1, 1], np.full((4, 3), np.finfo(np.float32).max)):
        assert_array_equal(as_predictions(CODES, scores).scores, scores)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_of_a_frame_are_the_classes_in_its_order(library, dtype):
    predictions = as_predictions(WORDS, frame(library, SCORES.astype(dtype), ["cat", "ant", "bee"]))
    assert predictions.labels.tolist() == ["cat", "ant", "bee"]
    assert predictions.codes.tolist() == [0, 1, 2, 1]
    assert predictions.scores.dtype == dtype
    assert_array_equal(predictions.scores, SCORES.astype(dtype))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_of_a_frame_are_brought_into_the_order_of_labels(library):
    predictions = as_predictions(WORDS, frame(library, SCORES, ["cat", "ant", "bee"]), labels=NAMES)
    assert predictions.labels.tolist() == NAMES
    assert predictions.codes.tolist() == CODES
    assert_array_equal(predictions.scores, SCORES[:, [1, 2, 0]])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("labels", [None, [0, 1, 2]])
def test_columns_match_integers_by_str(library, labels):
    names = ["2", "0", "1"] if labels is None else ["1", "2", "0"]
    predictions = as_predictions(CODES, frame(library, SCORES, names), labels=labels)
    assert predictions.labels.tolist() == (labels or names)
    assert predictions.codes.tolist() == ([0, 1, 2, 1] if labels is None else CODES)
    assert_array_equal(predictions.scores, SCORES if labels is None else SCORES[:, [2, 0, 1]])


def test_columns_match_booleans_by_str_and_text_matches_integer_columns():
    two = frame("pandas", SCORES[:2, :2], ["True", "False"])
    assert as_predictions([True, False], two).codes.tolist() == [0, 1]
    numbered = frame("pandas", SCORES, [0, 1, 2])
    assert as_predictions(["2", "0", "1", "0"], numbered).codes.tolist() == CODES


def test_a_pandas_frame_is_not_copied():
    scores = pytest.importorskip("pandas").DataFrame(SCORES.copy(), columns=NAMES)
    assert np.shares_memory(as_predictions(WORDS, scores).scores, scores.to_numpy())


def test_columns_of_different_types_become_float64():
    scores = pytest.importorskip("polars").DataFrame({"ant": [1, 2], "bee": [0.5, 0.25], "cat": [True, False]})
    with pytest.warns(UserWarning, match="'cat'"):
        predictions = as_predictions(["ant", "bee"], scores)
    assert predictions.scores.tolist() == [[1.0, 0.5, 1.0], [2.0, 0.25, 0.0]]


@pytest.mark.parametrize("dtype", ["Float64", "Float32", "double[pyarrow]", "float[pyarrow]"])
def test_nullable_columns_are_read(dtype):
    pytest.importorskip("pyarrow")
    scores = frame("pandas", SCORES, NAMES).astype(dtype)
    single = dtype in ("Float32", "float[pyarrow]")
    expected = SCORES.astype(np.float32 if single else np.float64)
    found = as_predictions(WORDS, scores).scores
    assert found.dtype == expected.dtype
    assert_array_equal(found, expected)
    assert_array_equal(as_predictions([0, 1, 0, 1], scores["ant"]).scores[:, 0], expected[:, 0])
    weight = as_predictions(CODES, SCORES, sample_weight=scores["ant"]).sample_weight
    assert_array_equal(weight, expected[:, 0])


@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]", "boolean", "bool[pyarrow]"])
def test_nullable_integers_and_booleans_are_numbers(dtype):
    pytest.importorskip("pyarrow")
    whole = np.array([[1, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 1]])
    scores = frame("pandas", whole.astype(bool) if "bool" in dtype else whole, NAMES).astype(dtype)
    assert_array_equal(as_predictions(WORDS, scores).scores, whole)


# Sample weights


@pytest.mark.parametrize(
    "make", [list, np.array, lambda w: np.array(w, dtype=np.float16), pandas_series, polars_series]
)
def test_weights_stay_as_given(make):
    predictions = as_predictions(CODES, SCORES, sample_weight=make([1.0, 2.0, 0.5, 4.0]))
    assert predictions.sample_weight.tolist() == [1, 2, 0.5, 4]
    assert predictions.sample_weight.dtype == np.float64


def test_without_weights_there_are_none():
    assert as_predictions(CODES, SCORES).sample_weight is None


def test_samples_of_weight_zero_are_dropped():
    codes, scores = [2, 0, 1, 0, 1], np.vstack([SCORES, [[9, 9, 9]]])
    predictions = as_predictions(codes, scores, sample_weight=[1, 2, 3, 4, 0])
    assert predictions.codes.tolist() == CODES
    assert_array_equal(predictions.scores, SCORES)
    assert predictions.sample_weight.tolist() == [1, 2, 3, 4]


def test_positive_weights_copy_no_scores():
    scores = SCORES.copy()
    assert np.shares_memory(as_predictions(CODES, scores, sample_weight=np.ones(4)).scores, scores)


@pytest.mark.parametrize("unit", [1e308, 5e-324, 1e-310])
def test_extreme_weights_keep_their_ratios(unit):
    weight = as_predictions(
        CODES, SCORES, sample_weight=np.array([1, 1, 1, 0.5 if unit > 1 else 4]) * unit
    ).sample_weight
    assert np.isfinite(weight.sum())
    assert weight[0] > 1e-100
    assert (weight / weight[0]).tolist() == [1, 1, 1, 0.5 if unit > 1 else 4]


# Classes without samples


def test_integers_within_the_columns_keep_classes_that_do_not_occur():
    with pytest.warns(UserWarning, match=r"1 of 3 classes: 1\. .*`labels=`") as caught:
        predictions = as_predictions([2, 0, 2, 0], SCORES)
    assert caught[0].filename == __file__
    assert predictions.labels.tolist() == [0, 1, 2]
    assert predictions.codes.tolist() == [2, 0, 2, 0]


def test_a_class_of_weight_zero_is_named_and_stays():
    with pytest.warns(UserWarning, match=r"classes: 'bee'\."):
        predictions = as_predictions(WORDS, SCORES, sample_weight=[1, 1, 0, 1])
    assert predictions.labels.tolist() == NAMES
    assert predictions.codes.tolist() == [2, 0, 0]


def test_many_empty_classes_are_cut_short():
    with pytest.warns(UserWarning, match=r"28 of 30 classes: 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 18 more\."):
        as_predictions([0, 1], np.zeros((2, 30)))


def test_nothing_is_said_when_all_classes_occur():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert as_predictions(CODES, SCORES).class_counts.tolist() == [2, 1, 1]


# Refused


@pytest.mark.parametrize(
    ("y_true", "match"),
    [
        ([], r"`y_true` must not be empty, got shape \(0,\)"),
        (1, "`y_true` must be an array, a list, a series or a data frame, got int"),
        ("cat", "`y_true` must be an array.*got str"),
        (np.eye(3)[CODES], r"got shape \(4, 3\), a one-hot matrix.*argmax\(axis=1\).* 0 to 2, .* in the same order"),
        (np.eye(3, dtype=bool)[CODES], "a one-hot matrix"),
        (SCORES, r"`y_true` must be one-dimensional, got shape \(4, 3\)\. A matrix of scores belongs in `y_score`\.$"),
        (
            [[1, 1, 0], [0, 0, 0], [0, 1, 0], [1, 0, 1]],
            r"got shape \(4, 3\): 3 of 4 rows mark none or several classes, .* multi-label problem, .* does not handle",
        ),
        ([["a", "b"], ["a"], ["b"], []], "rows of different lengths. Several classes per sample are a multi-label"),
        (np.zeros((2, 2, 1)), r"`y_true` must be one-dimensional, got shape \(2, 2, 1\)\.$"),
        ([[0, 1], [2]], "`y_true` must be rectangular"),
        (["a", None, "b", None], "`y_true` must not have missing values, got 2 of 4, the first in row 1"),
        (["a", "b", float("nan"), "c"], "missing values, got 1 of 4, the first in row 2"),
        ([0, 1, np.nan, 2], "missing values, got 1 of 4, the first in row 2"),
        ([0, None, 1, 2], "missing values, got 1 of 4, the first in row 1"),
        (["a", "b", "c", np.datetime64("NaT", "D")], "missing values, got 1 of 4, the first in row 3"),
        (["a", "b", "c", Missing()], "missing values, got 1 of 4, the first in row 3"),
        ([0.5, 1, 2, 0], "`y_true` must hold integers, strings or booleans, got 0.5 in row 0.*swapped"),
        ([0, 1, 2, np.inf], "got inf in row 3"),
        ([0, 1, 2, 1e300], r"got 1e\+300 in row 3"),
        ([0, 1, 2, 2**70], "`y_true` must hold integers of at most 64 bits"),
        ([0, "a", 1, "b"], "`y_true` must hold.*all of one type, got int, str"),
        (np.array([True, 2, 1, 0], dtype=object), "all of one type, got bool, int"),
        ([(), 1, 2, 3], "`y_true` must be rectangular"),
        ([b"a", b"b", b"c", b"a"], "`y_true` must hold integers, strings or booleans, all of one type, got bytes"),
        (np.array([b"a", b"b", b"c", b"a"]), r"got dtype \|S1: decode bytes"),
        (np.array(["2020", "2021", "2022", "NaT"], dtype="M8[Y]"), r"got dtype datetime64\[Y\]"),
        (np.array([0, 1, 2, 1j]), "got dtype complex128"),
        (np.ma.array(CODES), "`y_true` must not be a masked array"),
        (CODES[:3], r"`y_score` must have one row per label, got shape \(4, 3\) and 3 labels"),
        ([1, 1, 1, 1], "`y_true` must have samples of at least two classes, got fewer than two classes: 1"),
        (["a", "a", "a", "a"], "fewer than two classes: 'a'"),
        ([7, 7, 7, 7], "fewer than two classes: 7"),
        (["a", "b", "a", "b"], r"one column per class, got 3 columns, while `y_true` has 2 \('a', 'b'\).*`labels=`"),
        ([3, 4, 5, 6], r"got 3 columns, while `y_true` has 4 \(3, 4, 5, 6\)"),
        ([True, False, True, False], r"got 3 columns, while boolean labels have 2 \(False, True\)"),
        (OnlyArray(None, RuntimeError("requires grad")), "`y_true` cannot be read.*OnlyArray: requires grad"),
    ],
)
def test_labels_refused(y_true, match):
    with pytest.raises(ValueError, match=match):
        as_predictions(y_true, SCORES)


@pytest.mark.parametrize(
    "make",
    [
        lambda: pandas_series(["cat", None, "bee", "ant"]),
        lambda: pandas_series(["cat", None, "bee", "ant"], dtype="category"),
        lambda: pandas_series([2, None, 1, 0], dtype="Int64"),
        lambda: pandas_series([True, None, False, True], dtype="boolean"),
        lambda: pandas_series([2, None, 1, 0], dtype="Int64").array,
        lambda: np.array(pandas_series([2, None, 1, 0], dtype="Int64"), dtype=object),
        lambda: pandas_series(np.array(["2020", "NaT", "2021", "2022"], dtype="M8[ns]")),
        lambda: polars_series(["cat", None, "bee", "ant"]),
        lambda: polars_series(["cat", None, "bee", "ant"], dtype=pytest.importorskip("polars").Categorical),
        lambda: polars_series([2, None, 1, 0]),
        lambda: polars_series([2.0, np.nan, 1.0, 0.0]),
        lambda: pytest.importorskip("pyarrow").array([2, None, 1, 0]),
        lambda: pytest.importorskip("pyarrow").chunked_array([["cat", None, "bee", "ant"]]),
        lambda: pyarrow_dictionary(["cat", None, "bee", "ant"]),
        lambda: pyarrow_dictionary(["cat", None, "bee", "ant"]).combine_chunks(),
    ],
)
def test_missing_labels_of_any_library_are_refused(make):
    with pytest.raises(ValueError, match="`y_true` must not have missing values, got 1 of 4, the first in row 1"):
        as_predictions(make(), SCORES)


def test_a_frame_of_several_columns_is_no_vector_of_labels():
    for y_true, match in [
        (SCORES, r"`y_true` must be one-dimensional, got shape \(4, 3\)\. A matrix of scores belongs in `y_score`"),
        (np.eye(3, dtype=int)[CODES], "one-hot"),
        (1 - np.eye(3, dtype=int)[CODES], "4 of 4 rows .* multi-label"),
    ]:
        with pytest.raises(ValueError, match=match):
            as_predictions(frame("pandas", y_true, NAMES), SCORES)


def test_a_multi_label_matrix_is_never_told_to_become_classes():
    """`argmax` keeps the first label of each sample and throws the others away."""
    y_true = np.random.default_rng(0).random((50, 3)) < 0.5
    for came in (y_true, y_true.astype(int), y_true.astype(float), y_true.tolist()):
        with pytest.raises(ValueError, match="multi-label problem, which polyroc does not handle") as caught:
            as_predictions(came, np.zeros((50, 3)))
        assert "argmax" not in str(caught.value)


def test_what_is_said_of_a_one_hot_matrix_gives_the_right_classes():
    one_hot = np.eye(3)[CODES]
    assert as_predictions(one_hot.argmax(axis=1), SCORES).codes.tolist() == CODES


@pytest.mark.parametrize(
    ("y_score", "match"),
    [
        (np.zeros((4, 3, 1)), r"`y_score` must have shape .*got \(4, 3, 1\)"),
        (np.zeros((4, 0)), r"`y_score` must not be empty, got shape \(4, 0\)"),
        (np.zeros((0, 3)), r"`y_score` must not be empty, got shape \(0, 3\)"),
        (SCORES.T, r"`y_score` must have one row per label, got shape \(3, 4\) and 4 labels in `y_true`"),
        (0.5, "`y_score` must be an array.*got float"),
        ({"a": [1]}, "`y_score` must be an array.*got dict"),
        ("text", "`y_score` must be an array.*got str"),
        ([[1, 2, 3], [1, 2], [1, 2, 3], [1, 2, 3]], "`y_score` must be rectangular, got rows of different lengths"),
        (np.where(SCORES == 0.4, np.nan, SCORES), r"`y_score` must be finite.* in 2 of 4 rows, the first is row 1"),
        (np.where(SCORES == 0.7, np.inf, SCORES), "in 1 of 4 rows, the first is row 0"),
        (np.where(SCORES == 0.6, -np.inf, SCORES).astype(np.float32), "in 1 of 4 rows, the first is row 3"),
        (np.where(SCORES == 0.3, [np.inf, -np.inf, np.inf], SCORES), "in 2 of 4 rows, the first is row 2"),
        (np.full((4, 3), np.finfo(np.longdouble).max), "in 4 of 4 rows, the first is row 0"),
        (np.ma.array(SCORES), "`y_score` must not be a masked array"),
        (SCORES + 1j, r"`y_score` must hold real numbers, got complex numbers \(dtype complex128\)"),
        (SCORES.astype(object), r"`y_score` must hold real numbers, got objects \(dtype object\)"),
        (SCORES.astype("U4"), "`y_score` must hold real numbers, got text"),
        (["a", "b", "c", "d"], "`y_score` must hold real numbers, got text"),
        (np.zeros((4, 3), dtype="M8[s]"), "`y_score` must hold real numbers, got dates"),
        (np.zeros((4, 3), dtype="m8[s]"), "`y_score` must hold real numbers, got time spans"),
        (np.zeros((4, 3), dtype=[("a", float)]), "`y_score` must hold real numbers, got values"),
        (np.full((4, 3), 2**53 + 1), r"`y_score` must hold integers within 2\*\*53"),
        (np.full((4, 3), -(2**60)), r"`y_score` must hold integers within 2\*\*53"),
        (np.full((4, 3), 2**63, dtype=np.uint64), r"`y_score` must hold integers within 2\*\*53"),
        (OnlyArray(None, RuntimeError("Can't call numpy() on Tensor")), "`y_score` cannot be read.*Can't call numpy"),
        (OnlyDlpack(SCORES, device=8), "`y_score` must be on the CPU, got DLPack device type 8"),
        (SCORES[:, :2], r"got 2 columns, while `y_true` has 3 \('ant', 'bee', 'cat'\)"),
        (SCORES[:, 0], r"one column, which is for two classes, while `y_true` has 3"),
        (np.zeros((4, 5)), "one column per class, got 5 columns, while `y_true` has 3"),
    ],
)
def test_scores_refused(y_score, match):
    with pytest.raises(ValueError, match=match):
        as_predictions(WORDS, y_score)


def test_integers_up_to_the_exact_limit_are_read():
    assert as_predictions([0, 1], [2**53, -(2**53)]).scores.tolist() == [[2.0**53], [-(2.0**53)]]


def test_bad_rows_are_counted_across_chunks():
    scores = np.zeros((140_000, 2))
    scores[[70_000, 131_072, 139_999], 1] = np.nan
    with pytest.raises(ValueError, match="in 3 of 140000 rows, the first is row 70000"):
        as_predictions(np.arange(140_000) % 2, scores)


def test_sparse_scores_are_refused():
    sparse = pytest.importorskip("scipy.sparse")
    for scores in (sparse.csr_array(SCORES), sparse.coo_matrix(SCORES)):
        with pytest.raises(ValueError, match=r"`y_score` must be dense, got sparse (csr_array|coo_matrix)"):
            as_predictions(CODES, scores)


@pytest.mark.parametrize("names", [["0", "1", "2"], [0, 1, 2]])
def test_sparse_pandas_columns_are_refused(names):
    scores = frame("pandas", SCORES, names).astype("Sparse[float64]")
    for came in (scores, scores[names[0]], scores[names[0]].array):
        with pytest.raises(ValueError, match="`y_score` must be dense, got sparse"):
            as_predictions(CODES, came)
    with pytest.raises(ValueError, match="`y_true` must be dense, got sparse"):
        as_predictions(scores[names[0]], SCORES)


@pytest.mark.parametrize("column", [[1.0, None], [1, None], [True, None]])
def test_missing_scores_in_a_frame_are_refused_with_their_row(column):
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    for scores in (pl.DataFrame({"a": column, "b": [1, 2]}), pa.table({"a": column, "b": [1, 2]})):
        with pytest.raises(ValueError, match="missing values in 1 of 2 rows, the first is row 1"):
            as_predictions(["a", "b"], scores)


def test_missing_scores_in_nullable_pandas_are_refused_with_their_row():
    pytest.importorskip("pyarrow")
    for dtype in (
        "Float64",
        "Int64",
        "boolean",
        "double[pyarrow]",
        "float[pyarrow]",
        "int64[pyarrow]",
        "bool[pyarrow]",
    ):
        scores = pytest.importorskip("pandas").DataFrame({"a": [1, None], "b": [1, 0]}, dtype=dtype)
        with pytest.raises(ValueError, match="missing values in 1 of 2 rows, the first is row 1"):
            as_predictions(["a", "b"], scores)


def test_text_in_a_column_is_refused_by_name():
    scores = pytest.importorskip("polars").DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    with pytest.raises(ValueError, match=r"`y_score` must hold real numbers, got .* in column 'b'"):
        as_predictions(["a", "b"], scores)


def test_frames_that_cannot_be_read_are_refused():
    pd, pl = (pytest.importorskip(library) for library in ("pandas", "polars"))
    for scores, match in [
        (pl.DataFrame({"a": [1.0]}).lazy(), "`y_score` must be in memory, got a lazy LazyFrame"),
        (type("Interchange", (), {"__dataframe__": None})(), "pandas, polars or pyarrow table, got Interchange"),
        (pd.DataFrame(SCORES, columns=["a", "b", "a"]), "`y_score` cannot be read.*DataFrame: .*unique"),
        (pd.DataFrame(SCORES, columns=["ant", "bee", 3]), "`y_score.columns` must hold.*all of one type, got int, str"),
        (pd.DataFrame(index=range(4)), r"`y_score` must not be empty, got a frame of shape \(4, 0\)"),
    ]:
        with pytest.raises(ValueError, match=match):
            as_predictions(WORDS, scores)


def test_columns_beside_those_of_the_classes_can_be_left_out():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(SCORES, columns=["ant", "bee", "cat"]).assign(id=range(len(WORDS)))
    classes = ["ant", "bee", "cat"]
    message = r"got 4 columns, .*: to leave out the others, pass the columns of the classes only, 'ant', 'bee', 'cat'\."
    with pytest.raises(ValueError, match=message):
        as_predictions(WORDS, frame, labels=classes)
    found = as_predictions(WORDS, frame[classes], labels=classes)
    np.testing.assert_array_equal(found.scores, as_predictions(WORDS, SCORES, labels=classes).scores)
    # Of columns with other names nobody knows which to leave out.
    with pytest.raises(ValueError, match=r"`labels` has 3 \('ant', 'bee', 'cat'\)\.$"):
        as_predictions(WORDS, frame.rename(columns={"ant": "x"}), labels=classes)


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (["ant", "bee"], r"got 3 columns, while `labels` has 2 \('ant', 'bee'\)"),
        (["ant", "bee", "cat", "dog"], "got 3 columns, while `labels` has 4"),
        (
            ["ant", "bee", "dog"],
            r"`y_true` must hold only classes of `labels` \('ant', 'bee', 'dog'\), got 'cat', .*row 0",
        ),
        (["ant", "dog", "cat"], "got 'bee', first in row 2"),
        ([0, 1, 2], "got 'ant', 'bee', 'cat', first in row 0"),
        (["ant", "bee", "bee"], "`labels` must not name a class twice, got 'bee' more than once"),
        (["ant", None, "bee"], "`labels` must not have missing values, got 1 of 3, the first in row 1"),
        ([[0, 1, 2]], r"`labels` must be one-dimensional, got shape \(1, 3\)\.$"),
        ([], "`labels` must not be empty"),
        ({"ant", "bee", "cat"}, "`labels` must be an array, a list, a series or a data frame, got set"),
        ([0.5, 1, 2], "`labels` must hold integers, strings or booleans, got 0.5 in row 0.$"),
        (["ant", "bee", "x" * 500], r"`y_true` must hold only classes of `labels` \('ant', 'bee', 'x{36}\.\.\.\)"),
    ],
)
def test_labels_argument_refused(labels, match):
    with pytest.raises(ValueError, match=match):
        as_predictions(WORDS, SCORES, labels=labels)


def test_numbered_columns_of_words_are_refused_with_a_way_out():
    scores = pytest.importorskip("pandas").DataFrame(SCORES)
    with pytest.raises(
        ValueError, match=r"'ant', 'bee', 'cat', got columns that are only numbered, 0, 1, 2\. .*`labels=`"
    ):
        as_predictions(WORDS, scores)
    assert as_predictions(WORDS, scores, labels=NAMES).codes.tolist() == CODES


def test_columns_that_do_not_name_the_classes_are_refused():
    scores = frame("pandas", SCORES, ["ant", "bee", "dog"])
    with pytest.raises(ValueError, match=r"named after the classes, .*, got 'ant', 'bee', 'dog' and none for 'cat'"):
        as_predictions(WORDS, scores)
    with pytest.raises(ValueError, match=r"column for each of `labels`, .*got 'ant', 'bee', 'dog' and none for 'cat'"):
        as_predictions(WORDS, scores, labels=NAMES)
    with pytest.raises(ValueError, match="got 3 columns, while `labels` has 2"):
        as_predictions(WORDS, scores, labels=["ant", "bee"])


@pytest.mark.parametrize(
    ("sample_weight", "match"),
    [
        ([1, 1, 1], r"`sample_weight` must have shape \(4,\) as `y_true` has, got \(3,\)"),
        ([[1], [1], [1], [1]], r"`sample_weight` must have shape \(4,\).*got \(4, 1\)"),
        (2.0, "`sample_weight` must be an array.*got float"),
        ([1, -1, 1, 1], r"`sample_weight` must be finite and not negative, got -1\.0 in row 1"),
        ([1, 1, np.nan, 1], "`sample_weight` must be finite and not negative, got nan in row 2"),
        ([1, 1, 1, np.inf], "got inf in row 3"),
        ([0, 0, 0, 0], "`sample_weight` must not be zero everywhere, got 4 zeros"),
        (["a", "b", "c", "d"], "`sample_weight` must hold real numbers, got text"),
        ([1, None, 1, 1], "`sample_weight` must hold real numbers, got objects"),
        (np.ma.array([1, 1, 1, 1]), "`sample_weight` must not be a masked array"),
        ([0, 1, 0, 1], "`y_true` must have samples of at least two classes, got fewer than two classes: 'ant'"),
    ],
)
def test_sample_weights_refused(sample_weight, match):
    with pytest.raises(ValueError, match=match):
        as_predictions(WORDS, SCORES, sample_weight=sample_weight)


@pytest.mark.parametrize("make", [list, lambda y: np.array(y, dtype=np.uint64), lambda y: np.array(y, dtype=object)])
def test_integers_beyond_int64_are_kept(make):
    predictions = as_predictions(make([2**63, 0, 1, 0]), SCORES)
    assert predictions.labels.tolist() == [0, 1, 2**63]
    assert predictions.labels.dtype == np.uint64
    assert predictions.codes.tolist() == CODES
    assert as_predictions([2**63, 0, 1, 0], SCORES, labels=[2**63, 1, 0]).labels.tolist() == [2**63, 1, 0]


def test_integers_that_no_64_bits_hold_together_are_refused():
    with pytest.raises(ValueError, match=r"at most 64 bits, signed or unsigned, got -1 to 9223372036854775808\."):
        as_predictions([2**63, -1, 1, -1], SCORES)


def test_text_that_ends_in_nul_is_kept():
    predictions = as_predictions(["b", "a", "a\0", "a"], SCORES)
    assert predictions.labels.tolist() == ["a", "a\0", "b"]
    assert predictions.codes.tolist() == CODES
    assert as_predictions(["x\0", "y"], SCORES[:2, :2], labels=["y", "x\0"]).labels.tolist() == ["y", "x\0"]


def test_the_smallest_weights_stay_weights_beside_the_largest():
    """Their sum would overflow; brought down they must not become 0, which would mean absence."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predictions = as_predictions(CODES, SCORES, sample_weight=[1.5e308, 5e-324, 1e-300, 5e-324])
    assert predictions.n_samples == 4
    assert np.all(predictions.sample_weight > 0)
    assert np.isfinite(predictions.class_weights.sum())
    assert predictions.effective_counts.tolist() == [2, 1, 1]


def test_large_weights_keep_their_ratios():
    weight = as_predictions(CODES, SCORES, sample_weight=[1.5e308, 1.0, 3.0, 0.1]).sample_weight
    assert (weight / weight[1]).tolist() == [1.5e308, 1.0, 3.0, 0.1]


class Animal(str, enum.Enum):  # noqa: UP042 (StrEnum writes its value, which these do not)
    ANT = "ant"
    BEE = "bee"
    CAT = "cat"


@pytest.mark.parametrize(
    "make",
    [list, tuple, lambda members: np.array(members, dtype=object), pandas_series],
    ids=["list", "tuple", "array", "series"],
)
def test_members_of_an_enumeration_of_text_are_their_text(make):
    members = [Animal.BEE, Animal.ANT, Animal.CAT, Animal.BEE]
    predictions = as_predictions(make(members), np.arange(12.0).reshape(4, 3))
    assert predictions.labels.tolist() == ["ant", "bee", "cat"]
    assert [type(label) for label in predictions.labels.tolist()] == [str] * 3
    assert_array_equal(predictions.codes, [1, 0, 2, 1])
    named = as_predictions(["bee", "ant", "cat", "bee"], np.arange(12.0).reshape(4, 3), labels=make(list(Animal)))
    assert named.labels.tolist() == ["ant", "bee", "cat"]


def test_members_of_an_enumeration_name_columns_groups_classes_and_models():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    members = [list(Animal)[code] for code in np.arange(30) % 3]
    scores = rng.normal(size=(30, 3)) + np.eye(3)[np.arange(30) % 3]
    frame = pd.DataFrame(scores[:, [2, 0, 1]], columns=[Animal.CAT, Animal.ANT, Animal.BEE])
    evaluation = polyroc.evaluate(members, frame)
    assert evaluation.labels.tolist() == ["cat", "ant", "bee"]
    assert evaluation.auc == pytest.approx(polyroc.auc_score(members, scores), abs=1e-12)
    assert {pair.positive for pair in evaluation.pairs} == {"ant", "bee", "cat"}
    assert "Animal" not in f"{evaluation} {evaluation.worst_pair}"
    sweep = polyroc.cost_sweep(members, scores, true_class=Animal.CAT, predicted_class=Animal.ANT, ratios=[2])
    assert "'cat' predicted as 'ant'" in repr(sweep)
    groups = np.arange(30) // 3
    by_name = [list(Animal)[group % 3] for group in groups]
    with pytest.warns(polyroc.ResamplingWarning):
        drawn = evaluation.bootstrap(9, groups=by_name, rng=0)
    assert drawn.by_groups


@pytest.mark.parametrize("kind", ["Int128", "UInt128"])
def test_integers_of_128_bits_are_integers(kind):
    pl = pytest.importorskip("polars")
    if not hasattr(pl, kind):
        pytest.skip(f"polars without {kind}")
    dtype = getattr(pl, kind)
    frame = pl.DataFrame({"ant": [5, 1, 2], "bee": [0, 7, 1], "cat": [3, 3, 9]})
    wide = frame.cast(dtype)
    y_true = pl.Series([0, 1, 2]).cast(dtype)
    predictions = as_predictions(["ant", "bee", "cat"], wide, sample_weight=pl.Series([1, 2, 3]).cast(dtype))
    assert_array_equal(predictions.scores, frame.to_numpy())
    assert_array_equal(predictions.sample_weight, [1, 2, 3])
    assert as_predictions(y_true, frame.to_numpy()).labels.tolist() == [0, 1, 2]
    large = wide.with_columns((pl.col("bee") + 2**62) * 8)
    with pytest.raises(
        ValueError, match=r"`y_score` must hold integers within 2\*\*53, got larger ones in column 'bee'"
    ):
        as_predictions(["ant", "bee", "cat"], large)
    with pytest.raises(ValueError, match="`y_true` must hold integers of at most 64 bits"):
        as_predictions(large["bee"], frame.to_numpy())
    missing = wide.with_columns(pl.when(pl.col("cat") > 3).then(pl.col("cat")))
    with pytest.raises(ValueError, match="missing values in 2 of 3 rows"):
        as_predictions(["ant", "bee", "cat"], missing)


@pytest.mark.parametrize("n_jobs", [1, 2, 3, None])
def test_threads_read_large_inputs_as_one_does(n_jobs):
    rng = np.random.default_rng(0)
    y_true, y_score = rng.choice([3, 5, 9, 11], size=300_000), rng.normal(size=(300_000, 4))
    found = as_predictions(y_true, y_score, n_jobs=n_jobs)
    assert_array_equal(found.codes, np.searchsorted([3, 5, 9, 11], y_true))
    assert_array_equal(found.class_counts, np.bincount(found.codes))
    assert not found.class_counts.flags.writeable
    y_score[299_998:, 2] = np.nan
    with pytest.raises(polyroc.InputError, match=r"in 2 of 300000 rows, the first is row 299998"):
        as_predictions(y_true, y_score, n_jobs=n_jobs)
    # Each is finite, but not their sum.
    y_score[:] = 1e308
    assert as_predictions(y_true, y_score, n_jobs=n_jobs).n_samples == 300_000


@pytest.mark.parametrize("labels", [None, [11, 9, 5, 3], [3, 5, 9, 11, 12]])
@pytest.mark.parametrize("weighted", [False, True])
def test_classes_are_counted_as_they_are_kept(labels, weighted):
    rng = np.random.default_rng(1)
    y_true = rng.choice([3, 5, 9, 11], size=500)
    weight = (rng.random(500) > 0.3).astype(float) if weighted else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = as_predictions(
            y_true, rng.normal(size=(500, len(labels or "abcd"))), labels=labels, sample_weight=weight
        )
    assert_array_equal(found.class_counts, [np.count_nonzero(found.codes == c) for c in range(len(found.labels))])
