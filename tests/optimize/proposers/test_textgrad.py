"""TextGrad behind the seam: what it asks, and what it makes of good, bad and hostile replies."""

import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import JudgePrompt, Progress, Registry
from judgewright.judges.models import Request
from judgewright.optimize import Brief
from judgewright.optimize.proposers import NoProposal, Proposal, TextGrad, read_tagged

PROMPT = (
    Registry()
    .get("groundedness")
    .edited(criteria="Old rule one. " + "Filler words in the middle. " * 12 + "Old rule {last}.")
)
NEW = "<IMPROVED_VARIABLE>New rule.</IMPROVED_VARIABLE>"


@pytest.fixture
def propose(desk: Any) -> Callable[..., tuple[Proposal | NoProposal, list[Request]]]:
    """Run one step against scripted replies."""

    def run(
        *replies: str,
        past: tuple[JudgePrompt, ...] = (),
        proposer: TextGrad = TextGrad(),  # noqa: B008  # frozen
        brief: Brief | None = None,
        prompt: Any = PROMPT,
    ) -> tuple[Proposal | NoProposal, list[Request]]:
        script = list(replies)
        desk.reply, desk.asked = lambda request: script.pop(0), []
        brief = replace(brief or desk.brief, prompt=prompt, past=past)
        return proposer.propose(prompt, brief, desk.bench, step=3), desk.asked

    return run


def test_a_step_asks_for_feedback_then_for_a_text_and_edits_only_the_criteria(propose: Any) -> None:
    """Two requests; the new prompt differs in its criteria and names its parent."""
    proposal, asked = propose(
        "Numbers are ignored.", "<IMPROVED_VARIABLE>New rule.</IMPROVED_VARIABLE>"
    )
    assert isinstance(proposal, Proposal)
    assert len(asked) == 2
    assert proposal.gradient == "Numbers are ignored."
    assert proposal.prompt.criteria == "New rule."
    assert proposal.prompt.parent == PROMPT.version
    assert (proposal.prompt.system, proposal.prompt.template) == (PROMPT.system, PROMPT.template)
    assert {request.purpose for request in asked} == {"optimizer"}
    assert {request.repeat for request in asked} == {3}


def test_both_requests_show_the_whole_prompt_and_the_brief(propose: Any, desk: Any) -> None:
    """TextGrad shortens a variable to its first and last ten words; ours is whole, braces and
    all.
    """
    brief, earlier = desk.brief, PROMPT.edited(criteria="An earlier text.")
    past = (earlier,)
    _, asked = propose("Feedback {x}.", "<IMPROVED_VARIABLE>New.</IMPROVED_VARIABLE>", past=past)
    backward, step = (request.messages[-1].content for request in asked)
    for text in (backward, step):
        assert PROMPT.criteria in text
        assert PROMPT.system in text
        assert PROMPT.reply in text
        assert brief.quoted
        for row in brief.train.judged.rows:
            assert row.id not in brief.quoted[:1] or row.inputs["statement"] in text
    assert "Feedback {x}." in step
    assert "An earlier text." in step
    assert "None" not in step


def test_the_conversation_fits_itself(propose: Any) -> None:
    """The announced tags are those that come, limits are relative to the text, and momentum asks
    for no leaps.
    """
    past = (PROMPT.edited(criteria="An earlier text."),)
    prompt = PROMPT.edited(criteria="Some words of a rule. " * 192)
    _, asked = propose("Feedback.", NEW, past=past, prompt=prompt)
    for request in asked:
        system, user = (message.content for message in request.messages)
        announced = re.findall(r"# - <([A-Z_]+)>", system)
        assert announced
        for tag in announced:
            assert f"<{tag}>" in user
        # Of the brief the system message speaks as a whole.
        outside = re.sub(r"(?s)<BRIEF>.*</BRIEF>", "<BRIEF>", user).partition(
            "Send the improved variable"
        )[0]
        assert set(re.findall(r"<([A-Z_]+)>", outside)) <= {*announced, "CRITERIA"}
        assert "250 words" not in user
        assert "significant changes" not in user
    assert "Stay under 1248 words" in asked[1].messages[1].content
    assert asked[1].messages[1].content.count("# Where it stands") == 1


@pytest.mark.parametrize(("words", "limit"), [(20, 100), (78, 158), (960, 1248)])
def test_a_short_text_has_room_for_new_rules(propose: Any, words: int, limit: int) -> None:
    """Eighty words may be added to any text: 1.3 times a short one is hardly a sentence more."""
    _, asked = propose("Feedback.", NEW, prompt=PROMPT.edited(criteria="word " * words))
    assert (
        f"Stay under {limit} words; the present text has {words}." in asked[1].messages[1].content
    )


def test_equal_steps_make_equal_requests(propose: Any) -> None:
    """Nothing random enters a request, so the record answers it on resume."""
    replies = ("One.", "<IMPROVED_VARIABLE>New.</IMPROVED_VARIABLE>")
    first, second = propose(*replies)[1], propose(*replies)[1]
    keys = [
        [request.key(endpoint="e", model="m") for request in asked] for asked in (first, second)
    ]
    assert keys[0] == keys[1]


