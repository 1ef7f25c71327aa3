"""The dict -> sentences for people who never run Python: what to do, cautions, and what the numbers say in more words.

The advice has about 60 words: which model, how sure that is, how often it is right, where it fails. "Better" and
"backwards" are said of intervals and tests, never of a number alone.
"""

import math
from collections.abc import Sequence
from typing import Any

from polyroc._lib.numbers import counted, difference_and_ends, gap, level, percent, percent_and_ends
from polyroc._lib.text import printable
from polyroc._records import Status
from polyroc.costs._tipping import times
from polyroc.evaluation._text import backwards_note, weighted_by
from polyroc.report._sentences import (
    Model,
    Sentence,
    best_of,
    best_place,
    contenders,
    is_binary,
    joined,
    model_names,
    models_of,
    n_classes,
    name_of,
    of_model,
    of_pair,
    seen_from,
    short_area,
    with_interval,
)

# Models whose accuracy is told one by one.
_MOST_ACCURACIES = 3


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
        verdict: str = summary["verdict"]  # the sentence that the comparison itself says
        unclear = verdict if verdict.startswith("No clear winner") else f"No clear winner. {verdict}"
        return [(unclear,), (*_how_often_of_each(summary), " ", *_where_it_fails(summary, best))]
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
        # Pairs that are ranked forwards and backwards, as of two swapped columns, have a D and M near 1/2, too.
        start = f"Do not rely on these scores: by D they cannot be distinguished from guessing on {classes}"
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


def _how_often_of_each(summary: dict[str, Any]) -> Sentence:
    """The accuracy and D of the models that may be the best."""
    chosen = contenders(summary)[:_MOST_ACCURACIES]
    told: list[Sentence] = []
    for model, key in zip(models_of(summary), summary["evaluations"], strict=True):
        if key not in chosen or model.name is None:
            continue
        right = model.record["accuracy"]
        numbers = f"D {short_area(model.record['auc'])}, M {short_area(model.record['hand_till'])}"
        named = "" if right is None else f" predicts the right class in {percent(right)} of samples"
        told.append((model.name, f"{named} ({numbers})"))
    return (*joined(told), ".")


_HARDEST = 3
# Rivals and models that are told one by one, and notes before the rest is counted.
_MOST_RIVALS = 3
_MOST_MODELS = 4
_MOST_NOTES = 6
# Less than this is no difference that anybody would act on.
_ALIKE = 0.0005
# Less than this is seldom worth another model.
_LITTLE = 0.01
_FEW_SAMPLES = 10


def details(summary: dict[str, Any]) -> list[Sentence]:
    """Findings beyond the advice: how far the models differ, what D is, and which pairs it lacks."""
    models, best = models_of(summary), best_of(summary)
    told = [_rivals(summary)] if summary["kind"] == "comparison" else []
    told.append(_what_d_is(best))
    if not is_binary(summary):
        told.append(_hardest(summary, best, named=len(models) > 1))
    return told + _notes_of_models(summary, best=False)[:_MOST_NOTES]


def disagreement(summary: dict[str, Any]) -> list[Sentence]:
    """How D differs from M, and from D by one threshold for both columns of a pair, with the numbers."""
    if is_binary(summary):
        return [("With two classes there is one pair: D and M are both the ordinary area under the ROC curve.",)]
    models = models_of(summary)
    if summary["options"]["thresholds"] == "difference":
        return [*(_beside_auc_mu(model) for model in models[:_MOST_MODELS]), *_thresholds(models)]
    first = _beside_m(models[0]) if len(models) == 1 else _beside_m_of_each(models)
    weights = weighted_by(summary["options"])
    weighted: list[Sentence] = [(f"D is weighted by {weights}, M is not.",)] if weights else []
    return [first, *weighted, *_thresholds(models)]


def cautions(summary: dict[str, Any]) -> list[Sentence]:
    """Reasons for care: contradictions of the numbers, warnings, and what the numbers themselves tell."""
    warned = [printable(text) for text in summary["warnings"]]
    told = _notes(summary)
    told += [(text,) for text in warned]
    for model in models_of(summary):
        message = Status(model.record["fit"]["status"]).message
        if model.record["fit"]["status"] != Status.CONVERGED and not _said(message, warned):
            told.append((*of_model(model), f"{message} D is not to be relied on."))
        if note := _backwards(model):
            told.append((*of_model(model), note))
    told += [(text,) for text in _resampling_cautions(summary) if not _said(text, warned)]
    return told


