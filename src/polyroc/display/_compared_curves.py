"""The curves of several models in the same axes."""

from typing import TYPE_CHECKING, Any

from polyroc._comparison import Comparison
from polyroc._uncertainty._intervals import Interval
from polyroc.display._frames import Scale
from polyroc.display._roc_curve import Curves, RocCurveDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Of more models two lines each are too many to follow, and their names in the legend would cover them.
_MOST_WITH_BOTH = 4


def curve_displays(comparison: Comparison, *, band: bool) -> list[RocCurveDisplay]:
    """One for each model, in their order, with the interval of its D."""
    level = comparison.confidence_level
    return [
        RocCurveDisplay.from_evaluation(
            evaluation,
            name=name,
            interval=Interval(estimate.low, estimate.high),
            band=comparison._intervals(name).confidence_band(level, of_any_size=True) if band else None,
            mean_band=comparison._intervals(name).confidence_band(level, "mean", of_any_size=True) if band else None,
        )
        for (name, evaluation), estimate in zip(
            comparison.evaluations.items(), comparison.by_auc.estimates, strict=True
        )
    ]


def draw_curves(
    ax: "Axes",
    displays: list[RocCurveDisplay],
    *,
    scale: Scale,
    curves: Curves | None,
    band: bool,
) -> list[Any]:
    """All of them, and the diagonal; the lines, those of the shared curves first."""
    if curves is None:
        curves = "both" if len(displays) <= _MOST_WITH_BOTH else "shared"
    for place, display in enumerate(displays):
        display.plot(ax, scale=scale, curves=curves, band=band, plot_chance_level=place == 0)
    found = [getattr(one, line) for line in ("line_", "mean_line_") for one in displays]
    return [line for line in found if line is not None]
