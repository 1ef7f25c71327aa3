"""Experiment 2: test sets of skewed classes, and which statistics stay what they are."""

import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtri, logit

from experiments._canvas import lines_of, plain, rates_panel, sheet
from experiments._costs import QUANTILES
from experiments._outcome import CHANCE, FALSE_ALARM, IDENTITY, Claim, Outcome, Request, Table, curve_rows, sure
from experiments._simulation import N_CLASSES, Simulation, multinomial, simulate
from polyroc._lib.typing import FloatArray, IntArray
from polyroc._lib.warnings import ResamplingWarning
from polyroc.baselines._wang_carvalho import wang_carvalho
from polyroc.display._style import LINE_STYLES, colour_of
from polyroc.evaluation._evaluate import evaluate
from polyroc.evaluation._evaluation import Evaluation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Class skewness"
ALPHAS, COVARIATES = (2, 5, 9), (2, 5, 9)
# Samples of the smallest class from which on a standard error by resampling can be relied on.
_ENOUGH = 20
# Samples of each class that are repeated, and how often those of the largest.
_REPEATED, _MOST_TIMES = 400, 20
RATIOS = np.geomspace(1, 100, 61)
# Those that look at hard decisions come from scikit-learn.
STATISTICS = ("D_equal", "D_prevalence", "D_shared", "M", "accuracy", "balanced_accuracy", "F1_macro", "MCC", "kappa")


def run(request: Request) -> Outcome:
    """The paper's skewed test sets, and beside each the same skewness by weights, which no chance disturbs."""
    tails = _tails(request)
    data = simulate(request.size(50_000, 4_000), request.rng(1))
    n_sets = request.size(30, 12)
    balanced = _balanced(data.random, request.rng(22))
    found = []
    with request.bar(len(COVARIATES) * len(ALPHAS) * n_sets, "skewness") as done, warnings.catch_warnings():
        # Very skewed sets have classes of few samples. They are told apart below, not warned of.
        warnings.simplefilter("ignore", ResamplingWarning)
        for d in COVARIATES:
            covariates = data.covariates[:, :d]
            scores = multinomial(covariates, data.random).predict_proba(covariates)[balanced]
            found += [_judge(data.random[balanced], scores, d, alpha, n_sets, request, done) for alpha in ALPHAS]
    printed = Table.of("printed", _printed_rows(data, balanced, request))
    sets = Table.of("test_sets", [row for rows, _ in found for row in rows])
    curves = Table.of("curves", [row for _, rows in found for row in rows])
    spread = _spread(sets)
    claims = (
        _more_skewed_with_less_alpha(tails),
        _more_skewed_with_more_classes(tails),
        _equal_is_invariant(sets),
        _printed_moves(printed),
        _spread_is_chance(sets),
        _prevalence_varies(sets),
        _weak_vary_more(spread, n_sets),
        _which_are_invariant(sets),
    )
    return Outcome("skewness", TITLE, (tails, sets, printed, spread, curves), claims)


def _tails(request: Request) -> Table:
    """P(Z > c), Z the ratio of the largest to the smallest class."""
    rows = []
    for k in (N_CLASSES, 2 * N_CLASSES):
        for alpha in ALPHAS:
            shares = request.rng(21, k, alpha).dirichlet(np.full(k, float(alpha)), size=request.size(10_000, 2_000))
            ratio = shares.max(axis=1) / shares.min(axis=1)
            rows += [
                {"classes": k, "alpha": alpha, "draws": len(ratio), "c": float(c), "tail": float(np.mean(ratio > c))}
                for c in RATIOS
            ]
    return Table.of("tails", rows)


def _balanced(labels: IntArray, rng: np.random.Generator) -> IntArray:
    """As many samples of each class as the smallest has."""
    size = int(np.bincount(labels).min())
    chosen = [rng.choice(np.flatnonzero(labels == c), size, replace=False) for c in range(N_CLASSES)]
    return np.concatenate(chosen)


