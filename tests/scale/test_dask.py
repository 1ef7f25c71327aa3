"""polyroc.dask against one RocAccumulator over all samples, and what happens when a worker dies."""

import re
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pages import ROOT, differences, text_of
from partitioned import assert_same, assert_same_differences, compared, local, problem

import polyroc

pytestmark = pytest.mark.full("dask")
ABSENT = pytest.mark.filterwarnings("ignore:No samples in `y_true`:UserWarning")


def arrays(chunks, *given):
    import dask.array as da

    return [da.from_array(one, chunks=(chunks, 1) if one.ndim == 2 else chunks) for one in given]


@pytest.mark.parametrize("chunks", [900, 137, 10], ids=["one", "few", "many"])
@pytest.mark.parametrize("ties", [False, True])
def test_arrays_give_what_one_accumulator_gives(chunks, ties):
    y_true, y_score, _ = problem(0, ties=ties)
    # Columns in chunks of their own, which are joined.
    lazy = arrays(chunks, y_true, y_score)
    expected = local(y_true, y_score)[1]
    assert_same(polyroc.dask.evaluate(*lazy, labels=range(4)), expected)
    # Labels in memory, and scores that are not.
    assert polyroc.dask.evaluate(y_true, lazy[1], standard_errors=False).auc == expected.auc


def test_real_weights_and_groups():
    y_true, y_score, weight = problem(1)
    groups = np.arange(len(y_true)) // 3
    lazy, (lazy_weight, lazy_groups) = arrays(100, y_true, y_score), arrays(77, weight, groups)
    found = polyroc.dask.evaluate(*lazy, labels=range(4), sample_weight=lazy_weight)
    assert_same(found, local(y_true, y_score, weight)[1], exact=False)
    found = polyroc.dask.evaluate(*lazy, labels=range(4), sample_weight=lazy_weight, groups=lazy_groups)
    assert_same(found, local(y_true, y_score, weight, groups)[1], exact=False)


@ABSENT
def test_partitions_without_samples_or_without_classes():
    from dask import delayed

    y_true, y_score, _ = problem(2)
    order = np.argsort(y_true, kind="stable")  # most partitions have a single class
    y_true, y_score = y_true[order], y_score[order]
    cuts = [0, 0, 5, 300, 300, 301, 600, 900, 900]
    parts = [slice(*pair) for pair in pairwise(cuts)]
    lazy = [delayed(y_true[part]) for part in parts], [delayed(y_score[part]) for part in parts]
    assert_same(polyroc.dask.evaluate(*lazy), local(y_true, y_score)[1])
    # A class that no partition has.
    five = np.column_stack([y_score, np.zeros(len(y_score))])
    lazy = [delayed(y_true[part]) for part in parts], [delayed(five[part]) for part in parts]
    assert_same(polyroc.dask.evaluate(*lazy, labels=range(5)), local(y_true, five, labels=range(5))[1])


def frame(y_true, y_score, **further):
    import pandas as pd

    names = np.array(["ant", "bee", "cat", "dog"])
    columns = {f"p_{name}": y_score[:, place] for place, name in reversed(list(enumerate(names)))}
    return pd.DataFrame({"kind": names[y_true], **columns, **further})


