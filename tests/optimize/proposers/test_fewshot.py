"""Demonstrations: what they say, how they are balanced, and which rows they are tried on."""

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from judgewright.judges import (
    BINARY,
    Dataset,
    JudgedDataset,
    OutputScale,
    Registry,
    Row,
    Unscored,
    Verdict,
    read_reply,
)
from judgewright.judges.models import Completion
from judgewright.optimize.proposers import (
    PEOPLE,
    FewShot,
    NoProposal,
    Proposal,
    Trial,
    demonstrate,
    human_grade,
    list_demonstrations,
    pool,
    tuning_rows,
)


@pytest.mark.parametrize("name", Registry().names())
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_a_demonstration_gives_peoples_grade_in_the_judges_own_format(
    name: str, label: float
) -> None:
    """For every judge on the shelf its own reader finds in the reply the grade that people gave."""
    prompt = Registry().get(name)
    row = Row(id="r", inputs={field: f"text of {field}" for field in prompt.inputs}, label=label)
    labels = prompt.scale if prompt.scale.kind == "choice" else BINARY
    judged = JudgedDataset(
        dataset=Dataset(rows=(row,), labels=labels),
        answers=(Verdict(row_id="r", score=0.0, positive=False, rationale="why"),),
        scale=prompt.scale,
    )
    example = demonstrate(prompt, row, judged, judged.verdicts[0])
    assert example is not None
    answer = read_reply(prompt, Completion(text=example.reply))
    assert isinstance(answer, Verdict)
    assert answer.positive == (label == 1.0)
    assert dict(example.inputs) == dict(row.inputs)


@pytest.mark.parametrize(
    ("label", "labels", "scale", "grade"),
    [
        (2.0, OutputScale(), OutputScale(), 2.0),
        (1.0, BINARY, OutputScale(), 3.0),
        (0.0, BINARY, OutputScale(), 0.0),
        (4.0, OutputScale(low=1, high=5, threshold=3), OutputScale(), 3.0),
        (
            0.7,
            OutputScale(kind="probability", threshold=0.5),
            OutputScale(kind="probability", threshold=0.5),
            0.7,
        ),
        (1.0, BINARY, OutputScale(kind="probability", threshold=0.5), 1.0),
    ],
)
def test_a_label_on_another_scale_is_the_end_it_lies_toward(
    label: float, labels: OutputScale, scale: OutputScale, grade: float
) -> None:
    """Equal scales keep the grade; a yes on a graded scale is its highest grade."""
    assert human_grade(label, labels, scale) == grade


def test_reasons_are_the_judges_own_where_it_gave_that_grade_else_the_annotators(desk: Any) -> None:
    """Where nobody gave one the fields say that people graded the row: none is made up."""
    grades = {v.row_id: v.score for v in desk.train.judged.verdicts}
    notes = {row.id: row.meta.get("note") for row in desk.train.judged.rows}
    assert any(notes.values())
    demonstrations = list_demonstrations(desk.prompt, desk.train, "note")
    kinds = {one.error for one in demonstrations}
    assert kinds >= {"false positive", "right positive", "right negative"}
    for one in demonstrations:
        fields = json.loads(one.example.reply)
        if fields["score"] != grades[one.row.id]:
            assert fields["evidence"] == (notes[one.row.id] or PEOPLE)
            assert fields["confidence"] < 1.0


def test_a_pool_is_balanced_over_error_types_and_has_one_row_of_a_group(desk: Any) -> None:
    """In turn one of each type; no type is more than one ahead of another that still has rows."""
    found = list_demonstrations(desk.prompt, desk.train)
    chosen = pool(found, 6)
    counts = Counter(one.error for one in chosen)
    left = Counter(one.error for one in found)
    assert len({one.row.group for one in chosen}) == len(chosen) == 6
    assert max(counts.values()) - min(counts[kind] for kind in left if left[kind] > 6) <= 1


