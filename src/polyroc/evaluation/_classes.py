"""The table of classes: one entry per class, kept by columns."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyroc._inputs.arrays import FrameBackend, frame_with_gaps, plain
from polyroc._inputs.checks import InputError, as_confidence_level, shown
from polyroc._lib.limits import CLASS_ROWS_PRINTED, NEVER_PREDICTED_LISTED
from polyroc._lib.numbers import area, area_and_ends, counted, level, percent
from polyroc._lib.text import aligned, html_table, latex_table, markdown_table, printable, short_names, wrapped
from polyroc._lib.typing import FloatArray, IntArray, LabelArray
from polyroc._lib.warnings import underflow_is_zero
from polyroc._records import Frozen, Predictions, Source
from polyroc._uncertainty.intervals import Interval
from polyroc._uncertainty.units import Units
from polyroc.evaluation._class_areas import ClassIntervals, MeasuredClasses

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# Letters of a name in a table.
_NAME = 20
# Decimals of shares and areas.
_DIGITS = 3
_NONE = "-"
HEADER = ("class", "samples", "predicted", "recall", "precision", "vs rest", "pairs", "hardest partner", "mistaken for")
# Columns of numbers.
RIGHT = (1, 2, 3, 4, 5, 6)
# Predictions, and ranks.
PARTS = ((0, 1, 2, 3, 4, 8), (0, 5, 6, 7))
MEANING = (
    "predicted: how often the class is the highest column. vs rest: area of the class against all others. pairs: mean "
    "area of its pairs. hardest partner: the class with the lowest mean of both areas. mistaken for: the class most "
    "often predicted for it, and for which share of its samples."
)


def _row(row: "ClassRow", names: dict[str, str]) -> list[str]:
    return [
        names[str(row.label)],
        f"{row.n_samples:,}",
        _NONE if row.n_predicted is None else f"{row.n_predicted:,}",
        "no samples" if row.n_samples == 0 else _number(row, "recall"),
        "never predicted" if row.n_predicted == 0 else _number(row, "precision"),
        _number(row, "auc_vs_rest"),
        _number(row, "mean_pair_auc"),
        _partner(row, names),
        _mistaken(row, names),
    ]


def _number(row: "ClassRow", name: str) -> str:
    value = getattr(row, name)
    if value is None:
        return _NONE
    if name not in row.intervals:
        return area(value, digits=_DIGITS)
    text, low, high = area_and_ends(value, *row.intervals[name], digits=_DIGITS)
    return f"{text} ({low} to {high})"


def _partner(row: "ClassRow", names: dict[str, str]) -> str:
    if row.hardest_auc is None:
        return _NONE
    return f"{names[str(row.hardest_partner)]}: {_number(row, 'hardest_auc')}"


def _mistaken(row: "ClassRow", names: dict[str, str]) -> str:
    if row.mistaken_share is None:
        return _NONE
    return f"{names[str(row.mistaken_for)]}: {percent(row.mistaken_share)}" if row.mistaken_share else "none"


_WITH_INTERVALS = ("recall", "precision", "auc_vs_rest", "mean_pair_auc", "hardest_auc")


class ClassRow(NamedTuple):
    """One class: one entry of `Classes`. What is not defined is None.

    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> evaluation = polyroc.evaluate(example.y_true, example.scores["logistic"])
    >>> row = evaluation.classes.of(3)
    >>> row.n_samples, round(row.recall, 3), row.mistaken_for
    (92, 0.783, 9)
    """

    label: Any
    n_samples: int
    weight: float | None
    n_predicted: int | None
    recall: float | None
    precision: float | None
    auc_vs_rest: float | None
    mean_pair_auc: float | None
    hardest_partner: Any
    hardest_auc: float | None
    mistaken_for: Any
    mistaken_share: float | None
    intervals: dict[str, Interval]


@dataclass(frozen=True, eq=False)
class Classes(Frozen):
    """Table of the classes, one entry per class in each column, in the order of `Evaluation.labels`.

    ``classes[i]`` is one `ClassRow`, ``classes.of(label)`` that of a class, and a loop over the table gives them all.
    In columns of numbers NaN stands for what is not defined; in rows and in `to_dict` it is None. A class without
    samples has no recall and no areas, and one that is never predicted has no precision.

    A class is *predicted* for a sample if its column is the highest. If no class can be predicted (one score column,
    or columns that are certainly not on a common scale), the columns about predictions are None, and `notes` says
    why. With `max_pairs`, the columns about pairs are None.

    Attributes
    ----------
    label : ndarray of shape (n_classes,)
        The classes.
    n_samples : ndarray of shape (n_classes,)
        Samples of each class.
    weight : ndarray of shape (n_classes,) or None
        Sum of their weights; None without `sample_weight`.
    n_predicted : ndarray of shape (n_classes,) or None
        How often each class is predicted. A class that a model has lost is never predicted, and D may still be high.
    recall : ndarray of shape (n_classes,) or None
        Share of the class's samples for which it is predicted.
    precision : ndarray of shape (n_classes,) or None
        Share of the samples for which it is predicted that are of this class.
    auc_vs_rest : ndarray of shape (n_classes,)
        Probability that a sample of the class scores higher in its column than a sample of any other class, ties
        counted one half. It depends on how frequent the other classes are.
    mean_pair_auc : ndarray of shape (n_classes,) or None
        Mean of the areas of all pairs with this class, as positive and as negative. The mean of these over the classes
        is M.
    hardest_partner : ndarray of shape (n_classes,) or None
        The other class for which the mean of both areas, A(i, j) and A(j, i), is lowest.
    hardest_auc : ndarray of shape (n_classes,) or None
        That mean of both areas.
    mistaken_for : ndarray of shape (n_classes,) or None
        The class most often predicted wrongly for its samples; None of a class without mistakes.
    mistaken_share : ndarray of shape (n_classes,) or None
        For which share of its samples.
    intervals : ClassIntervals or None
        Both ends of the confidence intervals of `recall`, `precision`, `auc_vs_rest`, `mean_pair_auc` and
        `hardest_auc`, each of shape (n_classes, 2); None until asked for by `with_intervals`.
    confidence_level : float or None
        Of the intervals.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> classes = polyroc.evaluate(example.y_true, example.scores["tree"]).classes
    >>> one = classes.of(1)
    >>> one.n_samples, one.n_predicted, round(one.recall, 3), one.mistaken_for
    (91, 40, 0.143, 3)
    >>> low, high = classes.with_intervals().of(1).intervals["recall"]
    >>> low < one.recall < high
    True
    """

    label: LabelArray
    n_samples: IntArray
    weight: FloatArray | None
    n_predicted: IntArray | None
    recall: FloatArray | None
    precision: FloatArray | None
    auc_vs_rest: FloatArray
    mean_pair_auc: FloatArray | None
    hardest_partner: LabelArray | None
    hardest_auc: FloatArray | None
    mistaken_for: LabelArray | None
    mistaken_share: FloatArray | None
    notes: tuple[str, ...] = ()
    """Why columns are missing, and which classes are never predicted; one sentence each."""
    intervals: ClassIntervals | None = None
    confidence_level: float | None = None
    _measured: MeasuredClasses | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.label)

    def __getitem__(self, position: int) -> ClassRow:
        place = range(len(self))[index(position)]
        entries = [None if x is None else _entry(x[place : place + 1]) for x in self._estimates().values()]
        return ClassRow._make([*entries, self._intervals_at(place)])

    def __iter__(self) -> Iterator[ClassRow]:
        return (self[place] for place in range(len(self)))

    def of(self, label: Any) -> ClassRow:
        """The row of one class.

        Parameters
        ----------
        label : scalar
            One of the classes.
        """
        for place, one in enumerate(self.label.tolist()):
            if _is_same(one, label):
                return self[place]
        raise InputError("label", f"must be one of the {counted(len(self), 'class')}", shown(label))

    @underflow_is_zero
    def with_intervals(self, confidence_level: float = 0.95, *, groups: "ArrayLike | None" = None) -> "Classes":
        """The same table with confidence intervals, in all of its forms.

        Shares have Wilson's interval: for recall, as if there were as many samples as the class has (with weights,
        Kish's effective number); for precision likewise, given how often the class is predicted. Areas have DeLong's
        interval on the logit scale. That of the area against the rest takes the classes of the other samples as random,
        too. Nothing is resampled.

        Parameters
        ----------
        confidence_level : float
            Between 0 and 1.
        groups : array-like of shape (n_samples,), optional
            Group of each sample, such as a patient ID. If given, groups are independent instead of samples.

        Returns
        -------
        Classes
            With `intervals`.

        Examples
        --------
        >>> import polyroc
        >>> example = polyroc.load_example()
        >>> classes = polyroc.evaluate(example.y_true, example.scores["tree"]).classes.with_intervals()
        >>> classes.to_frame("pandas").filter(like="recall").columns.tolist()
        ['recall', 'recall_low', 'recall_high']
        """
        confidence_level = as_confidence_level(confidence_level)
        assert self._measured is not None
        return self.by_units(confidence_level, self._measured.units(groups))

    def by_units(self, confidence_level: float, units: Units) -> "Classes":
        """The same for units that somebody else made, and warned of."""
        assert self._measured is not None
        intervals = self._measured.intervals(confidence_level, units)
        return replace(self, intervals=intervals, confidence_level=confidence_level)

    @property
    def never_predicted(self) -> list[Any]:
        """Classes that have samples and are never predicted; none if no class can be predicted."""
        if self.n_predicted is None:
            return []
        found: list[Any] = self.label[(self.n_predicted == 0) & (self.n_samples > 0)].tolist()
        return found

    def to_dict(self) -> dict[str, Any]:
        """The table as plain lists by column name, with None for what is not defined."""
        record: dict[str, Any] = {name: None if x is None else _plain(x) for name, x in self._columns().items()}
        if self.weight is None:
            del record["weight"]
        return {**record, "confidence_level": self.confidence_level, "notes": list(self.notes)}

    def to_frame(self, backend: FrameBackend = "pandas") -> Any:
        """The table as a data frame; with `with_intervals` also both ends of each interval.

        What is not defined is null, NaN in pandas.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            Whose data frame to make; that package must be installed.

        Examples
        --------
        >>> import polyroc
        >>> example = polyroc.load_example()
        >>> evaluation = polyroc.evaluate(example.y_true, example.scores["tree"])
        >>> evaluation.classes.to_frame("pandas").shape
        (10, 11)
        """
        missing = np.full(len(self), np.nan)
        columns = {name: missing if x is None else x for name, x in self._columns().items()}
        if self.weight is None:
            del columns["weight"]
        return frame_with_gaps(columns, backend)

    def to_markdown(self) -> str:
        """The table in Markdown, for issues and model cards; names of classes are text there and nothing else."""
        return markdown_table(self._cells(), right=RIGHT)

    def to_latex(self) -> str:
        """The table as a LaTeX ``tabular`` that needs no package; names of classes are escaped."""
        return latex_table(self._cells(), right=RIGHT)

    def __str__(self) -> str:
        title, places = self._printed()
        rows = self._cells(places)
        # With intervals in two parts, each narrow enough for a terminal.
        parts = [range(len(rows[0]))] if self.intervals is None else PARTS
        lines = [title]
        for part in parts:
            lines += ["", *aligned([[row[place] for place in part] for row in rows])]
        lines += ["", *wrapped(MEANING)]
        for note in self.notes:
            lines += ["", *wrapped(note)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        title, places = self._printed()
        return html_table(self._cells(places), right=RIGHT, caption=" ".join([title + ".", *self.notes]))

    def __repr__(self) -> str:
        return f"Classes({counted(len(self), 'class')}: {', '.join(self._estimates())})"

    def _printed(self) -> tuple[str, list[int]]:
        """A title, and which classes are shown: all in their order, or of many those that are found least often."""
        sure = "" if self.confidence_level is None else f" with {level(self.confidence_level)} intervals"
        if len(self) <= CLASS_ROWS_PRINTED:
            return f"{counted(len(self), 'class')}{sure}", list(range(len(self)))
        by, name = (self.auc_vs_rest, "area against the rest") if self.recall is None else (self.recall, "recall")
        lowest = np.argsort(by, kind="stable")[:CLASS_ROWS_PRINTED].tolist()
        which = f"The {CLASS_ROWS_PRINTED} of {len(self):,} classes with the lowest {name}{sure}"
        return f"{which}; to_frame() has all", lowest

    def _cells(self, places: list[int] | None = None) -> list[list[str]]:
        # Shortened together, so that no two names become the same.
        labels = self.label.tolist()
        names = dict(zip(map(str, labels), short_names(labels, _NAME), strict=True))
        return [list(HEADER), *(_row(self[place], names) for place in (range(len(self)) if places is None else places))]

    def _estimates(self) -> dict[str, "np.ndarray[Any, Any] | None"]:
        return {name: getattr(self, name) for name in ClassRow._fields[:-1]}

    def _columns(self) -> dict[str, "np.ndarray[Any, Any] | None"]:
        """All columns in the order of the frame, each interval after its estimate."""
        columns: dict[str, np.ndarray[Any, Any] | None] = {}
        for name, values in self._estimates().items():
            columns[name] = values
            if self.intervals is not None and name in _WITH_INTERVALS:
                ends = getattr(self.intervals, name)
                columns[f"{name}_low"] = None if ends is None else ends[:, 0]
                columns[f"{name}_high"] = None if ends is None else ends[:, 1]
        return columns

    def _intervals_at(self, place: int) -> dict[str, Interval]:
        found = {}
        for name in _WITH_INTERVALS if self.intervals is not None else ():
            ends = getattr(self.intervals, name)
            if ends is not None and not np.isnan(ends[place, 0]):
                found[name] = Interval(*ends[place].tolist())
        return found


def _entry(one: "np.ndarray[Any, Any]") -> Any:
    """The only entry of a column of one row, None for what is not defined."""
    [value] = one.tolist()
    return None if isinstance(value, float) and value != value and one.dtype != object else value


def _plain(column: "np.ndarray[Any, Any]") -> list[Any]:
    if column.dtype.kind == "f":
        return [None if value != value else value for value in column.tolist()]
    return [None if value is None else plain(np.array([value], dtype=object))[0] for value in column.tolist()]


def _is_same(one: Any, label: Any) -> bool:
    """Whether a class is what somebody asks for; arrays and frames, which compare otherwise or refuse to, are none."""
    try:
        same = one == label
    except TypeError:
        return False
    return isinstance(same, bool | np.bool_) and bool(same)


def class_table(measured: MeasuredClasses) -> Classes:
    """One row per class, without intervals."""
    source, predicted, areas = measured.fitted.source, measured.predicted, measured.areas
    return Classes(
        label=source.labels,
        n_samples=source.class_counts,
        weight=source.class_weights if source.is_weighted else None,
        n_predicted=None if predicted is None else predicted.n_predicted,
        recall=None if predicted is None else predicted.recall,
        precision=None if predicted is None else predicted.precision,
        auc_vs_rest=areas.against_rest,
        mean_pair_auc=areas.of_pairs,
        hardest_partner=_names(source.labels, areas.hardest),
        hardest_auc=areas.of_hardest,
        mistaken_for=None if predicted is None else _names(source.labels, predicted.mistaken_for),
        mistaken_share=None if predicted is None else predicted.mistaken_share,
        notes=_notes(measured),
        _measured=measured,
    )


def _names(labels: LabelArray, places: IntArray | None) -> LabelArray | None:
    """The labels at these places, None at -1."""
    if places is None:
        return None
    if len(places) and places.min() >= 0:
        found: LabelArray = labels[places]
        return found
    names = np.empty(len(places), dtype=object)
    names[:] = [None if place < 0 else name for place, name in zip(places, labels[places].tolist(), strict=True)]
    return names


def _notes(measured: MeasuredClasses) -> tuple[str, ...]:
    found = []
    if measured.why_not_predicted:
        found.append(f"There is no recall and no precision. {measured.why_not_predicted}")
    if measured.areas.of_pairs is None:
        found.append("Areas of pairs need all pairs of a class: only a sample of them was compared (max_pairs).")
    if note := never_predicted_note(measured):
        found.append(note)
    return tuple(found)


def _ties(source: Source, columns: IntArray) -> bool:
    """Whether one of the columns is the highest of some row, together with an earlier one; of samples in memory."""
    if not isinstance(source, Predictions) or source.device is not None:
        return False
    highest = source.scores.max(axis=1)
    return any(bool((source.scores[:, column] == highest).any()) for column in columns)


def never_predicted_note(measured: MeasuredClasses) -> str:
    """That classes with samples are never predicted; nothing where there are none. It takes no areas."""
    if measured.predicted is None:
        return ""
    source = measured.fitted.source
    lost = np.flatnonzero((measured.predicted.n_predicted == 0) & (source.class_counts > 0))
    if len(lost) == 0:
        return ""
    tied = " without a tie, and of equal columns the first counts" if _ties(source, lost) else ""
    why = f"highest in no row{tied}. D and M compare samples within a column and cannot show that."
    first = zip(
        source.labels[lost[:NEVER_PREDICTED_LISTED]].tolist(),
        source.class_counts[lost[:NEVER_PREDICTED_LISTED]].tolist(),
        strict=True,
    )
    told = [f"{printable(name)} ({counted(count, 'sample')})" for name, count in first]
    if len(lost) == 1:
        return f"Class {told[0]} is never predicted: its column is the {why}"
    more = f" and {len(lost) - NEVER_PREDICTED_LISTED:,} more" if len(lost) > NEVER_PREDICTED_LISTED else ""
    which = f"{len(lost):,} of {counted(len(source.labels), 'class')} are never predicted: {', '.join(told)}{more}"
    return f"{which}. Their columns are the {why}"
