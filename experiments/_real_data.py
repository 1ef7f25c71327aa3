"""Experiment 4: three classifiers on six data sets, and how sure their order is."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, pairwise, permutations
from typing import Any

import numpy as np

from experiments._classifiers import MODELS, SETTINGS, split_and_score
from experiments._data_sets import KNOWN, DataSet, Found, find_data_sets
from experiments._discriminative import more_discriminative
from experiments._outcome import CHANCE, Claim, Outcome, Request, Table, curve_rows, sure_of_few
from experiments._real_data_figures import draw
from polyroc._lib.typing import Thresholds
from polyroc._lib.warnings import ResamplingWarning
from polyroc._uncertainty.bootstrap import BootstrapResult
from polyroc._uncertainty.paired import Difference
from polyroc.baselines._wang_carvalho import PrintedStatus, replicate_areas, wang_carvalho
from polyroc.evaluation._compare import compare
from polyroc.evaluation._comparison import Comparison
from polyroc.evaluation._evaluate import ConvergenceWarning, evaluate

__all__ = ["TITLE", "draw", "run"]

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
_SMALL = ("tae", "iris", "glass")
_N_PARAMETRIC = 100
_THRESHOLDS: tuple[Thresholds, ...] = ("own", "shared")
# Levels of the printed algorithm's quantiles: the paper gives no number of thresholds.
_TAU = np.arange(1, 10) / 10
# D is compared to so many digits: where a pair is separated the optimum is infinite, and the last digits say where the
# fit stopped.
_DIGITS = 6
_NEARLY_CERTAIN = 0.95
_MORE_THAN_HALF = "more than half of the splits"


@dataclass(frozen=True, eq=False)
class _Judged:
    """One split of a data set: the paired comparison, and the paper's replicates."""

    data_set: DataSet
    comparison: Comparison
    parametric: dict[str, BootstrapResult]
    shared: dict[str, float]
    """D of each model with shared thresholds."""


def run(request: Request) -> Outcome:
    """One split in detail, as in the paper; verdicts over many splits, with two settings of the classifiers."""
    found = find_data_sets(request.size(tuple(KNOWN), _SMALL), request.data)
    n_splits, n_judged, n_printed = request.size(50, 20), request.size(20, 3), request.size(20, 2)
    glass = [one for one in found.data_sets if one.name == "glass"]
    small = [one for one in found.data_sets if one.name in _SMALL]
    n_steps = len(found.data_sets) * (2 * n_splits + n_judged) + len(glass) * n_judged + 2 * len(small) * n_printed
    with request.bar(n_steps, "real-data") as done, warnings.catch_warnings():
        # Glass has classes of five samples in a half. The page says so; a warning for each split would not.
        warnings.simplefilter("ignore", ResamplingWarning)
        # Without shrinkage an optimum may lie at infinity.
        warnings.simplefilter("ignore", ConvergenceWarning)
        by_split = [
            [_judge(data_set, SETTINGS[0], split, request, done) for split in range(n_judged)]
            for data_set in found.data_sets
        ]
        glass_of_r = [_judge(one, SETTINGS[1], split, request, done) for one in glass for split in range(n_judged)]
        splits = Table.of(
            "splits",
            [
                row
                for settings in SETTINGS
                for one in found.data_sets
                for row in _split_rows(one, settings, n_splits, request, done)
            ],
        )
        by_algorithm = [
            _printed(one, settings, split, request, done)
            for one in small
            for settings in SETTINGS
            for split in range(n_printed)
        ]
    judged = [many[0] for many in by_split]
    rankings = Table.of("rankings", [row for one in judged for row in _ranking_rows(one)])
    certainty = Table.of("certainty", [_certainty(one, split) for many in by_split for split, one in enumerate(many)])
    orders = Table.of("orders", [row for one in found.data_sets for row in _order_rows(splits, one.name)])
    areas = Table.of("areas", [row for one in judged for row in _area_rows(one)])
    usual = splits.where(settings=SETTINGS[0])
    agreement = Table.of("agreement", [_agreement(usual, one.name) for one in found.data_sets])
    printed_splits = Table.of("printed_splits", [row for rows in by_algorithm for row in rows])
    printed_orders = Table.of(
        "printed_orders", [row for one in small for row in _order_rows(printed_splits, one.name, ("D",))]
    )
    printed = (_printed_algorithm(printed_splits, printed_orders), printed_orders, printed_splits)
    measured = (areas, rankings, certainty, orders, agreement, splits, *printed)
    tables = (*measured, _replicates(judged), *_curves(judged))
    compared = {many[0].data_set.name: [one.comparison for one in many] for many in by_split}
    glass_runs = {
        SETTINGS[0]: [one for many in by_split for one in many if one.data_set.name == "glass"],
        SETTINGS[1]: glass_of_r,
    }
    by_printed = "by the printed algorithm, settings of"
    claims = (
        _orders_agree(agreement),
        more_discriminative(compared, usual),
        *_some_are_certain(certainty, "paper_method", "by replicates drawn as it says"),
        *_some_are_certain(certainty, "bootstrap", "by paired resamples of the samples"),
        *(
            claim
            for settings in SETTINGS
            for claim in _some_are_certain(
                printed_splits.where(settings=settings, model=MODELS[0]), "likeliest", f"{by_printed} {settings}"
            )
        ),
        *(_as_printed(orders, settings, n_splits, f"classifiers with settings of {settings}") for settings in SETTINGS),
        *(_as_printed(printed_orders, settings, n_printed, f"{by_printed} {settings}") for settings in SETTINGS),
        *(_glass(glass_runs) if glass else ()),
        _too_confident(certainty),
    )
    return Outcome("real-data", TITLE, tables, claims, _notes(found))


