"""evaluate(...): from labels and scores to one curve and its area, in one readable function."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from polyroc._core import Prepared
from polyroc._core.curve import RocCurve, shared_curve
from polyroc._core.factorization import fit_of
from polyroc._core.rates import prepared_for, rates_of, sampled_pairs
from polyroc._core.samples import is_below_chance, warn_of_backwards, warn_of_disagreement
from polyroc._counts.binning import check_bins
from polyroc._counts.counted import refuse_differences
from polyroc._counts.exact import ExactColumns, ExactPrepared, counted_for
from polyroc._inputs.checks import as_n_jobs, listed
from polyroc._inputs.fingerprint import Fingerprint
from polyroc._inputs.options import DECLARED, Options, as_options
from polyroc._inputs.predictions import as_predictions
from polyroc._lib.threads import one_pool
from polyroc._lib.typing import Structure, Thresholds, Weighting
from polyroc._lib.warnings import underflow_is_zero, warn
from polyroc._records import PairIndex, PairwiseRates, Predictions, ScoreCounts, Status
from polyroc.evaluation._evaluation import Evaluation
from polyroc.evaluation._fitted import Fitted


class ConvergenceWarning(UserWarning):
    """The fit ended before it converged; the area is where it stood.

    >>> import warnings
    >>> import polyroc
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", polyroc.ConvergenceWarning)  # an exception instead of a warning
    ...     polyroc.auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """


@underflow_is_zero
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
    structure: Structure = "rank-one",
    engine: str = "auto",
    max_pairs: int | None = None,
    rng: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
) -> Evaluation:
    """Evaluate a classifier of any number of classes: D, M, their ROC curves, and every pair of classes.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes: integers, strings, booleans or categoricals. One class per sample: multi-label problems are
        other problems.
    y_score : array-like or data frame of shape (n_samples, n_classes)
        One column of scores per class; higher means more likely. Only the order of the samples within each column
        matters, so scores need not be probabilities. Logits and their softmax rank samples differently, so they give
        different D; log probabilities and probabilities do so with ``thresholds="difference"`` only. The columns of a
        data frame are matched to the classes by name, also inside a common prefix and suffix (``p_cat``, ``cat_prob``).
        For two classes one column, the score of the second class, is enough. Arrays of floats are not copied: pass a
        copy if you write new scores into the same array while the result is in use. What is computed later (M, pairs,
        intervals) then raises an error instead of mixing old and new numbers.
        Scores on a GPU (tensors of PyTorch, arrays of CuPy and JAX) are evaluated there; the results are NumPy arrays.
    labels : array-like of shape (n_classes,), optional
        The classes in the order of the columns. Columns of a data frame that are named after the classes are
        matched by name all the same. By default the column names of a data frame; for columns without names the
        categories of `y_true` in their order, else its sorted values. If fewer integers than columns occur, they are
        0 to k - 1 if 0 is among them; whatever else could be read in two ways is refused. The categories of a
        polars Categorical have no order of their own and are sorted; those of an Enum have.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights; only their ratios matter. Not copied either.
    weighting : {"equal", "prevalence"}
        Weight of each pair of classes: the same for all, or by their numbers of samples.
    costs : array-like of shape (n_classes, n_classes), optional
        ``costs[true, predicted]``: cost of a misclassification, laid out as a confusion matrix; the diagonal is
        ignored, with a note, and used by `decide`. Only ratios matter. More expensive confusions pull D towards the
        area of their pair. Rows and columns of a data frame that are named after the classes are matched by name.
    tpr_weights, fpr_weights : array-like of shape (n_classes, n_classes), optional
        Weights of the true and the false positive rates of the pair (positive, negative), multiplied with `costs`.
    thresholds : {"own", "shared", "difference"}
        "own": each class's column has its own threshold. "shared": one threshold for both columns of a pair.
        "difference": pair (i, j) is ranked by the score of i less the score of j, as AUCmu does, with one threshold on
        that difference. Then an accuracy of 1 with a margin gives D = 1, and `mean_auc` is AUCmu. The last two require
        columns on a common scale: "difference" leaves D unchanged if all scores are multiplied by one positive factor,
        or if a number is added to a column or to a sample, and by no other map. For two classes this option has no
        effect: the column of the second class ranks. To rank by a difference, pass that as the one column.
    n_thresholds : int
        Number of uniform call rates; 1/2 and 12 more around it are added.
    shrinkage : float
        How strongly each pair's rates are pulled to the rates of all pairs, in samples; 0 for none.
    structure : {"rank-one", "centered", "saturated"}
        Structure of the pairwise rates; "rank-one" is the paper's. See the method page.
    engine : {"auto", "numpy", "numba", "torch"}
        Implementation: "numpy" (reference), "numba" (compiled, ``polyroc[fast]``) or "torch" (GPU,
        ``polyroc[torch]``). "auto" takes "torch" if `y_score` lies on a GPU, else "numpy" for small problems and
        "numba" for large ones: from one size on, the same on every machine. If numba is missing or cannot compile, it
        takes "numpy", in the second case with a warning. "torch" copies scores of the host to the GPU, and computes on
        the CPU where there is none. Areas agree to 1e-9, in single precision (very many pairs)
        to 1e-5.
    max_pairs : int, optional
        Use a random sample of at most this many ordered pairs, for very many classes. `Evaluation.pair_sampling_error`
        is the standard error that the sampling adds.
    rng : int, Generator or None
        Seed of that sample; of a generator, or of chance for None, a seed is drawn once.
    n_jobs : int, optional
        Number of threads of the fast engine and of the check of large inputs; None for as many as the process may
        use. Results do not depend on it.

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
    asked = {name: value for name, value in locals().items() if name in DECLARED}
    with one_pool(as_n_jobs(n_jobs)):
        predictions = as_predictions(y_true, y_score, labels=labels, sample_weight=sample_weight, n_jobs=n_jobs)
        options = as_options(predictions.labels, **asked)
        return checked(evaluate_predictions(predictions, options))


