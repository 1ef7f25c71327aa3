"""The dict -> a file with one page that needs nothing else: templates, styles and scripts in one text.

The scripts are ES modules, joined in the order of their imports into one text without imports.
"""

import base64
import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from polyroc._inputs.checks import InputError, as_flag, shown
from polyroc._lib.files import why_not_writable, write_whole
from polyroc._uncertainty.bootstrap import BootstrapResult
from polyroc.costs._tipping import TippingCosts
from polyroc.evaluation._compared_measures import ComparedMeasures
from polyroc.evaluation._comparison import Comparison
from polyroc.evaluation._evaluation import Evaluation
from polyroc.evaluation._intervals import EvaluationIntervals
from polyroc.evaluation._measures import Measures
from polyroc.report._context import context_of
from polyroc.report._sentences import Name
from polyroc.report._summarize import check_parts, summarize

_IMPORT = re.compile(r'^import (?:\{([^{}]*)\} from )?"\./(\w+\.js)";\n', re.MULTILINE)
_DECLARATION = re.compile(r"^(export )?(?:async )?(?:function\*?|const|let|class) ([\w$]+)", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|const|let|class) )", re.MULTILINE)
_MODULE_WORD = re.compile(r"^(?:import|export)\b.*|\bimport\(.*", re.MULTILINE)
_COMMENT = re.compile(r"^ *(?://.*|/\*\*.*\*/)\n", re.MULTILINE)

Read = Callable[[str], str]


def module_order(entry: str, read: Read) -> list[str]:
    """The modules that `entry` needs, each after those that it imports; `read` gives a module's text by its name."""
    order, open_modules = list[str](), list[str]()

    def visit(name: str) -> None:
        if name in open_modules:
            msg = f"Modules import each other: {' -> '.join([*open_modules, name])}."
            raise ValueError(msg)
        if name not in order:
            open_modules.append(name)
            for _, imported in _IMPORT.findall(read(name)):
                visit(imported)
            order.append(open_modules.pop())

    visit(entry)
    return order


def bundle(entry: str, read: Read, *, loaded: Sequence[str] = ()) -> str:
    r"""The text of a module and of all that it imports, except of those that the page has `loaded` before.

    All names are in one scope: two modules that declare the same name, and imports of what is not exported, raise.

    >>> modules = {"a.js": "export const one = 1;\n", "b.js": 'import { one } from "./a.js";\n\nalert(one);\n'}
    >>> bundle("b.js", modules.__getitem__)
    'const one = 1;\nalert(one);\n'
    """
    order = module_order(entry, read)
    _check_names({name: read(name) for name in [*loaded, *order]})
    return "".join(_plain(name, read(name)) for name in order if name not in loaded)


def _check_names(texts: dict[str, str]) -> None:
    exported, declared_in = set[tuple[str, str]](), dict[str, str]()
    for module, text in texts.items():
        for export, name in _DECLARATION.findall(text):
            if name in declared_in:
                msg = f"{declared_in[name]} and {module} both declare {name!r}."
                raise ValueError(msg)
            declared_in[name] = module
            if export:
                exported.add((module, name))
    for module, text in texts.items():
        for names, imported in _IMPORT.findall(text):
            for name in filter(None, (name.strip() for name in names.split(","))):
                if (imported, name) not in exported:
                    msg = f"{module} imports {name!r}, which {imported} does not export."
                    raise ValueError(msg)


def _plain(module: str, text: str) -> str:
    """Without imports, exports, and lines that are only comments."""
    plain = _EXPORT.sub("", _IMPORT.sub("", text))
    if other := _MODULE_WORD.search(plain):
        msg = f"{module} has {other[0]!r}, which cannot be joined into one script."
        raise ValueError(msg)
    return _COMMENT.sub("", plain).lstrip("\n")


