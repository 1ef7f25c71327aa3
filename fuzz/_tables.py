"""Files of predictions for the command line: clean ones in every format, with hostile names, and spoilt ones."""

import csv
import gzip
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import feather, parquet

from fuzz._case import Attempt

MARKUP = "<script>alert(1)</script>"
_HOSTILE_NAMES = (
    *(MARKUP, "</script><b>", "<img src=x onerror=alert(1)>", "{{7*7}}", "&lt;", '"><svg/onload=alert(1)>', "`rm -rf`"),
    *(
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "'",
        '"',
        "a,b",
        "a;b",
        "a\tb",
        "a\nb",
        "a\rb",
        "a\r\nb",
        "\x1b[31mred\x1b[0m",
    ),
    *(
        "\u202egnp.exe",
        "\u200b",
        "\ufeff",
        "\x00",
        "\x07",
        "\x9b31m",
        "\u2028",
        "é",
        "e\u0301",
        "\U0001f600",
        "\U000e0041",
    ),
    *(
        "",
        " ",
        "  a",
        "a ",
        "nan",
        "NaN",
        "inf",
        "None",
        "null",
        "NA",
        "0",
        "01",
        "1",
        "1.0",
        "1e3",
        "-0",
        "True",
        "false",
    ),
    *(
        "--json",
        "-",
        "*",
        "?",
        "[a]",
        "p_*",
        "p_",
        "label",
        "id",
        "..",
        "../../x",
        "/",
        "con",
        "a" * 3_000,
        "a=b",
        "%s%n",
    ),
)
_PLAIN_NAMES = ("ant", "bee", "cat", "dog")


@dataclass(frozen=True, eq=False)
class Predictions:
    """A table as it is meant: one label and one score per class in each row."""

    classes: tuple[str, ...]
    codes: Any
    scores: Any
    prefix: str
    is_plain: bool
    """Whether nothing about its names or numbers is odd, so that the right answer is known."""

    @property
    def columns(self) -> dict[str, list[Any]]:
        """All columns by name; of names that are the same, the last."""
        rows = {"id": list(range(len(self.codes))), "label": [self.classes[code] for code in self.codes]}
        named = {f"{self.prefix}{name}": self.scores[:, j].tolist() for j, name in enumerate(self.classes)}
        return rows | named | {"w": [1.0 + code for code in self.codes], "g": [code // 3 for code in rows["id"]]}


def predictions(given: Attempt, *, n: int | None = None) -> Predictions:
    """Some predictions; in half of the cases with plain names and numbers."""
    rng, k = given.rng, int(given.choose([2, 3, 3, 4]))
    n = int(rng.integers(2 * k, 25)) if n is None else n
    codes = np.arange(n) % k
    scores = rng.normal(size=(n, k)) + np.eye(k)[codes]
    is_plain = given.happens(0.5)
    if is_plain:
        return Predictions(_PLAIN_NAMES[:k], codes, scores, "p_", is_plain=True)
    classes = tuple(given.choose(_HOSTILE_NAMES + _PLAIN_NAMES) for _ in range(k))
    if given.happens(0.3):
        scores.flat[int(rng.integers(scores.size))] = given.choose([np.nan, np.inf, -np.inf, 1e308, 5e-324, 2.0**60])
    return Predictions(classes, codes, scores, given.choose(["", "p_", "score "]), is_plain=False)


def _as_csv(columns: dict[str, list[Any]], delimiter: str = ",") -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode("utf-8", "surrogatepass")


def _as_tsv(columns: dict[str, list[Any]]) -> bytes:
    return _as_csv(columns, "\t")


def _as_semicolons(columns: dict[str, list[Any]]) -> bytes:
    return _as_csv(columns, ";")


def _as_ndjson(columns: dict[str, list[Any]]) -> bytes:
    rows = zip(*columns.values(), strict=True)
    return "".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows).encode()


def _as_npz(columns: dict[str, list[Any]]) -> bytes:
    """As `np.savez` writes it, but without the time of the day."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, column in columns.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.array(column), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue())
    return file.getvalue()


def _as_parquet(columns: dict[str, list[Any]]) -> bytes:
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file)
    return file.getvalue()


def _as_feather(columns: dict[str, list[Any]]) -> bytes:
    file = io.BytesIO()
    feather.write_feather(pa.table(columns), file)
    return file.getvalue()


def _as_stream(columns: dict[str, list[Any]]) -> bytes:
    file, table = io.BytesIO(), pa.table(columns)
    with pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()


FORMATS: dict[str, Callable[[dict[str, list[Any]]], bytes]] = {
    ".csv": _as_csv,
    ".tsv": _as_tsv,
    ".txt": _as_semicolons,
    ".ndjson": _as_ndjson,
    ".npz": _as_npz,
    ".parquet": _as_parquet,
    ".feather": _as_feather,
    ".arrows": _as_stream,
}


def _cut(given: Attempt, content: bytes) -> bytes:
    return content[: int(given.rng.integers(len(content) + 1))]


def _flipped(given: Attempt, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(int(given.rng.integers(1, 9))):
        changed[int(given.rng.integers(len(changed)))] = int(given.rng.integers(256))
    return bytes(changed)


def _with_inserted(given: Attempt, content: bytes) -> bytes:
    at = int(given.rng.integers(len(content) + 1))
    what = given.choose(
        [b"\0", b"\xff", b'"', b"\n", b",", b"{", b"}", b"\\u0000", b"1e999", b"\xef\xbb\xbf", b"[" * 500]
    )
    return content[:at] + what + content[at:]


def _without_some(given: Attempt, content: bytes) -> bytes:
    start, stop = sorted(given.rng.integers(0, len(content) + 1, 2).tolist())
    return content[:start] + content[stop:]


_SPOILT: tuple[Callable[[Attempt, bytes], bytes], ...] = (
    *(_cut, _flipped, _flipped, _with_inserted, _with_inserted, _without_some),
    lambda _, content: b"",
    lambda _, content: b"\xef\xbb\xbf" + content,
    lambda _, content: content.decode("latin-1").encode("utf-16"),
    lambda _, content: b"\xe9" + content,
    lambda _, content: gzip.compress(content, mtime=0),
    lambda _, content: content + content,
    lambda _, content: content.partition(b"\n")[0],
    lambda _, content: content.replace(b"\r\n", b"\r"),
    lambda _, content: b"x" * 70_000 + content,
    lambda _, content: b'{"a":' + b"[" * 300 + b"]" * 300 + b"}\n" + content,
    lambda _, content: b"\x80\x04\x95" + content,
    lambda _, content: b"<html>" + content,
    lambda given, content: given.rng.bytes(int(given.rng.integers(1, 200))),
)


def spoilt(given: Attempt, content: bytes) -> bytes:
    """The bytes of a file after an accident."""
    return given.choose(_SPOILT)(given, content)
