"""Reading tables: every format gives the same table, and what cannot be read says why in one line."""

import io
import json
import os
import pickle
import sys
import warnings
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from cli_files import CLASSES, animal_table, animals
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from pyarrow import feather, parquet

from polyroc.cli import main
from polyroc.cli._files import open_source
from polyroc.cli._formats import depth_of
from polyroc.cli._messages import CommandError

TABLE = animal_table()
NAMES = [f"p_{name}" for name in CLASSES]


def csv_bytes(table, delimiter=",", newline="\n", bom=b""):
    lines = [table.column_names, *zip(*[map(repr_of, column.to_pylist()) for column in table.columns], strict=True)]
    return bom + "".join(delimiter.join(line) + newline for line in lines).encode()


def repr_of(value):
    return value if isinstance(value, str) else repr(value)


def npz_bytes(table):
    file = io.BytesIO()
    y_true, scores = animals()
    np.savez(file, label=np.array(y_true), p=scores, labels=np.array(CLASSES))
    return file.getvalue()


def arrow_bytes(table, *, stream):
    sink = pa.BufferOutputStream()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def parquet_bytes(table):
    file = io.BytesIO()
    parquet.write_table(table, file, row_group_size=7)
    return file.getvalue()


def feather_bytes(table):
    file = io.BytesIO()
    feather.write_feather(table, file)
    return file.getvalue()


def ndjson_bytes(table):
    return "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()


FORMATS = {
    "a.csv": csv_bytes(TABLE),
    "crlf.csv": csv_bytes(TABLE, newline="\r\n"),
    "bom.csv": csv_bytes(TABLE, bom=b"\xef\xbb\xbf"),
    "semicolon.csv": csv_bytes(TABLE, delimiter=";"),
    "a.tsv": csv_bytes(TABLE, delimiter="\t"),
    "a.txt": csv_bytes(TABLE, delimiter="\t"),
    "a.parquet": parquet_bytes(TABLE),
    "A.PARQUET": parquet_bytes(TABLE),
    "a.arrow": arrow_bytes(TABLE, stream=False),
    "a.arrows": arrow_bytes(TABLE, stream=True),
    "a.feather": feather_bytes(TABLE),
    "a.ndjson": ndjson_bytes(TABLE),
    "bom.jsonl": b"\xef\xbb\xbf" + ndjson_bytes(TABLE),
    "a.npz": npz_bytes(TABLE),
    "without_suffix": parquet_bytes(TABLE),
}


