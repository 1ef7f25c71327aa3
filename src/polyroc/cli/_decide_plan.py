"""`polyroc decide`: from predictions and costs to a rule, and what it predicts. `polyroc plan`: how many samples."""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import polyroc
from polyroc import Decision, InputError
from polyroc._inputs.checks import in_words
from polyroc._inputs.labels import text_of
from polyroc._lib.numbers import counted
from polyroc._lib.typing import FloatArray
from polyroc.cli._app import Settings
from polyroc.cli._columns import Target, as_spelled, choose_scores, columns_of, labels_column, read_costs, split
from polyroc.cli._commands import as_array, library_options, say_rows, started
from polyroc.cli._files import Source, check_read_once, is_numeric, open_source, quoted_path, read_given
from polyroc.cli._messages import CommandError, Messages, clean, listed, one_line, option_of, quoted
from polyroc.cli._models import read_models
from polyroc.cli._outputs import Output, as_json, csv_of, draw_plan, print_plan, write_whole
from polyroc.cli._problem import check_rows_left, check_scores, open_problem, read_problem

COLUMN = "decision"
_ROWS_AT_ONCE = 65_536


def _has_decisions(head: bytes, path: Path) -> bool:
    """Whether the last column of a table is that of the decisions."""
    if path.suffix.lower() == ".csv":
        return head.split(b"\r\n", 1)[0].endswith(f",{COLUMN}".encode())
    with suppress(pa.ArrowException, OSError):
        import pyarrow.parquet as pq

        names: list[str] = pq.read_schema(path).names
        return names[-1:] == [COLUMN]
    return False


# The first entry of a rule as it is written.
_FORMAT = "polyroc decision 1"
_BEGINNING = f'{{\n  "format": "{_FORMAT}"'.encode()
_ROWS = Output("--out", (".parquet", ".csv"), "a table of decisions that --out wrote", _has_decisions)
_RULE = Output("--save-rule", (".json",), "a rule that --save-rule wrote", lambda head, _: head.startswith(_BEGINNING))


def check_free(source: Source) -> None:
    """Refuse a table that has a column of this name already."""
    if COLUMN in source.names:
        raise CommandError(
            quoted_path(source.name), f"has a column {quoted(COLUMN)} already: rename it, or leave out --out"
        )


def rows_with_decisions(source: Source, predicted: Any, scores: Sequence[str], suffix: str) -> bytes:
    """The table with one column more, which is empty where the rule abstains."""
    columns = {name: _kept(source, name, is_score=name in scores) for name in source.names}
    table = pa.table(columns | {COLUMN: pa.array(predicted.tolist())})
    if suffix.lower() == ".csv":
        return csv_of(table.column_names, _rows(table))
    import pyarrow.parquet as pq

    stream = pa.BufferOutputStream()
    try:
        pq.write_table(table, stream)
    except pa.ArrowException as error:
        msg = f"the rows of {quoted_path(source.name)} cannot be written as Parquet, use .csv: {one_line(str(error))}"
        raise CommandError(msg) from error
    content: bytes = stream.getvalue().to_pybytes()
    return content


def _kept(source: Source, name: str, *, is_score: bool) -> Any:
    """A column as the file has it: of a text file, 01 stays 01."""
    column = source.column(name)
    is_text = pa.types.is_string(column.type)
    if source.written is None or is_score or is_text or column.null_count > 0:
        return column
    return as_spelled(column, source.written(name))


def _rows(table: Any) -> Iterator[tuple[Any, ...]]:
    # Python's own numbers of few rows at a time: they take many times the memory of Arrow's.
    for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def is_file(prior: str | None) -> bool:
    """Whether the option names a file."""
    return prior is not None and "=" not in prior


def read_prior(prior: str, labels: Sequence[Any]) -> list[float]:
    """An entry for each class, in the order of the classes; whether they can be a prior the library says."""
    shares = _in_file(prior, labels) if is_file(prior) else _typed(prior)
    texts = [text_of(label) for label in labels]
    if sorted(shares) != sorted(texts):
        raise CommandError("--prior", f"must name each class once ({listed(labels)}), got {listed(list(shares))}")
    return [shares[text] for text in texts]


def _typed(prior: str) -> dict[str, float]:
    shares: dict[str, float] = {}
    for piece in split(prior):
        name, _, number = piece.rpartition("=")
        if not name or name in shares or _NUMBER.fullmatch(number.strip()) is None:
            raise CommandError(
                "--prior", f"must be a file or look like a=0.1,b=0.9, each class once, got {quoted(piece)}"
            )
        shares[name] = float(number)
    return shares


