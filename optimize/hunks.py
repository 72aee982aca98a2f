"""The diff of two prompts as hunks that can be taken one by one: a sentence or a demonstration each.

A sentence is added, removed, or reworded where an old and a new one share most of their words. Spacing alone makes
no hunk of its own where the text also changes otherwise: it follows the first hunk of that text that is taken.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from ..judges import Example, InputError, JudgePrompt, PromptError
from ..judges.notebook_display import html_table
from .align import Item, Sentence, Step, align_examples, align_texts, changes

if TYPE_CHECKING:
    import pandas as pd

Part = Literal["system", "criteria", "reply", "examples"]
TEXTS: tuple[Part, ...] = ("system", "criteria", "reply")
Kind = Literal["added", "removed", "reworded", "spacing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One change that can be taken or left."""

    number: int
    """From 1."""
    part: Part
    old: tuple[str, ...]
    """The sentences, or demonstrations, that it takes away."""
    new: tuple[str, ...]
    """Those that it brings."""

    @property
    def kind(self) -> Kind:
        """What it does to the text."""
        if self.old and self.new:
            return "reworded"
        return "added" if self.new else "removed" if self.old else "spacing"

    def __str__(self) -> str:
        lines = [*(f"- {text}" for text in self.old), *(f"+ {text}" for text in self.new)]
        return "\n".join(lines) or "(spacing)"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptDiff:
    """Two prompts and the hunks between them; `compose` puts a choice of them together."""

    before: JudgePrompt
    after: JudgePrompt
    hunks: tuple[Hunk, ...]
    steps: Mapping[Part, tuple[Step, ...]]
    """Each part's items in order, side by side."""

    def __repr__(self) -> str:
        before, after = (f"{side.name}@{side.version}" for side in (self.before, self.after))
        return f"PromptDiff({before} -> {after}, {len(self.hunks)} hunks)"

    def _repr_html_(self) -> str:
        return html_table(self.to_frame(), title=repr(self))

    def to_frame(self) -> pd.DataFrame:
        """Return one line a hunk: its number, part and kind, and the texts it takes away and brings."""
        import pandas as pd

        lines = [(h.number, h.part, h.kind, "\n".join(h.old), "\n".join(h.new)) for h in self.hunks]
        return pd.DataFrame(lines, columns=["number", "part", "kind", "old", "new"])

    @property
    def numbers(self) -> frozenset[int]:
        """Of all hunks."""
        return frozenset(hunk.number for hunk in self.hunks)


def split_hunks(before: JudgePrompt, after: JudgePrompt, *, most: int | None = None) -> PromptDiff:
    """Split the difference of two prompts into hunks.

    Args:
        before, after: Versions of one judge.
        most: Neighbours are joined, those of fewest changes first, until there are no more hunks than this; each
            part that changed keeps one.

    Raises:
        PromptError: They differ in template, scale or reply fields, which cannot be taken in parts.
        InputError: `most` is below 1.
    """
    for part in ("template", "scale", "reply_schema"):
        if getattr(before, part) != getattr(after, part):
            raise PromptError(
                f"{before.name}@{before.version} and {after.name}@{after.version} differ in {part}, which cannot be "
                "taken in parts"
            )
    if most is not None and most < 1:
        raise InputError(f"{most!r} hunks: at least 1")
    aligned: dict[Part, list[Step]] = {}
    for part in TEXTS:
        aligned[part] = align_texts(getattr(before, part), getattr(after, part))
    aligned["examples"] = align_examples(before.examples, after.examples)
    hunks: list[Hunk] = []
    for part, positions in _join({part: changes(steps) for part, steps in aligned.items()}, most):
        steps, number = aligned[part], len(hunks) + 1
        old, new = ([getattr(steps[i], side) for i in positions] for side in ("old", "new"))
        hunks.append(Hunk(number=number, part=part, old=_shown(old), new=_shown(new)))
        for i in positions:
            steps[i] = replace(steps[i], hunk=number)
    whole: dict[Part, tuple[Step, ...]] = {part: tuple(steps) for part, steps in aligned.items()}
    return PromptDiff(before=before, after=after, hunks=tuple(hunks), steps=whole)


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
    items = (_side(step, taken) for step in diff.steps["examples"])
    return replace(composed, examples=tuple(item for item in items if isinstance(item, Example)))


def _side(step: Step, taken: Collection[int]) -> Item | None:
    return step.new if step.hunk == 0 or step.hunk in taken else step.old


def _text(diff: PromptDiff, part: Part, taken: Collection[int]) -> str:
    """Put one text together; untouched or fully changed, it is the given text to the letter."""
    old, new, steps = getattr(diff.before, part), getattr(diff.after, part), diff.steps[part]
    own = {step.hunk for step in steps} - {0}
    if not own.intersection(taken):
        return old
    if own <= set(taken):
        return new
    sentences = [item for step in steps if isinstance(item := _side(step, taken), Sentence)]
    gaps = (side.gap for name in ("new", "old") for step in steps if isinstance(side := getattr(step, name), Sentence))
    usual = next((gap for gap in gaps if gap is not None), " ")
    body = "".join((usual if s.gap is None else s.gap) * (i > 0) + s.text for i, s in enumerate(sentences))
    return new[: len(new) - len(new.lstrip())] + body + new[len(new.rstrip()) :]


def _join(positions: Mapping[Part, list[int]], most: int | None) -> list[tuple[Part, list[int]]]:
    """Return each part's changes: one by one, or neighbours together until no more than `most` are left."""
    groups: list[tuple[Part, list[int]]] = [(part, [i]) for part, changed in positions.items() for i in changed]
    while most is not None and len(groups) > most:
        near = [(len(a) + len(b), i) for i, ((p, a), (q, b)) in enumerate(pairwise(groups)) if p == q]
        if not near:
            break
        _, i = min(near)
        groups[i : i + 2] = [(groups[i][0], groups[i][1] + groups[i + 1][1])]
    return groups


def _shown(items: Collection[Item | None]) -> tuple[str, ...]:
    texts = []
    for item in items:
        if isinstance(item, Sentence):
            texts.append(item.text)
        elif item is not None:
            inputs = "\n".join(f"{name}: {text}" for name, text in item.inputs.items())
            texts.append(f"{inputs}\n=> {item.reply}")
    return tuple(texts)
