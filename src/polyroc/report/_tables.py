"""The dict -> rows of the tables that the page shows, ready to be laid out."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from polyroc._lib.axes import difference_axis, logit_axis
from polyroc._lib.limits import MATRIX_ON_PAGE, PAIR_ROWS_FIRST
from polyroc._lib.numbers import (
    area,
    difference_and_ends,
    p_value,
    percent,
    percent_and_ends,
    share_of_resamples,
)
from polyroc._uncertainty.paired_influence import N_DRAWS
from polyroc.report._figures import thinned
from polyroc.report._sentences import (
    Model,
    Name,
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
    """What a confusion cost, and the weights of the rates: the matrices that were given."""
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
