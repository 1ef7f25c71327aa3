"""Files are written whole or not at all."""

import errno
import os
import shlex
import stat
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from cli_files import animal_table
from pyarrow import parquet

from polyroc.cli import main
from polyroc.cli._messages import CommandError
from polyroc.cli._outputs import csv_of, write_whole

posix = pytest.mark.skipif(sys.platform == "win32", reason="as POSIX has it")


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "a.csv"
    write_whole(path, b"first")
    write_whole(path, b"second")
    assert path.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("step", ["replace", "fsync"])
def test_nothing_is_left_behind_when_writing_fails(step, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "a.csv"
    path.write_bytes(b"before")
    monkeypatch.setattr(os, step, full)
    with pytest.raises(CommandError, match="cannot be written: No space left on device"):
        write_whole(path, b"after")
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_is_left_behind_after_an_interrupt(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "a.csv", b"after")
    assert list(tmp_path.iterdir()) == []


@posix
def test_permissions_are_those_of_other_files_or_of_the_file_before(tmp_path):
    (tmp_path / "other").write_bytes(b"")
    write_whole(tmp_path / "new", b"")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == stat.S_IMODE((tmp_path / "other").stat().st_mode)
    (tmp_path / "new").chmod(0o640)
    write_whole(tmp_path / "new", b"x")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


@posix
def test_links_stay_links_and_devices_stay_devices(tmp_path):
    (tmp_path / "file").write_bytes(b"before")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_whole(tmp_path / "link", b"after")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"after"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CommandError, match="no regular file"):
        write_whole(tmp_path / "pipe", b"x")
    assert (tmp_path / "pipe").is_fifo()


def test_a_folder_that_may_not_be_written_to(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(CommandError, match="permission denied"):
        write_whole(tmp_path / "a.csv", b"")


def test_cells_that_begin_like_formulas_are_quoted():
    rows = [["=1+1", -1.5], ["+a", "-b"], ["@c", "\td"], ["\re", "f=g"], ["é,ü", "two\nlines"]]
    expected = ["x,y", "'=1+1,-1.5", "'+a,'-b", "'@c,'\td", '"\'\re",f=g', '"é,ü","two\nlines"', ""]
    assert csv_of(["x", "y"], rows).decode("utf-8") == "\r\n".join(expected)


MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs matplotlib")
@pytest.mark.parametrize("kind", MAGIC)
@pytest.mark.parametrize("method", ["none", "auto"])
def test_plots_are_what_their_suffix_says(kind, method, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    parquet.write_table(animal_table("p ", ("$a^$", "<b>", "c")), "a.parquet")
    call = ["evaluate", "a.parquet", "--target", "label", "--method", method, "--plot", f"curve.{kind}"]
    assert main(call) == 0, capsys.readouterr().err
    assert Path(f"curve.{kind}").read_bytes().startswith(MAGIC[kind])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet", f"curve.{kind}"]
    assert "--plot" not in capsys.readouterr().out


def test_a_table_that_cannot_be_written_ends_with_2_and_no_output(tmp_path, monkeypatch, capsys):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.chdir(tmp_path)
    parquet.write_table(animal_table(), "a.parquet")
    parquet.write_table(animal_table(seed=1), "b.parquet")
    monkeypatch.setattr(os, "replace", full)
    assert (
        main(
            shlex.split(
                "compare a.parquet b.parquet --target label --method bootstrap --resamples 9 --out c.csv --json"
            )
        )
        == 2
    )
    out, err = capsys.readouterr()
    assert out == ""
    assert "No space left on device" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet", "b.parquet"]
