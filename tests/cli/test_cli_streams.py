"""Pipes are read once and whole; standard streams that are closed or full are called what they are."""

import json
import os
import shlex
import subprocess
import sys
import threading

import pytest
from cli_files import animal_table
from numpy.testing import assert_array_equal
from pyarrow import parquet
from test_cli_files import FORMATS, NAMES, ndjson_bytes

import polyroc
from polyroc.cli import main
from polyroc.cli._files import open_source
from polyroc.cli._messages import CommandError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes and devices as POSIX has them")
PROGRAM = f"{shlex.quote(sys.executable)} -m polyroc"
TABLE = animal_table(n_samples=4096)
LONG = ndjson_bytes(TABLE)
EXPECTED = polyroc.auc_score(TABLE["label"].to_pylist(), TABLE.select([1, 2, 3]).to_pandas().to_numpy())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "long.ndjson").write_bytes(LONG)
    parquet.write_table(animal_table(), "a.parquet")
    return tmp_path


def shell(command):
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=300, check=False)
    assert done.stderr.count("\n") <= 1, done.stderr
    return done


def fed(path, content):
    """Somebody who writes into a pipe, once."""
    writer = threading.Thread(target=lambda: path.write_bytes(content), daemon=True)
    writer.start()
    return writer


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        f"{PROGRAM} evaluate <(cat long.ndjson) OPTIONS",
        f"cat long.ndjson | {PROGRAM} evaluate /dev/stdin OPTIONS",
        f"cat long.ndjson | {PROGRAM} evaluate - OPTIONS",
        f"{PROGRAM} evaluate /dev/stdin OPTIONS < long.ndjson",
    ],
)
def test_a_pipe_loses_no_row(command, folder):
    assert len(LONG) > 3 * 65_536
    done = shell(command.replace("OPTIONS", "--target label --method none --json"))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["n_samples"] == 4096
    assert found["auc"] == EXPECTED


@pytest.mark.threads
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_read_from_a_named_pipe(name, tmp_path):
    path = tmp_path / name
    os.mkfifo(path)
    writer = fed(path, FORMATS[name])
    source = open_source(str(path))
    writer.join(120)
    assert not writer.is_alive()
    assert_array_equal(source.matrix(NAMES), open_copy(tmp_path, name).matrix(NAMES))
    assert source.n_rows == 60


def open_copy(folder, name):
    (folder / "copy").mkdir()
    (folder / "copy" / name).write_bytes(FORMATS[name])
    return open_source(str(folder / "copy" / name))


def test_two_pipes_are_compared_and_costs_come_from_a_third(folder):
    (folder / "costs.csv").write_text("cat,dog,owl\n1,5,2\n3,1,4\n6,7,1\n")
    files = "<(cat a.parquet) <(cat a.parquet) --costs <(cat costs.csv)"
    done = shell(f"{PROGRAM} compare {files} --target label --method bootstrap --resamples 9 --json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["auc"]["differences"][0]["value"] == 0


def test_a_stream_of_two_names_is_refused(folder):
    done = shell(f"cat a.parquet | {PROGRAM} compare - /dev/stdin --target label --method bootstrap --resamples 9")
    assert done.returncode == 2
    assert "can be read only once" in done.stderr


@pytest.mark.parametrize("files", ["/dev/stdin /dev/stdin", "a.parquet - --costs -", "- -"])
def test_a_stream_that_is_named_twice_is_refused(files, folder, capsys):
    # Before anything is read, so that there need not be anything to read.
    assert main(["compare", *files.split(), "--target", "label", "--method", "bootstrap", "--resamples", "9"]) == 2
    assert "can be read only once" in capsys.readouterr().err


def test_devices_and_a_closed_standard_input_are_refused(monkeypatch):
    with pytest.raises(CommandError, match="is a device: name a file or a pipe"):
        open_source("/dev/zero")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(CommandError, match="is closed: pipe a file into it"):
        open_source("-")


CALLS = [
    "evaluate a.parquet --target label --method none --json",
    "evaluate a.parquet --target label --method bootstrap --resamples 9",
]
CALLS += ["--help", "--version", pytest.param("demo --method bootstrap --resamples 9", marks=pytest.mark.slow)]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
def test_a_full_disk_behind_the_standard_output_is_said(call, folder):
    done = shell(f"{PROGRAM} {call} > /dev/full")
    assert done.returncode == 2
    assert done.stderr == "polyroc: error: output cannot be written: No space left on device\n"


@pytest.mark.parametrize("call", [CALLS[0], "--version"])
def test_a_closed_standard_output_is_said_before_the_work(call, folder):
    done = shell(f"{PROGRAM} {call} --quiet >&-" if "--" not in call[:2] else f"{PROGRAM} {call} >&-")
    assert done.returncode == 2
    assert done.stderr == "polyroc: error: standard output is closed: send it to a file, a pipe or a terminal\n"


@pytest.mark.parametrize("call", CALLS)
def test_a_reader_that_has_gone_ends_it_with_141(call, folder):
    # The reader ends first: what is written into its pipe breaks.
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "polyroc", *shlex.split(call)]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.slow
@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"])
def test_a_standard_error_that_cannot_be_written_changes_nothing(where, folder):
    if shell(f"{shlex.quote(sys.executable)} -c 'import scipy.special' {where}").returncode != 0:
        pytest.skip("SciPy itself cannot be imported so; that of 2024 could not")
    call = "evaluate long.ndjson --target label --json"
    done = shell(f"{PROGRAM} {call} {where}")
    assert done.returncode == 0
    assert json.loads(done.stdout)["auc"] == EXPECTED
    assert shell(f"{PROGRAM} evaluate nowhere.csv --target label {where}").returncode == 2


def too_large():
    """As on a full disk: no file may grow beyond 4 KiB."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--report page.html", "--plot curve.svg"])
def test_a_file_that_does_not_fit_leaves_nothing_behind(option, folder):
    call = shlex.split(f"evaluate a.parquet --target label --method none {option}")
    before = sorted(path.name for path in folder.iterdir())
    # Not the cache of compiled code, which would not fit either.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "polyroc", *call, "--engine", "numpy"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=environment,
        preexec_fn=too_large,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"{option.split()[1]}' cannot be written: File too large\n" in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == before


def test_what_the_system_refuses_is_no_bug_of_polyroc(folder, monkeypatch, capsys):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(polyroc, "evaluate", full)
    assert main(["evaluate", "a.parquet", "--target", "label"]) == 2
    err = capsys.readouterr().err
    assert err == "polyroc: error: output cannot be written: No space left on device\n"
