"""Decided cases out of training rows: which rows make the bank, and what stands with it."""

from dataclasses import replace
from typing import Any

from judgewright.judges import Case, CaseBank, Cases, Dataset
from judgewright.optimize.proposers import NoProposal, Proposal, ShowCases, TextGrad

NEW = "<IMPROVED_VARIABLE>New rule.</IMPROVED_VARIABLE>"


def bank_of(desk: Any, proposer: ShowCases, dataset: Dataset) -> CaseBank:
    """The bank of a proposal where the run has these training rows."""
    bench = replace(desk.bench, dataset=dataset)
    proposal = proposer.propose(desk.prompt, desk.brief, bench, step=1)
    assert isinstance(proposal, Proposal)
    assert proposal.prompt.cases is not None
    return proposal.prompt.cases.bank


def test_all_labelled_training_rows_make_the_bank_or_those_of_the_slice(desk: Any) -> None:
    """With people's label on their own scale, and the reason where a column has one."""
    target = desk.train.judged.dataset
    labelled = [row for row in target.rows if row.label is not None]
    outside = [replace(row, id=f"o{i}") for i, row in enumerate(labelled[:7])]
    bare = replace(labelled[0], id="bare", label=None)
    dataset = replace(target, rows=(*target.rows, *outside, bare))
    desk.brief = replace(desk.brief, explanation="note")
    bank = bank_of(desk, ShowCases(), dataset)
    assert [case.id for case in bank.cases] == [row.id for row in (*labelled, *outside)]
    assert bank.labels == target.labels
    notes = {row.id: row.meta.get("note") or "" for row in labelled}
    assert any(notes.values())
    for case, row in zip(bank.cases, labelled, strict=False):
        assert (case.reason, case.group) == (notes[row.id], row.group)
    assert len(bank_of(desk, ShowCases(only_slice=True), dataset)) == len(labelled)


def test_the_same_bank_again_is_no_proposal_and_another_one_gives_way(desk: Any) -> None:
    """Nor are rows without a label."""
    first = ShowCases(count=2, by="random").propose(desk.prompt, desk.brief, desk.bench, step=1)
    assert isinstance(first, Proposal)
    assert first.gradient.startswith("cases step 1: 2 of ")
    assert first.gradient.endswith(" labelled rows, random")
    again = ShowCases(count=2, by="random").propose(first.prompt, desk.brief, desk.bench, step=2)
    assert again == NoProposal("the judge shows these cases already")
    case = Case(inputs=dict.fromkeys(desk.prompt.inputs, "of old"), label=3)
    came_with = replace(desk.prompt, cases=Cases(bank=CaseBank(cases=(case,))))
    new = ShowCases().propose(came_with, desk.brief, desk.bench, step=1)
    assert isinstance(new, Proposal)
    assert new.prompt.cases is not None
    assert case not in new.prompt.cases.bank.cases
    bare = replace(desk.bench.dataset, rows=())
    nothing = ShowCases().propose(
        desk.prompt, desk.brief, replace(desk.bench, dataset=bare), step=1
    )
    assert isinstance(nothing, NoProposal)


def test_new_text_and_cases_are_one_candidate(new_desk: Any) -> None:
    """TextGrad with leave to change cases puts the bank beside the text it writes."""
    desk = new_desk(reply=lambda request: NEW)
    parts = ("criteria", "cases")
    textgrad = TextGrad(parts=parts, cases=ShowCases(count=3))
    proposal = textgrad.propose(desk.prompt, desk.brief, desk.bench, step=1)
    assert isinstance(proposal, Proposal)
    assert proposal.prompt.criteria == "New rule."
    assert proposal.prompt.cases is not None
    assert proposal.prompt.cases.count == 3
    assert textgrad.bound(training_rows=9) == TextGrad().bound(training_rows=9)
    texts = [message.content for request in desk.asked for message in request.messages]
    assert not any("<CASES>" in text for text in texts)
    later = replace(desk.brief, prompt=proposal.prompt)
    assert "Before each row it is shown 3 decided cases, the nearest of" in later.text()
