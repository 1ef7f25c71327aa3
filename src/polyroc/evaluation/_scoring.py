"""Scores of a fitted scikit-learn classifier, and scorers for `cross_val_score` and its kin.

Nothing of scikit-learn is imported until it asks itself: a scorer is any function of an estimator, its data and the
true classes.
"""

from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np

from polyroc._inputs.arrays import read_labels, read_table
from polyroc._inputs.checks import InputError, listed, shown
from polyroc._inputs.options import DECLARED, as_options
from polyroc._lib.typing import FloatArray
from polyroc._lib.warnings import warn
from polyroc.evaluation._evaluate import OF_SAMPLES, check_option_names, evaluate
from polyroc.evaluation._evaluation import Evaluation


@dataclass(frozen=True)
class AucScorer:
    """A scorer that gives D, for whatever takes ``scorer(estimator, X, y)``.

    `auc_scorer` is one without options; `make_auc_scorer` makes others. Its `__name__`, which tools show above its
    column, is "D", followed by the options where there are some.

    Examples
    --------
    >>> import polyroc
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> cross_val_score(GaussianNB(), *load_iris(return_X_y=True), scoring=polyroc.auc_scorer).shape
    (5,)
    >>> polyroc.auc_scorer.__name__, polyroc.make_auc_scorer(shrinkage=0.5).__name__
    ('D', 'D(shrinkage=0.5)')
    """

    options: dict[str, Any] = field(default_factory=dict)
    weight_request: bool | str | None = None
    """What `set_score_request` was told about `sample_weight`."""

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """D of a fitted classifier on these samples."""
        return evaluate_estimator(estimator, X, y, sample_weight=sample_weight, **self.options).auc

    @property
    def __name__(self) -> str:
        given = [f"{name}={value if isinstance(value, str | Real) else '...'}" for name, value in self.options.items()]
        return f"D({', '.join(given)})" if given else "D"

    def set_score_request(self, *, sample_weight: Any) -> "AucScorer":
        """A scorer that asks scikit-learn's metadata routing for sample weights.

        Scorers do not change: go on with the one that is returned.

        Parameters
        ----------
        sample_weight : bool, str or None
            True to be given the `sample_weight` that is passed along, False to ignore it, a name to be given the
            weights that are passed by that name, None to refuse them.

        Returns
        -------
        AucScorer
            The same scorer with this request.

        Examples
        --------
        >>> import numpy as np, polyroc, sklearn
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.model_selection import cross_validate
        >>> from sklearn.naive_bayes import GaussianNB
        >>> scorer = polyroc.auc_scorer.set_score_request(sample_weight=True)
        >>> model = GaussianNB()
        >>> with sklearn.config_context(enable_metadata_routing=True):
        ...     model.set_fit_request(sample_weight=False)
        ...     found = cross_validate(
        ...         model, *load_iris(return_X_y=True), scoring=scorer, params={"sample_weight": np.arange(150)}
        ...     )
        GaussianNB()
        >>> found["test_score"].shape
        (5,)
        """
        if not (sample_weight is None or isinstance(sample_weight, bool | str)):
            raise InputError("sample_weight", "must be True, False, None or a name", shown(sample_weight))
        return replace(self, weight_request=sample_weight)

    def get_metadata_routing(self) -> Any:
        """What scikit-learn asks a scorer: which metadata it wants. Needs scikit-learn."""
        # Only scikit-learn calls this, so it is there.
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=repr(self))
        request.score.add_request(param="sample_weight", alias=self.weight_request)
        return request

    def _accept_sample_weight(self) -> bool:
        """Asked by scikit-learn where metadata routing is off."""
        return True

    def __repr__(self) -> str:
        if not self.options:
            return "polyroc.auc_scorer"
        return f"polyroc.make_auc_scorer({', '.join(f'{name}={value!r}' for name, value in self.options.items())})"


auc_scorer = AucScorer()


