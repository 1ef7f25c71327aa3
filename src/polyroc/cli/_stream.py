"""`evaluate` and `compare` of Parquet files that do not fit in memory: scores are counted in two passes over them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polyroc
from polyroc import InputError
from polyroc._estimator._bins import RULE_OF_BINS
from polyroc.cli._arguments import Settings
from polyroc.cli._columns import joined, split
from polyroc.cli._commands import say_comparison, say_evaluation, shows_bars
from polyroc.cli._files import quoted_path, why_stream
from polyroc.cli._long import MODELS, MOST_MODELS
from polyroc.cli._messages import CommandError, Messages, in_options, quoted, typed
from polyroc.cli._models import model_patterns
from polyroc.cli._outputs import check_outputs, draw_curve
from polyroc.cli._problem import read_costs
from polyroc.evaluation._intervals import EvaluationIntervals
from polyroc.streams._parquet_files import ParquetFiles, open_files
from polyroc.streams._parquet_passes import found_columns

_ROWS_LOOKED_AT = 10_000


def stream_evaluate(path: str, settings: Settings) -> None:
    """One model, in two passes over its files."""
    messages = _begun([path], settings)
    with messages.heard(), _proposing([path], settings, needs_errors=False):
        given = settings.columns.scores
        columns, options = _asked([path], {"": None if given is None else split(given)}, settings)
        evaluation = polyroc.evaluate_parquet(
            path, scores=columns[""], standard_errors=settings.has_intervals, exact=settings.exact, **options
        )
        if settings.plot is not None:
            draw_curve(settings.plot, evaluation, None, settings.confidence_level)
        source = {"file": path, "target": settings.columns.target, "scores": columns[""]}
        say_evaluation(evaluation, EvaluationIntervals.of(evaluation), source, settings, messages, _hints(settings))


def _hints(settings: Settings) -> list[str]:
    """What else there is, of what was not asked for."""
    hints = ["--report report.html writes everything as a page"] if settings.report is None else []
    hints += ["--exact sorts scores instead of counting them in bins"] if not settings.exact else []
    return [", ".join(hints)] if hints and not settings.quiet else []


def stream_compare(paths: Sequence[str], models: str | None, settings: Settings) -> None:
    """Several models from the columns of the same files."""
    if models is None or len(paths) != 1:
        came = f"{len(paths)} files" if models is not None else "none"
        msg = (
            "models compared in streamed files must be columns of one file or folder, --models "
            f"'first=a_*,second=b_*', got {came}"
        )
        raise CommandError(msg)
    messages = _begun(paths, settings)
    with messages.heard(), _proposing(paths, settings, needs_errors=True):
        patterns = {name: split(pattern) for name, pattern in model_patterns(models).items()}
        columns, options = _asked(paths, patterns, settings)
        comparison = polyroc.compare_parquet(
            paths[0], columns, confidence_level=settings.confidence_level, exact=settings.exact, **options
        )
        source = {"files": list(paths), "target": settings.columns.target}
        say_comparison(comparison, source, quoted_path(paths[0])[1:-1], settings, messages, _hints(settings))


def _begun(paths: Sequence[str], settings: Settings) -> Messages:
    """What can be said before anything is read."""
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
    """What gives the right number for scores that bins cannot distinguish."""
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
    files = open_files(list(paths), partial=settings.partial)
    for name in files.names:
        if (
            name.casefold() not in MODELS
            or name in columns.taken
            or any(name not in f.schema.names for f in files.files)
        ):
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


def _some_values(files: ParquetFiles, name: str) -> set[str]:
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
