"""Rows that nobody sees without a permit."""

from __future__ import annotations

from typing import NoReturn, Protocol

from ..errors import InputError
from ..rows import Dataset


class Permit(Protocol):
    """Leave to open a sealed part, such as a look that has been entered in the ledger."""

    @property
    def holdout(self) -> str:
        """The content hash of the part that may be opened."""
        ...


class SealedRows:
    """Rows that nobody sees without a permit; only their number, groups and hash are public.

    They cannot be iterated, indexed, copied, pickled or printed. This prevents accidents: it is
    no defence against code that means to look.
    """

    __iter__ = None  # `in` and unpacking fail as well, instead of falling back to indexing

    __slots__ = ("_groups", "_name", "_rows")

    def __init__(self, dataset: Dataset, *, name: str, groups: int) -> None:
        self._rows = dataset
        self._name = name
        self._groups = groups

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return (
            f"<sealed {self._name}: {len(self)} rows, {self._groups} groups, {self.content_hash}>"
        )

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"the sealed {self._name} cannot be copied or pickled")

    @property
    def name(self) -> str:
        """Which part it is, `holdout` or `final`."""
        return self._name

    @property
    def groups(self) -> int:
        """How many groups the rows come from; groups joined for near-duplicates count once."""
        return self._groups

    @property
    def content_hash(self) -> str:
        """The hash that a permit must name."""
        return self._rows.content_hash

    def open(self, look: Permit) -> Dataset:
        """Hand out the rows.

        Raises:
            InputError: The permit is not for these rows.
        """
        permitted = getattr(
            look, "holdout", None
        )  # an object of another kind is refused, and does not crash
        if permitted != self.content_hash:
            raise InputError(
                f"the {self._name} is sealed; the permit names {permitted!r}, its rows are"
                f" {self.content_hash}",
                hint="only a look that was entered in the ledger opens it",
            )
        return self._rows
