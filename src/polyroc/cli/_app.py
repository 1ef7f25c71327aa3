"""The commands as typer sees them: arguments in, one call out."""

from typing import Annotated

import typer

from polyroc import __version__
from polyroc._inputs.options import Options
from polyroc.cli import _arguments as arg
from polyroc.cli._arguments import settings_of
from polyroc.cli._commands import AskedPlan, run_compare, run_demo, run_evaluate, run_plan

# One paragraph each, so that none is filled into the next.
_EXAMPLES = """Examples:

polyroc evaluate predictions.parquet --target label

polyroc compare knn.csv tree.csv --target label --key id

polyroc demo
"""
_EVALUATE_EXAMPLES = """Examples:

polyroc evaluate predictions.parquet --target label

polyroc evaluate predictions.parquet --target label --scores 'p_*' --json

polyroc evaluate predictions.parquet --target label --costs costs.csv

polyroc evaluate predictions.parquet --target label --report report.html

polyroc evaluate predictions.parquet --target label --measures

polyroc evaluate predictions.parquet --target label --method none --quiet

polyroc evaluate predictions.parquet --target label --method bootstrap --resamples 199 --seed 1

polyroc evaluate - --target label < knn.csv

polyroc evaluate predictions.parquet --target label --stream --exact
"""
_COMPARE_EXAMPLES = """Examples:

polyroc compare knn.csv tree.csv --target label --key id

polyroc compare both.csv --target label --models 'knn=knn_*,tree=tree_*'

polyroc compare long.csv --target label --model-column model

polyroc compare knn.csv tree.csv --target label --out differences.csv

polyroc compare knn.csv tree.csv --target label --report report.html
"""
_PLAN_EXAMPLES = """Examples:

polyroc plan predictions.parquet --target label --half-width 0.003

polyroc plan knn.csv tree.csv --target label --key id --detect 0.02 --power 0.9

polyroc plan knn.csv --target label --half-width 0.005 --allocation optimal --json
"""
_DECIDE_EXAMPLES = """Examples:

polyroc decide predictions.parquet --target label --costs costs.csv

polyroc decide knn.csv --target label --costs costs.csv --out predicted.csv

polyroc decide knn.csv --target label --costs costs.csv --save-rule rule.json

polyroc decide tree.csv --apply rule.json --out decisions.parquet
"""
_DEFAULT = Options()

