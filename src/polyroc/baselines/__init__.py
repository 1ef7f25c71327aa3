"""Other measures, to compare with D."""

from polyroc.baselines._auc_mu import auc_mu
from polyroc.baselines._h_measure import h_measure
from polyroc.baselines._hand_till import hand_till
from polyroc.baselines._hum import Hum, hum
from polyroc.baselines._one_vs_rest import one_vs_rest
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