def test_data_frames_by_name_of_column_and_as_series():
    import dask.dataframe as dd

    y_true, y_score, weight = problem(3)
    whole = frame(y_true, y_score, weight=weight, patient=np.arange(900) // 2)
    lazy = dd.from_pandas(whole, npartitions=7)
    labels = ["ant", "bee", "cat", "dog"]
    _, expected = local(whole["kind"], whole.filter(like="p_"), labels=labels)
    scores = lazy[[name for name in lazy.columns if name.startswith("p_")]]
    assert_same(polyroc.dask.evaluate(lazy["kind"], scores, labels=labels), expected)
    # Arrays that do not know how long their blocks are.
    blocks = scores[[f"p_{name}" for name in labels]].to_dask_array()
    assert np.isnan(blocks.shape[0])
    assert_same(polyroc.dask.evaluate(lazy["kind"], blocks, labels=labels), expected)
    # Classes from the names of the columns, rows that are filtered lazily: sizes of partitions are unknown.
    kept = lazy[lazy["p_ant"] > 0.01].drop(columns=["weight", "patient"])
    assert polyroc.dask.evaluate("kind", kept).labels.tolist() == labels[::-1]
    _, expected = local(whole["kind"], whole.filter(like="p_"), whole["weight"], whole["patient"], labels=labels)
    found = polyroc.dask.evaluate("kind", lazy, labels=labels, sample_weight="weight", groups="patient")
    assert_same(found, expected, exact=False)


def test_free_scores_and_options():
    y_true, y_score, _ = problem(4)
    logits = np.log(y_score)
    found = polyroc.dask.evaluate(
        *arrays(200, y_true, logits), labels=range(4), score_kind="free", mantissa_bits=8, n_thresholds=49
    )
    assert_same(found, local(y_true, logits, score_kind="free", mantissa_bits=8, n_thresholds=49)[1])


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_other_precisions(dtype):
    y_true, y_score, _ = problem(5)
    y_score = y_score.astype(dtype)
    assert_same(polyroc.dask.evaluate(*arrays(200, y_true, y_score)), local(y_true, y_score)[1])


def test_two_classes_and_one_column():
    y_true, y_score, _ = problem(6, k=2)
    assert_same(
        polyroc.dask.evaluate(*arrays(200, y_true, y_score[:, 1])), local(y_true, y_score[:, 1], labels=range(2))[1]
    )


def test_without_a_second_pass():
    y_true, y_score, _ = problem(7)
    lazy = arrays(200, y_true, y_score)
    found = polyroc.dask.evaluate(*lazy, standard_errors=False)
    assert found.auc == local(y_true, y_score)[1].auc
    with pytest.raises(ValueError, match="second pass"):
        _ = found.standard_error
    with pytest.raises(polyroc.InputError, match="`groups` must be None where `standard_errors` is False"):
        polyroc.dask.evaluate(*lazy, groups=lazy[0], standard_errors=False)


def test_compare_pairs_the_samples():
    y_true, one, weight = problem(8, n=20_000)
    two = np.clip(one + np.random.default_rng(0).normal(scale=0.05, size=one.shape), 0, 1)
    lazy = dict(zip(("one", "two"), arrays(3000, one, two), strict=True))
    found = polyroc.dask.compare(*arrays(3000, y_true), lazy, sample_weight=arrays(3000, weight)[0])
    assert_same_differences(found, compared(y_true, {"one": one, "two": two}, weight))


# Bad input


def test_what_is_wrong_in_a_partition_arrives_as_the_message_of_the_core():
    y_true, y_score, weight = problem(9)
    spoiled = y_score.copy()
    spoiled[450, 1] = np.nan
    message = "`y_score` must be finite, got NaN, infinity or missing values in 1 of 100 rows, the first is row 50"
    with pytest.raises(polyroc.InputError, match=message) as caught:
        polyroc.dask.evaluate(*arrays(100, y_true, spoiled), labels=range(4))
    assert "partition 4" in caught.value.__notes__[0]
    with pytest.raises(polyroc.InputError, match=r"`y_true` must hold only classes of `labels` \(0, 1, 2, 7\), got 3"):
        polyroc.dask.evaluate(*arrays(100, y_true, y_score), labels=[0, 1, 2, 7])
    with pytest.raises(polyroc.InputError, match="`y_score` must lie between 0 and 1"):
        polyroc.dask.evaluate(*arrays(100, y_true, 7 * y_score), labels=range(4))
    with pytest.raises(polyroc.InputError, match="`sample_weight` must be finite and not negative"):
        polyroc.dask.evaluate(*arrays(100, y_true, y_score), sample_weight=arrays(100, -weight)[0])


def test_what_does_not_fit_together_is_refused_before_anything_is_computed():
    import dask.array as da
    import dask.dataframe as dd

    y_true, y_score, _ = problem(10)
    lazy_true, lazy_score = arrays(100, y_true, y_score)
    never = da.map_blocks(_never, lazy_score, dtype=float, meta=np.zeros((0, 4)))
    evaluate = polyroc.dask.evaluate
    with pytest.raises(polyroc.InputError, match=r"for predictions in memory use `polyroc\.evaluate`"):
        evaluate(y_true, y_score)
    with pytest.raises(polyroc.InputError, match="`y_true` must have one entry per row of the scores, got 899 entr"):
        evaluate(lazy_true[:-1], never)
    with pytest.raises(polyroc.InputError, match=r"`y_true` must be one-dimensional, got shape \(900, 4\)"):
        evaluate(lazy_score, never)
    with pytest.raises(polyroc.InputError, match=r"`y_score` must have shape \(n_samples, n_classes\)"):
        evaluate(lazy_true, never[None])
    with pytest.raises(polyroc.InputError, match="`y_true` may be the name of a column only where"):
        evaluate("kind", never)
    with pytest.raises(polyroc.InputError, match="`score_kind` must be one of"):
        evaluate(lazy_true, never, score_kind="logits")
    with pytest.raises(polyroc.InputError, match="`shrinkage` must be a finite number"):
        evaluate(lazy_true, never, shrinkage=-1)
    with pytest.raises(polyroc.InputError, match="`labels` has 3"):
        evaluate(lazy_true, never, labels=[0, 1, 2])
    with pytest.raises(TypeError, match=r"evaluate\(\) got an unexpected keyword argument 'bogus'. Accepted options: "):
        evaluate(lazy_true, never, bogus=1)
    with pytest.raises(polyroc.InputError, match="`scores` must be a mapping with the scores of at least two models"):
        polyroc.dask.compare(lazy_true, {"one": never})
    with pytest.raises(polyroc.InputError, match="`y_true` must be a dask array"):
        polyroc.dask.compare("kind", {"one": never, "two": never})
    whole = dd.from_pandas(frame(y_true, y_score), npartitions=3)
    with pytest.raises(polyroc.InputError, match="`y_true` must be a column of `y_score`, got 'art', which is not amo"):
        evaluate("art", whole)
    with pytest.raises(polyroc.InputError, match="`y_true` must have as many partitions as the scores, 3, got 9"):
        evaluate(lazy_true, whole.drop(columns="kind"))


def _never(block):
    if len(block):
        pytest.fail("something was computed")
    return block


def test_no_samples_at_all():
    import dask.array as da

    with pytest.raises(polyroc.InputError, match="`y_true` must not be empty, got no samples in any partition"):
        polyroc.dask.evaluate(da.zeros(0, dtype=int), da.zeros((0, 4)), labels=range(4))
    with pytest.raises(polyroc.InputError, match="`y_true` must not be empty, got no samples in any partition"):
        polyroc.dask.evaluate(da.zeros(0, dtype=int), da.zeros((0, 4)))


# What stands around


@pytest.mark.slow
def test_the_page_runs_as_pasted():
    # Fenced as `py`: whoever runs the page has no dask, unless it is this test.
    [(code, shown)] = re.findall(
        r"```py\n(import dask.array.*?)```\n\n```text\n(.*?)```", text_of("docs/scale.md"), re.S
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not differences(shown, done.stdout)


@pytest.mark.slow
def test_the_model_of_a_cluster_predicts_what_is_sent():
    command = [sys.executable, "-m", "benchmarks._cluster_model", "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    runs = done.stdout.split("predicted\n")[1].split("\n\n")[0].splitlines()
    assert len(runs) == 2
    for run in runs:
        sent, predicted = map(float, run.split()[3:5])
        assert 0.7 < predicted / sent < 1.4


# A cluster of processes


@pytest.mark.slow
@pytest.mark.full("distributed")
@pytest.mark.parametrize("killed_in", [1, 2], ids=["first pass", "second pass"])
def test_a_killed_worker_changes_nothing(killed_in, tmp_path):
    y_true, y_score, _ = problem(11, n=2000)
    np.savez(tmp_path / "samples.npz", y_true=y_true, y_score=y_score)
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/helpers/dying_worker.py"), str(tmp_path), str(killed_in)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    _, expected = local(y_true, y_score)
    auc, error, n_deaths = done.stdout.split()
    assert float.fromhex(auc) == expected.auc
    assert_allclose(float.fromhex(error), expected.standard_error, rtol=1e-12)
    assert int(n_deaths) == 1
