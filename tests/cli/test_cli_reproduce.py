"""polyroc reproduce: what it says, what it writes, and what bad input gets."""

import sys

import pytest

from experiments import EXPERIMENTS, Claim, Outcome, Table
from polyroc.cli import main


@pytest.fixture
def small(monkeypatch):
    """Experiments that cost nothing."""
    asked = []

    def reproduce(name, **options):
        asked.append((name, options))
        claims = (
            Claim("it rises", "by 1", holds=True, judged_by="eye"),
            Claim("it falls", "by -1", holds=False, judged_by="eye"),
        )
        return Outcome(name, f"About {name}", (Table("t", ("a",), ((0.5,),)),), claims, ("iris: left out, no file",))

    monkeypatch.setattr("polyroc.cli._reproduce.reproduce", reproduce)
    monkeypatch.setattr("experiments._write.draw", lambda outcome: {})
    return asked


def test_all_runs_every_experiment_and_collects_the_claims(small, tmp_path, capsys):
    assert main(["reproduce", "all", "--out", str(tmp_path / "new" / "folder"), "--quick", "--seed", "3"]) == 0
    assert [name for name, _ in small] == list(EXPERIMENTS)
    assert all(options["seed"] == 3 and options["quick"] for _, options in small)
    out = capsys.readouterr().out
    assert f"{len(EXPERIMENTS)} of {2 * len(EXPERIMENTS)} claims hold" in out
    assert "holds  it rises" in out
    assert "NOT    it falls" in out
    assert "iris: left out, no file" in out
    page = (tmp_path / "new" / "folder" / "claims.md").read_text()
    assert all(f"`polyroc reproduce {name}`" in page for name in EXPERIMENTS)
    assert (tmp_path / "new" / "folder" / "costs" / "t.csv").read_text() == "a\n0.5\n"


def test_one_experiment_leaves_the_claims_of_all_alone(small, tmp_path):
    (tmp_path / "claims.md").write_text("of all")
    assert main(["reproduce", "costs", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "claims.md").read_text() == "of all"
    assert "it rises" in (tmp_path / "costs" / "claims.md").read_text()


def test_nothing_is_run_that_could_not_be_drawn(small, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["reproduce", "all", "--out", str(tmp_path)]) == 2
    assert 'Figures need matplotlib: pip install "polyroc[plot]"' in capsys.readouterr().err
    assert small == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["figures", "--out", "o"], "NAME must be 'all' or one of 'discrimination'"),
        (["costs", "--out", "file"], "--out must be a folder that can be written, got 'file'"),
        (["costs", "--out", "o", "--seed", "-1"], "--seed must be a non-negative integer, got -1"),
        (["all", "--out", "o", "--data", "nowhere"], "--data must be a folder, got 'nowhere'"),
        (["costs"], "Missing option '--out'"),
    ],
)
def test_bad_input_is_named_in_one_line(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    assert main(["reproduce", *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.slow
def test_the_example_of_the_help_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "costs", "--out", "reproduction", "--quick"]) == 0
    assert "6 of 6 claims hold" in capsys.readouterr().out
    assert (tmp_path / "reproduction" / "costs" / "curves.png").is_file()
