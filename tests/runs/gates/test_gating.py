"""What the gate has said of a version, whichever command asked it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from judgewright.judges.shelf import Shelf
from judgewright.runs.gates.gating import GATED, HUNKS, decisions_about, gated_on, verification
from judgewright.runs.store.journal import RunJournal, create_run
from judgewright.runs.workspace import Workspace

PROMPT = Shelf().get("groundedness")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workspace]:
    """An empty workspace."""
    with Workspace(tmp_path / "work") as workspace:
        yield workspace


def say(place: Workspace, kind: str, outcome: str, *, model: str = "m", version: str = PROMPT.version) -> str:
    """Enter a run that decided about a version."""
    run_id = create_run(place.database, kind, {"question": {"after": {"version": version}}, "model": model})
    decision = {"accepted": outcome == "accepted", "outcome": outcome, "reason": "so", "simulated": False}
    journal = RunJournal(place.database, run_id)
    if kind == "optimize":
        journal.record("started", {"model": model})
        journal.record("survivor", {"version": version})
        journal.record("decision", decision)
    else:
        journal.record(GATED, {"model": model, "decision": decision})
    return run_id


def test_every_kind_of_decision_counts_and_the_last_one_on_a_model_stands(place: Workspace) -> None:
    """A choice of hunks speaks for its version as a walk, a gate and a recheck do."""
    said = [(kind, say(place, kind, "refused")) for kind in ("optimize", "gate", "recheck")]
    say(place, "gate", "accepted", version="another")
    create_run(place.database, HUNKS, {"question": {"after": {"version": PROMPT.version}}})  # cut off, nothing said
    assert [(one.kind, one.run) for one in decisions_about(place, PROMPT)] == said
    assert verification(place, PROMPT, model="m")["verified"] is False
    last = say(place, HUNKS, "accepted")
    (one,) = gated_on(place, PROMPT)
    assert (one.kind, one.run, one.outcome) == (HUNKS, last, "accepted")
    assert verification(place, PROMPT, model="m")["verified"] is True
    assert verification(place, PROMPT, model="other")["verified"] is False


def test_a_workspace_without_a_database_has_said_nothing(tmp_path: Path) -> None:
    """Looking does not make one."""
    empty = Workspace(tmp_path / "none")
    assert list(decisions_about(empty, PROMPT)) == []
    assert not empty.exists
