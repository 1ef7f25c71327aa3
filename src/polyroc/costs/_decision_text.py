"""A decision in words: which rule to use, by intervals and not by point estimates, and what it costs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polyroc._lib.limits import OFFSETS_PRINTED
from polyroc._lib.numbers import counted, level, percent
from polyroc._lib.text import aligned, printable, short_names, wrapped
from polyroc._uncertainty.intervals import Interval
from polyroc._uncertainty.unseen import TELLING

_WIDTH = 100
_NAME = 24
_MOST_DIGITS = 6
_ADDED_TO = {
    "log probability": "the log probabilities",
    "expected cost": "minus the logarithms of expected costs",
    "score": "the scores",
}
_NAMES = {"tuned": "the tuned offsets", "bayes": "Bayes' rule", "argmax": "the highest score"}
_SHARES = {0.125: "an eighth of ", 0.25: "a quarter of ", 0.5: "half of ", 0.75: "three quarters of ", 1.0: ""}


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
    tuned_share: float | None = None
    """Of "auto": how much of the tuned offsets it uses."""

    @property
    def name(self) -> str:
        """The rule inside a sentence."""
        if self.rule == "always":
            return f"always predicting {_quoted(self.label)}"
        if self.rule == "abstain":
            return "always abstaining"
        if self.rule != "auto":
            return _NAMES[self.rule]
        if not self.tuned_share:
            return _NAMES["bayes"]
        return f"{_SHARES.get(self.tuned_share, f'{self.tuned_share:.3g} of ')}{_NAMES['tuned']}"

    @property
    def is_plural(self) -> bool:
        return self.name.endswith("offsets")

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
class UnseenText:
    """What is said about a mistake that was not seen: as `polyroc._decide`'s UnseenMistake."""

    true_class: Any
    predicted_class: Any
    cost: float
    may_add: float
    n_samples: int | None


@dataclass(frozen=True)
class DecisionText:
    """What is said about a decision."""

    rules: Sequence[RuleText]
    chosen: int
    rival: int | None
    """The cheapest of the other rules."""
    unseen: UnseenText | None
    n_samples_to_tell: int | None
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
        for more in (self._unseen_line, self._how_judged, self._offsets_line):
            lines += wrapped(more, _WIDTH) if more else []
        return "\n".join([*lines, "", *aligned(self._table)])

    @property
    def sentence(self) -> str:
        """What to do, on one line: compared with the cheapest of the other rules."""
        own = self.rules[self.chosen]
        if self.rival is None:
            return f"Use {own.name}: {_it(own)} {_costs(own)} {self._cost(own)} per sample."
        rival = self.rules[self.rival]
        if rival.is_clearly_cheaper:
            best, other = rival, own
        elif rival.is_clearly_costlier:
            best, other = own, rival
        else:
            return f"No rule is clearly the cheapest. {self._unclear(own, rival)}"
        return f"Use {best.name}: {_it(best)} {_costs(best)} {self._cost(best)} per sample, {self._less(best, other)}."

    def _unclear(self, own: RuleText, rival: RuleText) -> str:
        """What is used and why, and what it would take to know better."""
        told = (
            f"{_upper(own.name)} {_are(own)} used, {self._why(own)}: {_it(own)} {_costs(own)} {self._cost(own)} per "
            f"sample, {self._less(own, rival)}, the cheapest other rule."
        )
        if self.n_samples_to_tell is None:
            return told
        return (
            f"{told} About {self.n_samples_to_tell:,} samples would tell with a probability of {percent(TELLING)}, if "
            "the difference is that large."
        )

    def _why(self, own: RuleText) -> str:
        if own.rule != "auto":
            return "because scores are not probabilities" if self.scale == "score" else "as `rule` says"
        if own.tuned_share:
            return "because on held-out folds they cost less than Bayes' rule by more than a standard error"
        return "because on held-out folds no share of the tuned offsets cost less by more than a standard error"

    @property
    def _unseen_line(self) -> str:
        """The mistake that no sample shows and that decides the interval of the cost."""
        if self.unseen is None:
            return ""
        one = self.unseen
        told = (
            f"No {_quoted(one.true_class)} was predicted as {_quoted(one.predicted_class)} in these "
            f"{counted(self.n_samples, 'sample')}; at a cost of {one.cost:,.4g} each, that mistake alone could add "
            f"{amount(one.may_add, one.may_add / 2)} per sample."
        )
        if one.n_samples is None:
            return told
        return f"{told} From about {one.n_samples:,} samples without it on, other mistakes would decide the interval."

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
        if own.rule not in ("auto", "tuned"):
            text = f"{ends}, from {counted(self.n_samples, 'sample')}."
        else:
            chosen = ", and their share chosen," if own.rule == "auto" else ""
            text = (
                f"{ends}, from {counted(self.n_samples, 'sample')}, each judged with offsets tuned{chosen} without its "
                f"fold ({self.n_folds} folds)."
            )
            if own.is_plural:
                text += (
                    f" On the samples they were tuned on, the offsets cost {amount(self.resubstitution_cost, error)}, "
                    "which is too low."
                )
        if self.abstained is None:
            return text
        return f"{text} The rule abstains on {percent(self.abstained)} of the samples."

    @property
    def _offsets_line(self) -> str:
        if self.offsets is None or not self.rules[self.chosen].is_plural or len(self.offsets) > OFFSETS_PRINTED:
            return ""
        names = short_names(self.labels, _NAME)
        shown = ", ".join(f"{name} {b:+.3g}" for name, b in zip(names, self.offsets, strict=True))
        return f"Offsets, added to {_ADDED_TO[self.scale]}: {shown}."

    @property
    def _table(self) -> list[list[str]]:
        always = [one for one in self.rules if one.rule == "always"]
        if len(always) > OFFSETS_PRINTED:
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


_TABLE_NAMES = {
    "auto": "auto",
    "tuned": "tuned offsets",
    "bayes": "Bayes",
    "argmax": "highest score",
    "abstain": "always abstain",
}


def _quoted(label: Any) -> str:
    return repr(printable(label)) if isinstance(label, str) else printable(label)


def _upper(text: str) -> str:
    return text[0].upper() + text[1:]


def _it(one: RuleText) -> str:
    return "they" if one.is_plural else "it"


def _are(one: RuleText) -> str:
    return "are" if one.is_plural else "is"


def _costs(one: RuleText) -> str:
    return "cost" if one.is_plural else "costs"
