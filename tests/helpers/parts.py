"""Parts of polyroc that several tests ask by themselves, and that need no optional package; a move is followed here."""

from polyroc._counts.bins import ScoreBins
from polyroc._inputs.fingerprint import Fingerprint
from polyroc._inputs.predictions import as_predictions
from polyroc._lib.text import short_names
from polyroc._lib.versions import versions
from polyroc._mlflow import as_config
from polyroc._uncertainty.units import units_of
from polyroc.evaluation._measure_list import KINDS
from polyroc.evaluation._uncertainty import Uncertainty
from polyroc.report._sentences import names_of

__all__ = [
    "KINDS",
    "Fingerprint",
    "ScoreBins",
    "Uncertainty",
    "as_config",
    "as_predictions",
    "names_of",
    "short_names",
    "units_of",
    "versions",
]
