"""What is written never replaces an input, nor a file of another kind unless `--force` says so."""

import os
import shlex
import sys
from pathlib import Path

import pytest
from cli_files import animal_table
from pyarrow import csv as arrow_csv

import polyroc
from polyroc.cli import main

posix = pytest.mark.skipif(sys.platform == "win32", reason="links as POSIX has them")
OTHERS = {
    "--out": ("other.csv", b"label,p_cat\ncat,1\n", "is not a table that --out wrote"),
    "--report": ("other.html", b"<!doctype html>\n<title>mine</title>\n", "is not a report of polyroc"),
    "--plot": ("other.png", b"label,p_cat\ncat,1\n", "is not a PNG picture"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("a.csv", "b.csv")):
        arrow_csv.write_csv(animal_table(seed=seed), name)
    for name, content, _ in OTHERS.values():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "costs.csv").write_text("cat,dog,owl\n1,5,2\n3,1,4\n6,7,1\n")
    return tmp_path


def call_of(option):
    files = "evaluate a.csv" if option == "--plot" else "compare a.csv b.csv"
    return shlex.split(f"{files} --target label --method bootstrap --resamples 9 --quiet")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def no_work(monkeypatch):
    def no(*_, **__):
        pytest.fail("worked for nothing")

    for name in ("evaluate", "compare"):
        monkeypatch.setattr(polyroc, name, no)


def refused(call, folder, capsys):
    """The one line that refuses, with every file as it was."""
    before = contents(folder)
    assert main(call) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert contents(folder) == before
    return err


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize("spelling", ["a.csv", "./b.csv", "../{name}/a.csv", "{folder}/a.csv"])
def test_the_table_does_not_replace_an_input(spelling, force, folder, no_work, capsys):
    path = spelling.format(name=folder.name, folder=folder)
    message = refused([*call_of("--out"), "--out", path, *force], folder, capsys)
    assert "is an input of this command: name another file" in message


@posix
@pytest.mark.parametrize("option", OTHERS)
@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_nor_does_anything_by_a_link(link, option, folder, no_work, capsys):
    suffix = Path(OTHERS[option][0]).suffix
    link("a.csv", f"link{suffix}")
    message = refused([*call_of(option), option, f"link{suffix}", "--force"], folder, capsys)
    assert f"{option}: 'link{suffix}' is an input" in message


def test_nor_the_file_of_costs_nor_the_standard_input(folder, no_work, capsys, monkeypatch):
    call = [*call_of("--out"), "--costs", "costs.csv", "--out", "costs.csv"]
    assert "'costs.csv' is an input" in refused(call, folder, capsys)
    with (folder / "b.csv").open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        call = shlex.split("compare a.csv - --target label --out b.csv --force")
        assert "'b.csv' is an input" in refused(call, folder, capsys)


@pytest.mark.parametrize("option", OTHERS)
def test_a_file_of_another_kind_is_replaced_only_by_force(option, folder, capsys):
    name, before, message = OTHERS[option]
    call = [*call_of(option), option, name]
    said = refused(call, folder, capsys)
    assert f"{option}: '{name}' is there already and {message}: name another file, or add `--force`" in said
    assert main([*call, "--force"]) == 0, capsys.readouterr().err
    after = (folder / name).read_bytes()
    assert after != before
    # From now on it is of the kind.
    assert main([*call, "--seed", "1"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("name", ["new.png", "new.svg", "new.pdf"])
def test_pictures_are_replaced_by_pictures_of_the_same_format(name, folder, capsys):
    call = [*call_of("--plot"), "--plot", name]
    (folder / name).write_bytes(b"")
    for _ in range(2):  # an empty file, then a picture
        assert main(call) == 0, capsys.readouterr().err
    other = "other.pdf" if name != "new.pdf" else "other.svg"
    (folder / other).write_bytes((folder / name).read_bytes())
    capsys.readouterr()
    kind = other[-3:].upper()
    assert f"is not a {kind} picture" in refused([*call[:-1], other], folder, capsys)


def test_the_work_is_not_begun(folder, no_work, capsys):
    for option, (name, _, message) in OTHERS.items():
        assert message in refused([*call_of(option), option, name], folder, capsys)
    assert "is not a report of polyroc" in refused(["demo", "--report", "other.html"], folder, capsys)


@pytest.mark.parametrize("name", ["differences.txt", "differences", "differences.csv.bak"])
def test_the_table_has_a_suffix_rule(name, folder, no_work, capsys):
    message = refused([*call_of("--out"), "--out", name], folder, capsys)
    assert f"--out must end in .csv, got '{name}'" in message


def test_a_file_that_cannot_be_looked_at_is_left_alone(folder, no_work, capsys, monkeypatch):
    def secret(self, *_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", secret)
    call = [*call_of("--out"), "--out", "other.csv"]
    assert main(call) == 2
    assert "is not a table that --out wrote" in capsys.readouterr().err
