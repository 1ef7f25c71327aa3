"""NDJSON -> tables, after a look at how deep it is nested: the parser calls itself for each level, without a limit."""

import re
from typing import Any

import numpy as np
import pyarrow as pa

from polyroc.cli._plain import CommandError

# A row is flat, or has some lists in it. Twenty thousand levels overflow the stack of the parser.
DEEPEST = 100
_BLOCK = 1 << 22
_OTHER_BYTES = bytes(set(range(256)) - set(b'"[]{}\n'))
_ESCAPE = re.compile(rb"\\.")
# No string goes beyond its line: where one is not closed, the parser stops as well.
_STRING = re.compile(rb'"[^"\n]*"?')


def ndjson_table(content: bytes) -> Any:
    """One object per line, as a table."""
    from pyarrow import json

    content = content.removeprefix(b"\xef\xbb\xbf")
    if depth_of(content) > DEEPEST:
        msg = f"is nested more than {DEEPEST} levels deep: write each row as one flat object"
        raise CommandError(msg)
    file = pa.BufferReader(content)
    try:
        return json.read_json(file)
    except pa.ArrowInvalid:
        # A number that becomes a fraction only in a later block. All in one block, the guess has seen everything.
        file.seek(0)
        return json.read_json(file, read_options=json.ReadOptions(block_size=min(len(content) + 1, 2**31 - 1)))


def depth_of(content: bytes) -> int:
    """How many brackets are open at once, at most; a parser that starts in any line meets no more.

    >>> depth_of(b'{"a": [1, 2], "b": "[[[["}'), depth_of(b"}}}" + 5 * b"[")
    (2, 5)
    """
    deepest, now, start = 0, 0, 0
    while start < len(content):
        # Whole lines, so that no string is cut.
        end = content.find(b"\n", start + _BLOCK) + 1 or len(content)
        steps = _steps(content[start:end])
        if len(steps) > 0:
            levels = now + np.cumsum(steps)
            # Closing brackets that nothing opened count for nothing.
            levels -= np.minimum(np.minimum.accumulate(levels), 0)
            deepest, now = max(deepest, int(levels.max())), int(levels[-1])
        start = end
    return deepest


def _steps(text: bytes) -> Any:
    """1 for each bracket that opens, -1 for each that closes, without those inside strings."""
    if b"\\" in text:
        text = _ESCAPE.sub(b"", text)
    # Two quotes next to each other end one string and begin another, or are an empty one: without them all others
    # are as far inside or outside of strings as before.
    marks = text.translate(None, _OTHER_BYTES).replace(b'""', b"")
    codes = np.frombuffer(_STRING.sub(b"", marks).replace(b"\n", b""), dtype=np.uint8)
    return np.where((codes == ord("[")) | (codes == ord("{")), 1, -1)
