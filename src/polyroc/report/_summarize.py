"""Results -> one plain dict: what `--json` prints, and all that a page is laid out from."""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polyroc._classes._record import Classes
from polyroc._comparison import Comparison
from polyroc._estimator._rates import rates_of
from polyroc._evaluation import Evaluation
from polyroc._inputs._checks import InputError, as_confidence_level, as_flag, as_plain_seed, shown
from polyroc._inputs._frames import plain
from polyroc._lib._grid import grid
from polyroc._lib._typing import FloatArray, IntArray, Statistic
from polyroc._lib._versions import versions
from polyroc._lib._warnings import underflow_is_zero
from polyroc._measures._compared import ComparedMeasures
from polyroc._measures._table import Measures
from polyroc._records import chosen_pairs
from polyroc._tipping._record import TippingCosts
from polyroc._uncertainty._band import ConfidenceBand
from polyroc._uncertainty._bootstrap import BootstrapResult
from polyroc._uncertainty._delong import standard_error
from polyroc._uncertainty._paired import ModelEstimate
from polyroc._uncertainty._resampling import AnyUnits, Units, units_of
from polyroc._version import __version__
from polyroc.report._advice import advice
from polyroc.report._curve_differences import curve_differences
from polyroc.report._decisions import packed_decisions
from polyroc.report._figures import rounded_rate
from polyroc.report._pair_facts import heatmap_order, operating_point, pair_costs
from polyroc.report._rates_packed import explorer_note, packed_rates
from polyroc.report._sentences import plain_text

# Curves of more pairs than these nobody looks at, and points closer than these nobody sees.
_PAIR_CURVES = 200
_PAIR_POINTS = 113
_DIGITS = 5
# Of more classes the page has no intervals of their numbers.
_MOST_CLASSES = 200
_COUNTED = (
    "The scores were read in passes and not kept. So there are no bands around curves, no intervals of single "
    "classes, no other measures and no costs of decisions: these need single samples."
)
# These have a part in every number; numba has, once it is loaded.
_TOOK_PART = ("polyroc", "python", "numpy", "scipy", "narwhals")


@underflow_is_zero
def summarize(
    result: Evaluation | Comparison,
    *,
    bootstrap: BootstrapResult | None = None,
    confidence_level: float | None = None,
    seed: int | None = None,
    source: Mapping[str, Any] | None = None,
    warnings: Sequence[str] = (),
    measures: Measures | ComparedMeasures | None = None,
    include_rates: bool = False,
    tipping: TippingCosts | None = None,
    include_decisions: bool = False,
) -> dict[str, Any]:
    """Everything that a report shows, as one plain dict that `json` can write.

    Nothing is resampled here. The dict is what ``polyroc evaluate --json`` prints.

    Parameters
    ----------
    result : Evaluation or Comparison
        What `polyroc.evaluate` or `polyroc.compare` gave.
    bootstrap : BootstrapResult, optional
        Replicates of the evaluation, for intervals and the band; a comparison carries its own.
    confidence_level : float, optional
        Of the intervals of an evaluation, 0.95 by default; a comparison has its own.
    seed : int, optional
        What the resamples were drawn with, if they do not know it themselves.
    source : mapping, optional
        Where the predictions come from, such as ``{"file": "predictions.csv"}``: text, numbers, lists and dicts.
    warnings : sequence of str
        What was warned of on the way.
    measures : Measures or ComparedMeasures, optional
        What ``result.measures()`` gave, if the page is to show it.
    include_rates : bool
        Add ``"explorer"``, the rates of all pairs in a compact form, with which the page follows costs that somebody
        changes. It takes 30 kB of 10 classes and 0.8 MB of 50, for each model; of more there is none.
    tipping : TippingCosts, optional
        What ``result.tipping_costs()`` gave for a comparison, if the page is to show it.
    include_decisions : bool
        Add ``"decisions"``: true classes and scores of single samples, with which the page shows what naming classes
        costs, at costs that somebody changes. At most 500,000 scores, 1.3 MB; of more samples, a random sample. Where
        a page has no costs to change, this is None. Scores that are not probabilities are not added: of these a table
        of true and named classes is enough.

    Returns
    -------
    dict
        Of numbers, text, lists and dicts, without NaN and infinity.

    Examples
    --------
    >>> import polyroc
    >>> from polyroc.report import summarize
    >>> example = polyroc.load_example()
    >>> summary = summarize(polyroc.evaluate(example.y_true, example.scores["tree"]))
    >>> round(summary["auc"], 3), summary["confidence_interval"]
    (0.915, None)
    """
    seed = None if seed is None else as_plain_seed(seed)
    origin = _as_source(source)
    _check_warnings(warnings)
    check_result(result, bootstrap, confidence_level)
    check_measures(result, measures)
    include_rates = as_flag(include_rates, "include_rates")
    include_decisions = as_flag(include_decisions, "include_decisions")
    check_tipping(result, tipping)
    if isinstance(result, Comparison):
        summary = _of_comparison(result)
    else:
        summary = _of_evaluation(result, bootstrap, 0.95 if confidence_level is None else float(confidence_level))
    if seed is None:
        # A comparison and a bootstrap know theirs.
        drawn = result if isinstance(result, Comparison) else bootstrap
        seed = None if drawn is None else drawn.seed
    if measures is not None:
        summary["measures"] = measures.to_dict()
    if include_rates:
        summary |= _explorer(result)
    if include_decisions:
        summary["decisions"] = packed_decisions(_evaluations(result))
    if tipping is not None:
        summary["tipping"] = tipping.to_dict()
    found = versions()
    took_part = (*_TOOK_PART, "numba") if "numba" in sys.modules else _TOOK_PART
    ending = {
        "seed": seed,
        "source": origin,
        # Read late: the intervals above may have warned, into the same list.
        "warnings": [str(warning) for warning in warnings],
        "version": __version__,
        "versions": {name: found[name] for name in took_part},
    }
    plain_summary: dict[str, Any] = _finite(summary | ending)
    return plain_summary | {"advice": [plain_text(sentence) for sentence in advice(plain_summary)]}


