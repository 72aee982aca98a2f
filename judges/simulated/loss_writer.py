"""Write a loss as a simulated model would: an objective in words to an expression in the loss
language, as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import orjson

from .fields import FieldFinder
from .prompt import properties_of
from .rules import Rules, draw

Side = Literal["fp", "fn", "even"]

_OBJECTIVE = re.compile(r"(?im)^[ \t*#]*objective\b[^:\n]{0,40}:[ \t]*(.+)$")
_MUST_DECLARE = re.compile(r"(?i)\bmust declare\W+(\w+)")
_REFUSED = re.compile(
    r"(?i)\b(?:earlier|last|previous)"
    r" (?:answers?|repl(?:y|ies)|loss(?:es)?)\b[^.\n]{0,30}\b(?:refused|rejected)"
)
_SLICE = re.compile(r"in_slice\('([^']{1,80})'\)")
_CLASSES = re.compile(r"(?m)^Classes: ")
_DEARER = re.compile(
    r"(?m)^The loss must charge more for a wrong row with ((?:label|verdict) == .+)\.$"
)
_BOUND = re.compile(r"\d|\blos|\bkeep|\bwithout\b|\bsacrific")
_CLAUSE = re.compile(r"[.;!?,]\s+|\bbut\b|\bwhile\b|(?=\bwithout\b)")


def asks_for_loss(system: str, response_format: Mapping[str, Any] | None) -> bool:
    """Whether a request wants a loss: it says so, or its reply schema has an `expression`."""
    return "write a loss" in system.lower() or "expression" in (
        properties_of(response_format) or {}
    )


class LossWriter:
    """Answers requests for a loss; a first answer is sometimes outside the rules."""

    def __init__(self, rules: Rules, finder: FieldFinder) -> None:
        self._rules, self._finder = rules.losses, finder

    def write(
        self,
        user: str,
        seed: str,
        *,
        again: bool = False,
        response_format: Mapping[str, Any] | None = None,
    ) -> str:
        """Return the JSON reply.

        Args:
            user: The last user message.
            seed: What the draws depend on.
            again: Whether this follows an earlier answer in the same conversation.
            response_format: The reply schema, for the names of the declarations.
        """
        # Among classes there are no two kinds of error.
        side: Side = "even" if _CLASSES.search(user) else self.side(user)
        again = again or _REFUSED.search(user) is not None
        if not again and draw(seed, "invalid") < self._rules.invalid_share:
            expression = _pick(self._rules.invalid, seed, "invalid text")
        else:
            expression = self._expression(side, user, seed)
        schema = (properties_of(response_format) or {}).get("declares", {})
        names = list(schema.get("properties", {})) or [
            "fp_costs_more_than_fn",
            "fn_costs_more_than_fp",
        ]
        body = {
            "expression": expression,
            "declares": {name: side != "even" and name.lower().startswith(side) for name in names},
            "reason": self._rules.reasons[side],
        }
        return orjson.dumps(body).decode()

    def side(self, user: str) -> Side:
        """Tell which error an objective wants to be dearer; what stands in a guard does not
        count.
        """
        must = _MUST_DECLARE.search(user)
        if must:
            return "fp" if must[1].lower().startswith(("fp", "false_p")) else "fn"
        fp = fn = 0
        for clause in _CLAUSE.split(self._objective(user)):
            # "Without losing recall" is a guard: it says nothing about which error is dearer.
            if self._rules.guards.search(clause) and _BOUND.search(clause):
                continue
            fp += any(cue.search(clause) for cue in self._rules.cues.fp)
            fn += any(cue.search(clause) for cue in self._rules.cues.fn)
        if fp == fn:
            return "even"
        return "fp" if fp > fn else "fn"

    def _objective(self, user: str) -> str:
        """Return the objective in its fence, else behind its heading, else all of the message."""
        for block in self._finder.fences(user):
            if "objective" in block.name and block.text:
                return block.text
        heading = _OBJECTIVE.search(user)
        return heading[1] if heading else user

    def _expression(self, side: Side, user: str, seed: str) -> str:
        if _CLASSES.search(user):
            dearer = _DEARER.search(user)
            return (
                f"(0.9 if {dearer[1]} else 0.4) * (1 - correct)"
                if dearer
                else "0.9 * (1 - correct)"
            )
        choices = {"fp": self._rules.fp, "fn": self._rules.fn, "even": self._rules.even}[side]
        expression = _pick(choices, seed, "expression")
        named = _SLICE.search(user)
        if named and named[1] != "name" and draw(seed, "slice") < 0.5:
            return f"({expression}) * (1 if in_slice('{named[1]}') else 0.7)"
        return expression


def _pick(choices: list[str], seed: str, use: str) -> str:
    return choices[int(draw(seed, use) * len(choices))]
