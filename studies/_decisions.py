"""Decisions: what tuned offsets cost on held-out samples, and how often the interval of the cross-fitted cost covers.

Real data: half of the samples train a classifier, a quarter tunes offsets, a quarter judges; cost matrices are random
and not symmetric: one cost for each true class, where offsets are added to log probabilities, or one for each pair,
where they are added to minus the logarithms of expected costs. Coverage: samples of populations whose cost of any rule
is known from 200,000 samples.
"""

import multiprocessing
import os
from dataclasses import dataclass

import numpy as np

from studies._page import markdown, percent

BEGIN, END = "<!-- results: written by `python -m studies decisions-page` -->", "<!-- end of results -->"
DATA_SETS = ("car", "optical", "pen", "tae", "iris", "glass")
CLASSIFIERS = ("logistic", "tree", "naive Bayes", "forest")
RULES = ("tuned", "bayes", "argmax")
KINDS = ("true class", "pair")
N_SPLITS = 5
_N_TRUTH = 200_000


@dataclass(frozen=True)
class Population:
    """Normal classes and the probabilities of a classifier that is calibrated (sharpness 1, tilt 0) or is not."""

    name: str
    prevalence: tuple[float, ...]
    separation: float
    sharpness: float
    tilt: float
    n_samples: int

    def draw(self, rng, n):
        k = len(self.prevalence)
        codes = np.r_[np.arange(k), np.arange(k), rng.choice(k, n - 2 * k, p=self.prevalence)]
        x = rng.normal(size=(n, k))
        x[np.arange(n), codes] += self.separation
        logits = self.sharpness * (self.separation * x + np.log(self.prevalence))
        logits[:, 0] += self.tilt
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        return codes, p / p.sum(axis=1, keepdims=True)

    @property
    def costs(self):
        """Further away costs more, and upwards three times as much."""
        k = len(self.prevalence)
        away = np.subtract.outer(np.arange(k), np.arange(k)).astype(float)
        return np.where(away > 0, away, -3 * away)


POPULATIONS = (
    Population("3 classes, calibrated", (0.5, 0.3, 0.2), 1.2, 1.0, 0.0, 300),
    Population("4 equal classes, too timid", (0.25,) * 4, 1.0, 0.5, 0.5, 400),
    Population("5 classes, too sure", (0.4, 0.25, 0.2, 0.1, 0.05), 1.5, 2.0, -0.5, 1000),
)


def run_coverage(population, seed, n_replications):
    """Cross-fitted cost, its interval and the true cost of the deployed rule, in each replication."""
    codes, scores = population.draw(np.random.default_rng([seed, 0]), _N_TRUTH)
    asked = [(population, seed, number, codes, scores) for number in range(1, n_replications + 1)]
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        found = pool.starmap(_one_coverage, asked)
    return {name: [one[name] for one in found] for name in found[0]}


def _one_coverage(population, seed, number, codes, scores):
    import polyroc

    y_true, y_score = population.draw(np.random.default_rng([seed, number]), population.n_samples)
    labels = range(len(population.prevalence))
    decision = polyroc.decide(y_true, y_score, population.costs, labels=labels, n_jobs=1, rng=number, rule="tuned")
    true = float(population.costs[codes, decision.predict(scores)].mean())
    low, high = decision.cost_interval
    side = -1 if true < low else 1 if true > high else 0
    return {
        "cost": decision.cost,
        "standard_error": decision.standard_error,
        "true": true,
        "side": side,
        "resubstitution": decision.resubstitution_cost,
    }


def write_predictions(path):
    """Scores of four classifiers on the six data sets, for a machine without scikit-learn."""
    from experiments._data_sets import as_data_folder, find_data_sets
    from studies._populations import _classifiers

    makers = _classifiers()
    parts = {}
    for data_set in find_data_sets(DATA_SETS, as_data_folder(None)).data_sets:
        codes = np.unique(data_set.labels, return_inverse=True)[1]
        for split in range(N_SPLITS):
            part = _quarters(codes, split)
            for name in CLASSIFIERS:
                fitted = makers[name](split).fit(data_set.features[part < 2], codes[part < 2])
                for what, chosen in (("tune", part == 2), ("test", part == 3)):
                    key = f"{data_set.name}/{name}/{split}/{what}"
                    parts[f"{key}/codes"] = codes[chosen]
                    parts[f"{key}/scores"] = fitted.predict_proba(data_set.features[chosen])
    np.savez_compressed(path, **parts)


def _quarters(codes, seed):
    """The quarter of each sample, 0 to 3, stratified."""
    key = np.random.default_rng(seed).random(len(codes))
    order = np.lexsort((key, codes))
    part = np.empty(len(codes), dtype=int)
    part[order] = np.arange(len(codes)) % 4
    return part


