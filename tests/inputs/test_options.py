"""Options by what they become, and by what is said when they are refused."""

import inspect
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import polyroc
from polyroc._inputs.options import DECLARED, ENGINES, Options, as_options
from polyroc._lib.typing import Structure, Thresholds, Weighting

AB, ABC = np.array(["a", "b"]), np.array(["a", "b", "c"])
MATRICES = ["costs", "tpr_weights", "fpr_weights"]
WEIGHTS = np.array([[np.nan, 2.0, 3.0], [4.0, -1.0, 5.0], [6.0, 7.0, 0.0]])
SETTLED = np.array([[1.0, 2.0, 3.0], [4.0, 1.0, 5.0], [6.0, 7.0, 1.0]])


def test_defaults_are_those_of_the_contract():
    options = as_options(ABC)
    assert (options.weighting, options.thresholds, options.structure, options.engine) == (
        "equal",
        "own",
        "rank-one",
        "auto",
    )
    assert (options.n_thresholds, options.shrinkage) == (99, 1.0)
    assert options.costs is options.tpr_weights is options.fpr_weights is None


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("weighting", ["equal", "prevalence"]),
        ("thresholds", ["own", "shared", "difference"]),
        ("structure", ["rank-one", "centered", "saturated"]),
        ("engine", ["auto", "numpy", "numba", "torch"]),
    ],
)
def test_each_allowed_value_is_kept_and_any_other_refused_with_the_list(name, values):
    for value in values:
        assert getattr(as_options(ABC, **{name: value}), name) == value
    for value in ["Equal", "", None, 1, np.array(values), values]:
        with pytest.raises(ValueError, match=f"`{name}` must be one of {', '.join(map(repr, values))}, got "):
            as_options(ABC, **{name: value})


def test_engines_are_named_once():
    assert tuple(ENGINES) == ("auto", "numpy", "numba", "torch")


@pytest.mark.parametrize("value", [2, 3, 1000, np.int64(5), np.uint8(7)])
def test_n_thresholds_becomes_an_int(value):
    n_thresholds = as_options(ABC, n_thresholds=value).n_thresholds
    assert n_thresholds == value
    assert type(n_thresholds) is int


@pytest.mark.parametrize(
    "value",
    [1, 0, -3, 9.0, "9", None, True, np.True_, np.int64(1), np.array([9]), 1_000_001, 10**30],
)
def test_n_thresholds_refused(value):
    with pytest.raises(ValueError, match="`n_thresholds` must be an integer from 2 to 1000000, got "):
        as_options(ABC, n_thresholds=value)


def test_a_number_too_long_to_be_written_is_refused_like_any_other():
    with pytest.raises(ValueError, match="from 2 to 1000000, got a very large int"):
        as_options(ABC, n_thresholds=10**5000)


@pytest.mark.parametrize("value", [0, 0.0, 1, 0.5, np.float32(0.25), np.int8(3), Fraction(1, 2)])
def test_shrinkage_becomes_a_float(value):
    shrinkage = as_options(ABC, shrinkage=value).shrinkage
    assert shrinkage == value
    assert type(shrinkage) is float


@pytest.mark.parametrize("value", [-0.1, np.nan, np.inf, 10**400, "1", None, True, 1j, np.array([1.0])])
def test_shrinkage_refused(value):
    with pytest.raises(ValueError, match="`shrinkage` must be a finite number of at least 0, got "):
        as_options(ABC, shrinkage=value)


def test_what_came_is_cut_to_a_readable_length():
    with pytest.raises(ValueError, match=r"got 'x{36}\.\.\.\.$"):
        as_options(ABC, structure="x" * 1000)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize(
    "make",
    [
        np.array,
        lambda matrix: matrix.tolist(),
        lambda matrix: matrix.astype(np.float32),
        lambda matrix: pytest.importorskip("pandas").DataFrame(matrix, index=list("abc"), columns=list("abc")),
        lambda matrix: pytest.importorskip("polars").DataFrame(matrix, schema=list("abc")),
    ],
)
def test_matrices_become_float64_with_ones_on_the_diagonal(name, make):
    matrix = getattr(as_options(ABC, **{name: make(WEIGHTS)}), name)
    assert_array_equal(matrix, SETTLED)
    assert matrix.dtype == np.float64
    assert not matrix.flags.writeable


@pytest.mark.parametrize("name", MATRICES)
def test_the_callers_matrix_is_left_alone(name):
    came = WEIGHTS.copy()
    options = as_options(ABC, **{name: came})
    assert_array_equal(came, WEIGHTS)
    assert not np.shares_memory(getattr(options, name), came)


