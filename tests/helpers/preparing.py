"""Sources made ready by an engine, for tests that ask the engine itself."""

from polyroc._core import Resources, get_engine
from polyroc._core.rates import all_pairs
from polyroc._inputs.predictions import as_predictions
from polyroc._uncertainty.units import units_of
from polyroc.evaluation._measure_values import Passes


def prepared(engine, predictions, n_jobs=None):
    return get_engine(engine, predictions).prepare(predictions, Resources(n_jobs))


def passes_of(y_true, y_score, sample_weight=None):
    """What measures are computed from, without the fit that an evaluation begins with."""
    predictions = as_predictions(y_true, y_score, sample_weight=sample_weight)
    ready = prepared("numpy", predictions)
    return Passes(ready, units_of(predictions, None), lambda: ready.areas(all_pairs(predictions)))
