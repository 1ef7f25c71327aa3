"""The same question gets the same answer: the data alone decide where an interval comes from, and options say so."""

import numpy as np
import pytest
from parts import as_config, units_of
from problems import gaussian_problem

import polyroc

PROBLEM = gaussian_problem(0, 240, 4)
SHARP = gaussian_problem(1, 600, 4, 4.6)
# 60 groups of four samples each, one of every class.
GROUPS = np.arange(240) // 4


@pytest.fixture(scope="module")
def evaluation():
    return polyroc.evaluate(PROBLEM.y_true, PROBLEM.y_score)


def models(problem=PROBLEM):
    noise = np.random.default_rng(1).normal(size=problem.y_score.shape)
    return {"a": problem.y_score, "b": problem.y_score + 0.3 * noise}


ASK = {
    "interval": lambda **options: polyroc.evaluate(PROBLEM.y_true, PROBLEM.y_score).confidence_interval(**options),
    "band": lambda **options: polyroc.evaluate(PROBLEM.y_true, PROBLEM.y_score).confidence_band(**options).lower.tpr,
    "comparison": lambda **options: polyroc.compare(PROBLEM.y_true, models(), **options).to_dict(),
}


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
def test_progress_and_threads_change_nothing(ask, capsys):
    expected = ask()
    for options in ({"progress": True}, {"n_jobs": 1}, {"n_jobs": 3}):
        np.testing.assert_equal(ask(**options), expected)


REFUSED = [
    *((name, method, option) for name in ASK for method in ("auto", "influence") for option in ("rng", "n_resamples")),
    *(("interval", "delong", option) for option in ("rng", "n_resamples", "interval")),
    *((name, "auto", "interval") for name in ("interval", "comparison")),
]


@pytest.mark.parametrize(("name", "method", "argument"), REFUSED)
def test_options_of_resamples_need_a_method_that_draws(name, method, argument):
    value = {"rng": 0, "n_resamples": 99, "interval": "basic"}[argument]
    rule = f"`{argument}` needs a method that draws: pass method='bootstrap' .method='{method}' "
    with pytest.raises(polyroc.InputError, match=rule):
        ASK[name](method=method, **{argument: value})


def test_what_the_message_proposes_is_what_was_wanted(evaluation):
    found = evaluation.confidence_interval(method="bootstrap", n_resamples=49, rng=0)
    assert found == evaluation.bootstrap(49, rng=0).confidence_interval()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_data_that_need_resamples_get_the_same_ones_each_time(n_jobs):
    evaluation = polyroc.evaluate(SHARP.y_true, SHARP.y_score)
    assert "D is within 0.001 of 1" in evaluation.influence_note
    found = evaluation.confidence_interval(n_jobs=n_jobs)
    assert found == evaluation.bootstrap(999, rng=0).confidence_interval()
    assert found.method == "bootstrap"
    # M has a formula all the same.
    assert evaluation.confidence_interval(statistic="hand_till").method == "influence"
    compared = polyroc.compare(SHARP.y_true, models(SHARP), n_jobs=n_jobs)
    assert (compared.method, compared.n_resamples, compared.seed) == ("bootstrap", 999, 0)


def test_a_confidence_sequence_draws_nothing():
    with pytest.raises(polyroc.InputError, match="`rng` needs a method that draws"):
        polyroc.compare(PROBLEM.y_true, models(), anytime=True, rng=0)


def test_groups_are_named_in_a_comparison_and_in_a_sequence():
    text = str(polyroc.compare(PROBLEM.y_true, models(), groups=GROUPS, anytime=1200))
    assert text.startswith("Comparison of 2 models on 240 samples in 60 groups, 4 classes, 12 ordered pairs\n")
    assert "Influences of the groups, no resampling" in text
    assert "tightest near 1,200 groups" in " ".join(text.split())
    text = str(polyroc.compare(PROBLEM.y_true, models(), anytime=1200))
    assert "240 samples of 4 classes" in text
    assert "tightest near 1,200 samples" in " ".join(text.split())


def test_accuracy_has_an_interval_by_groups(evaluation):
    """Whole groups as one sample each: the standard error is that of their shares."""
    right = PROBLEM.y_score.argmax(axis=1) == PROBLEM.y_true
    shares = right.reshape(60, 4).mean(axis=1)
    row = evaluation.measures(["accuracy"], groups=GROUPS)["accuracy"]
    assert row.standard_error == pytest.approx(shares.std(ddof=1) / np.sqrt(60), rel=1e-9)
    assert evaluation.accuracy_interval(groups=GROUPS) == (row.low, row.high)
    # Samples that are alone in their groups are independent.
    alone = evaluation.accuracy_interval(groups=np.arange(240))
    assert alone == pytest.approx(evaluation.accuracy_interval(), abs=2e-3)
    assert units_of(evaluation.fitted.samples, GROUPS).n_units == 60


@pytest.mark.parametrize("options", [{"shrinkage": 0}, {"structure": "centered"}], ids=str)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_there_is_no_standard_error_without_an_interval(options):
    """With shrinkage 0 and separated pairs the fit is at infinity, and the formula gave 464 and 36,458."""
    rng = np.random.default_rng(2)
    y_true = np.arange(8) % 4
    evaluation = polyroc.evaluate(y_true, rng.normal(size=(8, 4)), **options)
    assert evaluation.influence_note
    assert evaluation.standard_error is None
    with pytest.raises(polyroc.InputError, match="must be 'bootstrap' where"):
        evaluation.confidence_interval(method="influence")
    [row] = evaluation.measures(["auc"])
    assert (row.standard_error, row.low, row.high) == (None, None, None)


def test_a_log_of_mlflow_has_the_same_rule():
    for config, argument in (({"seed": 1}, "seed"), ({"n_resamples": 9}, "n_resamples")):
        with pytest.raises(
            polyroc.InputError, match=f"`{argument}` needs a method that draws: pass method='bootstrap'"
        ):
            as_config(config)
        assert as_config({"method": "bootstrap", **config}).method == "bootstrap"
    assert as_config({"seed": 1, "max_pairs": 6}).method == "auto"
