"""Rank-one fits on a device: the descent of `_core/descent.py` for one set of rates, or for many at once.

Everything that is large stays on the device. After each sweep a handful of numbers of each fit comes to the host, where
it is decided which steps are taken, how much the next are damped, and which fits are done.

Words in parentheses are the labels of equations in docs/method.md. B fits, K pairs, T call rates, R = 2T rows.
"""

from dataclasses import replace
from functools import partial

import torch

from polyroc._core.cells import LOGIT_BOUND
from polyroc._core.descent import FIRST_DAMPING, ROUGH, Course, Tolerance
from polyroc._core.torch.devices import pieces
from polyroc._core.torch.passes import passes_for
from polyroc._core.torch.problem import (
    CURVED_PAIRS,
    MANY_PAIRS,
    Ended,
    Problem,
    State,
    chosen_states,
    only_effects,
    some_pairs,
)
from polyroc._core.torch.sweeps import ROW_BLOCK, ROW_GRADIENT, Cells

# As in `_numba/_cells.py`: fits of more pairs begin where a fit of some of them ended.
MEDIUM_PAIRS = 4_096
# Rates that are worked on at once.
_AT_ONCE = 2**25
# Rows of a fit that ended early are solved for by at most this many steps.
_MAX_ROW_STEPS = 100


def fit_cells(cells: Cells, *, one_optimum: bool, near: torch.Tensor | None = None) -> Ended:
    """Fit each of B sets of rates.

    `one_optimum` says that thresholds are such that a fit of some of the pairs may come first; `near` (B, R) has the
    row effects of a fit of the same rates with another shrinkage.
    """
    problem = Problem(cells)
    few = _size_of_first_fit(cells.n_pairs, one_optimum=one_optimum)
    if few is None:
        return _from_alike(cells, problem.tolerance)
    row = _rows_of_few(cells, few) if near is None else near.masked_fill(~problem.fitted, 0.0)
    # Near the optimum already, so hardly damped: 1e-6 is the least that a step which disappoints is given.
    start, damping = problem.state(row, _effects_of_rows(cells, row)), 1e-6
    return _descend(problem, start, problem.tolerance, damping)


def _from_alike(cells: Cells, tolerance: Tolerance) -> Ended:
    """The descent from where all pairs are alike and each row has the logit of its mean."""
    problem = Problem(cells)
    return _descend(problem, problem.start(), tolerance, FIRST_DAMPING)


def polished(cells: Cells, ended: Ended) -> Ended:
    """The last step of fits in single precision, from a gradient in double: what rates in single can still tell."""
    single, double = Problem(cells), Problem(cells.computed_in(torch.float64))
    state = double.state(ended.row, ended.effect)
    # What a step this small adds to the pairs is as good in single precision.
    tried = single.attempt(state, single.curvature(state), state.row.new_zeros(len(state.row)))
    taken = [
        one is not None and one.change <= one.noise and is_converged
        for one, is_converged in zip(tried.outcomes, ended.converged, strict=True)
    ]
    merged = _merged(state, tried.state, taken)
    return replace(ended, row=merged.row, effect=merged.swept.pairs.effect)


def _size_of_first_fit(n_pairs: int, *, one_optimum: bool) -> int | None:
    """How many of the pairs are fitted first, to begin near the end; None where all begin alike."""
    if n_pairs > MANY_PAIRS:
        return CURVED_PAIRS
    return MEDIUM_PAIRS // 4 if n_pairs > MEDIUM_PAIRS and one_optimum else None


def _rows_of_few(cells: Cells, n_few: int) -> torch.Tensor:
    """Row effects by a rough fit of a sample of the pairs: nearly those of all, at a fraction of the work."""
    some = cells.of_pairs(some_pairs(cells.n_pairs, n_few, cells.tpr.device))
    first, end = Problem(some).first_row(), _from_alike(some, ROUGH)
    found = end.row * end.effect.mean(1, keepdim=True)
    # A larger effect would start its row at rates of 0 or 1; such a row stays at the logit of its mean.
    return torch.where(found.abs() < LOGIT_BOUND, found, first)


