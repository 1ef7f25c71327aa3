"""The library leaves the filters of warnings alone: they belong to the whole process, threads included."""

import ast
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import polyroc

SOURCE = Path(polyroc.__file__).parent
# Programs, which own their process and its output.
PROGRAMS = ("cli", "experiments")


def test_no_library_code_touches_the_filters():
    forbidden = {"catch_warnings", "simplefilter", "filterwarnings", "resetwarnings"}
    found = []
    for file in SOURCE.rglob("*.py"):
        if file.relative_to(SOURCE).parts[0] in PROGRAMS:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            name = getattr(node, "attr", getattr(node, "id", None))
            if name in forbidden:
                found.append(f"{file.name}:{node.lineno} {name}")
    assert found == []


@pytest.mark.threads
def test_comparisons_in_threads_leave_the_filters_as_they_were():
    """Models without any error, whose difference is read off intervals at many levels."""
    y_true = np.arange(60) % 3
    rng = np.random.default_rng(0)
    scores = {name: np.eye(3)[y_true] + 0.1 * rng.random((60, 3)) for name in "ab"}
    failed = []

    def work():
        try:
            for _ in range(3):
                polyroc.compare(y_true, scores, method="bootstrap", n_resamples=9, rng=0)
        except Exception as error:
            failed.append(error)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # by the test itself, in its one thread
        before = list(warnings.filters)
        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert list(warnings.filters) == before


def test_each_model_is_warned_of_once_and_their_difference_not(recwarn):
    y_true = np.arange(60) % 3
    scores = {name: np.eye(3)[y_true] + shift for name, shift in (("a", 0.0), ("b", 1.0))}
    polyroc.compare(y_true, {"a": scores["a"], "b": -scores["b"]}, method="bootstrap", n_resamples=9, rng=0)
    said = [str(entry.message) for entry in recwarn if "carry no information" in str(entry.message)]
    # Python shows a sentence once for each line of code; each of the two was said.
    assert {sentence.partition(",")[0] for sentence in said} == {"All 9 replicates equal 1", "All 9 replicates equal 0"}
