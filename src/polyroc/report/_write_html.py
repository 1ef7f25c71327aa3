"""A result -> a file with its page."""

import os
from pathlib import Path
from typing import Any

from polyroc._bootstrap import BootstrapResult
from polyroc._comparison import Comparison
from polyroc._containers import shown
from polyroc._evaluation import Evaluation
from polyroc._write import why_not_writable, write_whole
from polyroc.report._page import check_installed, check_title, render_html
from polyroc.report._summarize import check_result, summarize

# So that the same evaluation gives the same page.
_SEED = 0


def write_html(
    result: Evaluation | Comparison,
    path: str | os.PathLike[str],
    *,
    bootstrap: BootstrapResult | None = None,
    confidence_level: float | None = None,
    title: str | None = None,
) -> None:
    """Write a result as one page that works offline (needs ``polyroc[report]``).

    The page begins with a summary in plain words. It holds the curve with its band, the table of pairs, the heatmap,
    for a comparison all differences and rankings, the costs, the settings, and how to cite. It loads nothing.

    Parameters
    ----------
    result : Evaluation or Comparison
        What `polyroc.evaluate` or `polyroc.compare` gave.
    path : path
        Where to write; a file that is there is replaced. It is written whole or not at all.
    bootstrap : BootstrapResult, optional
        Replicates of the evaluation, for intervals and the band. By default 999 resamples are drawn with seed 0. A
        comparison carries its own.
    confidence_level : float, optional
        Of the intervals of an evaluation, 0.95 by default; a comparison has its own.
    title : str, optional
        The heading of the page.

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
    ...     write_html(evaluation, page, bootstrap=evaluation.bootstrap(99, rng=0), title="A decision tree")
    ...     "In plain words" in page.read_text(encoding="utf-8")
    True
    """
    file = _as_path(path)
    check_title(title)
    check_result(result, bootstrap, confidence_level)
    # Before anything is resampled: without them there is nothing to wait for.
    check_installed()
    drawn_here = isinstance(result, Evaluation) and bootstrap is None
    if isinstance(result, Evaluation) and bootstrap is None:
        bootstrap = result.bootstrap(rng=_SEED)
    summary = summarize(
        result, bootstrap=bootstrap, confidence_level=confidence_level, seed=_SEED if drawn_here else None
    )
    summary["drawn_for_the_page"] = drawn_here
    write_whole(file, render_html(summary, title=title).encode("utf-8"))


def _as_path(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        msg = f"`path` must be the path of a file, got {shown(path)}."
        raise ValueError(msg)
    file = Path(path)
    if reason := why_not_writable(file):
        msg = f"`path` must be a file that can be written, got {shown(str(path))}: {reason}."
        raise ValueError(msg)
    return file
