"""The simulated model as an optimizer and as a loss writer."""

import asyncio
import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import LossError
from judgewright.judges.models import Message, Request
from judgewright.judges.simulated import Side, Simulated, load_rules
from judgewright.optimize.losses import Grades, check_axioms, compile_expression

BACKWARD = (
    "You are part of an optimization system that improves a given text. You are the gradient"
    " (feedback) engine."
)
OPTIMIZER = (
    "You are part of an optimization system that improves text (i.e., variable). You MUST give your"
    " response by sending the improved variable between <IMPROVED_VARIABLE> {improved variable}"
    " </IMPROVED_VARIABLE> tags."
)
CRITERIA = (
    "Score how far the source supports the statement.\nDirect support scores high, no support"
    " low.\nIndirect evidence counts. An abstention counts as fully grounded."
)
ROWS = [
    (
        "The bridge opened in 1931 and cost 4 million crowns.",
        "The bridge opened in 1951 and cost 9 million crowns.",
    ),
    ("The club has 300 members and two halls.", "The club has 450 members and two halls."),
    (
        "The path is 12 km long and leads to the lake.",
        "The path is 21 km long and leads to the lake.",
    ),
]


def critique(error: str = "false positive") -> str:
    examples = "\n\n".join(
        f"Example {i}, {error}, loss 0.80: the judge gave 3 (positive), people say negative.\n"
        f"source: {source}\nstatement: {statement}\nThe judge's reasons: the wording is found."
        for i, (source, statement) in enumerate(ROWS, 1)
    )
    return (
        f"Objective: Raise precision.\nWeighted loss 0.5 over 8 rows; 3 {error}s, 0"
        f" others.\n\n{examples}"
    )


def say(system: str, user: str, repeat: int = 0, **changes: object) -> str:
    messages = (Message("system", system), Message("user", user))
    return asyncio.run(MODEL.complete(Request(messages=messages, repeat=repeat, **changes))).text  # type: ignore[arg-type]


def backward(repeat: int) -> str:
    return say(
        BACKWARD,
        f"<CRITERIA>\n{CRITERIA}\n</CRITERIA>\n\n<CRITIQUE>\n{critique()}\n</CRITIQUE>",
        repeat,
    )


def step(feedback: str, repeat: int, criteria: str = CRITERIA) -> str:
    user = (
        f"The variable is the text within the following span: <VARIABLE> {criteria}"
        f" </VARIABLE>\n\n<CONTEXT>{critique()}\n<FEEDBACK>{feedback}</FEEDBACK></CONTEXT>\nImprove"
        " the variable."
    )
    return say(OPTIMIZER, user, repeat)


MODEL = Simulated()


def test_feedback_names_what_the_quoted_rows_show() -> None:
    """Where every quoted row has a wrong number, most feedback speaks of numbers; some of it is no
    help.
    """
    said = [backward(repeat) for repeat in range(60)]
    share = sum("umber" in text or "igure" in text for text in said) / len(said)
    assert 0.6 <= share <= 0.95
    assert said == [backward(repeat) for repeat in range(60)]


def test_the_optimizer_step_adds_the_asked_directive_in_tags() -> None:
    """Most edits realise the feedback and keep the rest; a few are harmless or harmful, hardly any
    lack the tags.
    """
    kinds: Counter[str] = Counter()
    for repeat in range(200):
        reply = step("Numbers are not being checked against the source.", repeat)
        tagged = reply.startswith("<IMPROVED_VARIABLE>") and reply.endswith("</IMPROVED_VARIABLE>")
        kinds["tagged"] += tagged
        kinds["numbers"] += "numbers" in MODEL._prompts.directives(reply)[0]
        kinds["placeholder"] += "{{" in reply
        kinds["quoted"] += any(statement in reply for _, statement in ROWS)
        kinds["kept"] += all(line in reply for line in CRITERIA.split("\n"))
    assert 185 <= kinds["tagged"] < 200
    assert kinds["numbers"] >= 130
    assert kinds["placeholder"] >= 1
    assert kinds["quoted"] >= 1
    assert 120 <= kinds["kept"] < 200