def _in_file(path: str, labels: Sequence[Any]) -> dict[str, float]:
    """A header of classes with one row below it, or a column of classes next to one of numbers."""
    if not Path(path).exists():
        raise CommandError(
            "--prior", f"must be a file or look like a=0.1,b=0.9, got {quoted(path)}: there is no such file"
        )
    source, texts = open_source(path), [text_of(label) for label in labels]
    columns = columns_of(source, labels)
    if columns and source.n_rows == 1:
        row: FloatArray = source.matrix(columns)[0]
        return dict(zip(texts, row.tolist(), strict=True))
    numbers = [name for name in source.names if is_numeric(source.schema.field(name).type)]
    for name in source.names:
        others = [other for other in numbers if other != name]
        if len(others) == 1 and source.n_rows == len(texts) and source.column(name).null_count == 0:
            classes = [text_of(value) for value in labels_column(source, name).to_pylist()]
            if sorted(classes) == sorted(texts):
                return dict(zip(classes, source.matrix(others)[:, 0].tolist(), strict=True))
    raise CommandError(
        "--prior:",
        f"{quoted_path(path)} must have a header with the {len(texts)} classes ({listed(labels)}) and one "
        f"row, or a column of the classes and one of numbers, got {source.n_rows} rows of {listed(source.names)}",
    )


@dataclass(frozen=True)
class Asked:
    """Options of `decide` in addition to those of all commands."""

    prior: str | None
    rule: str | None
    reject_cost: float | None
    apply: str | None
    save_rule: Path | None
    out: Path | None


def run_decide(path: str, asked: Asked, settings: Settings) -> None:
    """Make a rule, or apply one that was made before."""
    _check_asked(asked, settings)
    inputs = [path, settings.costs, asked.apply, asked.prior if is_file(asked.prior) else None]
    read = [one for one in inputs if one is not None]
    check_read_once(read)
    for output, file in ((_ROWS, asked.out), (_RULE, asked.save_rule)):
        if file is not None:
            output.check(file, read, force=settings.force)
    messages = Messages(quiet=settings.quiet)
    with messages.heard():
        if asked.apply is None:
            _make(path, asked, settings, messages)
        else:
            _apply(path, asked.apply, asked, settings, messages)


def _check_asked(asked: Asked, settings: Settings) -> None:
    """Whether the options go together, before any file is read."""
    columns = settings.columns
    if asked.apply is None:
        if not columns.target or settings.costs is None:
            msg = "decide needs --target and --costs, or --apply for a rule that --save-rule wrote"
            raise CommandError(msg)
        return
    others = {"target": columns.target, "costs": settings.costs, "sample_weight": columns.sample_weight}
    others |= {"groups": columns.groups, "model_column": columns.model_column}
    others |= {name: getattr(asked, name) for name in ("prior", "rule", "reject_cost", "save_rule")}
    others |= {"pooled": "" if columns.pooled is False else "yes"}
    if wrong := [f"--{name.replace('_', '-')}" for name, value in others.items() if value not in (None, "")]:
        raise CommandError("--apply", f"uses a rule that is made already: leave out {', '.join(wrong)}")
    if asked.out is None:
        raise CommandError("--apply", "needs --out, the file for the decisions")


def _make(path: str, asked: Asked, settings: Settings, messages: Messages) -> None:
    source, problem = open_problem(path, settings.columns)
    messages.say(problem.warnings, (problem.layout_note, problem.choice.note))
    if asked.out is not None:
        check_free(source)
    decision = polyroc.decide(
        problem.target.values,
        problem.scores,
        read_costs(str(settings.costs), problem.labels),
        prior=None if asked.prior is None else read_prior(asked.prior, problem.labels),
        rule=asked.rule or "auto",  # type: ignore[arg-type]  # the library says which there are
        reject_cost=asked.reject_cost,
        labels=as_array(problem.labels),
        sample_weight=problem.sample_weight,
        groups=problem.groups,
        confidence_level=settings.confidence_level,
        rng=settings.seed or 0,
        n_jobs=settings.jobs,
    )
    if asked.out is not None:
        _write(asked.out, source, decision.predict(problem.scores), problem.choice.columns)
    if asked.save_rule is not None:
        stored = {"format": _FORMAT, "version": polyroc.__version__} | decision.to_dict()
        write_whole(asked.save_rule, f"{as_json(stored)}\n".encode())
    if settings.json:
        source_of = {"file": path, "target": settings.columns.target, "costs": settings.costs}
        rest = {"source": source_of, "seed": settings.seed or 0, "warnings": list(messages.warnings)}
        sys.stdout.write(f"{as_json(decision.to_dict() | rest | {'version': polyroc.__version__})}\n")
    else:
        sys.stdout.write(f"{quoted_path(path)[1:-1]}: {counted(decision.n_samples, 'sample')}\n\n{decision}\n")
    _say_where(asked, messages)


