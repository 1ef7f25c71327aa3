"""The dict -> sentences for people who never run Python.

A sentence is a tuple of text and names: names are data, and the template keeps them apart from the text.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from polyroc._containers import one_line
from polyroc._records import Status
from polyroc.report._models import Model, best_of, models_of
from polyroc.report._names import Name, name_of
from polyroc.report._numbers import area, counted, gap, level, percent, probability

Sentence: TypeAlias = tuple[str | Name, ...]

_HARDEST = 3
# Rivals and models that are told one by one.
_MOST_RIVALS = 3
_MOST_MODELS = 4
# Less than this is no difference that anybody would act on.
_ALIKE = 0.0005
_FEW_SAMPLES = 10
_LONGEST_WARNING = 1000


def summary_sentences(summary: dict[str, Any]) -> list[Sentence]:
    """What was found, the most important first."""
    models = models_of(summary)
    best = best_of(summary)
    if summary["kind"] == "comparison":
        first = [_who_is_best(summary), *_rivals(summary), _by_m_too(summary)]
    else:
        first = [_how_good(summary)]
    told = [*first, _what_d_is(best)]
    if not _is_binary(summary):
        told.append(_hardest(summary, best, named=len(models) > 1))
    return told


def disagreement(summary: dict[str, Any]) -> Sentence:
    """What D adds to M, and how far score columns are from being comparable: one sentence with the numbers."""
    if _is_binary(summary):
        return ("With two classes there is one pair, so D and M are the same: the ordinary area under the ROC curve.",)
    models = models_of(summary)
    parts = _beside_m(models[0]) if len(models) == 1 else _beside_m_of_each(models)
    return (*parts, *_thresholds(models), ".")


def cautions(summary: dict[str, Any]) -> list[Sentence]:
    """What bears on how far the numbers can be trusted: what was warned of, and what the numbers themselves tell."""
    warned = [one_line(text, _LONGEST_WARNING) for text in summary["warnings"]]
    told: list[Sentence] = [(text,) for text in warned]
    for model in models_of(summary):
        message = Status(model.record["fit"]["status"]).message
        if model.record["fit"]["status"] != Status.CONVERGED and not _said(message, warned):
            told.append((*_of_model(model), message, " Its D is not to be relied on."))
        if model.record["auc"] < 0.5:
            told.append((*_of_model(model), f"D is {area(model.record['auc'])}, below 0.5: the scores rank backwards."))
    told += [(text,) for text in _resampling_cautions(summary) if not _said(text, warned)]
    return told


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
            f"Classes of fewer than {_FEW_SAMPLES} samples: the smallest has {least}. Intervals are less sure than "
            "they claim, for resamples of so few hardly vary."
        )
    return told


def _said(text: str, warned: Sequence[str]) -> bool:
    """Whether a warning began as this text does; what follows, a hint or a list of classes, may differ."""
    return any(one.startswith(text[:30]) for one in warned)


def _of_model(model: Model) -> Sentence:
    return () if model.name is None else (model.name, ": ")


def _is_binary(summary: dict[str, Any]) -> bool:
    """Two classes by the scores; of three with samples of two there are two ordered pairs, and a fit."""
    return len(models_of(summary)[0].record["pairs"]["auc"]) == 1


def _n_classes(summary: dict[str, Any]) -> int:
    return sum(count > 0 for count in summary["class_counts"])


def _how_good(summary: dict[str, Any]) -> Sentence:
    classes = "the two classes" if _is_binary(summary) else f"the {_n_classes(summary)} classes"
    text = f"The scores tell {classes} apart with an area D of {area(summary['auc'])}"
    return (f"{text} ({_ends(summary['confidence_interval'])}).",)


def _ends(interval: dict[str, Any] | None) -> str:
    if interval is None:
        return "no interval was asked for"
    return f"{level(interval['level'])} interval {area(interval['low'])} to {area(interval['high'])}"


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
        cost = "" if costs is None else f", cost {costs[p]:.2g} times the mean"
        numbers = f" (area {area(pairs['auc'][p])}{cost})"
        told.append((name_of(pairs["positive"][p]), " against ", name_of(pairs["negative"][p]), numbers))
    share = percent(sum(gaps[p] for p in worst) / total)
    of_all = f"; these {len(worst)} of {len(gaps):,} pairs account for {share} of the gap to a perfect score"
    return (*start, " of classes that cost most are ", *_joined(told), f"{of_all}{weighed}.")


def _joined(parts: Sequence[Sentence]) -> Sentence:
    """a, b and c."""
    joined: list[str | Name] = []
    for place, part in enumerate(parts):
        if place:
            joined.append(" and " if place == len(parts) - 1 else ", ")
        joined += part
    return tuple(joined)


def _who_is_best(summary: dict[str, Any]) -> Sentence:
    best = max(summary["auc"]["estimates"], key=lambda one: one["probability_best"])
    share, n_resamples = best["probability_best"], summary["n_resamples"]
    # Models that tie share a resample between them.
    count = f"{share * n_resamples:,.1f}".removesuffix(".0")
    times = f"it has the largest D in {count} of {n_resamples:,} resamples"
    return (name_of(best["model"]), f" ranks highest with probability {probability(share, n_resamples)}: {times}.")


def _rivals(summary: dict[str, Any]) -> list[Sentence]:
    """How far the best is ahead of the others, the nearest first."""
    best = max(summary["auc"]["estimates"], key=lambda one: one["probability_best"])["model"]
    apart = [_from(best, one) for one in summary["auc"]["differences"] if best in (one["first"], one["second"])]
    apart.sort(key=lambda one: one["value"])
    told = []
    for place, one in enumerate(apart[:_MOST_RIVALS]):
        side = "ahead of " if one["value"] >= 0 else "behind "
        how_sure = level(summary["confidence_level"]) + " interval " if place == 0 else ""
        unsure = ", which holds 0" if one["low"] <= 0 <= one["high"] else ""
        ends = f"{_signed(one['low'])} to {_signed(one['high'])}"
        told.append((side, name_of(one["rival"]), f" by {gap(one['value'])} ({how_sure}{ends}{unsure})"))
    rest = len(apart) - _MOST_RIVALS
    more = f"; {counted(rest, 'other')} {'is' if rest == 1 else 'are'} further behind." if rest > 0 else "."
    unclear = any(one["low"] <= 0 <= one["high"] for one in apart[:_MOST_RIVALS])
    verdict = " Where an interval holds 0, the samples do not tell the two models apart." if unclear else ""
    return [("By D it is ", *_joined(told), f"{more}{verdict}")]


def _from(best: str, one: dict[str, Any]) -> dict[str, Any]:
    """A difference as seen from the best model."""
    if one["first"] == best:
        return {"rival": one["second"], "value": one["value"], "low": one["low"], "high": one["high"]}
    return {"rival": one["first"], "value": -one["value"], "low": -one["high"], "high": -one["low"]}


def _signed(value: float) -> str:
    return f"-{gap(value)}" if value < 0 else gap(value)


def _by_m_too(summary: dict[str, Any]) -> Sentence:
    by_d = max(summary["auc"]["estimates"], key=lambda one: one["probability_best"])["model"]
    by_m = max(summary["hand_till"]["estimates"], key=lambda one: one["probability_best"])
    share = probability(by_m["probability_best"], summary["n_resamples"])
    if by_m["model"] == by_d:
        return (f"By Hand and Till's M it ranks highest as well, with probability {share}.",)
    return ("By Hand and Till's M, ", name_of(by_m["model"]), f" ranks highest instead, with probability {share}.")


def _beside_m(model: Model) -> Sentence:
    d, m = model.record["auc"], model.record["hand_till"]
    mean = f"M ({area(m)}), the plain mean of the areas of the pairs"
    if abs(d - m) < _ALIKE:
        return (f"D is within {gap(d - m)} of {mean}, as it is where no pairs are much sharper than others",)
    side = "above" if d > m else "below"
    return (f"D is {gap(d - m)} {side} {mean}, for sharp pairs, those that are told apart well, count more in D",)


def _beside_m_of_each(models: Sequence[Model]) -> Sentence:
    ordered = sorted(models, key=lambda model: model.record["auc"] - model.record["hand_till"])
    told = ordered if len(models) <= _MOST_MODELS else [ordered[0], ordered[-1]]
    parts: list[Sentence] = []
    for model in told:
        d, m = model.record["auc"], model.record["hand_till"]
        parts.append((f"{gap(d - m)} {'above' if d >= m else 'below'} M for ", model.name or ""))
    if len(models) > _MOST_MODELS:
        parts = [("from ", *parts[0], " to ", *parts[1])]
    return (
        "D is ",
        *_joined(parts),
        ", for sharp pairs, those that are told apart well, count more in D than in the mean M",
    )


def _thresholds(models: Sequence[Model]) -> Sentence:
    """What one threshold for both columns of a pair would change."""
    known = [(model, model.record["auc_by_thresholds"]) for model in models if model.record["auc_by_thresholds"]]
    if not known:
        return ()
    lost = [(model, areas["own"] - areas["shared"]) for model, areas in known]
    start = "; with one threshold shared by both columns of a pair D would be "
    if len(models) == 1:
        areas = known[0][1]
        start += f"{area(areas['shared'])} instead of {area(areas['own'])}, "
        return (f"{start}{_lost(lost[0][1])}: {_verdict([lost[0][1]])}",)
    lost.sort(key=lambda one: one[1])
    told = lost if len(lost) <= _MOST_MODELS else [lost[0], lost[-1]]
    parts = _joined([(f"{_lost(loss)} for ", model.name or "") for model, loss in told])
    return (start, *parts, f": {_verdict([loss for _, loss in lost])}")


def _lost(loss: float) -> str:
    if abs(loss) < _ALIKE:
        return "almost the same"
    return f"{gap(loss)} {'less' if loss > 0 else 'more'}"


def _verdict(losses: Sequence[float]) -> str:
    if max(losses) < _ALIKE:
        return "nothing is lost, so the score columns are comparable by one threshold"
    return "so far are the score columns from being comparable by one threshold"