def _judge(data_set: DataSet, settings: str, split: int, request: Request, done: Callable[[int], object]) -> _Judged:
    """The first split with as many resamples as its figures need."""
    seed = request.integer(40, split) if split else request.integer(40)
    labels, scores = split_and_score(data_set, seed, settings=settings)
    n_resamples = request.size(99, 49) if split else request.size(999, 199)
    compared = compare(
        labels, scores, method="bootstrap", n_resamples=n_resamples, rng=request.seed, n_jobs=request.n_jobs
    )
    parametric = {
        # The paper's likelihood has no shrinkage. A seed of its own for each model: the paper draws them apart.
        name: evaluate(labels, score, shrinkage=0, n_jobs=request.n_jobs).bootstrap(
            _N_PARAMETRIC, method="parametric-pairs", rng=request.rng(4, place), n_jobs=request.n_jobs
        )
        for place, (name, score) in enumerate(scores.items())
    }
    shared = {
        name: evaluate(labels, score, thresholds="shared", n_jobs=request.n_jobs).auc for name, score in scores.items()
    }
    done(1)
    return _Judged(data_set, compared, parametric, shared)


def _split_rows(
    data_set: DataSet, settings: str, n_splits: int, request: Request, done: Callable[[int], object]
) -> list[dict[str, Any]]:
    rows = []
    for split in range(n_splits):
        labels, scores = split_and_score(data_set, request.integer(41, split), settings=settings)
        for name, score in scores.items():
            own, shared = (
                evaluate(labels, score, thresholds=thresholds, n_jobs=request.n_jobs) for thresholds in _THRESHOLDS
            )
            rows.append(
                {
                    "settings": settings,
                    "data": data_set.name,
                    "split": split,
                    "model": name,
                    "D": own.auc,
                    "D_shared": shared.auc,
                    "M": own.hand_till,
                }
            )
        done(1)
    return rows