def test_a_plain_rewrite_request_is_answered_in_the_tags_it_names() -> None:
    """Our own words do as well as TextGrad's."""
    system = (
        "You improve the criteria of an LLM judge. Put the new text between <NEW_CRITERIA> and"
        " </NEW_CRITERIA> tags."
    )
    replies = [
        say(system, f"<CURRENT_CRITERIA>{CRITERIA}</CURRENT_CRITERIA>\n\n{critique()}", repeat)
        for repeat in range(40)
    ]
    tagged = [
        r for r in replies if r.startswith("<NEW_CRITERIA>") and r.endswith("</NEW_CRITERIA>")
    ]
    assert len(tagged) >= 36
    assert sum("umber" in r or "figures" in r for r in tagged) > 15


def test_every_shipped_loss_keeps_the_axioms_and_every_bad_one_breaks_them() -> None:
    """The expressions are in the language and declared rightly; the invalid ones are refused."""
    losses = load_rules().losses
    sides: dict[Side, list[str]] = {"fp": losses.fp, "fn": losses.fn, "even": losses.even}
    for side, expressions in sides.items():
        declares = {"fp_costs_more_than_fn": side == "fp", "fn_costs_more_than_fp": side == "fn"}
        for text in (
            *expressions,
            *(f"({e}) * (1 if in_slice('target') else 0.7)" for e in expressions),
        ):
            check_axioms(compile_expression(text), declares=declares, grades=Grades(levels=4))
    for text in losses.invalid:
        with pytest.raises(LossError):
            check_axioms(compile_expression(text), declares={}, grades=Grades(levels=4))


@pytest.mark.parametrize(
    ("line", "declared"),
    [
        ("The loss must declare fp_costs_more_than_fn: ...", "fp_costs_more_than_fn"),
        ("The loss must declare fn_costs_more_than_fp: ...", "fn_costs_more_than_fp"),
        ("The objective is about both kinds of error.", None),
    ],
)
def test_a_loss_declares_what_is_required(line: str, declared: str | None) -> None:
    """The dearer error is the one that the request names, whatever words the objective has."""
    answer = json.loads(say("You write a loss.", f"Objective: raise recall\n{line}"))
    assert [name for name, holds in answer["declares"].items() if holds] == [
        name for name in (declared,) if name
    ]


def test_a_refused_loss_is_mended() -> None:
    """First answers are sometimes outside the rules; after a refusal they never are."""
    user = (
        "Slice under repair (in_slice('target')): dataset = wice\nThe loss must declare"
        " fp_costs_more_than_fn: a false positive costs more."
    )
    losses = load_rules().losses
    first = [json.loads(say("You write a loss.", user, repeat)) for repeat in range(60)]
    assert 5 <= sum(answer["expression"] in losses.invalid for answer in first) <= 25
    again = f"{user}\nEarlier answers were refused:\n1. the loss is constant"
    for repeat in range(60):
        answer = json.loads(say("You write a loss.", again, repeat))
        assert set(answer) == {"expression", "declares", "reason"}
        compiled = compile_expression(answer["expression"])
        check_axioms(compiled, declares=answer["declares"], grades=Grades(levels=4))
        assert answer["declares"] == {"fp_costs_more_than_fn": True, "fn_costs_more_than_fp": False}


@pytest.mark.parametrize("system", [BACKWARD, OPTIMIZER, "You write a loss."])
@given(user=st.text(max_size=400), repeat=st.integers(0, 50))
@settings(max_examples=60, deadline=None)
def test_any_request_gets_an_answer(system: str, user: str, repeat: int) -> None:
    """Nothing in a request makes the writing side fail, and it never answers with nothing."""
    assert say(system, user, repeat)
