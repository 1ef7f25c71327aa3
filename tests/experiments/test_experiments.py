"""The experiments: their parts against something else, and their quick versions against the paper's claims."""

import csv
import gzip
import html
import os
import re
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest
from numpy.testing import assert_allclose

import polyroc
from experiments import EXPERIMENTS, Claim, Outcome, Table, draw, reproduce, write
from experiments._classifiers import MODELS, SETTINGS
from experiments._costs import cost_matrix, majority_scores
from experiments._coverage import _as_promised
from experiments._data_sets import KNOWN, as_data_folder, find_data_sets
from experiments._discriminative import more_discriminative, ties
from experiments._outcome import sure, sure_of_few
from experiments._readings import strict
from experiments._real_data import ORDERS, PRINTED, _agreement, _order_rows, _printed_algorithm, _shares
from experiments._reproduce import check_installed
from experiments._simulation import draw_labels, simulate
from experiments._skewness import _skewed
from experiments._write import claims_page
from polyroc._core.rates import all_pairs
from polyroc._core.weights import pair_weights
from polyroc._inputs.options import as_options
from polyroc._inputs.predictions import as_predictions
from polyroc.baselines._wang_carvalho import fit_as_printed


def no_network(*args, **kwargs):
    msg = "no network"
    raise URLError(msg)


@pytest.fixture(autouse=True)
def _nothing_is_downloaded(monkeypatch):
    # At the door, so that scikit-learn checks what it is asked for.
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", no_network)
    monkeypatch.setattr("sklearn.datasets._openml.time.sleep", lambda seconds: None)


@cache
def quick(name: str) -> Outcome:
    return reproduce(name, quick=True)


def held(outcome: Outcome) -> dict[str, bool]:
    return {claim.text: claim.holds for claim in outcome.claims}


# --- the paper's claims, in versions of seconds ---


@pytest.mark.slow
@pytest.mark.parametrize("name", ["discrimination", "skewness", "costs"])
def test_claims_of_the_simulations_hold(name):
    assert [text for text, holds in held(quick(name)).items() if not holds] == []


@pytest.mark.slow
def test_skewness_by_weights_is_skewness_by_repetition():
    """The column `by_weights` of a test set, computed again from samples that are there several times."""
    labels, scores = np.repeat(np.arange(3), 40), np.random.default_rng(0).random((120, 3))
    times = np.array([1, 2, 5])[labels]
    weighted = polyroc.evaluate(labels, scores, sample_weight=times, weighting="prevalence", shrinkage=0).auc
    repeated = polyroc.evaluate(labels.repeat(times), scores.repeat(times, axis=0), weighting="prevalence", shrinkage=0)
    assert_allclose(weighted, repeated.auc, atol=1e-9)


@pytest.mark.slow
@pytest.mark.skipif("POLYROC_DATA" not in os.environ, reason="POLYROC_DATA names no folder of data sets")
def test_rankings_by_d_and_m_agree_on_real_data():
    outcome = quick("real-data")
    assert held(outcome)["D and M tend to rank classifiers alike"]
    assert held(outcome)["The paper's replicates vary far less than samples do (not in the paper)"]


def splits_of(values):
    """A table of splits of one data set, from rows of (D, M) of each model."""
    return Table.of(
        "splits",
        [
            {"data": "made up", "split": split, "model": model, "D": d, "M": m}
            for split, row in enumerate(values)
            for model, (d, m) in zip("abc", row, strict=True)
        ],
    )


