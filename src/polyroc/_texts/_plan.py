"""A plan of a sample in a few sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polyroc._lib._names import printable
from polyroc._lib._numbers import counted, gap, level, percent
from polyroc._lib._text_table import wrapped
from polyroc._lib._typing import Statistic

STATISTIC_NAMES: dict[Statistic, str] = {"auc": "D", "hand_till": "M", "mean_auc": "the area under the mean curve"}
# Of more classes only the smallest and the largest number is said.
_MOST_CLASSES = 10
# Letters of a line.
_WIDTH = 100


@dataclass(frozen=True)
class PlanText:
    """What is said about a plan."""

    statistic: Statistic
    models: tuple[str, str] | None
    confidence_level: float
    half_width: float | None
    """As asked for; None for a plan of a test."""
    detect: float | None
    power: float | None
    """As asked for, with `detect`."""
    labels: Sequence[Any]
    planned: Sequence[int]
    """Samples of each class."""
    n_now: int
    half_width_now: float
    power_now: float | None
    is_enough: bool
    label_next: Any
    note: str

    def __str__(self) -> str:
        return "\n".join(wrapped(self.sentence, _WIDTH))

    @property
    def sentence(self) -> str:
        """All that is said, on one line."""
        need = f"{counted(sum(self.planned), 'sample')}"
        if self.is_enough:
            what = f"{self._goal}, about {need} are enough (you have {self.n_now:,}). {self._by_class}."
            return self._with_note(f"{what} {self._now}")
        what = f"{self._goal}, you need about {need} (you have {self.n_now:,}). {self._by_class}."
        return self._with_note(
            f"{what} {self._now} The next sample should be of class {_quoted(self.label_next)}: it lowers the "
            "variance most."
        )

    def _with_note(self, text: str) -> str:
        return f"{text} {self.note}" if self.note else text

    @property
    def subject(self) -> str:
        """What the plan is about."""
        name = STATISTIC_NAMES[self.statistic]
        if self.models is None:
            return name
        first, second = (repr(printable(model)) for model in self.models)
        return f"the difference in {name} between {first} and {second}"

    @property
    def _goal(self) -> str:
        if self.detect is None:
            return (
                f"For a {level(self.confidence_level)} interval of {self.subject} with half width {self.half_width:g}"
            )
        assert self.models is not None
        assert self.power is not None
        first, second = (repr(printable(model)) for model in self.models)
        return (
            f"To detect a true difference of {self.detect:g} in {STATISTIC_NAMES[self.statistic]} between {first} and "
            f"{second} with a probability of {percent(self.power)} (two-sided test at level "
            f"{level(1 - self.confidence_level)})"
        )

    @property
    def _now(self) -> str:
        if self.power_now is None:
            return f"The half width is {gap(self.half_width_now)} now."
        return f"The probability is {percent(self.power_now)} now."

    @property
    def _by_class(self) -> str:
        present = [(label, count) for label, count in zip(self.labels, self.planned, strict=True) if count > 0]
        if len(present) <= _MOST_CLASSES:
            return f"By class: {', '.join(f'{printable(label)}: {count:,}' for label, count in present)}"
        counts = [count for _, count in present]
        if min(counts) == max(counts):
            return f"Of each class: {min(counts):,}"
        return f"Of each class, from {min(counts):,} to {max(counts):,}"


def _quoted(label: Any) -> str:
    """A class inside a sentence: text in quotes, numbers as they are."""
    return repr(printable(label)) if isinstance(label, str) else printable(label)
