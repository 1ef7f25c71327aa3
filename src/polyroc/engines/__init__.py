"""Engines compute the arrays; each is a module with the functions of `Engine`, imported on first use."""

from importlib import import_module
from typing import cast

from polyroc.engines._protocol import Engine

__all__ = ["Engine", "get_engine"]


def get_engine(name: str) -> Engine:
    """Import an engine by name."""
    return cast("Engine", import_module(f"polyroc.engines._{'numpy' if name == 'auto' else name}"))
