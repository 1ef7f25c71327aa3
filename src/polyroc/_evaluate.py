"""evaluate(...): from labels and scores to one curve and its area, in one readable function."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polyroc._containers import listed
from polyroc._curve import RocCurve, shared_curve
from polyroc._evaluation import Evaluation
from polyroc._options import Options, as_options
from polyroc._pairs import sampled_pairs
from polyroc._records import Predictions, Status
from polyroc._steps import engine_for, fit_of, rates_of, saturated_fit
from polyroc._typing import Model, Thresholds, Weighting
from polyroc._validation import as_predictions
from polyroc._warnings import warn

# Rates of more cells than this are not kept but computed again when somebody asks for them.
_KEPT_CELLS = 4_000_000


class ConvergenceWarning(UserWarning):
    """The fit ended before it converged; the area is where it stood."""


def evaluate(
    y_true: "ArrayLike",
    y_score: "ArrayLike",
    *,
    labels: "ArrayLike | None" = None,
    sample_weight: "ArrayLike | None" = None,
    weighting: Weighting = "equal",
    costs: "ArrayLike | None" = None,
    tpr_weights: "ArrayLike | None" = None,
    fpr_weights: "ArrayLike | None" = None,
    thresholds: Thresholds = "own",
    n_thresholds: int = 99,
    shrinkage: float = 1.0,
    model: Model = "rank-one",
    engine: str = "auto",
    max_pairs: int | None = None,
    rng: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
) -> Evaluation:
    """Judge a classifier of any number of classes by one ROC curve.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes: integers, strings, booleans or categoricals.
    y_score : array-like or data frame of shape (n_samples, n_classes)
        One column of scores per class; higher means more likely. Only the order of the samples within each column
        matters. So scores need not be probabilities; but the logits behind a softmax order the samples of a column
        otherwise than its probabilities do, and have a D of their own. The columns of a data frame are matched to
        the classes by name. For two classes one column, the score of the second class, is enough.
    labels : array-like of shape (n_classes,), optional
        The classes in the order of the columns. By default 0 to k - 1 for integers, the column names of a data
        frame, otherwise the sorted values of `y_true`.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights; only their ratios matter.
    weighting : {"equal", "prevalence"}
        Whether all pairs of classes count alike, or by their numbers of samples.
    costs : array-like of shape (n_classes, n_classes), optional
        ``costs[true, predicted]``: what a confusion costs, as in a confusion matrix; the diagonal is ignored. Only
        ratios matter. Dearer confusions pull the area towards that of their pair. A data frame must have
        its rows and columns in the order of the classes.
    tpr_weights, fpr_weights : array-like of shape (n_classes, n_classes), optional
        Weights of the true and the false positive rates of the pair (positive, negative), multiplied with `costs`.
    thresholds : {"own", "shared"}
        Whether the threshold of a pair moves through the positive class's own column, or one threshold moves
        through both columns of the pair at once, which asks that columns be comparable.
    n_thresholds : int
        Number of uniform call rates; 1/2 and 12 more around it are added.
    shrinkage : float
        How many samples' worth of the shared rate is mixed into each pair's rates; 0 for none.
    model : {"rank-one", "centered", "saturated"}
        The factorization; see the method page.
    engine : {"auto", "numpy", "numba"}
        Implementation: "numpy" (reference) or "numba" (compiled, ``polyroc[fast]``). "auto" takes the one that is
        predicted to be done first, which depends on the size of the problem and on whether compiled code is in
        memory or on disk. Areas agree to 1e-9, in single precision (very many pairs) to 1e-5.
    max_pairs : int, optional
        Compare a random sample of at most so many ordered pairs, for very many classes. What the sampling adds to
        the standard error is `Evaluation.pair_sampling_error`.
    rng : int, Generator or None
        Seed of that sample.
    n_jobs : int, optional
        Number of threads of the fast engine; None for as many as the process may use. Results do not depend on it.

    Returns
    -------
    Evaluation
        With `auc`, `curve`, `pairs`, `hand_till`, `mean_curve`, `rates` and `factorization`.

    References
    ----------
    Wang and Carvalho, Multiclass ROC, arXiv 2404.13147.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> evaluation = polyroc.evaluate(example.y_true, example.scores["tree"])
    >>> bool(0.5 < evaluation.auc < 1)
    True
    >>> evaluation.curve.fpr.shape
    (113,)
    """
    predictions = as_predictions(y_true, y_score, labels=labels, sample_weight=sample_weight)
    options = as_options(
        predictions.labels,
        weighting=weighting,
        costs=costs,
        tpr_weights=tpr_weights,
        fpr_weights=fpr_weights,
        thresholds=thresholds,
        n_thresholds=n_thresholds,
        shrinkage=shrinkage,
        model=model,
        engine=engine,
        max_pairs=max_pairs,
        rng=rng,
        n_jobs=n_jobs,
    )
    return evaluate_predictions(predictions, options)


def auc_score(y_true: "ArrayLike", y_score: "ArrayLike", **options: Any) -> float:
    """The statistic D: area under the multi-class ROC curve.

    Parameters
    ----------
    y_true, y_score : array-like
        As in `evaluate`.
    **options
        The keyword arguments of `evaluate`.

    Returns
    -------
    float
        Between 0 and 1; 1/2 for scores without information, 1 where every pair of classes is separated.

    Examples
    --------
    For two classes it is the ordinary area under the ROC curve.

    >>> import polyroc
    >>> polyroc.auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    if options:
        check_option_names(options, auc_score)
    return evaluate(y_true, y_score, **options).auc


