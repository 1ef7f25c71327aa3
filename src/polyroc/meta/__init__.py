"""Summary ROC curves: one curve for several diagnostic studies, each known by its four counts."""

from polyroc.meta._bivariate import FitStatus
from polyroc.meta._reitsma import Hsroc, Region, ReitsmaSummary
from polyroc.meta._studies import Studies
from polyroc.meta._summary import SummaryRoc
from polyroc.meta._summary_roc import MosesSummary, summary_roc

__all__ = ["FitStatus", "Hsroc", "MosesSummary", "Region", "ReitsmaSummary", "Studies", "SummaryRoc", "summary_roc"]
