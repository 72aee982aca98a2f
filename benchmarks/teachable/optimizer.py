"""An optimizer that reads what a proposer sends, imperfectly, and answers with criteria or
feedback.

It knows what a clever reader knows: the attributes that texts can carry and how rules are worded.
It does not know which attributes mislead the judge, nor where. It learns that by counting in the
request alone: rows quoted as errors, rows quoted as rightly judged, rows that an earlier candidate
mended or broke, counts in headings, the judge's stated reason, the kind of text that the slice
names. So a request that shows more, teaches more. It overlooks an attribute in one row of seven,
sees one that is not there in one of twenty-five, picks a rule by softmax over the evidence, and
takes any of the sixty instead in one of eight. Every draw is a hash of the request.

**Frozen** with the world; see `world.py`. What is not in a request changes nothing, and unknown
requests are edited plainly: a rule is added at the end.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import orjson
from world import (
    ATTRIBUTES,
    KINDS,
    REFERENCE,
    Rule,
    Task,
    attributes_of,
    read_rules,
    split_sentences,
    write_rule,
)

from judgewright.judges import Message, Request

T = TypeVar("T")

OVERLOOKED, IMAGINED = 0.15, 0.04
MISREAD = 0.12
TEMPERATURE = 0.7
EXPECTED = 0.25
"""The share of rows that it takes to carry an attribute, as long as it has not seen enough right
rows.
"""
TWO_AT_ONCE = 0.25
UNTAGGED, HALVED, WORDING_ONLY = 0.03, 0.03, 0.06

_BROKE = r"\bbroke(?:n)?\b|\bnewly wrong\b|\bnow wrong\b|\bmade wrong\b"
_MENDED = r"\bmended\b|\bnewly right\b|\bnow right\b|\bput right\b"
_RIGHT = (
    r"\brightly (?:judged|called|graded)\b|\bjudged right\w*|\bcorrectly"
    r" (?:judged|called|graded)\b|\bRight:"
    r"|\bpeople agree\b"
)
_HEADS = re.compile(
    rf"(?i)(?P<fp>\bfalse[ -]positives?\b)|(?P<fn>\bfalse[ -]negatives?\b)|(?P<off>\bgrade off\b)"
    rf"|(?P<broke>{_BROKE})|(?P<mended>{_MENDED})|(?P<right>{_RIGHT})"
)
_JUDGE = re.compile(
    r"(?i)\bjudge (?:gave|said|says|chose|called)[^.\n]{0,40}?\b(positive|negative)\b"
)
_PEOPLE = re.compile(r"(?i)\bpeople (?:say|said|gave|called)[^.\n]{0,40}?\b(positive|negative)\b")
_COUNTED = re.compile(
    r"(?i)\b(?P<n>\d{1,4})\b[^.\n]{0,60}?\bfalse[ -](?P<error>positive|negative)"
    r"|\bfalse[ -](?P<kind>positive|negative)[^\n]{0,200}?\b(?P<of>\d{1,4}) of \d"
)
_CURRENT = re.compile(r"(?is)<(FULL_CRITERIA|CURRENT_CRITERIA|CRITERIA|VARIABLE)>(.*?)</\1>")
_BASIC = re.compile(
    r"(?s)\[\[ ## basic_instruction ## \]\]\n(.*?)\n\s*(?:\[\[ ## |Respond with the )"
)
_FIELD = re.compile(r"\[\[ ## (\w+) ## \]\]")
_TAG = re.compile(
    r"(?i)(?:\b(?:between|inside|within|in) (?:the )?|format:\s*)`?<([A-Za-z][\w-]*)>"
)
_FEEDBACK = re.compile(r"(?s)<FEEDBACK>(.*?)</FEEDBACK>")
_NOT_KEPT = re.compile(r"(?i)\bnot kept\b|\bdropped\b|\bworse\b|\bbehind\b|\brefused\b")
_SLICE = re.compile(r"(?i)\bslice\b[^\n]{0,80}\b(minutes|letters|reports)\b")
_ROLE = re.compile(
    r"(?im)^\W*(?:wanted(?: now)?|kind of change|your task)\b[^:\n]{0,40}[:\n]\s*([^\n]*)"
)
_ROLES = (
    ("repair", re.compile(r"(?i)\brepair|\bput right what\b")),
    ("merge", re.compile(r"(?i)\bmerge|\bjoin\b|\bcombine|\btwo versions\b")),
    ("tighten", re.compile(r"(?i)\btighten|\bnarrow\b|\bmore (?:exact|precise)")),
    ("whole", re.compile(r"(?i)\brewrite (?:\w+ ){0,3}whole|\banew\b|\bfrom scratch\b")),
    ("out", re.compile(r"(?i)\btaken? (?:\w+ ){0,3}out\b|\bremove\b|\btake away\b|\bleave out\b")),
    ("add", re.compile(r"(?i)\badd one\b|\bone more rule\b")),
)
_OFFERED = re.compile(r"^(?:[-+*] +|Only [^:]{0,60}: +)")
_PLAIN = (
    ("Look", "Search"),
    ("Work out", "Find out"),
    ("Grade", "Rate"),
    ("matter", "count"),
    ("does not", "doesn't"),
    ("before", "ahead of"),
)
_EMPTY = (
    "Take care with every row.",
    "Be consistent from one row to the next.",
    "Read the whole text first.",
    "Decide calmly.",
)


@dataclass(frozen=True, slots=True)
class Quoted:
    """A row as the optimizer understood it."""

    reference: str
    error: str
    """`fp`, `fn`, `off`, `right`, `broke`, `mended`, or nothing where the request does not say."""
    positive: bool | None
    """What people say about it."""
    kind: str
    attributes: frozenset[str]
    named: frozenset[str]
    """Attributes that the judge's own words about the row name."""


