"""The optimizer side, second half: writing new criteria, most often better, sometimes worse.

The edits a real optimizer makes are imitated with fixed shares: one added sentence that follows the
feedback, a harmless rewording, half of the text lost, a contradiction, a quoted row, a placeholder that
does not exist, an answer without the tags.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from .critic import Critic, Diagnosis
from .fields import FieldFinder
from .prompt import PromptReader
from .rules import Rules, draw

T = TypeVar("T")

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_NAMED_TAGS = re.compile(r"(?is)\b(?:between|inside|within|in|format:?)\s+(?:the )?`?<([A-Za-z][\w-]*)>")
_WORD_LIMIT = re.compile(r"(?i)\b(?:under|at most|no more than|fewer than|below|up to)\s+(\d{2,4})\s+words\b")
_REJECTED = re.compile(
    r"(?i)\b(?:last|previous) (?:answer|reply)\b[^.\n]{0,40}\b(?:could not|rejected|refused|not be used)"
)
_CURRENT = ("FULL_CRITERIA", "CURRENT_CRITERIA", "CRITERIA", "VARIABLE")


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRequest:
    """What an optimizer request asks for."""

    criteria: str
    feedback: str
    past: str
    tag: str
    rejected: bool
    """Whether an earlier reply to the same request could not be used."""
    limit: int | None
    """Words the new text may have, where the request says so."""


class Writer:
    """Answers requests for new criteria."""

    def __init__(self, rules: Rules, critic: Critic, finder: FieldFinder, prompts: PromptReader) -> None:
        self._rules, self._critic, self._finder, self._prompts = rules, critic, finder, prompts

    def rewrite(self, system: str, user: str, seed: str) -> str:
        """Return the reply to a request for a new text."""
        asked = self._read(system, user)
        found = self._critic.diagnose(user, asked.criteria)
        text = self._edited(asked, found, seed)
        if draw(seed, "tags") < self._rules.edits.no_tags and not asked.rejected:
            return f"Here is an improved version of the criteria:\n\n{text}"
        return f"<{asked.tag}>{text}</{asked.tag}>"

    def instruct(self, criteria: str, seed: str) -> str:
        """Return the reply, in DSPy's form, to a request for another instruction that tells of no errors.

        Which kind of error it works against is drawn: nothing in the request says which there are.
        """
        asked = EditRequest(criteria=criteria, feedback="", past="", tag="", rejected=False, limit=None)
        guess = "precision" if draw(seed, "direction") < 0.5 else "recall"
        text = self._edited(asked, self._critic.diagnose(guess, criteria), seed)
        return f"[[ ## proposed_instruction ## ]]\n{text}\n\n[[ ## completed ## ]]"

    def _read(self, system: str, user: str) -> EditRequest:
        named = _NAMED_TAGS.search(system) or _NAMED_TAGS.search(user)
        limit = _WORD_LIMIT.search(f"{user}\n{system}")
        return EditRequest(
            criteria=self.criteria_in(user),
            feedback=" ".join(re.findall(r"(?s)<FEEDBACK>(.*?)</FEEDBACK>", user)),
            past=" ".join(re.findall(r"(?s)<PAST_ITERATIONS>(.*?)</PAST_ITERATIONS>", user)),
            tag=named[1] if named else "IMPROVED_VARIABLE",
            rejected=_REJECTED.search(user) is not None,
            limit=int(limit[1]) if limit else None,
        )

    def criteria_in(self, user: str) -> str:
        """Return the criteria a request quotes; empty where it quotes none."""
        for name in _CURRENT:
            found = re.search(rf"(?is)<{name}>(.*?)</{name}>", user)
            if found and found[1].strip():
                return found[1].strip()
        fenced = next((b.text for b in self._finder.fences(user) if "criteria" in b.name), None)
        if fenced is not None:
            return fenced
        headed = re.search(r"(?is)\b(?:current )?criteria\s*:\s*\n(.*?)(?:\n\s*\n|\Z)", user)
        return headed[1].strip() if headed else ""

    def _edited(self, asked: EditRequest, found: Diagnosis, seed: str) -> str:
        edits = self._rules.edits
        at = draw(seed, "edit")
        for share, edit in (
            (edits.harmless, self._harmless),
            (edits.drop_half, self._halved),
            (edits.contradict, self._contradicting),
            (edits.quote_row, self._quoting),
            (edits.placeholder, self._with_placeholder),
        ):
            if at < share:
                return edit(asked, found, seed)
            at -= share
        return self._useful(asked, found, seed)

    def _useful(self, asked: EditRequest, found: Diagnosis, seed: str) -> str:
        wanted = self._wanted(asked, found)
        if not wanted:
            return self._harmless(asked, found, seed)
        two = draw(seed, "two") < self._rules.edits.two_at_once
        return self._with(asked, found, wanted[: 2 if two else 1], seed)

    def _wanted(self, asked: EditRequest, found: Diagnosis) -> list[str]:
        """Order directives by what the feedback speaks of, then by the diagnosis; what was tried and dropped last."""
        active, _ = self._prompts.directives(asked.criteria)
        tried, _ = self._prompts.directives(asked.past)
        scores: dict[str, float] = {}
        for name, directive in self._rules.directives.items():
            if active.get(name, 0.0) > 0 or not directive.wordings:
                continue
            spoken = sum(cue.search(asked.feedback) is not None for cue in directive.cues)
            # Without feedback the diagnosis decides, its likeliest cause first.
            guess = 0.5 - 0.1 * found.causes.index(name) if name in found.causes and not asked.feedback else 0.0
            if spoken or guess:
                scores[name] = spoken + guess - 1.5 * (tried.get(name, 0.0) > 0)
        ranked = sorted(scores, key=lambda name: (-scores[name], name))
        return ranked or list(found.causes[:1] if "no further change" not in asked.feedback else ())

    def _with(self, asked: EditRequest, found: Diagnosis, names: Sequence[str], seed: str) -> str:
        added = [self._sentence(found, name, seed) for name in names]
        text = asked.criteria.strip()
        ends = [end.start() for end in _SENTENCE_END.finditer(text)]
        words = len(f"{text} {' '.join(added)}".split())
        if asked.limit and words > asked.limit:
            added = added[:1]
            text = text[: ends[-1]] if ends else ""
        if ends and draw(seed, "place") < self._rules.edits.in_front:
            return f"{text[: ends[0]]} {' '.join(added)}{text[ends[0] :]}"
        # A line of its own where the text has lines, so that the diff shows the added words alone.
        return f"{text}{chr(10) if chr(10) in text else ' '}{' '.join(added)}".strip()

    def _sentence(self, found: Diagnosis, name: str, seed: str) -> str:
        wordings = self._rules.directives[name].wordings
        return self._critic.worded(found.task, wordings[int(draw(seed, "wording", name) * len(wordings))])

    def _harmless(self, asked: EditRequest, found: Diagnosis, seed: str) -> str:
        old, new = self._choose(self._rules.edits.synonyms, seed, "synonym")
        text = re.sub(rf"\b{old}\b", new, asked.criteria, count=1)
        return f"{text} {self._choose(self._rules.edits.harmless_sentences, seed, 'harmless')}".strip()

    def _halved(self, asked: EditRequest, found: Diagnosis, seed: str) -> str:
        text = asked.criteria
        ends = [end.start() for end in _SENTENCE_END.finditer(text)]
        if not ends:
            return text
        middle = ends[len(ends) // 2]
        return text[:middle] if draw(seed, "half") < 0.5 else text[middle:].lstrip()

    def _contradicting(self, asked: EditRequest, found: Diagnosis, seed: str) -> str:
        named = [n for n in found.causes if self._rules.directives[n].against]
        active = [n for n in self._prompts.directives(asked.criteria)[0] if self._rules.directives[n].against]
        names = sorted({*named, *active}) or ["strict"]
        against = self._rules.directives[self._choose(names, seed, "against whom")].against
        return f"{asked.criteria} {self._critic.worded(found.task, self._choose(against, seed, 'against'))}".strip()

    def _quoting(self, asked: EditRequest, found: Diagnosis, seed: str) -> str:
        if not found.rows:
            return self._useful(asked, found, seed)
        row = self._choose(found.rows, seed, "quoted row")
        grade = "low" if row.error == "fp" else "high"
        text = " ".join(row.focus.split()[:24])
        return f'{asked.criteria} For instance, "{text}" must be graded {grade}.'

    def _with_placeholder(self, asked: EditRequest, found: Diagnosis, seed: str) -> str:
        name = self._choose(self._rules.edits.placeholders, seed, "placeholder")
        return f"{self._useful(asked, found, seed)} Compare it with {name}."

    def _choose(self, choices: Sequence[T], seed: str, use: str) -> T:
        return choices[int(draw(seed, use) * len(choices))]
