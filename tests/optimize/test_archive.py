"""The archive: nobody in it is beaten in everything, and the first and the current prompt are
always there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from judgewright.judges import (
    BINARY,
    Dataset,
    JudgedDataset,
    JudgePrompt,
    OutputScale,
    Row,
    Verdict,
    point,
)
from judgewright.optimize import Archive, Candidate, Guard, Objective
from judgewright.optimize.archive import in_common

PROMPT = JudgePrompt(
    name="j", system="s", criteria="c", template="{{x}}", reply="r", scale=OutputScale()
)
GUARDED = Objective(
    text="", target="precision", direction="fp", guards=(Guard(metric="recall", margin=0.05),)
)
ROWS = 12


def candidate(number: int, said: Sequence[bool], *, words: int = 1) -> Candidate:
    """A prompt that says this of the first rows, which people call positive and negative by
    turns.
    """
    rows = [Row(id=f"r{i}", inputs={"x": "t"}, label=float(i % 2 == 0)) for i in range(len(said))]
    answers = tuple(
        Verdict(row_id=f"r{i}", score=3.0 * yes, positive=yes) for i, yes in enumerate(said)
    )
    judged = JudgedDataset(
        dataset=Dataset.of(rows, labels=BINARY), answers=answers, scale=PROMPT.scale
    )
    return Candidate(
        prompt=PROMPT.edited(criteria=f"version {number} {'word ' * words}"),
        judged=judged,
        losses=judged.wrong.astype(np.float64),
        metrics={name: point(name, *judged.compared(name)) for name in GUARDED.metrics},
        number=number,
    )


def start(said: Sequence[bool]) -> Archive:
    """An archive that begins with a prompt that says this."""
    return Archive.start(candidate(0, said), GUARDED)


verdicts = st.lists(st.booleans(), min_size=ROWS, max_size=ROWS)


def costs(one: Candidate, other: Candidate) -> tuple[float, float]:
    """Loss and lost recall of the first of two, on the rows of both."""
    judged, losses, _, _ = in_common(one, other)
    return float(losses.mean()), -(point("recall", *judged.compared("recall")) or 0.0)


@given(said=st.lists(verdicts, min_size=1, max_size=8), current=st.sets(st.integers(1, 7)))
def test_nobody_in_the_archive_is_beaten_but_the_first_and_the_current_prompt(
    said: list[list[bool]], current: set[int]
) -> None:
    """Whatever comes in whichever order, and whoever left is beaten by one that stayed."""
    archive = start(said[0])
    added = [archive.first]
    for number, says in enumerate(said[1:], start=1):
        added.append(candidate(number, says))
        archive.add(added[-1], current=number in current)
    assert archive.first in archive.members
    assert archive.current in archive.members
    for one, other in permutations(archive.members, 2):
        ours, theirs = costs(one, other), costs(other, one)
        if other not in (archive.first, archive.current):
            assert not (all(a <= b for a, b in zip(ours, theirs, strict=True)) and ours != theirs)
    for gone in [one for one in added if one not in archive.members]:
        assert any(
            all(a <= b for a, b in zip(costs(stays, gone), costs(gone, stays), strict=True))
            for stays in archive.members
        )


def test_of_equals_the_shorter_prompt_stays() -> None:
    """Two prompts that say the same of every row: the longer one goes, whichever came first."""
    right = [i % 2 == 0 for i in range(ROWS)]
    for words in ((1, 9), (9, 1)):
        archive = start([True] * ROWS)
        for number in (1, 2):
            archive.add(candidate(number, right, words=words[number - 1]))
        assert [member.number for member in archive.members] == [0, 1 if words[0] < words[1] else 2]


def test_a_candidate_of_few_rows_sends_nobody_away() -> None:
    """Right on the three rows that it saw, it does not take the place of one that was judged on
    all.
    """
    archive = start([True] * ROWS)
    whole = candidate(1, [True, True, *[i % 2 == 0 for i in range(2, ROWS)]])
    few = candidate(2, [True, False, True])
    archive.add(whole)
    archive.add(few)
    assert archive.members == [archive.first, whole, few]
    assert archive.finalists()[:1] == [whole]
    assert [line["rows"] for line in archive.to_json()] == [ROWS, ROWS, 3]
    assert json.loads(json.dumps(archive.to_json())) == archive.to_json()


def test_a_candidate_that_breaks_a_guard_is_no_first_choice() -> None:
    """It lowers the loss by saying no too often, and comes behind one that keeps the guard."""
    archive = start([True] * ROWS)
    strict = candidate(1, [i in (0, 2, 4) for i in range(ROWS)])
    mild = candidate(2, [i % 2 == 0 or i > 3 for i in range(ROWS)])
    archive.add(strict)
    archive.add(mild)
    assert archive.shortfall(strict) > 0.4
    assert archive.shortfall(mild) == 0.0
    assert archive.finalists()[0] is mild
    archive.add(candidate(3, [i % 2 == 0 for i in range(ROWS)]))
    assert [member.number for member in archive.members] == [0, 3]
