"""The dict -> how the numbers were made: settings, sources and versions as terms with their values."""

from typing import Any

from polyroc._inputs.options import DECLARED
from polyroc._lib.grid import grid
from polyroc._lib.numbers import area, counted, level
from polyroc.report._sentences import Model, Sentence, best_of, class_names, models_of, name_of, plain_text

_SHOWN = 12
_INTERVALS = {
    "logit": "normal on the logit scale",
    "percentile": "quantiles of the replicates",
    "basic": "quantiles reflected at the estimate",
    "bca": "quantiles corrected for bias and skewness",
}


def setting_entries(summary: dict[str, Any]) -> list[tuple[str, Sentence]]:
    """What was asked for, in words."""
    options = summary["options"]
    n_pairs = len(models_of(summary)[0].record["pairs"]["auc"])
    n_call_rates = len(grid(options["n_thresholds"]))
    entries: list[tuple[str, Sentence]] = [
        ("Samples", (_samples(summary),)),
        ("Pairs", (_pairs(n_pairs, options["max_pairs"]),)),
    ]
    if n_pairs > 1:
        entries += [
            ("What a pair counts", (_in_words("weighting", options),)),
            ("Thresholds", (f"{_in_words('thresholds', options)}, on {n_call_rates:,} call rates",)),
            ("Structure of the curve", (f"{_in_words('structure', options)}, shrinkage {options['shrinkage']:g}",)),
            ("Fit", _fits(summary)),
        ]
    return [*entries, ("Resamples", (_resamples(summary),)), *_interval_entries(summary), *source_entries(summary)]


def _in_words(name: str, options: dict[str, Any]) -> str:
    return str(DECLARED[name].metadata["words"][options[name]])


def _samples(summary: dict[str, Any]) -> str:
    present = sum(count > 0 for count in summary["class_counts"])
    weighted = ", with weights" if summary["weighted"] else ""
    absent = len(summary["class_counts"]) - present
    empty = f" ({absent} more without samples)" if absent else ""
    return f"{counted(summary['n_samples'], 'sample')} of {counted(present, 'class')}{empty}{weighted}"


def _pairs(n_pairs: int, max_pairs: int | None) -> str:
    if max_pairs is None:
        return counted(n_pairs, "ordered pair") if n_pairs > 1 else "1 pair"
    return f"{counted(n_pairs, 'ordered pair')}, at most {max_pairs:,} drawn at random"


def _fits(summary: dict[str, Any]) -> Sentence:
    parts: list[Any] = []
    for model in models_of(summary):
        fit = model.record["fit"]
        ending = "converged" if fit["status"] == "converged" else f"NOT converged ({fit['status']})"
        whose = [] if model.name is None else [model.name, " "]
        parts += [*([", "] if parts else []), *whose, f"{ending} after {counted(fit['n_iter'], 'iteration')}"]
    return tuple(parts)


def _resamples(summary: dict[str, Any]) -> str:
    units = f", {counted(summary['n_groups'], 'group')}" if summary["n_groups"] else ""
    if summary["n_resamples"] == 0:
        how = "intervals by influences" if summary["kind"] == "evaluation" else "intervals and p values by influences"
        what = "groups" if summary["by_groups"] else "samples"
        return "none: no interval was asked for" if summary["method"] is None else f"none: {how} of the {what}{units}"
    seed = "seed unknown" if summary["seed"] is None else f"seed {summary['seed']}"
    whole = f", whole groups resampled{units}" if summary["by_groups"] else ""
    because = f", because {why}" if (why := summary.get("resampled_because")) else ""
    return f"{summary['n_resamples']:,}{whole}, {seed}{because}"


def _interval_entries(summary: dict[str, Any]) -> list[tuple[str, Sentence]]:
    interval = models_of(summary)[0].record["confidence_interval"]
    if interval is None:
        return []
    how_sure = level(summary["confidence_level"])
    kind = _INTERVALS[interval["interval"]]
    entries: list[tuple[str, Sentence]] = [("Intervals", (f"{how_sure}, {kind}",))]
    if models_of(summary)[0].record["band"] is not None:
        entries.append(("Band", (f"{how_sure} at each point of the curve by itself",)))
    if interval["method"] not in ("bootstrap", "influence"):
        entries.append(("Replicates", (f"{interval['method']}, which is far too confident",)))
    return entries


def source_entries(summary: dict[str, Any]) -> list[tuple[str, Sentence]]:
    """Where the predictions come from: names, which are data."""
    entries: list[tuple[str, Sentence]] = []
    for key, value in summary["source"].items():
        if value is None:
            continue
        values = value if isinstance(value, list) else [value]
        parts: list[Any] = []
        for one in values[:_SHOWN]:
            parts += [*([", "] if parts else []), name_of(one)]
        more = (f" and {len(values) - _SHOWN} more",) if len(values) > _SHOWN else ()
        entries.append((f"Source: {key}".replace("_", " "), (*parts, *more)))
    return entries


_HARDEST = 5
# What a reader of one sheet has to know of how its numbers were made.
_TERMS = ("What a pair counts", "Thresholds", "Resamples", "Intervals")
_DIGITS = 3
_MATRICES = ("costs", "tpr_weights", "fpr_weights")


def sheet_of(summary: dict[str, Any]) -> dict[str, Any]:
    """The hardest classes and pairs of the model that is looked at first, and the settings in a line."""
    best = best_of(summary)
    told = [f"{term}: {plain_text(value)}." for term, value in setting_entries(summary) if term in _TERMS]
    costs = "as given" if any(summary["options"][key] is not None for key in _MATRICES) else "none given"
    return {
        "name": best.name,
        **_hardest_classes(summary, best),
        "pairs": _hardest_pairs(summary, best),
        "settings": " ".join([*told, f"Costs: {costs}.", f"polyroc {summary['version']}."]),
    }


def _hardest_classes(summary: dict[str, Any], model: Model) -> dict[str, Any]:
    """Those that are found least often; if no class is predicted, those that are ranked worst against the rest."""
    classes, names = model.record["classes"], class_names(summary)
    column, title = ("auc_vs_rest", "area against the rest") if classes["recall"] is None else ("recall", "share found")
    known = [(value, place) for place, value in enumerate(classes[column]) if value is not None]
    rows = [(names[classes["label"][place]], area(value, digits=_DIGITS)) for value, place in sorted(known)[:_HARDEST]]
    return {"classes": rows, "by": title}


def _hardest_pairs(summary: dict[str, Any], model: Model) -> list[tuple[Any, Any, str]]:
    pairs, names = model.record["pairs"], class_names(summary)
    return [
        (names[pairs["positive"][p]], names[pairs["negative"][p]], area(pairs["auc"][p]))
        for p in model.worst_pairs[:_HARDEST]
    ]
