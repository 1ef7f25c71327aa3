"""`polyroc plan`: how many samples it takes, from a file of predictions."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polyroc
from polyroc import InputError, Plan
from polyroc.cli._columns import split
from polyroc.cli._commands import check_files, library_options, say_models, say_rows
from polyroc.cli._files import quoted_path
from polyroc.cli._messages import Messages
from polyroc.cli._models import read_models
from polyroc.cli._outputs import as_json, draw_plan
from polyroc.cli._plain import CommandError
from polyroc.cli._problem import read_problem
from polyroc.cli._settings import Settings


@dataclass(frozen=True)
class Asked:
    """Keyword arguments of `polyroc.plan`."""

    half_width: float | None
    detect: float | None
    power: float
    assurance: float
    allocation: str
    statistic: str

    def __post_init__(self) -> None:
        # Before any file is read.
        if (self.half_width is None) == (self.detect is None):
            came = "neither" if self.detect is None else "both"
            msg = f"plan needs either --half-width or --detect, got {came}"
            raise CommandError(msg)


def run_plan(paths: Sequence[str], models: str | None, asked: Asked, settings: Settings) -> None:
    """How many samples an interval, or the test of two models, takes."""
    if settings.seed is not None and settings.method["max_pairs"] is None:
        msg = "--seed of plan draws the pairs of --max-pairs: leave it out, or add --max-pairs"
        raise CommandError(msg)
    check_files(paths, settings)
    messages = Messages(quiet=settings.quiet)
    with messages.heard():
        pilot = _pilot(paths, models, asked, settings, messages)
        plan = polyroc.plan(pilot, confidence_level=settings.confidence_level, **vars(asked))
        if settings.plot is not None:
            draw_plan(settings.plot, plan)
        if settings.json:
            source = {"files": list(paths), "target": settings.columns.target}
            rest = {"source": source, "warnings": list(messages.warnings), "version": polyroc.__version__}
            sys.stdout.write(f"{as_json(plan.to_dict() | rest)}\n")
        else:
            _print(plan, paths)


def _print(plan: Plan, paths: Sequence[str]) -> None:
    from polyroc.cli._text import print_plan

    print_plan(plan, title=", ".join(quoted_path(path)[1:-1] for path in paths))


def _pilot(paths: Sequence[str], models: str | None, asked: Asked, settings: Settings, messages: Messages) -> Any:
    """The evaluation of one model, or the comparison of two."""
    named = settings.columns.model_column
    is_one = len(paths) == 1 and models is None and (named is None or len(split(named.partition("=")[2])) == 1)
    if is_one and settings.columns.common:
        msg = "--common needs two models: two files, or one file with --model-column"
        raise CommandError(msg)
    if is_one and asked.detect is not None:
        msg = "--detect needs two models: two files, or one file with --models or --model-column"
        raise CommandError(msg)
    if is_one:
        problem = read_problem(paths[0], settings.columns)
        say_rows(problem, settings, messages)
        options = library_options(problem, settings) | {"rng": settings.seed or 0}
        return polyroc.evaluate(problem.target.values, problem.scores, **options)
    given = read_models(paths, models, settings.columns)
    say_models(given, settings, messages)
    if len(given.scores) != 2:
        msg = f"plan takes one model or two, got {len(given.scores)}"
        raise CommandError(msg)
    options = library_options(given.first, settings)
    try:
        return polyroc.compare(given.first.target.values, given.scores, method="influence", **options)
    except InputError as error:
        if error.argument != "method":
            raise
        # The library says which method to take instead; a plan has no other.
        reason = error.rule.removeprefix("must be 'bootstrap' where ")
        msg = f"no plan can be made by these models: {reason}"
        raise CommandError(msg) from error
