"""A world in which it is known what a judge gets wrong and which sentences would put it right.

Rows are made-up texts that carry attributes, such as a rounded number or a person named by role, as
plain sentences. There are sixty rules: each of twelve attributes may be graded more strictly or
more leniently, everywhere or in texts of one kind. What a rule does to the judge depends on the
seed: two attributes mislead it everywhere, three in texts of one kind only, so that a rule without
that condition breaks what was right elsewhere; one misleads it the other way, three do not mislead
it though a rule would, and for three no rule changes anything. In the world without slices the
three mislead it everywhere, a little. Nothing here knows what an optimizer, a slice search or a
gate is.

The judge reads the messages it is sent. Its verdict follows from the attributes it sees in the
text, from the rules it sees in the criteria, and from noise that is a hash of row and rule, and of
row and criteria.

**Frozen**: `tests/test_teachable.py` holds the hash of this file. Methods are compared on `OPEN`;
`SEALED` is for one run at the end; `BUILD` is what the world was built with, and no comparison uses
it.

Frozen anew on the first day, before a comparison was finished: the optimizer took TextGrad's list
of tags for feedback, so that it never saw the rows of a step, and the word "broken" in a text for a
row that a candidate had broken.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from statistics import NormalDist
from typing import Literal

from judgewright.judges import BINARY, Dataset, JudgePrompt, Message, OutputScale, Row

BUILD = tuple(range(100, 106))
OPEN = tuple(range(1001, 1025))
SEALED = tuple(range(9001, 9025))
CONTROLS = tuple(range(5001, 5061))
"""Shuffled labels, and edits of wording only."""

Wish = Literal["strict", "lenient"]
KINDS = ("minutes", "letters", "reports")


@dataclass(frozen=True, slots=True)
class Attribute:
    """Something that a text may carry, and the words that rules use for it."""

    name: str
    sentences: tuple[str, str, str]
    """What a text says that carries it."""
    seen: str
    """Regular expression by which a reader sees it in a text."""
    words: str
    """Regular expression by which a reader knows a rule about it."""
    phrases: tuple[str, str]
    """How a rule speaks of it, behind `a text that`."""


ATTRIBUTES: tuple[Attribute, ...] = (
    Attribute(
        "rounded",
        (
            "It puts the figure at about {n}.",
            "Roughly {n} {things} are meant.",
            "The sum came to about {n}.",
        ),
        r"(?i)\b(?:about|roughly) \d",
        r"(?i)\bround(?:ed|s)?\b|\bapproximat",
        ("gives a number that is rounded", "gives an approximate number"),
    ),
    Attribute(
        "condition",
        (
            "This holds in every case.",
            "It applies in every case to the {thing}.",
            "In every case it counts.",
        ),
        r"(?i)\bin every case\b",
        r"(?i)\bconditions?\b|\bproviso",
        ("leaves out a condition", "drops a proviso"),
    ),
    Attribute(
        "role",
        (
            "The treasurer agreed to that.",
            "Its treasurer saw the {thing}.",
            "The chair spoke for the {thing}.",
        ),
        r"(?i)\b(?:treasurer|chair)\b",
        r"(?i)\broles?\b|\bjob title",
        ("names a person by role", "names somebody by job title alone"),
    ),
    Attribute(
        "future",
        (
            "It will begin in {month}.",
            "The {thing} will follow in {month}.",
            "More will come by {month}.",
        ),
        r"(?i)\bwill (?:begin|follow|come)\b",
        r"(?i)\bfuture\b|\byet to (?:happen|come)",
        ("is in the future tense", "speaks of something yet to happen"),
    ),
    Attribute(
        "quotation",
        (
            "One called it 'a {adjective} {thing}'.",
            "Somebody said 'no {thing}'.",
            "The word 'a {adjective} one' fell.",
        ),
        r"'(?:a|no) ",
        r"(?i)\bquot(?:es?|ed|ation)|\bverbatim",
        ("quotes somebody", "repeats words verbatim"),
    ),
    Attribute(
        "comparison",
        (
            "That is more than in {place}.",
            "There was less of it than in {place}.",
            "It is larger than {place}'s.",
        ),
        r"(?i)\bthan (?:in )?[A-Z]",
        r"(?i)\bcompar",
        ("makes a comparison", "compares two things"),
    ),
    Attribute(
        "cause",
        (
            "This was because of the {thing}.",
            "It came about because of a {thing}.",
            "Because of that it was moved.",
        ),
        r"(?i)\bbecause of\b",
        r"(?i)\bcaus(?:e|al|es)\b",
        ("names a cause", "makes a causal link"),
    ),
    Attribute(
        "list",
        (
            "Named are {thing}, {other} and {third}.",
            "There are {thing}, {other} and {third}.",
            "Also {thing}, {other} and {third}.",
        ),
        r"(?i)\b(?:named|there|also) ?(?:are)? \w+, \w+ and \w+",
        r"(?i)\blists?\b|\benumerat",
        ("gives a list", "enumerates things"),
    ),
    Attribute(
        "negation",
        (
            "No part of it concerned the {thing}.",
            "Not a single {thing} was seen.",
            "The {thing} had no part in it.",
        ),
        r"(?i)\bno part\b|\bnot a single\b",
        r"(?i)\bnegati(?:on|ve statement)|\bdenial|\bdenies\b",
        ("contains a negation", "denies something"),
    ),
    Attribute(
        "date",
        ("It dates from {year}.", "The {thing} is from {year}.", "Since {year} it has stood."),
        r"(?i)\b(?:from|since) (?:18|19)\d\d\b",
        r"(?i)\bdates?\b|\bcalendar year",
        ("gives a date", "mentions a calendar year"),
    ),
    Attribute(
        "hedge",
        ("Perhaps the {thing} matters.", "It is perhaps {adjective}.", "Perhaps that will do."),
        r"(?i)\bperhaps\b",
        r"(?i)\bhedg|\btentative",
        ("hedges", "is tentative"),
    ),
    Attribute(
        "address",
        (
            "You may ask for the {thing}.",
            "You will know the {thing}.",
            "You have seen this in {place}.",
        ),
        r"\bYou \w+",
        r"(?i)\bsecond person\b|\baddress(?:es|ing)? the reader",
        ("addresses the reader", "is in the second person"),
    ),
)
BY_NAME = {attribute.name: attribute for attribute in ATTRIBUTES}


@dataclass(frozen=True, slots=True, order=True)
class Rule:
    """One thing that criteria may ask of the judge."""

    attribute: str
    wish: Wish
    kind: str = ""
    """Texts of this kind only; empty for all."""


_VERBS: dict[Wish, tuple[str, str, str]] = {
    "strict": (
        "give the lowest score to a {focus} that {phrase}",
        "a {focus} that {phrase} must not get a high score",
        "never accept a {focus} that {phrase} merely because the rest fits",
    ),
    "lenient": (
        "do not mark down a {focus} because it {phrase}",
        "a {focus} that {phrase} can still get the top score",
        "accept a {focus} even where it {phrase}",
    ),
}
_WHERE = {
    "minutes": ("in minutes of meetings", "where the text is from minutes"),
    "letters": ("in letters", "where the text is a letter"),
    "reports": ("in reports", "where the text is from a report"),
}
_KIND_WORDS = {
    "minutes": r"(?i)\bminutes\b",
    "letters": r"(?i)\bletters?\b",
    "reports": r"(?i)\breports?\b",
}
_NOT_STRICT = re.compile(
    r"(?i)\b(?:not|never|no reason to|without) (?:be )?"
    r"(?:mark\w*|reject\w*|penali\w+|lower\w*|punish\w*|count\w* against)"
)
_STRICT = re.compile(
    r"(?i)\b(?:not|never|cannot) (?:\w+ )?(?:accept\w*|get|give|count|earn|pass|be"
    r" \w+|enough)\b|\blowest\b|\blow score"
    r"|\breject|\bmark\w* \w* ?down\b|\bstrict|\bpenali|\bno support\b|\bfails?\b|\bat most"
    r" [01]\b|\bgets? 0\b"
)
_LENIENT = re.compile(
    r"(?i)\baccept|\bstill\b|\beven (?:where|if|when|though)\b|\btop score|\bfull"
    r" score|\blenient|\bcounts as\b"
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")


def write_rule(rule: Rule, focus: str, choose: random.Random) -> str:
    """Write a rule as a sentence, in one of its wordings."""
    verb = choose.choice(_VERBS[rule.wish])
    text = verb.format(focus=focus, phrase=choose.choice(BY_NAME[rule.attribute].phrases))
    if rule.kind:
        front, behind = _WHERE[rule.kind]
        text = f"{front}, {text}" if choose.random() < 0.5 else f"{text}, {behind}"
    return f"{text[0].upper()}{text[1:]}."


def read_rules(text: str) -> dict[str, tuple[Rule, ...]]:
    """Return the sentences of a text that hold rules, with the rules; a heading's kind of text
    holds below it.
    """
    found: dict[str, tuple[Rule, ...]] = {}
    heading = ""
    for sentence in split_sentences(text):
        kinds = [kind for kind, words in _KIND_WORDS.items() if re.search(words, sentence)]
        if sentence.rstrip(" *#").endswith(":"):
            heading = kinds[0] if kinds else ""
            continue
        attributes = [
            attribute.name for attribute in ATTRIBUTES if re.search(attribute.words, sentence)
        ]
        wish = read_wish(sentence)
        if not attributes or wish is None:
            continue
        where = kinds or [heading]
        found[sentence] = tuple(Rule(name, wish, kind) for name in attributes for kind in where)
    return found


def read_wish(sentence: str) -> Wish | None:
    """Tell whether a sentence asks for lower grades or for higher ones."""
    if _NOT_STRICT.search(sentence):
        return "lenient"
    if _STRICT.search(sentence):
        return "strict"
    return "lenient" if _LENIENT.search(sentence) else None


def split_sentences(text: str) -> list[str]:
    """Split a text at ends of sentences and lines."""
    return [sentence.strip() for sentence in _SENTENCE.split(text) if sentence.strip()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One kind of judge."""

    name: str
    ground: str
    focus: str
    """The field that carries the attributes."""
    prompt: JudgePrompt
    labels: OutputScale
    wish: str
    target: str
    guards: tuple[str, ...]
    right: Wish
    """The rules that mend what most errors are."""


