"""How the time grows with samples, classes and thresholds: powers fitted on log-log axes, and their picture."""

from dataclasses import dataclass

import numpy as np

from benchmarks._data import Problem
from benchmarks._worker import Job


@dataclass(frozen=True)
class Axis:
    name: str
    label: str
    fixed: str
    sizes: tuple
    peer: bool
    """Whether scikit-learn has such a size."""

    def job(self, size, call, threads):
        n, k, options = self._at(size)
        if call == "auc_score":
            # One engine throughout: the exponent is not to tell of a change of engines.
            return Job(call, Problem(n, k), threads, {"engine": "numba", **options})
        return Job(call, Problem(n, k), threads)

    def _at(self, size):
        if self.name == "n":
            return size, 10, {}
        if self.name == "k":
            return 20_000, size, {}
        return 20_000, 100, {"n_thresholds": size}


@dataclass(frozen=True)
class Series:
    axis: Axis
    name: str
    seconds: tuple

    @property
    def power(self):
        """Exponent and constant of the power law nearest in logarithms."""
        return np.polyfit(np.log(self.axis.sizes), np.log(self.seconds), 1)

    @property
    def exponent(self):
        return float(self.power[0])


FULL = [
    Axis("n", "samples n", "k = 10, T = 99", (10_000, 30_000, 100_000, 300_000, 1_000_000), peer=True),
    Axis("k", "classes k", "n = 20,000, T = 99", (5, 10, 20, 50, 100, 200), peer=True),
    Axis("T", "thresholds T", "n = 20,000, k = 100", (25, 49, 99, 199, 399), peer=False),
]
QUICK = [Axis("n", "samples n", "k = 10, T = 99", (500, 1_000, 2_000), peer=True)]


def measure(axes, bench):
    for axis in axes:
        for threads, name in ((1, "polyroc, one thread"), (2, "polyroc, two threads")):
            yield _series(axis, name, "auc_score", threads, bench)
        if axis.peer:
            yield _series(axis, "scikit-learn ovo", "sklearn_ovo", 2, bench)


def _series(axis, name, call, threads, bench):
    timings = bench.measure(*(axis.job(size, call, threads) for size in axis.sizes))
    return Series(axis, name, tuple(timing.seconds for timing in timings))


# Okabe and Ito: distinguishable with every common form of colour blindness; markers tell them apart in grey.
STYLES = {
    "polyroc, one thread": {"color": "#56B4E9", "marker": "o"},
    "polyroc, two threads": {"color": "#0072B2", "marker": "s"},
    "scikit-learn ovo": {"color": "#D55E00", "marker": "^"},
}


def draw(series, path):
    # A figure of its own, not pyplot's: no screen is needed.
    from matplotlib.figure import Figure

    axes = list(dict.fromkeys(one.axis for one in series))
    figure = Figure(figsize=(4 * len(axes), 4), layout="constrained")
    panels = figure.subplots(1, len(axes), sharey=True, squeeze=False)[0]
    for panel, axis in zip(panels, axes, strict=True):
        for one in (s for s in series if s.axis is axis):
            _draw_series(panel, one)
        panel.set(xscale="log", yscale="log", xlabel=axis.label, title=axis.fixed)
        panel.title.set_fontsize(10)
        panel.grid(color="0.92", linewidth=0.8)
        panel.set_axisbelow(True)
        for side in ("top", "right"):
            panel.spines[side].set_visible(False)
        panel.legend(frameon=False, fontsize=8, loc="upper left")
        panel.xaxis.set_major_locator(_ticks(axis.sizes))
        panel.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
        panel.minorticks_off()
    panels[0].set_ylabel("seconds")
    # Room for the legends above the lines.
    low, high = panels[0].get_ylim()
    panels[0].set_ylim(low, high * 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150, metadata={"Software": None})


def _draw_series(panel, one):
    style = STYLES[one.name]
    slope, constant = one.power
    sizes = np.array(one.axis.sizes, dtype=float)
    panel.plot(sizes, np.exp(constant) * sizes**slope, color=style["color"], linewidth=1, linestyle="--")
    label = f"{one.name}: ${one.axis.name}^{{{slope:.2f}}}$"
    panel.plot(sizes, one.seconds, linestyle="none", markersize=6, label=label, **style)


def _ticks(sizes):
    from matplotlib.ticker import FixedLocator

    return FixedLocator(sizes)
