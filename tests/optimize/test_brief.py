"""The brief: what it says, what it shows, and what it never does."""

import numpy as np

from judgewright.judges import BINARY, Dataset, JudgedDataset, OutputScale, Registry, Row, Verdict
from judgewright.optimize import Brief, Goal, Target, build_brief, default_loss, read_objective
from judgewright.slices import parse_predicate

PROMPT = Registry().get("groundedness")


def brief_of(labels: list[int], scores: list[int], objective: str = "raise precision", **more: object) -> Brief:
    """The brief about rows with these labels and grades."""
    rows = tuple(
        Row(
            id=f"r{i}",
            inputs={"source": f"source {i}", "statement": f"claim {i}"},
            label=label,
            meta={"channel": "web" if i % 2 == 0 else "mail"},
        )
        for i, label in enumerate(labels)
    )
    answers = tuple(
        Verdict(row_id=f"r{i}", score=s, positive=s >= 2, rationale=f"a cause\nbecause {i}", confidence=0.9)
        for i, s in enumerate(scores)
    )
    judged = JudgedDataset(dataset=Dataset(rows=rows, labels=BINARY), answers=answers, scale=OutputScale())
    read = read_objective(objective, target="precision")
    goal = Goal(
        objective=read, target=Target(predicate=parse_predicate("channel = web"), why="x"), loss=default_loss(read)
    )
    return build_brief(PROMPT, judged, goal=goal, **more)  # type: ignore[arg-type]


def test_it_quotes_errors_of_the_slice_with_direction_and_reasons() -> None:
    """The costliest come first; rows outside the slice are no errors of it; both kinds are counted."""
    brief = brief_of([0, 1, 1, 1], [3, 0, 0, 3])
    text = brief.text()
    assert brief.counts() == "1 false positives, 1 false negatives"
    assert brief.quoted == ("r0", "r2")
    assert text.index("false positive, loss") < text.index("false negative, loss")
    assert "a cause; because 0" in text
    assert "claim 1" not in text
    assert "channel = web" in text


def test_it_has_the_persons_own_words() -> None:
    """What a sentence says beyond its metric reaches the optimizer; without one the metric stands alone."""
    wish = "a passage that only shares words with the query\nmust never count as relevant"
    assert f"in the person's words: {wish.replace(chr(10), ' ')}" in brief_of([0], [3], objective=wish).text()


def test_dealt_briefs_share_the_errors_out() -> None:
    """Every error is in exactly one share, no share is without one, the figures stay."""
    whole = brief_of([0, 1] * 5, [3, 0] * 5)
    for shares in (1, 2, 3, 12):
        dealt = whole.dealt(shares)
        assert len(dealt) == min(shares, 5)
        assert sorted(i for share in dealt for i in share.errors) == sorted(whole.errors)
        assert {(share.loss, share.counts()) for share in dealt} == {(whole.loss, whole.counts())}
        assert np.isclose(whole.loss, 0.96)
