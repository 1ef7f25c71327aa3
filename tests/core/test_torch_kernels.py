"""Kernels of sweeps, cuts and sorting against plain PyTorch: on a card, or on the CPU by Triton's own interpreter."""

from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest
from kernels import NEEDS_KERNELS, check_kernels, main

pytestmark = NEEDS_KERNELS


@pytest.mark.parametrize("name", ["sweeps", "cuts", "weighted cuts", "replicates", "sorts"])
def test_kernels_give_what_pytorch_gives(name):
    check_kernels(__file__, name, CHECKS[name])


def close(found, expected, share, label):
    """As near as this share of the largest."""
    import torch

    largest = float(expected.abs().amax()) if expected.numel() else 0.0
    torch.testing.assert_close(found, expected, rtol=0, atol=share * largest + 1e-300, msg=lambda m: f"{label}: {m}")


# Sweeps


@dataclass(frozen=True)
class Setting:
    n_fits: int
    n_pairs: int
    n_call_rates: int
    is_single: bool = False
    has_fpr: bool = False
    are_equal: bool = False
    """Weights of pairs as one number, expanded."""
    is_part: bool = False
    """Some of the pairs, so that fits do not follow each other in memory."""


SETTINGS = (
    Setting(1, 7, 5, are_equal=True),
    Setting(2, 9, 21, has_fpr=True),
    Setting(1, 9, 21, has_fpr=True, is_single=True),
    Setting(2, 7, 40, is_single=True),
    Setting(3, 6, 33, is_part=True),
    Setting(2, 5, 111),
    # More call rates than a warp has.
    Setting(1, 5, 140, are_equal=True, is_single=True),
)


def made_cells(setting, device):
    """Cells, the logits of their means, and effects of pairs: ordinary ones, none, and one that has to be cut."""
    import torch

    from polyroc._core.torch.sweeps import Cells

    rng = torch.Generator().manual_seed(setting.n_pairs)

    def uniform(*shape):
        return torch.rand(shape, generator=rng, dtype=torch.float64)

    precision = torch.float32 if setting.is_single else torch.float64
    n_all = setting.n_pairs + (4 if setting.is_part else 0)
    s = torch.linspace(0.04, 0.96, setting.n_call_rates, dtype=torch.float64)
    rise = uniform(setting.n_fits, n_all, 1) * torch.minimum(s, 1 - s)
    tpr, fpr = s + rise, s - 0.5 * rise
    # Rates of 0 and of 1.
    tpr[:, 1], fpr[:, 1] = (2 * s).clamp(max=1), (2 * s - 1).clamp(min=0)
    of_rest = fpr if setting.has_fpr else (2 * s - tpr).clamp(0, 1)
    mean = torch.cat([tpr.mean(1), of_rest.mean(1)], 1)
    on_row = 0.5 + uniform(setting.n_fits, 2 * setting.n_call_rates)
    # Rows with nothing to fit.
    on_row[:, 0] = on_row[0, -1] = 0
    row = torch.logit(mean).masked_fill(on_row == 0, 0.0)
    on_tpr = torch.ones(1, dtype=torch.float64).expand(n_all) if setting.are_equal else 0.5 + uniform(n_all)
    cells = Cells(
        tpr.to(device, precision),
        fpr.to(device, precision) if setting.has_fpr else None,
        (2 * s).to(device, precision),
        on_row.to(device, precision),
        mean.to(device, precision),
        on_tpr.to(device),
        (on_tpr if setting.are_equal else 1.3 * on_tpr).to(device),
        (0.5 + 0.5 * uniform(n_all)).to(device, precision),
    )
    effect = 0.2 + 2 * uniform(setting.n_fits, n_all)
    effect[:, 2], effect[:, 3] = 0.0, 12.0
    chosen = slice(2, 2 + setting.n_pairs) if setting.is_part else slice(None)
    return cells.of_pairs(chosen), row.to(device), effect[:, chosen].contiguous().to(device)


def assert_swept(found, expected, setting, label):
    share = 2e-5 if setting.is_single else 1e-12
    assert found.pairs.pinned.equal(expected.pairs.pinned), label
    for name in ("effect", "gradient", "block"):
        close(getattr(found.pairs, name), getattr(expected.pairs, name), share, f"{label} {name}")
    for name in ("by_row", "total", "largest"):
        one, other = getattr(found, name), getattr(expected, name)
        for entry in range(one.shape[1]):
            close(one[:, entry], other[:, entry], share, f"{label} {name} {entry}")
    assert (found.cross is None) == (expected.cross is None), label
    if found.cross is not None:
        close(found.cross, expected.cross, share, f"{label} cross")


@contextmanager
def few_are(n_programs):
    """How many programs have more warps each; of the settings above one fit has two programs."""
    from polyroc._core.torch import sweep_kernels as _sweep_kernels

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_sweep_kernels, "_FEW_PROGRAMS", n_programs)
        yield


