"""The command line on Parquet files that do not fit in memory, or are said not to."""

import json

import numpy as np
import pyarrow as pa
import pytest
from parquet_files import damage, predictions, table_of, write

import polyroc
from polyroc.cli import _files, main


@pytest.fixture
def folder(tmp_path):
    y, scores = predictions(n=20_000)
    return write(tmp_path / "a", table_of(y, scores), n_files=2, rows=3_000)


@pytest.fixture
def file(tmp_path):
    y, scores = predictions(n=20_000)
    return write(tmp_path / "a", table_of(y, scores), rows=3_000) / "0.parquet"


def test_a_folder_is_streamed(folder, capsys):
    assert main(["evaluate", str(folder), "--target", "y"]) == 0
    out, err = capsys.readouterr()
    found = polyroc.evaluate_parquet(folder, target="y")
    assert f"{found.auc:.4f}" in out
    assert "standard errors by a second pass" in out
    assert "; scores are counted in bins" in err


def test_a_file_that_does_not_fit_is_streamed_by_itself(file, capsys, monkeypatch):
    monkeypatch.setattr(_files, "available", lambda: 100_000)
    assert main(["evaluate", str(file), "--target", "y", "--exact", "--json"]) == 0
    out, err = capsys.readouterr()
    y, scores = predictions(n=20_000)
    summary = json.loads(out)
    exact = polyroc.evaluate(y, scores)
    assert abs(summary["auc"] - exact.auc) < 1e-12
    assert summary["confidence_interval"]["method"] == "influence"
    assert summary["confidence_interval"]["low"] < exact.auc < summary["confidence_interval"]["high"]
    assert "not kept" in summary["notes"][-1]
    assert "would be needed" in err
    assert "--no-stream" in err


def test_a_file_that_fits_is_read(file, capsys):
    assert main(["evaluate", str(file), "--target", "y", "--method", "none", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "streaming" not in err
    assert "not kept" not in out


def test_point_estimates_alone(file, capsys):
    assert main(["evaluate", str(file), "--target", "y", "--stream", "--method", "none"]) == 0
    out = capsys.readouterr().out
    assert "interval" not in out.splitlines()[1]


def test_counted_scores_are_not_resampled(file, capsys):
    assert main(["evaluate", str(file), "--target", "y", "--stream", "--method", "bootstrap"]) == 2
    assert "--method bootstrap needs all rows in memory: leave it out, or add --no-stream" in capsys.readouterr().err


def test_options_that_need_samples_say_so(file, tmp_path, capsys):
    report, plot = tmp_path / "page.html", tmp_path / "curve.png"
    asked = ["--measures", "--max-fpr", "0.1", "--report", str(report), "--include-decisions", "--plot", str(plot)]
    assert main(["evaluate", str(file), "--target", "y", "--stream", *asked]) == 0
    out, err = capsys.readouterr()
    assert "partial area" in out
    for said in ("--measures adds nothing", "partial area has no interval"):
        assert said in err
    assert "--include-decisions adds nothing to this page: scores that were counted are not kept" in err
    page = report.read_text(encoding="utf-8")
    assert "The scores were read in passes and not kept" in page
    assert "influences of the samples" in page
    assert plot.stat().st_size > 1_000


def test_labels_costs_and_weights(tmp_path, capsys):
    y, scores = predictions(n=5_000)
    folder = write(tmp_path / "a", table_of(y, scores, w=np.ones(len(y))))
    costs = tmp_path / "costs.csv"
    costs.write_text("0,1,2,3\n0,2,3,4\n1,0,1,1\n1,1,0,5\n2,2,2,0\n")
    asked = ["--labels", "0,1,2,3", "--sample-weight", "w", "--costs", str(costs), "--scores", "p_*", "--json"]
    assert main(["evaluate", str(folder), "--target", "y", *asked]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["labels"] == [0, 1, 2, 3]
    matrix = np.array([[0, 2, 3, 4], [1, 0, 1, 1], [1, 1, 0, 5], [2, 2, 2, 0]])
    exact = polyroc.evaluate(y, scores, costs=matrix)
    assert abs(summary["auc"] - exact.auc) < 1e-4


def test_compare(tmp_path, capsys):
    y, first = predictions(n=20_000)
    second = np.roll(first, 1, axis=0)
    columns = {f"{m}_{c}": s[:, c] for m, s in (("good", first), ("bad", second)) for c in range(4)}
    folder = write(tmp_path / "a", pa.table({"y": y, **columns}), n_files=2)
    report, out_file = tmp_path / "page.html", tmp_path / "differences.csv"
    asked = ["--models", "good=good_*,bad=bad_*", "--report", str(report), "--out", str(out_file)]
    assert main(["compare", str(folder), "--target", "y", *asked]) == 0
    out = capsys.readouterr().out
    assert "Best by D and by M: good" in out
    assert "The scores were read in passes" in report.read_text(encoding="utf-8")
    assert "good" in out_file.read_text(encoding="utf-8")
    assert main(["compare", str(folder), str(folder), "--target", "y"]) == 2
    assert "must be columns of one file or folder" in capsys.readouterr().err


def test_a_checkpoint_and_a_damaged_part(tmp_path, capsys):
    y, scores = predictions(n=5_000)
    folder = write(tmp_path / "a", table_of(y, scores), write_page_checksum=True)
    state = tmp_path / "state.npz"
    asked = ["evaluate", str(folder), "--target", "y", "--json", "--checkpoint", str(state)]
    assert main(asked) == 0
    whole = json.loads(capsys.readouterr().out)["auc"]
    assert state.exists()
    assert main(asked) == 0
    assert json.loads(capsys.readouterr().out)["auc"] == whole
    damage(folder / "0.parquet", row_group=1, column=2)
    state.unlink()
    assert main(asked) == 2
    assert "Row group 1 of" in (err := capsys.readouterr().err)
    assert "--partial leaves out" in err
    assert main([*asked, "--partial"]) == 0
    assert json.loads(capsys.readouterr().out)["n_samples"] == 4_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--no-stream", "--exact"], "--exact is for streamed files"),
        (["--stream", "--model-column", "m"], "--model-column needs all rows in memory"),
        (["--stream", "--scores", "q"], "--scores must name columns of every file"),
        (["--stream", "--exact", "--thresholds", "shared"], "--thresholds must be 'own' with --exact"),
    ],
)
def test_what_does_not_go_together(file, capsys, arguments, message):
    assert main(["evaluate", str(file), "--target", "y", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_only_parquet_can_be_passed_over(tmp_path, capsys):
    table = tmp_path / "a.csv"
    table.write_text("y,0,1\n0,0.2,0.8\n1,0.3,0.7\n")
    assert main(["evaluate", str(table), "--target", "y", "--stream"]) == 2
    assert "--stream takes Parquet files" in capsys.readouterr().err
