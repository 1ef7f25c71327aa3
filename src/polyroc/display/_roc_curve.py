"""The shared curve and the mean of the pairs, with their bands, the pairs, or the folds of a cross-validation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from polyroc._core.curve import RocCurve
from polyroc._inputs.checks import InputError, one_of
from polyroc._uncertainty.band import ConfidenceBand
from polyroc._uncertainty.intervals import Interval
from polyroc.display._rates_axes import (
    MARK,
    Entry,
    Frame,
    Scale,
    draw_band,
    draw_diagonal,
    draw_pairs,
    evaluate_folds,
    folds_text,
    frame_of,
    label,
    legend_in_corner,
    mean_style,
    next_style,
    pair_curves_of,
    statistic_text,
)
from polyroc.display._style import despined, pyplot, square_axes_of
from polyroc.evaluation._evaluate import check_option_names, evaluate
from polyroc.evaluation._evaluation import Evaluation
from polyroc.evaluation._scoring import evaluate_estimator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Curves: TypeAlias = Literal["both", "shared", "mean"]
# Arguments that constructors pass on to `plot`.
_OF_PLOT = (
    *("ax", "scale", "curves", "curve_kwargs", "plot_chance_level", "chance_level_kwargs", "despine", "band", "pairs"),
)


@dataclass(kw_only=True, eq=False, repr=False)
class RocCurveDisplay:
    """The ROC curve that all pairs of classes share, and the mean of their curves.

    Parameters
    ----------
    curve : RocCurve or sequence of RocCurve
        The shared curve, whose area is D; or several, one for each fold of a cross-validation.
    mean_curve : RocCurve, optional
        The mean of the curves of the pairs, whose area is M.
    name : str, optional
        What the legend calls them.
    band, mean_band : ConfidenceBand, optional
        A band around each.
    pair_curves : sequence of RocCurve
        The curves of the pairs.
    interval, mean_interval : Interval, optional
        Confidence intervals of D and of M, for the legend.
    mean_is_hand_till : bool
        Whether the area under the mean curve is M; with costs, weights of pairs, and shared thresholds or those on
        differences it is not.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it was drawn.
    line_ : Line2D, list of Line2D, or None
        The shared curve; a list of them for folds.
    mean_line_ : Line2D or None
        The mean curve.
    band_, mean_band_ : Polygon or None
        Their bands.
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
    'false positive rate'

    The corner, for curves that the square cannot separate:

    >>> display = display.plot(Figure().add_subplot(), scale="corner")
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['99 %', '90 %', '0 %']
    """

    curve: RocCurve | Sequence[RocCurve]
    name: str | None = None
    band: ConfidenceBand | None = None
    pair_curves: Sequence[RocCurve] = ()
    interval: Interval | None = None
    mean_curve: RocCurve | None = None
    mean_band: ConfidenceBand | None = None
    mean_interval: Interval | None = None
    mean_is_hand_till: bool = True

    def __post_init__(self) -> None:
        self.curve = self.curve if isinstance(self.curve, RocCurve) else tuple(self.curve)
        self.pair_curves = tuple(self.pair_curves)

    @classmethod
    def from_evaluation(
        cls,
        evaluation: Evaluation,
        *,
        name: str | None = None,
        band: ConfidenceBand | None = None,
        interval: Interval | None = None,
        mean_band: ConfidenceBand | None = None,
        mean_interval: Interval | None = None,
    ) -> "RocCurveDisplay":
        """Make the display from an evaluation, without drawing it.

        Parameters
        ----------
        evaluation : Evaluation
            Result of `evaluate`.
        name, band, interval, mean_band, mean_interval
            As in the class. At most 300 pairs are kept, evenly spaced from the worst to the best; none if the
            evaluation was too large to keep their rates.
        """
        # Two classes have one pair, whose curve is both.
        mean_curve = None if evaluation.is_binary else evaluation.mean_curve
        return cls(
            curve=evaluation.curve,
            name=name,
            band=band,
            pair_curves=pair_curves_of(evaluation),
            interval=interval,
            mean_curve=mean_curve,
            mean_band=mean_band,
            mean_interval=mean_interval,
            mean_is_hand_till=evaluation.is_binary or evaluation.fitted.mean_is_hand_till,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: "ArrayLike",
        y_score: "ArrayLike",
        *,
        name: str | None = None,
        n_resamples: int = 0,
        confidence_level: float = 0.95,
        rng: int | np.random.Generator | None = None,
        progress: bool = False,
        ax: "Axes | None" = None,
        scale: Scale = "square",
        curves: Curves = "both",
        curve_kwargs: Mapping[str, Any] | None = None,
        plot_chance_level: bool = False,
        chance_level_kwargs: Mapping[str, Any] | None = None,
        despine: bool = False,
        band: bool = True,
        pairs: bool = False,
        **options: Any,
    ) -> "RocCurveDisplay":
        """Evaluate, resample where asked to, and draw.

        Parameters
        ----------
        y_true, y_score : array-like
            As in `evaluate`.
        name : str, optional
            What the legend calls it.
        n_resamples : int
            Resamples for the band and for the interval in the legend, such as 999; by default neither is drawn,
            because resampling may take long.
        confidence_level : float
            Of both, between 0 and 1.
        rng : int, Generator or None
            Seed of the resamples.
        progress : bool
            Show a bar with the time left while resampling (needs ``polyroc[progress]``).
        ax, scale, curves, curve_kwargs, plot_chance_level, chance_level_kwargs, despine, band, pairs
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
        >>> display = RocCurveDisplay.from_predictions(example.y_true, example.scores["knn"], ax=ax)
        >>> ax.get_legend().get_texts()[0].get_text()
        'D 0.942'
        """
        of_plot = {key: value for key, value in locals().items() if key in _OF_PLOT}
        # Asked for before the work: without it there is nothing to wait for.
        pyplot()
        check_option_names(options, cls.from_predictions)
        evaluation = evaluate(y_true, y_score, **options)
        display = cls._of(evaluation, name, n_resamples, confidence_level, rng, progress)
        return display.plot(**of_plot)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: "ArrayLike",
        *,
        name: str | None = None,
        n_resamples: int = 0,
        confidence_level: float = 0.95,
        rng: int | np.random.Generator | None = None,
        progress: bool = False,
        ax: "Axes | None" = None,
        scale: Scale = "square",
        curves: Curves = "both",
        curve_kwargs: Mapping[str, Any] | None = None,
        plot_chance_level: bool = False,
        chance_level_kwargs: Mapping[str, Any] | None = None,
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
        n_resamples, confidence_level, rng, progress, ax, scale, curves, curve_kwargs, plot_chance_level, \
        chance_level_kwargs, despine, band, pairs
            As in `from_predictions`.
        **options
            Further keyword arguments of `evaluate`, other than `labels`.
        """
        of_plot = {key: value for key, value in locals().items() if key in _OF_PLOT}
        pyplot()
        name = type(estimator).__name__ if name is None else name
        check_option_names(options, cls.from_estimator, without=("labels",))
        evaluation = evaluate_estimator(estimator, X, y, **options)
        display = cls._of(evaluation, name, n_resamples, confidence_level, rng, progress)
        return display.plot(**of_plot)

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
        scale: Scale = "square",
        curve_kwargs: Mapping[str, Any] | None = None,
        plot_chance_level: bool = False,
        chance_level_kwargs: Mapping[str, Any] | None = None,
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
        ax, scale, curve_kwargs, plot_chance_level, chance_level_kwargs, despine
            As in `plot`.
        **options
            Further keyword arguments of `evaluate`, other than `labels`.
        """
        of_plot = {key: value for key, value in locals().items() if key in _OF_PLOT}
        pyplot()
        evaluations = evaluate_folds(cv_results, X, y, sample_weight, options)
        name = type(cv_results["estimator"][0]).__name__ if name is None else name
        return cls(curve=[evaluation.curve for evaluation in evaluations], name=name).plot(**of_plot)

    @classmethod
    def _of(
        cls,
        evaluation: Evaluation,
        name: str | None,
        n_resamples: int,
        confidence_level: float,
        rng: Any,
        progress: Any,
    ) -> "RocCurveDisplay":
        if n_resamples == 0:
            return cls.from_evaluation(evaluation, name=name)
        drawn = evaluation.bootstrap(n_resamples, rng=rng, progress=progress)
        return cls.from_evaluation(
            evaluation,
            name=name,
            band=drawn.confidence_band(confidence_level),
            interval=drawn.confidence_interval(confidence_level),
            mean_band=drawn.confidence_band(confidence_level, curve="mean"),
            mean_interval=drawn.confidence_interval(confidence_level, statistic="mean_auc"),
        )

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        name: str | None = None,
        scale: Scale = "square",
        curves: Curves = "both",
        curve_kwargs: Mapping[str, Any] | None = None,
        plot_chance_level: bool = False,
        chance_level_kwargs: Mapping[str, Any] | None = None,
        despine: bool = False,
        band: bool = True,
        pairs: bool = False,
    ) -> "RocCurveDisplay":
        """Draw the curves. Several displays in the same axes get different colours.

        Where the two curves differ, the pairs of classes differ in how well they are separated.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default a new figure.
        name : str, optional
            Name in the legend, instead of the display's own.
        scale : {"square", "corner", "logit"}
            "square": both rates from 0 to 1. "corner": the upper left corner enlarged, the false positive rate against
            the share of misses, 1 - TPR, both on log axes. Use it for models with D above 0.95, whose curves are one
            line in the square, and where only small false positive rates matter. "logit": both rates on logit axes, as
            the paper plots the curve first; pairs are fitted on this scale, where they are stretched copies of the
            shared curve. Better is up and left in all three. Rates of 0 (and of 1 on logit axes) have no place there:
            the curve leaves the frame, which begins at 0.001 % or above.
        curves : {"both", "shared", "mean"}
            The shared curve, whose area is D (solid), the mean of the pairs' curves, whose area is M (dashed), or both.
            Two classes and folds have one kind of curve.
        curve_kwargs : dict, optional
            Passed to matplotlib for the curves.
        plot_chance_level : bool
            Draw the diagonal, the curve of scores without information.
        chance_level_kwargs : dict, optional
            Passed to matplotlib for the diagonal.
        despine : bool
            Remove the top and right spines.
        band : bool
            Draw the bands, if there are any.
        pairs : bool
            Draw the curves of the pairs, faintly; for two classes there are none.
        """
        curves = self._available(one_of(curves, "curves", get_args(Curves)))
        scale = one_of(scale, "scale", get_args(Scale))
        self.ax_ = ax = square_axes_of(ax)
        self.figure_ = ax.figure
        frame = frame_of(ax, scale, self._drawn(curves))
        self.chance_level_ = draw_diagonal(ax, chance_level_kwargs, frame) if plot_chance_level else None
        style = next_style(ax, curve_kwargs, n_curves=len(self._folds), two_kinds=curves == "both")
        called = self.name if name is None else name
        self.line_: Any = None
        self.mean_line_: Any = None
        self.band_: Any = None
        self.mean_band_: Any = None
        if curves != "mean":
            self._draw_shared(ax, frame, style, called, band=band)
        if curves != "shared":
            self._draw_mean(ax, frame, mean_style(style) if curves == "both" else style, called, band=band)
        self.pairs_ = draw_pairs(ax, self.pair_curves, frame) if pairs and self.pair_curves else None
        frame.dress(ax)
        legend_in_corner(ax, backwards=all(curve.auc < 0.5 for curve in self._folds), frame=frame)
        if despine:
            despined(ax)
        return self

    @property
    def _folds(self) -> tuple[RocCurve, ...]:
        return (self.curve,) if isinstance(self.curve, RocCurve) else tuple(self.curve)

    def _available(self, curves: Curves) -> Curves:
        if self.mean_curve is not None:
            return curves
        if curves == "mean":
            rule = "must be 'shared' or 'both' where no mean curve is held (folds, two classes)"
            raise InputError("curves", rule, "'mean'")
        return "shared"

    def _drawn(self, curves: Curves) -> list[RocCurve]:
        mean = [] if self.mean_curve is None or curves == "shared" else [self.mean_curve]
        return mean if curves == "mean" else [*self._folds, *mean]

    def _draw_shared(self, ax: "Axes", frame: Frame, style: Mapping[str, Any], name: str | None, *, band: bool) -> None:
        folds = self._folds
        lines = [ax.plot(*frame.points(curve.fpr, curve.tpr), label="_", **style)[0] for curve in folds]
        lines[0].set_gid(MARK)
        alone = isinstance(self.curve, RocCurve)
        # Only the first of several folds is in the legend, which speaks of all.
        numbers = statistic_text("D", folds[0].auc, self.interval) if alone else folds_text("D", folds)
        label(ax, lines[0], Entry(name, numbers))
        self.line_ = lines[0] if alone else lines
        if band and self.band is not None:
            self.band_ = draw_band(ax, self.band, lines[0].get_color(), frame)

    def _draw_mean(self, ax: "Axes", frame: Frame, style: Mapping[str, Any], name: str | None, *, band: bool) -> None:
        curve = self.mean_curve
        assert curve is not None  # `_available` has seen to that
        [line] = ax.plot(*frame.points(curve.fpr, curve.tpr), label="_", **style)
        if self.line_ is None:
            line.set_gid(MARK)
        letter = "M" if self.mean_is_hand_till else "area"
        label(ax, line, Entry(name, statistic_text(letter, curve.auc, self.mean_interval), "mean of pairs"))
        self.mean_line_ = line
        if band and self.mean_band is not None:
            self.mean_band_ = draw_band(ax, self.mean_band, line.get_color(), frame)
