"""How a number is written for people."""

from __future__ import annotations


def number(value: float | None, digits: int = 3) -> str:
    """Format a number for people; a missing one is `n/a`."""
    return "n/a" if value is None else f"{value:.{digits}f}"


def p_cell(p: float | None) -> str:
    """Write a p-value for a table, tiny ones as a bound."""
    if p is None:
        return "n/a"
    return "<0.0001" if p < 0.0001 else number(p, 4)
