"""`make coverage`: how honest intervals, bands and the test of two models are.

python -m studies run --out results.json      the simulation: minutes on a card, most of a day on two cores
python -m studies page results.json           its tables, into docs/coverage.md
python -m studies populations FILE.npz        the real predictions, for a machine without scikit-learn
"""

import argparse
import json
import os
import platform
import time
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SEED = 20261116
# The largest problems take as long as all others together.
FEWER = {"twenty classes": 500, "equally good: ten classes, tied, skewed 1:20": 1000}


def main():
    parser = argparse.ArgumentParser(prog="python -m studies", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="simulate")
    run.add_argument("--out", type=Path, required=True, help="file of results; those that it has are kept")
    run.add_argument("--replications", type=int, default=2000)
    run.add_argument("--resamples", type=int, default=399)
    run.add_argument("--only", nargs="*", help="names of settings or contests; all by default")
    run.add_argument("--minutes", type=float, default=float("inf"), help="begin nothing after this time")
    page = commands.add_parser("page", help="write docs/coverage.md")
    page.add_argument("results", type=Path)
    page.add_argument("--to", type=Path, default=ROOT / "docs" / "coverage.md")
    made = commands.add_parser("populations", help="write the real predictions into one file")
    made.add_argument("file", type=Path)
    asked = parser.parse_args()
    {"run": _run, "page": _page, "populations": _populations}[asked.command](asked)


def _run(asked):
    import torch

    from studies import _coverage as coverage
    from studies._run import run_contest, run_setting
    from studies._settings import CONTESTS, GROUPED, HELD_OUT, TUNED

    results = json.loads(asked.out.read_text()) if asked.out.exists() else {"settings": {}, "contests": {}, "runs": []}
    works = [("settings", number, one, run_setting) for number, one in enumerate(TUNED + GROUPED + HELD_OUT)]
    works += [("contests", 500 + number, one, run_contest) for number, one in enumerate(CONTESTS)]
    works.sort(key=lambda work: (work[2].setting if work[0] == "contests" else work[2]).n_classes)
    start = time.perf_counter()
    for kind, number, one, work in works:
        skipped = one.name in results[kind] or (asked.only is not None and one.name not in asked.only)
        if skipped or time.perf_counter() - start > 60 * asked.minutes:
            continue
        n_replications = min(asked.replications, FEWER.get(one.name, asked.replications))
        begun = time.perf_counter()
        truth, found = work(one, SEED + number, n_replications, asked.resamples)
        results[kind][one.name] = {
            "truth": [t.auc for t in truth] if kind == "contests" else truth.auc,
            "true M": [t.hand_till for t in truth] if kind == "contests" else truth.hand_till,
            "resamples": asked.resamples,
            "seconds": time.perf_counter() - begun,
            "found": {name: [round(x, 10) for x in values] for name, values in found.items()},
            "asked": asdict(one),
        }
        asked.out.write_text(json.dumps(results))
    device = torch.cuda.get_device_name() if coverage.DEVICE == "cuda" else platform.machine()
    ran = {"device": device, "cores": os.cpu_count(), "minutes": (time.perf_counter() - start) / 60}
    results["runs"].append(ran)
    asked.out.write_text(json.dumps(results))


def _page(asked):
    from studies._page import page, write

    text = page(json.loads(asked.results.read_text()))
    print(text)
    write(asked.to, text)


def _populations(asked):
    from studies._populations import write

    write(asked.file)


if __name__ == "__main__":
    main()
