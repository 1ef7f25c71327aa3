"""What the study found, as the tables of docs/coverage.md."""

import numpy as np

from studies import _influence_page
from studies._settings import CONTESTS, GROUPED, HELD_OUT, MORE_CONTESTS, PRESENT, SEPARATED, TUNED, VARIANTS

BEGIN, END = "<!-- results: written by `make intervals` -->", "<!-- end of results -->"
# Of intervals; of one side missed; of simultaneous bands; of the width.
GOAL, SIDE, BAND, WIDER = (0.93, 0.97), 0.04, (0.93, 0.99), 1.12


def page(results):
    found = {name: {key: np.array(x) for key, x in one["found"].items()} for name, one in results["settings"].items()}
    truths = {name: one["truth"] for name, one in results["settings"].items()}
    missing = [s.name for s in TUNED + GROUPED + HELD_OUT if s.name not in found]
    missing += [c.name for c in CONTESTS if c.name not in results["contests"]]
    by_influence = results.get("influence", {}) | results.get("influence contests", {})
    works = TUNED + GROUPED + HELD_OUT + VARIANTS + CONTESTS + MORE_CONTESTS
    not_by_influence = [one.name for one in works if one.name not in by_influence]
    parts = [
        _how(results),
        *([f"Not run: {', '.join(missing)}."] if missing else []),
        *([f"Not run by influences: {', '.join(not_by_influence)}."] if not_by_influence else []),
        "## Intervals of D: settings on which they were tuned",
        markdown(interval_rows(found, truths, TUNED + GROUPED)),
        "## Intervals of D: settings not looked at before",
        markdown(interval_rows(found, truths, HELD_OUT)),
        "## Hand and Till's M, and other intervals of D, on the same samples",
        markdown(other_rows(found, truths, TUNED + GROUPED + HELD_OUT)),
        "## Bands",
        markdown(band_rows(found, TUNED + GROUPED + HELD_OUT)),
        "## Two models on the same samples",
        markdown(contest_rows(results["contests"])),
        "## Intervals by influences, on the same samples",
        markdown(_influence_page.influence_rows(results, missed, number, percent)),
        "## Two models by influences, on the same samples",
        markdown(_influence_page.contest_rows(results, missed, percent)),
    ]
    return "\n\n".join(parts)


def _how(results):
    runs = [f"{run['of'].capitalize()}: {run['cores']} cores, {run['device']}." for run in results["runs"]]
    runs = list(dict.fromkeys(runs))
    resamples = {one["resamples"] for kind in ("settings", "contests") for one in results[kind].values()}
    counts = " or ".join(f"{count:,}" for count in sorted(resamples))
    return f"{counts} resamples in each replication; the tables give the number of replications. {' '.join(runs)}"


def interval_rows(found, truths, settings):
    header = ["setting", "k", "n", "smallest class", "true D", "replications", "coverage", "truth below", "truth above"]
    rows = [[*header, "before", "width, before = 1", "goal"]]
    for setting in settings:
        if setting.name not in found:
            continue
        one, true = found[setting.name], truths[setting.name][0]
        sides = one["logit"]
        sizes = [str(setting.n_classes), f"{setting.n_samples:,}", str(min(setting.counts)), number(true)]
        width = np.median(one["width"]) / np.median(one["width before"])
        shares = [percent(np.mean(sides == side)) for side in (0, -1, 1)]
        before = percent(np.mean(one["before"] == 0))
        goal = ", ".join(missed(setting, sides, width, true)) or "met"
        rows.append([setting.name, *sizes, f"{len(sides):,}", *shares, before, f"{width:.2f}", goal])
    return rows


def missed(setting, sides, width, true):
    """What of the goal was missed; two standard errors of the simulation are allowed. Differences have no width."""
    coverage, below, above = (np.mean(sides == side) for side in (0, -1, 1))
    if coverage + 2 * error(coverage, sides) < GOAL[0]:
        yield "covers too little"
    may_cover_more = setting in SEPARATED or setting.hard_pair is not None or true > 0.999
    if not may_cover_more and coverage - 2 * error(coverage, sides) > GOAL[1]:
        yield "covers too much"
    if max(below, above) > SIDE + 2 * error(SIDE, sides):
        yield "one side missed too often"
    if width is not None and setting in PRESENT and width > WIDER:
        yield "wider than wanted"


def error(share, values):
    return np.sqrt(share * (1 - share) / len(values))


def other_rows(found, truths, settings):
    rows = [["setting", "true M", "M", "M, truth below", "M, truth above", "M, delong", "D, percentile", "D, basic"]]
    for setting in settings:
        if setting.name not in found:
            continue
        one = found[setting.name]
        of_m = [percent(np.mean(one["M, logit"] == side)) for side in (0, -1, 1)]
        others = [percent(np.mean(one[name] == 0)) for name in ("M, delong", "percentile", "basic")]
        rows.append([setting.name, number(truths[setting.name][1]), *of_m, *others])
    return rows


def band_rows(found, settings):
    names = ["band, a point", "band, whole", "mean band, a point", "mean band, whole"]
    rows = [["setting", "replications", *names, "goal for whole bands"]]
    for setting in settings:
        if setting.name not in found:
            continue
        one = found[setting.name]
        whole = [one[name] for name in ("band, whole", "mean band, whole")]
        slack = [2 * error(hits.mean(), hits) for hits in whole]
        low = any(hits.mean() + extra < BAND[0] for hits, extra in zip(whole, slack, strict=True))
        high = any(hits.mean() - extra > BAND[1] for hits, extra in zip(whole, slack, strict=True))
        goal = "covers too little" if low else "covers too much" if high else "met"
        shares = [percent(one[name].mean()) for name in names]
        rows.append([setting.name, f"{len(whole[0]):,}", *shares, goal])
    return rows


def contest_rows(contests):
    header = ["two models", "replications", "true difference of D", "D covers", "truth below", "truth above"]
    rows = [[*header, "D significant", "M covers", "M significant", "M, DeLong, significant", "goal for D"]]
    for contest in CONTESTS:
        if contest.name not in contests:
            continue
        one = contests[contest.name]
        values = {name: np.array(x) for name, x in one["found"].items()}
        (first, _), (second, _) = one["truth"]
        shares = [percent(np.mean(values["D"] == side)) for side in (0, -1, 1)]
        shares += [percent(values["D, significant"].mean()), percent(np.mean(values["M"] == 0))]
        shares += [percent(values[f"{name}, significant"].mean()) for name in ("M", "M, DeLong")]
        goal = ", ".join(missed(contest.setting, values["D"], None, max(first, second))) or "met"
        rows.append([contest.name, f"{len(values['D']):,}", f"{first - second:.4f}", *shares, goal])
    return rows


def number(value):
    """Four digits of what is missing to 1."""
    digits = max(4, 3 - int(np.floor(np.log10(1 - value))))
    return f"{value:.{min(digits, 7)}f}"


def percent(value):
    return f"{100 * value:.1f} %"


def markdown(rows):
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, f"| {' | '.join('---' for _ in rows[0])} |")
    return "\n".join(lines)


def write(path, text, begin=BEGIN, end=END):
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    after = rest.partition(end)[2]
    path.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")
