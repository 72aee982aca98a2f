"""DSPy behind the seam: what it sends, what it may spend, and what becomes of its instructions and
cases.
"""

import asyncio
import os
import random
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges import JudgeSettings, OutputScale, Verdict, judge_request
from judgewright.judges.simulated import Simulated
from judgewright.optimize.proposers import (
    ROW,
    VERSION,
    Gepa,
    Mipro,
    NoProposal,
    Proposal,
    Search,
    constraints,
    load_dspy,
)
from judgewright.optimize.proposers.dspy_adapter import likeliest_grade


def search_on(desk: Any, *, calls: int = 100, rows: int = 6) -> Search:
    """A search on the first training rows."""
    chosen = desk.train.judged.rows[:rows]
    return Search(prompt=desk.prompt, bench=desk.bench, calls=calls, rows=chosen, step=1)


@pytest.mark.parametrize("kind", [Gepa, Mipro])
@pytest.mark.parametrize("calls", [60, 100])
def test_no_more_is_asked_than_the_cap_allows(desk: Any, kind: Any, calls: int) -> None:
    """Judge and optimizer together, whatever DSPy would like to try."""
    kind(calls=calls).propose(desk.prompt, desk.brief, desk.bench, step=1)
    assert len(desk.asked) + sum(len(ids) for _, ids in desk.tried) <= calls


def test_a_search_ends_at_its_cap_and_keeps_what_it_found(desk: Any) -> None:
    """The last prompt that all rows were judged with still counts."""
    search = search_on(desk, calls=15)

    def compile_with(kit: Any, module: Any) -> None:
        examples = [search.row_example(row) for row in search.rows]
        evaluate = kit.dspy.Evaluate(devset=examples, metric=search.metric, num_threads=1)
        for criteria in ("One rule.", "Two rules.", "Three rules."):
            module.signature = module.signature.with_instructions(criteria)
            evaluate(module)

    search.run(compile_with, name="own")
    assert search.reasons == ["the search reached its cap of 15 calls"]
    assert [search.cost(p.version) is not None for p in search.prompts.values()] == [
        True,
        True,
        False,
    ]
    assert search.spent == 12


def test_dspy_ranks_by_the_loss_and_rows_are_judged_at_once(desk: Any) -> None:
    """What DSPy's own evaluation says is 1 minus the mean cost; one batch of judge calls does
    it.
    """
    search, scores = search_on(desk), []

    def compile_with(kit: Any, module: Any) -> None:
        examples = [search.row_example(row) for row in search.rows]
        scores.append(
            kit.dspy.Evaluate(devset=examples, metric=search.metric, num_threads=1)(module).score
        )

    search.run(compile_with, name="own")
    cost = search.cost(desk.prompt.version)
    assert cost is not None
    assert scores == [pytest.approx(100 * (1 - cost), abs=0.01)]
    assert desk.tried == [(desk.prompt, tuple(row.id for row in search.rows))]


def test_trials_send_the_judges_own_messages_and_the_proposal_is_what_was_tried(desk: Any) -> None:
    """The proposed prompt is one of those tried, so that its requests are answered from the record
    afterwards.
    """
    desk.seed = 1  # of a search that finds something
    proposal = Gepa(calls=100).propose(desk.prompt, desk.brief, desk.bench, step=1)
    assert isinstance(proposal, Proposal), proposal
    tried = {prompt.version for prompt, _ in desk.tried}
    assert proposal.prompt.version in tried
    assert "instead of DSPy's ChatAdapter format" in proposal.prompt.note
    request = judge_request(proposal.prompt, desk.train.judged.rows[0], settings=JudgeSettings())
    assert "[[ ##" not in "".join(message.content for message in request.messages)


def test_a_reflection_reads_the_brief(desk: Any) -> None:
    """GEPA's reflection sees error, grades and reasons as every other proposer does, through our
    own request.
    """
    Gepa(calls=100).propose(desk.prompt, desk.brief, desk.bench, step=1)
    assert desk.asked
    asked = desk.asked[0].messages[-1].content
    assert "[1] FALSE" in asked
    assert "people say" in asked
    assert desk.brief.goal.objective.text in asked
    assert desk.prompt.criteria in asked


def test_demonstrations_that_dspy_chose_are_cases_with_peoples_label_and_reason(desk: Any) -> None:
    """A set is fixed, of training rows alone."""
    random.seed(5)
    state = random.getstate()
    Mipro(calls=120).propose(desk.prompt, desk.brief, desk.bench, step=1)
    assert random.getstate() == state, "DSPy draws names from the global generator"
    rows = {row.id: row for row in desk.train.judged.rows}
    sets = [prompt.cases for prompt, _ in desk.tried if prompt.cases is not None]
    assert sets
    for cases in sets:
        assert cases.by == "fixed"
        assert cases.count == len(cases.bank) <= Mipro().cases
        for case in cases.bank.cases:
            row = rows[case.id]
            assert (dict(case.inputs), float(case.label)) == (dict(row.inputs), row.label)


