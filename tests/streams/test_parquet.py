"""Files that do not fit in memory, against `polyroc.evaluate` on the same rows in memory."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from parquet_files import damage, predictions, states, table_of, write

import polyroc
from polyroc.cli._files import why_stream
from polyroc.streams import _parquet_run
from polyroc.streams._parquet_files import DamagedPartError

# Which of two scores in a bin is the higher one is lost: of some thousand samples that much can depend on it.
BINNED = 1e-4
NAMES = ["ant", "bee", "cat", "dog"]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_point_estimates_are_those_of_the_accumulator(tmp_path, dtype):
    y, scores = predictions(dtype=dtype)
    found = polyroc.evaluate_parquet(write(tmp_path / "a", table_of(y, scores), n_files=3, rows=713), target="y")
    accumulator = polyroc.RocAccumulator(range(4))
    accumulator.update(y, scores)
    assert found.auc == accumulator.compute().auc
    assert states(found) == states(accumulator.compute())
    exact = polyroc.evaluate(y, scores)
    assert_allclose(found.auc, exact.auc, atol=BINNED)
    assert_allclose(found.hand_till, exact.hand_till, atol=BINNED)
    assert found.accuracy == exact.accuracy
    assert_allclose(found.standard_error, exact.standard_error, rtol=1e-3)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_exact_equals_evaluate(tmp_path, dtype, k):
    y, scores = predictions(k=k, dtype=dtype)
    found = polyroc.evaluate_parquet(write(tmp_path / "a", table_of(y, scores), rows=777), target="y", exact=True)
    exact = polyroc.evaluate(y, scores)
    assert_allclose(found.auc, exact.auc, rtol=0, atol=1e-12)
    assert_allclose(found.hand_till, exact.hand_till, rtol=0, atol=1e-12)
    assert_allclose(found.pairs.auc, exact.pairs.auc, rtol=0, atol=1e-12)
    assert found.binning_error is None
    assert_allclose(
        found.fitted.prepared.areas_against_rest(), exact.fitted.prepared.areas_against_rest(), rtol=0, atol=1e-12
    )
    assert found.accuracy == exact.accuracy
    assert_allclose(found.standard_error, exact.standard_error, rtol=1e-3)
    if k > 2:
        assert_allclose(found.rates.tpr, exact.rates.tpr, rtol=0, atol=1e-12)
        assert_allclose(found.score_thresholds, exact.score_thresholds, rtol=0, atol=2e-3)


@pytest.mark.parametrize(
    "change",
    [
        lambda scores: np.round(scores, 1),  # ties
        lambda scores: np.round(scores) + 0.0,  # nothing but ties
        lambda scores: 20 * (scores - 0.4),  # no probabilities, on both sides of 0
        lambda scores: np.where(scores < 0.2, -0.0, scores),  # both zeros
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exact_with_ties_and_signs(tmp_path, change, dtype):
    y, scores = predictions()
    scores = change(scores).astype(dtype)
    scores[:50, 1] = 0.0
    found = polyroc.evaluate_parquet(write(tmp_path / "a", table_of(y, scores), rows=999), target="y", exact=True)
    exact = polyroc.evaluate(y, scores)
    assert_allclose(found.auc, exact.auc, rtol=0, atol=1e-12)
    assert_allclose(found.rates.tpr, exact.rates.tpr, rtol=0, atol=1e-12)
    assert_allclose(found.pairs.auc, exact.pairs.auc, rtol=0, atol=1e-12)


def test_exact_with_a_sample_of_pairs_and_an_absent_class(tmp_path):
    y, scores = predictions(k=6)
    y[y == 2] = 3
    folder = write(tmp_path / "a", table_of(y, scores))
    options = {"max_pairs": 12, "rng": 3, "n_thresholds": 30}
    with pytest.warns(UserWarning, match="No samples"):
        found = polyroc.evaluate_parquet(folder, target="y", labels=range(6), exact=True, **options)
    with pytest.warns(UserWarning, match="No samples"):
        exact = polyroc.evaluate(y, scores, labels=range(6), **options)
    assert_allclose(found.auc, exact.auc, rtol=0, atol=1e-12)
    assert_array_equal(found.pairs.positive, exact.pairs.positive)


def test_compiled_passes_give_what_the_reference_gives(tmp_path, monkeypatch):
    pytest.importorskip("numba")
    from polyroc._core import engines as _registry

    y, scores = predictions()
    folder = write(tmp_path / "a", table_of(y, scores))
    plain = polyroc.evaluate_parquet(folder, target="y", exact=True)
    monkeypatch.setattr(_registry, "LEAST_COMPILED", 0)
    compiled = polyroc.evaluate_parquet(folder, target="y", exact=True)
    assert plain.auc == compiled.auc
    assert states(plain) == states(compiled)
    assert_array_equal(plain.pairs.auc, compiled.pairs.auc)
    assert_allclose(plain.standard_error, compiled.standard_error, rtol=1e-12)


@pytest.mark.parametrize(
    "encode",
    [
        lambda y: y,
        lambda y: y.astype(np.int8),
        lambda y: y.astype(np.uint64),
        lambda y: y.astype(float),
        lambda y: y * 100_000 - 7,
        lambda y: np.array(NAMES)[y],
        lambda y: pa.array(np.array(NAMES)[y]).dictionary_encode(),
        lambda y: pa.array(np.array(NAMES)[y], pa.large_string()),
        lambda y: pa.DictionaryArray.from_arrays(pa.array(y.astype(np.int8)), pa.array([*NAMES, "unused"])),
    ],
    ids=["int64", "int8", "uint64", "whole floats", "wide", "text", "dictionary", "large text", "unused category"],
)
def test_labels_of_every_type(tmp_path, encode):
    y, scores = predictions()
    coded = encode(y)
    labels = sorted(set(pa.array(coded).to_pylist()) if isinstance(coded, np.ndarray) else set(coded.to_pylist()))
    table = table_of(coded, scores, [f"p_{int(c) if isinstance(c, float) else c}" for c in labels])
    found = polyroc.evaluate_parquet(write(tmp_path / "a", table, n_files=2), target="y", exact=True)
    exact = polyroc.evaluate(table["y"], table.drop_columns("y"))
    assert found.labels.tolist() == exact.labels.tolist()
    assert_allclose(found.auc, exact.auc, rtol=0, atol=1e-12)
    # Classes that the caller names need no pass over the target.
    again = polyroc.evaluate_parquet(tmp_path / "a", target="y", labels=exact.labels, standard_errors=False)
    assert_allclose(again.auc, exact.auc, atol=BINNED)


def test_booleans_and_one_column(tmp_path):
    y, scores = predictions(k=2)
    table = pa.table({"y": y.astype(bool), "score": scores[:, 1]})
    found = polyroc.evaluate_parquet(write(tmp_path / "a", table), target="y", exact=True)
    exact = polyroc.evaluate(y.astype(bool), scores[:, 1])
    assert_allclose(found.auc, exact.auc, rtol=0, atol=1e-12)
    assert found.labels.tolist() == [False, True]


def test_columns_are_matched_by_name(tmp_path):
    y, scores = predictions()
    order = [2, 0, 3, 1]
    table = table_of(np.array(NAMES)[y], scores[:, order], [f"{NAMES[c]}_prob" for c in order])
    table = table.append_column("row", pa.array(np.arange(len(y))))
    write(tmp_path / "a", table)
    exact = polyroc.evaluate(np.array(NAMES)[y], scores)
    found = polyroc.evaluate_parquet(tmp_path / "a", target="y", exact=True)
    assert found.labels.tolist() == [NAMES[c] for c in order]
    assert_allclose(found.auc, exact.auc, rtol=0, atol=1e-9)
    turned = polyroc.evaluate_parquet(tmp_path / "a", target="y", scores="*_prob", labels=NAMES, exact=True)
    assert turned.labels.tolist() == NAMES
    assert_allclose(turned.auc, exact.auc, rtol=0, atol=1e-12)
    with pytest.raises(polyroc.InputError, match=r"`scores` must have columns named .* also 'row'"):
        polyroc.evaluate_parquet(tmp_path / "a", target="y", scores=["*_prob", "row"])


def test_a_column_of_a_class_without_samples_is_not_left_out(tmp_path):
    y, scores = predictions()
    scores = scores / scores.sum(axis=1, keepdims=True)
    kept = y != 1
    labels = np.array(NAMES)[y[kept]]
    write(tmp_path / "a", table_of(labels, scores[kept], NAMES))
    with pytest.raises(polyroc.InputError, match=r"whose rows sum to 1 only with 'bee': .* in `labels`") as caught:
        polyroc.evaluate_parquet(tmp_path / "a", target="y")
    assert caught.value.argument == "scores"
    with pytest.warns(UserWarning, match="bee"):
        found = polyroc.evaluate_parquet(tmp_path / "a", target="y", labels=NAMES)
    with pytest.warns(UserWarning, match="bee"):
        expected = polyroc.evaluate(labels, scores[kept], labels=NAMES)
    assert found.accuracy == pytest.approx(expected.accuracy, abs=1e-12)
    # Other numbers beside the scores may be anything.
    table = table_of(np.array(NAMES)[y], scores, NAMES).append_column("dose", pa.array(np.linspace(0, 1, len(y))))
    write(tmp_path / "b", table)
    assert polyroc.evaluate_parquet(tmp_path / "b", target="y").labels.tolist() == NAMES


def test_probabilities_that_are_too_small_for_bins_are_told(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 2000)
    logits = 100 * (rng.normal(size=(2000, 4)) + np.eye(4)[y])
    logs = logits - logits.max(axis=1, keepdims=True)
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    write(tmp_path / "a", table_of(np.array(NAMES)[y], np.exp(logs), NAMES))
    exact = polyroc.evaluate(np.array(NAMES)[y], np.exp(logs)).auc
    with pytest.raises(polyroc.InputError, match=r"`scores` must .* below 5e-41 count as 0"):
        polyroc.evaluate_parquet(tmp_path / "a", target="y")
    # What the error proposes.
    found = polyroc.evaluate_parquet(tmp_path / "a", target="y", exact=True, standard_errors=False)
    assert_allclose(found.auc, exact, rtol=0, atol=1e-9)
    accumulator = polyroc.RocAccumulator(NAMES, score_kind="free")
    accumulator.update(np.array(NAMES)[y], logs)
    assert_allclose(accumulator.compute().auc, exact, rtol=0, atol=BINNED)
    counted = polyroc.RocAccumulator(NAMES)
    counted.update(np.array(NAMES)[y], np.exp(logs))
    with pytest.raises(polyroc.InputError, match="below 5e-41 count as 0"):
        counted.compute()
    # Zeros are what they are.
    zeros = polyroc.RocAccumulator(NAMES)
    zeros.update(np.array(NAMES)[y], np.where(logs < -80, 0.0, np.exp(logs)))
    assert zeros.compute().binning_error.hand_till < 1e-4


def test_weights(tmp_path):
    y, scores = predictions()
    weight = np.random.default_rng(1).exponential(size=len(y)) * (np.arange(len(y)) % 5 > 0)
    folder = write(tmp_path / "a", table_of(y, scores, w=weight), n_files=2, rows=701)
    found = polyroc.evaluate_parquet(folder, target="y", sample_weight="w")
    exact = polyroc.evaluate(y, scores, sample_weight=weight)
    assert found.n_samples == exact.n_samples
    assert_allclose(found.auc, exact.auc, atol=BINNED)
    assert_allclose(found.accuracy, exact.accuracy, rtol=1e-12)
    assert_allclose(found.standard_error, exact.standard_error, rtol=1e-3)
    # Sums of weights are added in the order of the parts, whatever the threads do.
    assert polyroc.evaluate_parquet(folder, target="y", sample_weight="w", n_jobs=1).auc == found.auc
    with pytest.raises(polyroc.InputError, match=r"`sample_weight` must be None with `exact=True`"):
        polyroc.evaluate_parquet(folder, target="y", sample_weight="w", exact=True)


@pytest.mark.filterwarnings("ignore:The interval of D is not corrected")
def test_groups(tmp_path):
    y, scores = predictions()
    groups = np.arange(len(y)) % 700
    for number, column in enumerate((groups, np.array([f"g{g}" for g in groups]))):
        folder = write(tmp_path / str(number), table_of(y, scores, g=column))
        found = polyroc.evaluate_parquet(folder, target="y", groups="g").confidence_interval()
        exact = polyroc.evaluate(y, scores).confidence_interval(method="influence", groups=groups)
        assert_allclose([found.low, found.high], [exact.low, exact.high], atol=5e-4)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_threads_change_nothing(tmp_path, n_jobs):
    y, scores = predictions()
    folder = write(tmp_path / "a", table_of(y, scores), n_files=2, rows=501)
    one, other = (polyroc.evaluate_parquet(folder, target="y", n_jobs=n) for n in (n_jobs, 8))
    assert states(one) == states(other)
    assert (one.auc, one.standard_error) == (other.auc, other.standard_error)


def test_one_large_row_group_is_read_in_pieces(tmp_path, monkeypatch):
    y, scores = predictions()
    folder = write(tmp_path / "a", table_of(y, scores), rows=10_000)
    whole = polyroc.evaluate_parquet(folder, target="y", exact=True)
    monkeypatch.setattr(_parquet_run, "_FEWEST", 64)
    monkeypatch.setattr(_parquet_run, "_MOST", 64)
    pieces = polyroc.evaluate_parquet(folder, target="y", exact=True)
    assert states(whole) == states(pieces)
    assert_allclose(whole.standard_error, pieces.standard_error, rtol=1e-12)


def test_options_of_evaluate(tmp_path):
    y, scores = predictions()
    folder = write(tmp_path / "a", table_of(y, scores))
    costs = 1 + np.arange(16).reshape(4, 4)
    np.fill_diagonal(costs, 0)
    for options in ({"costs": costs}, {"thresholds": "shared"}, {"weighting": "prevalence", "shrinkage": 5.0}):
        found = polyroc.evaluate_parquet(folder, target="y", **options)
        exact = polyroc.evaluate(y, scores, **options)
        assert_allclose(found.auc, exact.auc, atol=BINNED)
        assert_allclose(found.standard_error, exact.standard_error, rtol=2e-3)
    with pytest.raises(TypeError, match=r"evaluate_parquet\(\) got an unexpected keyword argument 'bogus'"):
        polyroc.evaluate_parquet(folder, target="y", bogus=1)
    with pytest.raises(polyroc.InputError, match="`thresholds` must be 'own' with `exact=True`"):
        polyroc.evaluate_parquet(folder, target="y", thresholds="shared", exact=True)


def test_without_a_second_pass_there_are_no_standard_errors(tmp_path):
    y, scores = predictions()
    found = polyroc.evaluate_parquet(write(tmp_path / "a", table_of(y, scores)), target="y", standard_errors=False)
    with pytest.raises(polyroc.SamplesNeededError, match="second pass"):
        _ = found.standard_error


@pytest.mark.parametrize("exact", [False, True])
def test_compare(tmp_path, exact):
    y, first = predictions(n=20_000)
    second = predictions(n=20_000, seed=1)[1]
    second = np.where(np.arange(len(y))[:, None] % 3 > 0, first, second)
    columns = {f"{m}_{c}": s[:, c] for m, s in (("a", first), ("b", second)) for c in range(4)}
    folder = write(tmp_path / "a", pa.table({"y": y, **columns}), n_files=2, rows=3_000)
    found = polyroc.compare_parquet(folder, {"a": "a_*", "b": [f"b_{c}" for c in range(4)]}, target="y", exact=exact)
    direct = polyroc.compare(y, {"a": first, "b": second}, method="influence")
    for mine, theirs in zip(found.by_auc.differences, direct.by_auc.differences, strict=True):
        assert_allclose([mine.value, mine.low, mine.high], [theirs.value, theirs.low, theirs.high], atol=BINNED)
    if exact:
        assert_allclose(found.evaluations["b"].auc, direct.evaluations["b"].auc, rtol=0, atol=1e-12)


def test_scores_that_are_no_probabilities_are_seen_in_the_footers(tmp_path):
    y, scores = predictions()
    logits = np.log(scores)
    for name, statistics in (("with", True), ("without", False)):
        folder = write(tmp_path / name, table_of(y, logits), write_statistics=statistics)
        found = polyroc.evaluate_parquet(folder, target="y")
        assert_allclose(found.auc, polyroc.evaluate(y, logits).auc, atol=BINNED)
        assert found.fitted.source.bins.scores == "free"


# Faults


def test_a_damaged_row_group_is_named(tmp_path):
    y, scores = predictions()
    folder = write(tmp_path / "a", table_of(y, scores), n_files=2, write_page_checksum=True)
    damage(folder / "1.parquet", row_group=1, column=3)
    with pytest.raises(
        ValueError, match=r"Row group 1 of '.*1\.parquet' is damaged or cut short: .*partial=True"
    ) as error:
        polyroc.evaluate_parquet(folder, target="y")
    assert isinstance(error.value, DamagedPartError)
    with pytest.warns(UserWarning, match=r"Partial result: .*Row group 1 of '.*1\.parquet'"):
        found = polyroc.evaluate_parquet(folder, target="y", partial=True, exact=True)
    kept = np.r_[0:4_000, 5_000:6_000]
    exact = polyroc.evaluate(y[kept], scores[kept])
    assert found.n_samples == 5_000
    assert_allclose(found.auc, exact.auc, rtol=0, atol=1e-12)
    assert_allclose(found.standard_error, exact.standard_error, rtol=1e-3)


def test_a_damaged_target_is_named(tmp_path):
    y, scores = predictions()
    folder = write(tmp_path / "a", table_of(y, scores), write_page_checksum=True)
    damage(folder / "0.parquet", row_group=2, column=0)
    with pytest.raises(ValueError, match=r"Row group 2 of "):
        polyroc.evaluate_parquet(folder, target="y")
    with pytest.warns(UserWarning, match=r"Row group 2 of "):
        assert polyroc.evaluate_parquet(folder, target="y", partial=True).n_samples == 5_000


def test_a_file_that_was_cut_short_is_named(tmp_path):
    y, scores = predictions()
    folder = write(tmp_path / "a", table_of(y, scores), n_files=3)
    file = folder / "2.parquet"
    file.write_bytes(file.read_bytes()[:-500])
    with pytest.raises(ValueError, match=r"'.*2\.parquet' is damaged or cut short"):
        polyroc.evaluate_parquet(folder, target="y")
    with pytest.warns(UserWarning, match=r"skipped: .*2\.parquet"):
        assert polyroc.evaluate_parquet(folder, target="y", partial=True).n_samples == 4_000


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("p_1", np.nan, r"`scores` must be finite, got nan in row 2345 of column 'p_1' of '.*0\.parquet'"),
        ("p_2", np.inf, r"`scores` must be finite, got inf in row 2345 of column 'p_2' of '"),
        ("p_2", None, r"`scores` must not have missing values, got 1, the first in row 2345 of column 'p_2' of '"),
        ("y", None, r"`target` must not have missing values, got 1, the first in row 2345 of column 'y' of '"),
        ("y", 9, r"`target` must hold only classes of `labels` \(0, 1, 2, 3\), got 9 in row 2345 of column 'y' of '"),
        ("w", -1.0, r"`sample_weight` must be finite and not negative, got -1.0 in row 2345 of column 'w' of '"),
        ("w", None, r"`sample_weight` must not have missing values, got 1, the first in row 2345 of column 'w' of '"),
    ],
)
def test_a_bad_value_is_told_with_file_column_and_row(tmp_path, column, value, message):
    y, scores = predictions()
    table = table_of(y, scores, w=np.ones(len(y)))
    values = table[column].to_pylist()
    values[2345] = value
    place = table.schema.get_field_index(column)
    table = table.set_column(place, column, pa.array(values, table.schema.field(column).type))
    folder = write(tmp_path / "a", table)
    scores = ["p_0", "p_1", "p_2", "p_3"]
    with pytest.raises(polyroc.InputError, match=message):
        polyroc.evaluate_parquet(folder, target="y", scores=scores, labels=range(4), sample_weight="w")


def test_a_score_beyond_probabilities(tmp_path):
    y, scores = predictions()
    scores[17, 3] = 1.5
    folder = write(tmp_path / "a", table_of(y, scores))
    assert polyroc.evaluate_parquet(folder, target="y").fitted.source.bins.scores == "free"
    with pytest.raises(
        polyroc.InputError, match=r"between 0 and 1, got 1.5 in row 17 of column 'p_3' .*score_kind='free'"
    ):
        polyroc.evaluate_parquet(folder, target="y", score_kind="probabilities")


def test_an_unknown_label_of_text(tmp_path):
    y, scores = predictions()
    words = np.array(NAMES)[y]
    folder = write(tmp_path / "a", table_of(words, scores, [f"p_{name}" for name in NAMES]))
    with pytest.raises(
        polyroc.InputError, match=r"`target` must hold only classes of `labels` .*, got 'dog' in row \d+ of"
    ):
        polyroc.evaluate_parquet(folder, target="y", scores=["p_ant", "p_bee", "p_cat"], labels=NAMES[:3])


def test_bad_arguments(tmp_path):
    y, scores = predictions(n=200)
    folder = write(tmp_path / "a", table_of(y, scores))
    call = polyroc.evaluate_parquet
    for arguments, message in (
        ({"paths": tmp_path / "nothing.parquet"}, "`paths` must lead to files that can be read"),
        ({"paths": []}, "`paths` must be a path, or a list of paths"),
        ({"paths": 7}, "`paths` must be a path"),
        ({"paths": [folder / "0.parquet", folder / "0.parquet"]}, "must not name a file twice"),
        ({"target": "z"}, r"`target` must name columns of every file, got no 'z' in '.*0\.parquet', which has 'y'"),
        ({"target": None}, "`target` must be the name of a column"),
        ({"scores": ["p_0", "q"]}, "`scores` must name columns of every file, got no 'q'"),
        ({"scores": "q_*"}, "`scores` must match columns of the files"),
        ({"scores": 3}, "`scores` must be a pattern"),
        ({"scores": ["p_0", "p_0"]}, "`scores` must not name a column twice"),
        ({"sample_weight": "y"}, "must be distinct"),
        ({"groups": "nobody"}, "`groups` must name columns of every file"),
        ({"exact": 1}, "`exact` must be True or False"),
        ({"score_kind": "logits"}, "`score_kind` must be one of"),
        ({"mantissa_bits": 17}, "`mantissa_bits` must be an integer"),
        ({"labels": [0, 1, 2]}, "`scores` must have one column per class"),
        ({"checkpoint": 3}, "`checkpoint` must be the path of a file"),
        ({"checkpoint": tmp_path / "none" / "x.npz"}, "`checkpoint` must be a file that can be written"),
    ):
        with pytest.raises(polyroc.InputError, match=message):
            call(**{"paths": folder, "target": "y", **arguments})
    (tmp_path / "text.parquet").write_text("y,p_0,p_1\n")
    with pytest.raises(polyroc.InputError, match=r"must lead to Parquet files, got '.*text.parquet', which is none"):
        call(tmp_path / "text.parquet", target="y")
    with pytest.raises(polyroc.InputError, match="`scores` must be a mapping of at least two"):
        polyroc.compare_parquet(folder, {"a": "p_*"}, target="y")


def test_files_with_other_columns_are_named(tmp_path):
    y, scores = predictions(n=200)
    folder = write(tmp_path / "a", table_of(y, scores))
    pq.write_table(table_of(y, scores, ["p_0", "p_1", "p_2", "other"]), folder / "1.parquet")
    with pytest.raises(polyroc.InputError, match=r"no 'p_3' in '.*1\.parquet'"):
        polyroc.evaluate_parquet(folder, target="y")


def test_text_among_scores_is_refused(tmp_path):
    y, scores = predictions(n=200)
    table = table_of(y, scores).append_column("p_4", pa.array(["x"] * 200))
    with pytest.raises(polyroc.InputError, match=r"`scores` must hold real numbers, got .*string.* in column 'p_4'"):
        polyroc.evaluate_parquet(
            write(tmp_path / "a", table), target="y", scores="p_*", labels=range(5), score_kind="free"
        )


def test_exact_says_how_much_memory_it_needs(tmp_path, monkeypatch):
    from polyroc._counts import exact as _exact

    y, scores = predictions()
    folder = write(tmp_path / "a", table_of(y, scores))
    monkeypatch.setattr(_exact, "available", lambda: 10_000)
    with pytest.raises(
        MemoryError, match=r"`exact=True` needs about .* GiB of memory, 5 bytes for each of 6,000 samples"
    ):
        polyroc.evaluate_parquet(folder, target="y", exact=True)


@pytest.mark.slow
def test_a_million_rows_take_little_memory(tmp_path):
    import subprocess
    import sys

    y, scores = predictions(n=2_000_000, k=8)
    write(tmp_path / "a", table_of(y, scores), rows=250_000)
    del y, scores
    code = (
        "import resource, polyroc;"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        f"polyroc.evaluate_parquet({str(tmp_path / 'a')!r}, target='y', n_jobs=2);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # pyarrow and numba with their kernels take most of it; the scores alone would be 64 MB in the files' type.
    assert int(done.stdout) < 450 * 1024


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.parquet")
    with pytest.raises(ValueError, match="read more than once"):
        polyroc.evaluate_parquet(tmp_path / "pipe.parquet", target="y")
    assert why_stream([str(tmp_path / "pipe.parquet")]) == ""
