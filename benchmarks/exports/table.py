"""What a tool sent and read beside what Judgewright sent and what the replies say: equal, declared,
or neither.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from replies import NO_REASON, Reply
from tried import Tried

from judgewright.judges import Client, Dataset, Endpoint, Row, Verdict, judge

MODEL = "gpt-judgewright"
Wire = list[list[dict[str, Any]]]
"""The requests about each case."""
KEPT = 12
"""Undeclared differences that are kept of a judge in a tool."""

FROM_0_TO_1 = ("braintrust", "deepeval", "opik", "promptfoo", "trulens")
"""Tools whose scores run from 0 to 1; labels stand for themselves in them. Elsewhere the score is
the grade.
"""


@dataclass
class Tally:
    """What was compared of one judge in one tool."""

    equal: Counter[str] = field(default_factory=Counter[str])
    declared: Counter[str] = field(default_factory=Counter[str])
    undeclared: Counter[str] = field(default_factory=Counter[str])
    examples: list[str] = field(default_factory=list[str])

    def add(self, what: str, problem: str, declared: bool = False) -> None:
        """Count one comparison; without a problem it was equal."""
        if not problem:
            self.equal[what] += 1
        elif declared:
            self.declared[what] += 1
        else:
            self.undeclared[what] += 1
            if len(self.examples) < KEPT:
                self.examples.append(f"{what}: {problem}")


def ask_ourselves(
    tried: Tried, rows: Sequence[Mapping[str, str]], url: str
) -> list[tuple[float, bool] | None]:
    """Ask about each row at its own case through Judgewright's client; return grade and decision,
    None is unscored.
    """
    found: list[tuple[float, bool] | None] = []
    for case, row in enumerate(rows):
        model = Endpoint(
            name=MODEL, base_url=f"{url}/case/{case}/v1", api_key=None, transport="plain"
        )
        with Client(model, settings=tried.settings) as client:
            judged = judge(
                tried.prompt,
                Dataset(
                    rows=(Row(id="1", inputs=row, label=tried.levels[0]),),
                    labels=tried.prompt.scale,
                ),
                client,
            )
        (one,) = judged.answers
        decided = judged.under(tried.rule).predicted
        found.append((one.score, bool(decided[0])) if isinstance(one, Verdict) else None)
    return found


def check_ourselves(
    tried: Tried, replies: Sequence[Reply], outcomes: Sequence[tuple[float, bool] | None], rows: int
) -> Tally:
    """Compare our own reading with what the replies say."""
    tally = Tally()
    for name, said, outcome in zip(
        _names(rows, replies), _said(rows, replies), outcomes, strict=True
    ):
        found = outcome and outcome[0]
        tally.add("score", "" if said == found else f"{name} is {found}, not {said}")
        if outcome is not None and said is not None:
            tally.add(
                "decision",
                "" if outcome[1] is tried.positive(said) else f"{name} is decided {outcome[1]}",
            )
    return tally


def compare(
    tried: Tried,
    manifest: Mapping[str, Any],
    replies: Sequence[Reply],
    rows: Sequence[Mapping[str, str]],
    ours: Wire,
    theirs: Wire,
    answer: Mapping[str, Any],
) -> Tally:
    """Compare everything that a tool did.

    Args:
        tried: The judge.
        manifest: What the export says of itself.
        replies: What the endpoint answered after the rows.
        rows: The rows that were shown.
        ours: What Judgewright asked about the same cases.
        theirs: What the tool asked.
        answer: What the script in the tool wrote down: `outcomes`, or `rendered` messages.
    """
    tally, declared = Tally(), " ".join(manifest["declared_differences"])
    names = _names(len(rows), replies)
    if "rendered" in answer:
        for case, messages in enumerate(answer["rendered"]):
            _compare_messages(tally, names[case], ours[case][0]["messages"], messages, declared)
        return tally
    for case, name in enumerate(names):
        if not theirs[case]:
            tally.add(
                "messages", f"{name}: nothing was asked ({answer['outcomes'][case].get('said')})"
            )
        for body in theirs[case]:
            _compare_messages(tally, name, ours[case][0]["messages"], body["messages"], declared)
            _compare_request(tally, ours[case][0], body, manifest)
    for name, said, outcome in zip(
        names, _said(len(rows), replies), answer["outcomes"], strict=True
    ):
        _compare_outcome(tally, tried, manifest["target"], name, said, outcome, declared)
    for problem in answer.get("problems", ()):
        tally.add("tool", str(problem))
    return tally


def _names(rows: int, replies: Sequence[Reply]) -> list[str]:
    return [
        *(f"row {number}" for number in range(1, rows + 1)),
        *(f"reply ({one.name})" for one in replies),
    ]


def _said(rows: int, replies: Sequence[Reply]) -> list[float | None]:
    return [*([replies[0].grade] * rows), *(one.grade for one in replies)]


def _compare_messages(
    tally: Tally, name: str, ours: Any, theirs: Any, declared: str
) -> None:  # Any: JSON
    a, b = list(_plain(ours)), list(_plain(theirs))
    if a == b:
        tally.add("messages", "")
        return
    fixed = [(role, re.sub(r"<(/?)(\w+)-[0-9a-f]{8}>", r"<\1\2>", text)) for role, text in a]
    if fixed == b:
        tally.add(
            "messages", "fences", declared="Fences around row text are fixed tags here" in declared
        )
        return
    if "The same decided cases stand before every row here" in declared:
        (fixed, _), (b, shown) = _without_cases(fixed), _without_cases(b)
        if fixed == b and shown:
            tally.add("messages", "cases", declared=True)
            return
    at = next((i for i, (x, y) in enumerate(zip(fixed, b, strict=False)) if x != y), -1)
    problem = (
        f"{len(b)} messages, not {len(a)}"
        if at < 0
        else f"{_around(fixed[at][1], b[at][1])} of message {at + 1}"
    )
    tally.add("messages", f"{name}: {problem}")


def _plain(messages: Any) -> Iterator[tuple[str, str]]:  # Any: JSON
    for message in messages:
        content = message["content"]
        text = content if isinstance(content, str) else "".join(part["text"] for part in content)
        yield message["role"], text


def _without_cases(messages: list[tuple[str, str]]) -> tuple[list[tuple[str, str]], int]:
    """Return messages without what stands before the row, and how many cases that were."""
    role, text = messages[-1]
    before, heading, row = text.rpartition("\n\nThe row to judge:\n\n")
    return [*messages[:-1], (role, row)], before.count("</decided_case") if heading else 0


def _around(expected: str, found: str) -> str:
    at = next(
        (i for i, (x, y) in enumerate(zip(expected, found, strict=False)) if x != y),
        min(len(expected), len(found)),
    )
    return f"{found[at : at + 40]!r}, not {expected[at : at + 40]!r}, at {at}"


def _compare_request(
    tally: Tally, ours: Mapping[str, Any], theirs: Mapping[str, Any], manifest: Mapping[str, Any]
) -> None:
    """Compare each part of a request besides the messages, the model among them."""
    also_sent = manifest["also_sends"]
    wanted = {name: value for name, value in ours.items() if name != "messages"}
    told = {name: value for name, value in theirs.items() if name != "messages"}
    if "max_tokens" in wanted and "max_completion_tokens" in told:  # the protocol's newer name
        limit = told.pop("max_completion_tokens")
        problem = "" if limit == wanted.pop("max_tokens") else f"max_completion_tokens is {limit}"
        tally.add(
            "request",
            problem or "another name",
            not problem and "max_completion_tokens" in also_sent,
        )
    for name in wanted.keys() | told.keys():
        problem, declared = "", False
        if name not in told:
            problem = f"{name} is not sent"
        elif name not in wanted:
            problem, declared = (
                f"{name} is sent as {told[name]!r:.80}",
                name in also_sent and told[name] is False,
            )
        elif told[name] != wanted[name]:
            problem = f"{name} is {told[name]!r:.80}, not {wanted[name]!r:.80}"
        tally.add("request", problem, declared)


def _compare_outcome(
    tally: Tally,
    tried: Tried,
    target: str,
    name: str,
    said: float | None,
    outcome: Mapping[str, Any],
    declared: str,
) -> None:
    found, positive, scale = outcome["score"], outcome.get("positive"), tried.prompt.scale
    if name == f"reply ({NO_REASON})" and found is None:
        tally.add("score", f"{name} is unscored", declared="gives no reason for it" in declared)
        return
    if said is None or found is None:
        problem = "" if said is None and found is None else f"{name} is scored {found}, not {said}"
        tally.add("score", f"{problem} ({outcome.get('said')})" if problem else "")
        return
    low, high = (
        (0.0, 1.0)
        if scale.kind == "probability"
        else (tried.prompt.scale.levels[0], scale.levels[-1])
    )
    chooses = scale.kind == "choice" and target != "promptfoo" and target != "trulens"
    expected = (said - low) / (high - low) if target in FROM_0_TO_1 and not chooses else said
    tally.add(
        "score",
        ""
        if math.isclose(found, expected, abs_tol=1e-9)
        else f"{name} is scored {found}, not {expected}",
    )
    if scale.kind != "choice":
        problem = "" if positive is tried.positive(said) else f"{name} is decided {positive}"
        tally.add("decision", problem)
