"""Read a critique and answer with feedback, as the simulated optimizer does before it writes new
criteria.

It looks at the quoted rows with the eyes of the simulated judge: a false positive whose statement
has a number that the source lacks points to numbers that are not checked, and so on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .fields import fences, pair_of
from .prompt import PromptReader
from .rules import Rules, TaskName, compiled, draw, pick
from .text import Features, Reader

ErrorKind = Literal["fp", "fn"]

_HEADER = re.compile(
    r"(?im)^.*?(?:\b(?P<fp>false[ -]positive|FP)\b|\b(?P<fn>false[ -]negative|FN)\b)"
    r"(?!.*\bfalse[ -](?:posi|nega)tives).*$"
)
_BEHIND = re.compile(r"(?m)^(?:judge's reason: |people's reason: |\[\d+\] )")
_COUNT = r"(\d+)\s+(?:of them\s+)?false[ -]{0}s?|false[ -]{0}s?\s*[:=]\s*(\d+)"
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

    def __init__(self, rules: Rules, reader: Reader, prompts: PromptReader) -> None:
        self._rules, self._reader, self._prompts = rules, reader, prompts
        names = sorted({name for own in rules.fields.values() for name in own}, reverse=True)
        self._heading = re.compile(rf"(?im)^({'|'.join(names)}):[ \t]*\n?")

    def diagnose(self, text: str, criteria: str) -> Diagnosis:
        """Find the likeliest causes in a critique, leaving out what the criteria ask for
        already.
        """
        rows = self._wrong_rows(text, criteria)
        task = rows[0].task if rows else self.task_of(criteria or text)
        fp = sum(row.error == "fp" for row in rows)
        fn = len(rows) - fp
        if fp == fn:
            fp, fn = _first_count("positive", text), _first_count("negative", text)
        if fp == fn:
            fp, fn = len(_TALK["fp"].findall(text)), len(_TALK["fn"].findall(text))
        direction = "fp" if fp >= fn else "fn"
        active, _ = self._prompts.directives(criteria)
        causes = self._causes(task, direction, rows, active)
        return Diagnosis(task=task, direction=direction, causes=causes, rows=tuple(rows))

    def feedback(self, text: str, criteria: str, seed: str) -> str:
        """Answer a request for feedback; about a quarter of the answers are no help."""
        diagnosis = self.diagnose(text, criteria)
        edits = self._rules.edits
        if draw(seed, "useless") < edits.shares["useless_feedback"]:
            if draw(seed, "misguided") >= edits.shares["misguided"]:
                return pick(edits.useless, seed, "useless text")
            others = []
            for name, directive in self._rules.directives.items():
                if directive.feedback and name not in diagnosis.causes:
                    others.append(name)
            return self._feedback_on(pick(others, seed, "other"), diagnosis.task, seed)
        if not diagnosis.causes:
            return (
                "The criteria already say what they need to; no further change follows from these"
                " rows."
            )
        kind = "false positives" if diagnosis.direction == "fp" else "false negatives"
        first, *more = diagnosis.causes
        text = (
            f"Most of the costly errors are {kind}."
            f" {self._feedback_on(first, diagnosis.task, seed)}"
        )
        if more and draw(seed, "second") < 0.5:
            text += f" Besides: {self._feedback_on(more[0], diagnosis.task, seed)}"
        return text

    def task_of(self, text: str) -> TaskName:
        """Guess the task from the words of the criteria."""
        tasks = self._rules.tasks
        for task, rules in tasks.items():
            if rules.cue and compiled(rules.cue).search(text):
                return task
        lower = text.lower()
        counts: dict[TaskName, int] = {}
        for task, rules in tasks.items():
            if rules.cue is None:
                counts[task] = lower.count(rules.ground) + lower.count(rules.focus)
        # "Answer" is in nearly every prompt, so that it takes two to count as one.
        counts["answer_relevance"] += lower.count("answer") // 2
        return max(counts, key=lambda name: counts[name])

    def worded(self, task: TaskName, phrase: str) -> str:
        """Put the task's own words into a phrase of the rules."""
        rules = self._rules.tasks[task]
        return phrase.replace("{focus}", rules.focus).replace("{ground}", rules.ground)

    def _feedback_on(self, cause: str, task: TaskName, seed: str) -> str:
        return self.worded(task, pick(self._rules.directives[cause].feedback, seed, cause))

    def _wrong_rows(self, text: str, criteria: str) -> list[WrongRow]:
        headers = list(_HEADER.finditer(text))
        rows: list[WrongRow] = []
        for i, header in enumerate(headers):
            end = headers[i + 1].start() if i + 1 < len(headers) else len(text)
            fields = self._fields(text[header.end() : end])
            if len(fields) < 2:
                continue
            pair = pair_of(self._rules.fields, fields, criteria)
            if pair is None:
                continue
            error: ErrorKind = "fp" if header["fp"] else "fn"
            features = self._reader.features(pair.task, pair.focus, pair.ground)
            rows.append(WrongRow(error=error, task=pair.task, features=features, focus=pair.focus))
        return rows

    def _fields(self, text: str) -> dict[str, str]:
        """Return the fields of a quoted row: fenced, or each behind its name and a colon."""
        fields: dict[str, str] = {}
        # In one fence with other rows: reasons stand behind a row's texts, and rows behind it.
        own = _BEHIND.split(text)[0]
        headings = list(self._heading.finditer(own))
        ends = [heading.start() for heading in headings[1:]] + [len(own)]
        quoted = [(block.name, block.text) for block in fences(text)] or [
            (heading[1].lower(), own[heading.end() : end].strip())
            for heading, end in zip(headings, ends, strict=False)
        ]
        # What comes after the row's own fields is another row, shown beside it.
        for name, value in quoted:
            fields.setdefault(name, value)
        return fields

    def _causes(
        self,
        task: TaskName,
        direction: ErrorKind,
        rows: Sequence[WrongRow],
        active: Mapping[str, float],
    ) -> tuple[str, ...]:
        mine = [row for row in rows if row.error == direction]
        scores: dict[str, float] = {}
        for name, directive in self._rules.directives.items():
            blame = directive.blame
            if blame is None or blame.error != direction:
                continue
            if active.get(name, 0.0) > 0 or not directive.effects.get(task):
                continue
            with_feature = sum(row.features[blame.feature] > blame.above for row in mine)
            # Half a row is added to either side, so that a single row proves little.
            scores[name] = blame.prior * ((with_feature + 0.5) / (len(mine) + 1.0))
        return tuple(sorted(scores, key=lambda name: (-scores[name], name)))[:3]


def _first_count(kind: str, text: str) -> int:
    match = re.search(_COUNT.format(kind), text, re.IGNORECASE)
    return int(match[1] or match[2]) if match else 0
