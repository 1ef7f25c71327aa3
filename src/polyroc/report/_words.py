"""The dict -> sentences for people who never run Python: cautions, and what the numbers say in more words."""

import math
from collections.abc import Sequence
from typing import Any

from polyroc._lib.numbers import area, counted, difference_and_ends, gap, level, percent
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
    name_of,
    of_model,
    short_area,
)

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
    """What was found beyond the advice: how far the models differ, what D is, and which pairs it lacks."""
    models, best = models_of(summary), best_of(summary)
    told = [_rivals(summary)] if summary["kind"] == "comparison" else []
    told.append(_what_d_is(best))
    if not is_binary(summary):
        told.append(_hardest(summary, best, named=len(models) > 1))
    return told + _notes_of_models(summary, best=False)[:_MOST_NOTES]


def disagreement(summary: dict[str, Any]) -> list[Sentence]:
    """What D adds to M, and what one threshold for both columns of a pair would change, with the numbers."""
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
    """What bears on how far the numbers can be trusted: what contradicts them, what was warned of, what they tell."""
    warned = [printable(text) for text in summary["warnings"]]
    told = _notes(summary)
    told += [(text,) for text in warned]
    for model in models_of(summary):
        message = Status(model.record["fit"]["status"]).message
        if model.record["fit"]["status"] != Status.CONVERGED and not _said(message, warned):
            told.append((*of_model(model), f"{message} D is not to be relied on."))
        if model.is_backwards:
            told.append((*of_model(model), _backwards(model)))
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
    """What contradicts D: of the models that may be the best, or of the others."""
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
    record = model.record
    if record["confidence_interval"] is not None:
        return backwards_note(record["auc"], record["confidence_interval"]["high"])
    return (
        f"D is {area(record['auc'])} and M is {area(record['hand_till'])}, below 1/2: the scores rank backwards. The "
        "score columns may be in another order than the labels."
    )


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
    n_pairs, found = len(best.record["pairs"]["auc"]), best.record["operating_point"]["pairs"]
    curve = (
        "the ROC curve" if n_pairs == 1 else f"the one ROC curve that all {n_pairs:,} ordered pairs of classes share"
    )
    meaning = f"D is the area under {curve}: 0.5 is guessing, 1 is perfect."
    if found is None:
        return (meaning,)
    fpr = percent(best.record["operating_point"]["fpr"])
    whose: Sentence = () if best.name is None else (" of ", best.name)
    reach = f"from {percent(found['low'])} to {percent(found['high'])}"
    return (
        f"{meaning} Where {fpr} of the samples of the other class may be called positive, the pairs",
        *whose,
        f" find {percent(found['mean'])} of their own samples on average, {reach}.",
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
    apart = [_from(own, one) for one in summary["auc"]["differences"] if own in (one["first"], one["second"])]
    apart.sort(key=lambda one: one["value"])
    told: list[Sentence] = []
    for place, one in enumerate(apart[:_MOST_RIVALS]):
        side = "ahead of " if one["value"] >= 0 else "behind "
        how_sure = f"{level(summary['confidence_level'])} interval " if place == 0 else ""
        unsure = ", which contains 0" if one["low"] <= 0 <= one["high"] else ""
        size, low, high = difference_and_ends(one["value"], one["low"], one["high"])
        numbers = f" by {size.lstrip('+-')} ({how_sure}{low} to {high}{unsure})"
        told.append((side, names[one["rival"]], numbers))
    rest = len(apart) - _MOST_RIVALS
    more = f"; {counted(rest, 'other')} {'is' if rest == 1 else 'are'} further behind." if rest > 0 else "."
    unclear = any(one["low"] <= 0 <= one["high"] for one in apart[:_MOST_RIVALS])
    verdict = " Where an interval contains 0, these samples do not show which model is better." if unclear else ""
    return ("By D, ", names[own], " is ", *joined(told), f"{more}{verdict}")


def _from(best: str, one: dict[str, Any]) -> dict[str, Any]:
    """A difference as seen from the best model."""
    if one["first"] == best:
        return {"rival": one["second"], "value": one["value"], "low": one["low"], "high": one["high"]}
    return {"rival": one["first"], "value": -one["value"], "low": -one["high"], "high": -one["low"]}


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
    """What one threshold for both columns of a pair would change."""
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
    """What follows from the change of D alone; which of the possible causes it was does not."""
    if max(losses) < _ALIKE:
        return ": nothing is lost, so the score columns can share a threshold"
    if max(losses) < _LITTLE:
        return ": little is lost, so the score columns can nearly share a threshold"
    return ". Rare classes, costs or columns on different scales can do that"
