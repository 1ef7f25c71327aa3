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
        sign = 1 if far is other else -1
        return less_than(
            sign * far.difference, _turned(far.difference_interval, sign), other.name, self.confidence_level
        )

    @property
    def _how_judged(self) -> str:
        own = self.rules[self.chosen]
        error = own.precision
        ends = f"{level(self.confidence_level)} interval of the cost: {ends_of(own.interval, error)}"
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
        names = dict(zip(self.labels, short_names(self.labels, _NAME), strict=True))
        ends = level(self.confidence_level)
        rows = [["rule", "cost", f"{ends} interval", "more than chosen", f"{ends} interval"]]
        for one in shown:
            error, apart = one.precision, (one.difference_interval.high - one.difference_interval.low) / 4
            own = one is self.rules[self.chosen]
            name = f"always {names[one.label]}" if one.rule == "always" else _TABLE_NAMES[one.rule]
            more = ["", ""] if own else [amount(one.difference, apart), ends_of(one.difference_interval, apart)]
            cells = [amount(one.cost, error), ends_of(one.interval, error), *more]
            rows.append([f"{name} (chosen)" if own else name, *cells])
        return rows


def amount(value: float, error: float) -> str:
    """A cost with the digits that its standard error supports: two of the error's.

    >>> amount(0.31234, 0.011), amount(1234567.0, 2100.0), amount(2.0, 0.0), amount(-0.00001, 0.01)
    ('0.312', '1,234,567', '2', '0')
    >>> amount(3.124e-9, 1.1e-10), amount(-2e-13, 1.1e-10), amount(3e-9, 0.0)
    ('3.12e-9', '0', '3e-9')
    """
    if not error > 0:
        return _short(f"{value:,.6g}")
    digits = max(1 - math.floor(math.log10(error)), 0)
    # Of costs in a large unit, all decimals that are shown would be 0, or all but one.
    if digits > _MOST_DIGITS and abs(value) < 10 * 10**-_MOST_DIGITS:
        return _short(f"{round(value, digits) or 0.0:.3g}")
    text = f"{value:,.{min(digits, _MOST_DIGITS)}f}"
    return "0" if not float(text.replace(",", "")) and abs(value) < error else text


def _short(number: str) -> str:
    """Without the zeros that Python puts into an exponent."""
    return number.replace("e-0", "e-").replace("e+0", "e+")


def ends_of(interval: Interval, error: float) -> str:
    """Ends of an interval; one that is not 0 has as many digits as it takes to see that.

    >>> ends_of(Interval(0.004, 0.87), 0.22), ends_of(Interval(0.0, 0.87), 0.22)
    ('0.004 to 0.87', '0 to 0.87')
    """
    return f"{_end(interval.low, error)} to {_end(interval.high, error)}"


def _end(value: float, error: float) -> str:
    text = amount(value, error)
    while text == "0" and error > 10**-_MOST_DIGITS:
        error /= 10
        text = amount(value, error)
    return text


def less_than(less: float, interval: Interval, other: str, confidence_level: float) -> str:
    """How much less something costs than another, or how much more, with the interval of that.

    >>> less_than(-0.31, Interval(-0.42, -0.2), "the other", 0.95)
    '0.310 more than the other (95 % interval 0.200 to 0.420)'
    """
    error = (interval.high - interval.low) / 4
    ends = f"{level(confidence_level)} interval {ends_of(interval if less >= 0 else _turned(interval, -1), error)}"
    size = amount(abs(less), error)
    if size == "0":
        return f"{'the' if less == 0 else 'about the'} same as {other} ({ends})"
    return f"{size} {'less' if less > 0 else 'more'} than {other} ({ends})"


def _turned(interval: Interval, sign: int) -> Interval:
    return interval if sign > 0 else Interval(-interval.high, -interval.low)


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
