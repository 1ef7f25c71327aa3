"""Decisions that hold: intervals of costs and of their differences, wrong verdicts, and what the deployed rule costs.

Populations that nothing was chosen on: three simulated ones, and the predictions of three classifiers on UCI data, from
which samples are drawn with replacement. Five kinds of costs, among them two mistakes that cost 200 where the others
cost 1. Bayes' rule and the highest score are fixed rules, whose samples are drawn as counts of (true class, prediction
of the one, prediction of the other); tuned and shrunk offsets are those of `polyroc.decide`.
"""

import multiprocessing
import os
from functools import cache
from itertools import product

import numpy as np

from studies._decisions import Population
from studies._page import markdown, percent

BEGIN, END = "<!-- verdicts: written by `python -m studies verdicts-page` -->", "<!-- end of verdicts -->"
SIMULATED = (
    Population("4 classes 0.55 to 0.05, calibrated", (0.55, 0.25, 0.15, 0.05), 2.0, 1.0, 0.0, 0),
    Population("6 equal classes, too sure", (1 / 6,) * 6, 1.6, 2.5, 0.0, 0),
    Population("3 classes 0.8 to 0.05, too timid", (0.8, 0.15, 0.05), 1.5, 0.5, 1.0, 0),
)
# Data set and classifier.
REAL = (("pen", "naive Bayes"), ("optical", "tree"), ("car", "logistic"))
NAMES = (*(one.name for one in SIMULATED), *(f"{data}, {classifier}" for data, classifier in REAL))
KINDS = ("equal", "by true class", "by pair", "by distance", "two of 200")
SIZES = (200, 1000, 5000)
RULES = ("auto", "tuned", "bayes", "argmax")
_N_TRUTH, _N_COUNTS, _LEVEL = 100_000, 4000, 0.95


def costs_of(kind, k):
    """costs[true, predicted] of one kind, the same in every replication."""
    rng = np.random.default_rng([20261118, KINDS.index(kind), k])
    costs = {
        "equal": np.ones((k, k)),
        "by true class": np.repeat(rng.exponential(size=(k, 1)), k, axis=1),
        "by pair": rng.exponential(size=(k, 1)) * rng.exponential(size=(k, k)),
        "by distance": np.array([[abs(t - j) * (3 if j > t else 1) for j in range(k)] for t in range(k)], dtype=float),
        "two of 200": np.ones((k, k)),
    }[kind]
    if kind == "two of 200":
        costs[k - 1, 0] = costs[k - 2, 0] = 200
    np.fill_diagonal(costs, 0)
    return costs


@cache
def population(name, path):
    """True classes and scores of a whole population: drawn, or predicted."""
    if name in NAMES[: len(SIMULATED)]:
        place = NAMES.index(name)
        return SIMULATED[place].draw(np.random.default_rng([20261118, place]), _N_TRUTH)
    with np.load(path) as held:
        return held[f"{name}/codes"], held[f"{name}/scores"]


def sample(name, path, n, rng):
    """A sample with two of each class at least, without which nothing can be tuned."""
    codes, scores = population(name, path)
    if name in NAMES[: len(SIMULATED)]:
        return SIMULATED[NAMES.index(name)].draw(rng, n)
    k = scores.shape[1]
    while True:
        rows = rng.integers(0, len(codes), n)
        if np.bincount(codes[rows], minlength=k).min() >= 2:
            return codes[rows], scores[rows]


def write_predictions(path):
    """Predictions of each sample by a classifier that was fitted on the other half of the data set."""
    from experiments._data_sets import as_data_folder, find_data_sets
    from studies._populations import _classifiers

    makers, parts = _classifiers(), {}
    data_sets = {one.name: one for one in find_data_sets([data for data, _ in REAL], as_data_folder(None)).data_sets}
    for data, classifier in REAL:
        codes = np.unique(data_sets[data].labels, return_inverse=True)[1]
        half = np.empty(len(codes), dtype=int)
        half[np.lexsort((np.random.default_rng(0).random(len(codes)), codes))] = np.arange(len(codes)) % 2
        scores = np.empty((len(codes), codes.max() + 1))
        for side in (0, 1):
            fitted = makers[classifier](0).fit(data_sets[data].features[half != side], codes[half != side])
            scores[half == side] = fitted.predict_proba(data_sets[data].features[half == side])
        parts |= {f"{data}, {classifier}/codes": codes, f"{data}, {classifier}/scores": scores}
    np.savez_compressed(path, **parts)


