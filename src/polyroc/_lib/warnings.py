"""Messages during a computation: warnings that point at the line of the user's code, and a progress bar."""

import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

# Around everything public that computes: a share or a probability that vanishes next to others is 0, and no error,
# whatever the caller has made of underflow.
underflow_is_zero = np.errstate(under="ignore")

_PASSED = ("polyroc", "functools", "numpy")


class ResamplingWarning(UserWarning):
    """Resampling is less reliable than usual: small classes, fits that did not converge, or no variation.

    >>> import warnings
    >>> import polyroc
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", polyroc.ResamplingWarning)
    ...     low, high = polyroc.evaluate([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).confidence_interval()
    >>> bool(low < 0.75 < high)
    True
    """


def warn(message: str, category: type[Warning]) -> None:
    """Warn about the line that called polyroc."""
    frame = inspect.currentframe()
    level = 1
    # Also past functools, through which cached properties are called, and past `underflow_is_zero`.
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PASSED:
        frame = frame.f_back
        level += 1
    # This frame was counted too, while `stacklevel` counts it as 1.
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def progress_bar(total: int, what: str, *, shown: bool) -> Iterator[Callable[[int], object]]:
    """A function to be told how much more is done; it moves a bar with the time left if `shown`."""
    if not shown:
        yield lambda _count: None
        return
    try:
        from tqdm import tqdm
    except ModuleNotFoundError as error:
        msg = '`progress=True` needs tqdm: pip install "polyroc[progress]".'
        raise ModuleNotFoundError(msg, name="tqdm") from error
    with tqdm(total=total, desc=what, unit="", dynamic_ncols=True) as bar:
        yield bar.update
