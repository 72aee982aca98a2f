"""Three worlds in which people draw lines, to ask what the labels of all rows can teach.

A row says how much of it holds (`37 of 100 points hold`), and its form shows which of four kinds of
text it is. People call it positive from a line on. In `lines` and `mislead` the line differs by
kind and the judge has one line for all; no rule of the pool in `world.py` says where a line is. In
`mislead` the texts most alike belong to another group, of another kind, whose people draw the line
on the other side. In `nothing` all lines are where the judge has it. The column `origin` tells the
kinds apart and names none.

The judge reads the messages it is sent. A sentence that names a kind and a number of points moves
its line there. Labelled rows before the row it grades move its line to where they say that people
draw it: fully by those of its own kind, `OTHER` as much by the rest, since it takes what stands
before it for precedents. Every move is noisy.

The writer has the replies of `TeachableOptimizer`, and writes such sentences. It knows a kind's
line from the labelled rows that its request shows, cut off where the request is cut off: it weighs
their labels, and errs by `READING / sqrt(rows of the kind)` besides. Errors alone stand on one side
of a line, so that they say less. Feedback and notes that say how many rows they come from count as
so many.

Both know a row by its text and a label by what stands beside it, wherever a request has them: in
the row's own line or object, before it or behind it, in words or as TP, FP, FN and TN.

**Frozen** as the others are (`world.py`), on 2026-11-27, before the methods that they are for, a
view of all rows and cases as a part of the judge, had been run on any. Should a request of theirs
be read wrongly, say so here, freeze anew, and measure everything again.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from optimizer import TeachableOptimizer, Understood
from world import (
    CROWDING,
    HEEDED,
    LEAST_HEEDED,
    OPEN,
    ROOM,
    TASKS,
    Task,
    normal,
    split_sentences,
    uniform,
)

from judgewright.judges import Dataset, JudgePrompt, Message, OutputScale, Request, Row

WORLDS = ("lines", "mislead", "nothing")
AWAY = (20.0, 10.0, -10.0, -20.0)
"""How far the people of each kind draw their line from the judge's, in points."""
JUDGES_LINE = 50.0
LEAST, MOST = 10, 90
UNIT = 8.0
"""Points that make a feeling of one; grades of four are cut at -1.95, 0 and 1.95 of it."""
SLIP, EYE, WORDING = 0.04, 4.0, 1.5
"""Share of labels drawn anew; what the judge misreads of a row, and another wording, in points."""
HEARD, RECALLED, OTHER, STUBBORN = 2.0, 1.0, 0.8, 8.0
"""Noise of a rule's line and of what cases say, in points; the weight of cases of another kind; how
far from its line the judge thinks it possible that people draw theirs.
"""
READING, OPEN_MIND, SETTLED, PASSED_OVER = 30.0, 20.0, 10.0, 0.1
"""The writer's error, its spread before it reads a row, and where a rule stands; how often it
passes over a kind.
"""
FEWEST = 2
"""Rows of a kind that make it write a rule."""

