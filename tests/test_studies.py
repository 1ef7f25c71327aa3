"""The simulation study: that all its parts work, and that its pieces are what they say."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("numba")

from studies import _coverage, _page
from studies._settings import CHANGE, CORRELATION, COVERAGE, GROUPED, HARD, TEST, draw

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_a_quick_run_prints_every_table():
    done = subprocess.run(
        [sys.executable, "-m", "studies", "--quick"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for setting in COVERAGE + HARD + GROUPED:
        assert f"| {setting.name} |" in done.stdout
    for title in ("Coverage of 95 % intervals of D", "With groups", "Other intervals", "Test of two models"):
        assert f"## {title}" in done.stdout


def test_settings_are_as_the_page_says():
    assert len(COVERAGE) >= 6
    assert {setting.n_classes for setting in COVERAGE} >= {3, 10}
    assert min(setting.n_samples for setting in COVERAGE) == 100
    assert max(setting.n_samples for setting in COVERAGE) == 2000
    assert all(min(setting.counts) >= 20 for setting in COVERAGE)
    assert any(max(setting.counts) == 20 * min(setting.counts) for setting in COVERAGE)
    assert all(min(setting.counts) < 20 or setting.reversed_share > 0 for setting in HARD)


def test_draws_have_the_classes_ties_and_groups_that_they_should():
    rng = np.random.default_rng(0)
    for setting in COVERAGE + HARD:
        y_true, y_score, groups = draw(setting, rng)
        assert np.bincount(y_true).tolist() == list(setting.counts)
        assert groups is None
        assert (len(np.unique(y_score)) < 12) == (setting.decimals == 1)
    pure, mixed = (draw(setting, rng) for setting in GROUPED)
    for g in np.unique(pure[2]):
        assert len(set(pure[0][pure[2] == g])) == 1
        assert np.count_nonzero(pure[2] == g) == 5
    for g in np.unique(mixed[2]):
        assert np.bincount(mixed[0][mixed[2] == g]).tolist() == [2, 2, 2]


def test_samples_of_a_group_share_half_of_the_variance():
    setting = GROUPED[0]
    y_true, y_score, _ = draw(setting, np.random.default_rng(0), (50_000,) * 3)
    logits = np.log(y_score[:, 1] / y_score[:, 0])[y_true == 2].reshape(-1, 5)
    assert np.corrcoef(logits[:, 0], logits[:, 1])[0, 1] == pytest.approx(0.5, abs=0.03)


def test_two_models_of_the_test_are_correlated_and_the_second_weaker_by_the_change():
    n = 40_000
    y_true = np.repeat(np.arange(TEST.n_classes), n // TEST.n_classes)
    scores = _coverage.draw_models(y_true, CHANGE, np.random.default_rng(0))
    first, second = (np.log(score[:, 1] / score[:, 0]) for score in scores.values())
    inside = y_true == 3  # a class that raises neither of the two columns
    assert np.corrcoef(first[inside], second[inside])[0, 1] == pytest.approx(CORRELATION, abs=0.02)
    rises = [np.mean(x[y_true == 1]) - np.mean(x[inside]) for x in (first, second)]
    assert rises[1] - rises[0] == pytest.approx(CHANGE, abs=0.04)


def test_verdicts():
    hits = np.zeros(2000)
    hits[:1838] = 1  # 91.9 %, with an upper end of 93.3 %
    assert _page.verdict(hits, (0.93, 0.97)).endswith(": met")
    hits[1820:] = 0
    assert _page.verdict(hits, (0.93, 0.97)).endswith("NOT met")
    assert _page.verdict(hits, (0.9, 0.92), exactly=True).endswith(": met")
    low, high = _page.wilson(hits)
    assert low < 0.91 < high
    assert high - low == pytest.approx(2 * 2.576 * np.sqrt(0.91 * 0.09 / 2000), rel=0.02)


def test_results_are_written_between_the_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{_page.BEGIN}\nold\n{_page.END}\nafter\n", encoding="utf-8")
    _page.write(page, "new")
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "new" in text
    assert "old" not in text


def test_the_committed_page_is_of_a_full_run():
    text = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
    assert "2,000 replications of 399 resamples each" in text
    for setting in COVERAGE + HARD + GROUPED:
        assert f"| {setting.name} |" in text
    assert f"{_coverage.N_TRUTH:,} samples" in text
