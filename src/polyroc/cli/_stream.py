"""`evaluate` and `compare` of Parquet files that do not fit in memory: scores are counted in two passes over them."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polyroc
from polyroc import Comparison, Evaluation
from polyroc._scale._parquet_columns import found_columns
from polyroc.cli._columns import split
from polyroc.cli._commands import differences_csv, find_tipping, report_and_json, shows_bars
from polyroc.cli._files import quoted_path
from polyroc.cli._messages import Messages
from polyroc.cli._models import model_patterns
from polyroc.cli._outputs import check_outputs, draw_curve, say_where, write_whole
from polyroc.cli._plain import CommandError
from polyroc.cli._problem import read_costs
from polyroc.cli._settings import Settings
from polyroc.cli._size import why_stream
from polyroc.report import summarize

_HINT = "--report report.html writes everything as a page, --exact sorts scores instead of counting them in bins"


def stream_evaluate(path: str, settings: Settings) -> None:
    """One model, in two passes over its files."""
    messages = _begun([path], settings)
    with messages.heard():
        given = settings.columns.scores
        columns, options = _asked([path], {"": None if given is None else split(given)}, settings)
        has_errors = settings.resamples != 0
        evaluation = polyroc.evaluate_parquet(
            path, scores=columns[""], standard_errors=has_errors, exact=settings.exact, **options
        )
        if settings.plot is not None:
            draw_curve(settings.plot, evaluation, None, settings.confidence_level)
        source = {"file": path, "target": settings.columns.target, "scores": columns[""]}
        report_and_json(partial(_summary, evaluation, source, settings, messages), settings, messages)
        if not settings.json:
            _print(evaluation, quoted_path(path)[1:-1], settings)
        say_where(settings.report, messages)


def _print(evaluation: Evaluation, title: str, settings: Settings) -> None:
    from polyroc.cli._text import CountedIntervals, print_evaluation

    is_sure = settings.resamples != 0 and not evaluation.influence_note
    print_evaluation(
        evaluation,
        CountedIntervals(evaluation) if is_sure else None,
        title=title,
        confidence_level=settings.confidence_level,
        measures=None,
        max_fpr=settings.max_fpr,
        hints=[] if settings.quiet else [_HINT],
    )


def stream_compare(paths: Sequence[str], models: str | None, settings: Settings) -> None:
    """Several models from the columns of the same files."""
    if models is None or len(paths) != 1:
        came = f"{len(paths)} files" if models is not None else "none"
        msg = (
            "models that are compared in files that are passed over must be columns of one file or folder, --models "
            f"'first=a_*,second=b_*', got {came}"
        )
        raise CommandError(msg)
    messages = _begun(paths, settings)
    with messages.heard():
        patterns = {name: split(pattern) for name, pattern in model_patterns(models).items()}
        columns, options = _asked(paths, patterns, settings)
        comparison = polyroc.compare_parquet(
            paths[0], columns, confidence_level=settings.confidence_level, exact=settings.exact, **options
        )
        if settings.out is not None:
            write_whole(settings.out, differences_csv(comparison))
        source = {"files": list(paths), "target": settings.columns.target}
        report_and_json(partial(_summary, comparison, source, settings, messages), settings, messages)
        if not settings.json:
            from polyroc.cli._text import print_comparison

            hints = [] if settings.quiet else [_HINT]
            print_comparison(comparison, title=quoted_path(paths[0])[1:-1], measures=None, hints=hints)
        say_where(settings.report, messages)


def _begun(paths: Sequence[str], settings: Settings) -> Messages:
    """What can be said before anything is read."""
    check_outputs(settings, [] if all(Path(path).is_dir() for path in paths) else paths)
    for option, given in (("--model-column", settings.columns.model_column), ("--key", settings.columns.key)):
        if given is not None:
            msg = f"{option} needs all rows in memory: leave it out, or add --no-stream"
            raise CommandError(msg)
    messages = Messages(quiet=settings.quiet)
    why = "" if settings.stream else why_stream(paths)
    reason = f" because {why}; --no-stream reads it all the same" if why else ""
    how = "sorted one column at a time" if settings.exact else "counted in bins"
    messages.note(f"{quoted_path(paths[0])} is passed over, and its scores are {how}{reason}")
    if settings.resamples:
        messages.note("--resamples has no effect: intervals of counted scores come from a second pass")
    if settings.measures:
        messages.note(
            "--measures adds nothing: measures need single samples, and scores that were counted are not kept"
        )
    if settings.max_fpr is not None:
        messages.note("the partial area has no interval: that needs single samples")
    return messages


def _asked(
    paths: Sequence[str], scores: Mapping[str, Any], settings: Settings
) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Columns of every model, and the keyword arguments that both functions share."""
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
        "rng": settings.seed,
        "checkpoint": settings.checkpoint,
    }


def _summary(
    result: Evaluation | Comparison, source: dict[str, Any], settings: Settings, messages: Messages
) -> dict[str, Any]:
    is_comparison = isinstance(result, Comparison)
    summary = summarize(
        result,
        confidence_level=None if is_comparison else settings.confidence_level,
        seed=settings.seed,
        source=source,
        warnings=messages.warnings,
        include_rates=settings.report is not None,
        include_decisions=settings.include_decisions,
        tipping=find_tipping(result, settings) if isinstance(result, Comparison) else None,
    )
    if isinstance(result, Evaluation) and settings.max_fpr is not None:
        value = result.partial_auc(settings.max_fpr)
        return summary | {"partial_auc": {"max_fpr": settings.max_fpr, "value": value, "low": None, "high": None}}
    return summary
