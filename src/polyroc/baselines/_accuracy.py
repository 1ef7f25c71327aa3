"""How often the highest column is the true class: what readers otherwise take D for."""

import math

import numpy as np
from scipy.special import ndtri

from polyroc._core.samples import accuracy_of, are_log_probabilities, column_ranges, every_row_is_one, row_notes
from polyroc._lib.text import short_names
from polyroc._records import Predictions, Source
from polyroc._uncertainty.intervals import Interval

# Letters of a name in a reason, which stands in a table.
_NAME = 24


def why_no_accuracy(source: Source) -> str:
    """Why the columns predict no class; empty if they do.

    Scores that are not probabilities may be on another scale in each column. That is certain where some column lies
    wholly below another one, so that its class could never be predicted. It is the only case that is refused: columns
    whose ranges overlap are compared as scikit-learn's ``argmax`` would.
    """
    if source.n_columns == 1:
        return "There is one score column, so a class is predicted only by a threshold."
    if every_row_is_one(source) or (isinstance(source, Predictions) and are_log_probabilities(source, every_row=True)):
        return ""
    lowest, highest = column_ranges(source)
    above = int(np.argmax(lowest))
    below = np.flatnonzero(highest < lowest[above])
    if len(below) == 0:
        return ""
    lower, higher = short_names([source.labels[below[0]], source.labels[above]], _NAME)
    return f"The columns are not on a common scale: all scores of {lower} are below those of {higher}."


def accuracy(source: Source) -> float:
    """Share of the samples, by their weights, whose highest column is that of their class; the first of equal ones."""
    if isinstance(source, Predictions):
        return accuracy_of(source)
    table = row_notes(source).confusion
    return float(np.trace(table) / table.sum())


def accuracy_interval(source: Source, confidence_level: float) -> Interval:
    """Wilson's interval; with weights, for as many samples as Kish's effective number."""
    n = float(source.n_samples)
    if source.is_weighted:
        # Sums of squares by class, from Kish's number of each; over the largest sum, so that none overflows.
        present = source.class_counts > 0
        relative = source.class_weights[present] / source.class_weights.max()
        n = float(relative.sum() ** 2 / np.sum(relative**2 / source.effective_counts[present]))
    return wilson_interval(accuracy(source), n, confidence_level)


def wilson_interval(share: float, n: float, confidence_level: float) -> Interval:
    """The shares whose normal test with n samples does not reject the one that was seen (Wilson, 1927)."""
    z = -float(ndtri((1 - confidence_level) / 2))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # The share lies between the ends, and at 0 and 1 is one of them; rounding may put them just beyond.
    return Interval(max(0.0, min(share, middle - reach)), min(1.0, max(share, middle + reach)))