def make_auc_scorer(**options: Any) -> AucScorer:
    """A scorer with options of `evaluate`.

    Parameters
    ----------
    **options
        Keyword arguments of `evaluate`, other than `labels` and `sample_weight`.

    Returns
    -------
    AucScorer
        For `scoring=` of `cross_val_score`, `GridSearchCV` and others.

    Examples
    --------
    >>> import polyroc
    >>> polyroc.make_auc_scorer(thresholds="shared")
    polyroc.make_auc_scorer(thresholds='shared')
    """
    # Asked now, not in the middle of a search that would take the error for a failed fit.
    check_option_names(options, make_auc_scorer, without=OF_SAMPLES)
    return AucScorer(checked_options(options))


def checked_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options, wrong values refused before there are samples; the classes are those of the first matrix.

    Instead of a generator they hold a seed that was drawn from it, so that every evaluation compares the same pairs.
    """
    classes: Any = range(2)
    for name, declared in DECLARED.items():
        if declared.metadata["of_classes"] and options.get(name) is not None:
            values, names = read_table(options[name], name)
            classes = names or range(values.shape[-1] if values.ndim else 2)
            break
    checked = as_options(np.array(classes), **options)
    return options | {"rng": checked.rng} if "rng" in options else options


def evaluate_estimator(estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, **options: Any) -> Evaluation:
    """Evaluate a fitted classifier; a class that it has never seen scores alike for all samples."""
    y_true = read_labels(y, "y")
    scores, classes = class_scores(estimator, X)
    scores, classes = _with_unseen(scores, classes, y_true)
    return evaluate(y_true, scores, labels=classes, sample_weight=sample_weight, **options)


def class_scores(estimator: Any, X: Any) -> tuple[FloatArray, np.ndarray[Any, Any]]:
    """What a fitted classifier says of each class: its probabilities, else its decision function; and the classes."""
    for method in ("predict_proba", "decision_function"):
        if hasattr(estimator, method):
            scores, _ = read_table(getattr(estimator, method)(X), method)
            break
    else:
        raise InputError("estimator", "must have predict_proba or decision_function", type(estimator).__name__)
    if not hasattr(estimator, "classes_"):
        raise InputError("estimator", "must be a fitted classifier, with classes_", type(estimator).__name__)
    classes = np.asarray(estimator.classes_)
    # Three classes have three pairs: there the number of columns does not tell.
    by_pairs = method == "decision_function" and getattr(estimator, "decision_function_shape", None) == "ovo"
    if scores.ndim == 2 and (by_pairs or scores.shape[1] != max(len(classes), 2)):
        came = f"{scores.shape[1]} columns, one for each pair" if by_pairs else f"{scores.shape[1]} columns"
        raise InputError(
            "estimator",
            f"must score each of its {len(classes)} classes",
            f"{came} (scikit-learn's SVC scores classes with decision_function_shape='ovr')",
        )
    return scores, classes


def _with_unseen(
    scores: FloatArray, classes: "np.ndarray[Any, Any]", y_true: "np.ndarray[Any, Any]"
) -> tuple[FloatArray, "np.ndarray[Any, Any]"]:
    """A constant column for each class that training did not have."""
    found = sorted(set(y_true.tolist()))
    known = set(classes.tolist())
    if isinstance(found[0], str) != isinstance(classes.tolist()[0], str):
        # As `evaluate` matches them: 1 is "1" where one side is text.
        known = {label for label in found if str(label) in set(map(str, known))}
    unseen = [label for label in found if label not in known]
    if not unseen:
        return scores, classes
    if len(unseen) == len(found):
        raise InputError(
            "y",
            f"must have classes that `estimator` was fitted on ({listed(classes.tolist())})",
            listed(found),
            hint=": without a score for any of them D would be 1/2 whatever the classifier",
        )
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    msg = f"`estimator` has never seen {listed(unseen)}: no sample is ranked by these classes."
    warn(msg, UserWarning)
    lowest = np.full((len(scores), len(unseen)), scores.min(), dtype=scores.dtype)
    return np.hstack([scores, lowest]), np.concatenate([classes, unseen])
