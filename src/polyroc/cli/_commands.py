"""What the commands do: read, compute, say. Arguments are parsed one level up."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import polyroc
from polyroc import BootstrapResult, ComparedMeasures, Comparison, Evaluation, Measures, TippingCosts
from polyroc.cli._files import check_read_once, quoted_path
from polyroc.cli._messages import Messages
from polyroc.cli._models import read_models
from polyroc.cli._outputs import as_json, check_outputs, csv_of, draw_curve, say_where, write_report, write_whole
from polyroc.cli._plain import CommandError, typed
from polyroc.cli._problem import Problem, read_costs, read_problem
from polyroc.cli._settings import DEFAULT, Resamples, Settings, given_options, plan_resamples
from polyroc.cli._size import does_stream
from polyroc.report import summarize

# Of more classes a page has no list of the costs that would change the order of its models.
_MOST_CLASSES = 50


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
        for note in problem.notes(quoted_path(problem.file)):
            messages.note(note)
        evaluation = polyroc.evaluate(problem.target.values, problem.scores, **library_options(problem, settings))
        drawn = _bootstrap(evaluation, problem.groups, settings, messages)
        if settings.plot is not None:
            draw_curve(settings.plot, evaluation, drawn, settings.confidence_level)
        measures = _measures(evaluation, drawn, problem.groups, settings)
        summarized = partial(_summary, problem, evaluation, drawn, settings, messages)
        report_and_json(partial(_with_measures, summarized, measures), settings, messages)
        if not settings.json:
            from polyroc.cli._text import print_evaluation

            print_evaluation(
                evaluation,
                drawn,
                title=quoted_path(problem.file)[1:-1],
                confidence_level=settings.confidence_level,
                measures=measures,
                max_fpr=settings.max_fpr,
                hints=[] if settings.quiet else _hints(path, evaluation, drawn, settings),
            )
        say_where(settings.report, messages)


def check_files(paths: Sequence[str], settings: Settings) -> None:
    """What can be said of the files before any is read."""
    check_read_once([*paths, *([] if settings.costs is None else [settings.costs])])
    check_outputs(settings, paths)


def report_and_json(summarized: Callable[[], dict[str, Any]], settings: Settings, messages: Messages) -> None:
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


def _summary(
    problem: Problem, evaluation: Evaluation, drawn: BootstrapResult | None, settings: Settings, messages: Messages
) -> dict[str, Any]:
    given = {name: getattr(settings.columns, name) for name in ("sample_weight", "groups", "model_column")}
    columns = {"target": settings.columns.target, "scores": list(problem.choice.columns)}
    columns |= {name: column for name, column in given.items() if column is not None}
    summary = summarize(
        evaluation,
        bootstrap=drawn,
        confidence_level=settings.confidence_level,
        seed=settings.seed,
        source={"file": problem.file, **columns},
        warnings=messages.warnings,
        include_rates=settings.report is not None,
        include_decisions=settings.include_decisions,
    )
    return summary if settings.max_fpr is None else summary | {"partial_auc": _partial(evaluation, drawn, settings)}


def _partial(evaluation: Evaluation, drawn: BootstrapResult | None, settings: Settings) -> dict[str, Any]:
    """The partial area with its interval, as plain data."""
    assert settings.max_fpr is not None
    found: dict[str, Any] = {"max_fpr": settings.max_fpr, "value": evaluation.partial_auc(settings.max_fpr)}
    if drawn is None:
        return found | {"low": None, "high": None}
    asked = {"statistic": "partial_auc", "max_fpr": settings.max_fpr}
    return found | drawn.confidence_interval(settings.confidence_level, **asked)._asdict()  # type: ignore[arg-type]


def _measures(
    evaluation: Evaluation, drawn: BootstrapResult | None, groups: Any, settings: Settings
) -> Measures | None:
    """All measures where somebody asks for them; D and M with the intervals that stand elsewhere on the page."""
    if not settings.measures:
        return None
    found = evaluation.measures(confidence_level=settings.confidence_level, groups=groups)
    return found if drawn is None else found.by_resamples(drawn)


def _with_measures(
    summarized: Callable[[], dict[str, Any]], measures: Measures | ComparedMeasures | None
) -> dict[str, Any]:
    return summarized() | ({} if measures is None else {"measures": measures.to_dict()})


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
    if settings.resamples == 0:
        msg = "compare needs resamples for its p values: --resamples must be at least 2"
        raise CommandError(msg)
    if does_stream(paths, settings):
        from polyroc.cli._stream import stream_compare

        stream_compare(paths, models, settings)
        return
    check_files(paths, settings)
    messages = Messages(quiet=settings.quiet)
    with messages.heard():
        given = read_models(paths, models, settings.columns)
        for note in given.notes:
            messages.note(note)
        rivals = _Rivals(
            given.first.target.values,
            given.scores,
            library_options(given.first, settings),
            given.first.groups,
            source={"files": list(paths), "target": settings.columns.target, "key": settings.columns.key}
            | ({"model_column": settings.columns.model_column} if settings.columns.model_column else {}),
            title=", ".join(quoted_path(path)[1:-1] for path in paths[:3]) + (", ..." if len(paths) > 3 else ""),
        )
        hint = "--out differences.csv writes the differences as a table, --report report.html everything as a page"
        _compare_and_say(rivals, settings, messages, hint)


def run_demo(settings: Settings) -> None:
    """The embedded example, compared."""
    check_files([], settings)
    example = polyroc.load_example()
    messages = Messages(quiet=settings.quiet)
    with messages.heard():
        rivals = _Rivals(
            example.y_true,
            dict(example.scores),
            {"rng": settings.seed, "n_jobs": settings.jobs, "labels": example.labels},
            groups=None,
            source={"example": "digits"},
            title="Handwritten digits, the example that polyroc carries",
        )
        hint = "polyroc evaluate predictions.csv --target label --report report.html judges your own model"
        _compare_and_say(rivals, settings, messages, hint)


def _compare_and_say(rivals: _Rivals, settings: Settings, messages: Messages, hint: str) -> None:
    plan = _plan_comparison(rivals, settings)
    messages.note(plan.note if _tells_time(settings) else "")
    comparison = polyroc.compare(
        rivals.y_true,
        rivals.scores,
        confidence_level=settings.confidence_level,
        n_resamples=plan.count,
        groups=rivals.groups,
        max_fpr=settings.max_fpr,
        progress=plan.is_long and shows_bars(settings),
        **rivals.options,
    )
    if settings.out is not None:
        write_whole(settings.out, differences_csv(comparison))
    tipping = find_tipping(comparison, settings)
    summarized = partial(
        summarize,
        comparison,
        seed=settings.seed,
        source=rivals.source,
        warnings=messages.warnings,
        include_rates=settings.report is not None,
        include_decisions=settings.include_decisions,
        tipping=tipping,
    )
    measures = comparison.measures() if settings.measures else None
    report_and_json(partial(_with_measures, summarized, measures), settings, messages)
    if not settings.json:
        from polyroc.cli._text import print_comparison

        hints = [] if settings.quiet else [hint]
        print_comparison(comparison, title=rivals.title, measures=measures, hints=hints)
    say_where(settings.report, messages)


def find_tipping(comparison: Comparison, settings: Settings) -> TippingCosts | None:
    """What a mistake would have to cost to change the order, for a page; of very many classes it takes too long."""
    n_classes = len(next(iter(comparison.evaluations.values())).labels)
    if settings.report is None or n_classes > _MOST_CLASSES:
        return None
    return comparison.tipping_costs(progress=shows_bars(settings))


def _plan_comparison(rivals: _Rivals, settings: Settings) -> Resamples:
    """As for one model, by the first one's resamples; nothing is timed where nobody wants to know."""
    count = _n_resamples(settings)
    if not _tells_time(settings):
        return Resamples(count)
    first = polyroc.evaluate(rivals.y_true, next(iter(rivals.scores.values())), **rivals.options)
    return plan_resamples(first, count, groups=rivals.groups, n_jobs=settings.jobs, n_models=len(rivals.scores))


