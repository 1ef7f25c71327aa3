"""A cost profile in words: which model to use over many cost matrices, said of intervals and not of estimates."""

from collections.abc import Sequence
from dataclasses import dataclass

from polyroc._lib._names import printable, short_names
from polyroc._lib._numbers import counted, level, percent
from polyroc._lib._text_table import aligned, wrapped
from polyroc._texts._decision import amount
from polyroc._uncertainty._intervals import Interval

_NAME = 30
# Models that are named in a sentence without a winner.
_NAMED = 3
_RULES = {"bayes": "Bayes' rule", "tuned": "tuned offsets", "argmax": "the highest score"}


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
        where = "the cost matrices" if self.n_matrices > 1 else "the resamples"
        if best.share_interval.low > 0.5:
            return f"Use {printable(best.name)}: it is cheapest in {self._share(best)} of {where}."
        told = [f"{printable(one.name)} in {self._share(one)}" for one in ranked[:_NAMED]]
        first = told[0].replace(" in ", " is cheapest in ", 1)
        return f"No clear winner: {first} of {where}, {' and '.join(told[1:])}."

    def _share(self, one: EntryText) -> str:
        return f"{percent(one.share)} ({_ends(one.share_interval)})"

    @property
    def cost_sentence(self) -> str:
        """Which costs least on average, and by how much."""
        one = next(entry for entry in self.entries if entry.name == self.least)
        error = (self.gap_interval.high - self.gap_interval.low) / 4
        ends = f"{level(self.confidence_level)} interval {amount(self.gap_interval.low, error)} to "
        ends += amount(self.gap_interval.high, error)
        clear = "" if self.gap_interval.low > 0 else ", which may be chance"
        return (
            f"On average {printable(one.name)} costs {amount(one.cost, one.standard_error)} per sample, "
            f"{amount(self.gap, error)} less than {printable(self.next_least)} ({ends}){clear}."
        )

    @property
    def rule_sentence(self) -> str:
        """Which rule the costs are those of."""
        *others, last = [_RULES[rule] for rule in self.rules]
        text = f"Classes are named by {', '.join(others)}{' and ' if others else ''}{last}."
        if "tuned" not in self.rules:
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
            cost_ends = f"{amount(one.interval.low, error)} to {amount(one.interval.high, error)}"
            cells = [amount(one.cost, error), cost_ends, percent(one.share), _ends(one.share_interval)]
            rows.append([name, *cells])
        return rows


def _ends(interval: Interval) -> str:
    low, high = percent(interval.low), percent(interval.high)
    return f"{low.removesuffix(' %')} to {high}"
