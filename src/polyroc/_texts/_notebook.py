"""Results as small HTML tables for notebooks; nothing in them is read as markup, and nothing in them runs."""

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from polyroc._lib._names import short_names
from polyroc._lib._numbers import area
from polyroc._pairs import Pairs
from polyroc._texts._evaluation import Headline

_HARDEST = 5
_NAME = 30


def evaluation_html(headline: Headline, pairs: Pairs) -> str:
    """D, M, accuracy and the worst pair, what contradicts them, and the pairs with the smallest areas."""
    hardest = np.argsort(pairs.auc, kind="stable")[:_HARDEST].tolist()
    rows = [
        *(_row([("th", name), ("td", number), ("td", meaning)]) for name, number, meaning in headline.rows),
        _row([("th", "size"), ("td", headline.sizes)], last_spans=2),
        *(_row([("td", note)], last_spans=3) for note in headline.cautions),
        _row([("th", "hardest pairs: positive"), ("th", "negative"), ("th", "area")]),
    ]
    found = [pairs[place] for place in hardest]
    names = short_names([name for pair in found for name in (pair.positive, pair.negative)], _NAME)
    for place, pair in enumerate(found):
        positive, negative = names[2 * place : 2 * place + 2]
        rows.append(_row([("td", positive), ("td", negative), ("td", area(pair.auc))]))
    return f"<table>\n{''.join(rows)}</table>"


def tables_html(sentences: Iterable[str], tables: Iterable[Sequence[Sequence[str]]]) -> str:
    """Sentences, then tables whose first row is their header."""
    parts = [f"<p>{escape(sentence)}</p>\n" for sentence in sentences]
    for header, *rows in tables:
        lines = [_row([("th", cell) for cell in header]), *(_row([("td", cell) for cell in row]) for row in rows)]
        parts.append(f"<table>\n{''.join(lines)}</table>\n")
    return f"<div>\n{''.join(parts)}</div>"


def _row(cells: Sequence[tuple[str, str]], *, last_spans: int = 1) -> str:
    spans = [1] * (len(cells) - 1) + [last_spans]
    inside = "".join(
        f'<{tag}{f" colspan={span}" if span > 1 else ""} style="text-align: left">{escape(text)}</{tag}>'
        for (tag, text), span in zip(cells, spans, strict=True)
    )
    return f"<tr>{inside}</tr>\n"
