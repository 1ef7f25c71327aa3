"""Results as text for people: what matters first, and what to do next."""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from polyroc import BootstrapResult, Comparison, Evaluation
from polyroc.cli._plain import clean

# Rows of the table of pairs, and of the table of rankings.
_WORST = 5
_RANKINGS = 6
# Where nobody looks at a terminal, tables are as wide as they are.
_WIDE = 200


def print_evaluation(
    evaluation: Evaluation, drawn: BootstrapResult | None, *, title: str, confidence_level: float, hints: Sequence[str]
) -> None:
    """D and M with their intervals, the worst pairs, and what to do next."""
    console = _console()
    n_classes = int(np.count_nonzero(evaluation.class_counts))
    _say(console, f"{title}: {evaluation.n_samples:,} samples of {n_classes} classes")
    table = _table("", "area", *(() if drawn is None else (f"{100 * confidence_level:g} % interval",)), "")
    binary = evaluation.predictions.is_binary
    shared = "area under the curve that all pairs of classes share"
    mean = "mean of the areas of the pairs, after Hand and Till"
    for letter, value, statistic, what in (
        ("D", evaluation.auc, "auc", "area under the ROC curve" if binary else shared),
        ("M", evaluation.hand_till, "hand_till", "the same, for two classes are one pair" if binary else mean),
    ):
        ends = [] if drawn is None else [_ends(*drawn.confidence_interval(confidence_level, statistic=statistic))]  # type: ignore[arg-type]
        _row(table, letter, f"{value:.4f}", *ends, what)
    _print_table(console, table)
    if not binary:
        _print_worst(console, evaluation)
    _print_hints(console, hints)


def _print_worst(console: Console, evaluation: Evaluation) -> None:
    pairs = evaluation.pairs
    worst = np.argsort(pairs.auc, kind="stable")[:_WORST]
    _say(console, "", f"Worst of {len(pairs):,} ordered pairs (an effect below 1 is harder than the shared curve)")
    table = _table("class", "against", "area", "effect", "samples")
    for p in worst.tolist():
        samples = f"{pairs.n_positive[p]:,} / {pairs.n_negative[p]:,}"
        _row(table, pairs.positive[p], pairs.negative[p], f"{pairs.auc[p]:.4f}", f"{pairs.effect[p]:.2f}", samples)
    _print_table(console, table)


def print_comparison(comparison: Comparison, *, title: str, hints: Sequence[str]) -> None:
    """Each model, their differences, and how probable each order of them is."""
    console = _console()
    first = next(iter(comparison.evaluations.values()))
    _say(
        console,
        f"{title}: {len(comparison.models)} models on the same {first.n_samples:,} samples, "
        f"{comparison.n_resamples} paired resamples",
    )
    interval = f"{100 * comparison.confidence_level:g} % interval"
    for letter, contest in (("D", comparison.auc), ("M", comparison.hand_till)):
        _say(console, "")
        table = _table("model", letter, interval, "best in")
        for one in contest.estimates:
            share = f"{100 * one.probability_best:.1f} %"
            _row(table, one.model, f"{one.value:.4f}", _ends(one.low, one.high), share)
        _print_table(console, table)
        _say(console, "")
        table = _table(f"difference of {letter}", "", interval, "p", "p (Holm)")
        for d in contest.differences:
            name = f"{clean(d.first, 30)} - {clean(d.second, 30)}"
            _row(
                table, Text(name), f"{d.value:+.4f}", _ends(d.low, d.high), f"{d.p_value:.2g}", f"{d.p_value_holm:.2g}"
            )
        _print_table(console, table)
    _print_rankings(console, comparison)
    _print_hints(console, hints)


def _print_rankings(console: Console, comparison: Comparison) -> None:
    by_m = {ranking.order: ranking.probability for ranking in comparison.hand_till.rankings}
    _say(console, "")
    table = _table("ranking", "by D", "by M")
    for ranking in comparison.auc.rankings[:_RANKINGS]:
        order = " > ".join(" = ".join(clean(name, 30) for name in place) for place in ranking.order)
        shares = (ranking.probability, by_m.get(ranking.order, 0.0))
        _row(table, Text(order), *(f"{100 * share:.1f} %" for share in shares))
    _print_table(console, table)


def _print_hints(console: Console, hints: Sequence[str]) -> None:
    if hints:
        _say(console, "", "Next", *(f"  {hint}" for hint in hints))


def _console() -> Console:
    width = None if sys.stdout.isatty() else _WIDE
    return Console(file=sys.stdout, markup=False, highlight=False, emoji=False, width=width)


def _say(console: Console, *lines: str) -> None:
    for line in lines:
        console.print(Text(line), soft_wrap=True)


def _print_table(console: Console, table: Table) -> None:
    with console.capture() as captured:
        console.print(table)
    # Without the blanks that fill the last column.
    lines = captured.get().splitlines()
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in lines))


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(Text(column), overflow="fold")
    return table


def _row(table: Table, *cells: Any) -> None:
    # Text, not str: rich would read [/x] in a name as its markup.
    table.add_row(
        *(cell if isinstance(cell, Text) else Text(clean(cell, 60 if " " in str(cell) else 40)) for cell in cells)
    )


def _ends(low: float, high: float) -> str:
    return f"[{low:.4f}, {high:.4f}]"
