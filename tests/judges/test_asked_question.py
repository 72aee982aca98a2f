"""Judges as typed questions of decision models, and answers as verdicts."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgewright.judges import InputError, OutputScale, Registry, Row, Unscored, Verdict
from judgewright.judges.asked_question import (
    AskedQuestion,
)
from judgewright.judges.models.decision_wire import read_answers, wire_body
from judgewright.judges.models.question import Option, Question, read_request

from .ten_judges import own_judge

APIS = ("decisions", "systemone", "sglang")
QUESTIONS = (
    Question(kind="yes_no", instructions="Grounded?", options=(Option("no"), Option("yes"))),
    Question(
        kind="choice", instructions="Who?", options=(Option("orders", "sales"), Option("staff"))
    ),
    Question(
        kind="score", instructions="How far?", options=(Option("0", "no"), Option("1"), Option("2"))
    ),
)
ANSWERS = {
    "decisions": [
        {"type": "predicate", "probability": 0.91},
        {
            "type": "choice",
            "probabilities": [
                {"value": "staff", "probability": 0.2},
                {"value": "orders", "probability": 0.8},
            ],
        },
        {
            "type": "score",
            "probabilities": [
                {"value": 0, "label": "0", "probability": 0.1},
                {"value": 1, "label": "1", "probability": 0.2},
                {"value": 2, "label": "2", "probability": 0.7},
            ],
        },
    ],
    "systemone": {
        "q0": {"type": "noul", "noul": 0.91},
        "q1": {"type": "choice", "probabilities": {"orders": 0.8, "staff": 0.2}},
        "q2": {"type": "score", "probabilities": {"0": 0.1, "1": 0.2, "2": 0.7}},
    },
    "sglang": {
        "q0": {"type": "yes_no", "probabilities": {"yes": 0.91, "no": 0.09}},
        "q1": {"type": "choice", "probabilities": {"orders": 0.8, "staff": 0.2}},
        "q2": {"type": "score", "probabilities": {"0": 0.1, "1": 0.2, "2": 0.7}},
    },
}
JUDGE = Registry().get("groundedness")
ROW = Row(id="r1", inputs={"source": "Open 9-5.", "statement": "It opens at 9."})


def asked(api: str = "systemone", prompt=JUDGE) -> AskedQuestion:
    """Return a judge as a question."""
    return AskedQuestion(prompt=prompt, api=api)


def answer_of(reply: object, api: str = "systemone", prompt=JUDGE):
    """Return the verdict of one answer as an endpoint gives it."""
    question = asked(api, prompt)
    answers = {"q0": reply} if api != "decisions" else [reply]
    body = json.dumps({"answers": answers, "usage": {"input_tokens": 9, "output_tokens": 1}})
    completion = read_answers(api, body.encode(), [question.question], "")[0]
    return question.read(completion, row_id="r1")


def score(*shares: object) -> dict[str, object]:
    """Return a score answer of System One."""
    return {"type": "score", "probabilities": {str(i): p for i, p in enumerate(shares)}}


@pytest.mark.parametrize("api", APIS)
def test_three_questions_of_one_request_are_read_in_their_order(api: str) -> None:
    """One request is billed once, and each question gets its own distribution."""
    from judgewright.judges.models.decision_wire import read_distribution

    sent = wire_body(api, "m", QUESTIONS, "Open 9-5.")
    assert len(sent["questions"]) == 3
    body = json.dumps({"answers": ANSWERS[api], "usage": {"input_tokens": 96, "output_tokens": 3}})
    replies = read_answers(api, body.encode(), QUESTIONS, "Open 9-5.")
    assert [reply.tokens_in for reply in replies] == [96, 0, 0]
    shares = [
        read_distribution(api, question, reply.text)
        for question, reply in zip(QUESTIONS, replies, strict=True)
    ]
    assert shares == [
        pytest.approx((0.09, 0.91)),
        pytest.approx((0.8, 0.2)),
        pytest.approx((0.1, 0.2, 0.7)),
    ]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("name", Registry().names())
def test_every_shipped_judge_is_a_question(name: str, api: str) -> None:
    """Its criteria are asked, and the request can be read back to the same question."""
    prompt = Registry().get(name)
    question = asked(api, prompt)
    row = Row(id="r", inputs=dict.fromkeys(prompt.inputs, "text"))
    assert read_request(question.request(row)) == ([question.question], question.state(row))
    assert prompt.criteria.strip() in question.question.instructions


def test_a_scale_of_many_grades_is_refused() -> None:
    """A score question has ten levels at most, which is said with the judge's name."""
    many = replace(JUDGE, scale=OutputScale(low=0, high=100, threshold=50))
    with pytest.raises(InputError, match=r"groundedness.*2 to 10 answers, not 101"):
        _ = asked("decisions", many).question


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("name", "kind", "meanings"),
    [
        ("named labels", "score", ("No help.", "Some help.", "All that was asked.")),
        ("no anchors", "score", ("",) * 5),
        ("binary in words", "yes_no", ("It insults.", "polite")),
        ("low is good", "yes_no", ("", "")),
        ("criteria in the system text", "yes_no", ("", "")),
        ("decided cases", "yes_no", ("", "")),
        ("fixed cases", "yes_no", ("", "")),
        ("three inputs, JSON", "score", ("",) * 4),
    ],
)
def test_a_judge_of_ones_own_is_a_question(
    name: str, kind: str, meanings: tuple[str, ...], api: str
) -> None:
    """Whatever its scale and parts are; its criteria stand in the question once."""
    prompt = own_judge(name)
    one = asked(api, prompt)
    assert (one.question.kind, tuple(o.meaning for o in one.question.options)) == (kind, meanings)
    assert one.question.instructions.count(prompt.criteria) == 1
    assert prompt.reply not in one.describe()