def test_integer_matrices_are_read():
    assert as_options(AB, costs=[[0, 3], [1, 0]]).costs.tolist() == [[1.0, 3.0], [1.0, 1.0]]


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize(
    ("value", "match"),
    [
        (np.ones((2, 2)), r"must have shape \(3, 3\), a row and a column per class, got \(2, 2\)"),
        (np.ones((3, 2)), r"must have shape \(3, 3\), .* got \(3, 2\)"),
        (np.ones(9), r"must have shape \(3, 3\), .* got \(9,\)"),
        (np.ones((3, 3, 3)), r"must have shape \(3, 3\), .* got \(3, 3, 3\)"),
        (2.0, "must be an array"),
        ("equal", "must be an array"),
        ([[1, 2, 3], [1, 2]], "must be rectangular"),
        (np.eye(3), r"must be finite and positive off the diagonal, got 0\.0 in row 0, column 1"),
        ([[1, 1, 1], [1, 1, -2], [1, 1, 1]], r"got -2\.0 in row 1, column 2"),
        ([[1, 1, 1], [1, 1, 1], [np.nan, 1, 1]], "got nan in row 2, column 0"),
        ([[1, 1, 1], [1, 1, 1], [1, np.inf, 1]], "got inf in row 2, column 1"),
        (np.ones((3, 3), dtype=complex), "must hold real numbers, got complex"),
        (np.ones((3, 3), dtype=object), "must hold real numbers, got objects"),
        (np.full((3, 3), "1"), "must hold real numbers, got text"),
        (np.ma.ones((3, 3)), "must not be a masked array"),
    ],
)
def test_matrices_refused(name, value, match):
    with pytest.raises(ValueError, match=f"^`{name}` .*{match}"):
        as_options(ABC, **{name: value})


def test_costs_of_too_wide_a_ratio_are_refused():
    with pytest.raises(ValueError, match=r"`costs` must lie within a ratio of 1e\+12, got entries from 0\.5 to 1e\+12"):
        as_options(AB, costs=[[0, 1e12], [0.5, 0]])
    assert as_options(AB, costs=[[0, 1e12], [1, 0]]).costs[0, 1] == 1e12
    assert as_options(AB, costs=[[0, 1e308], [1e308, 0]]).costs[0, 1] == 1e308
    assert as_options(AB, costs=[[0, 1e-300], [1e-300, 0]]).costs[0, 1] == 1e-300


def test_the_ratio_of_cell_weights_is_taken_over_both_matrices():
    small, large = [[1, 1e-7], [1e-7, 1]], [[1, 1e7], [1e7, 1]]
    match = r"`tpr_weights` and `fpr_weights` together must lie within a ratio of 1e\+12, got entries from 1e-07 to 1"
    with pytest.raises(ValueError, match=match):
        as_options(AB, tpr_weights=small, fpr_weights=large)
    assert as_options(AB, tpr_weights=large, fpr_weights=large).fpr_weights[0, 1] == 1e7


def test_a_cell_matrix_not_given_counts_as_one():
    with pytest.raises(ValueError, match=r"got entries from 1 to 1e\+13"):
        as_options(AB, tpr_weights=[[1, 1e13], [1e13, 1]])


def named(library, names):
    matrix = dict(zip(names, np.where(np.eye(3), 1, WEIGHTS).T, strict=True))
    if library == "pyarrow":
        return pytest.importorskip("pyarrow").table(matrix)
    return pytest.importorskip(library).DataFrame(matrix)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_named_columns_must_be_the_classes_in_their_order(name, library):
    assert_array_equal(getattr(as_options(ABC, **{name: named(library, list("abc"))}), name), SETTLED)
    match = rf"^`{name}` must have its columns in the order of the classes \('a', 'b', 'c'\), got columns named "
    for names, came in ((list("cab"), "'c', 'a', 'b'"), (list("abd"), "'a', 'b', 'd'"), (list("xyz"), "'x'")):
        with pytest.raises(ValueError, match=match + came):
            as_options(ABC, **{name: named(library, names)})


def test_names_are_compared_as_text():
    numbers = np.array([3, 5, 9])
    assert_array_equal(as_options(numbers, costs=named("polars", ["3", "5", "9"])).costs, SETTLED)
    with pytest.raises(ValueError, match=r"order of the classes \(3, 5, 9\), got columns named '5', '3', '9'"):
        as_options(numbers, costs=named("polars", ["5", "3", "9"]))


def test_named_rows_must_be_the_classes_too():
    frame = named("pandas", list("abc"))
    assert_array_equal(as_options(ABC, costs=frame.set_axis(list("abc"))).costs, SETTLED)
    with pytest.raises(ValueError, match=r"must have its rows in the order .* got rows named 'b', 'a', 'x'"):
        as_options(ABC, costs=frame.set_axis(list("bax")))


@pytest.mark.parametrize("rows", ["abc", "cab"])
@pytest.mark.parametrize("columns", ["abc", "bca"])
def test_rows_and_columns_that_are_both_named_are_matched_by_name(rows, columns):
    frame = named("pandas", list("abc")).set_axis(list("abc")).loc[list(rows), list(columns)]
    assert_array_equal(as_options(ABC, costs=frame).costs, SETTLED)


