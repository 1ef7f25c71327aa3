"""polyroc: one ROC curve for many classes.

evaluate(y_true, y_score) -> Evaluation     the curve, its area D, the pairs, the fit
auc_score(y_true, y_score) -> float         D alone
baselines                                   Hand and Till's M, one-vs-rest, AUCmu
"""

from polyroc import baselines
from polyroc._curve import RocCurve
from polyroc._evaluation import ConvergenceWarning, Evaluation, auc_score, evaluate
from polyroc._example import Example, load_example
from polyroc._pair_table import Pairs
from polyroc._records import Factorization, PairwiseRates, Status
from polyroc._version import __version__
from polyroc._versions import show_versions

__all__ = [
    "ConvergenceWarning",
    "Evaluation",
    "Example",
    "Factorization",
    "Pairs",
    "PairwiseRates",
    "RocCurve",
    "Status",
    "__version__",
    "auc_score",
    "baselines",
    "evaluate",
    "load_example",
    "show_versions",
]
