"""The dict -> one page that needs nothing else: templates, styles and scripts in one file."""

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from polyroc._inputs.checks import InputError, shown
from polyroc.report._context import context_of
from polyroc.report._scripts import bundle, module_order
from polyroc.report._sentences import Name


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
