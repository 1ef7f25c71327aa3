"""What the user asked for, as one record that the commands hand on, and how long it will take."""

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from polyroc import Evaluation
from polyroc._estimator._partial import as_interval_max_fpr
from polyroc._inputs._checks import MOST_RESAMPLES, as_confidence_level, as_n_jobs, as_n_resamples, as_rng
from polyroc._inputs._options import DECLARED
from polyroc._lib._numbers import counted
from polyroc._lib._threads import n_threads
from polyroc._uncertainty._bootstrap import draw_samples
from polyroc._uncertainty._resampling import ResamplingPlan, units_of
from polyroc.cli._plain import CommandError, typed
from polyroc.cli._problem import Columns


@dataclass(frozen=True)
class Settings:
    """How to compute, and how to say it."""

    columns: Columns
    method: dict[str, Any]
    """Keyword arguments of `polyroc.evaluate`."""
    costs: str | None
    confidence_level: float
    resamples: int | None
    """0 for none, None where nobody named a number."""
    seed: int
    jobs: int | None
    json: bool
    plot: Path | None
    out: Path | None
    report: Path | None
    force: bool
    """Whether files of another kind may be replaced."""
    quiet: bool
    measures: bool
    """Whether all measures are asked for."""
    max_fpr: float | None = None
    """Where the partial area stops; None where nobody wants it."""
    include_decisions: bool = False
    """Whether the page may contain scores of single samples."""
    stream: bool | None = None
    """Whether files are passed over instead of read; None where their size decides."""
    exact: bool = False
    partial: bool = False
    checkpoint: Path | None = None

    def __post_init__(self) -> None:
        # Before any file is read: the library would say the same, but only after the first evaluation.
        as_confidence_level(self.confidence_level)
        as_rng(self.seed)
        as_n_jobs(self.jobs)
        _check_resamples(self.resamples)
        if self.max_fpr is not None:
            as_interval_max_fpr(self.max_fpr)
        if self.include_decisions and self.report is None:
            msg = "--include-decisions needs --report, because it adds to the page"
            raise CommandError(msg)


def _check_resamples(count: int | None) -> None:
    if count is None or count == 0:
        return
    try:
        as_n_resamples(count)
    except ValueError as error:
        msg = f"--resamples must be from 2 to {MOST_RESAMPLES:,}, or 0 for none (evaluate only), got {count}"
        raise CommandError(msg) from error


def settings_of(given: dict[str, Any]) -> Settings:
    """The arguments of a command, sorted by what they are about."""
    columns = Columns(
        **{name: given.get(name) for name in ("scores", "labels", "sample_weight", "groups", "key", "model_column")},
        target=given["target"],
    )
    # Costs are a file here, which is read later.
    method = {name: given[name] for name in DECLARED if name in given and name != "costs"}
    rest = ("costs", "confidence_level", "resamples", "seed", "jobs", "json", "plot", "out", "report", "max_fpr")
    names = ("force", "quiet", "measures", "include_decisions", "exact", "partial")
    flags = {name: bool(given.get(name)) for name in names}
    others = {name: given.get(name) for name in (*rest, "stream", "checkpoint")}
    return Settings(columns, method, **flags, **others)  # type: ignore[arg-type]


_COLUMNS = ("scores", "labels", "sample_weight", "groups", "model_column")


def given_options(settings: Settings) -> str:
    """Options about columns and method that are not the default, with a blank before each."""
    given = {name: getattr(settings.columns, name) for name in _COLUMNS} | {"costs": settings.costs}
    given |= {name: value for name, value in settings.method.items() if value != DECLARED[name].default}
    said = {name: value for name, value in given.items() if value is not None}
    return "".join(f" --{name.replace('_', '-')} {typed(value)}" for name, value in said.items())


# The same on every machine and under every load, so that the same seed gives the same numbers.
DEFAULT = 999
# From when on a bar is shown, in seconds.
_LONG = 1.0


@dataclass(frozen=True)
class Resamples:
    """A number of resamples, and how long they are expected to take."""

    count: int
    seconds: float = 0.0

    @property
    def is_long(self) -> bool:
        return self.seconds > _LONG

    @property
    def note(self) -> str:
        """What is announced before they are drawn; nothing where none are."""
        if self.count == 0:
            return ""
        return f"{counted(self.count, 'resample')}, {duration(self.seconds)}; --resamples changes the number"


def duration(seconds: float) -> str:
    """A time that is only expected, in words.

    >>> duration(0.2), duration(7.4), duration(170), duration(7300)
    ('less than a second', 'about 7 s', 'about 3 min', 'about 2 h')
    """
    if seconds < 1:
        return "less than a second"
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.0f} h"


def plan_resamples(
    evaluation: Evaluation, count: int, *, groups: Any, n_jobs: int | None, n_models: int = 1, timed: bool = True
) -> Resamples:
    """The number that was asked for; `timed` tells how long it will take."""
    if count == 0 or not timed:
        return Resamples(count)
    return Resamples(count, count * n_models * seconds_of_one(evaluation, groups, n_jobs))


def seconds_of_one(evaluation: Evaluation, groups: Any, n_jobs: int | None) -> float:
    """How long one resample takes among many: a block for each thread, after a warm-up."""
    predictions = evaluation._samples
    units, replicates = units_of(predictions, groups), evaluation._replicates()

    def draw(count: int) -> float:
        start = perf_counter()
        plan = ResamplingPlan(predictions, units, count, [0], evaluation._pair_index)
        draw_samples([replicates], plan, n_jobs=n_jobs, progress=False)
        return perf_counter() - start

    # Compiled code is loaded by the first.
    draw(1)
    first, last = ResamplingPlan(predictions, units, DEFAULT, [0]).blocks[0]
    count = (last - first) * n_threads(n_jobs)
    return draw(count) / count