def _printed(
    data_set: DataSet, settings: str, split: int, request: Request, done: Callable[[int], object]
) -> list[dict[str, Any]]:
    """D of one split by the algorithm as printed, and how probable its own replicates make the likeliest order."""
    labels, scores = split_and_score(data_set, request.integer(41, split), settings=settings)
    fits = {
        name: wang_carvalho(labels, score, tau=_TAU, quantiles="pair", weighting="equal", end_points=True)
        for name, score in scores.items()
    }
    drawn = {
        name: replicate_areas(fit, request.size(50, 5), request.rng(42, split, place)).round(_DIGITS)
        for place, (name, fit) in enumerate(fits.items())
    }
    ranked = all(fit.status is not PrintedStatus.DIVERGED for fit in fits.values())
    likeliest = max(_shares(drawn).values()) if ranked else np.nan
    done(1)
    return [
        {
            "settings": settings,
            "data": data_set.name,
            "split": split,
            "model": name,
            "D": round(fit.auc, _DIGITS),
            "status": str(fit.status),
            "likeliest": likeliest,
        }
        for name, fit in fits.items()
    ]


def _printed_algorithm(splits: Table, orders: Table) -> Table:
    """By the printed algorithm: how certain rankings are, and in how many splits the printed one comes out."""
    rows = []
    for name in splits.distinct("data"):
        shares = orders.where(data=name)
        printed = int(shares.column("printed").argmax())
        for settings in SETTINGS:
            part = splits.where(data=name, settings=settings)
            areas = part.column("D").reshape(-1, len(MODELS))
            likeliest = part.where(model=MODELS[0]).column("likeliest")
            rows.append(
                {
                    "data": name,
                    "settings": settings,
                    "splits": len(areas),
                    "certain": int(np.sum(likeliest >= _NEARLY_CERTAIN)),
                    "median": float(np.nanmedian(likeliest)),
                    "tied": sum(len(set(values)) < len(MODELS) for values in areas.tolist()),
                    "no_number": int(np.isnan(likeliest).sum()),
                    "printed": ORDERS[printed],
                    "printed_in": float(shares.column(f"{settings} D")[printed] * len(areas)),
                }
            )
    return Table.of("printed_algorithm", rows)


def _order_rows(splits: Table, name: str, letters: tuple[str, ...] = ("D", "D_shared", "M")) -> list[dict[str, Any]]:
    """In how many splits each order comes out, by settings of the classifiers and by measure."""
    columns = {
        f"{settings} {letter}": _shares(
            {model: part.where(model=model).column(letter) for model in MODELS}  # one replicate per split
        )
        for settings in SETTINGS
        for part in [splits.where(settings=settings, data=name)]
        for letter in letters
    }
    return [
        {
            "data": name,
            "ranking": order,
            "printed": PRINTED[name].get(order, 0.0),
            **{column: shares[order] for column, shares in columns.items()},
        }
        for order in ORDERS
    ]


def _certainty(judged: _Judged, split: int) -> dict[str, Any]:
    """How probable the likeliest order of one split is, and how wide both kinds of replicates are."""
    drawn = {
        "paper_method": {model: one.auc for model, one in judged.parametric.items()},
        "bootstrap": {model: one.auc for model, one in judged.comparison.bootstraps.items()},
    }
    widths = [np.array([values.std(ddof=1) for values in drawn[method].values()]) for method in drawn]
    return {
        "data": judged.data_set.name,
        "split": split,
        **{method: max(_shares(values).values()) for method, values in drawn.items()},
        "error_ratio": float(np.median(widths[1] / np.maximum(widths[0], 1e-12))),
    }


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
            "D_shared": judged.shared[by_d.model],
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


