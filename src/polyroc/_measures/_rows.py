"""What the tables of one and of several models have in common: rows by name, and reasons for those that are missing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar

from polyroc._inputs._checks import shown
from polyroc._records import Frozen


class _Row(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str: ...


Row = TypeVar("Row", bound=_Row)


@dataclass(frozen=True, eq=False)
class NamedRows(Frozen, Generic[Row]):
    """Rows of measures, each found by its name."""

    rows: tuple[Row, ...]
    left_out: Mapping[str, str]
    confidence_level: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "left_out", MappingProxyType(dict(self.left_out)))

    def __reduce__(self) -> Any:
        # A proxy of a dict has no pickle; made again from its fields, a record has a proxy of its own.
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        return type(self), tuple({**given, "left_out": dict(self.left_out)}.values())

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.name == name:
                return row
        why = self.left_out.get(name, f"It is not among {', '.join(self.names)}.")
        msg = f"There is no measure {shown(name)} here. {why}"
        raise KeyError(msg)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the rows."""
        return tuple(row.name for row in self.rows)
