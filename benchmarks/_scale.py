"""Files larger than memory: rows per second and peak memory of passes over generated Parquet, beside bare scans.

    python -m benchmarks._scale --rows 2000000 --classes 10

Files are written in chunks into a folder that is removed afterwards; where the disk has no room for all rows, fewer are
written, and the table says so. Every runner has a process of its own, so that its peak memory is its own, and is run
once on a small file before it is timed. All are run in turns, and the best of several counts.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

# Rows of a row group, and of a file: what writers do by themselves, and what clusters write.
_GROUP, _FILE = 1 << 20, 1 << 24
# Of the disk, as much as this may be filled.
_SHARE_OF_DISK = 0.5
_WARM = "warm.parquet"


def generate(folder: Path, rows: int, classes: int, *, seed: int = 0) -> int:
    """Softmax scores in single precision; as many rows as asked for, or as the disk has room for."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    room = int(shutil.disk_usage(folder).free * _SHARE_OF_DISK) // (4 * classes + 4)
    rows, rng, writer, done = min(rows, room), np.random.default_rng(seed), None, 0
    chunk = max(1, min(_GROUP, 1 << 26) // max(1, classes // 10))
    while done < rows:
        n = min(chunk, rows - done)
        y = rng.integers(0, classes, n).astype(np.int32)
        z = rng.standard_normal((n, classes), dtype=np.float32)
        z[np.arange(n), y] += 1.5
        np.exp(z, out=z)
        z /= z.sum(axis=1, keepdims=True)
        table = pa.table({"y": y, **{f"p_{c}": np.ascontiguousarray(z[:, c]) for c in range(classes)}})
        if done == 0:
            pq.write_table(table.slice(0, max(1, 2_500_000 // classes)), folder / _WARM)
        if writer is None or done % _FILE < chunk:
            if writer is not None:
                writer.close()
            (folder / "data").mkdir(exist_ok=True)
            writer = pq.ParquetWriter(folder / "data" / f"{done:012d}.parquet", table.schema)
        writer.write_table(table, row_group_size=_GROUP)
        done += n
    if writer is not None:
        writer.close()
    return rows


def _columns(classes: int) -> list[str]:
    return ["y", *(f"p_{c}" for c in range(classes))]


def scan_dataset(data: Path, classes: int, _state: Path) -> None:
    import pyarrow.dataset as ds

    for _ in ds.dataset(data).scanner(columns=_columns(classes)).to_batches():
        pass


def scan_files(data: Path, classes: int, _state: Path) -> None:
    import pyarrow.parquet as pq

    for file in _files(data):
        for _ in pq.ParquetFile(file).iter_batches(columns=_columns(classes)):
            pass


def scan_groups(data: Path, classes: int, _state: Path) -> None:
    """As polyroc reads them: row groups in threads, in pieces that stay in the cache."""
    from polyroc.streams._parquet_files import open_files
    from polyroc.streams._parquet_run import ParquetRun

    run = ParquetRun(open_files(str(data), partial=False), n_jobs=None, partial=False, progress=False, checkpoint=None)
    columns = _columns(classes)
    run.each_part("scan", lambda part: sum(1 for _ in run.rows(part, columns)), lambda _n: None)


def _files(data: Path) -> list[Path]:
    return sorted(data.glob("*.parquet")) if data.is_dir() else [data]


def _evaluate(data: Path, classes: int, **options: Any) -> None:
    import polyroc

    polyroc.evaluate_parquet(data, target="y", labels=range(classes), **options)


def pass_one(data: Path, classes: int, _state: Path) -> None:
    _evaluate(data, classes, standard_errors=False)


def store_pass_one(data: Path, classes: int, state: Path) -> None:
    state.unlink(missing_ok=True)
    _evaluate(data, classes, standard_errors=False, checkpoint=state)


def pass_two(data: Path, classes: int, state: Path) -> None:
    """From a checkpoint of the first one, which it leaves as it was."""
    copy = state.with_suffix(".copy.npz")
    shutil.copy(state, copy)
    _evaluate(data, classes, checkpoint=copy)


def exact(data: Path, classes: int, _state: Path) -> None:
    _evaluate(data, classes, standard_errors=False, exact=True)


def polars_sums(data: Path, classes: int, _state: Path) -> None:
    import polars as pl

    pl.scan_parquet(_files(data)).select(pl.col(_columns(classes)).sum()).collect(engine="streaming")


def polars_histograms(data: Path, classes: int, _state: Path) -> None:
    """A thousand equal bins of every column by class."""
    import polars as pl

    lazy = pl.scan_parquet(_files(data))
    for column in _columns(classes)[1:]:
        binned = (pl.col(column) * 1000).cast(pl.Int32).alias("bin")
        lazy.group_by("y", binned).agg(pl.len()).collect(engine="streaming")


# Name -> what is timed, and what is done before that and not timed. Others add their own rows here.
RUNNERS: dict[str, tuple[Callable[[Path, int, Path], None], Callable[[Path, int, Path], None] | None]] = {
    "pyarrow, dataset scan": (scan_dataset, None),
    "pyarrow, ParquetFile.iter_batches": (scan_files, None),
    "pyarrow, row groups in threads": (scan_groups, None),
    "polyroc, pass one": (pass_one, None),
    "polyroc, pass two": (pass_two, store_pass_one),
    "polyroc, exact, without pass two": (exact, None),
    "polars streaming, sums": (polars_sums, None),
    "polars streaming, histograms": (polars_histograms, None),
}


def run_one(name: str, folder: Path, classes: int) -> dict[str, float]:
    """In a process of its own: seconds, seconds of all cores, and peak memory in bytes."""
    timed, before = RUNNERS[name]
    # Packages are imported, and kernels compiled.
    for function in (before, timed):
        if function is not None:
            function(folder / _WARM, classes, folder / "warm-state.npz")
    if before is not None:
        before(folder / "data", classes, folder / "state.npz")
    used, start = _cpu(), time.perf_counter()
    timed(folder / "data", classes, folder / "state.npz")
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": seconds, "cpu": _cpu() - used, "peak": peak}


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def measure(names: list[str], folder: Path, classes: int, repeats: int) -> dict[str, dict[str, float]]:
    """The best of several turns of every runner."""
    found: dict[str, dict[str, float]] = {}
    for _ in range(repeats):
        for name in names:
            command = [sys.executable, "-m", "benchmarks._scale", "--one", name, "--folder", str(folder)]
            done = subprocess.run([*command, "--classes", str(classes)], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                print(f"{name}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
                continue
            now = json.loads(done.stdout.strip().splitlines()[-1])
            best = found.setdefault(name, now)
            found[name] = {key: min(best[key], now[key]) for key in now}
    return found


def table_of(found: dict[str, dict[str, float]], rows: int) -> str:
    """Markdown; shares are of the fastest plain scan, and of the scan that reads as polyroc does."""
    plain = [found[name]["seconds"] for name in list(RUNNERS)[:2] if name in found]
    own = found.get("pyarrow, row groups in threads", {}).get("seconds")
    lines = [
        "| what | seconds | million rows/s | of plain pyarrow | of the leanest scan | core seconds | peak memory |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, one in found.items():
        shares = [f"{base / one['seconds']:.2f}" if base else "" for base in (min(plain, default=None), own)]
        speed, peak = f"{rows / one['seconds'] / 1e6:.2f}", f"{one['peak'] / 2**20:,.0f} MiB"
        lines.append(f"| {name} | {one['seconds']:.2f} | {speed} | {' | '.join(shares)} | {one['cpu']:.2f} | {peak} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(RUNNERS), help="names of runners")
    parser.add_argument(
        "--where", type=Path, default=None, help="folder on a disk with room; by default that of tempfile"
    )
    parser.add_argument(
        "--clusters", action="store_true", help="also passes by Dask's threads and by Spark, where they are installed"
    )
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        print(json.dumps(run_one(given.one, given.folder, given.classes)))
        return
    with tempfile.TemporaryDirectory(dir=given.where, prefix="polyroc-scale-") as folder:
        rows = generate(Path(folder), given.rows, given.classes)
        if rows < given.rows:
            print(f"The disk has room for {rows:,} of {given.rows:,} rows.\n")
        size = sum(file.stat().st_size for file in _files(Path(folder) / "data"))
        found = measure(given.only, Path(folder), given.classes, given.repeats)
        print(f"{rows:,} rows of {given.classes} classes, {size / 2**30:.2f} GiB of Parquet\n")
        print(table_of(found, rows))
        if given.clusters:
            from benchmarks import _scale_cluster

            names = _columns(given.classes)[1:]
            _scale_cluster.run(_files(Path(folder) / "data"), "y", names, range(given.classes))


if __name__ == "__main__":
    main()
