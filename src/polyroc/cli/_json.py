"""The summary as JSON that people can read, too."""

import json
from typing import Any


def as_json(summary: dict[str, Any]) -> str:
    """Lists of numbers and names on one line, everything else indented; nothing beyond ASCII.

    >>> print(as_json({"auc": 0.75, "curve": {"fpr": [0, 0.5, 1]}}))
    {
      "auc": 0.75,
      "curve": {
        "fpr": [0, 0.5, 1]
      }
    }
    """
    return _written(summary, 0)


def _written(value: Any, depth: int) -> str:
    entries: list[str]
    if isinstance(value, dict) and value:
        entries = [f"{json.dumps(str(key))}: {_written(entry, depth + 1)}" for key, entry in value.items()]
        ends = "{}"
    elif isinstance(value, list) and any(isinstance(entry, dict | list) for entry in value):
        entries = [_written(entry, depth + 1) for entry in value]
        ends = "[]"
    else:
        return json.dumps(value, allow_nan=False)
    inside = ",\n".join(f"{'  ' * (depth + 1)}{entry}" for entry in entries)
    return f"{ends[0]}\n{inside}\n{'  ' * depth}{ends[1]}"
