"""Time and memory of `polyroc evaluate --method none` on a Parquet file, beside reading it and `polyroc.evaluate`.

Each measurement is a fresh process. "Whole" is from its start to its end, imports included. "Work" begins when
everything is imported and the compiled code has run once on a small problem. The command also finds M and the area of
every pair, which `evaluate` alone leaves for later; so that is measured, too. `evaluate` is given the table as it was
read, and a NumPy array made of it before the clock starts. Memory is what the process adds to
what it held when the work began: the highest resident set (VmHWM, reset then) less the resident set then.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

TIME_LIMIT, MEMORY_LIMIT = 1.5, 3.0

MAKE = """
import sys
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
path, n, k = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(0)
codes = rng.integers(0, k, n)
scores = rng.normal(size=(n, k)) + 1.5 * np.eye(k)[codes]
scores = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
pq.write_table(pa.table({"label": codes} | {f"p_{j}": scores[:, j] for j in range(k)}), path)
"""

# The same beginning for both, so that what is imported is no difference.
WARM = """
import contextlib, io, json, re, sys
from pathlib import Path
from time import perf_counter
import numpy as np
import pyarrow.dataset  # which read_table would import when it is first called
import pyarrow.parquet as pq
import polyroc
import polyroc.cli
from polyroc.cli import _app, _outputs
small = np.random.default_rng(0).normal(size=(30_000, 10))
polyroc.evaluate(np.arange(30_000) % 10, small, engine="numba").hand_till
path, k = sys.argv[1], int(sys.argv[2])

def held(name):
    return 1024 * int(re.search(rf"{name}:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

Path("/proc/self/clear_refs").write_text("5")
before, start = held("VmRSS"), perf_counter()
"""

LIBRARY = """
table = pq.read_table(path)
read = perf_counter()
scores = table.drop_columns("label").rename_columns([str(j) for j in range(k)])
evaluation = polyroc.evaluate(table["label"], scores)
evaluated = perf_counter()
evaluation.hand_till
areas = perf_counter()
memory = held("VmHWM") - before
y_true, y_score = table["label"].to_numpy(), np.column_stack([column.to_numpy() for column in scores.columns])
again = perf_counter()
polyroc.evaluate(y_true, y_score)
print(json.dumps([read - start, evaluated - read, areas - evaluated, perf_counter() - again, memory]))
"""

COMMAND = """
with contextlib.redirect_stdout(io.StringIO()):
    assert polyroc.cli.main(["evaluate", path, "--target", "label", "--method", "none", "--quiet"]) == 0
print(json.dumps([perf_counter() - start, held("VmHWM") - before]))
"""

WHOLE_LIBRARY = """
import sys
import pyarrow.parquet as pq
import polyroc
table = pq.read_table(sys.argv[1])
scores = table.drop_columns("label").rename_columns([str(j) for j in range(int(sys.argv[2]))])
print(polyroc.evaluate(table["label"], scores).auc)
"""


def python(*arguments):
    start = perf_counter()
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
    return done.stdout, perf_counter() - start


def medians(code, path, k, runs):
    rows = [json.loads(python("-c", code, path, str(k))[0]) for _ in range(runs)]
    return [median(column) for column in zip(*rows, strict=True)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    n, k = given.samples, given.classes
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "predictions.parquet")
        python("-c", MAKE, path, str(n), str(k))
        size = Path(path).stat().st_size
        read, evaluated, areas, of_array, library_memory = medians(WARM + LIBRARY, path, k, given.runs)
        command, memory = medians(WARM + COMMAND, path, k, given.runs)
        call = ["-m", "polyroc", "evaluate", path, "--target", "label", "--method", "none", "--quiet"]
        whole = median(python(*call)[1] for _ in range(given.runs))
        whole_library = median(python("-c", WHOLE_LIBRARY, path, str(k))[1] for _ in range(given.runs))
    scores = 8 * n * k
    print(f"{n:,} x {k} in double precision, {size / 1e6:.0f} MB of Parquet, medians of {given.runs} processes")
    print(f"work: read {read:.3f} s; evaluate {of_array:.3f} s of an array, {evaluated:.3f} s of the table", end=", ")
    print(f"{evaluated + areas:.3f} s with M and the areas")
    for what, peer in (("an array", read + of_array), ("the table", read + evaluated)):
        print(
            f"work: the command {command:.3f} s, {verdict(command / peer, TIME_LIMIT)} of read and evaluate of {what}"
        )
    print(f"whole: read and evaluate {whole_library:.3f} s; the command {whole:.3f} s,", end=" ")
    print(f"{verdict(whole / whole_library, TIME_LIMIT)}")
    print(
        f"memory added: the command {memory / 1e6:.0f} MB, {verdict(memory / scores, MEMORY_LIMIT)} of the scores,",
        end=" ",
    )
    print(f"{scores / 1e6:.0f} MB; read and evaluate {library_memory / 1e6:.0f} MB")


def verdict(ratio, limit):
    return f"{ratio:.2f}x (at most {limit}x: {'met' if ratio <= limit else 'NOT met'})"


if __name__ == "__main__":
    main()
