"""The dict -> what to do, in about 60 words: which model, how sure that is, how often it is right, where it fails.

"Better" and "backwards" are said of intervals and tests, never of a number alone.
"""

from typing import Any

from polyroc._lib.numbers import level, percent, percent_and_ends
from polyroc._records import Status
from polyroc.evaluation._text import weighted_by
from polyroc.report._sentences import (
    Model,
    Sentence,
    best_of,
    contenders,
    is_binary,
    joined,
    model_names,
    models_of,
    n_classes,
    name_of,
    of_pair,
    short_area,
    with_interval,
)

# Models whose accuracy is told one by one.
_MOST_MODELS = 3


def advice(summary: dict[str, Any]) -> list[Sentence]:
    """First what to do; then the numbers that it rests on."""
    best = best_of(summary)
    if summary["kind"] == "evaluation":
        return [_of_one_model(summary, best), (*_areas(best), " ", *_where_it_fails(summary, best))]
    failed = [model.name for model in models_of(summary) if _failed(model) and model.name is not None]
    if failed:
        whose = joined([(name,) for name in failed])
        return [("No verdict: the fit of ", *whose, " did not converge, so D is not to be relied on.")]
    if summary["best"] is None:
        return [(_without_winner(summary),), (*_how_often_of_each(summary), " ", *_where_it_fails(summary, best))]
    return [_with_winner(summary, best), (*_areas(best), " ", *_where_it_fails(summary, best))]


def _failed(model: Model) -> bool:
    return bool(model.record["fit"]["status"] != Status.CONVERGED)


def _of_one_model(summary: dict[str, Any], model: Model) -> Sentence:
    interval = model.record["confidence_interval"]
    classes = "the two classes" if is_binary(summary) else f"the {n_classes(summary)} classes"
    if _failed(model):
        return (f"No verdict: {_lower(Status(model.record['fit']['status']).message)} D is not to be relied on.",)
    if model.is_backwards:
        start = f"Do not use these scores as they are: they rank {classes} backwards"
        return (f"{start}. The score columns may be in another order than the labels.",)
    how_often = _how_often(model, "They predict")
    if interval is None:
        return (f"These scores were judged on {classes}, without an interval. {how_often}",)
    if interval["low"] <= 0.5:
        start = f"Do not rely on these scores: they cannot be distinguished from guessing on {classes}"
        return (f"{start}. {how_often}",)
    return (f"These scores separate {classes} better than guessing", *_but_hardly(summary, model), f". {how_often}")


def _but_hardly(summary: dict[str, Any], model: Model) -> Sentence:
    """Classes that neither direction separates, which a good D does not notice."""
    if is_binary(summary) or not model.record["low_both_ways"]:
        return ()
    first, second = model.record["low_both_ways"][0]
    return (", but hardly ", name_of(first), " from ", name_of(second))


def _lower(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"


def _how_often(model: Model, start: str) -> str:
    """How often the prediction is correct; readers would otherwise take D for that."""
    right = model.record["accuracy"]
    if right is None:
        return f"How often the prediction is correct is unknown: {_lower(model.record['accuracy_note'])}"
    if (interval := model.record["accuracy_interval"]) is None:
        return f"{start} the right class in {percent(right)} of samples."
    share, low, high = percent_and_ends(right, interval["low"], interval["high"])
    return f"{start} the right class in {share} of samples ({low} to {high})."


def _areas(model: Model) -> Sentence:
    record = model.record
    d = with_interval("D", record["auc"], record["confidence_interval"])
    if len(record["pairs"]["auc"]) == 1:
        return (f"{d}; 0.5 is guessing, 1 is perfect.",)
    m = with_interval("M", record["hand_till"], record["hand_till_interval"], named=False)
    return (f"{d}, {m}; 0.5 is guessing, 1 is perfect.",)


def _where_it_fails(summary: dict[str, Any], model: Model) -> Sentence:
    pair = model.record["worst_pair"]
    if is_binary(summary):
        return ()
    whose: Sentence = (" of ", model.name) if model.name is not None and summary.get("best") is None else ()
    if pair["auc"] == 1:
        return ("No pair of classes", *whose, " is ever confused.")
    back = "" if pair["reversed_auc"] is None else f"; reversed {short_area(pair['reversed_auc'])}"
    return ("The worst pair", *whose, " is ", *of_pair(pair), f" (area {short_area(pair['auc'])}{back}).")


def _with_winner(summary: dict[str, Any], best: Model) -> Sentence:
    others = [name for model, name in model_names(summary).items() if model != summary["best"]]
    several = "both other models" if len(others) == 2 else f"all {len(others)} other models"
    rivals: Sentence = (others[0],) if len(others) == 1 else (several,)
    weights = weighted_by(summary["options"])
    weighted = f" (weighted by {weights})" if weights else ""
    by = "by D" if is_binary(summary) else f"by D{weighted} and by M"
    sure = f", at {level(summary['confidence_level'])} confidence. {_how_often(best, 'It predicts')}"
    return ("Use ", best.name or "", ": it is better than ", *rivals, f" {by}{sure}")


def _without_winner(summary: dict[str, Any]) -> str:
    """The sentence that the comparison itself says."""
    said: str = summary["verdict"]
    return said if said.startswith("No clear winner") else f"No clear winner. {said}"


def _how_often_of_each(summary: dict[str, Any]) -> Sentence:
    """The accuracy and D of the models that may be the best."""
    chosen = contenders(summary)[:_MOST_MODELS]
    told: list[Sentence] = []
    for model, key in zip(models_of(summary), summary["evaluations"], strict=True):
        if key not in chosen or model.name is None:
            continue
        right = model.record["accuracy"]
        numbers = f"D {short_area(model.record['auc'])}, M {short_area(model.record['hand_till'])}"
        named = "" if right is None else f" predicts the right class in {percent(right)} of samples"
        told.append((model.name, f"{named} ({numbers})"))
    return (*joined(told), ".")