def test_what_no_interface_takes_is_refused_with_the_reason() -> None:
    """Eleven grades by none; thirty labels by SGLang alone, whose limit is 26."""
    for api in APIS:
        with pytest.raises(InputError, match="2 to 10 answers, not 11"):
            asked(api, own_judge("eleven grades")).describe()
    labels = own_judge("thirty labels")
    assert len(asked("decisions", labels).question.options) == 30
    assert len(asked("systemone", labels).question.options) == 30
    with pytest.raises(InputError, match="2 to 26 answers, not 30"):
        asked("sglang", labels).describe()


def test_what_is_shown_is_what_would_be_sent() -> None:
    """The question of any row, with an empty state; decided cases stand in it."""
    for name in ("groundedness", "decided cases"):
        prompt = JUDGE if name == "groundedness" else own_judge(name)
        for api in APIS:
            one = asked(api, prompt)
            row = Row(id="", inputs=dict.fromkeys(prompt.inputs, ""))
            assert one.empty_body() == wire_body(api, "MODEL", [one.question], one.state(row))
    shows = asked("systemone", own_judge("decided cases"))
    assert "decided_cases" in shows.empty_body()["state"]
    assert "decided_cases" not in shows.question.instructions, "they are not what is judged"


def test_what_a_decision_model_is_not_sent_is_said() -> None:
    """The form of the reply, reasons, fixed cases, a template's words where inputs are named."""
    assert asked("sglang", own_judge("fixed cases")).left_out == (
        "the form of the reply",
        "decided cases",
    )
    assert asked("systemone", own_judge("three inputs, JSON")).left_out == (
        "the form of the reply",
        "reasons and stated confidence",
    )
    assert "template" in asked("systemone", own_judge("fixed cases")).left_out[0]
    assert "decided cases" not in asked("sglang", own_judge("decided cases")).left_out


def test_the_probability_of_the_good_grades_decides() -> None:
    """Argmax, mean and the share of the good grades differ, and the share decides."""
    verdict = answer_of(score(0.45, 0.0, 0.15, 0.40))
    assert isinstance(verdict, Verdict)
    assert verdict.score == pytest.approx(0.55)
    assert verdict.positive
    assert verdict.confidence == pytest.approx(0.55)
    assert verdict.distribution == pytest.approx((0.45, 0.0, 0.15, 0.40))


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (None, "no answer"),
        ({"type": "noul", "noul": 0.4}, "of the type 'noul', not score"),
        (score(0.1, 0.2, 0.2, 0.7), "sum to 1.2"),
        (score(0.0, 0.0, -0.7, 1.7), "not within"),
        (score(0.1, 0.2, None, 0.7), "no number"),
        (score(0.1, 0.2, True, 0.7), "no number"),
        (score(0.3, 0.7), "no number"),
    ],
)
def test_what_is_no_distribution_leaves_the_row_without_a_verdict(
    reply: object, reason: str
) -> None:
    """Neither a zero nor a half is made up."""
    answer = answer_of(reply)
    assert isinstance(answer, Unscored)
    assert answer.reason == "parse"
    assert reason in answer.detail


def test_a_number_that_is_none_costs_its_own_row_only() -> None:
    """A body with NaN is read; what is NaN has no verdict."""
    question = asked()
    body = b'{"answers": {"q0": {"type": "score", "probabilities": {"0": NaN}}}}'
    answer = question.read(read_answers("systemone", body, [question.question], "")[0])
    assert isinstance(answer, Unscored)
    assert "no number" in answer.detail


def test_a_refusal_is_no_verdict() -> None:
    """A question that a model refuses, in a reply that is else good, is refused."""
    answer = answer_of({"type": "refusal", "name": "q0"}, "decisions")
    assert isinstance(answer, Unscored)
    assert answer.reason == "refused"


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4).filter(lambda shares: sum(shares) > 0.1))
def test_rounded_probabilities_are_brought_to_one(shares: list[float]) -> None:
    """Services round to two places; what is off by that alone is a distribution."""
    total = sum(shares)
    rounded = [round(share / total, 2) for share in shares]
    verdict = answer_of(score(*rounded))
    assert isinstance(verdict, Verdict)
    assert sum(verdict.distribution) == pytest.approx(1)
