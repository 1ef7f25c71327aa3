"""The paper's algorithm as printed, against loops written from its text, optima found by SciPy, and known values."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit

import polyroc
from experiments._simulation import multinomial, simulate
from polyroc.baselines import PrintedStatus, wang_carvalho

QUANTILES, WEIGHTINGS = ("column", "pair", "pooled"), ("prevalence", "equal")
TAU = [0.2, 0.35, 0.5, 0.6, 0.8]


def problem(tied, k=3, n=240):
    rng = np.random.default_rng(12)
    y = rng.choice(k, size=n, p=np.arange(1, k + 1) / (k * (k + 1) / 2))
    s = rng.normal(size=(n, k)) + 0.8 * np.eye(k)[y]
    return y, np.round(s, 1) if tied else s


# --- loops ---


def quantile_by_loops(values, level):
    """R's default, type 7."""
    ordered = sorted(values)
    place = level * (len(ordered) - 1)
    below = int(place)
    if below + 1 == len(ordered):
        return ordered[below]
    return ordered[below] + (place - below) * (ordered[below + 1] - ordered[below])


def rates_by_loops(y, s, tau, quantiles):
    k, columns, sizes = s.shape[1], [], []
    for i in range(k):
        for j in range(k):
            if i == j:
                continue
            pool = []
            for row, label in zip(s.tolist(), y.tolist(), strict=True):
                if quantiles == "column":
                    pool.append(row[i])
                elif label in (i, j):
                    pool += [row[i]] if quantiles == "pair" else [row[i], row[j]]
            column = []
            for c in (i, j):
                own = [row[i] for row, label in zip(s.tolist(), y.tolist(), strict=True) if label == c]
                for level in sorted(tau, reverse=True):
                    cut = quantile_by_loops(pool, level)
                    column.append(sum(value > cut for value in own) / len(own))
            columns.append(column)
            sizes.append(sum(y == i) * sum(y == j))
    return np.array(columns).T, np.array(sizes, dtype=float)


def algorithm_by_loops(rates, weight, rank, n_iter):
    """Algorithm 1, one regression after the other; eta of the last iteration."""
    n_rows, n_pairs = rates.shape
    start = (weight * rates + 0.5) / (weight + 1)
    eta = np.log(start / (1 - start))
    row, pair = eta[:, :rank].copy(), np.zeros((n_pairs, rank))
    for _ in range(n_iter):
        mu = 1 / (1 + np.exp(-eta))
        s = weight * mu * (1 - mu)
        z = eta + (rates - mu) / (mu * (1 - mu))
        for j in range(n_pairs):
            d = np.diag(s[:, j])
            pair[j] = np.linalg.solve(row.T @ d @ row, row.T @ d @ z[:, j])
        for i in range(n_rows):
            d = np.diag(s[i])
            row[i] = np.linalg.solve(pair.T @ d @ pair, pair.T @ d @ z[i])
        eta = row @ pair.T
    return eta


def area_of(eta, end_points):
    tpr, fpr = np.split(1 / (1 + np.exp(-eta.mean(axis=1))), 2)
    if end_points:
        tpr, fpr = [0, *tpr, 1], [0, *fpr, 1]
    return sum((tpr[t] + tpr[t - 1]) / 2 * (fpr[t] - fpr[t - 1]) for t in range(1, len(tpr)))


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("quantiles", QUANTILES)
@pytest.mark.parametrize("rank", [1, 2])
def test_rates_and_d_agree_with_loops(tied, weighting, quantiles, rank):
    y, s = problem(tied, k=4)
    rates, sizes = rates_by_loops(y, s, TAU, quantiles)
    weight = np.tile(sizes if weighting == "prevalence" else np.ones_like(sizes), (len(rates), 1))
    eta = algorithm_by_loops(rates, weight, rank, 400)
    for end_points in (False, True):
        found = wang_carvalho(y, s, tau=TAU, quantiles=quantiles, weighting=weighting, rank=rank, end_points=end_points)
        assert found.status is PrintedStatus.CONVERGED
        assert_allclose(found.rates, rates, atol=1e-9)
        assert found.auc == pytest.approx(area_of(eta, end_points), abs=1e-6)
    assert_allclose(found.shared_effects, eta.mean(axis=1), atol=1e-6)
    assert_allclose(found.row_effects @ found.pair_effects.T, eta, atol=1e-6)
    assert_allclose(found.pair_effects.T @ found.pair_effects, np.eye(rank), atol=1e-9)


