"""What a killed process leaves behind, and who removes it."""

import os
import subprocess
import sys

import pytest

from polyroc._lib.files import _file_beside, write_whole

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no locks there, so nothing is removed")
KILLED = """
import os, signal, sys
from pathlib import Path
from polyroc._lib.files import write_whole
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
write_whole(Path(sys.argv[1]), b"half")
"""


def test_what_a_killed_process_left_is_removed_by_the_next_run(tmp_path):
    path = tmp_path / "state.npz"
    write_whole(path, b"before")
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)])
    assert done.returncode == -9
    assert path.read_bytes() == b"before"
    assert len(list(tmp_path.glob(".polyroc-*.tmp"))) == 1
    write_whole(path, b"after")
    assert path.read_bytes() == b"after"
    assert list(tmp_path.iterdir()) == [path]


def test_what_another_process_is_writing_stays(tmp_path):
    with _file_beside(tmp_path / "a") as beside:
        write_whole(tmp_path / "b", b"b")
        assert beside.exists()
        beside.replace(tmp_path / "a")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_files_of_others_stay(tmp_path):
    (tmp_path / ".polyroc-mine.tmp").write_bytes(b"")
    (tmp_path / f".polyroc-{'0' * 16}.tmp").symlink_to(tmp_path / ".polyroc-mine.tmp")
    os.mkfifo(tmp_path / f".polyroc-{'1' * 16}.tmp")
    before = set(tmp_path.iterdir())
    write_whole(tmp_path / "a", b"a")
    assert set(tmp_path.iterdir()) == before | {tmp_path / "a"}


def test_a_file_that_is_removed_before_it_is_locked_is_made_anew(tmp_path, monkeypatch):
    import fcntl

    flock, left = fcntl.flock, [0]

    def late(descriptor, how):
        if how == fcntl.LOCK_EX and not left[0]:
            left[0] = 1
            [beside] = tmp_path.iterdir()
            beside.unlink()
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    write_whole(tmp_path / "a", b"a")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
