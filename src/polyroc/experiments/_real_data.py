"""Experiment 4: three classifiers on six data sets, and how sure their order is."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, pairwise, permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from polyroc._compare import compare
from polyroc._comparison import Comparison
from polyroc._evaluate import ConvergenceWarning, evaluate
from polyroc._lib._warnings import ResamplingWarning
from polyroc._uncertainty._bootstrap import BootstrapResult
from polyroc.display._style import LINE_STYLES, colour_of
from polyroc.experiments._canvas import lines_of, plain, rates_panel, sheet
from polyroc.experiments._classifiers import MODELS, split_and_score
from polyroc.experiments._data_sets import KNOWN, DataSet, Found, find_data_sets
from polyroc.experiments._discriminative import more_discriminative
from polyroc.experiments._outcome import AS_SEEN, CHANCE, Claim, Outcome, Request, Table, curve_rows, sure_of_few

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Real data"
ORDERS = tuple(">".join(order) for order in permutations(MODELS))
# The paper's table of ranking probabilities, as printed; a dash there is a 0 here.
PRINTED = {
    "car": {"multi>tree>knn": 0.84, "tree>multi>knn": 0.16},
    "optical": {"knn>multi>tree": 0.94, "multi>knn>tree": 0.06},
    "pen": {"knn>multi>tree": 1.00},
    "tae": {"multi>tree>knn": 0.99, "multi>knn>tree": 0.01},
    "iris": {
        "knn>tree>multi": 0.16,
        "knn>multi>tree": 0.36,
        "multi>tree>knn": 0.15,
        "multi>knn>tree": 0.22,
        "tree>knn>multi": 0.04,
        "tree>multi>knn": 0.07,
    },
    "glass": {
        "knn>tree>multi": 0.25,
        "knn>multi>tree": 0.13,
        "multi>knn>tree": 0.04,
        "tree>knn>multi": 0.37,
        "tree>multi>knn": 0.21,
    },
}
_CERTAIN, _UNCERTAIN = ("car", "optical", "pen", "tae"), ("iris", "glass")
_QUICK = ("tae", "iris", "glass")
_N_PARAMETRIC = 100


@dataclass(frozen=True, eq=False)
class _Judged:
    """One data set, split once: the paired comparison, and the paper's replicates."""

    data_set: DataSet
    comparison: Comparison
    parametric: dict[str, BootstrapResult]


def run(request: Request) -> Outcome:
    """One split in detail, as in the paper, and the order by D and by M over many splits."""
    found = find_data_sets(request.size(tuple(KNOWN), _QUICK), request.data)
    n_splits = request.size(50, 20)
    with request.bar(len(found.data_sets) * (n_splits + 5), "real-data") as done, warnings.catch_warnings():
        # Glass has classes of five samples in a half. The page says so; a warning for each split would not.
        warnings.simplefilter("ignore", ResamplingWarning)
        # Without shrinkage an optimum may lie at infinity.
        warnings.simplefilter("ignore", ConvergenceWarning)
        judged = [_judge(data_set, request, done) for data_set in found.data_sets]
        splits = Table.of(
            "splits", [row for one in found.data_sets for row in _split_rows(one, n_splits, request, done)]
        )
    rankings = Table.of("rankings", [row for one in judged for row in _ranking_rows(one)])
    areas = Table.of("areas", [row for one in judged for row in _area_rows(one)])
    agreement = Table.of("agreement", [_agreement(splits, one.name) for one in found.data_sets])
    tables = (areas, rankings, agreement, splits, _replicates(judged), *_curves(judged))
    claims = (
        _orders_agree(agreement),
        more_discriminative({one.data_set.name: one.comparison for one in judged}, splits),
        *_some_are_certain(rankings, "paper_method", "by replicates drawn as it says"),
        *_some_are_certain(rankings, "bootstrap", "by paired resamples of the samples"),
        _as_printed(rankings),
        *_glass(judged),
        _too_confident(areas),
    )
    return Outcome("real-data", TITLE, tables, claims, _notes(found))


def _judge(data_set: DataSet, request: Request, done: Callable[[int], object]) -> _Judged:
    labels, scores = split_and_score(data_set, request.integer(40))
    compared = compare(labels, scores, n_resamples=request.size(999, 199), rng=request.seed, n_jobs=request.n_jobs)
    parametric = {
        # The paper's likelihood has no shrinkage. A seed of its own for each model: the paper draws them apart.
        name: evaluate(labels, score, shrinkage=0, n_jobs=request.n_jobs).bootstrap(
            _N_PARAMETRIC, method="parametric-pairs", rng=request.rng(4, place), n_jobs=request.n_jobs
        )
        for place, (name, score) in enumerate(scores.items())
    }
    done(5)
    return _Judged(data_set, compared, parametric)


