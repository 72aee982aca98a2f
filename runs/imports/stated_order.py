"""The order of labels that rise or fall in turn, by what passes: only SEV4 is published, so SEV1 is
the worst.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...judges import OutputScale
from .file_facts import FileFacts
from .label_order import ends_differ
from .prompt_words import rows_of
from .stated_threshold import stated_threshold


def order_by_passing(labels: Sequence[str], text: str, beside: FileFacts) -> tuple[str, ...] | None:
    """Return labels with the worst first, if they are steps and what passes is one end of them;
    else None.

    Args:
        labels: As they are offered.
        text: All of the prompt.
        beside: What its file says beside it.
    """
    if len(labels) == 2:
        good = {
            label
            for compared in beside.compared
            if compared.passes
            for label in compared.labels
            if label in labels
        }
        bad = {
            label
            for compared in beside.compared
            if compared.passes is False
            for label in compared.labels
        }
        best = good or {label for label in labels if label not in bad and bad.intersection(labels)}
        return tuple(sorted(labels, key=lambda label: label in best)) if len(best) == 1 else None
    steps = _steps(labels)
    if steps is None:
        return None
    ways = [steps, steps[::-1]]
    fits = [way for way in ways if stated_threshold(text, beside, _scale(way))[0] is not None]
    return fits[0] if len(fits) == 1 else None


def _scale(labels: tuple[str, ...]) -> OutputScale:
    kind = "binary" if len(labels) == 2 else "graded"
    return OutputScale(kind=kind, labels=labels, threshold=float(len(labels) // 2))


def _steps(labels: Sequence[str]) -> tuple[str, ...] | None:
    """Return labels as they rise or fall: by their numbers, as words of one ladder, or between a
    bad and a good end.
    """
    if len(labels) < 3:
        return None
    numbered = [re.fullmatch(r"([A-Za-z]{1,10})[ _-]?(\d{1,2})", label) for label in labels]
    if all(numbered) and len({match[1].casefold() for match in numbered if match}) == 1:
        by_number = {int(match[2]): match.string for match in numbered if match}
        run = sorted(by_number)
        return (
            tuple(by_number[n] for n in run)
            if run == list(range(run[0], run[0] + len(labels)))
            else None
        )
    words = {label.casefold().replace(" ", "_"): label for label in labels}
    for row in rows_of("ladders"):
        if words.keys() <= set(row):
            return tuple(words[word] for word in row if word in words)
    return tuple(labels) if ends_differ(labels) else None
