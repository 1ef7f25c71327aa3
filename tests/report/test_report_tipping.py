"""The tipping list on the page: rows from the dict, sentences with names that stay names, and who computes it."""

import json
import re

import numpy as np
import pytest
from report_pages import HOSTILE, Page, comparison_of, evaluation_of

import polyroc
from polyroc.report import render_html, summarize, write_html
from polyroc.report._tables import tipping_rows


def text_of(page):
    return re.sub(r"\s+", " ", "".join(text for _, text in Page(page).texts))


def mixed(names=None, models=("wide", "narrow"), **options):
    """Two models of which the second is better at one pair alone."""
    rng = np.random.default_rng(0)
    codes = np.arange(3).repeat(60)
    noise = rng.normal(size=(len(codes), 3))
    wide, narrow = 1.5 * np.eye(3)[codes] + noise, 1.0 * np.eye(3)[codes] + noise
    narrow[codes == 2, 0] -= 20
    labels = np.arange(3) if names is None else np.array(names, dtype=object)
    scores = dict(zip(models, (wide, narrow), strict=True))
    return polyroc.compare(labels[codes], scores, labels=labels, method="bootstrap", n_resamples=9, rng=0, **options)


@pytest.fixture(scope="module")
def comparison():
    return mixed()


@pytest.fixture(scope="module")
def tipping(comparison):
    return comparison.tipping_costs()


def test_rows_are_the_entries(comparison, tipping):
    summary = summarize(comparison, tipping=tipping)
    assert summary["tipping"] == json.loads(json.dumps(tipping.to_dict()))
    found = tipping_rows(summary)
    assert [tuple(row["cell"]) for row in found["rows"]] == [one.cell for one in tipping]
    assert ["".join(map(str, row["sentence"])) for row in found["rows"]] == list(tipping.sentences)


def test_the_page_says_each_sentence_and_carries_the_place_in_the_grid(comparison, tipping):
    page = render_html(summarize(comparison, tipping=tipping))
    words = text_of(page)
    for sentence in tipping.sentences:
        assert sentence in words
    assert words.count("By point estimates") == 1
    items = [attributes for tag, attributes in Page(page).tags if tag == "li" and "data-factor" in attributes]
    assert [(int(one["data-true"]), int(one["data-predicted"])) for one in items] == [one.cell for one in tipping]
    assert [float(one["data-factor"]) for one in items] == [one.factor for one in tipping]
    assert page.count('class="control" hidden>Show in the grid</button>') == len(items)


def test_values_at_the_cost_are_kept_apart(comparison, tipping):
    words = text_of(render_html(summarize(comparison, tipping=tipping)))
    found = re.search(r"D is then ([\d.]+), and ([\d.]+) for wide\.", words)
    assert float(found[1]) == pytest.approx(tipping.of("narrow").value, abs=1e-4)
    assert float(found[1]) > float(found[2])


def test_where_the_list_is_missing_the_page_says_how_to_get_it(comparison):
    words = text_of(render_html(summarize(comparison)))
    assert "write_html(comparison, path, tipping=comparison.tipping_costs()) adds it." in words
    assert "tipping" not in summarize(comparison)


def test_given_costs_are_mentioned():
    costs = np.ones((3, 3))
    costs[1, 2] = 3
    costly = mixed(costs=costs)
    assert "Each factor multiplies the cost that was given." in text_of(
        render_html(summarize(costly, tipping=costly.tipping_costs()))
    )


def test_an_empty_list_says_why():
    rng = np.random.default_rng(0)
    score = rng.normal(size=(60, 3))
    same = polyroc.compare(np.arange(60) % 3, {"a": score, "b": score.copy()}, method="bootstrap", n_resamples=9, rng=0)
    words = text_of(render_html(summarize(same, tipping=same.tipping_costs())))
    assert "All models are equally good by D and by the mean area." in words


def test_one_model_and_two_classes_have_no_list():
    assert tipping_rows(summarize(evaluation_of(4))) is None
    y_true, score = np.arange(40) % 2, np.random.default_rng(0).normal(size=(2, 40))
    two = polyroc.compare(y_true, {"a": score[0], "b": score[1]}, method="bootstrap", n_resamples=9, rng=0)
    assert tipping_rows(summarize(two, tipping=two.tipping_costs())) is None
    assert 'id="tipping"' not in render_html(summarize(two))


def test_hostile_names_stay_names():
    names, models = HOSTILE[:3], tuple(HOSTILE[6:8])
    hostile = mixed(names=names, models=models)
    tipping = hostile.tipping_costs()
    page = render_html(summarize(hostile, tipping=tipping))
    start = page.index('id="tipping"')
    part = page[start : page.index("</div>", start)]
    assert "<script" not in part
    assert "<img" not in part
    assert "<b>" not in part
    assert "{{ 7 * 7 }}" in text_of(part)
    for name in models[1:]:
        assert name in text_of(part)


def test_only_tipping_costs_of_the_same_comparison_are_taken(comparison, tipping):
    with pytest.raises(polyroc.InputError, match=r"`tipping` must be what `Comparison\.tipping_costs` gave, got dict"):
        summarize(comparison, tipping=tipping.to_dict())
    with pytest.raises(polyroc.InputError, match="`tipping` must be None for an Evaluation, which has one model"):
        summarize(comparison.evaluations["wide"], tipping=tipping)
    with pytest.raises(polyroc.InputError, match="must be of the same comparison, got costs for model 'narrow'"):
        summarize(comparison_of(3, n_resamples=9), tipping=tipping)


def test_small_comparisons_get_their_list_with_the_page(comparison, tipping, tmp_path, monkeypatch):
    write_html(comparison, tmp_path / "page.html")
    words = text_of((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert tipping.sentences[0] in words
    # What was computed before is not computed again.
    monkeypatch.setattr(polyroc.Comparison, "tipping_costs", lambda *_, **__: pytest.fail("computed again"))
    write_html(comparison, tmp_path / "page.html", tipping=tipping)
