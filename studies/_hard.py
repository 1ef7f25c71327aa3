"""Intervals where few samples decide: small hard classes, rare gross errors, a noisier copy of a model, few groups.

Populations and settings of their own, written down before any result was looked at. Real predictions are those of a
classifier that was fitted on a part of a data set for the rest of it, from which samples are drawn with replacement,
class by class. Everything that is judged is the library's own code, by influences, whatever `influence_note` says.
"""

import importlib.util
import warnings
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.special import softmax, stdtrit

import polyroc
from polyroc._uncertainty.bootstrap import warn_of_few_carriers
from polyroc._uncertainty.delong import covariance, freedom
from polyroc._uncertainty.p_values import Once
from polyroc._uncertainty.paired import ends_apart
from polyroc._uncertainty.paired_influence import difference
from polyroc._uncertainty.units import units_of
from studies._influence_page import sides
from studies._page import markdown, number, percent

BEGIN, END = "<!-- hard: written by `python -m studies hard-page` -->", "<!-- end of hard -->"
LEVEL, N_TRUTH = 0.95, 400_000
ENGINE = "numba" if importlib.util.find_spec("numba") else "numpy"
# What is left of a probability of 0, whose logarithm a noisier copy needs.
_LEAST_PROBABILITY = 1e-6


@dataclass(frozen=True)
class Hard:
    """One model, or two, and how many samples of each class."""

    name: str
    counts: tuple[int, ...]
    population: str | None = None
    """Real predictions; None for Gaussian logits, in which each class raises its own column by its strength."""
    strengths: tuple[float, ...] = ()
    hardest_first: bool = False
    """Whether `counts` begin with the hardest class of the population, instead of its first one."""
    heavy: float | None = None
    """Degrees of freedom of Student's t, where the logits have that noise instead of normal noise."""
    mislabelled: float = 0.0
    """Share of samples that belong to another class than they are labelled with."""
    group_size: int | None = None
    """Samples of a class come in groups of so many."""
    shared: float = 0.0
    """Share of the variance of the logits that a group has in common."""
    second: str | None = None
    """A second model: a "noisier" copy, an "equal" one, or another population."""
    noise: float = 0.0
    """Standard deviation of what two equal models add to the logits each, the first included."""


def geometric(largest, smallest, k):
    """Class sizes in a geometric sequence, the smallest first."""
    return tuple(np.geomspace(smallest, largest, k).round().astype(int).tolist())


