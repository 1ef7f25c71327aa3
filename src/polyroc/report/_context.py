"""The dict -> what the template lays out, section by section; here nothing is markup yet."""

import json
import math
from typing import Any

from polyroc._inputs.options import DECLARED
from polyroc._lib.grid import grid
from polyroc._lib.limits import CLASS_ROWS_FIRST, PAIR_ROWS_FIRST, PAIRS_ON_PAGE
from polyroc._lib.numbers import area, counted, level
from polyroc._lib.text import printable, short_names
from polyroc._lib.versions import versions
from polyroc.report._figures import (
    CURVES,
    KINDS,
    curve_numbers,
    curve_svg,
    dash_array,
    draws_all,
    heatmap_areas,
    heatmap_data,
    opening_view,
    themes,
    variables,
)
from polyroc.report._packing import curves_of, packed_pairs
from polyroc.report._sentences import (
    Model,
    Sentence,
    best_of,
    best_place,
    class_names,
    joined,
    model_names,
    models_of,
    n_classes,
    name_of,
    plain_text,
)
from polyroc.report._tables import (
    class_columns,
    class_tables,
    contest_tables,
    cost_tables,
    curve_tables,
    measure_tables,
    pair_rows,
    score_board,
    tipping_rows,
)
from polyroc.report._words import advice, cautions, details, disagreement


def payload(summary: dict[str, Any]) -> dict[str, Any]:
    """Plain data for the script."""
    models, view = models_of(summary), opening_view(summary)
    return {
        "labels": [name.to_dict() for name in class_names(summary).values()],
        "counts": summary["class_counts"],
        "models": [_of_model(summary, model) | curve_numbers(model, place) for place, model in enumerate(models)],
        "selected": best_place(summary),
        "view": "corner" if view.is_corner else "square",
        "decades": view.decades,
        "curve_differences": _numbers_of_differences(summary),
        "heatmap": heatmap_data(summary),
        "kinds": {"curve": True, "mean_curve": draws_all(summary)},
        "themes": themes(),
        "first_rows": PAIR_ROWS_FIRST,
        "first_classes": CLASS_ROWS_FIRST,
        "explorer": summary.get("explorer"),
        # Samples stand on the page only where somebody asked for them and something shows them.
        "decisions": summary.get("decisions") if summary.get("explorer") else None,
    }


def _of_model(summary: dict[str, Any], model: Model) -> dict[str, Any]:
    explored = summary.get("explorer") is not None
    return {
        "name": None if model.name is None else model.name.to_dict(),
        "n_pairs": len(model.record["pairs"]["auc"]),
        "pairs": packed_pairs(summary, model, most=PAIRS_ON_PAGE),
        # In the order of the pairs, once the script has unpacked them: both begin with the smallest area.
        "curves": curves_of(model.record["pair_curves"], are_explored=explored),
        "heatmap": heatmap_areas(summary, model, most=PAIRS_ON_PAGE),
        "classes": class_columns(summary, model),
    }


