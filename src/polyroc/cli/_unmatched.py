"""What is said where columns do not tell, or do not tell clearly, which class each belongs to.

What these messages advise must give the right number: classes are suggested in the order of the columns, or not at all.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from polyroc._inputs._class_names import Affixes, guessed_classes, numbering_of, speaks_of
from polyroc.cli._files import Source, is_numeric, quoted_path
from polyroc.cli._labels import Target, text_of
from polyroc.cli._plain import CommandError, clean, listed

# More classes than these are not written out.
_MOST_WRITTEN = 30


def several_models(source: Source, columns: list[str], ways: Sequence[Affixes], target: Target) -> str:
    """That columns are named in several ways, and how to choose."""
    chosen = [_choosing(columns, way, ways, target.texts) for way in ways]
    names = [f"{clean(way.before)}{clean(way.after)}".strip("_-. ") for way in ways]
    pieces = [f"{name}={one}" for name, one in zip(names, chosen, strict=True)]
    models = ",".join(f'"{piece}"' if "," in piece else piece for piece in pieces[:3])
    return (
        f"{quoted_path(source.name)} holds the scores of {len(ways)} models, {listed(chosen)}: "
        f"choose one, --scores '{chosen[0]}', or compare them, `polyroc compare ... --models '{models}'`"
    )


def _choosing(columns: list[str], way: Affixes, ways: Sequence[Affixes], texts: list[str]) -> str:
    """A pattern for the columns of one model; their names where a pattern would take others as well."""
    claimed = {other.name(text) for other in ways if other != way for text in texts}
    own = [name for name in columns if way.fits(name) and name not in claimed]
    pattern = clean(way.name("*"))
    return pattern if [name for name in columns if fnmatchcase(name, pattern)] == own else ",".join(map(clean, own))


def no_match(source: Source, columns: list[str], target: Target) -> str:
    """That the columns do not name the classes, and what to do about it."""
    where = quoted_path(source.name)
    if numbering_of(columns) is not None:
        return (
            f"the score columns of {where} are only numbered, {listed(columns)}, so their classes are not known: "
            f"{_readings(columns, target)}"
        )
    absent = [text for text in target.texts if not any(_is_about(name, text) for name in columns)]
    if 0 < len(absent) < len(target.classes):
        texts = [name for name in source.names if not is_numeric(source.schema.field(name).type)]
        wrong = [name for name in texts if any(_is_about(name, text) for text in absent)]
        hint = f", and {listed(wrong)} without numbers" if wrong else ""
        came = f"it has {listed(columns)}{hint}"
        return f"{where} has no score column for {listed(absent)} of the target's classes; {came}"
    guessed = guessed_classes(columns, target.texts)
    such = f"--labels {_written(guessed)}" if guessed else f"in the order {listed(columns)}, with --labels"
    return (
        f"the score columns of {where}, {listed(columns)}, do not name the classes {listed(target.classes)}: "
        f"rename them, choose others with --scores, or name the class of each column, {such}"
    )


def check_numbers(kept: list[str], target: Target, given: list[Any] | None) -> None:
    """Refuse columns p_0, p_1, ... whose numbers may be classes and may be mere numbers of columns."""
    if not kept or numbering_of(kept) is None or isinstance(target.classes[0], bool):
        return
    numbers = [str(number) for number in range(len(kept))]
    if given is None:
        # Integers from 1 on: the last class may be absent, or the first.
        if "0" not in target.texts:
            came = f"{listed(target.classes)} in the target"
            msg = f"the columns {listed(kept)} are numbered from 0, but 0 is not among {came}: "
            raise CommandError(msg + _readings(kept, target))
    elif (texts := [text_of(label) for label in given]) != numbers and sorted(texts) == sorted(numbers):
        msg = (
            f"--labels names {listed(given)}, but the columns are {listed(kept)}: it is not clear whether these "
            "numbers are classes. Leave --labels out if they are, else rename the columns after the classes"
        )
        raise CommandError(msg)


def check_silence(columns: list[str], given: list[Any]) -> None:
    """Refuse labels by position for columns whose names speak of classes in another way."""
    texts = [text_of(label) for label in given]
    if numbering_of(columns) is not None or guessed_classes(columns, texts) == texts:
        return
    for text in texts:
        spoken = [name for name in columns if speaks_of(name, text)]
        # What stands in every name tells no column from another.
        if 0 < len(spoken) < len(columns):
            msg = (
                f"--labels names {listed(given)}, but the columns are {listed(columns)}: columns that speak of classes "
                "must be named after them, perhaps with a common prefix or suffix; rename them"
            )
            raise CommandError(msg)


def _readings(columns: list[str], target: Target) -> str:
    """The classes that numbered columns may have, each with what to type."""
    found, count = target.classes, len(columns)
    ways = []
    if not isinstance(found[0], str):
        starts = [start for start in (0, 1) if start <= found[0] and found[-1] < start + count]
        ranges = [list(range(start, start + count)) for start in starts]
        ways = [f"--labels {_written(one)} if the classes are {one[0]} to {one[-1]}" for one in ranges]
    return " or ".join(ways) or "name the class of each column in this order with --labels"


def _written(classes: Sequence[Any]) -> str:
    texts = [f'"{text}"' if "," in (text := clean(label)) else text for label in classes]
    return ",".join(texts if len(texts) <= _MOST_WRITTEN else [*texts[:3], "...", texts[-1]])


def _is_about(column: str, text: str) -> bool:
    return column.startswith(text) or column.endswith(text) or speaks_of(column, text)
