"""Numbers as people read them: few digits, but never so few that they say something else.

One function for each kind of number. Text tables, notebooks, pictures and the page all use these.
"""

import math
from collections.abc import Sequence

# Decimals of areas and differences in tables, and the most that any of them gets.
_DIGITS = 4
_MOST_DIGITS = 6
# A smaller difference is rounding: areas are sums of many numbers.
_NOTHING = 1e-12
# Nobody's model of the tail is right further out than this.
_SMALLEST_P = 1e-6


def area(value: float, *, digits: int = _DIGITS) -> str:
    """Four decimals; more where they would make an area perfect that is not.

    >>> area(0.98171), area(0.99996), area(1.0), area(0.99999999), area(0.98171, digits=3)
    ('0.9817', '0.99996', '1.0000', 'above 0.999999', '0.982')
    """
    return _areas((value,), digits)[0]


def area_and_ends(value: float, low: float, high: float, *, digits: int = _DIGITS) -> tuple[str, str, str]:
    """An area and the ends of its interval, with as many decimals as keep ends apart from it that differ from it.

    >>> area_and_ends(0.98171, 0.97752, 0.98514)
    ('0.9817', '0.9775', '0.9851')
    >>> area_and_ends(0.99971, 0.99968, 0.99973)
    ('0.99971', '0.99968', '0.99973')
    """
    value_text, low_text, high_text = _areas((value, low, high), digits)
    return value_text, low_text, high_text


def _areas(values: Sequence[float], digits: int) -> list[str]:
    for places in range(digits, _MOST_DIGITS + 1):
        texts = [f"{value:.{places}f}" for value in values]
        claims = any(
            float(text) in (0.0, 1.0) and value != float(text) for value, text in zip(values, texts, strict=True)
        )
        if not claims and _apart(values, texts):
            return texts
    return [_near_an_end(value) for value in values]


def _near_an_end(value: float) -> str:
    text = f"{value:.{_MOST_DIGITS}f}"
    if float(text) == 1 and value < 1:
        return f"above {1 - 10**-_MOST_DIGITS:.{_MOST_DIGITS}f}"
    if float(text) == 0 and value > 0:
        return f"below {10**-_MOST_DIGITS:.{_MOST_DIGITS}f}"
    return text


def _apart(values: Sequence[float], texts: Sequence[str]) -> bool:
    """Whether the first of the texts differs from the others where the numbers do."""
    others = zip(values[1:], texts[1:], strict=True)
    return all(text != texts[0] or abs(value - values[0]) < 10**-_MOST_DIGITS for value, text in others)


def difference(value: float) -> str:
    """A difference of two areas with its sign, for tables.

    >>> difference(0.0398), difference(-0.00003), difference(0.0), difference(-2e-9)
    ('+0.0398', '-0.00003', '0', 'above -0.000001')
    """
    return _differences((value,))[0]


def difference_and_ends(value: float, low: float, high: float) -> tuple[str, str, str]:
    """A difference and the ends of its interval; ends have a sign only below 0.

    >>> difference_and_ends(0.0398, 0.0311, 0.0485)
    ('+0.0398', '0.0311', '0.0485')
    >>> difference_and_ends(0.00002, -0.0001, 0.00014)
    ('+0.00002', '-0.00010', '0.00014')
    """
    value_text, low_text, high_text = _differences((value, low, high))
    return value_text, low_text.removeprefix("+"), high_text.removeprefix("+")


def _differences(values: Sequence[float]) -> list[str]:
    values = [0.0 if abs(value) < _NOTHING else value for value in values]
    for places in range(_DIGITS, _MOST_DIGITS + 1):
        texts = [f"{value:+.{places}f}" if value else "0" for value in values]
        claims = any(
            float(text) in (-1, 0, 1) and value != float(text) for value, text in zip(values, texts, strict=True)
        )
        if not claims and _apart(values, texts):
            return texts
    least = f"{10**-_MOST_DIGITS:.{_MOST_DIGITS}f}"
    near = [f"below {least}" if value > 0 else f"above -{least}" for value in values]
    return [one if value and not float(text) else text for value, text, one in zip(values, texts, near, strict=True)]


def gap(value: float) -> str:
    """The size of a difference, for sentences: never a number that reads as none.

    >>> gap(-0.0123), gap(0.00041), gap(-3e-5), gap(0.0), gap(0.9997)
    ('0.012', '0.0004', 'less than 0.0001', '0', 'more than 0.999')
    """
    size = abs(value)
    if size < _NOTHING:
        return "0"
    if size < 1e-4:
        return "less than 0.0001"
    if 0.9995 <= size < 1:
        return "more than 0.999"
    return f"{size:.3f}" if size >= 0.0095 else f"{size:.4f}"


