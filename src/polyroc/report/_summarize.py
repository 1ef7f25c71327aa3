"""Results -> one plain dict: what `--json` prints, and all that a page is laid out from."""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polyroc._core.curve import RocCurve
from polyroc._core.rates import rates_of
from polyroc._inputs.arrays import plain
from polyroc._inputs.checks import InputError, as_confidence_level, as_flag, as_plain_seed, shown
from polyroc._lib.grid import grid
from polyroc._lib.limits import CLASS_INTERVALS_ON_PAGE, PAIR_CURVES_ON_PAGE
from polyroc._lib.typing import Curve, FloatArray, IntArray, Statistic
from polyroc._lib.versions import versions
from polyroc._lib.warnings import underflow_is_zero
from polyroc._records import chosen_pairs
from polyroc._uncertainty.bootstrap import BootstrapResult
from polyroc._uncertainty.paired import ModelEstimate
from polyroc._uncertainty.units import Units
from polyroc._version import __version__
from polyroc.costs._tipping import TippingCosts
from polyroc.evaluation._classes import Classes
from polyroc.evaluation._compared_measures import ComparedMeasures
from polyroc.evaluation._comparison import Comparison
from polyroc.evaluation._evaluation import Evaluation
from polyroc.evaluation._intervals import EvaluationIntervals
from polyroc.evaluation._measures import Measures
from polyroc.report._facts import curve_differences, heatmap_order, operating_point, pair_costs
from polyroc.report._figures import rounded_rate
from polyroc.report._packing import explorer_note, packed_decisions, packed_rates
from polyroc.report._sentences import plain_text
from polyroc.report._words import advice