def _effects_of_rows(cells: Cells, row: torch.Tensor) -> torch.Tensor:
    """The best effects of the pairs for given rows, to two thousandths, (B, K).

    Where the gradient of a pair is zero, sum_i w_i lambda_i p_i(v) equals sum_i w_i lambda_i M_i. The left side rises
    with v, and but for the two weights of a pair it is the same for all. So it is looked up in a table.
    """
    n, device = cells.n_rows // 2, row.device
    # Neighbours in the table differ by 7 %; between them effects are interpolated.
    effects = torch.logspace(-2, 2, 129, dtype=torch.float64, device=device)
    pull = cells.on_row.to(torch.float64) * row
    pulls = pull[:, None] * torch.special.expit(effects[:, None] * row[:, None])
    table = torch.stack([pulls[..., :n].sum(2), pulls[..., n:].sum(2)])  # (2, B, G)
    found = torch.empty((cells.n_fits, cells.n_pairs), dtype=torch.float64, device=device)
    for start, stop in pieces(cells.n_pairs, _AT_ONCE // (cells.n_fits * n)):
        some = cells.of_pairs(slice(start, stop))
        on_tpr, on_fpr = some.on_tpr.to(torch.float64), some.on_fpr.to(torch.float64)
        sought = _pulled(some, pull, on_tpr, on_fpr)
        low = torch.zeros_like(sought, dtype=torch.int64)
        high = torch.full_like(low, len(effects) - 1)

        def at(place: torch.Tensor, on_tpr: torch.Tensor = on_tpr, on_fpr: torch.Tensor = on_fpr) -> torch.Tensor:
            return on_tpr * table[0].gather(1, place) + on_fpr * table[1].gather(1, place)

        for _ in range(7):
            middle = (low + high) >> 1
            is_below = at(middle) < sought
            low, high = torch.where(is_below, middle, low), torch.where(is_below, high, middle)
        below, above = at(low), at(high)
        part = ((sought - below) / (above - below + 1e-290)).clamp(0, 1)
        found[:, start:stop] = effects[low] + part * (effects[high] - effects[low])
    return found


def _pulled(cells: Cells, pull: torch.Tensor, on_tpr: torch.Tensor, on_fpr: torch.Tensor) -> torch.Tensor:
    """The sums over rows of pull times shrunk rates, true and false positive ones by their weights, (B, K)."""
    n, keep = cells.n_rows // 2, cells.keep.to(torch.float64)
    pull_tpr, pull_fpr = pull[:, :n], pull[:, n:]

    # By products and sums, not by a matrix product: that may be in a lower precision, by a setting of PyTorch.
    def along(rates: torch.Tensor, pull: torch.Tensor) -> torch.Tensor:
        return (rates * pull[:, None].to(rates.dtype)).sum(2, dtype=torch.float64)

    by_tpr = along(cells.tpr, pull_tpr)
    if cells.fpr is None:
        by_fpr = (pull_fpr * cells.doubled.to(torch.float64)).sum(1)[:, None] - along(cells.tpr, pull_fpr)
    else:
        by_fpr = along(cells.fpr, pull_fpr)
    mean = cells.mean.to(torch.float64)
    mean_tpr = (pull_tpr * mean[:, :n]).sum(1)[:, None]
    mean_fpr = (pull_fpr * mean[:, n:]).sum(1)[:, None]
    return on_tpr * (keep * by_tpr + (1 - keep) * mean_tpr) + on_fpr * (keep * by_fpr + (1 - keep) * mean_fpr)


def _descend(problem: Problem, state: State, tolerance: Tolerance, damping: float) -> Ended:
    """Lower the deviances until nothing moves; fits that are done leave the others to themselves."""
    n_fits = problem.cells.n_fits
    courses = [Course(0.0, tolerance=tolerance, damping=damping) for _ in range(n_fits)]
    row, effect = torch.empty_like(state.row), torch.empty_like(state.swept.pairs.effect)
    here = problem.gradients(state).tolist()
    going = list(range(n_fits))
    curvature = problem.curvature(state)
    while True:
        dampings = state.row.new_tensor([courses[f].damping for f in going])
        tried = problem.attempt(state, curvature, dampings)
        taken = []
        for place, f in enumerate(going):
            there = tried.gradients[place]
            # Fits that are done stay where they are.
            is_taken = courses[f].status is None and courses[f].goes_on_from(
                tried.outcomes[place], partial(float, here[place]), partial(float, there)
            )
            here[place] = there if is_taken else here[place]
            taken.append(is_taken)
        state = _merged(state, tried.state, taken)
        done = [place for place, f in enumerate(going) if courses[f].status is not None]
        # They stay with the others until half of them are done: to leave them out costs a copy of all rates.
        if 2 * len(done) >= len(going):
            at = [going[place] for place in done]
            row[at], effect[at] = state.row[done], state.swept.pairs.effect[done]
            rest = [place for place in range(len(going)) if place not in set(done)]
            if not rest:
                return Ended(row, effect, courses)
            which = torch.tensor(rest, device=row.device)
            problem, state = Problem(problem.cells.of_fits(which)), state.of_fits(which)
            going, here = [going[place] for place in rest], [here[place] for place in rest]
            curvature = problem.curvature(state)
        # Where rows hardly move their curvature stays: it bends the steps, not where they lead.
        elif any(one and move >= problem.steady for one, move in zip(taken, tried.row_moves, strict=True)):
            curvature = problem.curvature(state)


def _merged(state: State, trial: State, taken: list[bool]) -> State:
    """The trial of the fits that take their step, the state of the others."""
    if all(taken):
        return trial
    if not any(taken):
        return state
    return chosen_states(state, trial, torch.tensor(taken, device=state.row.device))


def solved_rows(cells: Cells, row: torch.Tensor, effect: torch.Tensor) -> torch.Tensor:
    """The best row effects for given pair effects, (B, R): of a fit that ended early, so that its curve rises.

    Each row solves sum_j w_j v_j (expit(lambda v_j) - M_j) = 0, which rises with lambda and falls with the rates.
    """
    cells = cells.computed_in(torch.float64)
    fitted = cells.on_row > 0
    low, high = torch.full_like(row, -torch.inf), torch.full_like(row, torch.inf)
    for _ in range(_MAX_ROW_STEPS):
        swept = passes_for(cells).sweep(cells, row, row, only_effects(effect), None)
        gradient, block = swept.by_row[:, ROW_GRADIENT], swept.by_row[:, ROW_BLOCK]
        low, high = torch.where(gradient < 0, row, low), torch.where(gradient > 0, row, high)
        moved = row + torch.where(block > 0, -gradient / block, -torch.inf * gradient.sign()).nan_to_num().clamp(-2, 2)
        # A Newton step that leaves the bracket is replaced by bisection.
        outside = ((moved <= low) | (moved >= high)) & low.isfinite() & high.isfinite() & (gradient != 0)
        moved = torch.where(fitted, torch.where(outside, (low + high) / 2, moved), row)
        if float((moved - row).abs().amax()) < 1e-13:
            break
        row = moved
    return row
