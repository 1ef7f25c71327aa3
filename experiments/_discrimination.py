"""Experiment 1: the fewer covariates a classifier may use, the lower its curve."""

import warnings
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments._canvas import LEFT_OUT, lines_of, plain, rates_panel, sheet
from experiments._outcome import CHANCE, Claim, Outcome, Request, Table, curve_rows, sure, tpr_at
from experiments._simulation import N_COVARIATES, Simulation, multinomial, simulate
from polyroc._lib.typing import FloatArray, IntArray, Thresholds
from polyroc._lib.warnings import ResamplingWarning
from polyroc.display._style import colour_of
from polyroc.evaluation._compare import compare
from polyroc.evaluation._comparison import Comparison
from polyroc.evaluation._evaluate import evaluate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Labels and discrimination"
INDEPENDENT = "independent"
KINDS = ("random", "deterministic")
THRESHOLDS: tuple[Thresholds, ...] = ("own", "shared")


def run(request: Request) -> Outcome:
    """Multinomial regressions on the first d covariates, judged on the samples they were fitted to."""
    data = simulate(request.size(50_000, 4_000), request.rng(1))
    with request.bar(len(KINDS) * (N_COVARIATES + 1 + len(THRESHOLDS)) + 1, "discrimination") as done:
        scores = {kind: _scores(data, kind, done) for kind in KINDS}
        compared = {
            thresholds: {kind: _compare(data, kind, scores[kind], thresholds, request, done) for kind in KINDS}
            for thresholds in THRESHOLDS
        }
        held_out = {thresholds: _held_out(data, thresholds, request) for thresholds in THRESHOLDS}
        done(1)
    areas = Table.of(
        "areas",
        [
            row
            for thresholds in THRESHOLDS
            for kind in KINDS
            for row in _area_rows(kind, thresholds, compared[thresholds][kind])
        ],
    )
    curves = [
        row
        for kind in KINDS
        for name, one in compared["own"][kind].evaluations.items()
        for row in curve_rows(one.curve, labels=kind, covariates=name)
    ]
    claims = [
        replace(claim, text=claim.text if thresholds == "own" else f"{claim.text}, with shared thresholds too")
        for thresholds in THRESHOLDS
        for claim in _claims(compared[thresholds], held_out[thresholds])
    ]
    return Outcome("discrimination", TITLE, (_counts(data), areas, Table.of("curves", curves)), tuple(claims))


def _claims(compared: dict[str, Comparison], held_out: tuple[float, float]) -> tuple[Claim, ...]:
    return (
        *(_rises(kind, compared[kind]) for kind in KINDS),
        *(_is_top_left(kind, compared[kind]) for kind in KINDS),
        _deterministic_is_higher(compared),
        _reaches_one(compared["deterministic"]),
        _independent_is_chance(compared["random"], held_out),
    )


def _scores(data: Simulation, kind: str, done: Any) -> dict[str, FloatArray]:
    """One model per number of covariates, and one of covariates that say nothing."""
    labels: IntArray = getattr(data, kind)
    scores: dict[str, FloatArray] = {}
    for name in (INDEPENDENT, *map(str, range(1, N_COVARIATES + 1))):
        covariates = data.independent if name == INDEPENDENT else data.covariates[:, : int(name)]
        scores[name] = multinomial(covariates, labels).predict_proba(covariates)
        done(1)
    return scores


def _compare(
    data: Simulation, kind: str, scores: dict[str, FloatArray], thresholds: Thresholds, request: Request, done: Any
) -> Comparison:
    with warnings.catch_warnings():
        # Deterministic labels are told apart without an error, as they should be; no need to warn of it.
        warnings.simplefilter("ignore", ResamplingWarning)
        compared = compare(
            getattr(data, kind),
            scores,
            thresholds=thresholds,
            method="bootstrap",
            n_resamples=request.size(199, 99),
            rng=request.seed,
            n_jobs=request.n_jobs,
        )
    done(1)
    return compared


