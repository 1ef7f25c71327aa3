"""Rows of cells as lines of text, and long sentences as lines that fit."""

import textwrap
from collections.abc import Sequence

# As wide as code is, so that what is printed can be pasted beside it.
WIDTH = 100


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Cells below one another, two blanks between columns.

    >>> aligned([["model", "D"], ["knn", "0.9419"]])
    ['model  D', 'knn    0.9419']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def wrapped(sentence: str, width: int = WIDTH) -> list[str]:
    """A sentence in lines that break between words, never inside one, nor between a number and its percent sign.

    >>> wrapped("one two three", 8), wrapped("that is 95 % of all", 10)
    (['one two', 'three'], ['that is', '95 % of', 'all'])
    """
    lines = textwrap.wrap(sentence.replace(" %", "\xa0%"), width, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\xa0%", " %") for line in lines]
