"""Two versions of polyroc beside each other: python -m benchmarks._versions BEFORE [AFTER]

Checks out both commits, times the rows of the table in turns, on one thread, and prints the ratio of the medians. A
busy machine makes both slower, and turns make it fair. Ends with 1 if a row is slower than `--limit` allows.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from statistics import median

from benchmarks import _rows, _table, _worker
from benchmarks._data import as_json
from benchmarks._measure import ROOT, python, say
from benchmarks._worker import Job

SHORT = _worker.Effort(1.0, 3, 31, whole_pairs=0, sampled_pairs=0, replicates=199, peer_replicates=0)

# Kernels are compiled beforehand: "auto" takes the reference where they are not worth the wait.
COMPILE = """
import numpy as np, polyroc
y = np.arange(600) % 4
for kind in ("f4", "f8"):
    scores = (np.random.default_rng(0).normal(size=(600, 4)) + np.eye(4)[y]).astype(kind)
    evaluation = polyroc.evaluate(y, scores, engine="numba")
    evaluation.pairs.auc
    evaluation.confidence_interval(method="bootstrap", n_resamples=20, rng=0)
"""


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks._versions", description=__doc__)
    parser.add_argument("before", help="commit")
    parser.add_argument("after", nargs="?", default="HEAD", help="commit (default: HEAD)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each row (default: 3)")
    parser.add_argument("--limit", type=float, default=1.1, help="most that a row may take, before = 1 (default: 1.1)")
    parser.add_argument("--quick", action="store_true", help="small problems: shows that all parts work")
    parser.add_argument(
        "--only", nargs="*", metavar="TEXT", help='rows that have one of these words, such as "k = 100"'
    )
    given = parser.parse_args()
    effort = _worker.QUICK if given.quick else SHORT
    with tempfile.TemporaryDirectory(prefix="polyroc-versions-") as folder:
        trees = {commit: check_out(commit, Path(folder)) for commit in dict.fromkeys((given.before, given.after))}
        try:
            measured = [
                (row, compare(row, trees[given.before], trees[given.after], Path(folder), effort, given.rounds))
                for row in (_rows.QUICK if given.quick else _rows.FULL)
                if not given.only or any(text in f"{row.what}, {row.problem}" for text in given.only)
            ]
        finally:
            for tree in trees.values():
                git("worktree", "remove", "--force", str(tree))
    cells = [["problem", "what", "before", "after", "after, before = 1"]]
    for row, (before, after) in measured:
        times = [_table.duration(seconds) for seconds in (before, after)]
        cells.append([str(row.problem), row.what, *times, f"{after / before:.2f}"])
    print(_table.plain(cells))
    sys.exit(int(any(after > given.limit * before for _, (before, after) in measured)))


def check_out(commit, folder):
    tree = folder / git("rev-parse", "--short", commit)
    git("worktree", "add", "--detach", "--quiet", str(tree), commit)
    python("-c", COMPILE, environment=environment_of(tree))
    return tree


def environment_of(tree):
    return {"PYTHONPATH": str(tree / "src"), "NUMBA_CACHE_DIR": str(tree / ".numba_cache")}


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def compare(row, before, after, folder, effort, rounds):
    """Median seconds of both, measured in turns."""
    if not (folder / f"{row.problem.stem}_score.npy").exists():
        python("-m", "benchmarks._data", as_json(row.problem), str(folder))
    say(f"{row.what}, {row.problem}")
    seconds = {before: [], after: []}
    for _ in range(rounds):
        for tree in seconds:
            seconds[tree].append(time_in(tree, Job(row.call, row.problem, 1, row.options), folder, effort))
    return median(seconds[before]), median(seconds[after])


def time_in(tree, job, folder, effort):
    order = {"folder": str(folder), "effort": asdict(effort), "jobs": [asdict(job)]}
    answer = python("-m", "benchmarks._worker", given=json.dumps(order), environment=environment_of(tree))
    return json.loads(answer)["results"][0]["seconds"]


if __name__ == "__main__":
    main()
