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
from judgewright.judges.models import Message, Request
from judgewright.judges.simulated import Reader, Simulated, TaskName, load_rules, pair_of

NAMES = load_rules().fields
READER = Reader(load_rules())
MODEL = Simulated()
DEFINITION = (
    "Meaning: the question asks what the firm does about water.\n"
    "1. Targets for the litres drawn from rivers.\n"
    "2. Treatment of waste water before it leaves the plant."
)


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


def test_an_empty_definition_leaves_plain_relevance() -> None:
    """A row without a definition is judged like one of a judge that has none."""
    pair = pair_of(NAMES, {"question": "who", "relevance_definition": " ", "paragraph": "Ann"}, "")
    assert pair is not None
    assert (pair.task, pair.focus) == ("context_relevance", "who")


def test_one_line_of_a_definition_is_enough() -> None:
    """A paragraph that fits one example of many is covered as well as by a definition with that
    example alone.
    """
    question, lines = "What does the firm do about water?", DEFINITION.splitlines()
    ground = "Waste water gets a treatment in two basins before it leaves the plant."
    whole = READER.features("defined_relevance", f"{question}\n{DEFINITION}", ground)
    alone = READER.features("defined_relevance", f"{question}\n{lines[2]}", ground)
    other = READER.features("defined_relevance", f"{question}\n{lines[1]}", ground)
    assert whole["coverage"] == alone["coverage"] > other["coverage"]


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


def test_without_content_words_and_without_the_phrase_nothing_is_found() -> None:
    """`verbatim` looks for whole words in the first sentence alone."""
    for ground, found in (
        ("Yes, it is.", 1.0),
        ("Yesterday.", 0.0),
        ("It was. Yes.", 0.0),
        ("", 0.0),
    ):
        assert READER.features("answer_correctness", "yes", ground)["verbatim"] == found
    assert READER.features("answer_relevance", "yes", "Yes, it is.")["verbatim"] == 0.0


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


@pytest.mark.parametrize(
    ("name", "sentence", "inputs"),
    [
        (
            "answer_correctness",
            "Every number and date in the gold answer must match the response.",
            {
                "query": "How long is the tunnel?",
                "gold_answer": "The tunnel is 740 metres long",
                "answer": "470 metres",
            },
        ),
        (
            "answerability",
            "The text must answer the question itself.",
            {
                "question": "When was the ferry to Osk built?",
                "passages": "The ferry to Osk is built of oak.",
            },
        ),
        (
            "interpretation_groundedness",
            "Check every name; one that does not appear in the passages means a low grade.",
            {
                "query": "the tower",
                "interpretation": "Who built the tower of Brenk?",
                "passages": "The tower of Osk was built by monks.",
            },
        ),
    ],
)
def test_a_directive_lowers_the_rows_it_speaks_of_in_the_newer_tasks(
    name: str, sentence: str, inputs: dict[str, str]
) -> None:
    """The newer judges can be optimised: a sentence added to the criteria moves the rows it is
    about.
    """
    shipped = Registry().get(name)
    bare = shipped.edited(
        criteria="Compare the two texts with care and decide as a careful reader would. " * 5
    )
    told = bare.edited(criteria=f"{bare.criteria} {sentence}")
    task = pair_of(NAMES, inputs, "")
    assert task is not None
    features = READER.features(task.task, task.focus, task.ground)
    latent = [
        sum(w * v for w, v in zip(read.weights, features.values, strict=True)) - read.cut
        for read in (
            MODEL._prompts.read(task.task, p.system_text(), p.reply, None) for p in (bare, told)
        )
    ]
    assert latent[1] < latent[0]


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("groundedness", "groundedness"),
        ("answer_relevance", "answer_relevance"),
        ("context_relevance", "context_relevance"),
        ("answer_correctness", "answer_correctness"),
        ("answerability", "answerability"),
        ("interpretation_groundedness", "interpretation_groundedness"),
        ("diras", "defined_relevance"),
    ],
)
def test_criteria_without_rows_name_their_task(name: str, task: TaskName) -> None:
    """A critique that quotes no row is still answered in the words of its task."""
    assert MODEL._critic.task_of(Registry().get(name).criteria) == task


def test_an_optimizer_request_with_rows_of_a_newer_task_is_answered_about_it() -> None:
    """A false positive whose number differs from the gold answer points to numbers."""
    rows = "".join(
        "False positive:\n"
        f"<gold_answer-0a1b2c>The tunnel of Brenk is {n} metres long</gold_answer-0a1b2c>"
        f"<answer-0a1b2c>The tunnel of Brenk is {n + 100} metres long</answer-0a1b2c>\n"
        for n in (310, 320, 330, 340)
    )
    criteria = "<CURRENT_CRITERIA>Compare the answer with the gold answer.</CURRENT_CRITERIA>\n"
    found = MODEL._critic.diagnose(criteria + rows, "Compare the answer with the gold answer.")
    assert (found.task, found.direction, found.causes[0]) == ("answer_correctness", "fp", "numbers")
    asked = (
        Message("system", "You are the gradient (feedback) engine."),
        Message("user", criteria + rows),
    )
    assert asyncio.run(MODEL.complete(Request(messages=asked))).text


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(st.text(max_size=200), min_size=3, max_size=3), repeat=st.integers(0, 3))
def test_any_text_can_be_judged_by_every_judge(texts: list[str], repeat: int) -> None:
    """No row crashes a newer task, and every reply is JSON of the schema."""
    for name in (
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