def _prompt(
    name: str, system: str, criteria: str, ground: str, focus: str, scale: OutputScale
) -> JudgePrompt:
    return JudgePrompt(
        name=name,
        system=system,
        criteria=criteria,
        scale=scale,
        template=(
            f"{ground.capitalize()}:\n{{{{{ground}}}}}\n\n{focus.capitalize()}:\n{{{{{focus}}}}}"
        ),
        reply=(
            'Answer with a JSON object: "criterion": what decides, in a few words; '
            '"evidence": the sentence that decides; '
            f'"score": {scale.describe()}; "confidence": from 0 to 1.'
        ),
        reply_schema={
            "criterion": "text",
            "evidence": "text",
            "score": "score",
            "confidence": "confidence",
        },
    )


_GRADES = OutputScale(low=0, high=3, threshold=2)
TASKS: tuple[Task, ...] = (
    Task(
        name="groundedness",
        ground="source",
        focus="statement",
        prompt=_prompt(
            "teachable_groundedness",
            "You judge whether a source supports a statement.",
            "Look for what the statement says in the source. What the source says in other words is"
            " support. What you know yourself does not matter here.",
            "source",
            "statement",
            BINARY,
        ),
        labels=BINARY,
        wish="do not call unsupported statements grounded",
        target="precision",
        guards=("recall:-0.05",),
        right="strict",
    ),
    Task(
        name="relevance",
        ground="query",
        focus="answer",
        prompt=_prompt(
            "teachable_relevance",
            "You judge whether an answer addresses a query.",
            "Work out what the query wants before you look at the answer. The answer has to deal"
            " with all of it. Its length does not matter.",
            "query",
            "answer",
            BINARY,
        ),
        labels=BINARY,
        wish="do not reject answers that address the query",
        target="recall",
        guards=("precision:-0.05",),
        right="lenient",
    ),
    Task(
        name="passages",
        ground="query",
        focus="passage",
        prompt=_prompt(
            "teachable_passages",
            "You grade how well a passage serves a search.",
            "Grade what the searcher would gain from the passage. A passage about the whole of the"
            " query is worth more than one about a part. Style does not matter.",
            "query",
            "passage",
            _GRADES,
        ),
        labels=_GRADES,
        wish="do not call passages relevant that do not answer the query",
        target="precision",
        guards=("recall:-0.05", "off_by_one:-0.05"),
        right="strict",
    ),
)


