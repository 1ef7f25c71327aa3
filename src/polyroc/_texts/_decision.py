"""A decision in words: which rule to use, by intervals and not by point estimates, and what it costs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polyroc._lib._names import printable, short_names
from polyroc._lib._numbers import counted, level, percent
from polyroc._lib._text_table import aligned, wrapped
from polyroc._uncertainty._intervals import Interval

_WIDTH = 100
# Of more classes only the three rules and the cheapest class to name always stand in the table.
_MOST_CLASSES = 6
_NAME = 24
_MOST_DIGITS = 6
_ADDED_TO = {
    "log probability": "the log probabilities",
    "expected cost": "minus the logarithms of expected costs",
    "score": "the scores",
}
# What each rule is called in a sentence, and whether that is plural.
_NAMES = {"tuned": "the tuned offsets", "bayes": "Bayes' rule", "argmax": "naming the highest score"}


@dataclass(frozen=True)
class RuleText:
    """What is said about one rule: as `polyroc._decide`'s RuleCost."""

    rule: str
    label: Any
    cost: float
    standard_error: float
    interval: Interval
    difference: float
    difference_interval: Interval

    @property
    def name(self) -> str:
        """The rule inside a sentence."""
        if self.rule == "always":
            return f"always naming {_quoted(self.label)}"
        return "always abstaining" if self.rule == "abstain" else _NAMES[self.rule]

    @property
    def precision(self) -> float:
        """What digits are shown by: the standard error, or where samples show none, a quarter of the interval."""
        return self.standard_error or (self.interval.high - self.interval.low) / 4

    @property
    def is_clearly_cheaper(self) -> bool:
        """Than the chosen rule, by the interval of the difference."""
        return self.difference_interval.high < 0

    @property
    def is_clearly_costlier(self) -> bool:
        return self.difference_interval.low > 0