def run_held_out(path, n_costs):
    """Held-out cost of the three rules for each data set, classifier and kind of costs, summed over cost matrices."""
    with np.load(path) as held:
        keys = sorted({key.rsplit("/", 2)[0] for key in held.files})
        asked = [
            (key, kind, {part: held[f"{key}/{part}"] for part in _PARTS}, n_costs) for key in keys for kind in KINDS
        ]
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        rows = pool.starmap(_one_held_out, asked)
    return [row for row in rows if row]


_PARTS = ("tune/codes", "tune/scores", "test/codes", "test/scores")


def _random_costs(rng, k, kind):
    """costs[true, predicted]: of each true class, or of each pair of classes; neither is symmetric."""
    costs = rng.exponential(size=(k, 1)) * (np.ones((k, k)) if kind == "true class" else rng.exponential(size=(k, k)))
    np.fill_diagonal(costs, 0)
    return costs


def _one_held_out(key, kind, parts, n_costs):
    import polyroc

    data_set, classifier, split = key.split("/")
    codes, scores = parts["tune/codes"], parts["tune/scores"]
    k, rng = scores.shape[1], np.random.default_rng([int(split), 7])
    # A class with a single sample to tune on cannot be cross-fitted.
    if np.bincount(codes, minlength=k).min() < 2:
        return None
    total = dict.fromkeys(RULES, 0.0)
    for _ in range(n_costs):
        costs, tested = _random_costs(rng, k, kind), parts["test/scores"]
        named = {
            # Offsets are tuned on all these samples, whatever the folds; two take the least time.
            "tuned": polyroc.decide(codes, scores, costs, labels=range(k), n_folds=2, n_jobs=1, rule="tuned").predict(
                tested
            ),
            # Without another prior these two need no samples.
            "bayes": np.argmin(tested @ costs, axis=1),
            "argmax": np.argmax(tested, axis=1),
        }
        for rule, names in named.items():
            total[rule] += float(costs[parts["test/codes"], names].mean())
    return {"data": data_set, "classifier": classifier, "split": int(split), "kind": kind, **total}


def _held_out_table(found, kind):
    """Cost of tuned offsets over that of Bayes' rule for each data set, and both ratios over all."""
    data_sets = [name for name in DATA_SETS if any(row["data"] == name for row in found)]
    rows = [[f"costs by {kind}", *data_sets, "all: tuned / Bayes", "all: tuned / highest score"]]
    for classifier in CLASSIFIERS:
        own = [row for row in found if (row["classifier"], row["kind"]) == (classifier, kind)]
        if own:
            ratios = [_ratio([row for row in own if row["data"] == name], "bayes") for name in data_sets]
            rows.append([classifier, *ratios, _ratio(own, "bayes"), _ratio(own, "argmax")])
    return markdown(rows)


def _ratio(rows, rule):
    # A rule may name every held-out sample right.
    below = sum(row[rule] for row in rows)
    return f"{sum(row['tuned'] for row in rows) / below:.2f}" if below > 0 else "none"


_ABOUT_HELD_OUT = """Six UCI data sets and random cost matrices: the cost of tuned offsets on held-out samples, divided
by that of Bayes' rule. Below 1, tuned offsets cost less. Half of each data set trains the classifier, a quarter tunes
the offsets and a quarter judges them, in five splits. With either kind of costs some offsets give Bayes' rule. In
tae, iris and glass, with 37 to 53 samples to tune on, tuned offsets cost more than Bayes' rule about as often as less.
In larger samples they do so too, if scores are calibrated or if rare mistakes are expensive: `rule="auto"` is for
that."""
_ABOUT_COVERAGE = """How often the 95 % interval of the cross-fitted cost covers the cost of the deployed rule in the
population, and how often that lies below or above the interval."""


def page(results):
    """The tables."""
    covered = [["population", "n", "replications", "true cost", "on own samples", "coverage", "below", "above"]]
    for one in POPULATIONS:
        if one.name in results["coverage"]:
            found = {name: np.array(x) for name, x in results["coverage"][one.name].items()}
            means = [f"{found[name].mean():.3f}" for name in ("true", "resubstitution")]
            shares = [percent(np.mean(found["side"] == side)) for side in (0, -1, 1)]
            covered.append([one.name, str(one.n_samples), str(len(found["side"])), *means, *shares])
    tables = [_held_out_table(results["held out"], kind) for kind in KINDS]
    return "\n\n".join([_ABOUT_HELD_OUT, *tables, _ABOUT_COVERAGE, markdown(covered)])