app = typer.Typer(
    name="polyroc",
    no_args_is_help=True,
    epilog=_EXAMPLES,
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


@app.command(epilog=_EVALUATE_EXAMPLES)
def evaluate(
    file: arg.File,
    target: arg.Target,
    scores: arg.Scores = None,
    labels: arg.Labels = None,
    sample_weight: arg.SampleWeight = None,
    groups: arg.Groups = None,
    model_column: arg.OneModel = None,
    pooled: arg.Pooled = False,
    drop_missing: arg.DropMissing = False,
    costs: arg.Costs = None,
    weighting: arg.Weighting = _DEFAULT.weighting,
    thresholds: arg.Thresholds = _DEFAULT.thresholds,
    n_thresholds: arg.NThresholds = _DEFAULT.n_thresholds,
    shrinkage: arg.Shrinkage = _DEFAULT.shrinkage,
    structure: arg.Structure = _DEFAULT.structure,
    engine: arg.Engine = _DEFAULT.engine,
    max_pairs: arg.MaxPairs = _DEFAULT.max_pairs,
    confidence_level: arg.ConfidenceLevel = 0.95,
    max_fpr: arg.MaxFpr = None,
    interval_method: arg.IntervalMethod = "auto",
    resamples: arg.Resamples = None,
    seed: arg.Seed = None,
    jobs: arg.Jobs = None,
    stream: arg.Stream = None,
    exact: arg.Exact = False,
    checkpoint: arg.CheckpointFile = None,
    partial: arg.Partial = False,
    measures: arg.Measures = False,
    json: arg.Json = False,
    plot: arg.Plot = None,
    report: arg.Report = None,
    include_decisions: arg.IncludeDecisions = False,
    force: arg.Force = False,
    quiet: arg.Quiet = False,
    debug: arg.Debug = False,
) -> None:
    """Evaluate one model: D and M with intervals, accuracy, and the worst pairs of classes."""
    run_evaluate(file, settings_of(locals()))


@app.command(epilog=_COMPARE_EXAMPLES)
def compare(
    files: arg.Files,
    target: arg.Target,
    key: arg.Key = None,
    models: arg.ModelColumns = None,
    model_column: arg.ModelColumn = None,
    scores: arg.Scores = None,
    labels: arg.Labels = None,
    sample_weight: arg.SampleWeight = None,
    groups: arg.Groups = None,
    pooled: arg.Pooled = False,
    drop_missing: arg.DropMissing = False,
    common: arg.Common = False,
    costs: arg.Costs = None,
    weighting: arg.Weighting = _DEFAULT.weighting,
    thresholds: arg.Thresholds = _DEFAULT.thresholds,
    n_thresholds: arg.NThresholds = _DEFAULT.n_thresholds,
    shrinkage: arg.Shrinkage = _DEFAULT.shrinkage,
    structure: arg.Structure = _DEFAULT.structure,
    engine: arg.Engine = _DEFAULT.engine,
    max_pairs: arg.MaxPairs = _DEFAULT.max_pairs,
    confidence_level: arg.ConfidenceLevel = 0.95,
    max_fpr: arg.MaxFpr = None,
    interval_method: arg.IntervalMethod = "auto",
    resamples: arg.Resamples = None,
    seed: arg.Seed = None,
    jobs: arg.Jobs = None,
    stream: arg.Stream = None,
    exact: arg.Exact = False,
    checkpoint: arg.CheckpointFile = None,
    partial: arg.Partial = False,
    measures: arg.Measures = False,
    json: arg.Json = False,
    out: arg.Out = None,
    report: arg.Report = None,
    include_decisions: arg.IncludeDecisions = False,
    force: arg.Force = False,
    quiet: arg.Quiet = False,
    debug: arg.Debug = False,
) -> None:
    """Compare models on the same samples: differences with intervals and p values, by D and by M."""
    run_compare(files, models, settings_of(locals()))


@app.command(epilog=_PLAN_EXAMPLES)
def plan(
    files: arg.PilotFiles,
    target: arg.Target,
    half_width: arg.HalfWidth = None,
    detect: arg.Detect = None,
    power: arg.Power = 0.8,
    assurance: arg.Assurance = 0.8,
    allocation: arg.Allocation = "same",
    statistic: arg.PlannedStatistic = "auc",
    key: arg.Key = None,
    models: arg.ModelColumns = None,
    model_column: arg.PilotModel = None,
    scores: arg.Scores = None,
    labels: arg.Labels = None,
    sample_weight: arg.SampleWeight = None,
    pooled: arg.Pooled = False,
    drop_missing: arg.DropMissing = False,
    common: arg.Common = False,
    costs: arg.Costs = None,
    weighting: arg.Weighting = _DEFAULT.weighting,
    thresholds: arg.Thresholds = _DEFAULT.thresholds,
    n_thresholds: arg.NThresholds = _DEFAULT.n_thresholds,
    shrinkage: arg.Shrinkage = _DEFAULT.shrinkage,
    structure: arg.Structure = _DEFAULT.structure,
    engine: arg.Engine = _DEFAULT.engine,
    max_pairs: arg.MaxPairs = _DEFAULT.max_pairs,
    confidence_level: arg.ConfidenceLevel = 0.95,
    seed: arg.PairsSeed = None,
    jobs: arg.Jobs = None,
    json: arg.Json = False,
    plot: arg.PlanPlot = None,
    force: arg.Force = False,
    quiet: arg.Quiet = False,
    debug: arg.Debug = False,
) -> None:
    """Plan a sample: how many samples of each class an interval, or a test of two models, takes."""
    run_plan(
        files, models, AskedPlan(half_width, detect, power, assurance, allocation, statistic), settings_of(locals())
    )


@app.command(epilog=_DECIDE_EXAMPLES)
def decide(
    file: arg.File,
    target: arg.DecisionTarget = None,
    costs: arg.DecisionCosts = None,
    prior: arg.Prior = None,
    rule: arg.Rule = None,
    reject_cost: arg.RejectCost = None,
    apply: arg.RuleFile = None,
    scores: arg.Scores = None,
    labels: arg.Labels = None,
    sample_weight: arg.SampleWeight = None,
    groups: arg.DecisionGroups = None,
    model_column: arg.OneModel = None,
    pooled: arg.Pooled = False,
    drop_missing: arg.DropMissing = False,
    confidence_level: arg.ConfidenceLevel = 0.95,
    seed: arg.FoldsSeed = 0,
    jobs: arg.Jobs = None,
    json: arg.Json = False,
    out: arg.DecisionsOut = None,
    save_rule: arg.SaveRule = None,
    force: arg.Force = False,
    quiet: arg.Quiet = False,
    debug: arg.Debug = False,
) -> None:
    """Decide which class to predict: a rule of least cost, what it costs, and what it predicts."""
    from polyroc.cli._decide import Asked, run_decide

    asked = Asked(prior, rule, reject_cost, apply, save_rule, out)
    # Its table and its rule are not those of the other commands.
    run_decide(file, asked, settings_of({**locals(), "target": target or "", "out": None}))


@app.command()
def demo(
    interval_method: arg.IntervalMethod = "auto",
    resamples: arg.Resamples = None,
    seed: arg.Seed = None,
    jobs: arg.Jobs = None,
    json: arg.Json = False,
    report: arg.Report = None,
    force: arg.Force = False,
    quiet: arg.Quiet = False,
    debug: arg.Debug = False,
) -> None:
    """Compare the three models of the built-in example."""
    run_demo(settings_of({"target": "y_true", "costs": None, "confidence_level": 0.95, **locals()}))