def _held_out(data: Simulation, thresholds: Thresholds, request: Request) -> tuple[float, float]:
    """D of independent covariates on samples that the regression has not seen, and its standard error."""
    half = len(data.random) // 2
    model = multinomial(data.independent[:half], data.random[:half])
    scores = model.predict_proba(data.independent[half:])
    judged = evaluate(data.random[half:], scores, thresholds=thresholds, n_jobs=request.n_jobs)
    return judged.auc, judged.bootstrap(199, rng=request.seed, n_jobs=request.n_jobs).standard_error()


def _counts(data: Simulation) -> Table:
    counts = {kind: np.bincount(getattr(data, kind)).tolist() for kind in KINDS}
    return Table.of(
        "counts",
        [{"labels": kind, "class": c, "samples": n} for kind in KINDS for c, n in enumerate(counts[kind], start=1)],
    )


def _area_rows(kind: str, thresholds: Thresholds, compared: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "labels": kind,
            "thresholds": thresholds,
            "covariates": by_d.model,
            "D": by_d.value,
            "D_low": by_d.low,
            "D_high": by_d.high,
            "M": by_m.value,
        }
        for by_d, by_m in zip(compared.by_auc.estimates, compared.by_hand_till.estimates, strict=True)
    ]


def _rises(kind: str, compared: Comparison) -> Claim:
    """Whether D rises with each covariate that is added, as far as the sample can tell."""
    names = [INDEPENDENT, *map(str, range(1, N_COVARIATES + 1))]
    found = {(d.first, d.second): d for d in compared.by_auc.differences}
    steps = [found[pair] for pair in pairwise(names)]
    # A difference is first minus second, so a rise is negative.
    rises = np.array([-step.value for step in steps])
    errors = np.array([step.standard_error for step in steps])
    least = int(np.argmin(rises))
    values = ", ".join(f"{one.value:.3f}" for one in compared.by_auc.estimates)
    return Claim(
        f"The curve falls as covariates are taken away ({kind} labels)",
        f"D {values} for independent covariates and d = 1 ... {N_COVARIATES}; {np.sum(rises > 0)} of {len(rises)} "
        f"steps go up, the least by {rises[least]:+.4f} with a standard error of {errors[least]:.4f}",
        bool(np.all(rises > -sure(len(rises)) * errors) and rises.sum() > 0),
        CHANCE,
    )


def _is_top_left(kind: str, compared: Comparison) -> Claim:
    """Whether no other curve passes above that of all covariates by more than sampling error."""
    fpr = np.linspace(0.01, 0.99, 99)
    best = str(N_COVARIATES)
    heights = {
        name: tpr_at(fpr, [one.curve.fpr, *drawn.fpr], [one.curve.tpr, *drawn.tpr])
        for (name, one), drawn in zip(compared.evaluations.items(), compared.bootstraps.values(), strict=True)
    }
    others = [name for name in heights if name != best]
    above = np.array([heights[name] - heights[best] for name in others])
    error = above[:, 1:].std(axis=1, ddof=1)
    # Where no replicate differs, curves differ by exactly what is seen.
    excess = above[:, 0] / np.maximum(error, 1e-12)
    return Claim(
        f"All {best} covariates give the top-left curve ({kind} labels)",
        f"at 99 false positive rates, the greatest lead of another curve is {above[:, 0].max():+.4f}",
        bool(excess.max() < sure(excess.size)),
        CHANCE,
    )


def _deterministic_is_higher(compared: dict[str, Comparison]) -> Claim:
    random, sure_of = (compared[kind].by_auc.estimates[1:] for kind in KINDS)
    leads = np.array([b.value - a.value for a, b in zip(random, sure_of, strict=True)])
    errors = np.array([np.hypot(a.standard_error, b.standard_error) for a, b in zip(random, sure_of, strict=True)])
    return Claim(
        "Curves of deterministic labels are higher than those of random ones",
        f"D is higher by {leads.min():+.4f} to {leads.max():+.4f} for d = 1 ... {N_COVARIATES}",
        bool(np.all(leads > -sure(len(leads)) * errors) and leads.sum() > 0),
        CHANCE,
    )