def _notes(summary: dict[str, Any]) -> list[Sentence]:
    """Where a pair contradicts D of a model that somebody may use, and where D and M disagree."""
    told = _notes_of_models(summary, best=True)
    if summary["kind"] == "comparison":
        told += [(note,) for note in summary["notes"]]
    if len(told) > _MOST_NOTES:
        rest = f"{len(told) - _MOST_NOTES} more such notes are in the numbers behind the page."
        told = [*told[:_MOST_NOTES], (rest,)]
    return told


def _notes_of_models(summary: dict[str, Any], *, best: bool) -> list[Sentence]:
    """Contradictions of D: of the models that may be the best, or of the others."""
    models = models_of(summary)
    if summary["kind"] != "comparison":
        return [(note,) for note in models[0].record["notes"]] if best else []
    # What is noted of all models alike, such as a diagonal of costs, is said once.
    common = [note for note in models[0].record["notes"] if all(note in one.record["notes"] for one in models)]
    chosen = [summary["best"]] if summary["best"] is not None else contenders(summary)
    told: list[Sentence] = [(f"All models: {note}",) for note in common] if best else []
    for key, model in zip(summary["evaluations"], models, strict=True):
        if (key in chosen) is best:
            told += [(*of_model(model), note) for note in model.record["notes"] if note not in common]
    return told


def _backwards(model: Model) -> str:
    interval = model.record["confidence_interval"]
    return "" if interval is None else backwards_note(model.record["auc"], interval["low"], interval["high"])


def _resampling_cautions(summary: dict[str, Any]) -> list[str]:
    failed = summary["n_not_converged"]
    told = [
        f"{count} of {summary['n_resamples']} replicates did not converge; they count as they ended."
        for count in (failed.values() if isinstance(failed, dict) else [failed])
        if count
    ]
    if summary["n_lost_class"]:
        told.append(f"{counted(summary['n_lost_class'], 'resample')} lacked some class, whose pairs were left out.")
    least = summary["n_independent"]
    if least is not None and least < _FEW_SAMPLES:
        told.append(
            f"Classes of fewer than {_FEW_SAMPLES} samples: the smallest has {least}. These intervals are probably too "
            "narrow: so few samples show little of how they vary."
        )
    return told


def _said(text: str, warned: Sequence[str]) -> bool:
    """Whether a warning began as this text does; what follows, a hint or a list of classes, may differ."""
    return any(one.startswith(text[:30]) for one in warned)


def _what_d_is(best: Model) -> Sentence:
    n_pairs, tpr = len(best.record["pairs"]["auc"]), best.record["operating_point"]["pairs"]
    curve = (
        "the ROC curve" if n_pairs == 1 else f"the one ROC curve that all {n_pairs:,} ordered pairs of classes share"
    )
    meaning = f"D is the area under {curve}: 0.5 is guessing, 1 is perfect."
    if tpr is None:
        return (meaning,)
    fpr = percent(best.record["operating_point"]["fpr"])
    whose: Sentence = () if best.name is None else (" of ", best.name)
    reach = f"from {percent(tpr['low'])} to {percent(tpr['high'])}"
    return (
        f"{meaning} Where {fpr} of the samples of the other class may be called positive, the pairs",
        *whose,
        f" find {percent(tpr['mean'])} of their own samples on average, {reach}.",
    )


def _hardest(summary: dict[str, Any], model: Model, *, named: bool) -> Sentence:
    """Which pairs the gap to a perfect score comes from, with the costs that were given."""
    pairs, costs = model.record["pairs"], summary["pair_costs"]
    gaps = [(1 - auc) * cost for auc, cost in zip(pairs["auc"], costs or [1.0] * len(pairs["auc"]), strict=True)]
    total = sum(gaps)
    if total <= 0:
        return ("Every pair of classes is separated without a mistake.",)
    worst = sorted(range(len(gaps)), key=lambda p: -gaps[p])[:_HARDEST]
    start = ("For ", model.name, " the pairs") if named and model.name is not None else ("The pairs",)
    weighed = "" if costs is None else ", weighted by the costs given"
    told: list[Sentence] = []
    for p in worst:
        cost = "" if costs is None else f", cost {times(costs[p])} times the mean"
        numbers = f" (area {short_area(pairs['auc'][p])}{cost})"
        told.append((name_of(pairs["positive"][p]), " against ", name_of(pairs["negative"][p]), numbers))
    share = percent(sum(gaps[p] for p in worst) / total)
    of_all = f"; these {len(worst)} of {len(gaps):,} pairs account for {share} of the gap to a perfect score"
    return (*start, " of classes that cost most are ", *joined(told), f"{of_all}{weighed}.")


