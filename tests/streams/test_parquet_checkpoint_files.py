"""A checkpoint belongs to the files that it counted, and takes no more memory than its run can need."""

import io
import json
import os
import resource
import zipfile

import numpy as np
import pytest
from parquet_files import predictions, table_of, write

import polyroc

PLAIN = {"compression": "none", "write_statistics": False, "use_dictionary": False}


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "a", table_of(*predictions()), rows=400, **PLAIN)


@pytest.fixture
def asked(tmp_path):
    return {"target": "y", "labels": range(4), "checkpoint": tmp_path / "state.npz"}


def test_other_data_under_the_same_footer_are_other_files(folder, asked):
    file = folder / "0.parquet"
    before, content = file.stat(), file.read_bytes()
    polyroc.evaluate_parquet(folder, **asked)
    write(folder, table_of(*predictions(seed=1)), rows=400, **PLAIN)
    footer = int.from_bytes(content[-8:-4], "little") + 8
    assert file.read_bytes()[-footer:] == content[-footer:]
    with pytest.raises(polyroc.InputError, match=r"one of an earlier '0.parquet': it has another time of modification"):
        polyroc.evaluate_parquet(folder, **asked)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(polyroc.InputError, match=r"it has other contents now"):
        polyroc.evaluate_parquet(folder, **asked)
    file.write_bytes(content)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    polyroc.evaluate_parquet(folder, **asked)


def test_a_file_that_was_written_again_is_another_one(folder, asked):
    polyroc.evaluate_parquet(folder, **asked)
    os.utime(folder / "0.parquet", ns=(0, 0))
    with pytest.raises(polyroc.InputError, match="another time of modification"):
        polyroc.evaluate_parquet(folder, **asked)


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def with_member(path, name, content):
    """Put another member into a checkpoint, or in place of one."""
    with zipfile.ZipFile(path) as stored:
        members = {info.filename: stored.read(info) for info in stored.infolist()} | {name: content}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as stored:
        for member, data in members.items():
            stored.writestr(member, data)


@pytest.mark.parametrize("name", ["counts/0/rows", "second/fourths", "more"])
def test_a_small_file_that_unpacks_to_a_large_one_is_not_unpacked(folder, asked, name):
    polyroc.evaluate_parquet(folder, **asked)
    with_member(asked["checkpoint"], f"{name}.npy", npy(np.zeros((2**24, 4), dtype=np.int64)))
    assert asked["checkpoint"].stat().st_size < 2**20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(polyroc.InputError, match=r"`checkpoint` must unpack to at most the [\d,]+ bytes that this run"):
        polyroc.evaluate_parquet(folder, **asked)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**17  # KiB


def test_a_header_that_claims_more_than_there_is_takes_no_memory(folder, asked):
    polyroc.evaluate_parquet(folder, **asked)
    claimed = npy(np.zeros(3, dtype=np.int64)).replace(b"(3,)", b"(2000000000000,)")
    with_member(asked["checkpoint"], "more.npy", claimed.replace(b" " * 12, b"", 1))
    with pytest.raises(polyroc.InputError, match="`checkpoint` must be a whole npz file of arrays"):
        polyroc.evaluate_parquet(folder, **asked)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "must have a header that can be read"),
        (json.dumps("x" * 2**27), "must unpack to at most the"),
    ],
    ids=["deep", "long"],
)
def test_a_header_of_any_kind_is_refused(folder, asked, text, message):
    polyroc.evaluate_parquet(folder, **asked)
    with_member(asked["checkpoint"], "header.npy", npy(np.frombuffer(text.encode(), dtype=np.uint8)))
    with pytest.raises(polyroc.InputError, match=f"`checkpoint` {message}"):
        polyroc.evaluate_parquet(folder, **asked)


@pytest.mark.parametrize("files", [3, [3], [["0.parquet"]], [["0.parquet", 1, 2]], {"a": 1}])
def test_files_that_are_none_are_refused(folder, asked, files):
    polyroc.evaluate_parquet(folder, **asked)
    header = json.loads(bytes(np.load(asked["checkpoint"])["header"]))
    text = json.dumps({**header, "files": files}).encode()
    with_member(asked["checkpoint"], "header.npy", npy(np.frombuffer(text, dtype=np.uint8)))
    with pytest.raises(polyroc.InputError, match="same `files` as this call"):
        polyroc.evaluate_parquet(folder, **asked)


@pytest.mark.parametrize("options", [{"exact": True}, {"n_thresholds": 999, "exact": True}, {"sample_weight": "w"}])
def test_what_a_run_stores_is_within_its_own_limit(tmp_path, options):
    # Each score has a bin of its own, and there are as many rows as can be in so few.
    y, scores = predictions(n=60, dtype=np.float64)
    write(tmp_path / "a", table_of(y, scores, w=np.linspace(1, 2, 60)), rows=1)
    asked = {"target": "y", "scores": "p_*", "checkpoint": tmp_path / "state.npz", **options}
    first = polyroc.evaluate_parquet(tmp_path / "a", **asked)
    assert polyroc.evaluate_parquet(tmp_path / "a", **asked).auc == first.auc
