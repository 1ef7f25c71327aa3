"""Keras: a callback that evaluates the validation data after each epoch, before `EarlyStopping` looks."""

from typing import Any

import numpy as np

from polyroc._inputs.checks import InputError, shown
from polyroc.training._metrics import multiclass_d, options_of

try:
    from keras.callbacks import Callback
except ModuleNotFoundError as error:
    _msg = f"`KerasCallback` needs {error.name}: pip install {error.name}."
    raise ModuleNotFoundError(_msg, name=error.name) from error


class KerasCallback(Callback):  # type: ignore[misc]  # Keras has no types
    """D of the validation data after each epoch of Keras, in the logs, so that ``EarlyStopping`` can monitor it.

    Put it before the callbacks that read it. A metric of Keras's own could not do this: those are means or sums over
    batches. Needs Keras 3, with any backend.

    Parameters
    ----------
    validation_data : tuple
        ``(x, y)`` or ``(x, y, sample_weight)``, as `fit` takes it; `y` has numbers of classes or one-hot rows.
    name : str
        Key in the logs and in ``History``.
    batch_size : int, optional
        As in `predict`.
    **options
        Keyword arguments of `evaluate`, such as `costs`.

    Examples
    --------
    >>> from polyroc.training import KerasCallback  # doctest: +SKIP
    >>> import keras  # doctest: +SKIP
    >>> model.fit(
    ...     x_train,
    ...     y_train,
    ...     epochs=100,
    ...     callbacks=[
    ...         KerasCallback((x_validation, y_validation)),
    ...         keras.callbacks.EarlyStopping("val_auc_d", mode="max", patience=5, restore_best_weights=True),
    ...     ],
    ... )  # doctest: +SKIP
    """

    def __init__(
        self, validation_data: Any, *, name: str = "val_auc_d", batch_size: int | None = None, **options: Any
    ) -> None:
        super().__init__()
        self.options = options_of(KerasCallback, options)
        if not isinstance(validation_data, tuple) or len(validation_data) not in (2, 3):
            rule = "must be a tuple (x, y) or (x, y, sample_weight)"
            raise InputError("validation_data", rule, shown(type(validation_data).__name__))
        self.validation_data, self.name, self.batch_size = validation_data, name, batch_size

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Evaluate and write D into the logs.

        Parameters
        ----------
        epoch : int
            Not used.
        logs : dict
            Of this epoch.
        """
        x, y, *weight = self.validation_data
        y_score = self.model.predict(x, batch_size=self.batch_size, verbose=0)
        value = multiclass_d(_classes(y), y_score, sample_weight=weight[0] if weight else None, **self.options)
        if logs is not None:
            logs[self.name] = value


def _classes(y: Any) -> Any:
    """Numbers of classes, of one-hot rows the place of the one."""
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] > 1:
        return y.argmax(axis=1)
    return y.reshape(len(y))
