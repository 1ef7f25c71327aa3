"""polyroc: ROC curves and AUCs for many classes.

evaluate(y_true, y_score) -> Evaluation     D and M, their curves, the pairs, the fit
auc_score(y_true, y_score) -> float         D alone
compare(y_true, {name: y_score, ...}) -> Comparison     which model is better, and how sure that is
RocAccumulator(labels)                      the same of samples that come in batches and are not kept
evaluate_parquet(paths, target=...)         the same of files that do not fit in memory
read_predictions(path, target=...)          y_true and y_score from a file, as the command line reads it
decide(y_true, y_score, costs) -> Decision  which class to predict, and what that costs
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
from polyroc._core.curve import RocCurve
from polyroc._counts.binning import BinningError
from polyroc._counts.counted import SamplesNeededError
from polyroc._inputs.checks import InputError
from polyroc._lib.versions import show_versions
from polyroc._lib.warnings import ResamplingWarning
from polyroc._records import Factorization, PairwiseRates, Status
from polyroc._uncertainty.band import ConfidenceBand
from polyroc._uncertainty.bootstrap import BootstrapResult
from polyroc._uncertainty.intervals import Interval
from polyroc._uncertainty.paired import Contest, Difference, ModelEstimate, Ranking, RankInterval, RankIntervals
from polyroc._version import __version__
from polyroc.costs._sweep import CostSweep, cost_sweep
from polyroc.costs._tipping import TippingCost, TippingCosts
from polyroc.evaluation._classes import Classes, ClassRow
from polyroc.evaluation._compare import compare
from polyroc.evaluation._compared_measures import ComparedMeasure, ComparedMeasures
from polyroc.evaluation._comparison import Comparison
from polyroc.evaluation._evaluate import ConvergenceWarning, auc_score, evaluate
from polyroc.evaluation._evaluation import Evaluation
from polyroc.evaluation._example import Example, load_example
from polyroc.evaluation._fitted import Pair, Pairs
from polyroc.evaluation._measures import Measure, Measures
from polyroc.evaluation._scoring import AucScorer, CrossValidation, auc_scorer, evaluate_cv, make_auc_scorer

if _TYPE_CHECKING:
    from polyroc._uncertainty.sizes import PlanGoal
    from polyroc.cli._read import FilePredictions, PairedPredictions, read_paired_predictions, read_predictions
    from polyroc.costs._classifier import CostSensitiveClassifier as CostSensitiveClassifier
    from polyroc.costs._cost_matrices import CostRange, CostRatios
    from polyroc.costs._cost_profile import cost_profile
    from polyroc.costs._decide import decide
    from polyroc.costs._decision import CurvePoint, Decision, DecisionRates, RuleCost
    from polyroc.costs._profile import CostDifference, CostProfile, ModelCost
    from polyroc.planning._plan import plan
    from polyroc.planning._result import Plan, PlanPoint
    from polyroc.streams._accumulator import RocAccumulator
    from polyroc.streams._parquet import compare_parquet, evaluate_parquet
    from polyroc.streams._second_pass import PairedSecondPass, SecondPass

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
_ON_ACCESS = ("dask", "display", "meta", "report", "spark", "torch", "training")
# Likewise, by the module that has them: whoever evaluates a model need not wait for what decides and plans.
_LATER = {
    "CostDifference": "costs._profile",
    "CostProfile": "costs._profile",
    "CostRange": "costs._cost_matrices",
    "CostRatios": "costs._cost_matrices",
    "CurvePoint": "costs._decision",
    "Decision": "costs._decision",
    "DecisionRates": "costs._decision",
    "FilePredictions": "cli._read",
    "ModelCost": "costs._profile",
    "PairedPredictions": "cli._read",
    "PairedSecondPass": "streams._second_pass",
    "Plan": "planning._result",
    "PlanGoal": "_uncertainty.sizes",
    "PlanPoint": "planning._result",
    "RocAccumulator": "streams._accumulator",
    "RuleCost": "costs._decision",
    "SecondPass": "streams._second_pass",
    "compare_parquet": "streams._parquet",
    "cost_profile": "costs._cost_profile",
    "decide": "costs._decide",
    "evaluate_parquet": "streams._parquet",
    "plan": "planning._plan",
    "read_paired_predictions": "cli._read",
    "read_predictions": "cli._read",
}
# Likewise, because it is a class of scikit-learn's. Not in __all__: `from polyroc import *` works without scikit-learn.
_OF_SKLEARN = ("CostSensitiveClassifier",)


def __getattr__(name: str) -> _Any:
    if name in _ON_ACCESS:
        return _import_module(f"polyroc.{name}")
    if name in _LATER:
        return getattr(_import_module(f"polyroc.{_LATER[name]}"), name)
    if name in _OF_SKLEARN:
        return getattr(_import_module("polyroc.costs._classifier"), name)
    msg = f"module 'polyroc' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    # What looks at every name of a module, as `inspect` does, must not stumble over one that cannot be loaded.
    loadable = _OF_SKLEARN if _find_spec("sklearn") else ()
    unloadable = () if _find_spec("torch") and _find_spec("torchmetrics") else ("torch",)
    return sorted({*__all__, *_ON_ACCESS, *loadable} - {*unloadable})
