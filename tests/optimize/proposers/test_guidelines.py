"""Guidelines: reasons become rules, rules are merged, and each is offered once."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from judgewright.judges.models import Request
from judgewright.optimize import Attempt
from judgewright.optimize.proposers import Guidelines, NoProposal, Proposal

RULES = (
    "Check every number against the source.",
    "Check every name against the source.",
    "A contradiction is fatal.",
)


def of_task(request: Request) -> str:
    """Which of the two requests it is."""
    return request.messages[0].content.split(".")[0]


def lines(request: Request) -> list[str]:
    """The numbered lines of a request."""
    return re.findall(r"(?m)^\[\d+\] .*$", request.messages[1].content)


def answer(merged: Sequence[str], distilled: str = "A rule about {}.") -> Callable[[Request], str]:
    """A model that distils each reason into a rule about its last word, and merges them as it is
    told.
    """

    def reply(request: Request) -> str:
        if of_task(request).startswith("You merge"):
            return json.dumps({"rules": list(merged)})
        words = [
            line.partition("reason: ")[2].partition(";")[0].rstrip(".").split()[-1]
            for line in lines(request)
        ]
        return json.dumps({"rules": [distilled.format(word) for word in words]})

    return reply


def propose(desk: Any, step: int = 1) -> Proposal | NoProposal:
    """A proposal from a desk whose rows have reasons in the column `note`."""
    return Guidelines().propose(
        desk.prompt, replace(desk.brief, explanation="note"), desk.bench, step=step
    )


def test_each_reason_is_read_once_and_each_rule_is_offered_once(
    new_desk: Callable[..., Any],
) -> None:
    """By turns within a step; the requests of later steps are those of the first, and a run finds
    them cached.
    """
    desk = new_desk(reply=answer([f"[{i}] {rule}" for i, rule in enumerate(RULES, 1)]))
    added: list[str] = []
    for step in (1, 2, 3):
        proposal = propose(desk, step)
        assert isinstance(proposal, Proposal)
        added.append(proposal.prompt.criteria.removeprefix(desk.prompt.criteria).strip())
        noted = {row.id for row in desk.bench.rows if row.meta["note"]}
        assert set(proposal.quoted) == noted
    assert sorted(added) == sorted(RULES)
    keys = [request.key(endpoint="e", model="m") for request in desk.asked]
    assert len(keys) == 3 * len(set(keys))
    distilling = [request for request in desk.asked if of_task(request).startswith("You distil")]
    assert sum(len(lines(request)) for request in distilling) == 3 * len(noted)
    # What was tried is not offered again; what is in the prompt is not either.
    past = tuple(
        Attempt(prompt=desk.prompt.edited(criteria=f"{desk.prompt.criteria} {rule}"), kept=False)
        for rule in RULES
    )
    desk.brief = replace(desk.brief, past=past[:2])
    last = propose(desk, 4)
    assert isinstance(last, Proposal)
    assert last.prompt.criteria.endswith(RULES[2])
    desk.brief = replace(desk.brief, past=past)
    assert propose(desk, 5) == NoProposal("all 3 rules that the reasons give have been offered")


def test_merging_sees_the_brief_and_distilling_does_not_change_from_step_to_step(
    new_desk: Callable[..., Any],
) -> None:
    """Duplicates are one rule before they are merged; the brief stands above them without what was
    tried.
    """
    desk = new_desk(reply=answer(["[1] A rule."]))
    earlier = Attempt(prompt=desk.prompt.edited(criteria="Something else."), kept=False)
    desk.brief = replace(desk.brief, past=(earlier,))
    propose(desk)
    *distilling, merging = desk.asked
    assert "# Where it stands, on training rows" in merging.messages[1].content
    assert "Something else." not in merging.messages[1].content
    assert [line for line in lines(merging) if "(of " in line] == [
        line
        for line in lines(merging)
        if re.search(r"A rule about (source|one|other)\. \(of \d+ rows\)", line)
    ]
    assert not any(desk.prompt.criteria in request.messages[1].content for request in distilling)


def test_rules_behind_costly_rows_come_first(new_desk: Callable[..., Any]) -> None:
    """Whatever the model's order: by the loss of the rows whose reasons led to them."""
    desk = new_desk(reply=answer(["[1] Of one.", "[2] Of another.", "[3] Of a third."]))
    cost = dict(zip((row.id for row in desk.bench.rows), desk.train.costs.tolist(), strict=True))
    by_note: dict[str, float] = {}
    for row in desk.bench.rows:
        if row.meta["note"]:
            by_note[row.meta["note"]] = by_note.get(row.meta["note"], 0.0) + cost[row.id]
    first = max(by_note, key=lambda note: by_note[note])
    position = list(by_note).index(first)
    proposal = propose(desk)
    assert isinstance(proposal, Proposal)
    assert proposal.prompt.criteria.endswith(("Of one.", "Of another.", "Of a third.")[position])


