"""The arguments that commands share, each with the line that `--help` shows."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

_COLUMNS, _METHOD, _SURE, _OUTPUT = "Columns", "Method", "How sure", "Output"

File: TypeAlias = Annotated[
    str,
    typer.Argument(
        help="CSV, TSV, Parquet, Arrow, Feather, NDJSON or npz; - is the standard input.",
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
Target: TypeAlias = Annotated[
    str, typer.Option(help="Column of the true classes.", rich_help_panel=_COLUMNS, show_default=False)
]
Scores: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Score columns, 'p_*' or a,b,c; by default all other columns of numbers. A common prefix "
        "or suffix is stripped where that makes them the classes.",
        rich_help_panel=_COLUMNS,
    ),
]
Labels: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Classes in the order of the score columns, a,b,c, where the columns do not name them.",
        rich_help_panel=_COLUMNS,
    ),
]
SampleWeight: TypeAlias = Annotated[str | None, typer.Option(help="Column of weights.", rich_help_panel=_COLUMNS)]
Groups: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Column of what belongs together (patients, users): drawn as a whole.", rich_help_panel=_COLUMNS),
]
Key: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Column that tells the rows apart, to match those of several files.", rich_help_panel=_COLUMNS),
]
ModelColumns: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--models", help="Models of one file by their columns: 'knn=knn_*,tree=tree_*'.", rich_help_panel=_COLUMNS
    ),
]
ModelColumn: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Column of models, where each sample has a row per model: compare splits the rows by it.",
        metavar="NAME",
        rich_help_panel=_COLUMNS,
    ),
]
OneModel: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--model-column",
        help="Column of models and the one to evaluate, where each sample has a row per model.",
        metavar="NAME=MODEL",
        rich_help_panel=_COLUMNS,
    ),
]
Costs: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="File of costs: a row per true class, a column per class it is taken for, and a header.",
        rich_help_panel=_METHOD,
    ),
]
Weighting: TypeAlias = Annotated[
    str, typer.Option(metavar="equal|prevalence", help="How much a pair counts.", rich_help_panel=_METHOD)
]
Thresholds: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="own|shared", help="Of each score column, or one for both of a pair.", rich_help_panel=_METHOD
    ),
]
NThresholds: TypeAlias = Annotated[
    int, typer.Option(help="Uniform call rates; 12 more stand around 1/2.", rich_help_panel=_METHOD)
]
Shrinkage: TypeAlias = Annotated[
    float, typer.Option(help="Samples' worth of the shared rate in each pair's; 0 for none.", rich_help_panel=_METHOD)
]
Model: TypeAlias = Annotated[
    str, typer.Option(metavar="rank-one|centered|saturated", help="The factorization.", rich_help_panel=_METHOD)
]
Engine: TypeAlias = Annotated[
    str, typer.Option(metavar="auto|numpy|numba", help="What computes.", rich_help_panel=_METHOD)
]
MaxPairs: TypeAlias = Annotated[
    int | None,
    typer.Option(help="At most so many pairs, drawn at random; for very many classes.", rich_help_panel=_METHOD),
]
ConfidenceLevel: TypeAlias = Annotated[float, typer.Option(help="Of the intervals.", rich_help_panel=_SURE)]
Resamples: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Number of resamples, by default 999; evaluate takes 0 for none.",
        rich_help_panel=_SURE,
        show_default=False,
    ),
]
Seed: TypeAlias = Annotated[int, typer.Option(help="The same seed gives the same numbers.", rich_help_panel=_SURE)]
Jobs: TypeAlias = Annotated[
    int | None, typer.Option(help="Threads; by default as many as there are cores.", rich_help_panel=_SURE)
]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON, and nothing else, on the standard output.", rich_help_panel=_OUTPUT)
]
Plot: TypeAlias = Annotated[
    Path | None, typer.Option(help="Draw the curve into a .png, .svg or .pdf file.", rich_help_panel=_OUTPUT)
]
Out: TypeAlias = Annotated[
    Path | None, typer.Option(help="Write the differences into a CSV file.", rich_help_panel=_OUTPUT)
]
Report: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="Write all of it as one .html page that works offline.", rich_help_panel=_OUTPUT),
]
Experiment: TypeAlias = Annotated[
    str,
    typer.Argument(
        help="discrimination, skewness, costs, real-data, choices, coverage, or all.",
        metavar="NAME",
        show_default=False,
    ),
]
OutFolder: TypeAlias = Annotated[
    Path,
    typer.Option("--out", help="Folder for figures, tables and claims; made if need be.", rich_help_panel=_OUTPUT),
]
Quick: TypeAlias = Annotated[
    bool, typer.Option("--quick", help="A small version of seconds, to see that it works.", rich_help_panel=_METHOD)
]
Data: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the data sets; by default that of POLYROC_DATA, else scikit-learn's, else OpenML's.",
        rich_help_panel=_METHOD,
    ),
]
Quiet: TypeAlias = Annotated[
    bool, typer.Option("--quiet", help="No bars, notes and hints; warnings stay.", rich_help_panel=_OUTPUT)
]
Debug: TypeAlias = Annotated[
    bool, typer.Option("--debug", help="On an error, print where in the code it arose.", rich_help_panel=_OUTPUT)
]
