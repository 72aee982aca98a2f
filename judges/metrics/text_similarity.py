"""How near a written answer comes to the gold answers, letter by letter: ANLS."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import InputError
from ..judged_dataset import IntArray
from .delta import mean_share
from .estimate import Estimate

THRESHOLD = 0.5
"""An answer whose normalised distance to the gold reaches this is wrong, not half right."""


def anls(
    answers: Sequence[str], gold: Sequence[Sequence[str]], groups: IntArray | None = None
) -> Estimate:
    """Return the average normalised Levenshtein similarity with its interval (Biten et al. 2019).

    Args:
        answers: One an item; an empty answer is wrong unless a gold answer is empty too.
        gold: The answers that are right for each item; the nearest counts.
        groups: Codes 0..G-1 of items that belong together; None where they are independent.

    Raises:
        InputError: The two differ in length, or an item has no gold answer.
    """
    if len(answers) != len(gold):
        raise InputError(f"{len(answers)} answers for {len(gold)} items")
    if not answers:
        return Estimate.undefined(0, "there is no answer")
    values = np.array(
        [answer_similarity(answer, right) for answer, right in zip(answers, gold, strict=True)]
    )
    return mean_share(values, groups)


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
