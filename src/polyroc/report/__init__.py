"""One page that works offline, for people who will never run Python (``polyroc[report]``).

result -> `summarize` -> plain dict -> `render_html` -> page; `write_html` does all of it. jinja2 is imported
when a page is rendered.
"""

from polyroc.report._page import render_html, write_html
from polyroc.report._summarize import summarize

__all__ = ["render_html", "summarize", "write_html"]
