"""The models of a summary, of which an evaluation has one without a name."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from polyroc.report._names import Name, model_names


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

    @property
    def is_backwards(self) -> bool:
        """Whether the scores certainly rank the wrong way: by the interval of D, or without one by D and M."""
        interval = self.record["confidence_interval"]
        if interval is not None:
            return bool(interval["high"] < 0.5)
        return bool(self.record["auc"] < 0.5 and self.record["hand_till"] < 0.5)


def models_of(summary: dict[str, Any]) -> list[Model]:
    """All models, in the order in which they were given."""
    if summary["kind"] == "evaluation":
        return [Model(None, summary)]
    names = model_names(summary)
    return [Model(names[model], record) for model, record in summary["evaluations"].items()]


def best_place(summary: dict[str, Any]) -> int:
    """Where the best model stands; without a clear one, that with the largest D."""
    if summary["kind"] == "evaluation":
        return 0
    if summary["best"] is not None:
        return list(summary["evaluations"]).index(summary["best"])
    values = [one["value"] for one in summary["auc"]["estimates"]]
    return values.index(max(values))


def best_of(summary: dict[str, Any]) -> Model:
    """That model."""
    return models_of(summary)[best_place(summary)]


def contenders(summary: dict[str, Any]) -> list[str]:
    """The models that may be the best: a leader by D or by M, and who is not significantly below a leader."""
    found = []
    for contest in (summary["auc"], summary["hand_till"]):
        leader = max(contest["estimates"], key=lambda one: one["value"])["model"]
        rivals = {
            model
            for one in contest["differences"]
            if leader in (one["first"], one["second"]) and one["p_value_holm"] >= 1 - summary["confidence_level"]
            for model in (one["first"], one["second"])
        }
        found += [leader, *rivals]
    return [model for model in summary["evaluations"] if model in found]
