"""Results for notebooks, as small tables and pictures; nothing in them is read as markup, and nothing in them runs."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TypeAlias

from polyroc._estimator._curve import RocCurve
from polyroc._lib.axes import Line, View, Whisker, curve_svg, decades_of, opens_in_corner, whiskers_svg
from polyroc._lib.numbers import area, level
from polyroc._lib.text import short_names
from polyroc.evaluation._pairs import Pair
from polyroc.evaluation._text import Headline

_NAME = 30
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