# Points of a pair's curve: closer ones nobody sees.
_PAIR_POINTS = 113
_DIGITS = 5
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
    bootstrap: BootstrapResult | EvaluationIntervals | None = None,
    groups: "ArrayLike | None" = None,
    include_intervals: bool = True,
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

    The dict is what ``polyroc evaluate --json`` prints. Intervals of an evaluation are those of
    `Evaluation.confidence_interval`: without resampling if the formula holds, else by 999 resamples with seed 0.

    Parameters
    ----------
    result : Evaluation or Comparison
        What `polyroc.evaluate` or `polyroc.compare` gave.
    bootstrap, groups, confidence_level, measures
        As in `write_html`.
    include_intervals : bool
        Whether an evaluation is shown with intervals and bands, or with point estimates alone.
    seed : int, optional
        What the resamples were drawn with, if they do not know it themselves.
    source : mapping, optional
        Where the predictions come from, such as ``{"file": "predictions.csv"}``: text, numbers, lists and dicts.
    warnings : sequence of str
        What was warned of on the way.
    include_rates : bool
        Add ``"explorer"``, the rates of all pairs in a compact form, with which the page follows costs that somebody
        changes. It takes 30 kB of 10 classes and 0.8 MB of 50, for each model; of more there is none.
    tipping : TippingCosts, optional
        What ``result.tipping_costs()`` gave for a comparison, if the page is to show it.
    include_decisions : bool
        Add ``"decisions"``: true classes and scores of single samples, with which the page shows what predictions
        cost, at costs that somebody changes. At most 500,000 scores, 1.3 MB; of more samples, a random sample. Where
        a page has no costs to change, this is None. Scores that are not probabilities are not added: of these a table
        of true and predicted classes is enough.

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
    >>> round(summary["auc"], 3), summary["confidence_interval"]["method"]
    (0.915, 'influence')
    """
    seed = None if seed is None else as_plain_seed(seed)
    origin = _as_source(source)
    _check_warnings(warnings)
    parts = {"bootstrap": bootstrap, "groups": groups, "measures": measures, "tipping": tipping}
    check_parts(result, confidence_level=confidence_level, **parts)
    include_intervals = as_flag(include_intervals, "include_intervals")
    include_rates = as_flag(include_rates, "include_rates")
    include_decisions = as_flag(include_decisions, "include_decisions")
    if isinstance(result, Comparison):
        summary = _of_comparison(result)
    else:
        intervals = _intervals_of(result, bootstrap, groups) if include_intervals else None
        summary = _of_evaluation(result, intervals, 0.95 if confidence_level is None else float(confidence_level))
    seed = summary.pop("seed", None) if seed is None else seed
    if measures is not None:
        summary["measures"] = measures.to_dict()
    if include_rates:
        summary |= _explorer(result)
    if include_decisions:
        summary["decisions"] = packed_decisions(_evaluations(result))
    if tipping is not None:
        summary["tipping"] = tipping.to_dict()
    installed = versions()
    took_part = (*_TOOK_PART, "numba") if "numba" in sys.modules else _TOOK_PART
    ending = {
        "seed": seed,
        "source": origin,
        # Read late: the intervals above may have warned, into the same list.
        "warnings": [str(warning) for warning in warnings],
        "version": __version__,
        "versions": {name: installed[name] for name in took_part},
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


def check_parts(
    result: Any,
    *,
    bootstrap: Any = None,
    confidence_level: Any = None,
    groups: Any = None,
    measures: Any = None,
    tipping: Any = None,
) -> None:
    """Whether these go together, asked before any work is done."""
    level = None if confidence_level is None else as_confidence_level(confidence_level)
    if isinstance(result, Comparison):
        own = result.confidence_level
        for name, value in (("bootstrap", bootstrap), ("groups", groups)):
            if value is not None:
                its = "carries its own" if name == "bootstrap" else "has its own"
                raise InputError(name, f"must be None for a Comparison, which {its}", type(value).__name__)
        if level is not None and level != own:
            raise InputError("confidence_level", f"must be that of the Comparison, {own:g}, or left out", f"{level:g}")
    elif isinstance(result, Evaluation):
        _check_bootstrap(result, bootstrap)
    else:
        raise InputError("result", "must be an Evaluation or a Comparison", type(result).__name__)
    kind = ComparedMeasures if isinstance(result, Comparison) else Measures
    if measures is not None and not isinstance(measures, kind):
        raise InputError("measures", f"must be what `{type(result).__name__}.measures` gave", type(measures).__name__)
    if tipping is not None:
        _check_tipping(result, tipping)


def _check_tipping(result: Evaluation | Comparison, tipping: Any) -> None:
    if not isinstance(result, Comparison):
        raise InputError("tipping", "must be None for an Evaluation, which has one model", type(tipping).__name__)
    if not isinstance(tipping, TippingCosts):
        raise InputError("tipping", "must be what `Comparison.tipping_costs` gave", type(tipping).__name__)
    others = [name for one in tipping for name in (one.model, one.first) if name not in result.models]
    if others:
        raise InputError("tipping", "must be of the same comparison", f"costs for model {shown(others[0])}")


def _check_bootstrap(evaluation: Evaluation, bootstrap: Any) -> None:
    if bootstrap is None or (isinstance(bootstrap, EvaluationIntervals) and bootstrap.evaluation is evaluation):
        return
    if not isinstance(bootstrap, BootstrapResult):
        raise InputError("bootstrap", "must be what `Evaluation.bootstrap` gave", type(bootstrap).__name__)
    ours, theirs = evaluation.curve, bootstrap.curve
    if not (np.array_equal(ours.fpr, theirs.fpr) and np.array_equal(ours.tpr, theirs.tpr)):
        raise InputError("bootstrap", "must be of the same evaluation", "replicates of another curve")


def _intervals_of(
    evaluation: Evaluation, bootstrap: BootstrapResult | EvaluationIntervals | None, groups: Any
) -> EvaluationIntervals | None:
    if bootstrap is None:
        return EvaluationIntervals.of(evaluation, groups=groups)
    if isinstance(bootstrap, EvaluationIntervals):
        return bootstrap
    has_units = groups is not None or not bootstrap.by_groups
    return EvaluationIntervals.of_replicates(
        evaluation, bootstrap, evaluation.uncertainty.units(groups) if has_units else None
    )


def _of_evaluation(evaluation: Evaluation, intervals: EvaluationIntervals | None, level: float) -> dict[str, Any]:
    drawn = None if intervals is None else intervals.drawn
    return {
        "kind": "evaluation",
        **evaluation.to_dict(),
        **_of_model(evaluation, intervals, level),
        "confidence_interval": _interval(intervals, "auc", level),
        "hand_till_interval": _interval(intervals, "hand_till", level),
        "confidence_level": level,
        "notes": _notes(evaluation, evaluation.notes),
        **heatmap_order([evaluation]),
        "pair_costs": pair_costs(evaluation),
        "weighted": evaluation.fitted.source.is_weighted,
        "method": None if intervals is None else intervals.method_of(),
        "resampled_because": "" if intervals is None else intervals.resampled_because,
        "by_groups": intervals is not None and intervals.by_groups,
        "n_groups": None if intervals is None else intervals.n_groups,
        "n_resamples": 0 if drawn is None else drawn.n_resamples,
        "n_not_converged": 0 if drawn is None else drawn.n_not_converged,
        "n_lost_class": 0 if drawn is None else drawn.n_lost_class,
        "n_independent": None if intervals is None else intervals.n_independent,
        "seed": None if drawn is None else drawn.seed,
    }


def _of_comparison(comparison: Comparison) -> dict[str, Any]:
    first = next(iter(comparison.evaluations.values()))
    level = comparison.confidence_level
    common = ("n_samples", "labels", "class_counts", "options")
    record = first.to_dict()
    models = {}
    for name, evaluation in comparison.evaluations.items():
        own = {key: value for key, value in evaluation.to_dict().items() if key not in common}
        models[name] = own | _of_model(evaluation, comparison.intervals_of(name), level)
    for key, contest in (("confidence_interval", comparison.by_auc), ("hand_till_interval", comparison.by_hand_till)):
        for one in contest.estimates:
            models[one.model][key] = _estimated(one, comparison)
    return {
        "kind": "comparison",
        **comparison.to_dict(include_delong=True),
        **{key: record[key] for key in common},
        "notes": _notes(first, comparison.notes),
        "evaluations": models,
        "curve_differences": curve_differences(comparison),
        **heatmap_order(list(comparison.evaluations.values())),
        "pair_costs": pair_costs(first),
        "weighted": first.fitted.source.is_weighted,
        "by_groups": comparison.units.are_groups,
        "n_independent": comparison.n_independent,
    }


def _notes(evaluation: Evaluation, notes: Sequence[str]) -> list[str]:
    """With what is said of a result of counted scores, and of no other."""
    return [*notes, *([] if evaluation.fitted.has_samples else [_COUNTED])]


def _explorer(result: Evaluation | Comparison) -> dict[str, Any]:
    """Rates with which the page follows other costs, or why it has none."""
    evaluations = _evaluations(result)
    return {"explorer": packed_rates(evaluations), "explorer_note": explorer_note(evaluations[0])}


def _evaluations(result: Evaluation | Comparison) -> list[Evaluation]:
    return list(result.evaluations.values()) if isinstance(result, Comparison) else [result]


def _of_model(evaluation: Evaluation, intervals: EvaluationIntervals | None, level: float) -> dict[str, Any]:
    """Numbers of one model that a page shows beyond `Evaluation.to_dict`."""
    return {
        "curve": _points(evaluation, evaluation.curve),
        "operating_point": operating_point(evaluation),
        "low_both_ways": [plain(np.array(pair, dtype=object)) for pair in evaluation.headline.low_pairs.both],
        "band": _band(intervals, level, "shared"),
        # Of two classes the pair is the curve.
        "mean_curve": None if evaluation.is_binary else _points(evaluation, evaluation.mean_curve),
        "mean_band": None if evaluation.is_binary else _band(intervals, level, "mean"),
        "auc_by_thresholds": evaluation.auc_by_thresholds,
        "accuracy_interval": _accuracy_interval(intervals, level),
        "pair_curves": _pair_curves(evaluation),
        "classes": _classes(evaluation, intervals, level).to_dict(),
    }


def _classes(evaluation: Evaluation, intervals: EvaluationIntervals | None, level: float) -> Classes:
    """The table of classes; with intervals where some were asked for, not where groups are known no more."""
    units = None if intervals is None else intervals.units
    # Intervals of very many classes take longer than all the rest; counted scores have none.
    if not isinstance(units, Units) or len(evaluation.labels) > CLASS_INTERVALS_ON_PAGE:
        return evaluation.classes
    return evaluation.classes.by_units(level, units)


def _accuracy_interval(intervals: EvaluationIntervals | None, level: float) -> dict[str, Any] | None:
    ends = None if intervals is None else intervals.accuracy_interval(level)
    return None if ends is None else {"low": ends.low, "high": ends.high, "level": level}


def _points(evaluation: Evaluation, curve: RocCurve) -> dict[str, list[float]]:
    """The points of a curve, corners included, each with the share called positive there."""
    call_rates: FloatArray = (curve.fpr + curve.tpr) / 2
    if not evaluation.is_binary:
        call_rates = np.concatenate([[0.0], grid(evaluation.fitted.options.n_thresholds), [1.0]])
    return {"fpr": plain(curve.fpr), "tpr": plain(curve.tpr), "call_rate": plain(call_rates)}


def _band(intervals: EvaluationIntervals | None, level: float, curve: Curve) -> dict[str, Any] | None:
    band = None if intervals is None else intervals.confidence_band(level, curve)
    if band is None:
        return None
    sides = {"lower": band.lower, "upper": band.upper}
    curves = {side: {"fpr": _rounded_rates(one.fpr), "tpr": _rounded_rates(one.tpr)} for side, one in sides.items()}
    return {**curves, "level": band.confidence_level, "simultaneous": band.simultaneous}


def _pair_curves(evaluation: Evaluation) -> dict[str, Any] | None:
    """Rates of the pairs with the smallest areas, the smallest first; None for two classes, whose pair is the curve."""
    if evaluation.is_binary:
        return None
    worst = np.argsort(evaluation.pairs.auc, kind="stable")[:PAIR_CURVES_ON_PAGE]
    # Only theirs: those of all pairs of very many classes would fill the memory.
    rates = rates_of(
        evaluation.fitted.unchanged, chosen_pairs(evaluation.fitted.pairs, worst), evaluation.fitted.options
    )
    points = _spread(rates.n_call_rates, _PAIR_POINTS)
    return {
        "pair": worst.tolist(),
        "call_rate": _rounded(rates.call_rates[points]),
        "fpr": [_rounded(column) for column in rates.fpr.T[:, points]],
        "tpr": [_rounded(column) for column in rates.tpr.T[:, points]],
    }


def _spread(length: int, most: int) -> IntArray:
    """Positions from the first to the last, at most this many."""
    return np.unique(np.linspace(0, length - 1, min(length, most)).round().astype(int))


def _rounded(values: FloatArray) -> list[float]:
    rounded: list[float] = np.round(values.astype(float), _DIGITS).tolist()
    return rounded


def _rounded_rates(rates: FloatArray) -> list[float]:
    return [rounded_rate(float(rate)) for rate in rates]


def _interval(intervals: EvaluationIntervals | None, statistic: Statistic, level: float) -> dict[str, Any] | None:
    ends = None if intervals is None else intervals.confidence_interval(level, statistic=statistic)
    if intervals is None or ends is None:
        return None
    error, method = intervals.standard_error(statistic), intervals.method_of(statistic)
    return {**ends._asdict(), "level": level, "method": method, "interval": "logit", "standard_error": error}


def _estimated(one: ModelEstimate, comparison: Comparison) -> dict[str, Any]:
    level, kind = comparison.confidence_level, comparison.interval
    ends = {"low": one.low, "high": one.high, "level": level, "method": comparison.method, "interval": kind}
    return {**ends, "standard_error": one.standard_error}


def _finite(value: Any) -> Any:
    """The same with None for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
