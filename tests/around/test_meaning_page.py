"""The page of what D means: its tables are what the script computes now, its words say no other numbers."""

import importlib.util
import re
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from pages import ROOT, differences, text_of
from sklearn.metrics import roc_auc_score

DOCS = ROOT / "docs"
TEXT = text_of("docs/meaning.md")
TABLES = re.findall(r"<!-- (\S+): written by `make meaning` -->\n(.*?)<!-- end of table -->", TEXT, flags=re.DOTALL)


@pytest.fixture(scope="module")
def script():
    pytest.importorskip("matplotlib")
    spec = importlib.util.spec_from_file_location("make_meaning", ROOT / "scripts" / "make_meaning.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def found(script):
    return script.compute()


@pytest.mark.slow
def test_tables_are_true(script, found):
    assert [name for name, _ in TABLES] == list(found)
    for name, shown in TABLES:
        assert not differences(shown, script.part(found[name])), f"`make meaning` writes {name} anew"
    assert script.page(TEXT, found).replace(" ", "").count("|") == TEXT.replace(" ", "").count("|")


def test_words_say_the_numbers_of_the_tables():
    # Code is run, and what it prints is compared, by test_readme.py.
    code = re.findall(r"^```(?:python|text)\n.*?^```\n", TEXT, flags=re.DOTALL | re.MULTILINE)
    in_tables = {number for part in [*(table for _, table in TABLES), *code] for number in re.findall(r"\d\.\d+", part)}
    words = re.sub(r"<!--.*?<!-- end of table -->", "", TEXT, flags=re.DOTALL)
    said = set(re.findall(r"(?<!\d)\d\.\d+", words))
    assert said
    assert said <= in_tables


def column(found, name, measure):
    columns, rows = found[name]
    return [row[columns.index(measure)] for row in rows]


@pytest.mark.slow
def test_what_the_page_claims_is_so(found):
    alike = [column(found, "exchangeable", measure) for measure in ("D", "M", "OvR, macro")]
    assert max(max(row) - min(row) for row in zip(*alike, strict=True)) < 0.002
    # A pair that differs: D lies above M here, the more the wider it differs.
    gaps = [d - m for d, m in zip(column(found, "odd-pair", "D"), column(found, "odd-pair", "M"), strict=True)]
    assert min(gaps) > -0.001
    assert gaps[0] == max(gaps)
    # One pair gets better, and D falls at first while M and accuracy rise.
    d, m, accuracy = (np.array(column(found, "not-monotone", name), float) for name in ("D", "M", "accuracy"))
    assert np.all(np.diff(d[:4]) < 0)
    assert d[-1] == max(d)
    assert np.all(np.diff(m) > 0)
    assert np.all(np.diff(accuracy) > 0)
    priors = {row[0]: row[1:] for row in found["priors"][1]}
    for measure in ("D", "M", "AUCmu"):
        assert priors[measure][0] == pytest.approx(priors[measure][1], abs=0.003)
    for measure in ("OvR, macro", "OvR, weighted", "D, weighted by prevalence"):
        assert priors[measure][0] - priors[measure][1] > 0.01
    falls = {measure: even - last for measure, (even, _, last) in priors.items() if measure != "accuracy"}
    assert max(falls, key=falls.get) == "D, shared thresholds"
    for measure in ("D", "M"):
        assert len(set(column(found, "shifted-column", measure))) == 1
    shared = column(found, "shifted-column", "D, shared thresholds")
    assert max(shared) == shared[len(shared) // 2]
    mu = column(found, "shifted-column", "AUCmu")
    assert max(mu) - min(mu) < 0.01


@pytest.mark.slow
def test_merged_columns_raise_d_and_lower_all_else(script, found):
    good, merged = ([float(value) for value in row[1:]] for row in found["merged"][1])
    assert merged[0] > good[0]
    assert all(after < before for before, after in zip(good[1:], merged[1:], strict=True))
    assert good[2] - merged[2] == pytest.approx(0.1, abs=0.02)  # one answer in ten
    said = found["merged-comparison"]
    assert "D and M disagree: D prefers merged, M prefers good." in said
    # What the page says of the eight pairs that get sharper, by areas of another package.
    y_true, models = script.two_columns_merged()
    gains = []
    for positive, negative in product(range(2), range(2, 6)):
        of_pair = np.isin(y_true, (positive, negative))
        before, after = (roc_auc_score(y_true[of_pair] == positive, models[name][of_pair, positive]) for name in models)
        gains.append(after - before)
    assert min(gains) > 0


@pytest.mark.slow
def test_every_picture_is_there_and_shown(script, found):
    shown = re.findall(r"images/meaning/(\S+)", TEXT)
    assert sorted(shown) == sorted(f"{name}-{theme}.png" for name in script.pictures(found) for theme in script.THEMES)
    assert {path.name for path in (DOCS / "images" / "meaning").iterdir()} == set(shown)


def test_pictures_are_small_and_undated():
    pictures = [path.read_bytes() for path in Path(DOCS / "images" / "meaning").glob("*.png")]
    assert 0 < sum(map(len, pictures)) < 1_000_000
    # The kinds of chunk in which PNG files keep text and times.
    assert not any(chunk in picture for picture in pictures for chunk in (b"tEXt", b"iTXt", b"tIME"))
