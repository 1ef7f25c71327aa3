"""What each open point of the paper becomes when it is read one way or another: one row per number."""

import warnings
from itertools import product
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri, softmax

from experiments._classifiers import split_and_score
from experiments._costs import cost_matrix, majority_scores
from experiments._data_sets import find_data_sets
from experiments._outcome import Request
from experiments._simulation import draw_labels, gaussian_scores, multinomial, simulate
from polyroc._core import Resources
from polyroc._core.curve import shared_curve
from polyroc._core.engines import engine_named
from polyroc._core.rates import all_pairs
from polyroc._core.weights import pair_weights, shrunk_cells
from polyroc._inputs.options import as_options
from polyroc._inputs.predictions import as_predictions
from polyroc._lib.grid import grid
from polyroc._lib.typing import FloatArray, IntArray, Structure
from polyroc._records import PairWeights, PairwiseRates
from polyroc.baselines._wang_carvalho import PrintedStatus, WangCarvalho, fit_as_printed, wang_carvalho
from polyroc.evaluation._evaluate import ConvergenceWarning, evaluate
from polyroc.evaluation._evaluation import Evaluation
from polyroc.evaluation._example import load_example

Row = dict[str, Any]

STRUCTURES: tuple[Structure, ...] = ("rank-one", "centered", "saturated")
# Uniform points; 1/2 and twelve points around it come to each.
GRIDS = (10, 25, 50, 99, 199, 999)
GOOD = "Gaussian classes, 4 apart"
SAMPLES_PER_CLASS = (1, 3, 10, 30, 100)
N_SPLITS = 20
# The area of the one pair that improves, step by step.
ODD_AREAS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.995, 0.999)
# Those of all other pairs.
OTHER_AREAS = {
    "the others at 0.6 to 0.999": (0.6, 0.7, 0.8, 0.9, 0.99, 0.999),
    "the others at 0.9 to 0.9999": (0.9, 0.95, 0.99, 0.995, 0.999, 0.9999),
}
# A smaller fall of D may be that of reading rates off a fine grid.
_NO_FALL = 1e-7
SWEPT_COSTS = (0.1, 0.5, 2, 10)


def row(choice: str, problem: str, reading: str, quantity: str, value: float, *, decided: bool) -> Row:
    """One number; `decided` says whether this reading is what the library does unless told otherwise."""
    return {
        "choice": choice,
        "problem": problem,
        "reading": reading,
        "decided": decided,
        "quantity": quantity,
        "value": float(value),
    }


def paper_problem(request: Request) -> tuple[IntArray, FloatArray]:
    """Labels and scores of the paper's simulation, by a regression on five of its ten covariates."""
    data = simulate(request.size(20_000, 2_000), request.rng(5))
    covariates = data.covariates[:, :5]
    return data.random, multinomial(covariates, data.random).predict_proba(covariates)


