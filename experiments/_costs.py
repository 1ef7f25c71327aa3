"""Experiment 3: costs move the curve of a classifier that always says the same."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments._canvas import lines_of, plain, rates_panel, sheet
from experiments._outcome import CHANCE, Claim, Outcome, Request, Table, curve_rows, sure
from polyroc._lib.typing import FloatArray, Thresholds
from polyroc.baselines._wang_carvalho import Quantiles, Structure, wang_carvalho
from polyroc.display._style import colour_of
from polyroc.evaluation._evaluate import evaluate
from polyroc.evaluation._evaluation import Evaluation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Costs"
CLASSES, ALPHAS = (5, 10, 15), (2, 5, 9)
BELOW = tuple(round(0.1 * step, 1) for step in range(1, 10))
COSTS = (*BELOW, 1.0, *(1 / c for c in reversed(BELOW)))
KINDS: tuple[Thresholds, ...] = ("shared", "own")
STRUCTURES: tuple[tuple[Structure, int], ...] = (
    ("rank-one", 1),
    ("rank-one", 2),
    ("centered", 1),
    ("centered", 2),
    ("full", 1),
)
QUANTILES: tuple[Quantiles, ...] = ("column", "pair", "pooled")


def run(request: Request) -> Outcome:
    """D of the majority classifier for cheap and expensive confusions of the majority class."""
    areas: list[dict[str, Any]] = []
    curves: list[dict[str, Any]] = []
    costs = request.size(COSTS, (0.1, 0.5, 1.0, 2.0, 10.0))
    classes = request.size(CLASSES, CLASSES[:2])
    with request.bar(len(classes) * len(ALPHAS) * len(KINDS) * len(costs), "costs") as done:
        for k in classes:
            for alpha in ALPHAS:
                found = _panel(k, alpha, costs, request, done)
                areas += found[0]
                curves += found[1]
    table = Table.of("areas", areas)
    combinations = Table.of("combinations", _combination_rows(request))
    claims = (
        _starts_on_the_diagonal(table),
        _rises_with_costs(table),
        _sides(table),
        _own_stays(table),
        _is_symmetric(table),
        _needs_pooled_quantiles(combinations),
    )
    return Outcome("costs", TITLE, (table, combinations, Table.of("curves", curves)), claims)


def _panel(
    k: int, alpha: int, costs: tuple[float, ...], request: Request, done: Callable[[int], object]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """One panel of the paper's grid: all costs for one number of classes and one skewness."""
    rng = request.rng(3, k, alpha)
    labels = rng.choice(k, size=request.size(10_000, 2_000), p=rng.dirichlet(np.full(k, float(alpha))))
    majority = int(np.bincount(labels, minlength=k).argmax())
    scores = majority_scores(len(labels), k, majority, rng)
    areas, curves = [], []
    for thresholds in KINDS:
        for cost in costs:
            weights = cost_matrix(k, majority, cost)
            judged = evaluate(
                labels, scores, labels=range(k), costs=weights, thresholds=thresholds, n_jobs=request.n_jobs
            )
            keys = {"classes": k, "alpha": alpha, "thresholds": thresholds, "cost": cost}
            # Where D ought to be 1/2: how far off chance may put it. With own thresholds the ends tell as much as all.
            asked = cost == 1 or (thresholds == "own" and cost in (costs[0], costs[-1]))
            error = _error(judged, request) if asked else None
            areas.append({**keys, "D": judged.auc, "D_error": error, "M": judged.hand_till})
            curves += curve_rows(judged.curve, **keys)
            done(1)
    return areas, curves


def _combination_rows(request: Request) -> list[dict[str, Any]]:
    """D of the majority classifier as the paper's text may be read: structures and quantiles, end points added."""
    k, rng = CLASSES[0], request.rng(31)
    labels = rng.choice(k, size=request.size(10_000, 2_000), p=rng.dirichlet(np.full(k, float(ALPHAS[0]))))
    majority = int(np.bincount(labels, minlength=k).argmax())
    scores = majority_scores(len(labels), k, majority, rng)
    positive, negative = np.array([(i, j) for i in range(k) for j in range(k) if i != j]).T
    rows = []
    for structure, rank in STRUCTURES:
        for quantiles in QUANTILES:
            row: dict[str, Any] = {"structure": structure, "rank": rank, "quantiles": quantiles}
            for cost in (COSTS[0], 1.0, COSTS[-1]):
                matrix = cost_matrix(k, majority, cost)
                weights = np.array([matrix[positive, negative], matrix[negative, positive]])
                options: dict[str, Any] = {"structure": structure, "rank": rank, "quantiles": quantiles}
                judged = wang_carvalho(
                    labels, scores, weighting="equal", pair_weights=weights, end_points=True, **options
                )
                row[f"c = {cost:g}"] = judged.auc
            rows.append(row)
    return rows


