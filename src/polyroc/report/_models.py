"""The models of a summary, of which an evaluation has one without a name."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from polyroc.report._names import Name, name_of


@dataclass(frozen=True, eq=False)
class Model:
    """One model's part of the dict."""

    name: Name | None
    record: dict[str, Any] = field(repr=False)

    @cached_property
    def worst_pairs(self) -> list[int]:
        """Positions of the pairs, the smallest area first; equal ones as they come."""
        areas = self.record["pairs"]["auc"]
        return sorted(range(len(areas)), key=areas.__getitem__)


def models_of(summary: dict[str, Any]) -> list[Model]:
    """All models, in the order in which they were given."""
    if summary["kind"] == "evaluation":
        return [Model(None, summary)]
    return [Model(name_of(name), record) for name, record in summary["evaluations"].items()]


def best_place(summary: dict[str, Any]) -> int:
    """Where the model stands that is most often the best by D."""
    if summary["kind"] == "evaluation":
        return 0
    shares = [one["probability_best"] for one in summary["auc"]["estimates"]]
    return shares.index(max(shares))


def best_of(summary: dict[str, Any]) -> Model:
    """That model."""
    return models_of(summary)[best_place(summary)]
