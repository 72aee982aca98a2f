"""Texts that the optimizer model writes: out of their fences and announcements, and a cut one
called cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from judgewright.judges import Completion, JudgePrompt, Message, Registry, Request
from judgewright.judges.models import Client, Endpoint
from judgewright.judges.simulated import Faults, Server, Simulated, make_app
from judgewright.optimize.invariants import token_cap
from judgewright.optimize.proposers.prompt_parts import Part, constraints, constraints_by_kind
from judgewright.optimize.proposers.texts import Wanted, Written, write_texts

PROMPT = Registry().get("groundedness")
RULE = "A fact that the source does not state is unsupported; one such fact means the lowest score."


def wanted(prompt: JudgePrompt = PROMPT, part: Part = "criteria") -> Wanted:
    """New criteria, as they are asked for."""
    request = Request(
        messages=(Message("user", "Improve."),), default_max_tokens=100, purpose="optimizer"
    )
    return Wanted(prompt=prompt, parts=(part,), request=request, tag="IMPROVED_CRITERIA")


def written(*replies: Completion) -> tuple[Written, int]:
    """What comes of these replies in turn, and how many were asked for."""
    left = list(replies)

    def ask(requests: Sequence[Request]) -> list[Completion]:
        return [left.pop(0) for _ in requests]

    (one,) = write_texts([wanted()], ask, retries=2)
    return one, len(replies) - len(left)


@pytest.mark.parametrize(
    "reply",
    [
        "They lack.\n<IMPROVED_CRITERIA>\n```\n{}\n```\n</IMPROVED_CRITERIA>",
        "<improved_criteria>{}</improved_criteria>",
        "<Improved_Criteria>\n{}\n</Improved_Criteria>",
        "<IMPROVED_CRITERIA>Here are the improved criteria:\n\n{}</IMPROVED_CRITERIA>",
        "<IMPROVED_CRITERIA>\n**New criteria:**\n{}\n</IMPROVED_CRITERIA>",
        "<IMPROVED_CRITERIA>\nSure, this should do:\n```markdown\n{}\n```\n</IMPROVED_CRITERIA>",
        "<IMPROVED_CRITERIA>\n```text\n{}\n```\nIt is stricter now.\n</IMPROVED_CRITERIA>",
        "<IMPROVED_CRITERIA>\n```\n{}\n</IMPROVED_CRITERIA>",
        "<IMPROVED_CRITERIA>\n~~~\n{}\n~~~\n</IMPROVED_CRITERIA>",
        "< IMPROVED_CRITERIA >{}</ IMPROVED_CRITERIA >",
        "<IMPROVED\\_CRITERIA>{}</IMPROVED\\_CRITERIA>",
        '<IMPROVED_CRITERIA version="2">{}</IMPROVED_CRITERIA>',
        "**<IMPROVED_CRITERIA>**\n{}\n**</IMPROVED_CRITERIA>**",
        "`<IMPROVED_CRITERIA>`\n{}\n`</IMPROVED_CRITERIA>`",
        '<IMPROVED_CRITERIA>"{}"</IMPROVED_CRITERIA>',
        "<IMPROVED_CRITERIA><![CDATA[{}]]></IMPROVED_CRITERIA>",
        "<IMPROVED_CRITERIA>\n# Improved criteria\n\n{}\n</IMPROVED_CRITERIA>",
    ],
)
def test_fences_announcements_and_letters_are_not_of_the_text(reply: str) -> None:
    """What stands between the tags is the text alone, in whatever letters the tags are; one try is
    enough.
    """
    one, asked = written(Completion(text=reply.format(RULE)))
    assert (one.text, asked) == (RULE, 1)


@pytest.mark.parametrize(
    "text",
    [f"In doubt:\n{RULE}", f"{RULE}\n\n```\nan example\n```\nis no fact.", f"Facts:\n- {RULE}"],
)
def test_lines_and_fences_within_a_text_stay(text: str) -> None:
    """Only what is round it goes."""
    assert (
        written(Completion(text=f"<IMPROVED_CRITERIA>{text}</IMPROVED_CRITERIA>"))[0].text == text
    )


def test_what_the_old_text_has_may_stand_in_the_new_one() -> None:
    """Criteria in a fence, under a line with their name, stay so."""
    old = PROMPT.edited(criteria=f"Our criteria:\n{RULE}")
    new = f"Our criteria:\n{RULE} No other."
    assert wanted(old).read(Completion(text=f"<IMPROVED_CRITERIA>{new}</IMPROVED_CRITERIA>")) == (
        new,
        "",
    )


def test_a_cut_reply_is_called_cut_and_not_asked_for_again() -> None:
    """With the number of tokens and the setting that gives more; the client has doubled them once
    already.
    """
    with Server(make_app(Simulated(), Faults.parse("truncate=1"))) as server:
        endpoint = Endpoint(name="m", base_url=server.base_url, api_key=None)
        with Client(endpoint) as client:

            def ask(requests: Sequence[Request]) -> list[Completion]:
                return [
                    outcome for outcome in client.ask(requests) if isinstance(outcome, Completion)
                ]

            (one,) = write_texts([wanted()], ask, retries=2)
            assert client.stats.calls == 2
    assert one.text is None
    assert (
        one.reason
        == "the reply was cut off at 200 tokens; raise optimizer_max_tokens of the model in"
        " models.yaml"
    )


def test_a_cut_reply_with_a_whole_text_is_used() -> None:
    """What was cut came after it."""
    reply = f"<IMPROVED_CRITERIA>{RULE}</IMPROVED_CRITERIA> And so"
    assert written(Completion(text=reply, finish_reason="length"))[0].text == RULE


def test_a_later_step_is_told_what_the_first_prompts_cap_leaves_it() -> None:
    """As many words as fit, in the rules and where a reply is read; a cap of the present text's own
    once let every later step write what was refused.
    """
    cap = token_cap(PROMPT)
    grown = PROMPT.edited(criteria=f"{PROMPT.criteria} {RULE * 12}")
    words = len(grown.criteria.split())
    longer = f"<IMPROVED_CRITERIA>{grown.criteria} {RULE * 20}</IMPROVED_CRITERIA>"
    assert wanted(grown).read(Completion(text=longer))[1] == ""
    assert "tokens fit" in replace(wanted(grown), cap=cap).read(Completion(text=longer))[1]
    (rule,) = (rule for rule in constraints(grown, "criteria", cap) if "Stay under" in rule)
    assert words <= int(rule.split()[2]) < words + 80
    parts: tuple[Part, ...] = ("criteria", "anchors")
    (rule,) = (rule for rule in constraints_by_kind(grown, parts, cap) if "Stay under" in rule)
    assert int(rule.split()[2]) < words + 250
