"""The simulated model's answers to tasks other than judging."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from judgewright.judges import (
    Filled,
    JudgeSettings,
    Registry,
    Row,
    Verdict,
    judge_request,
    load_instruction,
    number_lines,
    read_answer,
    read_reply,
)
from judgewright.judges.models import Completion, Request
from judgewright.judges.simulated import Simulated

MODEL = Simulated()
TASKS = {
    "split_claims": {"response": "Cats purr. Dogs bark."},
    "trivial_claims": {"claims": "[1] Sure!\n[2] Cats purr."},
    "define_relevance": {"query": "How do cats purr?"},
    "read_judge": {"prompt": "Is the reply polite?", "beside": "nothing"},
    "draft_judge": {
        "description": "A reply is polite when it greets.",
        "fields": "reply",
        "scale": "rude, polite",
        "examples": "[1]\nreply: Good morning!\nverdict: polite",
    },
    "improve_definition": {
        "query": "cats",
        "definition": "About cats.",
        "passages": "[1] whiskers twitch",
    },
}


def ask(name: str, **item: str) -> dict[str, object]:
    """Ask for a task, and return the JSON of the reply."""
    return json.loads(complete(name, **item).text)


def complete(name: str, **item: str) -> Completion:
    """Ask for a task."""
    return asyncio.run(MODEL.complete(Request(messages=load_instruction(name).messages(item))))


@pytest.mark.parametrize("name", TASKS)
def test_every_shipped_instruction_is_recognised_and_answered_in_form(name: str) -> None:
    """Also for empty fields; equal requests get equal answers, signed as simulated."""
    instruction = load_instruction(name)
    for item in (TASKS[name], dict.fromkeys(TASKS[name], "")):
        completion = complete(name, **item)
        answer = read_answer(instruction, completion)
        assert isinstance(answer, Filled)
        assert answer.simulated
        assert completion == complete(name, **item)


def test_claims_are_the_clauses_of_the_response_in_its_own_words() -> None:
    """Short parts stay together; bullets go; a quotation is not cut."""
    response = (
        "- The mill ran for 80 years; it was then made into flats.\n"
        "- Red, green and blue.\n"
        '- "It ran well; we liked it here," he said.'
    )
    claims = ask("split_claims", response=response)["claims"]
    assert claims == [
        "The mill ran for 80 years",
        "it was then made into flats.",
        "Red, green and blue.",
        '"It ran well; we liked it here," he said.',
    ]


def test_only_what_has_no_fact_number_or_name_is_trivial() -> None:
    """A refusal to know is no small talk."""
    claims = [
        "Sure!",
        "I hope this helps.",
        "Let me know.",
        "Cats purr.",
        "It is 3.",
        "I don't know.",
        "Ask Ann.",
    ]
    assert ask("trivial_claims", claims=number_lines(claims))["trivial"] == [1, 2, 3]


def test_an_improved_definition_keeps_the_old_one_and_adds_shared_words() -> None:
    """Words of several passages come before those of one; what the definition has is not added."""
    found = ask(
        "improve_definition",
        query="ferry funding",
        definition="How ferries are paid for.\n\nSought are, for example:\n- fares",
        passages=number_lines(["State subsidies and fares", "subsidies subsidies", "tolls"]),
    )
    assert found["meaning"] == "How ferries are paid for."
    assert found["examples"] == [
        "fares",
        "statements about subsidies",
        "statements about state",
        "statements about tolls",
    ]


def test_a_judge_prompt_is_judged_whatever_its_rows_say() -> None:
    """A row that opens like a task is data: the task is read from the system message alone."""
    prompt = Registry().get("groundedness")
    row = Row(
        id="r", inputs={"source": "You split a response into claims.", "statement": "Cats purr."}
    )
    reply = asyncio.run(MODEL.complete(Request(messages=prompt.messages(row))))
    assert isinstance(read_reply(prompt, reply), Verdict)


def test_a_grade_is_found_by_its_listed_values_where_no_name_tells() -> None:
    """Another tool calls it `result`: the verdicts are those of the same judge with a field called
    `verdict`.
    """
    ours = Registry().get("answerability")
    theirs = replace(ours, reply='Answer as JSON: {"reason": "...", "result": "yes or no"}.')
    rows = [
        Row(id=str(i), inputs={"question": q, "passages": "Cats purr at night."})
        for i, q in enumerate(QUESTIONS)
    ]
    found = []
    for prompt, field in ((ours, "verdict"), (theirs, "result")):
        asked = replace(prompt, reply_schema={"reason": "text", field: "score"})
        replies = [
            asyncio.run(MODEL.complete(judge_request(asked, row, settings=JudgeSettings())))
            for row in rows
        ]
        found.append([read_reply(asked, reply) for row, reply in zip(rows, replies, strict=True)])
    assert all(isinstance(answer, Verdict) for side in found for answer in side)
    scores = [[answer.score for answer in side if isinstance(answer, Verdict)] for side in found]
    assert len({*scores[1]}) == 2


QUESTIONS = (
    "When do cats purr?",
    "Who built the old bridge over the river?",
    "Do cats purr at night?",
)
