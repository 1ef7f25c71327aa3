"""The dict -> rows of the tables that the page shows, ready to be laid out."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from polyroc._lib.axes import difference_axis, logit_axis
from polyroc._lib.limits import CLASS_ROWS_FIRST, CLASS_ROWS_ON_PAGE, MATRIX_ON_PAGE, PAIR_ROWS_FIRST
from polyroc._lib.numbers import (
    area,
    area_and_ends,
    difference_and_ends,
    p_value,
    percent,
    percent_and_ends,
    share_of_resamples,
)
from polyroc._lib.text import printable
from polyroc._uncertainty.paired_influence import N_DRAWS
from polyroc.costs._tipping import ALL_FIRST, MEANING, STATISTICS, sentence
from polyroc.evaluation._compared_measures import HOLM_NOTE
from polyroc.evaluation._measures import better, left_out_notes
from polyroc.report._figures import thinned
from polyroc.report._sentences import (
    Model,
    Name,
    Sentence,
    best_place,
    class_names,
    is_binary,
    model_names,
    models_of,
    number_and_ends,
    seen_from,
)

# Of more models, 45 pairs and more, those with the leader are drawn; the rest is folded.
_MOST_MODELS = 10


def drawn_differences(summary: dict[str, Any], statistic: str) -> dict[str, Any]:
    """The axis, the rows that are shown, and the rows that are folded; the first model has the larger area."""
    turned = [
        seen_from(one["first" if one["value"] >= 0 else "second"], one) for one in summary[statistic]["differences"]
    ]
    turned.sort(key=lambda one: -one["value"])
    axis = difference_axis([one[end] for one in turned for end in ("low", "high", "value")])
    leaders = set(summary["evaluations"])
    if len(leaders) > _MOST_MODELS:
        leaders = {max(summary[statistic]["estimates"], key=lambda one: one["value"])["model"]}
    names, n_resamples = model_names(summary), summary["n_resamples"] or None
    rows: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
    for one in turned:
        drawn = {
            "whisker": axis.whisker(one["value"], one["low"], one["high"]),
            "is_clear": not one["low"] <= 0 <= one["high"],
        }
        is_shown = not leaders.isdisjoint((one["first"], one["second"]))
        rows[is_shown].append(_difference_row(one, names, n_resamples, "p_value_holm") | drawn)
    return {"axis": axis.to_dict(), "rows": rows[True], "others": rows[False]}


def _difference_row(
    one: dict[str, Any], names: dict[str, Name], n_resamples: int | None, *p_values: str
) -> dict[str, Any]:
    value, low, high = difference_and_ends(one["value"], one["low"], one["high"])
    texts = [p_value(one[key], n_resamples) for key in p_values]
    return {"models": (names[one["first"]], names[one["second"]]), "numbers": [value, f"{low} to {high}", *texts]}


# Of a curve, where no script fills its table up.
_CURVE_POINTS = 41
_RANKINGS = 10
_MOST_COSTLY = 20
# Models that have room on the first sheet of paper, and from how many models on rows are lower.
_ON_A_SHEET = 10
_DENSE = 6


def pair_rows(summary: dict[str, Any], model: Model) -> list[dict[str, Any]]:
    """The pairs with the smallest areas."""
    pairs, names = model.record["pairs"], class_names(summary)
    return [
        {
            "positive": names[pairs["positive"][p]],
            "negative": names[pairs["negative"][p]],
            "numbers": [
                area(pairs["auc"][p]),
                f"{pairs['effect'][p]:.3f}",
                f"{pairs['n_positive'][p]:,}",
                f"{pairs['n_negative'][p]:,}",
            ],
        }
        for p in model.worst_pairs[:PAIR_ROWS_FIRST]
    ]


def curve_tables(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The points of the curves, one table per model: curves of two classes have points of their own."""
    tables = []
    for model in models_of(summary):
        curve = thinned(model.record["curve"], _CURVE_POINTS)
        columns = [curve["call_rate"], curve["fpr"], curve["tpr"]]
        mean = model.record["mean_curve"]
        if mean is not None:
            # Both curves have the same call rates, so that both are thinned at the same points.
            mean = thinned(mean, _CURVE_POINTS)
            columns += [mean["fpr"], mean["tpr"]]
        rows = [[area(cell) for cell in row] for row in zip(*columns, strict=True)]
        tables.append({"name": model.name, "rows": rows, "has_mean": mean is not None})
    return tables