def _apply(path: str, rule: str, asked: Asked, settings: Settings, messages: Messages) -> None:
    decision = read_rule(rule)
    source = open_source(path)
    check_free(source)
    columns = _columns_of(source, decision, settings, messages)
    if settings.columns.drop_missing and not (rows := source.present(columns)).all():
        n_left = int(np.count_nonzero(rows))
        check_rows_left(n_left, len(rows))
        messages.warning(f"dropped {len(rows) - n_left:,} of {counted(len(rows), 'row')} with missing values")
        source = source.where(rows, source.name)
    scores = source.matrix(columns)
    check_scores(source, scores, columns)
    predicted = decision.predict(scores)
    _write(asked.out, source, predicted, columns)
    labels = decision.labels.tolist()
    counts = {clean(label): int(np.sum(predicted == label)) for label in labels}
    abstained = len(predicted) - sum(counts.values())
    if settings.json:
        summary = {"n_samples": len(predicted), "predicted": counts, "abstained": abstained, "rule": rule, "file": path}
        sys.stdout.write(f"{as_json(summary | {'version': polyroc.__version__})}\n")
    else:
        shown = ", ".join(f"{name} {count:,}" for name, count in counts.items() if count > 0)
        more = f"; no class for {abstained:,}" if abstained > 0 else ""
        sys.stdout.write(f"{quoted_path(path)[1:-1]}: {counted(len(predicted), 'sample')}. Predicted: {shown}{more}.\n")
    _say_where(asked, messages)


def _columns_of(source: Source, decision: Decision, settings: Settings, messages: Messages) -> list[str]:
    """The score columns, in the order of the rule's classes."""
    labels = decision.labels.tolist()
    # The classes are known from the rule, as elsewhere from the column of true ones.
    known = Target(np.array([]), sorted(labels))
    asked = settings.columns
    choice = choose_scores(source, known, asked)
    messages.note(choice.note)
    if len(choice.columns) == 1:
        if list(choice.labels) != labels:
            msg = f"the rule was made from scores of class {quoted(labels[-1])}, got column {quoted(choice.columns[0])}"
            raise CommandError(msg)
        return list(choice.columns)
    columns = {text_of(label): name for label, name in zip(choice.labels, choice.columns, strict=True)}
    texts = [text_of(label) for label in labels]
    if sorted(columns) != sorted(texts):
        raise CommandError(
            quoted_path(source.name),
            f"has score columns for the classes {listed(list(columns))}, "
            f"but the rule has {listed(texts)}: choose columns with --scores",
        )
    return [columns[text] for text in texts]


def read_rule(path: str) -> Decision:
    """A rule that --save-rule wrote; nothing in it is run."""
    where = f"--apply: {quoted_path(path)}"
    try:
        content = read_given(path)
        record = json.loads(content.read_bytes() if isinstance(content, Path) else content, parse_constant=_no_number)
    except CommandError as error:
        raise CommandError(where, f"{error}") from error
    except (ValueError, RecursionError) as error:
        raise CommandError(where, "is not JSON, and no rule that --save-rule wrote") from error
    if not isinstance(record, dict) or record.get("format") != _FORMAT:
        raise CommandError(where, f"is no rule that --save-rule wrote: its 'format' must be {_FORMAT!r}")
    try:
        return Decision.from_dict(record)
    except InputError as error:
        # In the words of the file: `costs` there is no option.
        reason = str(error).replace("`", "'").replace("'record'", "it")
        raise CommandError(where, f"cannot be used: {reason}") from error


def _no_number(name: str) -> Any:
    raise ValueError(name)


def _write(out: Path | None, source: Source, predicted: Any, scores: Any) -> None:
    if out is not None:
        write_whole(out, rows_with_decisions(source, predicted, scores, out.suffix))


def _say_where(asked: Asked, messages: Messages) -> None:
    for what, path in (("the decisions are", asked.out), ("the rule is", asked.save_rule)):
        if path is not None:
            messages.note(f"{what} in {quoted_path(str(path))}")


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
    with started(paths, settings) as messages:
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
    models_read = read_models(paths, models, settings.columns)
    say_rows(models_read, settings, messages)
    if len(models_read.scores) != 2:
        msg = f"plan takes one model or two, got {len(models_read.scores)}"
        raise CommandError(msg)
    options = library_options(models_read.first, settings)
    try:
        return polyroc.compare(models_read.first.target.values, models_read.scores, method="influence", **options)
    except InputError as error:
        if error.argument != "method":
            raise
        # The library says which method to take instead; a plan has no other.
        reason = in_words(error.rule.removeprefix("must be 'bootstrap' where "), option_of)
        msg = f"no plan can be made by these models: {reason}"
        raise CommandError(msg) from error
