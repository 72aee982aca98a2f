"""Read the instructions of a judge prompt as the simulated judge does: directives, scale and reply
form.

Everything here depends on the text outside the fences alone, so it is worked out once per prompt
and task. What stands inside a fence never gets here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .rules import Directive, Rules, TaskName, compiled
from .text import FEATURES

Role = Literal["text", "criterion", "evidence", "score", "confidence"]

_CLAUSE = re.compile(r"[.;!?](?:\s+|$)|\n[ \t]*\n|\n(?=[ \t]*(?:[-*•]|\d+[.)])\s)")
_SCALE_SECTION = re.compile(r"(?im)^[ \t#*]*scale\**[ \t]*:\**[ \t]*\n((?:.+\n?)+)")
_ANCHOR = re.compile(r"(?m)^[ \t*-]*([\w .-]{1,40}?)[ \t]*(?::|=)[ \t]*(\S.*)$")
_RANGE = re.compile(
    r"(?i)\b(?:scale|scores?|grades?|rates?|rating|from|between|number|integer|points?)\b[^.\n]{0,40}?"
    r"\b(\d)\s*(?:\.\.+|to|and|through|–|—|-)\s*(\d{1,3})\b"
)
_BINARY = re.compile(r"(?i)\b(?:0 or 1|1 or 0|0/1|1/0)\b")
_YES_NO = re.compile(r"(?i)\byes[\"']?\s*(?:or|/)\s*[\"']?no\b|\bno[\"']?\s*(?:or|/)\s*[\"']?yes\b")
_PROBABILITY = re.compile(
    r"(?i)\b(?:score|grade|answer|verdict)\b\W.{0,60}\bprobability\b|\bscore\b.{0,30}\b0\.0\b"
)
_FAULT = r"(?:hallucinat|toxic|harm|risk|unsupported|invent|made[ -]up|fabricat|contradict)\w*"
_LOW_IS_GOOD = re.compile(
    r"(?i)\blow(?:er)? (?:is|are) (?:the )?(?:good|better|best)\b|\b0(?:\.0+)? is (?:the"
    r" )?(?:good|best)\b"
    rf"|\b1(?:\.0+)?(?: is| means| =|:)\W(?:\w+\W+){{0,3}}?{_FAULT}"
    rf"|\bprobability (?:that|of)\W(?:\w+\W+){{0,8}}?{_FAULT}"
)
_LABEL = re.compile(
    r"(?i)\b(criterion|criteria|supporting"
    r" evidence|evidence|quote|reason(?:ing)?|rationale|explanation|score|grade|"
    r"rating|verdict|answer|label|relevance|confidence)\b[\"'*]*[ \t]*:"
)
_TAG = re.compile(r"<([A-Za-z]\w{0,40})>[^<>\n]{0,40}</\1>")
_QUOTED_KEY = re.compile(r"[\"'`]([A-Za-z_][A-Za-z0-9_ ]{0,40})[\"'`]\s*:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The answers the prompt allows, lowest first; no levels for a probability."""

    levels: tuple[str, ...]
    anchors: Mapping[str, str]
    ordered: bool = True
    """Whether the levels are grades; otherwise they are labels to choose from."""
    low_is_good: bool = False
    """Whether a probability is that of the bad, by the prompt's words."""
    plain: bool = False
    """Whether these are two labels of which neither reads as a no: a choice, where one text is
    routed.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyForm:
    """How the prompt wants the answer: JSON, lines or tags, with names in order; no names where it
    does not say.
    """

    kind: Literal["json", "lines", "tags"]
    names: tuple[tuple[str, Role], ...]
    schema: Mapping[str, Mapping[str, Any]]  # Any: JSON schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Instructions:
    """What a prompt makes of the judge."""

    active: tuple[tuple[str, float], ...]
    """Directives with their strength; negative for a negated one."""
    weights: tuple[float, ...]
    """Per feature, in the order of `FEATURES`."""
    cut: float
    """Added to every cut; above 0 is stricter."""
    noise: float
    """Factor on the noise between repeats and wordings."""
    row_noise: float
    """Factor on the noise bound to the row."""
    scale: Scale
    form: ReplyForm
    text: str
    """What was read, white space normalised; part of the wording noise."""


class PromptReader:
    """Reads the instructions outside the fences."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def directives(self, text: str) -> tuple[dict[str, float], int]:
        """Return the net strength of each directive in a text, and how many pairs of mentions
        contradict each other.
        """
        votes: dict[str, list[int]] = {}
        for part in _CLAUSE.split(text):
            clause = " ".join(part.split())
            if not clause:
                continue
            for name, directive in self._rules.directives.items():
                vote = self._vote(clause, directive)
                if vote:
                    votes.setdefault(name, []).append(vote)
        strengths: dict[str, float] = {}
        contradictions = 0
        for name, directive_votes in votes.items():
            on, off = directive_votes.count(1), directive_votes.count(-1)
            contradictions += min(on, off)
            strength = self._strength(on) - self._strength(off)
            if strength:
                strengths[name] = strength
        if strengths.get("strict", 0.0) > 0 and strengths.get("lenient", 0.0) > 0:
            contradictions += 1
        return strengths, contradictions

    def _strength(self, mentions: int) -> float:
        if mentions == 0:
            return 0.0
        # From the third mention on, saying it again adds nothing.
        return 1.0 + self._rules.attention["repeated"] * min(2, mentions - 1)

    def _vote(self, clause: str, directive: Directive) -> int:
        """Return 1 for a clause that asks for it, -1 for one that asks for the opposite, 0 for
        neither.

        A negation in front turns either around: "do not ignore numbers" asks for them.
        """
        negator = compiled(self._rules.negator)
        for pattern in directive.off:
            if match := compiled(pattern).search(clause):
                return 1 if negator.search(clause[: match.start()]) else -1
        negated = False
        for pattern in directive.on:
            for match in compiled(pattern).finditer(clause):
                if not negator.search(clause[: match.start()]):
                    return 1
                negated = True
        return -1 if negated else 0

    def read(
        self, task: TaskName, system: str, clause: str, schema: Mapping[str, Any] | None
    ) -> Instructions:
        """Read a prompt.

        Args:
            task: What is judged.
            system: The system message.
            clause: The last user message without its fields: the reply clause, and whatever else
                stands there.
            schema: The JSON schema of the reply, where the request has one.
        """
        text = instructions = f"{system}\n{clause}"
        section = _SCALE_SECTION.search(system) or _SCALE_SECTION.search(clause)
        # The descriptions of the grades are no directives: "0: not supported" does not ask for
        # strictness.
        if section:
            instructions = text.replace(section[0], "\n")
            system_only = system.replace(section[0], "\n")
        else:
            system_only = system
        active, contradictions = self.directives(instructions)
        criteria = system_only
        heading = re.search(r"(?im)^[ \t#*]*criteria\**[ \t]*:?\**[ \t]*\n?", system_only)
        if heading is not None:
            criteria = re.split(r"\n\s*\n(?=The fenced blocks )", system_only[heading.end() :])[0]
        criteria = criteria or clause
        attention = self._rules.attention
        words = len(criteria.split())
        judging = len(active.keys() - {"steps", "notice"})
        crowd = 1.0 + attention["per_directive"] * max(0, judging - attention["directives"])
        ramble = max(1.0, words / attention["words"])
        bare = max(0.0, 1.0 - words / attention["bare_words"])
        noise = crowd * ramble * (1.0 + attention["contradiction"] * contradictions)
        thinking = attention["steps"] if active.get("steps", 0.0) > 0 else 0.0
        noise *= 1.0 + attention["bare_noise"] * bare - thinking
        weights, cut = self._weights(task, active, focus=1.0 / (crowd * ramble))
        return Instructions(
            active=tuple(sorted(active.items())),
            weights=weights,
            cut=cut + attention["bare_cut"] * bare,
            noise=noise,
            row_noise=noise**0.75,
            scale=_scale(section[1] if section else "", text, schema),
            form=_form(clause, system, schema),
            text=" ".join(instructions.split()),
        )

    def _weights(
        self, task: TaskName, active: Mapping[str, float], *, focus: float
    ) -> tuple[tuple[float, ...], float]:
        weights: dict[str, float] = dict.fromkeys((*FEATURES, "cut"), 0.0)
        weights.update(self._rules.tasks[task].base)
        for name, strength in active.items():
            # A directive for abstentions is as strong either way: "gets 0" is a rule of its own.
            if strength < 0 and name != "abstention":
                strength *= self._rules.attention["off_share"]
            for feature, delta in self._rules.directives[name].effects.get(task, {}).items():
                weights[feature] += focus * strength * delta
        return tuple(weights[name] for name in FEATURES), weights["cut"]


