"""Figures beside one another, with enough digits to see them differ."""

from __future__ import annotations


def apart(*values: float, sign: str = "") -> tuple[str, ...]:
    """Write values with as many digits, from three to six, as it takes to tell all that differ
    apart.

    Args:
        values: The figures.
        sign: `+` to write the sign of each.
    """
    different, digits = len(set(values)), 3
    while digits < 6 and len({f"{value:.{digits}f}" for value in values}) < different:
        digits += 1
    return tuple(f"{value:{sign}.{digits}f}" for value in values)