def test_a_long_row_is_no_demonstration(desk: Any) -> None:
    """It would crowd out the row that is judged."""
    row, verdict = desk.train.judged.rows[0], desk.train.judged.verdicts[0]
    long = replace(row, inputs=dict.fromkeys(row.inputs, "word " * 1000))
    assert demonstrate(desk.prompt, row, desk.train.judged, verdict) is not None
    assert demonstrate(desk.prompt, long, desk.train.judged, verdict) is None


def test_sets_are_tried_on_training_rows_of_other_documents_within_the_cap(desk: Any) -> None:
    """No row is tried whose document is shown, and no more calls are made than allowed."""
    proposal = FewShot(calls=200).propose(desk.prompt, desk.brief, desk.bench, step=1)
    assert isinstance(proposal, Proposal)
    rows = {row.id: row for row in desk.train.judged.rows}
    by_inputs = {tuple(row.inputs.values()): row for row in rows.values()}
    shown = {
        by_inputs[tuple(e.inputs.values())].group
        for prompt, _ in desk.tried
        for e in prompt.examples
    }
    assert shown
    assert shown.isdisjoint(rows[id_].group for _, ids in desk.tried for id_ in ids)
    assert sum(len(ids) for _, ids in desk.tried) <= 200
    assert len({prompt.version for prompt, _ in desk.tried}) == len(desk.tried)
    costs = {
        prompt.version: desk.try_out(prompt, [rows[i] for i in ids]).cost
        for prompt, ids in list(desk.tried)
    }
    assert costs[proposal.prompt.version] == min(costs.values())


def test_demonstrations_the_judge_came_with_stay_and_chosen_ones_are_replaced(desk: Any) -> None:
    """Training rows of an earlier step make room; what was shipped stays in front."""
    first = FewShot(calls=200).propose(desk.prompt, desk.brief, desk.bench, step=1)
    assert isinstance(first, Proposal)
    own = replace(
        first.prompt.examples[0], inputs={"source": "shipped", "statement": "with the judge"}
    )
    prompt = replace(first.prompt, examples=(own, *first.prompt.examples))
    FewShot(calls=200).propose(prompt, desk.brief, desk.bench, step=2)
    later = [
        tried
        for tried, _ in desk.tried
        if tried.examples[:1] == (own,) and tried.version != prompt.version
    ]
    assert later
    assert all(len(tried.examples) <= 1 + FewShot().max_examples for tried in later)


def test_rows_without_a_verdict_count_against_a_prompt_in_the_search() -> None:
    """A prompt that makes rows unreadable is not the better for it."""
    rows = tuple(Row(id=f"r{i}", inputs={"a": "b"}, label=1.0) for i in range(3))
    judged = JudgedDataset(
        dataset=Dataset(rows=rows, labels=BINARY),
        answers=(
            Verdict(row_id="r0", score=1.0, positive=True),
            *(Unscored(row_id=row.id, reason="parse", detail="") for row in rows[1:]),
        ),
        scale=BINARY,
    )
    trial = Trial(judged=judged, losses=np.array([0.25]))
    assert trial.costs.tolist() == [0.25, 1.0, 1.0]
    assert trial.cost == pytest.approx(0.75)


def test_too_few_training_rows_are_no_proposal(desk: Any) -> None:
    """With three rows there is nothing to search on."""
    few = desk.train.judged.only([int(i) for i in desk.train.judged.scored[:3]])
    desk.train = Trial(judged=few, losses=desk.train.losses[:3])
    assert isinstance(FewShot().propose(desk.prompt, desk.brief, desk.bench, step=1), NoProposal)
    assert desk.tried == []
    assert tuning_rows(desk.bench, {row.group for row in few.rows}, limit=10) == []


def test_optuna_says_nothing_and_keeps_its_level(
    desk: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """The verbosity is the caller's again afterwards."""
    import optuna

    before = optuna.logging.get_verbosity()
    FewShot(calls=100).propose(desk.prompt, desk.brief, desk.bench, step=1)
    assert optuna.logging.get_verbosity() == before
    printed = capfd.readouterr()
    assert printed.out + printed.err == ""