def properties_of(
    response_format: Mapping[str, Any] | None,
) -> Mapping[str, Mapping[str, Any]] | None:
    """Return the properties of a `json_schema` response format, in order; None where there is
    none.
    """
    schema = (response_format or {}).get("json_schema", {}).get("schema", {})
    return schema.get("properties")


def role_of(name: str) -> Role:
    """Tell from its name what a field of a reply is for."""
    lower = name.lower()
    if "confid" in lower or "certain" in lower:
        return "confidence"
    if re.search(r"score|grade|rating|verdict|label|^answer$|relevan|judg|probab", lower):
        return "score"
    if re.search(r"evidence|quote", lower):
        return "evidence"
    return "criterion" if "criteri" in lower else "text"


def _form(clause: str, system: str, schema: Mapping[str, Mapping[str, Any]] | None) -> ReplyForm:
    if schema is not None:
        return ReplyForm(kind="json", names=tuple(_roles(schema).items()), schema=schema)
    # The first line of a system message names its criteria; "Criteria:" there is no field of a
    # reply.
    rest = system.split("\n", 1)[-1] if "criteria:" in system.lower() else system
    for text in (clause, rest):
        tags: dict[str, Role] = {name: role_of(name) for name in _TAG.findall(text)}
        if "score" in tags.values():
            return ReplyForm(kind="tags", names=tuple(tags.items()), schema={})
        keys: dict[str, Role] = {name: role_of(name) for name in _QUOTED_KEY.findall(text)}
        if "json" in text.lower() and "score" in keys.values():
            return ReplyForm(kind="json", names=tuple(keys.items()), schema={})
        labels: dict[str, Role] = {
            name.capitalize(): role_of(name) for name in _LABEL.findall(text)
        }
        if "score" in labels.values():
            if text is not clause:
                labels.pop("Criteria", None)
            return ReplyForm(kind="lines", names=tuple(labels.items()), schema={})
    return ReplyForm(kind="lines", names=(), schema={})


