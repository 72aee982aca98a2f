"""What a candidate prompt must leave as it is. A candidate that breaks one is refused, never
repaired.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ..judges import JudgePrompt, OutputScale, Row, estimate_tokens
from ..judges.plain_cases import words_of

PHRASE_WORDS = 8
"""A run of this many words shared with a row counts as quoting it."""

ViolationName = Literal[
    "unchanged",
    "empty",
    "placeholder_lost",
    "placeholder_added",
    "template_changed",
    "scale_changed",
    "reply_changed",
    "part_not_editable",
    "token_cap",
    "quotes_row",
    "case_not_training",
    "hidden_characters",
]

_BRACED = re.compile(r"\{\{([^{}]*)\}\}")
_TAGGED = re.compile(r"\{[%#][^{}]*[%#]\}")
# A name as template languages write one; `{"score": 1}` and `{a, b}` are only braces.
_SINGLE = re.compile(r"\$?\{\s*[\w.\[\]]+(?:![rsa])?(?::[^{}\s\"']*)?\s*\}")
_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
# Letters and marks that show nothing, though their category does not say so; variation selectors
# among them.
_BLANK = frozenset(
    [
        *(0x34F, 0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0),
        *(*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)),
    ]
)
_FREE_PARTS = ("system", "criteria", "reply", "cases")


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken invariant: its name in the journal, and a sentence for people."""

    name: ViolationName
    detail: str


class PhraseIndex:
    """The phrases of rows a candidate must not quote: every run of eight words in any input."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._owner: dict[int, str] = {}
        for row in rows:
            for text in row.inputs.values():
                for phrase in _phrases(text):
                    self._owner.setdefault(hash(phrase), row.id)

    def quoted(self, text: str, *, allowed: str = "") -> tuple[str, str] | None:
        """Return (row id, phrase) of the first phrase the text shares with a row and `allowed` does
        not have.
        """
        ignored = set(_phrases(allowed))
        for phrase in _phrases(text):
            if phrase not in ignored and (owner := self._owner.get(hash(phrase))) is not None:
                return owner, " ".join(phrase)
        return None


def _phrases(text: str) -> Iterable[tuple[str, ...]]:
    """Yield every run of eight words; an underscore may stand between words or inside one, so both
    are tried.
    """
    for spelling in dict.fromkeys((text.replace("_", " "), text.replace("_", ""))):
        words = words_of(spelling)
        yield from zip(*(words[i:] for i in range(PHRASE_WORDS)), strict=False)


def token_cap(original: JudgePrompt) -> int:
    """The most tokens a candidate's text may have: twice the original's, and 400 more."""
    return 2 * estimate_tokens(_text(original)) + 400


def check_candidate(
    original: JudgePrompt,
    candidate: JudgePrompt,
    *,
    phrases: PhraseIndex,
    editable: tuple[str, ...] = ("criteria",),
    training: Iterable[Row] = (),
) -> tuple[Violation, ...]:
    """Return every invariant the candidate breaks; an empty tuple means it may be tried.

    One over its cap of tokens is not read further.

    Args:
        original: The prompt the run started from.
        candidate: The proposed prompt.
        phrases: The rows it may not quote (training and validation rows; the holdout is sealed).
        editable: The parts that were allowed to change.
        training: The rows that new cases may be made of; any other row, a sealed one above all, is
            refused.
    """
    tokens, limit = _tokens(candidate, original), token_cap(original)
    if tokens > limit:
        return (Violation("token_cap", f"about {tokens} tokens, the cap is {limit}"),)
    broken: list[Violation] = []
    if candidate.version == original.version:
        broken.append(Violation("unchanged", "the candidate is the same prompt"))
    if not candidate.criteria.strip():
        broken.append(Violation("empty", "the criteria are empty"))
    broken += _placeholders(original, candidate)
    if candidate.template != original.template:
        broken.append(Violation("template_changed", "the user template differs"))
    if changed := _scale_change(original.scale, candidate.scale, editable):
        broken.append(Violation("scale_changed", changed))
    if changed := _reply_change(original, candidate, editable):
        broken.append(Violation("reply_changed", changed))
    for part in _FREE_PARTS:
        if part not in (*editable, "reply") and getattr(candidate, part) != getattr(original, part):
            broken.append(
                Violation(
                    "part_not_editable", f"{part} changed; this run may edit {', '.join(editable)}"
                )
            )
    if quoted := _quoted(original, candidate, phrases):
        broken.append(Violation("quotes_row", f"quotes row {quoted[0]!r}: {quoted[1]!r}"))
    broken += _foreign_cases(original, candidate, training)
    if hidden := sorted(_hidden(_all_text(candidate)) - _hidden(_all_text(original))):
        broken.append(
            Violation(
                "hidden_characters",
                f"has invisible characters {[f'U+{ord(c):04X}' for c in hidden]}",
            )
        )
    return tuple(broken)


def _tokens(candidate: JudgePrompt, original: JudgePrompt) -> int:
    """Estimate the tokens of a candidate's text, and those by which its anchors are longer."""
    anchors = [estimate_tokens(prompt.scale.anchors_text) for prompt in (candidate, original)]
    return estimate_tokens(_text(candidate)) + anchors[0] - anchors[1]


