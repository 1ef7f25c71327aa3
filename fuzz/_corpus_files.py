"""What once went wrong on the command line."""

import io
import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import polyroc
from fuzz._case import Attempt
from fuzz._escape import short
from fuzz._files import Ending, check_ending, in_a_process, in_process, process
from fuzz._guard import GUARD
from fuzz._oracles import require

_TARGET = ("--target", "label", "--method", "none", "--json", "--quiet")
_NAMES = ("cat", "dog", "owl")


def _samples(n: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % 3
    # The first samples are easy, so that losing them shows.
    strength = np.where(np.arange(n) < n // 4, 3.0, 0.3)[:, None]
    return codes, np.round(rng.normal(size=(n, 3)) + strength * np.eye(3)[codes], 4)


def _csv(codes: Any, scores: Any, names: tuple[str, ...] = _NAMES, extra: str = "") -> bytes:
    more = [extra] if extra else []
    header = ["label", *(f"p_{name}" for name in names), *more]
    rows = [
        [names[code], *map(repr, row), *("" for _ in more)] for code, row in zip(codes, scores.tolist(), strict=True)
    ]
    return "".join(f"{','.join(row)}\n" for row in [header, *rows]).encode()


def _lines(codes: Any, scores: Any) -> bytes:
    """NDJSON of 64 bytes a line, so that whatever is lost ends at the end of a line."""
    rows = [
        {"label": _NAMES[code], "p_cat": row[0], "p_dog": row[1], "p_owl": row[2]}
        for code, row in zip(codes, scores.tolist(), strict=True)
    ]
    return "".join(f"{json.dumps(row, separators=(',', ':')):<63}\n" for row in rows).encode()


def _check_whole(ending: Ending, codes: Any, scores: Any, how: str) -> None:
    """All rows were read: the numbers are the library's."""
    check_ending(ending, [how])
    require(ending.code == 0, f"{how} was refused: {short(ending.err, 300)}")
    found, right = json.loads(ending.out), polyroc.evaluate(codes, scores)
    require(found["n_samples"] == len(codes), f"{how}: {found['n_samples']} of {len(codes)} rows were read")
    require(abs(found["auc"] - right.auc) < 1e-9, f"{how}: D is {found['auc']}, and not {right.auc}")


@contextmanager
def _fed(open_end: Callable[[], int], content: bytes) -> Iterator[None]:
    """Somebody who writes into a pipe; whoever reads may go away."""

    def write() -> None:
        try:
            with os.fdopen(open_end(), "wb") as file:
                file.write(content)
        except OSError:
            pass

    with GUARD.asleep():
        thread = threading.Thread(target=write, daemon=True)
        thread.start()
        yield
        thread.join(timeout=5)


def stream_from_standard_input(_: Attempt) -> None:
    for n in (200, 4_096):
        codes, scores = _samples(n)
        for content in (_lines(codes, scores), _csv(codes, scores)):
            for path in ("-", "/dev/stdin"):
                ending = in_a_process(["evaluate", path, *_TARGET], input=content)
                _check_whole(ending, codes, scores, f"{path} of {n} rows")


def stream_from_another_process(_: Attempt) -> None:
    """What `<(cat f.ndjson)` is."""
    codes, scores = _samples(4_096)
    end, start = os.pipe()
    with _fed(lambda: start, _lines(codes, scores)):
        ending = in_a_process(["evaluate", f"/dev/fd/{end}", *_TARGET], pass_fds=(end,))
        os.close(end)
    _check_whole(ending, codes, scores, "a pipe")


def stream_from_a_named_pipe(given: Attempt) -> None:
    codes, scores = _samples(4_096)
    path = given.folder / "fifo"
    os.mkfifo(path)
    with _fed(lambda: os.open(path, os.O_WRONLY), _lines(codes, scores)):
        try:
            ending = in_a_process(["evaluate", str(path), *_TARGET])
        finally:
            # Whoever still waits for a reader is let go.
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    _check_whole(ending, codes, scores, "a named pipe")


def _two_files(folder: Path) -> tuple[Path, Path]:
    codes, scores = _samples(30)
    first, second = folder / "a.csv", folder / "b.csv"
    first.write_bytes(_csv(codes, scores))
    second.write_bytes(_csv(codes, -scores))
    return first, second


def output_over_an_input(given: Attempt) -> None:
    first, second = _two_files(given.folder)
    (given.folder / "link.csv").symlink_to(first)
    before = first.read_bytes()
    for out in (first, given.folder / "link.csv", given.folder / "." / "a.csv"):
        for force in ([], ["--force"]):
            call = [
                "compare",
                str(first),
                str(second),
                "--target",
                "label",
                "--method",
                "bootstrap",
                "--resamples",
                "5",
                "--out",
                str(out),
                *force,
            ]
            ending = in_process(call)
            require(ending.code == 2, f"--out on its own input {out.name} {force} ended with {ending.code}")
            require(first.read_bytes() == before, "compare has overwritten its input")


def output_over_another_file(given: Attempt) -> None:
    """A file that is not of the kind to be written is not replaced, unless somebody insists."""
    first, second = _two_files(given.folder)
    compare = ["compare", str(first), str(second), "--target", "label", "--method", "bootstrap", "--resamples", "5"]
    evaluate = ["evaluate", str(first), "--target", "label", "--method", "none"]
    precious = b"not what polyroc writes"
    for call, option, name in (
        (compare, "--out", "notes.csv"),
        (compare, "--report", "page.html"),
        (evaluate, "--report", "page.html"),
        (evaluate, "--plot", "photo.png"),
    ):
        path = given.folder / name
        path.write_bytes(precious)
        ending = in_process([*call, option, str(path)])
        check_ending(ending, [*call, option, name])
        require(path.read_bytes() == precious, f"{option} has overwritten {name}")
        require(ending.code == 2, f"{option} on {name} ended with {ending.code}")
        ending = in_process([*call, option, str(path), "--force"])
        require(ending.code == 0, f"{option} on {name} with --force: {short(ending.err, 300)}")
        require(path.read_bytes() != precious, f"{option} with --force has not written {name}")
        ending = in_process([*call, option, str(path)])
        require(ending.code == 0, f"{option} does not replace what it wrote itself: {short(ending.err, 300)}")
        path.unlink()


def output_of_another_suffix(given: Attempt) -> None:
    first, second = _two_files(given.folder)
    for name in ("differences.txt", "differences", "model.py", "a.html"):
        call = [
            "compare",
            str(first),
            str(second),
            "--target",
            "label",
            "--method",
            "bootstrap",
            "--resamples",
            "5",
            "--out",
            name,
        ]
        ending = in_process(call)
        require(ending.code == 2 and not (given.folder / name).exists(), f"--out {name} ended with {ending.code}")


def _refused(ending: Ending, what: str, *names: str) -> None:
    check_ending(ending, [what])
    require(ending.code == 2, f"{what} ended with {ending.code}: {short(ending.out, 200)}")
    for name in names:
        require(name in ending.err, f"{what} is refused without the name {name}: {short(ending.err, 300)}")


def members_of_an_npz_collide(given: Attempt) -> None:
    codes, scores = _samples(30)
    labels, path = np.array(_NAMES)[codes], given.folder / "p.npz"
    np.savez(path, label=codes, p=scores, p_0=scores[::-1, 0])
    _refused(in_process(["evaluate", str(path), *_TARGET]), "a matrix p and a vector p_0", "p_0")
    np.savez(path, label=labels, p=scores, labels=np.array(["cat", "dog", "dog"]))
    _refused(in_process(["evaluate", str(path), *_TARGET]), "the same label twice", "dog")


def member_of_an_npz_is_no_array(given: Attempt) -> None:
    codes, scores = _samples(30)
    file = io.BytesIO()
    np.savez(file, label=np.array(_NAMES)[codes], p=scores)
    for name, content in (("x.npy", b"no array"), ("x.npy", b""), ("readme", b"text"), ("x.npy", b"\x93NUMPY\x09\x00")):
        path = given.folder / "p.npz"
        path.write_bytes(file.getvalue())
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(name, content)
        ending = in_process(["evaluate", str(path), *_TARGET])
        check_ending(ending, ["evaluate", f"npz with {name} of {content!r}"])


def costs_with_a_typo(given: Attempt) -> None:
    codes, scores = _samples(30)
    path, costs = given.folder / "p.csv", given.folder / "costs.csv"
    path.write_bytes(_csv(codes, scores, ("1", "2", "3")))
    costs.write_text("true,1,2,3\n3,0,1,5\n2,1,0,1\n4,9,1,0\n")
    ending = in_process(["evaluate", str(path), *_TARGET, "--costs", str(costs)])
    _refused(ending, "costs of classes 3, 2 and 4 where there are 1, 2 and 3")


def labels_that_look_alike(given: Attempt) -> None:
    codes, scores = _samples(60)
    path = given.folder / "p.csv"
    path.write_bytes(_csv(codes, scores, ("01", "1", "2")))
    ending = in_process(["evaluate", str(path), *_TARGET])
    check_ending(ending, ["labels 01, 1 and 2"])
    require(ending.code == 0, f"labels 01, 1 and 2 were refused: {short(ending.err, 300)}")
    found = json.loads(ending.out)
    require([str(label) for label in found["labels"]] == ["01", "1", "2"], f"01, 1, 2 became {found['labels']}")
    require(abs(found["auc"] - polyroc.evaluate(codes, scores).auc) < 1e-9, f"01, 1, 2 give D = {found['auc']}")


def nested_without_end(given: Attempt) -> None:
    path = given.folder / "deep.ndjson"
    for depth in (300, 20_000, 1_000_000):
        path.write_bytes(b'{"label":"a","x":' + b"[" * depth + b"]" * depth + b"}\n")
        ending = in_a_process(["evaluate", str(path), "--target", "label"])
        _refused(ending, f"NDJSON nested {depth} deep")


def header_of_many_names(given: Attempt) -> None:
    codes, scores = _samples(30)
    path = given.folder / "wide.csv"
    # Letters of two bytes, so that a cut at any odd place goes through one of them.
    for shift in ("", "x"):
        path.write_bytes(_csv(codes, scores, extra=f"{shift}{'é' * 40_000}"))
        ending = in_process(["evaluate", str(path), *_TARGET, "--scores", "p_*"])
        _check_whole(ending, codes, scores, "a header of more than 64 KiB")


def full_disk(given: Attempt) -> None:
    first, second = _two_files(given.folder)
    for call in (
        ["evaluate", str(first), *_TARGET],
        ["compare", str(first), str(second), "--target", "label", "--method", "bootstrap", "--resamples", "9"],
    ):
        with GUARD.asleep(), Path("/dev/full").open("wb") as full:
            ending = in_a_process(call, stdout=full)
        check_ending(ending, [*call, "> /dev/full"], (1, 2, 74))


def closed_output(given: Attempt) -> None:
    first, _ = _two_files(given.folder)
    quoted = " ".join(["evaluate", str(first), *_TARGET])
    ending = process(["sh", "-c", f'"{sys.executable}" -m polyroc {quoted} >&-'], stdout=subprocess.PIPE)
    check_ending(ending, ["evaluate", ">&-"], (0, 1, 2, 74))


FILE_CASES: tuple[Callable[[Attempt], None], ...] = (
    stream_from_standard_input,
    stream_from_another_process,
    stream_from_a_named_pipe,
    output_over_an_input,
    output_over_another_file,
    output_of_another_suffix,
    members_of_an_npz_collide,
    member_of_an_npz_is_no_array,
    costs_with_a_typo,
    labels_that_look_alike,
    nested_without_end,
    header_of_many_names,
    full_disk,
    closed_output,
)
