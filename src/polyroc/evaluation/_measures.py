"""Measures: the table of one model."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from polyroc._inputs.arrays import FrameBackend, frame_of
from polyroc._inputs.checks import InputError, as_flag, listed, shown
from polyroc._lib.numbers import area, area_and_ends, level
from polyroc._lib.text import aligned, latex_table, markdown_table, wrapped
from polyroc._lib.typing import FloatArray, Statistic
from polyroc._records import Frozen
from polyroc._uncertainty.bootstrap import BootstrapResult
from polyroc._uncertainty.units import Units, sampled_units
from polyroc.evaluation._measure_list import KINDS, ONLY_ORDERED, Kind
from polyroc.evaluation._measure_values import Measured, Sure
from polyroc.evaluation._text import tables_html


class _Row(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str: ...


Row = TypeVar("Row", bound=_Row)


@dataclass(frozen=True, eq=False)
class NamedRows(Frozen, Generic[Row]):
    """Rows of measures, each found by its name."""

    rows: tuple[Row, ...]
    left_out: Mapping[str, str]
    confidence_level: float

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.name == name:
                return row
        why = self.left_out.get(name, f"It is not among {', '.join(self.names)}.")
        msg = f"There is no measure {shown(name)} here. {why}"
        raise KeyError(msg)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the rows."""
        return tuple(row.name for row in self.rows)


# Measures that resamples know, too.
_RESAMPLED: dict[str, Statistic] = {"auc": "auc", "hand_till": "hand_till"}

# Columns of numbers in the table of text.
_NUMBERS = range(1, 5)


@dataclass(frozen=True)
class Measure:
    """One row of `Measures`.

    Attributes
    ----------
    name : str
        As `Evaluation.measures` takes it.
    label : str
        For people.
    estimate : float
        The value.
    standard_error, low, high : float or None
        How sure it is; None where that cannot be said without resampling, and `note` says why.
    note : str
        What is to be known of this value; empty where nothing is.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> evaluation = polyroc.evaluate(example.y_true, example.scores["logistic"])
    >>> accuracy = evaluation.measures()["accuracy"]
    >>> round(accuracy.estimate, 3), round(accuracy.low, 3), round(accuracy.high, 3)
    (0.799, 0.771, 0.824)
    """

    name: str
    label: str
    estimate: float
    standard_error: float | None
    low: float | None
    high: float | None
    note: str = ""

    @property
    def meaning(self) -> str:
        """Meaning of the measure, in a line."""
        return self._kind.meaning

    @property
    def higher_is_better(self) -> bool:
        """False for losses and errors."""
        return self._kind.higher_is_better

    @property
    def depends_on_prevalence(self) -> bool:
        """Whether it changes where only the proportions of the classes change."""
        return self._kind.depends_on_prevalence

    @property
    def sklearn(self) -> str:
        """The function of scikit-learn with the same value; empty where there is none."""
        return self._kind.sklearn

    @property
    def _kind(self) -> Kind:
        return KINDS[self.name]


