"""What is said of a tipping cost: one set of words for text, notebooks and pages."""

from typing import Any

import numpy as np

# What the statistics are called in a sentence.
STATISTICS = {"auc": "D", "mean_auc": "the mean area"}
MEANING = (
    "By point estimates: the order of two models may be uncertain before and after the change. By D, the most "
    "promising costs were tried by fits; by the mean area, all costs were solved for exactly."
)
ALL_FIRST = "All models are equally good by D and by the mean area."


def sentence(
    model: Any, statistic: str, factor: float | None, true_class: Any, predicted_class: Any, largest: float
) -> tuple[Any, ...]:
    """A sentence in pieces, because names are data: text, and the names as they came.

    >>> "".join(map(str, sentence("tree", "auc", 340.0, 8, 5, 1000)))
    'tree becomes first by D if taking 8 for 5 counts 340 times as much.'
    >>> "".join(map(str, sentence("tree", "mean_auc", None, None, None, 1000)))
    'No single cost up to 1,000 times makes tree first by the mean area.'
    """
    by = STATISTICS[statistic]
    if factor is None:
        return f"No single cost up to {times(largest)} times makes ", model, f" first by {by}."
    much = f" counts {times(factor)} times as much."
    return model, f" becomes first by {by} if taking ", true_class, " for ", predicted_class, much


def times(factor: float) -> str:
    """A factor in three digits.

    >>> times(1000.0), times(340.0), times(2.5), times(0.0456), times(0.001)
    ('1,000', '340', '2.5', '0.0456', '0.001')
    """
    if factor >= 100:
        return f"{factor:,.0f}"
    return np.format_float_positional(factor, precision=3, fractional=False, trim="-")
