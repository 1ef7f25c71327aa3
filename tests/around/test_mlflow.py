"""The MLflow evaluator, against a real store: a sqlite file, artifacts beside it."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from pages import blocks_of, differences, python_of

import polyroc

pytestmark = [
    pytest.mark.mlflow,
    # Of mlflow's own code, and only what is no UserWarning: those of polyroc seem to come from mlflow, which calls it.
    pytest.mark.filterwarnings("ignore::DeprecationWarning:mlflow"),
    pytest.mark.filterwarnings("ignore::FutureWarning:mlflow"),
    pytest.mark.filterwarnings("ignore:Hint. Inferred schema contains integer column:UserWarning"),
]

HOSTILE = ["<script>alert(1)</script>", "$\\frac{1}", "a,b\n\"c'", "naïve 类"]
NAMES = {
    "three": [0, 1, 2],
    "two": [0, 1],
    "text": ["ant", "bee", "cat"],
    "hostile": HOSTILE,
    "booleans": [False, True],
}
METRICS = ["auc", "auc_low", "auc_high", "hand_till", "hand_till_low", "hand_till_high"]
FILES = ["polyroc_curve.png", "polyroc_report.html", "polyroc_summary.json"]
# Few, because each evaluation here draws them, and they need only be the same ones.
FEW = 29


@pytest.fixture(scope="module")
def mlflow(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mlflow")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        # Away from the repository, should anything be written beside the store.
        patch.chdir(folder)
        with warnings.catch_warnings():
            # What mlflow says of itself when it is loaded.
            warnings.simplefilter("ignore")
            import mlflow.pyfunc
            import mlflow.sklearn

        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        made = mlflow.create_experiment("polyroc", artifact_location=(folder / "artifacts").as_uri())
        mlflow.set_experiment(experiment_id=made)
        yield mlflow


@pytest.fixture(autouse=True)
def run(mlflow):
    """A run of its own for each test."""
    with mlflow.start_run() as run:
        yield run
    # A model that was evaluated stays the active one, and its metrics would be those of the next test too.
    mlflow.clear_active_model()


def problem(names, seed=0, n=150):
    """A table with two features, the true classes, weights and groups."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n) % len(names))
    angle = 2 * np.pi * codes / len(names)
    return pd.DataFrame(
        {
            "x": np.cos(angle) + rng.normal(size=n),
            "y": np.sin(angle) + rng.normal(size=n),
            "class": np.array(names, dtype=object if isinstance(names[0], str) else None)[codes],
            "weight": rng.uniform(0.5, 2, size=n),
            "patient": np.arange(n) // 2,
        }
    )


def fitted(table):
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB().fit(table[["x", "y"]], table["class"])


def logged(mlflow, model, **kwargs):
    # No requirements, which mlflow would look for in a process of its own.
    return mlflow.sklearn.log_model(model, name="model", pip_requirements=[], **kwargs).model_uri


def scored(names, **kwargs):
    """A table of scores, one column for each class, named p_0, p_1, ... in the order of `names`."""
    table = problem(names, **kwargs)
    order = [list(fitted(table).classes_).index(name) for name in names]
    scores = fitted(table).predict_proba(table[["x", "y"]])[:, order]
    return table.assign(**{f"p_{place}": scores[:, place] for place in range(len(names))}), scores


def judged(mlflow, model, data, config=None, **kwargs):
    kwargs = {"targets": "class", "model_type": "classifier", "evaluators": "polyroc", **kwargs}
    return mlflow.models.evaluate(
        model, data, evaluator_config={"method": "bootstrap", "n_resamples": FEW, **(config or {})}, **kwargs
    )


