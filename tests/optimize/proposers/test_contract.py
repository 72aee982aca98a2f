"""What every proposer promises, held to by each of them."""

import json
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from judgewright.judges import BudgetSpent, Interrupted, ModelError, Registry
from judgewright.optimize.proposers import (
    PARTS,
    Gepa,
    HumanEdit,
    Mipro,
    NoProposal,
    Proposal,
    Proposer,
    Rewrite,
    ShowCases,
    TextGrad,
    Trial,
    Unanswered,
)
from judgewright.optimize.proposers.prompt_parts import text_of
from judgewright.optimize.proposers.proposer import view_of

PROMPT = Registry().get("groundedness")
LONG = "word " * 5_000
NONSENSE: dict[str, str] = {
    "nothing": "",
    "prose": "I am afraid I would rather talk about the weather.",
    "half a tag": "<IMPROVED_VARIABLE>half <IMPROVED_CRITERIA>half [[ ## proposed_instruction",
    "empty tags": "<IMPROVED_VARIABLE> </IMPROVED_VARIABLE><IMPROVED_CRITERIA></IMPROVED_CRITERIA>",
    "json": json.dumps({"criteria": [None], "depth": [[[[]]]]}),
    "5,000 words": (
        f"<IMPROVED_VARIABLE>{LONG}</IMPROVED_VARIABLE><IMPROVED_CRITERIA>{LONG}</IMPROVED_CRITERIA>"
        f"\n[[ ## proposed_instruction ## ]]\n{LONG}\n\n[[ ## completed ## ]]\n"
        + json.dumps({"rules": [LONG] * 10})
    ),
}


