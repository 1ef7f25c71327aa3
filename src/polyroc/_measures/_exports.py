"""Rows of text as tables of Markdown and LaTeX; names of models stand in them as they are, and nothing runs."""

import re
from collections.abc import Sequence

from polyroc._lib._names import printable

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": "$<$",
    ">": "$>$",
    # After the end of a row, LaTeX would read a bracket as an option.
    "[": "{[}",
    "]": "{]}",
    '"': r"\textquotedbl{}",
}


def as_markdown(rows: Sequence[Sequence[str]], *, n_names: int) -> str:
    """A table whose first row is its header; all columns but the first `n_names` are flush right."""
    header, *rest = [[_in_markdown(cell) for cell in row] for row in rows]
    rule = [":--" if place < n_names else "--:" for place in range(len(header))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *rest)) + "\n"


def as_latex(rows: Sequence[Sequence[str]], *, n_names: int) -> str:
    """The same as a `tabular`, which needs no package."""
    header, *rest = [" & ".join(_in_latex(cell) for cell in row) + r" \\" for row in rows]
    columns = "l" * n_names + "r" * (len(rows[0]) - n_names)
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\hline", header, r"\hline", *rest, r"\hline", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def _in_markdown(text: str) -> str:
    """What Markdown or HTML would read as markup is escaped."""
    text = printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") if text else text
    return re.sub(r"([\\`*_\[\]|#~])", r"\\\1", text)


def _in_latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in printable(text)) if text else text
