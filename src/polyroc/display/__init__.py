"""Pictures of the results, drawn by matplotlib (``polyroc[plot]``); they hold numbers and compute none.

Each is made from a result (`from_evaluation`, `from_comparison`, `from_sweep`, `from_profile` ...) and drawn by `plot`,
into axes of yours or into a figure of its own. `plot` returns the display, with `ax_` and `figure_`. matplotlib is
imported when something is drawn.
"""

from polyroc.display._comparison import ComparisonDisplay, RankDisplay
from polyroc.display._costs import CostProfileDisplay, CostSweepDisplay
from polyroc.display._matrices import ConfusionDisplay, PairwiseHeatmapDisplay
from polyroc.display._plan import PlanDisplay
from polyroc.display._roc_curve import RocCurveDisplay
from polyroc.display._summary_roc import SummaryRocDisplay

__all__ = [
    "ComparisonDisplay",
    "ConfusionDisplay",
    "CostProfileDisplay",
    "CostSweepDisplay",
    "PairwiseHeatmapDisplay",
    "PlanDisplay",
    "RankDisplay",
    "RocCurveDisplay",
    "SummaryRocDisplay",
]
