"""Golden values: 60 problems, and the public numbers of each, as the code gave them when they were stored.

python tests/helpers/golden.py     stores them again, in golden.json; say why in the changelog, under Changed results
"""

import json
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

import polyroc

PATH = Path(__file__).with_suffix(".json")
FPR = np.array([0.02, 0.1, 0.25, 0.5, 0.75])


def scores(seed, n, k, *, strength=1.0, digits=None, shares=None, probabilities=False):
    """Labels and scores: Gaussian columns, each raised for its own class by a strength of its own."""
    rng = np.random.default_rng(seed)
    y_true = rng.choice(k, n, p=shares)
    y_true[: 2 * k] = np.tile(np.arange(k), 2)
    y_score = rng.normal(size=(n, k)) + strength * rng.uniform(0.5, 1.5, size=k) * np.eye(k)[y_true]
    if digits is not None:
        y_score = y_score.round(digits)
    if probabilities:
        y_score = np.exp(y_score)
        y_score /= y_score.sum(axis=1, keepdims=True)
    return {"y_true": y_true, "y_score": y_score, "labels": np.arange(k)}


def expensive(k, seed=0):
    """Costs of mistakes from 1 to 50, nothing for what is right."""
    table = 50 ** np.random.default_rng(seed).random((k, k))
    return np.where(np.eye(k, dtype=bool), 0.0, table)


def skewed(k):
    shares = np.geomspace(1, 0.05, k)
    return shares / shares.sum()


def plain():
    for k in (3, 4, 5, 7, 10):
        yield f"{k} classes", scores(k, 50 * k, k)
    for strength in (0.0, 0.4, 0.8, 2.0, 4.0):
        yield f"strength {strength}", scores(20, 250, 4, strength=strength)
    yield "small", scores(21, 30, 3)
    yield "inverted", scores(22, 200, 4, strength=-1.0)
    yield "separated", scores(23, 150, 3, strength=20.0)
    yield "300 classes", scores(24, 1500, 300, strength=3.0)


def tied():
    for digits, k in ((0, 3), (0, 5), (0, 6), (1, 4), (1, 6)):
        yield f"ties, {digits} digits, {k} classes", scores(30 + k, 300, k, digits=digits)
    problem = scores(35, 240, 5)
    problem["y_score"][:, 1:3] = 0.0
    yield "constant columns", problem
    problem = scores(36, 240, 4)
    problem["y_score"] = np.eye(4)[problem["y_score"].argmax(axis=1)]
    yield "one-hot", problem
    yield "votes", {**scores(37, 200, 3), "y_score": np.random.default_rng(37).multinomial(9, [0.5, 0.3, 0.2], 200)}


def weighted():
    for k in (3, 6):
        weights = np.random.default_rng(k).uniform(0.2, 3.0, 300)
        yield f"weights, {k} classes", {**scores(40 + k, 300, k), "sample_weight": weights}
    counts = np.random.default_rng(9).integers(0, 4, 300)
    yield "integer weights and zeros", {**scores(47, 300, 4), "sample_weight": counts}
    yield "prevalence", {**scores(48, 300, 4, shares=skewed(4)), "weighting": "prevalence"}
    yield "no shrinkage", {**scores(49, 300, 4), "shrinkage": 0.0}
    yield "skewed classes", scores(50, 500, 6, shares=skewed(6))
    yield "few call rates", {**scores(51, 300, 4), "n_thresholds": 19}


def ruled():
    for thresholds in ("shared", "difference"):
        for k in (3, 5):
            yield f"{thresholds}, {k} classes", {**scores(52 + k, 240, k), "thresholds": thresholds}
        yield f"{thresholds}, ties", {**scores(58, 240, 4, digits=0), "thresholds": thresholds}
        yield f"{thresholds}, costs", {**scores(59, 240, 4), "thresholds": thresholds, "costs": expensive(4)}
    for k in (3, 6):
        yield f"costs, {k} classes", {**scores(60 + k, 300, k), "costs": expensive(k)}
    weights = {"tpr_weights": expensive(4, 1) + 1, "fpr_weights": expensive(4, 2) + 1}
    yield "weights of rates", {**scores(67, 300, 4), **weights}
    for structure in ("centered", "saturated"):
        yield structure, {**scores(68, 300, 4), "structure": structure}
        yield f"{structure}, shared", {**scores(69, 300, 4), "structure": structure, "thresholds": "shared"}