def test_the_first_iteration_is_the_printed_one(monkeypatch):
    """Where all starts lead to one optimum, only single iterations show the start and the order of updates."""
    y, s = problem(tied=False)
    rates, sizes = rates_by_loops(y, s, TAU, "column")
    for n_iter in (1, 2, 3):
        monkeypatch.setattr("polyroc.baselines._wang_carvalho._MAX_ITER", n_iter)
        eta = algorithm_by_loops(rates, np.tile(sizes, (len(rates), 1)), 1, n_iter)
        found = wang_carvalho(y, s, tau=TAU)
        assert (found.n_iter, found.status) == (n_iter, PrintedStatus.MAX_ITER)
        assert_allclose(found.shared_effects, eta.mean(axis=1), rtol=1e-9)


# --- optima ---


def deviance_of(rates, weight, eta):
    mu = expit(eta)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = rates * np.log(rates / mu), (1 - rates) * np.log((1 - rates) / (1 - mu))
    return 2 * np.sum(weight * sum(np.nan_to_num(term) for term in terms))


def optimum_by_scipy(rates, weight, rank, centered, start):
    """BFGS on the deviance, V made orthogonal to ones where it must be."""
    n_rows, n_pairs = rates.shape
    n_base = n_rows if centered else 0

    def eta_of(x):
        row = x[n_base : n_base + n_rows * rank].reshape(n_rows, rank)
        pair = x[n_base + n_rows * rank :].reshape(n_pairs, rank)
        if centered:
            pair = pair - pair.mean(axis=0)
        return (x[:n_base, None] if centered else 0) + row @ pair.T

    def objective(x):
        row = x[n_base : n_base + n_rows * rank].reshape(n_rows, rank)
        pair = x[n_base + n_rows * rank :].reshape(n_pairs, rank)
        eta = eta_of(x)
        slope = 2 * weight * (expit(eta) - rates)
        centre = pair - pair.mean(axis=0) if centered else pair
        on_pair = slope.T @ row
        parts = [slope @ centre, on_pair - on_pair.mean(axis=0) if centered else on_pair]
        base = [slope.sum(axis=1)] if centered else []
        return deviance_of(rates, weight, eta), np.concatenate([part.ravel() for part in (*base, *parts)])

    found = minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 20_000})
    return eta_of(found.x), found.fun


@pytest.mark.parametrize("structure", ["rank-one", "centered"])
@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("tied", [False, True])
def test_a_converged_fit_is_an_optimum(structure, rank, tied):
    y, s = problem(tied, k=4)
    found = wang_carvalho(y, s, tau=TAU, structure=structure, rank=rank, weighting="equal", quantiles="pair")
    assert found.converged
    rng = np.random.default_rng(0)
    eta = found.shared_effects if structure == "centered" else []
    start = np.concatenate([eta, found.row_effects.ravel(), found.pair_effects.ravel()])
    optimum, deviance = optimum_by_scipy(
        found.rates,
        np.ones_like(found.rates),
        rank,
        structure == "centered",
        start + 0.05 * rng.normal(size=len(start)),
    )
    assert found.deviance == pytest.approx(deviance, abs=1e-9)
    assert found.auc == pytest.approx(area_of(optimum, end_points=False), abs=1e-6)


def test_full_is_the_mean_of_the_logits_and_no_weight_moves_it():
    y, s = problem(tied=False)
    rng = np.random.default_rng(3)
    found = wang_carvalho(y, s, tau=TAU, structure="full", end_points=True)
    expected = np.log(found.rates / (1 - found.rates)).mean(axis=1)
    assert_allclose(found.shared_effects, expected, atol=1e-12)
    other = wang_carvalho(
        y, s, tau=TAU, structure="full", end_points=True, weighting="equal", pair_weights=rng.uniform(0.1, 9, (10, 6))
    )
    assert found.auc == other.auc == pytest.approx(area_of(expected[:, None], end_points=True))
    assert found.deviance == pytest.approx(0, abs=1e-6)
    assert (found.alpha, found.n_iter) == (None, 0)


def test_equal_pairs_have_the_curve_that_all_share():
    """Scores that say the same of every class: one curve, which trapezoids give."""
    y = np.repeat([0, 1, 2], 4)
    s = np.tile([[1.0, 2.0, 3.0, 4.0]], (3, 3)).reshape(12, 3)[:, :1] * np.ones(3)
    found = wang_carvalho(y, s, tau=[0.25, 0.5, 0.75], end_points=True)
    assert found.auc == pytest.approx(0.5, abs=1e-9)


# --- weights ---


