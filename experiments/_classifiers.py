"""The three classifiers of the paper, with scikit-learn's defaults and with settings as R has them."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from experiments._data_sets import DataSet
from polyroc._lib.typing import FloatArray, LabelArray

# The paper's names, in the order of its table.
MODELS = ("knn", "tree", "multi")
SETTINGS = ("scikit-learn", "R")


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


def _knn_of_r() -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(n_neighbors=9)


def _tree_of_r() -> Any:
    """As rpart has it: splits of 20 samples, leaves of 7, pruned where a split gains less than 1 % of the root."""
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(min_samples_split=20, min_samples_leaf=7, ccp_alpha=0.005, random_state=0)


def _multi_of_r() -> Any:
    """As nnet's multinom has it: no penalty, a hundred iterations."""
    from sklearn.linear_model import LogisticRegression

    return _standardised(LogisticRegression(C=np.inf, max_iter=100))


def _standardised(classifier: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), classifier)


_MAKERS: dict[str, dict[str, Callable[[], Any]]] = {
    "scikit-learn": {"knn": _knn, "tree": _tree, "multi": _multi},
    "R": {"knn": _knn_of_r, "tree": _tree_of_r, "multi": _multi_of_r},
}


def split_and_score(
    data_set: DataSet, seed: int, *, settings: str = "scikit-learn", models: tuple[str, ...] = MODELS
) -> tuple[LabelArray, dict[str, FloatArray]]:
    """Half of the samples to fit, by class; labels of the other half, and each classifier's scores for them."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import train_test_split

    fitted, judged, labels, held_out = train_test_split(
        data_set.features, data_set.labels, test_size=0.5, stratify=data_set.labels, random_state=seed
    )
    with warnings.catch_warnings():
        # Without a penalty separable classes have no finite fit, and R stops after its iterations as well.
        warnings.simplefilter("ignore", ConvergenceWarning)
        scores = {name: _MAKERS[settings][name]().fit(fitted, labels).predict_proba(judged) for name in models}
    return held_out, scores