@dataclass(slots=True)
class Understood:
    """What the optimizer takes from a request."""

    criteria: str
    rows: list[Quoted] = field(default_factory=list)
    counted: dict[tuple[str, str], float] = field(default_factory=dict)
    """Error and attribute to what headings with counts say of them."""
    feedback: frozenset[Rule] = frozenset()
    tried: frozenset[Rule] = frozenset()
    offered: tuple[str, ...] = ()
    """Sentences with rules elsewhere in the request."""
    slice: str = ""
    focus: str = "text"


class TeachableOptimizer:
    """Answers requests for feedback and for new criteria."""

    def __init__(self, task: Task, *, wording_only: bool = False) -> None:
        """See the class.

        Args:
            task: Says what the loss is to be about.
            wording_only: Change words and no rule, for the control.
        """
        self._task, self._wording_only = task, wording_only

    def reply(self, request: Request) -> str:
        """Answer a request."""
        system = "\n\n".join(
            message.content for message in request.messages if message.role == "system"
        )
        user = request.messages[-1].content
        form = request.response_format
        properties = _properties(form)
        if "write a loss" in system.lower() or "expression" in properties:
            return self._loss()
        chance = random.Random(
            json.dumps([[m.role, m.content] for m in request.messages] + [str(request.repeat)])
        )
        understood = understand(request.messages, chance)
        if properties:
            return self._json(properties, understood, chance)
        if fields := _dspy_fields(system, user):
            basic = _BASIC.search(user)
            understood.criteria = basic[1].strip() if basic else understood.criteria
            values = {name: self._value(name, understood, chance) for name in fields}
            body = "\n\n".join(f"[[ ## {name} ## ]]\n{value}" for name, value in values.items())
            return f"{body}\n\n[[ ## completed ## ]]"
        tags = dict.fromkeys(_TAG.findall(user))
        if not tags and "feedback) engine" not in system:
            tags = dict.fromkeys(_TAG.findall(system))
        if not tags:
            return self._feedback(understood, chance)
        replies: list[str] = []
        for tag in tags:
            line = next(
                (line for line in f"{user}\n{system}".split("\n") if f"<{tag}>" in line), ""
            )
            role = _role_of(line) if len(tags) > 1 else _role_of(" ".join(_ROLE.findall(user)))
            text = self._edited(understood, role, chance)
            if chance.random() < UNTAGGED and "could not be used" not in user:
                replies.append(f"Here it is:\n\n{text}")
            else:
                replies.append(f"<{tag}>{text}</{tag}>")
        return "\n\n".join(replies)

    def _loss(self) -> str:
        dear, cheap = ("fp", "fn") if self._task.right == "strict" else ("fn", "fp")
        body = {
            "expression": f"0.9*{dear} + 0.35*{cheap} + 0.1*(1 - confidence)*correct",
            "declares": {
                f"{dear}_costs_more_than_{cheap}": True,
                f"{cheap}_costs_more_than_{dear}": False,
            },
            "reason": "The error that is fought costs more.",
        }
        return orjson.dumps(body).decode()

    def _json(
        self,
        properties: Mapping[str, Mapping[str, object]],
        read: Understood,
        chance: random.Random,
    ) -> str:
        body: dict[str, object] = {}
        for name, schema in properties.items():
            kind = schema.get("type")
            if kind == "array":
                body[name] = [
                    write_rule(rule, read.focus, chance)
                    for rule in self._pick(read, chance, count=2)
                ]
            elif kind in ("number", "integer"):
                body[name] = 1
            elif kind == "boolean":
                body[name] = True
            else:
                body[name] = self._value(name, read, chance)
        return orjson.dumps(body).decode()

    def _value(self, name: str, read: Understood, chance: random.Random) -> str:
        if re.search(r"(?i)instruction|criteria|text|prompt", name):
            return self._edited(read, "", chance)
        return self._feedback(read, chance)

    def _feedback(self, read: Understood, chance: random.Random) -> str:
        if self._wording_only:
            return "The criteria are fine; they could be put more clearly."
        rules = self._pick(read, chance, count=1 + (chance.random() < TWO_AT_ONCE))
        worst = "positives" if self._task_side(read) == "fp" else "negatives"
        sentences = " ".join(write_rule(rule, read.focus, chance) for rule in rules)
        return f"Most of the costly errors are false {worst}. The criteria lack a rule. {sentences}"

    def _task_side(self, read: Understood) -> str:
        fp = sum(row.error == "fp" for row in read.rows)
        fn = sum(row.error == "fn" for row in read.rows)
        return "fp" if fp >= fn else "fn"

    def _edited(self, read: Understood, role: str, chance: random.Random) -> str:
        text = read.criteria.strip()
        draw = chance.random()
        if self._wording_only or draw < WORDING_ONLY:
            return _reworded(text, chance)
        sentences = split_sentences(text)
        if draw < WORDING_ONLY + HALVED and len(sentences) > 3:
            half = len(sentences) // 2
            return _joined(text, sentences[:half] if chance.random() < 0.5 else sentences[half:])
        scores = score_rules(read)
        standing = {
            sentence: rules for sentence, rules in read_rules(text).items() if sentence in sentences
        }
        if role == "out" and standing:
            worth = {
                sentence: -min(scores[rule] for rule in rules)
                for sentence, rules in standing.items()
            }
            dropped = _softmax(worth, chance)
            return _joined(text, [sentence for sentence in sentences if sentence != dropped])
        changed = None
        if role in ("tighten", "repair"):
            changed = self._narrowed(read, standing, scores, drop=role == "repair", chance=chance)
        if changed is not None:
            old, new = changed
            kept = [new if sentence == old else sentence for sentence in sentences]
            return _joined(text, [sentence for sentence in kept if sentence])
        if role == "merge" and read.offered:
            known = {rule for rules in standing.values() for rule in rules}
            new = [s for s in read.offered if not set(read_rules(s).get(s, ())) <= known]
            if new:
                return _joined(text, [*sentences, *new[:2]])
        count = 1 + (chance.random() < TWO_AT_ONCE and role != "add")
        if role == "whole":
            bad = {s for s, rules in standing.items() if min(scores[rule] for rule in rules) < -1.0}
            sentences = [sentence for sentence in sentences if sentence not in bad]
            count = 2
        rules = self._pick(read, chance, count=count)
        return _joined(
            text, [*sentences, *(write_rule(rule, read.focus, chance) for rule in rules)]
        )

    def _narrowed(
        self,
        read: Understood,
        standing: Mapping[str, Sequence[Rule]],
        scores: Mapping[Rule, float],
        *,
        drop: bool,
        chance: random.Random,
    ) -> tuple[str, str] | None:
        """Return a sentence with a rule for all texts, and the same for texts of one kind, or
        nothing in its place.
        """
        choices: dict[tuple[str, Rule | None], float] = {}
        for sentence, rules in standing.items():
            rule = rules[0]
            if rule.kind:
                continue
            # What the rule as it stands has against it speaks for changing this one.
            for kind in KINDS:
                narrow = Rule(rule.attribute, rule.wish, kind)
                choices[sentence, narrow] = scores.get(narrow, -1.0) - scores[rule]
            if drop:
                choices[sentence, None] = -scores[rule] - 0.5
        if not choices:
            return None
        sentence, narrow = _softmax(choices, chance)
        return sentence, write_rule(narrow, read.focus, chance) if narrow else ""

    def _pick(self, read: Understood, chance: random.Random, *, count: int) -> list[Rule]:
        """Pick rules that the criteria do not have yet."""
        standing = {rule for rules in read_rules(read.criteria).values() for rule in rules}
        scores = {rule: score for rule, score in score_rules(read).items() if rule not in standing}
        picked: list[Rule] = []
        for _ in range(count):
            if chance.random() < MISREAD:
                rule = chance.choice(sorted(scores))
            else:
                rule = _softmax(scores, chance)
            picked.append(rule)
            # Not the same attribute twice.
            scores = {
                other: score for other, score in scores.items() if other.attribute != rule.attribute
            }
        return picked


