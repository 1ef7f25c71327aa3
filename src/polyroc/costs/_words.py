"""Decisions and cost profiles in words: which rule or model to use, by intervals and not by point estimates."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polyroc._lib.limits import OFFSETS_PRINTED
from polyroc._lib.numbers import counted, level, percent
from polyroc._lib.text import aligned, printable, short_names, wrapped
from polyroc._uncertainty.intervals import Interval
from polyroc._uncertainty.unseen import TELLING

if TYPE_CHECKING:
    from polyroc.costs._decision import Decision, RuleCost
    from polyroc.costs._profile import CostDifference, CostProfile, ModelCost

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
class DecisionText:
    """A decision in sentences and a table."""

    decision: "Decision"

    def __str__(self) -> str:
        lines = wrapped(self.sentence, _WIDTH)
        for more in (self._unseen_line, self._how_judged, self._offsets_line):
            lines += wrapped(more, _WIDTH) if more else []
        return "\n".join([*lines, "", *aligned(self._table)])

    @property
    def sentence(self) -> str:
        """Advice on one line: the rule compared with the cheapest of the others."""
        own, rival = self.decision.chosen, self.decision.rival
        if rival is None:
            return f"Use {self._it_costs(own)}."
        low, high = rival.difference_interval
        if low <= 0 <= high:
            return f"No rule is clearly the cheapest. {self._unclear(own, rival)}"
        if low > 0:
            return f"Use {self._it_costs(own)}, {self._less(own, rival)}."
        return f"Use {self._it_costs(rival)}, {self._less(rival, own)}. {self._used_instead(own, rival)}"

    def _name(self, one: "RuleCost") -> str:
        """The rule inside a sentence."""
        if one.rule == "always":
            return f"always predicting {_quoted(one.label)}"
        if one.rule == "abstain":
            return "always abstaining"
        if one.rule != "auto":
            return _NAMES[one.rule]
        share = self.decision.tuned_share
        if not share:
            return _NAMES["bayes"]
        return f"{_SHARES.get(share, f'{share:.3g} of ')}{_NAMES['tuned']}"

    def _is_plural(self, one: "RuleCost") -> bool:
        return self._name(one).endswith("offsets")

    def _it_costs(self, one: "RuleCost") -> str:
        it_costs = "they cost" if self._is_plural(one) else "it costs"
        return f"{self._name(one)}: {it_costs} {amount(one.cost, _precision(one))} per sample"

    def _unclear(self, own: "RuleCost", rival: "RuleCost") -> str:
        """The rule that is used and why, and the samples that would tell."""
        costs = self._it_costs(own).split(": ", 1)[1]
        told = f"{self._is_used(own)}, {self._why(own)}: {costs}, {self._less(own, rival)}, the cheapest other rule."
        told += self._whole_choice
        if self.decision.n_samples_to_tell is None:
            return told
        return (
            f"{told} About {self.decision.n_samples_to_tell:,} samples would tell with a probability of "
            f"{percent(TELLING)}, if the difference is that large."
        )

    def _used_instead(self, own: "RuleCost", rival: "RuleCost") -> str:
        """The rule of `predict` although another one is clearly cheaper, and how to get that one."""
        until = f'until you ask for the rule "{rival.rule}"' if rival.rule in _NAMES else "all the same"
        return f"{self._is_used(own)} {until}, {self._why(own)}.{self._whole_choice}"

    def _is_used(self, own: "RuleCost") -> str:
        name = self._name(own)
        return f"{name[0].upper()}{name[1:]} {'are' if self._is_plural(own) else 'is'} used"

    def _why(self, own: "RuleCost") -> str:
        if own.rule != "auto":
            has_no_bayes = own.rule == "tuned" and self.decision.scale == "score"
            return "because scores are not probabilities" if has_no_bayes else "as `rule` says"
        if self.decision.tuned_share:
            return "because on held-out folds they cost less than Bayes' rule by more than a standard error"
        return "because on held-out folds no share of the tuned offsets cost less by more than a standard error"

    @property
    def _whole_choice(self) -> str:
        """That offsets cost no less than Bayes' rule if their choice is judged as well, as the table does."""
        is_chosen = self.decision.chosen.rule == "auto" and self.decision.tuned_share
        if not is_chosen or all(one.difference > 0 for one in self.decision.rules if one.rule == "bayes"):
            return ""
        return " Cross-fitted, with this choice made again without each fold, they cost no less than Bayes' rule."

    @property
    def _unseen_line(self) -> str:
        """The mistake that no sample shows and that decides the interval of the cost."""
        one = self.decision.unseen
        if one is None:
            return ""
        told = (
            f"No {_quoted(one.true_class)} was predicted as {_quoted(one.predicted_class)} in these "
            f"{counted(self.decision.n_samples, 'sample')}; at a cost of {one.cost:,.4g} each, that mistake alone "
            f"could add {amount(one.may_add, one.may_add / 2)} per sample."
        )
        if one.n_samples is None:
            return told
        return f"{told} From about {one.n_samples:,} samples without it on, other mistakes would decide the interval."

    def _less(self, one: "RuleCost", other: "RuleCost") -> str:
        """How much less one costs than the other, one of them being the chosen rule, with the interval."""
        far = other if one is self.decision.chosen else one
        sign = 1 if far is other else -1
        interval = turned(far.difference_interval, sign)
        return less_than(sign * far.difference, interval, self._name(other), self.decision.confidence_level)

    @property
    def _how_judged(self) -> str:
        decision, own = self.decision, self.decision.chosen
        error = _precision(own)
        ends = f"{level(decision.confidence_level)} interval of the cost: {ends_of(own.interval, error)}"
        text = f"{ends}, from {counted(decision.n_samples, 'sample')}"
        if own.rule not in ("auto", "tuned"):
            text += "."
        else:
            chosen = ", and their share chosen," if own.rule == "auto" else ""
            text += f", each judged with offsets tuned{chosen} without its fold ({decision.n_folds} folds)."
            if self._is_plural(own):
                text += (
                    " On the samples they were tuned on, the offsets cost "
                    f"{amount(decision.resubstitution_cost, error)}, which is too low."
                )
        if decision.abstained is None:
            return text
        return f"{text} The rule abstains on {percent(decision.abstained)} of the samples."

    @property
    def _offsets_line(self) -> str:
        offsets = self.decision.offsets
        if offsets is None or not self._is_plural(self.decision.chosen) or len(offsets) > OFFSETS_PRINTED:
            return ""
        names = short_names(self.decision.labels.tolist(), _NAME)
        shown = ", ".join(f"{name} {offset:+.3g}" for name, offset in zip(names, offsets, strict=True))
        return f"Offsets, added to {_ADDED_TO[self.decision.scale]}: {shown}."

    @property
    def _table(self) -> list[list[str]]:
        rules, labels = self.decision.rules, self.decision.labels.tolist()
        always = [one for one in rules if one.rule == "always"]
        if len(always) > OFFSETS_PRINTED:
            always = [min(always, key=lambda one: one.cost)]
        shown = [one for one in rules if one.rule != "always"] + always
        names = dict(zip(labels, short_names(labels, _NAME), strict=True))
        ends = level(self.decision.confidence_level)
        rows = [["rule", "cost", f"{ends} interval", "more than chosen", f"{ends} interval"]]
        for one in shown:
            error, apart = _precision(one), (one.difference_interval.high - one.difference_interval.low) / 4
            own = one is self.decision.chosen
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
    ends = f"{level(confidence_level)} interval {ends_of(interval if less >= 0 else turned(interval, -1), error)}"
    size = amount(abs(less), error)
    if size == "0":
        return f"{'the' if less == 0 else 'about the'} same as {other} ({ends})"
    return f"{size} {'less' if less > 0 else 'more'} than {other} ({ends})"


