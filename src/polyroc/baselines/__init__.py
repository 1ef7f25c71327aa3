"""Other measures, to compare with D."""

from polyroc.baselines._auc_mu import auc_mu
from polyroc.baselines._h_measure import h_measure
from polyroc.baselines._hand_till import hand_till
from polyroc.baselines._one_vs_rest import one_vs_rest

__all__ = ["auc_mu", "h_measure", "hand_till", "one_vs_rest"]