# Options of scikit-learn's roc_auc_score, and what takes their place.
_INSTEAD = {
    "multi_class": "polyroc needs no `multi_class`: D compares all pairs of classes. M, scikit-learn's 'ovo', is "
    "`evaluate(...).hand_till`; 'ovr' is `baselines.one_vs_rest`.",
    "average": "All pairs of classes count alike; `weighting='prevalence'` weights them by their numbers of samples.",
    "max_fpr": "The partial area is `evaluate(...).curve.partial_auc(max_fpr)`.",
}


def check_option_names(options: dict[str, Any], function: Callable[..., Any], *, without: tuple[str, ...] = ()) -> None:
    """Refuse, in the name of a function that passes options on, those that `evaluate` does not have."""
    allowed = [name for name in _keywords(evaluate) if name not in without]
    unknown = [name for name in options if name not in allowed]
    if not unknown:
        return
    came = f"an unexpected keyword argument {unknown[0]!r}"
    if len(unknown) > 1:
        came = f"unexpected keyword arguments {listed(unknown)}"
    own = _keywords(function)
    accepted = ", ".join([*own, *(name for name in allowed if name not in own)])
    instead = "".join(f" {_INSTEAD[name]}" for name in unknown if name in _INSTEAD)
    msg = f"{function.__name__}() got {came}. Accepted options: {accepted}.{instead}"
    raise TypeError(msg)


def _keywords(function: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]


def evaluate_predictions(predictions: Predictions, options: Options) -> Evaluation:
    """The method from end to end: pairs, rates, weights, fit, curve."""
    pairs = sampled_pairs(predictions, options.max_pairs, options.rng)
    engine = engine_for(predictions, pairs, options)
    rates = rates_of(predictions, pairs, options, engine)
    if predictions.is_binary:
        _warn_of_options_without_effect(options)
        factorization = saturated_fit(rates)
        curve = RocCurve(fpr=np.r_[0.0, rates.fpr[:, 0], 1.0], tpr=np.r_[0.0, rates.tpr[:, 0], 1.0])
    else:
        factorization = fit_of(predictions, pairs, rates, options, engine)
        curve = shared_curve(factorization)
    if not factorization.converged:
        hint = "" if factorization.status is Status.SADDLE else " A larger `shrinkage` helps."
        warn(f"{factorization.status.message}{hint}", ConvergenceWarning)
    kept = rates if rates.tpr.size <= _KEPT_CELLS else None
    return Evaluation(predictions, options, curve, factorization, pairs, kept)


def _warn_of_options_without_effect(options: Options) -> None:
    given = [name for name in ("costs", "tpr_weights", "fpr_weights") if getattr(options, name) is not None]
    default = Options()
    given += [
        name for name in ("thresholds", "n_thresholds", "shrinkage") if getattr(options, name) != getattr(default, name)
    ]
    if given:
        names = ", ".join(f"`{name}`" for name in given)
        msg = f"{names} had no effect: two classes have one pair, whose ROC curve needs no grid and no fit."
        warn(msg, UserWarning)
