"""What the commands do: read, compute, say. Arguments are parsed one level up."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import polyroc
from polyroc import ComparedMeasures, Comparison, Evaluation, InputError, Measures, TippingCosts
from polyroc._inputs.checks import in_words
from polyroc._lib.limits import TIPPING_ON_PAGE
from polyroc._lib.numbers import counted
from polyroc.cli._arguments import Settings, check_draws
from polyroc.cli._columns import split
from polyroc.cli._files import check_read_once, is_parquet, quoted_path, why_stream
from polyroc.cli._messages import CommandError, Messages, option_of, typed
from polyroc.cli._models import Models, read_models
from polyroc.cli._outputs import (
    as_json,
    check_outputs,
    csv_of,
    draw_curve,
    draw_plan,
    print_comparison,
    print_evaluation,
    print_plan,
    say_where,
    write_report,
    write_whole,
)
from polyroc.cli._problem import Problem, read_costs, read_problem, scale_notes
from polyroc.evaluation._intervals import EvaluationIntervals
from polyroc.report import summarize


def run_evaluate(path: str, settings: Settings) -> None:
    """One model: its curve, and how sure its area is."""
    if does_stream([path], settings):
        from polyroc.cli._stream import stream_evaluate

        stream_evaluate(path, settings)
        return
    check_files([path], settings)
    messages = Messages(quiet=settings.quiet)
    with messages.heard():
        problem = read_problem(path, settings.columns)
        say_rows(problem, settings, messages)
        options = library_options(problem, settings) | {"rng": settings.seed or 0}
        evaluation = polyroc.evaluate(problem.target.values, problem.scores, **options)
        intervals = _intervals(evaluation, problem.groups, settings, messages)
        if settings.plot is not None:
            draw_curve(settings.plot, evaluation, intervals, settings.confidence_level)
        measures = _measures(evaluation, intervals, problem.groups, settings)
        given = {name: getattr(settings.columns, name) for name in ("sample_weight", "groups", "model_column")}
        columns = {"target": settings.columns.target, "scores": list(problem.choice.columns)}
        source = {"file": problem.file, **columns} | {name: one for name, one in given.items() if one is not None}
        hints = [] if settings.quiet else _hints(problem, path, evaluation, intervals, settings)
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
        summary = _summary(evaluation, source, settings, messages, confidence_level=level, **how)
        if settings.max_fpr is not None:
            ends = how.get("bootstrap")
            summary |= {"partial_auc": _partial_area(ends, evaluation, settings.max_fpr, level)}
        return summary | _as_entry(measures)

    _report_and_json(summarized, settings, messages)
    if not settings.json:
        print_evaluation(
            evaluation,
            intervals,
            title=quoted_path(source["file"])[1:-1],
            confidence_level=level,
            measures=measures,
            max_fpr=settings.max_fpr,
            hints=hints,
        )
    say_where(settings.report, messages)


def say_comparison(
    comparison: Comparison,
    source: dict[str, Any],
    title: str,
    settings: Settings,
    messages: Messages,
    hints: Sequence[str],
    measures: ComparedMeasures | None = None,
) -> None:
    """Table, page, JSON or text of several models."""
    if settings.out is not None:
        write_whole(settings.out, _differences_csv(comparison))

    def summarized() -> dict[str, Any]:
        tipping = _tipping(comparison, settings)
        return _summary(comparison, source, settings, messages, tipping=tipping) | _as_entry(measures)

    _report_and_json(summarized, settings, messages)
    if not settings.json:
        print_comparison(comparison, title=title, measures=measures, hints=hints)
    say_where(settings.report, messages)


def _summary(
    result: Evaluation | Comparison, source: dict[str, Any], settings: Settings, messages: Messages, **how: Any
) -> dict[str, Any]:
    return summarize(
        result,
        source=source,
        warnings=messages.warnings,
        include_rates=settings.report is not None,
        include_decisions=settings.include_decisions,
        **how,
    )


def _as_entry(measures: Measures | ComparedMeasures | None) -> dict[str, Any]:
    return {} if measures is None else {"measures": measures.to_dict()}


def say_rows(problem: Problem, settings: Settings, messages: Messages) -> None:
    """What was done to the rows of one model, and what was guessed."""
    of_scale = scale_notes({problem.file: problem.scores}, settings.method, of_models=False)
    say_notes(problem.warnings, [*problem.notes, *of_scale], messages)


def say_models(models: Models, settings: Settings, messages: Messages) -> None:
    """The same of several models."""
    of_scale = scale_notes(models.scores, settings.method, of_models=True)
    say_notes(models.first.warnings, [*models.notes, *of_scale], messages)


def say_notes(warnings: Sequence[str], notes: Sequence[str], messages: Messages) -> None:
    for text in warnings:
        messages.warning(text)
    for text in notes:
        messages.note(text)


def check_files(paths: Sequence[str], settings: Settings) -> None:
    """What can be said of the files before any is read."""
    check_read_once([*paths, *([] if settings.costs is None else [settings.costs])])
    check_outputs(settings, paths)


def _report_and_json(summarized: Callable[[], dict[str, Any]], settings: Settings, messages: Messages) -> None:
    """What is made from the summary; where nobody wants either, nothing is summarized."""
    if settings.report is None and not settings.json:
        return
    summary = summarized()
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
    found: dict[str, Any] = {"max_fpr": max_fpr, "value": evaluation.partial_auc(max_fpr)}
    ends = intervals.confidence_interval(level, statistic="partial_auc", max_fpr=max_fpr) if intervals else None
    return found | ({"low": None, "high": None} if ends is None else ends._asdict())


def _measures(
    evaluation: Evaluation, intervals: EvaluationIntervals | None, groups: Any, settings: Settings
) -> Measures | None:
    """All measures where somebody asks for them; D and M with the intervals that stand elsewhere on the page."""
    if not settings.measures:
        return None
    found = evaluation.measures(confidence_level=settings.confidence_level, groups=groups)
    drawn = intervals.drawn if intervals is not None and intervals.method == "bootstrap" else None
    return found if drawn is None else found.by_resamples(drawn)


@dataclass(frozen=True, eq=False)
class _Rivals:
    """Models that have been read, and where they came from."""

    y_true: Any
    scores: dict[str, Any]
    options: dict[str, Any]
    groups: Any
    source: dict[str, Any]
    title: str


def run_compare(paths: Sequence[str], models: str | None, settings: Settings) -> None:
    """Several models on the same samples: which is better, and how sure that is."""
    if settings.interval_method == "none":
        msg = "compare needs a method for its p values: --method none is for evaluate only"
        raise CommandError(msg)
    if does_stream(paths, settings):
        from polyroc.cli._stream import stream_compare

        stream_compare(paths, models, settings)
        return
    check_draws(settings, settings.seed)
    check_files(paths, settings)
    messages = Messages(quiet=settings.quiet)
    with messages.heard():
        given = read_models(paths, models, settings.columns)
        say_models(given, settings, messages)
        rivals = _Rivals(
            given.first.target.values,
            given.scores,
            library_options(given.first, settings),
            given.first.groups,
            source={"files": list(paths), "target": settings.columns.target, "key": settings.columns.key}
            | ({"model_column": settings.columns.model_column} if settings.columns.model_column else {}),
            title=", ".join(quoted_path(path)[1:-1] for path in paths[:3]) + (", ..." if len(paths) > 3 else ""),
        )
        hints = ["--out differences.csv writes the differences as a table"] if settings.out is None else []
        hints += ["--report report.html writes everything as a page"] if settings.report is None else []
        _compare_and_say(rivals, settings, messages, ", ".join(hints))


def run_demo(settings: Settings) -> None:
    """The embedded example, compared."""
    check_files([], settings)
    example = polyroc.load_example()
    messages = Messages(quiet=settings.quiet)
    with messages.heard():
        rivals = _Rivals(
            example.y_true,
            dict(example.scores),
            {"n_jobs": settings.jobs, "labels": example.labels},
            groups=None,
            source={"example": "digits"},
            title="Handwritten digits, the example that polyroc carries",
        )
        hint = "polyroc evaluate predictions.csv --target label --report report.html judges your own model"
        _compare_and_say(rivals, settings, messages, hint)


def _compare_and_say(rivals: _Rivals, settings: Settings, messages: Messages, hint: str) -> None:
    comparison = polyroc.compare(
        rivals.y_true,
        rivals.scores,
        confidence_level=settings.confidence_level,
        groups=rivals.groups,
        max_fpr=settings.max_fpr,
        progress=shows_bars(settings),
        **settings.resampling,
        **rivals.options,
    )
    measures = comparison.measures() if settings.measures else None
    hints = [hint] if hint and not settings.quiet else []
    say_comparison(comparison, rivals.source, rivals.title, settings, messages, hints, measures)


def _tipping(comparison: Comparison, settings: Settings) -> TippingCosts | None:
    """What a mistake would have to cost to change the order, for a page; of very many classes it takes too long."""
    n_classes = len(next(iter(comparison.evaluations.values())).labels)
    if settings.report is None or n_classes > TIPPING_ON_PAGE:
        return None
    return comparison.tipping_costs(progress=shows_bars(settings))


def _differences_csv(comparison: Comparison) -> bytes:
    """The differences by both statistics, and by the partial area where it was asked for, below each other."""
    made_by = {"n_resamples": comparison.n_resamples, "seed": comparison.seed}
    rows = [
        {"statistic": one.statistic, **vars(entry), **made_by}
        for one in (comparison.by_auc, comparison.by_hand_till, comparison.by_partial_auc)
        if one is not None
        for entry in one.differences
    ]
    return csv_of(list(rows[0]), [list(row.values()) for row in rows])


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
    """What somebody would do next, as it is typed; nothing after a pipe, which the next command would find empty."""
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
    asked = [option for option, given in wanted.items() if given]
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


# polyroc plan


@dataclass(frozen=True)
class AskedPlan:
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


def run_plan(paths: Sequence[str], models: str | None, asked: AskedPlan, settings: Settings) -> None:
    """How many samples an interval, or the test of two models, takes."""
    if settings.seed is not None and settings.method["max_pairs"] is None:
        raise CommandError("--seed", "of plan draws the pairs of --max-pairs: leave it out, or add --max-pairs")
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
            print_plan(plan, title=", ".join(quoted_path(path)[1:-1] for path in paths))


def _pilot(paths: Sequence[str], models: str | None, asked: AskedPlan, settings: Settings, messages: Messages) -> Any:
    """The evaluation of one model, or the comparison of two."""
    named = settings.columns.model_column
    is_one = len(paths) == 1 and models is None and (named is None or len(split(named.partition("=")[2])) == 1)
    if is_one and settings.columns.common:
        raise CommandError("--common", "needs two models: two files, or one file with --model-column")
    if is_one and asked.detect is not None:
        raise CommandError("--detect", "needs two models: two files, or one file with --models or --model-column")
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
        reason = in_words(error.rule.removeprefix("must be 'bootstrap' where "), option_of)
        msg = f"no plan can be made by these models: {reason}"
        raise CommandError(msg) from error