def heard_from(function, *args, **kwargs):
    """What was warned of; pytest.warns would raise whatever mlflow warns of besides."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        function(*args, **kwargs)
    return [str(warning.message) for warning in heard]


def stored(mlflow, run):
    return mlflow.MlflowClient().get_run(run.info.run_id).data.metrics


def expected(y_true, y_score, *, level=0.95, groups=None, seed=0, n_resamples=FEW, **options):
    """The metrics, computed without mlflow."""
    evaluation = polyroc.evaluate(y_true, y_score, **options)
    drawn = evaluation.bootstrap(n_resamples, groups=groups, rng=seed)
    low, high = drawn.confidence_interval(level)
    low_m, high_m = drawn.confidence_interval(level, statistic="hand_till")
    numbers = [evaluation.auc, low, high, evaluation.hand_till, low_m, high_m]
    return dict(zip((f"polyroc_{name}" for name in METRICS), numbers, strict=True))


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_a_scikit_learn_model(mlflow, run, names):
    table = problem(names)
    model = fitted(table)
    features = table[["x", "y"]]
    result = judged(mlflow, logged(mlflow, model), features.assign(**{"class": table["class"]}))
    wanted = expected(table["class"], model.predict_proba(features), labels=model.classes_)
    assert wanted["polyroc_auc_low"] < wanted["polyroc_auc"] < wanted["polyroc_auc_high"]
    assert stored(mlflow, run) == pytest.approx(wanted, rel=1e-12)
    assert result.metrics == pytest.approx(wanted, rel=1e-12)


def test_a_model_that_predicts_probabilities_by_itself(mlflow, run):
    table = problem(NAMES["text"])
    uri = logged(mlflow, fitted(table), pyfunc_predict_fn="predict_proba")
    judged(mlflow, mlflow.pyfunc.load_model(uri), table[["x", "y", "class"]])
    wanted = expected(table["class"], fitted(table).predict_proba(table[["x", "y"]]))
    assert stored(mlflow, run) == pytest.approx(wanted, rel=1e-12)


def test_a_classifier_without_probabilities_is_judged_by_its_decision_function(mlflow, run):
    from sklearn.svm import LinearSVC

    table = problem(NAMES["text"])
    model = LinearSVC().fit(table[["x", "y"]], table["class"])
    judged(mlflow, logged(mlflow, model), table[["x", "y", "class"]])
    wanted = expected(table["class"], model.decision_function(table[["x", "y"]]))
    assert stored(mlflow, run) == pytest.approx(wanted, rel=1e-12)


# One order of the classes that is not the alphabet's, because a guess would take that one.
BACKWARDS = ["cat", "ant", "bee"]
MAPPED = {"cat": "p_0", "ant": "p_1", "bee": "p_2"}
LISTED = {"score_columns": ["p_0", "p_1", "p_2"], "labels": BACKWARDS}


@pytest.mark.parametrize("config", [{"score_columns": MAPPED}, LISTED], ids=["mapping", "list"])
def test_columns_of_a_table(mlflow, run, config):
    table, scores = scored(BACKWARDS)
    judged(mlflow, None, table, config)
    wanted = expected(table["class"], scores, labels=BACKWARDS)
    assert stored(mlflow, run) == pytest.approx(wanted, rel=1e-12)
    with pytest.warns(UserWarning, match="rank samples backwards"):
        sorted_order = polyroc.auc_score(table["class"], scores)
    assert abs(sorted_order - wanted["polyroc_auc"]) > 0.1


def test_the_order_of_a_mapping_does_not_matter(mlflow, run):
    table, scores = scored(BACKWARDS)
    judged(mlflow, None, table, {"score_columns": dict(sorted(MAPPED.items()))})
    # Resamples are drawn class by class in their order, so the interval may move; D and M may not.
    wanted = polyroc.evaluate(table["class"], scores, labels=BACKWARDS)
    found = stored(mlflow, run)
    assert found["polyroc_auc"] == pytest.approx(wanted.auc, rel=1e-9)
    assert found["polyroc_hand_till"] == pytest.approx(wanted.hand_till, rel=1e-9)


@pytest.mark.parametrize("names", [NAMES["three"], NAMES["hostile"]], ids=["integers", "hostile"])
def test_columns_that_are_named_as_the_classes_are(mlflow, run, names):
    table, scores = scored(names)
    columns = [str(name) for name in names]
    renamed = table.rename(columns={f"p_{place}": name for place, name in enumerate(columns)})
    judged(mlflow, None, renamed, {"score_columns": columns})
    assert stored(mlflow, run) == pytest.approx(expected(table["class"], scores, labels=names), rel=1e-12)


def test_a_column_of_lists(mlflow, run):
    table, scores = scored(BACKWARDS)
    judged(mlflow, None, table.assign(all=scores.tolist()), {"labels": BACKWARDS}, predictions="all")
    assert stored(mlflow, run) == pytest.approx(expected(table["class"], scores, labels=BACKWARDS), rel=1e-12)


def test_an_array_with_named_columns(mlflow, run):
    table, scores = scored(BACKWARDS)
    judged(
        mlflow,
        None,
        scores,
        {"score_columns": BACKWARDS},
        targets=table["class"].to_numpy(),
        feature_names=BACKWARDS,
    )
    assert stored(mlflow, run) == pytest.approx(expected(table["class"], scores, labels=BACKWARDS), rel=1e-12)


def test_data_may_be_an_array_or_a_dataset_of_mlflow(mlflow, run):
    from sklearn.naive_bayes import GaussianNB

    table = problem(NAMES["text"])
    features, classes = table[["x", "y"]].to_numpy(), table["class"].to_numpy()
    model = GaussianNB().fit(features, classes)
    wanted = expected(classes, model.predict_proba(features))
    judged(mlflow, logged(mlflow, model), features, targets=classes)
    assert stored(mlflow, run) == pytest.approx(wanted, rel=1e-12)
    data = mlflow.data.from_pandas(table[["x", "y", "class"]], targets="class")
    found = judged(mlflow, logged(mlflow, fitted(table)), data, targets=None)
    assert found.metrics == pytest.approx(wanted, rel=1e-12)


def test_classes_may_be_whole_floats(mlflow, run):
    table = problem([0.0, 1.0, 2.0])
    judged(mlflow, logged(mlflow, fitted(table)), table[["x", "y", "class"]])
    wanted = expected(table["class"].astype(int), fitted(table).predict_proba(table[["x", "y"]]))
    assert stored(mlflow, run) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(
    ("names", "config"),
    [([0, 1], {}), ([False, True], {}), (["yes", "no"], {"labels": ["no", "yes"]})],
    ids=["integers", "booleans", "text"],
)
def test_one_column_of_two_classes(mlflow, run, names, config):
    table, scores = scored(names)
    of_second = scores[:, names.index("yes") if "yes" in names else 1]
    judged(mlflow, None, table.assign(score=of_second), config, predictions="score")
    from sklearn.metrics import roc_auc_score

    assert stored(mlflow, run)["polyroc_auc"] == pytest.approx(
        roc_auc_score(table["class"] == (config["labels"][1] if config else names[1]), of_second)
    )


def test_score_columns_may_be_one_for_two_classes(mlflow, run):
    table, scores = scored([0, 1])
    judged(mlflow, None, table, {"score_columns": ["p_1"]})
    assert stored(mlflow, run) == pytest.approx(expected(table["class"], scores[:, 1]), rel=1e-12)


def test_functions_are_models_too(mlflow, run):
    table = problem(NAMES["three"])
    judged(mlflow, lambda features: fitted(table).predict_proba(features), table[["x", "y", "class"]])
    wanted = expected(table["class"], fitted(table).predict_proba(table[["x", "y"]]))
    assert stored(mlflow, run) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("way", ["named", "chosen", "one"])
def test_a_model_that_gives_a_table(mlflow, run, way):
    import pandas as pd

    table, scores = scored(BACKWARDS)

    def predict(features):
        if way == "named":
            return pd.DataFrame(scores, columns=BACKWARDS)
        if way == "chosen":
            return pd.DataFrame(scores, columns=["c", "a", "b"]).assign(decision="ant")
        return pd.DataFrame({"decision": "ant", "scores": scores.tolist()})

    config = {"chosen": {"score_columns": dict(zip(BACKWARDS, "cab", strict=True))}, "one": {"labels": BACKWARDS}}
    output = {"predictions": "scores"} if way == "one" else {}
    judged(mlflow, predict, table[["x", "y", "class"]], config.get(way), **output)
    assert stored(mlflow, run) == pytest.approx(expected(table["class"], scores, labels=BACKWARDS), rel=1e-12)


def test_weights_and_groups_are_columns_that_the_model_does_not_see(mlflow, run):
    table = problem(NAMES["text"])
    model = fitted(table)
    config = {"sample_weight": "weight", "groups": "patient"}
    judged(mlflow, logged(mlflow, model), table, config)
    scores = model.predict_proba(table[["x", "y"]])
    wanted = expected(table["class"], scores, sample_weight=table["weight"], groups=table["patient"])
    assert stored(mlflow, run) == pytest.approx(wanted, rel=1e-12)
    without = expected(table["class"], scores)
    assert all(abs(wanted[name] - without[name]) > 1e-6 for name in without)


def test_weights_and_groups_may_be_arrays(mlflow, run):
    table, scores = scored(NAMES["three"])
    config = {
        "score_columns": ["p_0", "p_1", "p_2"],
        "labels": [0, 1, 2],
        "sample_weight": table["weight"].to_numpy(),
        "groups": table["patient"].tolist(),
    }
    judged(mlflow, None, table, config)
    wanted = expected(table["class"], scores, sample_weight=table["weight"], groups=table["patient"])
    assert stored(mlflow, run) == pytest.approx(wanted, rel=1e-12)


def test_options_of_evaluate_are_passed_on(mlflow, run):
    table, scores = scored(NAMES["three"])
    options = {"costs": [[0, 9, 1], [1, 0, 1], [1, 1, 0]], "thresholds": "shared", "n_thresholds": 49}
    config = {"score_columns": {0: "p_0", 1: "p_1", 2: "p_2"}, "seed": 7, "confidence_level": 0.8, **options}
    judged(mlflow, None, table, config)
    wanted = expected(table["class"], scores, level=0.8, seed=7, **options)
    assert stored(mlflow, run) == pytest.approx(wanted, rel=1e-12)
    assert abs(wanted["polyroc_auc"] - polyroc.auc_score(table["class"], scores)) > 1e-4


def test_without_resamples_there_are_no_intervals(mlflow, run):
    table, scores = scored(NAMES["three"])
    result = judged(
        mlflow, None, table.assign(all=scores.tolist()), {"method": "none", "n_resamples": None}, predictions="all"
    )
    evaluation = polyroc.evaluate(table["class"], scores)
    wanted = {"polyroc_auc": evaluation.auc, "polyroc_hand_till": evaluation.hand_till}
    assert stored(mlflow, run) == pytest.approx(wanted, rel=1e-12)
    assert set(result.artifacts) == {"polyroc_curve", "polyroc_report", "polyroc_summary"}
    assert result.artifacts["polyroc_summary"].content["confidence_interval"] is None


@pytest.mark.parametrize("names", [NAMES["two"], HOSTILE], ids=["two", "hostile"])
def test_picture_and_report_are_in_the_store(mlflow, run, names, tmp_path):
    from PIL import Image

    table = problem(names)
    result = judged(mlflow, logged(mlflow, fitted(table)), table[["x", "y", "class"]])
    folder = Path(mlflow.artifacts.download_artifacts(run_id=run.info.run_id, dst_path=str(tmp_path)))
    assert (folder / "polyroc_curve.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    with Image.open(folder / "polyroc_curve.png") as picture:
        assert picture.size == (750, 750)
        assert len(picture.getcolors(maxcolors=750 * 750)) > 10
    page = (folder / "polyroc_report.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    # D as people read it, the run it is about, and no name of a class as markup.
    assert f"{result.metrics['polyroc_auc']:.3f}" in page
    assert run.info.run_id in page
    assert HOSTILE[0] not in page
    numbers = json.loads((folder / "polyroc_summary.json").read_text(encoding="utf-8"))
    assert numbers["labels"] == sorted(names)
    ends = numbers["confidence_interval"]["low"], numbers["confidence_interval"]["high"]
    assert ends == (result.metrics["polyroc_auc_low"], result.metrics["polyroc_auc_high"])
    assert (numbers["n_resamples"], numbers["seed"]) == (FEW, 0)
    # The result holds what is in the store.
    assert result.artifacts["polyroc_report"].content == page
    assert result.artifacts["polyroc_summary"].content == numbers
    uris = {name: artifact.uri.rpartition("/")[2] for name, artifact in result.artifacts.items()}
    assert uris == {path.stem: path.name for path in folder.iterdir()}


def test_a_prefix_keeps_two_evaluations_of_a_run_apart(mlflow, run):
    tables = {f"{part}/": scored(NAMES["three"], seed=seed) for seed, part in enumerate(["valid", "test"])}
    for prefix, (table, scores) in tables.items():
        judged(mlflow, None, table.assign(all=scores.tolist()), {"metric_prefix": prefix}, predictions="all")
    wanted = {
        f"{prefix}{name}": value
        for prefix, (table, scores) in tables.items()
        for name, value in expected(table["class"], scores).items()
    }
    assert len(wanted) == 12
    assert stored(mlflow, run) == pytest.approx(wanted, rel=1e-12)
    client = mlflow.MlflowClient()
    for prefix in tables:
        files = {entry.path for entry in client.list_artifacts(run.info.run_id, prefix.rstrip("/"))}
        assert files == {f"{prefix}{name}" for name in FILES}


@pytest.mark.parametrize("prefix", ["../", "/", "a%b"])
def test_a_prefix_that_mlflow_does_not_take_writes_nothing(mlflow, run, prefix):
    table, scores = scored(NAMES["three"])
    with pytest.raises(mlflow.exceptions.MlflowException, match="Invalid value"):
        judged(mlflow, None, table.assign(all=scores.tolist()), {"metric_prefix": prefix}, predictions="all")
    assert stored(mlflow, run) == {}
    assert mlflow.MlflowClient().list_artifacts(run.info.run_id) == []


def test_a_result_is_saved_and_loaded_by_mlflow(mlflow, tmp_path):
    table, scores = scored(NAMES["three"])
    result = judged(mlflow, None, table.assign(all=scores.tolist()), predictions="all")
    result.save(str(tmp_path))
    again = mlflow.models.EvaluationResult.load(str(tmp_path))
    assert again.metrics == result.metrics
    assert again.artifacts["polyroc_report"].content == result.artifacts["polyroc_report"].content


def test_where_no_evaluator_is_named_polyroc_stays_out(mlflow, run):
    table = problem(NAMES["two"]).assign(decision=np.arange(150) % 2)
    mlflow.models.evaluate(
        None,
        table[["x", "class", "decision"]],
        targets="class",
        predictions="decision",
        model_type="classifier",
        evaluator_config={"pos_label": 1},
    )
    assert "accuracy_score" in stored(mlflow, run)
    assert not [name for name in stored(mlflow, run) if "polyroc" in name]


@pytest.mark.parametrize("named", [True, False])
def test_beside_the_default_evaluator(mlflow, run, named):
    table, scores = scored(NAMES["two"])
    data = table[["class", "p_0", "p_1"]].assign(decision=(scores[:, 1] > 0.5).astype(int))
    mlflow.models.evaluate(
        None,
        data,
        targets="class",
        predictions="decision",
        model_type="classifier",
        evaluators=["default", "polyroc"] if named else None,
        evaluator_config={
            "polyroc": {"score_columns": {0: "p_0", 1: "p_1"}, "method": "bootstrap", "n_resamples": FEW}
        },
    )
    accuracy = np.mean(data["decision"] == data["class"])
    found = stored(mlflow, run)
    assert found["accuracy_score"] == pytest.approx(accuracy)
    wanted = expected(table["class"], scores)
    assert {name: found[name] for name in wanted} == pytest.approx(wanted, rel=1e-12)


def test_only_classifiers(mlflow):
    table = problem(NAMES["three"]).rename(columns={"class": "target"})
    with pytest.raises(mlflow.exceptions.MlflowException, match="could not be evaluated by any"):
        judged(mlflow, None, table, targets="target", predictions="x", model_type="regressor")


def test_a_class_the_model_has_never_seen_is_warned_of(mlflow, run):
    table = problem(NAMES["text"])
    known = table[table["class"] != "cat"]
    heard = heard_from(judged, mlflow, logged(mlflow, fitted(known)), table[["x", "y", "class"]])
    assert any("has never seen 'cat'" in message for message in heard)
    scores = np.column_stack([fitted(known).predict_proba(table[["x", "y"]]), np.zeros(len(table))])
    assert stored(mlflow, run)["polyroc_auc"] == pytest.approx(polyroc.auc_score(table["class"], scores))


def test_labels_may_give_other_names_to_the_classes_of_a_model(mlflow, run):
    table = problem(NAMES["three"])
    model = fitted(table)
    words = table["class"].map(dict(enumerate(BACKWARDS)))
    data = table[["x", "y"]].assign(**{"class": words})
    judged(mlflow, logged(mlflow, model), data, {"labels": BACKWARDS})
    wanted = expected(words, model.predict_proba(table[["x", "y"]]), labels=BACKWARDS)
    assert stored(mlflow, run) == pytest.approx(wanted, rel=1e-12)


WRONG = {
    "unknown key": ({"sample_weights": "weight"}, "must hold only score_columns, labels, .*, got 'sample_weights'"),
    "no scores": ({}, "`score_columns` must name the columns of scores .*'p_0'"),
    "no such column": (
        {"score_columns": ["p_0", "p_7"]},
        r"`score_columns` must name columns of the data \('x'.*got 'p_7'",
    ),
    "one name": ({"score_columns": "p_0"}, "`score_columns` must be a list of column names, or a mapping"),
    "none": ({"score_columns": []}, "`score_columns` must be a list of column names, or a mapping"),
    "twice": ({"score_columns": {**MAPPED, "bee": "p_0"}}, "`score_columns` must not name a column twice"),
    "whose column": ({"score_columns": ["p_0", "p_1", "p_2"]}, "none for 'ant', 'bee', 'cat': .* give `labels`"),
    "class without column": ({"score_columns": {"cat": "p_0", "ant": "p_1"}}, "every class .*, got none for 'bee'"),
    "single class": ({"score_columns": {"cat": "p_0"}}, "`score_columns` must name a column for each class"),
    "two orders": ({"score_columns": MAPPED, "labels": BACKWARDS}, "`labels` must be left out"),
    "text as scores": ({"score_columns": {**MAPPED, "bee": "note"}}, "`note` must hold real numbers"),
    "weights": ({"score_columns": MAPPED, "sample_weight": "wieght"}, "`sample_weight` must name a column .*'wieght'"),
    "groups": ({"score_columns": MAPPED, "groups": "hospital"}, "`groups` must name a column .*got 'hospital'"),
    "few groups": ({"score_columns": MAPPED, "groups": [1, 2]}, "`groups` must have one entry per sample, 150, got 2"),
    "level": ({"score_columns": MAPPED, "confidence_level": 95}, "`confidence_level` must be between 0 and 1"),
    "resamples": (
        {"score_columns": MAPPED, "method": "bootstrap", "n_resamples": 1},
        "`n_resamples` must be an integer from 2",
    ),
    "seed": ({"score_columns": MAPPED, "seed": -1}, "`seed` must be a non-negative integer"),
    "prefix": ({"score_columns": MAPPED, "metric_prefix": 3}, "`metric_prefix` must be text"),
    "option": ({"score_columns": MAPPED, "thresholds": "mine"}, "`thresholds` must be one of 'own', 'shared'"),
    "costs": ({"score_columns": MAPPED, "costs": [[0, 1], [1, 0]]}, r"`costs` must have shape \(3, 3\)"),
}


@pytest.mark.parametrize(("config", "message"), WRONG.values(), ids=WRONG)
def test_wrong_configurations_are_named(mlflow, run, config, message):
    table, _ = scored(BACKWARDS)
    with pytest.raises(ValueError, match=message):
        judged(mlflow, None, table.assign(note="x"), config)
    assert stored(mlflow, run) == {}


def test_decisions_are_no_scores(mlflow):
    table = problem(NAMES["text"])
    with pytest.raises(ValueError, match="`predictions` must be scores, got decisions such as 'ant': log a scikit"):
        judged(mlflow, None, table.assign(decision="ant"), predictions="decision")
    with pytest.raises(ValueError, match="`predictions` must be scores, got decisions such as 'ant'"):
        judged(mlflow, lambda features: np.full(len(features), "ant"), table)
    coded = problem(NAMES["two"])
    with pytest.raises(ValueError, match="`predictions` must be scores, got decisions such as 1"):
        judged(mlflow, None, coded.assign(decision=1), predictions="decision")


@pytest.mark.parametrize("names", ["three", "text"])
def test_one_column_is_too_few_for_three_classes(mlflow, names):
    table = problem(NAMES[names])
    with pytest.raises(ValueError, match="`predictions` must have one column per class, got a single one for"):
        judged(mlflow, None, table, predictions="x")


def test_lists_of_scores_must_be_of_one_length(mlflow):
    table, scores = scored(NAMES["three"])
    ragged = [scores[0, :2].tolist(), *scores[1:].tolist()]
    with pytest.raises(ValueError, match="`predictions` must be rectangular"):
        judged(mlflow, None, table.assign(all=ragged), predictions="all")


@pytest.mark.parametrize("names", [BACKWARDS, [1, 2, 3]], ids=["text", "integers from 1"])
def test_the_order_of_unnamed_columns_is_not_guessed(mlflow, names):
    table, scores = scored(names)
    with pytest.raises(ValueError, match="`labels` must name the classes in the order of the columns of `predictions`"):
        judged(mlflow, None, table.assign(all=scores.tolist()), predictions="all")


def test_what_contradicts_the_model_is_refused(mlflow):
    table = problem(NAMES["text"])
    uri, data = logged(mlflow, fitted(table)), table[["x", "y", "class"]]
    with pytest.raises(
        ValueError, match=r"`labels` must be in the order of the model's classes_ \('ant', 'bee', 'cat'\)"
    ):
        judged(mlflow, uri, data, {"labels": BACKWARDS})
    with pytest.raises(ValueError, match="`score_columns` must be left out for a model with classes_"):
        judged(mlflow, uri, data, {"score_columns": ["x", "y"]})
    with pytest.raises(ValueError, match=r"`targets` must hold classes of the model \('ant', .*\), got 0, 1, 2"):
        judged(mlflow, uri, problem(NAMES["three"])[["x", "y", "class"]])
    with pytest.raises(ValueError, match=r"`score_columns` must be left out where .* no named columns, got ndarray"):
        judged(mlflow, lambda features: features.to_numpy(), data, {"score_columns": ["x", "y"]})


def test_what_polyroc_warns_of_is_heard(mlflow):
    table, scores = scored(NAMES["three"], n=24)
    heard = heard_from(judged, mlflow, None, table.assign(all=scores.tolist()), predictions="all")
    assert any(message.startswith("Classes of fewer than 10 samples") for message in heard)


def test_the_page_runs_and_prints_what_it_shows(mlflow, tmp_path):
    # A process of its own, with a store of its own; MLflow warns too much for warnings to be errors.
    command = [sys.executable, "-c", python_of("docs/mlflow.md")]
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    environment = {**plain, "MLFLOW_DISABLE_TELEMETRY": "true"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    shown = "".join(block.shown for block in blocks_of("docs/mlflow.md") if block.language == "python")
    assert shown
    assert differences(shown, done.stdout) == []