def score_board(summary: dict[str, Any]) -> dict[str, Any]:
    """D, M, accuracy and the worst pair of each model; D and M of all models also as places on one logit axis."""
    rows = [_board_row(summary, place, model) for place, model in enumerate(models_of(summary))]
    # Of two classes D and M are the same number.
    letters = ("d",) if is_binary(summary) else ("d", "m")
    estimates = [row[letter] for row in rows for letter in letters]
    values = [one[key] for one in estimates for key in ("value", "low", "high") if one[key] is not None]
    axis = logit_axis(values, from_guessing=summary["kind"] == "evaluation")
    for one in estimates:
        one["whisker"] = axis.whisker(one["value"], one["low"], one["high"])
    return {
        "rows": rows,
        "ranked": sorted(rows, key=lambda row: -row["d"]["value"]),
        "letters": letters,
        "axis": axis.to_dict(),
        "on_a_sheet": _ON_A_SHEET,
        "is_dense": len(rows) >= _DENSE,
    }


def _board_row(summary: dict[str, Any], place: int, model: Model) -> dict[str, Any]:
    names, record = class_names(summary), model.record
    worst = record["worst_pair"]
    back = "" if worst["reversed_auc"] is None else area(worst["reversed_auc"])
    return {
        "name": model.name,
        "place": place,
        "d": {"letter": "D", **_estimate(record["auc"], record["confidence_interval"])},
        "m": {"letter": "M", **_estimate(record["hand_till"], record["hand_till_interval"])},
        "right": _accuracy(record),
        "worst": {
            "pair": (names[worst["positive"]], names[worst["negative"]]),
            "area": area(worst["auc"]),
            "reversed": back,
        },
    }


def _estimate(value: float, interval: dict[str, Any] | None) -> dict[str, Any]:
    """A statistic with its interval, as numbers and as text."""
    low, high = (None, None) if interval is None else (interval["low"], interval["high"])
    return {"value": value, "low": low, "high": high, **number_and_ends(value, low, high)}


def _accuracy(record: dict[str, Any]) -> dict[str, str]:
    """How often the prediction is correct, or why that is not known."""
    if record["accuracy"] is None:
        return {"text": "", "ends": "", "note": record["accuracy_note"]}
    if (interval := record["accuracy_interval"]) is None:
        return {"text": percent(record["accuracy"]), "ends": "", "note": ""}
    text, low, high = percent_and_ends(record["accuracy"], interval["low"], interval["high"])
    return {"text": text, "ends": f"{low} to {high}", "note": ""}


def contest_tables(summary: dict[str, Any], statistic: str) -> dict[str, Any]:
    """Estimates, differences and rankings by one statistic."""
    contest, names, n_resamples = summary[statistic], model_names(summary), summary["n_resamples"] or None
    n_draws = n_resamples or N_DRAWS
    estimates = []
    for one in contest["estimates"]:
        number = number_and_ends(one["value"], one["low"], one["high"])
        share = share_of_resamples(one["probability_best"], n_draws)
        numbers = [number["text"], number["ends"], area(one["standard_error"]), share]
        estimates.append({"model": names[one["model"]], "numbers": numbers})
    rankings = contest["rankings"]
    rows = [
        {
            "order": [[names[name] for name in place] for place in one["order"]],
            "share": share_of_resamples(one["probability"], n_draws),
        }
        for one in rankings[:_RANKINGS]
    ]
    rest = sum(one["probability"] for one in rankings[_RANKINGS:])
    return {
        "estimates": estimates,
        "drawn": drawn_differences(summary, statistic),
        "differences": [
            _difference_row(one, names, n_resamples, "p_value", "p_value_holm") for one in contest["differences"]
        ],
        "rankings": rows,
        "n_other_rankings": len(rankings[_RANKINGS:]),
        "other_share": share_of_resamples(rest, n_draws),
    }


