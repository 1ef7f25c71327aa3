"""The three classifiers of the paper, as scikit-learn has them."""

from collections.abc import Callable
from typing import Any

from polyroc._lib._typing import FloatArray, LabelArray
from polyroc.experiments._data_sets import DataSet

# The paper's names, in the order of its table.
MODELS = ("knn", "tree", "multi")


def _knn() -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return _standardised(KNeighborsClassifier(n_neighbors=5))


def _tree() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    # No leaf of fewer than five samples, so that leaves give shares and not only 0 and 1.
    return DecisionTreeClassifier(min_samples_leaf=5, random_state=0)


def _multi() -> Any:
    from sklearn.linear_model import LogisticRegression

    return _standardised(LogisticRegression(max_iter=5000))


def _standardised(classifier: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), classifier)


_MAKERS: dict[str, Callable[[], Any]] = {"knn": _knn, "tree": _tree, "multi": _multi}


def split_and_score(data_set: DataSet, seed: int) -> tuple[LabelArray, dict[str, FloatArray]]:
    """Half of the samples to fit, by class; labels of the other half, and each classifier's scores for them."""
    from sklearn.model_selection import train_test_split

    fitted, judged, labels, held_out = train_test_split(
        data_set.features, data_set.labels, test_size=0.5, stratify=data_set.labels, random_state=seed
    )
    scores = {name: _MAKERS[name]().fit(fitted, labels).predict_proba(judged) for name in MODELS}
    return held_out, scores
