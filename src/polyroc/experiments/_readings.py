"""What each open point of the paper becomes when it is read one way or another: one row per number."""

import warnings
from typing import Any

import numpy as np
from scipy.special import expit, logit, softmax

from polyroc._engines import Resources, get_engine
from polyroc._estimator._curve import shared_curve
from polyroc._estimator._factorization import fit_of
from polyroc._estimator._pairs import all_pairs
from polyroc._evaluate import ConvergenceWarning, evaluate
from polyroc._evaluation import Evaluation
from polyroc._inputs._options import as_options
from polyroc._inputs._predictions import as_predictions
from polyroc._lib._grid import grid
from polyroc._lib._typing import FloatArray, IntArray
from polyroc._records import PairwiseRates
from polyroc.experiments._classifiers import split_and_score
from polyroc.experiments._costs import cost_matrix, majority_scores
from polyroc.experiments._data_sets import find_data_sets
from polyroc.experiments._outcome import Request
from polyroc.experiments._simulation import draw_labels, gaussian_scores, multinomial, simulate

# The paper begins at "a perturbed version" of the rates; by how much it does not say.
_PERTURBATION = 1e-3


def printed_update(rates: PairwiseRates, n_iter: int) -> list[float]:
    """Area after each iteration, all pairs counting the same; NaN where it is no number any more.

    Nothing damps the steps, and nothing keeps the area in [0, 1].
    """
    cells, on_row = np.concatenate([rates.tpr, rates.fpr]), np.tile(rates.row_weights, 2)[:, None]
    return _areas(cells, on_row, n_iter)


def _areas(rates: FloatArray, on_row: FloatArray, n_iter: int) -> list[float]:
    start = logit(np.clip(rates, _PERTURBATION, 1 - _PERTURBATION))
    areas = []
    with np.errstate(all="ignore"):
        row = start[:, 0]
        pair = _least_squares(row[:, None], start, rates, on_row, axis=0)
        for _ in range(n_iter):
            row = _least_squares(pair[None, :], row[:, None] * pair, rates, on_row, axis=1)
            pair = _least_squares(row[:, None], row[:, None] * pair, rates, on_row, axis=0)
            # The projection on the vector of ones.
            areas.append(_area(row * pair.mean()))
    return areas


def _least_squares(fixed: FloatArray, eta: FloatArray, rates: FloatArray, on_row: FloatArray, axis: int) -> FloatArray:
    """One side of the paper's equation of updates, given the other side and the fit so far."""
    fitted = expit(eta)
    weight = on_row * fitted * (1 - fitted)
    response = weight * eta + on_row * (rates - fitted)
    effects: FloatArray = (fixed * response).sum(axis=axis) / (fixed**2 * weight).sum(axis=axis)
    return effects


def _area(effects: FloatArray) -> float:
    """By trapezoids, whether the curve rises or not."""
    if not np.all(np.isfinite(effects)):
        return float("nan")
    tpr, fpr = np.split(expit(effects), 2)
    return float(np.trapezoid(np.r_[0, tpr, 1], np.r_[0, fpr, 1]))


Row = dict[str, Any]

MODELS = ("rank-one", "centered", "saturated")
# Uniform points; 1/2 and twelve points around it come to each.
GRIDS = (10, 25, 50, 99, 199, 999)
GOOD = "Gaussian classes, 4 apart"
SAMPLES_PER_CLASS = (1, 3, 10, 30, 100)
N_UPDATES = 50
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
    for model in MODELS:
        area = _judge(*paper_problem(request), request, model=model).auc
        rows.append(row("intercept", "paper's simulation, d = 5", model, "D", area, decided=model == MODELS[0]))
        rows += _swept(request, "intercept", model, model == MODELS[0], model=model, thresholds="shared")
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
    """The curve with its corners, and without."""
    problems = {"paper's simulation, d = 5": paper_problem(request)}
    for data_set in find_data_sets(["iris"], request.data).data_sets:
        labels, scores = split_and_score(data_set, request.integer(56))
        problems["iris, tree"] = (labels, scores["tree"])
    rows = []
    for problem, given in problems.items():
        curve = _judge(*given, request).curve
        # Between the first and the last point of the grid only.
        inner = float(np.trapezoid(curve.tpr[1:-1], curve.fpr[1:-1]))
        rows.append(row("end points", problem, "with", "D", curve.auc, decided=True))
        rows.append(row("end points", problem, "without", "D", inner, decided=False))
    return rows


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
            "strictly greater": (_strict_area(labels, tied), _strict_area(labels, -tied)),
        }
        for reading, (area, negated) in readings.items():
            rows.append(row("ties", problem, reading, "D", area, decided=reading == "linear"))
            moved = area + negated - 1
            rows.append(row("ties", problem, reading, "D + D(negated) - 1", moved, decided=reading == "linear"))
        rows.append(row("ties", problem, "", "M", linear.hand_till, decided=False))
    return rows


def _strict_area(labels: IntArray, scores: FloatArray) -> float:
    """D of rates as printed: shares strictly above the quantiles of the pair's own scores."""
    predictions = as_predictions(labels, scores, labels=range(scores.shape[1]))
    options = as_options(predictions.labels, engine="numpy")
    pairs = all_pairs(predictions)
    call_rates = grid(options.n_thresholds)
    tpr, fpr = (np.empty((len(call_rates), len(pairs))) for _ in range(2))
    for p, (i, j) in enumerate(zip(pairs.positive, pairs.negative, strict=True)):
        own, other = (scores[labels == c, i] for c in (i, j))
        cut = np.quantile(np.concatenate([own, other]), 1 - call_rates)
        tpr[:, p], fpr[:, p] = (np.mean(part[:, None] > cut, axis=0) for part in (own, other))
    rates = PairwiseRates(tpr, fpr, call_rates)
    prepared = get_engine("numpy", predictions).prepare(predictions, Resources())
    return shared_curve(fit_of(prepared, pairs, rates, options)).auc


def update_rows(request: Request) -> list[Row]:
    """The printed update against the damped one, on ordinary problems, for the plain likelihood."""
    rows = []
    for number in range(request.size(200, 30)):
        rng = request.rng(55, number)
        k = int(rng.integers(3, 9))
        labels = np.repeat(np.arange(k), int(rng.integers(20, 300)))
        scores = gaussian_scores(labels, rng.uniform(0, 4, size=k), rng)
        judged = _judge(labels, scores, request, shrinkage=0.0)
        problem = f"random problem {number}"
        printed = printed_update(judged.rates, N_UPDATES)[-1]
        rows.append(row("update", problem, "as printed", "D", printed, decided=False))
        rows.append(row("update", problem, "damped", "D", judged.auc, decided=True))
        rows.append(row("update", problem, "damped", "iterations", judged.factorization.n_iter, decided=True))
        rows.append(row("update", problem, "damped", "converged", judged.factorization.converged, decided=True))
        separated = np.max(judged.pairs.auc) == 1
        rows.append(row("update", problem, "", "a pair is separated", separated, decided=False))
    return rows


def _judge(labels: Any, scores: FloatArray, request: Request, **options: Any) -> Evaluation:
    with warnings.catch_warnings():
        # Without shrinkage an optimum may lie at infinity, which is one of the things to be shown.
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Negated scores do so on purpose.
        warnings.filterwarnings("ignore", "The scores rank samples backwards")
        return evaluate(labels, scores, n_jobs=request.n_jobs, **options)
