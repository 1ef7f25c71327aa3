"""polyroc.spark, in a local session, against one RocAccumulator over all samples."""

import os
import sys

import numpy as np
import pytest
from partitioned import assert_same, assert_same_differences, compared, local, problem

import polyroc

pytestmark = [
    # The bins of small samples are wide; what they give is compared with what one accumulator gives.
    pytest.mark.filterwarnings("ignore:Bins can move M:UserWarning"),
    pytest.mark.spark,
    # Of pyspark's own code, and of Python where it forks.
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::FutureWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
N = 16_000
LABELS = ["ant", "bee", "cat", "dog"]
COLUMNS = ["p_dog", "p_ant", "p_bee", "p_cat"]  # otherwise ordered than the classes


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.log.level": "OFF",
        # Quick to start: small queries are over before anything is worth to be compiled well.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.driver.memory": "1g",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("polyroc")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def stored(spark, tmp_path_factory):
    """Samples in files of Parquet, one of them without rows, and the same samples in memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path_factory.mktemp("predictions")
    y_true, y_score, weight = problem(0, n=N)
    y_score = np.where(np.arange(N)[:, None] % 3 == 0, np.round(y_score, 1), y_score)  # some ties
    order = np.argsort(y_true[:3000], kind="stable")  # files with few classes
    y_true[:3000], y_score[:3000], weight[:3000] = y_true[order], y_score[order], weight[order]
    table = pa.table(
        {
            "kind": np.array(LABELS)[y_true],
            "number": y_true,
            "weight": weight,
            "patient": np.arange(N) // 4,
            **{name: y_score[:, LABELS.index(name[2:])] for name in COLUMNS},
            **{f"single.{name}": y_score[:, LABELS.index(name[2:])].astype(np.float32) for name in COLUMNS},
            "vector": list(y_score),
            "rounded": list(np.round(y_score, 1)),
        }
    )
    for number, (start, end) in enumerate([(0, 10), (10, 1000), (1000, 1000), (1000, 3000), (3000, N)]):
        pq.write_table(table.slice(start, end - start), folder / f"part-{number}.parquet")
    return spark.read.parquet(str(folder)), (np.array(LABELS)[y_true], y_score, weight, np.arange(N) // 4)


@pytest.mark.parametrize("n_partitions", [None, 1, 12], ids=["as read", "one", "many"])
def test_columns_give_what_one_accumulator_gives(stored, n_partitions):
    df, (y_true, y_score, _, _) = stored
    df = df if n_partitions is None else df.repartition(n_partitions)
    found = polyroc.spark.evaluate(df, target="kind", scores=COLUMNS, labels=LABELS)
    assert_same(found, local(y_true, y_score, labels=LABELS)[1])


def test_arrays_of_spark_and_classes_that_are_found(stored):
    df, (y_true, y_score, _, _) = stored
    found = polyroc.spark.evaluate(df, target="number", scores="vector")
    assert_same(found, local([LABELS.index(name) for name in y_true], y_score)[1])
    # By the names of the columns, and of all that have no other role; other precision, and dots in names.
    df = df.select("kind", *(f"`single.{name}`" for name in COLUMNS))
    found = polyroc.spark.evaluate(df, target="kind", standard_errors=False)
    assert found.labels.tolist() == [name[2:] for name in COLUMNS]
    places = [LABELS.index(label) for label in found.labels]
    expected = local(y_true, y_score[:, places].astype(np.float32), labels=found.labels)[1]
    assert found.auc == expected.auc


def test_vectors_of_spark_ml(stored):
    from pyspark.ml.functions import array_to_vector

    df, (_y_true, _y_score, _, _) = stored
    df = df.select("kind", array_to_vector("vector").alias("probability")).limit(500)
    found = polyroc.spark.evaluate(df, target="kind", scores="probability", labels=LABELS, standard_errors=False)
    assert found.class_counts.sum() == 500
    assert 0.5 < found.auc < 1


def test_real_weights_and_groups(stored):
    df, (y_true, y_score, weight, groups) = stored
    given = {"target": "kind", "scores": COLUMNS, "labels": LABELS, "sample_weight": "weight"}
    found = polyroc.spark.evaluate(df, **given)
    assert_same(found, local(y_true, y_score, weight, labels=LABELS)[1], exact=False)
    found = polyroc.spark.evaluate(df, **given, groups="patient")
    assert_same(found, local(y_true, y_score, weight, groups, labels=LABELS)[1], exact=False)


def test_compare_pairs_the_samples(stored):
    df, (y_true, y_score, _, _) = stored
    models = {"whole": "vector", "rounded": "rounded"}
    found = polyroc.spark.compare(df, target="kind", scores=models, labels=LABELS)
    assert_same_differences(found, compared(y_true, {"whole": y_score, "rounded": np.round(y_score, 1)}, labels=LABELS))


def test_many_bytes_are_merged_in_a_tree(stored, monkeypatch):
    from polyroc.streams import _spark as _passes

    df, (y_true, y_score, _weight, _groups) = stored
    monkeypatch.setattr(_passes, "DRIVER_BYTES", 1)
    monkeypatch.setattr(_passes, "FAN_IN", 3)
    given = {"target": "kind", "scores": COLUMNS, "labels": LABELS}
    found = polyroc.spark.evaluate(df.repartition(11), **given)
    assert_same(found, local(y_true, y_score, labels=LABELS)[1])


@pytest.mark.filterwarnings("ignore:No samples in `y_true`:UserWarning")
def test_a_class_that_no_partition_has(stored):
    df, (y_true, y_score, _, _) = stored
    kept = y_true != "dog"
    found = polyroc.spark.evaluate(df.where("kind != 'dog'"), target="kind", scores=COLUMNS, labels=LABELS)
    assert_same(found, local(y_true[kept], y_score[kept], labels=LABELS)[1])


# Bad input


def test_what_is_wrong_in_a_partition_arrives_as_the_message_of_the_core(stored):
    from pyspark.sql import functions

    df, _ = stored
    evaluate, given = polyroc.spark.evaluate, {"target": "kind", "scores": COLUMNS, "labels": LABELS}
    spoiled = df.withColumn("p_bee", functions.expr("if(patient = 1400, double('nan'), p_bee)"))
    with pytest.raises(polyroc.InputError, match="`y_score` must be finite, got NaN, infinity or missing") as caught:
        evaluate(spoiled, **given)
    assert "This is about partition" in caught.value.__notes__[0]
    spoiled = df.withColumn("p_bee", functions.expr("if(patient = 1400, null, p_bee)"))
    with pytest.raises(polyroc.InputError, match="`y_score` must be finite, got NaN, infinity or missing"):
        evaluate(spoiled, **given)
    with pytest.raises(polyroc.InputError, match=r"`y_true` must hold only classes of `labels` .*, got 'dog'"):
        evaluate(df, **{**given, "labels": ["ant", "bee", "cat", "eel"], "scores": "vector"})
    with pytest.raises(polyroc.InputError, match="`y_true` must not have missing values"):
        evaluate(df.withColumn("kind", functions.expr("if(patient = 1400, null, kind)")), **given)
    spoiled = df.withColumn("vector", functions.expr("if(patient = 1400, slice(vector, 1, 2), vector)"))
    with pytest.raises(polyroc.InputError, match="`y_score` must be rectangular, got rows of different lengths"):
        evaluate(spoiled, **{**given, "scores": "vector"})


def test_what_does_not_fit_is_refused_before_anything_is_computed(stored):
    df, _ = stored
    evaluate, given = polyroc.spark.evaluate, {"target": "kind", "labels": LABELS}
    with pytest.raises(polyroc.InputError, match="`target` must be a column, got 'art', which is not among 'kind', 'n"):
        evaluate(df, target="art")
    with pytest.raises(polyroc.InputError, match="`scores` must be a column, got 'p_eel'"):
        evaluate(df, **given, scores=["p_ant", "p_eel"])
    with pytest.raises(
        polyroc.InputError, match=r"`scores` must be columns of numbers, .* got 'vector', which holds arr"
    ):
        evaluate(df, **given)
    with pytest.raises(polyroc.InputError, match="`df` must be a Spark data frame, got 'list'"):
        evaluate([], **given)
    with pytest.raises(polyroc.InputError, match="`df` must have a name of its own for each column, got 'kind' more"):
        evaluate(df.select("kind", "kind", "p_ant"), **given)
    with pytest.raises(polyroc.InputError, match="`score_kind` must be one of"):
        evaluate(df, **given, scores=COLUMNS, score_kind="logits")
    with pytest.raises(polyroc.InputError, match="`groups` must be None where `standard_errors` is False"):
        evaluate(df, **given, scores=COLUMNS, groups="patient", standard_errors=False)
    with pytest.raises(TypeError, match=r"evaluate\(\) got an unexpected keyword argument 'bogus'"):
        evaluate(df, **given, scores=COLUMNS, bogus=1)
    with pytest.raises(polyroc.InputError, match="`scores` must be a mapping with the scores of at least two models"):
        polyroc.spark.compare(df, target="kind", scores={"one": "vector"})
    with pytest.raises(polyroc.InputError, match="`y_true` must not be empty, got no samples in any partition"):
        evaluate(df.where("number > 9"), **given, scores=COLUMNS)


def test_rows_that_change_between_the_passes_are_refused(stored):
    from pyspark.sql import functions

    df, _ = stored
    evaluate, given = polyroc.spark.evaluate, {"target": "kind", "scores": "vector", "labels": LABELS}
    message = (
        r"`df` must have the same rows in both passes, .* got other rows in partition \d+ \(the first is 0\) in the"
    )
    any_bit = functions.udf(lambda _: os.urandom(1)[0] % 2, "int")
    with pytest.raises(polyroc.InputError, match=message):
        evaluate(df.withColumn("weight", 1 + any_bit("number")), **given, sample_weight="weight")
    with pytest.raises(polyroc.InputError, match=message):
        evaluate(df.withColumn("patient", any_bit("number")), **given, groups="patient")
    turned = df.withColumn("turned", any_bit("number")).withColumn(
        "vector", functions.expr("if(turned = 1, reverse(rounded), rounded)")
    )
    with pytest.raises(polyroc.InputError, match=message):
        evaluate(turned, **given)
    # In other partitions, and in another order, rows are the same.
    moved = df.repartition(5, any_bit("number"))
    assert evaluate(moved, **given).auc == evaluate(df, **given).auc


def test_a_column_of_arrays_is_not_read_in_the_order_of_another_model(stored):
    df, _ = stored
    with pytest.raises(
        polyroc.InputError, match=r"`scores\['B'\]` must have columns named after .*, as those of 'A', 'dog'"
    ):
        polyroc.spark.compare(df, target="kind", scores={"A": COLUMNS, "B": "vector"})
    in_order = {"A": sorted(COLUMNS), "B": "vector"}
    assert polyroc.spark.compare(df, target="kind", scores=in_order).by_auc.differences[0].value == 0