def _split_rows(
    data_set: DataSet, n_splits: int, request: Request, done: Callable[[int], object]
) -> list[dict[str, Any]]:
    rows = []
    for split in range(n_splits):
        labels, scores = split_and_score(data_set, request.integer(41, split))
        for name, score in scores.items():
            one = evaluate(labels, score, n_jobs=request.n_jobs)
            rows.append({"data": data_set.name, "split": split, "model": name, "D": one.auc, "M": one.hand_till})
        done(1)
    return rows


def _area_rows(judged: _Judged) -> list[dict[str, Any]]:
    compared = judged.comparison
    return [
        {
            "data": judged.data_set.name,
            "test_samples": compared.evaluations[by_d.model].n_samples,
            "smallest_class": int(compared.evaluations[by_d.model].class_counts.min()),
            "model": by_d.model,
            "D": by_d.value,
            "D_low": by_d.low,
            "D_high": by_d.high,
            "M": by_m.value,
            "M_low": by_m.low,
            "M_high": by_m.high,
            "error": by_d.standard_error,
            "error_paper_method": float(judged.parametric[by_d.model].auc.std(ddof=1)),
        }
        for by_d, by_m in zip(compared.by_auc.estimates, compared.by_hand_till.estimates, strict=True)
    ]


def _ranking_rows(judged: _Judged) -> list[dict[str, Any]]:
    name, compared = judged.data_set.name, judged.comparison
    by = {
        "paper_method": _shares({model: drawn.auc for model, drawn in judged.parametric.items()}),
        "bootstrap": _shares({model: drawn.auc for model, drawn in compared.bootstraps.items()}),
        "bootstrap_M": _shares({model: drawn.hand_till for model, drawn in compared.bootstraps.items()}),
    }
    return [
        {
            "data": name,
            "ranking": order,
            "printed": PRINTED[name].get(order, 0.0),
            **{method: shares[order] for method, shares in by.items()},
        }
        for order in ORDERS
    ]


def _shares(replicates: dict[str, Any]) -> dict[str, float]:
    """Share of each order among the replicates; one that ties leave open is shared among the orders it may be."""
    values = np.array([replicates[name] for name in MODELS])
    counts = dict.fromkeys(ORDERS, 0.0)
    for column in values.T:
        possible = [
            order
            for order in permutations(range(len(MODELS)))
            if all(column[a] >= column[b] for a, b in pairwise(order))
        ]
        for order in possible:
            counts[">".join(MODELS[place] for place in order)] += 1 / len(possible)
    return {order: count / values.shape[1] for order, count in counts.items()}


def _agreement(splits: Table, name: str) -> dict[str, Any]:
    """How often D and M order two classifiers, or all three, alike."""
    part = splits.where(data=name)
    by_d, by_m = (part.column(letter).reshape(-1, len(MODELS)) for letter in ("D", "M"))
    same = np.array(
        [np.sign(by_d[:, a] - by_d[:, b]) == np.sign(by_m[:, a] - by_m[:, b]) for a, b in combinations(range(3), 2)]
    )
    return {
        "data": name,
        "splits": len(by_d),
        "same_order": float(same.all(axis=0).mean()),
        "same_best": float((by_d.argmax(axis=1) == by_m.argmax(axis=1)).mean()),
        "pairs_alike": float(same.mean()),
        # Of splits: the pairs of one split hang together.
        "pairs_alike_error": float(same.mean(axis=0).std(ddof=1) / np.sqrt(len(by_d))),
    }


def _replicates(judged: list[_Judged]) -> Table:
    """What the box plots show."""
    return Table.of(
        "replicates",
        [
            {"data": one.data_set.name, "model": model, "method": method, "replicate": number, "D": value}
            for one in judged
            for method, drawn in (("paper_method", one.parametric), ("bootstrap", one.comparison.bootstraps))
            for model in MODELS
            for number, value in enumerate(drawn[model].auc.tolist())
        ],
    )


def _curves(judged: list[_Judged]) -> tuple[Table, Table]:
    curves, bands = [], []
    for one in judged:
        for model, evaluation in one.comparison.evaluations.items():
            keys = {"data": one.data_set.name, "model": model}
            curves += curve_rows(evaluation.curve, **keys)
            band = one.comparison.bootstraps[model].confidence_band()
            bands += [row for edge in ("lower", "upper") for row in curve_rows(getattr(band, edge), **keys, edge=edge)]
    return Table.of("curves", curves), Table.of("bands", bands)