def test_more_discriminative_is_a_claim_that_can_fail():
    y_true = np.repeat(np.arange(3), 30)
    rng = np.random.default_rng(0)
    scores = {name: rng.normal(size=(90, 3)) + s * np.eye(3)[y_true] for name, s in {"a": 0.5, "b": 1, "c": 2}.items()}
    compared = {"made up": [polyroc.compare(y_true, scores, method="bootstrap", n_resamples=99, rng=0)]}
    by_d, by_m = ([(0.7, 0.7), (0.8, 0.8), (0.9, 0.9)] for _ in range(2))
    # The same means; what varies over splits is M in the first table and D in the second.
    steady_d = splits_of([by_d, [(d, m + e) for (d, m), e in zip(by_m, (0.05, -0.05, 0.02), strict=True)]])
    steady_m = splits_of([by_d, [(d + e, m) for (d, m), e in zip(by_m, (0.05, -0.05, 0.02), strict=True)]])
    [first, second] = [more_discriminative(compared, splits) for splits in (steady_d, steady_m)]
    assert "3 of 3 by its variation over splits" in first.measured
    assert "0 of 3 by its variation over splits" in second.measured
    assert not second.holds
    z = [
        [abs(one.value) / one.standard_error for one in contest.differences]
        for contest in (compared["made up"][0].by_auc, compared["made up"][0].by_hand_till)
    ]
    surer = sum(d > m for d, m in zip(*z, strict=True))
    assert f"{surer} of 3 by resamples" in first.measured
    assert first.holds == (surer >= 2)


def test_ties_that_one_measure_breaks():
    splits = splits_of([[(0.7, 0.8), (0.7, 0.9), (0.6, 0.9)], [(0.5, 0.5), (0.5, 0.5), (0.6, 0.5)]])
    # First split: D ties a and b, M ties b and c. Second: both tie a and b, M alone the two others.
    assert ties(splits) == (1, 3, 6)


@pytest.mark.slow
def test_choices_show_what_they_should():
    found = held(quick("choices"))
    # The grid leaves more of 1 - D open than was asked for.
    assert [text for text, holds in found.items() if not holds] == [
        "A finer grid than the default one hardly changes D, nor 1 - D of a good model"
    ]


@pytest.mark.slow
def test_choices_have_the_printed_numbers_beside_ours():
    """Known values of an implementation that others wrote from the LaTeX alone."""
    printed = quick("choices").table("choices").where(choice="printed", quantity="D")
    readings = (
        "the same, quantiles of the pair's samples",
        "ours without shrinkage",
        "as printed, equal weights",
    )
    found = {
        problem: [float(printed.where(problem=problem, reading=reading).column("value")[0]) for reading in readings]
        for problem in printed.distinct("problem")
    }
    assert_allclose(found["iris, regression"], [0.9990, 0.9990, 0.9851], atol=6e-5)
    assert_allclose(found["digits, tree"], [0.9509, 0.9165, 0.3643], atol=6e-5)
    assert_allclose(found["paper's simulation, 3,000 samples, d = 5"], [0.8170, 0.8172, 0.7962], atol=6e-5)


@pytest.mark.slow
def test_only_resampled_samples_cover():
    paper, *others = quick("coverage").claims
    assert not paper.holds
    assert all(claim.holds for claim in others if "depends on its number" not in claim.text)


# --- files ---


@pytest.mark.slow
def test_the_same_seed_gives_the_same_files(tmp_path):
    first = write(quick("costs"), tmp_path / "a")
    second = write(reproduce("costs", quick=True), tmp_path / "b")
    assert [path.name for path in first] == [path.name for path in second]
    assert {"areas.csv", "claims.csv", "claims.md", "curves.png", "curves.svg"} <= {path.name for path in first}
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_written_with_its_figures(name, tmp_path):
    paths = write(quick(name), tmp_path)
    kinds = [path.suffix for path in paths]
    assert kinds.count(".png") == kinds.count(".svg") >= 1
    for path in paths:
        start = {".png": b"\x89PNG", ".svg": b"<?xml"}.get(path.suffix)
        assert start is None or path.read_bytes().startswith(start)
    with (tmp_path / name / "claims.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["claim"] for row in rows] == [claim.text for claim in quick(name).claims]
    assert {row["holds"] for row in rows} <= {"yes", "no"}


@pytest.mark.slow
def test_numbers_are_written_to_eight_digits(tmp_path):
    write(quick("costs"), tmp_path)
    with (tmp_path / "costs" / "areas.csv").open(newline="") as file:
        written = [row["D"] for row in csv.DictReader(file)]
    assert written == [f"{value:.8g}" for value in quick("costs").table("areas").column("D")]


def test_claims_are_no_markup():
    outcome = Outcome("costs", "t", (), (Claim("a|b", "<script>", holds=False, judged_by="x"),), ("n",))
    page = claims_page([outcome])
    assert "| a\\|b | &lt;script&gt; | no | x |" in page
    assert "<script>" not in page


# --- parts ---


def test_table_picks_rows_and_columns():
    table = Table.of("t", [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}, {"a": 1, "b": "z"}])
    assert table.where(a=1).column("b").tolist() == ["x", "z"]
    assert table.distinct("a") == [1, 2]