def _foreign_cases(
    original: JudgePrompt, candidate: JudgePrompt, training: Iterable[Row]
) -> list[Violation]:
    old, new = (() if p.cases is None else p.cases.bank.cases for p in (original, candidate))
    known = {tuple(case.inputs[name] for name in candidate.inputs) for case in old}
    added = [tuple(case.inputs[name] for name in candidate.inputs) for case in new]
    added = [inputs for inputs in added if inputs not in known]
    if not added:
        return []
    rows = {tuple(row.inputs.get(name) for name in candidate.inputs) for row in training}
    foreign = sum(inputs not in rows for inputs in added)
    # Which rows they are is not said: one of them may be sealed.
    detail = f"{foreign} of {len(added)} new cases are no training rows"
    return [Violation("case_not_training", detail)] if foreign else []


def _quoted(
    original: JudgePrompt, candidate: JudgePrompt, phrases: PhraseIndex
) -> tuple[str, str] | None:
    """Look for quotations in the texts of a prompt; cases are whole rows, and meant to be."""
    own = "\n".join(
        (candidate.system, candidate.criteria, candidate.scale.anchors_text, candidate.reply)
    )
    return phrases.quoted(own, allowed=_all_text(original))


def _scale_change(old: OutputScale, new: OutputScale, editable: tuple[str, ...]) -> str:
    """Say what is wrong with the candidate's scale; empty where nothing is."""
    if new == old:
        return ""
    if new.levels != old.levels:
        return f"the scale was {old.describe()}, the candidate has {new.describe()}"
    if "anchors" not in editable or not new.same_grades(old):
        return "the anchors or the threshold differ"
    if [*new.anchors] != [*old.anchors]:
        return (
            f"it says of {', '.join(new.anchors) or 'no grade'} what it means, and not of"
            f" {', '.join(old.anchors)}"
        )
    empty = [grade for grade, anchor in new.anchors.items() if not anchor.strip()]
    return f"the anchor of {empty[0]} is empty" if empty else ""


def _reply_change(original: JudgePrompt, candidate: JudgePrompt, editable: tuple[str, ...]) -> str:
    """Say what is wrong with the candidate's reply format; empty where nothing is."""
    if candidate.reply_schema != original.reply_schema:
        return "the fields of the reply differ"
    if candidate.reply == original.reply:
        return ""
    if "reply" not in editable:
        return "the reply format differs"
    lost = [
        name
        for name in original.reply_schema
        if name in original.reply and name not in candidate.reply
    ]
    return f"the reply clause no longer names {', '.join(lost)}" if lost else ""


def _hidden(text: str) -> set[str]:
    hidden = {c for c in set(text) if unicodedata.category(c) in _HIDDEN or ord(c) in _BLANK}
    return hidden - {"\n", "\t"}


def _text(prompt: JudgePrompt) -> str:
    return "\n".join((prompt.system, prompt.criteria, prompt.reply))


def _all_text(prompt: JudgePrompt) -> str:
    return f"{_text(prompt)}\n{prompt.scale.anchors_text}"


def _placeholders(original: JudgePrompt, candidate: JudgePrompt) -> list[Violation]:
    """Compare the placeholders of all free text and the template; a renamed one is both lost and
    added.
    """
    old = _names(original.template + "\n" + _all_text(original))
    new = _names(candidate.template + "\n" + _all_text(candidate))
    lost = [Violation("placeholder_lost", f"{name} is gone") for name in sorted(old - new)]
    added = [Violation("placeholder_added", f"{name} is new") for name in sorted(new - old)]
    return lost + added


def _names(text: str) -> set[str]:
    """Return `{{name}}`, and what other template languages would fill in: `{name}`, `${name}`, `{%
    name %}`.
    """
    names = {f"{{{{{name.strip()}}}}}" for name in _BRACED.findall(text)}
    rest = _BRACED.sub(" ", text)
    return names | set(_TAGGED.findall(rest)) | set(_SINGLE.findall(rest))
