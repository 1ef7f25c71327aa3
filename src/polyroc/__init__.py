"""polyroc: ROC curves and AUCs for many classes.

evaluate(y_true, y_score) -> Evaluation     D and M, their curves, the pairs, the fit
auc_score(y_true, y_score) -> float         D alone
compare(y_true, {name: y_score, ...}) -> Comparison     which model is better, and how sure that is
RocAccumulator(labels)                      the same of samples that come in batches and are not kept
evaluate_parquet(paths, target=...)         the same of files that do not fit in memory
read_predictions(path, target=...)          y_true and y_score from a file, as the command line reads it
decide(y_true, y_score, costs) -> Decision  which class to name, and what that costs
CostSensitiveClassifier(estimator, costs)   the same as a scikit-learn classifier
plan(evaluation, half_width=...) -> Plan    how many samples of each class it takes
baselines                                   Hand and Till's M, one-vs-rest, AUCmu
meta                                        one ROC curve for several diagnostic studies
dask, spark                                 evaluate and compare from partitions on many machines
training, torch                             D for early stopping, in the packages that train models
"""

from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from polyroc import baselines
from polyroc._classes._record import Classes, ClassRow
from polyroc._compare import compare
from polyroc._comparison import Comparison
from polyroc._cost_sweep import CostSweep, cost_sweep
from polyroc._cross_validation import CrossValidation, evaluate_cv
from polyroc._engines._counted import SamplesNeededError
from polyroc._estimator._binning import BinningError
from polyroc._estimator._curve import RocCurve
from polyroc._evaluate import ConvergenceWarning, auc_score, evaluate
from polyroc._evaluation import Evaluation
from polyroc._example import Example, load_example
from polyroc._inputs._checks import InputError
from polyroc._lib._versions import show_versions
from polyroc._lib._warnings import ResamplingWarning
from polyroc._measures._compared import ComparedMeasure, ComparedMeasures
from polyroc._measures._table import Measure, Measures
from polyroc._pairs import Pair, Pairs
from polyroc._records import Factorization, PairwiseRates, Status
from polyroc._scoring import AucScorer, auc_scorer, make_auc_scorer
from polyroc._tipping._record import TippingCost, TippingCosts
from polyroc._uncertainty._band import ConfidenceBand
from polyroc._uncertainty._bootstrap import BootstrapResult
from polyroc._uncertainty._intervals import Interval
from polyroc._uncertainty._paired import Contest, Difference, ModelEstimate, Ranking
from polyroc._uncertainty._ranks import RankInterval, RankIntervals
from polyroc._version import __version__

if _TYPE_CHECKING:
    from polyroc._cost_sensitive import CostSensitiveClassifier as CostSensitiveClassifier
    from polyroc._decide._decide import decide
    from polyroc._decide._decision import CurvePoint, Decision, DecisionRates, RuleCost
    from polyroc._plan import plan
    from polyroc._planned import Plan, PlanPoint
    from polyroc._profile._cost_profile import cost_profile
    from polyroc._profile._families import CostRange, CostRatios
    from polyroc._profile._profile import CostDifference, CostProfile, ModelCost
    from polyroc._read import FilePredictions, PairedPredictions, read_paired_predictions, read_predictions
    from polyroc._scale._accumulator import RocAccumulator
    from polyroc._scale._edges import ScoreEdges
    from polyroc._scale._parquet import compare_parquet, evaluate_parquet
    from polyroc._scale._second_pass import PairedSecondPass, SecondPass
    from polyroc._uncertainty._planning import PlanGoal

__all__ = [
    "AucScorer",
    "BinningError",
    "BootstrapResult",
    "ClassRow",
    "Classes",
    "ComparedMeasure",
    "ComparedMeasures",
    "Comparison",
    "ConfidenceBand",
    "Contest",
    "ConvergenceWarning",
    "CostDifference",
    "CostProfile",
    "CostRange",
    "CostRatios",
    "CostSweep",
    "CrossValidation",
    "CurvePoint",
    "Decision",
    "DecisionRates",
    "Difference",
    "Evaluation",
    "Example",
    "Factorization",
    "FilePredictions",
    "InputError",
    "Interval",
    "Measure",
    "Measures",
    "ModelCost",
    "ModelEstimate",
    "Pair",
    "PairedPredictions",
    "PairedSecondPass",
    "Pairs",
    "PairwiseRates",
    "Plan",
    "PlanGoal",
    "PlanPoint",
    "RankInterval",
    "RankIntervals",
    "Ranking",
    "ResamplingWarning",
    "RocAccumulator",
    "RocCurve",
    "RuleCost",
    "SamplesNeededError",
    "ScoreEdges",
    "SecondPass",
    "Status",
    "TippingCost",
    "TippingCosts",
    "__version__",
    "auc_score",
    "auc_scorer",
    "baselines",
    "compare",
    "compare_parquet",
    "cost_profile",
    "cost_sweep",
    "decide",
    "evaluate",
    "evaluate_cv",
    "evaluate_parquet",
    "load_example",
    "make_auc_scorer",
    "plan",
    "read_paired_predictions",
    "read_predictions",
    "show_versions",
]

# Loaded when somebody asks for them: numbers need neither pictures nor pages.
_ON_ACCESS = ("dask", "display", "experiments", "meta", "report", "spark", "torch", "training")
# Likewise, by the module that has them: whoever evaluates a model need not wait for what decides and plans.
_LATER = {
    "CostDifference": "_profile._profile",
    "CostProfile": "_profile._profile",
    "CostRange": "_profile._families",
    "CostRatios": "_profile._families",
    "CurvePoint": "_decide._decision",
    "Decision": "_decide._decision",
    "DecisionRates": "_decide._decision",
    "FilePredictions": "_read",
    "ModelCost": "_profile._profile",
    "PairedPredictions": "_read",
    "PairedSecondPass": "_scale._second_pass",
    "Plan": "_planned",
    "PlanGoal": "_uncertainty._planning",
    "PlanPoint": "_planned",
    "RocAccumulator": "_scale._accumulator",
    "RuleCost": "_decide._decision",
    "ScoreEdges": "_scale._edges",
    "SecondPass": "_scale._second_pass",
    "compare_parquet": "_scale._parquet",
    "cost_profile": "_profile._cost_profile",
    "decide": "_decide._decide",
    "evaluate_parquet": "_scale._parquet",
    "plan": "_plan",
    "read_paired_predictions": "_read",
    "read_predictions": "_read",
}
# Likewise, because it is a class of scikit-learn's. Not in __all__: `from polyroc import *` works without scikit-learn.
_OF_SKLEARN = ("CostSensitiveClassifier",)


def __getattr__(name: str) -> _Any:
    if name in _ON_ACCESS:
        return _import_module(f"polyroc.{name}")
    if name in _LATER:
        return getattr(_import_module(f"polyroc.{_LATER[name]}"), name)
    if name in _OF_SKLEARN:
        return getattr(_import_module("polyroc._cost_sensitive"), name)
    msg = f"module 'polyroc' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    # What looks at every name of a module, as `inspect` does, must not stumble over one that cannot be loaded.
    loadable = _OF_SKLEARN if _find_spec("sklearn") else ()
    unloadable = () if _find_spec("torch") and _find_spec("torchmetrics") else ("torch",)
    return sorted({*__all__, *_ON_ACCESS, *loadable} - {*unloadable})