def test_sure_is_the_quantile_it_says():
    # Two-sided, one in a thousand: 3.29 standard errors, from any table of the normal distribution.
    assert sure() == pytest.approx(3.2905, abs=1e-4)
    assert sure(10) == pytest.approx(3.8906, abs=1e-4)


def test_student_s_quantile_is_the_one_of_tables():
    # 99.95 % with 4 degrees of freedom: 8.610, from any table.
    assert sure_of_few(5) == pytest.approx(8.610, abs=1e-3)


def test_an_unknown_table_or_experiment_is_named():
    outcome = Outcome("other", "t", (Table("a", ("x",), ()),), ())
    with pytest.raises(ValueError, match="`name` must be one of 'a', got 'b'"):
        outcome.table("b")
    with pytest.raises(ValueError, match=r"`outcome.name` must be one of .*, got 'other'"):
        draw(outcome)


@pytest.mark.parametrize(("module", "extra"), [("sklearn", "sklearn"), ("matplotlib", "plot")])
def test_a_missing_package_is_named_before_the_work(module, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModuleNotFoundError, match=re.escape(f'pip install "polyroc[{extra}]"')):
        check_installed(figures=True)


@pytest.mark.parametrize(
    ("hits", "promised"), [((185, 190, 195), True), ((200, 190, 190), False), ((170, 190, 190), False)]
)
def test_coverage_is_judged_on_both_sides(hits, promised):
    rows = [{"samples": 200, "coverage": count / 200} for count in hits]
    assert _as_promised(Table.of("coverage", rows)) is promised


def test_labels_are_drawn_with_their_probabilities():
    probability = np.tile([0.2, 0.5, 0.3], (20_000, 1))
    share = np.bincount(draw_labels(probability, np.random.default_rng(0))) / 20_000
    # Four standard errors of a share of one half.
    assert_allclose(share, [0.2, 0.5, 0.3], atol=4 * 0.5 / np.sqrt(20_000))


def test_simulation_has_the_paper_s_shape():
    data = simulate(5_000, np.random.default_rng(1))
    assert data.covariates.shape == data.independent.shape == (5_000, 10)
    assert set(data.random) == set(data.deterministic) == set(range(5))
    # Random labels are mostly, not always, the most probable ones.
    assert 0.5 < np.mean(data.random == data.deterministic) < 1


def test_skewed_sets_take_each_class_by_its_share():
    labels = np.repeat(np.arange(5), 100)
    chosen = _skewed(labels, np.array([0.5, 0.2, 0.15, 0.1, 0.05]), np.random.default_rng(0))
    assert np.bincount(labels[chosen]).tolist() == [50, 20, 15, 10, 5]
    assert len(set(chosen.tolist())) == len(chosen)


def test_majority_classifier_says_the_same_for_all():
    scores = majority_scores(500, 4, 2, np.random.default_rng(0))
    assert_allclose(scores.sum(axis=1), 1)
    assert np.all(scores.argmax(axis=1) == 2)