def run(path, kinds, sizes, replications, jobs, done, keep):
    """Every setting of these kinds and sizes that is missing, until `keep(key, result)` says that time is over."""
    names = NAMES if path is not None else NAMES[: len(SIMULATED)]
    with multiprocessing.get_context("fork").Pool(jobs or os.cpu_count()) as pool:
        for place, (name, kind, n) in enumerate(product(names, KINDS, SIZES)):
            key = f"{name} | {kind} | {n}"
            if key in done or kind not in kinds or n not in sizes:
                continue
            of_fixed = pool.apply_async(fixed, (name, path, kind, n, place))
            asked = [(name, path, kind, n, [20261118, place, number]) for number in range(replications)]
            found = pool.starmap(decided, asked, chunksize=max(1, replications // 128))
            rows = {one: [row[one] for row in found] for one in found[0]}
            if not keep(key, {"fixed": of_fixed.get(), "decided": rows}):
                return


def fixed(name, path, kind, n, seed):
    """Shares of samples in which intervals of Bayes' rule, of the highest score and of their difference cover."""
    from polyroc.costs._rules import Rule

    codes, scores = population(name, path)
    k, costs = scores.shape[1], costs_of(kind, scores.shape[1])
    bayes = Rule("bayes", costs, np.ones(k), "expected cost", k).predict(scores)
    cells = np.bincount((codes * k + bayes) * k + scores.argmax(axis=1), minlength=k**3) / len(codes)
    counts = np.random.default_rng([20261118, 1, seed]).multinomial(n, cells, size=_N_COUNTS)
    true, first, second = np.unravel_index(np.arange(k**3), (k, k, k))
    one, other = costs[true, first], costs[true, second]
    made = {"true": _made(counts, true, k), "bayes": _made(counts, first, k), "argmax": _made(counts, second, k)}
    found = {}
    for rule, paid in (("bayes", one), ("argmax", other)):
        reach = _largest(made, (rule,), costs)
        found[rule] = _judged(*_ends(counts, paid, n, reach, np.zeros(len(counts))), paid, cells @ paid, counts, n)
    less = costs[:, :, None] - costs[:, None, :]
    unseen = _largest(made, ("bayes", "argmax"), less), _largest(made, ("bayes", "argmax"), -less)
    found["difference"] = _judged(
        *_ends(counts, one - other, n, *unseen), one - other, cells @ (one - other), counts, n
    )
    return found


def _made(counts, which, k):
    """Which classes occur in each sample, shape (k, N)."""
    return np.array([counts[:, which == j].sum(axis=1) > 0 for j in range(k)])


def _largest(made, rules, costs):
    """The largest cost over classes that occur and predictions that are made, shape (N,)."""
    found = np.zeros(made["true"].shape[1])
    for place in np.argwhere(costs > 0):
        present = made["true"][place[0]] & np.all([made[r][j] for r, j in zip(rules, place[1:], strict=True)], axis=0)
        np.maximum(found, costs[tuple(place)] * present, out=found)
    return found


def _ends(counts, costs, n, more, less):
    """The interval of `polyroc.decide` for every sample at once."""
    from polyroc._uncertainty.unseen import Balance, Counted, share_of_poisson

    above, below = np.maximum(costs, 0), np.maximum(-costs, 0)
    parts = [Counted(counts @ one / n, counts @ one**2 / n**2, w / n) for one, w in ((above, more), (below, less))]
    shown = (counts @ costs**2 / n - (counts @ costs / n) ** 2) / (n - 1)
    share = share_of_poisson(np.maximum(shown, 0), parts[0].variance + parts[1].variance, n)
    return Balance(*parts, share=share).ends(_LEVEL)


def _judged(low, high, costs, truth, counts, n):
    """What the interval does, and what the normal interval does."""
    value = counts @ costs / n
    reach = 1.96 * np.sqrt(np.maximum(counts @ costs**2 / n - value**2, 0) / (n - 1))
    # But for rounding.
    slack = 1e-9 * max(1.0, float(np.abs(costs).max()))
    return {
        "covers": float(np.mean((low <= truth + slack) & (truth <= high + slack))),
        "wrong": float(np.mean((low > slack) & (truth <= slack) | (high < -slack) & (truth >= -slack))),
        "width": float(np.median(high - low)),
        "normal covers": float(np.mean((value - reach <= truth + slack) & (truth <= value + reach + slack))),
        "normal wrong": float(
            np.mean((value - reach > slack) & (truth <= slack) | (value + reach < -slack) & (truth >= -slack))
        ),
        "normal width": float(np.median(2 * reach)),
    }


def decided(name, path, kind, n, seed):
    """One sample: what each rule truly costs, where the claimed cost lies, and whether the sentence is wrong."""
    import polyroc

    codes, scores = population(name, path)
    k, costs = scores.shape[1], costs_of(kind, scores.shape[1])
    y_true, y_score = sample(name, path, n, np.random.default_rng(seed))
    decision = polyroc.decide(y_true, y_score, costs, labels=range(k), n_jobs=1, rng=seed[-1])
    # Offsets are tuned on all samples, whatever the folds; two take the least time.
    tuned = polyroc.decide(y_true, y_score, costs, labels=range(k), n_jobs=1, n_folds=2, rng=seed[-1], rule="tuned")
    by_rule = {"auto": decision.predict(scores), "tuned": tuned.predict(scores), "argmax": scores.argmax(axis=1)}
    by_rule["bayes"] = decision.predictor.__class__("bayes", costs, np.ones(k), "expected cost", k).predict(scores)
    true = {rule: float(costs[codes, classes].mean()) for rule, classes in by_rule.items()}
    rival = decision.rival
    apart = (true[rival.rule] if rival.rule in true else float(costs[codes, rival.label].mean())) - true["auto"]
    low, high = decision.cost_interval
    return true | {
        "claimed": decision.cost,
        "share": decision.tuned_share,
        "side": int(true["auto"] > high) - int(true["auto"] < low),
        "wrong": bool(
            (rival.difference_interval.low > 0 and apart <= 0) or (rival.difference_interval.high < 0 and apart >= 0)
        ),
        "clear": bool(rival.difference_interval.low > 0 or rival.difference_interval.high < 0),
    }


_N_REAL = "1,728 (car), 5,620 (optical) and 10,992 (pen) predictions"
_ABOUT = f"""Populations that nothing was chosen on, five kinds of costs ("two of 200": two mistakes cost 200, the
others 1) and three sizes. Bayes' rule and the highest score are fixed rules: how often the 95 % intervals of their
costs and of their difference cover, with those of the normal interval in brackets, and how often an interval of the
difference says that the wrong one is cheaper ({_N_COUNTS:,} samples each). Then `rule="auto"`: how often the interval
of its claimed cost covers, how often its sentence recommends the wrong rule, and what each rule truly costs compared
with the cheapest of the four, on average over the samples. Samples of real populations are drawn with replacement from
{_N_REAL}: of 5,000 many occur twice, in two folds, so the claimed cost is too low there, and its
interval covers less than it would on new samples."""


def page(results):
    """One table for each kind of costs."""
    parts = [_ABOUT]
    for kind in KINDS:
        head = [f"costs: {kind}", "n", "samples", "Bayes", "highest score", "difference", "wrong, normal", "auto"]
        rows = [[*head, "wrong sentence", *(f"cost: {rule}" for rule in RULES)]]
        for name, n in product(NAMES, SIZES):
            if (one := results.get(f"{name} | {kind} | {n}")) is not None:
                rows.append([name, f"{n:,}", *_row(one)])
        if len(rows) > 1:
            parts.append(markdown(rows))
    return "\n\n".join([*parts, _summary(results)])


def _row(one):
    fixed_, rows = one["fixed"], one["decided"]
    covered = [f"{percent(fixed_[r]['covers'])} ({percent(fixed_[r]['normal covers'])})" for r in fixed_]
    wrong = f"{percent(fixed_['difference']['wrong'])}, {percent(fixed_['difference']['normal wrong'])}"
    means = {rule: float(np.mean(rows[rule])) for rule in RULES}
    least = min(means.values())
    over = [f"{means[rule] / least:.2f}" if least > 0 else "none" for rule in RULES]
    auto = [percent(np.mean(np.array(rows["side"]) == 0)), percent(np.mean(rows["wrong"]))]
    return [str(len(rows["side"])), *covered, wrong, *auto, *over]


def _summary(results):
    """Over all settings, in one paragraph."""
    of_fixed = [one["fixed"][rule] for one in results.values() for rule in ("bayes", "argmax")]
    apart = [one["fixed"]["difference"] for one in results.values()]
    ratio = {
        rule: [np.mean(one["decided"][rule]) / np.mean(one["decided"]["bayes"]) for one in results.values()]
        for rule in RULES
    }
    claimed = [np.mean(one["decided"]["claimed"]) / np.mean(one["decided"]["auto"]) for one in results.values()]
    covers, normal = ([one[name] for one in of_fixed] for name in ("covers", "normal covers"))
    return (
        f"Over all {len(results)} settings the interval of a fixed rule's cost covers {percent(min(covers))} to "
        f"{percent(max(covers))} (the normal interval {percent(min(normal))} to {percent(max(normal))}), that of the "
        f"difference {percent(min(one['covers'] for one in apart))} to {percent(max(one['covers'] for one in apart))}, "
        f"with wrong verdicts in at most {percent(max(one['wrong'] for one in apart))} of the samples (normal: "
        f"{percent(max(one['normal wrong'] for one in apart))}). The rule that is deployed costs "
        f"{min(ratio['auto']):.2f} to {max(ratio['auto']):.2f} times as much as Bayes' rule, the tuned offsets "
        f"{min(ratio['tuned']):.2f} to {max(ratio['tuned']):.2f} times. Its claimed cost is on average "
        f"{np.median(claimed):.3f} times the true one."
    )
