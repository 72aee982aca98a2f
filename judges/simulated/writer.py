"""Write new criteria as a simulated optimizer would: most often better, sometimes worse.

The edits a real optimizer makes are imitated with fixed shares: one added sentence that follows the
feedback, a harmless rewording, half of the text lost, a contradiction, a quoted row, a placeholder
that does not exist, an answer without the tags.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .critic import Critic, Diagnosis
from .prompt import PromptReader
from .rules import Rules, draw, pick

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_NAMED_TAGS = re.compile(
    r"(?is)\b(?:between|inside|within|in|format:?)\s+(?:the )?`?<([A-Za-z][\w-]*)>"
)
_ANCHORS_TOO = re.compile(r"(?s)(?<=</CRITERIA>\n\n)<ANCHORS>.*?</ANCHORS>")
"""The anchors behind the criteria, where both are asked for in one answer; they stay."""
_CURRENT = ("ANCHORS", "CURRENT_CRITERIA", "CRITERIA", "VARIABLE")


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRequest:
    """What an optimizer request asks for."""

    criteria: str
    feedback: str = ""
    past: str = ""
    """Earlier texts of the criteria."""


class Writer:
    """Answers requests for new criteria."""

    def __init__(self, rules: Rules, critic: Critic, prompts: PromptReader) -> None:
        self._rules, self._critic, self._prompts = rules, critic, prompts

    def rewrite(self, system: str, user: str, seed: str) -> str:
        """Return the reply to a request for a new text."""
        request = EditRequest(
            criteria=self.criteria_in(user),
            feedback=" ".join(re.findall(r"(?s)<FEEDBACK>(.*?)</FEEDBACK>", user)),
            past=" ".join(re.findall(r"(?s)<PAST_ITERATIONS>(.*?)</PAST_ITERATIONS>", user)),
        )
        diagnosis = self._critic.diagnose(user, request.criteria)
        text = self._edited(request, diagnosis, seed)
        if anchors := _ANCHORS_TOO.search(user):
            text = f"<CRITERIA>\n{text}\n</CRITERIA>\n\n{anchors[0]}"
        if draw(seed, "tags") < self._rules.edits.shares["no_tags"]:
            return f"Here is an improved version of the criteria:\n\n{text}"
        named = _NAMED_TAGS.search(system)
        tag = named[1] if named else "IMPROVED_VARIABLE"
        return f"<{tag}>{text}</{tag}>"

    def instruct(self, criteria: str, seed: str) -> str:
        """Return the reply, in DSPy's form, to a request for another instruction that tells of no
        errors.

        Which kind of error it works against is drawn: nothing in the request says which there are.
        """
        request = EditRequest(criteria=criteria)
        guess = "precision" if draw(seed, "direction") < 0.5 else "recall"
        text = self._edited(request, self._critic.diagnose(guess, criteria), seed)
        return f"[[ ## proposed_instruction ## ]]\n{text}\n\n[[ ## completed ## ]]"

    def criteria_in(self, user: str) -> str:
        """Return the criteria a request quotes; empty where it quotes none."""
        both = _ANCHORS_TOO.search(user)
        for name in ("CRITERIA",) if both else _CURRENT:
            match = re.search(rf"(?is)<{name}>(.*?)</{name}>", user)
            if match and match[1].strip():
                return match[1].strip()
        return ""

    def _edited(self, request: EditRequest, diagnosis: Diagnosis, seed: str) -> str:
        edits = self._rules.edits
        # One draw decides: each kind of edit has its share of [0, 1), and the rest is a useful one.
        at = draw(seed, "edit")
        for share, edit in (
            (edits.shares["harmless"], self._harmless),
            (edits.shares["drop_half"], self._halved),
            (edits.shares["contradict"], self._contradicting),
            (edits.shares["quote_row"], self._quoting),
            (edits.shares["placeholder"], self._with_placeholder),
        ):
            if at < share:
                return edit(request, diagnosis, seed)
            at -= share
        return self._useful(request, diagnosis, seed)

    def _useful(self, request: EditRequest, diagnosis: Diagnosis, seed: str) -> str:
        names = self._ranked_directives(request, diagnosis)
        if not names:
            return self._harmless(request, diagnosis, seed)
        count = 2 if draw(seed, "two") < self._rules.edits.shares["two_at_once"] else 1
        return self._with_directives(request, diagnosis, names[:count], seed)

    def _ranked_directives(self, request: EditRequest, diagnosis: Diagnosis) -> list[str]:
        """Order directives by what the feedback speaks of, then by the diagnosis; what was tried
        and dropped last.
        """
        active, _ = self._prompts.directives(request.criteria)
        past, _ = self._prompts.directives(request.past)
        scores: dict[str, float] = {}
        for name, directive in self._rules.directives.items():
            if active.get(name, 0.0) > 0 or not directive.wordings:
                continue
            found = (re.search(cue, request.feedback, re.IGNORECASE) for cue in directive.cues)
            score = float(sum(match is not None for match in found))
            # Without feedback the diagnosis decides, its likeliest cause first.
            if not request.feedback and name in diagnosis.causes:
                score += 0.5 - 0.1 * diagnosis.causes.index(name)
            if not score:
                continue
            if past.get(name, 0.0) > 0:
                score -= 1.5
            scores[name] = score
        if not scores and "no further change" not in request.feedback:
            return list(diagnosis.causes[:1])
        return sorted(scores, key=lambda name: (-scores[name], name))

    def _with_directives(
        self, request: EditRequest, diagnosis: Diagnosis, names: Sequence[str], seed: str
    ) -> str:
        added = []
        for name in names:
            wording = pick(self._rules.directives[name].wordings, seed, "wording", name)
            added.append(self._critic.worded(diagnosis.task, wording))
        text = request.criteria.strip()
        ends = [end.start() for end in _SENTENCE_END.finditer(text)]
        if ends and draw(seed, "place") < self._rules.edits.shares["in_front"]:
            return f"{text[: ends[0]]} {' '.join(added)}{text[ends[0] :]}"
        # A line of its own where the text has lines, so that the diff shows the added words alone.
        space = "\n" if "\n" in text else " "
        return f"{text}{space}{' '.join(added)}".strip()

    def _harmless(self, request: EditRequest, diagnosis: Diagnosis, seed: str) -> str:
        old, new = pick(self._rules.edits.synonyms, seed, "synonym")
        text = re.sub(rf"\b{old}\b", new, request.criteria, count=1)
        sentence = pick(self._rules.edits.harmless_sentences, seed, "harmless")
        return f"{text} {sentence}".strip()

    def _halved(self, request: EditRequest, diagnosis: Diagnosis, seed: str) -> str:
        text = request.criteria
        ends = [end.start() for end in _SENTENCE_END.finditer(text)]
        if not ends:
            return text
        middle = ends[len(ends) // 2]
        return text[:middle] if draw(seed, "half") < 0.5 else text[middle:].lstrip()

    def _contradicting(self, request: EditRequest, diagnosis: Diagnosis, seed: str) -> str:
        active, _ = self._prompts.directives(request.criteria)
        opposable = {
            name for name in (*diagnosis.causes, *active) if self._rules.directives[name].against
        }
        name = pick(sorted(opposable) or ["strict"], seed, "against whom")
        opposite = pick(self._rules.directives[name].against, seed, "against")
        return f"{request.criteria} {self._critic.worded(diagnosis.task, opposite)}".strip()

    def _quoting(self, request: EditRequest, diagnosis: Diagnosis, seed: str) -> str:
        if not diagnosis.rows:
            return self._useful(request, diagnosis, seed)
        row = pick(diagnosis.rows, seed, "quoted row")
        grade = "low" if row.error == "fp" else "high"
        text = " ".join(row.focus.split()[:24])
        return f'{request.criteria} For instance, "{text}" must be graded {grade}.'

    def _with_placeholder(self, request: EditRequest, diagnosis: Diagnosis, seed: str) -> str:
        name = pick(self._rules.edits.placeholders, seed, "placeholder")
        return f"{self._useful(request, diagnosis, seed)} Compare it with {name}."
