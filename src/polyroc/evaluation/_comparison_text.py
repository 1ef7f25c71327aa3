"""A comparison as tables: models, differences, and how often each order of the models occurred."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from polyroc._lib.numbers import (
    area,
    area_and_ends,
    counted,
    difference_and_ends,
    gap,
    level,
    p_equals,
    p_value,
    share_of_resamples,
)
from polyroc._lib.text import aligned, printable, short_names, wrapped
from polyroc._uncertainty.paired import Contest, Difference, RankIntervals
from polyroc._uncertainty.paired_influence import N_DRAWS
from polyroc.evaluation._text import Curves, Headline, backwards_note, comparison_html, model_whiskers

if TYPE_CHECKING:
    from polyroc.evaluation._comparison import Comparison

_LETTER = {"auc": "D", "hand_till": "M"}


@dataclass(frozen=True)
class Verdict:
    """Verdict by the differences of both statistics."""

    by_d: Contest
    by_m: Contest
    confidence_level: float
    n_resamples: int | None
    """None where influences took the place of resamples."""
    weighted_by: str = ""
    """Name of the weights of D that M does not have, as in `Headline`."""

    @property
    def best(self) -> str | None:
        """The model that is best by D and by M; None where there is none."""
        by_d, by_m = (clear_best(contest, self.confidence_level) for contest in (self.by_d, self.by_m))
        return by_d if by_d == by_m else None

    @property
    def sentence(self) -> str:
        """Which model to use, or why there is none; and what weights D alone."""
        return f"{self._winner} {self.weights}".rstrip()

    @property
    def weights(self) -> str:
        """The weights of D that M does not have, as a sentence; empty if there are none."""
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


# Of many models most rankings occur once or twice, and many pairs disagree: the record has them all.
_RANKINGS = 6
_NOTES = 4
# Of this many models ranks are told, and of those that may be the best this many by name.
_LEADERBOARD = 4
_TIED = 6
# Letters of a name in a table of models, of differences, and of all names in a line of the table of orders.
_NAME, _OF_TWO, _ORDER = 30, 24, 80
_CLASS = 16


@dataclass(frozen=True)
class ComparisonText:
    """A comparison as tables and sentences."""

    comparison: "Comparison"

    @cached_property
    def headlines(self) -> dict[str, Headline]:
        return {name: one.headline for name, one in self.comparison.evaluations.items()}

    @property
    def n_resamples(self) -> int | None:
        """None by influences."""
        return self.comparison.n_resamples or None

    @property
    def ranks(self) -> RankIntervals | None:
        """Ranks by D; None of models that are few enough to read all differences."""
        return self.comparison.rank_intervals() if len(self.headlines) >= _LEADERBOARD else None

    @property
    def sizes(self) -> str:
        """How much was judged."""
        return next(iter(self.headlines.values())).sized(self.comparison.n_groups)

    @property
    def how(self) -> str:
        """Where intervals and p values come from."""
        if self.n_resamples is None:
            return f"influences of the {self._units}s, no resampling"
        seed = "" if self.comparison.seed is None else f" (seed {self.comparison.seed})"
        return f"{counted(self.n_resamples, 'paired resample')}{seed}"

    @property
    def _units(self) -> str:
        return "sample" if self.comparison.n_groups is None else "group"

    @property
    def titles(self) -> tuple[str, str]:
        """Title lines: the models and samples, and the method."""
        verdict = self.comparison.verdict
        by = f", D weighted by {verdict.weighted_by}, M not" if verdict.weighted_by else ""
        sure = f"{level(verdict.confidence_level)} {self.comparison.interval} intervals{by}"
        return (
            f"Comparison of {counted(len(self.headlines), 'model')} on {self.sizes}",
            f"{self.how[0].upper()}{self.how[1:]}, {sure}",
        )

    @property
    def sentences(self) -> list[str]:
        """The verdict, then what contradicts it or is to be known of the numbers."""
        notes = list(self.comparison.verdict.notes)
        if len(notes) > _NOTES:
            notes = [*notes[:_NOTES], f"{len(notes) - _NOTES} more such notes are in `comparison.notes`."]
        for one in self.comparison.by_auc.estimates:
            of_model = (backwards_note(one.value, one.low, one.high), *self.headlines[one.model].cautions)
            notes += [f"{printable(one.model)}: {note}" for note in of_model if note]
        told = [" ".join(filter(None, [self.comparison.verdict.sentence, self.tie])), *notes]
        if self.comparison.anytime is not None:
            told.append(
                "Differences hold at any number of looks: look after every batch and stop when you like. They are "
                f"tightest near {counted(self.comparison.anytime, self._units)}, which must not be changed between "
                "looks."
            )
        differences = self.comparison.by_auc.differences + self.comparison.by_hand_till.differences
        if self.p_value_note and any(one.p_value < self._counted for one in differences):
            told.append(self.p_value_note)
        return told

    @property
    def tie(self) -> str:
        """Which models may be the best by D; empty where it is a single one, or where few models were compared."""
        if self.ranks is None or len(tied := self.ranks.tied_with_best) == 1:
            return ""
        sure = f"({level(self.ranks.confidence_level)}, all ranks together)"
        if len(tied) == len(self.ranks):
            return f"By D, any of the {len(tied)} models may have rank 1 {sure}."
        names = [printable(name) for name in tied]
        if len(names) > _TIED:
            names = [*names[: _TIED - 1], f"{len(names) - _TIED + 1} others"]
        among = f"{', '.join(names[:-1])} and {names[-1]}"
        return f"By D, {len(tied)} of {len(self.ranks)} models may have rank 1 {sure}: {among}."

    @property
    def _counted(self) -> float:
        return 0.0 if self.n_resamples is None else 1 / (self.n_resamples + 1)

    @property
    def p_value_note(self) -> str:
        """Origin of small p values; empty if they are counted in the resamples."""
        if self.comparison.interval != "logit" or self.n_resamples is None:
            return ""
        return (
            f"p values below {p_value(self._counted)}, one in {self.n_resamples + 1:,}, are extrapolated: the "
            "resamples give the standard error, and Student's t distribution the tail."
        )

    def estimate_rows(self) -> list[list[str]]:
        """D, M, accuracy and the worst pair of each model."""
        rows = [["model", "D", "interval", "M", "interval", "accuracy", "worst pair, reversed"]]
        several = next(iter(self.headlines.values())).n_pairs > 1
        names = short_names(list(self.headlines), _NAME)
        classes = [x for one in self.headlines.values() for x in (one.worst_pair.positive, one.worst_pair.negative)]
        short = dict(zip(map(str, classes), short_names(classes, _CLASS), strict=True))
        for name, d, m in zip(
            names, self.comparison.by_auc.estimates, self.comparison.by_hand_till.estimates, strict=True
        ):
            headline = self.headlines[d.model]
            pair, right = headline.worst_pair, headline.accuracy
            back = "" if headline.worst_reversed is None else f", {area(headline.worst_reversed)}"
            worst = f"{area(pair.auc)} ({short[str(pair.positive)]} against {short[str(pair.negative)]}){back}"
            cells = [cell for one in (d, m) for cell in _with_ends(area_and_ends(one.value, one.low, one.high))]
            rows.append([name, *cells, "none" if right is None else area(right), worst])
        # Two classes have one pair, whose area is D.
        rows = rows if several else [row[:-1] for row in rows]
        if self.ranks is not None:
            for row, cell in zip(rows, ["rank by D", *map(str, self.ranks)], strict=True):
                row.insert(5, cell)
        return rows

    def difference_rows(self, name_width: int = _OF_TWO) -> list[list[str]]:
        """The difference of each two models, by D and below it by M."""
        rows = [["difference", "of", "value", "interval", "p", "p (Holm)"]]
        short = self._short(name_width)
        for d, m in zip(self.comparison.by_auc.differences, self.comparison.by_hand_till.differences, strict=True):
            rows.append([f"{short[d.first]} - {short[d.second]}", "D", *self._cells(d)])
            rows.append(["", "M", *self._cells(m)])
        return rows

    def _cells(self, one: Difference) -> list[str]:
        p_values = [p_value(p, self.n_resamples) for p in (one.p_value, one.p_value_holm)]
        return [*_with_ends(difference_and_ends(one.value, one.low, one.high)), *p_values]

    def ranking_rows(self) -> list[list[str]]:
        """How often each order occurred, by D and by M, as a share of the resamples."""
        shares = [
            {one.order: one.probability for one in contest.rankings}
            for contest in (self.comparison.by_auc, self.comparison.by_hand_till)
        ]
        share = "share of draws" if self.n_resamples is None else "share of resamples"
        rows = [[f"order, {share}", "by D", "by M"]]
        short = self._short(min(_OF_TWO, _ORDER // len(self.headlines)))
        # Those by D first, then those that occurred by M alone.
        orders = list(shares[0] | shares[1])
        for order in orders[:_RANKINGS]:
            name = " > ".join(" = ".join(short[model] for model in place) for place in order)
            rows.append([name, *(self._share(by.get(order, 0.0)) for by in shares)])
        if rest := orders[_RANKINGS:]:
            name = "1 other" if len(rest) == 1 else f"{len(rest)} others"
            rows.append([name, *(self._share(sum(by.get(order, 0.0) for order in rest)) for by in shares)])
        return rows

    def _share(self, value: float) -> str:
        return share_of_resamples(value, self.n_resamples or N_DRAWS)

    def _short(self, width: int) -> dict[str, str]:
        names = list(self.headlines)
        return dict(zip(names, short_names(names, width), strict=True))

    def partial_rows(self, name_width: int = _OF_TWO) -> list[list[str]]:
        """The partial area of each model, then their differences; no rows where it was not asked for."""
        if self.comparison.by_partial_auc is None:
            return []
        short = self._short(name_width)
        rows = [[f"partial area, FPR up to {self.comparison.max_fpr:g}", "value", "interval", "p", "p (Holm)"]]
        for one in self.comparison.by_partial_auc.estimates:
            rows.append([short[one.model], *_with_ends(area_and_ends(one.value, one.low, one.high)), "", ""])
        for each in self.comparison.by_partial_auc.differences:
            rows.append([f"{short[each.first]} - {short[each.second]}", *self._cells(each)])
        return rows

    def text(self) -> str:
        """As `print` shows it."""
        verdict, *notes = self.sentences
        lines = [*self.titles, "", *wrapped(verdict)]
        for rows in self._tables:
            lines += ["", *aligned(rows)]
        for sentence in notes:
            lines += ["", *wrapped(sentence)]
        return "\n".join(lines)

    def html(self, curves: Mapping[str, Curves]) -> str:
        """As a notebook shows it, with the curves of some of the models."""
        chosen = [place for place, name in enumerate(self.headlines) if name in curves]
        is_binary = next(iter(self.headlines.values())).n_pairs == 1
        contests = (self.comparison.by_auc,) if is_binary else (self.comparison.by_auc, self.comparison.by_hand_till)
        areas = [[(one.value, one.low, one.high) for one in (c.estimates[p] for c in contests)] for p in chosen]
        sentences = [*self.titles, *self.sentences]
        if len(chosen) < len(self.headlines):
            sentences.append(f"The picture shows the {len(chosen)} models with the largest D.")
        whiskers = model_whiskers(list(curves), areas)
        return comparison_html(sentences, self._tables, curves, whiskers, self.comparison.verdict.confidence_level)

    @property
    def _tables(self) -> list[list[list[str]]]:
        found = (self.estimate_rows(), self.difference_rows(), self.partial_rows(), self.ranking_rows())
        return [rows for rows in found if rows]


def _with_ends(texts: Sequence[Any]) -> tuple[str, str]:
    value, low, high = texts
    return value, f"[{low}, {high}]"
