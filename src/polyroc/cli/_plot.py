"""A result as a picture in a file."""

import os
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

from polyroc import BootstrapResult, Evaluation
from polyroc.cli._plain import CommandError, quoted
from polyroc.cli._write import check_writable, write_whole

_KINDS = ("png", "svg", "pdf")


def check_plot(path: Path) -> None:
    """Whether such a picture can be drawn and written, asked before the work is done."""
    if path.suffix.lower().lstrip(".") not in _KINDS:
        msg = f"--plot must end in .png, .svg or .pdf, got {quoted(path.name)}"
        raise CommandError(msg)
    if find_spec("matplotlib") is None:
        msg = '--plot needs matplotlib: pip install "polyroc[plot]"'
        raise CommandError(msg)
    check_writable(path)


def draw_curve(path: Path, evaluation: Evaluation, drawn: BootstrapResult | None, confidence_level: float) -> None:
    """The shared curve, with its band where there are resamples."""
    # Only to a file: no screen is needed, nor looked for.
    os.environ["MPLBACKEND"] = "agg"
    from polyroc.display import RocCurveDisplay

    band = None if drawn is None else drawn.confidence_band(confidence_level)
    display: Any = RocCurveDisplay.from_evaluation(evaluation, name=None, band=band).plot()
    file = BytesIO()
    display.figure_.savefig(file, format=path.suffix.lower().lstrip("."), dpi=150)
    write_whole(path, file.getvalue())
