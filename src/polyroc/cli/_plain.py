"""Text from outside as text: names on one line, short, and with nothing that a terminal would obey."""

import re
import shlex
from collections.abc import Sequence
from typing import Any

from polyroc._inputs.options import DECLARED

_LONGEST = 40
_JOINER = "\u200d"  # holds emoji together, does nothing else

# What the library calls its arguments, and what the command line does.
_OPTIONS = {
    "y_true": "--target",
    "y_score": "--scores",
    "scores": "--scores",
    "n_resamples": "--resamples",
    "rng": "--seed",
    "n_jobs": "--jobs",
    "seed": "--seed",
    "folder": "--out",
    "pilot": "the sample",
    "paths": "the files",
}
_SAME_NAME = (
    "labels",
    "sample_weight",
    "groups",
    "confidence_level",
    "max_fpr",
    "data",
    "half_width",
    "detect",
    "power",
    "assurance",
    "allocation",
    "statistic",
    "prior",
    "rule",
    "reject_cost",
    "target",
    "checkpoint",
)
# Said with their value, or as a call; the kind of scores in a file is always found by itself.
_FLAGS = {
    "`partial=True`": "--partial",
    "`exact=True`": "--exact",
    "`standard_errors=False`": "--method none",
    "fit in memory with `polyroc.evaluate`": "fit in memory with --no-stream",
    "`polyroc.evaluate` has room": "--no-stream has room",
    " and count them with `score_kind='free'`": "",
}
# Those above have a name of their own there.
_OPTIONS = {name: f"--{name.replace('_', '-')}" for name in (*_SAME_NAME, *DECLARED)} | _OPTIONS


class CommandError(ValueError):
    """What the user can put right, in one line."""


def clean(value: Any, longest: int = _LONGEST) -> str:
    """A name as it may be shown: control characters replaced, cut where it is too long.

    >>> clean(f"a{chr(10)}b"), len(clean(500 * "x"))
    ('a?b', 40)
    """
    text = one_line(str(value))
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def typed(value: Any) -> str:
    """A value as it is typed in a shell: all of it, however long, and quoted where it must be.

    >>> print("--groups", typed("patient id"))
    --groups 'patient id'
    """
    return shlex.quote(one_line(str(value)))


def one_line(text: str) -> str:
    """The text without control characters, line breaks among them."""
    return "".join(c if c.isprintable() or c == _JOINER else "?" for c in text)


def quoted(value: Any) -> str:
    """A name inside a sentence."""
    return f"'{clean(value)}'"


def listed(values: Sequence[Any], most: int = 10) -> str:
    """The first few names inside a sentence.

    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    text = ", ".join(quoted(value) for value in values[:most])
    return text if len(values) <= most else f"{text} and {len(values) - most} more"


def in_options(message: str) -> str:
    """A message of the library with the arguments called as the command line calls them.

    >>> in_options("`y_true` must not be empty; pass `labels=` or `other`.")
    '--target must not be empty; pass --labels or `other`.'
    >>> in_options("`rng` needs a method that draws: pass method='bootstrap'.")
    '--seed needs a method that draws: pass --method bootstrap.'
    """
    for said, option in _FLAGS.items():
        message = message.replace(said, option)
    message = re.sub(r"\bmethod='([\w-]+)'", r"--method \1", message)
    return re.sub(r"`(\w+)(?:\.columns|=)?`", lambda found: _OPTIONS.get(found[1], found[0]), message)
