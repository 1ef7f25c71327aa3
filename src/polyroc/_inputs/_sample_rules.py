"""What scores and weights must be, in words: the same for arrays and for tensors on a device."""

import math

import numpy as np

from polyroc._inputs._checks import InputError

_LIMITS = np.finfo(np.float64)
SMALLEST_WEIGHT = float(_LIMITS.smallest_subnormal)


def check_score_shape(shape: tuple[int, ...], n_samples: int) -> None:
    """One or two dimensions, a row per label, and something in it."""
    if len(shape) not in (1, 2):
        raise InputError("y_score", "must have shape (n_samples, n_classes) or (n_samples,)", f"{shape}")
    if 0 in shape:
        raise InputError("y_score", "must not be empty", f"shape {shape}")
    if shape[0] != n_samples:
        raise InputError("y_score", "must have one row per label", f"shape {shape} and {n_samples} labels in `y_true`")


def bad_scores(n_bad: int, n_rows: int, first: int) -> InputError:
    """The error of rows that are not finite."""
    came = f"NaN, infinity or missing values in {n_bad} of {n_rows} rows, the first is row {first}"
    return InputError("y_score", "must be finite", came)


def check_weight_shape(shape: tuple[int, ...], n_samples: int) -> None:
    """A weight per label."""
    if shape != (n_samples,):
        raise InputError("sample_weight", f"must have shape ({n_samples},) as `y_true` has", f"{shape}")


def bad_weight(value: float, row: int) -> InputError:
    """The error of a weight that is none, the first of its kind."""
    return InputError("sample_weight", "must be finite and not negative", f"{value} in row {row}")


def no_weight(n_samples: int) -> InputError:
    """The error of weights that are all zero."""
    return InputError("sample_weight", "must not be zero everywhere", f"{n_samples} zeros")


def weight_exponent(largest: float, n_samples: int) -> int:
    """The power of two to scale positive weights by, so that their sum is finite and products do not vanish.

    Only ratios matter, and a power of two leaves them as they are.
    """
    if largest < _LIMITS.tiny / _LIMITS.eps:
        return -math.frexp(largest)[1]
    if largest > _LIMITS.max / n_samples:
        # By no more than the sum needs.
        return -n_samples.bit_length()
    return 0
