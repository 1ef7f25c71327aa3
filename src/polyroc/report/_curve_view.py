"""The dict -> which part of the square a page opens with."""

from typing import Any

import numpy as np

from polyroc._lib._corner import View, decades_of, opens_in_corner
from polyroc.report._models import models_of


def opening_view(summary: dict[str, Any]) -> View:
    """What a page opens with; the number of decades also serves who changes to the corner."""
    models = models_of(summary)
    curves = [model.record[kind] for model in models for kind in ("curve", "mean_curve")]
    rates = [(np.array(curve["fpr"]), np.array(curve["tpr"])) for curve in curves if curve is not None]
    # A curve is made of the rates of all pairs: it moves by steps of one sample of one of them.
    n_steps = max(summary["class_counts"]) * max(len(model.record["pairs"]["auc"]) for model in models)
    return View(opens_in_corner(model.record["auc"] for model in models), decades_of(rates, n_steps))
