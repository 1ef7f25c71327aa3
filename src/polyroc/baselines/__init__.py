"""Other measures, to compare with D."""

from polyroc.baselines._h_measure import h_measure
from polyroc.baselines._hum import Hum, hum
from polyroc.baselines._pairwise import auc_mu, hand_till, one_vs_rest
from polyroc.baselines._pdi import Pdi, pdi
from polyroc.baselines._wang_carvalho import PrintedCurve, PrintedStatus, WangCarvalho, wang_carvalho

__all__ = [
    "Hum",
    "Pdi",
    "PrintedCurve",
    "PrintedStatus",
    "WangCarvalho",
    "auc_mu",
    "h_measure",
    "hand_till",
    "hum",
    "one_vs_rest",
    "pdi",
    "wang_carvalho",
]
