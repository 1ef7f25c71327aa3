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


def test_a_loader_that_returns_no_labels():
    from dask import delayed

    y_true, y_score, _ = problem(19)
    for labels in (None, range(4)):
        with pytest.raises(polyroc.InputError, match=r"`y_true` must be an array, .*, got NoneType") as caught:
            polyroc.dask.evaluate([delayed(y_true), delayed(None)], [delayed(y_score)] * 2, labels=labels)
        assert "partition 1" in caught.value.__notes__[0]


def test_no_samples_at_all():
    import dask.array as da

    with pytest.raises(polyroc.InputError, match="`y_true` must not be empty, got no samples in any partition"):
        polyroc.dask.evaluate(da.zeros(0, dtype=int), da.zeros((0, 4)), labels=range(4))
    with pytest.raises(polyroc.InputError, match="`y_true` must not be empty, got no samples in any partition"):
        polyroc.dask.evaluate(da.zeros(0, dtype=int), da.zeros((0, 4)))


def test_categories_that_differ_by_partition_are_refused_unless_columns_have_names():
    import dask.dataframe as dd
    import pandas as pd
    from dask import delayed

    y_true, y_score, _ = problem(15)
    names, parts = ["low", "middle", "high", "top"], [slice(0, 300), slice(300, 600), slice(600, 900)]
    orders = [names, names, ["high", "low", "middle", "top"]]
    kinds = [pd.Categorical.from_codes(y_true[part], names) for part in parts]
    lazy = [delayed(kind.set_categories(order)) for kind, order in zip(kinds, orders, strict=True)]
    scores = [delayed(y_score[part]) for part in parts]
    message = (
        "`y_true` must have the same categories in every partition, .*, got 'low', 'middle', 'high', 'top' in partition"
        " 0 and 'high', 'low', 'middle', 'top' in partition 2: pass the classes in the order of the columns as `labels="
    )
    with pytest.raises(polyroc.InputError, match=message):
        polyroc.dask.evaluate(lazy, scores)
    # As many files have them: only what occurs, sorted; and text beside categories.
    with pytest.raises(polyroc.InputError, match=r"in partition 0 and 'high', 'low', 'middle' in partition 1"):
        polyroc.dask.evaluate(
            [delayed(pd.Categorical(np.array(kind)[:9])) for kind in kinds], [one[:9] for one in scores]
        )
    with pytest.raises(polyroc.InputError, match=r"'top' in partition 0 and none in partition 1"):
        polyroc.dask.evaluate([lazy[0], *(delayed(np.array(kind)) for kind in kinds[1:])], scores)
    expected = local(np.array(names)[y_true], y_score, labels=names)[1]
    assert_same(polyroc.dask.evaluate(lazy, scores, labels=names), expected)
    named = dd.from_delayed(
        [delayed(pd.DataFrame)(one, columns=names) for one in scores], meta=dict.fromkeys(names, float)
    )
    assert_same(polyroc.dask.evaluate(lazy, named), expected)


def test_columns_that_have_names_in_some_partitions_only_are_refused():
    import pandas as pd
    from dask import delayed

    y_true, y_score, _ = problem(16)
    names, parts = np.array(["d", "a", "c", "b"]), [slice(0, 450), slice(450, 900)]
    truth = [delayed(names[y_true[part]]) for part in parts]
    named = [pd.DataFrame(y_score[part], columns=names) for part in parts]
    with pytest.raises(
        polyroc.InputError, match="`y_score` must have the same columns in every partition, got none in par"
    ):
        polyroc.dask.evaluate(truth, [delayed(y_score[parts[0]]), delayed(named[1])])
    # In another order they say the same.
    found = polyroc.dask.evaluate(truth, [delayed(named[0]), delayed(named[1][["a", "b", "c", "d"]])])
    assert_same(found, local(names[y_true], y_score, labels=names)[1])


def test_models_without_names_of_columns_are_not_read_in_the_order_of_another():
    import pandas as pd
    from dask import delayed

    y_true, y_score, _ = problem(17, n=20_000)
    names = np.array(["d", "a", "c", "b"])
    truth, named = [delayed(names[y_true])], [delayed(pd.DataFrame(y_score, columns=names))]
    for unnamed in ([delayed(y_score)], arrays(20_000, y_score)[0]):
        with pytest.raises(
            polyroc.InputError, match=r"`scores\['B'\]` must have columns named after .* those of 'A', 'd', "
        ):
            polyroc.dask.compare(truth, {"A": named, "B": unnamed})
        given = {"labels": names, "score_kind": "free"}
        assert polyroc.dask.compare(truth, {"A": named, "B": unnamed}, **given).by_auc.differences[0].value == 0
    other = [delayed(pd.DataFrame(y_score, columns=names)[sorted(names)])]
    assert polyroc.dask.compare(truth, {"A": named, "B": other}).by_auc.differences[0].value == 0