@dataclass(frozen=True, slots=True)
class Truth:
    """What holds of one seed's world."""

    bias: dict[tuple[str, str], float]
    """What an attribute adds to the judge's feeling about a text, by attribute and kind of text."""
    effect: dict[str, float]
    """How far a rule about an attribute moves it."""
    right: frozenset[Rule]
    """Rules that mend errors and break next to nothing."""
    role: dict[str, str]
    """What each attribute is: everywhere, slice, opposite, harmful or useless."""
    kind: str
    """The kind of text with errors of its own; empty in the world without slices."""


EFFECTS = {
    "everywhere": 1.3,
    "slice": 2.3,
    "misled everywhere": 1.0,
    "opposite": 1.4,
    "harmful": 1.7,
    "useless": 0.05,
}
"""How far a rule moves the judge's feeling about a text, by what its attribute is."""


def draw_truth(seed: int, task: Task, *, sliced: bool) -> Truth:
    """Draw which attributes mislead the judge, and where."""
    chance = random.Random(f"truth {seed} {task.name}")
    names = [attribute.name for attribute in ATTRIBUTES]
    chance.shuffle(names)
    kind = chance.choice(KINDS)
    roles = ["everywhere"] * 2 + ["slice"] * 3 + ["opposite"] + ["harmful"] * 3 + ["useless"] * 3
    role = dict(zip(names, roles, strict=True))
    sign = 1.0 if task.right == "strict" else -1.0
    against: Wish = "lenient" if task.right == "strict" else "strict"
    bias: dict[tuple[str, str], float] = {}
    effect: dict[str, float] = {}
    right: set[Rule] = set()
    for name, what in role.items():
        effect[name] = EFFECTS["misled everywhere" if what == "slice" and not sliced else what]
        for text_kind in KINDS:
            if what == "everywhere":
                bias[name, text_kind] = sign * 1.2
            if what == "opposite":
                bias[name, text_kind] = -sign * 1.4
            if what == "slice" and (not sliced or text_kind == kind):
                bias[name, text_kind] = sign * (2.4 if sliced else 0.95)
        if what == "everywhere" or (what == "slice" and not sliced):
            right.add(Rule(name, task.right))
        if what == "slice" and sliced:
            right.add(Rule(name, task.right, kind))
        if what == "opposite":
            right.add(Rule(name, against))
    return Truth(
        bias=bias, effect=effect, right=frozenset(right), role=role, kind=kind if sliced else ""
    )