def _as_source(source: Any) -> dict[str, Any]:
    if source is None:
        return {}
    if not isinstance(source, Mapping):
        raise InputError("source", "must be a mapping such as {'file': 'predictions.csv'}", shown(source))
    try:
        origin: dict[str, Any] = _finite(dict(source))
        json.dumps(origin)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            "source", "must hold text, numbers, lists and dicts, which `json` can write", shown(source)
        ) from error
    return origin


def _check_warnings(warnings: Any) -> None:
    is_sequence = isinstance(warnings, Sequence) and not isinstance(warnings, str | bytes)
    if not is_sequence or not all(isinstance(warning, str) for warning in warnings):
        raise InputError("warnings", "must be a sequence of text", shown(warnings))


def check_result(result: Any, bootstrap: Any, confidence_level: Any) -> None:
    """Whether these three go together, asked before any work is done."""
    level = None if confidence_level is None else as_confidence_level(confidence_level)
    if isinstance(result, Comparison):
        _check_that_it_carries_its_own(result, bootstrap, level)
    elif isinstance(result, Evaluation):
        _check_bootstrap(result, bootstrap)
    else:
        raise InputError("result", "must be an Evaluation or a Comparison", type(result).__name__)


def check_measures(result: Evaluation | Comparison, measures: Any) -> None:
    """Whether these are measures of such a result."""
    kind = ComparedMeasures if isinstance(result, Comparison) else Measures
    if measures is not None and not isinstance(measures, kind):
        raise InputError("measures", f"must be what `{type(result).__name__}.measures` gave", type(measures).__name__)


def check_tipping(result: Evaluation | Comparison, tipping: Any) -> None:
    """Whether these are tipping costs of such a result, and of its models."""
    if tipping is None:
        return
    if not isinstance(result, Comparison):
        raise InputError("tipping", "must be None for an Evaluation, which has one model", type(tipping).__name__)
    if not isinstance(tipping, TippingCosts):
        raise InputError("tipping", "must be what `Comparison.tipping_costs` gave", type(tipping).__name__)
    others = [name for one in tipping for name in (one.model, one.first) if name not in result.models]
    if others:
        raise InputError("tipping", "must be of the same comparison", f"costs for model {shown(others[0])}")


def _check_that_it_carries_its_own(comparison: Comparison, bootstrap: Any, level: float | None) -> None:
    if bootstrap is not None:
        raise InputError("bootstrap", "must be None for a Comparison, which carries its own", type(bootstrap).__name__)
    if level is not None and level != comparison.confidence_level:
        own = comparison.confidence_level
        raise InputError("confidence_level", f"must be that of the Comparison, {own:g}, or left out", f"{level:g}")


def _check_bootstrap(evaluation: Evaluation, bootstrap: Any) -> None:
    if bootstrap is None:
        return
    if not isinstance(bootstrap, BootstrapResult):
        raise InputError("bootstrap", "must be what `Evaluation.bootstrap` gave", type(bootstrap).__name__)
    ours, theirs = evaluation.curve, bootstrap.curve
    if not (np.array_equal(ours.fpr, theirs.fpr) and np.array_equal(ours.tpr, theirs.tpr)):
        raise InputError("bootstrap", "must be of the same evaluation", "replicates of another curve")


