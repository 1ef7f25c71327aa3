"""Names of classes and models as text: on one line, and shortened so that no two become the same."""

from collections import Counter
from collections.abc import Sequence
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
    found = dict(zip(whole, shorter, strict=True))
    return [found[str(name)] for name in names]


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
