"""A report of the embedded example in the built site: the page that `write_html` makes, to be tried out."""

from pathlib import Path

import polyroc
from polyroc.report import write_html

NAME = "example-report.html"


def write_report(app, exception):
    """Last of all, and only where pages were built; nothing is loaded for it."""
    if exception is not None or app.builder.format != "html":
        return
    example = polyroc.load_example()
    comparison = polyroc.compare(example.y_true, example.scores)
    write_html(comparison, Path(app.outdir) / NAME, title="Three classifiers of handwritten digits")


def setup(app):
    app.connect("build-finished", write_report)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
