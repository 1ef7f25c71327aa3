"""`make fuzz`: random and hostile input for everything public; every escape comes with the command that repeats it.

python -m fuzz --minutes 2 --seed 7             all areas, after the corpus
python -m fuzz --only numeric --cases 1000      the first thousand cases of one area
python -m fuzz --replay numeric:7:1234          one case again, with its traceback
"""

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path

from benchmarks._kernels import cache_folder
from fuzz._areas import SHARES
from fuzz._case import CORPUS, Case

# Cases that are printed of escapes of one kind; the others are counted.
_SHOWN = 3


def arguments(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, help="how long (by default 2, or as long as --cases takes)")
    parser.add_argument("--cases", type=int, help="cases of each area (by default as many as there is time for)")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other cases (default 0)")
    parser.add_argument("--only", nargs="+", choices=[CORPUS, *SHARES], help="areas (by default all)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--replay", nargs="+", metavar="CASE", help="cases to repeat, as they were printed")
    given = parser.parse_args(argv)
    if given.minutes is None:
        given.minutes = 2.0 if given.cases is None else float("inf")
    return given


def main(argv=None):
    given = arguments(argv)
    # As the tests do: compiled kernels are kept in the repository's own folder for them. All else goes into the folder
    # that is made here, and is gone afterwards.
    os.environ.setdefault("NUMBA_CACHE_DIR", cache_folder())
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    with tempfile.TemporaryDirectory(prefix="polyroc-fuzz-") as folder:
        return replay(given.replay, Path(folder)) if given.replay else fuzz(given, Path(folder))


def replay(names, folder):
    from fuzz._run import run_case
    from fuzz._workers import prepare

    prepare(folder)
    found = [run_case(Case.parse(name), folder) for name in names]
    for name, one in zip(names, found, strict=True):
        print(f"{name}: {'nothing escaped' if one is None else one.what}")
        if one is not None and one.trace:
            print(one.trace)
    return 1 if any(one is not None for one in found) else 0


def fuzz(given, folder):
    from fuzz._schedule import Schedule
    from fuzz._workers import work

    areas = given.only or [CORPUS, *SHARES]
    tally = corpus(folder) if CORPUS in areas else None
    rest = [area for area in areas if area != CORPUS]
    if rest:
        schedules = [
            Schedule(rest, given.seed, worker, given.jobs, 60 * given.minutes, given.cases)
            for worker in range(given.jobs)
        ]
        with bar(given) as progress:
            drawn = work(schedules, folder, progress)
        if tally is None:
            tally = drawn
        else:
            tally.tried.update(drawn.tried)
            tally.found.extend(drawn.found)
    for kind in kinds(tally.found):
        print(f"\nescape: {kind[0].what}")
        for one in kind[:_SHOWN]:
            print(f"  python -m fuzz --replay {one.case}")
        if len(kind) > _SHOWN:
            print(f"  and {len(kind) - _SHOWN:,} more like it")
    print()
    for area, tried, escaped in tally.rows:
        print(f"{area:<12}{tried:>8,} cases  {escaped:>6,} escapes")
    return 1 if tally.found else 0


def kinds(found):
    """Escapes that begin with the same words, but for the numbers in them, together."""
    together = {}
    for one in found:
        words = re.sub(r"[\d.e+-]*\d[\d.e+-]*", "#", one.what)[:60]
        together.setdefault((one.case.area, words), []).append(one)
    return list(together.values())


def corpus(folder):
    """The corpus comes first, every time; a case that ends its process is an escape like others."""
    from fuzz._corpus import CASES
    from fuzz._run import run_case
    from fuzz._workers import Tally, prepare

    prepare(folder)
    tally = Tally()
    for name in CASES:
        found = run_case(Case(CORPUS, 0, name), folder)
        tally.tried[CORPUS] += 1
        if found is not None:
            tally.found.append(found)
    return tally


class bar:  # noqa: N801  # a context, not a thing
    """Cases per second on a terminal; nothing elsewhere."""

    def __init__(self, given):
        from tqdm import tqdm

        total = None if given.cases is None else given.cases * len(given.only or SHARES)
        self._bar = tqdm(total=total, unit=" cases", disable=not sys.stderr.isatty())

    def __enter__(self):
        return self._bar.update

    def __exit__(self, *_):
        self._bar.close()


if __name__ == "__main__":
    sys.exit(main())
