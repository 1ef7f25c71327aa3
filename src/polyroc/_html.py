"""An evaluation as a small HTML table for notebooks; nothing in it is read as markup, and nothing in it runs."""

from html import escape

import numpy as np

from polyroc._containers import one_line
from polyroc._pair_table import Pairs

_HARDEST = 5


def evaluation_html(auc: float, hand_till: float, n_classes: int, n_samples: int, pairs: Pairs) -> str:
    """The two areas, the sizes, and the pairs with the smallest areas."""
    summary = [
        ("D, area under the shared curve", f"{auc:.4f}"),
        ("M, mean of the pairwise areas", f"{hand_till:.4f}"),
        ("classes", f"{n_classes:,}"),
        ("samples", f"{n_samples:,}"),
    ]
    hardest = np.argsort(pairs.auc, kind="stable")[:_HARDEST]
    names = [(one_line(pairs.positive[p]), one_line(pairs.negative[p]), f"{pairs.auc[p]:.4f}") for p in hardest]
    rows = [_row([("th", title), ("td", number), ("td", "")]) for title, number in summary]
    rows.append(_row([("th", "hardest pairs: positive"), ("th", "negative"), ("th", "area")]))
    rows += [_row([("td", cell) for cell in entry]) for entry in names]
    return f"<table>\n{''.join(rows)}</table>"


def _row(cells: list[tuple[str, str]]) -> str:
    inside = "".join(f'<{tag} style="text-align: left">{escape(text)}</{tag}>' for tag, text in cells)
    return f"<tr>{inside}</tr>\n"