class Piped(io.TextIOWrapper):
    def __init__(self, content):
        super().__init__(io.BytesIO(content))


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_table(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(FORMATS[name])
    source = open_source(str(path))
    assert source.n_rows == TABLE.num_rows
    assert source.names == TABLE.column_names
    assert source.column("label").to_pylist() == TABLE["label"].to_pylist()
    assert_array_equal(source.matrix(NAMES[::-1]), animals()[1][:, ::-1])


@pytest.mark.parametrize("name", FORMATS)
def test_the_standard_input_is_known_by_its_content(name, monkeypatch):
    monkeypatch.setattr(sys, "stdin", Piped(FORMATS[name]))
    assert_array_equal(open_source("-").matrix(NAMES), animals()[1])


def test_single_precision_stays_and_integers_become_double(tmp_path):
    parquet.write_table(pa.table({"a": pa.array([1, 2], pa.float32()), "b": [3, None]}), tmp_path / "a.parquet")
    source = open_source(str(tmp_path / "a.parquet"))
    assert source.matrix(["a"]).dtype == np.float32
    assert_array_equal(source.matrix(["a", "b"]), [[1, 3], [2, np.nan]])
    assert source.matrix(["a", "b"]).dtype == np.float64


def test_parquet_is_read_by_pieces_and_only_the_columns_asked_for(tmp_path):
    n = 200_000
    scores = np.random.default_rng(0).random((n, 5))
    columns = {f"p_{j}": scores[:, j] for j in range(5)} | {"text": [f"{i:0200d}" for i in range(n)]}
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    before, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(pool)
    try:
        matrix = open_source(str(tmp_path / "a.parquet")).matrix([f"p_{j}" for j in range(5)])
        most = pool.max_memory()
    finally:
        pa.set_memory_pool(before)
    assert_array_equal(matrix, scores)
    assert 0 < most < scores.nbytes


def test_a_column_whose_type_shows_late_is_read(tmp_path):
    # Longer than the block that types are guessed from.
    rows = ["0"] * 700_000 + ["0.25"]
    (tmp_path / "late.csv").write_text("a,b\n" + "".join(f"{x},1\n" for x in rows))
    assert open_source(str(tmp_path / "late.csv")).matrix(["a"])[-1, 0] == 0.25


def test_decimal_commas_between_semicolons(tmp_path):
    (tmp_path / "a.csv").write_text("label;a;b\nx;0,5;-1,25\ny;1;2,5\n")
    assert_array_equal(open_source(str(tmp_path / "a.csv")).matrix(["a", "b"]), [[0.5, -1.25], [1, 2.5]])


def test_matrices_of_npz_without_labels_are_numbered(tmp_path):
    np.savez(tmp_path / "a.npz", y=np.arange(4) % 2, p=np.arange(8.0).reshape(4, 2))
    assert open_source(str(tmp_path / "a.npz")).names == ["y", "p_0", "p_1"]


def object_npz():
    file = io.BytesIO()
    np.savez(file, label=np.array(["a", None], dtype=object))
    return file.getvalue()


def uneven_npz():
    file = io.BytesIO()
    np.savez(file, label=np.arange(3), other=np.arange(4))
    return file.getvalue()


def npy_bytes(array=None):
    file = io.BytesIO()
    np.save(file, np.arange(3) if array is None else array)
    return file.getvalue()


def npz_of(*twice, **arrays):
    """An archive of these arrays; bytes are a member as they are, and `twice` are names that occur once more."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of zipfile, about names that it has already
        for name in (*arrays, *twice):
            content = arrays[name] if isinstance(arrays[name], bytes) else npy_bytes(arrays[name])
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


SIX, WIDE = np.arange(6) % 2, np.arange(12.0).reshape(6, 2)


def nested(depth, begin=b'{"a": ', end=b"}"):
    return depth * begin + b"1" + depth * end


def spoilt(content):
    """The same with other bytes in its middle, where the data are."""
    return content[:300] + bytes(300) + content[600:]


REFUSED = {
    "empty.csv": (b"", "is empty"),
    "blank.csv": (b"\xef\xbb\xbf\r\n\r\n", "is empty"),
    "header.csv": (b"label,p_a,p_b\n", "has no rows"),
    "csv.parquet": (csv_bytes(TABLE), "is not Parquet, as its suffix .parquet says: it looks like CSV"),
    "parquet.csv": (parquet_bytes(TABLE), "is not CSV or TSV, as its suffix .csv says: it looks like Parquet"),
    "csv.ndjson": (csv_bytes(TABLE), "is not NDJSON"),
    "csv.npz": (csv_bytes(TABLE), "is not npz"),
    "half.parquet": (parquet_bytes(TABLE)[:200], "cannot be read"),
    "half.arrow": (arrow_bytes(TABLE, stream=False)[:200], "cannot be read"),
    "spoilt.parquet": (spoilt(parquet_bytes(TABLE)), "cannot be read"),
    "spoilt.npz": (spoilt(npz_bytes(TABLE)), "cannot be read"),
    "half.npz": (npz_bytes(TABLE)[:200], "cannot be read"),
    "ragged.csv": (b"a,b\n1,2\n1,2,3\n", "cannot be read"),
    "broken.ndjson": (b'{"a": 1}\n{"a": \n', "cannot be read"),
    "a.pkl": (pickle.dumps([1]), "is a pickle"),
    "old.pickle": (pickle.dumps([1], protocol=0), "is a pickle"),
    "hidden.txt": (pickle.dumps([1]), "is a pickle"),
    "objects.npz": (object_npz(), "holds Python objects (a pickle)"),
    "uneven.npz": (uneven_npz(), "arrays of the same length, got label (3), other (4)"),
    "a.npy": (npy_bytes(), "numpy.savez"),
    "array.json": (b'[{"a": 1}]', "is a JSON array: write one object per line"),
    "utf16.csv": ("a,b\n1,2\n".encode("utf-16"), "is UTF-16 text"),
    "latin1.csv": ("label,a\n\xe9,1\n".encode("latin-1"), "is not UTF-8 text"),
    "latin1_header.csv": ("label,\xe9\na,1\n".encode("latin-1"), "is not UTF-8 text"),
    "page.csv": (b"<!DOCTYPE html>\n<html></html>\n", "is a web page"),
    "a.csv.gz": (b"\x1f\x8b\x08abc", "is compressed by gzip"),
    "binary": (b"\x00\x01\x02", "is not in a format that is read"),
    "collide.npz": (
        npz_of(label=SIX, p=WIDE, p_0=np.ones(6)),
        "has arrays that give columns of the same name: 'p' and 'p_0' both give 'p_0'; rename one",
    ),
    "collide_other_order.npz": (npz_of(label=SIX, p_1=np.ones(6), p=WIDE), "'p_1' and 'p' both give 'p_1'"),
    "collide_matrices.npz": (npz_of(label=SIX, p=np.ones((6, 11)), p_1=WIDE, p_1_0=SIX), "both give 'p_1_0'"),
    "labels.npz": (
        npz_of(label=SIX, p=WIDE, labels=np.array(["a", "a"])),
        "has array 'labels' with 'a' more than once: each column of a matrix needs its own label",
    ),
    "members.npz": (npz_of("label", label=SIX, p=WIDE), "has more than one array of the same name: 'label'"),
    "junk.npz": (npz_of(label=SIX, p=WIDE, notes=b"some text"), "has members that are not arrays: 'notes'"),
    "cut.npz": (npz_of(label=SIX, p=npy_bytes(WIDE)[:150]), "cannot be read"),
    "lies.npz": (npz_of(label=SIX, p=b"\x93NUMPY\x09\x09abc"), "cannot be read"),
    "records.npz": (npz_of(label=np.zeros(6, dtype=[("a", int), ("b", float)]), p=WIDE), "cannot be read"),
    "complex.npz": (npz_of(label=SIX, p=WIDE * 1j), "cannot be read"),
    "pickled.npz": (npz_of(label=SIX, p=pickle.dumps([1])), "has members that are not arrays: 'p'"),
    "deep.ndjson": (nested(20_000), "is nested more than 100 levels deep: write each row as one flat object"),
    "deep_list.ndjson": (b'{"a": ' + nested(20_000, b"[", b"]") + b"}\n", "is nested more than 100 levels deep"),
    "deep_open.ndjson": (b'{"a": 1}\n' + 20_000 * b'{"a":\n', "is nested more than 100 levels deep"),
    "deep_late.ndjson": (b'{"a": "\n' + 30_000 * b"]" + b"\n" + nested(20_000), "is nested more than 100 levels deep"),
    "twice.csv": (b"a,b,a\n1,2,3\n", "columns of the same name: 'a'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_in_one_line(name, tmp_path, capsys):
    content, reason = REFUSED[name]
    (tmp_path / name).write_bytes(content)
    assert main(["evaluate", str(tmp_path / name), "--target", "label"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("polyroc: error: '")
    assert err.count("\n") == 1
    assert name in err
    assert reason in err


def test_brackets_inside_strings_are_no_levels(tmp_path):
    rows = [{"a": 200 * "[", "b": 1}, {"a": 200 * '"[' + "\\", "b": 2}, {"a": "]" + 200 * '{"', "b": 3}]
    (tmp_path / "a.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = open_source(str(tmp_path / "a.ndjson"))
    assert source.column("a").to_pylist() == [row["a"] for row in rows]
    (tmp_path / "b.ndjson").write_bytes(b'{"b": 1, "a": ' + nested(98) + b"}\n")
    assert_array_equal(open_source(str(tmp_path / "b.ndjson")).matrix(["b"]), [[1]])


def deepest_by_loops(text):
    depth = deepest = 0
    inside = escaped = False
    for char in text:
        if inside:
            inside = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            inside, escaped = True, False
        elif char in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in "]}":
            depth -= 1
    return deepest


json_values = st.recursive(
    st.none() | st.integers() | st.text(alphabet='[]{}"\\\n,:a\u20ac'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='[{"\\'), inner, max_size=3),
)


@given(rows=st.lists(st.dictionaries(st.text(alphabet='[{"\\a'), json_values, max_size=3), max_size=4))
def test_depth_agrees_with_a_loop_over_characters(rows):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    assert depth_of(text.encode()) == deepest_by_loops(text)


@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("shift", [0, 1, 2])
def test_a_header_longer_than_what_is_looked_at_first(tmp_path, delimiter, shift):
    """Cut at 64 KiB, in the middle of a character, it was no UTF-8."""
    names = ["x" * shift + 30_000 * "\u20ac", "b"]
    numbers = ["0,5", "1,25"] if delimiter == ";" else ["0.5", "1.25"]
    (tmp_path / "a.csv").write_text(delimiter.join(names) + "\n" + delimiter.join(numbers) + "\n", encoding="utf-8")
    source = open_source(str(tmp_path / "a.csv"))
    assert source.names == names
    assert_array_equal(source.matrix(names), [[0.5, 1.25]])


def test_a_header_that_is_no_utf_8_far_behind(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a," + 70_000 * b"b" + b"\xe9\n1,2\n")
    with pytest.raises(CommandError, match="is not UTF-8 text"):
        open_source(str(tmp_path / "a.csv"))


def test_folders_and_missing_files(tmp_path):
    with pytest.raises(CommandError, match="is a folder"):
        open_source(str(tmp_path))
    (tmp_path / "predictions.csv").write_text("a\n1\n")
    with pytest.raises(CommandError, match=r"is not there: did you mean 'predictions\.csv'"):
        open_source(str(tmp_path / "prediction.csv"))
    with pytest.raises(CommandError, match=r"is not there$"):
        open_source(str(tmp_path / "nowhere" / "a.csv"))
    with pytest.raises(CommandError, match=r"is not there$"):
        open_source("a\0b")


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    path = tmp_path / "secret.csv"
    path.write_text("a\n1\n")
    # Not by chmod: the superuser reads everything.
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(CommandError, match="permission denied"):
        open_source(str(path))


def test_a_terminal_is_no_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", Piped(b""))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    with pytest.raises(CommandError, match="is a terminal"):
        open_source("-")


def test_integers_that_float64_cannot_tell_apart_are_refused(tmp_path):
    parquet.write_table(pa.table({"a": [2**53 + 1, 1]}), tmp_path / "a.parquet")
    with pytest.raises(CommandError, match=r"within 2\*\*53"):
        open_source(str(tmp_path / "a.parquet")).matrix(["a"])