def _reaches_one(compared: Comparison) -> Claim:
    area = compared.by_auc.estimates[-1].value
    text = "Deterministic labels and all covariates give an area of 1"
    return Claim(text, f"D = {area:.6f}", area > 0.9995, "1.000 when rounded")


def _independent_is_chance(compared: Comparison, held_out: tuple[float, float]) -> Claim:
    area, error = held_out
    fitted = compared.by_auc.estimates[0].value
    return Claim(
        "A classifier of independent covariates is a random one",
        f"D = {area:.4f} with a standard error of {error:.4f} on samples not fitted to "
        f"({fitted:.4f} on those it was fitted to, some of whose chance it has learnt by heart)",
        abs(area - 0.5) < sure() * error,
        CHANCE,
    )


def draw(outcome: Outcome) -> "dict[str, Figure]":
    """The paper's histograms of labels and its two panels of curves, and the areas beside each other."""
    return {"labels": _labels(outcome), "curves": _curves(outcome), "areas": _areas(outcome)}


def _labels(outcome: Outcome) -> "Figure":
    figure, axes = sheet(1, 2, height=2.4, sharey=True)
    for ax, kind in zip(axes[0], KINDS, strict=True):
        part = outcome.table("counts").where(labels=kind)
        bars = ax.bar(part.column("class"), part.column("samples"), color=colour_of(ax, 0), width=0.7)
        ax.bar_label(bars, fmt="{:,.0f}", fontsize=7, padding=1)
        ax.set_title(f"{kind} labels", fontsize=9)
        ax.set_xlabel("class", fontsize=8)
        plain(ax)
        ax.grid(visible=False, axis="x")
    axes[0, 0].set_ylabel("samples", fontsize=8)
    return figure


def _curves(outcome: Outcome) -> "Figure":
    from matplotlib import colormaps

    figure, axes = sheet(1, 2, width=3.4, height=3.6)
    lines = lines_of(outcome.table("curves"), ("labels", "covariates"))
    steps = colormaps["viridis_r"]
    for ax, kind in zip(axes[0], KINDS, strict=True):
        rates_panel(ax, f"{kind} labels", y_label=kind == KINDS[0])
        for (labels, name), fpr, tpr in lines:
            if labels == kind:
                own = name == INDEPENDENT
                colour = LEFT_OUT if own else steps(0.05 + 0.095 * int(name))
                # An area of 1 runs along the frame, which would hide half of the line.
                style = {"linestyle": "--" if own else "-", "linewidth": 1.3, "clip_on": False}
                ax.plot(fpr, tpr, color=colour, label=name if own else f"d = {name}", **style)
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=6, fontsize=7, frameon=False)
    return figure


def _areas(outcome: Outcome) -> "Figure":
    figure, axes = sheet(1, 2, height=2.8, sharey=True)
    for ax, kind in zip(axes[0], KINDS, strict=True):
        part = outcome.table("areas").where(labels=kind, thresholds="own")
        names = [name if name != INDEPENDENT else "none" for name in part.column("covariates")]
        ax.plot(names, part.column("D"), "o-", color=colour_of(ax, 0), markersize=4, label="D")
        ax.fill_between(names, part.column("D_low"), part.column("D_high"), color=colour_of(ax, 0), alpha=0.2)
        ax.plot(names, part.column("M"), "s--", color=colour_of(ax, 1), markersize=3, label="M")
        ax.set_title(f"{kind} labels", fontsize=9)
        ax.set_xlabel("covariates that the regression has", fontsize=8)
        plain(ax)
    axes[0, 0].set_ylabel("area", fontsize=8)
    axes[0, 0].legend(fontsize=8, frameon=False)
    return figure
