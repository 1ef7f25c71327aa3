"""The commands as typer sees them: a table of arguments, the record that is made of them, and one call each.

Each argument stands once, with the line that `--help` shows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from polyroc import __version__
from polyroc._core.curve import as_interval_max_fpr
from polyroc._inputs.checks import MOST_RESAMPLES, as_confidence_level, as_n_jobs, as_rng, one_of
from polyroc._inputs.options import DECLARED
from polyroc._uncertainty.bootstrap import as_draws
from polyroc.cli._columns import Columns
from polyroc.cli._messages import CommandError, typed
from polyroc.evaluation._intervals import PAGE_METHODS


class _Option(NamedTuple):
    """An option, or an argument of a command."""

    kind: Any
    help: str
    default: Any = None
    metavar: str | None = None
    name: str = ""
    """As it is typed, if it is not that of the argument."""


def _declared(name: str, kind: Any) -> _Option:
    """An option of the library that is called the same here, with the words of its declaration."""
    said = DECLARED[name]
    return _Option(kind, said.metadata["help"], said.default, "|".join(said.metadata["words"]) or None)


_TEXT, _FILE, _NUMBER, _COUNT = str | None, Path | None, float | None, int | None
# By panels of `--help`. What only one command says has its name in front.
_PANELS: dict[str, dict[str, _Option]] = {
    "Columns": {
        "target": _Option(str, "Column of the true classes.", ...),
        "decide.target": _Option(_TEXT, "Column of the true classes; not with --apply."),
        "key": _Option(_TEXT, "Column that identifies each row, to match the rows of several files."),
        "models": _Option(_TEXT, "Several models in one file, by their columns: 'knn=knn_*,tree=tree_*'."),
        "scores": _Option(
            _TEXT,
            "Score columns, 'p_*' or a,b,c; by default all other numeric columns. A common prefix or suffix is removed "
            "if the rest names the classes.",
        ),
        "labels": _Option(
            _TEXT, "Classes in the order of the score columns, a,b,c; needed if the column names do not contain them."
        ),
        "sample_weight": _Option(_TEXT, "Column of sample weights."),
        "groups": _Option(
            _TEXT, "Group of each sample, such as a patient ID. If given, groups are independent, not samples."
        ),
        "decide.groups": _Option(
            _TEXT,
            "Group of each sample, such as a patient ID. If given, folds keep groups whole, and intervals count groups "
            "instead of samples.",
        ),
        "model_column": _Option(
            _TEXT,
            "Column with the name of the model, and which model to evaluate, for a file with one row per sample and "
            "model.",
            metavar="NAME=MODEL",
        ),
        "compare.model_column": _Option(
            _TEXT,
            "Column with the name of the model, for a file with one row per sample and model; NAME=A,B compares two of "
            "its models.",
            metavar="NAME",
        ),
        "plan.model_column": _Option(
            _TEXT,
            "Column with the name of the model, for a file with one row per sample and model; NAME=MODEL for one, "
            "NAME=A,B for two.",
            metavar="NAME",
        ),
        "pooled": _Option(
            bool, "All rows are samples of one model, although a column looks like the names of several models."
        ),
        "drop_missing": _Option(
            bool,
            "Leave out rows with missing values, such as NaN in a score, and say how many of which class; of several "
            "models, for all of them.",
        ),
        "common": _Option(
            bool, "With --key: compare the rows that all files have, and say how many were left out of each."
        ),
    },
    "Goal": {
        "half_width": _Option(
            _NUMBER, "Half the width that the interval of D shall have; of two models, that of their difference."
        ),
        "detect": _Option(_NUMBER, "True difference between two models that the test shall find."),
        "power": _Option(float, "Probability with which it shall find that difference.", 0.8),
        "assurance": _Option(
            float,
            "Share of studies of the planned size that reach the half width, or share of plans that have the power.",
            0.8,
        ),
        "allocation": _Option(
            str,
            "Shares of the classes: same as in the file; equal numbers; optimal: those that need the fewest samples.",
            "same",
            metavar="same|equal|optimal",
        ),
        "statistic": _Option(str, "D, M, or the area under the mean curve.", "auc", metavar="auc|hand_till|mean_auc"),
    },
    "Method": {
        "costs": _Option(
            _TEXT,
            "File of misclassification costs: one row per true class, one column per predicted class, with a header.",
        ),
        "decide.costs": _Option(
            _TEXT,
            "File of costs: one row per true class, one column per predicted class, with a header. The diagonal "
            "counts, and negative entries are gains.",
        ),
        "prior": _Option(
            _TEXT,
            "Prevalence of the classes where the rule will be used: a=0.1,b=0.9, or a file; by default that of the "
            "samples.",
        ),
        "rule": _Option(
            _TEXT,
            "auto (default): bayes, or as much of tuned as is seen to cost less; tuned: offsets tuned to the lowest "
            "cost; bayes: the lowest expected cost, scores taken as probabilities; argmax: the highest score.",
            metavar="auto|tuned|bayes|argmax",
        ),
        "reject_cost": _Option(
            _NUMBER, "Cost of predicting no class; if given, the rule abstains where that is cheaper."
        ),
        "apply": _Option(
            _TEXT, "Apply a rule that --save-rule wrote to samples without labels; needs --out.", metavar="FILE"
        ),
        "weighting": _declared("weighting", str),
        "thresholds": _declared("thresholds", str),
        "n_thresholds": _declared("n_thresholds", int),
        "shrinkage": _declared("shrinkage", float),
        "structure": _declared("structure", str),
        "engine": _declared("engine", str),
        "max_pairs": _declared("max_pairs", _COUNT),
    },
    "Uncertainty": {
        "confidence_level": _Option(float, "Confidence level of the intervals.", 0.95),
        "max_fpr": _Option(
            _NUMBER,
            "Also the partial area: that left of this false positive rate under the curve of D, standardised as in "
            "scikit-learn.",
        ),
        "interval_method": _Option(
            str,
            "Source of the intervals. influence: what each sample contributes, without resampling; bootstrap: "
            "resampled samples; auto: influence if its formula holds for these data, else 999 resamples with seed 0; "
            "none (evaluate only): no intervals.",
            "auto",
            metavar="auto|influence|bootstrap|none",
            name="--method",
        ),
        "resamples": _Option(_COUNT, "Number of resamples, by default 999; with --method bootstrap."),
        "seed": _Option(
            _COUNT,
            "Random seed of --method bootstrap and of --max-pairs, by default 0; the same seed gives the same numbers.",
        ),
        "plan.seed": _Option(_COUNT, "Random seed of --max-pairs, by default 0."),
        "decide.seed": _Option(int, "Random seed; the same seed gives the same numbers.", 0),
        "jobs": _Option(_COUNT, DECLARED["n_jobs"].metadata["help"]),
    },
    "Files larger than memory": {
        "stream": _Option(
            bool | None,
            "Count the scores of Parquet files, or of a folder of them, in two passes instead of reading them into "
            "memory; by default where they do not fit.",
            name="--stream/--no-stream",
        ),
        "exact": _Option(
            bool, "With --stream: sorted scores instead of bins, one column at a time; needs 5 to 10 bytes per row."
        ),
        "checkpoint": _Option(
            _FILE, "With --stream: an .npz file in which the work is stored, and from which it goes on."
        ),
        "partial": _Option(bool, "With --stream: leave out what is damaged, and say so."),
    },
    "Output": {
        "measures": _Option(bool, "Also accuracy, F1, kappa, Brier score and others, with intervals."),
        "json": _Option(bool, "Print JSON and nothing else to standard output."),
        "plot": _Option(_FILE, "Save the ROC curve as a .png, .svg or .pdf file."),
        "plan.plot": _Option(
            _FILE, "Save half width or power against the number of samples as a .png, .svg or .pdf file."
        ),
        "out": _Option(_FILE, "Save the differences as a .csv file."),
        "decide.out": _Option(
            _FILE, "Save the rows with the predicted class, in column decision, as a .parquet or .csv file."
        ),
        "save_rule": _Option(_FILE, "Save the rule as a .json file, to apply it later."),
        "report": _Option(_FILE, "Save everything as one .html page that works offline."),
        "include_decisions": _Option(
            bool,
            "Also show on the page of --report what predictions cost. The page then contains scores of single samples.",
        ),
        "force": _Option(bool, "Replace existing files that polyroc did not write; never an input."),
        "quiet": _Option(bool, "No progress bars, notes or hints; warnings stay."),
        "debug": _Option(bool, "On an error, print the traceback."),
    },
}
_FILES = {
    "file": _Option(
        str, "CSV, TSV, Parquet, Arrow, Feather, NDJSON or npz; - for standard input, or a pipe.", ..., "FILE"
    ),
    "files": _Option(list[str], "One file per model, or one file with --models or --model-column.", ..., "FILE..."),
    "plan.files": _Option(
        list[str],
        "Predictions for the samples that you have: one file, or for two models as in compare.",
        ...,
        "FILE...",
    ),
}
_METHOD = "weighting thresholds n_thresholds shrinkage structure engine max_pairs confidence_level"
_INTERVALS = "interval_method resamples seed jobs"
_STREAMS = "stream exact checkpoint partial measures json"
_LAST = "report include_decisions force quiet debug"
# The arguments of each command, in the order of its help.
_COMMANDS = {
    "evaluate": "file target scores labels sample_weight groups model_column pooled drop_missing costs "
    f"{_METHOD} max_fpr {_INTERVALS} {_STREAMS} plot {_LAST}",
    "compare": "files target key models model_column scores labels sample_weight groups pooled drop_missing common "
    f"costs {_METHOD} max_fpr {_INTERVALS} {_STREAMS} out {_LAST}",
    "plan": "files target half_width detect power assurance allocation statistic key models model_column scores labels "
    f"sample_weight pooled drop_missing common costs {_METHOD} seed jobs json plot force quiet debug",
    "decide": "file target costs prior rule reject_cost apply scores labels sample_weight groups model_column pooled "
    "drop_missing confidence_level seed jobs json out save_rule force quiet debug",
    "demo": f"{_INTERVALS} json report force quiet debug",
}


def parameters_of(command: str) -> Iterator[Parameter]:
    """The arguments of a command as typer reads them from a signature."""
    panels = {name: panel for panel, options in _PANELS.items() for name in options}
    for name in _COMMANDS[command].split():
        own = f"{command}.{name}"
        key = own if own in panels or own in _FILES else name
        if key in _FILES:
            said = _FILES[key]
            default = typer.Argument(said.default, help=said.help, metavar=said.metavar, show_default=False)
        else:
            said = _PANELS[panels[key]][key]
            typed_as = said.name or f"--{name.replace('_', '-')}"
            value = False if said.kind is bool else said.default
            default = typer.Option(
                value,
                typed_as,
                help=said.help,
                metavar=said.metavar,
                rich_help_panel=panels[key],
                show_default=value is not ...,
            )
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=said.kind)


@dataclass(frozen=True)
class Settings:
    """How to compute, and how to say it; the fields are called as the arguments."""

    columns: Columns
    method: dict[str, Any]
    """Keyword arguments of `polyroc.evaluate`."""
    costs: str | None = None
    confidence_level: float = 0.95
    interval_method: str | None = None
    """--method of `evaluate`, `compare` and `demo`; None for commands without."""
    resamples: int | None = None
    seed: int | None = None
    jobs: int | None = None
    json: bool = False
    plot: Path | None = None
    out: Path | None = None
    report: Path | None = None
    force: bool = False
    quiet: bool = False
    measures: bool = False
    max_fpr: float | None = None
    include_decisions: bool = False
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


def settings_of(values: dict[str, Any]) -> Settings:
    """The arguments of a command, sorted by what they are about."""
    # Costs are a file here, which is read later.
    method = {name: values[name] for name in DECLARED if name in values and name != "costs"}
    changed = {name: value for name, value in method.items() if value != DECLARED[name].default}
    changed |= {"costs": values["costs"]} if values.get("costs") is not None else {}
    columns = Columns(
        **{field.name: values[field.name] for field in fields(Columns) if field.name in values},
        has_groups="groups" in values,
        method="".join(f" --{name.replace('_', '-')} {typed(value)}" for name, value in changed.items()),
    )
    return Settings(
        columns, method, **{field.name: values[field.name] for field in fields(Settings) if field.name in values}
    )


def _examples(*commands: str) -> str:
    # One paragraph each, so that none is filled into the next.
    return "\n\n".join(("Examples:", *commands))


app = typer.Typer(
    name="polyroc",
    no_args_is_help=True,
    epilog=_examples(
        "polyroc evaluate predictions.parquet --target label",
        "polyroc compare knn.csv tree.csv --target label --key id",
        "polyroc demo",
    ),
    # Errors are said by main, in one line.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"polyroc {__version__}")
        raise typer.Exit


@app.callback()
def polyroc(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Multi-class ROC curves and their AUCs: D, and M (Hand and Till, scikit-learn's ovo)."""