SKEWED = geometric(200, 10, 10)
# The same sizes in an order that has nothing to do with how hard the classes are.
SHUFFLED = tuple(np.random.default_rng(0).permutation(SKEWED).tolist())
_HARD_TO_EASY = tuple(np.linspace(2.5, 6.0, 20).tolist())
SMALL = [
    Hard("pen, naive Bayes, 1:20", SKEWED, "pen, naive Bayes", hardest_first=True),
    Hard("optical, logistic, 1:20", SKEWED, "optical, logistic", hardest_first=True),
    Hard("optical, naive Bayes, 1:20", SKEWED, "optical, naive Bayes", hardest_first=True),
    Hard("pen, network, 1:20", SKEWED, "pen, network", hardest_first=True),
    Hard("twenty classes, heavy tails, 1:20", geometric(200, 10, 20), strengths=_HARD_TO_EASY, heavy=3.0),
    Hard("pen, naive Bayes, 1:20, sizes shuffled", SHUFFLED, "pen, naive Bayes"),
]
GROSS = [
    Hard("optical, 3 neighbours, 30", (30,) * 10, "optical, 3 neighbours"),
    Hard("optical, 10 neighbours, 30", (30,) * 10, "optical, 10 neighbours"),
    Hard("pen, 10 neighbours, 30", (30,) * 10, "pen, 10 neighbours"),
    Hard("heavy tails, 50", (50,) * 5, strengths=(9.5,) * 5, heavy=2.0),
    Hard("0.5 % of labels wrong, 50", (50,) * 5, strengths=(3.5,) * 5, mislabelled=0.005),
    Hard("optical, network, 0.5 % of labels wrong, 50", (50,) * 10, "optical, network", mislabelled=0.005),
]
COPIES = [
    Hard("pen, network, noisier copy, 20", (20,) * 10, "pen, network", second="noisier"),
    Hard("pen, network, noisier copy, 50", (50,) * 10, "pen, network", second="noisier"),
    Hard("optical, network, noisier copy, 20", (20,) * 10, "optical, network", second="noisier"),
    Hard("optical, network, noisier copy, 50", (50,) * 10, "optical, network", second="noisier"),
    Hard("pen, logistic, noisier copy, 20", (20,) * 10, "pen, logistic", second="noisier"),
    Hard("optical, logistic, noisier copy, 20", (20,) * 10, "optical, logistic", second="noisier"),
]
GROUPS = [
    Hard("15 groups of 20, three classes", (100,) * 3, strengths=(0.6, 1.0, 1.4), group_size=20, shared=0.8),
    Hard("15 groups of 20, five classes", (60,) * 5, strengths=(1.0, 1.5, 2.0, 2.5, 3.0), group_size=20, shared=0.8),
    Hard("15 groups of 20, strong", (100,) * 3, strengths=(2.0, 2.5, 3.0), group_size=20, shared=0.8),
]
ORDINARY = [
    Hard("medium, three classes, 33", (33,) * 3, strengths=(0.6, 1.0, 1.4)),
    Hard("medium, four classes, 1:20", (20, 80, 200, 400), strengths=(0.5, 1.0, 1.5, 1.0)),
    Hard("strong, 50", (50,) * 5, strengths=(2.0, 2.2, 2.4, 2.6, 2.8)),
    Hard("pen, logistic, 50", (50,) * 10, "pen, logistic"),
    Hard("optical, naive Bayes, 50", (50,) * 10, "optical, naive Bayes"),
]
EQUAL = [
    Hard("equal: medium, 100", (100,) * 4, strengths=(0.6, 1.0, 1.4, 1.0), second="equal", noise=0.5),
    Hard("equal: strong, 50", (50,) * 5, strengths=(2.5, 3.0, 3.5, 3.0, 2.5), second="equal", noise=0.5),
    Hard("equal: ten classes, 20", (20,) * 10, strengths=tuple(np.linspace(2, 3.5, 10)), second="equal", noise=0.5),
    Hard("equal: pen, network, 50", (50,) * 10, "pen, network", second="equal", noise=0.5),
    Hard("equal: optical, logistic, 30", (30,) * 10, "optical, logistic", second="equal", noise=0.5),
    Hard("pen: logistic, naive Bayes, 50", (50,) * 10, "pen, logistic", second="pen, naive Bayes"),
]
KINDS = {
    "small hard classes": SMALL,
    "few gross errors": GROSS,
    "a noisier copy": COPIES,
    "few groups": GROUPS,
    "ordinary": ORDINARY,
    "two models": EQUAL,
}
ALL = [one for settings in KINDS.values() for one in settings]


