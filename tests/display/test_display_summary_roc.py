"""The picture of a summary ROC curve: its numbers are the summary's."""

import numpy as np
import pytest
from audit_c import AUDIT_C_TABLE
from numpy.testing import assert_allclose

import polyroc
from polyroc.display import SummaryRocDisplay
from polyroc.meta import summary_roc

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def summary():
    return summary_roc(AUDIT_C_TABLE)


def labels_of(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_studies_curve_point_and_regions(summary):
    display = summary.plot(prediction_region=True, confidence_level=0.9)
    assert isinstance(display, SummaryRocDisplay)
    assert_allclose(display.studies_.get_offsets(), np.stack([summary.studies.fpr, summary.studies.tpr], axis=1))
    people = summary.studies.counts.sum(axis=1)
    sizes = display.studies_.get_sizes()
    assert sizes.argmax() == people.argmax()
    assert sizes[1] / sizes[7] == pytest.approx(people[1] / people[7])
    fpr, tpr = display.line_.get_data()
    assert (fpr[0], fpr[-1]) == summary.observed_fpr
    assert_allclose(tpr, summary.curve.tpr_at(fpr))
    assert display.line_.get_linestyle() == "-"
    whole = display.extrapolated_
    assert (whole.get_linestyle(), whole.get_xdata()[0], whole.get_xdata()[-1]) == ("--", 0, 1)
    assert display.point_.get_data() == ([summary.fpr], [summary.tpr])
    for drawn, region in (
        (display.confidence_region_, summary.confidence_region(0.9)),
        (display.prediction_region_, summary.prediction_region(0.9)),
    ):
        assert_allclose(drawn.get_xy()[: len(region.fpr)], np.stack([region.fpr, region.tpr], axis=1))
    assert labels_of(display) == [
        "summary curve, area 0.888",
        "summary point, 90 % region",
        "a further study, 90 % region",
    ]


def test_the_regression_has_no_regions():
    display = summary_roc(AUDIT_C_TABLE, approach="moses").plot(studies=False, despine=True, prediction_region=True)
    assert display.studies_ is display.point_ is display.confidence_region_ is display.prediction_region_ is None
    assert labels_of(display) == ["summary curve, area 0.879"]
    assert not display.ax_.spines["top"].get_visible()


def test_several_in_one_picture_differ_in_colour_and_name(summary):
    _, ax = plt.subplots()
    first = SummaryRocDisplay.from_summary(summary, name="all_$").plot(ax)
    second = SummaryRocDisplay.from_summary(summary_roc(AUDIT_C_TABLE[:7]), name="first seven").plot(ax)
    assert first.line_.get_color() != second.line_.get_color()
    assert labels_of(second)[0] == r"all_\$: summary curve, area 0.888"


def test_a_curve_that_jumps_is_drawn_as_one(summary):
    step = summary_roc([[tp, 100 - tp, fp, 50 - fp] for tp in (10, 30, 80) for fp in (40, 42)])
    fpr, tpr = step.plot().line_.get_data()
    assert set(tpr) == {0, 1}
    assert step.fpr in fpr


def test_bad_options_are_refused_before_anything_is_drawn(summary):
    for options, words in (
        ({"confidence_level": 95}, "`confidence_level` must be between 0 and 1"),
        ({"prediction_region": "yes"}, "`prediction_region` must be True or False"),
        ({"studies": None}, "`studies` must be True or False"),
    ):
        with pytest.raises(polyroc.InputError, match=words):
            summary.plot(**options)
    assert plt.get_fignums() == []