def grouped():
    for k, size in ((3, 2), (4, 5), (5, 10), (6, 3)):
        problem = scores(70 + k, 300, k)
        group = np.arange(300) // size
        problem["y_score"] = problem["y_score"] + np.random.default_rng(k).normal(size=(300, 1))[group]
        yield f"groups of {size}, {k} classes", {**problem, "groups": group}


def typed():
    yield "float32", {**scores(80, 250, 4), "y_score": scores(80, 250, 4)["y_score"].astype(np.float32)}
    problem = scores(81, 250, 3)
    names = np.array(["ant", "bee", "cat"])
    frame = {f"p_{name}": problem["y_score"][:, c] for c, name in enumerate(names)}
    yield "frame", {"y_true": names[problem["y_true"]], "y_score": frame}
    problem = scores(82, 250, 5)
    problem["y_true"][problem["y_true"] == 3] = 1
    yield "absent class", problem
    for seed in (83, 84):
        y_true = scores(seed, 200, 2)["y_true"]
        yield f"two classes, {seed}", {"y_true": y_true, "y_score": scores(seed, 200, 2)["y_score"][:, 1]}
    problem = scores(85, 240, 3, probabilities=True)
    yield "two classes of three columns", {**problem, "y_true": problem["y_true"] % 2}
    yield "a sample of pairs", {**scores(86, 400, 20, strength=2.0), "max_pairs": 100, "rng": 0}


def decided():
    """With probabilities: these are also decided, planned and streamed."""
    for k in (3, 4, 5, 6):
        yield f"probabilities, {k} classes", scores(90 + k, 400, k, strength=1.5, probabilities=True)
    yield "probabilities, skewed", scores(97, 600, 4, strength=1.5, shares=skewed(4), probabilities=True)


KINDS = (plain, tied, weighted, ruled, grouped, typed, decided)


def problems():
    return {name: (kind.__name__, problem) for kind in KINDS for name, problem in kind()}


def numbers_of(kind, problem):
    """Every public number of a problem, by name; what refuses the problem gives its kind of error."""
    numbers = {}

    def note(name, value):
        try:
            numbers[name] = value() if callable(value) else value
        except ValueError as error:
            numbers[name] = type(error).__name__

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        groups = {"groups": problem["groups"]} if "groups" in problem else {}
        arguments = {name: value for name, value in problem.items() if name != "groups"}
        # The reference; of 300 classes it takes minutes and gigabytes.
        arguments["engine"] = "numpy" if len(arguments.get("labels", ())) < 300 else "auto"
        if isinstance(arguments["y_score"], dict):
            arguments["y_score"] = pd.DataFrame(arguments["y_score"])
        note_evaluation(note, polyroc.evaluate(**arguments), groups)
        if kind != "plain" or len(arguments.get("labels", ())) < 300:
            note_comparison(note, arguments, groups)
        if kind == "decided":
            note_decisions(note, arguments)
            note_counts(note, arguments)
    return numbers


def note_evaluation(note, evaluation, groups):
    for name in ("auc", "hand_till", "mean_auc", "accuracy", "explained", "standard_error", "n_samples"):
        note(name, partial(getattr, evaluation, name))
    for name in ("curve", "mean_curve"):
        curve = getattr(evaluation, name)
        note(f"{name} at five points", np.interp(FPR, curve.fpr, curve.tpr))
    pairs = evaluation.pairs
    some = np.linspace(0, len(pairs) - 1, min(len(pairs), 12)).astype(int)
    note("areas of pairs", lambda: pairs.auc[some])
    note("sum of areas", lambda: pairs.auc.sum())
    note("effects of pairs", lambda: pairs.effect[some])
    note("partial area", lambda: evaluation.partial_auc(0.1))
    note("influences", lambda: evaluation.influences[:6])
    note("thresholds", lambda: np.asarray(list((evaluation.auc_by_thresholds or {}).values())))
    interval = partial(evaluation.confidence_interval, method="influence", **groups)
    for statistic in ("auc", "hand_till", "mean_auc"):
        note(f"interval of {statistic}", partial(interval, statistic=statistic))
    note("interval of partial area", partial(interval, statistic="partial_auc", max_fpr=0.1))
    note("interval of accuracy", evaluation.accuracy_interval)
    if len(evaluation.labels) < 300:
        note_band(note, evaluation, groups)
        note_measures(note, evaluation, groups)


