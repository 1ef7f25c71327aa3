"""Time polyroc beside its peers on the same data and print the tables: `make bench`.

The whole takes a quarter of an hour on two cores. With --write the results go into the documentation, too.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks import _growth, _influence, _page, _rows, _startup, _table, _worker
from benchmarks._measure import ROOT, Bench

SCALING = (
    "The way of scaling, tried where the whole can be timed: at {problem}, scikit-learn ovo takes {whole}; "
    "{remark}, {scaled}."
)


def arguments():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small problems, a few seconds: shows that all parts work")
    parser.add_argument(
        "--write",
        nargs="?",
        type=Path,
        const=ROOT / "docs",
        metavar="DOCS",
        help="write benchmarks.md and images/growth.png in this folder (by default docs)",
    )
    given = parser.parse_args()
    if given.quick and given.write == ROOT / "docs":
        parser.error("the numbers in the documentation come from a whole run; with --quick, name another folder")
    return given


def main():
    given = arguments()
    if os.getloadavg()[0] > 0.5:
        print("  other processes are busy on this machine: times will be too long, ratios unsteady", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="polyroc-bench-") as folder:
        bench = Bench(Path(folder), _worker.QUICK if given.quick else _worker.FULL)
        speed = list(_rows.measure(_rows.chosen(given.quick), bench))
        scaling = "" if given.quick else scaling_note(bench)
        added = list(_influence.measure(_influence.QUICK if given.quick else _influence.FULL, bench))
        waits = _startup.measure(given.quick)
        growth = list(_growth.measure(_growth.QUICK if given.quick else _growth.FULL, bench))
    tables = {
        "Speed": _table.speed_cells(speed),
        "Standard errors": _table.influence_cells(added, _influence.MOST_ADDED, _influence.LEAST_FASTER),
        "Start": _table.startup_cells(waits),
        "Growth": _table.growth_cells(growth),
    }
    for title, cells in tables.items():
        print(f"\n{title}\n\n{_table.plain(cells)}")
    for note in filter(None, [scaling, _page.machine()]):
        print(f"\n{note}")
    if given.write:
        write(given.write, tables, scaling, growth)


def scaling_note(bench):
    problem, whole, scaled = _rows.check_scaling(bench)
    times = {"whole": _table.duration(whole.seconds), "scaled": _table.duration(scaled.seconds)}
    return SCALING.format(problem=problem, remark=scaled.remark, **times)


def write(docs, tables, scaling, growth):
    path = docs / "benchmarks.md"
    speed, errors, start, grown = (_table.markdown(cells) for cells in tables.values())
    image = (
        "```{image} images/growth.png\n"
        ":alt: Time against samples, classes and thresholds on logarithmic axes, with fitted powers\n```"
    )
    results = [
        _page.machine(),
        "## Speed",
        speed,
        scaling,
        "## Standard errors",
        errors,
        "## Start",
        start,
        "## Growth",
        grown,
        image,
    ]
    _growth.draw(growth, docs / "images" / "growth.png")
    page = path.read_text(encoding="utf-8")
    path.write_text(_page.replace_results(page, "\n\n".join(filter(None, results))), encoding="utf-8")
    print(f"\nWritten: {path.name}, images/growth.png")


if __name__ == "__main__":
    main()
