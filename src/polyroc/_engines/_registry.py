"""The engines by name: each is a module that is imported on first use and holds one `ENGINE`."""

from importlib import import_module
from typing import cast

from polyroc._engines._protocol import Engine, Prepared, Resources
from polyroc._inputs._options import ENGINES
from polyroc._records import Predictions


def engine_named(name: str) -> Engine:
    """Import an engine; an ImportError names the extra that brings what it is made of."""
    try:
        module = import_module(f"polyroc._engines._{name}._engine")
    except ModuleNotFoundError as error:
        msg = f'engine="{name}" needs {error.name}: pip install "polyroc[{ENGINES[name].extra}]".'
        raise ModuleNotFoundError(msg, name=error.name) from error
    return cast("Engine", module.ENGINE)


def prepare_again(name: str, source: Predictions, resources: Resources) -> Prepared:
    """What comes out of a pickle: made by the same engine, or by the reference where that one is not installed."""
    try:
        engine = engine_named(name)
    except ImportError:
        engine = engine_named("numpy")
    return engine.prepare(source, resources)
