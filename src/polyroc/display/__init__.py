"""Pictures of the results, drawn by matplotlib (``polyroc[plot]``); they hold numbers and compute none.

Each is made from a result (`from_evaluation`, `from_comparison`, `from_sweep`, `from_plan`, `from_summary`) and drawn
by `plot`, into axes of yours or into a figure of its own. matplotlib is imported when something is drawn.
"""

from polyroc.display._comparison import ComparisonDisplay
from polyroc.display._confusion import ConfusionDisplay
from polyroc.display._cost_profile import CostProfileDisplay
from polyroc.display._cost_sweep import CostSweepDisplay
from polyroc.display._heatmap import PairwiseHeatmapDisplay
from polyroc.display._plan import PlanDisplay
from polyroc.display._ranks import RankDisplay
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
