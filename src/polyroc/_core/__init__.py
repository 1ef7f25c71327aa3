"""The method, step by step as on docs/method.md; an engine computes what is large, and `get_engine` chooses one."""

from polyroc._core.engines import Engine, Fitter, Prepared, Resources, Reweighed, get_engine

__all__ = ["Engine", "Fitter", "Prepared", "Resources", "Reweighed", "get_engine"]