def cost_tables(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Costs of confusions and weights of the rates: the matrices that were given."""
    titles = {
        "costs": ("Costs: a row for the true class, a column for the predicted class", "true", "predicted"),
        "tpr_weights": ("Weights of the true positive rates of a pair", "class", "against"),
        "fpr_weights": ("Weights of the false positive rates of a pair", "class", "against"),
    }
    names = list(class_names(summary).values())
    return [
        _cost_table(summary["options"][key], names, *words)
        for key, words in titles.items()
        if summary["options"][key] is not None
    ]


def _cost_table(matrix: list[list[float]], names: list[Name], title: str, row: str, column: str) -> dict[str, Any]:
    places = range(len(names))
    entries = sorted(((matrix[i][j], i, j) for i in places for j in places if i != j), key=lambda entry: -entry[0])
    table: dict[str, Any] = {"title": title, "row": row, "column": column, "matrix": None}
    if len(names) > MATRIX_ON_PAGE:
        return table | {"listed": _listed(entries[:_MOST_COSTLY], names), "rest": _range_of(entries)}
    # As a matrix on a screen, which scrolls; paper does not, so there what differs from the usual value is listed.
    usual, count = Counter(entry[0] for entry in entries).most_common(1)[0]
    cells = [["" if i == j else f"{matrix[i][j]:g}" for j in places] for i in places]
    others = [entry for entry in entries if entry[0] != usual]
    rest = f"{usual:g} for the other {count:,}" if others else f"{usual:g} for every confusion"
    listed = _listed(others if count > 1 else entries, names)
    return table | {"matrix": (names, list(zip(names, cells, strict=True))), "listed": listed, "rest": rest}


def _listed(entries: Sequence[tuple[float, int, int]], names: Sequence[Name]) -> list[tuple[Name, Name, str]]:
    return [(names[i], names[j], f"{cost:g}") for cost, i, j in entries]


def _range_of(entries: Sequence[tuple[float, int, int]]) -> str:
    return f"{len(entries):,} entries from {entries[-1][0]:g} to {entries[0][0]:g}, the largest first"


_DIGITS = 3
_CLASS_NUMBERS = ("recall", "precision", "auc_vs_rest", "mean_pair_auc")


def class_tables(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The model that is looked at first, with all its classes; of the others the classes that are found least often."""
    names, best = class_names(summary), best_place(summary)
    tables = [
        {**_class_table(model, names, whole=place == best), "name": model.name, "is_best": place == best}
        for place, model in enumerate(models_of(summary))
    ]
    return [tables[best], *(table for place, table in enumerate(tables) if place != best)]


def class_columns(summary: dict[str, Any], model: Model) -> dict[str, Any]:
    """Columns from which the script builds the same rows, for another model or another order.

    Numbers come as text: the script sorts by what is shown, and needs no second way to write numbers. Classes are
    positions.
    """
    classes, names = model.record["classes"], class_names(summary)
    position = {label: place for place, label in enumerate(summary["labels"])}
    order = _order(classes)[:CLASS_ROWS_ON_PAGE]
    rows = [_class_row(classes, place, names) for place in order]

    def positions(column: str) -> list[int | None] | None:
        labels = [_at(classes, column, place) for place in order]
        return None if classes.get(column) is None else [None if x is None else position[x] for x in labels]

    def texts(column: str, part: str) -> list[str] | None:
        cells = [row["numbers"][column][part] for row in rows]
        return cells if any(cells) else None

    columns = {name: texts(name, "text") for name in (*_CLASS_NUMBERS, "hardest_auc")}
    ends = {f"{name}_ends": texts(name, "ends") for name in (*_CLASS_NUMBERS, "hardest_auc")}
    return {
        "class": positions("label"),
        "n_predicted": None if classes["n_predicted"] is None else [classes["n_predicted"][place] for place in order],
        **{key: column for key, column in (columns | ends).items() if column is not None},
        "hardest": positions("hardest_partner"),
        "mistaken": positions("mistaken_for"),
        "share": None if classes["recall"] is None else [row["share"] for row in rows],
        "n": len(classes["label"]),
        "notes": classes["notes"],
    }


def _order(classes: dict[str, Any]) -> list[int]:
    """As given; of many the worst first."""
    n = len(classes["label"])
    if n <= CLASS_ROWS_FIRST:
        return list(range(n))
    values = classes["auc_vs_rest" if classes["recall"] is None else "recall"]
    # Classes without samples have no number and come last.
    return sorted(range(n), key=lambda place: (values[place] is None, values[place] or 0.0))


def _class_table(model: Model, names: dict[Any, Name], *, whole: bool) -> dict[str, Any]:
    classes = model.record["classes"]
    n, by_recall = len(classes["label"]), classes["recall"] is not None
    first = _order(classes)
    others = first[CLASS_ROWS_FIRST:CLASS_ROWS_ON_PAGE] if whole else []
    return {
        "rows": [_class_row(classes, place, names) for place in first[:CLASS_ROWS_FIRST]],
        "others": [_class_row(classes, place, names) for place in others],
        "n": n,
        "order": "" if n <= CLASS_ROWS_FIRST else "recall" if by_recall else "area against the rest",
        "order_key": "recall" if by_recall else "auc_vs_rest",
        "has_predictions": by_recall,
        "has_pairs": classes["mean_pair_auc"] is not None,
        "notes": classes["notes"],
    }


def _class_row(classes: dict[str, Any], place: int, names: dict[Any, Name]) -> dict[str, Any]:
    n_samples, n_predicted = classes["n_samples"][place], _at(classes, "n_predicted", place)
    cells = {name: _class_estimate(classes, name, place) for name in (*_CLASS_NUMBERS, "hardest_auc")}
    if n_samples == 0:
        cells["recall"] = {"text": "no samples", "ends": ""}
    if n_predicted == 0:
        cells["precision"] = {"text": "never predicted", "ends": ""}
    share = _at(classes, "mistaken_share", place)
    return {
        "name": names[classes["label"][place]],
        "n_samples": f"{n_samples:,}",
        "n_predicted": "" if n_predicted is None else f"{n_predicted:,}",
        "numbers": cells,
        "hardest": _class_name(classes, "hardest_partner", place, names),
        "mistaken": _class_name(classes, "mistaken_for", place, names),
        "share": "" if share is None else percent(share),
        "is_lost": n_predicted == 0 and n_samples > 0,
    }


def _at(classes: dict[str, Any], column: str, place: int) -> Any:
    values = classes.get(column)
    return None if values is None else values[place]


def _class_name(classes: dict[str, Any], column: str, place: int, names: dict[Any, Name]) -> Name | None:
    label = _at(classes, column, place)
    return None if label is None else names[label]


def _class_estimate(classes: dict[str, Any], column: str, place: int) -> dict[str, str]:
    """A number and the ends of its interval as text; both empty where there is none."""
    value, low, high = (_at(classes, f"{column}{end}", place) for end in ("", "_low", "_high"))
    return {"text": "", "ends": ""} if value is None else number_and_ends(value, low, high, digits=_DIGITS)


def measure_tables(summary: dict[str, Any]) -> dict[str, Any] | None:
    """Rows of measures; None where nobody computed them."""
    measures = summary.get("measures")
    if not measures:
        return None
    rows = measures["measures"]
    common = {
        "notes": [*_measure_notes(rows), *left_out_notes(measures["left_out"])],
        "has_errors": any(row.get("standard_error") is not None for row in rows),
    }
    if summary["kind"] == "evaluation":
        return common | {"models": [], "rows": [_measure_row(row, [row]) for row in rows], "differences": []}
    names = model_names(summary)
    models = [names[one["model"]] for one in rows[0]["estimates"]] if rows else []
    return common | {
        "models": models,
        "rows": [_measure_row(row, row["estimates"]) for row in rows],
        "differences": [
            {"label": row["label"], **_difference_row(one, names, None, "p_value", "p_value_holm")}
            for row in rows
            for one in row["differences"]
        ],
        "holm_note": HOLM_NOTE if sum(bool(row["differences"]) for row in rows) > 1 else "",
    }


def _measure_row(row: dict[str, Any], estimates: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "label": row["label"],
        "estimates": [
            number_and_ends(one["estimate"], one["low"], one["high"])
            | {"error": "" if one["low"] is None else area(one["standard_error"])}
            for one in estimates
        ],
        "better": better(row["higher_is_better"]),
    }


def _measure_notes(rows: list[dict[str, Any]]) -> list[str]:
    """Remarks on single measures."""
    of_models = [(row, one) for row in rows for one in row.get("estimates", ()) if one.get("note")]
    return [
        *(f"{row['label']}: {row['note']}" for row in rows if row.get("note")),
        *(f"{row['label']} of {printable(one['model'])}: {one['note']}" for row, one in of_models),
    ]


_HOW = (
    "This page was made without a list of the costs that would change the order of the models. In Python, "
    "write_html(comparison, path, tipping=comparison.tipping_costs()) adds it."
)


def tipping_rows(summary: dict[str, Any]) -> dict[str, Any] | None:
    """Sentences with numbers, and notes; None for one model, and for two classes, whose order no cost changes."""
    if summary["kind"] != "comparison" or is_binary(summary):
        return None
    tipping = summary.get("tipping")
    if tipping is None:
        return {"rows": [], "notes": [_HOW]}
    if not tipping["entries"]:
        return {"rows": [], "notes": [tipping["note"] or ALL_FIRST]}
    models, classes = model_names(summary), list(class_names(summary).values())
    rows = [_tipping_row(one, models, classes, tipping["largest"]) for one in tipping["entries"]]
    multiplies = [] if summary["options"]["costs"] is None else ["Each factor multiplies the cost that was given."]
    return {"rows": rows, "notes": [*multiplies, MEANING]}


def _tipping_row(one: dict[str, Any], models: dict[str, Name], classes: list[Name], largest: float) -> dict[str, Any]:
    """One entry; where no cost was found, without numbers and without a place in the grid."""
    true, predicted = (None, None) if one["cell"] is None else (classes[place] for place in one["cell"])
    return {
        "sentence": sentence(models[one["model"]], one["statistic"], one["factor"], true, predicted, largest),
        "numbers": () if one["cell"] is None else _at_that_cost(one, models),
        "cell": one["cell"],
        "factor": one["factor"],
    }


def _at_that_cost(one: dict[str, Any], models: dict[str, Name]) -> Sentence:
    """Statistic of both models at that cost."""
    # There they are close: with as many digits as keep them apart.
    value, first_value, _ = area_and_ends(one["value"], one["first_value"], one["first_value"])
    by = STATISTICS[one["statistic"]].removeprefix("the ").capitalize()
    return (f"{by} is then {value}, and {first_value} for ", models[one["first"]], ".")
