"""A table of cells as Markdown, as LaTeX and as HTML; whatever stands in a cell is text there, and nothing else.

The first row is the header. Cells are text already; numbers are aligned by the columns that `right` names.
"""

import re
from collections.abc import Collection, Sequence
from html import escape

from polyroc._lib._names import printable

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
