"""What `summary_roc` reads, corrects and refuses."""

import numpy as np
import pytest
from audit_c import AUDIT_C, AUDIT_C_TABLE
from numpy.testing import assert_allclose, assert_array_equal

from polyroc import InputError
from polyroc.meta import summary_roc

GOOD = [[47, 9, 101, 738], [126, 51, 272, 1543], [19, 10, 12, 192]]


def with_cell(value, row=1, column=2):
    table = np.array(GOOD, dtype=float)
    table[row, column] = value
    return table


def test_mappings_and_frames_are_read_by_name():
    expected = summary_roc(AUDIT_C_TABLE)
    shuffled = {
        "name": ["x"] * 14,
        "tn": AUDIT_C["TN"],
        " Fp ": AUDIT_C["FP"],
        "FN": AUDIT_C["FN"],
        "Tp": AUDIT_C["TP"],
    }
    found = [summary_roc(shuffled)]
    for package in ("pandas", "polars"):
        library = pytest.importorskip(package)
        found.append(summary_roc(library.DataFrame(shuffled)))
    found.append(summary_roc(pytest.importorskip("pyarrow").table(shuffled)))
    for one in found:
        assert_array_equal(one.studies.counts, AUDIT_C_TABLE)
        assert one.auc == expected.auc


def test_rates_are_observed_and_logits_corrected():
    studies = summary_roc(AUDIT_C).studies
    assert len(studies) == 14
    assert (studies.tpr[7], studies.fpr[7]) == (1, 3226 / 6203)
    # mada's madad(AuditC)$fpr, after its correction.
    printed = [0.12083333, 0.15005507, 0.06097561, 0.22112676, 0.18061486, 0.43354430, 0.20988806]
    printed += [0.52006770, 0.28906250, 0.17008929, 0.23068670, 0.19131238, 0.27564103, 0.25070822]
    assert_allclose(1 / (1 + np.exp(-studies.logits[:, 1])), printed, atol=5e-9)
    assert_allclose(studies.logits[6, 0], np.log(68.5 / 0.5))
    assert_allclose(studies.variances[6], [1 / 68.5 + 1 / 0.5, 1 / 112.5 + 1 / 423.5])


def test_corrections():
    assert_array_equal(summary_roc(AUDIT_C).studies.corrected, AUDIT_C_TABLE + 0.5)
    single = summary_roc(AUDIT_C, correction_control="single", correction=0.1).studies.corrected
    has_zero = (AUDIT_C_TABLE == 0).any(axis=1)
    assert_allclose(single, AUDIT_C_TABLE + 0.1 * has_zero[:, None])
    # Without zeros nothing is corrected.
    for control in ("all", "single", "none"):
        assert_array_equal(summary_roc(GOOD, correction_control=control).studies.corrected, GOOD)
    for options in ({"correction_control": "none"}, {"correction": 0}):
        with pytest.raises(InputError, match=r"`correction` must be positive, .* got a zero cell in row 6"):
            summary_roc(AUDIT_C, **options)


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        (with_cell(-1), "must hold whole numbers of at least 0, got -1 as FP in row 1"),
        (with_cell(np.nan), "must hold whole numbers of at least 0, got nan as FP in row 1"),
        (with_cell(np.inf), "must hold whole numbers of at least 0, got inf as FP in row 1"),
        (with_cell(1e17), r"must hold whole numbers of at least 0, got 1e\+17 as FP"),
        (with_cell(7.5), "got 7.5 as FP in row 1. Do not add 0.5 yourself: `correction` does that"),
        (GOOD[:2], "must have at least 3 studies, got 2"),
        (np.ones((5, 3)), r"must have shape \(n_studies, 4\), in the order TP, FN, FP, TN, or columns .*\(5, 3\)"),
        ([1, 2, 3, 4], r"must have shape \(n_studies, 4\)"),
        ([[0, 0, 1, 2], *GOOD], r"must have diseased \(TP \+ FN\) people in each study, got none in row 0"),
        ([*GOOD, [1, 2, 0, 0]], r"must have healthy \(FP \+ TN\) people in each study, got none in row 3"),
        ({"TP": [1, 2], "FN": [3, 4]}, "must have one column each called TP, FN, FP, TN, .* got columns 'TP', 'FN'"),
        ({}, "must have one column each called TP, FN, FP, TN, in any letter case, got no columns"),
        ({**AUDIT_C, "tp": AUDIT_C["TP"]}, "must have one column each called"),
        ({**AUDIT_C, "TP": [1, 2, 3]}, "must have columns of one length, got 3, 14, 14, 14"),
        ({**AUDIT_C, "TP": ["a"] * 14}, "must hold real numbers, got text"),
        ({**AUDIT_C, "TP": np.ones((14, 2))}, r"must have one-dimensional columns, got shape \(14, 2\) in 'TP'"),
        ("TP", "must be an array, a list, a series or a data frame, got str"),
        (None, "must be an array"),
    ],
)
def test_tables_that_are_refused(tables, words):
    with pytest.raises(InputError, match=f"`tables` .*{words}") as caught:
        summary_roc(tables)
    assert caught.value.argument == "tables"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"approach": "hsroc"}, "`approach` must be one of 'reitsma', 'moses', got 'hsroc'"),
        ({"method": "mm"}, "`method` must be one of 'reml', 'ml', got 'mm'"),
        ({"correction": -0.5}, "`correction` must be a number from 0 to 1, got -0.5"),
        ({"correction": True}, "`correction` must be a number from 0 to 1, got True"),
        ({"correction_control": "some"}, "`correction_control` must be one of 'all', 'single', 'none', got 'some'"),
        ({"weighted": 1}, "`weighted` must be True or False, got 1"),
        ({"weighted": True}, "`weighted` must be False for approach='reitsma'"),
        ({"approach": "moses", "method": "ml"}, "`method` must be left out for approach='moses'"),
    ],
)
def test_options_that_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        summary_roc(GOOD, **options)