KINDS = {
    "chat": "@{name} hi,",
    "wiki": "[{n}] www.{name}.example,",
    "claim": "CLAIM by {name},",
    "letter": "Dear {name},",
}
"""How texts of each kind begin. A rule names a kind by its word."""
_SENTENCES = {
    "chat": ("let me know if {name} helps you there", "hope {name} sorts it out for you"),
    "wiki": ("Read more about {name} on our pages", "Share this page on {name} with others"),
    "claim": ("It has been asserted of {name}", "The record shows as much of {name}"),
    "letter": ("I remain yours faithfully, {name}", "With kind regards to all at {name}"),
}
_COMMON = ("What {name} did was up to {other}", "Nobody asked {other} about {name}")
_BEGIN = {
    kind: re.escape(opening).replace(r"\{name\}", r"\w+").replace(r"\{n\}", r"\d")
    for kind, opening in KINDS.items()
}
ROW = re.compile(
    rf"(?:{'|'.join(f'(?P<{kind}>{begin})' for kind, begin in _BEGIN.items())})"
    r"\s+(?P<reference>[A-Z]{2}-\d{4})\.\s+(?P<points>\d+) of 100 points hold"
)
_POINTS = re.compile(r"\b(\d\d?)(?:\.\d+)? points\b(?:[^.\n]*?\((\d+) rows\))?")
_VALUE = r"(positive|negative|\d(?:\.\d+)?)\b(?!\s*(?:/|-|to\b|or\b|of\b)\s*\d)"
_PEOPLE = re.compile(
    rf"(?i)\b(?:people|labels?|humans?|annotators?|gold)\b[^\n]{{0,40}}?\b{_VALUE}"
)
_CELL = re.compile(
    r"\b([TF])([PN])\b(?!-\d)|\b([TtFf])(?:rue|alse)[ -_]([PpNn])(?:ositive|egative)s?\b(?!: \d)"
)
_GRADE = re.compile(rf"(?i)\b(?:score|grade|decision|decided)\b[^\n\w]{{0,6}}{_VALUE}")
_BARE = re.compile(r"(?<![\w.-])\d(?:\.0)?(?![\w.-])")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A row of a request, with people's decision where the request says it."""

    kind: str
    points: float
    positive: bool | None


@dataclass(frozen=True, slots=True)
class Lines:
    """Where the people of each kind draw their line; the truth of a seed's world."""

    world: str
    line: Mapping[str, float]
    kind: str = ""
    """As in `world.Truth`: no single kind has errors of its own."""

    def count_rules(self, criteria: str) -> dict[str, int]:
        """Count rules as the tables name them, by how near their line is to people's."""
        counts = {"right": 0, "too wide": 0, "no effect": 0, "harmful": 0}
        for kind, said in read_lines(criteria).items():
            gain = abs(JUDGES_LINE - self.line[kind]) - abs(said - self.line[kind]) if kind else 0.0
            what = "right" if gain > 2 else "harmful" if gain < -2 else "no effect"
            counts[what if kind else "too wide"] += 1
        return counts


def draw_lines(world: str, seed: int, task: Task) -> Lines:
    """Draw where people draw the line."""
    chance = random.Random(f"lines {world} {seed} {task.name}")
    away = [far + chance.uniform(-3, 3) for far in AWAY]
    chance.shuffle(away)
    wide = world != "nothing"
    return Lines(
        world, {kind: JUDGES_LINE + wide * far for kind, far in zip(KINDS, away, strict=True)}
    )


