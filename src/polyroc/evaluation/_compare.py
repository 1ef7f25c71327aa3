"""compare(...): several models on the same samples, by influences or by paired resamples."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations
from numbers import Integral
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from polyroc._core.curve import as_interval_max_fpr
from polyroc._core.samples import is_backwards, warn_of_backwards, warn_of_disagreement, warn_of_mixed_scales
from polyroc._inputs.checks import InputError, as_confidence_level, as_flag, as_n_jobs, one_of, shown
from polyroc._inputs.options import as_options
from polyroc._inputs.predictions import as_models, in_same_order
from polyroc._lib.typing import AnyStatistic, FloatArray, IntervalKind, Statistic
from polyroc._lib.warnings import underflow_is_zero
from polyroc._uncertainty.bootstrap import (
    as_draws,
    check_bca,
    chosen_method,
    draw_samples,
    warn_of_few_carriers,
    warn_of_small_classes,
)
from polyroc._uncertainty.delong import freedom
from polyroc._uncertainty.p_values import USUAL_SAMPLES, Anytime, Once
from polyroc._uncertainty.paired import Contest, contest
from polyroc._uncertainty.paired_influence import contest_by_influence
from polyroc._uncertainty.replicates import jackknife_influences
from polyroc._uncertainty.units import AnyUnits, ResamplingPlan, Units, as_seed, plain_seed, units_of
from polyroc.evaluation._comparison import Comparison, ComparisonMethod
from polyroc.evaluation._evaluate import check_option_names, evaluate_predictions
from polyroc.evaluation._evaluation import Evaluation

_Evaluations: TypeAlias = dict[str, Evaluation]


@underflow_is_zero
def compare(
    y_true: "ArrayLike",
    scores: "Mapping[str, ArrayLike]",
    *,
    confidence_level: float = 0.95,
    method: Literal["auto", "bootstrap", "influence"] = "auto",
    interval: IntervalKind = "logit",
    n_resamples: int | None = None,
    groups: "ArrayLike | None" = None,
    anytime: bool | int = False,
    max_fpr: float | None = None,
    rng: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
    **options: Any,
) -> Comparison:
    """Which of several models is better, and how sure that is.

    What makes a sample easy or hard for all models cancels out of their differences. By default nothing is resampled:
    what each sample contributes to each model says how sure everything is.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes.
    scores : mapping of str to array-like or data frame of shape (n_samples, n_classes)
        The scores of each model for the same samples, by its name.
    confidence_level : float
        Of the intervals, between 0 and 1.
    method : {"auto", "bootstrap", "influence"}
        What says how sure everything is. "influence": what each sample contributes, which takes no longer than
        evaluating the models a few times; it is refused if its formula does not hold for some model
        (`Evaluation.influence_note`). "bootstrap": all models on the same resamples. "auto": "influence" if it holds
        for all models, else "bootstrap" with 999 resamples and seed 0. The result says which it was.
    interval : {"logit", "percentile", "basic", "bca"}
        How intervals and p values are made from the replicates, as in `Evaluation.confidence_interval`. All but
        "logit" need ``method="bootstrap"``.
    n_resamples : int, optional
        Number of resamples, 999 by default; only for ``method="bootstrap"``.
    groups, n_jobs, progress
        As in `Evaluation.confidence_interval`.
    anytime : bool or int
        Whether intervals and p values of differences must hold no matter how often somebody looks at the growing data
        and when they stop (a confidence sequence, by influences). They are wider than for a single look, and tightest
        near the given number of samples, or of groups with `groups`: 1,000 for True. Choose it before the first look,
        and keep it.
    max_fpr : float, optional
        Compare by the partial area, too: that left of this false positive rate under the curve of D, in (0, 1], as
        `by_partial_auc`.
    rng : int, Generator or None
        Seed of the resamples, only for ``method="bootstrap"``; the same one gives the same bits whatever `n_jobs`.
    **options
        Further keyword arguments of `evaluate`, the same for all models; a sample of pairs (`max_pairs`) is the same
        for all, too.

    Returns
    -------
    Comparison
        With `by_auc`, `by_hand_till` and `by_mean_auc`, each with `estimates`, `differences` and `rankings`, and with
        `by_partial_auc` where a `max_fpr` was given.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> comparison = polyroc.compare(example.y_true, example.scores)
    >>> str(comparison.by_auc.rankings[0])
    'logistic > knn > tree'
    >>> comparison.by_auc.differences[0].p_value < 0.05
    True
    """
    level = as_confidence_level(confidence_level)
    method, planned = one_of(method, "method", ("auto", *get_args(ComparisonMethod))), _as_planned(anytime)
    if planned is not None and method == "bootstrap":
        raise InputError("anytime", "must be False for method='bootstrap', whose intervals hold for a single look")
    draws = as_draws(method, n_resamples=n_resamples, rng=rng, interval=interval)
    n_jobs, progress = as_n_jobs(n_jobs), as_flag(progress, "progress")
    if interval == "bca" and max_fpr is not None:
        check_bca("bootstrap", "partial_auc")
    stop = None if max_fpr is None else as_interval_max_fpr(max_fpr)
    check_option_names(options, compare)
    evaluations = _evaluate_all(y_true, scores, {**options, "n_jobs": n_jobs})
    first = next(iter(evaluations.values()))
    units = units_of(first.fitted.samples, groups)
    warn_of_small_classes(first.fitted.source, units)
    if planned is not None:
        method = "influence"
    method = chosen_method(method, lambda: next(filter(None, (_doubt(one, stop) for one in evaluations.values())), ""))
    if method == "influence":
        _check_influence(evaluations, stop)
        test = Once() if planned is None else Anytime(units.n_units, planned)
        return replace(by_influence(evaluations, units, level, test, stop), anytime=planned)
    plan = ResamplingPlan(first.fitted.samples, units, draws.n_resamples, as_seed(draws.rng), first.fitted.pairs)
    # As many as each model by itself would draw, so that the same engine gives the same replicates.
    n_models = len(evaluations)
    replicates = [one.fitted.replicates(draws.n_resamples, n_models=n_models) for one in evaluations.values()]
    drawn = draw_samples(replicates, plan, n_jobs=n_jobs, progress=progress)
    bootstraps = {
        name: evaluation.uncertainty.bootstrap_result(
            of_model, units, influences=jackknife_influences(again, units, n_jobs) if interval == "bca" else None
        )
        for (name, evaluation), of_model, again in zip(evaluations.items(), drawn, replicates, strict=True)
    }
    by_m = _freedoms({name: one.hand_till_influences for name, one in evaluations.items()}, units)
    by_mean = _freedoms({name: one.uncertainty.mean_area_influences for name, one in evaluations.items()}, units)
    contests = _contests(
        lambda statistic, at: {name: one.distribution(statistic, at) for name, one in bootstraps.items()},
        lambda statistic, found: contest(
            statistic, found, by_m if statistic == "hand_till" else by_mean, level, interval
        ),
        stop,
    )
    return Comparison(
        evaluations,
        bootstraps,
        **contests,
        confidence_level=level,
        interval=interval,
        units=units,
        seed=plain_seed(draws.rng),
    )


def by_influence(
    evaluations: _Evaluations,
    units: AnyUnits,
    level: float,
    test: Once | Anytime | None = None,
    max_fpr: float | None = None,
) -> Comparison:
    """The comparison of evaluated models without resampling."""

    def judged(statistic: AnyStatistic, spreads: dict[str, Any]) -> Contest:
        if statistic == "auc":
            for one in spreads.values():
                warn_of_few_carriers(one.freedom, one.at_end)
        return contest_by_influence(statistic, spreads, level, test or Once())

    contests = _contests(
        lambda statistic, at: {name: one.uncertainty.spread(statistic, units, at) for name, one in evaluations.items()},
        judged,
        max_fpr,
    )
    return Comparison(
        evaluations, {}, **contests, confidence_level=level, interval="logit", units=units, method="influence"
    )


def _doubt(evaluation: Evaluation, max_fpr: float | None) -> str:
    """Why a model has no influences that hold; empty where it has."""
    return evaluation.influence_note or (
        "" if max_fpr is None else evaluation.uncertainty.doubt("partial_auc", max_fpr)
    )


def _as_planned(anytime: Any) -> int | None:
    """The number of samples that a confidence sequence is made for; None for a single look."""
    if isinstance(anytime, bool | np.bool_):
        return USUAL_SAMPLES if anytime else None
    if not isinstance(anytime, Integral) or int(anytime) < 2:
        raise InputError("anytime", "must be True, False or a number of samples of at least 2", shown(anytime))
    return int(anytime)


def _check_influence(evaluations: _Evaluations, max_fpr: float | None) -> None:
    """Refuse influences if their formula does not hold for some model."""
    for name, evaluation in evaluations.items():
        if doubt := _doubt(evaluation, max_fpr):
            rule = f"must be 'bootstrap' where the formula of influences does not hold for a model: {shown(name)}, "
            raise InputError("method", f"{rule}where {doubt}", "'influence'")


def _contests(
    of_models: Callable[[AnyStatistic, float | None], dict[str, Any]],
    judged: Callable[[AnyStatistic, dict[str, Any]], Contest],
    max_fpr: float | None,
) -> dict[str, Any]:
    """The models by each statistic, as fields of `Comparison`; warns of scores that rank backwards."""
    auc, hand_till, mean_auc = (of_models(statistic, None) for statistic in get_args(Statistic))
    by_auc, by_hand_till = judged("auc", auc), judged("hand_till", hand_till)
    # Where the area under the mean curve is M, nothing is judged twice.
    is_hand_till = all(mean_auc[name].is_like(one) for name, one in hand_till.items())
    for one in by_auc.estimates:
        if is_backwards(one.low, one.high):
            warn_of_backwards(one.model)
    return {
        "by_auc": by_auc,
        "by_hand_till": by_hand_till,
        "by_mean_auc": replace(by_hand_till, statistic="mean_auc") if is_hand_till else judged("mean_auc", mean_auc),
        "by_partial_auc": None if max_fpr is None else judged("partial_auc", of_models("partial_auc", max_fpr)),
        "max_fpr": max_fpr,
    }


def _freedoms(influences: dict[str, FloatArray], units: Units) -> dict[tuple[str, str], float]:
    """Degrees of freedom of the differences of two models."""
    return {(a, b): freedom(influences[a] - influences[b], units) for a, b in combinations(influences, 2)}


def _evaluate_all(y_true: "ArrayLike", scores: Any, options: dict[str, Any]) -> _Evaluations:
    """Every model's evaluation, with the classes in the same order."""
    labels, sample_weight = options.pop("labels", None), options.pop("sample_weight", None)
    found = as_models(y_true, scores, labels, sample_weight, least=2)
    warn_of_mixed_scales(found, by_difference=options.get("thresholds") == "difference")
    for name, one in found.items():
        warn_of_disagreement(one, name)
    models = in_same_order(found)
    classes = next(iter(models.values())).labels
    return {name: evaluate_predictions(one, as_options(classes, **options)) for name, one in models.items()}
