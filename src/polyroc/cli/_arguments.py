"""The arguments that commands share, each with the line that `--help` shows, and the record that commands get."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from polyroc._estimator._curve import as_interval_max_fpr
from polyroc._inputs.checks import MOST_RESAMPLES, as_confidence_level, as_n_jobs, as_rng, one_of
from polyroc._inputs.options import DECLARED
from polyroc._uncertainty.bootstrap import as_draws
from polyroc.cli._columns import Columns
from polyroc.cli._messages import CommandError, typed
from polyroc.evaluation._intervals import PAGE_METHODS

_COLUMNS, _METHOD, _SURE, _OUTPUT, _GOAL = "Columns", "Method", "Uncertainty", "Output", "Goal"
_SIZE = "Files larger than memory"


def _option(panel: str, text: str, *names: str, **how: Any) -> Any:
    """An option with its help, on one of the panels of `--help`."""
    return typer.Option(*names, help=text, rich_help_panel=panel, **how)


def _declared(name: str) -> Any:
    """An option of the library that is called the same here, with the words of its declaration."""
    said = DECLARED[name].metadata
    return _option(_METHOD, said["help"], metavar="|".join(said["words"]) or None)


File: TypeAlias = Annotated[
    str,
    typer.Argument(
        help="CSV, TSV, Parquet, Arrow, Feather, NDJSON or npz; - for standard input, or a pipe.",
        metavar="FILE",
        show_default=False,
    ),
]
Files: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        help="One file per model, or one file with --models or --model-column.", metavar="FILE...", show_default=False
    ),
]
PilotFiles: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        help="Predictions for the samples that you have: one file, or for two models as in compare.",
        metavar="FILE...",
        show_default=False,
    ),
]
HalfWidth: TypeAlias = Annotated[
    float | None,
    _option(_GOAL, "Half the width that the interval of D shall have; of two models, that of their difference."),
]
Detect: TypeAlias = Annotated[
    float | None, _option(_GOAL, "True difference between two models that the test shall find.")
]
Power: TypeAlias = Annotated[float, _option(_GOAL, "Probability with which it shall find that difference.")]
Assurance: TypeAlias = Annotated[
    float,
    _option(
        _GOAL, "Share of studies of the planned size that reach the half width, or share of plans that have the power."
    ),
]
Allocation: TypeAlias = Annotated[
    str,
    _option(
        _GOAL,
        "Shares of the classes: same as in the file; equal numbers; optimal: those that need the fewest samples.",
        metavar="same|equal|optimal",
    ),
]
PlannedStatistic: TypeAlias = Annotated[
    str, _option(_GOAL, "D, M, or the area under the mean curve.", "--statistic", metavar="auc|hand_till|mean_auc")
]
PilotModel: TypeAlias = Annotated[
    str | None,
    _option(
        _COLUMNS,
        "Column with the name of the model, for a file with one row per sample and model; NAME=MODEL for one, "
        "NAME=A,B for two.",
        "--model-column",
        metavar="NAME",
    ),
]
PlanPlot: TypeAlias = Annotated[
    Path | None,
    _option(_OUTPUT, "Save half width or power against the number of samples as a .png, .svg or .pdf file.", "--plot"),
]
Target: TypeAlias = Annotated[str, _option(_COLUMNS, "Column of the true classes.", show_default=False)]
Scores: TypeAlias = Annotated[
    str | None,
    _option(
        _COLUMNS,
        "Score columns, 'p_*' or a,b,c; by default all other numeric columns. A common prefix or suffix is "
        "removed if the rest names the classes.",
    ),
]
Labels: TypeAlias = Annotated[
    str | None,
    _option(
        _COLUMNS, "Classes in the order of the score columns, a,b,c; needed if the column names do not contain them."
    ),
]
SampleWeight: TypeAlias = Annotated[str | None, _option(_COLUMNS, "Column of sample weights.")]
Groups: TypeAlias = Annotated[
    str | None,
    _option(_COLUMNS, "Group of each sample, such as a patient ID. If given, groups are independent, not samples."),
]
Key: TypeAlias = Annotated[
    str | None, _option(_COLUMNS, "Column that identifies each row, to match the rows of several files.")
]
ModelColumns: TypeAlias = Annotated[
    str | None, _option(_COLUMNS, "Several models in one file, by their columns: 'knn=knn_*,tree=tree_*'.", "--models")
]
ModelColumn: TypeAlias = Annotated[
    str | None,
    _option(
        _COLUMNS,
        "Column with the name of the model, for a file with one row per sample and model; NAME=A,B compares two "
        "of its models.",
        metavar="NAME",
    ),
]
OneModel: TypeAlias = Annotated[
    str | None,
    _option(
        _COLUMNS,
        "Column with the name of the model, and which model to evaluate, for a file with one row per sample and model.",
        "--model-column",
        metavar="NAME=MODEL",
    ),
]
Pooled: TypeAlias = Annotated[
    bool,
    _option(
        _COLUMNS,
        "All rows are samples of one model, although a column looks like the names of several models.",
        "--pooled",
    ),
]
DropMissing: TypeAlias = Annotated[
    bool,
    _option(
        _COLUMNS,
        "Leave out rows with missing values, such as NaN in a score, and say how many of which class; of several "
        "models, for all of them.",
        "--drop-missing",
    ),
]
Common: TypeAlias = Annotated[
    bool,
    _option(
        _COLUMNS,
        "With --key: compare the rows that all files have, and say how many were left out of each.",
        "--common",
    ),
]
Costs: TypeAlias = Annotated[
    str | None,
    _option(
        _METHOD,
        "File of misclassification costs: one row per true class, one column per predicted class, with a header.",
    ),
]
DecisionTarget: TypeAlias = Annotated[
    str | None, _option(_COLUMNS, "Column of the true classes; not with --apply.", "--target")
]
DecisionCosts: TypeAlias = Annotated[
    str | None,
    _option(
        _METHOD,
        "File of costs: one row per true class, one column per predicted class, with a header. The diagonal "
        "counts, and negative entries are gains.",
        "--costs",
    ),
]
DecisionGroups: TypeAlias = Annotated[
    str | None,
    _option(
        _COLUMNS,
        "Group of each sample, such as a patient ID. If given, folds keep groups whole, and intervals count "
        "groups instead of samples.",
        "--groups",
    ),
]
Prior: TypeAlias = Annotated[
    str | None,
    _option(
        _METHOD,
        "Prevalence of the classes where the rule will be used: a=0.1,b=0.9, or a file; by default that of the "
        "samples.",
    ),
]
Rule: TypeAlias = Annotated[
    str | None,
    _option(
        _METHOD,
        "auto (default): bayes, or as much of tuned as is seen to cost less; tuned: offsets tuned to the lowest "
        "cost; bayes: the lowest expected cost, scores taken as probabilities; argmax: the highest score.",
        metavar="auto|tuned|bayes|argmax",
    ),
]
RejectCost: TypeAlias = Annotated[
    float | None, _option(_METHOD, "Cost of predicting no class; if given, the rule abstains where that is cheaper.")
]
RuleFile: TypeAlias = Annotated[
    str | None,
    _option(
        _METHOD,
        "Apply a rule that --save-rule wrote to samples without labels; needs --out.",
        "--apply",
        metavar="FILE",
    ),
]
SaveRule: TypeAlias = Annotated[Path | None, _option(_OUTPUT, "Save the rule as a .json file, to apply it later.")]
DecisionsOut: TypeAlias = Annotated[
    Path | None,
    _option(
        _OUTPUT, "Save the rows with the predicted class, in column decision, as a .parquet or .csv file.", "--out"
    ),
]
Weighting: TypeAlias = Annotated[str, _declared("weighting")]
Thresholds: TypeAlias = Annotated[str, _declared("thresholds")]
NThresholds: TypeAlias = Annotated[int, _declared("n_thresholds")]
Shrinkage: TypeAlias = Annotated[float, _declared("shrinkage")]
Structure: TypeAlias = Annotated[str, _declared("structure")]
Engine: TypeAlias = Annotated[str, _declared("engine")]
MaxPairs: TypeAlias = Annotated[int | None, _declared("max_pairs")]
MaxFpr: TypeAlias = Annotated[
    float | None,
    _option(
        _SURE,
        "Also the partial area: that left of this false positive rate under the curve of D, standardised as in "
        "scikit-learn.",
    ),
]
ConfidenceLevel: TypeAlias = Annotated[float, _option(_SURE, "Confidence level of the intervals.")]
IntervalMethod: TypeAlias = Annotated[
    str,
    _option(
        _SURE,
        "Source of the intervals. influence: what each sample contributes, without resampling; bootstrap: "
        "resampled samples; auto: influence if its formula holds for these data, else 999 resamples with seed 0; "
        "none (evaluate only): no intervals.",
        "--method",
        metavar="auto|influence|bootstrap|none",
    ),
]
Resamples: TypeAlias = Annotated[
    int | None, _option(_SURE, "Number of resamples, by default 999; with --method bootstrap.")
]
Seed: TypeAlias = Annotated[
    int | None,
    _option(
        _SURE,
        "Random seed of --method bootstrap and of --max-pairs, by default 0; the same seed gives the same numbers.",
    ),
]
PairsSeed: TypeAlias = Annotated[int | None, _option(_SURE, "Random seed of --max-pairs, by default 0.", "--seed")]
FoldsSeed: TypeAlias = Annotated[int, _option(_SURE, "Random seed; the same seed gives the same numbers.", "--seed")]
Jobs: TypeAlias = Annotated[int | None, _option(_SURE, DECLARED["n_jobs"].metadata["help"])]
Json: TypeAlias = Annotated[bool, _option(_OUTPUT, "Print JSON and nothing else to standard output.", "--json")]
Measures: TypeAlias = Annotated[
    bool, _option(_OUTPUT, "Also accuracy, F1, kappa, Brier score and others, with intervals.", "--measures")
]
Plot: TypeAlias = Annotated[Path | None, _option(_OUTPUT, "Save the ROC curve as a .png, .svg or .pdf file.")]
Out: TypeAlias = Annotated[Path | None, _option(_OUTPUT, "Save the differences as a .csv file.")]
Report: TypeAlias = Annotated[Path | None, _option(_OUTPUT, "Save everything as one .html page that works offline.")]
IncludeDecisions: TypeAlias = Annotated[
    bool,
    _option(
        _OUTPUT,
        "Also show on the page of --report what predictions cost. The page then contains scores of single samples.",
        "--include-decisions",
    ),
]
Force: TypeAlias = Annotated[
    bool, _option(_OUTPUT, "Replace existing files that polyroc did not write; never an input.", "--force")
]
Stream: TypeAlias = Annotated[
    bool | None,
    _option(
        _SIZE,
        "Count the scores of Parquet files, or of a folder of them, in two passes instead of reading them into "
        "memory; by default where they do not fit.",
        "--stream/--no-stream",
    ),
]
Exact: TypeAlias = Annotated[
    bool,
    _option(
        _SIZE,
        "With --stream: sorted scores instead of bins, one column at a time; needs 5 to 10 bytes per row.",
        "--exact",
    ),
]
Partial: TypeAlias = Annotated[
    bool, _option(_SIZE, "With --stream: leave out what is damaged, and say so.", "--partial")
]
CheckpointFile: TypeAlias = Annotated[
    Path | None,
    _option(
        _SIZE, "With --stream: an .npz file in which the work is stored, and from which it goes on.", "--checkpoint"
    ),
]
Quiet: TypeAlias = Annotated[bool, _option(_OUTPUT, "No progress bars, notes or hints; warnings stay.", "--quiet")]
Debug: TypeAlias = Annotated[bool, _option(_OUTPUT, "On an error, print the traceback.", "--debug")]


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
            raise CommandError(
                "--resamples", f"must be from 2 to {MOST_RESAMPLES:,}, got 0; --method none leaves the intervals out"
            )
        if self.interval_method is not None:
            # The seed is also that of a sample of the pairs.
            check_draws(self, None if self.method.get("max_pairs") else self.seed)
        if self.max_fpr is not None:
            as_interval_max_fpr(self.max_fpr)
        if self.include_decisions and self.report is None:
            raise CommandError("--include-decisions", "needs --report, because it adds to the page")

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
    if method != "bootstrap" and (settings.resamples is not None or seed is not None):
        option = "--seed" if settings.resamples is None else "--resamples"
        why = "chooses by the data alone" if method == "auto" else "does not resample"
        raise CommandError(option, f"needs a method that draws: pass --method bootstrap (--method {method} {why})")
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
