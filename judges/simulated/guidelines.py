"""Distil rules from annotators' reasons, and merge them, as the simulated optimizer does.

A reason becomes the rule whose cues it has: the sentence that the writer would add for such
feedback. A reason in other words becomes none.
"""

from __future__ import annotations

import re

import orjson

from .critic import Critic
from .fields import fences
from .prompt import PromptReader
from .rules import Rules, TaskName, pick
from .writer import Writer

_LINE = re.compile(r"(?m)^\[\d{1,6}\] grade .*?; reason: (.*)$")
_RULE = re.compile(r"(?m)^\[(\d{1,6})\] (.*) \(of (\d+) rows\)$")


class GuidelineWriter:
    """Answers the two requests of the proposer `guidelines`."""

    def __init__(
        self,
        rules: Rules,
        critic: Critic,
        writer: Writer,
        prompts: PromptReader,
    ) -> None:
        self._rules, self._critic, self._writer = rules, critic, writer
        self._prompts = prompts

    def write(self, system: str, user: str, seed: str) -> str | None:
        """Return the reply as JSON; None where the request is neither of the two."""
        opening = system.lstrip().partition(".")[0].lower()
        if opening == "you distil rules from annotators' reasons":
            return _reply(self._distil(user, seed))
        if opening == "you merge rules for an llm judge":
            return _reply(self._merge(user))
        return None

    def _distil(self, user: str, seed: str) -> list[str]:
        task = self._critic.task_of(user.partition("<lines-")[0])
        lines = _LINE.findall(self._field(user, "lines"))
        return [
            self._rule(task, line.partition("; ")[0], f"{seed}\0{i}")
            for i, line in enumerate(lines)
        ]

    def _rule(self, task: TaskName, reason: str, seed: str) -> str:
        """Word the directive that has most of its cues in a reason and does something for the
        task.
        """
        counts: dict[str, int] = {}
        for name, directive in self._rules.directives.items():
            cues = sum(cue.search(reason) is not None for cue in directive.cues)
            if cues and directive.wordings and directive.effects.get(task):
                counts[name] = cues
        if not counts:
            return ""
        name = min(counts, key=lambda name: (-counts[name], name))
        wordings = self._rules.directives[name].wordings
        return self._critic.worded(task, pick(wordings, seed, "rule"))

    def _merge(self, user: str) -> list[str]:
        """Join rules of the same directive; leave out those that the criteria have, and the rarer
        of two opposites.
        """
        present, _ = self._prompts.directives(self._writer.criteria_in(user))
        members: dict[str, list[tuple[int, str, int]]] = {}
        for number, text, rows in _RULE.findall(self._field(user, "rules")):
            strengths, _ = self._prompts.directives(text)
            names = [name for name, strength in strengths.items() if strength > 0]
            if names and present.get(names[0], 0.0) <= 0:
                members.setdefault(names[0], []).append((int(number), text, int(rows)))
        weight = {name: sum(rows for _, _, rows in own) for name, own in members.items()}
        if "strict" in weight and "lenient" in weight:
            members.pop("strict" if weight["strict"] < weight["lenient"] else "lenient")
        merged: list[str] = []
        for name in sorted(members, key=lambda name: (-weight[name], name)):
            own = members[name]
            numbers = ", ".join(str(number) for number, _, _ in own)
            merged.append(f"[{numbers}] {max(own, key=lambda one: one[2])[1]}")
        return merged

    def _field(self, user: str, name: str) -> str:
        # The last one: rows of the brief before it may have a field of that name.
        return next((block.text for block in reversed(fences(user)) if block.name == name), "")


def _reply(rules: list[str]) -> str:
    return orjson.dumps({"rules": rules}).decode()