def differences_csv(comparison: Comparison) -> bytes:
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
        "rng": settings.seed,
        "n_jobs": settings.jobs,
    }


def as_array(labels: list[Any]) -> Any:
    """Classes for the library."""
    # Objects keep text as it is; NumPy's own type would lose a NUL at the end.
    return np.array(labels, dtype=object) if isinstance(labels[0], str) else labels


def _bootstrap(evaluation: Evaluation, groups: Any, settings: Settings, messages: Messages) -> BootstrapResult | None:
    count, timed = _n_resamples(settings), _tells_time(settings)
    if count == 0:
        return None
    plan = plan_resamples(evaluation, count, groups=groups, n_jobs=settings.jobs, timed=timed)
    messages.note(plan.note if timed else "")
    return evaluation.bootstrap(
        count,
        groups=groups,
        rng=settings.seed,
        n_jobs=settings.jobs,
        progress=plan.is_long and shows_bars(settings),
    )


def _n_resamples(settings: Settings) -> int:
    return DEFAULT if settings.resamples is None else settings.resamples


def _tells_time(settings: Settings) -> bool:
    """Whether the number of resamples is announced: where nobody asked for one, or where somebody watches."""
    return not settings.quiet and (settings.resamples is None or shows_bars(settings))


def shows_bars(settings: Settings) -> bool:
    return sys.stderr.isatty() and not (settings.quiet or settings.json)


def _hints(path: str, evaluation: Evaluation, drawn: BootstrapResult | None, settings: Settings) -> list[str]:
    """What somebody would do next, as it is typed."""
    file, target = typed(path), f"--target {typed(settings.columns.target)}"
    call = f"polyroc evaluate {file} {target}{given_options(settings)}"
    hints = []
    if drawn is None:
        hints.append(f"how sure:   {call} --resamples 999")
    if settings.plot is None:
        hints.append(f"the curve:  {call} --plot curve.png")
    if len(evaluation.labels) > 2:
        hints.append(f"all pairs:  {call} --json")
    if settings.report is None:
        hints.append(f"a page:     {call} --report report.html")
    return [*hints, f"a rival:    polyroc compare {file} OTHER {target}{given_options(settings)}"]
