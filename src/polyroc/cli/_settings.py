"""What the user asked for, as one record that the commands hand on."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyroc._estimator._partial import as_interval_max_fpr
from polyroc._inputs.checks import MOST_RESAMPLES, as_confidence_level, as_n_jobs, as_rng, one_of
from polyroc._inputs.options import DECLARED
from polyroc._uncertainty.method import as_draws
from polyroc.cli._columns import Columns
from polyroc.cli._plain import CommandError, typed
from polyroc.evaluation._intervals import PAGE_METHODS


@dataclass(frozen=True)
class Settings:
    """How to compute, and how to say it."""

    columns: Columns
    method: dict[str, Any]
    """Keyword arguments of `polyroc.evaluate`."""
    costs: str | None
    confidence_level: float
    interval_method: str | None
    """--method of `evaluate`, `compare` and `demo`; None for commands without."""
    resamples: int | None
    seed: int | None
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
    """Whether files are streamed instead of read; None if their size decides."""
    exact: bool = False
    partial: bool = False
    checkpoint: Path | None = None

    def __post_init__(self) -> None:
        # Before any file is read: the library would say the same, but only after the first evaluation.
        as_confidence_level(self.confidence_level)
        as_rng(self.seed)
        as_n_jobs(self.jobs)
        if self.resamples == 0:
            msg = f"--resamples must be from 2 to {MOST_RESAMPLES:,}, got 0; --method none leaves the intervals out"
            raise CommandError(msg)
        if self.interval_method is not None:
            # The seed is also that of a sample of the pairs.
            check_draws(self, None if self.method.get("max_pairs") else self.seed)
        if self.max_fpr is not None:
            as_interval_max_fpr(self.max_fpr)
        if self.include_decisions and self.report is None:
            msg = "--include-decisions needs --report, because it adds to the page"
            raise CommandError(msg)

    @property
    def has_intervals(self) -> bool:
        """Whether intervals are asked for."""
        return self.interval_method != "none"

    @property
    def resampling(self) -> dict[str, Any]:
        """Keyword arguments of the library that say where intervals come from."""
        # The same command gives the same numbers.
        seed = (self.seed or 0) if self.interval_method == "bootstrap" else None
        return {"method": self.interval_method, "n_resamples": self.resamples, "rng": seed}


def check_draws(settings: Settings, seed: int | None) -> None:
    """Refuse --resamples and --seed with a method that does not draw, before any file is read."""
    method = one_of(settings.interval_method, "method", PAGE_METHODS)
    as_draws(method, n_resamples=settings.resamples, rng=seed)


def settings_of(given: dict[str, Any]) -> Settings:
    """The arguments of a command, sorted by what they are about."""
    # Costs are a file here, which is read later.
    method = {name: given[name] for name in DECLARED if name in given and name != "costs"}
    changed = {name: value for name, value in method.items() if value != DECLARED[name].default}
    changed |= {"costs": given["costs"]} if given.get("costs") is not None else {}
    columns = Columns(
        **{name: given.get(name) for name in ("scores", "labels", "sample_weight", "groups", "key", "model_column")},
        target=given["target"],
        pooled=bool(given.get("pooled")),
        drop_missing=bool(given.get("drop_missing")),
        common=bool(given.get("common")),
        has_groups="groups" in given,
        method="".join(f" --{name.replace('_', '-')} {typed(value)}" for name, value in changed.items()),
    )
    rest = ("costs", "confidence_level", "interval_method", "resamples", "seed", "jobs", "json", "plot", "out")
    names = ("force", "quiet", "measures", "include_decisions", "exact", "partial")
    flags = {name: bool(given.get(name)) for name in names}
    others = {name: given.get(name) for name in (*rest, "report", "max_fpr", "stream", "checkpoint")}
    return Settings(columns, method, **flags, **others)  # type: ignore[arg-type]