def posterior_problem(n_samples: int, prior: FloatArray, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Gaussian classes and their exact posterior probabilities."""
    labels = draw_labels(np.tile(prior, (n_samples, 1)), rng)
    place = rng.normal(size=(n_samples, len(prior))) + 1.2 * np.eye(len(prior))[labels]
    return labels, softmax(np.log(prior) + 1.2 * place, axis=1)


def majority_problem(n_samples: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Five classes of which one is called for every sample."""
    labels = rng.choice(5, size=n_samples, p=[0.4, 0.15, 0.15, 0.15, 0.15])
    return labels, majority_scores(n_samples, 5, 0, rng)


def thresholds_rows(request: Request) -> list[Row]:
    """Own thresholds against shared ones."""
    labels, scores = paper_problem(request)
    shrunk = scores * np.r_[0.1, np.ones(scores.shape[1] - 1)]
    n, rng = request.size(50_000, 5_000), request.rng(51)
    problems = {
        "paper's simulation, d = 5": (labels, scores),
        "the same, one column divided by ten": (labels, shrunk),
        "exact posteriors, equal priors": posterior_problem(n, np.full(4, 0.25), rng),
        "exact posteriors, priors 0.60, 0.25, 0.10, 0.05": posterior_problem(n, np.array([0.6, 0.25, 0.1, 0.05]), rng),
    }
    rows = []
    for problem, given in problems.items():
        for reading in ("own", "shared"):
            judged = _judge(*given, request, thresholds=reading)
            rows.append(row("thresholds", problem, reading, "D", judged.auc, decided=reading == "own"))
            error = judged.bootstrap(49, rng=request.seed, n_jobs=request.n_jobs).standard_error()
            rows.append(row("thresholds", problem, reading, "error of D", error, decided=reading == "own"))
        rows.append(row("thresholds", problem, "", "M", judged.hand_till, decided=False))
    return rows + [
        entry
        for reading in ("own", "shared")
        for entry in _swept(request, "thresholds", reading, reading == "own", thresholds=reading)
    ]


def intercept_rows(request: Request) -> list[Row]:
    """The three models, on the simulation and under costs."""
    rows = []
    for structure in STRUCTURES:
        area = _judge(*paper_problem(request), request, structure=structure).auc
        rows.append(
            row("intercept", "paper's simulation, d = 5", structure, "D", area, decided=structure == STRUCTURES[0])
        )
        rows += _swept(
            request, "intercept", structure, structure == STRUCTURES[0], structure=structure, thresholds="shared"
        )
    return rows


def _swept(request: Request, choice: str, reading: str, decided: bool, **options: Any) -> list[Row]:
    """How far costs move a classifier that always says the majority class."""
    labels, scores = majority_problem(request.size(10_000, 2_000), request.rng(52))
    return [
        row(
            choice,
            f"majority classifier, c = {cost:g}",
            reading,
            "D",
            _judge(labels, scores, request, costs=cost_matrix(5, 0, cost), **options).auc,
            decided=decided,
        )
        for cost in SWEPT_COSTS
    ]


def shrinkage_rows(request: Request) -> list[Row]:
    """The plain likelihood against rates that are shrunk, where samples are few."""
    rows = []
    for data_set in find_data_sets(["iris"], request.data).data_sets:
        labels, scores = split_and_score(data_set, request.integer(56))
        for a in (0.0, 1.0):
            judged = _judge(labels, scores["tree"], request, shrinkage=a)
            rows.append(row("shrinkage", "iris, tree", f"a = {a:g}", "D", judged.auc, decided=a == 1))
        rows.append(row("shrinkage", "iris, tree", "", "M", judged.hand_till, decided=False))
    strengths = np.linspace(0.6, 1.4, 4)
    many = np.repeat(np.arange(4), request.size(100_000, 10_000))
    truth = _judge(many, gaussian_scores(many, strengths, request.rng(53)), request).auc
    rows.append(row("shrinkage", "four classes, very many samples", "", "D", truth, decided=False))
    for size in SAMPLES_PER_CLASS:
        labels = np.repeat(np.arange(4), size)
        drawn = [gaussian_scores(labels, strengths, request.rng(54, size, r)) for r in range(request.size(400, 60))]
        problem = f"four classes, {size} of each"
        areas = {a: np.array([_judge(labels, one, request, shrinkage=a).auc for one in drawn]) for a in (0.0, 1.0)}
        error = areas[1.0].std(ddof=1) / np.sqrt(len(drawn))
        rows.append(row("shrinkage", problem, "", "error of the mean", error, decided=False))
        for a in (0.0, 1.0):
            rows.append(row("shrinkage", problem, f"a = {a:g}", "mean D", np.mean(areas[a]), decided=a == 1))
    return rows


def end_point_rows(request: Request) -> list[Row]:
    """The curve with its corners, and without; for a tree on iris over many splits."""
    judged = _judge(*paper_problem(request), request)
    problem = "paper's simulation, d = 5"
    rows = [
        row("end points", problem, "with", "D", judged.auc, decided=True),
        row("end points", problem, "without", "D", _without_corners(judged), decided=False),
    ]
    for data_set in find_data_sets(["iris"], request.data).data_sets:
        for split in range(N_SPLITS):
            labels, scores = split_and_score(data_set, request.integer(58, split), models=("tree",))
            judged = _judge(labels, scores["tree"], request)
            lost = judged.auc - _without_corners(judged)
            rows.append(row("end points", f"iris, tree, split {split}", "without", "fall of D", lost, decided=False))
    return rows


def _without_corners(judged: Evaluation) -> float:
    """Area between the first and the last point of the grid."""
    return float(np.trapezoid(judged.curve.tpr[1:-1], judged.curve.fpr[1:-1]))


def grid_rows(request: Request) -> list[Row]:
    """The number of uniform points of the grid, for a middling model and for one whose curve is nearly all corner."""
    # As many in the quick version: of fewer samples so few would be wrong that 1 - D says nothing.
    labels = np.arange(20_000) % 4
    problems = {
        "paper's simulation, d = 5": paper_problem(request),
        GOOD: (labels, gaussian_scores(labels, np.full(4, 4.0), request.rng(57))),
    }
    return [
        row(
            "number of thresholds",
            problem,
            f"N = {n}",
            "D",
            _judge(*given, request, n_thresholds=n).auc,
            decided=n == 99,
        )
        for problem, given in problems.items()
        for n in GRIDS
    ]


def tie_rows(request: Request) -> list[Row]:
    """Straight lines through ties, against samples that are strictly above a threshold."""
    labels, scores = paper_problem(request)
    constant = scores.copy()
    constant[:, :3] = 0.2
    rows = []
    for problem, tied in {"scores of one decimal": np.round(scores, 1), "three columns constant": constant}.items():
        linear = _judge(labels, tied, request)
        readings = {
            "linear": (linear.auc, _judge(labels, -tied, request).auc),
            "strictly greater": (strict(labels, tied).auc, strict(labels, -tied).auc),
        }
        for reading, (area, negated) in readings.items():
            rows.append(row("ties", problem, reading, "D", area, decided=reading == "linear"))
            moved = area + negated - 1
            rows.append(row("ties", problem, reading, "D + D(negated) - 1", moved, decided=reading == "linear"))
        rows.append(row("ties", problem, "", "M", linear.hand_till, decided=False))
    return rows


def printed_rows(request: Request) -> list[Row]:
    """The paper's algorithm to the letter, with one step after the other taken as the library takes it."""
    rows = []
    for problem, (labels, scores) in _compared_problems(request).items():
        readings = {
            "as printed, prevalence weights": wang_carvalho(labels, scores),
            "as printed, equal weights": wang_carvalho(labels, scores, weighting="equal"),
            "the same, with end points": wang_carvalho(labels, scores, weighting="equal", end_points=True),
            "the same, quantiles of the pair's samples": strict(labels, scores),
        }
        for reading, printed in readings.items():
            rows.append(row("printed", problem, reading, "D", printed.auc, decided=False))
        for reading, a in (("ours without shrinkage", 0.0), ("ours", 1.0)):
            judged = _judge(labels, scores, request, shrinkage=a)
            rows.append(row("printed", problem, reading, "D", judged.auc, decided=a == 1))
        rows.append(row("printed", problem, "", "M", judged.hand_till, decided=False))
    return rows


def strict(labels: Any, scores: FloatArray) -> WangCarvalho:
    """The paper's strict thresholds at the quantiles of a pair's own scores; all else as in the library."""
    return wang_carvalho(labels, scores, quantiles="pair", weighting="equal", end_points=True)


def _compared_problems(request: Request) -> dict[str, tuple[Any, FloatArray]]:
    """Problems for which others have the printed numbers as well."""
    from sklearn.datasets import load_iris
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split

    example = load_example()
    data = simulate(3_000, np.random.default_rng(5))
    covariates = data.covariates[:, :5]
    features, kinds = load_iris(return_X_y=True)
    fitted, judged, labels, held_out = train_test_split(
        features, kinds, test_size=0.5, stratify=kinds, random_state=request.seed
    )
    # To its optimum: at the default tolerance the fourth digit of the printed D depends on where the fit stops.
    iris = LogisticRegression(max_iter=5000, tol=1e-10).fit(fitted, labels).predict_proba(judged)
    return {
        "iris, regression": (held_out, iris),
        "digits, tree": (example.y_true, example.scores["tree"]),
        "paper's simulation, 3,000 samples, d = 5": (
            data.random,
            multinomial(covariates, data.random).predict_proba(covariates),
        ),
    }


def separated_rows(request: Request) -> list[Row]:
    """A tree on iris, which separates a pair: as printed and ours, over many splits."""
    rows = []
    for data_set in find_data_sets(["iris"], request.data).data_sets:
        for split in range(N_SPLITS):
            labels, scores = split_and_score(data_set, request.integer(58, split), models=("tree",))
            judged = _judge(labels, scores["tree"], request)
            problem = f"iris, tree, split {split}"
            rows.append(
                row(
                    "separated pair",
                    problem,
                    "strictly greater",
                    "D",
                    strict(labels, scores["tree"]).auc,
                    decided=False,
                )
            )
            unshrunk = _judge(labels, scores["tree"], request, shrinkage=0.0)
            rows.append(row("separated pair", problem, "linear, a = 0", "D", unshrunk.auc, decided=False))
            rows.append(row("separated pair", problem, "linear, a = 1", "D", judged.auc, decided=True))
            rows.append(row("separated pair", problem, "", "M", judged.hand_till, decided=False))
    return rows


def update_rows(request: Request) -> list[Row]:
    """The printed update against the damped one, on ordinary and on hard problems, for the plain likelihood."""
    rows = []
    for number in range(request.size(200, 30)):
        rng = request.rng(55, number)
        labels, scores = _random_problem(rng)
        rows += _updates(f"random problem {number}", "ordinary", labels, scores, request, {})
    for number in range(request.size(100, 20)):
        rng = request.rng(59, number)
        labels, scores = _random_problem(rng)
        k = scores.shape[1]
        hard = scores * 10.0 ** rng.uniform(-1, 1, size=k)
        # With a constant column in a third of them.
        if number % 3 == 0:
            hard[:, 0] = hard[:, 0].mean()
        options = {"thresholds": "shared", "costs": 10.0 ** rng.uniform(-2, 2, size=(k, k))}
        rows += _updates(f"hard problem {number}", "hard", labels, hard, request, options)
    return rows


def _random_problem(rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    k = int(rng.integers(3, 9))
    labels = np.repeat(np.arange(k), int(rng.integers(20, 300)))
    return labels, gaussian_scores(labels, rng.uniform(0, 4, size=k), rng)


def _updates(
    problem: str, kind: str, labels: IntArray, scores: FloatArray, request: Request, options: dict[str, Any]
) -> list[Row]:
    judged = _judge(labels, scores, request, shrinkage=0.0, **options)
    predictions = as_predictions(labels, scores)
    weights = pair_weights(predictions, all_pairs(predictions), as_options(predictions.labels, **options))
    cells = shrunk_cells(judged.rates, weights, 0.0)
    printed = fit_as_printed(cells.rate, cells.weight)
    fit, separated = judged.factorization, np.max(judged.pairs.auc) == 1
    choice = f"update, {kind} problems"
    return [
        row(choice, problem, "as printed", "D", printed.area(end_points=True), decided=False),
        row(choice, problem, "as printed", "iterations", printed.n_iter, decided=False),
        row(choice, problem, "as printed", "converged", printed.status is PrintedStatus.CONVERGED, decided=False),
        row(choice, problem, "damped", "D", judged.auc, decided=True),
        row(choice, problem, "damped", "iterations", fit.n_iter, decided=True),
        row(choice, problem, "damped", "converged", fit.converged, decided=True),
        row(choice, problem, "", "a pair is separated", separated, decided=False),
    ]


def monotone_rows(request: Request) -> list[Row]:
    """How often D falls as one pair improves and no other changes, by structure; binormal curves without noise."""
    del request
    call_rates = grid(99)
    fitter = engine_named("numpy").fitter(Resources())
    rows = []
    for structure, (others, rests) in product(STRUCTURES, OTHER_AREAS.items()):
        falls = []
        for n_pairs in (6, 12, 20):
            for rest in rests:
                areas = []
                for odd in ODD_AREAS:
                    tpr = _binormal(np.r_[odd, np.full(n_pairs - 1, rest)], call_rates)
                    ones = np.ones(n_pairs)
                    rates = PairwiseRates(tpr, 2 * call_rates[:, None] - tpr, call_rates)
                    fit = fitter.fit(rates, PairWeights(ones, ones, ones), shrinkage=0.0, structure=structure)
                    areas.append(shared_curve(fit).auc)
                falls += (np.diff(areas) < -_NO_FALL).tolist()
        rows.append(
            row(
                "one pair improves",
                f"{len(falls)} steps with {others}",
                structure,
                "steps in which D falls",
                sum(falls),
                decided=structure == STRUCTURES[0],
            )
        )
    return rows


def _binormal(areas: FloatArray, call_rates: FloatArray) -> FloatArray:
    """True positive rates of pairs with normal scores of equal variance, shape (T, K)."""
    thresholds = np.linspace(9, -9, 20_001)
    half = ndtri(areas) / np.sqrt(2)
    return np.column_stack(
        [np.interp(call_rates, (ndtr(h - thresholds) + ndtr(-h - thresholds)) / 2, ndtr(h - thresholds)) for h in half]
    )


def _judge(labels: Any, scores: FloatArray, request: Request, **options: Any) -> Evaluation:
    with warnings.catch_warnings():
        # Without shrinkage an optimum may lie at infinity, which is one of the things to be shown.
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Negated scores do so on purpose.
        warnings.filterwarnings("ignore", "The scores rank samples backwards")
        return evaluate(labels, scores, n_jobs=request.n_jobs, **options)
