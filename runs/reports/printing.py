"""Printing what a template makes of values: text in them stays on its line, and shows what would
act on a terminal.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from ..actions.labels_needed import OF_HOLDOUT, label_next
from ..terminal import inline, say, simulated_mark, table_text
from .numbers import number
from .rendering import Exact, open_templates
from .tables import Table, undefined

if TYPE_CHECKING:
    from jinja2 import Environment

Payload = Mapping[str, Any]  # Any: JSON out of the journal
WIDTH = 110


def say_template(template: str, /, **values: Any) -> None:  # Any: whatever the template names
    """Print a template of `templates/TEMPLATE.txt.j2`."""
    say(_templates().get_template(f"{template}.txt.j2").render(values).removesuffix("\n"))


@cache
def _templates() -> Environment:
    templates = open_templates(markup=False, lines=True)
    templates.filters["wrap"] = wrapped
    templates.filters["table"] = _written
    templates.globals |= {
        "table": _table,
        "simulated": simulated_mark,
        "undefined": undefined,
        "label_next": label_next,
        "of_holdout": OF_HOLDOUT,
    }
    return templates


def _written(table: Table) -> str:
    notes = (f"  {inline(note)}" for note in table.notes)
    return Exact("\n".join((table_text(table.head, table.lines, left=table.left), *notes)))


def _table(
    head: Sequence[str], lines: Iterable[Sequence[object]], *, left: int = 1, digits: int = 3
) -> str:
    """Write a table; a float has so many digits, and None is empty."""
    texts: list[list[str]] = []
    for line in lines:
        cells = []
        for cell in line:
            text = number(cell, digits) if isinstance(cell, float) else str(cell)
            cells.append("" if cell is None else text)
        texts.append(cells)
    return Exact(table_text(head, texts, left=left))


def wrapped(text: str, indent: str = "") -> str:
    """Break a text into lines of at most `WIDTH`, all as far from the left as the first."""
    broken = textwrap.fill(
        inline(text),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=" " * len(indent),
        break_on_hyphens=False,
    )
    return Exact(broken)