def test_groups_of_two_types_are_refused():
    from dask import delayed

    y_true, y_score, _ = problem(18)
    groups = np.arange(900) // 9
    lazy = [delayed(groups[:450]), delayed(groups[450:].astype(str))]
    with pytest.raises(polyroc.InputError, match=r"`groups` must be of one type in all batches: .*, got int and str"):
        polyroc.dask.evaluate(*([delayed(one[:450]), delayed(one[450:])] for one in (y_true, y_score)), groups=lazy)


# A second pass over other rows


class Loader:
    """Three partitions with 300 rows each, whose rows are in another order from the second call on."""

    def __init__(self, *columns):
        self.columns, self.n_calls = columns, [0, 0, 0]

    def __call__(self, number):
        self.n_calls[number] += 1
        order = np.random.default_rng(0).permutation(300) if self.n_calls[number] > 1 and number else np.arange(300)
        return tuple(column[300 * number : 300 * number + 300][order] for column in self.columns)

    def lazy(self):
        from dask import delayed

        parts = [delayed(self, pure=False)(number) for number in range(3)]
        return [[delayed(lambda part, i=i: part[i])(part) for part in parts] for i in range(len(self.columns))]


OTHER_ROWS = (
    r"`y_true` must have the same rows in both passes, .* got other rows in partition 1 \(the first is 0\) in the"
)


def test_scores_or_weights_in_another_order_in_the_second_pass_are_refused():
    y_true, y_score, weight = problem(12)
    [truth], [scores] = arrays(300, y_true), arrays(300, y_score)
    evaluate, given = polyroc.dask.evaluate, {"labels": range(4)}
    with pytest.raises(polyroc.InputError, match=OTHER_ROWS):
        evaluate(truth, *Loader(y_score).lazy(), **given)
    with pytest.raises(polyroc.InputError, match=OTHER_ROWS):
        evaluate(truth, scores, sample_weight=Loader(1 + weight).lazy()[0], **given)
    with pytest.raises(polyroc.InputError, match=OTHER_ROWS):
        polyroc.dask.compare(truth, {"one": scores, "two": Loader(np.round(y_score, 2)).lazy()[0]}, **given)
    # Seen at once: scores of samples that had no weight before.
    with pytest.raises(polyroc.InputError, match="`y_score` must be that of the first pass, got scores that") as caught:
        evaluate(truth, scores, sample_weight=Loader(weight).lazy()[0], **given)
    assert "`dask.persist`" in caught.value.__notes__[1]


@pytest.mark.parametrize("kind", [int, str])
def test_samples_in_another_order_than_their_groups_are_refused(kind):
    y_true, y_score, _ = problem(13)
    groups = (np.arange(900) // 30).astype(kind)
    with pytest.raises(polyroc.InputError, match="got other rows in partition 1 "):
        polyroc.dask.evaluate(*Loader(y_true, y_score).lazy(), labels=range(4), groups=arrays(300, groups)[0])


def test_whole_rows_may_come_in_another_order_and_in_other_partitions():
    from dask import delayed

    y_true, y_score, _ = problem(14)
    groups = np.arange(900) // 30
    lazy = Loader(y_true, y_score, groups).lazy()
    expected = local(y_true, y_score, groups=groups)[1]
    assert_same(polyroc.dask.evaluate(lazy[0], lazy[1], labels=range(4), groups=lazy[2]), expected)
    calls = []

    def turned(number):
        calls.append(number)
        rows = (
            slice(300 * number, 300 * number + 300)
            if len(calls) <= 3
            else slice(600 - 300 * number, 900 - 300 * number)
        )
        return y_true[rows], y_score[rows]

    parts = [delayed(turned, pure=False)(number) for number in range(3)]
    labels, scores = ([delayed(lambda part, i=i: part[i])(part) for part in parts] for i in range(2))
    assert_same(polyroc.dask.evaluate(labels, scores, labels=range(4)), local(y_true, y_score)[1])


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
        timeout=3600,  # against a hang alone
    )
    assert done.returncode == 0, done.stderr
    _, expected = local(y_true, y_score)
    auc, error, n_deaths = done.stdout.split()
    assert float.fromhex(auc) == expected.auc
    assert_allclose(float.fromhex(error), expected.standard_error, rtol=1e-12)
    assert int(n_deaths) == 1