def _orders_agree(agreement: Table) -> Claim:
    alike, error = agreement.column("pairs_alike"), agreement.column("pairs_alike_error")
    words = ", ".join(f"{name} {share:.0%}" for name, share in zip(agreement.column("data"), alike, strict=True))
    same = agreement.column("same_order")
    return Claim(
        "D and M tend to rank classifiers alike",
        f"two classifiers in the same order by both, over {agreement.column('splits')[0]} splits: {words}; all three "
        f"in {same.min():.0%} to {same.max():.0%} of the splits",
        # More often alike than not, by more than the error over splits.
        bool(np.all(alike - sure_of_few(int(agreement.column("splits")[0]), len(alike)) * error > 0.5)),
        CHANCE,
    )


def _some_are_certain(rankings: Table, method: str, how: str) -> list[Claim]:
    top = {name: float(rankings.where(data=name).column(method).max()) for name in rankings.distinct("data")}
    certain, uncertain = ([name for name in names if name in top] for names in (_CERTAIN, _UNCERTAIN))
    if not certain or not uncertain:  # nothing to compare
        return []
    words = ", ".join(f"{name} {share:.2f}" for name, share in top.items())
    return [
        Claim(
            f"Rankings are more certain for {_and(certain)} than for {_and(uncertain)} ({how})",
            f"probability of the likeliest ranking: {words}",
            min(top[name] for name in certain) > max(top[name] for name in uncertain),
            AS_SEEN,
        )
    ]


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _as_printed(rankings: Table) -> Claim:
    likeliest = {
        name: [ORDERS[int(np.argmax(rankings.where(data=name).column(by)))] for by in ("printed", "paper_method")]
        for name in rankings.distinct("data")
    }
    same = [name for name, (printed, ours) in likeliest.items() if printed == ours]
    others = ", ".join(
        f"{name} {ours}, printed {printed}" for name, (printed, ours) in likeliest.items() if name not in same
    )
    return Claim(
        "The likeliest ranking is the printed one (the paper's split, its seed and its settings are not known)",
        f"the same for {len(same)} of {len(likeliest)} ({', '.join(same) or 'none'}); {others or 'no other'}",
        len(same) == len(likeliest),
        AS_SEEN,
    )


def _glass(judged: list[_Judged]) -> list[Claim]:
    """The paper's closer look at one data set."""
    found = [one.comparison for one in judged if one.data_set.name == "glass"]
    if not found:
        return []
    [compared] = found
    difference = next(d for d in compared.by_auc.differences if {d.first, d.second} == {"knn", "multi"})
    areas = {name: one.auc for name, one in compared.evaluations.items()}
    # A high threshold makes few false positives.
    steep = {name: one.curve.partial_auc(0.1) for name, one in compared.evaluations.items()}
    words = ", ".join(f"{name} {value:.3f}" for name, value in steep.items())
    return [
        Claim(
            "On glass, the areas of regression and nearest neighbours cannot be told apart (0.8419 and 0.8440 printed)",
            f"D = {areas['multi']:.4f} and {areas['knn']:.4f}; D of {difference.first} less that of "
            f"{difference.second}: {difference.value:+.4f}, interval {difference.low:+.4f} to {difference.high:+.4f}",
            difference.low < 0 < difference.high,
            "95 % interval holds 0",
        ),
        Claim(
            "On glass, the regression has the highest true positive rate at high thresholds",
            f"area left of a false positive rate of 0.1, standardised: {words}",
            max(steep, key=lambda name: steep[name]) == "multi",
            AS_SEEN,
        ),
    ]


def _too_confident(areas: Table) -> Claim:
    ratio = areas.column("error") / np.maximum(areas.column("error_paper_method"), 1e-12)
    return Claim(
        "The paper's replicates vary far less than samples do (not in the paper)",
        f"standard errors by resampled samples are {ratio.min():.1f} to {ratio.max():.0f} times as large, "
        f"{np.median(ratio):.0f} times in the median",
        bool(np.median(ratio) > 2),
        "twice, in the median",
    )


def _notes(found: Found) -> tuple[str, ...]:
    sources = [f"{one.name}: {one.source}, {len(one.labels)} samples" for one in found.data_sets]
    overlap = "splits of one data set overlap, so that the error over splits is too small"
    return (*sources, *(f"{name}: left out, {reason}" for name, reason in found.skipped.items()), overlap)