SHARE = 0.28
"""Of the texts that carry an attribute."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_NOUNS = _words(
    "harbour bridge orchard ledger pump tower garden archive mill ferry school quarry chapel market"
    " depot canal library bakery station museum tunnel stable foundry cellar theatre warehouse pier"
    " lantern compass barrel ladder kettle loom anvil saddle wagon plough hammer chisel candle"
    " mirror basket carpet curtain shelf drawer bench stool parcel rudder"
)
_ADJECTIVES = _words(
    "narrow wooden quiet bright heavy chipped hollow steep rusty gentle clever modest ancient"
    " sturdy crooked polished faded velvet copper silent muddy frozen golden dusty marble woven"
    " painted"
)
_VERB_WORDS = _words(
    "repaired moved painted opened sold cleaned measured closed lent weighed kept drained roofed"
    " widened"
)
_PLACES = _words(
    "Arden Belmont Corley Dunmere Elsworth Farnham Glenby Hartwell Ilford Kelso Lorton Marwick"
)
_MONTHS = _words(
    "January February March April June July August September October November December"
)
_OPENINGS = {
    "minutes": "Minutes of the {thing} committee.",
    "letters": "Letter to the {thing} office.",
    "reports": "Report on the {thing}.",
}
_FILLERS = (
    "The {adjective} {thing} was {verb} beside the {other}.",
    "A {thing} in {place} was {verb}, with its {adjective} {other}.",
    "They {verb} the {thing} and the {adjective} {other} of {place}.",
    "Near {place} stands a {adjective} {thing} with a {other}.",
)


def draw_rows(seed: int, task: Task, *, sliced: bool, size: int, shuffled: bool = False) -> Dataset:
    """Draw labelled rows; with `shuffled` the labels of all rows are dealt out anew, so that
    nothing can be learned.
    """
    chance = random.Random(f"rows {seed} {task.name} {sliced}")
    common = draw_truth(seed, task, sliced=True).kind
    kinds = [common, common, *(kind for kind in KINDS if kind != common), *KINDS]
    rows: list[Row] = []
    labels = [
        float(chance.choice(range(task.labels.low, task.labels.high + 1))) for _ in range(size)
    ]
    if task.labels.kind == "binary":
        labels = [float(chance.random() < 0.5) for _ in range(size)]
    for number, label in enumerate(labels):
        kind = chance.choice(kinds)
        carried = [attribute for attribute in ATTRIBUTES if chance.random() < SHARE]
        chance.shuffle(carried)
        told = [_fill(chance.choice(attribute.sentences), chance) for attribute in carried]
        told.insert(chance.randrange(len(told) + 1), _fill(chance.choice(_FILLERS), chance))
        reference = f"{chance.choice('BCDFGHKL')}{chance.choice('MNPRSTVW')}-{number:04}"
        focus = f"{reference} ({kind}): {_fill(chance.choice(_FILLERS), chance)} {' '.join(told)}"
        ground = " ".join(
            [_fill(_OPENINGS[kind], chance)]
            + [_fill(chance.choice(_FILLERS), chance) for _ in range(3)]
        )
        rows.append(
            Row(
                id=f"{seed}-{number:04}",
                inputs={task.ground: ground, task.focus: focus},
                label=label,
                meta={
                    "kind": kind,
                    "office": chance.choice("ABCD"),
                    "year": chance.randrange(2019, 2024),
                },
            )
        )
    if shuffled:
        chance.shuffle(labels)
        rows = [
            Row(id=row.id, inputs=row.inputs, label=label, meta=row.meta)
            for row, label in zip(rows, labels, strict=True)
        ]
    return Dataset.of(rows, labels=task.labels, name=f"teachable {task.name} {seed}")


def _fill(text: str, chance: random.Random) -> str:
    thing, other, third = chance.sample(_NOUNS, 3)
    return text.format(
        n=chance.randrange(12, 900),
        thing=thing,
        things=f"{thing}s",
        other=other,
        third=third,
        adjective=chance.choice(_ADJECTIVES),
        verb=chance.choice(_VERB_WORDS),
        place=chance.choice(_PLACES),
        month=chance.choice(_MONTHS),
        year=chance.randrange(1850, 1999),
    )


REFERENCE = re.compile(r"\b([BCDFGHKL][MNPRSTVW]-\d{4}) \((minutes|letters|reports)\)")
_FENCED = re.compile(r"(?s)<(\w+)-[0-9a-f]{8}>\n(.*?)\n</\1-[0-9a-f]{8}>")


@cache
def attributes_of(text: str) -> tuple[str, ...]:
    """Return the attributes that a text carries."""
    return tuple(attribute.name for attribute in ATTRIBUTES if re.search(attribute.seen, text))


def uniform(*parts: str) -> float:
    """Return a number in (0, 1) that is a hash of some texts."""
    digest = hashlib.blake2b("\0".join(parts).encode(), digest_size=8).digest()
    return (int.from_bytes(digest) + 0.5) / 2**64


def normal(*parts: str) -> float:
    """Return a standard normal number that is a hash of some texts."""
    return NormalDist().inv_cdf(uniform(*parts))


DEMONSTRATION = 0.25
"""How much of a rule's effect one demonstration of an attribute has; two and more have no more than
twice that.
"""
WORDING = 0.25
"""Standard deviation of what another wording of the criteria does to the judge's feeling about a
text.
"""
HEEDED, ROOM, CROWDING, LEAST_HEEDED = 0.95, 6, 0.03, 0.5
"""How often a rule is heeded; criteria of more than six sentences lose so much for each further
one.
"""


@dataclass(frozen=True, slots=True)
class Instructions:
    """What the judge takes from everything but the row."""

    wording: str
    rules: tuple[Rule, ...]
    heeded: float
    shown: dict[str, float] = field(default_factory=dict)
    """What demonstrations do for each attribute: above 0 more lenient."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """A verdict and what stands behind it."""

    score: int
    confidence: float
    feeling: float
    cause: str
    """The attribute that spoke most for the verdict; empty where none did."""


class TeachableJudge:
    """Grades the rows of one seed's world from the messages that it is sent."""

    def __init__(self, task: Task, truth: Truth, labels: dict[str, float]) -> None:
        """See the class.

        Args:
            task: What is judged.
            truth: What misleads the judge.
            labels: The world's grade of each text, by its reference; never those of shuffled rows.
        """
        self.task, self.truth, self.labels = task, truth, labels
        self._instructions: dict[tuple[str, ...], Instructions] = {}

    def reply(self, messages: Sequence[Message]) -> str:
        """Answer with the JSON object that the prompts of this world ask for."""
        text = dict(_FENCED.findall(messages[-1].content)).get(self.task.focus, "")
        opinion = self.decide(self.read(messages[:-1]), text)
        sentences = split_sentences(text)
        attribute = BY_NAME.get(opinion.cause)
        criterion, evidence = "what the text says as a whole", sentences[0] if sentences else ""
        # The judge often, not always, says what moved it.
        if attribute is not None and uniform("says", text) < 0.7:
            evidence = next(
                sentence for sentence in sentences if re.search(attribute.seen, sentence)
            )
            criterion = f"it {attribute.phrases[0]}"
        return json.dumps(
            {
                "criterion": criterion,
                "evidence": evidence,
                "score": opinion.score,
                "confidence": opinion.confidence,
            }
        )

    def read(self, before: Sequence[Message]) -> Instructions:
        """Read the system message and the demonstrations."""
        key = tuple(message.content for message in before)
        if key not in self._instructions:
            system = before[0].content if before else ""
            criteria = system.partition("Criteria:\n")[2].partition("\n\nScale:\n")[0]
            criteria = criteria.partition("\n\nThe fenced blocks")[0]
            rules = {rule for found in read_rules(criteria).values() for rule in found}
            # A rule that holds everywhere holds in each kind of text, once.
            rules = {
                rule
                for rule in rules
                if not rule.kind or Rule(rule.attribute, rule.wish) not in rules
            }
            crowd = max(0, len(split_sentences(criteria)) - ROOM)
            self._instructions[key] = Instructions(
                wording=" ".join(key),
                rules=tuple(sorted(rules)),
                heeded=max(LEAST_HEEDED, HEEDED - CROWDING * crowd),
                shown=self._demonstrations(before),
            )
        return self._instructions[key]

    def _demonstrations(self, before: Sequence[Message]) -> dict[str, float]:
        shown: dict[str, float] = {}
        for question, answer in pairwise(before):
            grade = re.search(r'"score": ?(\d)', answer.content)
            if answer.role != "assistant" or grade is None:
                continue
            text = dict(_FENCED.findall(question.content)).get(self.task.focus, "")
            step = (
                DEMONSTRATION
                if self.task.prompt.scale.positive(float(grade[1]))
                else -DEMONSTRATION
            )
            for name in attributes_of(text):
                shown[name] = min(
                    2 * DEMONSTRATION, max(-2 * DEMONSTRATION, shown.get(name, 0.0) + step)
                )
        return shown

    def decide(self, instructions: Instructions, text: str) -> Opinion:
        """Grade one text."""
        match = REFERENCE.search(text)
        if match is None:
            return Opinion(score=0, confidence=0.5, feeling=0.0, cause="")
        reference, kind = match[1], match[2]
        carried = attributes_of(text)
        graded = self.task.labels.kind == "graded"
        label = self.labels[reference]
        centre = (-2.6, -1.3, 1.3, 2.6)[int(label)] if graded else (1.6 if label else -1.6)
        feeling = centre + (0.8 if graded else 1.0) * normal("row", text)
        feeling += WORDING * normal("wording", text, instructions.wording)
        causes = {name: self.truth.bias.get((name, kind), 0.0) for name in carried}
        for rule in instructions.rules:
            if rule.attribute not in carried or rule.kind not in ("", kind):
                continue
            # The hash is of the rule without its kind, so that the narrower rule is heeded on the
            # same rows.
            mark = f"{rule.attribute} {rule.wish}"
            if uniform("heeded", text, mark) < instructions.heeded:
                sign = -1.0 if rule.wish == "strict" else 1.0
                size = self.truth.effect[rule.attribute] * (1.0 + 0.25 * normal("size", text, mark))
                causes[rule.attribute] += sign * size
        for name in carried:
            causes[name] += instructions.shown.get(name, 0.0) * self.truth.effect[name]
        feeling += sum(causes.values())
        if graded:
            score = sum(feeling > cut for cut in (-1.95, 0.0, 1.95))
        else:
            score = int(feeling > 0.0)
        speaking = {
            name: size for name, size in causes.items() if size * feeling > 0.4 * feeling**2
        }
        cause = max(speaking, key=lambda name: (abs(speaking[name]), name)) if speaking else ""
        confidence = round(min(0.99, 0.55 + 0.15 * abs(feeling)), 2)
        return Opinion(score=score, confidence=confidence, feeling=feeling, cause=cause)
