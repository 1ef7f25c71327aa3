"""Scripts and style sheets without what only their readers need: comments, indentation, spaces between signs.

For the files of this package, not for any script: what is not understood is left as it is, and the tests parse both.
"""

import re
from collections.abc import Iterator

_WORD = r"[\w$]"
_PLAIN = re.compile(
    r"""(?P<gap>(?:\s+|//[^\n]*|/\*.*?\*/)+)"""
    r"""|(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"""|(?P<word>[\w$]+)"""
    r"""|(?P<sign>[^\w$])""",
    re.DOTALL,
)
_REGULAR = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/\w*")
# After these a slash begins a regular expression; after a name, a number or a closing bracket it divides.
_BEFORE_REGULAR = frozenset("(,=:[!&|?{};+-*%<>~^") | {"return", "typeof", "case", "in", "of"}
_OPENING, _CLOSING = frozenset("{([,;"), frozenset("})]")


def compact_script(text: str) -> str:
    r"""The same program in fewer letters; strings, templates and regular expressions stay letter by letter.

    >>> compact_script("const a = [1, 2]; // two\nlet b = a.map((x) => `${x} / 2`)\n")
    'const a=[1,2];let b=a.map((x)=>`${x} / 2`)'
    """
    found, last, gap = [], "", ""
    for token in _tokens(text):
        if token[0].isspace() or token[:2] in ("//", "/*"):
            gap += token
            continue
        if last and gap:
            found.append(_between(last, token, has_newline="\n" in gap))
        found.append(token)
        last, gap = token, ""
    return "".join(found)


def _tokens(text: str, at: int = 0) -> Iterator[str]:
    """Gaps (space and comments), strings, templates, regular expressions, words, and single signs."""
    before = ""
    while at < len(text):
        regular = _REGULAR.match(text, at) if text[at] == "/" and (not before or before in _BEFORE_REGULAR) else None
        if text[at] == "`":
            end = _template_end(text, at)
        elif regular and text[at + 1] not in "/*":
            end = regular.end()
        else:
            match = _PLAIN.match(text, at)
            assert match is not None
            end = match.end()
        token = text[at:end]
        if not token[0].isspace() and token[:2] not in ("//", "/*"):
            before = token
        yield token
        at = end


def _template_end(text: str, start: int) -> int:
    """Behind the template that begins here; those inside of its `${...}` belong to it."""
    at = start + 1
    while text[at] != "`":
        if text[at] == "\\":
            at += 2
        elif text.startswith("${", at):
            at = _code_end(text, at + 2)
        else:
            at += 1
    return at + 1


def _code_end(text: str, at: int) -> int:
    """Behind the bracket that ends the code inside of a template."""
    depth = 0
    for token in _tokens(text, at):
        at += len(token)
        if token == "}" and depth == 0:
            break
        depth += {"{": 1, "}": -1}.get(token, 0)
    return at


def _between(before: str, after: str, *, has_newline: bool) -> str:
    """What must stay of a gap: a line may end a statement, and a space keeps words and signs apart."""
    if has_newline:
        return "" if before in _OPENING or after in _CLOSING else "\n"
    first, second = before[-1], after[0]
    is_word = bool(re.match(_WORD, first)) and bool(re.match(_WORD, second))
    # `- -1` is no `--1`, `a / /b/` no comment, `a < !--b` no comment of HTML, `1 .x` no number, `a ? .5 : b` no `?.`.
    is_sign = first == second or first == "<" or second == "." or (first in "+-/*" and second in "+-/*")
    return " " if is_word or is_sign else ""


_STYLE = re.compile(r"""(?P<gap>(?:\s+|/\*.*?\*/)+)|(?P<string>"[^"\n]*"|'[^'\n]*')|(?P<rest>[^\s"'/]+|/)""", re.DOTALL)


def compact_style(text: str) -> str:
    """The same rules in fewer letters; strings stay letter by letter.

    >>> compact_style("a :hover, b { color: red; /* why */ width: calc(1px + 2em); }")
    'a :hover,b{color:red;width:calc(1px + 2em)}'
    """
    found, pieces = "", list[str]()
    for match in _STYLE.finditer(text):
        if match["gap"] is None:
            pieces.append(match[0])
        elif pieces and pieces[-1] != " ":
            pieces.append(" ")
    for place, piece in enumerate(pieces):
        following = pieces[place + 1] if place + 1 < len(pieces) else "}"
        # Before a colon a space means something in a selector, around + and > it may.
        if piece == " " and (found[-1] in "{};,:" or following[0] in "{};,"):
            continue
        if piece[0] == "}":
            found = found.rstrip(";")
        found += piece
    return found
