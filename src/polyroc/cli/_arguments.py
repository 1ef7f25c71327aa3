"""The arguments that commands share, each with the line that `--help` shows, and the record that commands get."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from polyroc._estimator._partial import as_interval_max_fpr
from polyroc._inputs.checks import MOST_RESAMPLES, as_confidence_level, as_n_jobs, as_rng, one_of
from polyroc._inputs.options import DECLARED
from polyroc._uncertainty.method import as_draws
from polyroc.cli._columns import Columns
from polyroc.cli._messages import CommandError, typed
from polyroc.evaluation._intervals import PAGE_METHODS

_COLUMNS, _METHOD, _SURE, _OUTPUT, _GOAL = "Columns", "Method", "Uncertainty", "Output", "Goal"
_SIZE = "Files larger than memory"


def _declared(name: str) -> Any:
    """An option of the library that is called the same here, with the words of its declaration."""
    said = DECLARED[name].metadata
    return typer.Option(metavar="|".join(said["words"]) or None, help=said["help"], rich_help_panel=_METHOD)


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
    typer.Option(
        help="Half the width that the interval of D shall have; of two models, that of their difference.",
        rich_help_panel=_GOAL,
        show_default=False,
    ),
]
Detect: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="True difference between two models that the test shall find.", rich_help_panel=_GOAL, show_default=False
    ),
]
Power: TypeAlias = Annotated[
    float, typer.Option(help="Probability with which it shall find that difference.", rich_help_panel=_GOAL)
]
Allocation: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="same|equal|optimal",
        help="Shares of the classes: same as in the file; equal numbers; optimal: those that need the fewest samples.",
        rich_help_panel=_GOAL,
    ),
]
PlannedStatistic: TypeAlias = Annotated[
    str,
    typer.Option(
        "--statistic",
        metavar="auc|hand_till|mean_auc",
        help="D, M, or the area under the mean curve.",
        rich_help_panel=_GOAL,
    ),
]
PilotModel: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--model-column",
        help="Column with the name of the model, for a file with one row per sample and model; NAME=MODEL for one, "
        "NAME=A,B for two.",
        metavar="NAME",
        rich_help_panel=_COLUMNS,
    ),
]
PlanPlot: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        help="Save half width or power against the number of samples as a .png, .svg or .pdf file.",
        rich_help_panel=_OUTPUT,
    ),
]
Target: TypeAlias = Annotated[
    str, typer.Option(help="Column of the true classes.", rich_help_panel=_COLUMNS, show_default=False)
]
Scores: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Score columns, 'p_*' or a,b,c; by default all other numeric columns. A common prefix "
        "or suffix is removed if the rest names the classes.",
        rich_help_panel=_COLUMNS,
    ),
]
Labels: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Classes in the order of the score columns, a,b,c; needed if the column names do not contain them.",
        rich_help_panel=_COLUMNS,
    ),
]
SampleWeight: TypeAlias = Annotated[
    str | None, typer.Option(help="Column of sample weights.", rich_help_panel=_COLUMNS)
]
Groups: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Group of each sample, such as a patient ID. If given, groups are independent, not samples.",
        rich_help_panel=_COLUMNS,
    ),
]
Key: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Column that identifies each row, to match the rows of several files.", rich_help_panel=_COLUMNS),
]
ModelColumns: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--models",
        help="Several models in one file, by their columns: 'knn=knn_*,tree=tree_*'.",
        rich_help_panel=_COLUMNS,
    ),
]
ModelColumn: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Column with the name of the model, for a file with one row per sample and model; NAME=A,B compares "
        "two of its models.",
        metavar="NAME",
        rich_help_panel=_COLUMNS,
    ),
]
OneModel: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--model-column",
        help="Column with the name of the model, and which model to evaluate, for a file with one row per sample "
        "and model.",
        metavar="NAME=MODEL",
        rich_help_panel=_COLUMNS,
    ),
]
Pooled: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--pooled",
        help="All rows are samples of one model, although a column looks like the names of several models.",
        rich_help_panel=_COLUMNS,
    ),
]
DropMissing: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--drop-missing",
        help="Leave out rows with missing values, such as NaN in a score, and say how many of which class; of several "
        "models, for all of them.",
        rich_help_panel=_COLUMNS,
    ),
]
Common: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--common",
        help="With --key: compare the rows that all files have, and say how many were left out of each.",
        rich_help_panel=_COLUMNS,
    ),
]
Costs: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="File of misclassification costs: one row per true class, one column per predicted class, with a header.",
        rich_help_panel=_METHOD,
    ),
]
DecisionTarget: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--target", help="Column of the true classes; not with --apply.", rich_help_panel=_COLUMNS, show_default=False
    ),
]
DecisionCosts: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--costs",
        help="File of costs: one row per true class, one column per predicted class, with a header. The diagonal "
        "counts, and negative entries are gains.",
        rich_help_panel=_METHOD,
    ),
]
DecisionGroups: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--groups",
        help="Group of each sample, such as a patient ID. If given, folds keep groups whole, and intervals count "
        "groups instead of samples.",
        rich_help_panel=_COLUMNS,
    ),
]
Prior: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Prevalence of the classes where the rule will be used: a=0.1,b=0.9, or a file; by default that of the "
        "samples.",
        rich_help_panel=_METHOD,
    ),
]
Rule: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="auto|tuned|bayes|argmax",
        help="auto (default): bayes, or as much of tuned as is seen to cost less; tuned: offsets tuned to the lowest "
        "cost; bayes: the lowest expected cost, scores taken as probabilities; argmax: the highest score.",
        rich_help_panel=_METHOD,
    ),
]
RejectCost: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="Cost of predicting no class; if given, the rule abstains where that is cheaper.", rich_help_panel=_METHOD
    ),
]
RuleFile: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--apply",
        metavar="FILE",
        help="Apply a rule that --save-rule wrote to samples without labels; needs --out.",
        rich_help_panel=_METHOD,
    ),
]
SaveRule: TypeAlias = Annotated[
    Path | None, typer.Option(help="Save the rule as a .json file, to apply it later.", rich_help_panel=_OUTPUT)
]
DecisionsOut: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help="Save the rows with the predicted class, in column decision, as a .parquet or .csv file.",
        rich_help_panel=_OUTPUT,
    ),
]
Weighting: TypeAlias = Annotated[str, _declared("weighting")]
Thresholds: TypeAlias = Annotated[str, _declared("thresholds")]
NThresholds: TypeAlias = Annotated[int, _declared("n_thresholds")]
Shrinkage: TypeAlias = Annotated[float, _declared("shrinkage")]
Model: TypeAlias = Annotated[str, _declared("model")]
Engine: TypeAlias = Annotated[str, _declared("engine")]
MaxPairs: TypeAlias = Annotated[int | None, _declared("max_pairs")]
MaxFpr: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="Also the partial area: that left of this false positive rate under the curve of D, standardised as in "
        "scikit-learn.",
        rich_help_panel=_SURE,
        show_default=False,
    ),
]
ConfidenceLevel: TypeAlias = Annotated[
    float, typer.Option(help="Confidence level of the intervals.", rich_help_panel=_SURE)
]
IntervalMethod: TypeAlias = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="auto|influence|bootstrap|none",
        help="Source of the intervals. influence: what each sample contributes, without resampling; bootstrap: "
        "resampled samples; auto: influence if its formula holds for these data, else 999 resamples with seed 0; none "
        "(evaluate only): no intervals.",
        rich_help_panel=_SURE,
    ),
]
Resamples: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Number of resamples, by default 999; with --method bootstrap.",
        rich_help_panel=_SURE,
        show_default=False,
    ),
]
Seed: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Random seed of --method bootstrap and of --max-pairs, by default 0; the same seed gives the same "
        "numbers.",
        rich_help_panel=_SURE,
        show_default=False,
    ),
]
PairsSeed: TypeAlias = Annotated[
    int | None,
    typer.Option("--seed", help="Random seed of --max-pairs, by default 0.", rich_help_panel=_SURE, show_default=False),
]
FoldsSeed: TypeAlias = Annotated[
    int, typer.Option("--seed", help="Random seed; the same seed gives the same numbers.", rich_help_panel=_SURE)
]
Jobs: TypeAlias = Annotated[int | None, typer.Option(help=DECLARED["n_jobs"].metadata["help"], rich_help_panel=_SURE)]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON and nothing else to standard output.", rich_help_panel=_OUTPUT)
]
Measures: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--measures", help="Also accuracy, F1, kappa, Brier score and others, with intervals.", rich_help_panel=_OUTPUT
    ),
]
Plot: TypeAlias = Annotated[
    Path | None, typer.Option(help="Save the ROC curve as a .png, .svg or .pdf file.", rich_help_panel=_OUTPUT)
]
Out: TypeAlias = Annotated[
    Path | None, typer.Option(help="Save the differences as a .csv file.", rich_help_panel=_OUTPUT)
]
Report: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="Save everything as one .html page that works offline.", rich_help_panel=_OUTPUT),
]
IncludeDecisions: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--include-decisions",
        help="Also show on the page of --report what predictions cost. The page then contains scores of single "
        "samples.",
        rich_help_panel=_OUTPUT,
    ),
]
Force: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Replace existing files that polyroc did not write; never an input.",
        rich_help_panel=_OUTPUT,
    ),
]
Stream: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--stream/--no-stream",
        help="Count the scores of Parquet files, or of a folder of them, in two passes instead of reading them into "
        "memory; by default where they do not fit.",
        rich_help_panel=_SIZE,
        show_default=False,
    ),
]
Exact: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--exact",
        help="With --stream: sorted scores instead of bins, one column at a time; needs 5 to 10 bytes per row.",
        rich_help_panel=_SIZE,
    ),
]
Partial: TypeAlias = Annotated[
    bool,
    typer.Option("--partial", help="With --stream: leave out what is damaged, and say so.", rich_help_panel=_SIZE),
]
CheckpointFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        help="With --stream: an .npz file in which the work is stored, and from which it goes on.",
        rich_help_panel=_SIZE,
    ),
]
Quiet: TypeAlias = Annotated[
    bool, typer.Option("--quiet", help="No progress bars, notes or hints; warnings stay.", rich_help_panel=_OUTPUT)
]
Debug: TypeAlias = Annotated[
    bool, typer.Option("--debug", help="On an error, print the traceback.", rich_help_panel=_OUTPUT)
]


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
    """Whether files are passed over instead of read; None where their size decides."""
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
        msg = f"{option} needs a method that draws: pass --method bootstrap (--method {method} {why})"
        raise CommandError(msg)
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