def test_instructions_are_grounded_in_the_brief_through_a_field_that_is_announced(
    desk: Any,
) -> None:
    """Each has the brief and what the criteria must keep to; none is asked for in place of the
    present criteria.
    """
    Mipro(calls=120).propose(desk.prompt, desk.brief, desk.bench, step=1)
    own = [
        request for request in desk.asked if "`proposed_instruction`" in request.messages[0].content
    ]
    assert len(own) == Mipro().candidates - 1
    for request in own:
        system, user = (message.content for message in request.messages)
        opened = re.findall(r"(?m)^\[\[ ## (\w+) ## \]\]$", user)
        assert opened[0] == "dataset_description"
        assert all(f"`{name}` (str)" in system for name in opened)
        assert user.startswith("[[ ## dataset_description ## ]]")
        assert desk.brief.text() in user
        for rule in constraints(desk.prompt, "criteria"):
            assert rule in user


def test_instructions_and_cases_map_onto_the_prompt_and_back(desk: Any) -> None:
    """Unchanged instructions are the prompt's criteria to the letter; a demo becomes a
    case.
    """
    prompt = replace(desk.prompt, criteria=desk.prompt.criteria + "\n ")
    search = Search(prompt=prompt, bench=desk.bench, calls=9, rows=(), step=1, explanation="note")
    module = load_dspy().open_module(prompt)
    assert search.prompt_from(module.signature.instructions) == prompt
    row = next(row for row in desk.train.judged.rows if row.meta.get("note"))
    demo = {**row.inputs, "criterion": "c", "evidence": "d", "score": 3, "confidence": 0.5}
    new = search.prompt_from("New.", [demo])
    assert new.cases is not None
    (case,) = new.cases.bank.cases
    assert (case.id, case.reason) == (row.id, row.meta["note"])


def test_a_prompt_over_its_token_cap_is_never_sent(desk: Any) -> None:
    """It ranks last, without a call."""
    search = search_on(desk)
    search.judge(replace(desk.prompt, criteria="word " * 5_000), search.rows)
    assert desk.tried == []
    assert search.spent == 0
    assert "5,000 words" in search.reasons[0]


@pytest.mark.parametrize("field", ["demos", "config", "score", ROW, VERSION])
def test_a_field_name_that_dspy_keeps_for_itself_is_said(desk: Any, field: str) -> None:
    """An input called `demos` could not be handed over."""
    prompt = replace(desk.prompt, template="{{source}} {{" + field + "}}")
    search = replace(search_on(desk), prompt=prompt)
    refused = search.run(lambda kit, module: None, name="own")
    assert isinstance(refused, NoProposal)
    assert field in refused.reason


def test_no_error_to_reflect_on_changes_nothing(desk: Any) -> None:
    """GEPA keeps the criteria where the rows of a reflection are right; the model is not asked."""
    search = search_on(desk)
    records = [{"Feedback": "no such row"}]
    assert Gepa()._reflect(search, desk.brief, "Old.", records) == "Old."
    assert desk.asked == []


def test_a_search_imports_no_litellm_and_leaves_no_folder(tmp_path: Path) -> None:
    """In a fresh process with a home of its own: no litellm, no cache in memory or on disk."""
    code = (
        "import sys\n"
        "from judgewright.optimize.proposers.dspy_adapter import load_dspy\n"
        "kit = load_dspy()\n"
        "print('litellm' in sys.modules, 'cache' in vars(kit.dspy))\n"
    )
    alone = {**os.environ, "HOME": str(tmp_path)}
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=alone,
        cwd=tmp_path,
    )
    assert found.stdout.split() == ["False", "False"]
    assert list(tmp_path.iterdir()) == []


def test_the_simulated_model_knows_dspys_request_for_an_instruction(desk: Any) -> None:
    """It answers with another text of the criteria in DSPy's form, most often; a judge's request is
    no such thing.
    """
    Mipro(calls=100).propose(desk.prompt, desk.brief, desk.bench, step=1)
    model = Simulated()
    own = [
        request for request in desk.asked if "`proposed_instruction`" in request.messages[0].content
    ]
    replies = [asyncio.run(model.complete(request)).text for request in own]
    assert replies
    assert all(reply.startswith("[[ ## proposed_instruction ## ]]\n") for reply in replies)
    assert len(set(replies)) > 1


def test_a_distribution_stands_in_a_reply_as_its_likeliest_grade() -> None:
    """A decision model's score is a probability, which is no grade of the judge's scale."""
    graded = Verdict(row_id="r", score=0.6, positive=True, distribution=(0.1, 0.3, 0.2, 0.4))
    assert likeliest_grade(graded, OutputScale()) == 3
    assert likeliest_grade(replace(graded, distribution=()), OutputScale()) == 0.6