def test_no_message_about_names_advises_to_drop_them():
    """As an array, a matrix in another order is read as it stands: another cost for every confusion."""
    with pytest.raises(ValueError, match="bring both rows and columns into that order") as caught:
        as_options(ABC, costs=named("polars", list("cab")))
    assert "to_numpy" not in str(caught.value)


def test_columns_that_nobody_named_are_taken_by_position():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for frame in (pandas.DataFrame(SETTLED), polars.DataFrame(SETTLED)):
        assert_array_equal(as_options(ABC, costs=frame).costs, SETTLED)
        assert_array_equal(as_options(np.arange(3), costs=frame).costs, SETTLED)
    # Here 0, 1, 2 are names after all, and of other classes than those in their places.
    with pytest.raises(ValueError, match=r"order of the classes \(2, 0, 1\), got columns named 0, 1, 2"):
        as_options(np.array([2, 0, 1]), costs=pandas.DataFrame(SETTLED))


def keywords(function):
    given = inspect.signature(function).parameters.values()
    return {one.name: one.default for one in given if one.kind is one.KEYWORD_ONLY}


def test_the_signature_of_evaluate_is_the_declaration():
    """A new option needs its declaration and its place in the signature; nothing else lists them all."""
    found = keywords(polyroc.evaluate)
    assert list(found) == ["labels", "sample_weight", *DECLARED]
    assert {name: found[name] for name in DECLARED} == {name: one.default for name, one in DECLARED.items()}
    assert {name: getattr(Options(), name) for name in DECLARED} == {name: found[name] for name in DECLARED}
    for name in DECLARED:
        assert (
            f"{name} : " in polyroc.evaluate.__doc__ or f"{name}, " in polyroc.evaluate.__doc__ or name == "fpr_weights"
        )


def test_every_declared_option_reaches_the_evaluation():
    """By values other than the defaults, so that one that `evaluate` forgot would show."""
    matrix = [[1.0, 2.0, 3.0], [2.0, 1.0, 3.0], [2.0, 3.0, 1.0]]
    other = {
        "weighting": "prevalence", "costs": matrix, "tpr_weights": matrix, "fpr_weights": matrix,
        "thresholds": "shared", "n_thresholds": 19, "shrinkage": 0.5, "structure": "centered", "engine": "numpy",
        "max_pairs": 3, "rng": 7, "n_jobs": 1,
    }  # fmt: skip
    assert list(other) == list(DECLARED)
    scores = np.random.default_rng(0).normal(size=(30, 3))
    options = polyroc.evaluate(np.arange(30) % 3, scores, **other).to_dict()["options"]
    assert options == other


def test_words_are_those_of_the_types():
    for name, kind in {"weighting": Weighting, "thresholds": Thresholds, "structure": Structure}.items():
        assert tuple(DECLARED[name].metadata["words"]) == get_args(kind)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: polyroc.auc_score([0, 1], [0, 1], bogus=1), "auc_score"),
        (lambda: polyroc.compare([0, 1], {}, bogus=1), "compare"),
        (lambda: polyroc.cost_sweep([0, 1], [0, 1], true_class=0, bogus=1), "cost_sweep"),
        (lambda: polyroc.make_auc_scorer(bogus=1), "make_auc_scorer"),
        (lambda: polyroc.evaluate_cv(None, None, None, bogus=1), "evaluate_cv"),
    ],
)
def test_an_unknown_option_is_refused_in_the_name_of_the_function_that_was_called(call, name):
    if name == "evaluate_cv":
        pytest.importorskip("sklearn")
    with pytest.raises(TypeError) as caught:
        call()
    said = str(caught.value)
    assert said.startswith(f"{name}() got an unexpected keyword argument 'bogus'. Accepted options: ")
    accepted = said.rstrip(".").partition("Accepted options: ")[2].split(", ")
    assert set(DECLARED) <= set(accepted)
    assert ("labels" in accepted) == (name not in ("make_auc_scorer", "evaluate_cv"))


def test_the_command_line_has_the_help_the_words_and_the_defaults_of_the_declaration():
    typer = pytest.importorskip("typer")
    from polyroc.cli._app import app

    for command in ("evaluate", "compare"):
        options = {one.name: one for one in typer.main.get_command(app).commands[command].params}
        shared = [name for name in DECLARED if name in options and name != "costs"]
        assert shared == ["weighting", "thresholds", "n_thresholds", "shrinkage", "structure", "engine", "max_pairs"]
        for name in shared:
            said = DECLARED[name]
            assert options[name].help == said.metadata["help"]
            assert options[name].default == said.default
            if said.metadata["words"]:
                assert options[name].metavar == "|".join(said.metadata["words"])