def inlined(script: str) -> str:
    r"""The script as it may stand inside a page.

    >>> inlined("a = '</script>'")
    "a = '<\\/script>'"
    """
    # These would end the script, or begin a comment; in JavaScript the backslash changes nothing.
    script = script.replace("</script", r"<\/script").replace("<!--", r"<\!--")
    # As a browser reads them: otherwise the script would not have the hash that the page allows.
    return script.replace("\r\n", "\n").replace("\r", "\n")


_TEMPLATES = "_templates"
# A script of its own: a worker of the page runs the same text.
_FIT = "fit.js"
_PAGE = "report.js"
_STYLES = ("report.css", "summary.css", "curve.css", "tables.css", "heatmap.css", "explorer.css", "print.css")


def render_html(summary: Mapping[str, Any], *, title: str | None = None) -> str:
    """A summary as one page that works offline.

    Names of classes, models and files are shown as text, whatever they hold. The page loads nothing, and says so to the
    browser.

    Parameters
    ----------
    summary : mapping
        What `summarize` gave.
    title : str, optional
        The heading of the page.

    Returns
    -------
    str
        The page; to be written as UTF-8.

    Examples
    --------
    >>> import polyroc
    >>> from polyroc.report import render_html, summarize
    >>> example = polyroc.load_example()
    >>> page = render_html(summarize(polyroc.evaluate(example.y_true, example.scores["tree"])), title="Tree")
    >>> "<h1>Tree</h1>" in page
    True
    """
    _check_summary(summary)
    check_title(title)
    environment, scripts = _environment(), _scripts()
    parts = {
        "context": context_of(dict(summary), title),
        "allowed": " ".join(_hash_of(script) for script in scripts),
        "scripts": scripts,
        "style": _style(),
    }
    page: str = environment.get_template("report.html.j2").render(**parts)
    # Half a character, as the name of a file may hold, cannot be written.
    return page.encode("utf-8", errors="replace").decode("utf-8")


def _check_summary(summary: Any) -> None:
    if not isinstance(summary, Mapping) or summary.get("kind") not in ("evaluation", "comparison"):
        raise InputError("summary", "must be what `summarize` gave", shown(summary))


def check_title(title: Any) -> None:
    """Text or nothing."""
    if title is not None and not isinstance(title, str):
        raise InputError("title", "must be text or None", shown(title))


def check_installed() -> None:
    """Raise, with what to install, where a page cannot be rendered."""
    _environment()


