"""evaluate(...): from labels and scores to one curve and its area, in one readable function."""

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit

from polyroc._cells import LOGIT_BOUND
from polyroc._curve import RocCurve, shared_curve
from polyroc._factorization import factorize
from polyroc._options import Options, as_options
from polyroc._pair_table import Pairs, plain
from polyroc._pairs import sampled_pairs
from polyroc._rates import pairwise_rates
from polyroc._records import Factorization, Frozen, PairIndex, PairwiseRates, Predictions, Status
from polyroc._typing import BoolArray, FloatArray, IntArray, LabelArray, Model, Thresholds, Weighting
from polyroc._validation import as_predictions
from polyroc._warnings import warn
from polyroc._weights import pair_weights
from polyroc.engines import Engine, get_engine
from polyroc.engines._memory import check_memory

# Rates of more cells than this are not kept but computed again when somebody asks for them.
_KEPT_CELLS = 4_000_000


class ConvergenceWarning(UserWarning):
    """The fit ended before it converged; the area is where it stood."""


@dataclass(frozen=True, eq=False)
class Evaluation(Frozen):
    """One multi-class ROC curve, its area, and what they are made of.

    Attributes
    ----------
    auc : float
        The statistic D: area under `curve`.
    curve : RocCurve
        The curve that all pairs share.
    labels : ndarray of shape (n_classes,)
        The classes, in the order of the score columns.
    n_samples : int
        Samples that counted (those of weight 0 do not).
    class_counts : ndarray of shape (n_classes,)
        Samples of each class.
    pairs : Pairs
        One entry per ordered pair of classes: its area, its effect, its sample numbers.
    hand_till : float
        Hand and Till's M, the mean of all pairwise areas. Computed on first access.
    rates : PairwiseRates
        The pairwise rates on the grid of call rates. Of many classes, computed on first access.
    factorization : Factorization
        Row effects, pair effects, and how the fit ended.
    """

    predictions: Predictions = field(repr=False)
    options: Options
    curve: RocCurve
    factorization: Factorization
    pair_index: PairIndex = field(repr=False)
    kept_rates: PairwiseRates | None = field(repr=False)

    @property
    def auc(self) -> float:
        return self.curve.auc

    @property
    def labels(self) -> LabelArray:
        return self.predictions.labels

    @property
    def n_samples(self) -> int:
        return self.predictions.n_samples

    @property
    def class_counts(self) -> IntArray:
        return self.predictions.class_counts

    @cached_property
    def pairs(self) -> Pairs:
        positive, negative = self.pair_index.positive, self.pair_index.negative
        return Pairs(
            positive=self.labels[positive],
            negative=self.labels[negative],
            n_positive=self.class_counts[positive],
            n_negative=self.class_counts[negative],
            effect=self.factorization.pair_effects,
            measure=partial(_areas, self.predictions, self.pair_index, self.options),
        )

    @cached_property
    def hand_till(self) -> float:
        return float(np.mean(self.pairs.auc))

    @cached_property
    def rates(self) -> PairwiseRates:
        engine = get_engine(self.options.engine, self.predictions)
        return self.kept_rates or _rates(self.predictions, self.pair_index, self.options, engine)

    @cached_property
    def pair_sampling_error(self) -> float:
        """Standard error that `max_pairs` adds to `auc`, 0 where all pairs were compared.

        By the jackknife over what was drawn together: in turn some draws are left out and the rest fitted again.
        Where there was only one draw, pairs are left out at random, which rather overstates the error.
        """
        stratum = self.pair_index.stratum
        if stratum is None:
            return 0.0
        n_draws = int(stratum.max()) + 1
        group = stratum if n_draws > 1 else np.random.default_rng(0).permutation(len(self.pair_index))
        n_groups = min(10, n_draws) if n_draws > 1 else 10
        areas = np.array([self._auc_of_pairs(group % n_groups != g) for g in range(n_groups)])
        variance = (n_groups - 1) / n_groups * np.sum((areas - areas.mean()) ** 2)
        # Draws are made without replacement from the k - 1 that there are.
        present = int(np.count_nonzero(self.class_counts))
        return float(np.sqrt(variance * (1 - n_draws / (present - 1))))

    def _auc_of_pairs(self, chosen: BoolArray) -> float:
        index = PairIndex(self.pair_index.positive[chosen], self.pair_index.negative[chosen])
        part = self.rates.of_pairs(chosen)
        engine = get_engine(self.options.engine, self.predictions)
        return shared_curve(_fit(self.predictions, index, part, self.options, engine)).auc

    def to_dict(self, *, include_rates: bool = False) -> dict[str, Any]:
        """Everything as plain data that `json` can write.

        Parameters
        ----------
        include_rates : bool
            Also the pairwise rates, 2 T K numbers.
        """
        fit = self.factorization
        record: dict[str, Any] = {
            "auc": self.auc,
            "hand_till": self.hand_till,
            "n_samples": self.n_samples,
            "labels": plain(self.labels),
            "class_counts": plain(self.class_counts),
            "curve": {"fpr": plain(self.curve.fpr), "tpr": plain(self.curve.tpr)},
            "pairs": self.pairs.to_dict(),
            "fit": {"status": str(fit.status), "n_iter": fit.n_iter, "deviance": fit.deviance},
            "options": self.options.to_dict(),
        }
        if include_rates:
            rates = self.rates
            record["rates"] = {
                name: getattr(rates, name).tolist() for name in ("call_rates", "tpr", "fpr", "thresholds")
            }
        return record

    def __repr__(self) -> str:
        fit = self.factorization
        ending = f"converged in {fit.n_iter} iterations" if fit.converged else f"NOT converged ({fit.status})"
        return (
            f"Evaluation(auc={self.auc:.4f}, {len(self.labels)} classes, {self.n_samples} samples, "
            f"{len(self.pair_index)} pairs, fit {ending})"
        )


