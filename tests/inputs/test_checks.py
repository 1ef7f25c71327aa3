"""Errors by their fields, from whatever public function raises them."""

import pickle

import numpy as np
import pytest

import polyroc
from polyroc import InputError
from polyroc._inputs.checks import one_of

Y, S = [0, 0, 1, 1, 2, 2], np.random.default_rng(0).normal(size=(6, 3))


def test_the_message_is_made_from_the_fields():
    error = InputError("ratios", "must be positive", "-1", hint=": use a logarithm")
    assert str(error) == "`ratios` must be positive, got -1: use a logarithm."
    assert (error.argument, error.rule, error.got, error.hint) == (
        "ratios",
        "must be positive",
        "-1",
        ": use a logarithm",
    )
    assert str(InputError("groups", "must be None")) == "`groups` must be None."
    assert str(InputError("y", "must be text", "1", hint=". Swapped?")) == "`y` must be text, got 1. Swapped?"
    assert issubclass(InputError, ValueError)


def test_an_error_travels_between_processes():
    error = InputError("rng", "must be a seed", "'x'", hint=": pass 0")
    error.add_note("in worker 3")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is InputError
    assert str(again) == str(error)
    assert (again.argument, again.rule, again.got, again.hint) == ("rng", "must be a seed", "'x'", ": pass 0")
    assert again.__notes__ == ["in worker 3"]


@pytest.mark.parametrize(
    ("call", "argument", "got"),
    [
        (lambda: polyroc.evaluate(Y, S, shrinkage=-1), "shrinkage", "-1"),
        (lambda: polyroc.evaluate(Y, S, weighting="x"), "weighting", "'x'"),
        (lambda: polyroc.evaluate(Y, S[:5]), "y_score", "shape (5, 3) and 6 labels in `y_true`"),
        (lambda: polyroc.evaluate([[0], [1, 2]], S), "y_true", "rows of different lengths"),
        (lambda: polyroc.evaluate(Y, [[1, 2, 3], [1, 2]] * 3), "y_score", "rows of different lengths"),
        (lambda: polyroc.evaluate(Y, S, costs=np.ones((2, 2))), "costs", "(2, 2)"),
        (lambda: polyroc.evaluate(Y, S, sample_weight=np.zeros(6)), "sample_weight", "6 zeros"),
        (lambda: polyroc.evaluate(Y, S).curve.partial_auc(2), "max_fpr", "2"),
        (lambda: polyroc.evaluate(Y, S).bootstrap(1), "n_resamples", "1"),
        (lambda: polyroc.compare(Y, {"a": S}), "scores", "1"),
        (lambda: polyroc.cost_sweep(Y, S, true_class=7), "true_class", "7"),
        (lambda: polyroc.baselines.auc_mu(Y, S, partition=S[:3], costs=S[:3]), "partition", "both"),
        (lambda: one_of([], "kind", ("a",)), "kind", "[]"),
    ],
)
def test_bad_input_names_its_argument_in_a_field(call, argument, got):
    with pytest.raises(InputError) as caught:
        call()
    assert (caught.value.argument, caught.value.got) == (argument, got)
    assert str(caught.value).startswith(f"`{argument}` {caught.value.rule}, got {got}")


def test_a_comparison_says_whose_scores_are_wrong_and_leaves_other_errors_alone():
    with pytest.raises(
        InputError, match=r"^`scores` of model 'b': `y_score` must be finite, got NaN, infinity"
    ) as caught:
        polyroc.compare(Y, {"a": S, "b": S * np.nan})
    assert caught.value.argument == "scores"
    assert caught.value.__cause__.argument == "y_score"
    frame = pytest.importorskip("pandas").DataFrame(S, columns=[0, 1, 2.5])
    with pytest.raises(InputError, match=r"^`scores` of model 'b': `y_score\.columns` must hold integers, strings or"):
        polyroc.compare(Y, {"a": S, "b": frame})
    with pytest.raises(InputError, match=r"^`y_true` must have samples of at least two classes"):
        polyroc.compare([0] * 6, {"a": S, "b": S})


def test_numbers_among_rows_and_deeper_rows_are_not_rectangular():
    for value in ([[1, 2], 3] * 3, [[[1, 2], [3]], [[1, 2], [3]]] * 3):
        with pytest.raises(InputError, match="`y_score` must be rectangular, got rows of different lengths"):
            polyroc.evaluate(Y, value)


def test_a_list_that_contains_itself_is_refused():
    endless = [1.0, 2.0]
    endless.append(endless)
    for given in (endless, [endless, endless]):
        with pytest.raises(polyroc.InputError, match="`y_score`"):
            polyroc.evaluate(Y, given)
