"""Versions of this package and of what it runs on, for reports of problems."""

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from polyroc._version import __version__

_REQUIRED = ("numpy", "scipy", "narwhals")
_OPTIONAL = (
    "numba",
    "matplotlib",
    "typer",
    "rich",
    "jinja2",
    "scikit-learn",
    "pandas",
    "polars",
    "pyarrow",
    "dask",
    "distributed",
    "pyspark",
    "torch",
    "mlflow",
)


def versions() -> dict[str, str]:
    """Version of each package by name; "not installed" where it is missing.

    Read from the metadata of the installed packages: none is imported.
    """
    # Not platform.platform(), which starts another program to ask for the processor.
    system = "-".join((platform.system(), platform.release(), platform.machine()))
    installed = {"polyroc": __version__, "python": platform.python_version(), "platform": system}
    for name in _REQUIRED + _OPTIONAL:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            installed[name] = "not installed"
    return installed


def show_versions() -> None:
    """Print the versions of polyroc, Python and the packages it can use.

    Paste the output into a report of a problem. No package is imported for it.

    Examples
    --------
    >>> import polyroc
    >>> polyroc.show_versions()
    polyroc       ...
    python        3...
    platform      ...
    numpy         ...
    """
    installed = versions()
    width = max(map(len, installed))
    sys.stdout.writelines(f"{name:<{width}}  {value}\n" for name, value in installed.items())
