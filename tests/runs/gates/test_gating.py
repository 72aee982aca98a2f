"""What the gate has said of a version, whichever command asked it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from judgewright.judges import Change, Registry
from judgewright.optimize.events import ChancesReckoned, DecisionRecord, GateAnswered, read_as
from judgewright.runs.actions import (
    GATED,
    HUNKS,
    Gated,
    decisions_about,
    gated_on,
    needed,
    verification,
)
from judgewright.runs.reports import describe_evidence
from judgewright.runs.reports.sentences import describe_chance
from judgewright.runs.store import RunJournal, Workspace, create_run

from ..stored_events import EVIDENCE, stored

PROMPT = Registry().get("groundedness")


def say(
    place: Workspace, kind: str, outcome: str, *, model: str = "m", version: str = PROMPT.version
) -> str:
    """Enter a run that decided about a version."""
    run_id = create_run(
        place.database, kind, {"question": {"after": {"version": version}}, "model": model}
    )
    decision = {
        "accepted": outcome == "accepted",
        "outcome": outcome,
        "reason": "so",
        "simulated": False,
    }
    journal = RunJournal(place.database, run_id)
    if kind == "optimize":
        journal.record("started", stored("started", {"model": model}))
        journal.record("survivor", stored("survivor", {"version": version}))
        journal.record("decision", decision)
    else:
        journal.record(GATED, stored(GATED, {"model": model, "decision": decision}))
    return run_id


def test_every_kind_of_decision_counts_and_the_last_one_on_a_model_stands(place: Workspace) -> None:
    """A choice of hunks speaks for its version as a walk, a gate and a recheck do."""
    said = [(kind, say(place, kind, "refused")) for kind in ("optimize", "gate", "recheck")]
    say(place, "gate", "accepted", version="another")
    create_run(
        place.database, HUNKS, {"question": {"after": {"version": PROMPT.version}}}
    )  # cut off, nothing said
    assert [(one.kind, one.run) for one in decisions_about(place, PROMPT)] == said
    assert verification(place, PROMPT)["verified_on"] == []
    last = say(place, HUNKS, "accepted")
    (one,) = gated_on(place, PROMPT)
    assert (one.kind, one.run, one.outcome) == (HUNKS, last, "accepted")
    assert verification(place, PROMPT)["verified_on"] == ["m"]


def test_a_workspace_without_a_database_has_said_nothing(tmp_path: Path) -> None:
    """Looking does not make one."""
    empty = Workspace(tmp_path / "none")
    assert list(decisions_about(empty, PROMPT)) == []
    assert not empty.exists


def undecided(**changes: object) -> dict[str, object]:
    """A decision about a change that 400 rows in 100 groups were too few for."""
    change = Change(
        metric="precision",
        before=0.70,
        after=0.73,
        difference=0.03,
        low=-0.01,
        high=0.07,
        se=0.02,
        p=0.07,
        n=400,
        groups=100,
        changed_groups=40,
        freedom=39.0,
        bearing_rows=320,
        bearing_groups=80,
        effective_groups=90.0,
    )
    decision = {"accepted": False, "outcome": "undecided", "reason": "too few rows", **EVIDENCE}
    return decision | {"target": asdict(change)} | changes


def read(decision: dict[str, object]) -> DecisionRecord:
    """The decision as a gate's answer has it."""
    return read_as(GateAnswered, stored(GATED, {"decision": decision})).decision


def test_the_rows_that_would_decide_are_those_of_the_decision() -> None:
    """One number, read from the decision; an old one without groups gets them, an absurd old number
    is not told.
    """
    said = undecided(rows_needed=1200, groups_needed=300)
    answer = read_as(GateAnswered, stored(GATED, {"decision": said}))
    assert Gated(run_id="r", answer=answer, repeated=False).needed == {"rows": 1200, "groups": 300}
    assert needed(read(undecided(rows_needed=1101))) == {"rows": 1101, "groups": 276}
    assert needed(read(undecided(rows_needed=1_376_578))) is None
    assert needed(read(undecided())) is None
    assert (
        needed(DecisionRecord(accepted=False, outcome="undecided", reason="nothing was judged"))
        is None
    )


def lines_of(guard: dict[str, object]) -> list[str]:
    """What is said of a decision with this guard."""
    evidence = read(undecided(guards=[guard])).evidence
    assert evidence is not None
    return describe_evidence(evidence)


def test_a_guard_is_told_with_the_bound_that_was_tested_and_what_its_p_is_of() -> None:
    """The one-sided bound, not an end of the two-sided interval; decisions of before have no p of a
    guard.
    """
    change = undecided()["target"]
    guard = {
        "metric": "recall",
        "margin": 0.05,
        "change": change,
        "low": -0.0437,
        "state": "held",
        "p": 0.0321,
    }
    line, *_ = lines_of(guard)
    assert (
        line
        == "recall may not fall by 0.050; its change is at least -0.044 (one-sided 95 % bound; p"
        " against such a loss: 0.0321): the guard holds"
    )
    del guard["p"]
    line, *_ = lines_of(guard)
    assert "(one-sided 95 % bound): the guard holds" in line


def test_the_chance_is_said_of_the_target_where_a_guard_comes_first() -> None:
    """The journal keeps metrics in the order of their names."""
    metrics = {"precision": -0.03, "recall": 0.08}
    chance = {"accepted": 0.26, "target": 1.0, "guards": {"precision": 0.26}, "rows": 900}
    finalist = {
        "version": "a",
        "rule": None,
        **chance,
        "measured": metrics,
        "expected": metrics,
        "error": metrics,
    }
    counts = {
        "holdout_rows": 785,
        "holdout_groups": 692,
        "rows": 900,
        "training_rows": 0,
        "tried": 3,
        "measured": 3,
    }
    choice = {
        "metric": "recall",
        "chosen": 0,
        "accepted": 0.26,
        "least": 0.05,
        "sent": True,
        "alpha": 0.03,
    }
    lines = describe_chance(
        read_as(ChancesReckoned, {**choice, **counts, "candidates": [finalist]})
    )
    assert (
        "chance of acceptance: maybe (likely for the gain of recall, maybe for precision alone), of"
        " a on" in lines[0]
    )
    assert not any(sign in " ".join(lines) for sign in ("%", "alpha", "significance", "estimated"))
    assert "recall changed by +0.080" in lines[1]