def test_a_reply_without_tags_is_asked_again_with_the_reason_then_given_up(propose: Any) -> None:
    """Three unusable replies are a value, not an exception."""
    better, asked = propose(
        "Feedback.", "no tags here", "<IMPROVED_VARIABLE>Good.</IMPROVED_VARIABLE>"
    )
    assert isinstance(better, Proposal)
    assert better.tries == 2
    assert "could not be used" in asked[-1].messages[-1].content
    hopeless, asked = propose(
        "Feedback.", "a", "<IMPROVED_VARIABLE>b", "<IMPROVED_VARIABLE> </IMPROVED_VARIABLE>"
    )
    assert isinstance(hopeless, NoProposal)
    assert len(asked) == 4


def test_no_feedback_is_no_proposal(propose: Any) -> None:
    """An empty gradient does not reach the optimizer."""
    nothing, asked = propose("  ")
    assert isinstance(nothing, NoProposal)
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("<IMPROVED_VARIABLE> a </IMPROVED_VARIABLE>", "a"),
        (
            (
                "<IMPROVED_VARIABLE>x</IMPROVED_VARIABLE> or rather"
                " <IMPROVED_VARIABLE>y</IMPROVED_VARIABLE>"
            ),
            "y",
        ),
        ("<IMPROVED_VARIABLE>x</IMPROVED_VARIABLE> and <IMPROVED_VARIABLE>open", "x"),
        ("<IMPROVED_VARIABLE>x</IMPROVED_VARIABLE> and </IMPROVED_VARIABLE>", "x"),
        ("<IMPROVED_VARIABLE>open, then <IMPROVED_VARIABLE>y</IMPROVED_VARIABLE>", "y"),
        (
            "<IMPROVED_VARIABLE>Ignore <think> and </think>.</IMPROVED_VARIABLE>",
            "Ignore <think> and </think>.",
        ),
        ("<IMPROVED_VARIABLE>Ignore <think>.</IMPROVED_VARIABLE>", "Ignore <think>."),
        ("</IMPROVED_VARIABLE><IMPROVED_VARIABLE>", None),
        ("<IMPROVED_VARIABLE>open", None),
        ("nothing", None),
        ("", None),
    ],
)
def test_the_last_pair_of_tags_counts(reply: str, text: str | None) -> None:
    """A draft before it does not; half a tag is no text."""
    assert read_tagged(reply, "IMPROVED_VARIABLE")[0] == text


@pytest.mark.parametrize("unit", ["<IMPROVED_VARIABLE>", "</IMPROVED_VARIABLE>", " ", "<"])
def test_a_megabyte_of_tags_is_no_text(unit: str) -> None:
    """Half pairs a hundred thousand times over are read in one pass."""
    assert read_tagged(unit * ((1 << 20) // len(unit)), "IMPROVED_VARIABLE")[0] is None


def test_importing_textgrad_leaves_no_log_and_no_trace(
    propose: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No logs folder, no handler that would write prompts, no environment variable left behind."""
    monkeypatch.chdir(tmp_path)
    before = dict(os.environ)
    propose("Feedback.", "<IMPROVED_VARIABLE>New.</IMPROVED_VARIABLE>")
    assert list(tmp_path.iterdir()) == []
    assert dict(os.environ) == before
    assert not any(
        isinstance(h, logging.FileHandler) for h in logging.getLogger("textgrad").handlers
    )


def test_while_textgrad_loads_the_run_says_so(desk: Any) -> None:
    """The load goes on only once it was reported: a run that is silent meanwhile never ends."""
    reported, seen = threading.Event(), list[str]()

    def watch(doing: str, progress: Progress) -> None:
        seen.append(f"{doing}: {progress.done}/{progress.total}")
        reported.set()

    def load() -> str:
        assert reported.wait(timeout=60)
        return "loaded"

    assert replace(desk.bench, watch=watch).load("TextGrad", load) == "loaded"
    assert set(seen) == {"loading TextGrad: 0/1"}


@pytest.mark.slow
def test_importing_textgrad_loads_no_litellm_before_it_is_called() -> None:
    """In a fresh process; TextGrad's own engine for it, which others in the process may use, works
    all the same.
    """
    code = (
        "import sys\n"
        "from judgewright.optimize.proposers.textgrad_graph import load_graph\n"
        "load_graph()\n"
        "assert 'litellm' not in sys.modules\n"
        "from textgrad.engine_experimental.litellm import completion\n"
        "reply = completion(model='gpt-4o', messages=[], mock_response='mocked')\n"
        "print(reply['choices'][0]['message']['content'], 'litellm' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("mocked True\n", "", 0)


def test_parts_that_may_change_each_get_a_gradient_and_a_text(propose: Any) -> None:
    """Two parts: two gradients in one batch, two texts in the next; the part nobody could rewrite
    stays.
    """
    proposer = TextGrad(parts=("criteria", "system"))
    system = "<IMPROVED_VARIABLE>You judge strictly.</IMPROVED_VARIABLE>"
    proposal, asked = propose("Criteria lack.", "System lack.", NEW, system, proposer=proposer)
    assert isinstance(proposal, Proposal)
    assert (proposal.prompt.criteria, proposal.prompt.system) == (
        "New rule.",
        "You judge strictly.",
    )
    assert "<SYSTEM>" in asked[1].messages[-1].content
    half, asked = propose("a", "b", NEW, "no", "no", "no", proposer=proposer)
    assert isinstance(half, Proposal)
    assert (half.prompt.criteria, half.prompt.system) == ("New rule.", PROMPT.system)
    assert len(asked) == 2 + 2 + 2
