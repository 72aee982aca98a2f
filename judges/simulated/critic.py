"""The optimizer side, first half: reading a critique, and saying in words what is wrong with the criteria.

It looks at the quoted rows with the eyes of the simulated judge: a false positive whose statement has a
number that the source lacks points to numbers that are not checked, and so on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .fields import FieldFinder
from .prompt import PromptReader
from .rules import Rules, TaskName, draw
from .text import Features, Reader

ErrorKind = Literal["fp", "fn"]

_HEADER = re.compile(
    r"(?im)^.*?(?:\b(?P<fp>false[ -]positive|FP)\b|\b(?P<fn>false[ -]negative|FN)\b)"
    r"(?!.*\bfalse[ -](?:posi|nega)tives).*$"
)
_COUNTS = {
    "fp": re.compile(r"(?i)(\d+)\s+(?:of them\s+)?false[ -]positives?|false[ -]positives?\s*[:=]\s*(\d+)"),
    "fn": re.compile(r"(?i)(\d+)\s+(?:of them\s+)?false[ -]negatives?|false[ -]negatives?\s*[:=]\s*(\d+)"),
}
_TALK = {
    "fp": re.compile(r"(?i)false[ -]positives?|too (?:lenient|generous)|precision"),
    "fn": re.compile(r"(?i)false[ -]negatives?|too (?:harsh|strict)|recall"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongRow:
    """One quoted row the judge got wrong."""

    error: ErrorKind
    task: TaskName
    features: Features
    focus: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What a critique shows."""

    task: TaskName
    direction: ErrorKind
    causes: tuple[str, ...]
    """Names of directives whose absence would explain the errors, likeliest first."""
    rows: tuple[WrongRow, ...]


class Critic:
    """Reads critiques and writes feedback."""

    def __init__(self, rules: Rules, reader: Reader, finder: FieldFinder, prompts: PromptReader) -> None:
        self._rules, self._reader, self._finder, self._prompts = rules, reader, finder, prompts

    def diagnose(self, text: str, criteria: str) -> Diagnosis:
        """Find the likeliest causes in a critique, leaving out what the criteria ask for already."""
        rows = self._wrong_rows(text, criteria)
        task = rows[0].task if rows else self.task_of(criteria or text)
        direction = _direction(text, rows)
        active, _ = self._prompts.directives(criteria)
        causes = self._causes(task, direction, rows, active)
        return Diagnosis(task=task, direction=direction, causes=causes, rows=tuple(rows))

    def feedback(self, text: str, criteria: str, seed: str) -> str:
        """Answer a request for feedback; about a quarter of the answers are no help."""
        found = self.diagnose(text, criteria)
        edits = self._rules.edits
        if draw(seed, "useless") < edits.useless_feedback:
            if draw(seed, "misguided") >= edits.misguided:
                return _pick(edits.useless, seed, "useless text")
            others = [n for n, d in self._rules.directives.items() if d.feedback and n not in found.causes]
            return self._said(found.task, _pick(others, seed, "other"), seed)
        if not found.causes:
            return "The criteria already say what they need to; no further change follows from these rows."
        kind = "false positives" if found.direction == "fp" else "false negatives"
        said = [self._said(found.task, cause, seed) for cause in found.causes[:2]]
        again = " Besides: " + said[1] if len(said) > 1 and draw(seed, "second") < 0.5 else ""
        return f"Most of the costly errors are {kind}. {said[0]}{again}"

    def task_of(self, text: str) -> TaskName:
        """Guess the task from the words of the criteria."""
        tasks = self._rules.tasks
        for task, rules in tasks.items():
            if rules.cue and rules.cue.search(text):
                return task
        lower = text.lower()
        counts: dict[TaskName, int] = {
            name: lower.count(rules.ground) + lower.count(rules.focus)
            for name, rules in tasks.items()
            if rules.cue is None
        }
        counts["answer_relevance"] += lower.count("answer") // 2
        return max(counts, key=lambda name: counts[name])

    def worded(self, task: TaskName, phrase: str) -> str:
        """Put the task's own words into a phrase of the rules."""
        rules = self._rules.tasks[task]
        return phrase.replace("{focus}", rules.focus).replace("{ground}", rules.ground)

    def _said(self, task: TaskName, cause: str, seed: str) -> str:
        return self.worded(task, _pick(self._rules.directives[cause].feedback, seed, cause))

    def _wrong_rows(self, text: str, criteria: str) -> list[WrongRow]:
        headers = list(_HEADER.finditer(text))
        ends = [*(header.start() for header in headers[1:]), len(text)]
        found = []
        for header, end in zip(headers, ends, strict=False):
            body = text[header.end() : end]
            fields = {b.name: b.text for b in self._finder.blocks(body)}
            pair = self._finder.pair(fields, criteria) if len(fields) > 1 else None
            if pair is None:
                continue
            error: ErrorKind = "fp" if header["fp"] else "fn"
            features = self._reader.features(pair.task, pair.focus, pair.ground)
            found.append(WrongRow(error=error, task=pair.task, features=features, focus=pair.focus))
        return found

    def _causes(
        self, task: TaskName, direction: ErrorKind, rows: Sequence[WrongRow], active: Mapping[str, float]
    ) -> tuple[str, ...]:
        mine = [row for row in rows if row.error == direction]
        scores: dict[str, float] = {}
        for name, directive in self._rules.directives.items():
            blame = directive.blame
            if (
                blame is None
                or blame.error != direction
                or active.get(name, 0.0) > 0
                or not directive.effects.get(task)
            ):
                continue
            shown = sum(row.features[blame.feature] > blame.above for row in mine)
            scores[name] = blame.prior * ((shown + 0.5) / (len(mine) + 1.0))
        return tuple(sorted(scores, key=lambda name: (-scores[name], name)))[:3]


def _direction(text: str, rows: Sequence[WrongRow]) -> ErrorKind:
    """Tell which error prevails: by the quoted rows, else by the counts, else by the words."""
    shown = sum(1 if row.error == "fp" else -1 for row in rows)
    if shown:
        return "fp" if shown > 0 else "fn"
    counts = {kind: next((int(a or b) for a, b in pattern.findall(text)), 0) for kind, pattern in _COUNTS.items()}
    if counts["fp"] != counts["fn"]:
        return "fp" if counts["fp"] > counts["fn"] else "fn"
    return "fp" if len(_TALK["fp"].findall(text)) >= len(_TALK["fn"].findall(text)) else "fn"


def _pick(choices: Sequence[str], seed: str, use: str) -> str:
    return choices[int(draw(seed, use) * len(choices))]