def embedded(data: Any) -> str:
    r"""JSON that can stand inside a page: nothing in it ends the element that it stands in.

    >>> embedded("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


_PAIR_CURVES = (10, 50, 200)
_TITLE = 200


def context_of(summary: dict[str, Any], title: str | None) -> dict[str, Any]:
    """All sections by name."""
    data = payload(summary)
    explorer, shown = data.get("explorer"), summary["heatmap_classes"]
    return {
        "title": _cut(title) if title and title.strip() else _title(summary),
        "facts": _facts(summary),
        "words": {
            "advice": advice(summary),
            "cautions": cautions(summary),
            "details": details(summary),
            "disagreement": disagreement(summary),
        },
        "board": score_board(summary),
        "sheet": sheet_of(summary),
        "level": level(summary["confidence_level"]),
        "models": [model.name for model in models_of(summary)],
        "selected": best_place(summary),
        "is_comparison": summary["kind"] == "comparison",
        "curve": _curve(summary),
        "pairs": _pairs(summary),
        "heatmap": None if shown is None else {"n": len(shown), "n_all": n_classes(summary)},
        "classes": class_tables(summary),
        "measures": measure_tables(summary),
        "contests": _contests(summary),
        "p_value_note": summary.get("p_value_note", ""),
        "judged_on": "resamples" if summary["n_resamples"] else "samples, by what each sample contributes",
        "share_of": "share of resamples" if summary["n_resamples"] else "share of draws",
        "costs": cost_tables(summary),
        "tipping": tipping_rows(summary),
        "settings": setting_entries(summary),
        # What computed the numbers, and what made the page of them.
        "versions": [*summary["versions"].items(), ("jinja2", versions()["jinja2"])],
        "version": summary["version"],
        "colours": {"light": variables("light"), "dark": variables("dark"), "n": len(CURVES["light"])},
        "dashes": [dash_array("curve", place) for place in range(len(models_of(summary)))],
        "explorer": explorer_section(summary, explorer),
        "explorer_note": summary.get("explorer_note", ""),
        "payload": embedded(data | explorer_names(summary, explorer)),
    }


def _cut(title: str) -> str:
    text = printable(title)
    return text if len(text) <= _TITLE else f"{text[: _TITLE - 1]}…"


def _title(summary: dict[str, Any]) -> str:
    classes = counted(n_classes(summary), "class")
    if summary["kind"] == "comparison":
        return f"{counted(len(summary['models']), 'model')} compared on {classes}"
    is_binary = len(summary["pairs"]["auc"]) == 1
    return "ROC curve for two classes" if is_binary else f"One ROC curve for {classes}"


def _facts(summary: dict[str, Any]) -> list[str]:
    """Sizes behind the numbers, in a line."""
    n_pairs = len(best_of(summary).record["pairs"]["auc"])
    pairs = [counted(n_pairs, "ordered pair")] if n_pairs > 1 else []
    drawn = counted(summary["n_resamples"], "resample") if summary["n_resamples"] else "no resamples"
    groups = [counted(summary["n_groups"], "group")] if summary["n_groups"] else []
    return [counted(summary["n_samples"], "sample"), *groups, counted(n_classes(summary), "class"), *pairs, drawn]


def _curve(summary: dict[str, Any]) -> dict[str, Any]:
    best = best_of(summary).record
    n_curves = 0 if best["pair_curves"] is None else len(best["pair_curves"]["pair"])
    areas = ", ".join(
        area(model.record["auc"]) if model.name is None else f"{model.name.whole} {area(model.record['auc'])}"
        for model in models_of(summary)
    )
    view = opening_view(summary)
    return {
        "svg": curve_svg(summary),
        "least": f"{10.0 ** (2 - view.decades):g} %",
        "differences": _differences(summary),
        "tables": curve_tables(summary),
        "has_band": best["band"] is not None,
        "shows_band": draws_all(summary),
        "has_mean": best["mean_curve"] is not None,
        "has_mean_band": best["mean_band"] is not None,
        "mean_name": _mean_name(summary["options"]["thresholds"], best),
        "mean_areas": [area(model.record["mean_auc"]) for model in models_of(summary)],
        "pair_choices": sorted({min(count, n_curves) for count in _PAIR_CURVES} - {0}),
        "alt": f"ROC curve. Area D: {areas}. Its numbers are in the table that follows.",
    }


def _numbers_of_differences(summary: dict[str, Any]) -> dict[str, Any] | None:
    """For the script: models by their places."""
    differences, places = summary.get("curve_differences"), list(summary.get("evaluations", []))
    if not differences:
        return None
    pairs = [
        {"models": [places.index(one["first"]), places.index(one["second"])]} | {kind: one[kind] for kind in KINDS}
        for one in differences["pairs"]
    ]
    return {"call_rate": differences["call_rate"], "pairs": pairs}


def _differences(summary: dict[str, Any]) -> dict[str, Any] | None:
    """Which differences of curves there are to choose from."""
    differences = summary.get("curve_differences")
    if not differences:
        return None
    names = model_names(summary)
    pairs = [(names[one["first"]], names[one["second"]]) for one in differences["pairs"]]
    return {"pairs": pairs, "has_mean": differences["pairs"][0]["mean_curve"] is not None}


def _mean_name(thresholds: str, record: dict[str, Any]) -> str:
    """Name of the area under the mean curve; empty with costs, weights of pairs or shared thresholds."""
    if thresholds == "difference":
        areas = record["pairs"]["auc"]
        # The plain mean, or one by weights, which may be the same number where all pairs are.
        return "AUCmu" if math.isclose(record["mean_auc"], math.fsum(areas) / len(areas), rel_tol=1e-12) else ""
    return "M" if record["mean_auc"] == record["hand_till"] else ""


def _pairs(summary: dict[str, Any]) -> dict[str, Any]:
    best = best_of(summary)
    n_pairs = len(best.record["pairs"]["auc"])
    return {
        "rows": pair_rows(summary, best),
        "n": n_pairs,
        "n_first": min(n_pairs, PAIR_ROWS_FIRST),
        "n_held": min(n_pairs, PAIRS_ON_PAGE),
        "is_centered": summary["options"]["structure"] == "centered",
    }


def _contests(summary: dict[str, Any]) -> list[dict[str, Any]]:
    if summary["kind"] != "comparison":
        return []
    names = {"auc": ("D", "By D, the area under the shared curve"), "hand_till": ("M", "By Hand and Till's M")}
    return [
        {"letter": letter, "title": title, **contest_tables(summary, key)} for key, (letter, title) in names.items()
    ]


# The cost explorer

_WHAT: Sentence = (
    "What predictions cost per sample at these costs and shares, judged on the same samples: point estimates, in which "
    "a mistake that these samples do not show costs nothing. The right class costs 0.",
)
_RULES: Sentence = (
    "The class of the lowest expected cost is predicted, with scores taken as probabilities. The last column predicts "
    "the class of the highest score, whatever mistakes cost.",
)
_CONTAINS: Sentence = (
    "This page contains true classes and scores of single samples. Send it only to people who may see them.",
)


def decision_words(summary: dict[str, Any]) -> dict[str, list[Sentence]] | None:
    """Sentences on the costs of decisions, and on what the page contains because of them; None if it has none."""
    decisions = summary.get("decisions")
    if decisions is None:
        return None
    free = [model for model, one in zip(models_of(summary), decisions["models"], strict=True) if one["scores"] is None]
    if len(free) == len(decisions["models"]):
        rule = "The class of the highest score is predicted, because the scores are not probabilities."
        table = "For that the page contains a table of true and predicted classes, and no scores of single samples."
        return {"what": [_WHAT, (rule,)], "contains": [(table,)]}
    said = [_WHAT, _RULES]
    if free:
        names = joined([(model.name,) for model in free if model.name is not None])
        said.append(("The scores of ", *names, " are not probabilities, so only the highest score is judged."))
    if decisions["n_rows"] < decisions["n_samples"]:
        drawn, all_samples = f"{decisions['n_rows']:,}", counted(decisions["n_samples"], "sample")
        said.append((f"These costs are judged on a random sample of {drawn} of the {all_samples} (seed 0).",))
    return {"what": said, "contains": [_CONTAINS]}


# Letters of a name along a side of the grid.
_LETTERS = 14
# Above these the cells have no room for numbers, and above the second the controls stand over the grid.
_WIDE, _NUMBERED = 12, 20


def explorer_section(summary: dict[str, Any], explorer: dict[str, Any] | None) -> dict[str, Any] | None:
    """The shell of the cost explorer; None where the page does not carry the rates of all pairs."""
    if explorer is None:
        return None
    k = len(explorer["classes"])
    return {
        "k": k,
        "n_models": len(models_of(summary)),
        "n_left_out": len(summary["labels"]) - k,
        "given": summary["options"]["costs"] is not None,
        "size": "wide" if k <= _WIDE else "medium" if k <= _NUMBERED else "small",
        "decisions": decision_words(summary),
        "judged": [{key: area(one[key]) for key in ("auc", "mean_auc")} for one in explorer["models"]],
    }


def explorer_names(summary: dict[str, Any], explorer: dict[str, Any] | None) -> dict[str, dict[str, list[str]]]:
    """All classes: for the sides of the grid, and letter by letter for a file that `--costs` reads."""
    if explorer is None:
        return {}
    labels = summary["labels"]
    return {"explorer_names": {"short": short_names(labels, _LETTERS), "exact": [_exact(label) for label in labels]}}


def _exact(label: Any) -> str:
    """As the command line calls a class; it knows booleans in small letters."""
    return str(label).lower() if isinstance(label, bool) else str(label)


# How the numbers were made: settings and sources as terms with their values; and the rest of the first printed sheet

_SHOWN = 12
_INTERVALS = {
    "logit": "normal on the logit scale",
    "percentile": "quantiles of the replicates",
    "basic": "quantiles reflected at the estimate",
    "bca": "quantiles corrected for bias and skewness",
}


def setting_entries(summary: dict[str, Any]) -> list[tuple[str, Sentence]]:
    """Settings in words."""
    options = summary["options"]
    n_pairs = len(models_of(summary)[0].record["pairs"]["auc"])
    n_call_rates = len(grid(options["n_thresholds"]))
    entries: list[tuple[str, Sentence]] = [
        ("Samples", (_samples(summary),)),
        ("Pairs", (_number_of_pairs(n_pairs, options["max_pairs"]),)),
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


def _number_of_pairs(n_pairs: int, max_pairs: int | None) -> str:
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
