"""Experiment 5: what the library decided where the paper leaves a choice, and what each choice changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from experiments import _readings as readings
from experiments._canvas import plain, sheet
from experiments._data_sets import find_data_sets
from experiments._outcome import CHANCE, IDENTITY, Claim, Outcome, Request, Table, sure
from experiments._readings import SAMPLES_PER_CLASS, STRUCTURES, SWEPT_COSTS
from polyroc.display._style import colour_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# What the choice of the grid leaves open: nothing that is smaller matters.
_GRID = 2e-4
# The same of 1 - D, where nearly all is right.
_CORNER = 0.02
# Above it D is driven to 1.
_DRIVEN = 0.9995
# Two optima are the same.
_SAME = 1e-6
TITLE = "What each choice changes"
_PARTS = (
    readings.thresholds_rows,
    readings.intercept_rows,
    readings.shrinkage_rows,
    readings.end_point_rows,
    readings.grid_rows,
    readings.tie_rows,
    readings.printed_rows,
    readings.separated_rows,
    readings.monotone_rows,
    readings.update_rows,
)


def run(request: Request) -> Outcome:
    """Every reading of every open point, beside the one that was chosen."""
    rows = []
    with request.bar(len(_PARTS), "choices") as done:
        for part in _PARTS:
            rows += part(request)
            done(1)
    table = Table.of("choices", rows)
    claims = (
        _own_ignores_scales(table),
        _shared_punishes_priors(table),
        _costs_need_shared(table),
        _intercept_stops_costs(table),
        *_one_pair_drives_all(table),
        _monotone(table),
        _shrinking_helps_small_samples(table),
        _corners_matter(table),
        _grid_is_fine_enough(table),
        _strict_breaks_symmetry(table),
        *(_printed_update(table, kind) for kind in ("ordinary", "hard")),
        _damped_update_ends(table),
    )
    sources = [f"iris: {one.source}" for one in find_data_sets(["iris"], request.data).data_sets]
    return Outcome("choices", TITLE, (table,), claims, tuple(sources))


@dataclass(frozen=True, eq=False)
class _Choice:
    """The numbers of one open point."""

    table: Table

    def value(self, problem: str, reading: str, quantity: str = "D") -> float:
        found = self.table.where(problem=problem, reading=reading, quantity=quantity).column("value")
        return float(found[0])


def _own_ignores_scales(table: Table) -> Claim:
    ask = _Choice(table.where(choice="thresholds")).value
    moves = {
        reading: ask("the same, one column divided by ten", reading) - ask("paper's simulation, d = 5", reading)
        for reading in ("own", "shared")
    }
    return Claim(
        "Own thresholds do not mind the scale of a column; shared ones do",
        f"D moves by {moves['own']:+.1e} (own) and {moves['shared']:+.4f} (shared)",
        abs(moves["own"]) < 1e-9 < abs(moves["shared"]),
        IDENTITY,
    )


def _shared_punishes_priors(table: Table) -> Claim:
    ask = _Choice(table.where(choice="thresholds")).value
    equal, skewed = "exact posteriors, equal priors", "exact posteriors, priors 0.60, 0.25, 0.10, 0.05"
    areas = {reading: (ask(equal, reading), ask(skewed, reading)) for reading in ("own", "shared")}
    words = "; ".join(f"{reading} {before:.3f} to {after:.3f}" for reading, (before, after) in areas.items())
    drop = {reading: before - after for reading, (before, after) in areas.items()}
    errors = [ask(problem, reading, "error of D") for problem in (equal, skewed) for reading in areas]
    return Claim(
        "Shared thresholds punish skewed priors, also where scores are the exact posteriors",
        f"D as priors become skewed: {words}; M {ask(equal, '', 'M'):.3f} to {ask(skewed, '', 'M'):.3f}",
        bool(drop["shared"] - drop["own"] > sure() * np.linalg.norm(errors)),
        CHANCE,
    )


def _costs_need_shared(table: Table) -> Claim:
    ask = _Choice(table.where(choice="thresholds")).value
    ends = {
        reading: [ask(f"majority classifier, c = {c:g}", reading) for c in (0.1, 10)] for reading in ("own", "shared")
    }
    words = "; ".join(f"{reading} {low:.3f} to {high:.3f}" for reading, (low, high) in ends.items())
    return Claim(
        "Costs move a classifier without information only with shared thresholds",
        f"D from c = 0.1 to c = 10: {words}",
        abs(ends["own"][1] - ends["own"][0]) < 0.1 * (ends["shared"][1] - ends["shared"][0]),
        "a tenth as far",
    )


def _intercept_stops_costs(table: Table) -> Claim:
    ask = _Choice(table.where(choice="intercept")).value
    areas = {
        structure: [ask(f"majority classifier, c = {c:g}", structure) for c in readings.SWEPT_COSTS]
        for structure in readings.STRUCTURES
    }
    words = "; ".join(f"{structure} {', '.join(f'{area:.3f}' for area in found)}" for structure, found in areas.items())
    moved = {structure: found[-1] - found[0] for structure, found in areas.items()}
    return Claim(
        "With an intercept costs hardly move the curve",
        f"D at c = {', '.join(f'{c:g}' for c in readings.SWEPT_COSTS)}: {words}",
        moved["centered"] < 0.1 * moved["rank-one"],
        "a tenth as far",
    )


def _one_pair_drives_all(table: Table) -> list[Claim]:
    part = table.where(choice="separated pair")
    if not part.rows:
        return []
    values = {
        reading: part.where(reading=reading).column("value")
        for reading in ("strictly greater", "linear, a = 0", "linear, a = 1", "")
    }
    strict, plain, shrunk, m = values.values()
    driven = int(np.sum(strict > _DRIVEN))
    return [
        Claim(
            "As printed one separated pair drives D to 1; read along the edges of ties it does not",
            f"tree on iris, {len(m)} splits: D is above {_DRIVEN:g} in {driven} with strict thresholds, and in "
            f"{np.sum(plain > _DRIVEN)} without shrinkage and {np.sum(shrunk > _DRIVEN)} with it where ties are edges; "
            f"means {strict.mean():.4f}, {plain.mean():.4f}, {shrunk.mean():.4f}; M {m.mean():.4f}",
            bool(2 * driven > len(m) and np.all(plain < _DRIVEN)),
            f"above {_DRIVEN:g} in more than half, and in none",
        )
    ]


def _monotone(table: Table) -> Claim:
    part = table.where(choice="one pair improves")
    falls = {structure: part.where(reading=structure).column("value").astype(int) for structure in readings.STRUCTURES}
    words = ", ".join(f"{structure} {' and '.join(map(str, counts))}" for structure, counts in falls.items())
    return Claim(
        "Only with the rank-one structure D may fall as one pair improves and no other changes",
        f"steps in which D falls, of {' and of '.join(part.distinct('problem'))}: {words}",
        bool(falls["rank-one"].all()) and not falls["centered"].any() and not falls["saturated"].any(),
        "count, without noise",
    )


def _shrinking_helps_small_samples(table: Table) -> Claim:
    ask = _Choice(table.where(choice="shrinkage")).value
    truth = ask("four classes, very many samples", "")
    problems = [f"four classes, {n} of each" for n in readings.SAMPLES_PER_CLASS]
    means = {a: np.array([ask(problem, f"a = {a}", "mean D") for problem in problems]) for a in (0, 1)}
    errors = np.array([ask(problem, "", "error of the mean") for problem in problems])
    words = "; ".join(f"a = {a}: {', '.join(f'{value:.3f}' for value in means[a])}" for a in (0, 1))
    bias = {a: np.abs(means[a] - truth) for a in (0, 1)}
    slack = sure(len(problems)) * errors
    sizes = ", ".join(map(str, readings.SAMPLES_PER_CLASS))
    return Claim(
        "Shrinking brings D of small samples nearer to the truth",
        f"mean D with {sizes} samples per class, truth {truth:.3f}: {words}",
        bool(np.all(bias[1] <= bias[0] + slack) and bias[1].sum() < bias[0].sum()),
        CHANCE,
    )


def _corners_matter(table: Table) -> Claim:
    part = table.where(choice="end points")
    ask = _Choice(part).value
    problem = "paper's simulation, d = 5"
    drop = ask(problem, "with") - ask(problem, "without")
    words = f"{problem} {drop:.3f}"
    falls = part.where(quantity="fall of D").column("value")
    if len(falls) > 0:
        words += f"; tree on iris, {len(falls)} splits, {falls.min():.3f} to {falls.max():.3f}"
    return Claim(
        "Without its corners the curve loses area that matters",
        f"D falls by: {words}",
        bool(min(drop, *falls) > _GRID),
        f"more than {_GRID:g}, as of the grid",
    )


def _grid_is_fine_enough(table: Table) -> Claim:
    part = table.where(choice="number of thresholds")
    areas = {
        problem: dict(zip(readings.GRIDS, part.where(problem=problem).column("value").tolist(), strict=True))
        for problem in part.distinct("problem")
    }
    good = areas.pop(readings.GOOD)
    finest = max(readings.GRIDS)
    moved = max(abs(found[99] - found[finest]) for found in areas.values())
    off = abs((1 - good[99]) / (1 - good[finest]) - 1)
    words = ", ".join(f"{area:.7f} (N = {n})" for n, area in good.items())
    return Claim(
        "A finer grid than the default one hardly changes D, nor 1 - D of a good model",
        f"from N = 99 to {finest} uniform points D of the paper's simulation moves by {moved:.1e}; of {readings.GOOD} "
        f"1 - D moves by {off:.1%}: D = {words}",
        moved < _GRID and off < _CORNER,
        f"less than {_GRID:g}, and than {_CORNER:.0%} of 1 - D",
    )


def _strict_breaks_symmetry(table: Table) -> Claim:
    part = table.where(choice="ties")
    ask = _Choice(part).value
    wrong = {
        reading: max(abs(ask(problem, reading, "D + D(negated) - 1")) for problem in part.distinct("problem"))
        for reading in ("linear", "strictly greater")
    }
    return Claim(
        "Strict thresholds break the symmetry of negated scores; straight lines through ties keep it",
        f"D + D(negated) - 1 is at most {wrong['strictly greater']:.4f} (strict) and {wrong['linear']:.1e} (linear)",
        wrong["linear"] < 1e-9 < 1e-3 < wrong["strictly greater"],
        "1e-9 and 1e-3",
    )


def _printed_update(table: Table, kind: str) -> Claim:
    part = table.where(choice=f"update, {kind} problems")
    printed, damped = (
        part.where(reading=reading, quantity="D").column("value") for reading in ("as printed", "damped")
    )
    lost, moved = np.isnan(printed), np.abs(printed - damped)
    measured = (
        f"{lost.sum()} of {len(printed)} end without a number; {np.sum(moved < _SAME)} are within {_SAME:g} of our D"
        f"{f', the others up to {np.nanmax(moved):.2f} off' if np.any(moved >= _SAME) else ''}"
    )
    if kind == "ordinary":
        text = "On ordinary problems the printed update, full steps without a safeguard, reaches our optimum"
        return Claim(text, measured, bool(np.all(moved < _SAME)), "every problem")
    text = "On hard problems (shared thresholds, columns of different scale, random costs) it may end without a number"
    return Claim(text, measured, bool(lost.any()), "at least one")


def _damped_update_ends(table: Table) -> Claim:
    counts, steps = [], []
    for kind in ("ordinary", "hard"):
        part = table.where(choice=f"update, {kind} problems")
        converged = part.where(reading="damped", quantity="converged").column("value") == 1
        iterations = part.where(reading="damped", quantity="iterations").column("value")
        counts.append((int(converged.sum()), len(converged)))
        steps.append(
            f"{np.median(iterations):.0f} iterations in the median and {iterations.max():.0f} at most ({kind})"
        )
    return Claim(
        "Damped steps converge on all of them, also without shrinkage",
        f"{' and '.join(f'{found} of {n}' for found, n in counts)} converged; {', '.join(steps)}",
        all(found == n for found, n in counts),
        "every problem",
    )


def draw(outcome: Outcome) -> "dict[str, Figure]":
    """One sheet of four panels."""
    table = outcome.table("choices")
    figure, axes = sheet(2, 2, width=3.9, height=3.1)
    _thresholds(axes[0, 0], table)
    _intercept(axes[0, 1], table)
    _shrinkage(axes[1, 0], table)
    _update(axes[1, 1], table)
    for ax in axes.flat:
        plain(ax)
    return {"choices": figure}


def _thresholds(ax: "Axes", table: Table) -> None:
    part = table.where(choice="thresholds", quantity="D")
    problems = [name for name in part.distinct("problem") if not name.startswith("majority")]
    for number, reading in enumerate(("own", "shared")):
        values = [part.where(problem=name, reading=reading).column("value")[0] for name in problems]
        ax.scatter(values, np.arange(len(problems)), color=colour_of(ax, number), marker="os"[number], label=reading)
    m = [table.where(choice="thresholds", problem=name, quantity="M").column("value")[0] for name in problems]
    ax.scatter(m, np.arange(len(problems)), color="black", marker="x", label="M")
    # Of four lines at most, each short enough for the margin.
    ax.set_yticks(np.arange(len(problems)), [name.replace(", ", ",\n", 1) for name in problems])
    ax.invert_yaxis()
    ax.set_title("own or shared thresholds", fontsize=9)
    ax.set_xlabel("D", fontsize=8)
    ax.legend(fontsize=7, frameon=False)


def _intercept(ax: "Axes", table: Table) -> None:
    part = table.where(choice="intercept", quantity="D")
    for number, structure in enumerate(STRUCTURES):
        one = [part.where(problem=f"majority classifier, c = {c:g}", reading=structure) for c in SWEPT_COSTS]
        areas = [float(table.column("value")[0]) for table in one]
        ax.plot(SWEPT_COSTS, areas, "os^"[number] + "-", color=colour_of(ax, number), markersize=4, label=structure)
    _dress(ax, SWEPT_COSTS, "with or without intercept: majority classifier", "c", "D")


def _shrinkage(ax: "Axes", table: Table) -> None:
    part = table.where(choice="shrinkage", quantity="mean D")
    truth = table.where(choice="shrinkage", problem="four classes, very many samples").column("value")[0]
    ax.axhline(truth, color="black", alpha=0.5, linestyle=":", linewidth=1, label="truth")
    for number, reading in enumerate(("a = 0", "a = 1")):
        one = part.where(reading=reading)
        ax.plot(SAMPLES_PER_CLASS, one.column("value"), "os"[number] + "-", color=colour_of(ax, number), label=reading)
    _dress(ax, SAMPLES_PER_CLASS, "shrinkage", "samples per class", "mean D")


def _dress(ax: "Axes", places: Sequence[float], title: str, x_label: str, y_label: str) -> None:
    """A logarithmic axis whose ticks are the places that were computed."""
    ax.set_xscale("log")
    ax.set_xticks(places, [f"{place:g}" for place in places])
    ax.set_xticks([], minor=True)
    ax.set_title(title, fontsize=9)
    ax.set_xlabel(x_label, fontsize=8)
    ax.set_ylabel(y_label, fontsize=8)
    ax.legend(fontsize=7, frameon=False)


def _update(ax: "Axes", table: Table) -> None:
    ax.plot([0, 1], [0, 1], color="black", alpha=0.5, linestyle=":", linewidth=1)
    for number, kind in enumerate(("ordinary", "hard")):
        part = table.where(choice=f"update, {kind} problems", quantity="D")
        printed, damped = (part.where(reading=reading).column("value") for reading in ("as printed", "damped"))
        lost, colour = np.isnan(printed), colour_of(ax, number)
        ax.scatter(damped[~lost], printed[~lost], color=colour, marker="os"[number], s=12, label=f"{kind} problems")
        if lost.any():
            # No number has no place on the axis: at its lower end.
            label = f"{lost.sum()} without a number"
            ax.scatter(damped[lost], np.full(lost.sum(), -0.05), color=colour, marker="x", s=14, label=label)
    ax.set_title("the printed update", fontsize=9)
    ax.set_xlabel("D by damped steps", fontsize=8)
    ax.set_ylabel("D by the printed update", fontsize=8)
    ax.legend(fontsize=7, frameon=False)