def _command(*examples: str) -> Callable[[Callable[[dict[str, Any]], None]], None]:
    """Make a command of a function of the values of its arguments, which `_COMMANDS` lists by its name."""

    def added(function: Callable[[dict[str, Any]], None]) -> None:
        def command(**values: Any) -> None:
            function(values)

        command.__signature__ = Signature(list(parameters_of(function.__name__)))  # type: ignore[attr-defined]
        app.command(function.__name__, help=function.__doc__, epilog=_examples(*examples) if examples else None)(
            command
        )

    return added


@_command(
    "polyroc evaluate predictions.parquet --target label",
    "polyroc evaluate predictions.parquet --target label --scores 'p_*' --json",
    "polyroc evaluate predictions.parquet --target label --costs costs.csv",
    "polyroc evaluate predictions.parquet --target label --report report.html",
    "polyroc evaluate predictions.parquet --target label --measures",
    "polyroc evaluate predictions.parquet --target label --method none --quiet",
    "polyroc evaluate predictions.parquet --target label --method bootstrap --resamples 199 --seed 1",
    "polyroc evaluate - --target label < knn.csv",
    "polyroc evaluate predictions.parquet --target label --stream --exact",
)
def evaluate(values: dict[str, Any]) -> None:
    """Evaluate one model: D and M with intervals, accuracy, and the worst pairs of classes."""
    from polyroc.cli._commands import run_evaluate

    run_evaluate(values["file"], settings_of(values))


