"""The results whose pages are opened by tests: each is computed and rendered once, when it is first asked for."""

import numpy as np
import pytest
from report_pages import HOSTILE, comparison_of, evaluation_of, problem

import polyroc
from polyroc.report import render_html, summarize
from polyroc.report._page import _tipping

LONG_CLASSES = [f"a class with a rather long description, number {c:02d} of twelve" for c in range(12)]
LONG_MODELS = [f"gradient boosting, depth {depth}, trained for a very long time" for depth in (4, 6)]
MANY_MODELS = [f"gradient boosting, depth {depth:02d}, trained for a very long time" for depth in range(12)]
GIVEN_COSTS = np.where(np.eye(6, dtype=bool), 0.0, 2.0)
GIVEN_COSTS[1, 2] = 30.0
# Names that a file of costs must give back letter by letter: marks, quotes, a formula, blanks, the heading itself.
AWKWARD = ["a;b;c;d;e", 'say "hi", twice', "=1+1", "true class", " padded ", "two\nlines"]


class Lazily(dict):
    """A dict whose values are made when they are first asked for."""

    def __init__(self, make):
        super().__init__()
        self._make = make

    def __missing__(self, name):
        self[name] = self._make(name)
        return self[name]


class Shelf:
    """By name: results, their summaries, their pages as text, and as files in a folder."""

    def __init__(self, folder):
        self._folder = folder
        self.results = Lazily(lambda name: RESULTS[name]())
        self.summaries = Lazily(self._summary)
        self.pages = Lazily(self._page)
        self.files = Lazily(self._file)

    def _summary(self, name):
        """With all that `write_html` would add."""
        if name == "known":
            return known_areas()
        result = self.results[name]
        further = {"include_rates": True, "tipping": _tipping(result)}
        if isinstance(result, polyroc.Evaluation):
            further["include_intervals"] = name in RESAMPLES
        if name in RESAMPLES:
            further["bootstrap"] = result.bootstrap(RESAMPLES[name], rng=0)
        if name == "k3":
            further["measures"] = result.measures()
        if name == "hostile":
            further |= {"source": {"files": HOSTILE}, "warnings": HOSTILE[:2], "tipping": result.tipping_costs()}
        return summarize(result, **further)

    def _page(self, name):
        return render_html(self.summaries[name], title=HOSTILE[0] if name == "hostile" else None)

    def _file(self, name):
        path = self._folder / f"{name}.html"
        path.write_text(self.pages[name], encoding="utf-8")
        return path


def two_models(k=6, **arguments):
    return comparison_of(k=k, names=("first", "second"), n_resamples=3, **arguments)


def two_classes():
    y_true, labels, scores = problem(2)
    models = {"first": scores[:, 1], "second": scores[:, 1] + np.sin(np.arange(len(y_true)))}
    return polyroc.compare(y_true, models, labels=labels, method="bootstrap", n_resamples=29, rng=0)


def missing_class():
    """Seven labels of which one has no samples."""
    y_true, labels, scores = problem(7)
    kept = y_true != "class 03"
    with pytest.warns(UserWarning, match="No samples"):
        return polyroc.evaluate(y_true[kept], scores[kept], labels=labels)


def near_models(n=900):
    """Three models of which every D is above 0.99, so that a linear axis would show one blob."""
    rng = np.random.default_rng(0)
    y_true = np.arange(n) % 3
    scores = 4.2 * np.eye(3)[y_true] + rng.normal(size=(n, 3))
    noise = rng.normal(size=(2, n, 3))
    models = {"near": scores, "nearer": scores + 0.3 * noise[0], "nearest": scores + 0.6 * noise[1]}
    return polyroc.compare(y_true, models, method="bootstrap", n_resamples=49, rng=0)


def crossing_models(n=1200, k=4):
    """Four models whose D lies between 0.99 and 1, of which one is sharp but for a few gross errors."""
    rng = np.random.default_rng(3)
    y_true = np.arange(n) % k
    models = {}
    for name, strength, gross in (("steady", 5.0, 0), ("outliers", 6.6, 0.012), ("plain", 4.6, 0), ("wide", 4.2, 0)):
        scores = strength * np.eye(k)[y_true] + rng.normal(size=(n, k))
        wrong = rng.random(n) < gross
        scores[wrong] = rng.normal(size=(wrong.sum(), k))
        models[name] = scores
    return polyroc.compare(y_true, models, method="bootstrap", n_resamples=29, rng=0)


def known_areas():
    """A summary whose areas are those, in the order of the pairs of four classes."""
    summary = summarize(evaluation_of(4), include_intervals=False)
    summary["pairs"]["auc"][:] = [0.3, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99996, 0.9995, 1.0, 0.0, 1 - 1e-9, 0.934]
    summary["heatmap_classes"], summary["heatmap_tree"] = [0, 1, 2, 3], None
    return summary


def costs_but_one(k, *cells):
    """Ones, but for those cells: row, column, cost."""
    costs = np.ones((k, k))
    for row, column, cost in cells:
        costs[row, column] = cost
    return costs


def long_names():
    options = {"costs": costs_but_one(12, (1, 2, 17), (10, 11, 19))}
    return comparison_of(k=12, classes=LONG_CLASSES, names=LONG_MODELS, n_resamples=3, options=options)


def hostile_names():
    return comparison_of(k=len(HOSTILE), classes=HOSTILE, names=HOSTILE[:3], n_resamples=9)


# How many resamples an evaluation's page has.
RESAMPLES = {"k3": 49, "k10": 29, "k100": 3}
RESULTS = {
    "k3": lambda: evaluation_of(3),
    "k10": lambda: evaluation_of(10),
    "k40": lambda: evaluation_of(40),
    "k50": lambda: evaluation_of(50),
    "k100": lambda: evaluation_of(100),
    "comparison": lambda: comparison_of(n_resamples=29),
    "two": two_models,
    "binary": two_classes,
    "near": near_models,
    "crossing": crossing_models,
    # Areas that two decimals would call perfect, and scores that are.
    "sharp": lambda: evaluation_of(3, n=3000, strength=6),
    "sampled": lambda: evaluation_of(20, options={"max_pairs": 200}),
    "missing": missing_class,
    "costs": lambda: comparison_of(options={"costs": costs_but_one(6, (1, 2, 17))}),
    "given": lambda: two_models(options={"costs": GIVEN_COSTS}),
    "many": lambda: comparison_of(k=4, names=MANY_MODELS, n_resamples=9, n=160),
    "long": long_names,
    "long classes": lambda: evaluation_of(12, names=LONG_CLASSES),
    "awkward": lambda: two_models(classes=AWKWARD),
    "hostile": hostile_names,
}