def note_band(note, evaluation, groups):
    try:
        band = evaluation.confidence_band(method="influence", **groups)
    except ValueError as error:
        note("band", type(error).__name__)
        return
    note("band, low", lambda: np.interp(FPR, band.lower.fpr, band.lower.tpr))
    note("band, high", lambda: np.interp(FPR, band.upper.fpr, band.upper.tpr))


def note_measures(note, evaluation, groups):
    try:
        measures = evaluation.measures(**groups)
    except ValueError as error:
        note("measures", type(error).__name__)
        return
    for row in measures:
        note(f"measure {row.name}", [row.estimate, row.standard_error])
        note(f"interval of measure {row.name}", [row.low, row.high])
    classes = evaluation.classes
    note("recall", lambda: classes.recall)
    note("precision", lambda: classes.precision)
    note("areas against the rest", lambda: classes.auc_vs_rest)
    note("hardest areas", lambda: classes.hardest_auc)


def note_comparison(note, arguments, groups):
    scores_of = np.asarray(arguments["y_score"], dtype=float)
    noise = np.random.default_rng(1).normal(size=scores_of.shape)
    other = scores_of + 0.3 * noise * np.std(scores_of)
    if hasattr(arguments["y_score"], "columns"):
        other = type(arguments["y_score"])(other, columns=arguments["y_score"].columns)
    options = {name: value for name, value in arguments.items() if name not in ("y_true", "y_score", "rng")}
    models = {"first": arguments["y_score"], "second": other}
    try:
        comparison = polyroc.compare(arguments["y_true"], models, method="influence", **options, **groups)
    except ValueError as error:
        note("comparison", type(error).__name__)
        return
    for statistic in ("auc", "hand_till", "mean_auc"):
        try:
            difference = comparison.difference("first", "second", statistic=statistic)
        except ValueError as error:
            note(f"difference of {statistic}", type(error).__name__)
            continue
        note(f"difference of {statistic}", [difference.value, difference.standard_error])
        note(f"interval of difference of {statistic}", [difference.low, difference.high])
        note(f"p of {statistic}", difference.p_value)


def note_decisions(note, arguments):
    k = arguments["y_score"].shape[1]
    decision = polyroc.decide(arguments["y_true"], arguments["y_score"], expensive(k), rng=0)
    note("decision, cost", lambda: decision.cost)
    note("decision, offsets", lambda: decision.offsets - decision.offsets[0])
    note("interval of decision", lambda: decision.cost_interval)
    plan = polyroc.plan(polyroc.evaluate(**arguments), half_width=0.02)
    note("plan", lambda: plan.class_counts)
    note("plan, half width", lambda: plan.half_width)
    worse = np.sqrt(arguments["y_score"]) + 0.3 * np.random.default_rng(2).random(arguments["y_score"].shape)
    models = {"first": arguments["y_score"], "second": worse}
    comparison = polyroc.compare(arguments["y_true"], models, labels=np.arange(k))
    entries = comparison.tipping_costs().entries
    note("tipping costs", lambda: [-1.0 if entry.factor is None else entry.factor for entry in entries])


def note_counts(note, arguments):
    """The same samples counted in bins, in two batches and two passes."""
    y_true, y_score = arguments["y_true"], arguments["y_score"]
    accumulator = polyroc.RocAccumulator(arguments["labels"])
    halves = np.array_split(np.arange(len(y_true)), 2)
    for half in halves:
        accumulator.update(y_true[half], y_score[half])
    second = accumulator.second_pass()
    for half in halves:
        second.update(y_true[half], y_score[half])
    counted = second.compute()
    for name in ("auc", "hand_till", "mean_auc", "accuracy", "standard_error"):
        note(f"counted {name}", partial(getattr, counted, name))
    for statistic in ("auc", "hand_till"):
        note(f"interval of counted {statistic}", partial(counted.confidence_interval, statistic=statistic))


def plain_value(value):
    """As it stands in JSON: numbers with 13 digits."""
    if value is None or isinstance(value, str):
        return value
    flat = np.asarray(value, dtype=float)
    return [float(f"{number:.13g}") for number in flat.ravel()] if flat.ndim else float(f"{float(flat):.13g}")


def all_numbers(name):
    kind, problem = problems()[name]
    return {key: plain_value(value) for key, value in numbers_of(kind, problem).items()}


def main():
    """Store the numbers of today."""
    stored = {name: all_numbers(name) for name in problems()}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(numbers)}" for name, numbers in stored.items())
    PATH.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
