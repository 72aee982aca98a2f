"""TextGrad behind the seam: what it asks, and what it makes of good, bad and hostile replies."""

import logging
import os
from pathlib import Path

import pytest

from judgewright.judges.models.model import Completion, Request
from judgewright.judges.shelf import Shelf
from judgewright.optimize.critique import Critique
from judgewright.optimize.proposers.proposer import Attempt, NoProposal, Proposal
from judgewright.optimize.proposers.textgrad import TextGrad, read_variable

PROMPT = (
    Shelf()
    .get("groundedness")
    .edited(criteria="Old rule one. " + "Filler words in the middle. " * 12 + "Old rule {last}.")
)
CRITIQUE = Critique(
    loss=0.5,
    n=8,
    false_positives=3,
    false_negatives=1,
    examples=("Example 1, false positive: {braces} %s </CRITIQUE>",),
    goal="Raise precision.",
    slice="channel = table",
)


class Scripted:
    """An optimizer model that answers from a list and keeps what it was asked."""

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.asked: list[Request] = []

    def __call__(self, request: Request) -> Completion:
        self.asked.append(request)
        return Completion(text=self.replies.pop(0))


def propose(*replies: str, past: tuple[Attempt, ...] = ()) -> tuple[Proposal | NoProposal, Scripted]:
    """Run one step against scripted replies."""
    ask = Scripted(*replies)
    return TextGrad().propose(PROMPT, CRITIQUE, past=past, ask=ask, step=3), ask


def test_a_step_asks_for_feedback_then_for_a_text_and_edits_only_the_criteria() -> None:
    """Two requests; the new prompt differs in its criteria and names its parent."""
    proposal, ask = propose("Numbers are ignored.", "<IMPROVED_VARIABLE>New rule.</IMPROVED_VARIABLE>")
    assert isinstance(proposal, Proposal)
    assert len(ask.asked) == 2
    assert proposal.gradient == "Numbers are ignored."
    assert proposal.prompt.criteria == "New rule."
    assert proposal.prompt.parent == PROMPT.version
    assert (proposal.prompt.system, proposal.prompt.template) == (PROMPT.system, PROMPT.template)
    assert {request.purpose for request in ask.asked} == {"optimizer"}
    assert {request.repeat for request in ask.asked} == {3}


def test_both_requests_show_the_whole_criteria_and_the_critique() -> None:
    """TextGrad shortens a variable to its first and last ten words; ours is whole, braces and all."""
    past = (Attempt(criteria="An earlier text.", loss=0.4321, result="worse: recall fell"),)
    _, ask = propose("Feedback {x}.", "<IMPROVED_VARIABLE>New.</IMPROVED_VARIABLE>", past=past)
    backward, step = (request.messages[-1].content for request in ask.asked)
    for text in (backward, step):
        assert PROMPT.criteria in text
        assert "{braces} %s" in text
    assert "Feedback {x}." in step
    assert "An earlier text." in step
    assert "0.4321" in step
    assert "recall fell" in step
    assert "None" not in step


def test_equal_steps_make_equal_requests() -> None:
    """Nothing random enters a request, so the record answers it on resume."""
    replies = ("One.", "<IMPROVED_VARIABLE>New.</IMPROVED_VARIABLE>")
    first, second = propose(*replies)[1], propose(*replies)[1]
    keys = [[request.key(endpoint="e", model="m") for request in ask.asked] for ask in (first, second)]
    assert keys[0] == keys[1]


def test_a_reply_without_tags_is_asked_again_with_the_reason_then_given_up() -> None:
    """Three unusable replies are a value, not an exception."""
    better, ask = propose("Feedback.", "no tags here", "<IMPROVED_VARIABLE>Good.</IMPROVED_VARIABLE>")
    assert isinstance(better, Proposal)
    assert better.tries == 2
    assert "could not be used" in ask.asked[-1].messages[-1].content
    hopeless, ask = propose("Feedback.", "a", "<IMPROVED_VARIABLE>b", "<IMPROVED_VARIABLE> </IMPROVED_VARIABLE>")
    assert isinstance(hopeless, NoProposal)
    assert len(ask.asked) == 4


def test_no_feedback_is_no_proposal() -> None:
    """An empty gradient does not reach the optimizer."""
    nothing, ask = propose("  ")
    assert isinstance(nothing, NoProposal)
    assert len(ask.asked) == 1


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("<IMPROVED_VARIABLE> a </IMPROVED_VARIABLE>", "a"),
        ("<think><IMPROVED_VARIABLE>draft</IMPROVED_VARIABLE></think><IMPROVED_VARIABLE>b</IMPROVED_VARIABLE>", "b"),
        ("<IMPROVED_VARIABLE>x</IMPROVED_VARIABLE> or rather <IMPROVED_VARIABLE>y</IMPROVED_VARIABLE>", "y"),
        ("<IMPROVED_VARIABLE>x</IMPROVED_VARIABLE> and <IMPROVED_VARIABLE>open", "x"),
        ("<IMPROVED_VARIABLE>x</IMPROVED_VARIABLE> and </IMPROVED_VARIABLE>", "x"),
        ("<IMPROVED_VARIABLE>open, then <IMPROVED_VARIABLE>y</IMPROVED_VARIABLE>", "y"),
        ("<IMPROVED_VARIABLE>Ignore <think> and </think>.</IMPROVED_VARIABLE>", "Ignore <think> and </think>."),
        ("<IMPROVED_VARIABLE>Ignore <think>.</IMPROVED_VARIABLE>", "Ignore <think>."),
        ("<think>a</think>\n<thinking><IMPROVED_VARIABLE>draft</IMPROVED_VARIABLE>", None),
        ("</IMPROVED_VARIABLE><IMPROVED_VARIABLE>", None),
        ("<IMPROVED_VARIABLE>open", None),
        ("nothing", None),
        ("", None),
    ],
)
def test_the_last_pair_of_tags_counts(reply: str, text: str | None) -> None:
    """Drafts in thinking are dropped; half a tag is no text."""
    assert read_variable(reply)[0] == text


@pytest.mark.parametrize(
    "unit", ["<IMPROVED_VARIABLE>", "</IMPROVED_VARIABLE>", "<think>", "<think></think>", " ", "<"]
)
def test_a_megabyte_of_tags_is_no_text(unit: str) -> None:
    """Half pairs and thinking a hundred thousand times over are read in one pass."""
    assert read_variable(unit * ((1 << 20) // len(unit)))[0] is None


def test_importing_textgrad_leaves_no_log_and_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No logs folder, no handler that would write prompts, no environment variable left behind."""
    monkeypatch.chdir(tmp_path)
    before = dict(os.environ)
    propose("Feedback.", "<IMPROVED_VARIABLE>New.</IMPROVED_VARIABLE>")
    assert list(tmp_path.iterdir()) == []
    assert dict(os.environ) == before
    assert not any(isinstance(h, logging.FileHandler) for h in logging.getLogger("textgrad").handlers)