def evaluate(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    weighting: Weighting = "equal",
    costs: ArrayLike | None = None,
    tpr_weights: ArrayLike | None = None,
    fpr_weights: ArrayLike | None = None,
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
        One column of scores per class; higher means more likely. Only their order matters, so probabilities and
        logits do equally well. The columns of a data frame are matched to the classes by name. For two classes one
        column, the score of the second class, is enough.
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
        Number T of grid points; an odd number has the middle on the grid.
    shrinkage : float
        How many samples' worth of the shared rate is mixed into each pair's rates; 0 for none.
    model : {"rank-one", "centered", "saturated"}
        The factorization; see the method page.
    engine : {"auto", "numpy", "numba"}
        What computes: the reference in NumPy, or compiled code (``polyroc[fast]``), which "auto" takes for large
        problems where it is installed. Areas agree to 1e-9, in single precision (very many pairs) to 1e-5.
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
        With `auc`, `curve`, `pairs`, `hand_till`, `rates` and `factorization`.

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
    (101,)
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


def auc_score(y_true: ArrayLike, y_score: ArrayLike, **options: Any) -> float:
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
    return evaluate(y_true, y_score, **options).auc


def evaluate_predictions(predictions: Predictions, options: Options) -> Evaluation:
    """The method from end to end: pairs, rates, weights, fit, curve."""
    pairs = sampled_pairs(predictions, options.max_pairs, options.rng)
    engine = get_engine(options.engine, predictions)
    rates = _rates(predictions, pairs, options, engine)
    if predictions.is_binary:
        _warn_of_options_without_effect(options)
        factorization = _saturated(rates)
        curve = RocCurve(fpr=np.r_[0.0, rates.fpr[:, 0], 1.0], tpr=np.r_[0.0, rates.tpr[:, 0], 1.0])
    else:
        factorization = _fit(predictions, pairs, rates, options, engine)
        curve = shared_curve(factorization)
    if not factorization.converged:
        hint = "" if factorization.status is Status.SADDLE else " A larger `shrinkage` helps."
        warn(f"{factorization.status.message}{hint}", ConvergenceWarning)
    kept = rates if rates.tpr.size <= _KEPT_CELLS else None
    return Evaluation(predictions, options, curve, factorization, pairs, kept)


def _rates(predictions: Predictions, pairs: PairIndex, options: Options, engine: Engine) -> PairwiseRates:
    if not predictions.is_binary:
        check_memory(engine, predictions, len(pairs), options.n_thresholds)
    return pairwise_rates(
        predictions,
        pairs,
        thresholds=options.thresholds,
        n_thresholds=options.n_thresholds,
        engine=engine,
        n_jobs=options.n_jobs,
    )


def _fit(
    predictions: Predictions, pairs: PairIndex, rates: PairwiseRates, options: Options, engine: Engine
) -> Factorization:
    weights = pair_weights(predictions, pairs, options)
    return factorize(
        rates, weights, shrinkage=options.shrinkage, model=options.model, engine=engine, n_jobs=options.n_jobs
    )


def _areas(predictions: Predictions, pairs: PairIndex, options: Options) -> FloatArray:
    return get_engine(options.engine, predictions).pairwise_areas(predictions, pairs, n_jobs=options.n_jobs)


def _saturated(rates: PairwiseRates) -> Factorization:
    """Two classes: one pair, whose rates are their own fit."""
    effects = logit(np.concatenate([rates.tpr[:, 0], rates.fpr[:, 0]]))
    return Factorization(
        row_effects=np.clip(effects, -LOGIT_BOUND, LOGIT_BOUND),
        pair_effects=np.ones(1),
        deviance=0.0,
        deviance_path=np.zeros(1),
        n_iter=0,
        status=Status.CONVERGED,
    )


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
