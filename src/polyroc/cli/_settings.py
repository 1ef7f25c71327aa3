"""What the user asked for, as one record that the commands hand on."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyroc._inputs._checks import MOST_RESAMPLES, as_confidence_level, as_n_jobs, as_n_resamples, as_rng
from polyroc._inputs._options import DECLARED
from polyroc.cli._plain import CommandError
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

    def __post_init__(self) -> None:
        # Before any file is read: the library would say the same, but only after the first evaluation.
        as_confidence_level(self.confidence_level)
        as_rng(self.seed)
        as_n_jobs(self.jobs)
        _check_resamples(self.resamples)


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
    rest = ("costs", "confidence_level", "resamples", "seed", "jobs", "json", "plot", "out", "report")
    flags = {name: bool(given.get(name)) for name in ("force", "quiet")}
    return Settings(columns, method, **flags, **{name: given.get(name) for name in rest})  # type: ignore[arg-type]
