"""ComparedMeasures: the table of several models, and how they differ by each measure."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, TypeAlias, get_args

from polyroc._inputs.arrays import FrameBackend, frame_of
from polyroc._inputs.checks import one_of
from polyroc._lib.numbers import difference_and_ends, level, p_value
from polyroc._lib.text import aligned, latex_table, markdown_table, printable, short_names, wrapped
from polyroc._records import Frozen
from polyroc._uncertainty.p_values import Test
from polyroc._uncertainty.paired import Contest, Difference, with_holm
from polyroc._uncertainty.paired_influence import difference
from polyroc.evaluation._measure_list import KINDS
from polyroc.evaluation._measure_values import Measured
from polyroc.evaluation._measures import Measure, NamedRows, better, columns_of, estimate_cells, left_out_notes, row_of
from polyroc.evaluation._text import tables_html

MeasuresTable: TypeAlias = Literal["estimates", "differences"]
# Letters of a name in a table of models, and in one of differences.
_NAME, _OF_TWO = 30, 24
HOLM_NOTE = (
    "p (Holm) is adjusted for the pairs of models, not for the number of measures: choose the measure before you look."
)
# Columns of numbers in both tables of text.
_NUMBERS = range(2, 6)


@dataclass(frozen=True)
class ComparedMeasure(Frozen):
    """One measure of several models: one row of `ComparedMeasures`.

    Attributes
    ----------
    name, label : str
        As in `Measure`.
    estimates : mapping of str to Measure
        By model.
    differences : tuple of Difference
        One for each two models, the p values adjusted for one another within the measure; none where some model has no
        standard error.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> comparison = polyroc.compare(example.y_true, example.scores)
    >>> accuracy = comparison.measures()["accuracy"]
    >>> round(accuracy.estimates["knn"].estimate, 3)
    0.618
    >>> [(one.first, one.second, round(one.value, 3)) for one in accuracy.differences[:2]]
    [('logistic', 'knn', 0.18), ('logistic', 'tree', 0.242)]
    """

    name: str
    label: str
    estimates: Mapping[str, Measure]
    differences: tuple[Difference, ...]

    @property
    def higher_is_better(self) -> bool:
        """False for losses and errors: then a difference below 0 speaks for the first model."""
        return KINDS[self.name].higher_is_better


@dataclass(frozen=True, eq=False)
class ComparedMeasures(NamedRows[ComparedMeasure]):
    """Accuracy, F1, kappa and other measures of each model, and paired differences: result of `Comparison.measures`.

    A loop gives every `ComparedMeasure`, and ``measures["accuracy"]`` one of them.

    Attributes
    ----------
    rows : tuple of ComparedMeasure
        One for each measure that all models have.
    left_out : mapping of str to str
        Why other measures are not there, by their name.
    confidence_level : float
        Of the intervals.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> comparison = polyroc.compare(example.y_true, example.scores)
    >>> measures = comparison.measures()
    >>> measures.models
    ('logistic', 'knn', 'tree')
    >>> measures["accuracy"].higher_is_better
    True
    """

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that `json` can write."""
        rows = [
            {
                **{name: getattr(row, name) for name in ("name", "label", "higher_is_better")},
                "estimates": [{"model": model, **_plain(one)} for model, one in row.estimates.items()],
                "differences": [dict(vars(one)) for one in row.differences],
            }
            for row in self.rows
        ]
        return {"confidence_level": self.confidence_level, "measures": rows, "left_out": dict(self.left_out)}

    def to_frame(self, table: MeasuresTable = "estimates", backend: FrameBackend = "pandas") -> Any:
        """One of the tables as a data frame.

        Parameters
        ----------
        table : {"estimates", "differences"}
            One row for each measure and model, or for each measure and two models.
        backend : {"pandas", "polars", "pyarrow"}
            Whose data frame to make; that package must be installed.
        """
        if one_of(table, "table", get_args(MeasuresTable)) == "estimates":
            rows = [
                {"name": row.name, "label": row.label, "model": model, **_plain(one)}
                for row in self.rows
                for model, one in row.estimates.items()
            ]
        else:
            rows = [{"name": row.name, "label": row.label, **vars(one)} for row in self.rows for one in row.differences]
        return frame_of(columns_of(rows), backend)

    def to_markdown(self, table: MeasuresTable = "estimates") -> str:
        """One of the tables as Markdown."""
        return markdown_table(self.text_rows(table, whole=True), right=_NUMBERS)

    def to_latex(self, table: MeasuresTable = "estimates") -> str:
        """One of the tables as a LaTeX `tabular`, which needs no package."""
        return latex_table(self.text_rows(table, whole=True), right=_NUMBERS)

    def text_rows(self, table: MeasuresTable = "estimates", *, whole: bool = False) -> list[list[str]]:
        """One of the tables as text, its header first; long names of models are cut unless they are to stand whole."""
        is_first = one_of(table, "table", get_args(MeasuresTable)) == "estimates"
        width = 10_000 if whole else _NAME if is_first else _OF_TWO
        short = dict(zip(self.models, short_names(self.models, width), strict=True))
        return self._estimate_rows(short) if is_first else self._difference_rows(short)

    def _estimate_rows(self, short: Mapping[str, str]) -> list[list[str]]:
        rows = [
            ["measure", "model", "estimate", f"{level(self.confidence_level)} interval", "standard error", "better"]
        ]
        for row in self.rows:
            for place, (model, one) in enumerate(row.estimates.items()):
                label = "" if place else row.label
                rows.append([label, short[model], *estimate_cells(one), "" if place else better(row.higher_is_better)])
        return rows

    def _difference_rows(self, short: Mapping[str, str]) -> list[list[str]]:
        rows = [["measure", "difference", "value", f"{level(self.confidence_level)} interval", "p", "p (Holm)"]]
        for row in self.rows:
            for place, one in enumerate(row.differences):
                value, low, high = difference_and_ends(one.value, one.low, one.high)
                p_values = [p_value(p) for p in (one.p_value, one.p_value_holm)]
                names = f"{short[one.first]} - {short[one.second]}"
                rows.append(["" if place else row.label, names, value, f"[{low}, {high}]", *p_values])
        return rows

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(self.rows[0].estimates) if self.rows else ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on single rows, and why others are missing."""
        of_rows = [
            f"{row.label} of {printable(model)}: {one.note}"
            for row in self.rows
            for model, one in row.estimates.items()
            if one.note
        ]
        lower = [row.label for row in self.rows if not row.higher_is_better]
        told = [f"Lower is better for {', '.join(lower)}: there a difference below 0 favours the first model."]
        holm = [HOLM_NOTE] if sum(bool(row.differences) for row in self.rows) > 1 else []
        return (*holm, *(told if lower else ()), *of_rows, *left_out_notes(self.left_out))

    def _repr_html_(self) -> str:
        return tables_html(self.notes, [self.text_rows("estimates"), self.text_rows("differences")])

    def __str__(self) -> str:
        lines = [*aligned(self.text_rows("estimates")), "", *aligned(self.text_rows("differences"))]
        for note in self.notes:
            lines += ["", *wrapped(note)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"ComparedMeasures({len(self.rows)} measures of {len(self.models)} models)"


def _plain(one: Measure) -> dict[str, Any]:
    return {name: value for name, value in vars(one).items() if name not in ("name", "label")}


def compared(
    measured: Mapping[str, Mapping[str, Measured]],
    left_out: Mapping[str, Mapping[str, str]],
    contests: Mapping[str, Contest],
    confidence_level: float,
    test: Test,
) -> ComparedMeasures:
    """Measures by model and by name, as one table; those that `compare` has compared are taken from there."""
    models = list(measured)
    missing: dict[str, str] = {}
    for model, of_model in left_out.items():
        for name, why in of_model.items():
            # What all models lack is a matter of the classes, not of one of them.
            everywhere = all(left_out[other].get(name) == why for other in models)
            missing.setdefault(name, why if everywhere else f"{printable(model)}: {why}")
    names = [name for name in measured[models[0]] if name not in missing]
    rows = tuple(
        _of_contest(name, contests[name])
        if name in contests
        else _row({model: measured[model][name] for model in models}, confidence_level, test)
        for name in names
    )
    return ComparedMeasures(rows, missing, confidence_level)


def _row(measured: Mapping[str, Measured], confidence_level: float, test: Test) -> ComparedMeasure:
    kind = next(iter(measured.values())).kind
    found = []
    for (a, first), (b, second) in combinations(measured.items(), 2):
        if first.sure is not None and second.sure is not None:
            found.append((a, b, *difference(first.sure, second.sure, confidence_level, test)))
    estimates = {model: row_of(one, confidence_level) for model, one in measured.items()}
    return ComparedMeasure(kind.name, kind.label, estimates, with_holm(found) if found else ())


def _of_contest(name: str, contest: Contest) -> ComparedMeasure:
    """D and M are what the comparison says of them, so that one page never has two intervals."""
    label = KINDS[name].label
    estimates = {
        one.model: Measure(name, label, one.value, one.standard_error, one.low, one.high) for one in contest.estimates
    }
    return ComparedMeasure(name, label, estimates, contest.differences)