def _environment() -> Any:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ModuleNotFoundError as error:
        msg = 'A report needs jinja2: pip install "polyroc[report]".'
        raise ModuleNotFoundError(msg, name="jinja2") from error
    environment = Environment(
        loader=PackageLoader("polyroc.report", _TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["name"] = lambda piece: isinstance(piece, Name)
    return environment


def _text(name: str) -> str:
    return (files("polyroc.report") / _TEMPLATES / name).read_text(encoding="utf-8")


# Words and tables are there without the script. With 50 classes it takes 100 ms, for which their first paint would
# wait. Where nobody looks, as in another tab, there are no frames to wait for.
_AFTER_PAINT = "((start) => (document.hidden ? start() : requestAnimationFrame(() => setTimeout(start))))"


# All pages of a process have the same: they are made once.
@cache
def _scripts() -> tuple[str, str]:
    """The fit, and the page."""
    fit, page = bundle(_FIT, _text), bundle(_PAGE, _text, loaded=module_order(_FIT, _text))
    start = f'{_AFTER_PAINT}(() => {{\n"use strict";\n{page}}});'
    return inlined(f'"use strict";\n{fit}'), inlined(start)


@cache
def _style() -> str:
    return "\n".join(map(_text, _STYLES))


def _hash_of(script: str) -> str:
    """How a content security policy names a script that may run."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


# Pairs of classes, times models that are not first, up to which a page has its list of tipping costs unasked: three
# models of ten classes, whose two hundred compiled fits take about a second.
_QUICK = 180


def write_html(
    result: Evaluation | Comparison,
    path: str | os.PathLike[str],
    *,
    bootstrap: BootstrapResult | None = None,
    groups: "ArrayLike | None" = None,
    confidence_level: float | None = None,
    title: str | None = None,
    measures: Measures | ComparedMeasures | None = None,
    tipping: TippingCosts | None = None,
    include_decisions: bool = False,
    progress: bool = False,
) -> None:
    """Write a result as one page that works offline (needs ``polyroc[report]``).

    The page begins with what to do, in plain words. It contains the curve with its band, the table of pairs, the
    heatmap, the table of classes, for a comparison all differences and rankings, the costs, the settings, and how to
    cite. It loads nothing.

    Parameters
    ----------
    result : Evaluation or Comparison
        What `polyroc.evaluate` or `polyroc.compare` gave.
    path : path
        Where to write; a file that is there is replaced. It is written whole or not at all.
    bootstrap : BootstrapResult, optional
        Replicates of the evaluation, if intervals and bands are to come from these. By default they are those of
        `Evaluation.confidence_interval`: without resampling if the formula holds, else by 999 resamples with seed 0.
        A comparison carries its own.
    groups : array-like of shape (n_samples,), optional
        Group of each sample of an evaluation, such as a patient ID; a comparison has its own.
    confidence_level : float, optional
        Of the intervals of an evaluation, 0.95 by default; a comparison has its own.
    title : str, optional
        The heading of the page.
    measures : Measures or ComparedMeasures, optional
        What ``result.measures()`` gave; the page then has a section with accuracy, F1, kappa and the others.
    tipping : TippingCosts, optional
        What ``result.tipping_costs()`` gave for a comparison: what a single mistake would have to cost to change the
        order of the models. By default it is computed here where that takes about a second: two models of up to 10
        classes, three of up to 7, five of up to 5.
    include_decisions : bool
        Show what predictions cost next to D in the cost explorer (3 to 50 classes), by the least expected cost and
        by the highest score. The page then contains true classes and scores of single samples, and says so. By
        default it contains none.
    progress : bool
        Show a bar with the time left while resampling (needs ``polyroc[progress]``).

    Examples
    --------
    >>> import polyroc
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from polyroc.report import write_html
    >>> example = polyroc.load_example()
    >>> evaluation = polyroc.evaluate(example.y_true, example.scores["tree"])
    >>> with TemporaryDirectory() as folder:
    ...     page = Path(folder) / "tree.html"
    ...     write_html(evaluation, page, title="A decision tree")
    ...     "In plain words" in page.read_text(encoding="utf-8")
    True
    """
    file, progress = _as_path(path), as_flag(progress, "progress")
    include_decisions = as_flag(include_decisions, "include_decisions")
    check_title(title)
    parts = {"bootstrap": bootstrap, "groups": groups, "measures": measures, "tipping": tipping}
    check_parts(result, confidence_level=confidence_level, **parts)
    # Before anything is resampled: without them there is nothing to wait for.
    check_installed()
    intervals: BootstrapResult | EvaluationIntervals | None = bootstrap
    if isinstance(result, Evaluation) and bootstrap is None:
        intervals = EvaluationIntervals.of(result, groups=groups, progress=progress)
    summary = summarize(
        result,
        bootstrap=intervals,
        confidence_level=confidence_level,
        measures=measures,
        include_rates=True,
        tipping=_tipping(result) if tipping is None else tipping,
        include_decisions=include_decisions,
    )
    write_whole(file, render_html(summary, title=title).encode("utf-8"))


def _tipping(result: Evaluation | Comparison) -> TippingCosts | None:
    """The list of tipping costs where it takes about a second; None where somebody should ask for it."""
    if isinstance(result, Evaluation):
        return None
    n_pairs = len(next(iter(result.evaluations.values())).pairs)
    return result.tipping_costs() if n_pairs * (len(result.models) - 1) <= _QUICK else None


def _as_path(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise InputError("path", "must be the path of a file", shown(path))
    file = Path(path)
    if reason := why_not_writable(file):
        raise InputError("path", "must be a file that can be written", shown(str(path)), hint=f": {reason}")
    return file