@_command(
    "polyroc compare knn.csv tree.csv --target label --key id",
    "polyroc compare both.csv --target label --models 'knn=knn_*,tree=tree_*'",
    "polyroc compare long.csv --target label --model-column model",
    "polyroc compare knn.csv tree.csv --target label --out differences.csv",
    "polyroc compare knn.csv tree.csv --target label --report report.html",
)
def compare(values: dict[str, Any]) -> None:
    """Compare models on the same samples: differences with intervals and p values, by D and by M."""
    from polyroc.cli._commands import run_compare

    run_compare(values["files"], values["models"], settings_of(values))


@_command(
    "polyroc plan predictions.parquet --target label --half-width 0.003",
    "polyroc plan knn.csv tree.csv --target label --key id --detect 0.02 --power 0.9",
    "polyroc plan knn.csv --target label --half-width 0.005 --allocation optimal --json",
)
def plan(values: dict[str, Any]) -> None:
    """Plan a sample: how many samples of each class an interval, or a test of two models, takes."""
    from polyroc.cli._decide_plan import AskedPlan, run_plan

    asked = AskedPlan(**{field.name: values[field.name] for field in fields(AskedPlan)})
    run_plan(values["files"], values["models"], asked, settings_of(values))


@_command(
    "polyroc decide predictions.parquet --target label --costs costs.csv",
    "polyroc decide knn.csv --target label --costs costs.csv --out predicted.csv",
    "polyroc decide knn.csv --target label --costs costs.csv --save-rule rule.json",
    "polyroc decide tree.csv --apply rule.json --out decisions.parquet",
)
def decide(values: dict[str, Any]) -> None:
    """Decide which class to predict: a rule of least cost, what it costs, and what it predicts."""
    from polyroc.cli._decide_plan import Asked, run_decide

    asked = Asked(**{field.name: values[field.name] for field in fields(Asked)})
    # Its table and its rule are not those of the other commands.
    run_decide(values["file"], asked, settings_of({**values, "target": values["target"] or "", "out": None}))


@_command()
def demo(values: dict[str, Any]) -> None:
    """Compare the three models of the built-in example."""
    from polyroc.cli._commands import run_demo

    run_demo(settings_of({"target": "y_true", **values}))
