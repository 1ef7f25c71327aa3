import copy
import importlib.metadata
import io
import pickle
import subprocess
import sys
import zipfile
from dataclasses import FrozenInstanceError
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from polyroc import load_example

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "make_example.py"


def stored_bytes() -> bytes:
    return (files("polyroc") / "_data" / "digits.npz").read_bytes()


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_shapes_and_classes():
    example = load_example()
    # Half of the 1797 digits, rounded up.
    assert example.y_true.shape == (899,)
    assert_array_equal(np.unique(example.y_true), np.arange(10))
    assert_array_equal(example.labels, np.arange(10))
    assert list(example.scores) == ["logistic", "knn", "tree"]
    assert {score.shape for score in example.scores.values()} == {(899, 10)}


@pytest.mark.parametrize("name", ["logistic", "knn", "tree"])
def test_scores_are_probabilities(name):
    score = load_example().scores[name]
    assert score.min() >= 0
    assert score.max() <= 1
    # Ten entries, each rounded to six decimals.
    assert_allclose(score.sum(axis=1), 1, atol=1e-5)


def test_classifiers_differ_in_quality():
    example = load_example()
    accuracy = {name: np.mean(score.argmax(axis=1) == example.y_true) for name, score in example.scores.items()}
    assert accuracy["logistic"] > accuracy["knn"] + 0.05 > accuracy["tree"] + 0.1


def test_nothing_can_be_written():
    example = load_example()
    with pytest.raises(FrozenInstanceError):
        example.y_true = np.zeros(3)
    with pytest.raises(ValueError, match="read-only"):
        example.y_true[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        example.scores["knn"][0, 0] = 1
    with pytest.raises(TypeError):
        example.scores["mine"] = np.zeros((899, 10))


def test_repr_is_short():
    assert repr(load_example()) == "Example(n_samples=899, n_classes=10, scores=['logistic', 'knn', 'tree'])"


def test_file_is_small_and_holds_no_pickle():
    data = stored_bytes()
    assert len(data) < 150_000
    for content in members(data).values():
        np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)


@pytest.mark.slow
def test_script_makes_the_file(tmp_path):
    pytest.importorskip("sklearn")
    recorded = np.load(io.BytesIO(stored_bytes()), allow_pickle=False)["sklearn_version"].item()
    installed = importlib.metadata.version("scikit-learn")
    if installed != recorded:
        pytest.skip(f"the file was made with scikit-learn {recorded}, {installed} is installed")
    out = tmp_path / "digits.npz"
    subprocess.run([sys.executable, SCRIPT, "--out", out], check=True, capture_output=True)
    # Not the compressed bytes: they depend on the build of zlib.
    assert members(out.read_bytes()) == members(stored_bytes())


@pytest.mark.parametrize("copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_example_can_be_copied_and_sent(copied):
    example = load_example()
    again = copied(example)
    assert list(again.scores) == list(example.scores)
    assert_array_equal(again.y_true, example.y_true)
    assert_array_equal(again.scores["tree"], example.scores["tree"])
    assert not any(array.flags.writeable for array in (again.y_true, again.labels, *again.scores.values()))
    with pytest.raises(TypeError):
        again.scores["mine"] = np.zeros((899, 10))
