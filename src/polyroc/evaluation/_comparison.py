"""Comparison: several models on the same samples, how they differ, and how sure that is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from polyroc._inputs.arrays import FrameBackend, frame_of
from polyroc._inputs.checks import InputError, as_confidence_level, as_flag, one_of, shown
from polyroc._lib.text import printable
from polyroc._lib.typing import AnyStatistic, FloatArray, IntervalKind
from polyroc._lib.warnings import underflow_is_zero
from polyroc._records import Frozen
from polyroc._uncertainty.bootstrap import BootstrapResult, least_class
from polyroc._uncertainty.delong import standard_error
from polyroc._uncertainty.p_values import Anytime, Once
from polyroc._uncertainty.paired import Contest, Difference, RankIntervals, normal_differences, rank_intervals
from polyroc._uncertainty.paired_influence import normal_draws
from polyroc._uncertainty.units import AnyUnits, sampled_units
from polyroc.evaluation._compared_measures import ComparedMeasures, compared
from polyroc.evaluation._comparison_text import ComparisonText, Verdict
from polyroc.evaluation._evaluation import Evaluation
from polyroc.evaluation._intervals import EvaluationIntervals
from polyroc.evaluation._measures import as_kinds
from polyroc.evaluation._text import MOST_MODELS

if TYPE_CHECKING:
    from polyroc.costs._tipping import TippingCosts
    from polyroc.display import ComparisonDisplay

Table: TypeAlias = Literal["estimates", "differences", "rankings", "ranks"]
ComparisonMethod: TypeAlias = Literal["bootstrap", "influence"]


@dataclass(frozen=True, eq=False)
class Comparison(Frozen):
    """Several models on the same samples: how good each is, how they differ, and how sure that is.

    Attributes
    ----------
    models : tuple of str
        Their names, in the order in which they were given.
    by_auc : Contest
        Estimates, differences and rankings by D.
    by_hand_till : Contest
        The same by Hand and Till's M.
    by_mean_auc : Contest
        The same by the area under the mean curve; the numbers of `by_hand_till` where it is M.
    by_partial_auc : Contest or None
        The same by the area left of `max_fpr` under the curve of D; None where no `max_fpr` was given.
    max_fpr : float or None
        Where the partial area stops.
    delong : tuple of Difference
        Differences of M by DeLong's covariance over all pairs, without resampling.
    evaluations : mapping of str to Evaluation
        The evaluation of each model.
    bootstraps : mapping of str to BootstrapResult
        The replicates of each model, of which those of the same number are of the same resample; none by influences.
    best : str or None
        The model that is significantly better than every other one, after Holm's adjustment, both by D and by M. None
        where there is no such model.
    tied_with_best : tuple of str
        The models that may be the best by D: those that no other one is significantly better than, all ranks judged
        together (`rank_intervals`). The largest D first.
    notes : tuple of str
        Where D and M disagree about two models, one sentence each.
    seed : int or None
        The seed of the resamples; None if `rng` was a generator or nothing, or if nothing was resampled.
    method : {"bootstrap", "influence"}
        Whether paired resamples or the influences of the samples say how sure everything is.
    anytime : int or None
        Where differences hold at any number of looks: the number of samples, or of groups, at which their intervals are
        tightest.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> comparison = polyroc.compare(example.y_true, example.scores)
    >>> comparison.best, comparison.tied_with_best
    ('logistic', ('logistic',))
    >>> difference = comparison.difference("knn", "tree")
    >>> round(difference.value, 4), difference.p_value_holm < 0.05
    (0.0266, True)
    """

    evaluations: Mapping[str, Evaluation]
    bootstraps: Mapping[str, BootstrapResult]
    by_auc: Contest
    by_hand_till: Contest
    by_mean_auc: Contest
    confidence_level: float
    interval: IntervalKind
    units: AnyUnits
    seed: int | None = None
    method: ComparisonMethod = "bootstrap"
    anytime: int | None = None
    by_partial_auc: Contest | None = None
    max_fpr: float | None = None

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(self.evaluations)

    @property
    def n_resamples(self) -> int:
        """Number of paired resamples; 0 where influences took their place."""
        return next((one.n_resamples for one in self.bootstraps.values()), 0)

    @cached_property
    @underflow_is_zero
    def delong(self) -> tuple[Difference, ...]:
        evaluations = list(self.evaluations.values())
        values = np.array([evaluation.hand_till for evaluation in evaluations])
        errors = {
            (a, b): standard_error(
                evaluations[a].hand_till_influences - evaluations[b].hand_till_influences, self.units
            )
            for a, b in combinations(range(len(evaluations)), 2)
        }
        return normal_differences(self.models, values, errors, self.confidence_level)

    def difference(self, first: str, second: str, *, statistic: AnyStatistic = "auc") -> Difference:
        """By how much one model exceeds another, with interval and p value.

        Parameters
        ----------
        first, second : str
            Names of two models; the difference is the first minus the second.
        statistic : {"auc", "hand_till", "mean_auc", "partial_auc"}
            By D, by Hand and Till's M, by the area under the mean curve, or by the partial area, for which `compare`
            needs a `max_fpr`.

        Returns
        -------
        Difference
            That of the table of this statistic, turned round where the table has the second model first.
        """
        for argument, name in (("first", first), ("second", second)):
            one_of(name, argument, self.models)
        if first == second:
            raise InputError("second", "must be another model than `first`", f"{shown(second)} for both")
        found = self._contest(statistic).differences
        [entry] = [one for one in found if {one.first, one.second} == {first, second}]
        return entry if entry.first == first else entry.turned()

    def _contest(self, statistic: AnyStatistic) -> Contest:
        contest: Contest | None = getattr(self, f"by_{one_of(statistic, 'statistic', get_args(AnyStatistic))}")
        if contest is None:
            rule = "must not be 'partial_auc' for a comparison without `max_fpr`"
            raise InputError("statistic", rule, hint=". Call `compare(..., max_fpr=...)`")
        return contest

    @underflow_is_zero
    def rank_intervals(
        self, *, statistic: AnyStatistic = "auc", confidence_level: float | None = None
    ) -> RankIntervals:
        """The ranks that each model may have, for all models together.

        A model has rank 1 where no other one is better. At the given level, all intervals together contain the true
        ranks; models that are equally good have the same ranks, and the interval of each contains all of them.

        Parameters
        ----------
        statistic : {"auc", "hand_till", "mean_auc", "partial_auc"}
            By D, by Hand and Till's M, by the area under the mean curve, or by the partial area, for which `compare`
            needs a `max_fpr`.
        confidence_level : float, optional
            Of all intervals together, between 0 and 1; by default that of the comparison.

        Returns
        -------
        RankIntervals
            One interval for each model, and `tied_with_best`.

        Notes
        -----
        A model is below as many others as are significantly better, and above as many as are significantly worse. All
        differences are judged together by the distribution of the largest of them (max-t, step by step), which knows
        how the errors of the models go together: whatever is significant after Holm's adjustment is significant here,
        and some more. With `anytime`, by Holm's adjustment alone.

        References
        ----------
        Mogstad, Romano, Shaikh and Wilhelm (2024), Inference for ranks with applications to mobility across
        neighbourhoods and academic achievement across countries, Review of Economic Studies 91.
        Klein, Wright and Wieczorek (2020), A joint confidence region for an overall ranking of populations, Journal of
        the Royal Statistical Society C 69.

        Examples
        --------
        >>> import polyroc
        >>> example = polyroc.load_example()
        >>> comparison = polyroc.compare(example.y_true, example.scores)
        >>> for one in comparison.rank_intervals():
        ...     print(one.model, one.low, one.high)
        logistic 1 1
        knn 2 2
        tree 3 3
        >>> comparison.tied_with_best
        ('logistic',)
        """
        contest = self._contest(statistic)
        if confidence_level is None:
            # The very same intervals where the area under the mean curve is M.
            found = self._ranks.get(statistic) or self._ranks["hand_till"]
            return replace(found, statistic=statistic)
        return self._ranked(contest, as_confidence_level(confidence_level))

    @property
    def tied_with_best(self) -> tuple[str, ...]:
        return self._ranks["auc"].tied_with_best

    @cached_property
    @underflow_is_zero
    def _ranks(self) -> dict[AnyStatistic, RankIntervals]:
        return {one.statistic: self._ranked(one, self.confidence_level) for one in self._contests}

    def _ranked(self, contest: Contest, confidence_level: float) -> RankIntervals:
        # Draws know how the errors of models go together at one look, and not at all looks.
        return rank_intervals(contest, confidence_level, None if self.anytime else contest.covariance)

    @property
    def n_independent(self) -> int:
        """Samples, or groups, of the smallest class."""
        return least_class(next(iter(self.evaluations.values())).fitted.source, self.units)

    @property
    def n_groups(self) -> int | None:
        """Number of independent groups; None for independent samples."""
        return self.units.n_units if self.units.are_groups else None

    def intervals_of(self, model: str) -> EvaluationIntervals:
        """Intervals and bands of one of the models."""
        return EvaluationIntervals(self.evaluations[model], self.units, self.method, given=self.bootstraps.get(model))

    def replicates(self, statistic: AnyStatistic) -> dict[str, FloatArray]:
        """Replicates of a statistic by model, paired; by influences, draws from the normal distribution of them all."""
        stop = self.max_fpr if self._contest(statistic) is self.by_partial_auc else None
        if self.method == "bootstrap":
            return {name: drawn.distribution(statistic, stop).replicates for name, drawn in self.bootstraps.items()}
        spreads = [one.uncertainty.spread(statistic, self.units, stop) for one in self.evaluations.values()]
        return dict(zip(self.models, normal_draws(spreads), strict=True))

    @underflow_is_zero
    def measures(self, names: Sequence[str] | None = None, *, ordered: bool = False) -> ComparedMeasures:
        """Accuracy, F1, kappa and other measures of each model, and how the models differ by each of them.

        D and M are those of the comparison. All others come without resampling, from what each sample contributes, and
        are paired: what makes a sample easy or hard for all models cancels out of their differences.

        Parameters
        ----------
        names, ordered
            As in `Evaluation.measures`.

        Returns
        -------
        ComparedMeasures
            One row per measure; `left_out` says why others are not there.

        Examples
        --------
        >>> import polyroc
        >>> example = polyroc.load_example()
        >>> comparison = polyroc.compare(example.y_true, example.scores)
        >>> row = comparison.measures(["log_loss"])["log_loss"]
        >>> [(one.first, one.second, one.p_value_holm < 0.05) for one in row.differences]
        [('logistic', 'knn', True), ('logistic', 'tree', True), ('knn', 'tree', False)]
        """
        kinds = as_kinds(names, ordered)
        contests = {"auc": self.by_auc, "hand_till": self.by_hand_till}
        measured, left_out = {}, {}
        for name, evaluation in self.evaluations.items():
            found, left_out[name] = evaluation.uncertainty.measured(
                kinds, sampled_units(self.units), without=tuple(contests)
            )
            measured[name] = {one.kind.name: one for one in found}
        test = Once() if self.anytime is None else Anytime(self.units.n_units, self.anytime)
        return compared(measured, left_out, contests, self.confidence_level, test)

    @underflow_is_zero
    def tipping_costs(self, *, largest: float = 1000.0, progress: bool = False) -> "TippingCosts":
        """Cost of a single mistake that would make each other model first.

        For each model that is not first, by D and by the area under the mean curve, the smallest change of one entry of
        the cost matrix after which no other model is ahead of it. The change starts from the costs of the comparison,
        or from equal costs, and may go either way: the smallest logarithm of the factor counts. The order is that of
        the point estimates, which may be uncertain before and after the change.

        Parameters
        ----------
        largest : float
            The largest factor to look for, above 1 and at most 1,000,000; the smallest is 1 over it.
        progress : bool
            Show a bar with the time left (needs ``polyroc[progress]``).

        Returns
        -------
        TippingCosts
            One entry for each model that is not first, by each of the two statistics. Empty, with a `note`, for two
            classes, for a sample of the pairs (`max_pairs`), and for very many classes, whose rates are not kept.

        Notes
        -----
        By the area under the mean curve all costs are solved for exactly, because its difference of two models has the
        sign of a polynomial in the cost. D needs a fit at each cost, so only the most promising costs are tried: the
        gradient of D by the costs, the limit of a single cost that outweighs all others, and the area under the mean
        curve say which. Each is followed in a few steps up to `largest`, and then closely to where the order changes.
        What is found is verified: with the factor as it is given, a fit of every model says that the model is first.
        That no smaller change exists is not proved. On 50 comparisons of three to five classes, trying all costs in
        small steps found a smaller one in less than 2 % of the cases. A cost at which a fit does not converge is passed
        over.

        Examples
        --------
        >>> import polyroc
        >>> example = polyroc.load_example()
        >>> comparison = polyroc.compare(example.y_true, example.scores)
        >>> tipping = comparison.tipping_costs()
        >>> tipping.of("knn").first
        'logistic'
        """
        from polyroc.costs._tipping import as_largest, find_tipping

        return find_tipping(self.evaluations, as_largest(largest), progress=as_flag(progress, "progress"))

    def to_dict(self, *, include_delong: bool = False) -> dict[str, Any]:
        """Everything but the replicates, as plain data that `json` can write.

        Parameters
        ----------
        include_delong : bool
            Also the differences of M by DeLong's formula, as ``["hand_till"]["delong"]``.
        """
        by_formula = {"delong": [dict(vars(entry)) for entry in self.delong]} if include_delong else {}
        drawn, first = self.bootstraps.values(), next(iter(self.evaluations.values()))
        return {
            "models": list(self.models),
            "confidence_level": self.confidence_level,
            "interval": self.interval,
            "method": self.method,
            "anytime": self.anytime,
            "n_resamples": self.n_resamples,
            "seed": self.seed,
            "best": self.best,
            "tied_with_best": list(self.tied_with_best),
            "verdict": self.verdict.sentence,
            "notes": list(self.notes),
            "p_value_note": self.tables.p_value_note,
            "n_samples": first.n_samples,
            "n_groups": self.n_groups,
            "n_classes": first.headline.n_classes,
            "n_pairs": first.headline.n_pairs,
            "n_not_converged": {name: one.n_not_converged for name, one in self.bootstraps.items()},
            "n_lost_class": max((one.n_lost_class for one in drawn), default=0),
            "auc": self._plain(self.by_auc),
            "hand_till": self._plain(self.by_hand_till) | by_formula,
            "mean_auc": self._plain(self.by_mean_auc),
            "max_fpr": self.max_fpr,
            "partial_auc": None if self.by_partial_auc is None else self._plain(self.by_partial_auc),
        }

    def _plain(self, contest: Contest) -> dict[str, Any]:
        return contest.to_dict() | {"ranks": self.rank_intervals(statistic=contest.statistic).to_dict()}

    def to_frame(self, table: Table = "estimates", backend: FrameBackend = "pandas") -> Any:
        """One of the tables as a data frame, D and M below each other, and other areas that were compared.

        The area under the mean curve where it is not M, and the partial area where a `max_fpr` was given.

        Parameters
        ----------
        table : {"estimates", "differences", "rankings", "ranks"}
            Which table; "ranks" are those of `rank_intervals`.
        backend : {"pandas", "polars", "pyarrow"}
            Whose data frame to make; that package must be installed.
        """
        table = one_of(table, "table", get_args(Table))
        if table == "rankings":
            rows = [
                {"statistic": one.statistic, "ranking": str(ranking), "probability": ranking.probability}
                for one in self._contests
                for ranking in one.rankings
            ]
        elif table == "ranks":
            rows = [{"statistic": name, **vars(entry)} for name, found in self._ranks.items() for entry in found]
        else:
            rows = [
                {"statistic": one.statistic, **vars(entry)} for one in self._contests for entry in getattr(one, table)
            ]
        return frame_of({name: np.array([row[name] for row in rows]) for name in rows[0]}, backend)

    def plot(self, ax: Any = None, *, kind: Any = "curves", **kwargs: Any) -> "ComparisonDisplay":
        """Draw the models (needs ``polyroc[plot]``).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        kind : {"curves", "box", "ridge", "differences", "rankings"}
            The curves with their bands, or one of the other views of `polyroc.display.ComparisonDisplay.plot`.
        **kwargs
            Further arguments of `polyroc.display.ComparisonDisplay.plot`, such as ``scale="corner"`` for models with D
            above 0.95.

        Returns
        -------
        ComparisonDisplay
            With `ax_`, `figure_` and `artists_`.

        Examples
        --------
        >>> import polyroc
        >>> from matplotlib.figure import Figure
        >>> example = polyroc.load_example()
        >>> comparison = polyroc.compare(example.y_true, example.scores)
        >>> display = comparison.plot(Figure().add_subplot())
        >>> len(display.artists_)
        6
        >>> display = comparison.plot(Figure().add_subplot(), kind="differences")
        >>> display.ax_.get_xlabel()
        'difference of D'
        """
        # Loaded when something is drawn.
        from polyroc.display import ComparisonDisplay

        return ComparisonDisplay.from_comparison(self).plot(ax, kind=kind, **kwargs)

    @cached_property
    def verdict(self) -> Verdict:
        """Verdict by the differences of D and of M."""
        weighted_by = next(iter(self.evaluations.values())).headline.weighted_by
        return Verdict(self.by_auc, self.by_hand_till, self.confidence_level, self.n_resamples or None, weighted_by)

    @property
    def best(self) -> str | None:
        return self.verdict.best

    @property
    def notes(self) -> tuple[str, ...]:
        return self.verdict.notes

    @property
    def tables(self) -> ComparisonText:
        """The comparison as text."""
        return ComparisonText(self)

    def _repr_html_(self) -> str:
        curves = {name: (one.curve, None if one.is_binary else one.mean_curve) for name, one in self._best.items()}
        return self.tables.html(curves)

    @property
    def _best(self) -> dict[str, Evaluation]:
        """As many of the models with the largest D as a small picture shows, in the order in which they were given."""
        by_auc = sorted(self.evaluations.values(), key=lambda one: -one.auc)[:MOST_MODELS]
        return {name: one for name, one in self.evaluations.items() if any(one is best for best in by_auc)}

    def __str__(self) -> str:
        return self.tables.text()

    @property
    def _contests(self) -> tuple[Contest, ...]:
        """One for each statistic that is not another one's name."""
        is_same = self.by_mean_auc == replace(self.by_hand_till, statistic="mean_auc")
        partial = () if self.by_partial_auc is None else (self.by_partial_auc,)
        return (self.by_auc, self.by_hand_till, *(() if is_same else (self.by_mean_auc,)), *partial)

    def __repr__(self) -> str:
        best = "none clearly best" if self.best is None else f"best by D and M: {printable(self.best)!r}"
        how = "influences of the samples" if self.method == "influence" else f"{self.n_resamples} paired resamples"
        return f"Comparison({len(self.models)} models, {how}, {best})"