@dataclass(frozen=True, eq=False)
class Measures(NamedRows[Measure]):
    """Accuracy, F1, kappa and other measures of a classifier with intervals: result of `Evaluation.measures`.

    A loop gives every `Measure`, and ``measures["accuracy"]`` one of them.

    Attributes
    ----------
    rows : tuple of Measure
        In the order of the declaration, or as they were asked for.
    left_out : mapping of str to str
        Why other measures are not there, by their name.
    confidence_level : float
        Of the intervals.
    covariance : ndarray of shape (n_measures, n_measures)
        Of the estimates, all of the same samples; NaN of those without a standard error.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> evaluation = polyroc.evaluate(example.y_true, example.scores["logistic"])
    >>> measures = evaluation.measures()
    >>> [one.name for one in measures][:3]
    ['auc', 'hand_till', 'pdi']
    """

    covariance: FloatArray

    @property
    def correlation(self) -> FloatArray:
        """Of the estimates, shape (n_measures, n_measures); NaN of those that do not vary."""
        error = np.sqrt(np.diag(self.covariance))
        alone = np.outer(error, error)
        found: FloatArray = np.divide(self.covariance, alone, out=np.full(alone.shape, np.nan), where=alone > 0)
        return found

    def by_resamples(self, bootstrap: BootstrapResult) -> "Measures":
        """The same with the intervals of D and M that resamples give, for a page that shows these.

        Parameters
        ----------
        bootstrap : BootstrapResult
            Of the same evaluation.

        Returns
        -------
        Measures
            With the `standard_error` and the intervals of D and M replaced; the covariance stays.
        """
        rows = []
        for row in self.rows:
            if row.name in _RESAMPLED:
                found = bootstrap.distribution(_RESAMPLED[row.name])
                low, high = found.ends(self.confidence_level, "logit")
                row = replace(row, standard_error=found.standard_error, low=low, high=high, note="")
            rows.append(row)
        return Measures(tuple(rows), self.left_out, self.confidence_level, self.covariance)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the covariance, as plain data that `json` can write."""
        of_kind = ("higher_is_better", "depends_on_prevalence")
        rows = [vars(row) | {name: getattr(row, name) for name in of_kind} for row in self.rows]
        return {"confidence_level": self.confidence_level, "measures": rows, "left_out": dict(self.left_out)}

    def to_frame(self, backend: FrameBackend = "pandas") -> Any:
        """The table as a data frame; the package `backend` must be installed."""
        return frame_of(columns_of(self.to_dict()["measures"]), backend)

    def to_markdown(self) -> str:
        """The table as Markdown."""
        return markdown_table(self.text_rows(), right=_NUMBERS)

    def to_latex(self) -> str:
        """The table as a LaTeX `tabular`, which needs no package."""
        return latex_table(self.text_rows(), right=_NUMBERS)

    def text_rows(self) -> list[list[str]]:
        """The table as text, its header first."""
        header = ["measure", "estimate", f"{level(self.confidence_level)} interval", "standard error", "better"]
        return [header, *([row.label, *estimate_cells(row), better(row.higher_is_better)] for row in self.rows)]

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on single rows, and why others are missing, one sentence or two each."""
        of_rows = [f"{row.label}: {row.note}" for row in self.rows if row.note]
        return (*of_rows, *left_out_notes(self.left_out))

    def _repr_html_(self) -> str:
        return tables_html(self.notes, [self.text_rows()])

    def __str__(self) -> str:
        lines = aligned(self.text_rows())
        for note in self.notes:
            lines += ["", *wrapped(note)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Measures({', '.join(f'{row.name}={area(row.estimate)}' for row in self.rows)})"


def table_of(measured: Sequence[Measured], left_out: Mapping[str, str], confidence_level: float) -> Measures:
    """The measures that were computed, with their intervals."""
    rows = tuple(row_of(one, confidence_level) for one in measured)
    return Measures(rows, left_out, confidence_level, covariance_of([one.sure for one in measured]))


def row_of(one: Measured, confidence_level: float) -> Measure:
    """One measure with its interval."""
    if one.sure is None:
        return Measure(one.kind.name, one.kind.label, one.estimate, None, None, None, one.note)
    ends = one.sure.ends(confidence_level)
    return Measure(one.kind.name, one.kind.label, one.estimate, one.sure.standard_error, *ends, one.note)


def covariance_of(measured: Sequence[Sure | None]) -> FloatArray:
    """Covariance of measures, each with the strata of its own units; NaN of those that have no influences.

    Each measure keeps its own standard error: influences are centred within the strata that the measure has, and
    scaled as its variance is.
    """
    found = np.full((len(measured), len(measured)), np.nan)
    known = [place for place, one in enumerate(measured) if one is not None]
    if known:
        parts = np.array(
            [_standardized(one.influences, sampled_units(one.units)) for one in measured if one is not None]
        )
        found[np.ix_(known, known)] = parts @ parts.T
        for place in known:
            sure = measured[place]
            assert sure is not None
            found[place, place] = sure.standard_error**2
    return found


def _standardized(influences: FloatArray, units: Units) -> FloatArray:
    """Parts by unit whose sum of squares is the variance, shape (U,)."""
    scale = np.sqrt(units.sizes / np.maximum(units.sizes - 1, 1))
    parts: FloatArray = units.centred(units.sums(influences)) * scale[units.stratum]
    return parts


def as_kinds(names: Any, ordered: Any) -> list[Kind]:
    """The measures that are asked for: all of them, or those of these names, in that order."""
    ordered = as_flag(ordered, "ordered")
    if names is None:
        return [kind for kind in KINDS.values() if ordered or kind.name not in ONLY_ORDERED]
    given = [names] if isinstance(names, str) else list(names) if isinstance(names, Sequence) else None
    rule = f"must be None or names among {', '.join(KINDS)}"
    if not given:
        raise InputError("names", rule, shown(names))
    if unknown := [name for name in given if not isinstance(name, str) or name not in KINDS]:
        raise InputError("names", rule, listed(unknown))
    return [KINDS[name] for name in dict.fromkeys(given)]


def estimate_cells(row: Any) -> list[str]:
    """Estimate, interval and standard error as text."""
    if row.low is None or row.high is None or row.standard_error is None:
        return [area(row.estimate), "none", "none"]
    value, low, high = area_and_ends(row.estimate, row.low, row.high)
    return [value, f"[{low}, {high}]", area(row.standard_error)]


def better(higher: bool) -> str:
    """Which way is better."""
    return "higher" if higher else "lower"


def left_out_notes(left_out: Mapping[str, str]) -> list[str]:
    """One sentence for each reason, with all measures that it concerns."""
    labels: dict[str, list[str]] = {}
    for name, why in left_out.items():
        labels.setdefault(why, []).append(KINDS[name].label)
    return [f"Without {', '.join(names)}: {why}" for why, names in labels.items()]


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray[Any, Any]]:
    """Rows as columns; numbers that are not there are NaN."""
    numbers = ("estimate", "standard_error", "low", "high")
    return {
        name: np.array([row[name] for row in rows], dtype=float if name in numbers else None)
        for name in (rows[0] if rows else ())
    }
