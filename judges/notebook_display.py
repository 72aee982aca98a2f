"""HTML tables for notebooks: a title, the first lines and notes; every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

MOST_LINES = 20
"""Lines of a longer table that are shown."""
FIRST_ROWS = 5
"""Rows of a data set that are shown."""
MOST_CHARACTERS = 160
"""Of a cell; longer ones are cut."""
SIMULATED = ", SIMULATED: says nothing about real models"


def html_table(
    frame: pd.DataFrame, *, title: str, notes: Iterable[str] = (), lines: int | None = None
) -> str:
    """Return an HTML table for a notebook's `_repr_html_`.

    Args:
        frame: What `to_frame()` returns, or its first lines.
        title: Stands above it.
        notes: Stand below it.
        lines: How many lines there are where `frame` holds only the first of them.
    """
    first_rows = frame.head(MOST_LINES)
    body = first_rows.map(_cell).to_html(index=False, border=0, escape=True)
    total = len(frame) if lines is None else lines
    hidden = total - len(first_rows)
    items = list(notes)
    if hidden:
        items.insert(0, f"{hidden:,} more lines; to_frame() has all of them")
    below = "".join(f"<li>{escape(note)}</li>" for note in items)
    # Without these classes a notebook would set what stands between two dollar signs as
    # mathematics.
    head = f'<div class="tex2jax_ignore mathjax_ignore"><p><b>{escape(title)}</b></p>'
    if below:
        below = f"<ul>{below}</ul>"
    return f"{head}{body}{below}</div>"


def _cell(value: object) -> str:
    import pandas as pd

    if value is None or value is pd.NA or value != value:
        return ""
    text = f"{value:.4g}" if isinstance(value, float) else " ".join(str(value).split())
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"