def _of_evaluation(evaluation: Evaluation, drawn: BootstrapResult | None, level: float) -> dict[str, Any]:
    return {
        "kind": "evaluation",
        **evaluation.to_dict(),
        **_of_model(evaluation, drawn, level),
        "confidence_interval": _interval(drawn, "auc", level) or _counted_interval(evaluation, "auc", level),
        "hand_till_interval": (
            _interval(drawn, "hand_till", level) or _counted_interval(evaluation, "hand_till", level)
        ),
        "confidence_level": level,
        **_counted_facts(evaluation, [*evaluation.notes]),
        **heatmap_order([evaluation]),
        "pair_costs": pair_costs(evaluation),
        "weighted": evaluation._source.is_weighted,
        "by_groups": _by_groups(evaluation, drawn),
        "n_resamples": 0 if drawn is None else drawn.n_resamples,
        "n_not_converged": 0 if drawn is None else drawn.n_not_converged,
        "n_lost_class": 0 if drawn is None else drawn.n_lost_class,
        "n_independent": None if drawn is None else drawn.n_independent,
    }


def _by_groups(evaluation: Evaluation, drawn: BootstrapResult | None) -> bool:
    if evaluation._evidence is not None:
        return evaluation._evidence.units.are_groups
    return drawn is not None and drawn.by_groups


def _of_comparison(comparison: Comparison) -> dict[str, Any]:
    first = next(iter(comparison.evaluations.values()))
    level = comparison.confidence_level
    common = ("n_samples", "labels", "class_counts", "options")
    record = first.to_dict()
    models = {}
    for name, evaluation in comparison.evaluations.items():
        own = {key: value for key, value in evaluation.to_dict().items() if key not in common}
        models[name] = own | _of_model(evaluation, comparison.bootstraps.get(name), level, _sampled(comparison.units))
    for key, contest in (("confidence_interval", comparison.by_auc), ("hand_till_interval", comparison.by_hand_till)):
        for one in contest.estimates:
            models[one.model][key] = _estimated(one, comparison)
    return {
        "kind": "comparison",
        **comparison.to_dict(include_delong=True),
        **{key: record[key] for key in common},
        **_counted_facts(first, list(comparison.notes)),
        "evaluations": models,
        "curve_differences": curve_differences(comparison),
        **heatmap_order(list(comparison.evaluations.values())),
        "pair_costs": pair_costs(first),
        "weighted": first._source.is_weighted,
        "by_groups": comparison.units.are_groups,
        "n_independent": comparison.n_independent,
    }


def _counted_facts(evaluation: Evaluation, notes: list[str]) -> dict[str, Any]:
    """What is said of a result of counted scores, and of no other."""
    if evaluation._has_samples:
        return {}
    facts: dict[str, Any] = {"notes": [*notes, _COUNTED]}
    return facts if evaluation._evidence is None else facts | {"method": "influence"}


def _sampled(units: AnyUnits) -> Units | None:
    """Units whose samples are there; of counted scores there are none, and tables of classes have no intervals."""
    return units if isinstance(units, Units) else None


def _explorer(result: Evaluation | Comparison) -> dict[str, Any]:
    """What the page needs to follow other costs, or why it does not."""
    evaluations = _evaluations(result)
    return {"explorer": packed_rates(evaluations), "explorer_note": explorer_note(evaluations[0])}


def _evaluations(result: Evaluation | Comparison) -> list[Evaluation]:
    return list(result.evaluations.values()) if isinstance(result, Comparison) else [result]


def _of_model(
    evaluation: Evaluation, drawn: BootstrapResult | None, level: float, units: Units | None = None
) -> dict[str, Any]:
    """What a page shows of one model beyond `Evaluation.to_dict`."""
    curve = evaluation.curve
    return {
        "curve": {"fpr": plain(curve.fpr), "tpr": plain(curve.tpr), "call_rate": plain(_call_rates(evaluation))},
        "operating_point": operating_point(evaluation),
        "band": None if drawn is None else _band(drawn.confidence_band(level)),
        "mean_curve": _mean_curve(evaluation),
        "mean_band": None if drawn is None else _mean_band(evaluation, drawn, level),
        "auc_by_thresholds": evaluation.auc_by_thresholds,
        "accuracy_interval": _accuracy_interval(evaluation, drawn, level),
        "pair_curves": _pair_curves(evaluation),
        "classes": _classes(evaluation, drawn, level, units).to_dict(),
    }


def _classes(evaluation: Evaluation, drawn: BootstrapResult | None, level: float, units: Units | None) -> Classes:
    """The table of classes; with intervals where some were asked for, not where groups are known no more."""
    if units is None and drawn is not None and not drawn.by_groups:
        units = units_of(evaluation._samples, None)
    # Intervals of very many classes take longer than all the rest; counted scores have none.
    if units is None or not evaluation._has_samples or len(evaluation.labels) > _MOST_CLASSES:
        return evaluation.classes
    return evaluation.classes._by_units(level, units)


