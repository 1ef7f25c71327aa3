"""What the metrics of all packages have in common: a name, and options of `evaluate` that are checked at once."""

from typing import Any

from polyroc._evaluate import OF_SAMPLES, check_option_names
from polyroc._scoring import checked_options
from polyroc.training._multiclass_d import multiclass_d

NAME = "auc_d"


class TrainingMetric:
    """D by the name under which training shows it; can be pickled and compared, as parameters of estimators are."""

    def __init__(self, *, name: str = NAME, **options: Any) -> None:
        # Asked now, not after the first round of training.
        check_option_names(options, type(self), without=OF_SAMPLES)
        self.name, self.options = name, checked_options(options)

    def _value(self, y_true: Any, y_score: Any, sample_weight: Any = None) -> float:
        return multiclass_d(y_true, y_score, sample_weight=sample_weight, **self.options)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.options.items())})"
