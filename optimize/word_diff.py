"""Two versions of a text word by word, as pieces that a page or a terminal colours.

White space is kept: the pieces that are the same or old, put together, are the old text to the
letter, and those that are the same or new the new one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import groupby
from typing import Literal

from ..judges import Case, Cases, JudgePrompt

Kind = Literal["same", "old", "new"]
KINDS: tuple[Kind, ...] = ("same", "old", "new")

MOST_SHARED = 2
"""Words that two changes may share between them and still be told as one; more are shown as kept.
"""
SENTENCE_ENDS = frozenset(".!?…:;。！？")
LONG = 2_000
"""Words from which on the commonest ones no longer start a match, as comparing them all takes too
long.
"""

LISTED = 5
"""Cases of a bank that are shown, and those that came or went."""
CASE_CHARACTERS = 200
"""Of each text of a case that is shown."""

# A word with its inner dots, hyphens and apostrophes, one letter of a script that has no spaces, or
# one sign.
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+(?:[-'’.,][^\W_]+)*|[^\w\s]"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text that both versions have, or only one of them."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartDiff:
    """What changed in one part of a prompt."""

    part: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class _Word:
    """A word behind the white space before it; the last one of a text may be empty."""

    gap: str
    text: str

    def __str__(self) -> str:
        return self.gap + self.text


def diff_words(old: str, new: str) -> tuple[Piece, ...]:
    """Lay two texts side by side by word; no piece is empty, and no two neighbours are of one kind.

    Words are matched first and the white space before them after that, so that a text wrapped anew
    shows as moved line ends and not as new words. A word or two kept by chance within a longer
    rewording are part of it.
    """
    before, after = _words(old), _words(new)
    return _joined(_pieces(before, after))


def diff_prompts(before: JudgePrompt, after: JudgePrompt) -> tuple[PartDiff, ...]:
    """Return what differs between two versions of a judge, part by part; parts that are equal are
    left out.
    """
    old, new = dict(prompt_parts(before)), dict(prompt_parts(after))
    old["cases"], new["cases"] = changed_cases(before, after)
    return tuple(
        PartDiff(part=part, pieces=(diff_cases if part == "cases" else diff_words)(text, new[part]))
        for part, text in old.items()
        if text != new[part]
    )


def prompt_parts(prompt: JudgePrompt) -> tuple[tuple[str, str], ...]:
    """Return each part of a prompt as text, in the order in which a prompt file has them."""
    scale = prompt.scale
    anchors = (f"{grade}: {text}" for grade, text in scale.anchors.items())
    return (
        ("system", prompt.system),
        ("criteria", prompt.criteria),
        ("scale", "\n".join((scale.describe(), *anchors))),
        ("template", prompt.template),
        ("reply", prompt.reply),
        (
            "reply fields",
            "\n".join(f"{name}: {kind}" for name, kind in prompt.reply_schema.items()),
        ),
        ("cases", "" if prompt.cases is None else _cases_text(prompt.cases, frozenset())),
    )


def changed_cases(before: JudgePrompt, after: JudgePrompt) -> tuple[str, str]:
    """Return how each of two judges chooses its decided cases, with those of its bank that the
    other's lacks; both empty where nothing differs.
    """
    if before.cases == after.cases:
        return "", ""
    sides = (before.cases, after.cases)
    banks = [() if side is None else side.bank.cases for side in sides]
    contents = [frozenset(map(_content, bank)) for bank in banks]
    texts = [
        "" if side is None else _cases_text(side, without)
        for side, without in zip(sides, contents[::-1], strict=True)
    ]
    return texts[0], texts[1]


def diff_cases(old: str, new: str) -> tuple[Piece, ...]:
    """Lay two texts of `changed_cases` side by side: how cases are chosen by word, each case
    whole.
    """
    (head, _, went), (new_head, _, came) = (text.partition("\n\n") for text in (old, new))
    ends = [Piece("old", went and f"\n\n{went}"), Piece("new", came and f"\n\n{came}")]
    return (*diff_words(head, new_head), *(piece for piece in ends if piece.text))


def _content(case: Case) -> tuple[object, ...]:
    return (*sorted(case.inputs.items()), case.label, case.reason)


def _cases_text(cases: Cases, without: frozenset[tuple[object, ...]]) -> str:
    """Write how cases are chosen, and the first ones of the bank that are not among others."""
    own = [case for case in cases.bank.cases if _content(case) not in without]
    more = [f"and {len(own) - LISTED:,} more cases"] if len(own) > LISTED else []
    head = f"{cases.describe()} (bank {cases.bank.version})"
    return "\n\n".join([head, *map(_case_text, own[:LISTED]), *more])


def _case_text(case: Case) -> str:
    lines = [f"{name}: {_cut(text)}" for name, text in case.inputs.items()]
    lines.append(f"=> {case.label}")
    return "\n".join([*lines, f"reason: {_cut(case.reason)}"] if case.reason else lines)


def _cut(text: str) -> str:
    return text if len(text) <= CASE_CHARACTERS else f"{text[:CASE_CHARACTERS]}…"


def _words(text: str) -> list[_Word]:
    words, at = [], 0
    for match in _WORD.finditer(text):
        words.append(_Word(text[at : match.start()], match.group()))
        at = match.end()
    return [*words, _Word(text[at:], "")]


@dataclass(slots=True)
class _Block:
    """A stretch of both word lists: words that they share, or words that give way to others."""

    same: bool
    a: int
    b: int
    c: int
    d: int

    @property
    def size(self) -> int:
        return max(self.b - self.a, self.d - self.c)


def _pieces(before: Sequence[_Word], after: Sequence[_Word]) -> Iterator[Piece]:
    old, new = [word.text for word in before], [word.text for word in after]
    matcher = SequenceMatcher(None, old, new, autojunk=max(len(old), len(new)) > LONG)
    blocks = [_Block(tag == "equal", *span) for tag, *span in matcher.get_opcodes()]
    for around in zip(blocks, blocks[1:], blocks[2:], strict=False):
        _slide(*around, old, new)
    for same, run in groupby(_without_confetti(blocks), key=lambda block: block.same):
        span = list(run)
        a, b, c, d = span[0].a, span[-1].b, span[0].c, span[-1].d
        if same:
            for one, other in zip(before[a:b], after[c:d], strict=True):
                yield from _changed(one.gap, other.gap)
                yield Piece("same", one.text)
        else:
            yield from _changed("".join(map(str, before[a:b])), "".join(map(str, after[c:d])))


def _slide(
    before: _Block, block: _Block, right: _Block, old: Sequence[str], new: Sequence[str]
) -> None:
    """Move what was only added, or only removed, to where it is whole sentences, if its ends allow
    that.

    "See the text. Read the text." has one sentence more than "See the text.", rather than " text.
    Read the".
    """
    if block.same or not (before.same and right.same) or (block.a < block.b and block.c < block.d):
        return
    words, start, end = (new, block.c, block.d) if block.a == block.b else (old, block.a, block.b)
    back = next(
        (i for i in range(before.size) if words[start - 1 - i] != words[end - 1 - i]), before.size
    )
    on = next((i for i in range(right.size) if words[start + i] != words[end + i]), right.size)

    def ends(at: int) -> bool:
        return at == 0 or words[at - 1] in SENTENCE_ENDS

    by = max(range(-back, on + 1), key=lambda k: (ends(start + k) + ends(end + k), -abs(k)))
    block.a, block.b, block.c, block.d = block.a + by, block.b + by, block.c + by, block.d + by
    before.b, before.d, right.a, right.c = block.a, block.c, block.b, block.d


def _without_confetti(blocks: Sequence[_Block]) -> Iterator[_Block]:
    """Take a word or two that two longer changes share as changed too."""
    sizes = [block.size for block in blocks]
    for i, block in enumerate(blocks):
        inside = (
            0 < i < len(blocks) - 1
            and sizes[i] <= MOST_SHARED
            and sizes[i] < min(sizes[i - 1], sizes[i + 1])
        )
        yield replace(block, same=block.same and not inside)


def _changed(old: str, new: str) -> Iterator[Piece]:
    """Tell one text from another; the white space that both begin with is kept."""
    shared = 0
    while shared < min(len(old), len(new)) and old[shared] == new[shared] and old[shared].isspace():
        shared += 1
    yield Piece("same", old[:shared])
    yield Piece("old", old[shared:])
    yield Piece("new", new[shared:])


def _joined(pieces: Iterator[Piece]) -> tuple[Piece, ...]:
    """Join neighbours of one kind; between two kept stretches all that goes stands before all that
    comes.
    """
    out: list[Piece] = []
    for _, run in groupby(
        (piece for piece in pieces if piece.text), key=lambda piece: piece.kind == "same"
    ):
        stretch = list(run)
        for kind in KINDS:
            if text := "".join(piece.text for piece in stretch if piece.kind == kind):
                out.append(Piece(kind, text))
    return tuple(out)
