"""Which task the simulated model sees in the fields of a message, and what the tasks of the newer
judges do.
"""

import asyncio
import json
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import (
    JudgePrompt,
    OutputScale,
    Registry,
    Row,
    Verdict,
    read_reply,
    response_format,
)
from judgewright.judges.models import Request
from judgewright.judges.simulated import Simulated, TaskName, load_rules, pair_of

NAMES = load_rules().fields
MODEL = Simulated()


def answer(prompt: JudgePrompt, inputs: Mapping[str, str]) -> Verdict:
    request = Request(
        messages=prompt.messages(Row(id="r", inputs=inputs)),
        response_format=response_format(prompt),
        temperature=0.0,
    )
    found = read_reply(prompt, asyncio.run(MODEL.complete(request)))
    assert isinstance(found, Verdict)
    return found


@pytest.mark.parametrize(
    ("names", "task"),
    [
        ("source statement", "groundedness"),
        ("query passage", "context_relevance"),
        ("query answer", "answer_relevance"),
        ("query gold_answer answer", "answer_correctness"),
        ("answer reference_answer", "answer_correctness"),
        ("question passages", "answerability"),
        ("question passages answer", "answer_relevance"),
        ("query interpretation passages", "interpretation_groundedness"),
        ("question relevance_definition paragraph", "defined_relevance"),
        ("question paragraph", "context_relevance"),
    ],
)
def test_the_fields_name_the_task(names: str, task: TaskName) -> None:
    """Each set of fields is one task, in any order of the fields."""
    fields = {name: f"text of {name}" for name in names.split()}
    for order in (fields, dict(reversed(fields.items()))):
        pair = pair_of(NAMES, order, "criteria")
        assert pair is not None
        assert (pair.task, pair.alone) == (task, False)


@pytest.mark.parametrize(
    ("gold", "given_answer", "right"),
    [
        ("Marta Lund", "Marta Lund", True),
        ("Marta Lund", "It was painted by Marta Lund in 1931.", True),
        ("Marta Lund", "Peer Holm", False),
        ("yes", "Yes, both were built of brick.", True),
        ("no", "No.", True),
        ("yes", "No, neither was.", False),
        ("no", "There is no answer to that.", False),
        ("Marta Lund", "I don't know whether it was Marta Lund.", False),
        ("Marta Lund", "", False),
        ("1931", "The year was 1913.", False),
    ],
)
def test_an_answer_is_right_as_far_as_it_has_the_gold_answer(
    gold: str, given_answer: str, right: bool
) -> None:
    """Yes and no count although they are no content words; an abstention is wrong whatever it
    mentions.
    """
    inputs = {
        "query": "Tell me about the two chapels.",
        "gold_answer": gold,
        "answer": given_answer,
    }
    assert answer(Registry().get("answer_correctness"), inputs).positive is right


@pytest.mark.parametrize(
    ("question", "source"),
    [
        ("Which invoices of March have not been paid?", "orders"),
        ("How many units of the blue kettle are in the Lyon warehouse?", "inventory"),
        ("What do customers complain about in their tickets?", "support"),
        ("Which employees take holidays in August?", "staff"),
    ],
)
def test_one_question_is_routed_by_its_own_words(question: str, source: str) -> None:
    """The instructions name every source; only the question may decide between them."""
    prompt = Registry().get("routing")
    assert prompt.scale.labels[int(answer(prompt, {"question": question}).score)] == source


def test_two_sources_are_a_choice_and_an_unclear_question_is_less_sure() -> None:
    """Two labels of which neither reads as a no are routed too; the confidence grows with the
    lead.
    """
    anchors = {"kitchen": "Recipes, dishes and menus.", "garage": "Cars, tyres and engines."}
    scale = OutputScale(kind="choice", labels=("kitchen", "garage"), anchors=anchors, threshold=1)
    prompt = JudgePrompt(
        name="two",
        system="You route questions.",
        criteria="Choose the source.",
        template="{{question}}",
        reply='Answer with JSON: "label": the source; "confidence": 0 to 1.',
        reply_schema={"label": "score", "confidence": "confidence"},
        scale=scale,
    )
    cars = answer(prompt, {"question": "Which engines and tyres fit these cars?"})
    dishes = answer(prompt, {"question": "Which dishes are on the menus?"})
    unclear = answer(prompt, {"question": "Is it raining?"})
    assert (cars.score, dishes.score) == (1.0, 0.0)
    assert cars.confidence is not None
    assert unclear.confidence is not None
    assert cars.confidence > unclear.confidence


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(st.text(max_size=200), min_size=3, max_size=3), repeat=st.integers(0, 3))
def test_any_text_can_be_judged_by_every_judge(texts: list[str], repeat: int) -> None:
    """No row crashes a task, and every reply is JSON of the schema."""
    for name in (
        "groundedness",
        "context_relevance",
        "answer_relevance",
        "answer_correctness",
        "diras",
        "answerability",
        "interpretation_groundedness",
        "routing",
    ):
        prompt = Registry().get(name)
        row = Row(id="r", inputs=dict(zip(prompt.inputs, texts, strict=False)))
        request = Request(
            messages=prompt.messages(row), response_format=response_format(prompt), repeat=repeat
        )
        body = json.loads(asyncio.run(MODEL.complete(request)).text)
        assert list(body) == list(prompt.reply_schema)