def percent(value: float) -> str:
    """A share; all and none are said only where it was all or none.

    >>> percent(0.9732), percent(0.996), percent(0.9999), percent(1.0), percent(0.0002)
    ('97 %', '99.6 %', 'over 99.9 %', '100 %', 'below 0.1 %')
    """
    if value in (0.0, 1.0):
        return f"{100 * value:.0f} %"
    if value > 0.999:
        return "over 99.9 %"
    if value < 0.001:
        return "below 0.1 %"
    return f"{100 * value:.1f} %" if value > 0.99 or value < 0.01 else f"{100 * value:.0f} %"


def percent_and_ends(value: float, low: float, high: float) -> tuple[str, str, str]:
    """A share and the ends of its interval, with as many decimals as keep ends apart from it that differ from it.

    >>> percent_and_ends(0.8031, 0.7764, 0.8275)
    ('80 %', '78 %', '83 %')
    >>> percent_and_ends(0.97314, 0.97221, 0.97402)
    ('97.3 %', '97.2 %', '97.4 %')
    """
    values = (value, low, high)
    texts = [percent(one) for one in values]
    for places in (1, 2):
        if _apart(values, texts):
            break
        texts = [_longer_percent(one, places) for one in values]
    return texts[0], texts[1], texts[2]


def _longer_percent(value: float, places: int) -> str:
    text = f"{100 * value:.{places}f}"
    return percent(value) if float(text) in (0.0, 100.0) else f"{text} %"


def share_of_resamples(value: float, n_resamples: int) -> str:
    """How often something happened in this many resamples, which never prove that it always or never does.

    >>> share_of_resamples(0.9732, 999), share_of_resamples(1.0, 999), share_of_resamples(0.0, 999)
    ('0.973', '> 0.999', '< 0.001')
    >>> share_of_resamples(1.0, 99), share_of_resamples(0.0, 9)
    ('> 0.99', '< 0.1')
    """
    # One more resample might have been the first of its kind.
    least = max(1 / (n_resamples + 1), 0.001)
    if value < least:
        return f"< {first_digit_up(least):g}"
    if value > 1 - least:
        return f"> {1 - first_digit_up(least):g}"
    return f"{value:.3f}"


def first_digit_up(value: float) -> float:
    """The next larger number with one digit that is not 0."""
    scale = 10.0 ** math.floor(math.log10(value) + 1e-9)
    return math.ceil(value / scale - 1e-9) * scale


def smallest_p(n_resamples: int | None = None) -> float:
    """The p value below which this many resamples support no number; None for a formula, which has no resamples.

    A p value of z standard errors needs the standard error, which n resamples know to 1 in sqrt(2 n). Where that
    moves z by more than a quarter, the digits of the p value mean nothing; and the normal tail itself is trusted to
    1e-6. What n resamples can count, 1 in n + 1, they always support.

    >>> smallest_p(999), smallest_p(99), smallest_p(9), smallest_p()
    (1e-06, 0.001, 0.1, 1e-06)
    """
    if n_resamples is None:
        return _SMALLEST_P
    # Two-sided: erfc(z / sqrt(2)), with z = sqrt(2 n) / 4.
    supported = min(1 / (n_resamples + 1), math.erfc(math.sqrt(n_resamples) / 4))
    return float(f"1e{math.ceil(math.log10(supported) - 1e-9)}") if supported > _SMALLEST_P else _SMALLEST_P


def p_value(value: float, n_resamples: int | None = None) -> str:
    """Two digits, and a bound where the p value is smaller than its resamples can support.

    >>> p_value(0.0312, 999), p_value(0.2, 999), p_value(0.997, 999), p_value(1.0, 999)
    ('0.031', '0.20', '> 0.99', '1.0')
    >>> p_value(3e-14, 999), p_value(3e-14, 99)
    ('< 1e-6', '< 0.001')
    """
    least = smallest_p(n_resamples)
    if value < least:
        return f"< {_power(least)}"
    if value < 0.0001:
        return _power(value)
    if 0.995 <= value < 1:
        return "> 0.99"
    return f"{value:.2g}" if value < 0.0995 else f"{value:.2f}" if value < 1 else "1.0"


def p_equals(value: float, n_resamples: int | None = None) -> str:
    """The same inside a sentence.

    >>> p_equals(0.0312, 999), p_equals(3e-14, 999)
    ('p = 0.031', 'p < 1e-6')
    """
    text = p_value(value, n_resamples)
    return f"p {text}" if text.startswith(("<", ">")) else f"p = {text}"


def _power(value: float) -> str:
    """A small number without the zeros that Python puts into its exponent.

    >>> _power(1e-06), _power(1.6e-05), _power(0.001)
    ('1e-6', '1.6e-5', '0.001')
    """
    return f"{value:.2g}".replace("e-0", "e-")


def level(value: float) -> str:
    """A confidence level.

    >>> level(0.95), level(0.999), level(0.9999999)
    ('95 %', '99.9 %', '99.99999 %')
    """
    return f"{100 * value:.12g} %"


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "sample"), counted(12345, "sample"), counted(2, "class")
    ('1 sample', '12,345 samples', '2 classes')
    """
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"