def test_weights_of_each_shape_are_the_same_weights():
    y, s = problem(tied=False)
    of_pairs, of_rates = np.linspace(0.5, 2, 6), np.linspace(0.3, 3, 12).reshape(2, 6)
    for few, many in ((of_pairs, np.tile(of_pairs, (10, 1))), (of_rates, np.repeat(of_rates, 5, axis=0))):
        first, second = (wang_carvalho(y, s, tau=TAU, pair_weights=q) for q in (few, many))
        assert first.auc == second.auc
        assert first.auc != wang_carvalho(y, s, tau=TAU).auc


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("shape", [(6,), (2, 6), (10, 6)])
def test_weights_agree_with_loops(shape, weighting):
    y, s = problem(tied=True)
    rates, sizes = rates_by_loops(y, s, TAU, "pair")
    costs = np.random.default_rng(8).uniform(0.2, 5, size=shape)
    weight = np.ones_like(rates)
    for r in range(10):
        for p in range(6):
            # Five rows of true positive rates above five of false positive rates.
            cell = {(6,): (p,), (2, 6): (r // 5, p), (10, 6): (r, p)}[shape]
            weight[r, p] = costs[cell] * (sizes[p] if weighting == "prevalence" else 1)
    eta = algorithm_by_loops(rates, weight, 1, 400)
    found = wang_carvalho(y, s, tau=TAU, quantiles="pair", weighting=weighting, pair_weights=costs)
    assert found.converged
    assert_allclose(found.shared_effects, eta.mean(axis=1), atol=1e-6)
    assert found.auc == pytest.approx(area_of(eta, end_points=False), abs=1e-6)


def test_prevalence_is_the_product_of_class_sizes():
    y, s = problem(tied=False)
    n = np.bincount(y)
    sizes = [n[i] * n[j] for i in range(3) for j in range(3) if i != j]
    by_name, by_hand = wang_carvalho(y, s), wang_carvalho(y, s, weighting="equal", pair_weights=sizes)
    assert by_name.auc == by_hand.auc
    assert by_name.pairs.tolist() == [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]


def test_weights_by_threshold_reach_their_rows():
    """A row that counts for nothing beside its neighbours leaves the fit to them; its place is by falling threshold."""
    y, s = problem(tied=False, k=4)
    weights = np.ones((10, 12))
    weights[[0, 5]] = 1e-9
    without_first = wang_carvalho(y, s, tau=TAU[:-1], weighting="equal")
    found = wang_carvalho(y, s, tau=TAU, weighting="equal", pair_weights=weights)
    kept = [1, 2, 3, 4, 6, 7, 8, 9]
    assert_allclose(found.shared_effects[kept], without_first.shared_effects, atol=1e-6)


@pytest.mark.parametrize("structure", ["rank-one", "centered"])
def test_vanishing_weights_have_no_number(structure):
    """Rates perturbed by them are all 1/2, and a fit that begins there stays: no D of 0 from a fit that converged."""
    y, s = problem(tied=False)
    for size in (1e-20, 1e-320):
        found = wang_carvalho(y, s, tau=TAU, weighting="equal", pair_weights=np.full(6, size), structure=structure)
        assert found.status is PrintedStatus.DIVERGED
        assert np.isnan(found.auc)
    # Small is not vanishing: one optimum, wherever the fit begins.
    ordinary = wang_carvalho(y, s, tau=TAU, weighting="equal", structure=structure)
    small = wang_carvalho(y, s, tau=TAU, weighting="equal", pair_weights=np.full(6, 1e-6), structure=structure)
    assert small.converged
    assert small.auc == pytest.approx(ordinary.auc, abs=1e-6)


@pytest.mark.parametrize("weight", [1e-6, 1.0, 1e5])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_centered_fit_of_rates_that_are_all_alike_is_one_of_these_rates(weight, sign):
    """Its pair effects are rounding errors, which must not keep the intercept from its optimum."""
    scores = sign * np.eye(3)[[0, 1, 2] * 3]
    found = wang_carvalho([0, 1, 2] * 3, scores, structure="centered", pair_weights=np.full(6, weight))
    assert found.converged
    assert_allclose(np.r_[found.curve.tpr, found.curve.fpr], found.rates.mean(axis=1), atol=1e-9)


# --- the line of each threshold ---


def test_alpha_and_beta_are_the_line_of_the_pairs():
    y, s = problem(tied=False, k=4)
    for structure in ("rank-one", "centered"):
        found = wang_carvalho(y, s, tau=TAU, structure=structure)
        eta = found.row_effects @ found.pair_effects.T
        if structure == "centered":
            eta = eta + found.shared_effects[:, None]
            assert_allclose(found.pair_effects.sum(axis=0), 0, atol=1e-9)
        tp, fp = np.split(eta, 2)
        assert_allclose(tp, found.alpha[:, None] + found.beta[:, None] * fp, atol=1e-8)
        for t in range(len(TAU)):
            slope, intercept = np.polyfit(fp[t], tp[t], 1)
            assert (found.alpha[t], found.beta[t]) == pytest.approx((intercept, slope), abs=1e-6)
    assert not wang_carvalho(y, s, tau=TAU).alpha.any()


# --- known values ---


def iris():
    datasets = pytest.importorskip("sklearn.datasets")
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split

    x, y = datasets.load_iris(return_X_y=True)
    fitted, judged, labels, truth = train_test_split(x, y, test_size=0.5, stratify=y, random_state=0)
    # At the default tolerance the fourth digit depends on where the fit stops, and so on versions and machines.
    return truth, LogisticRegression(max_iter=5000, tol=1e-10).fit(fitted, labels).predict_proba(judged)


def digits():
    example = polyroc.load_example()
    return example.y_true, example.scores["tree"]


def simulation():
    pytest.importorskip("sklearn")
    data = simulate(3_000, np.random.default_rng(5))
    covariates = data.covariates[:, :5]
    return data.random, multinomial(covariates, data.random).predict_proba(covariates)


@pytest.mark.parametrize(
    ("given", "pair", "ours", "letter"),
    [(iris, 0.9990, 0.9990, 0.9851), (digits, 0.9509, 0.9165, 0.3643), (simulation, 0.8170, 0.8172, 0.7962)],
)
def test_known_values(given, pair, ours, letter):
    """Of an implementation that others wrote from the LaTeX alone."""
    y, s = given()
    assert wang_carvalho(y, s, quantiles="pair", weighting="equal", end_points=True).auc == pytest.approx(
        pair, abs=6e-5
    )
    assert wang_carvalho(y, s, weighting="equal").auc == pytest.approx(letter, abs=6e-5)
    assert polyroc.auc_score(y, s, shrinkage=0) == pytest.approx(ours, abs=6e-5)


# --- no number ---


def test_a_fit_without_a_number_says_so():
    y, s = digits()
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        found = wang_carvalho(y, s)
        interval = found.confidence_interval()
    assert np.isnan([found.auc, float(found), found.deviance, *found.shared_effects, *found.curve.tpr, *interval]).all()
    assert (found.status, found.converged) == (PrintedStatus.DIVERGED, False)
    assert "diverged" in found.status.message


def test_an_infinite_optimum_has_its_d_in_the_limit():
    """One pair separated and the others not: its effect grows without end, and the curve goes to the corner."""
    tree = np.array([[0.9, 0.1, 0.0], [0.1, 0.6, 0.3], [0.0, 0.2, 0.8]])
    leaf = np.repeat([0, 1, 2, 1, 2], [20, 17, 18, 2, 3])
    y = np.repeat([0, 1, 2, 2, 1], [20, 17, 18, 2, 3])
    found = wang_carvalho(y, tree[leaf], quantiles="pair", weighting="equal", end_points=True)
    assert found.status in (PrintedStatus.INFINITE, PrintedStatus.CONVERGED, PrintedStatus.MAX_ITER)
    assert np.abs(found.row_effects).max() > 1e3
    assert found.auc > 0.9999 > polyroc.auc_score(y, tree[leaf], shrinkage=0)


@pytest.mark.parametrize("structure", ["rank-one", "centered", "full"])
@pytest.mark.parametrize(
    "scores",
    [np.full((9, 3), 0.3), np.eye(3)[[0, 1, 2] * 3], -np.eye(3)[[0, 1, 2] * 3], 1.7e308 * np.eye(3)[[0, 1, 2] * 3]],
)
def test_scores_at_the_ends_raise_nothing(structure, scores):
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for weights in (None, np.full(6, 1e300), np.full(6, 1e-300)):
            found = wang_carvalho([0, 1, 2] * 3, scores, structure=structure, pair_weights=weights)
            assert np.isfinite(found.auc) == (found.status is not PrintedStatus.DIVERGED)
            found.confidence_interval(2)


# --- intervals ---


def test_replicates_are_drawn_cell_by_cell():
    y, s = problem(tied=False)
    found = wang_carvalho(y, s, tau=TAU, weighting="equal")
    n = np.bincount(y)
    trials = np.array([n[i] * n[j] for i in range(3) for j in range(3) if i != j])
    rng = np.random.default_rng(4)
    fitted = expit(found.row_effects @ found.pair_effects.T)
    areas = []
    for _ in range(20):
        drawn = rng.binomial(trials, fitted) / trials
        areas.append(area_of(algorithm_by_loops(drawn, np.ones_like(drawn), 1, 100), end_points=False))
    low, high = found.confidence_interval(20, rng=4)
    assert (low, high) == pytest.approx(np.quantile(areas, [0.025, 0.975]), abs=1e-6)
    inner = found.confidence_interval(20, rng=4, confidence_level=0.5)
    assert low < inner.low < inner.high < high


# --- what it takes ---


def test_two_columns_make_two_pairs_and_one_column_makes_one():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    p = rng.normal(size=200) + y
    two, one = wang_carvalho(y, np.column_stack([-p, p])), wang_carvalho(y, p)
    assert two.pairs.tolist() == [[0, 1], [1, 0]]
    assert one.pairs.tolist() == [[1, 0]]
    # Of one pair the fit is exact.
    tpr, fpr = np.split(one.rates[:, 0], 2)
    assert one.auc == pytest.approx(np.trapezoid(tpr, fpr), abs=1e-6)
    with pytest.raises(polyroc.InputError, match="`structure` must not be 'centered' for a single pair"):
        wang_carvalho(y, p, structure="centered")


def test_a_class_without_samples_has_no_pairs():
    y, s = problem(tied=False)
    with pytest.warns(UserWarning, match="labels="):
        found = wang_carvalho(y, np.column_stack([s, s[:, 0]]), labels=[0, 1, 2, 3])
    assert found.auc == wang_carvalho(y, s).auc


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tau": [0.5, 1.5]}, r"`tau` must be in \[0, 1\], got 1.5"),
        ({"tau": [np.nan]}, r"`tau` must be in \[0, 1\], got nan"),
        ({"tau": [0.5, 0.5]}, "`tau` must increase, got 0.5 after 0.5"),
        ({"tau": [0.9, 0.1]}, "`tau` must increase, got 0.1 after 0.9"),
        ({"tau": [[0.5]]}, r"`tau` must be one-dimensional and not empty, got shape \(1, 1\)"),
        ({"tau": []}, r"`tau` must be one-dimensional and not empty, got shape \(0,\)"),
        ({"tau": 0.5}, "`tau` must be an array, a list"),
        ({"tau": ["many"]}, "`tau` must hold real numbers, got text"),
        ({"quantiles": "all"}, "`quantiles` must be one of 'column', 'pair', 'pooled', got 'all'"),
        ({"weighting": "cost"}, "`weighting` must be one of 'prevalence', 'equal', got 'cost'"),
        ({"structure": "saturated"}, "`structure` must be one of 'rank-one', 'centered', 'full', got 'saturated'"),
        ({"pair_weights": np.ones(5)}, r"`pair_weights` must have shape \(6,\), \(2, 6\) or \(10, 6\), got \(5,\)"),
        ({"pair_weights": np.ones((5, 6))}, r"`pair_weights` must have shape .* got \(5, 6\)"),
        ({"pair_weights": [1, 1, 1, 1, 1, 0]}, "`pair_weights` must be finite and positive, got 0.0"),
        ({"pair_weights": [1, 1, 1, 1, 1, np.inf]}, "`pair_weights` must be finite and positive, got inf"),
        ({"rank": 0}, "`rank` must be an integer of at least 1, got 0"),
        ({"rank": 1.0}, "`rank` must be an integer of at least 1, got 1.0"),
        ({"rank": True}, "`rank` must be an integer of at least 1, got True"),
        ({"rank": 7}, "`rank` must be at most 6, .* got 7"),
        ({"rank": 6, "structure": "centered"}, "`rank` must be at most 5, .* got 6"),
        ({"rank": 3, "tau": [0.5]}, "`rank` must be at most 2, .* got 3"),
        ({"rank": 2, "structure": "full"}, "`rank` must be left out if `structure` is 'full'"),
        ({"end_points": 1}, "`end_points` must be True or False, got 1"),
    ],
)
def test_refusals_name_the_argument_the_rule_and_what_came(options, message):
    y, s = problem(tied=False)
    with pytest.raises(polyroc.InputError, match=message):
        wang_carvalho(y, s, **({"tau": TAU} | options))


def test_the_interval_refuses_what_it_cannot_use():
    found = wang_carvalho(*problem(tied=False), tau=TAU)
    with pytest.raises(polyroc.InputError, match="`n_resamples` must be an integer from 2"):
        found.confidence_interval(1)
    with pytest.raises(polyroc.InputError, match="`confidence_level` must be between 0 and 1"):
        found.confidence_interval(confidence_level=95)