def _accuracy_interval(evaluation: Evaluation, drawn: BootstrapResult | None, level: float) -> dict[str, Any] | None:
    """Wilson's; None for groups, whose samples are not independent, and where no interval was asked for."""
    is_sure = drawn is not None or evaluation._evidence is not None
    ends = evaluation.accuracy_interval(level) if is_sure and not _by_groups(evaluation, drawn) else None
    return None if ends is None else {"low": ends.low, "high": ends.high, "level": level}


def _call_rates(evaluation: Evaluation) -> FloatArray:
    """Share called positive at each point of the curve, corners included."""
    if evaluation.is_binary:
        return (evaluation.curve.fpr + evaluation.curve.tpr) / 2
    return np.concatenate([[0.0], grid(evaluation._options.n_thresholds), [1.0]])


def _mean_curve(evaluation: Evaluation) -> dict[str, Any] | None:
    """The mean of the pairs' curves; None for two classes, whose pair is the curve."""
    if evaluation.is_binary:
        return None
    curve = evaluation.mean_curve
    return {"fpr": plain(curve.fpr), "tpr": plain(curve.tpr), "call_rate": plain(_call_rates(evaluation))}


def _mean_band(evaluation: Evaluation, drawn: BootstrapResult, level: float) -> dict[str, Any] | None:
    # Parametric methods draw no samples, and so have no replicates of the mean curve.
    if evaluation.is_binary or drawn.mean_fpr is None:
        return None
    return _band(drawn.confidence_band(level, curve="mean"))


def _band(band: ConfidenceBand) -> dict[str, Any]:
    sides = {"lower": band.lower, "upper": band.upper}
    curves = {
        side: {"fpr": _rounded_rates(curve.fpr), "tpr": _rounded_rates(curve.tpr)} for side, curve in sides.items()
    }
    return {**curves, "level": band.confidence_level, "simultaneous": band.simultaneous}


def _pair_curves(evaluation: Evaluation) -> dict[str, Any] | None:
    """Rates of the pairs with the smallest areas, the smallest first; None for two classes, whose pair is the curve."""
    if evaluation.is_binary:
        return None
    worst = np.argsort(evaluation.pairs.auc, kind="stable")[:_PAIR_CURVES]
    # Only theirs: those of all pairs of very many classes would fill the memory.
    rates = rates_of(evaluation._unchanged, chosen_pairs(evaluation._pair_index, worst), evaluation._options)
    points = _spread(rates.n_call_rates, _PAIR_POINTS)
    return {
        "pair": worst.tolist(),
        "call_rate": _rounded(rates.call_rates[points]),
        "fpr": [_rounded(column) for column in rates.fpr.T[:, points]],
        "tpr": [_rounded(column) for column in rates.tpr.T[:, points]],
    }


def _spread(length: int, most: int) -> IntArray:
    """Positions from the first to the last, at most so many."""
    return np.unique(np.linspace(0, length - 1, min(length, most)).round().astype(int))


def _rounded(values: FloatArray) -> list[float]:
    rounded: list[float] = np.round(values.astype(float), _DIGITS).tolist()
    return rounded


def _rounded_rates(rates: FloatArray) -> list[float]:
    return [rounded_rate(float(rate)) for rate in rates]


def _interval(drawn: BootstrapResult | None, statistic: Statistic, level: float) -> dict[str, Any] | None:
    # Parametric methods draw no samples, and so have no replicates of M.
    if drawn is None or (statistic == "hand_till" and drawn.hand_till is None):
        return None
    low, high = drawn.confidence_interval(level, statistic=statistic)
    ends = {"low": low, "high": high, "level": level, "method": drawn.method, "interval": "logit"}
    return {**ends, "standard_error": drawn.standard_error(statistic)}


def _counted_interval(evaluation: Evaluation, statistic: Statistic, level: float) -> dict[str, Any] | None:
    """The interval of counted scores after a second pass; None where there was none, or where it does not hold."""
    if evaluation._evidence is None or evaluation._doubt(statistic, None):
        return None
    low, high = evaluation.confidence_interval(level, statistic=statistic, method="influence")
    error = standard_error(evaluation._statistic_influences(statistic), evaluation._units())
    ends = {"low": low, "high": high, "level": level, "method": "influence", "interval": "logit"}
    return {**ends, "standard_error": error}


def _estimated(one: ModelEstimate, comparison: Comparison) -> dict[str, Any]:
    level, kind = comparison.confidence_level, comparison.interval
    ends = {"low": one.low, "high": one.high, "level": level, "method": "bootstrap", "interval": kind}
    return {**ends, "standard_error": one.standard_error}


def _finite(value: Any) -> Any:
    """The same with None for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
