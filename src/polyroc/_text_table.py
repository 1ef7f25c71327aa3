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
    """A sentence in lines that break between words, never inside one.

    >>> wrapped("one two three", 8)
    ['one two', 'three']
    """
    return textwrap.wrap(sentence, width, break_long_words=False, break_on_hyphens=False)
