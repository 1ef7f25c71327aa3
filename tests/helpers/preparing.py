"""Sources made ready by an engine, for tests that ask the engine itself."""

from polyroc._engines import Resources, get_engine


def prepared(engine, predictions, n_jobs=None):
    return get_engine(engine, predictions).prepare(predictions, Resources(n_jobs))
