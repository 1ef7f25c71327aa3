"""The rows of the table: what is measured on which problem, against whom, and what it has to reach."""

from dataclasses import dataclass, field

from benchmarks._data import Problem
from benchmarks._measure import Timing, imports
from benchmarks._worker import Job

GIB = 2**30


@dataclass(frozen=True)
class Target:
    ratio: float | None = None
    seconds: float | None = None
    memory: int | None = None


@dataclass(frozen=True)
class Row:
    problem: Problem
    call: str
    peer: str = "sklearn_ovo"
    target: Target = field(default_factory=Target)
    options: dict = field(default_factory=dict)
    agrees: bool = False
    """Whether polyroc and the peer compute the same number."""

    @property
    def what(self):
        extra = "".join(f', {name}="{value}"' for name, value in self.options.items())
        names = {
            "evaluate with areas": "evaluate, M, all pairwise areas",
            "bootstrap": "evaluate, interval from 999 resamples",
        }
        return names.get(self.call, self.call) + extra


@dataclass(frozen=True)
class Measured:
    row: Row
    peer: Timing
    one: Timing
    two: Timing

    @property
    def ratio_one(self):
        return self.peer.seconds / self.one.seconds

    @property
    def ratio_two(self):
        return self.peer.seconds / self.two.seconds


MILLION = Problem(1_000_000, 10)
SINGLE = Problem(1_000_000, 10, "float32")
BASELINES = Problem(100_000, 10)

FULL = [
    Row(Problem(1_000, 3), "evaluate", target=Target(ratio=1, seconds=0.005)),
    Row(Problem(10_000, 10), "auc_score", target=Target(ratio=1), options={"engine": "numpy"}),
    Row(Problem(100_000, 10), "evaluate", target=Target(ratio=12)),
    Row(MILLION, "auc_score", target=Target(ratio=12)),
    Row(SINGLE, "auc_score", target=Target(ratio=20)),
    Row(MILLION, "evaluate with areas", target=Target(ratio=8), agrees=True),
    Row(Problem(50_000, 100), "evaluate", target=Target(ratio=60)),
    Row(Problem(50_000, 300), "evaluate", target=Target(ratio=100)),
    Row(Problem(50_000, 1_000), "evaluate", target=Target(seconds=8, memory=3 * GIB)),
    Row(Problem(10_000, 10), "bootstrap", "sklearn_bootstrap", Target(ratio=60, memory=GIB)),
    Row(BASELINES, "hand_till", target=Target(ratio=1), agrees=True),
    Row(BASELINES, "one_vs_rest", "sklearn_ovr", Target(ratio=1), agrees=True),
    Row(BASELINES, "auc_mu", target=Target(ratio=1)),
]

# Each way through the code once, on problems too small to tell anything about speed.
QUICK = [
    Row(Problem(300, 3), "auc_score", options={"engine": "numpy"}),
    Row(Problem(300, 3), "evaluate with areas", agrees=True),
    Row(Problem(300, 3), "hand_till", agrees=True),
    Row(Problem(1_000, 20, "float32"), "auc_score", options={"engine": "numba"}),
    Row(Problem(300, 3), "bootstrap", "sklearn_bootstrap"),
]


def chosen(quick):
    """The rows that this installation can do, and one against torchmetrics for each problem where it is there."""
    rows = QUICK if quick else FULL
    if imports("torchmetrics.functional.classification"):
        firsts = {row.problem: row for row in reversed(rows) if row.call in ("evaluate", "auc_score")}
        rows = rows + [
            Row(row.problem, row.call, "torchmetrics_ovr", options=row.options)
            for row in rows
            if firsts.get(row.problem) is row
        ]
    return rows


def measure(rows, bench):
    """Time every row: peers and polyroc in a process each, one after the other."""
    peers, ours = {}, {}
    for row in rows:
        asked = (row.peer, row.problem)
        if asked not in peers:
            [peers[asked]] = bench.measure(Job(row.peer, row.problem))
        own = (row.call, row.problem, row.what)
        if own not in ours:
            ours[own] = bench.measure(*(Job(row.call, row.problem, threads, row.options) for threads in (1, 2)))
        measured = Measured(row, peers[asked], *ours[own])
        if row.agrees and not measured.peer.remark and abs(measured.peer.value - measured.two.value) > 1e-8:
            msg = f"{row.what} is {measured.two.value}, but {row.peer} says {measured.peer.value}"
            raise AssertionError(msg)
        yield measured


def check_scaling(bench):
    """The whole of scikit-learn's ovo, and the same scaled from a sample of pairs, on a problem that allows both."""
    problem = Problem(50_000, 100)
    whole, scaled = bench.measure(Job("sklearn_ovo", problem), Job("sklearn_some_pairs", problem))
    return problem, whole, scaled
