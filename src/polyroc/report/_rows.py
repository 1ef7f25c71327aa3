"""The dict -> the tables of classes, one for each model: rows for the page, columns for its script."""

from typing import Any

from polyroc._lib.limits import CLASS_ROWS_FIRST, CLASS_ROWS_ON_PAGE
from polyroc._lib.numbers import area, area_and_ends, difference_and_ends, p_value, percent
from polyroc._lib.text import printable
from polyroc.costs._tipping import ALL_FIRST, MEANING, STATISTICS, sentence
from polyroc.evaluation._compared_measures import HOLM_NOTE
from polyroc.evaluation._measures import better, left_out_notes
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
)

_DIGITS = 3
_NUMBERS = ("recall", "precision", "auc_vs_rest", "mean_pair_auc")


def class_tables(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The model that is looked at first, with all its classes; of the others the classes that are found least often."""
    names, best = class_names(summary), best_place(summary)
    tables = [
        {**_table(model, names, whole=place == best), "name": model.name, "is_best": place == best}
        for place, model in enumerate(models_of(summary))
    ]
    return [tables[best], *(table for place, table in enumerate(tables) if place != best)]


def class_columns(summary: dict[str, Any], model: Model) -> dict[str, Any]:
    """What the script builds the same rows from, when another model is looked at or another order asked for.

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

    columns = {name: texts(name, "text") for name in (*_NUMBERS, "hardest_auc")}
    ends = {f"{name}_ends": texts(name, "ends") for name in (*_NUMBERS, "hardest_auc")}
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


def _table(model: Model, names: dict[Any, Name], *, whole: bool) -> dict[str, Any]:
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
    cells = {name: _class_estimate(classes, name, place) for name in (*_NUMBERS, "hardest_auc")}
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
        "notes": [*_notes(rows), *left_out_notes(measures["left_out"])],
        "has_errors": any(row.get("standard_error") is not None for row in rows),
    }
    if summary["kind"] == "evaluation":
        return common | {"models": [], "rows": [_measure_row(row, [row]) for row in rows], "differences": []}
    names = model_names(summary)
    models = [names[one["model"]] for one in rows[0]["estimates"]] if rows else []
    differences = [_difference(row, one, names) for row in rows for one in row["differences"]]
    return common | {
        "models": models,
        "rows": [_measure_row(row, row["estimates"]) for row in rows],
        "differences": differences,
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


def _difference(row: dict[str, Any], one: dict[str, Any], names: dict[str, Name]) -> dict[str, Any]:
    value, low, high = difference_and_ends(one["value"], one["low"], one["high"])
    return {
        "label": row["label"],
        "models": (names[one["first"]], names[one["second"]]),
        "numbers": [value, f"{low} to {high}", p_value(one["p_value"]), p_value(one["p_value_holm"])],
    }


def _notes(rows: list[dict[str, Any]]) -> list[str]:
    """What is to be known of single measures."""
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
        "numbers": () if one["cell"] is None else _numbers(one, models),
        "cell": one["cell"],
        "factor": one["factor"],
    }


def _numbers(one: dict[str, Any], models: dict[str, Name]) -> Sentence:
    """What both models are worth at that cost."""
    # There they are close: with as many digits as keep them apart.
    value, first_value, _ = area_and_ends(one["value"], one["first_value"], one["first_value"])
    by = STATISTICS[one["statistic"]].removeprefix("the ").capitalize()
    return (f"{by} is then {value}, and {first_value} for ", models[one["first"]], ".")
