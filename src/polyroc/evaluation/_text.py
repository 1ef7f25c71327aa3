"""An evaluation in a few lines or a small table: D, M, accuracy, the worst pair, and what contradicts them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar, TypeAlias

from polyroc._core.curve import RocCurve
from polyroc._core.samples import is_backwards
from polyroc._lib.axes import Line, View, Whisker, curve_svg, decades_of, opens_in_corner, whiskers_svg
from polyroc._lib.numbers import area, area_and_ends, counted, first_digit_up, gap, level, percent
from polyroc._lib.text import aligned, printable, short_names, wrapped
from polyroc._records import Status
from polyroc.evaluation._fitted import Pair

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
    """Summary of an evaluation, as it is shown everywhere."""

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
    """Name of the weights of D that M does not have, from `weighted_by`."""
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
    """Remarks on an evaluation of counted scores, one sentence each."""

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
        """Contradictions of the summary, and options that were ignored, one sentence each."""
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
    """Name of the weights of the pairs in D, which M does not have; empty if every pair counts the same.

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
    """How far bins have moved M at most, and D about.

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
    """Meaning of M, by its other names."""
    return "the same: two classes are one pair" if binary else "Hand and Till, scikit-learn's ovo"


def backwards_note(value: float, low: float, high: float) -> str:
    """Meaning of an interval of D below 1/2; empty for any other."""
    if not is_backwards(low, high):
        return ""
    end, middle, _ = area_and_ends(high, value, 0.5)
    return (
        f"D is {middle} and its interval ends at {end}, below 1/2: the scores rank backwards. The score "
        "columns may be in another order than the labels."
    )


def evaluation_text(headline: Headline) -> str:
    """The summary as `print` shows it."""
    lines = [f"Evaluation of {headline.sizes}", "", *aligned(headline.rows)]
    for note in headline.cautions:
        lines += ["", *wrapped(note)]
    return "\n".join(lines)


# Models in the picture of a comparison: as many as there are colours.
MOST_MODELS = 6
_MODEL = 16
_BESIDE = "display: flex; flex-wrap: wrap; gap: 0.5em 2em; align-items: flex-start"

# The shared curve and the mean curve, which two classes do not have.
Curves: TypeAlias = tuple[RocCurve, RocCurve | None]


def evaluation_html(
    headline: Headline,
    hardest: Sequence[tuple[Pair, float | None]],
    curves: Curves,
    whiskers: Sequence[Whisker] = (),
    confidence_level: float = 0.95,
) -> str:
    """D, M, accuracy and the worst pair, what contradicts them, and the pairs with the smallest areas; the curves."""
    picture = _picture({"": curves}, whiskers, confidence_level)
    return f'<div style="{_BESIDE}">\n{_evaluation_table(headline, hardest)}\n{picture}</div>'


def _evaluation_table(headline: Headline, hardest: Sequence[tuple[Pair, float | None]]) -> str:
    rows = [
        *(_row([("th", name), ("td", number), ("td", meaning)]) for name, number, meaning in headline.rows),
        _row([("th", "size"), ("td", headline.sizes)], last_spans=2),
        *(_row([("td", note)], last_spans=3) for note in headline.cautions),
        _row([("th", "hardest pairs: positive"), ("th", "negative"), ("th", "area")]),
    ]
    names = short_names([name for pair, _ in hardest for name in (pair.positive, pair.negative)], _NAME)
    for place, (pair, back) in enumerate(hardest):
        positive, negative = names[2 * place : 2 * place + 2]
        areas = area(pair.auc) if back is None else f"{area(pair.auc)}; reversed {area(back)}"
        rows.append(_row([("td", positive), ("td", negative), ("td", areas)]))
    return f"<table>\n{''.join(rows)}</table>"


def tables_html(sentences: Iterable[str], tables: Iterable[Sequence[Sequence[str]]]) -> str:
    """Sentences, then tables whose first row is their header."""
    parts = [f"<p>{escape(sentence)}</p>\n" for sentence in sentences]
    for header, *rows in tables:
        lines = [_row([("th", cell) for cell in header]), *(_row([("td", cell) for cell in row]) for row in rows)]
        parts.append(f"<table>\n{''.join(lines)}</table>\n")
    return f"<div>\n{''.join(parts)}</div>"


def comparison_html(
    sentences: Iterable[str],
    tables: Iterable[Sequence[Sequence[str]]],
    curves: Mapping[str, Curves],
    whiskers: Sequence[Whisker],
    confidence_level: float,
) -> str:
    """Sentences and tables, and the curves of the models with their areas."""
    return f"<div>\n{_picture(curves, whiskers, confidence_level)}{tables_html(sentences, tables)}</div>"


def _picture(curves: Mapping[str, Curves], whiskers: Sequence[Whisker], confidence_level: float) -> str:
    """Curves, and next to them the areas with their intervals, where there are any."""
    lines = []
    for place, (shared, mean) in enumerate(curves.values()):
        if mean is not None:
            lines.append(Line(mean.fpr, mean.tpr, place, "mean"))
        lines.append(Line(shared.fpr, shared.tpr, place))
    is_corner = opens_in_corner(shared.auc for shared, _ in curves.values())
    view = View(is_corner, decades_of((line.fpr, line.tpr) for line in lines))
    several = any(mean is not None for _, mean in curves.values())
    legend = "solid: shared curve (D); dashed: mean of pairs (M)" if several else ""
    parts = [_figure(curve_svg(lines, view), legend)]
    if whiskers:
        legend = "filled: D; hollow: M; " if several else ""
        parts.append(_figure(whiskers_svg(whiskers), f"{legend}{level(confidence_level)} intervals"))
    return f'<div style="{_BESIDE}">\n{"".join(parts)}</div>\n'


def _figure(svg: str, words: str) -> str:
    return f'<div>{svg}<div style="font-size: 85%">{escape(words)}</div></div>\n'


def model_whiskers(names: Sequence[str], areas: Sequence[Sequence[tuple[float, float, float]]]) -> list[Whisker]:
    """A row for D of each model and, where it has one, another for M: value and both ends of the interval.

    >>> [row.name for row in model_whiskers(["tree"], [[(0.9, 0.8, 0.95), (0.8, 0.7, 0.9)]])]
    ['tree D', 'tree M']
    """
    # A single model has no name.
    short = short_names(names, _MODEL) if any(names) else names
    return [
        Whisker(f"{name} {letter}".strip(), *ends, colour=place, kind="shared" if letter == "D" else "mean")
        for place, (name, found) in enumerate(zip(short, areas, strict=True))
        for letter, ends in zip("DM", found, strict=False)
    ]


def _row(cells: Sequence[tuple[str, str]], *, last_spans: int = 1) -> str:
    spans = [1] * (len(cells) - 1) + [last_spans]
    inside = "".join(
        f'<{tag}{f" colspan={span}" if span > 1 else ""} style="text-align: left">{escape(text)}</{tag}>'
        for (tag, text), span in zip(cells, spans, strict=True)
    )
    return f"<tr>{inside}</tr>\n"
