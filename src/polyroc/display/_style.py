"""Style of all displays: colours, text shown as it is, and room for it.

Colours of text, spines and grid are those of the style that is in use, so that a dark slide stays dark.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from polyroc._lib.axes import COLOURS_ON_DARK, COLOURS_ON_LIGHT
from polyroc._lib.text import short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# As many as are needed to distinguish the colours in grey; five, so that the seventh curve differs from the first.
LINE_STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))

# What the rules of `decide` are called in pictures.
RULE_NAMES = {
    "auto": "share of tuned offsets",
    "tuned": "tuned offsets",
    "bayes": "Bayes' rule",
    "argmax": "highest score",
}
SMALLEST_FONT = 5.0
# Width of a letter and height of a line, in units of the font size; DejaVu Sans is among the wide ones.
_LETTER, _LINE = 0.6, 1.25

# Were TeX to set the text, each of these would be a command.
_TEX = str.maketrans(
    {c: rf"\{c}" for c in "$%&#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}"}
)


def pyplot() -> Any:
    """The module, or what to install."""
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        msg = 'Displays need matplotlib: pip install "polyroc[plot]".'
        raise ModuleNotFoundError(msg, name="matplotlib") from error
    return plt


def axes_of(ax: "Axes | None", height: float = 0) -> "Axes":
    """The axes given, or those of a new figure of the usual size, at least this high."""
    width, usual = pyplot().rcParams["figure.figsize"]
    return _new_axes(width, max(usual, height)) if ax is None else ax


def square_axes_of(ax: "Axes | None", side: float = 0) -> "Axes":
    """As `axes_of`, in a square as large as the shorter side of a figure of the usual size."""
    side = max(side, min(pyplot().rcParams["figure.figsize"]))
    return _new_axes(side, side) if ax is None else ax


def _new_axes(width: float, height: float) -> "Axes":
    axes: Axes = pyplot().subplots(figsize=(width, height), layout="constrained")[1]
    return axes


def ink() -> Any:
    """The colour of text in the style that is in use."""
    return pyplot().rcParams["text.color"]


def literal(text: str) -> str:
    """Text that matplotlib shows as it is: no formulas, no TeX, no glyphs that its fonts lack."""
    rc = pyplot().rcParams
    if not text.isascii():
        # A missing glyph would be a box, and a warning at a time when nobody thinks of the name any more.
        drawable = _glyphs()
        text = "".join(c if c.isascii() or (c.isprintable() and ord(c) in drawable) else "?" for c in text)
    if rc["text.usetex"]:
        return text.translate(_TEX)
    return text.replace("$", r"\$") if rc["text.parse_math"] else text


def names_of(values: Sequence[Any], length: int = 30) -> list[str]:
    """Names that are shown together: literal, on one line, and cut so that different ones stay different."""
    short = short_names(values, length)
    taken: dict[str, str] = {}
    shown = []
    for name in short:
        text, number = literal(name), 1
        # Letters that the font lacks become question marks, in which names may no longer differ.
        while taken.setdefault(text, name) != name:
            number += 1
            text = f"{literal(name)} ({number})"
        shown.append(text)
    return shown


def _glyphs() -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont

    paths = []
    for family in FontProperties().get_family():
        try:
            paths.append(findfont(FontProperties(family=[family]), fallback_to_default=False))
        except ValueError:  # a family that is not installed, which matplotlib skips as well
            continue
    return _glyphs_of(tuple(paths) or (findfont(FontProperties()),))


@cache
def _glyphs_of(paths: tuple[Any, ...]) -> frozenset[int]:
    from matplotlib.font_manager import get_font

    return frozenset().union(*(get_font(path).get_charmap() for path in paths))


def colour_of(ax: "Axes", place: int) -> str:
    """The colour of the first, second, ... thing in the axes."""
    colours = COLOURS_ON_LIGHT if is_light(ax) else COLOURS_ON_DARK
    return colours[place % len(colours)]


def is_light(ax: "Axes") -> bool:
    """Whether the axes have a light background."""
    return lightness(ax.get_facecolor()) > 0.2


def lightness(colour: Any) -> float:
    """Relative luminance, by the formula of the web's accessibility guidelines."""
    from matplotlib.colors import to_rgb

    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: Any, other: Any) -> float:
    """Contrast of two colours, from 1 to 21, by the same guidelines."""
    dark, light = sorted([lightness(one), lightness(other)])
    return (light + 0.05) / (dark + 0.05)


