"""Numbers as people read them: few digits, but never so few that they say something else."""


def area(value: float) -> str:
    """Three decimals; more where they would make an area perfect that is not.

    >>> area(0.98171), area(0.99971), area(1.0)
    ('0.982', '0.9997', '1.000')
    """
    digits = 3
    while digits < 8 and round(value, digits) in (0.0, 1.0) and value not in (0.0, 1.0):
        digits += 1
    return f"{value:.{digits}f}"


def gap(value: float) -> str:
    """The size of a difference; more digits where three decimals would make it none.

    >>> gap(-0.0123), gap(0.00041), gap(0.0)
    ('0.012', '0.0004', '0')
    """
    size = abs(value)
    if size < 1e-8:
        return "0"
    return f"{size:.3f}" if size >= 0.0005 else f"{size:.1g}" if size < 1e-4 else f"{size:.4f}"


def percent(share: float) -> str:
    """A share of resamples; all and none are said only where it was all or none.

    >>> percent(0.9732), percent(0.9999), percent(1.0), percent(0.0002)
    ('97 %', 'over 99.9 %', '100 %', 'under 0.1 %')
    """
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    if share > 0.999:
        return "over 99.9 %"
    if share < 0.001:
        return "under 0.1 %"
    return f"{100 * share:.1f} %" if share > 0.99 or share < 0.01 else f"{100 * share:.0f} %"


def probability(share: float, n_resamples: int) -> str:
    """A share of resamples as a probability: so many resamples cannot tell certainty from one in so many.

    >>> probability(0.97, 999), probability(1.0, 999), probability(1.0, 99)
    ('97 %', 'over 99.9 %', 'over 99 %')
    """
    return f"over {100 * (1 - 1 / n_resamples):.3g} %" if share == 1 else percent(share)


def p_value(value: float) -> str:
    """Two digits; what is smaller than anybody's data can tell is said to be so.

    >>> p_value(0.0312), p_value(0.2), p_value(1.0), p_value(3e-14)
    ('0.031', '0.20', '1.0', '< 0.0001')
    """
    if value < 1e-4:
        return "< 0.0001"
    return f"{value:.2f}" if 0.1 <= value < 0.995 else f"{value:.2g}" if value < 0.1 else f"{value:.1f}"


def level(value: float) -> str:
    """A confidence level.

    >>> level(0.95), level(0.999)
    ('95 %', '99.9 %')
    """
    return f"{100 * value:.6g} %"


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "sample"), counted(12345, "sample"), counted(2, "class"), counted(3, "entry")
    ('1 sample', '12,345 samples', '2 classes', '3 entries')
    """
    plural = f"{noun}es" if noun.endswith("s") else f"{noun[:-1]}ies" if noun.endswith("try") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"
