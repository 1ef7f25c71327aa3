"""Half width or power against the number of samples."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polyroc._inputs.checks import InputError
from polyroc._lib.numbers import level, percent
from polyroc._uncertainty.sizes import LEAST
from polyroc.display._style import (
    axes_of,
    colour_of,
    despined,
    faint_grid,
    ink,
    legend,
    letters_in,
    literal,
    names_of,
    points_now,
)
from polyroc.planning._result import STATISTIC_NAMES, Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_N_POINTS = 200


@dataclass(kw_only=True, eq=False, repr=False)
class PlanDisplay:
    """How half width or power change with the number of samples; the pilot and the plan are marked.

    The curve is what the share `assurance` of studies reach, so that the pilot need not lie on it.

    Parameters
    ----------
    plan : Plan
        Result of `plan`.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it was drawn.
    line_ : Line2D
        The curve.
    current_, planned_ : Line2D
        The marks of the pilot and of the plan.

    Examples
    --------
    >>> import polyroc
    >>> from matplotlib.figure import Figure
    >>> from polyroc.display import PlanDisplay
    >>> example = polyroc.load_example()
    >>> evaluation = polyroc.evaluate(example.y_true, example.scores["tree"])
    >>> plan = polyroc.plan(evaluation, half_width=0.01)
    >>> display = PlanDisplay.from_plan(plan).plot(Figure().add_subplot())
    >>> display.ax_.get_xlabel()
    'samples'
    """

    plan: Plan

    @classmethod
    def from_plan(cls, plan: Plan) -> "PlanDisplay":
        """Make the display from the result of `plan`, without drawing it."""
        return cls(plan=plan)

    def plot(
        self, ax: "Axes | None" = None, *, n_samples: tuple[float, float] | None = None, despine: bool = False
    ) -> "PlanDisplay":
        """Draw half width, or power for a plan with `detect`, against the number of samples.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default a new figure.
        n_samples : tuple of two numbers, optional
            First and last number of samples to draw. By default from half of the smaller to twice the larger of pilot
            and plan.
        despine : bool
            Remove the top and right spines.
        """
        first, last = self._range(n_samples)
        self.ax_ = axes_of(ax)
        self.figure_ = self.ax_.figure
        self._draw(np.geomspace(first, last, _N_POINTS))
        self._dress()
        if despine:
            despined(self.ax_)
        return self

    def _range(self, n_samples: Any) -> tuple[float, float]:
        least = float(LEAST * len(self.plan.shares))
        if n_samples is None:
            ends = sorted((self.plan.n_samples, self.plan.current.n_samples))
            return max(least, ends[0] / 2), 2.0 * ends[1]
        try:
            first, last = (float(end) for end in n_samples)
        except (TypeError, ValueError):
            first = last = float("nan")
        if not least <= first < last < np.inf:
            raise InputError("n_samples", f"must be two numbers of at least {least:g}, the smaller one first")
        return first, last

    def _draw(self, totals: Any) -> None:
        plan, ax, asks_power = self.plan, self.ax_, self.plan.asked.detect is not None
        at = plan.power_at if asks_power else plan.half_width_at
        goal = plan.asked.power if asks_power else plan.asked.half_width
        assert goal is not None
        ax.set_xscale("log")
        faint_grid(ax)
        ax.axhline(goal, color=ink(), alpha=0.5, linewidth=1, linestyle=":")
        heights = [at(total) for total in totals.tolist()]
        [self.line_] = ax.plot(totals, heights, color=colour_of(ax, 0), linewidth=1.8, label=self._share())
        marks = []
        for point, name, filled in ((plan.current, "now", False), (plan.planned, "planned", True)):
            height = float(point.power or 0) if asks_power else point.half_width
            reached = percent(height) if asks_power else f"{height:.2g}"
            label = literal(f"{name}: {point.n_samples:,} samples, {reached}")
            marks += ax.plot(
                point.n_samples,
                height,
                marker="o",
                markersize=7,
                linestyle="none",
                color=colour_of(ax, 0),
                markerfacecolor=colour_of(ax, 0) if filled else ax.get_facecolor(),
                markeredgewidth=1.8,
                label=label,
            )
        self.current_, self.planned_ = marks

    def _dress(self) -> None:
        from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

        ax, plan, asks_power = self.ax_, self.plan, self.plan.asked.detect is not None
        if asks_power:
            ax.set_ylim(0, 1.02)
        else:
            ax.set_ylim(bottom=0)
        legend(ax)
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.xaxis.set_major_formatter(FuncFormatter(lambda total, _: f"{total:,.0f}"))
        ax.set(xlabel="samples", ylabel=self._height_name())
        if plan.models is not None:
            room = letters_in(points_now(ax)[0], "axes.titlesize")
            first, second = names_of(plan.models, max(6, (room - 5) // 2))
            ax.set_title(f"{first} and {second}")

    def _share(self) -> str | None:
        """How often studies are on the good side of the curve."""
        plan = self.plan
        if plan.asked.assurance is None:
            return None
        share = percent(plan.asked.assurance)
        return literal(
            f"at most, in {share} of studies" if plan.asked.detect is None else f"at least, in {share} of plans"
        )

    def _height_name(self) -> str:
        plan = self.plan
        name = STATISTIC_NAMES[plan.statistic]
        if plan.asked.detect is not None:
            return literal(f"power to detect a difference of {plan.asked.detect:g}\nin {name}")
        of = name if plan.models is None else f"the difference in {name}"
        return literal(f"half width of the {level(plan.asked.confidence_level)} interval\nof {of}")
