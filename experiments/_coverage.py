"""Experiment 6: how often intervals cover the truth, the paper's and this library's."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import bdtr, bdtrc

from experiments._canvas import plain, sheet
from experiments._outcome import CHANCE, FALSE_ALARM, Claim, Outcome, Request, Table
from experiments._simulation import gaussian_scores
from polyroc._lib.threads import Threads
from polyroc._lib.typing import FloatArray, IntervalKind, Method, Thresholds
from polyroc._lib.warnings import ResamplingWarning
from polyroc.baselines._wang_carvalho import wang_carvalho
from polyroc.display._style import colour_of
from polyroc.evaluation._evaluate import evaluate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Coverage of intervals"
LEVEL = 0.95
_THRESHOLDS: tuple[Thresholds, ...] = ("own", "shared")


@dataclass(frozen=True)
class _Setting:
    name: str
    counts: tuple[int, ...]
    strengths: tuple[float, ...]


# Those of the method's prototypes: ordinary, small, skewed.
_SETTINGS = (
    _Setting("k = 4, n = 600", (150, 150, 150, 150), (0.6, 0.9, 1.2, 1.5)),
    _Setting("k = 3, n = 150", (50, 50, 50), (0.6, 1.0, 1.4)),
    _Setting("k = 4, n = 1,000, skewed", (500, 250, 150, 100), (0.6, 0.9, 1.2, 1.5)),
)


@dataclass(frozen=True)
class _Interval:
    name: str
    method: Method
    kind: IntervalKind = "logit"
    thresholds: Thresholds = "own"


_PAPER = _Interval("the paper's, n_i n_j trials", "parametric-pairs", "percentile")
_INTERVALS = (
    _PAPER,
    _Interval("parametric, n_i and n_j trials", "parametric-samples", "percentile"),
    _Interval("resampled samples, percentile", "bootstrap", "percentile"),
    _Interval("resampled samples, logit scale (default)", "bootstrap"),
    _Interval("the same, shared thresholds", "bootstrap", thresholds="shared"),
)
_DEFAULT, _SHARED = _INTERVALS[-2:]
# Numbers of thresholds for the paper's intervals, which does not give its own, and whether the curve has end points.
_PRINTED = ((5, True), (9, True), (19, True), (99, True), (2, False), (5, False))
_PRINTED_SETTING = _SETTINGS[1]


def run(request: Request) -> Outcome:
    """Intervals of many samples whose true D is known from a very large one."""
    n_samples = request.size(200, 12)
    rows: list[dict[str, Any]] = []
    with request.bar(len(_SETTINGS) * n_samples, "coverage") as done, warnings.catch_warnings():
        warnings.simplefilter("ignore", ResamplingWarning)
        for number, setting in enumerate(_SETTINGS):
            rows += _cover(setting, number, n_samples, request, done)
    table = Table.of("coverage", rows)
    printed = Table.of("printed_intervals", _printed_rows(request))
    claims = (
        _covers(table, _PAPER, "The paper's bootstrap gives a reasonable confidence interval"),
        _covers(
            table,
            _DEFAULT,
            "Resampling samples gives honest ones (not in the paper; docs/coverage.md has the large study)",
        ),
        _covers(table, _SHARED, "So it does with shared thresholds (not in the paper)"),
        _widths(table),
        _widths_by_number(printed.where(end_points=True)),
    )
    return Outcome("coverage", TITLE, (table, printed), claims)


def _cover(
    setting: _Setting, number: int, n_samples: int, request: Request, done: Callable[[int], object]
) -> list[dict[str, Any]]:
    truth = {thresholds: _truth(setting, number, thresholds, request) for thresholds in _THRESHOLDS}
    labels = np.repeat(np.arange(len(setting.counts)), setting.counts)

    def once(replication: int) -> list[tuple[float, float, float]]:
        scores = gaussian_scores(labels, np.array(setting.strengths), request.rng(6, number, replication))
        judged = {thresholds: evaluate(labels, scores, thresholds=thresholds, n_jobs=1) for thresholds in _THRESHOLDS}
        # The paper's likelihood has no shrinkage.
        plain = evaluate(labels, scores, shrinkage=0, n_jobs=1)
        stream = request.integer(62, number, replication)
        replicates = {
            (method, thresholds): (judged[thresholds] if method == "bootstrap" else plain).bootstrap(
                _n_resamples(method, request), method=method, rng=stream, n_jobs=1
            )
            for method, thresholds in dict.fromkeys((one.method, one.thresholds) for one in _INTERVALS)
        }
        ends = [
            replicates[one.method, one.thresholds].confidence_interval(LEVEL, interval=one.kind) for one in _INTERVALS
        ]
        return [(low, high, judged[one.thresholds].auc) for (low, high), one in zip(ends, _INTERVALS, strict=True)]

    # Threads over samples rather than within each: the samples are small, and the result is the same.
    with Threads(request.n_jobs) as threads:
        drawn = []
        for ends in threads.imap(once, [(replication,) for replication in range(n_samples)]):
            drawn.append(ends)
            done(1)
    found = np.array(drawn)
    return [
        {"setting": setting.name, "interval": one.name, **_summary(found[:, i], truth[one.thresholds])}
        for i, one in enumerate(_INTERVALS)
    ]


def _summary(found: FloatArray, truth: float) -> dict[str, Any]:
    """Coverage and width of intervals (low, high) of many samples, with the D of each."""
    low, high, area = found.T
    # What an interval of the right width would be, were D normal: from the spread of D over the samples.
    needed = 2 * 1.959964 * area.std(ddof=1)
    return {
        "samples": len(found),
        "truth": truth,
        "coverage": float(np.mean((low <= truth) & (truth <= high))),
        "width_over_needed": float(np.mean(high - low) / needed),
    }


def _printed_rows(request: Request) -> list[dict[str, Any]]:
    """The paper's intervals of its own algorithm, by the number of thresholds, with end points and without."""
    setting, rows = _PRINTED_SETTING, []
    strengths = np.array(setting.strengths)
    labels = np.repeat(np.arange(len(setting.counts)), setting.counts)
    many = np.repeat(np.arange(len(setting.counts)), request.size(200_000, 20_000))
    whole = gaussian_scores(many, strengths, request.rng(63))
    for n, ends in _PRINTED:
        options: dict[str, Any] = {"tau": np.arange(1, n + 1) / (n + 1), "weighting": "equal", "end_points": ends}
        truth, found = wang_carvalho(many, whole, **options).auc, []
        for replication in range(request.size(200, 12)):
            one = wang_carvalho(labels, gaussian_scores(labels, strengths, request.rng(64, replication)), **options)
            low, high = one.confidence_interval(request.size(100, 29), rng=request.integer(65, replication))
            if np.isfinite(low):
                found.append((low, high, one.auc))
        rows.append({"setting": setting.name, "thresholds": n, "end_points": ends, **_summary(np.array(found), truth)})
    return rows