def _some_are_certain(certainty: Table, method: str, how: str) -> list[Claim]:
    top = {name: certainty.where(data=name).column(method) for name in certainty.distinct("data")}
    certain, uncertain = ([name for name in names if name in top] for names in (_CERTAIN, _UNCERTAIN))
    if not certain or not uncertain:  # nothing to compare
        return []
    words = ", ".join(f"{name} {np.nanmedian(shares):.2f}" for name, shares in top.items())
    least, most = np.min([top[name] for name in certain], axis=0), np.max([top[name] for name in uncertain], axis=0)
    holds = int(np.sum(least > most))
    return [
        Claim(
            f"Rankings are more certain for {_and(certain)} than for {_and(uncertain)} ({how})",
            f"so in {holds} of {len(least)} splits; probability of the likeliest ranking, median: {words}",
            2 * holds > len(least),
            _MORE_THAN_HALF,
        )
    ]


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _as_printed(orders: Table, settings: str, n_splits: int, how: str) -> Claim:
    """The likeliest printed order beside the commonest one over splits."""
    words, same = [], []
    for name in orders.distinct("data"):
        part = orders.where(data=name)
        shares = part.column(f"{settings} D")
        printed, common = int(np.argmax(part.column("printed"))), int(np.argmax(shares))
        count = f"in {shares[printed] * n_splits:.3g} of {n_splits}"
        if printed == common:
            same.append(f"{name} {count}")
        else:
            words.append(
                f"{name} {ORDERS[common]} in {shares[common] * n_splits:.3g}, printed {ORDERS[printed]} {count}"
            )
    return Claim(
        f"The commonest ranking is the printed one, {how} (not reproducible: the paper gives neither its split nor the "
        "settings of its classifiers)",
        f"the same for {len(same)} of {len(same) + len(words)} ({', '.join(same) or 'none'}); "
        f"{'; '.join(words) or 'no other'}",
        not words,
        "the commonest over splits",
    )


def _glass(runs: dict[str, list[_Judged]]) -> list[Claim]:
    """The paper's closer look at one data set, over splits and with both settings."""
    contains, steepest, counts = [], [], []
    for settings, judged in runs.items():
        held = [_difference(one).low < 0 < _difference(one).high for one in judged]
        contains.append(f"{sum(held)} of {len(held)} ({settings})")
        first = [_steepest(one) == "multi" for one in judged]
        steepest.append(f"{sum(first)} of {len(first)} ({settings})")
        counts.append((2 * sum(held) > len(held), 2 * sum(first) > len(first)))
    return [
        Claim(
            "On glass, the areas of regression and nearest neighbours cannot be told apart (0.8419 and 0.8440 printed)",
            f"the 95 % interval of their difference in D contains 0 in {', '.join(contains)} splits",
            all(held for held, _ in counts),
            _MORE_THAN_HALF,
        ),
        Claim(
            "On glass, the regression has the highest true positive rate at high thresholds",
            "its area left of a false positive rate of 0.1 is the largest of the three in "
            f"{', '.join(steepest)} splits",
            all(first for _, first in counts),
            _MORE_THAN_HALF,
        ),
    ]


def _difference(judged: _Judged) -> Difference:
    return next(d for d in judged.comparison.by_auc.differences if {d.first, d.second} == {"knn", "multi"})


def _steepest(judged: _Judged) -> str:
    """A high threshold makes few false positives."""
    evaluations = judged.comparison.evaluations
    return max(evaluations, key=lambda name: evaluations[name].curve.partial_auc(0.1))


def _too_confident(certainty: Table) -> Claim:
    ratio = certainty.column("error_ratio")
    return Claim(
        "The paper's replicates vary far less than samples do (not in the paper)",
        f"standard errors by resampled samples, of the median classifier, are {ratio.min():.1f} to {ratio.max():.0f} "
        f"times as large over {len(certainty.distinct('split'))} splits, {np.median(ratio):.0f} times in the median",
        bool(ratio.min() > 2),
        "twice, in every split",
    )


def _notes(found: Found) -> tuple[str, ...]:
    sources = [f"{one.name}: {one.source}, {len(one.labels)} samples" for one in found.data_sets]
    overlap = "splits of one data set overlap, so that the error over splits is too small"
    return (*sources, *(f"{name}: left out, {reason}" for name, reason in found.skipped.items()), overlap)