def draw_rows(
    lines: Lines, seed: int, task: Task, *, size: int, others: int, shuffled: bool = False
) -> tuple[Dataset, tuple[Row, ...]]:
    """Draw labelled rows in groups of five, and as many others as asked, in groups of their own.

    In `mislead` groups come in twos that share names: one of people stricter than the judge, one of
    milder ones. The other rows have the names of a group of the rows on the other side.
    """
    chance = random.Random(f"rows {lines.world} {seed} {task.name}")
    strict = [kind for kind in KINDS if lines.line[kind] > JUDGES_LINE]
    mild = [kind for kind in KINDS if kind not in strict]
    misled, banks = lines.world == "mislead", list[tuple[list[str], list[str]]]()
    rows: list[Row] = []
    for group in range((size + others) // 5):
        kind, names = chance.choice(list(KINDS)), _names(chance, 6)
        if misled:
            kind = chance.choice((mild, strict)[group % 2])
            if group < size // 5:
                if group % 2 == 0:
                    shared = _names(chance, 3)
                    banks.append((shared + _names(chance, 4), shared + _names(chance, 4)))
                names = banks[-1][group % 2]
            else:
                names = chance.choice(banks)[1 - group % 2]
        for _ in range(5):
            number = len(rows)
            points = chance.randint(LEAST, MOST)
            feeling = (points - lines.line[kind]) / UNIT + 0.3 * chance.gauss(0, 1)
            if chance.random() < SLIP:
                feeling = chance.uniform(-3, 3)
            label = _grade(feeling, task)
            sentences = _COMMON if misled else _SENTENCES[kind]
            told = [_tell(chance.choice(sentences), names, chance) for _ in range(3)]
            reference = f"{chance.choice('BCDFGHKL')}{chance.choice('MNPRSTVW')}-{number:04}"
            focus = (
                f"{_tell(KINDS[kind], names, chance)} {reference}. {points} of 100 points"
                f" hold. {'. '.join(told)}."
            )
            ground = ". ".join(_tell(chance.choice(_COMMON), names, chance) for _ in range(2))
            rows.append(
                Row(
                    id=f"{seed}-{number:04}",
                    inputs={task.ground: f"{ground}.", task.focus: focus},
                    label=float(label),
                    meta={"origin": "KLMN"[list(KINDS).index(kind)], "desk": chance.choice("ABCD")},
                    group=f"g{group}",
                )
            )
    if shuffled:
        dealt = chance.sample([row.label for row in rows], len(rows))
        rows = [replace(row, label=label) for row, label in zip(rows, dealt, strict=True)]
    name = f"teachable {lines.world} {task.name} {seed}"
    return Dataset.of(rows[:size], labels=task.labels, name=name), tuple(rows[size:])


def _grade(feeling: float, task: Task) -> int:
    cuts = (-1.95, 0.0, 1.95) if task.labels.kind == "graded" else (0.0,)
    return sum(feeling > cut for cut in cuts)


def _names(chance: random.Random, count: int) -> list[str]:
    return [
        "".join(chance.choice("bdfgklmnprstvz") + chance.choice("aeiou") for _ in range(4)).title()
        for _ in range(count)
    ]


def _tell(text: str, names: Sequence[str], chance: random.Random) -> str:
    name, other = chance.sample(list(names), 2)
    return text.format(name=name, other=other, n=chance.randrange(1, 10))


def read_lines(text: str) -> dict[str, float]:
    """Return the lines that a text states, by kind of text; "" for all."""
    return {kind: line for kind, line, _ in _stated(text)}


def read_notes(text: str) -> dict[str, tuple[float, int]]:
    """Return the lines that a text states with a number of rows, and the rows, added up by kind."""
    found: dict[str, tuple[float, int]] = {}
    for kind, line, rows in dict.fromkeys(_stated(text)):
        if rows:
            before, weight = found.get(kind, (0.0, 0))
            found[kind] = (before * weight + line * rows) / (weight + rows), weight + rows
    return found


@cache
def _stated(text: str) -> tuple[tuple[str, float, int], ...]:
    return tuple(
        (kind, float(said[1]), int(said[2] or 0))
        for sentence in split_sentences(text)
        for said in _POINTS.finditer(sentence)
        for kind in [kind for kind in KINDS if re.search(rf"(?i)\b{kind}", sentence)] or [""]
    )


def write_line(kind: str, line: float, rows: int = 0) -> str:
    """Write a rule: from where on people accept texts of a kind."""
    behind = f" ({rows} rows)" if rows else ""
    return f"Accept {kind}s from {line:.0f} points on{behind}."


def read_rows(text: str, scale: OutputScale, *, behind: bool) -> list[Labelled]:
    """Return the rows of a text, each once, with people's decision.

    Args:
        text: Of a request.
        scale: Of people's grades.
        behind: Whether a decision stands behind its row where that cannot be seen.
    """
    places = list(ROW.finditer(text))
    if not places:
        return []
    edges = [0, *(place.end() for place in places)]
    gaps = [
        text[start:end]
        for start, end in zip(edges, [*(p.start() for p in places), len(text)], strict=True)
    ]
    ahead = _decision(gaps[0][-1500:], scale, last=True)
    after = _decision(gaps[-1][:400], scale, last=False)
    if (ahead is None) != (after is None):
        behind = after is not None
    found: dict[str, Labelled] = {}
    positive: bool | None = None
    for number, place in enumerate(places):
        # An object of JSON is a line of its own.
        line = (
            gaps[number].replace("}", "\n").rpartition("\n")[2],
            gaps[number + 1].replace("}", "\n").partition("\n")[0],
        )
        own = _decision(" | ".join(line), scale, last=True)
        own = _bare(line[0], text[: places[0].start()], scale) if own is None else own
        if own is not None:
            positive = own
        elif behind:
            positive = _decision(gaps[number + 1], scale, last=False)
        else:
            # Below a heading, it holds until something else is said.
            stated = _decision(gaps[number], scale, last=True)
            positive = positive if stated is None else stated
        row = Labelled(_kind(place), float(place["points"]), positive)
        if place["reference"] not in found or found[place["reference"]].positive is None:
            found[place["reference"]] = row
    return list(found.values())


def _kind(place: re.Match[str]) -> str:
    return next(kind for kind in KINDS if place[kind])


def _decision(text: str, scale: OutputScale, *, last: bool) -> bool | None:
    for pattern in (_PEOPLE, _CELL, _GRADE):
        matches = list(pattern.finditer(text))
        if not matches:
            continue
        said = [part.lower() for part in matches[-1 if last else 0].groups() if part]
        if pattern is _CELL:
            return (said[0] == "t") == (said[1] == "p")
        return said[0] == "positive" or (said[0][0].isdigit() and scale.positive(float(said[0])))
    return None


def _bare(before: str, heading: str, scale: OutputScale) -> bool | None:
    """Read columns without names: people's grade stands first unless the heading has the judge's
    there.
    """
    columns = _BARE.findall(before)[-2:]
    if len(columns) < 2:
        return None
    people, judge = (
        max((m.start() for m in re.finditer(words, heading)), default=-1)
        for words in (r"(?i)\b(?:people|label|human)", r"(?i)\b(?:judge|verdict)")
    )
    return scale.positive(float(columns[people > judge >= 0]))


@cache
def infer_line(rows: tuple[tuple[float, bool, float], ...], centre: float, spread: float) -> float:
    """Return where labelled rows say that the line is: points, decision and weight of each; a
    reader expects it about a centre.
    """
    total = mean = 0.0
    for line in range(5, 96):
        log = -0.5 * ((line - centre) / spread) ** 2
        for points, positive, weight in rows:
            sure = 1 / (1 + math.exp(-(points - line) / 3.0))
            log += weight * math.log(0.04 + 0.92 * (sure if positive else 1 - sure))
        total += math.exp(log)
        mean += line * math.exp(log)
    return mean / total


class LinesJudge:
    """Grades rows from the messages that it is sent."""

    def __init__(self, task: Task) -> None:
        """Take what is judged; where people draw their lines the judge does not know."""
        self.task = task

    def reply(self, messages: Sequence[Message]) -> str:
        """Answer with the JSON object that the prompts of these worlds ask for."""
        feeling, points = self._feel(messages)
        return json.dumps(
            {
                "criterion": "how much of it holds",
                "evidence": f"{points} of 100 points hold.",
                "score": _grade(feeling, self.task),
                "confidence": round(min(0.99, 0.55 + 0.15 * abs(feeling)), 2),
            }
        )

    def _feel(self, messages: Sequence[Message]) -> tuple[float, str]:
        places = list(ROW.finditer(messages[-1].content))
        if not places:
            return -0.1, "0"
        place = places[-1]
        system = "\n\n".join(m.content for m in messages if m.role == "system")
        before = [m.content for m in messages[:-1]]
        shown = "\n\n".join([*before, messages[-1].content[: place.start()]])
        text, kind = place[0], _kind(place)
        line = JUDGES_LINE + WORDING * normal("wording", text, system)
        crowd = max(0, len(split_sentences(_criteria(system))) - ROOM)
        stated = read_lines(system)
        said = stated.get(kind) or stated.get("")
        if said and uniform("heeded", text) < max(LEAST_HEEDED, HEEDED - CROWDING * crowd):
            line = said + HEARD * normal("rule", text, str(said))
        cases = [
            (row.points, row.positive, 1.0 if row.kind == kind else OTHER)
            for row in read_rows(shown, self.task.labels, behind=True)
            if row.positive is not None
        ]
        if cases:
            line = infer_line(tuple(cases), round(line), STUBBORN)
            line += RECALLED * normal("cases", text, str(cases))
        return (float(place["points"]) + EYE * normal("row", text) - line) / UNIT, place["points"]


def _criteria(system: str) -> str:
    criteria = system.partition("Criteria:\n")[2]
    return criteria.partition("\n\nScale:\n")[0].partition("\n\nThe fenced blocks")[0]


class LinesWriter(TeachableOptimizer):
    """Answers requests for feedback, notes and new criteria with where people draw the line."""

    _shown: Sequence[Labelled] = ()
    _noted: Mapping[str, tuple[float, int]]

    def reply(self, request: Request) -> str:
        """Answer a request."""
        texts = [m.content for m in request.messages if m.role != "system"]
        whole = "\n\n".join(texts)
        self._shown = read_rows(whole, self._task.labels, behind=False)
        outside = re.sub(r"(?s)<(\w*(?:CRITERIA|VARIABLE))>.*?</\1>", " ", whole)
        self._noted = read_notes(outside)
        chance = random.Random(whole)

        def written(tag: re.Match[str]) -> str:
            text = self._anchors() if "ANCHOR" in tag[1] else self._told(chance)
            return f"<{tag[1]}>{text}</{tag[1]}>"

        answer = super().reply(request)
        if self._wording_only:
            return answer
        return re.sub(r"(?s)<(\w*(?:NOTE|FEEDBACK|ANCHOR)\w*)>.*?</\1>", written, answer)

    def _anchors(self) -> str:
        scale = self._task.prompt.scale
        grades = range(int(scale.low), int(scale.high) + 1)
        return "\n".join(f"{grade}: as the criteria say" for grade in grades)

    def _json(
        self, properties: Mapping[str, Mapping[str, Any]], read: Understood, chance: random.Random
    ) -> str:
        return json.dumps(
            {name: self._filled(name, part, read, chance) for name, part in properties.items()}
        )

    def _filled(
        self, name: str, schema: Mapping[str, Any], read: Understood, chance: random.Random
    ) -> object:
        parts: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
        if schema.get("type") == "object":
            # Anchors by grade are named by grade.
            return {one: self._filled(f"{name} {one}", parts[one], read, chance) for one in parts}
        if schema.get("type") == "array":
            found = self._infer({}, chance)
            return [write_line(kind, line) for kind, (line, _) in found.items()]
        if schema.get("type") in ("number", "integer", "boolean"):
            return 1 if schema["type"] != "boolean" else True
        if re.search(r"(?i)anchor", name):
            return self._anchors() if " " not in name else "as the criteria say"
        return self._value(name, read, chance)

    def _feedback(self, read: Understood, chance: random.Random) -> str:
        return super()._feedback(read, chance) if self._wording_only else self._told(chance)

    def _told(self, chance: random.Random) -> str:
        found = self._infer({}, chance)
        if not found:
            return "The rows do not say where people draw the line."
        return " ".join(write_line(kind, line, rows) for kind, (line, rows) in found.items())

    def _edited(self, read: Understood, role: str, chance: random.Random) -> str:
        if self._wording_only:
            return super()._edited(read, role, chance)
        criteria = read.criteria.strip() or self._task.prompt.criteria
        standing = read_lines(criteria)
        found = self._infer(standing, chance)
        kept = [
            sentence
            for sentence in split_sentences(criteria)
            if not set(read_lines(sentence)) & {"", *found} or not found
        ]
        between = "\n" if "\n" in criteria else " "
        return between.join([*kept, *(write_line(kind, line) for kind, (line, _) in found.items())])

    def _infer(
        self, standing: Mapping[str, float], chance: random.Random
    ) -> dict[str, tuple[float, int]]:
        """Return a line for each kind of which enough rows are shown, and the rows behind it."""
        found: dict[str, tuple[float, int]] = {}
        for kind in KINDS:
            shown = [
                (row.points, row.positive, 1.0)
                for row in self._shown
                if row.kind == kind and row.positive is not None
            ]
            noted, told = self._noted.get(kind, (0.0, 0))
            if len(shown) + told < FEWEST or chance.random() < PASSED_OVER:
                continue
            line = noted
            if shown:
                spread = SETTLED if kind in standing else OPEN_MIND
                line = infer_line(tuple(shown), standing.get(kind, JUDGES_LINE), spread)
                line += READING / len(shown) ** 0.5 * chance.gauss(0, 1)
                line = (len(shown) * line + told * noted) / (len(shown) + told)
            found[kind] = min(95.0, max(5.0, line)), len(shown) + told
        return found


def oracle(lines: Lines, task: Task) -> JudgePrompt:
    """Return the task's prompt with people's lines in its criteria."""
    rules = " ".join(write_line(kind, line) for kind, line in lines.line.items())
    return replace(task.prompt, criteria=f"{task.prompt.criteria} {rules}")


def case_messages(prompt: JudgePrompt, row: Row, cases: Sequence[Row]) -> tuple[Message, ...]:
    """Return a row's messages with decided cases before it, in one of many ways."""
    *before, last = prompt.messages(row)
    told = [f"{' '.join(case.inputs.values())}\nPeople: {case.label:g}" for case in cases]
    return (*before, Message(role=last.role, content="\n\n".join([*told, last.content])))


def decide(world: str, seed: int, *, near: bool, others: int = 500) -> tuple[float, ...]:
    """Return the share of rows that the judge decides as people do: as it is, by the oracle's
    prompt, and with four cases of other groups, two of each decision, the nearest or any.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    task = TASKS[seed % len(TASKS)]
    lines = draw_lines(world, seed, task)
    bank, asked = draw_rows(lines, seed, task, size=1_000, others=others)
    judge, chance, best = LinesJudge(task), random.Random(seed), oracle(lines, task)
    texts = [" ".join(row.inputs.values()) for row in (*bank.rows, *asked)]
    vectors = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5)).fit_transform(texts)
    alike = (vectors[1_000:] @ vectors[:1_000].T).toarray()
    agreed = [0, 0, 0]
    for row, nearness in zip(asked, alike, strict=True):
        ranked = [bank.rows[i] for i in (-nearness).argsort(kind="stable")]
        ranked = ranked if near else chance.sample(ranked, len(ranked))
        sides = {one.id: task.labels.positive(one.label or 0.0) for one in (*ranked, row)}
        cases = [[one for one in ranked if sides[one.id] == side][:2] for side in (True, False)]
        shown = case_messages(task.prompt, row, [*cases[0], *cases[1]])
        ways = (task.prompt.messages(row), best.messages(row), shown)
        for way, messages in enumerate(ways):
            score = json.loads(judge.reply(messages))["score"]
            agreed[way] += task.prompt.scale.positive(score) == sides[row.id]
    return tuple(count / others for count in agreed)


if __name__ == "__main__":
    for named in WORLDS:
        for at in OPEN[:3]:
            shares = (*decide(named, at, near=True), decide(named, at, near=False)[2])
            words = ("as it is", "oracle", "near cases", "random cases")
            print(named, at, *(f"{word} {x:.3f}" for word, x in zip(words, shares, strict=True)))