def test_costs_are_the_paper_s_table_of_weights():
    """The table that the paper prints for three classes, the first of them the majority."""
    c = 4.0
    labels = np.array([0, 1, 2] * 2)
    predictions = as_predictions(labels, np.eye(3)[labels])
    weights = pair_weights(predictions, all_pairs(predictions), as_options([0, 1, 2], costs=cost_matrix(3, 0, c)))
    # Pairs (1,2) (1,3) (2,1) (2,3) (3,1) (3,2).
    tpr, fpr = [c, c, 1 / c, 1, 1 / c, 1], [1 / c, 1 / c, c, 1, c, 1]
    assert_allclose(weights.tpr / weights.tpr[3], tpr)
    assert_allclose(weights.fpr / weights.fpr[3], fpr)


def test_printed_update_keeps_what_fits_exactly():
    """Where all pairs have the same rates, these are the optimum: one curve, whose area trapezoids give."""
    tpr, fpr = np.array([0.4, 0.7, 0.9]), np.array([0.1, 0.3, 0.6])
    fit = fit_as_printed(np.tile(np.r_[tpr, fpr][:, None], 6), np.ones((6, 6)))
    assert fit.area(end_points=True) == pytest.approx(np.trapezoid(np.r_[0, tpr, 1], np.r_[0, fpr, 1]), abs=1e-9)
    assert fit.status == "converged"


def test_strict_thresholds_agree_with_linear_ones_where_nothing_is_tied():
    rng = np.random.default_rng(4)
    labels = np.repeat(np.arange(3), 1_000)
    scores = rng.normal(size=(3_000, 3)) + np.eye(3)[labels]
    # A threshold between two samples, or at one: at most one sample of a thousand per class is on the other side.
    assert strict(labels, scores).auc == pytest.approx(polyroc.auc_score(labels, scores), abs=2e-3)


def test_printed_rankings_are_probabilities():
    for shares in PRINTED.values():
        assert set(shares) <= set(ORDERS)
        assert sum(shares.values()) == pytest.approx(1, abs=0.011)  # printed to two digits


def test_orders_are_counted_and_ties_shared():
    replicates = {"knn": np.array([3, 3, 1, 2]), "tree": np.array([2, 2, 2, 2]), "multi": np.array([1, 2, 3, 2])}
    share = _shares({name: values.astype(float) for name, values in replicates.items()})
    # 1: knn>tree>multi; 2: tree and multi tied behind knn; 3: multi>tree>knn; 4: all tied.
    expected = {"knn>tree>multi": 1 + 1 / 2, "knn>multi>tree": 1 / 2, "multi>tree>knn": 1}
    for order in ORDERS:
        assert share[order] == pytest.approx((expected.get(order, 0) + 1 / 6) / 4)


def test_ties_and_fits_without_a_number_are_counted_by_the_printed_algorithm():
    """Three splits of knn, tree, multi: the printed order, two models tied at 1, and one fit without a number."""
    splits = [((1, 2, 3), 1.0), ((1, 1, 0.9), 0.5), ((np.nan, 2, 3), np.nan)]
    rows = [
        {"settings": settings, "data": "tae", "split": split, "model": model, "D": area, "likeliest": likeliest}
        for settings in SETTINGS
        for split, (areas, likeliest) in enumerate(splits)
        for model, area in zip(MODELS, areas, strict=True)
    ]
    table = Table.of("splits", rows)
    orders = Table.of("orders", _order_rows(table, "tae", ("D",)))
    found = _printed_algorithm(table, orders).where(settings="R")
    [row] = [dict(zip(found.header, values, strict=True)) for values in found.rows]
    assert (row["splits"], row["certain"], row["median"]) == (3, 1, 0.75)
    assert (row["tied"], row["no_number"]) == (1, 1)
    # multi > tree > knn, in the first split alone.
    assert (row["printed"], row["printed_in"]) == ("multi>tree>knn", pytest.approx(1))
    # The tie is shared.
    assert orders.where(ranking="knn>tree>multi").column("R D")[0] == pytest.approx(1 / 6)


