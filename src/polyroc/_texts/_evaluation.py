"""An evaluation in a few lines: D, M, accuracy and the worst pair, and what contradicts them."""

import math
from dataclasses import dataclass

from polyroc._lib._names import printable, short_names
from polyroc._lib._numbers import area, counted, gap, percent
from polyroc._lib._text_table import aligned, wrapped
from polyroc._pairs import Pair
from polyroc._records import Status

# D hardly notices one failed pair of many: these say when somebody should look.
_GOOD_D, FAILED_PAIR = 0.9, 0.7
_FAR_APART = 0.05
# Letters of a name in a table; in sentences names stand whole.
_NAME = 30


@dataclass(frozen=True)
class Headline:
    """What is shown of an evaluation wherever it is shown."""

    auc: float
    hand_till: float
    accuracy: float | None
    accuracy_note: str
    """Why there is no accuracy; empty where there is one."""
    worst_pair: Pair
    n_pairs: int
    n_failed_pairs: int
    """Pairs whose area is below `FAILED_PAIR`."""
    n_classes: int
    """Classes that have samples."""
    n_samples: int
    status: Status
    never_named: str = ""
    """Which classes are never named although they have samples; empty where there are none."""
    explained: float | None = None
    """Share of what the pairs have beyond chance that one shared curve explains; None where nothing is fitted."""
    is_well_explained: bool = True
    auc_mu: float | None = None
    """Mean area of the pairs where they are ranked by differences of columns; None where that mean is M."""
    ignores_diagonal: bool = False
    """Whether `costs` came with a diagonal."""
    of_counts: tuple[str, ...] = ()
    """What is to be known of an evaluation of counted scores, one sentence each."""

    @property
    def sizes(self) -> str:
        """How much was judged."""
        pairs = counted(self.n_pairs, "ordered pair") if self.n_pairs > 1 else "1 pair"
        return f"{counted(self.n_samples, 'sample')} of {counted(self.n_classes, 'class')}, {pairs}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What contradicts the summary or was ignored, one sentence each."""
        found = [self.never_named] if self.never_named else []
        if self.auc > _GOOD_D and self.n_failed_pairs:
            found.append(self._failed_pairs())
        # Of the same ranking: M ranks by columns, so that its distance from a D by differences says nothing of pairs.
        mean, name = (self.hand_till, "M") if self.auc_mu is None else (self.auc_mu, "AUCmu")
        if abs(self.auc - mean) > _FAR_APART:
            side = "above" if self.auc > mean else "below"
            found.append(
                f"D is {gap(self.auc - mean)} {side} {name}: the pairs of classes differ much in how well they "
                "are separated, so one number does not describe them. Look at the pairs."
            )
        if self.explained is not None and not self.is_well_explained:
            found.append(
                f"One shared curve explains only {percent(self.explained)} of what the pairs have beyond chance, so D "
                "describes them poorly. Look at the pairs and at the mean curve."
            )
        if self.ignores_diagonal:
            found.append(
                "The diagonal of `costs` is ignored: only misclassifications weigh D. `polyroc.decide` uses it."
            )
        return tuple(found)

    @property
    def cautions(self) -> tuple[str, ...]:
        """The notes, after what is to be known of the fit."""
        failed = () if self.status is Status.CONVERGED else (f"{self.status.message} D is not to be relied on.",)
        return failed + self.notes + self.of_counts

    def _failed_pairs(self) -> str:
        pair = self.worst_pair
        names, worst = f"{printable(pair.positive)} against {printable(pair.negative)}", area(pair.auc)
        if self.n_failed_pairs == 1:
            return (
                f"D is {area(self.auc)}, but the pair {names} has an area of only {worst}: D hardly notices a single "
                "pair that fails."
            )
        return (
            f"D is {area(self.auc)}, but {self.n_failed_pairs:,} of {self.n_pairs:,} pairs have an area below "
            f"{FAILED_PAIR} (worst: {names}, {worst}): D hardly notices pairs that fail."
        )

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """Name, number and meaning of each line; a line without a number says why it has none."""
        binary = self.n_pairs == 1
        meaning = "area under the ROC curve" if binary else "multi-class AUC: area under the curve that all pairs share"
        rows = [("D", area(self.auc), meaning), ("M", area(self.hand_till), m_meaning(binary=binary))]
        if self.auc_mu is not None:
            rows.insert(1, ("AUCmu", area(self.auc_mu), "mean area of the pairs, by differences of columns as D is"))
        if self.accuracy is None:
            rows.append(("accuracy", "none", self.accuracy_note))
        else:
            rows.append(("accuracy", area(self.accuracy), "share of samples whose highest column is their class"))
        if not binary:
            pair = self.worst_pair
            positive, negative = short_names([pair.positive, pair.negative], _NAME)
            rows.append(("worst pair", area(pair.auc), f"area of {positive} against {negative}"))
        return rows


def binning_note(hand_till: float, auc: float) -> str:
    """What bins have changed at most, or about.

    >>> binning_note(0.00041234, 0.00000031)
    'Scores were counted in bins, which move M by at most 0.0005 and D by about 3e-07.'
    """
    # Upwards: a bound must not be rounded below itself.
    exponent = math.floor(math.log10(hand_till)) if hand_till > 0 else 0
    bound = math.ceil(hand_till / 10.0**exponent) * 10.0**exponent
    return f"Scores were counted in bins, which move M by at most {bound:.1g} and D by about {auc:.1g}."


NO_SECOND_PASS = "These are point estimates: standard errors of counted scores need a second pass over the samples."


def m_meaning(*, binary: bool) -> str:
    """What M is, in the words of those who know it by another name."""
    return "the same: two classes are one pair" if binary else "Hand and Till, scikit-learn's ovo"


def backwards_note(value: float, high: float) -> str:
    """What an interval of D means that lies below 1/2; nothing for any other."""
    if high >= 0.5:
        return ""
    return (
        f"D is {area(value)} and its interval ends at {area(high)}, below 1/2: the scores rank backwards. The score "
        "columns may be in another order than the labels."
    )


def evaluation_text(headline: Headline) -> str:
    """The summary as `print` shows it."""
    lines = [f"Evaluation of {headline.sizes}", "", *aligned(headline.rows)]
    for note in headline.cautions:
        lines += ["", *wrapped(note)]
    return "\n".join(lines)