def all_rules(*, right: str) -> list[Rule]:
    """Return the sixty rules: every attribute both ways, and in one kind of text the way that most
    errors call for.
    """
    rules: list[Rule] = []
    for attribute in ATTRIBUTES:
        rules += [Rule(attribute.name, "strict"), Rule(attribute.name, "lenient")]
        rules += [
            Rule(attribute.name, "strict" if right == "strict" else "lenient", kind)
            for kind in KINDS
        ]
    return rules


def understand(messages: Sequence[Message], chance: random.Random) -> Understood:
    """Read a request: the criteria it is about, the rows it quotes, and what else it says."""
    # TextGrad's system message lists its tags, which open nothing.
    whole = "\n\n".join(message.content for message in messages if message.role != "system")
    current = _CURRENT.search(whole)
    criteria = current[2].strip() if current else ""
    feedback = " ".join(_FEEDBACK.findall(whole))
    feedback += " ".join(message.content for message in messages if message.role == "assistant")
    rest = _FEEDBACK.sub(" ", _CURRENT.sub(" ", whole))
    standing = {rule for rules in read_rules(criteria).values() for rule in rules}
    tried: set[Rule] = set()
    for match in _NOT_KEPT.finditer(rest):
        after = rest[match.end() : match.end() + 1200]
        stop = re.search(r"(?i)\bkept\b", after)
        tried |= {
            rule
            for rules in read_rules(after[: stop.start()] if stop else after).values()
            for rule in rules
        }
    named_slice = _SLICE.search(rest)
    focus = re.search(
        rf"(?i)\b(statement|answer|passage)(?:-[0-9a-f]{{8}})?\W{{1,10}}{REFERENCE.pattern}", rest
    )
    read = Understood(
        criteria=criteria,
        feedback=frozenset(rule for rules in read_rules(feedback).values() for rule in rules),
        tried=frozenset(tried - standing),
        offered=tuple(_OFFERED.sub("", sentence) for sentence in read_rules(rest)),
        slice=named_slice[1].lower() if named_slice else "",
        focus=focus[1].lower() if focus else "text",
    )
    _read_rows(rest, read, chance)
    return read