_METHODS = {"paper_method": "paper's replicates", "bootstrap": "resampled samples"}


def draw(outcome: Outcome) -> "dict[str, Figure]":
    """The paper's two figures, with honest replicates beside its own, and the splits."""
    return {"areas": _areas(outcome), "curves": _draw_curves(outcome), "splits": _splits(outcome)}


def _panels(table: Table, **size: float) -> "tuple[Figure, dict[str, Any]]":
    """One panel per data set, three in a row."""
    names = table.distinct("data")
    n_rows = math.ceil(len(names) / 3)
    figure, axes = sheet(n_rows, min(3, len(names)), **size)
    for spare in axes.flat[len(names) :]:
        spare.set_axis_off()
    return figure, dict(zip(names, axes.flat, strict=False))


def _areas(outcome: Outcome) -> "Figure":
    replicates, areas = outcome.table("replicates"), outcome.table("areas")
    figure, panels = _panels(replicates, width=2.9, height=2.6)
    handles: dict[str, Any] = {}
    for name, ax in panels.items():
        for side, (method, label) in enumerate(_METHODS.items()):
            part, colour = replicates.where(data=name, method=method), colour_of(ax, side)
            boxes = ax.boxplot(
                [part.where(model=model).column("D") for model in MODELS],
                positions=np.arange(len(MODELS)) + 0.34 * (side - 0.5),
                widths=0.28,
                patch_artist=True,
                # In its colour throughout: the paper's boxes are as thin as their lines.
                **{f"{piece}props": {"color": colour} for piece in ("box", "whisker", "cap", "median")},
                flierprops={"marker": ".", "markersize": 2, "markeredgecolor": colour},
            )
            for box in boxes["boxes"]:
                box.set_facecolor((colour, 0.35))
            handles[label] = boxes["boxes"][0]
        for letter, mark in (("D", "D"), ("M", "o")):
            found = areas.where(data=name).column(letter)
            handles[letter] = ax.scatter(np.arange(len(MODELS)), found, color="black", marker=mark, s=14, zorder=5)
        ax.set_xticks(np.arange(len(MODELS)), MODELS)
        ax.set_title(name, fontsize=9)
        plain(ax)
    figure.supylabel("D", fontsize=9)
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    return figure


def _draw_curves(outcome: Outcome) -> "Figure":
    curves = outcome.table("curves")
    figure, panels = _panels(curves, width=2.9, height=2.9)
    edges = {key: (fpr, tpr) for key, fpr, tpr in lines_of(outcome.table("bands"), ("data", "model", "edge"))}
    n_columns = min(3, len(panels))
    for place, (name, ax) in enumerate(panels.items()):
        rates_panel(ax, name, x_label=place >= len(panels) - n_columns, y_label=place % n_columns == 0)
    for (name, model), fpr, tpr in lines_of(curves, ("data", "model")):
        ax, number = panels[name], MODELS.index(model)
        colour = colour_of(ax, number)
        lower, upper = edges[name, model, "lower"], edges[name, model, "upper"]
        # The lower edge there and the upper one back.
        ax.fill(lower[0] + upper[0][::-1], lower[1] + upper[1][::-1], color=colour, alpha=0.15, linewidth=0)
        ax.plot(fpr, tpr, color=colour, linestyle=LINE_STYLES[number], linewidth=1.3, label=model)
    handles, names = next(iter(panels.values())).get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return figure


def _splits(outcome: Outcome) -> "Figure":
    splits = outcome.table("splits")
    figure, panels = _panels(splits, width=2.9, height=2.7)
    for name, ax in panels.items():
        part = splits.where(data=name)
        ends = [min(part.column("M").min(), part.column("D").min()), 1]
        ax.plot(ends, ends, color="black", alpha=0.5, linewidth=0.8, linestyle=":")
        for number, model in enumerate(MODELS):
            one = part.where(model=model)
            style = {"color": colour_of(ax, number), "marker": "os^"[number], "alpha": 0.6, "s": 10, "linewidths": 0}
            ax.scatter(one.column("M"), one.column("D"), label=model, **style)
        ax.set_title(name, fontsize=9)
        ax.locator_params(nbins=4)
        plain(ax)
    figure.supxlabel("M", fontsize=9)
    figure.supylabel("D", fontsize=9)
    handles, names = next(iter(panels.values())).get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=3, fontsize=8, frameon=False, markerscale=2)
    return figure
