"""The same numbers by another road: loops over thresholds, exact fractions, no sharing of code."""

from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace

import numpy as np

AROUND_HALF = ("0.0005", "0.001", "0.002", "0.003", "0.005", "0.0075")


def grid_by_loops(n_thresholds):
    """The call rates in exact fractions."""
    points = {Fraction(t, n_thresholds + 1) for t in range(1, n_thresholds + 1)} | {Fraction(1, 2)}
    for distance in map(Fraction, AROUND_HALF):
        points |= {Fraction(1, 2) - distance, Fraction(1, 2) + distance}
    return sorted(points)


def row_weights_by_loops(points):
    """Half the distance between the neighbours of each point, those of the first and the last being 0 and 1."""
    around = [Fraction(0), *points, Fraction(1)]
    return [(after - before) / 2 for before, after in zip(around, around[2:], strict=False)]


def polygon_by_loops(positive, negative, extra=()):
    """Vertices (s, tpr, fpr) of a pair's polygon in exact fractions; `extra` runs count in s only."""
    runs = [list(positive), list(negative), *map(list, extra)]
    vertices = [(Fraction(0), Fraction(0), Fraction(0))]
    for threshold in sorted({x for run in runs for x in run}, reverse=True):
        shares = [Fraction(sum(x >= threshold for x in run), len(run)) for run in runs]
        vertices.append((sum(shares) / len(shares), shares[0], shares[1]))
    return vertices


def cut(vertices, s):
    """The point of the polygon at call rate s."""
    for (s0, t0, f0), (s1, t1, f1) in pairwise(vertices):
        if s0 <= s <= s1:
            part = (s - s0) / (s1 - s0)
            return float(t0 + part * (t1 - t0)), float(f0 + part * (f1 - f0))
    raise AssertionError


def rates_by_loops(y_true, y_score, thresholds, n_thresholds):
    """TPR and FPR of every ordered pair on the grid, each (T, K)."""
    classes = [c for c in range(y_score.shape[1]) if (y_true == c).any()]
    tpr, fpr = [], []
    for i in classes:
        for j in classes:
            if i == j:
                continue
            extra = [y_score[y_true == i, j], y_score[y_true == j, j]] if thresholds == "shared" else []
            ranked = y_score[:, i] - y_score[:, j] if thresholds == "difference" else y_score[:, i]
            vertices = polygon_by_loops(ranked[y_true == i], ranked[y_true == j], extra)
            points = [cut(vertices, s) for s in grid_by_loops(n_thresholds)]
            tpr.append([p[0] for p in points])
            fpr.append([p[1] for p in points])
    return np.array(tpr).T, np.array(fpr).T


def deviance_by_loops(
    rates, factorization, y_true, costs, shrinkage, weighting="equal", n_thresholds=99, all_rows=False
):
    """The fitted deviance from the definition, cell by cell, with its own shrinkage and weights."""
    counts = np.bincount(y_true)
    classes = np.flatnonzero(counts)
    pairs = [(i, j) for i in classes for j in classes if i != j]
    on_row = [float(omega) for omega in row_weights_by_loops(grid_by_loops(n_thresholds))]
    n_rows = len(on_row)
    weights = np.empty((2 * n_rows, len(pairs)))
    cells = np.empty_like(weights)
    for p, (i, j) in enumerate(pairs):
        prevalence = counts[i] * counts[j] if weighting == "prevalence" else 1
        for t in range(n_rows):
            weights[t, p] = on_row[t] * prevalence * (1 if costs is None else costs[i, j])
            weights[n_rows + t, p] = on_row[t] * prevalence * (1 if costs is None else costs[j, i])
            cells[t, p], cells[n_rows + t, p] = rates.tpr[t, p], rates.fpr[t, p]
    weights /= weights.mean()
    total = 0.0
    for r in range(2 * n_rows):
        mean = np.dot(weights[r], cells[r]) / weights[r].sum()
        if not all_rows and (mean < 1e-13 or mean > 1 - 1e-13):
            continue
        for p, (i, j) in enumerate(pairs):
            size = 2 * counts[i] * counts[j] / (counts[i] + counts[j])
            m = (size * cells[r, p] + shrinkage * mean) / (size + shrinkage)
            eta = factorization.row_effects[r] * factorization.pair_effects[p]
            log_p, log_q = -np.logaddexp(0, -eta), -np.logaddexp(0, eta)
            kept = (m * (np.log(m) - log_p) if m > 0 else 0) + ((1 - m) * (np.log1p(-m) - log_q) if m < 1 else 0)
            total += 2 * weights[r, p] * kept
    return total


def weighed_polygon(positive, negative):
    """As `polygon_by_loops`, of lists of (score, weight)."""
    runs = [list(positive), list(negative)]
    vertices = [(Fraction(0), Fraction(0), Fraction(0))]
    for threshold in sorted({score for run in runs for score, _ in run}, reverse=True):
        tpr, fpr = (Fraction(sum(w for score, w in run if score >= threshold), sum(w for _, w in run)) for run in runs)
        vertices.append(((tpr + fpr) / 2, tpr, fpr))
    return vertices


def point_of(vertices, s):
    """TPR and FPR of a polygon at call rate s, in exact fractions."""
    for (s0, t0, f0), (s1, t1, f1) in pairwise(vertices):
        if s0 <= s <= s1:
            part = (s - s0) / (s1 - s0)
            return t0 + part * (t1 - t0), f0 + part * (f1 - f0)
    raise AssertionError


def area_by_loops(points):
    """Exact area by trapezoids under (fpr, tpr) points."""
    return sum((f1 - f0) * (t0 + t1) / 2 for (f0, t0), (f1, t1) in pairwise(points))


def polygons_by_loops(y_true, y_score, weight):
    """The polygon of every ordered pair of the classes that occur, by (positive, negative)."""
    classes = sorted(set(y_true))
    return {
        (i, j): weighed_polygon(
            *(
                [(row[i], w) for c, row, w in zip(y_true, y_score, weight, strict=True) if c == which]
                for which in (i, j)
            )
        )
        for i in classes
        for j in classes
        if i != j
    }


def mean_curve_by_loops(polygons, call_rates, on_tpr, on_fpr):
    """(FPR, TPR) of the weighted mean of the polygons at each call rate; weights by pair."""
    found = []
    for s in call_rates:
        points = {pair: point_of(vertices, s) for pair, vertices in polygons.items()}
        tpr = sum(on_tpr[pair] * points[pair][0] for pair in points) / sum(on_tpr[pair] for pair in points)
        fpr = sum(on_fpr[pair] * points[pair][1] for pair in points) / sum(on_fpr[pair] for pair in points)
        found.append((fpr, tpr))
    return found


def explained_by_loops(rates, factorization, y_true, costs, **options):
    """One minus the deviance over that of chance: row effects at the logit of the call rate, all pair effects 1."""
    logits = [float(np.log(s) - np.log1p(-s)) for s in rates.call_rates]
    chance = SimpleNamespace(row_effects=[*logits, *logits], pair_effects=[1.0] * rates.tpr.shape[1])
    fitted = deviance_by_loops(rates, factorization, y_true, costs, **options)
    of_chance = deviance_by_loops(rates, chance, y_true, costs, all_rows=True, **options)
    return 1 - fitted / of_chance if of_chance > 1e-6 else 1.0