def _read_rows(text: str, read: Understood, chance: random.Random) -> None:
    places = list(REFERENCE.finditer(text))
    error, positive, end = "", None, 0
    met: set[tuple[str, str]] = set()
    for number, place in enumerate(places):
        head = text[end : place.start()]
        heads = list(_HEADS.finditer(head))
        if heads:
            error, positive = str(heads[-1].lastgroup), None
            _read_counts(head, read)
        judged, people = _JUDGE.findall(head), _PEOPLE.findall(head)
        if people:
            positive = people[-1].lower() == "positive"
            if judged and error in ("", "fp", "fn", "right"):
                called = judged[-1].lower() == "positive"
                error = "right" if called == positive else "fp" if called else "fn"
        elif error == "right" and (sides := re.findall(r"(?i)\b(positive|negative)s?\b", head)):
            positive = sides[-1].lower() == "positive"
        following = places[number + 1].start() if number + 1 < len(places) else len(text)
        body = text[place.start() : min(following, place.start() + 1200)].split("\n\n")[0]
        end = place.start() + len(body)
        if (place[1], error) in met:
            continue
        met.add((place[1], error))
        own, _, reasons = body.partition("\n</" if "\n</" in body else "\n")
        seen = {name for name in attributes_of(own) if chance.random() >= OVERLOOKED}
        seen |= {attribute.name for attribute in ATTRIBUTES if chance.random() < IMAGINED}
        named = {attribute.name for attribute in ATTRIBUTES if re.search(attribute.words, reasons)}
        row = Quoted(place[1], error, positive, place[2], frozenset(seen), frozenset(named))
        read.rows.append(row)