@cache
def populations():
    """Codes and probabilities by name; some seconds."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from experiments._data_sets import as_data_folder, find_data_sets

    network = MLPClassifier((50,), max_iter=500, random_state=0)
    # Classifier and the share of the data that it is fitted on; the others are the population. With the same share they
    # predict the same rows.
    makers = {
        "naive Bayes": (GaussianNB(var_smoothing=1e-3), 0.01),
        "logistic": (make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)), 0.01),
        "network": (make_pipeline(StandardScaler(), network), 0.03),
        "3 neighbours": (KNeighborsClassifier(3), 0.5),
        "10 neighbours": (KNeighborsClassifier(10), 0.5),
    }
    made = {}
    for data_set in find_data_sets(["pen", "optical"], as_data_folder(None)).data_sets:
        codes = np.unique(data_set.labels, return_inverse=True)[1]
        order = np.random.default_rng(0).permutation(len(codes))
        for name, (maker, share) in makers.items():
            fitted, rest = np.split(order, [round(share * len(codes))])
            maker.fit(data_set.features[fitted], codes[fitted])
            made[f"{data_set.name}, {name}"] = codes[rest], maker.predict_proba(data_set.features[rest])
    return made


@cache
def pool(asked):
    """Codes and the scores of each model for a whole population, the classes in the order of `counts`."""
    codes, first = populations()[asked.population]
    scores = [first]
    logits = np.log(np.maximum(first, _LEAST_PROBABILITY))
    noise = np.random.default_rng(1).normal(size=(2, *first.shape))
    if asked.second == "noisier":
        scores = [first, softmax(0.7 * logits + noise[0], axis=1)]
    elif asked.second == "equal":
        scores = [softmax(logits + asked.noise * one, axis=1) for one in noise]
    elif asked.second is not None:
        scores = [first, populations()[asked.second][1]]
    if asked.hardest_first:
        areas = evaluated(codes, first, shrinkage=0.0).pairs
        mean = [np.mean([p.auc for p in areas if c in (p.positive, p.negative)]) for c in range(len(asked.counts))]
        order = np.argsort(mean)
        codes, scores = np.argsort(order)[codes], [one[:, order] for one in scores]
    return codes, scores


def draw(asked, rng, counts=None):
    """Labels, the scores of each model, and groups of one sample."""
    counts = asked.counts if counts is None else counts
    y_true = np.repeat(np.arange(len(counts)), counts)
    others = (y_true + rng.integers(1, len(counts), len(y_true))) % len(counts)
    of = np.where(rng.random(len(y_true)) < asked.mislabelled, others, y_true)
    if asked.population is not None:
        codes, scores = pool(asked)
        rows = np.empty(len(of), dtype=int)
        for c in np.unique(of):
            rows[of == c] = rng.choice(np.flatnonzero(codes == c), np.count_nonzero(of == c))
        return y_true, [one[rows] for one in scores], None
    shape = (len(of), len(counts))
    logits = rng.normal(size=shape) if asked.heavy is None else rng.standard_t(asked.heavy, size=shape)
    groups = None
    if asked.group_size is not None:
        within = np.concatenate([np.arange(count) // asked.group_size for count in counts])
        groups = np.unique(y_true * (within.max() + 1) + within, return_inverse=True)[1]
        common = rng.normal(size=(groups.max() + 1, len(counts)))[groups]
        logits = np.sqrt(1 - asked.shared) * logits + np.sqrt(asked.shared) * common
    logits[np.arange(len(of)), of] += np.asarray(asked.strengths)[of]
    if asked.second is None:
        return y_true, [softmax(logits, axis=1)], groups
    return y_true, [softmax(logits + asked.noise * rng.normal(size=shape), axis=1) for _ in range(2)], groups


def evaluated(y_true, y_score, **options):
    return polyroc.evaluate(y_true, y_score, engine=ENGINE, n_jobs=1, **options)


def find_truth(asked, seed):
    """D and M of each model: of the whole population, or of many samples, without shrinkage."""
    if asked.population is not None and asked.mislabelled == 0:
        y_true, scores = pool(asked)
    else:
        k = len(asked.counts)
        y_true, scores, _ = draw(asked, np.random.default_rng([seed, 1]), (N_TRUTH // k,) * k)
    if asked.second == "equal" and asked.population is None:
        scores = scores[:1] * 2
    found = [evaluated(y_true, one, shrinkage=0.0) for one in scores]
    return [[one.auc, one.hand_till] for one in found]


def judge(asked, seed, number):
    """D and M of one sample with their intervals, and whether these were warned of; of two models their differences."""
    y_true, scores, groups = draw(asked, np.random.default_rng([seed, 2, number]))
    models = [evaluated(y_true, one) for one in scores]
    units = units_of(models[0].fitted.source, groups)
    found = {"noted": any(one.influence_note for one in models)}
    for name, statistic in (("D", "auc"), ("M", "hand_till")):
        found |= judged(name, [one.uncertainty.spread(statistic, units) for one in models])
    return found


def judged(name, spreads):
    """One statistic of one model, or of two, with its interval and the one that it replaced."""
    if len(spreads) == 1:
        [spread] = spreads
        found = {name: spread.estimate, f"{name}, warned": is_warned_of(spread)}
        intervals = spread.ends(LEVEL), replace(spread, rare_class=None).ends(LEVEL)
    else:
        value, _, interval, p_value = difference(*spreads, LEVEL, Once())
        found = {name: value, f"{name}, p": p_value}
        intervals = interval, before(*spreads)
    for which, (low, high) in zip(("", " before"), intervals, strict=True):
        found |= {f"{name}, low{which}": low, f"{name}, high{which}": high}
    return found


def is_warned_of(spread):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_few_carriers(spread.freedom, spread.at_end)
    return bool(caught)


def before(first, second):
    """The interval of a difference that this one replaced: Student's t to both sides."""
    if first.standard_error == 0 and second.standard_error == 0:
        return ends_apart(first, second, LEVEL)
    (a, error_a), (b, error_b) = first.corrected(), second.corrected()
    both = covariance(np.array([first.influences, second.influences]), first.units)
    correlation = both[0, 1] / np.sqrt(both[0, 0] * both[1, 1]) if both[0, 0] * both[1, 1] > 0 else 0.0
    plain = both[0, 0] + both[1, 1] - 2 * both[0, 1]
    error = np.sqrt(max(error_a**2 + error_b**2 - 2 * correlation * error_a * error_b, plain, 0.0))
    if first.unshrunk is not None and second.unshrunk is not None:
        error = np.hypot(error, first.unshrunk - second.unshrunk - (first.estimate - second.estimate))
    few = freedom(first.influences - second.influences, first.units)
    reach = -stdtrit(few, (1 - LEVEL) / 2) * error
    return a - b - reach, a - b + reach


