"""What the study found, as the tables of docs/coverage.md."""

import os

import numpy as np
from scipy.special import ndtri

from studies import _coverage
from studies._settings import COVERAGE

BEGIN, END = "<!-- results: written by `make coverage` -->", "<!-- end of results -->"
GOAL = (0.93, 0.97)
TYPE_ONE = (0.035, 0.065)


def page(by_setting, by_test, n_replications, n_resamples, minutes):
    settings = list(by_setting)
    parts = [
        f"{n_replications:,} replications of {n_resamples} resamples each, in {minutes[0]:.0f} minutes on "
        f"{os.cpu_count()} cores, {minutes[1]:.0f} minutes of processor time. The truth is that of "
        f"{_coverage.N_TRUTH:,} samples. In brackets the 99 % Monte Carlo interval.",
        "## Coverage of 95 % intervals of D",
        markdown(default_rows(by_setting, [s for s in settings if s.group_size is None])),
        "## With groups",
        markdown(group_rows(by_setting, [s for s in settings if s.group_size is not None])),
        "## Other intervals on the same samples",
        markdown(other_rows(by_setting, settings)),
        f"Parametric intervals: {n_replications // _coverage.PARAMETRIC_EVERY} of the replications, "
        f"{_coverage.PARAMETRIC_RESAMPLES} replicates each.",
        "## Test of two models",
        markdown(test_rows(by_test)),
    ]
    return "\n\n".join(parts)


def default_rows(by_setting, settings):
    rows = [["setting", "k", "n", "smallest class", "true D", "mean D", "SE / SD", "default interval", "goal"]]
    for setting in settings:
        truth, found = by_setting[setting]
        goal = verdict(found["logit"], GOAL) if setting in COVERAGE else "as it is"
        ratio = found["standard error"].mean() / found["D"].std(ddof=1)
        sizes = [str(setting.n_classes), f"{setting.n_samples:,}", str(min(setting.counts))]
        values = [f"{truth.auc:.4f}", f"{found['D'].mean():.4f}", f"{ratio:.3f}"]
        rows.append([setting.name, *sizes, *values, share(found["logit"]), goal])
    return rows


def group_rows(by_setting, settings):
    rows = [["setting", "k", "n", "groups=", "goal", "without groups"]]
    for setting in settings:
        _, found = by_setting[setting]
        sizes = [str(setting.n_classes), f"{setting.n_samples:,}"]
        goal = verdict(found["logit"], GOAL)
        rows.append([setting.name, *sizes, share(found["logit"]), goal, share(found["ungrouped"])])
    return rows


def other_rows(by_setting, settings):
    names = ["percentile", "basic", "bca", "parametric-pairs", "parametric-samples", "M, logit", "M, delong"]
    names += ["band, a point", "band, whole"]
    rows = [["setting", *names]]
    for setting in settings:
        _, found = by_setting[setting]
        rows.append([setting.name, *(percent(found[name].mean()) if name in found else "-" for name in names)])
    return rows


def test_rows(by_test):
    rows = [["two models", "D, bootstrap", "M, bootstrap", "M, DeLong", "goal for D"]]
    for number, (name, found) in enumerate(by_test.items()):
        goal = verdict(found["D, bootstrap"], TYPE_ONE, exactly=True) if number == 0 else "-"
        rows.append([name, *(share(found[column]) for column in rows[0][1:4]), goal])
    return rows


def share(hits):
    low, high = wilson(hits)
    return f"{percent(hits.mean())} ({percent(low)} - {percent(high)})"


def percent(value):
    return f"{100 * value:.1f} %"


def verdict(hits, goal, *, exactly=False):
    """Whether the Monte Carlo interval meets the goal, or the share itself lies in it."""
    low, high = (hits.mean(), hits.mean()) if exactly else wilson(hits)
    met = low <= goal[1] and high >= goal[0]
    return f"{100 * goal[0]:g} to {100 * goal[1]:g} %: {'met' if met else 'NOT met'}"


def wilson(hits):
    """99 % interval of a probability."""
    n, p, z = len(hits), np.mean(hits), ndtri(0.995)
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return centre - reach, centre + reach


def markdown(rows):
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, f"| {' | '.join('---' for _ in rows[0])} |")
    return "\n".join(lines)


def write(path, text):
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    path.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")
