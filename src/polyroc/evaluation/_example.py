"""The embedded example: what three classifiers predicted for scikit-learn's digits."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import as_file, files

import numpy as np

from polyroc._lib.typing import FloatArray, IntArray
from polyroc._records import Frozen

_MODELS = ("logistic", "knn", "tree")


@dataclass(frozen=True, eq=False)
class Example(Frozen):
    """Predictions of three classifiers for the same samples.

    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> example.y_true.shape, sorted(example.scores)
    ((899,), ['knn', 'logistic', 'tree'])
    """

    y_true: IntArray
    """The digit each image shows, shape (n,)."""
    scores: Mapping[str, FloatArray]
    """Predicted probabilities by name of the classifier, shape (n, 10) each."""
    labels: IntArray
    """The classes in the order of the score columns: 0 to 9."""

    def __repr__(self) -> str:
        return f"Example(n_samples={len(self.y_true)}, n_classes={len(self.labels)}, scores={list(self.scores)})"


def load_example() -> Example:
    """Predictions of three classifiers for scikit-learn's handwritten digits.

    The classifiers saw one half of the 1797 images; the example holds the
    probabilities that they gave for the other half. Each was held back on purpose,
    so that the three differ:

    - ``"logistic"``, multinomial logistic regression on four principal components;
    - ``"knn"``, the fifteen nearest neighbours on two principal components;
    - ``"tree"``, a decision tree of depth four.

    ``scripts/make_example.py`` in the repository makes the file.

    Returns
    -------
    Example
        A frozen record with ``y_true`` of shape (n,), ``scores``, a read-only mapping
        from the names above to arrays of shape (n, 10), and ``labels``, the digits 0 to 9.

    Examples
    --------
    >>> import polyroc
    >>> example = polyroc.load_example()
    >>> example
    Example(n_samples=899, n_classes=10, scores=['logistic', 'knn', 'tree'])
    >>> example.scores["tree"].shape
    (899, 10)
    """
    resource = files("polyroc") / "_data" / "digits.npz"
    with as_file(resource) as path, np.load(path, allow_pickle=False) as stored:
        y_true = stored["y_true"].astype(np.int64)
        scores = {name: stored[name] for name in _MODELS}
    return Example(y_true=y_true, scores=scores, labels=np.arange(10))
