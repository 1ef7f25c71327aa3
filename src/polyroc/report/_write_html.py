"""A result -> a file with its page."""

import os
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from polyroc._inputs.checks import InputError, as_flag, shown
from polyroc._lib.files import why_not_writable, write_whole
from polyroc._uncertainty.bootstrap import BootstrapResult
from polyroc.costs._tipping import TippingCosts
from polyroc.evaluation._compared_measures import ComparedMeasures
from polyroc.evaluation._comparison import Comparison
from polyroc.evaluation._evaluation import Evaluation
from polyroc.evaluation._intervals import EvaluationIntervals
from polyroc.evaluation._measures import Measures
from polyroc.report._page import check_installed, check_title, render_html
from polyroc.report._summarize import check_measures, check_result, check_tipping, summarize

# Pairs of classes, times models that are not first, up to which a page has its list of tipping costs unasked: three
# models of ten classes, whose two hundred compiled fits take about a second.
_QUICK = 180


def write_html(
    result: Evaluation | Comparison,
    path: str | os.PathLike[str],
    *,
    bootstrap: BootstrapResult | None = None,
    groups: "ArrayLike | None" = None,
    confidence_level: float | None = None,
    title: str | None = None,
    measures: Measures | ComparedMeasures | None = None,
    tipping: TippingCosts | None = None,
    include_decisions: bool = False,
    progress: bool = False,
) -> None:
    """Write a result as one page that works offline (needs ``polyroc[report]``).

    The page begins with what to do, in plain words. It contains the curve with its band, the table of pairs, the
    heatmap, the table of classes, for a comparison all differences and rankings, the costs, the settings, and how to
    cite. It loads nothing.

    Parameters
    ----------
    result : Evaluation or Comparison
        What `polyroc.evaluate` or `polyroc.compare` gave.
    path : path
        Where to write; a file that is there is replaced. It is written whole or not at all.
    bootstrap : BootstrapResult, optional
        Replicates of the evaluation, if intervals and bands are to come from these. By default they are those of
        `Evaluation.confidence_interval`: without resampling if the formula holds, else by 999 resamples with seed 0.
        A comparison carries its own.
    groups : array-like of shape (n_samples,), optional
        Group of each sample of an evaluation, such as a patient ID; a comparison has its own.
    confidence_level : float, optional
        Of the intervals of an evaluation, 0.95 by default; a comparison has its own.
    title : str, optional
        The heading of the page.
    measures : Measures or ComparedMeasures, optional
        What ``result.measures()`` gave; the page then has a section with accuracy, F1, kappa and the others.
    tipping : TippingCosts, optional
        What ``result.tipping_costs()`` gave for a comparison: what a single mistake would have to cost to change the
        order of the models. By default it is computed here where that takes about a second: two models of up to 10
        classes, three of up to 7, five of up to 5.
    include_decisions : bool
        Show what predictions cost next to D in the cost explorer (3 to 50 classes), by the least expected cost and
        by the highest score. The page then contains true classes and scores of single samples, and says so. By
        default it contains none.
    progress : bool
        Show a bar with the time left while resampling (needs ``polyroc[progress]``).

    Examples
    --------
    >>> import polyroc
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from polyroc.report import write_html
    >>> example = polyroc.load_example()
    >>> evaluation = polyroc.evaluate(example.y_true, example.scores["tree"])
    >>> with TemporaryDirectory() as folder:
    ...     page = Path(folder) / "tree.html"
    ...     write_html(evaluation, page, title="A decision tree")
    ...     "In plain words" in page.read_text(encoding="utf-8")
    True
    """
    file, progress = _as_path(path), as_flag(progress, "progress")
    include_decisions = as_flag(include_decisions, "include_decisions")
    check_title(title)
    check_result(result, bootstrap, confidence_level, groups)
    check_measures(result, measures)
    check_tipping(result, tipping)
    # Before anything is resampled: without them there is nothing to wait for.
    check_installed()
    intervals: BootstrapResult | EvaluationIntervals | None = bootstrap
    if isinstance(result, Evaluation) and bootstrap is None:
        intervals = EvaluationIntervals.of(result, groups=groups, progress=progress)
    summary = summarize(
        result,
        bootstrap=intervals,
        confidence_level=confidence_level,
        measures=measures,
        include_rates=True,
        tipping=_tipping(result) if tipping is None else tipping,
        include_decisions=include_decisions,
    )
    write_whole(file, render_html(summary, title=title).encode("utf-8"))


def _tipping(result: Evaluation | Comparison) -> TippingCosts | None:
    """The list of tipping costs where it takes about a second; None where somebody should ask for it."""
    if isinstance(result, Evaluation):
        return None
    n_pairs = len(next(iter(result.evaluations.values())).pairs)
    return result.tipping_costs() if n_pairs * (len(result.models) - 1) <= _QUICK else None


def _as_path(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise InputError("path", "must be the path of a file", shown(path))
    file = Path(path)
    if reason := why_not_writable(file):
        raise InputError("path", "must be a file that can be written", shown(str(path)), hint=f": {reason}")
    return file