def majority_scores(n_samples: int, k: int, majority: int, rng: np.random.Generator) -> FloatArray:
    """Probabilities that say the majority class for every sample and know nothing else."""
    highest = rng.uniform(0.6, 0.9, size=n_samples)
    rest = rng.dirichlet(np.ones(k - 1), size=n_samples) * (1 - highest)[:, None]
    return np.insert(rest, majority, highest, axis=1)


def cost_matrix(k: int, majority: int, cost: float) -> FloatArray:
    """The paper's table of weights as costs[true, predicted]."""
    costs = np.ones((k, k))
    costs[majority, :] = cost
    costs[:, majority] = 1 / cost
    return costs


def _error(judged: Evaluation, request: Request) -> float:
    return judged.bootstrap(request.size(99, 49), rng=request.seed, n_jobs=request.n_jobs).standard_error()


def _panels(table: Table, thresholds: str) -> list[Table]:
    part = table.where(thresholds=thresholds)
    return [part.where(classes=k, alpha=alpha) for k in part.distinct("classes") for alpha in part.distinct("alpha")]


def _scaled(part: Table) -> FloatArray:
    """Distance of D from 1/2 in standard errors."""
    scaled: FloatArray = (part.column("D") - 0.5) / part.column("D_error").astype(float)
    return scaled


def _starts_on_the_diagonal(table: Table) -> Claim:
    part = table.where(thresholds="shared", cost=1.0)
    areas, scaled = part.column("D"), _scaled(part)
    return Claim(
        "With equal costs the majority classifier is a random one: its curve is the diagonal",
        f"D from {areas.min():.4f} to {areas.max():.4f} over {len(areas)} panels, "
        f"at most {np.abs(scaled).max():.1f} standard errors from 1/2",
        bool(np.abs(scaled).max() < sure(len(areas))),
        CHANCE,
    )


def _rises_with_costs(table: Table) -> Claim:
    steps = np.concatenate([np.diff(panel.column("D")) for panel in _panels(table, "shared")])
    return Claim(
        "The larger c, the higher the curve",
        f"{np.sum(steps > 0)} of {len(steps)} steps in c go up, the least by {steps.min():+.4f}",
        bool(np.all(steps > 0)),
        "every step, on the same samples",
    )


def _sides(table: Table) -> Claim:
    panels = _panels(table, "shared")
    low, high = ([float(panel.column("D")[end]) for panel in panels] for end in (0, -1))
    cost = table.column("cost")
    return Claim(
        "The curve moves to the top left for c > 1 and to the bottom right for c < 1",
        f"D from {min(low):.3f} to {max(low):.3f} at c = {cost.min():g}, "
        f"from {min(high):.3f} to {max(high):.3f} at c = {cost.max():g}",
        all(
            bool(np.all((panel.column("D") > 0.5)[panel.column("cost") > 1]))
            and bool(np.all((panel.column("D") < 0.5)[panel.column("cost") < 1]))
            for panel in panels
        ),
        "every c, on the same samples",
    )


def _own_stays(table: Table) -> Claim:
    part = table.where(thresholds="own")
    known = part.known("D_error")
    scaled, areas = _scaled(known), part.column("D")
    return Claim(
        "With own thresholds costs leave it at 1/2 (not in the paper): no column tells any pair apart, and there is "
        "no pair that costs could favour",
        f"D from {areas.min():.4f} to {areas.max():.4f} over all c, "
        f"at most {np.abs(scaled).max():.1f} standard errors from 1/2",
        bool(np.abs(scaled).max() < sure(len(scaled))),
        CHANCE,
    )


