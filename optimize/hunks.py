"""The diff of two prompts as hunks that can be taken one by one: a sentence each, and the decided
cases as a whole.

A sentence is added, removed, or reworded where an old and a new one share most of their words; the
anchor of a grade is reworded as a whole. Spacing alone makes
no hunk of its own where the text also changes otherwise: it follows the first hunk of that text
that is taken.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from ..judges import InputError, JudgePrompt, OutputScale, PromptError
from ..judges.notebook_display import html_table
from .word_diff import changed_cases

if TYPE_CHECKING:
    import pandas as pd

Part = Literal["system", "criteria", "anchors", "reply", "cases"]
TEXTS: tuple[Part, ...] = ("system", "criteria", "reply")
Kind = Literal["added", "removed", "reworded", "spacing"]

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


@dataclass(frozen=True, slots=True)
class Alignment:
    """One place of an alignment; None where a side has nothing there."""

    old: Sentence | None
    new: Sentence | None
    hunk: int = 0
    """The hunk that it belongs to; 0 where both sides have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One change that can be taken or left."""

    number: int
    """From 1."""
    part: Part
    old: tuple[str, ...]
    """The sentences that it takes away."""
    new: tuple[str, ...]
    """Those that it brings."""

    @property
    def kind(self) -> Kind:
        """What it does to the text."""
        if self.old and self.new:
            return "reworded"
        if self.new:
            return "added"
        return "removed" if self.old else "spacing"

    def __str__(self) -> str:
        lines = [*(f"- {text}" for text in self.old), *(f"+ {text}" for text in self.new)]
        return "\n".join(lines) or "(spacing)"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptDiff:
    """Two prompts and the hunks between them; `compose` puts a choice of them together."""

    before: JudgePrompt
    after: JudgePrompt
    hunks: tuple[Hunk, ...]
    steps: Mapping[Part, tuple[Alignment, ...]]
    """Each part's items in order, side by side."""

    def __repr__(self) -> str:
        before, after = (f"{side.name}@{side.version}" for side in (self.before, self.after))
        return f"PromptDiff({before} -> {after}, {len(self.hunks)} hunks)"

    def _repr_html_(self) -> str:
        return html_table(self.to_frame(), title=repr(self))

    def to_frame(self) -> pd.DataFrame:
        """Return one line a hunk: its number, part and kind, and the texts it takes away and
        brings.
        """
        import pandas as pd

        lines = [(h.number, h.part, h.kind, "\n".join(h.old), "\n".join(h.new)) for h in self.hunks]
        return pd.DataFrame(lines, columns=["number", "part", "kind", "old", "new"])

    @property
    def numbers(self) -> frozenset[int]:
        """Of all hunks."""
        return frozenset(hunk.number for hunk in self.hunks)


def split_hunks(before: JudgePrompt, after: JudgePrompt) -> PromptDiff:
    """Split the difference of two prompts into hunks.

    Args:
        before, after: Versions of one judge.

    Raises:
        PromptError: They differ in template, grades, threshold or reply fields, which cannot be
            taken in parts.
    """
    same_scale = before.scale.same_grades(after.scale) and [*before.scale.anchors] == [
        *after.scale.anchors
    ]
    undivided = {
        part: getattr(before, part) != getattr(after, part) for part in ("template", "reply_schema")
    }
    for part, differs in {**undivided, "scale": not same_scale}.items():
        if differs:
            raise PromptError(
                f"{before.name}@{before.version} and {after.name}@{after.version} differ in {part},"
                " which cannot be taken in parts"
            )
    aligned: dict[Part, list[Alignment]] = {}
    for part in ("system", "criteria"):
        aligned[part] = align_texts(getattr(before, part), getattr(after, part))
    aligned["anchors"] = align_anchors(before.scale, after.scale)
    aligned["reply"] = align_texts(before.reply, after.reply)
    went, came = (Sentence(None, text) if text else None for text in changed_cases(before, after))
    aligned["cases"] = [Alignment(went, came)] if went or came else []
    hunks: list[Hunk] = []
    for part, steps in aligned.items():
        for i in changes(steps):
            number, step = len(hunks) + 1, steps[i]
            old, new = ((side.text,) if side else () for side in (step.old, step.new))
            hunks.append(Hunk(number=number, part=part, old=old, new=new))
            steps[i] = replace(step, hunk=number)
    steps_of: dict[Part, tuple[Alignment, ...]] = {
        part: tuple(steps) for part, steps in aligned.items()
    }
    return PromptDiff(before=before, after=after, hunks=tuple(hunks), steps=steps_of)


