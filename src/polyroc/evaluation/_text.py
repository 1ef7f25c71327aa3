"""An evaluation in a few lines: D, M, accuracy and the worst pair, and what contradicts them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from polyroc._lib.numbers import area, counted, first_digit_up, gap, percent
from polyroc._lib.text import aligned, printable, short_names, wrapped
from polyroc._records import Status
from polyroc.evaluation._pairs import Pair

# D hardly notices one failed pair of many: these say when somebody should look.
_GOOD_D, FAILED_PAIR = 0.9, 0.7
_FAR_APART = 0.05
# Letters of a name in a table; in sentences names stand whole.
_NAME = 30


@dataclass(frozen=True)
class LowPairs:
    """Pairs whose area is below `FAILED_PAIR`."""

    n_ordered: int
    n_both: int | None
    """Pairs of classes that are low in both directions, so that neither score separates them; None if unknown."""
    both: tuple[tuple[Any, Any], ...] = ()
    """The first of these, those whose better direction is lowest first."""
    most_named: ClassVar[int] = 3

    @property
    def in_both(self) -> str:
        """Which classes are low in both directions."""
        if self.n_both is None:
            return ""
        if self.n_both == 0:
            return f"No two classes are below {FAILED_PAIR} in both directions."
        told = [f"{printable(a)} and {printable(b)}" for a, b in self.both]
        if more := self.n_both - len(told):
            told.append(f"and {counted(more, 'other pair')} of classes")
        return f"Below {FAILED_PAIR} in both directions: {', '.join(told)}."


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
    low_pairs: LowPairs
    n_classes: int
    """Classes that have samples."""
    n_samples: int
    status: Status
    weighted_by: str = ""
    """What weights D and not M, as `weighted_by` says it."""
    worst_reversed: float | None = None
    """Area of the worst pair the other way round; None if it is not there."""
    never_predicted: str = ""
    """Which classes are never predicted although they have samples; empty where there are none."""
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
        return self.sized(None)

    def sized(self, n_groups: int | None) -> str:
        """How much was judged, with the number of independent groups, if there are any."""
        pairs = counted(self.n_pairs, "ordered pair") if self.n_pairs > 1 else "1 pair"
        groups = " of" if n_groups is None else f" in {counted(n_groups, 'group')},"
        return f"{counted(self.n_samples, 'sample')}{groups} {counted(self.n_classes, 'class')}, {pairs}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What contradicts the summary or was ignored, one sentence each."""
        found = [self.never_predicted] if self.never_predicted else []
        if self.auc > _GOOD_D and self.low_pairs.n_ordered:
            found.append(self._failed_pairs())
        # Of the same ranking: M ranks by columns, so that its distance from a D by differences says nothing of pairs.
        mean, name = (self.hand_till, "M") if self.auc_mu is None else (self.auc_mu, "AUCmu")
        if abs(self.auc - mean) > _FAR_APART:
            apart = f"D is {gap(self.auc - mean)} {'above' if self.auc > mean else 'below'} {name}"
            why = (
                "the pairs of classes differ much in how well they are separated, so one number does not describe them"
            )
            if self.weighted_by:
                why = f"D is weighted by {self.weighted_by}, {name} is not, and pairs of classes may differ as well"
            found.append(f"{apart}: {why}. Look at the pairs.")
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
        pair, low = self.worst_pair, self.low_pairs
        positive, negative = printable(pair.positive), printable(pair.negative)
        back = None if self.worst_reversed is None else f"{negative} against {positive}, {area(self.worst_reversed)}"
        start, worst = f"D is {area(self.auc)}, but", f"{positive} against {negative}"
        if low.n_ordered == 1:
            other = "" if back is None else f" ({back})"
            only = f"{worst} has an area of only {area(pair.auc)}{other}"
            return f"{start} {only}: D hardly notices a single pair that fails."
        other = "" if back is None else f"; {back}"
        note = (
            f"{start} {low.n_ordered:,} of {self.n_pairs:,} ordered pairs have an area below {FAILED_PAIR} "
            f"(worst: {worst}, {area(pair.auc)}{other}): D hardly notices pairs that fail."
        )
        return f"{note} {low.in_both}".rstrip()

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """Name, number and meaning of each line; a line without a number says why it has none."""
        binary = self.n_pairs == 1
        meaning = "area under the ROC curve" if binary else "multi-class AUC: area under the curve that all pairs share"
        meaning += f", weighted by {self.weighted_by}" if self.weighted_by else ""
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
            other = "" if self.worst_reversed is None else f"; reversed {area(self.worst_reversed)}"
            rows.append(("worst pair", area(pair.auc), f"area of {positive} against {negative}{other}"))
        return rows


def weighted_by(options: Mapping[str, Any]) -> str:
    """What weights the pairs in D, and not in M; empty if every pair counts the same.

    >>> weighted_by({"costs": [[0, 1], [2, 0]], "tpr_weights": None, "fpr_weights": None, "weighting": "prevalence"})
    'the costs and the class frequencies'
    """
    told = {
        "the costs": options["costs"] is not None,
        "the weights of rates": options["tpr_weights"] is not None or options["fpr_weights"] is not None,
        "the class frequencies": options["weighting"] == "prevalence",
    }
    return " and ".join(name for name, is_used in told.items() if is_used)


def binning_note(hand_till: float, auc: float) -> str:
    """What bins have changed at most, or about.

    >>> binning_note(0.00041234, 0.00000031)
    'Scores were counted in bins, which move M by at most 0.0005 and D by about 3e-07.'
    """
    if hand_till == 0:
        return "Scores were counted in bins that hold one score each, so D and M are exact."
    # Upwards: a bound must not be rounded below itself.
    bound = first_digit_up(hand_till)
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
