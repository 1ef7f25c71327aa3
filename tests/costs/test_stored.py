"""Decision.from_dict: what to_dict gave comes back, and nothing else is taken."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import polyroc
from polyroc import Decision, InputError

COSTS = np.array([[0.0, 1, 2], [3, 0, 1], [40, 25, -1]])


def problem(n=200, classes=("ant", "bee", "cat")):
    rng = np.random.default_rng(4)
    codes = rng.integers(0, len(classes), n)
    evidence = rng.normal(size=(n, len(classes))) + 1.2 * np.eye(len(classes))[codes]
    p = np.exp(evidence)
    return np.array(classes)[codes], p / p.sum(axis=1, keepdims=True)


def again(decision):
    return Decision.from_dict(json.loads(json.dumps(decision.to_dict())))


class _Unreadable:
    def __array__(self, *_, **__):
        msg = "on purpose"
        raise RuntimeError(msg)


@pytest.mark.parametrize("rule", ["auto", "tuned", "bayes", "argmax"])
@pytest.mark.parametrize("options", [{}, {"reject_cost": 0.4}, {"prior": [0.1, 0.2, 0.7]}])
def test_a_stored_decision_is_the_same_decision(rule, options):
    y_true, scores = problem()
    decision = polyroc.decide(y_true, scores, COSTS, rule=rule, **options)
    read = again(decision)
    assert read.to_dict() == decision.to_dict()
    assert str(read) == str(decision)
    assert repr(read) == repr(decision)
    assert_array_equal(read.predict(scores), decision.predict(scores))
    assert_array_equal(read.rates.tpr, decision.rates.tpr)
    assert read.labels.dtype == decision.labels.dtype
    # Columns are matched by name, in whatever order they come.
    frame = pd.DataFrame(scores[:, ::-1], columns=["cat", "bee", "ant"])
    assert_array_equal(read.predict(frame), decision.predict(scores))


@pytest.mark.parametrize("classes", [(0, 1, 2), (False, True), (-1, 7)])
def test_labels_keep_their_type_and_one_column_stays_one(classes):
    y_true, scores = problem(classes=classes)
    costs = COSTS[: len(classes), : len(classes)]
    columns = scores if len(classes) > 2 else scores[:, 1]
    decision = polyroc.decide(y_true, columns, costs)
    read = again(decision)
    assert read.predict(columns).tolist() == decision.predict(columns).tolist()
    assert read.labels.dtype == decision.labels.dtype
    assert [one.label for one in read.rules] == [one.label for one in decision.rules]


def test_free_scores_stay_free():
    y_true, scores = problem()
    decision = polyroc.decide(y_true, 100 * np.log(scores), COSTS)
    assert not again(decision).on_log_scale
    assert_array_equal(again(decision).predict(100 * np.log(scores)), decision.predict(100 * np.log(scores)))


@pytest.mark.parametrize(
    ("costs", "rule", "scale"),
    [
        (COSTS, "tuned", "expected cost"),
        (COSTS, "bayes", "expected cost"),
        (COSTS, "argmax", "log probability"),
        ([[0, 2, 2], [1, 0, 1], [5, 5, -1]], "tuned", "log probability"),
    ],
)
def test_the_scale_of_the_offsets_is_stored(costs, rule, scale):
    y_true, scores = problem()
    decision = polyroc.decide(y_true, scores, costs, rule=rule)
    assert decision.to_dict()["scale"] == again(decision).scale == scale
    assert decision.on_log_scale
    assert_array_equal(again(decision).predict(scores), decision.predict(scores))
    other = {"expected cost": "log probability", "log probability": "expected cost"}[scale]
    if rule == "tuned":
        # Another scale is another rule, so it must be stored.
        turned = Decision.from_dict(decision.to_dict() | {"scale": other})
        assert (turned.predict(scores) != decision.predict(scores)).any()
    else:
        with pytest.raises(InputError, match="`scale` must be"):
            Decision.from_dict(decision.to_dict() | {"scale": other})


@pytest.fixture(scope="module")
def record():
    return polyroc.decide(*problem(), COSTS, reject_cost=0.4).to_dict()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rule": "best"}, "`rule` must be one of 'auto', 'tuned', 'bayes', 'argmax', got 'best'."),
        ({"labels": ["ant", "ant", "cat"]}, "`labels` must"),
        ({"costs": [[0, 1], [1, 0]]}, "`costs` must have shape (3, 3), a row and a column per class, got (2, 2)."),
        ({"prior": [0.5, 0.5, 0.5]}, "`prior` must sum to 1 (to within 1e-06), got a sum of 1.5."),
        (
            {"ratio": [1, -1, 1]},
            "`record` must have finite numbers of shape (3,), none below 0, as 'ratio', got [1, -1",
        ),
        ({"ratio": [0, 0, 0]}, "`record` must not have zeros alone as 'ratio'."),
        ({"offsets": None}, "`record` must have finite numbers of shape (3,) as 'offsets', got None."),
        ({"offsets": [0, np.inf, 0]}, "`record` must have finite numbers of shape (3,) as 'offsets', got [0, inf, 0]."),
        ({"offsets": [[0, 0, 0]]}, "`record` must have finite numbers of shape (3,) as 'offsets', got [[0, 0, 0]]."),
        ({"offsets": _Unreadable()}, "`record` must have finite numbers of shape (3,) as 'offsets', got"),
        ({"prior": [1, [2], 3]}, "`record` must have finite numbers of shape (3,) as 'prior', got [1, [2], 3]."),
        (
            {"confusion": [[1, 2], [3]]},
            "`record` must have finite numbers of shape (3, 4), none below 0, as 'confusion'",
        ),
        ({"reject_offset": None}, "`record` must have a finite number as 'reject_offset', got None."),
        ({"on_log_scale": 1}, "`on_log_scale` must be True or False, got 1."),
        ({"on_log_scale": False}, "`record` must have true as 'on_log_scale' for 'auto', for Bayes' rule and for a"),
        ({"scale": "log probability"}, "`scale` must be one of 'expected cost', got 'log probability'."),
        ({"n_columns": 2}, "`record` must have 3 as 'n_columns', one for each class, got 2."),
        (
            {"confusion": [[1, 2, 3]] * 3},
            "`record` must have finite numbers of shape (3, 4), none below 0, as 'confusion'",
        ),
        ({"tuned_share": 2}, "`record` must have a number from 0 to 1 as 'tuned_share', got 2.0."),
        ({"tuned_share": None}, "`record` must have a finite number as 'tuned_share', got None."),
        ({"unseen": [1]}, "`record` must have a dictionary or null as 'unseen', got [1]."),
        ({"unseen": {"true_class": "owl"}}, "`record` must have classes in 'unseen', got 'owl'."),
        (
            {"unseen": {"true_class": "ant", "predicted_class": "bee", "cost": "much"}},
            "`record` must have a finite number as 'cost', got 'much'.",
        ),
        ({"n_samples_to_tell": 1.5}, "`record` must have a positive integer as 'n_samples_to_tell', got 1.5."),
        ({"n_samples": 0}, "`record` must have a positive integer as 'n_samples', got 0."),
        ({"n_folds": True}, "`record` must have a positive integer as 'n_folds', got True."),
        ({"rules": None}, "`record` must have a list of dictionaries as 'rules', got None."),
        ({"rules": []}, "`record` must have the cost of its own rule, 'auto', among 'rules'."),
        (
            {"rules": [{"rule": "always", "label": "owl"}]},
            "`record` must have a class as 'label' of each rule 'always'",
        ),
        ({"rules": [{"rule": "tuned", "cost": "low"}]}, "`record` must have a finite number as 'cost', got 'low'."),
        ({"confidence_level": 2}, "`confidence_level` must be between 0 and 1"),
    ],
)
def test_what_is_refused(changes, words, record):
    with pytest.raises(InputError) as caught:
        Decision.from_dict(record | changes)
    assert str(caught.value).startswith(words)


def test_what_is_missing_and_what_is_no_record():
    record = polyroc.decide(*problem(), COSTS).to_dict()
    del record["offsets"], record["ratio"]
    with pytest.raises(
        InputError, match=r"`record` must have every key that `Decision.to_dict` gives, got no 'ratio', 'of"
    ):
        Decision.from_dict(record)
    with pytest.raises(InputError, match=r"`record` must be a dictionary that `Decision.to_dict` gave, got 'list'"):
        Decision.from_dict([record])


def test_an_empty_prior_is_refused():
    with pytest.raises(InputError, match=r"`prior` must name each class once \('ant', 'bee', 'cat'\), got none"):
        polyroc.decide(*problem(), COSTS, prior={})
