"""A bar with the time left, for work that takes long; shown only where somebody asks for it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(total: int, what: str, *, shown: bool) -> Iterator[Callable[[int], object]]:
    """A function to be told how much more is done."""
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