def despined(ax: "Axes") -> None:
    """Take away the frame where there is no axis."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def faint_grid(ax: "Axes", axis: Any = "both") -> None:
    """Lines in the colour of the text, faint, behind everything."""
    ax.grid(visible=True, axis=axis, color=ink(), alpha=0.1, linewidth=0.8)
    ax.set_axisbelow(True)


def legend(ax: "Axes", loc: Any = "best") -> None:
    """A small legend, whose letters the grid does not cross."""
    ax.legend(loc=loc, fontsize="small", frameon=True, framealpha=0.8, edgecolor="none")


def legend_label(name: str) -> str:
    """A name that the legend shows: matplotlib leaves out labels that begin with an underscore."""
    return f" {name}" if name.startswith("_") else name


def points_of(ax: "Axes") -> tuple[float, float]:
    """Width and height of the axes in points, laid out as they will be drawn."""
    figure: Any = ax.figure
    # The figure of a subfigure is the whole one, which alone can be laid out.
    figure.figure.draw_without_rendering()
    return points_now(ax)


def points_now(ax: "Axes") -> tuple[float, float]:
    """Width and height of the axes in points, before labels and names take room from them."""
    box, dpi = ax.get_window_extent(), ax.figure.dpi
    return 72 * box.width / dpi, 72 * box.height / dpi


def font_points(size: Any) -> float:
    """A font size such as "small", or that of a setting such as "axes.labelsize", as a number of points."""
    from matplotlib.font_manager import FontProperties

    return float(FontProperties(size=pyplot().rcParams.get(size, size)).get_size_in_points())


def letters_in(points: float, size: Any) -> int:
    """How many letters of a font size have room."""
    return int(points / (_LETTER * font_points(size)))


def letters_beside(ax: "Axes", *, share: float, most: int) -> int:
    """How long names may be: they get at most a share of the width that axes have without them."""
    return max(8, min(most, letters_in(share * points_now(ax)[0], "ytick.labelsize")))


def fit_names(ax: "Axes", names: Sequence[str], *, axes: str = "y") -> None:
    """Names at 0, 1, 2, ... along the axes, small enough not to touch; where even the smallest would, every other."""
    largest = font_points("ytick.labelsize")
    # Laid out with the longest name in the largest font first: all others only leave more room.
    _name_ticks(ax, [max(names, key=len, default="")], axes, largest, 1, upright=True)
    width, length = points_of(ax)
    room = max(1.0, min(width, length) if "x" in axes else length) / max(len(names), 1)
    lines = 1 + max((name.count("\n") for name in names), default=0)
    # Names of several lines need a gap to be seen as several names.
    height = _LINE * (lines if lines == 1 else lines + 0.5)
    size = min(largest, max(SMALLEST_FONT, room / height))
    step = max(1, math.ceil(height * size / room - 1e-9))
    longest = max(map(len, names), default=0)
    _name_ticks(ax, names, axes, size, step, upright=longest * _LETTER * size > 0.8 * room * step)


def _name_ticks(ax: "Axes", names: Sequence[str], axes: str, size: float, step: int, *, upright: bool) -> None:
    places = list(range(0, len(names), step))
    shown = [names[place] for place in places]
    ax.set_yticks(places, shown, fontsize=size)
    if "x" in axes:
        ax.set_xticks(places, shown, fontsize=size, rotation=90 if upright else 0)