def auc_score(y_true: "ArrayLike", y_score: "ArrayLike", **options: Any) -> float:
    """D (multi-class AUC): area under the ROC curve fitted to all pairs of classes.

    Parameters
    ----------
    y_true, y_score : array-like
        As in `evaluate`.
    **options
        The keyword arguments of `evaluate`.

    Returns
    -------
    float
        Between 0 and 1; 1/2 for scores without information, 1 if every pair of classes is separated.

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


# Arguments of `evaluate` that belong to the samples.
OF_SAMPLES = ("labels", "sample_weight")
# Options of scikit-learn's roc_auc_score, and what takes their place.
_INSTEAD = {
    "multi_class": "polyroc needs no `multi_class`: D compares all pairs of classes. M, scikit-learn's 'ovo', is "
    "`evaluate(...).hand_till`; 'ovr' is `baselines.one_vs_rest`.",
    "average": "All pairs of classes have the same weight; `weighting='prevalence'` weights them by their numbers of "
    "samples.",
    "max_fpr": "The partial area is `evaluate(...).partial_auc(max_fpr)`.",
}


def check_option_names(options: dict[str, Any], function: Callable[..., Any], *, without: tuple[str, ...] = ()) -> None:
    """Refuse, in the name of a function that passes options on, those that `evaluate` does not have."""
    allowed = [name for name in (*OF_SAMPLES, *DECLARED) if name not in without]
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


def evaluate_counts(counts: ScoreCounts, options: Options, exact: ExactColumns | None = None) -> Evaluation:
    """The same method from counts of scores, or from what was found of sorted ones."""
    refuse_differences(options.thresholds)
    pairs = sampled_pairs(counts, options.max_pairs, options.rng)
    prepared = counted_for(counts, pairs, options, exact)
    if exact is None:
        check_bins(prepared, pairs)
    found = Measured(prepared, Fingerprint.of(counts), pairs, rates_of(prepared, pairs, options))
    return checked(fitted(found, options))


def evaluate_predictions(predictions: Predictions, options: Options) -> Evaluation:
    """The method from end to end: pairs, rates, weights, fit, curve."""
    return fitted(measured(predictions, options), options)


class Measured(NamedTuple):
    """Pairs and rates of the samples, before any fit; costs and weights of pairs have no part in them."""

    prepared: Prepared
    fingerprint: Fingerprint
    pairs: PairIndex
    rates: PairwiseRates


def measured(predictions: Predictions, options: Options) -> Measured:
    """Pairs and rates, the only steps that pass over the samples."""
    fingerprint = Fingerprint.of(predictions)
    pairs = sampled_pairs(predictions, options.max_pairs, options.rng)
    prepared = prepared_for(predictions, pairs, options)
    return Measured(prepared, fingerprint, pairs, rates_of(prepared, pairs, options))


def fitted(found: Measured, options: Options) -> Evaluation:
    """Weights, fit and curve of what was measured with the same options, other than costs and weights."""
    prepared, fingerprint, pairs, rates = found
    factorization = fit_of(prepared, pairs, rates, options)
    if prepared.source.is_binary:
        _warn_of_options_without_effect(options)
        # From sorted scores that are not kept: bins end at vertices of the curve, whose area is known.
        exact = float(prepared.areas(pairs)[0]) if isinstance(prepared, ExactPrepared) else None
        curve = RocCurve(np.r_[0.0, rates.fpr[:, 0], 1.0], np.r_[0.0, rates.tpr[:, 0], 1.0], exact)
    else:
        curve = shared_curve(factorization)
    if not factorization.converged:
        hint = "" if factorization.status is Status.SADDLE else " A larger `shrinkage` helps."
        warn(f"{factorization.message}{hint}", ConvergenceWarning)
    # Asked of their shape: rates may lie on a device.
    kept = rates if rates.n_call_rates * rates.n_pairs <= rates.most_kept else None
    return Evaluation(Fitted(prepared, options, curve, factorization, pairs, kept, fingerprint))


def checked(evaluation: Evaluation) -> Evaluation:
    """The evaluation itself, with a warning where its scores were probably not meant as they were read."""
    estimates = evaluation.fitted
    if isinstance(estimates.source, Predictions):
        warn_of_disagreement(estimates.source)
    # M takes another pass over the samples, which only a D below 1/2 is worth.
    if estimates.curve.auc < 0.5 and is_below_chance(estimates.hand_till, estimates.source, estimates.pairs):
        warn_of_backwards()
    return evaluation


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
