"""Early stopping by D in the packages that train: what each recorded is D of its predictions, and stops it."""

import importlib
import importlib.util
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from pages import python_of, text_of
from scipy.special import softmax

import polyroc
from polyroc.training import CatBoostMetric, LightGBMMetric, XGBoostMetric, multiclass_d

# Before anything imports Keras; torch is there already.
os.environ.setdefault("KERAS_BACKEND", "torch")

# What these packages say of each other is not about polyroc.
foreign = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
K = 4


def data(k=K, n=400, seed=0):
    """Overlapping classes, so that D rises, and falls again with too many rounds."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    return rng.normal(size=(n, 4)) + np.eye(max(k, 4))[y][:, :4], y


X, Y = data()
X_VALID, Y_VALID = data(seed=1)
WEIGHT = np.random.default_rng(2).uniform(0.5, 2, size=len(Y_VALID))
COSTS = 1.0 + np.arange(K * K).reshape(K, K)


def best_place(values):
    """Where the highest value stands, the first of equal ones."""
    return int(np.argmax(values))


def assert_stopped_by(values, patience, most):
    """Training ended `patience` rounds after the best value, and before its time."""
    assert len(values) < most
    assert len(values) == best_place(values) + 1 + patience


# The one function


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities_are_taken_as_they_are_and_margins_by_softmax(dtype):
    margins = np.random.default_rng(0).normal(size=(len(Y), K)) * 2 + np.eye(K)[Y]
    shares = softmax(margins, axis=1).astype(dtype)
    assert multiclass_d(Y, shares) == polyroc.auc_score(Y, shares)
    assert multiclass_d(Y.astype(np.float32), margins) == pytest.approx(
        polyroc.auc_score(Y, softmax(margins, 1)), abs=1e-12
    )
    assert multiclass_d(Y, margins + 1000) == pytest.approx(multiclass_d(Y, margins), abs=1e-9)
    assert polyroc.auc_score(Y, margins) != pytest.approx(multiclass_d(Y, margins), abs=1e-4)


def test_options_and_weights_go_to_evaluate():
    shares = softmax(np.random.default_rng(0).normal(size=(len(Y), K)) + np.eye(K)[Y], axis=1)
    weight = np.arange(1, len(Y) + 1)
    expected = polyroc.auc_score(Y, shares, sample_weight=weight, costs=COSTS, thresholds="shared")
    assert multiclass_d(Y, shares, sample_weight=weight, costs=COSTS, thresholds="shared") == expected


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
@pytest.mark.parametrize("scale", [1, 100])
def test_two_classes_need_one_column(shape, scale):
    y, scores = [0, 0, 1, 1], np.array([0.1, 0.4, 0.35, 0.8]) * scale
    assert multiclass_d(y, scores.reshape(shape)) == 0.75


def test_named_classes_instead_of_scores_are_refused():
    with pytest.raises(polyroc.InputError, match=r"must have one column per class, got shape \(400,\).*multi:softprob"):
        multiclass_d(Y, Y.astype(float))
    with pytest.raises(polyroc.InputError, match=r"`y_true` must hold numbers of classes, .*got text"):
        multiclass_d(["a", "b"], [0.1, 0.2])
    with pytest.raises(polyroc.InputError, match=r"`y_score` must be finite"):
        multiclass_d([0, 1], [[0.1, np.inf], [3, 4]])
    with pytest.raises(TypeError, match=r"multiclass_d\(\) got an unexpected keyword argument 'average'"):
        multiclass_d([0, 1], [0.1, 0.2], average="macro")


@pytest.mark.parametrize("kind", [LightGBMMetric, XGBoostMetric, CatBoostMetric])
def test_metrics_are_checked_at_once_and_can_be_sent(kind):
    with pytest.raises(TypeError, match=rf"{kind.__name__}\(\) got an unexpected keyword argument 'average'"):
        kind(average="macro")
    with pytest.raises(polyroc.InputError, match="`n_thresholds`"):
        kind(n_thresholds=-1)
    metric = kind(shrinkage=0.5)
    sent = pickle.loads(pickle.dumps(metric))
    assert (sent.name, sent.options) == (metric.name, {"shrinkage": 0.5})
    assert repr(sent) == f"{kind.__name__}(shrinkage=0.5)"


def test_a_missing_keras_is_named():
    if importlib.util.find_spec("keras") is not None:
        pytest.skip("keras is installed")
    with pytest.raises(ModuleNotFoundError, match="`KerasCallback` needs keras: pip install keras"):
        _ = polyroc.training.KerasCallback
    with pytest.raises(ModuleNotFoundError, match=r'pip install "polyroc\[torch\]"'):
        _ = polyroc.torch
    with pytest.raises(AttributeError, match="no attribute 'bogus'"):
        _ = polyroc.training.bogus


def test_scores_in_one_row_class_after_class():
    shares = softmax(np.random.default_rng(0).normal(size=(len(Y), K)) + np.eye(K)[Y], axis=1)
    expected = polyroc.auc_score(Y, shares)
    assert LightGBMMetric()(Y, shares.ravel(order="F")) == ("auc_d", expected, True)
    assert LightGBMMetric(name="d")(Y, shares) == ("d", expected, True)


@pytest.mark.training("lightgbm", "xgboost", "catboost", "keras", "lightning", "torch", "torchmetrics", "sklearn")
def test_the_page_runs_as_pasted(tmp_path):
    # Other packages may say that they will change.
    command = [sys.executable, "-W", "ignore", "-c", python_of("docs/training.md")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    found = [line.split() for line in done.stdout.splitlines() if line[0].isdigit() and " " in line]
    assert len(found) == 6
    for rounds, value in found:
        assert 1 <= int(rounds) < 500
        assert 0.97 < float(value) < 1


@pytest.mark.training("torch", "torchmetrics", "sklearn", "numba")
def test_the_costs_on_the_page_can_be_measured():
    from benchmarks import _training

    seconds = _training.measure(300, 0)
    assert all(f" {name} |" in text_of("docs/training.md") for name in seconds)
    assert len(seconds) == 5
    assert min(seconds.values()) > 0


# LightGBM

LIGHTGBM = {"learning_rate": 0.3, "num_leaves": 8, "num_threads": 1, "verbosity": -1, "seed": 0, "deterministic": True}


@foreign
@pytest.mark.training("lightgbm")
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_lightgbm_train(weight):
    import lightgbm

    learnt = lightgbm.Dataset(X, Y)
    valid = lightgbm.Dataset(X_VALID, Y_VALID, weight=weight, reference=learnt)
    record = {}
    booster = lightgbm.train(
        {"objective": "multiclass", "num_class": K, "metric": "None", **LIGHTGBM},
        learnt,
        num_boost_round=100,
        valid_sets=[valid],
        feval=LightGBMMetric(),
        callbacks=[lightgbm.early_stopping(5, verbose=False), lightgbm.record_evaluation(record)],
    )
    values = record["valid_0"]["auc_d"]
    assert_stopped_by(values, 5, 100)
    assert booster.best_iteration == best_place(values) + 1
    weights = None if weight is None else weight.astype(np.float32)
    for rounds in (1, booster.best_iteration):
        expected = polyroc.auc_score(Y_VALID, booster.predict(X_VALID, num_iteration=rounds), sample_weight=weights)
        assert values[rounds - 1] == pytest.approx(expected, abs=1e-9)


@foreign
@pytest.mark.training("lightgbm")
def test_lightgbm_with_an_objective_of_its_own_has_raw_scores():
    import lightgbm

    def objective(raw, dataset):
        shares = softmax(raw, axis=1)
        truth = np.eye(K)[dataset.get_label().astype(int)]
        return shares - truth, 2 * shares * (1 - shares)

    learnt = lightgbm.Dataset(X, Y)
    record = {}
    booster = lightgbm.train(
        {"objective": objective, "num_class": K, "metric": "None", **LIGHTGBM},
        learnt,
        num_boost_round=10,
        valid_sets=[lightgbm.Dataset(X_VALID, Y_VALID, reference=learnt)],
        feval=LightGBMMetric(costs=COSTS),
        callbacks=[lightgbm.record_evaluation(record)],
    )
    expected = polyroc.auc_score(Y_VALID, softmax(booster.predict(X_VALID, raw_score=True), axis=1), costs=COSTS)
    assert record["valid_0"]["auc_d"][-1] == pytest.approx(expected, abs=1e-9)


@foreign
@pytest.mark.training("lightgbm", "sklearn")
@pytest.mark.parametrize("k", [2, K])
def test_lightgbm_classifier(k):
    import lightgbm

    (x, y), (x_valid, y_valid) = data(k), data(k, seed=1)
    names = np.array(["a", "b", "c", "d"])
    model = lightgbm.LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1, random_state=0, metric="None")
    model.fit(
        x,
        names[y],
        eval_set=[(x_valid, names[y_valid])],
        eval_metric=LightGBMMetric(),
        callbacks=[lightgbm.early_stopping(5, verbose=False)],
    )
    values = model.evals_result_["valid_0"]["auc_d"]
    assert_stopped_by(values, 5, 100)
    expected = polyroc.auc_score(names[y_valid], model.predict_proba(x_valid))
    assert values[model.best_iteration_ - 1] == pytest.approx(expected, abs=1e-9)


# XGBoost: predictions are float32


XGBOOST = {"max_depth": 3, "learning_rate": 0.3, "nthread": 1, "seed": 0, "disable_default_eval_metric": 1}


@foreign
@pytest.mark.training("xgboost")
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_xgboost_train(weight):
    import xgboost

    record = {}
    booster = xgboost.train(
        {"objective": "multi:softprob", "num_class": K, **XGBOOST},
        xgboost.DMatrix(X, Y),
        num_boost_round=100,
        evals=[(xgboost.DMatrix(X_VALID, Y_VALID, weight=weight), "valid")],
        custom_metric=XGBoostMetric(),
        early_stopping_rounds=5,
        evals_result=record,
        verbose_eval=False,
    )
    values = record["valid"]["auc_d"]
    assert_stopped_by(values, 5, 100)
    assert booster.best_iteration == best_place(values)
    y_score = booster.predict(xgboost.DMatrix(X_VALID), iteration_range=(0, booster.best_iteration + 1))
    weights = None if weight is None else weight.astype(np.float32)
    expected = polyroc.auc_score(Y_VALID, y_score, sample_weight=weights)
    assert booster.best_score == values[booster.best_iteration] == pytest.approx(expected, abs=1e-6)


@foreign
@pytest.mark.training("xgboost")
def test_xgboost_with_an_objective_of_its_own_has_margins():
    import xgboost

    def objective(margins, dmatrix):
        shares = softmax(margins, axis=1)
        truth = np.eye(K)[dmatrix.get_label().astype(int)]
        return shares - truth, 2 * shares * (1 - shares)

    record = {}
    booster = xgboost.train(
        {"num_class": K, **XGBOOST},
        xgboost.DMatrix(X, Y),
        num_boost_round=8,
        evals=[(xgboost.DMatrix(X_VALID, Y_VALID), "valid")],
        obj=objective,
        custom_metric=XGBoostMetric(costs=COSTS),
        evals_result=record,
        verbose_eval=False,
    )
    margins = booster.predict(xgboost.DMatrix(X_VALID), output_margin=True)
    expected = polyroc.auc_score(Y_VALID, softmax(margins.astype(float), axis=1), costs=COSTS)
    assert record["valid"]["auc_d"][-1] == pytest.approx(expected, abs=1e-6)


@foreign
@pytest.mark.training("xgboost", "sklearn")
@pytest.mark.parametrize("k", [2, K])
def test_xgboost_classifier(k):
    import xgboost
    from sklearn.base import clone

    (x, y), (x_valid, y_valid) = data(k), data(k, seed=1)
    model = xgboost.XGBClassifier(
        n_estimators=100, n_jobs=1, max_depth=3, eval_metric=XGBoostMetric(), early_stopping_rounds=5
    )
    model = clone(model).fit(x, y, eval_set=[(x_valid, y_valid)], verbose=False)
    values = model.evals_result()["validation_0"]["auc_d"]
    assert_stopped_by(values, 5, 100)
    assert model.best_iteration == best_place(values)
    expected = polyroc.auc_score(y_valid, model.predict_proba(x_valid))
    assert model.best_score == pytest.approx(expected, abs=1e-6)


# CatBoost


@foreign
@pytest.mark.training("catboost")
@pytest.mark.parametrize(("k", "weight"), [(2, None), (K, None), (K, WEIGHT)])
def test_catboost_classifier(k, weight, tmp_path):
    import catboost

    (x, y), (x_valid, y_valid) = data(k), data(k, seed=1)
    model = catboost.CatBoostClassifier(
        iterations=100,
        depth=4,
        learning_rate=0.3,
        loss_function="MultiClass" if k > 2 else "Logloss",
        eval_metric=CatBoostMetric(),
        early_stopping_rounds=5,
        thread_count=1,
        random_seed=0,
        verbose=False,
        allow_writing_files=False,
        train_dir=str(tmp_path),
    )
    model.fit(x, y, eval_set=catboost.Pool(x_valid, y_valid, weight=weight))
    values = model.get_evals_result()["validation"]["CatBoostMetric"]
    assert_stopped_by(values, 5, 100)
    assert model.get_best_iteration() == best_place(values)
    weights = None if weight is None else weight.astype(np.float32)
    expected = polyroc.auc_score(y_valid, model.predict_proba(x_valid), sample_weight=weights)
    assert values[model.get_best_iteration()] == pytest.approx(expected, abs=1e-9)


# Keras


def keras_model(k):
    import keras

    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [keras.layers.Input((4,)), keras.layers.Dense(16, "relu"), keras.layers.Dense(k, "softmax")]
    )
    model.compile(keras.optimizers.Adam(0.05), "sparse_categorical_crossentropy")
    return model


@foreign
@pytest.mark.training("keras", "torch")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("one_hot", [False, True])
def test_keras(one_hot):
    import keras

    model = keras_model(K)
    truth = np.eye(K)[Y_VALID] if one_hot else Y_VALID[:, None]
    history = model.fit(
        X,
        Y,
        batch_size=100,
        epochs=60,
        verbose=0,
        callbacks=[
            polyroc.training.KerasCallback((X_VALID, truth)),
            keras.callbacks.EarlyStopping("val_auc_d", mode="max", patience=3, restore_best_weights=True),
        ],
    ).history
    values = history["val_auc_d"]
    assert_stopped_by(values, 3, 60)
    expected = polyroc.auc_score(Y_VALID, model.predict(X_VALID, verbose=0))
    assert max(values) == pytest.approx(expected, abs=1e-6)


@foreign
@pytest.mark.training("keras", "torch")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_keras_with_weights_options_and_wrong_data():
    model = keras_model(K)
    callback = polyroc.training.KerasCallback((X_VALID, Y_VALID, WEIGHT), name="d", costs=COSTS, batch_size=64)
    history = model.fit(X, Y, epochs=1, verbose=0, callbacks=[callback]).history
    y_score = model.predict(X_VALID, verbose=0)
    expected = polyroc.auc_score(Y_VALID, y_score, sample_weight=WEIGHT, costs=COSTS)
    assert history["d"] == [pytest.approx(expected, abs=1e-6)]
    with pytest.raises(polyroc.InputError, match=r"`validation_data` must be a tuple \(x, y\)"):
        polyroc.training.KerasCallback(X_VALID)
    with pytest.raises(TypeError, match=r"KerasCallback\(\) got an unexpected keyword argument 'average'"):
        polyroc.training.KerasCallback((X_VALID, Y_VALID), average="macro")
    assert "KerasCallback" in dir(polyroc.training)


# Lightning


@foreign
@pytest.mark.training("lightning", "torch", "torchmetrics")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_lightning(tmp_path):
    import lightning
    import torch
    from lightning.pytorch.callbacks import EarlyStopping

    torch.set_num_threads(1)
    torch.manual_seed(0)

    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, K))
            self.val_d = polyroc.torch.MulticlassD(K, score_kind="logits")
            self.values, self.exact = [], []

        def training_step(self, batch):
            return torch.nn.functional.cross_entropy(self.layers(batch[0]), batch[1])

        def validation_step(self, batch):
            self.val_d.update(self.layers(batch[0]), batch[1])
            self.log("val_d", self.val_d)

        def on_validation_epoch_end(self):
            shares = self.layers(torch.tensor(X_VALID, dtype=torch.float32)).softmax(1)
            accumulator = polyroc.RocAccumulator(range(K))
            accumulator.update(Y_VALID, shares.numpy())
            self.values.append(accumulator.compute().auc)
            self.exact.append(polyroc.auc_score(Y_VALID, shares.numpy()))

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), 0.05)

    def loader(x, y):
        rows = torch.utils.data.TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y))
        return torch.utils.data.DataLoader(rows, batch_size=64)

    class Recorded(lightning.Callback):
        def __init__(self):
            self.values = []

        def on_validation_end(self, trainer, module):
            self.values.append(float(trainer.callback_metrics["val_d"]))

    model, recorded = Classifier(), Recorded()
    trainer = lightning.Trainer(
        max_epochs=60,
        accelerator="cpu",
        devices=1,
        default_root_dir=tmp_path,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        callbacks=[recorded, EarlyStopping("val_d", mode="max", patience=3)],
    )
    trainer.fit(model, loader(X, Y), loader(X_VALID, Y_VALID))
    assert trainer.current_epoch == len(recorded.values)
    assert_stopped_by(recorded.values, 3, 60)
    # Lightning keeps single precision; predictions of other batch sizes may differ in their last bits.
    np.testing.assert_allclose(recorded.values, model.values, rtol=0, atol=1e-5)
    # 100 samples of each class in bins of 0.4 %: some more ties than there are.
    np.testing.assert_allclose(recorded.values, model.exact, rtol=0, atol=2e-4)
