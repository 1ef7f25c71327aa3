"""polyroc reproduce: run experiments, write what they find, say which claims hold."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from polyroc.cli._files import is_input, quoted_path
from polyroc.cli._messages import Messages
from polyroc.cli._outputs import said_of, write_whole
from polyroc.cli._plain import CommandError, clean, listed
from polyroc.experiments import EXPERIMENTS, Outcome, reproduce, write
from polyroc.experiments._reproduce import check_installed
from polyroc.experiments._write import claims_page, made_folder

ALL = "all"
_CLAIMS = "claims.md"


@dataclass(frozen=True)
class Wanted:
    """What to run, and where it goes."""

    name: str
    out: Path
    data: Path | None
    quick: bool
    seed: int
    jobs: int | None
    force: bool
    quiet: bool

    @property
    def names(self) -> list[str]:
        """One experiment, or all."""
        if self.name != ALL and self.name not in EXPERIMENTS:
            msg = f"NAME must be '{ALL}' or one of {listed(list(EXPERIMENTS))}, got '{clean(self.name)}'"
            raise CommandError(msg)
        return list(EXPERIMENTS) if self.name == ALL else [self.name]


def run_reproduce(wanted: Wanted) -> None:
    """What is done stays written if a later one fails."""
    names = wanted.names
    # Before minutes of work: whether its results could be drawn and written.
    check_installed(figures=True)
    _check_folder(wanted)
    made_folder(wanted.out)
    messages = Messages(quiet=wanted.quiet)
    outcomes = []
    with messages.heard():
        for name in names:
            outcome = reproduce(
                name,
                seed=wanted.seed,
                quick=wanted.quick,
                data=wanted.data,
                n_jobs=wanted.jobs,
                progress=sys.stderr.isatty() and not wanted.quiet,
            )
            with said_of(wanted.out):
                write(outcome, wanted.out)
            outcomes.append(outcome)
            sys.stdout.write("\n".join(_lines(outcome)) + "\n\n")
            sys.stdout.flush()
    if wanted.name == ALL:
        write_whole(wanted.out / _CLAIMS, claims_page(outcomes).encode())
    sys.stdout.write(_closing(outcomes, wanted.out) + "\n")


def _check_folder(wanted: Wanted) -> None:
    """Refuse a folder of other things, in which files of the same names may lie."""
    try:
        there = {entry.name for entry in wanted.out.iterdir()}
    except OSError:  # not there yet, or no folder, which is said when it is made
        return
    data = wanted.data or os.environ.get("POLYROC_DATA")
    if data and is_input(wanted.out, [str(data)]):
        msg = f"--out: {quoted_path(str(wanted.out))} is the folder of the data sets: name another one"
        raise CommandError(msg)
    if not wanted.force and (others := sorted(there - {*EXPERIMENTS, _CLAIMS})):
        msg = (
            f"--out: {quoted_path(str(wanted.out))} has other things in it, {listed(others, 3)}: name another folder, "
            "or add `--force` to write into it"
        )
        raise CommandError(msg)


def _lines(outcome: Outcome) -> list[str]:
    """The claims, each with what was measured below it."""
    lines = [outcome.title]
    for claim in outcome.claims:
        lines += [f"  {'holds' if claim.holds else 'NOT  '}  {claim.text}", f"         {claim.measured}"]
    return lines + [f"  {clean(note, 200)}" for note in outcome.notes]


def _closing(outcomes: Sequence[Outcome], out: Path) -> str:
    claims = [claim for outcome in outcomes for claim in outcome.claims]
    held = sum(claim.holds for claim in claims)
    return f"{held} of {len(claims)} claims hold. Figures, tables and claims are in {quoted_path(str(out))}"