def _n_resamples(method: Method, request: Request) -> int:
    """As many as the paper draws of its own."""
    return request.size(199, 99) if method == "bootstrap" else request.size(100, 29)


def _truth(setting: _Setting, number: int, thresholds: Thresholds, request: Request) -> float:
    labels = np.repeat(np.arange(len(setting.counts)), request.size(200_000, 20_000))
    scores = gaussian_scores(labels, np.array(setting.strengths), request.rng(61, number))
    return evaluate(labels, scores, thresholds=thresholds, n_jobs=request.n_jobs).auc


def _as_promised(part: Table) -> bool:
    """Whether the coverages could be those of exact intervals: the binomial test, both sides."""
    n = part.column("samples")
    hits = np.round(part.column("coverage") * n)
    p_few, p_many = bdtr(hits, n, LEVEL), bdtrc(hits - 1, n, LEVEL)
    return bool(np.min(2 * np.minimum(p_few, p_many)) > FALSE_ALARM / len(hits))


def _percent(values: FloatArray) -> str:
    return ", ".join(f"{100 * value:.1f} %" for value in values)


def _covers(table: Table, interval: _Interval, text: str) -> Claim:
    part = table.where(interval=interval.name)
    found = _percent(part.column("coverage"))
    return Claim(text, f"nominal 95 % intervals cover the truth in {found} of the samples", _as_promised(part), CHANCE)


def _widths(table: Table) -> Claim:
    paper, ours = (table.where(interval=one.name).column("width_over_needed") for one in (_PAPER, _DEFAULT))
    words = [", ".join(f"{width:.3f}" for width in found) for found in (paper, ours)]
    return Claim(
        "The paper's intervals are far too narrow (not in the paper)",
        f"mean width over the width needed: {words[0]} (the paper's), {words[1]} (default)",
        bool(np.all(paper < 0.5 * ours)),
        "less than half of ours",
    )


def _widths_by_number(printed: Table) -> Claim:
    numbers = ", ".join(map(str, printed.column("thresholds")))
    width = printed.column("width_over_needed")
    return Claim(
        "How wide the paper's intervals are depends on its number of thresholds, which is not given (not in the paper)",
        f"with {numbers} thresholds they cover the truth in {_percent(printed.column('coverage'))} of the samples, and "
        f"have {', '.join(f'{one:.3f}' for one in width)} of the width needed",
        bool(width.max() > 2 * width.min() and width.max() < 0.5),
        "more than twice as wide, and less than half of what is needed",
    )


def draw(outcome: Outcome) -> "dict[str, Figure]":
    """A point per interval and setting, beside the level that all of them promise."""
    from matplotlib.ticker import PercentFormatter

    table = outcome.table("coverage")
    figure, axes = sheet(1, 1, width=6.4, height=2.8)
    ax = axes[0, 0]
    intervals = table.distinct("interval")
    place = np.arange(len(intervals))
    for number, setting in enumerate(table.distinct("setting")):
        part = table.where(setting=setting)
        coverage, n = part.column("coverage"), part.column("samples")
        error = 1.96 * np.sqrt(coverage * (1 - coverage) / n)
        ax.errorbar(
            coverage,
            place + 0.18 * (number - 1),
            xerr=error,
            fmt="os^"[number],
            color=colour_of(ax, number),
            markersize=5,
            capsize=2,
            label=setting,
        )
    ax.axvline(LEVEL, color="black", linestyle=":", linewidth=1, alpha=0.7)
    ax.set_yticks(place, intervals)
    ax.invert_yaxis()
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    ax.set_xlim(-0.03, 1.03)
    ax.set_xlabel("samples whose 95 % interval holds the truth", fontsize=8)
    plain(ax)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return {"coverage": figure}
