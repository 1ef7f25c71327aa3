"""What the tests of the displays share: names that want to be more than names, and where text lies in a picture."""

import itertools

import matplotlib as mpl
import numpy as np

import polyroc

mpl.use("Agg")

AWKWARD_NAMES = [
    "$a^$",
    "<b>bold</b>",
    "two\nlines",
    "\U0001f98a\u200d\U0001f9e1 \u4e2d\u6587",
    "x" * 500,
    "_hidden",
    "100 %",
]


def problem(k, n=None, seed=0, strength=1.2):
    """Classes named c00, c01, ..., each raising its own column."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n or max(120, 12 * k)) % k
    names = np.array([f"c{c:02d}" for c in range(k)])
    scores = rng.normal(size=(len(codes), k)) + strength * np.eye(k)[codes]
    # Two columns that do not agree would be warned of.
    return names[codes], np.column_stack([-scores[:, 1], scores[:, 1]]) if k == 2 else scores


def evaluation_of(k, **arguments):
    return polyroc.evaluate(*problem(k, **arguments))


def overlaps(texts):
    """Pairs of texts that are drawn over each other."""
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text() and text.get_visible()]
    # A hair's breadth does not count: boxes are rounded to whole pixels.
    return [
        (a, b)
        for (a, one), (b, other) in itertools.combinations(boxes, 2)
        if min(one.x1, other.x1) - max(one.x0, other.x0) > 0.5 and min(one.y1, other.y1) - max(one.y0, other.y0) > 0.5
    ]


def outside(figure, texts):
    """Texts of which a part is cut off at the edge of the figure."""
    width, height = figure.bbox.width, figure.bbox.height
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text() and text.get_visible()]
    return [name for name, box in boxes if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1]


def written(ax):
    """Every text in the axes: labels of the ticks, of the axes, the legend, numbers."""
    legend = ax.get_legend()
    # Some ticks lie beyond the ends of their axis, where nothing is drawn.
    ticks = [
        label
        for axis in (ax.xaxis, ax.yaxis)
        for tick in axis.get_major_ticks()
        if min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
        for label in (tick.label1, tick.label2)
    ]
    return [*ticks, ax.xaxis.label, ax.yaxis.label, *ax.texts, *(legend.get_texts() if legend else [])]


def check_layout(display):
    """Draw, and find no text upon other text nor cut off."""
    figure = display.figure_
    figure.canvas.draw()
    texts = [text for ax in figure.axes for text in written(ax)]
    assert not (found := overlaps(texts)), found
    assert not (found := outside(figure, texts)), found
