"""The table of classes as frames, plain data, text, Markdown, LaTeX and HTML."""

import json
import pickle
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import polyroc

HOSTILE = ["<script>alert(1)</script>", "a|b\nc", "\\end{tabular} & 50 % $x_1$", "[x](javascript:y) **b**"]


def table(names=HOSTILE, *, n=80, seed=0):
    rng = np.random.default_rng(seed)
    k = len(names)
    y = np.concatenate([np.arange(k).repeat(10), rng.integers(k, size=n - 10 * k)])
    score = np.eye(k)[y] + 0.7 * rng.normal(size=(n, k))
    return polyroc.evaluate(np.array(names, dtype=object)[y], score, labels=names).classes


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("names", [["a", "b", "c"], [3, 1, 2]])
def test_frames_have_every_column_and_null_for_what_is_not_defined(backend, names):
    pytest.importorskip(backend)
    # The first class has no mistakes, and the last one is never predicted.
    y = np.array(names, dtype=object)[np.repeat([0, 1, 2], 12)].tolist()
    score = np.full((36, 3), 0.1) + np.linspace(0, 0.01, 108).reshape(36, 3)
    score[:12, 0], score[12:, 1] = 0.8, 0.8
    found = polyroc.evaluate(y, score, labels=names).classes.with_intervals()
    frame = found.to_frame(backend)
    rows = {"pandas": lambda: frame.to_dict("list"), "polars": lambda: frame.to_dict(as_series=False)}
    columns = rows.get(backend, lambda: frame.to_pydict())()
    assert list(columns) == [name for name in found.to_dict() if name not in ("confidence_level", "notes")]
    assert list(columns["label"]) == names
    assert list(columns["mistaken_for"]) == [None, names[0], names[1]] or columns["mistaken_for"][0] is None
    assert columns["mistaken_for"][2] == names[1]
    assert type(columns["mistaken_for"][2]) is type(names[1])
    missing = columns["precision"][2]
    assert missing is None or (backend == "pandas" and np.isnan(missing))
    assert columns["recall_low"][0] < columns["recall"][0] == 1.0 == columns["recall_high"][0]
    if backend == "polars":
        assert str(frame.schema["precision"]) == "Float64"


def test_plain_data_is_json_without_nan():
    found = table().with_intervals()
    record = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert record["label"] == HOSTILE
    assert record["confidence_level"] == 0.95
    assert "weight" not in record
    assert record["recall_low"][0] < record["recall"][0]
    assert polyroc.evaluate([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4]).classes.to_dict()["recall"] is None


def test_an_evaluation_has_its_classes_in_its_plain_data():
    rng = np.random.default_rng(1)
    y = rng.integers(3, size=60)
    evaluation = polyroc.evaluate(y, np.eye(3)[y] + rng.normal(size=(60, 3)))
    assert evaluation.to_dict()["classes"] == evaluation.classes.to_dict()
    json.dumps(evaluation.to_dict(), allow_nan=False)


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags = set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)


@pytest.mark.parametrize("sure", [False, True])
def test_hostile_names_are_text_everywhere(sure):
    found = table().with_intervals() if sure else table()
    page = _Tags()
    page.feed(found._repr_html_())
    assert page.tags == {"table", "caption", "tr", "th", "td"}
    markdown = found.to_markdown().split("\n")
    assert len(markdown) == 2 + len(HOSTILE)
    assert {len(re.split(r"(?<!\\)\|", line)) for line in markdown} == {11}
    assert "\\<script\\>" in markdown[2]
    latex = found.to_latex()
    assert latex.count("\\end{tabular}") == 1
    assert latex.count("\\\\") == 1 + len(HOSTILE)
    assert all(len(re.split(r"(?<!\\)&", line)) == 9 for line in latex.split("\n") if line.endswith("\\\\"))
    assert "a|b?c" in str(found)


def test_printed_tables_fit_a_terminal_and_say_what_they_are():
    example = polyroc.load_example()
    classes = polyroc.evaluate(example.y_true, example.scores["tree"]).classes
    for found, title in ((classes, "10 classes"), (classes.with_intervals(0.9), "10 classes with 90 % intervals")):
        lines = str(found).split("\n")
        assert lines[0] == title
        assert max(map(len, lines)) <= 100
    assert "1      91       40         0.143   0.325            0.734    0.765  2: 0.519         3: 66 %" in str(
        classes
    )
    # Never predicted, never right, and right only by a sample that is not there.
    assert re.search(r"^2 +88 +0 +0.000 +never predicted ", str(classes), re.M)


def test_of_many_classes_the_worst_are_printed_first():
    k = 30
    y = np.arange(k).repeat(12)
    score = np.eye(k)[y] + np.random.default_rng(0).normal(size=(len(y), k)) * np.linspace(0.1, 0.6, k)
    found = polyroc.evaluate(y, score).classes
    title, _, _, *rows = str(found).split("\n")
    assert title == "The 20 of 30 classes with the lowest recall; to_frame() has all"
    printed = [int(row.split()[0]) for row in rows[:20]]
    assert printed == np.argsort(found.recall, kind="stable")[:20].tolist()
    assert len(found.to_markdown().split("\n")) == 32


def test_a_table_survives_a_pickle():
    found = pickle.loads(pickle.dumps(table()))
    assert found.with_intervals().to_dict() == table().with_intervals().to_dict()
    assert repr(found).startswith("Classes(4 classes: label, n_samples, ")
