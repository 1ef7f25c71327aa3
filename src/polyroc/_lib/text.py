"""Names of classes and models as text: on one line, and shortened so that no two become the same."""

import re
import textwrap
from collections import Counter
from collections.abc import Collection, Sequence
from html import escape
from typing import Any

_CUT = "…"
_JOINER = "\u200d"  # holds emoji together, does nothing else
_NARROWEST = 8
# Nobody reads more of a name than this, also where it may stand whole.
_WHOLE = 1000


def printable(value: Any) -> str:
    """The whole name on one line, for sentences: what cannot be printed is replaced, a blank one is quoted.

    >>> printable(f"a{chr(10)}b"), printable("  "), printable(7)
    ('a?b', "'  '", '7')
    """
    text = "".join(c if c.isprintable() or c == _JOINER else "?" for c in str(value))
    text = text if text.strip() else repr(text)
    return text if len(text) <= _WHOLE else _in_the_middle([text], _WHOLE)[0]


def short_names(names: Sequence[Any], width: int) -> list[str]:
    """Names of at most this many letters, for tables and pictures; different names stay different.

    A long name is cut in the middle. Where that would make two the same, what they have in common is cut instead,
    and where that does not help either, they are numbered.

    >>> short_names(["knn", "gradient boosting, 500 trees, depth 6"], 16)
    ['knn', 'gradient…depth 6']
    >>> short_names(["resnet50-imagenet-lr-0.10-decay-0.001", "resnet50-imagenet-lr-0.01-decay-0.001"], 16)
    ['…-0.10-decay-0.…', '…-0.01-decay-0.…']
    """
    width = max(width, _NARROWEST)
    # Two entries that are the same name stay the same.
    whole = list(dict.fromkeys(map(str, names)))
    texts = [printable(name) for name in whole]
    for cut in (_in_the_middle, _without_what_is_common):
        shorter = cut(texts, width)
        if len(set(shorter)) == len(whole):
            break
    else:
        shorter = _numbered(shorter, width)
    short_of = dict(zip(whole, shorter, strict=True))
    return [short_of[str(name)] for name in names]


def _in_the_middle(texts: Sequence[str], width: int) -> list[str]:
    tail = (width - 1) // 2
    head = width - 1 - tail
    return [text if len(text) <= width else f"{text[:head].rstrip()}{_CUT}{text[-tail:]}" for text in texts]


def _without_what_is_common(texts: Sequence[str], width: int) -> list[str]:
    """As before, but names that would become the same show where they differ."""
    shorter = _in_the_middle(texts, width)
    repeated = {short for short, count in Counter(shorter).items() if count > 1}
    for same in repeated:
        places = [place for place, short in enumerate(shorter) if short == same]
        start = _first_difference([texts[place] for place in places])
        for place in places:
            shorter[place] = _around(texts[place], start, width)
    return shorter


def _first_difference(texts: Sequence[str]) -> int:
    letters = zip(*texts, strict=False)
    alike = next((place for place, column in enumerate(letters) if len(set(column)) > 1), None)
    return min(map(len, texts)) if alike is None else alike


def _around(text: str, start: int, width: int) -> str:
    """A window of the text that shows what stands at `start`, with a little of what is before."""
    if len(text) <= width:
        return text
    room = width - 2
    first = start - room // 4
    if first <= 0:
        return f"{text[: width - 1]}{_CUT}"
    if first + width - 1 >= len(text):
        return f"{_CUT}{text[1 - width :]}"
    return f"{_CUT}{text[first : first + room]}{_CUT}"


def _numbered(texts: Sequence[str], width: int) -> list[str]:
    """Texts that occur more than once end in a number that makes them different."""
    repeated = {text for text, count in Counter(texts).items() if count > 1}
    taken = set(texts)
    result = []
    for text in texts:
        number, one = 0, text
        while text in repeated and one in taken:
            number += 1
            tag = f"{_CUT}{number}"
            one = f"{text[: width - len(tag)]}{tag}"
        taken.add(one)
        result.append(one)
    return result


# As wide as code is, so that what is printed can be pasted next to it.
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


# What Markdown would read as a mark of its own, wherever it stands in a cell.
_MARKS = re.compile(r"([\\`*_{}\[\]<>|~#$!])")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
# Two of these in a row would be joined into another sign; and a row of a table must not begin with an option.
_JOINED = re.compile(r"([-'`,\"\[])")


def markdown_table(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> str:
    r"""A pipe table, as GitHub and most other readers of Markdown take it.

    >>> print(markdown_table([["class", "recall"], ["a|b", "0.95"]], right=[1]))
    | class | recall |
    | :--- | ---: |
    | a\|b | 0.95 |
    """
    header, *others = [[_in_markdown(cell) for cell in row] for row in rows]
    rule = ["---:" if place in right else ":---" for place in range(len(header))]
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, rule, *others])


def latex_table(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> str:
    r"""A ``tabular`` that needs no package.

    >>> print(latex_table([["class", "share"], ["a_b", "95 %"]], right=[1]))
    \begin{tabular}{lr}
    \hline
    class & share \\
    \hline
    a\_b & 95 \% \\
    \hline
    \end{tabular}
    """
    header, *others = [f"{' & '.join(map(_in_latex, row))} \\\\" for row in rows]
    columns = "".join("r" if place in right else "l" for place in range(len(rows[0])))
    rule = "\\hline"
    return "\n".join([f"\\begin{{tabular}}{{{columns}}}", rule, header, rule, *others, rule, "\\end{tabular}"])


def html_table(rows: Sequence[Sequence[str]], *, right: Collection[int] = (), caption: str = "") -> str:
    """A table for notebooks, without style of its own but the alignment.

    >>> print(html_table([["class"], ["<b>"]]))
    <table>
    <tr><th style="text-align: left">class</th></tr>
    <tr><td style="text-align: left">&lt;b&gt;</td></tr>
    </table>
    """
    lines = [f"<caption>{escape(caption)}</caption>"] if caption else []
    for number, row in enumerate(rows):
        tag = "td" if number else "th"
        sides = ["right" if place in right else "left" for place in range(len(row))]
        cells = [
            f'<{tag} style="text-align: {side}">{escape(cell)}</{tag}>' for cell, side in zip(row, sides, strict=True)
        ]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return "\n".join(["<table>", *lines, "</table>"])


def _in_markdown(cell: str) -> str:
    return _MARKS.sub(r"\\\1", _one_line(cell).replace("&", "&amp;"))


def _in_latex(cell: str) -> str:
    text = "".join(_LATEX.get(sign, sign) for sign in _one_line(cell))
    return _JOINED.sub(r"{\1}", text) if _needs_braces(cell) else text


def _needs_braces(cell: str) -> bool:
    return cell.startswith("[") or any(two in cell for two in ("--", "''", "``", ",,", '"'))


def _one_line(cell: str) -> str:
    return printable(cell) if cell else ""
