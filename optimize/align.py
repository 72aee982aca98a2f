"""Two versions of a text, or of a list of demonstrations, laid side by side: what stays, goes and comes."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TypeVar

from ..judges import Example

ALIKE = 0.5
"""Share of words from which on an old and a new sentence are one, reworded."""

# The end of a sentence, or of a line; a line that goes on in lower case was only wrapped.
_END = re.compile(r"(?:[.!?…]+[\"'”’)\]]*(\s+)|[。！？]+(\s*)|(\s*\n\s*))(?=[^\sa-z])")
_ENUMERATED = re.compile(r"\s*[-*•]?\s*(?:\d{1,3}|[A-Za-z])[.)]\s*")
_ABBREVIATED = re.compile(r"(?:^|[\s(])(?:e\.g|i\.e|cf|vs|etc|approx|no)\.\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence or line of a text."""

    gap: str | None
    """The white space before it; None for the first."""
    text: str

    def __str__(self) -> str:
        return self.text


Item = Sentence | Example
T = TypeVar("T", Sentence, Example)


@dataclass(frozen=True, slots=True)
class Step:
    """One place of an alignment; None where a side has nothing there."""

    old: Item | None
    new: Item | None
    hunk: int = 0
    """The hunk that it belongs to; 0 where both sides have it."""


def align_texts(old: str, new: str) -> list[Step]:
    """Lay two texts side by side, sentence by sentence; where only the spacing differs, one empty step says so."""
    steps = list(_align(cut_sentences(old), cut_sentences(new), str, reword=True))
    if old != new and not changes(steps):
        steps.append(Step(None, None))
    return steps


def align_examples(old: Sequence[Example], new: Sequence[Example]) -> list[Step]:
    """Lay two lists of demonstrations side by side."""
    return list(_align(old, new, lambda example: (tuple(sorted(example.inputs.items())), example.reply), reword=False))


def changes(steps: Sequence[Step]) -> list[int]:
    """Return the positions at which the sides differ, white space apart."""
    return [i for i, step in enumerate(steps) if step.old is None or step.new is None or _reworded(step)]


def cut_sentences(text: str) -> list[Sentence]:
    """Cut a text at line breaks and after sentences; together they hold all but the white space at both ends."""
    body = text.strip()
    if not body:
        return []
    cuts = [(0, 0)]
    for match in _END.finditer(body):
        start, end = match.span(match.lastindex or 0)
        sentence = body[cuts[-1][1] : start]
        broken = "\n" in body[start:end]
        if broken or not (_ENUMERATED.fullmatch(sentence) or _ABBREVIATED.search(sentence)):
            cuts.append((start, end))
    cuts.append((len(body), len(body)))
    return [Sentence(body[a:b] if b else None, body[b:c]) for (a, b), (c, _) in pairwise(cuts)]


def _reworded(step: Step) -> bool:
    return isinstance(step.old, Sentence) and isinstance(step.new, Sentence) and step.old.text != step.new.text


def _align(old: Sequence[T], new: Sequence[T], key: Callable[[T], Hashable], *, reword: bool) -> Iterator[Step]:
    matcher = SequenceMatcher(None, [key(item) for item in old], [key(item) for item in new], autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            yield from (Step(*pair) for pair in zip(old[a:b], new[c:d], strict=True))
        else:
            yield from _pair_up(old[a:b], new[c:d], _alike(old[a:b], new[c:d]) if reword else [])


def _pair_up(old: Sequence[Item], new: Sequence[Item], pairs: Sequence[tuple[int, int]]) -> Iterator[Step]:
    """Yield the pairs in order, and between them what was removed and then what was added."""
    a = c = 0
    for i, j in [*pairs, (len(old), len(new))]:
        yield from (Step(item, None) for item in old[a:i])
        yield from (Step(None, item) for item in new[c:j])
        if i < len(old):
            yield Step(old[i], new[j])
        a, c = i + 1, j + 1


def _alike(old: Sequence[T], new: Sequence[T]) -> list[tuple[int, int]]:
    """Pairs in rising order with the greatest total of shared words; one against one is always a pair."""
    if len(old) == len(new) == 1:
        return [(0, 0)]
    best: list[list[tuple[float, list[tuple[int, int]]]]] = [[(0.0, [])] * (len(new) + 1) for _ in range(len(old) + 1)]
    words = [[str(item).split() for item in side] for side in (old, new)]
    for i, one in enumerate(words[0]):
        for j, other in enumerate(words[1]):
            choices = [best[i][j + 1], best[i + 1][j]]
            ratio = SequenceMatcher(None, one, other, autojunk=False).ratio()
            if ratio >= ALIKE:
                total, pairs = best[i][j]
                choices.append((total + ratio, [*pairs, (i, j)]))
            best[i + 1][j + 1] = max(choices, key=lambda choice: choice[0])
    return best[-1][-1][1]
