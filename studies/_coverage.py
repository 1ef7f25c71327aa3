"""How often intervals cover the truth, and how often the test of two models errs."""

import warnings
from dataclasses import dataclass

import numpy as np

import polyroc
from polyroc import ResamplingWarning
from studies._settings import CHANGE, CORRELATION, TEST, draw, scores_of

LEVEL = 0.95
N_TRUTH = 1_000_000
# Parametric intervals are so far off that few replications tell it.
PARAMETRIC_EVERY, PARAMETRIC_RESAMPLES = 20, 99


@dataclass(frozen=True)
class Truth:
    auc: float
    hand_till: float
    curve: polyroc.RocCurve


def find_truth(setting, seed):
    """D, M and curve of a sample so large that they hardly vary; classes balanced, for D does not depend on that."""
    counts = (N_TRUTH // setting.n_classes,) * setting.n_classes
    y_true, y_score, _ = draw(setting, np.random.default_rng([seed, 1]), counts)
    evaluation = polyroc.evaluate(y_true, y_score, engine="numba")
    return Truth(evaluation.auc, evaluation.hand_till, evaluation.curve)


def replicate_coverage(setting, truth, seed, replication, n_resamples):
    """Estimates, and which intervals of one sample cover the truth."""
    rng = np.random.default_rng([seed, 2, replication])
    y_true, y_score, groups = draw(setting, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResamplingWarning)
        evaluation = polyroc.evaluate(y_true, y_score, engine="numba", n_jobs=1)
        found = {"D": evaluation.auc}
        if groups is not None:
            alone = evaluation.bootstrap(n_resamples, rng=replication, n_jobs=1)
            found["ungrouped"] = covers(alone.confidence_interval(LEVEL), truth.auc)
        drawn = evaluation.bootstrap(n_resamples, groups=groups, rng=replication, n_jobs=1)
        found |= {"standard error": drawn.standard_error(), "not converged": drawn.n_not_converged}
        kinds = ("logit", "percentile", "basic") + (("bca",) if setting.with_bca else ())
        for kind in kinds:
            found[kind] = covers(drawn.confidence_interval(LEVEL, interval=kind), truth.auc)
        m = drawn.confidence_interval(LEVEL, statistic="hand_till")
        found["M, logit"] = covers(m, truth.hand_till)
        delong = evaluation.confidence_interval(LEVEL, statistic="hand_till", method="delong", groups=groups)
        found["M, delong"] = covers(delong, truth.hand_till)
        found |= bands(drawn, truth.curve)
        if replication % PARAMETRIC_EVERY == 0 and groups is None:
            for method in ("parametric-pairs", "parametric-samples"):
                asked = {"method": method, "n_resamples": PARAMETRIC_RESAMPLES, "rng": replication, "n_jobs": 1}
                found[method] = covers(evaluation.confidence_interval(LEVEL, **asked), truth.auc)
    return found


def covers(interval, value):
    return interval.low <= value <= interval.high


def bands(drawn, curve):
    """Share of the points that the pointwise band covers, and whether the simultaneous one covers the curve."""
    pointwise, whole = drawn.confidence_band(LEVEL), drawn.confidence_band(LEVEL, simultaneous=True)
    return {"band, a point": pointwise.share_inside(curve), "band, whole": whole.contains(curve)}


def draw_models(y_true, change, rng):
    """Scores of two models whose logits are correlated; the second is weaker by `change`."""
    shared, first, second = rng.normal(size=(3, len(y_true), TEST.n_classes))
    return {
        name: scores_of(TEST, y_true, np.sqrt(CORRELATION) * shared + np.sqrt(1 - CORRELATION) * own, moved)
        for name, own, moved in (("a", first, 0.0), ("b", second, change))
    }


def replicate_test(change, seed, replication, n_resamples):
    """Whether the tests of one comparison of two models are significant."""
    y_true = np.repeat(np.arange(TEST.n_classes), TEST.counts)
    scores = draw_models(y_true, change, np.random.default_rng([seed, 3, replication]))
    compared = polyroc.compare(y_true, scores, n_resamples=n_resamples, rng=replication, n_jobs=1, engine="numba")
    return {
        "D, bootstrap": compared.auc.differences[0].p_value < 1 - LEVEL,
        "M, bootstrap": compared.hand_till.differences[0].p_value < 1 - LEVEL,
        "M, DeLong": compared.delong[0].p_value < 1 - LEVEL,
    }


TESTS = {"equally good": 0.0, f"second weaker by {-CHANGE:g}": CHANGE}
