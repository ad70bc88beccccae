"""Round numbers for axes."""

import math

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return at most so many round numbers between two bounds, both of them included where they are round."""
    if not high > low:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for step in (factor * scale for scale in (power, 10 * power) for factor in _STEPS):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            return [number * step + 0.0 for number in range(first, last + 1)]
    raise AssertionError("ten times the range is always enough")


def label(values: list[float]) -> list[str]:
    """Write the numbers of an axis with as many decimals as tell them apart, and a real minus sign."""
    decimals = next(
        (places for places in range(8) if all(abs(value - round(value, places)) < 1e-9 for value in values)), 8
    )
    return [f"{value:,.{decimals}f}".replace("-", "\u2212") for value in values]
