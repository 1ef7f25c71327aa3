"""The shared curve, alone or with its band, its pairs, or the other folds of a cross-validation."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from polyroc._band import ConfidenceBand
from polyroc._containers import read_labels
from polyroc._curve import RocCurve
from polyroc._evaluate import evaluate
from polyroc._evaluation import Evaluation
from polyroc._intervals import Interval
from polyroc._scoring import evaluate_estimator
from polyroc.display._rates_axes import (
    MARK,
    draw_band,
    draw_diagonal,
    draw_pairs,
    dress,
    legend_in_corner,
    next_style,
)
from polyroc.display._style import (
    despined,
    font_points,
    letters_in,
    name_of,
    pyplot,
    square_axes_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More faint curves than these are one grey area.
_MOST_PAIRS = 300


class RocCurveDisplay:
    """The ROC curve that all pairs of classes share.

    Parameters
    ----------
    curve : RocCurve or sequence of RocCurve
        The curve; or several, one for each fold of a cross-validation.
    name : str, optional
        What the legend calls it.
    band : ConfidenceBand, optional
        A band around it.
    pair_curves : sequence of RocCurve
        The curves of the pairs.
    interval : Interval, optional
        Confidence interval of the area, for the legend.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it was drawn.
    line_ : Line2D, or list of Line2D
        The curve; a list of them for folds.
    band_ : Polygon or None
        The band.
    pairs_ : LineCollection or None
        The curves of the pairs.
    chance_level_ : Line2D or None
        The diagonal.

    Examples
    --------
    >>> import polyroc
    >>> from polyroc.display import RocCurveDisplay
    >>> example = polyroc.load_example()
    >>> evaluation = polyroc.evaluate(example.y_true, example.scores["tree"])
    >>> drawn = evaluation.bootstrap(99, rng=0)
    >>> display = RocCurveDisplay.from_evaluation(
    ...     evaluation, name="tree", band=drawn.confidence_band(), interval=drawn.confidence_interval()
    ... )
    >>> from matplotlib.figure import Figure
    >>> display = display.plot(Figure().add_subplot())
    >>> display.ax_.get_xlabel()
    'shared false positive rate'
    """

    def __init__(
        self,
        *,
        curve: RocCurve | Sequence[RocCurve],
        name: str | None = None,
        band: ConfidenceBand | None = None,
        pair_curves: Sequence[RocCurve] = (),
        interval: Interval | None = None,
    ) -> None:
        self.curve = curve if isinstance(curve, RocCurve) else tuple(curve)
        self.name = name
        self.band = band
        self.pair_curves = tuple(pair_curves)
        self.interval = interval

    @classmethod
    def from_evaluation(
        cls,
        evaluation: Evaluation,
        *,
        name: str | None = None,
        band: ConfidenceBand | None = None,
        interval: Interval | None = None,
    ) -> "RocCurveDisplay":
        """Hold the curve of an evaluation and those of its pairs; nothing is drawn yet.

        Parameters
        ----------
        evaluation : Evaluation
            What `evaluate` gave.
        name, band, interval
            As in the class. Of more than 300 pairs as many are held, evenly spaced from the dullest to the sharpest;
            none where the evaluation was too large to keep their rates.
        """
        return cls(
            curve=evaluation.curve, name=name, band=band, pair_curves=_pair_curves(evaluation), interval=interval
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: "ArrayLike",
        y_score: "ArrayLike",
        *,
        name: str | None = None,
        n_resamples: int = 999,
        confidence_level: float = 0.95,
        rng: int | np.random.Generator | None = None,
        ax: "Axes | None" = None,
        curve_kwargs: Mapping[str, Any] | None = None,
        plot_chance_level: bool = False,
        chance_level_kw: Mapping[str, Any] | None = None,
        despine: bool = False,
        band: bool = True,
        pairs: bool = False,
        **options: Any,
    ) -> "RocCurveDisplay":
        """Evaluate, resample, and draw.

        Parameters
        ----------
        y_true, y_score : array-like
            As in `evaluate`.
        name : str, optional
            What the legend calls it.
        n_resamples : int
            Resamples for the band and for the interval in the legend; 0 for neither.
        confidence_level : float
            Of both, between 0 and 1.
        rng : int, Generator or None
            Seed of the resamples.
        ax, curve_kwargs, plot_chance_level, chance_level_kw, despine, band, pairs
            As in `plot`.
        **options
            Further keyword arguments of `evaluate`.

        Examples
        --------
        >>> import polyroc
        >>> from matplotlib.figure import Figure
        >>> from polyroc.display import RocCurveDisplay
        >>> example = polyroc.load_example()
        >>> ax = Figure().add_subplot()
        >>> display = RocCurveDisplay.from_predictions(example.y_true, example.scores["knn"], n_resamples=0, ax=ax)
        >>> ax.get_legend().get_texts()[0].get_text()
        'D = 0.942'
        """
        # Asked for before the work: without it there is nothing to wait for.
        pyplot()
        display = cls._of(evaluate(y_true, y_score, **options), name, n_resamples, confidence_level, rng)
        return display.plot(
            ax,
            curve_kwargs=curve_kwargs,
            plot_chance_level=plot_chance_level,
            chance_level_kw=chance_level_kw,
            despine=despine,
            band=band,
            pairs=pairs,
        )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: "ArrayLike",
        *,
        name: str | None = None,
        n_resamples: int = 999,
        confidence_level: float = 0.95,
        rng: int | np.random.Generator | None = None,
        ax: "Axes | None" = None,
        curve_kwargs: Mapping[str, Any] | None = None,
        plot_chance_level: bool = False,
        chance_level_kw: Mapping[str, Any] | None = None,
        despine: bool = False,
        band: bool = True,
        pairs: bool = False,
        **options: Any,
    ) -> "RocCurveDisplay":
        """As `from_predictions`, with what a fitted classifier predicts.

        Parameters
        ----------
        estimator : scikit-learn classifier
            Fitted, with `predict_proba` or `decision_function`, and `classes_`.
        X : array-like or data frame of shape (n_samples, n_features)
            What it predicts from.
        y : array-like of shape (n_samples,)
            True classes.
        name : str, optional
            What the legend calls it; by default the name of the estimator's class.
        n_resamples, confidence_level, rng, ax, curve_kwargs, plot_chance_level, chance_level_kw, despine, band, pairs
            As in `from_predictions`.
        **options
            Further keyword arguments of `evaluate`, other than `labels`.
        """
        pyplot()
        name = type(estimator).__name__ if name is None else name
        display = cls._of(evaluate_estimator(estimator, X, y, **options), name, n_resamples, confidence_level, rng)
        return display.plot(
            ax,
            curve_kwargs=curve_kwargs,
            plot_chance_level=plot_chance_level,
            chance_level_kw=chance_level_kw,
            despine=despine,
            band=band,
            pairs=pairs,
        )

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        X: Any,
        y: "ArrayLike",
        *,
        name: str | None = None,
        sample_weight: "ArrayLike | None" = None,
        ax: "Axes | None" = None,
        curve_kwargs: Mapping[str, Any] | None = None,
        plot_chance_level: bool = False,
        chance_level_kw: Mapping[str, Any] | None = None,
        despine: bool = False,
        **options: Any,
    ) -> "RocCurveDisplay":
        """Draw one curve for each fold of scikit-learn's `cross_validate`, on the samples its fit has not seen.

        Parameters
        ----------
        cv_results : dict
            Of ``cross_validate(..., return_estimator=True, return_indices=True)``.
        X, y : array-like
            What `cross_validate` was given.
        name : str, optional
            What the legend calls the curves; by default the name of the estimator's class. The legend says their mean
            area and its standard deviation over folds, which is no standard error: the fits share training data.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples in the evaluation.
        ax, curve_kwargs, plot_chance_level, chance_level_kw, despine
            As in `plot`.
        **options
            Further keyword arguments of `evaluate`, other than `labels`.
        """
        pyplot()
        evaluations = _evaluate_folds(cv_results, X, y, sample_weight, options)
        name = type(cv_results["estimator"][0]).__name__ if name is None else name
        return cls(curve=[evaluation.curve for evaluation in evaluations], name=name).plot(
            ax,
            curve_kwargs=curve_kwargs,
            plot_chance_level=plot_chance_level,
            chance_level_kw=chance_level_kw,
            despine=despine,
        )

    @classmethod
    def _of(
        cls, evaluation: Evaluation, name: str | None, n_resamples: int, confidence_level: float, rng: Any
    ) -> "RocCurveDisplay":
        if n_resamples == 0:
            return cls.from_evaluation(evaluation, name=name)
        drawn = evaluation.bootstrap(n_resamples, rng=rng)
        band, interval = drawn.confidence_band(confidence_level), drawn.confidence_interval(confidence_level)
        return cls.from_evaluation(evaluation, name=name, band=band, interval=interval)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        name: str | None = None,
        curve_kwargs: Mapping[str, Any] | None = None,
        plot_chance_level: bool = False,
        chance_level_kw: Mapping[str, Any] | None = None,
        despine: bool = False,
        band: bool = True,
        pairs: bool = False,
    ) -> "RocCurveDisplay":
        """Draw what is held. Several displays drawn into the same axes get different colours and line styles.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default a new figure.
        name : str, optional
            What the legend calls it, instead of the name that is held.
        curve_kwargs : dict, optional
            Passed to matplotlib for the curve.
        plot_chance_level : bool
            Draw the diagonal, the curve of scores that say nothing.
        chance_level_kw : dict, optional
            Passed to matplotlib for the diagonal.
        despine : bool
            Leave away the upper and the right side of the frame.
        band : bool
            Draw the band, if there is one.
        pairs : bool
            Draw the curves of the pairs, faintly; for two classes there are none.

        Returns
        -------
        RocCurveDisplay
            Itself.
        """
        self.ax_ = ax = square_axes_of(ax)
        self.figure_ = ax.figure
        self.chance_level_ = draw_diagonal(ax, chance_level_kw) if plot_chance_level else None
        curves = (self.curve,) if isinstance(self.curve, RocCurve) else self.curve
        style = next_style(ax, curve_kwargs, n_curves=len(curves))
        label = self._label(self.name if name is None else name, ax)
        # Only the first of several folds is in the legend, which speaks of all.
        lines = [
            ax.plot(curve.fpr, curve.tpr, label=text, **style)[0]
            for curve, text in zip(curves, [label, *[None] * (len(curves) - 1)], strict=True)
        ]
        lines[0].set_gid(MARK)
        self.line_ = lines[0] if isinstance(self.curve, RocCurve) else lines
        colour = lines[0].get_color()
        self.band_ = draw_band(ax, self.band, colour) if band and self.band is not None else None
        self.pairs_ = draw_pairs(ax, self.pair_curves) if pairs and self.pair_curves else None
        dress(ax)
        legend_in_corner(ax, backwards=all(curve.auc < 0.5 for curve in curves))
        if despine:
            despined(ax)
        return self

    def _label(self, name: str | None, ax: "Axes") -> str:
        if isinstance(self.curve, RocCurve):
            ends = "" if self.interval is None else f" [{self.interval.low:.3f}, {self.interval.high:.3f}]"
            numbers = f"D = {self.curve.auc:.3f}{ends}"
        else:
            areas = [curve.auc for curve in self.curve]
            spread = f", SD {np.std(areas, ddof=1):.3f}" if len(areas) > 1 else ""
            numbers = f"mean D = {np.mean(areas):.3f}{spread} of {len(areas)} folds"
        if name is None:
            return numbers
        box = ax.get_window_extent()
        room = letters_in(72 * min(box.width, box.height) / ax.figure.dpi, font_points("small")) - 5
        text = name_of(name, min(30, room))
        # matplotlib leaves labels with an underscore in front out of the legend.
        text = f" {text}" if text.startswith("_") else text
        return f"{text} ({numbers})" if len(text) + len(numbers) + 3 <= room else f"{text}\n{numbers}"


def _pair_curves(evaluation: Evaluation) -> list[RocCurve]:
    """The curves of the pairs, from corner to corner, where they are at hand and more than one."""
    rates = evaluation.kept_rates
    if rates is None or rates.n_pairs < 2:
        return []
    chosen = np.arange(rates.n_pairs)
    if rates.n_pairs > _MOST_PAIRS:
        by_effect = np.argsort(evaluation.pairs.effect, kind="stable")
        chosen = by_effect[np.linspace(0, rates.n_pairs - 1, _MOST_PAIRS).round().astype(int)]
    return [RocCurve(fpr=np.r_[0, rates.fpr[:, p], 1], tpr=np.r_[0, rates.tpr[:, p], 1]) for p in chosen]


def _evaluate_folds(
    cv_results: Mapping[str, Any], X: Any, y: "ArrayLike", sample_weight: Any, options: dict[str, Any]
) -> list[Evaluation]:
    from sklearn.utils import _safe_indexing

    for key in ("estimator", "indices"):
        if key not in cv_results:
            wanted = "cross_validate(..., return_estimator=True, return_indices=True)"
            msg = f"`cv_results` must hold {key!r}, as those of {wanted} do."
            raise ValueError(msg)
    y_true = read_labels(y, "y")
    weight = None if sample_weight is None else np.asarray(sample_weight)
    return [
        evaluate_estimator(
            estimator,
            _safe_indexing(X, test),
            y_true[test],
            sample_weight=None if weight is None else weight[test],
            **options,
        )
        for estimator, test in zip(cv_results["estimator"], cv_results["indices"]["test"], strict=True)
    ]
