"""The dict -> the tables of measures: of one model with standard errors, of several next to each other and paired."""

from typing import Any

from polyroc._lib._names import printable
from polyroc._lib._numbers import area, area_and_ends, difference_and_ends, p_value
from polyroc._measures._compared import HOLM_NOTE
from polyroc._measures._table import better, left_out_notes
from polyroc.report._names import Name, model_names


def measure_tables(summary: dict[str, Any]) -> dict[str, Any] | None:
    """Rows of measures; None where nobody computed them."""
    found = summary.get("measures")
    if not found:
        return None
    rows = found["measures"]
    common = {
        "notes": [*_notes(rows), *left_out_notes(found["left_out"])],
        "has_errors": any(row.get("standard_error") is not None for row in rows),
    }
    if summary["kind"] == "evaluation":
        return common | {"models": [], "rows": [_row(row, [row]) for row in rows], "differences": []}
    names = model_names(summary)
    models = [names[one["model"]] for one in rows[0]["estimates"]] if rows else []
    differences = [_difference(row, one, names) for row in rows for one in row["differences"]]
    return common | {
        "models": models,
        "rows": [_row(row, row["estimates"]) for row in rows],
        "differences": differences,
        "holm_note": HOLM_NOTE if sum(bool(row["differences"]) for row in rows) > 1 else "",
    }


def _row(row: dict[str, Any], estimates: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "label": row["label"],
        "estimates": [_estimate(one) for one in estimates],
        "better": better(row["higher_is_better"]),
    }


def _estimate(one: dict[str, Any]) -> dict[str, str]:
    if one["low"] is None:
        return {"text": area(one["estimate"]), "ends": "", "error": ""}
    text, low, high = area_and_ends(one["estimate"], one["low"], one["high"])
    return {"text": text, "ends": f"{low} to {high}", "error": area(one["standard_error"])}


def _difference(row: dict[str, Any], one: dict[str, Any], names: dict[str, Name]) -> dict[str, Any]:
    value, low, high = difference_and_ends(one["value"], one["low"], one["high"])
    return {
        "label": row["label"],
        "models": (names[one["first"]], names[one["second"]]),
        "numbers": [value, f"{low} to {high}", p_value(one["p_value"]), p_value(one["p_value_holm"])],
    }


def _notes(rows: list[dict[str, Any]]) -> list[str]:
    """What is to be known of single measures."""
    found = [f"{row['label']}: {row['note']}" for row in rows if row.get("note")]
    found += [
        f"{row['label']} of {printable(one['model'])}: {one['note']}"
        for row in rows
        for one in row.get("estimates", ())
        if one.get("note")
    ]
    return found