def turned(interval: Interval, sign: int) -> Interval:
    """The interval of a difference, or that of the difference the other way round."""
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


def _precision(one: "RuleCost") -> float:
    """Error that decides the digits: the standard error, or if samples show none, a quarter of the interval."""
    return one.standard_error or (one.interval.high - one.interval.low) / 4


_MODEL = 30
# Models that are named in a sentence without a winner.
_NAMED = 3
_CHANCE = ", which may be chance"
_RULE_NAMES = {
    "auto": "a share of tuned offsets",
    "bayes": "Bayes' rule",
    "tuned": "tuned offsets",
    "argmax": "the highest score",
}


@dataclass(frozen=True)
class CostProfileText:
    """A profile in sentences and a table."""

    profile: "CostProfile"

    @property
    def _by_cost(self) -> list["ModelCost"]:
        return sorted(self.profile.models, key=lambda one: one.cost)

    @property
    def gap(self) -> "CostDifference":
        """How much more the model with the second lowest mean cost costs than that with the lowest."""
        first, second = self._by_cost[:2]
        return self.profile.difference(second.name, first.name)

    @property
    def _rules(self) -> list[str]:
        return list(dict.fromkeys(one.rule for one in self.profile.models))

    def __str__(self) -> str:
        models = counted(len(self.profile.models), "rule" if len(self._rules) > 1 else "model")
        lines = [f"Costs of {models} under {self._family}, {counted(self.profile.n_samples, 'sample')}", ""]
        for sentence in (self.sentence, self.cost_sentence, self.rule_sentence):
            lines += wrapped(sentence)
        return "\n".join([*lines, "", *aligned(self.rows)])

    @property
    def _family(self) -> str:
        matrices = "1 cost matrix" if len(self.profile.costs) == 1 else f"{len(self.profile.costs):,} cost matrices"
        return f"{matrices} of a distribution" if self.profile.is_drawn else matrices

    @property
    def sentence(self) -> str:
        """Advice by how often each is the cheapest."""
        ranked = sorted(self.profile.models, key=lambda one: -one.share_cheapest)
        best, least = ranked[0], self._by_cost[0]
        name, is_clear = printable(best.name), best.share_interval.low > 0.5
        if len(self.profile.costs) == 1:
            return self._of_one_matrix(best)
        often = f"is cheapest in {self._share(best)} of the cost matrices"
        if is_clear and least.name != best.name and self.gap.interval.low > 0:
            return f"No clear winner: {name} {often}, but {printable(least.name)} costs less on average."
        if is_clear:
            return f"Use {name}: it {often}."
        others = [f"{printable(one.name)} in {self._share(one)}" for one in ranked[1:_NAMED]]
        return f"No clear winner: {name} {often}, {' and '.join(others)}."

    def _of_one_matrix(self, best: "ModelCost") -> str:
        """A share of one matrix is all or nothing, and says no more than which is the cheapest."""
        if best.share_interval.low > 0.5:
            return f"Use {printable(best.name)}: it is the cheapest under the cost matrix."
        if best.share_cheapest < 1:
            return "No clear winner: the cheapest ones cost the same under the cost matrix."
        return "No clear winner: which one is the cheapest under the cost matrix may be chance."

    def _share(self, one: "ModelCost") -> str:
        return f"{percent(one.share_cheapest)} ({_ends(one.share_interval)})"

    @property
    def cost_sentence(self) -> str:
        """Which costs least on average, and by how much."""
        one, other = self._by_cost[:2]
        less = less_than(self.gap.value, self.gap.interval, printable(other.name), self.profile.confidence_level)
        is_sure = self.gap.interval.low > 0 or less.startswith(("the same", "about the same"))
        cost = amount(one.cost, one.standard_error)
        return f"On average {printable(one.name)} costs {cost} per sample, {less}{'' if is_sure else _CHANCE}."

    @property
    def rule_sentence(self) -> str:
        """Which rule the costs are those of."""
        *others, last = [_RULE_NAMES[rule] for rule in self._rules]
        text = f"Classes are predicted by {', '.join(others)}{' and ' if others else ''}{last}."
        if {"auto", "tuned"}.isdisjoint(self._rules):
            return text
        n_folds = self.profile.n_folds
        if n_folds is None:
            return f"{text} Offsets were tuned and judged on the same samples, so their costs are too low."
        return f"{text} Each sample is judged with offsets that were tuned without its fold ({n_folds} folds)."

    @property
    def rows(self) -> list[list[str]]:
        """A table of the models."""
        ends = f"{level(self.profile.confidence_level)} interval"
        rows = [["model", "mean cost", ends, "cheapest in", ends]]
        names = short_names([one.name for one in self.profile.models], _MODEL)
        for name, one in zip(names, self.profile.models, strict=True):
            error = one.standard_error
            cells = [
                amount(one.cost, error),
                ends_of(one.interval, error),
                percent(one.share_cheapest),
                _ends(one.share_interval),
            ]
            rows.append([name, *cells])
        return rows


def _ends(interval: Interval) -> str:
    low, high = percent(interval.low), percent(interval.high)
    return f"{low.removesuffix(' %')} to {high}"