def _judge(
    labels: IntArray,
    scores: FloatArray,
    d: int,
    alpha: int,
    n_sets: int,
    request: Request,
    done: Callable[[int], object],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """One classifier on several test sets of one skewness."""
    rng = request.rng(23, d, alpha)
    rows, curves = [], []
    for number in range(n_sets):
        share = rng.dirichlet(np.full(N_CLASSES, float(alpha)))
        chosen = _skewed(labels, share, rng)
        by_sets, judged = _statistics(labels[chosen], scores[chosen], None, request)
        # The balanced sample with the same skewness as weights: what differs now is skewness alone.
        by_weights, _ = _statistics(labels, scores, share[labels], request)
        drawn = judged["equal"].bootstrap(
            request.size(199, 99), rng=request.rng(24, d, alpha, number), n_jobs=request.n_jobs
        )
        rows.append(
            {
                "covariates": d,
                "alpha": alpha,
                "test_set": number,
                "largest_ratio": float(share.max() / share.min()),
                "smallest_class": int(np.bincount(labels[chosen]).min()),
                **by_sets,
                "D_equal_error": drawn.standard_error(),
                **{f"{name}_by_weights": value for name, value in by_weights.items()},
            }
        )
        for weighting, one in judged.items():
            curves += curve_rows(one.curve, covariates=d, alpha=alpha, test_set=number, weighting=weighting)
        done(1)
    return rows, curves


def _skewed(labels: IntArray, share: FloatArray, rng: np.random.Generator) -> IntArray:
    """Samples of each class by its share, none twice; as many in all as one class of the balanced sample has."""
    size = len(labels) // N_CLASSES
    counts = np.maximum(2, np.round(share * size)).astype(int)
    chosen = [rng.choice(np.flatnonzero(labels == c), min(size, counts[c]), replace=False) for c in range(N_CLASSES)]
    return np.concatenate(chosen)


def _statistics(
    labels: IntArray, scores: FloatArray, weight: FloatArray | None, request: Request
) -> tuple[dict[str, float], dict[str, Evaluation]]:
    from sklearn import metrics

    equal, prevalence = (
        evaluate(labels, scores, sample_weight=weight, weighting=weighting, n_jobs=request.n_jobs)
        for weighting in ("equal", "prevalence")
    )
    shared = evaluate(labels, scores, sample_weight=weight, thresholds="shared", n_jobs=request.n_jobs)
    predicted, given = scores.argmax(axis=1), {"sample_weight": weight}
    values = (
        equal.auc,
        prevalence.auc,
        shared.auc,
        equal.hand_till,
        metrics.accuracy_score(labels, predicted, **given),
        metrics.balanced_accuracy_score(labels, predicted, **given),
        metrics.f1_score(labels, predicted, average="macro", zero_division=0.0, **given),
        metrics.matthews_corrcoef(labels, predicted, **given),
        metrics.cohen_kappa_score(labels, predicted, **given),
    )
    named = {name: float(value) for name, value in zip(STATISTICS, values, strict=True)}
    return named, {"equal": equal, "prevalence": prevalence}


def _printed_rows(data: Simulation, balanced: IntArray, request: Request) -> list[dict[str, Any]]:
    """D with the paper's quantiles, per sample, as all samples of a class are repeated: skewness and nothing else."""
    rng, rows = request.rng(25), []
    few = np.concatenate([balanced[data.random[balanced] == c][:_REPEATED] for c in range(N_CLASSES)])
    for d in COVARIATES:
        covariates = data.covariates[:, :d]
        scores, labels = multinomial(covariates, data.random).predict_proba(covariates)[few], data.random[few]
        for _ in range(request.size(20, 4)):
            share = rng.dirichlet(np.full(N_CLASSES, float(ALPHAS[0])))
            times = np.maximum(1, np.round(_MOST_TIMES * share / share.max())).astype(int)[labels]
            rows += [
                {
                    "covariates": d,
                    "quantiles": quantiles,
                    "D": wang_carvalho(
                        labels.repeat(times),
                        scores.repeat(times, axis=0),
                        quantiles=quantiles,
                        weighting="equal",
                        end_points=True,
                    ).auc,
                }
                for quantiles in QUANTILES
            ]
    return rows


def _spread(sets: Table) -> Table:
    """Standard deviation of each statistic over the test sets, and of skewness alone."""
    rows = []
    for d in COVARIATES:
        for alpha in (*ALPHAS, "all"):
            part = sets.where(covariates=d) if alpha == "all" else sets.where(covariates=d, alpha=alpha)
            rows += [
                {
                    "covariates": d,
                    "alpha": alpha,
                    "statistic": name,
                    "mean": float(part.column(name).mean()),
                    "deviation": float(part.column(name).std(ddof=1)),
                    "deviation_by_weights": float(part.column(f"{name}_by_weights").std(ddof=1)),
                }
                for name in STATISTICS
            ]
    return Table.of("spread", rows)


def _more_skewed_with_less_alpha(tails: Table) -> Claim:
    gaps = [
        _tail_gaps(tails, {"classes": k, "alpha": less}, {"classes": k, "alpha": more})
        for k in tails.distinct("classes")
        for less, more in pairwise(ALPHAS)
    ]
    return _tail_claim("The smaller alpha, the more skewed the classes", gaps)


def _more_skewed_with_more_classes(tails: Table) -> Claim:
    few, many = tails.distinct("classes")
    gaps = [_tail_gaps(tails, {"classes": many, "alpha": alpha}, {"classes": few, "alpha": alpha}) for alpha in ALPHAS]
    return _tail_claim(f"{many} classes are more skewed than {few}", gaps)


def _tail_gaps(tails: Table, more: dict[str, int], less: dict[str, int]) -> tuple[FloatArray, FloatArray]:
    """By how much one tail is above another at each ratio, and the standard error of that."""
    one, other = tails.where(**more), tails.where(**less)
    p, q = one.column("tail"), other.column("tail")
    error = np.sqrt((p * (1 - p) + q * (1 - q)) / one.column("draws"))
    return p - q, error


def _tail_claim(text: str, gaps: list[tuple[FloatArray, FloatArray]]) -> Claim:
    gap, error = np.concatenate([g for g, _ in gaps]), np.concatenate([e for _, e in gaps])
    return Claim(
        text,
        f"P(Z > c) is higher by {gap.min():+.4f} to {gap.max():+.4f} at {gap.size} ratios c",
        bool(np.all(gap >= -sure(gap.size) * error) and gap.max() > 0),
        CHANCE,
    )


def _equal_is_invariant(sets: Table) -> Claim:
    own, shared = (
        max(np.ptp(sets.where(covariates=d).column(f"{name}_by_weights")) for d in COVARIATES)
        for name in ("D_equal", "D_shared")
    )
    return Claim(
        "The unweighted curve does not depend on class skewness, because call rates are per class here",
        f"with skewness put in by weights, which chance does not disturb, D moves by {own:.1e} over all priors (own "
        f"thresholds) and by {shared:.1e} (shared)",
        bool(max(own, shared) < 1e-9),
        IDENTITY,
    )


def _printed_moves(printed: Table) -> Claim:
    moves = {
        quantiles: max(np.ptp(printed.where(quantiles=quantiles, covariates=d).column("D")) for d in COVARIATES)
        for quantiles in QUANTILES
    }
    names = {"column": "column over all samples", "pair": "column over the pair's samples", "pooled": "pooled columns"}
    words = ", ".join(f"{move:.4f} ({names[quantiles]})" for quantiles, move in moves.items())
    return Claim(
        "As printed, with quantiles of samples, skewness alone moves the unweighted curve (not in the paper)",
        f"repeating all samples of a class moves D by up to {words}",
        max(moves.values()) > 1e-3,
        "more than 0.001",
    )


def _spread_is_chance(sets: Table) -> Claim:
    """The test sets differ by sampling error, which their own bootstraps measure."""
    scaled, sizes = [], []
    for d in COVARIATES:
        part = sets.where(covariates=d)
        # A standard error of fewer samples is too uncertain itself to be compared with.
        enough = part.column("smallest_class") >= _ENOUGH
        area, whole, error = (part.column(f"D_equal{end}")[enough] for end in ("", "_by_weights", "_error"))
        # On the logit scale, where sampling errors are nearly normal.
        z = (logit(area) - logit(whole)) / (error / (area * (1 - area)))
        scaled.append(float(np.sum(z**2)))
        sizes.append(int(enough.sum()))
    # Sub-samples of one sample lie closer to it than samples of the population would: only the upper bound binds.
    limits = [float(chdtri(n, FALSE_ALARM / len(COVARIATES))) for n in sizes]
    shares = ", ".join(
        f"{np.sqrt(total / n):.2f} (d = {d}, {n} sets)" for d, total, n in zip(COVARIATES, scaled, sizes, strict=True)
    )
    return Claim(
        "Over skewed test sets the unweighted curve barely varies",
        "root mean square distance of D from its balanced value, in standard errors of one test set, for sets with "
        f"{_ENOUGH} samples or more of each class: {shares}",
        all(total < limit for total, limit in zip(scaled, limits, strict=True)),
        CHANCE,
    )


def _prevalence_varies(sets: Table) -> Claim:
    """Of two spreads over the same test sets, whether one is larger: the test of Pitman and Morgan."""
    words, scores = [], []
    for d in COVARIATES:
        equal, prevalence = (sets.where(covariates=d).column(name) for name in STATISTICS[:2])
        words.append(f"{prevalence.std(ddof=1):.4f} against {equal.std(ddof=1):.4f} (d = {d})")
        # Sum and difference are correlated just where the variances differ; Fisher's transformation makes it normal.
        correlation = np.corrcoef(prevalence + equal, prevalence - equal)[0, 1]
        scores.append(np.arctanh(correlation) * np.sqrt(len(equal) - 3))
    return Claim(
        "The weighted curve varies more than the unweighted one",
        f"standard deviation of D over the test sets: {', '.join(words)}",
        bool(min(scores) > -sure(len(scores)) and np.sum(scores) > 0),
        CHANCE,
    )


def _weak_vary_more(spread: Table, n_sets: int) -> Claim:
    by_d = np.array(
        [
            spread.where(covariates=d, alpha="all", statistic="D_prevalence").column("deviation_by_weights")[0]
            for d in COVARIATES
        ]
    )
    steps = np.diff(np.log(by_d))
    # The logarithm of a standard deviation of n normal values has a variance of 1 / (2 (n - 1)).
    error = np.sqrt(2 / (2 * (n_sets * len(ALPHAS) - 1)))
    values = ", ".join(f"{value:.4f} (d = {d})" for d, value in zip(COVARIATES, by_d, strict=True))
    return Claim(
        "The weighted curve varies most for classifiers of low quality",
        f"standard deviation of weighted D by skewness alone: {values}",
        bool(np.all(steps < sure(len(steps)) * error) and steps.sum() < 0),
        CHANCE,
    )


def _which_are_invariant(sets: Table) -> Claim:
    part = sets.where(covariates=COVARIATES[1])
    moves = {name: float(np.ptp(part.column(f"{name}_by_weights"))) for name in STATISTICS}
    invariant = [name for name, move in moves.items() if move < 1e-9]
    others = ", ".join(f"{name} {move:.3f}" for name, move in moves.items() if name not in invariant)
    return Claim(
        "Like D, M and balanced accuracy do not depend on skewness; accuracy, F1, MCC and kappa do (not in the paper)",
        f"no move: {', '.join(invariant)}; ranges by skewness alone (d = {COVARIATES[1]}): {others}",
        invariant == ["D_equal", "D_shared", "M", "balanced_accuracy"],
        IDENTITY,
    )


_NAMES = {"D_equal": "D, unweighted", "D_prevalence": "D, weighted", "D_shared": "D, shared thresholds"}
_TITLES = {"prevalence": "weighted", "equal": "unweighted"}


def draw(outcome: Outcome) -> "dict[str, Figure]":
    """Tail probabilities, the two panels of curves for each alpha, and spreads."""
    return {"tails": _draw_tails(outcome), "curves": _curves(outcome), "spread": _draw_spread(outcome)}


def _draw_tails(outcome: Outcome) -> "Figure":
    tails = outcome.table("tails")
    figure, axes = sheet(1, 2, height=2.8, sharey=True)
    for ax, k in zip(axes[0], tails.distinct("classes"), strict=True):
        for place, alpha in enumerate(ALPHAS):
            part = tails.where(classes=k, alpha=alpha)
            style = {"color": colour_of(ax, place), "linestyle": LINE_STYLES[place]}
            ax.plot(part.column("c"), part.column("tail"), label=f"alpha = {alpha}", **style)
        ax.set(xscale="log", title=None)
        ax.set_xticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
        ax.set_xticks([], minor=True)
        ax.set_title(f"{k} classes", fontsize=9)
        ax.set_xlabel("c, times the smallest class", fontsize=8)
        plain(ax)
    axes[0, 0].set_ylabel("P(largest class > c smallest)", fontsize=8)
    axes[0, 1].legend(fontsize=8, frameon=False)
    return figure


def _curves(outcome: Outcome) -> "Figure":
    figure, axes = sheet(len(ALPHAS), 2, width=3.2, height=3.0)
    lines = lines_of(outcome.table("curves"), ("covariates", "alpha", "weighting", "test_set"))
    handles: dict[str, Any] = {}
    for r, alpha in enumerate(ALPHAS):
        for c, (weighting, title) in enumerate(_TITLES.items()):
            ax = axes[r, c]
            rates_panel(ax, f"{title}, alpha = {alpha}", x_label=r == len(ALPHAS) - 1, y_label=c == 0)
            for (d, of_alpha, of_weighting, _), fpr, tpr in lines:
                if (of_alpha, of_weighting) == (alpha, weighting):
                    colour = colour_of(ax, COVARIATES.index(d))
                    [handles[f"d = {d}"]] = ax.plot(fpr, tpr, color=colour, linewidth=0.6, alpha=0.6)
    legend = figure.legend(handles.values(), handles, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    for line in legend.get_lines():
        line.set(linewidth=2, alpha=1)
    return figure


def _draw_spread(outcome: Outcome) -> "Figure":
    spread = outcome.table("spread").where(alpha="all")
    figure, axes = sheet(1, 2, width=3.6, height=3.0, sharey=True)
    titles = {"deviation": "over the test sets", "deviation_by_weights": "by skewness alone"}
    place = np.arange(len(STATISTICS))
    for ax, (column, title) in zip(axes[0], titles.items(), strict=True):
        for number, d in enumerate(COVARIATES):
            part = spread.where(covariates=d)
            style = {"color": colour_of(ax, number), "marker": "os^"[number], "s": 22}
            ax.scatter(part.column(column), place + 0.18 * (number - 1), label=f"d = {d}", **style)
        ax.set_yticks(place, [_NAMES.get(name, name.replace("_", " ")) for name in STATISTICS])
        ax.set_title(f"standard deviation {title}", fontsize=9)
        ax.set_xlim(left=-0.002)
        plain(ax)
    axes[0, 0].invert_yaxis()
    axes[0, 1].legend(fontsize=8, frameon=False, loc="lower right")
    return figure