def test_a_rule_that_quotes_its_row_is_none(new_desk: Callable[..., Any]) -> None:
    """It would be refused later, and it says nothing about other rows."""
    desk = new_desk()
    source = " ".join(desk.bench.rows[0].inputs["source"].split()[:20])
    desk.reply = answer([], distilled=f"Where it says {source}, grade low: {{}}.")
    assert propose(desk) == NoProposal("the reasons give no rule that holds for other rows")


@pytest.mark.parametrize(
    ("merged", "said"),
    [
        (["No number."], "'No number.' does not begin with the numbers of rules"),
        (["[99] A rule."], "there is no rule 99"),
        (["[1] " + "word " * 61], "a rule has 61 words"),
    ],
)
def test_what_cannot_be_used_is_asked_for_again_with_the_reason(
    new_desk: Callable[..., Any], merged: list[str], said: str
) -> None:
    """Two more times, as requests of their own."""
    desk = new_desk(reply=answer(merged))
    nothing = propose(desk)
    assert isinstance(nothing, NoProposal)
    assert nothing.reason.startswith("no usable rules after 3 replies: ")
    assert said in nothing.reason
    merging = [request for request in desk.asked if of_task(request).startswith("You merge")]
    assert len({request.key(endpoint="e", model="m") for request in merging}) == 3
    assert all(said in request.messages[1].content for request in merging[1:])


def test_without_reasons_there_is_a_clear_line(new_desk: Callable[..., Any]) -> None:
    """Of the column, and of the slice."""
    desk = new_desk()
    assert Guidelines().propose(desk.prompt, desk.brief, desk.bench, step=1) == NoProposal(
        "no column of annotators' reasons is named (--explanation COLUMN)"
    )
    brief = replace(desk.brief, explanation="topic")
    nothing = Guidelines().propose(desk.prompt, brief, desk.bench, step=1)
    assert nothing == NoProposal("no training row of the slice has a reason in the column 'topic'")
    assert not desk.asked


def test_the_simulated_optimizer_reads_the_reasons(new_desk: Callable[..., Any]) -> None:
    """It words what a reason speaks of, and nothing where it knows no rule for it."""
    desk = new_desk()
    proposals = [propose(desk, step) for step in (1, 2, 3, 4)]
    added = {
        p.prompt.criteria.removeprefix(desk.prompt.criteria)
        for p in proposals
        if isinstance(p, Proposal)
    }
    assert added
    assert all(
        re.search(r"(?i)number|figure|name|contradict|opposite|negat|date", text) for text in added
    )
    unknown = tuple(replace(row, meta={"note": "Hm."}) for row in desk.train.judged.dataset.rows)
    dataset = replace(desk.train.judged.dataset, rows=unknown)
    desk.train = replace(desk.train, judged=replace(desk.train.judged, dataset=dataset))
    assert propose(desk) == NoProposal("the reasons give no rule that holds for other rows")