def compose(diff: PromptDiff, chosen: Collection[int]) -> JudgePrompt:
    """Return the prompt that takes the chosen hunks and leaves the others.

    Args:
        diff: What `split_hunks` made.
        chosen: Numbers of hunks; all of them make the new prompt, none the old one, to the letter.

    Raises:
        InputError: There is no hunk of that number.
    """
    taken = frozenset(chosen)
    if unknown := sorted(taken - diff.numbers):
        raise InputError(f"there is no hunk {unknown[0]!r}; there are {len(diff.hunks)}")
    if not taken:
        return diff.before
    if taken == diff.numbers:
        return diff.after
    listed = ", ".join(map(str, sorted(taken)))
    note = f"hunk{'s' * (len(taken) > 1)} {listed} of {len(diff.hunks)} from {diff.after.version}"
    composed = diff.before.edited(note=note, **{part: _text(diff, part, taken) for part in TEXTS})
    anchors = {}
    for grade, step in zip(diff.before.scale.anchors, diff.steps["anchors"], strict=True):
        side = diff.after if step.hunk in taken else diff.before
        anchors[grade] = side.scale.anchors[grade]
    composed = replace(composed, scale=replace(composed.scale, anchors=anchors))
    own = {step.hunk for step in diff.steps["cases"]}
    side = diff.after if own & taken else diff.before
    return replace(composed, cases=side.cases)


def _side(step: Alignment, taken: Collection[int]) -> Sentence | None:
    return step.new if step.hunk == 0 or step.hunk in taken else step.old


def _text(diff: PromptDiff, part: Part, taken: Collection[int]) -> str:
    """Put one text together; untouched or fully changed, it is the given text to the letter."""
    old, new, steps = getattr(diff.before, part), getattr(diff.after, part), diff.steps[part]
    own = {step.hunk for step in steps} - {0}
    if not own.intersection(taken):
        return old
    if own <= set(taken):
        return new
    sentences = [item for step in steps if (item := _side(step, taken)) is not None]
    gaps = (
        side.gap
        for name in ("new", "old")
        for step in steps
        if (side := getattr(step, name)) is not None
    )
    usual = next((gap for gap in gaps if gap is not None), " ")
    body = "".join(
        (usual if s.gap is None else s.gap) * (i > 0) + s.text for i, s in enumerate(sentences)
    )
    return new[: len(new) - len(new.lstrip())] + body + new[len(new.rstrip()) :]


def align_texts(old: str, new: str) -> list[Alignment]:
    """Lay two texts side by side, sentence by sentence; where only the spacing differs, one empty
    step says so.
    """
    steps = list(_align(cut_sentences(old), cut_sentences(new)))
    if old != new and not changes(steps):
        steps.append(Alignment(None, None))
    return steps


def align_anchors(old: OutputScale, new: OutputScale) -> list[Alignment]:
    """Lay the anchors of two scales with the same grades side by side."""
    return [
        Alignment(
            Sentence("\n", f"{grade}: {anchor}"), Sentence("\n", f"{grade}: {new.anchors[grade]}")
        )
        for grade, anchor in old.anchors.items()
    ]


def changes(steps: Sequence[Alignment]) -> list[int]:
    """Return the positions at which the sides differ, white space apart."""
    return [
        i
        for i, step in enumerate(steps)
        if step.old is None or step.new is None or step.old.text != step.new.text
    ]


def cut_sentences(text: str) -> list[Sentence]:
    """Cut a text at line breaks and after sentences; together they hold all but the white space at
    both ends.
    """
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


def _align(old: Sequence[Sentence], new: Sequence[Sentence]) -> Iterator[Alignment]:
    matcher = SequenceMatcher(None, [s.text for s in old], [s.text for s in new], autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            yield from (Alignment(*pair) for pair in zip(old[a:b], new[c:d], strict=True))
        else:
            yield from _pair_up(old[a:b], new[c:d], _alike(old[a:b], new[c:d]))


def _pair_up(
    old: Sequence[Sentence], new: Sequence[Sentence], pairs: Sequence[tuple[int, int]]
) -> Iterator[Alignment]:
    """Yield the pairs in order, and between them what was removed and then what was added."""
    a = c = 0
    for i, j in [*pairs, (len(old), len(new))]:
        yield from (Alignment(item, None) for item in old[a:i])
        yield from (Alignment(None, item) for item in new[c:j])
        if i < len(old):
            yield Alignment(old[i], new[j])
        a, c = i + 1, j + 1


def _alike(old: Sequence[Sentence], new: Sequence[Sentence]) -> list[tuple[int, int]]:
    """Pairs in rising order with the greatest total of shared words; one against one is always a
    pair.
    """
    if len(old) == len(new) == 1:
        return [(0, 0)]
    best: list[list[tuple[float, list[tuple[int, int]]]]] = [
        [(0.0, [])] * (len(new) + 1) for _ in range(len(old) + 1)
    ]
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