def test_agreement_counts_pairs_of_models():
    rows = [
        {"data": "d", "split": split, "model": model, "D": d, "M": m}
        for split, values in enumerate([[(3, 3), (2, 2), (1, 1)], [(3, 3), (2, 1), (1, 2)]])
        for model, (d, m) in zip(("knn", "tree", "multi"), values, strict=True)
    ]
    found = _agreement(Table.of("splits", rows), "d")
    assert found["same_order"] == 0.5
    assert found["same_best"] == 1
    assert found["pairs_alike"] == pytest.approx(5 / 6)


# --- data sets ---


def test_data_come_from_the_folder_that_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("POLYROC_DATA", raising=False)
    rows = [[f"{n}", "1", "19.5", "abc"[n % 3]] for n in range(KNOWN["tae"].n_rows)]
    table = "\n".join(["x,y,z,label", *map(",".join, rows)])
    (tmp_path / "iris.csv.gz").write_bytes(gzip.compress(b"u,v,label\n" + b"1,2,a\n1,3,b\n2,2,c\n" * 50, mtime=0))
    (tmp_path / "glass.csv").write_text("u,label\n" + "1,a\n" * 100 + "2,b\n" * 100 + "3,'c\u2028'\n" * 14)
    found = find_data_sets(["iris", "glass"], tmp_path)
    assert [(one.name, one.features.shape) for one in found.data_sets] == [("iris", (150, 2)), ("glass", (214, 1))]
    assert found.data_sets[0].source == "iris.csv.gz of the data folder"
    # Named by the environment, and categories as indicators: tae has four columns of codes, here three and a number.
    (tmp_path / "tae.csv").write_text(table.replace("19.5", "3,19.5").replace("z,label", "z,w,label"))
    monkeypatch.setenv("POLYROC_DATA", str(tmp_path))
    [tae] = find_data_sets(["tae"], as_data_folder(None)).data_sets
    assert tae.features.shape == (151, 151 + 1 + 1 + 1)
    assert set(tae.labels) == {"a", "b", "c"}


def test_scikit_learn_has_two_of_them_and_the_rest_is_listed(monkeypatch):
    monkeypatch.delenv("POLYROC_DATA", raising=False)
    found = find_data_sets(KNOWN, None)
    assert [(one.name, len(one.labels)) for one in found.data_sets] == [("optical", 1797), ("iris", 150)]
    assert all("scikit-learn" in one.source for one in found.data_sets)
    assert list(found.skipped) == ["car", "pen", "tae", "glass"]
    assert "OpenML did not answer" in found.skipped["pen"]


