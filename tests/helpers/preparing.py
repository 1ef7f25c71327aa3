"""Sources made ready by an engine, for tests that ask the engine itself."""

from polyroc._engines import Resources, get_engine
from polyroc._estimator._pairs import all_pairs
from polyroc._inputs._predictions import as_predictions
from polyroc._measures._compute import Passes
from polyroc._uncertainty._resampling import units_of


def prepared(engine, predictions, n_jobs=None):
    return get_engine(engine, predictions).prepare(predictions, Resources(n_jobs))


def passes_of(y_true, y_score, sample_weight=None):
    """What measures are computed from, without the fit that an evaluation begins with."""
    predictions = as_predictions(y_true, y_score, sample_weight=sample_weight)
    ready = prepared("numpy", predictions)
    return Passes(ready, units_of(predictions, None), lambda: ready.areas(all_pairs(predictions)))