def _rivals(summary: dict[str, Any]) -> Sentence:
    """How far the best is from the others, the nearest first."""
    names = model_names(summary)
    own = list(names)[best_place(summary)]
    apart = [seen_from(own, one) for one in summary["auc"]["differences"] if own in (one["first"], one["second"])]
    apart.sort(key=lambda one: one["value"])
    told: list[Sentence] = []
    for place, one in enumerate(apart[:_MOST_RIVALS]):
        side = "ahead of " if one["value"] >= 0 else "behind "
        how_sure = f"{level(summary['confidence_level'])} interval " if place == 0 else ""
        unsure = ", which contains 0" if one["low"] <= 0 <= one["high"] else ""
        size, low, high = difference_and_ends(one["value"], one["low"], one["high"])
        numbers = f" by {size.lstrip('+-')} ({how_sure}{low} to {high}{unsure})"
        told.append((side, names[one["second"]], numbers))
    rest = len(apart) - _MOST_RIVALS
    more = f"; {counted(rest, 'other')} {'is' if rest == 1 else 'are'} further behind." if rest > 0 else "."
    unclear = any(one["low"] <= 0 <= one["high"] for one in apart[:_MOST_RIVALS])
    verdict = " Where an interval contains 0, these samples do not show which model is better." if unclear else ""
    return ("By D, ", names[own], " is ", *joined(told), f"{more}{verdict}")


def _beside_m(model: Model) -> Sentence:
    d, m = model.record["auc"], model.record["hand_till"]
    mean = f"M ({short_area(m)}), the plain mean of the areas of the pairs"
    if abs(d - m) < _ALIKE:
        return (f"D is within {gap(_ALIKE)} of {mean}: no pairs are much sharper than others.",)
    side = "above" if d > m else "below"
    return (f"D is {gap(d - m)} {side} {mean}. Pairs that are separated well count more in D than in M.",)


def _beside_m_of_each(models: Sequence[Model]) -> Sentence:
    ordered = sorted(models, key=lambda model: model.record["auc"] - model.record["hand_till"])
    told = ordered if len(models) <= _MOST_MODELS else [ordered[0], ordered[-1]]
    parts: list[Sentence] = []
    for model in told:
        d, m = model.record["auc"], model.record["hand_till"]
        parts.append((f"{gap(d - m)} {'above' if d >= m else 'below'} M for ", model.name or ""))
    if len(models) > _MOST_MODELS:
        parts = [("from ", *parts[0], " to ", *parts[1])]
    return ("D is ", *joined(parts), ". Pairs that are separated well count more in D than in the mean M.")


def _beside_auc_mu(model: Model) -> Sentence:
    """The same where pairs are ranked by differences of columns, which M is not: AUCmu is the mean of their areas."""
    d, m, areas = model.record["auc"], model.record["hand_till"], model.record["pairs"]["auc"]
    mu = math.fsum(areas) / len(areas)
    side = "above" if d >= mu else "below"
    apart = f"within {gap(_ALIKE)} of" if abs(d - mu) < _ALIKE else f"{gap(d - mu)} {side}"
    return (
        *of_model(model),
        f"D is {apart} AUCmu ({short_area(mu)}), the plain mean of the areas of the pairs. Both rank a pair by the "
        f"difference of its two score columns. M ({short_area(m)}) ranks by one column at a time.",
    )


def _thresholds(models: Sequence[Model]) -> list[Sentence]:
    """Change of D by one threshold for both columns of a pair."""
    known = [(model, model.record["auc_by_thresholds"]) for model in models if model.record["auc_by_thresholds"]]
    if not known:
        return []
    lost = sorted(((model, areas["own"] - areas["shared"]) for model, areas in known), key=lambda one: one[1])
    start = "With one threshold per pair, D "
    if "difference" in known[0][1]:
        start = "With one threshold per pair instead of one per column, D "
    if len(models) == 1:
        shared = known[0][1]["shared"]
        return [(f"{start}{_moves(lost[0][1])} to {short_area(shared)}{_cause([lost[0][1]])}.",)]
    told = lost if len(lost) <= _MOST_MODELS else [lost[0], lost[-1]]
    parts = joined([(f"{_moves(loss)} for ", model.name or "") for model, loss in told])
    return [(start, *parts, f"{_cause([loss for _, loss in lost])}.")]


def _moves(loss: float) -> str:
    if abs(loss) < _ALIKE:
        return f"moves by less than {gap(_ALIKE)}"
    return f"{'drops' if loss > 0 else 'rises'} by {gap(loss)}"


def _cause(losses: Sequence[float]) -> str:
    """Conclusion from the change of D alone, which does not distinguish its causes."""
    if max(losses) < _ALIKE:
        return ": nothing is lost, so the score columns can share a threshold"
    if max(losses) < _LITTLE:
        return ": little is lost, so the score columns can nearly share a threshold"
    return ". Rare classes, costs or columns on different scales can do that"
