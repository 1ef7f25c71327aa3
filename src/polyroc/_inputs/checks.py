"""Errors about bad input, and checks of single arguments that several functions take."""

import math
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

MOST_RESAMPLES = 10_000_000


class InputError(ValueError):
    """Input that breaks a rule: which argument, which rule, and what came.

    Its message is made from its attributes, so whoever handles the error need not read words.

    Parameters
    ----------
    argument : str
        Name of the argument.
    rule : str
        What it must be, from the verb on.
    got : str, optional
        What came instead, as text.
    hint : str
        What to do about it, with the punctuation before it.

    Attributes
    ----------
    argument, rule, got, hint : str
        As given; `got` is None where the rule says it all.

    Examples
    --------
    >>> import polyroc
    >>> try:
    ...     polyroc.evaluate([0, 1], [0.2, 0.7], shrinkage=-1)
    ... except polyroc.InputError as error:
    ...     print(error)
    ...     print((error.argument, error.got))
    `shrinkage` must be a finite number of at least 0, got -1.
    ('shrinkage', '-1')
    """

    def __init__(self, argument: str, rule: str, got: str | None = None, hint: str = "") -> None:
        self.argument, self.rule, self.got, self.hint = argument, rule, got, hint
        super().__init__(self.said(lambda code: f"`{code}`"))

    def said(self, call: Callable[[str], str]) -> str:
        """The message for somebody who calls the arguments in another way; `call` gives the words for each piece."""
        came = "" if self.got is None else f", got {in_words(self.got, call)}"
        end = "" if self.hint.endswith("?") else "."
        return f"{call(self.argument)} {in_words(self.rule, call)}{came}{in_words(self.hint, call)}{end}"

    def __reduce__(self) -> Any:
        # By its fields: by default an exception is made again from its message alone.
        return type(self), (self.argument, self.rule, self.got, self.hint), self.__dict__


def in_words(text: str, call: Callable[[str], str]) -> str:
    """A text of the library with each piece of code between backquotes as `call` words it.

    >>> in_words("pass `labels=` or `x`", {"labels=": "--labels", "x": "it"}.__getitem__)
    'pass --labels or it'
    """
    pieces = text.split("`")
    if len(pieces) % 2 == 0:  # a backquote in somebody's own words
        return text
    pieces[1::2] = map(call, pieces[1::2])
    return "".join(pieces)


def shown(value: Any) -> str:
    """The value as it stands in an error message."""
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python will write
        text = f"a very large {type(value).__name__}"
    return text if len(text) <= 40 else f"{text[:37]}..."


def listed(values: Sequence[Any]) -> str:
    """The first ten values as they stand in an error message."""
    text = ", ".join(shown(value) for value in values[:10])
    return text if len(values) <= 10 else f"{text} and {len(values) - 10} more"


def one_line(value: Any, length: int = 30) -> str:
    r"""A name on one line and not too long; what cannot be printed becomes a question mark.

    >>> one_line("two\nlines"), one_line("x" * 500, 8)
    ('two?lines', 'xxxxx...')
    """
    text = "".join(c if c.isprintable() else "?" for c in str(value))
    return text if len(text) <= length else f"{text[: length - 3].rstrip()}..."


def one_of(value: Any, name: str, allowed: tuple[str, ...]) -> Any:
    """One of some words."""
    # Asked for text first: `in` would compare an array element by element.
    if isinstance(value, str) and value in allowed:
        return value
    raise InputError(name, f"must be one of {', '.join(map(repr, allowed))}", shown(value))


def is_integer(value: Any, least: int, most: float = math.inf) -> bool:
    """Whether a value is a whole number, and no boolean, from `least` to `most`."""
    return not isinstance(value, bool) and isinstance(value, Integral) and least <= int(value) <= most


def is_number(value: Any) -> bool:
    """Whether a value is a real number, and no boolean."""
    return not isinstance(value, bool) and isinstance(value, Real)


def as_rng(value: Any) -> Any:
    """A seed, a generator, or None for a seed of chance (SPEC 7)."""
    if value is None or isinstance(value, np.random.Generator):
        return value
    if not is_integer(value, 0):
        raise InputError("rng", "must be None, a non-negative integer or a numpy.random.Generator", shown(value))
    return int(value)


def drawn_seed(value: Any) -> int:
    """A seed that can be used again: the integer itself, or one drawn once from a generator or from chance."""
    rng = as_rng(value)
    return rng if isinstance(rng, int) else int(np.random.default_rng(rng).integers(2**32))


def as_plain_seed(value: Any) -> int:
    """A seed that can be written down, and given again."""
    if not is_integer(value, 0):
        raise InputError("seed", "must be a non-negative integer", shown(value))
    return int(value)


def as_n_jobs(value: Any) -> int | None:
    """A number of threads, or None or -1 for all that there are."""
    if value is None:
        return None
    if not is_integer(value, -1) or value == 0:
        raise InputError("n_jobs", "must be None, -1 or a number of threads of at least 1", shown(value))
    return int(value)


def as_confidence_level(value: Any) -> float:
    """A number between 0 and 1."""
    # Compared as it came: an integer may be too large for a float.
    if not is_number(value) or not 0 < value < 1:
        raise InputError("confidence_level", "must be between 0 and 1, for example 0.95", shown(value))
    return float(value)


def as_flag(value: Any, name: str) -> bool:
    """True or False, and no text that Python would take for true."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(name, "must be True or False", shown(value))
    return bool(value)


def as_n_resamples(value: Any) -> int:
    """At least 2, because one replicate has no spread."""
    if not is_integer(value, 2, MOST_RESAMPLES):
        raise InputError("n_resamples", f"must be an integer from 2 to {MOST_RESAMPLES:,}", shown(value))
    return int(value)


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