def test_openml_is_asked_last_and_without_pandas(monkeypatch):
    asked = []

    def fetch(*, data_id, as_frame, **kwargs):
        asked.append(data_id)
        assert not as_frame
        n = KNOWN["glass"].n_rows if data_id == KNOWN["glass"].openml else 10
        labels = np.array(["x", "y", "z"] * n, dtype=object)[:n]
        return SimpleNamespace(data=np.column_stack([np.arange(float(n)), np.ones(n)]), target=labels)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    found = find_data_sets(["iris", "glass", "pen"], None)
    assert asked == [KNOWN["glass"].openml, KNOWN["pen"].openml]
    assert [one.source for one in found.data_sets][1] == f"OpenML {KNOWN['glass'].openml}"
    assert "10992 rows were expected, 10 came" in found.skipped["pen"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"not gzip", "glass.csv.gz must hold the data set glass"),
        (gzip.compress(b"u,label\n1,a\n", mtime=0), "214 rows were expected, 1 came"),
        (gzip.compress(b"u,label\n" + b"x,a\n" * 214, mtime=0), "could not convert string to float"),
        (gzip.compress(b"u,label\n" + b"1,a\n" * 213 + b"1\n", mtime=0), "different lengths"),
        (gzip.compress(b"\xff\xfe", mtime=0), "glass.csv.gz must hold"),
        (gzip.compress(b"u,label\n" + b"nan,a\n1,b\n" * 107, mtime=0), "numbers must be finite"),
        (
            gzip.compress(b"u,label\n" + b"1,a\n1,b\n" * 107, mtime=0),
            "3 classes of 4 samples or more were expected, 2 came",
        ),
        (gzip.compress(b"label\n" + b"a\n" * 214, mtime=0), "2 columns or more were expected, 1 came"),
        (gzip.compress(b"u,label\n" + b"1" * 200_000 + b",a\n", mtime=0), "field larger than field limit"),
        (gzip.compress(b"u,label\n" + b"1,a\n" * 214, mtime=0)[:-20], "glass.csv.gz must hold"),
    ],
)
def test_a_broken_file_is_named(content, why, tmp_path):
    (tmp_path / "glass.csv.gz").write_bytes(content)
    with pytest.raises(ValueError, match=why):
        find_data_sets(["glass"], tmp_path)


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path):
    (tmp_path / "glass.csv.gz").mkdir()
    with pytest.raises(ValueError, match=r"glass.csv.gz must hold the data set glass"):
        find_data_sets(["glass"], tmp_path)


def test_a_folder_that_is_not_there_is_named(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"`data` must be a folder, got '.*nowhere'"):
        as_data_folder(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="`data` must be a folder, got ''"):
        as_data_folder("")
    monkeypatch.setenv("POLYROC_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="POLYROC_DATA must name a folder"):
        as_data_folder(None)


# --- bad input ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "figures"}, "`name` must be one of 'discrimination', .*, got 'figures'"),
        ({"name": "costs", "seed": -1}, "`seed` must be a non-negative integer, got -1"),
        ({"name": "costs", "seed": True}, "`seed` must be a non-negative integer, got True"),
        ({"name": "costs", "quick": "yes"}, "`quick` must be True or False, got 'yes'"),
        ({"name": "costs", "data": 3}, "`data` must be a folder, got '3'"),
        ({"name": "costs", "data": "nowhere"}, "`data` must be a folder, got 'nowhere'"),
        ({"name": "costs", "n_jobs": 0}, "`n_jobs` must be"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        reproduce(**arguments)


def test_a_file_in_the_way_of_the_folder_is_named(tmp_path):
    (tmp_path / "taken").write_text("")
    outcome = Outcome("costs", "t", (), ())
    with pytest.raises(ValueError, match=r"`folder` must be a folder that can be written, got '.*taken"):
        write(outcome, tmp_path / "taken")


# --- the page ---

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_page_lists_every_claim(name):
    if name == "real-data" and "POLYROC_DATA" not in os.environ:
        pytest.skip("POLYROC_DATA names no folder of data sets")
    found = re.search(f"<!-- begin claims of {name} -->(.*?)<!-- end claims of {name} -->", PAGE, flags=re.DOTALL)
    rows = [html.unescape(line).split(" | ") for line in found[1].strip().splitlines()[2:]]
    listed, claimed = [row[0].removeprefix("| ") for row in rows], [claim.text for claim in quick(name).claims]
    # These name the data sets that are there, of which the quick version has three.
    assert [text.partition(" for ")[0] for text in listed] == [text.partition(" for ")[0] for text in claimed]
    assert {row[2] for row in rows} <= {"yes", "**no**"}


def test_the_page_shows_every_picture_and_no_other():
    shown = re.findall(r"images/reproduction/(\S+\.png)", PAGE)
    there = [path.name for path in (ROOT / "docs" / "images" / "reproduction").glob("*.png")]
    assert sorted(shown) == sorted(there)
    assert len(shown) >= 12
