"""The options that a call had, to be typed again: a hint that left them out would lead to another number."""

import shlex

from polyroc._inputs._options import DECLARED
from polyroc.cli._plain import one_line
from polyroc.cli._settings import Settings

_COLUMNS = ("scores", "labels", "sample_weight", "groups", "model_column")


def given_options(settings: Settings) -> str:
    """Options about columns and method that are not the default, with a blank before each."""
    given = {name: getattr(settings.columns, name) for name in _COLUMNS} | {"costs": settings.costs}
    given |= {name: value for name, value in settings.method.items() if value != DECLARED[name].default}
    said = {name: value for name, value in given.items() if value is not None}
    return "".join(f" --{name.replace('_', '-')} {shlex.quote(one_line(str(value)))}" for name, value in said.items())
