"""One page of a long list, as the query of an address asks for it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
_NUMBER = re.compile("[0-9]{1,8}")


class Paged(Generic[T]):
    """One page of a sequence.

    Args:
        items: The whole of it.
        number: The page asked for, as the query has it.
        size: Items on a page.
    """

    def __init__(self, items: Sequence[T], number: str, size: int) -> None:
        self.total, self.size = len(items), size
        self.pages = max(1, math.ceil(self.total / size))
        # The query is anybody's: what is no small number is the first page.
        self.number = min(max(int(number), 1), self.pages) if _NUMBER.fullmatch(number) else 1
        self.first = (self.number - 1) * size
        self.items = items[self.first : min(self.first + size, self.total)]