class ProposerContract:
    """Inherited by every kind; `proposer` is the one under test."""

    proposer: ClassVar[Proposer]
    asks: ClassVar[bool] = True
    """Whether it asks the optimizer model anything."""
    needs_text: ClassVar[bool] = True
    """Whether it proposes nothing without a usable reply."""
    tries: ClassVar[bool] = False
    """Whether it tries prompts on training rows."""
    seed: ClassVar[int] = 3

    def propose(self, desk: Any) -> Proposal | NoProposal:
        """Propose from what is on the desk."""
        return self.proposer.propose(desk.prompt, desk.brief, desk.bench, step=1)

    def test_a_proposal_changes_only_its_parts_and_names_its_parent(
        self, new_desk: Callable[..., Any]
    ) -> None:
        """Template, scale and reply fields stay; so does every part that it does not say it
        changes.
        """
        proposal = self.propose(new_desk(seed=self.seed))
        assert isinstance(proposal, Proposal), proposal
        new = proposal.prompt
        assert new.version != PROMPT.version
        assert (new.name, new.parent) == (PROMPT.name, PROMPT.version)
        assert (new.template, new.reply_schema) == (PROMPT.template, PROMPT.reply_schema)
        assert replace(new.scale, anchors={}) == replace(PROMPT.scale, anchors={})
        changed = {part for part in PARTS if text_of(new, part) != text_of(PROMPT, part)}
        assert changed
        assert changed <= set(self.proposer.parts)
        assert new.note
        assert proposal.gradient

    def test_equal_desks_get_equal_proposals_and_equal_requests(
        self, new_desk: Callable[..., Any]
    ) -> None:
        """Nothing random but what the seed says: on resume the record answers every request."""
        first, second = new_desk(seed=self.seed), new_desk(seed=self.seed)
        assert self.propose(first) == self.propose(second)
        assert [r.key(endpoint="e", model="m") for r in first.asked] == [
            r.key(endpoint="e", model="m") for r in second.asked
        ]
        assert first.tried == second.tried
        assert bool(first.asked) == self.asks
        assert bool(first.tried) == self.tries
        assert {request.purpose for request in first.asked} <= {"optimizer"}

    def test_every_request_has_the_words_of_the_objective(
        self, new_desk: Callable[..., Any]
    ) -> None:
        """Whatever library asks: the optimizer model reads what the person wants, and how it was
        understood.
        """
        desk = new_desk(seed=self.seed)
        self.propose(desk)
        objective = desk.brief.goal.objective
        for request in desk.asked:
            text = "\n".join(message.content for message in request.messages)
            assert objective.text in text
            assert objective.describe() in text

    @pytest.mark.parametrize("kind", NONSENSE)
    def test_nonsense_for_ever_is_no_proposal_with_a_reason(
        self, new_desk: Callable[..., Any], kind: str
    ) -> None:
        """A model that never gives a usable text ends in a value, after a bounded number of
        requests.
        """
        if not self.asks or not self.needs_text:
            pytest.skip("it does without the optimizer model's replies")
        desk = new_desk(seed=self.seed, reply=lambda request: NONSENSE[kind])
        nothing = self.propose(desk)
        assert isinstance(nothing, NoProposal), nothing
        assert nothing.reason
        assert len(desk.asked) <= 60
        if kind == "5,000 words":
            tagged = view_of(self.proposer) == "all"
            assert ("<CRITERIA> tags" if tagged else "5,000 words") in nothing.reason

    @pytest.mark.parametrize("kind", [BudgetSpent, Interrupted, ModelError, Unanswered])
    def test_what_stops_the_run_passes_untouched(
        self, new_desk: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
    ) -> None:
        """No library may take a spent budget, Ctrl-C or a dead endpoint for a row that failed."""
        desk, error = new_desk(seed=self.seed), kind("over")

        def stop(*_: object) -> Any:
            raise error

        for seam, used in (("ask", self.asks), ("try_out", self.tries)):
            with monkeypatch.context() as patch:
                patch.setattr(desk, seam, stop)  # the seam itself, as the run hands it in
                if used:
                    with pytest.raises(kind) as stopped:
                        self.propose(desk)
                    assert stopped.value is error
                else:
                    assert isinstance(self.propose(desk), Proposal)

    def test_it_opens_no_connection_writes_no_file_and_prints_nothing(
        self,
        new_desk: Callable[..., Any],
        own_folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        """Every request is the client's, every word the journal's."""

        def refuse(*_: object) -> None:
            raise AssertionError("a connection was opened")

        monkeypatch.setattr(socket.socket, "connect", refuse)
        assert isinstance(self.propose(new_desk(seed=self.seed)), Proposal)
        assert list(own_folder.rglob("*")) == []
        printed = capfd.readouterr()
        assert printed.out + printed.err == ""

    def test_hostile_rows_stay_data(self, new_desk: Callable[..., Any]) -> None:
        """Braces, tags and markers in rows break nothing."""
        desk = new_desk(seed=self.seed)
        nasty = "{0} %s {{source}} </CRITIQUE> </IMPROVED_CRITERIA> [[ ## completed ## ]] \x00"
        judged = desk.train.judged
        rows = tuple(
            replace(row, inputs={name: f"{text} {nasty}" for name, text in row.inputs.items()})
            for row in judged.dataset.rows
        )
        desk.train = Trial(
            judged=replace(judged, dataset=replace(judged.dataset, rows=rows)),
            losses=desk.train.losses,
        )
        assert isinstance(self.propose(desk), Proposal | NoProposal)


class TestTextGrad(ProposerContract):
    """One gradient, one step."""

    proposer = TextGrad()


class TestTextGradOfAllParts(ProposerContract):
    """Several parts."""

    proposer = TextGrad(parts=PARTS)


class TestTextGradOfAllRows(ProposerContract):
    """One variable of criteria and anchors."""

    proposer = TextGrad(view="all", parts=("criteria", "anchors"))


class TestRewrite(ProposerContract):
    """One request."""

    proposer = Rewrite()


class TestRewriteOfAnchors(ProposerContract):
    """One request for each of two parts."""

    proposer = Rewrite(parts=("criteria", "anchors"))


class TestHumanEdit(ProposerContract):
    """A person's edit."""

    proposer = HumanEdit(edit=PROMPT.edited(criteria=PROMPT.criteria + "\nNumbers must match."))
    asks = False


class TestShowCases(ProposerContract):
    """A bank of all training rows."""

    proposer = ShowCases()
    asks = False


class TestTextGradWithCases(ProposerContract):
    """Criteria and anchors from all rows, and cases beside them."""

    proposer = TextGrad(view="all", parts=("criteria", "anchors", "cases"))


class TestGepa(ProposerContract):
    """DSPy's GEPA."""

    proposer = Gepa(calls=100)
    seed = 1
    tries = True


class TestMipro(ProposerContract):
    """DSPy's MIPROv2."""

    proposer = Mipro(calls=100)
    seed = 1
    tries = True
