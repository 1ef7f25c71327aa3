"""Which model is best, said only where D and M agree on it; and what they disagree on.

A model is best by a statistic where its difference to every other model is significant after Holm's adjustment. How
often it came first among the resamples says less: resamples are centred at the models as measured, lucky or not.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from polyroc._lib._names import printable
from polyroc._lib._numbers import gap, level, p_equals
from polyroc._uncertainty._paired import Contest, Difference

_LETTER = {"auc": "D", "hand_till": "M"}


@dataclass(frozen=True)
class Verdict:
    """What the differences by both statistics allow to say."""

    by_d: Contest
    by_m: Contest
    confidence_level: float
    n_resamples: int | None
    """None where influences took the place of resamples."""
    weighted_by: str = ""
    """What weights D and not M, as `Headline` has it."""

    @property
    def best(self) -> str | None:
        """The model that is best by D and by M; None where there is none."""
        by_d, by_m = (clear_best(contest, self.confidence_level) for contest in (self.by_d, self.by_m))
        return by_d if by_d == by_m else None

    @property
    def sentence(self) -> str:
        """Which model to use, or why none can be named; and what weights D alone."""
        return f"{self._winner} {self.weights}".rstrip()

    @property
    def weights(self) -> str:
        """What weights D and not M, as a sentence; empty if nothing does."""
        return f"D is weighted by {self.weighted_by}, M is not." if self.weighted_by else ""

    @property
    def _winner(self) -> str:
        found = [(contest, clear_best(contest, self.confidence_level)) for contest in (self.by_d, self.by_m)]
        (_, by_d), (_, by_m) = found
        if by_d is not None and by_d == by_m:
            return (
                f"Best by D and by M: {printable(by_d)}. All its differences are significant at "
                f"{level(self.confidence_level)} after Holm's adjustment."
            )
        if by_d is not None and by_m is not None:
            text = f"D and M disagree: D prefers {printable(by_d)}, M prefers {printable(by_m)}"
            return f"{text}. Look at the pairs of classes."
        if by_d is None and by_m is None:
            if all(one.value == 0 for contest, _ in found for one in contest.differences):
                return "No clear winner: D and M are the same for all models."
            leaders = list(dict.fromkeys(_leader(contest) for contest, _ in found))
            if len(leaders) == 1:
                return f"No clear winner: {printable(leaders[0])} leads by D and by M, {self._unclear(*leaders)}."
            text = f"{printable(leaders[0])} leads by D and {printable(leaders[1])} by M, neither significantly"
            return f"No clear winner: {text}."
        (contest, winner), (other, _) = sorted(found, key=lambda one: one[1] is None)
        text = f"{printable(winner)} is best by {_LETTER[contest.statistic]}"
        if (leader := _leader(other)) == winner:
            rivals = _not_below(other, leader, self.confidence_level)
            rest = f"but by {_LETTER[other.statistic]} its lead over {_few(rivals)} is not significant"
        else:
            rest = f"but {printable(leader)} leads by {_LETTER[other.statistic]}, not significantly"
        return f"No clear winner: {text}, {rest}. Look at the pairs of classes."

    def _unclear(self, leader: str) -> str:
        by_d, by_m = (_not_below(contest, leader, self.confidence_level) for contest in (self.by_d, self.by_m))
        return f"but its lead over {_few(list(dict.fromkeys(by_d + by_m)))} is not significant"

    @property
    def notes(self) -> tuple[str, ...]:
        """Where D and M disagree about two models, one sentence each."""
        both = zip(self.by_d.differences, self.by_m.differences, strict=True)
        return tuple(note for d, m in both if (note := self._disagreement(d, m)))

    def _disagreement(self, d: Difference, m: Difference) -> str:
        names = printable(d.first), printable(d.second)
        opposite = d.value * m.value < 0
        sure = _is_significant(d, self.confidence_level), _is_significant(m, self.confidence_level)
        if sure[0] == sure[1]:
            if not opposite:
                return ""
            ordered = names if d.value > 0 else names[::-1]
            how_sure = "both differences are significant" if sure[0] else "neither difference is significant"
            return (
                f"{ordered[0]} is above {ordered[1]} by D ({self._size(d)}) and below it by M ({self._size(m)}); "
                f"{how_sure}. Look at the pairs of classes."
            )
        (one, its), (other, others) = ((d, "D"), (m, "M")) if sure[0] else ((m, "M"), (d, "D"))
        better, worse = names if one.value > 0 else names[::-1]
        against = f"points the other way and is not significant ({self._size(other)})"
        weak = against if opposite else f"is not significant ({self._size(other)})"
        return (
            f"By {its}, {better} is better than {worse} ({self._size(one)}); by {others} the difference {weak}. "
            "Look at the pairs of classes."
        )

    def _size(self, one: Difference) -> str:
        return f"by {gap(one.value)}, {p_equals(one.p_value_holm, self.n_resamples)}"


def clear_best(contest: Contest, confidence_level: float) -> str | None:
    """The model whose lead over every other one is significant after Holm's adjustment; None where there is none."""
    leader = _leader(contest)
    return None if _not_below(contest, leader, confidence_level) else leader


def _leader(contest: Contest) -> str:
    return max(contest.estimates, key=lambda one: one.value).model


def _not_below(contest: Contest, leader: str, confidence_level: float) -> list[str]:
    """The models that are not significantly below the leader."""
    rivals = []
    for one in contest.differences:
        if leader in (one.first, one.second):
            rival, lead = (one.second, one.value) if one.first == leader else (one.first, -one.value)
            if lead <= 0 or not _is_significant(one, confidence_level):
                rivals.append(rival)
    return rivals


def _is_significant(one: Difference, confidence_level: float) -> bool:
    return one.p_value_holm < 1 - confidence_level


def _few(names: Sequence[str]) -> str:
    """a, b and 3 others."""
    told = [printable(name) for name in names]
    if len(told) > 3:
        told = [*told[:2], f"{len(told) - 2} others"]
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"
