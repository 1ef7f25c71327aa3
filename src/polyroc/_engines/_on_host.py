"""What engines of the host have in common: whose memory they use, and what of them goes into a pickle."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from polyroc._engines import _memory
from polyroc._engines._protocol import Prepared, Resources
from polyroc._engines._registry import prepare_again
from polyroc._records import Predictions


@dataclass(frozen=True, eq=False)
class OnHost:
    """Samples in the memory of this process."""

    source: Predictions
    resources: Resources
    engine_name: ClassVar[str]

    def memory_available(self) -> int | None:
        """Bytes that can still be had; None where that is unknown."""
        return _memory.available()

    def __reduce__(self) -> tuple[Callable[..., Prepared], tuple[Any, ...]]:
        # Without what was sorted: that is made again in less time than it takes to send.
        return prepare_again, (self.engine_name, self.source, self.resources)
