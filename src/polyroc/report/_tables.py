"""The dict -> rows of the tables that the page shows, ready to be laid out."""

import math
from collections.abc import Sequence
from typing import Any

from polyroc.report._figures import thinned
from polyroc.report._models import Model, models_of
from polyroc.report._names import Name, name_of
from polyroc.report._numbers import p_value, percent

# Rows that are there when the page opens; the script has the rest.
WORST = 200
_CURVE_POINTS = 113
_RANKINGS = 10
# A matrix of more classes is told by its dearest entries.
_MATRIX = 12
_DEAREST = 20
_SHORTEST_SCALE = 0.02


def pair_rows(model: Model) -> list[dict[str, Any]]:
    """The pairs with the smallest areas."""
    pairs = model.record["pairs"]
    return [
        {
            "positive": name_of(pairs["positive"][p]),
            "negative": name_of(pairs["negative"][p]),
            "numbers": [
                f"{pairs['auc'][p]:.4f}",
                f"{pairs['effect'][p]:.3f}",
                f"{pairs['n_positive'][p]:,}",
                f"{pairs['n_negative'][p]:,}",
            ],
        }
        for p in model.worst_pairs[:WORST]
    ]


def curve_tables(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The points of the curves, one table per model: curves of two classes have points of their own."""
    tables = []
    for model in models_of(summary):
        curve = thinned(model.record["curve"], _CURVE_POINTS)
        columns = zip(curve["call_rate"], curve["fpr"], curve["tpr"], strict=True)
        rows = [[f"{rate:.4f}", f"{fpr:.4f}", f"{tpr:.4f}"] for rate, fpr, tpr in columns]
        tables.append({"name": model.name, "rows": rows})
    return tables


def score_board(summary: dict[str, Any]) -> dict[str, Any]:
    """D and M of each model as numbers and as places on a scale."""
    rows = []
    for place, model in enumerate(models_of(summary)):
        record = model.record
        entry: dict[str, Any] = {"name": model.name, "place": place, "best": None}
        entry["d"] = _estimate(record["auc"], record["confidence_interval"])
        entry["m"] = _estimate(record["hand_till"], record["hand_till_interval"])
        if summary["kind"] == "comparison":
            entry["best"] = percent(summary["auc"]["estimates"][place]["probability_best"])
        rows.append(entry)
    # The page shows M of several models without a scale.
    whole = summary["kind"] == "evaluation"
    low, high = _scale(rows, whole=whole)
    for row in rows:
        for one in (row["d"], row["m"]) if whole else (row["d"],):
            ends = [one["low"], one["high"]] if one["low"] is not None else [one["value"], one["value"]]
            at, first, last = (100 * (value - low) / (high - low) for value in (one["value"], *ends))
            one |= {"at": round(at, 2), "first": round(first, 2), "length": round(last - first, 2)}
    return {"rows": rows, "low": f"{low:.2f}", "high": f"{high:.2f}"}


def _estimate(value: float, interval: dict[str, Any] | None) -> dict[str, Any]:
    ends = (None, None) if interval is None else (interval["low"], interval["high"])
    return {"value": value, "low": ends[0], "high": ends[1]}


def _scale(rows: Sequence[dict[str, Any]], *, whole: bool) -> tuple[float, float]:
    """From guessing to perfect for one model; for several, as far as they reach, in hundredths."""
    if whole:
        lowest = min(x for one in (rows[0]["d"], rows[0]["m"]) for x in one.values() if x is not None)
        return (0.5, 1.0) if lowest >= 0.5 else (0.0, 1.0)
    found = [x for row in rows for x in row["d"].values() if x is not None]
    low, high = math.floor(100 * min(found)) / 100, math.ceil(100 * max(found)) / 100
    return (low, high) if high - low >= _SHORTEST_SCALE else (max(0.0, low - 0.01), min(1.0, high + 0.01))


def contest_tables(contest: dict[str, Any]) -> dict[str, Any]:
    """Estimates, differences and rankings by one statistic."""
    estimates = [
        {
            "model": name_of(one["model"]),
            "value": f"{one['value']:.4f}",
            "ends": _ends(one),
            "standard_error": f"{one['standard_error']:.4f}",
            "best": percent(one["probability_best"]),
        }
        for one in contest["estimates"]
    ]
    differences = [
        {
            "first": name_of(one["first"]),
            "second": name_of(one["second"]),
            "numbers": [f"{one['value']:+.4f}", _ends(one), p_value(one["p_value"]), p_value(one["p_value_holm"])],
        }
        for one in contest["differences"]
    ]
    rankings = contest["rankings"]
    rows = [
        {"order": [[name_of(name) for name in place] for place in one["order"]], "share": percent(one["probability"])}
        for one in rankings[:_RANKINGS]
    ]
    rest = sum(one["probability"] for one in rankings[_RANKINGS:])
    return {
        "estimates": estimates,
        "differences": differences,
        "rankings": rows,
        "n_other_rankings": len(rankings[_RANKINGS:]),
        "other_share": percent(rest),
    }


def _ends(one: dict[str, Any]) -> str:
    return f"{one['low']:.4f} to {one['high']:.4f}"


def cost_tables(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """What a confusion cost, and the weights of the rates: the matrices that were given."""
    titles = {
        "costs": ("Costs: a row for the true class, a column for the class it is taken for", "true", "taken for"),
        "tpr_weights": ("Weights of the true positive rates of a pair", "class", "against"),
        "fpr_weights": ("Weights of the false positive rates of a pair", "class", "against"),
    }
    names = [name_of(label) for label in summary["labels"]]
    return [
        _cost_table(summary["options"][key], names, *words)
        for key, words in titles.items()
        if summary["options"][key] is not None
    ]


def _cost_table(matrix: list[list[float]], names: list[Name], title: str, row: str, column: str) -> dict[str, Any]:
    table: dict[str, Any] = {"title": title, "row": row, "column": column}
    places = range(len(names))
    if len(names) <= _MATRIX:
        cells = [["" if i == j else f"{matrix[i][j]:g}" for j in places] for i in places]
        return table | {"header": names, "rows": list(zip(names, cells, strict=True)), "dearest": None}
    entries = sorted(((matrix[i][j], i, j) for i in places for j in places if i != j), key=lambda entry: -entry[0])
    lowest, highest = entries[-1][0], entries[0][0]
    dearest = [(names[i], names[j], f"{cost:g}") for cost, i, j in entries[:_DEAREST]]
    return table | {"dearest": dearest, "range": f"from {lowest:g} to {highest:g}", "n_entries": f"{len(entries):,}"}