@few_are(3)
def check_sweeps(device):
    import torch

    from polyroc._core.torch import sweep_kernels as _sweep_kernels
    from polyroc._core.torch import sweeps as _sweeps

    for setting in SETTINGS:
        cells, row, effect = made_cells(setting, device)
        assert _sweep_kernels.can_sweep(cells)
        rng = torch.Generator().manual_seed(1)
        noise = torch.randn(row.shape, generator=rng, dtype=torch.float64).to(device) * (cells.on_row > 0)
        stretch = torch.linspace(1, 1.1, setting.n_fits, dtype=torch.float64, device=device)
        first = None
        for with_cross in (False, True):
            given = (cells, row, row, _sweeps.Pairs(effect, 0 * effect, 0 * effect), None)
            first, found = (one.sweep(*given, with_cross=with_cross) for one in (_sweeps, _sweep_kernels))
            assert_swept(found, first, setting, f"{setting} first")
        pairs = first.pairs
        assert pairs.pinned.any()
        assert not pairs.pinned.all()
        for size in (0.001, 0.7):
            moved = row + size * noise
            # Long moves take logarithms.
            assert ((moved - row).abs().amax() > 10 * _sweeps.FAR) == (size > 0.1)
            for known, with_cross in ((None, False), (1.1 * pairs.effect, True)):
                given = (cells, row, moved, pairs, stretch, known)
                expected, found = (one.sweep(*given, with_cross=with_cross) for one in (_sweeps, _sweep_kernels))
                assert_swept(found, expected, setting, f"{setting} {size} known={with_cross}")


# Cuts


