"""reproduce(...): one experiment by its name."""

from collections.abc import Mapping
from importlib import import_module
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from experiments._data_sets import as_data_folder
from experiments._outcome import Outcome, Request
from polyroc._inputs.checks import as_flag, as_n_jobs, as_plain_seed, one_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXPERIMENTS: Mapping[str, str] = MappingProxyType(
    {
        "discrimination": "the fewer covariates, the lower the curve (paper, section 5.1)",
        "skewness": "skewed classes leave the unweighted curve where it is (section 5.2)",
        "costs": "costs move the curve of a majority classifier (section 5.3)",
        "real-data": "three classifiers on six data sets, and how sure their order is (section 5.4)",
        "choices": "what each choice changes that the paper leaves open",
        "coverage": "how often the paper's intervals cover the truth, and ours",
    }
)
"""Names of the experiments, and what each is about."""


def reproduce(
    name: str,
    *,
    seed: int = 0,
    quick: bool = False,
    data: str | PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Outcome:
    """Run one experiment (needs ``polyroc[sklearn]``).

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS`.
    seed : int
        The same seed gives the same numbers.
    quick : bool
        A small version that takes seconds, to see that everything works.
    data : path, optional
        Folder of the six data sets, each a ``name.csv`` or ``name.csv.gz`` with a header and the label last. By
        default that of the environment variable ``POLYROC_DATA``; what is not there comes from scikit-learn or, where
        there is a network, from OpenML.
    n_jobs : int, optional
        Number of threads; None for as many as the process may use.
    progress : bool
        Show a bar with the time left (needs ``polyroc[progress]``).

    Returns
    -------
    Outcome
        With `tables`, `claims` and `notes`.

    Examples
    --------
    >>> from experiments import reproduce
    >>> outcome = reproduce("costs", quick=True)
    >>> all(claim.holds for claim in outcome.claims)
    True
    """
    chosen = one_of(name, "name", tuple(EXPERIMENTS))
    request = Request(
        as_plain_seed(seed),
        quick=as_flag(quick, "quick"),
        data=as_data_folder(data),
        n_jobs=as_n_jobs(n_jobs),
        progress=as_flag(progress, "progress"),
    )
    check_installed(figures=False)
    outcome: Outcome = _module(chosen).run(request)
    return outcome


def draw(outcome: Outcome) -> "dict[str, Figure]":
    """The figures of an experiment, drawn from its tables (needs ``polyroc[plot]``).

    Parameters
    ----------
    outcome : Outcome
        What `reproduce` found.

    Returns
    -------
    dict of str to matplotlib Figure
        The figures by name.

    Examples
    --------
    >>> from experiments import draw, reproduce
    >>> list(draw(reproduce("coverage", quick=True)))
    ['coverage']
    """
    name = one_of(outcome.name, "outcome.name", tuple(EXPERIMENTS))
    check_installed(figures=True)
    figures: dict[str, Figure] = _module(name).draw(outcome)
    return figures


def check_installed(*, figures: bool) -> None:
    """Raise, with what to install, where an experiment could not be run, or not be drawn."""
    needed = {"sklearn": ("Experiments", "scikit-learn", "sklearn")}
    if figures:
        needed["matplotlib"] = ("Figures", "matplotlib", "plot")
    for module, (what, package, extra) in needed.items():
        try:
            import_module(module)
        except ModuleNotFoundError as error:
            msg = f'{what} need {package}: pip install "polyroc[{extra}]".'
            raise ModuleNotFoundError(msg, name=module) from error


def _module(name: str) -> Any:
    return import_module(f"experiments._{name.replace('-', '_')}")
