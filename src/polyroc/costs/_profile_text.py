"""A cost profile in words: which model to use over many cost matrices, said of intervals and not of estimates."""

from collections.abc import Sequence
from dataclasses import dataclass

from polyroc._lib.numbers import counted, level, percent
from polyroc._lib.text import aligned, printable, short_names, wrapped
from polyroc._uncertainty.intervals import Interval
from polyroc.costs._decision_text import amount, ends_of, less_than

_NAME = 30
# Models that are named in a sentence without a winner.
_NAMED = 3
_CHANCE = ", which may be chance"
_RULES = {
    "auto": "a share of tuned offsets",
    "bayes": "Bayes' rule",
    "tuned": "tuned offsets",
    "argmax": "the highest score",
}


@dataclass(frozen=True)
class EntryText:
    """What is said about one model."""

    name: str
    cost: float
    standard_error: float
    interval: Interval
    share: float
    share_interval: Interval


@dataclass(frozen=True)
class CostProfileText:
    """What is said about a profile."""

    entries: Sequence[EntryText]
    least: str
    """Name of the model of the lowest mean cost, and of the next one."""
    next_least: str
    gap: float
    """How much more the next one costs, with its interval."""
    gap_interval: Interval
    rules: Sequence[str]
    n_matrices: int
    is_drawn: bool
    n_folds: int | None
    n_samples: int
    confidence_level: float

    def __str__(self) -> str:
        title = (
            f"Costs of {counted(len(self.entries), 'rule' if len(self.rules) > 1 else 'model')} under {self._family}"
        )
        lines = [f"{title}, {counted(self.n_samples, 'sample')}", ""]
        for sentence in (self.sentence, self.cost_sentence, self.rule_sentence):
            lines += wrapped(sentence)
        return "\n".join([*lines, "", *aligned(self.rows)])

    @property
    def _family(self) -> str:
        matrices = "1 cost matrix" if self.n_matrices == 1 else f"{self.n_matrices:,} cost matrices"
        return f"{matrices} of a distribution" if self.is_drawn else matrices

    @property
    def sentence(self) -> str:
        """What to do, by how often each is the cheapest."""
        ranked = sorted(self.entries, key=lambda one: -one.share)
        best = ranked[0]
        name, is_clear = printable(best.name), best.share_interval.low > 0.5
        if self.n_matrices == 1:
            return self._of_one_matrix(best)
        often = f"is cheapest in {self._share(best)} of the cost matrices"
        if is_clear and self.least != best.name and self.gap_interval.low > 0:
            return f"No clear winner: {name} {often}, but {printable(self.least)} costs less on average."
        if is_clear:
            return f"Use {name}: it {often}."
        others = [f"{printable(one.name)} in {self._share(one)}" for one in ranked[1:_NAMED]]
        return f"No clear winner: {name} {often}, {' and '.join(others)}."

    def _of_one_matrix(self, best: EntryText) -> str:
        """A share of one matrix is all or nothing, and says no more than which is the cheapest."""
        if best.share_interval.low > 0.5:
            return f"Use {printable(best.name)}: it is the cheapest under the cost matrix."
        if best.share < 1:
            return "No clear winner: the cheapest ones cost the same under the cost matrix."
        return "No clear winner: which one is the cheapest under the cost matrix may be chance."

    def _share(self, one: EntryText) -> str:
        return f"{percent(one.share)} ({_ends(one.share_interval)})"

    @property
    def cost_sentence(self) -> str:
        """Which costs least on average, and by how much."""
        one = next(entry for entry in self.entries if entry.name == self.least)
        less = less_than(self.gap, self.gap_interval, printable(self.next_least), self.confidence_level)
        is_sure = self.gap_interval.low > 0 or less.startswith(("the same", "about the same"))
        cost = amount(one.cost, one.standard_error)
        return f"On average {printable(one.name)} costs {cost} per sample, {less}{'' if is_sure else _CHANCE}."

    @property
    def rule_sentence(self) -> str:
        """Which rule the costs are those of."""
        *others, last = [_RULES[rule] for rule in self.rules]
        text = f"Classes are predicted by {', '.join(others)}{' and ' if others else ''}{last}."
        if {"auto", "tuned"}.isdisjoint(self.rules):
            return text
        if self.n_folds is None:
            return f"{text} Offsets were tuned and judged on the same samples, so their costs are too low."
        return f"{text} Each sample is judged with offsets that were tuned without its fold ({self.n_folds} folds)."

    @property
    def rows(self) -> list[list[str]]:
        """A table of the models."""
        ends = f"{level(self.confidence_level)} interval"
        rows = [["model", "mean cost", ends, "cheapest in", ends]]
        names = short_names([one.name for one in self.entries], _NAME)
        for name, one in zip(names, self.entries, strict=True):
            error = one.standard_error
            cells = [
                amount(one.cost, error),
                ends_of(one.interval, error),
                percent(one.share),
                _ends(one.share_interval),
            ]
            rows.append([name, *cells])
        return rows


def _ends(interval: Interval) -> str:
    low, high = percent(interval.low), percent(interval.high)
    return f"{low.removesuffix(' %')} to {high}"
