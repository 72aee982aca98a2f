"""Gold answers, and how near a written answer comes to them, letter by letter: ANLS."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from ....judges import InputError
from ....judges.files import Cell
from ....judges.files.columns import as_text

THRESHOLD = 0.5
"""An answer whose normalised distance to the gold reaches this is wrong, not half right."""
_TEXTS = TypeAdapter(Annotated[tuple[str, ...], Field(min_length=1)])


def gold_answers(cell: Cell) -> tuple[str, ...]:
    """Read one right answer, or a list of them, which stands as its JSON."""
    if isinstance(cell, str) and cell.startswith("["):
        with suppress(ValidationError):
            return _TEXTS.validate_json(cell)
    return (as_text(cell) or "",)


def answer_similarity(answer: str, gold: Sequence[str]) -> float:
    """Return 1 - d for the nearest gold answer, 0 where d is 0.5 or more (Biten et al. 2019).

    d is the Levenshtein distance over the length of the longer text. Case is folded, spaces at the
    ends go, and any run of white space counts as one space.

    Raises:
        InputError: There is no gold answer.
    """
    from rapidfuzz.distance import Levenshtein

    if not gold:
        raise InputError(f"there is no gold answer to compare {answer!r:.60} with")
    if isinstance(gold, str):
        raise InputError(
            f"gold answers are a list of texts, got the text {gold!r:.60}",
            hint="put it into a list",
        )
    folded = _folded(answer)
    distance = min(Levenshtein.normalized_distance(folded, _folded(text)) for text in gold)
    return 1.0 - distance if distance < THRESHOLD else 0.0


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