def made_runs(device, seed, n, k, *, decimals=12, is_single=False, is_weighted=False, ordered=False):
    """Sorted scores of classes of different sizes, one of which has a single sample."""
    import torch

    from polyroc._core.torch.passes import PLAIN
    from polyroc._core.torch.runs import Samples, sorted_runs

    rng = torch.Generator().manual_seed(seed)
    codes = torch.randint(0, k, (n,), generator=rng)
    codes[: n // 3] = 0
    codes[codes == k - 1] = 0
    codes[0] = k - 1
    scores = torch.randn((n, k), generator=rng, dtype=torch.float64)
    scores[torch.arange(n), codes] += 1
    scores = (scores * 10**decimals).round() / 10**decimals
    weight = None
    if is_weighted:
        weight = torch.rand(n, generator=rng, dtype=torch.float64)
        weight[1::3] = 0.0
    samples = Samples(
        scores.to(device, torch.float32 if is_single else torch.float64),
        codes.to(device),
        None if weight is None else weight.to(device),
        torch.bincount(codes, minlength=k),
    )
    return sorted_runs(samples, PLAIN, ordered=ordered)


def call_rates_on(device):
    """Twenty, then some at which edges of small classes end."""
    import torch

    return torch.cat([torch.linspace(0.001, 0.999, 20), torch.tensor([0.25, 0.5, 0.75])]).to(device, torch.float64)


def assert_cut(runs, k, tails, label, chosen=slice(None)):
    import torch

    from polyroc._core.torch import run_kernels as _run_kernels
    from polyroc._core.torch import runs as _runs
    from polyroc._core.torch.records import all_pairs

    pairs = all_pairs(torch.arange(k, dtype=torch.int32, device=runs.device))
    grid = call_rates_on(runs.device)[chosen]
    areas = _runs.areas(runs, pairs, tails)
    shape = (*areas.shape, len(grid))
    expected = torch.empty(shape, dtype=torch.float64, device=runs.device)
    _runs.cut(runs, pairs, grid, expected, weighed=tails)
    for precision, share in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        found = torch.full(shape, torch.nan, dtype=precision, device=runs.device)
        _run_kernels.cut(runs, pairs, grid, found, weighed=tails)
        close(found.double(), expected, share, f"{label} {precision}")
    found = _run_kernels.areas(runs, pairs, tails)
    if runs.tails is None and tails is None:
        assert found.equal(areas), label
    else:
        close(found, areas, 1e-12, f"{label} areas")


def check_cuts(device):
    import torch

    from polyroc._core.torch.passes import PLAIN
    from polyroc._core.torch.runs import Samples, sorted_runs

    for seed, (n, k, decimals, is_single) in enumerate(
        ((60, 3, 12, False), (90, 3, 1, False), (40, 4, 0, True), (300, 3, 12, True))
    ):
        runs = made_runs(device, seed, n, k, decimals=decimals, is_single=is_single)
        assert_cut(runs, k, None, f"n = {n}, k = {k}, {decimals} decimals")
    # One call rate at a time: a tie that another one meets helps none, and padded ones lie at 1/2. Two of the first
    # class are tied with one of the second; further down, two of the first with each other.
    first, second = [2.0, 1, 1, 0, -1, -1], [1.5, 1, 0.5, -2, -3, -4]
    codes, scores = torch.tensor([0] * 6 + [1] * 6), torch.tensor(first + second)
    table = torch.stack([scores, scores + 1], 1).double()
    runs = sorted_runs(Samples(table.to(device), codes.to(device), None, torch.tensor([6, 6])), PLAIN, ordered=False)
    for place in range(len(call_rates_on(device))):
        assert_cut(runs, 2, None, f"call rate {place}", slice(place, place + 1))


def check_weighted_cuts(device):
    for seed, (n, k, decimals) in enumerate(((70, 3, 12), (90, 3, 1), (40, 4, 0))):
        runs = made_runs(device, seed, n, k, decimals=decimals, is_weighted=True)
        assert_cut(runs, k, None, f"n = {n}, k = {k}, {decimals} decimals")


def check_replicates(device):
    """Shares under several weights, and what is read by them."""
    import torch

    from polyroc._core.torch import run_kernels as _run_kernels
    from polyroc._core.torch import runs as _runs

    # The larger one has classes of more samples than are added up at once.
    for seed, (n, k, decimals) in enumerate(((50, 3, 12), (1300, 3, 1))):
        runs = made_runs(device, seed, n, k, decimals=decimals, ordered=True)
        rng = torch.Generator().manual_seed(seed)
        weights = torch.randint(0, 4, (2, n), generator=rng).double().to(device)
        # Of any size: their sums are rounded.
        weights[1] *= torch.rand(n, generator=rng, dtype=torch.float64).to(device)
        # A weight may be 0, but not all those of a class.
        weights[:, runs.order[0][runs.offsets[:-1]].long()] = 1.0
        expected = _runs.tails(runs, weights)
        # In one launch, and column by column.
        for most_columns in (_run_kernels.MOST_COLUMNS, 1, 2):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(_run_kernels, "MOST_COLUMNS", most_columns)
                found = _run_kernels.tails(runs, weights)
            close(found, expected, 1e-13, f"tails, n = {n}, {most_columns} columns at once")
            # After the last sample of a class, all of it is called.
            assert (found[:, :, runs.offsets[1:] + torch.arange(k, device=device)] == 1).all()
            assert found.amax() == 1
        if n < 100:
            assert_cut(runs, k, expected.flatten(1), "two weighings")


# Sorting


def check_sorts(device):
    import torch

    from polyroc._core.torch import run_kernels as _run_kernels
    from polyroc._core.torch import runs as _runs
    from polyroc._core.torch.passes import PLAIN

    def left_to_pytorch(gathered, *_):
        raise AssertionError(gathered.dtype)

    cases = ((60, 3, torch.float32, False), (150, 6, torch.float32, True), (150, 6, torch.float64, False))
    for n, k, precision, ordered in cases:
        rng = torch.Generator().manual_seed(n + ordered)
        codes = torch.randint(0, k, (n,), generator=rng)
        codes[: n // 3], codes[codes == 1] = 0, 2  # one class without samples
        scores = (3 * torch.randn((n, k), generator=rng, dtype=precision)).round() / 3
        # Zeros of both signs are one number.
        scores[scores.abs() < 0.4] *= 0
        scores[::2] = torch.where(scores[::2] == 0, -0.0, scores[::2])
        counts = torch.bincount(codes, minlength=k)
        samples = _runs.Samples(scores.to(device), codes.to(device), None, counts)
        expected = _runs.sorted_runs(samples, PLAIN, ordered=ordered)
        kernels = PLAIN._replace(sort=_run_kernels.sort)
        for most_columns in (_run_kernels.MOST_COLUMNS, 2):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(_run_kernels, "MOST_COLUMNS", most_columns)
                # What a kernel can sort is not left to PyTorch.
                patch.setattr(_runs, "sort", left_to_pytorch)
                found = _runs.sorted_runs(samples, kernels, ordered=ordered)
            assert found.values.equal(expected.values), (n, k, precision)
            if ordered:
                assert found.order.equal(expected.order), (n, k, precision)
                assert samples.scores.T.gather(1, found.order.long()).equal(found.values)
        # And what it cannot is: scores of 64 bits with their places, and long classes.
        double = replace(samples, scores=samples.scores.double())
        assert _runs.sorted_runs(double, kernels, ordered=True).order.equal(
            _runs.sorted_runs(double, PLAIN, ordered=True).order
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_run_kernels, "LONGEST_SHORT", 1)
            patch.setattr(_runs, "sort", left_to_pytorch)
            with pytest.raises(AssertionError, match="float"):
                _runs.sorted_runs(samples, kernels, ordered=ordered)


CHECKS = {
    "sweeps": check_sweeps,
    "cuts": check_cuts,
    "weighted cuts": check_weighted_cuts,
    "replicates": check_replicates,
    "sorts": check_sorts,
}

if __name__ == "__main__":
    main(CHECKS)