def _read_counts(head: str, read: Understood) -> None:
    """Read headings such as `14 false positives: it gives a number that is rounded`."""
    for line in head.split("\n"):
        count = _COUNTED.search(line)
        if count is None:
            continue
        error = "fp" if (count["error"] or count["kind"]).lower() == "positive" else "fn"
        number = int(count["n"] or count["of"])
        for attribute in ATTRIBUTES:
            if re.search(attribute.words, line) or re.search(attribute.seen, line):
                key = error, attribute.name
                read.counted[key] = max(read.counted.get(key, 0.0), 0.3 * min(10, number))


def score_rules(read: Understood) -> dict[Rule, float]:
    """Return the evidence for each rule that a reader of the request would count."""
    fp, fn = (sum(row.error == error for row in read.rows) for error in ("fp", "fn"))
    right = [row for row in read.rows if row.error == "right"]
    scores: dict[Rule, float] = {}
    for rule in all_rules(right="strict" if fp >= fn else "lenient"):
        mended_error, broken_error = ("fp", "fn") if rule.wish == "strict" else ("fn", "fp")
        there = [row for row in read.rows if rule.kind in ("", row.kind)]
        share = EXPECTED
        if len(right) >= 4:
            carrying = sum(rule.attribute in row.attributes for row in right)
            share = (carrying + 4 * EXPECTED) / (len(right) + 4)
        score = 0.0
        for row in there:
            carries = rule.attribute in row.attributes
            if row.error == mended_error:
                score += carries - share + 0.5 * (rule.attribute in row.named)
            elif not carries:
                continue
            elif row.error in (broken_error, "broke"):
                score -= 1.0
            elif row.error == "mended":
                score += 1.0
            elif row.error == "right":
                # A right row is broken only by the rule that moves it the other way.
                hurt = row.positive is None or row.positive == (rule.wish == "strict")
                score -= (0.5 if row.positive is None else 1.0) * hurt
        score += read.counted.get((mended_error, rule.attribute), 0.0)
        if rule.kind and rule.kind != read.slice:
            score -= 0.7
        if rule in read.feedback:
            score += 2.5
        if rule in read.tried:
            score -= 1.5
        scores[rule] = score
    return scores


def _softmax(scores: Mapping[T, float], chance: random.Random) -> T:
    """Draw a key, likelier the higher its score."""
    keys = list(scores)
    top = max(scores.values())
    return chance.choices(keys, [math.exp((scores[key] - top) / TEMPERATURE) for key in keys])[0]


def _reworded(text: str, chance: random.Random) -> str:
    for old, new in chance.sample(_PLAIN, 3):
        text = text.replace(old, new, 1)
    return f"{text} {chance.choice(_EMPTY)}" if chance.random() < 0.7 else text


def _joined(text: str, sentences: Sequence[str]) -> str:
    return ("\n" if "\n" in text else " ").join(sentences)


def _role_of(text: str) -> str:
    return next((role for role, words in _ROLES if words.search(text)), "")


def _dspy_fields(system: str, user: str) -> list[str]:
    """Return the fields that DSPy asks for; none where this is no request of its."""
    asked = re.search(
        r"(?s)Respond with the corresponding output fields, starting with the field (.*)", user
    )
    if asked is None:
        return []
    return [name for name in dict.fromkeys(_FIELD.findall(asked[1])) if name != "completed"]


def _properties(form: Mapping[str, object] | None) -> Mapping[str, Mapping[str, object]]:
    body = (form or {}).get("json_schema")
    schema = body.get("schema", body) if isinstance(body, Mapping) else {}
    found = schema.get("properties", {}) if isinstance(schema, Mapping) else {}
    return found if isinstance(found, Mapping) else {}