@dataclass(frozen=True)
class DecisionText:
    """What is said about a decision."""

    rules: Sequence[RuleText]
    chosen: int
    resubstitution_cost: float
    n_folds: int
    n_samples: int
    confidence_level: float
    labels: Sequence[Any]
    offsets: Sequence[float] | None
    scale: str
    abstained: float | None

    def __str__(self) -> str:
        lines = wrapped(self.sentence, _WIDTH)
        for more in (self._how_judged, self._offsets_line):
            lines += wrapped(more, _WIDTH) if more else []
        return "\n".join([*lines, "", *aligned(self._table)])

    @property
    def sentence(self) -> str:
        """What to do, on one line."""
        own = self.rules[self.chosen]
        others = [one for place, one in enumerate(self.rules) if place != self.chosen]
        cheaper = [one for one in others if one.is_clearly_cheaper]
        if cheaper:
            best = min(cheaper, key=lambda one: one.cost)
            return (
                f"Use {best.name}: {_it(best)} {_costs(best)} {self._cost(best)} per sample, {self._less(best, own)}."
            )
        rivals = [one for one in others if not one.is_clearly_costlier]
        if not rivals:
            best = next((one for one in others if one.rule == "argmax"), min(others, key=lambda one: one.cost))
            return f"Use {own.name}: {_it(own)} {_costs(own)} {self._cost(own)} per sample, {self._less(own, best)}."
        rival = min(rivals, key=lambda one: (one.rule in ("always", "abstain"), one.rule != "argmax", one.cost))
        also = "" if len(rivals) == 1 else f", nor than {_few([one.name for one in rivals if one is not rival])}"
        return (
            f"{_upper(own.name)} {_are(own)} not clearly cheaper than {rival.name}: {_it(own)} {_costs(own)} "
            f"{self._cost(own)} per sample, {self._less(own, rival)}{also}."
        )

    def _cost(self, one: RuleText) -> str:
        return amount(one.cost, one.precision)

    def _less(self, one: RuleText, other: RuleText) -> str:
        """How much less one costs than the other, one of them being the chosen rule, with the interval."""
        far = other if one is self.rules[self.chosen] else one
        # From the side on which the difference is positive.
        less = far.difference if far is other else -far.difference
        sign = 1 if far.difference >= 0 else -1
        low, high = sorted((sign * far.difference_interval.low, sign * far.difference_interval.high))
        error = (high - low) / 4
        ends = f"{level(self.confidence_level)} interval {amount(low, error)} to {amount(high, error)}"
        if less == 0:
            return f"the same as {other.name} ({ends})"
        return f"{amount(abs(less), error)} {'less' if less > 0 else 'more'} than {other.name} ({ends})"

    @property
    def _how_judged(self) -> str:
        own = self.rules[self.chosen]
        low, high = own.interval
        error = own.precision
        ends = f"{level(self.confidence_level)} interval of the cost: {amount(low, error)} to {amount(high, error)}"
        if own.rule != "tuned":
            text = f"{ends}, from {counted(self.n_samples, 'sample')}."
        else:
            text = (
                f"{ends}, from {counted(self.n_samples, 'sample')}, each judged with offsets tuned without its fold "
                f"({self.n_folds} folds). On the samples they were tuned on, the offsets cost "
                f"{amount(self.resubstitution_cost, error)}, which is too low."
            )
        if self.abstained is None:
            return text
        return f"{text} The rule abstains on {percent(self.abstained)} of the samples."

    @property
    def _offsets_line(self) -> str:
        if self.offsets is None or self.rules[self.chosen].rule != "tuned" or len(self.offsets) > _MOST_CLASSES:
            return ""
        names = short_names(self.labels, _NAME)
        shown = ", ".join(f"{name} {b:+.3g}" for name, b in zip(names, self.offsets, strict=True))
        return f"Offsets, added to {_ADDED_TO[self.scale]}: {shown}."

    @property
    def _table(self) -> list[list[str]]:
        always = [one for one in self.rules if one.rule == "always"]
        if len(always) > _MOST_CLASSES:
            always = [min(always, key=lambda one: one.cost)]
        shown = [one for one in self.rules if one.rule != "always"] + always
        ends = level(self.confidence_level)
        rows = [["rule", "cost", f"{ends} interval", "more than chosen", f"{ends} interval"]]
        for one in shown:
            error, apart = one.precision, (one.difference_interval.high - one.difference_interval.low) / 4
            own = one is self.rules[self.chosen]
            more = [amount(one.difference, apart), _ends(one.difference_interval, apart)]
            cells = [_short(one), amount(one.cost, error), _ends(one.interval, error), *(["", ""] if own else more)]
            rows.append([f"{cells[0]} (chosen)" if own else cells[0], *cells[1:]])
        return rows


def amount(value: float, error: float) -> str:
    """A cost with the digits that its standard error supports: two of the error's.

    >>> amount(0.31234, 0.011), amount(1234567.0, 2100.0), amount(2.0, 0.0), amount(-0.00001, 0.01)
    ('0.312', '1,234,567', '2', '0')
    """
    if not error > 0:
        return f"{value:,.6g}"
    digits = min(max(1 - math.floor(math.log10(error)), 0), _MOST_DIGITS)
    text = f"{value:,.{digits}f}"
    return "0" if not float(text.replace(",", "")) and abs(value) < error else text


def _ends(interval: Interval, error: float) -> str:
    return f"{amount(interval.low, error)} to {amount(interval.high, error)}"


def _short(one: RuleText) -> str:
    return f"always {short_names([one.label], _NAME)[0]}" if one.rule == "always" else _TABLE_NAMES[one.rule]


_TABLE_NAMES = {"tuned": "tuned offsets", "bayes": "Bayes", "argmax": "highest score", "abstain": "always abstain"}


def _quoted(label: Any) -> str:
    return repr(printable(label)) if isinstance(label, str) else printable(label)


def _upper(text: str) -> str:
    return text[0].upper() + text[1:]


def _it(one: RuleText) -> str:
    return "they" if one.rule == "tuned" else "it"


def _are(one: RuleText) -> str:
    return "are" if one.rule == "tuned" else "is"


def _costs(one: RuleText) -> str:
    return "cost" if one.rule == "tuned" else "costs"


def _few(names: Sequence[str]) -> str:
    """a, b and 3 others."""
    told = [*names[:2], f"{len(names) - 2} others"] if len(names) > 3 else list(names)
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"