def _roles(schema: Mapping[str, Mapping[str, Any]]) -> dict[str, Role]:
    """What each field of a reply is for; where no name says which one grades, the only one with
    listed values does.
    """
    roles: dict[str, Role] = {name: role_of(name) for name in schema}
    listed = [name for name, spec in schema.items() if spec.get("enum")]
    if "score" not in roles.values() and len(listed) == 1:
        roles[listed[0]] = "score"
    return roles


def _scale(section: str, text: str, schema: Mapping[str, Mapping[str, Any]] | None) -> Scale:
    """Return the scale that the schema states, else the anchors of the prompt, else its wording;
    0..3 if none does.
    """
    anchors = {name.strip(): description for name, description in _ANCHOR.findall(section)}
    schema = schema or {}
    grading = [spec for name, spec in schema.items() if _roles(schema)[name] == "score"]
    score: Mapping[str, Any] = grading[0] if grading else {}  # Any: JSON schema
    if score.get("enum"):
        return _labelled([str(value) for value in score["enum"]], anchors)
    if score.get("type") in ("integer", "number") and "maximum" in score:
        low, high = int(score.get("minimum", 0)), int(score["maximum"])
        if score["type"] == "number" and (low, high) == (0, 1):
            return Scale(
                levels=(), anchors=anchors, low_is_good=_LOW_IS_GOOD.search(text) is not None
            )
        return Scale(levels=_grades(low, high), anchors=anchors)
    if len(anchors) > 1:
        return _labelled(list(anchors), anchors)
    ranges = [(int(low), int(high)) for low, high in _RANGE.findall(text)]
    ends = next(((low, high) for low, high in ranges if low < high <= 100), None)
    if _PROBABILITY.search(text) or (score.get("type") == "number" and ends in (None, (0, 1))):
        return Scale(levels=(), anchors={}, low_is_good=_LOW_IS_GOOD.search(text) is not None)
    if ends:
        return Scale(levels=_grades(*ends), anchors={})
    if _YES_NO.search(text):
        return Scale(levels=("no", "yes"), anchors={})
    return Scale(levels=_grades(0, 1) if _BINARY.search(text) else _grades(0, 3), anchors={})


def _grades(low: int, high: int) -> tuple[str, ...]:
    return tuple(str(grade) for grade in range(low, high + 1))


def _labelled(values: list[str], anchors: Mapping[str, str]) -> Scale:
    if all(re.fullmatch(r"-?\d+", value) for value in values):
        return Scale(levels=tuple(sorted(values, key=int)), anchors=anchors)
    low = re.compile(r"(?i)^(?:no\b|not\b|un|ir|in|false|fail|0|none|bad)")
    if len(values) == 2:
        first, second = sorted(values, key=lambda v: low.match(v.strip()) is None)
        return Scale(
            levels=(first, second), anchors=anchors, plain=low.match(first.strip()) is None
        )
    return Scale(levels=tuple(values), anchors=anchors, ordered=False)
