"""Tables of docs/coverage.md on what influences give, next to the bootstrap on the same samples."""

import numpy as np

from studies._settings import CONTESTS, GROUPED, HELD_OUT, MORE_CONTESTS, TUNED, VARIANTS

# Of tests between equally good models, at a level of 5 %.
TYPE_ONE = (0.035, 0.065)
# From this many samples of every class on, an interval has a goal.
ENOUGH = 20
# D agrees with that of the other implementation at least so far if the samples are the same.
_SAME = 1e-6


def influence_rows(results, missed, number, percent):
    """Intervals of D and M; `missed` judges sides, as in the other tables."""
    header = ["setting", "true D", "bootstrap covers", "given to the bootstrap", "influence covers", "truth below"]
    header += ["truth above", "width, bootstrap = 1", "formula forced", "both as `auto` takes them", "M covers", "goal"]
    rows = [header]
    for one in TUNED + GROUPED + HELD_OUT + VARIANTS:
        if one.name not in results.get("influence", {}):
            continue
        setting = getattr(one, "setting", one)
        entry = results["influence"][one.name]
        found, (true, true_m) = _arrays(entry), entry["truth"]
        boot = beside(found, results["settings"].get(one.name))
        by_formula = sides(found, "D", true)
        takes = found["note"] == 0
        auto = by_formula
        if boot is not None:
            both = len(boot["logit"])
            auto = np.where(takes[:both], by_formula[:both], boot["logit"])
        rest = by_formula[takes]
        shares = [percent(np.mean(rest == side)) if len(rest) else "-" for side in (0, -1, 1)]
        cells = ["-" if boot is None else percent(np.mean(boot["logit"] == 0)), percent(np.mean(~takes)), *shares]
        cells += ["-" if boot is None else f"{width_ratio(found, boot):.2f}", percent(np.mean(by_formula == 0))]
        cells += [percent(np.mean(auto == 0)), percent(np.mean(sides(found, "M", true_m) == 0))]
        goal = ", ".join(missed(setting, auto, None, true)) or "met"
        rows.append([one.name, number(true), *cells, goal if min(setting.counts) >= ENOUGH else f"{goal} (no goal)"])
    return rows


def contest_rows(results, missed, percent):
    header = [
        "two models",
        "true difference of D",
        "bootstrap covers",
        "influence covers",
        "truth below",
        "truth above",
    ]
    header += ["bootstrap significant", "influence significant", "given to the bootstrap", "M significant"]
    rows = [[*header, "goal"]]
    for one in CONTESTS + MORE_CONTESTS:
        if one.name not in results.get("influence contests", {}):
            continue
        entry = results["influence contests"][one.name]
        found, ((first, _), (second, _)) = _arrays(entry), entry["truth"]
        judged = sides(found, "D", first - second)
        shares = [percent(np.mean(judged == side)) for side in (0, -1, 1)]
        rejected = np.mean(found["D, p"] < 0.05)
        other = results["contests"].get(one.name)
        boot = ["-", "-"]
        if other is not None:
            values = _arrays(other)
            boot = [percent(np.mean(values["D"] == 0)), percent(np.mean(values["D, significant"]))]
        cells = [f"{first - second:.4f}", boot[0], *shares, boot[1], percent(rejected)]
        cells += [percent(np.mean(found["note"] > 0)), percent(np.mean(found["M, p"] < 0.05))]
        reasons = list(missed(one.setting, judged, None, max(first, second)))
        if first == second:
            reasons += type_one(rejected)
        rows.append([one.name, *cells, ", ".join(reasons) or "met"])
    return rows


def type_one(rejected):
    """What of the goal for equally good models was missed."""
    if rejected < TYPE_ONE[0]:
        yield "rejects too rarely"
    if rejected > TYPE_ONE[1]:
        yield "rejects too often"


def _arrays(entry):
    return {name: np.array(values) for name, values in entry["found"].items()}


def beside(found, entry):
    """What the bootstrap found on the same samples; None where it was not run."""
    if entry is None or "logit" not in entry["found"]:
        return None
    boot = _arrays(entry)
    both = min(len(boot["D"]), len(found["D"]))
    if np.abs(boot["D"][:both] - found["D"][:both]).max() > _SAME:
        msg = "The samples of both studies must be the same: run them with the same seeds."
        raise ValueError(msg)
    return {name: values[:both] for name, values in boot.items() if len(values) >= both}


def width_ratio(found, boot):
    """Median of the ratio of both widths on the same sample, of samples that influences take."""
    both = len(boot["width"])
    width = (found["D, high"] - found["D, low"])[:both]
    takes = found["note"][:both] == 0 if np.any(found["note"][:both] == 0) else np.ones(both, dtype=bool)
    return np.median(width[takes] / boot["width"][takes])


def sides(found, name, true):
    """Where the truth lies: -1 below an interval, 1 above it, 0 inside; but for rounding of an area that is 1."""
    below, above = true < found[f"{name}, low"] - 1e-12, true > found[f"{name}, high"] + 1e-12
    return above.astype(int) - below.astype(int)