def run(asked, seed, n_replications):
    """What every replication found, by name."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(n_replications):
            for name, value in judge(asked, seed, number).items():
                found.setdefault(name, []).append(float(value))
    return found


_ABOUT = """Settings in which few samples decide, of populations of their own that no other table has; they were written
down before any result was looked at, and the constants of Fay and Feuer's term were chosen on them, with an eye on the
settings above. Predictions are those of classifiers that were fitted on 1, 3 or 50 % of pen and optical digits, for the
others (`studies/_hard.py`). "1:20" are ten classes of 10 to 200 samples, the hardest the smallest; a noisier copy of a
model has its log probabilities times 0.7 plus normal noise. All by influences, also where `method="auto"` would
resample ("noted"). "Before" is the same sample without Fay and Feuer's term; for differences, with Student's t on both
sides. "Warned of" is the share of samples with a warning of few degrees of freedom, then that of the missed ones.
"Below" and "above" say where the truth is when it is missed; the width is the median of the ratio to that before."""


def page(results):
    """One table for single models, one for two."""
    single, both = [], []
    for kind, settings in KINDS.items():
        for one in settings:
            if one.name in results:
                (single if one.second is None else both).append((kind, one))
    head = ["setting", "smallest class", "truth", "samples", "before", "covers", "below", "above", "width, before = 1"]
    shared = [[*head[:1], "statistic", *head[1:]]]
    first = [[*shared[0], "warned of", "warned of misses before", "noted"]]
    second = [[*shared[0], "significant before", "significant"]]
    for _, one in single:
        first += rows(one, results[one.name], ("warned", "missed", "noted"))
    for _, one in both:
        second += rows(one, results[one.name], ("significant before", "significant"))
    return "\n\n".join([_ABOUT, markdown(first), markdown(second)])


def rows(asked, entry, more):
    """Both statistics of one setting."""
    found = {name: np.array(values) for name, values in entry["found"].items()}
    made = []
    for place, name in enumerate(("D", "M")):
        truths = [truth[place] for truth in entry["truth"]]
        truth = truths[0] if asked.second is None else truths[0] - truths[1]
        now = sides(found, name, truth)
        old = sides({f"{name}, {end}": found[f"{name}, {end} before"] for end in ("low", "high")}, name, truth)
        width = [found[f"{name}, high{which}"] - found[f"{name}, low{which}"] for which in ("", " before")]
        shares = [percent(np.mean(x)) for x in (old == 0, now == 0, now == -1, now == 1)]
        last = {"noted": percent(found["noted"].mean())}
        if asked.second is None:
            warned, missed = found[f"{name}, warned"] > 0, old != 0
            last["warned"] = percent(warned.mean())
            last["missed"] = percent(warned[missed].mean()) if missed.any() else "-"
        else:
            for which in ("", " before"):
                low, high = (found[f"{name}, {end}{which}"] for end in ("low", "high"))
                last[f"significant{which}"] = percent(np.mean((low > 0) | (high < 0)))
        size = min(asked.counts) // (asked.group_size or 1)
        told = number(truth) if asked.second is None else f"{truth:.4f}"
        ratio = f"{np.median(width[0] / width[1]):.2f}"
        made.append([asked.name, name, str(size), told, f"{len(now):,}", *shares, ratio, *(last[one] for one in more)])
    return made
