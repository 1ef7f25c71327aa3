"""What the tests of the report share: results of some sizes, hostile names, and a page as a browser would read it."""

import json
from html.parser import HTMLParser

import numpy as np

import polyroc

# Each wants to be more than a name: markup, a hover template, a formula, an entity, another direction of writing.
HOSTILE = [
    "<script>window.hacked = 1</script>",
    "<b>bold</b>",
    '<a href="https://example.com">link</a>',
    "<img src=x onerror='window.hacked = 1'>",
    "%{x} %{fullData.name}",
    "$x^2$ &amp; &lt;i&gt;",
    "</script><script>window.hacked = 1</script>",
    "{{ 7 * 7 }}{% raw %}",
    "\u05d0\u05d1\u05d2 \u202egnp.exe",
    "zero\u200bwidth\nand a second line",
    "long " + 500 * "x",
    " ",
]


def problem(k, n=None, seed=0, strength=1.5, names=None):
    """Labels and scores; every fourth class is hard to tell from the next."""
    rng = np.random.default_rng(seed)
    names = np.array([f"class {c:02d}" for c in range(k)] if names is None else names, dtype=object)
    codes = np.arange(n or max(120, 12 * k)) % k
    signal = np.eye(k)
    for c in range(0, k - 1, 4):
        signal[c, c + 1] = signal[c + 1, c] = 0.8
    return names[codes], names, strength * signal[codes] + rng.normal(size=(len(codes), k))


def evaluation_of(k, *, options=None, **arguments):
    y_true, labels, scores = problem(k, **arguments)
    scores = scores[:, 1] if k == 2 else scores
    return polyroc.evaluate(y_true, scores, labels=labels, **(options or {}))


def comparison_of(
    k=6, names=("first", "second", "third"), n_resamples=49, n=300, classes=None, options=None, **arguments
):
    """Models of falling strength on the same samples."""
    y_true, labels, scores = problem(k, n=n, names=classes, **arguments)
    noise = np.random.default_rng(1).normal(size=scores.shape)
    models = {name: scores + 1.2 * place * noise for place, name in enumerate(names)}
    drawn = {} if n_resamples is None else {"method": "bootstrap", "n_resamples": n_resamples, "rng": 0}
    return polyroc.compare(y_true, models, labels=labels, **drawn, **(options or {}))


class Page(HTMLParser):
    """Tags with their attributes, the text of a page, and what its scripts hold."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.texts, self.scripts, self._inside = [], [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("td", "th", "caption", "p", "li", "dt", "dd", "h1", "h2", "h3"):
            self.texts.append(("", " "))
        if tag not in ("meta", "link", "input", "br", "hr", "img", "path", "line", "polyline", "polygon"):
            self._inside.append(tag)

    def handle_endtag(self, tag):
        if tag in self._inside:
            while self._inside.pop() != tag:
                pass

    def handle_data(self, data):
        if "script" in self._inside:
            self.scripts.append(data)
        elif "style" not in self._inside:
            self.texts.append((self._inside[-1] if self._inside else "", data))

    @property
    def text(self):
        return " ".join("".join(text for _, text in self.texts).replace("\u00a0", " ").split())

    @property
    def data(self):
        """What the page carries for its script."""
        return json.loads(self.scripts[0])

    def named(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]

    def inside(self, tag):
        return [text for name, text in self.texts if name == tag and text.strip()]


def from_letters(text):
    """Whole numbers that a page carries, by the definition: 46 letters that end a number, 43 that do not."""
    letters = [chr(code) for code in range(33, 127) if chr(code) not in '"&<>\\']
    numbers, value, places = [], 0, []
    for letter in text:
        places.append(letters.index(letter))
        if places[-1] < 46:
            code = sum(place * 43**power for power, place in enumerate(places))
            value += -(code + 1) // 2 if code % 2 else code // 2
            numbers.append(value)
            places = []
    return numbers


def distance_to_line(points, point):
    """From a point to the nearest of the straight lines between points."""
    start, way = points[:-1], np.diff(points, axis=0)
    share = np.sum((point - start) * way, axis=1) / np.sum(way**2, axis=1)
    nearest = start + np.clip(share, 0, 1)[:, None] * way
    return np.min(np.hypot(*(nearest - point).T))
