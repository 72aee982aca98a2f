"""What the values of the Python face have in common: they print as the command line does, and show
as HTML in a notebook.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import pandas as pd


class Printed:
    """A value with a text for people: `print` shows it, and `_repr_html_` where nothing better is
    there.
    """

    __slots__ = ()

    def __str__(self) -> str:
        from .terminal import text_of

        return text_of(self._say).strip("\n")

    def _repr_html_(self) -> str:
        from html import escape

        # Without these classes a notebook would set what stands between two dollar signs as
        # mathematics.
        return f'<pre class="tex2jax_ignore mathjax_ignore">{escape(str(self))}</pre>'

    def _say(self) -> None:
        raise NotImplementedError


class Tabular(Printed):
    """A value around a table, which is what a notebook shows of it."""

    __slots__ = ()

    _table_of: ClassVar[str]
    """Which of its attributes is the table, or holds it."""

    @property
    def _table(self) -> Any:  # Any: what has `_repr_html_` and `to_frame`
        return attrgetter(self._table_of)(self)

    def __repr__(self) -> str:
        return repr(self._table)

    def _repr_html_(self) -> str:
        return self._table._repr_html_()  # the protocol of notebooks

    def to_frame(self) -> pd.DataFrame:
        """Return the table: a line for each metric, slice or comparison."""
        return self._table.to_frame()


class Listed(Printed):
    """A list that a notebook shows as a table."""

    __slots__ = ()
    _of = ""
    """What its lines are."""

    def _repr_html_(self) -> str:
        from ..judges.notebook_display import html_table

        frame = self.to_frame()
        return html_table(frame, title=f"{len(frame):,} {self._of}")

    def to_frame(self) -> pd.DataFrame:
        """Return the list as a table."""
        raise NotImplementedError