def _is_symmetric(table: Table) -> Claim:
    """Costs c and 1/c pull alike, to opposite sides."""
    sums = np.concatenate([panel.column("D") + panel.column("D")[::-1] - 1 for panel in _panels(table, "shared")])
    errors = table.where(thresholds="shared", cost=1.0).column("D_error").astype(float)
    return Claim(
        "c and 1/c move it by as much to opposite sides (not in the paper)",
        f"D(c) + D(1/c) - 1 is {np.abs(sums).max():.4f} at most",
        bool(np.abs(sums).max() < 2 * sure(len(sums)) * errors.max()),
        CHANCE,
    )


def _needs_pooled_quantiles(table: Table) -> Claim:
    low, middle, high = (table.column(f"c = {cost:g}") for cost in (COSTS[0], 1.0, COSTS[-1]))
    names = [
        f"{structure}{f' (rank {rank})' if rank > 1 else ''}, {quantiles}"
        for structure, rank, quantiles in zip(*map(table.column, ("structure", "rank", "quantiles")), strict=True)
    ]
    moves, starts = high - low > 0.5, np.abs(middle - 0.5) < 0.05
    moving, figure = (
        [name for name, holds in zip(names, which, strict=True) if holds] for which in (moves, moves & starts)
    )
    return Claim(
        "Only pooled quantiles and the rank-one structure give the paper's figure (not in the paper)",
        f"of {len(names)} combinations of structure and quantiles D moves by more than 0.5 from c = 0.1 to 10 in "
        f"{len(moving)} ({'; '.join(moving) or 'none'}), and is within 0.05 of 1/2 at c = 1 as well in {len(figure)} "
        f"({'; '.join(figure) or 'none'})",
        figure == ["rank-one, pooled"],
        "more than 0.5, and within 0.05",
    )


def draw(outcome: Outcome) -> "dict[str, Figure]":
    """The paper's grid, and D by c for both kinds of thresholds."""
    return {"curves": _curves(outcome), "areas": _areas(outcome)}


def _curves(outcome: Outcome) -> "Figure":
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    curves = outcome.table("curves").where(thresholds="shared")
    classes, alphas = curves.distinct("classes"), curves.distinct("alpha")
    figure, axes = sheet(len(classes), len(alphas), width=2.6, height=2.5)
    # The middle is black: c = 1 favours nobody.
    steps = LinearSegmentedColormap.from_list("costs", ["#E69F00", "#C04000", "#222222", "#0060A0", "#56B4E9"])
    colours = ScalarMappable(LogNorm(0.1, 10), steps)
    for r, k in enumerate(classes):
        for c, alpha in enumerate(alphas):
            rates_panel(axes[r, c], f"k = {k}, alpha = {alpha}", x_label=r == len(classes) - 1, y_label=c == 0)
    for (k, alpha, cost), fpr, tpr in lines_of(curves, ("classes", "alpha", "cost")):
        ax = axes[classes.index(k), alphas.index(alpha)]
        ax.plot(fpr, tpr, color=colours.to_rgba(cost), linewidth=1.1)
    bar = figure.colorbar(colours, ax=axes, shrink=0.6, label="c", ticks=[0.1, 0.3, 1, 3, 10])
    bar.ax.set_yticklabels(["0.1", "0.3", "1", "3", "10"])
    bar.ax.minorticks_off()
    return figure


def _areas(outcome: Outcome) -> "Figure":
    areas = outcome.table("areas")
    classes, alphas = areas.distinct("classes"), areas.distinct("alpha")
    figure, axes = sheet(1, len(alphas), width=2.8, height=2.8, sharey=True)
    for ax, alpha in zip(axes[0], alphas, strict=True):
        for place, k in enumerate(classes):
            for thresholds, style in (("shared", "o-"), ("own", "s:")):
                part = areas.where(classes=k, alpha=alpha, thresholds=thresholds)
                label = f"k = {k}, {thresholds}"
                ax.plot(
                    part.column("cost"), part.column("D"), style, color=colour_of(ax, place), markersize=3, label=label
                )
        ax.set_xscale("log")
        ax.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
        ax.set_title(f"alpha = {alpha}", fontsize=9)
        ax.set_xlabel("c", fontsize=8)
        ax.set_yticks(np.arange(0, 1.01, 0.25))
        plain(ax)
    axes[0, 0].set_ylabel("D", fontsize=8)
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize=7, frameon=False)
    return figure
