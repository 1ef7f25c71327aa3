"""The commands evaluate, compare and demo: read, compute, say. Arguments are parsed one level up."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import polyroc
from polyroc import ComparedMeasures, Comparison, Evaluation, InputError, Measures, TippingCosts
from polyroc._counts.binning import RULE_OF_BINS
from polyroc._lib.limits import TIPPING_ON_PAGE
from polyroc._lib.numbers import counted
from polyroc.cli._app import Settings, check_draws
from polyroc.cli._columns import joined, read_costs, split
from polyroc.cli._files import check_read_once, is_parquet, quoted_path, why_stream
from polyroc.cli._messages import CommandError, Messages, in_options, quoted, typed
from polyroc.cli._models import Models, model_patterns, read_models
from polyroc.cli._outputs import (
    as_json,
    check_outputs,
    draw_curve,
    print_comparison,
    print_evaluation,
    say_where,
    write_differences,
    write_report,
)
from polyroc.cli._problem import MODELS, MOST_MODELS, Problem, read_problem, scale_notes
from polyroc.evaluation._intervals import EvaluationIntervals
from polyroc.report import summarize

if TYPE_CHECKING:
    from polyroc.streams._parquet_files import ParquetFiles


def run_evaluate(path: str, settings: Settings) -> None:
    """One model: its curve, and how sure its area is."""
    if does_stream([path], settings):
        stream_evaluate(path, settings)
        return
    with started([path], settings) as messages:
        problem = read_problem(path, settings.columns)
        say_rows(problem, settings, messages)
        options = library_options(problem, settings) | {"rng": settings.seed or 0}
        evaluation = polyroc.evaluate(problem.target.values, problem.scores, **options)
        intervals = _intervals(evaluation, problem.groups, settings, messages)
        if settings.plot is not None:
            draw_curve(settings.plot, evaluation, intervals, settings.confidence_level)
        measures = _measures(evaluation, intervals, problem.groups, settings)
        others = {name: getattr(settings.columns, name) for name in ("sample_weight", "groups", "model_column")}
        columns = {"target": settings.columns.target, "scores": list(problem.choice.columns)}
        source = {"file": problem.file, **columns} | {name: one for name, one in others.items() if one is not None}
        hints = _hints(problem, path, evaluation, intervals, settings)
        how = {"bootstrap": intervals, "include_intervals": intervals is not None}
        say_evaluation(evaluation, intervals, source, settings, messages, hints, measures, **how)


def say_evaluation(
    evaluation: Evaluation,
    intervals: EvaluationIntervals | None,
    source: dict[str, Any],
    settings: Settings,
    messages: Messages,
    hints: Sequence[str],
    measures: Measures | None = None,
    **how: Any,
) -> None:
    """Page, JSON or text of one model; `how` goes to `summarize`."""
    level = settings.confidence_level

    def summarized() -> dict[str, Any]:
        summary = _summary(evaluation, settings, messages, source=source, confidence_level=level, **how)
        if settings.max_fpr is not None:
            summary["partial_auc"] = _partial_area(how.get("bootstrap"), evaluation, settings.max_fpr, level)
        return summary

    _report_and_json(summarized, measures, settings, messages)
    if not settings.json:
        print_evaluation(
            evaluation,
            intervals,
            title=_title([source["file"]]),
            confidence_level=level,
            measures=measures,
            max_fpr=settings.max_fpr,
            hints=[] if settings.quiet else hints,
        )
    say_where(settings.report, messages)


def say_comparison(
    comparison: Comparison,
    source: dict[str, Any],
    title: str,
    settings: Settings,
    messages: Messages,
    hint: str,
    *,
    has_samples: bool = True,
) -> None:
    """Table, page, JSON or text of several models."""
    measures = comparison.measures() if settings.measures and has_samples else None
    if settings.out is not None:
        write_differences(settings.out, comparison)

    def summarized() -> dict[str, Any]:
        how = {"source": source, "tipping": _tipping(comparison, settings)}
        return _summary(comparison, settings, messages, **how)

    _report_and_json(summarized, measures, settings, messages)
    if not settings.json:
        hints = [hint] if hint and not settings.quiet else []
        print_comparison(comparison, title=title, measures=measures, hints=hints)
    say_where(settings.report, messages)


def _title(paths: Sequence[str]) -> str:
    return ", ".join(quoted_path(path)[1:-1] for path in paths[:3]) + (", ..." if len(paths) > 3 else "")


def _summary(result: Evaluation | Comparison, settings: Settings, messages: Messages, **how: Any) -> dict[str, Any]:
    how |= {"warnings": messages.warnings, "include_decisions": settings.include_decisions}
    return summarize(result, include_rates=settings.report is not None, **how)


def say_rows(read: Problem | Models, settings: Settings, messages: Messages) -> None:
    """Say what was done to the rows of one model or of several, and what was guessed."""
    of_models = isinstance(read, Models)
    warnings = read.first.warnings if isinstance(read, Models) else read.warnings
    scores = read.scores if isinstance(read, Models) else {read.file: read.scores}
    messages.say(warnings, [*read.notes, *scale_notes(scores, settings.method, of_models=of_models)])


@contextmanager
def started(paths: Sequence[str], settings: Settings) -> Iterator[Messages]:
    """Messages while the block lasts, after all that can be said of the files before any is read."""
    check_read_once([*paths, *([] if settings.costs is None else [settings.costs])])
    check_outputs(settings, paths)
    messages = Messages(quiet=settings.quiet)
    with messages.heard():
        yield messages


def _report_and_json(
    summarized: Callable[[], dict[str, Any]],
    measures: Measures | ComparedMeasures | None,
    settings: Settings,
    messages: Messages,
) -> None:
    """Write page and JSON from the summary; if neither is asked for, nothing is summarized."""
    if settings.report is None and not settings.json:
        return
    summary = summarized() | ({} if measures is None else {"measures": measures.to_dict()})
    if settings.report is not None:
        write_report(settings.report, summary)
    if settings.include_decisions and summary["decisions"] is None:
        why = summary["explorer_note"] or "scores that were counted are not kept"
        messages.note(f"--include-decisions adds nothing to this page: {why}")
    if settings.json:
        # Only the page follows costs that somebody changes, and names single samples.
        numbers = {key: value for key, value in summary.items() if not key.startswith(("explorer", "decisions"))}
        sys.stdout.write(f"{as_json(numbers)}\n")


def _partial_area(
    intervals: EvaluationIntervals | None, evaluation: Evaluation, max_fpr: float, level: float
) -> dict[str, Any]:
    """The partial area with its interval, as plain data."""
    ends = intervals.confidence_interval(level, statistic="partial_auc", max_fpr=max_fpr) if intervals else None
    of_interval = {"low": None, "high": None} if ends is None else ends._asdict()
    return {"max_fpr": max_fpr, "value": evaluation.partial_auc(max_fpr), **of_interval}


def _measures(
    evaluation: Evaluation, intervals: EvaluationIntervals | None, groups: Any, settings: Settings
) -> Measures | None:
    """All measures where somebody asks for them; D and M with the intervals that stand elsewhere on the page."""
    if not settings.measures:
        return None
    measures = evaluation.measures(confidence_level=settings.confidence_level, groups=groups)
    drawn = intervals.drawn if intervals is not None and intervals.method == "bootstrap" else None
    return measures if drawn is None else measures.by_resamples(drawn)


def run_compare(paths: Sequence[str], models: str | None, settings: Settings) -> None:
    """Several models on the same samples: which is better, and how sure that is."""
    if settings.interval_method == "none":
        msg = "compare needs a method for its p values: --method none is for evaluate only"
        raise CommandError(msg)
    if does_stream(paths, settings):
        stream_compare(paths, models, settings)
        return
    check_draws(settings, settings.seed)
    with started(paths, settings) as messages:
        several = read_models(paths, models, settings.columns)
        say_rows(several, settings, messages)
        columns = settings.columns
        source = {"files": list(paths), "target": columns.target, "key": columns.key}
        source |= {"model_column": columns.model_column} if columns.model_column else {}
        hints = ["--out differences.csv writes the differences as a table"] if settings.out is None else []
        hints += ["--report report.html writes everything as a page"] if settings.report is None else []
        options = library_options(several.first, settings) | {"groups": several.first.groups}
        comparison = _compared(several.first.target.values, several.scores, settings, **options)
        say_comparison(comparison, source, _title(paths), settings, messages, ", ".join(hints))


def run_demo(settings: Settings) -> None:
    """The embedded example, compared."""
    with started([], settings) as messages:
        example = polyroc.load_example()
        options = {"n_jobs": settings.jobs, "labels": example.labels}
        comparison = _compared(example.y_true, dict(example.scores), settings, **options)
        title = "Handwritten digits, the example that polyroc carries"
        hint = "polyroc evaluate predictions.csv --target label --report report.html judges your own model"
        say_comparison(comparison, {"example": "digits"}, title, settings, messages, hint)


def _compared(y_true: Any, scores: dict[str, Any], settings: Settings, **options: Any) -> Comparison:
    options |= {"confidence_level": settings.confidence_level, "max_fpr": settings.max_fpr}
    return polyroc.compare(y_true, scores, progress=shows_bars(settings), **settings.resampling, **options)


def _tipping(comparison: Comparison, settings: Settings) -> TippingCosts | None:
    """Costs of a mistake that would change the order, for a page; of very many classes it takes too long."""
    n_classes = len(next(iter(comparison.evaluations.values())).labels)
    if settings.report is None or n_classes > TIPPING_ON_PAGE:
        return None
    return comparison.tipping_costs(progress=shows_bars(settings))


def library_options(problem: Problem, settings: Settings) -> dict[str, Any]:
    """Keyword arguments for the library."""
    costs = None if settings.costs is None else read_costs(settings.costs, problem.labels)
    return {
        **settings.method,
        "labels": as_array(problem.labels),
        "sample_weight": problem.sample_weight,
        "costs": costs,
        "n_jobs": settings.jobs,
    }


def as_array(labels: list[Any]) -> Any:
    """Classes for the library."""
    # Objects keep text as it is; NumPy's own type would lose a NUL at the end.
    return np.array(labels, dtype=object) if isinstance(labels[0], str) else labels


def _intervals(
    evaluation: Evaluation, groups: Any, settings: Settings, messages: Messages
) -> EvaluationIntervals | None:
    intervals = EvaluationIntervals.of(
        evaluation, groups=groups, n_jobs=settings.jobs, progress=shows_bars(settings), **settings.resampling
    )
    if intervals is not None and intervals.method == "auto":
        whys = {"D": intervals.resampled_because}
        if settings.max_fpr is not None:
            whys["the partial area"] = evaluation.uncertainty.doubt("partial_auc", settings.max_fpr)
        for what, why in whys.items():
            drawn = counted(intervals.draws.n_resamples, "resample")
            messages.note(f"{drawn} (seed 0) for the interval of {what}, because {why}" if why else "")
    return intervals


def shows_bars(settings: Settings) -> bool:
    return sys.stderr.isatty() and not (settings.quiet or settings.json)


def _hints(
    problem: Problem, path: str, evaluation: Evaluation, intervals: EvaluationIntervals | None, settings: Settings
) -> list[str]:
    """Next steps as they are typed; none after a pipe, which the next command would find empty."""
    if not Path(path).is_file():
        return []
    file, columns = typed(path), settings.columns
    call = f"polyroc evaluate {file}{columns.typed()}"
    hints = []
    if intervals is None:
        hints.append(f"how sure:   {call}")
    if settings.plot is None:
        hints.append(f"the curve:  {call} --plot curve.png")
    if len(evaluation.labels) > 2:
        hints.append(f"all pairs:  {call} --json")
    if settings.report is None:
        hints.append(f"a page:     {call} --report report.html")
    rest = columns.typed("model_column")
    if problem.model_column is not None:
        return [*hints, f"its rivals: polyroc compare {file}{rest} --model-column {typed(problem.model_column)}"]
    return [*hints, f"a rival:    polyroc compare {file} OTHER{rest}"]


def does_stream(paths: Sequence[str], settings: Settings) -> bool:
    """Whether the user asks for it, or files do not fit."""
    wanted = {"--exact": settings.exact, "--partial": settings.partial, "--checkpoint": settings.checkpoint is not None}
    asked = [option for option, is_given in wanted.items() if is_given]
    if settings.stream is False:
        if asked:
            raise CommandError(asked[0], "is for streamed files: leave out --no-stream")
        return False
    if settings.stream or asked or any(Path(path).is_dir() for path in paths if "\0" not in path):
        if others := [path for path in paths if not is_parquet(Path(path))]:
            option = "--stream" if settings.stream or not asked else asked[0]
            raise CommandError(option, f"takes Parquet files, or a folder of them, got {quoted_path(others[0])}")
        return True
    return why_stream(paths) != ""


# Parquet files that do not fit in memory: scores are counted in two passes over them

_ROWS_LOOKED_AT = 10_000


def stream_evaluate(path: str, settings: Settings) -> None:
    """One model, in two passes over its files."""
    messages = _begun([path], settings)
    with messages.heard(), _proposing([path], settings, needs_errors=False):
        pattern = settings.columns.scores
        columns, options = _asked([path], {"": None if pattern is None else split(pattern)}, settings)
        evaluation = polyroc.evaluate_parquet(
            path, scores=columns[""], standard_errors=settings.has_intervals, exact=settings.exact, **options
        )
        if settings.plot is not None:
            draw_curve(settings.plot, evaluation, None, settings.confidence_level)
        source = {"file": path, "target": settings.columns.target, "scores": columns[""]}
        intervals, hint = EvaluationIntervals.of(evaluation), _hint_of_streams(settings)
        say_evaluation(evaluation, intervals, source, settings, messages, [hint] if hint else [])


def _hint_of_streams(settings: Settings) -> str:
    """Other options that may be of use."""
    hints = ["--report report.html writes everything as a page"] if settings.report is None else []
    hints += ["--exact sorts scores instead of counting them in bins"] if not settings.exact else []
    return ", ".join(hints)


def stream_compare(paths: Sequence[str], models: str | None, settings: Settings) -> None:
    """Several models from the columns of the same files."""
    if models is None or len(paths) != 1:
        came = f"{len(paths)} files" if models is not None else "none"
        rule = "must be columns of one file or folder, --models 'first=a_*,second=b_*'"
        msg = f"models compared in streamed files {rule}, got {came}"
        raise CommandError(msg)
    messages = _begun(paths, settings)
    with messages.heard(), _proposing(paths, settings, needs_errors=True):
        patterns = {name: split(pattern) for name, pattern in model_patterns(models).items()}
        columns, options = _asked(paths, patterns, settings)
        comparison = polyroc.compare_parquet(
            paths[0], columns, confidence_level=settings.confidence_level, exact=settings.exact, **options
        )
        source = {"files": list(paths), "target": settings.columns.target}
        hint = _hint_of_streams(settings)
        say_comparison(comparison, source, _title(paths), settings, messages, hint, has_samples=False)


def _begun(paths: Sequence[str], settings: Settings) -> Messages:
    """Checks and notes before anything is read."""
    check_outputs(settings, [] if all(Path(path).is_dir() for path in paths) else paths)
    columns = settings.columns
    in_memory = {"--model-column": columns.model_column is not None, "--key": columns.key is not None}
    in_memory |= {"--drop-missing": columns.drop_missing, "--common": columns.common}
    for option, is_given in in_memory.items():
        if is_given:
            way_out = ", or add `--no-stream`" if _fits_in_a_command(paths, settings) else ""
            raise CommandError(option, f"needs all rows in memory: leave it out{way_out}")
    if settings.interval_method == "bootstrap":
        raise CommandError("--method", "bootstrap needs all rows in memory: leave it out, or add --no-stream")
    _check_layout(paths, settings)
    messages = Messages(quiet=settings.quiet)
    why = "" if settings.stream else why_stream(paths)
    reason = f" because {why}; --no-stream reads it all the same" if why else ""
    how = "sorted one column at a time" if settings.exact else "counted in bins"
    messages.note(f"streaming {quoted_path(paths[0])}; scores are {how}{reason}")
    if settings.measures:
        messages.note(
            "--measures adds nothing: measures need single samples, and scores that were counted are not kept"
        )
    if settings.max_fpr is not None:
        messages.note("the partial area has no interval: that needs single samples")
    return messages


def _fits_in_a_command(paths: Sequence[str], settings: Settings) -> bool:
    """Whether the same command can read the files into memory: a folder, and options for streams, cannot be."""
    streamed = settings.exact or settings.partial or settings.checkpoint is not None
    return not streamed and not any(Path(path).is_dir() for path in paths)


@contextmanager
def _proposing(paths: Sequence[str], settings: Settings, *, needs_errors: bool) -> Iterator[None]:
    """While it lasts, errors about rows and scores propose options of this command instead of calls in Python."""
    try:
        yield
    except InputError as error:
        reads = _fits_in_a_command(paths, settings)
        if error.rule == RULE_OF_BINS:
            ways = _instead_of_bins(error, settings, reads=reads, sorts=not needs_errors)
            msg = f"--scores {error.rule}, got {error.got}{ways}"
            raise CommandError(msg) from error
        is_missing = error.rule == "must not have missing values" or (error.got or "").startswith("nan ")
        if not (is_missing and reads):
            raise
        msg = f"{in_options(error).rstrip('.')}: `--no-stream --drop-missing` leaves out such rows and counts them"
        raise CommandError(msg) from error


def _instead_of_bins(error: InputError, settings: Settings, *, reads: bool, sorts: bool) -> str:
    """Options that give the right number for scores that bins cannot distinguish."""
    ways = ["`--no-stream` reads all rows into memory"] if reads else []
    if sorts:
        options = [*(["--exact"] if not settings.exact else []), *(["--method none"] if settings.has_intervals else [])]
        without = " without intervals" if settings.has_intervals else ""
        # One of counted scores is refused.
        other = ", with another --checkpoint" if settings.checkpoint and not settings.exact else ""
        ways.append(f"`{' '.join(options)}` sorts scores{without}{other}")
    if ways:
        return f": {', or '.join(ways)}"
    return error.hint.partition("; ")[0]


def _check_layout(paths: Sequence[str], settings: Settings) -> None:
    """Refuse files with a column that is called as models are, and has several values; other columns are not read."""
    columns = settings.columns
    if columns.pooled:
        return
    from polyroc.streams._parquet_files import open_files

    files = open_files(list(paths), partial=settings.partial)
    names = [name for name in files.names if name.casefold() in MODELS and name not in columns.taken]
    for name in names:
        if any(name not in file.schema.names for file in files.files):
            continue
        values = _some_values(files, name)
        if 1 < len(values) <= MOST_MODELS:
            several = (
                f"{quoted_path(paths[0])} can be read in two ways. If column {quoted(name)} holds the names of models, "
            )
            one = typed(f"{name}={joined([min(values)])}")
            choose = f"choose one, `--no-stream --model-column {one}`"
            if not _fits_in_a_command(paths, settings):
                choose = "write the rows of each model to files of their own"
            msg = f"{several}{choose}; if all rows are samples of one model, add `--pooled`"
            raise CommandError(msg)


def _some_values(files: "ParquetFiles", name: str) -> set[str]:
    """The first values of a column in the first, the middle and the last row group."""
    last = len(files.parts) - 1
    values: set[str] = set()
    for part in {0, last // 2, last}:
        batches = files.batches(files.parts[part], [name], n_rows=_ROWS_LOOKED_AT, threads=False)
        values |= {str(value) for value in next(batches).column(0).unique().to_pylist() if value is not None}
    return values


def _asked(
    paths: Sequence[str], scores: Mapping[str, Any], settings: Settings
) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Columns of every model, and the keyword arguments that both functions share."""
    from polyroc.streams._parquet_passes import found_columns

    asked = settings.columns
    own: dict[str, Any] = {"partial": settings.partial, "n_jobs": settings.jobs, "progress": shows_bars(settings)}
    labels, columns = found_columns(
        list(paths),
        target=asked.target,
        scores=scores,
        labels=None if asked.labels is None else split(asked.labels),
        sample_weight=asked.sample_weight,
        groups=asked.groups,
        **own,
    )
    costs = None if settings.costs is None else read_costs(settings.costs, labels.tolist())
    rows = {"sample_weight": asked.sample_weight, "groups": asked.groups}
    return columns, {
        **settings.method,
        **rows,
        **own,
        "target": asked.target,
        "labels": labels,
        "costs": costs,
        "rng": settings.seed or 0,
        "checkpoint": settings.checkpoint,
    }
