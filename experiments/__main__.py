"""Run the paper's experiments, write what they find, and say which claims hold.

python -m experiments all --out reproduction      what `make reproduction` calls
python -m experiments costs --out reproduction --quick
"""

import argparse
import sys
import textwrap
from pathlib import Path

from experiments import EXPERIMENTS, Outcome, reproduce, write
from experiments._reproduce import check_installed
from experiments._write import claims_page, made_folder
from polyroc._lib.files import write_whole

ALL = "all"


def main(arguments: list[str] | None = None) -> int:
    """Results of each experiment are written before the next one starts."""
    parser = argparse.ArgumentParser("python -m experiments", description="Run the paper's experiments.")
    parser.add_argument("name", choices=[ALL, *EXPERIMENTS], help="an experiment, or all of them")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results; existing results are replaced")
    parser.add_argument("--quick", action="store_true", help="a version that takes seconds")
    parser.add_argument("--data", type=Path, help="folder of the data sets (default: POLYROC_DATA)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all samples and splits (default: %(default)s)")
    parser.add_argument("--jobs", type=int, help="number of threads (default: as many as the process may use)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    wanted = parser.parse_args(arguments)
    # Before minutes of work: whether results can be drawn and written.
    check_installed(figures=True)
    made_folder(wanted.out)
    outcomes = []
    for name in EXPERIMENTS if wanted.name == ALL else [wanted.name]:
        outcome = reproduce(
            name,
            seed=wanted.seed,
            quick=wanted.quick,
            data=wanted.data,
            n_jobs=wanted.jobs,
            progress=sys.stderr.isatty() and not wanted.quiet,
        )
        write(outcome, wanted.out)
        outcomes.append(outcome)
        print(_text(outcome), flush=True)
    if wanted.name == ALL:
        write_whole(wanted.out / "claims.md", claims_page(outcomes).encode())
    claims = [claim for outcome in outcomes for claim in outcome.claims]
    print(f"{sum(claim.holds for claim in claims)} of {len(claims)} claims hold. Results are in {wanted.out}.")
    return 0


def _text(outcome: Outcome) -> str:
    """The claims, each with what was measured below it."""
    lines = [outcome.title]
    for claim in outcome.claims:
        lines += [f"  {'holds' if claim.holds else 'NOT  '}  {claim.text}", f"         {claim.measured}"]
    return "\n".join([*lines, *(f"  {textwrap.shorten(note, 200)}" for note in outcome.notes), ""])


if __name__ == "__main__":
    sys.exit(main())
